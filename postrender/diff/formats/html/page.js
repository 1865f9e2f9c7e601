// All that is shown is in the page already: this finds, filters, folds, lays diffs out in two
// columns and draws the graph. It reads the page, loads nothing and writes text only as text.
(() => {
  "use strict";
  const root = document.documentElement;
  const memory = {
    get(name) {
      try { return localStorage.getItem(`postrender.${name}`); } catch { return null; }
    },
    set(name, value) {
      try { localStorage.setItem(`postrender.${name}`, value); } catch { /* not allowed here */ }
    },
  };
  const isNarrow = matchMedia("(max-width: 61.99rem)").matches;
  const chosen = {
    theme: memory.get("theme") || "auto",
    layout: isNarrow ? "inline" : memory.get("layout") || "split",
  };
  // Before anything is painted, so that nothing flashes.
  root.classList.add("js");
  Object.assign(root.dataset, chosen);
  document.addEventListener("DOMContentLoaded", start);

  function element(name, attributes = {}, ...children) {
    const isDrawn = ["svg", "g", "path", "rect", "text", "title", "defs", "marker"].includes(name);
    const made = isDrawn
      ? document.createElementNS("http://www.w3.org/2000/svg", name)
      : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  const number = (count) => count.toLocaleString("en");

  function start() {
    const search = document.getElementById("search");
    if (!search) return;
    const find = finder(search, graph());
    switches();
    folding();
    diffs();
    keyboard(search, find);
    addEventListener("hashchange", () => reveal(find));
    document.addEventListener("click", (event) => {
      const link = event.target.closest?.('a[href^="#"]');
      if (link && link.hash === location.hash) reveal(find);
    });
    reveal(find);
  }

  // ---- search and filters

  function finder(search, draw) {
    const groups = [];
    // What is found and counted: an entry, or each of the objects that it is of.
    const found = [...document.querySelectorAll(".entry")].flatMap((entry) => {
      const members = [...entry.querySelectorAll(".member")];
      if (members.length) groups.push(groupOf(entry, members));
      const shared = members.length ? textOf(entry, "h3, .member") : "";
      return (members.length ? members : [entry]).map((place) => ({
        place,
        section: entry.parentElement,
        change: entry.dataset.change || "",
        effects: (place.dataset.effects || "").split(","),
        text: shared + textOf(place),
      }));
    });
    const sections = new Map(found.map((each) => [each.section, { shown: 0, all: 0 }]));
    for (const each of found) sections.get(each.section).all += 1;
    const boxes = [...document.querySelectorAll(".chips input")];
    const clear = document.getElementById("clear");
    const results = document.getElementById("results");
    let isFiltered = false;

    function wanted(name) {
      return boxes.filter((box) => box.name === name && box.checked).map((box) => box.value);
    }

    function apply() {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const changes = wanted("change");
      const effects = wanted("effect");
      isFiltered = words.length + changes.length + effects.length > 0;
      for (const counted of sections.values()) counted.shown = 0;
      let shown = 0;
      for (const each of found) {
        const isShown =
          words.every((word) => each.text.includes(word)) &&
          (!changes.length || changes.includes(each.change)) &&
          (!effects.length || effects.some((effect) => each.effects.includes(effect)));
        if (each.place.hidden === isShown) each.place.hidden = !isShown;
        if (isShown) {
          shown += 1;
          sections.get(each.section).shown += 1;
        }
      }
      for (const group of groups) group.update();
      for (const [section, counted] of sections) {
        section.hidden = !counted.shown;
        section.querySelector(".count").textContent = isFiltered
          ? `${number(counted.shown)} of ${number(counted.all)}` : number(counted.all);
      }
      results.textContent = isFiltered
        ? `${number(shown)} of ${number(found.length)} entries`
        : `${number(found.length)} ${found.length === 1 ? "entry" : "entries"}`;
      clear.hidden = !isFiltered;
      document.getElementById("empty").hidden = shown > 0 || !isFiltered;
      const ticked = changes.length + effects.length;
      document.getElementById("active").textContent = ticked ? ` (${ticked})` : "";
      draw.later(isFiltered ? words : null);
    }

    function reset() {
      search.value = "";
      for (const box of boxes) box.checked = false;
      apply();
    }

    // How tall it is about, until it has been in view, so that what is below stays where it is.
    for (const { place } of found) {
      const lines = [...place.querySelectorAll("pre")].map((pre) => pre.childElementCount);
      if (!lines.length) continue;
      const height = lines.reduce((sum, each) => sum + each * 20 + 40, 90);
      place.style.setProperty("--tall", `${height}px`);
    }
    search.addEventListener("input", apply);
    for (const box of boxes) box.addEventListener("change", apply);
    clear.addEventListener("click", () => {
      reset();
      search.focus();
    });
    for (const name of isNarrow ? ["filters", "view"] : []) document.getElementById(name).open = false;
    apply();
    return {
      reset,
      isFiltered: () => isFiltered,
      shown: () => [...document.querySelectorAll(".entry:not([hidden])")],
    };
  }

  // Returns the names, keys and paths in a place, but for those in some parts of it.
  function textOf(place, but) {
    return [...place.querySelectorAll(".name, code, .key-name")]
      .filter((part) => !but || !part.closest(but))
      .map((part) => `${part.textContent}\n`).join("").toLowerCase();
  }

  // Returns what calls an entry of several objects by those that are shown, and says how many.
  function groupOf(entry, members) {
    const heading = entry.querySelector("h3");
    const more = heading.querySelector(".more");
    const list = entry.querySelector(".members");
    const count = list.querySelector(".count");
    const isLong = !list.open;
    let last = members.length;
    return {
      update() {
        const shown = members.filter((each) => !each.hidden);
        entry.hidden = !shown.length;
        if (!shown.length) return;
        heading.firstChild.replaceWith(shown[0].firstChild.cloneNode(true));
        more.textContent = shown.length > 1 ? `and ${number(shown.length - 1)} more` : "";
        const isPart = shown.length < members.length;
        count.textContent = isPart ? `(${number(shown.length)} shown)` : "";
        if (isLong && isPart !== last < members.length) list.open = isPart;
        last = shown.length;
      },
    };
  }

  // ---- what is chosen and kept

  function switches() {
    for (const radio of document.querySelectorAll(".switch input")) {
      radio.checked = chosen[radio.name] === radio.value;
      radio.addEventListener("change", () => {
        root.dataset[radio.name] = radio.value;
        memory.set(radio.name, radio.value);
        root.dispatchEvent(new Event("layout"));
      });
    }
    const letters = document.getElementById("letters");
    letters.checked = memory.get("letters") !== "off";
    letters.addEventListener("change", () => memory.set("letters", letters.checked ? "on" : "off"));
  }

  function folding() {
    const all = (isOpen) => {
      for (const entry of document.querySelectorAll(".entry:not([hidden])")) {
        if (entry.tagName === "DETAILS") entry.open = isOpen;
        for (const key of entry.querySelectorAll("details")) key.open = isOpen;
      }
    };
    document.getElementById("unfold").addEventListener("click", () => all(true));
    document.getElementById("fold").addEventListener("click", () => all(false));
  }

  // Goes to what the address names: unfolded, and not filtered out.
  function reveal(find) {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (!target) return;
    if (target.closest("[hidden]")) find.reset();
    const unfold = (details) => {
      if (!details) return;
      details.open = true;
      unfold(details.parentElement.closest("details"));
    };
    unfold(target.closest("details"));
    if (target.matches(".member")) target.focus({ preventScroll: true });
    if (target.tagName === "DETAILS") {
      const keys = target.querySelectorAll(".key");
      if (keys.length === 1) keys[0].open = true;
      target.querySelector("summary").focus({ preventScroll: true });
    }
    target.scrollIntoView();
  }

  // ---- diffs side by side, made when they come into view

  function diffs() {
    const places = document.querySelectorAll(".diff");
    const watcher = new IntersectionObserver((seen) => {
      for (const { target, isIntersecting } of seen) {
        if (isIntersecting && isTwoSided(target)) build(target);
      }
    }, { rootMargin: "600px 0px" });
    const isTwoSided = (place) => place.querySelector("pre > span[data-l]") ||
      (place.querySelector("del") && place.querySelector("ins"));
    const watch = () => {
      watcher.disconnect();
      if (root.dataset.layout !== "split") return;
      for (const place of places) {
        if (!place.classList.contains("built")) watcher.observe(place);
      }
    };
    root.addEventListener("layout", watch);
    watch();
  }

  function build(place) {
    if (root.dataset.layout !== "split" || place.classList.contains("built")) return;
    const body = element("tbody");
    let old = [];
    let fresh = [];
    const flush = () => {
      for (let at = 0; at < Math.max(old.length, fresh.length); at += 1) {
        body.append(element("tr", {}, ...side(old[at], "del", 0), ...side(fresh[at], "ins", 1)));
      }
      old = [];
      fresh = [];
    };
    for (const line of place.querySelector("pre").children) {
      const about = line.dataset.side;
      if (line.tagName === "DEL" || about === "old") old.push(line);
      else if (line.tagName === "INS" || about === "new") fresh.push(line);
      else {
        flush();
        if (line.dataset.l === undefined) {
          body.append(element("tr", {}, element("td", { colspan: 4 }, line.textContent.trimEnd())));
        } else body.append(element("tr", {}, ...side(line, "", 0), ...side(line, "", 1)));
      }
    }
    flush();
    const heads = ["Old line", "Old text", "New line", "New text"];
    const head = element("tr", { class: "heard" }, ...heads.map((each) => element("th", { scope: "col" }, each)));
    const columns = ["number", "text", "number", "text"].map((each) => element("col", { class: each }));
    place.append(element("table", {}, element("colgroup", {}, ...columns), element("thead", {}, head), body));
    place.classList.add("built");
  }

  // Returns the two cells of one side: the number, and the text with its sign.
  function side(line, kind, which) {
    if (!line) return [element("td", { class: "number none" }), element("td", { class: "none" })];
    const numbers = line.dataset.l || "";
    const width = (numbers.length - 1) / 2;
    const number = numbers.slice(which * (width + 1), which * (width + 1) + width).trim();
    const copy = line.cloneNode(true);
    const cell = element("td", { class: kind }, ...copy.childNodes);
    const last = cell.lastChild;
    if (last?.nodeType === Node.TEXT_NODE) last.data = last.data.replace(/\n$/, "");
    return [element("td", { class: `number ${kind}` }, number), cell];
  }

  // ---- the keyboard

  function keyboard(search, find) {
    const handle = (entry) => entry.querySelector(":scope > summary") || entry;
    const current = () => document.activeElement?.closest(".entry");

    function move(step) {
      const shown = find.shown();
      const at = shown.indexOf(current());
      const inView = () => shown.findIndex((entry) => entry.getBoundingClientRect().bottom > 8);
      const next = at >= 0 ? at + step : Math.max(inView(), 0);
      const target = shown[Math.min(Math.max(next, 0), shown.length - 1)];
      if (!target) return;
      handle(target).focus({ preventScroll: true });
      handle(target).scrollIntoView({ block: "nearest" });
    }

    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const isTyping = event.target === search;
      const letters = document.getElementById("letters").checked && !isTyping;
      const isOnEntry = event.target === handle(current() || root);
      const { key } = event;
      if (key === "Escape") {
        if (find.isFiltered()) find.reset();
        else if (isTyping) document.getElementById("main").focus();
        else return;
      } else if (key === "/" && letters) {
        search.focus();
        search.select();
      } else if ((key === "j" && letters) || (key === "ArrowDown" && (isOnEntry || isTyping))) {
        move(1);
      } else if ((key === "k" && letters) || (key === "ArrowUp" && isOnEntry)) {
        move(-1);
      } else if (key === "Enter" && isTyping) {
        move(1);
      } else return;
      event.preventDefault();
    });
  }

  // ---- the graph

  function graph() {
    const place = document.getElementById("drawing");
    if (!place) return { later() {} };
    const section = place.parentElement;
    const most = 120;
    const nodes = [...document.querySelectorAll("#names > ul > li")].map((item, at) => ({
      at,
      item,
      role: item.dataset.role,
      change: item.dataset.change,
      state: item.dataset.state,
      name: item.dataset.name,
      entry: document.getElementById(item.querySelector("a")?.hash.slice(1) || "-"),
      names: [],
      namedBy: [],
      near: [],
    }));
    const edges = nodes.flatMap((from) => [...from.item.querySelectorAll("li")].map((item) => (
      { from, to: nodes[item.dataset.to], by: item.dataset.by, change: item.dataset.change })));
    for (const edge of edges) {
      edge.from.names.push(edge.to);
      edge.to.namedBy.push(edge.from);
      edge.from.near.push(edge.to);
      edge.to.near.push(edge.from);
    }
    const count = element("span", { role: "status" });
    const more = element("button", { type: "button" }, "Draw all");
    const whole = element("button", { type: "button" }, "Back to all");
    const [out, into] = ["Smaller", "Larger"].map((label) => element("button", { type: "button" }, label));
    const sheet = element("div", { class: "sheet", tabindex: "0", role: "group", "aria-label": "Drawing of who names what" });
    const legend = ["rolls", "changed", "added", "removed"].map((each) => element("span", { class: `legend ${each}` }, each));
    const zoomers = element("span", { class: "zoom" }, out, into);
    place.append(element("div", { class: "bar" }, count, more, whole, ...legend, zoomers), sheet);
    document.getElementById("names").open = false;

    let words = null;
    let focus = null;
    let isAll = false;
    let scale = 0;
    let timer = 0;
    let isSeen = false;

    function matching() {
      if (focus) return reach(focus);
      if (!words) return new Set(nodes);
      const found = nodes.filter((node) => (node.entry
        ? !node.entry.hidden
        : words.length && words.every((word) => node.name.toLowerCase().includes(word))));
      return new Set(found.flatMap((node) => [...reach(node)]));
    }

    function draw() {
      const found = matching();
      const wanted = nodes.filter((node) => found.has(node));
      for (const node of nodes) node.item.hidden = !found.has(node);
      section.hidden = !wanted.length;
      if (!isSeen || !wanted.length) return;
      const shown = isAll ? wanted : firstOf(wanted, most);
      const { picture, width } = pictureOf(shown, edges, focus);
      sheet.replaceChildren(picture);
      scale ||= Math.min(Math.max(sheet.clientWidth / width, 0.8), 1);
      picture.setAttribute("width", width * scale);
      count.textContent = shown.length < nodes.length
        ? `${number(shown.length)} of ${number(nodes.length)} objects` : `${number(nodes.length)} objects`;
      more.hidden = shown.length === wanted.length;
      whole.hidden = !focus;
    }

    function choose(node) {
      focus = focus === node ? null : node;
      draw();
      sheet.querySelector(`[data-at="${node.at}"]`)?.focus();
    }

    const zoom = (by) => {
      scale = Math.min(Math.max(scale * by, 0.3), 2.5);
      const picture = sheet.firstChild;
      picture.setAttribute("width", picture.viewBox.baseVal.width * scale);
    };
    more.addEventListener("click", () => {
      isAll = true;
      draw();
      sheet.focus();
    });
    whole.addEventListener("click", () => {
      focus = null;
      draw();
      sheet.focus();
    });
    out.addEventListener("click", () => zoom(1 / 1.25));
    into.addEventListener("click", () => zoom(1.25));
    sheet.addEventListener("click", (event) => {
      const drawn = event.target.closest(".node");
      if (drawn) choose(nodes[drawn.dataset.at]);
    });
    sheet.addEventListener("keydown", (event) => {
      const drawn = event.target.closest(".node");
      if (!drawn) return;
      const node = nodes[drawn.dataset.at];
      if (event.key === "Enter" || event.key === " ") choose(node);
      else if (event.key === "Escape" && focus) choose(focus);
      else if (!event.key.startsWith("Arrow") || !step(sheet, drawn, node, event.key)) return;
      event.preventDefault();
    });
    new IntersectionObserver((seen, watcher) => {
      if (!seen.some((each) => each.isIntersecting)) return;
      watcher.disconnect();
      isSeen = true;
      draw();
    }, { rootMargin: "800px 0px" }).observe(section);
    return {
      later(given) {
        words = given;
        focus = null;
        clearTimeout(timer);
        timer = setTimeout(draw, 150);
      },
    };
  }

  // Returns a node with all that names it and that it names, be it through others.
  function reach(node) {
    const found = new Set([node]);
    for (const way of ["names", "namedBy"]) {
      const seen = new Set([node]);
      for (const at of seen) for (const next of at[way]) seen.add(next);
      for (const each of seen) found.add(each);
    }
    return found;
  }

  // Returns about so many nodes, whole groups of connected ones as long as there is room.
  function firstOf(nodes, most) {
    if (nodes.length <= most) return nodes;
    return groupsOf(nodes).flat().slice(0, most);
  }

  function groupsOf(nodes) {
    const left = new Set(nodes);
    const groups = [];
    for (const node of nodes) {
      if (!left.delete(node)) continue;
      const group = [node];
      for (const at of group) for (const next of at.near) if (left.delete(next)) group.push(next);
      groups.push(group.sort((one, other) => one.at - other.at));
    }
    return groups;
  }

  // Moves the focus to the next node in a column, or along an edge.
  function step(sheet, drawn, node, key) {
    const others = [...sheet.querySelectorAll(".node")];
    const [x, y] = [Number(drawn.dataset.x), Number(drawn.dataset.y)];
    const isUpright = key === "ArrowUp" || key === "ArrowDown";
    const sign = key === "ArrowUp" || key === "ArrowLeft" ? -1 : 1;
    const near = new Set(node.near.map((each) => String(each.at)));
    const fitting = others.filter((other) => {
      const [dx, dy] = [other.dataset.x - x, other.dataset.y - y];
      return isUpright ? !dx && dy * sign > 0 : near.has(other.dataset.at) && dx * sign > 0;
    });
    const distance = (other) => Math.abs(other.dataset.y - y);
    const next = fitting.sort((one, other) => distance(one) - distance(other))[0];
    if (!next) return false;
    for (const other of others) other.setAttribute("tabindex", other === next ? 0 : -1);
    next.focus();
    return true;
  }

  const BOX = { width: 220, height: 38, across: 140, down: 10, bend: 12, between: 14 };

  // Returns the drawing: what names others on the left, ConfigMaps and Secrets on the right.
  function pictureOf(nodes, edges, focus) {
    const shown = new Set(nodes);
    const drawn = edges.filter((edge) => shown.has(edge.from) && shown.has(edge.to));
    const columns = columnsOf(nodes, drawn);
    const places = new Map();
    const routes = new Map(drawn.map((edge) => [edge, routeOf(edge, columns)]));
    let top = BOX.between;
    for (const group of groupsOf(nodes)) {
      const inside = new Set(group);
      const own = group.length > 1 ? drawn.filter((edge) => inside.has(edge.from)) : [];
      const rows = ordered(group.filter((node) => shown.has(node)), own.map((edge) => routes.get(edge)), columns);
      top = placed(rows, columns, top, places);
    }
    const width = 28 + BOX.width + Math.max(0, ...columns.values()) * (BOX.width + BOX.across);
    const label = `${nodes.length} objects and who names whom; the same stands below as text`;
    const picture = element("svg", { viewBox: `0 0 ${width} ${top}`, role: "group", "aria-label": label });
    picture.append(arrows());
    const lines = drawn.map((edge) => [edge, routes.get(edge).map((node) => places.get(node))]);
    for (const [edge, points] of lines) picture.append(line(edge, points));
    if (lines.length <= 80) {
      const labels = lines.map(([edge, points]) => by(edge, points));
      spread(labels);
      picture.append(...labels);
    }
    const first = focus || nodes[0];
    for (const node of nodes) picture.append(box(node, places.get(node), node === focus, node === first));
    return { picture, width };
  }

  // Returns the column of each node: next to what it names, all ConfigMaps and Secrets in the last.
  function columnsOf(nodes, edges) {
    const steps = new Map(nodes.map((node) => [node, node.role === "config" ? 0 : 1]));
    for (let round = 0; round < 4; round += 1) {
      for (const { from, to } of edges) {
        if (from !== to && from.role !== "config" && steps.get(from) <= steps.get(to)) {
          steps.set(from, Math.min(steps.get(to) + 1, 4));
        }
      }
    }
    const used = [...new Set(steps.values())].sort((one, other) => other - one);
    return new Map(nodes.map((node) => [node, used.indexOf(steps.get(node))]));
  }

  // Returns by what an edge goes: its two nodes, and a bend in each column that is in between.
  function routeOf(edge, columns) {
    const bends = [];
    for (let at = columns.get(edge.from) + 1; at < columns.get(edge.to); at += 1) {
      const bend = { isBend: true };
      columns.set(bend, at);
      bends.push(bend);
    }
    return [edge.from, ...bends, edge.to];
  }

  // Returns the nodes and bends of a group by columns, each near what it is connected with.
  function ordered(group, routes, columns) {
    const near = new Map(group.map((node) => [node, []]));
    for (const route of routes) {
      for (const each of route) if (!near.has(each)) near.set(each, []);
      for (let at = 1; at < route.length; at += 1) {
        near.get(route[at - 1]).push(route[at]);
        near.get(route[at]).push(route[at - 1]);
      }
    }
    const rows = [];
    for (const each of near.keys()) (rows[columns.get(each)] ||= []).push(each);
    const filled = rows.filter(Boolean);
    const middle = new Map();
    const note = (row) => row.forEach((each, at) => middle.set(each, at - row.length / 2));
    filled.forEach(note);
    for (let round = 0; round < (near.size > 2 ? 4 : 0); round += 1) {
      for (const row of round % 2 ? filled.toReversed() : filled) {
        const mean = new Map(row.map((each) => {
          const others = near.get(each).map((other) => middle.get(other));
          return [each, others.length ? others.reduce((sum, other) => sum + other, 0) / others.length : middle.get(each)];
        }));
        row.sort((one, other) => mean.get(one) - mean.get(other));
        note(row);
      }
    }
    return filled;
  }

  // Notes where the nodes of a group stand, each column in the middle, and returns where the next begins.
  function placed(rows, columns, top, places) {
    const tall = (each) => (each.isBend ? BOX.bend : BOX.height) + BOX.down;
    const heights = rows.map((row) => row.reduce((sum, each) => sum + tall(each), 0));
    const tallest = Math.max(...heights);
    rows.forEach((row, number) => {
      let y = top + (tallest - heights[number]) / 2;
      for (const each of row) {
        const x = 14 + columns.get(each) * (BOX.width + BOX.across);
        places.set(each, { x, y, middle: y + (tall(each) - BOX.down) / 2 });
        y += tall(each);
      }
    });
    return top + tallest + BOX.between;
  }

  function arrows() {
    const head = element("path", { d: "M0 0L7 3.5L0 7", class: "unchanged" });
    return element("defs", {}, element("marker", {
      id: "arrow", viewBox: "0 0 8 7", refX: 7, refY: 3.5, markerWidth: 8, markerHeight: 7,
      markerUnits: "userSpaceOnUse", orient: "auto" }, head));
  }

  function line(edge, points) {
    let d = "";
    points.forEach((to, at) => {
      if (!at) return;
      const from = points[at - 1];
      const x = from.x + BOX.width;
      const bend = Math.max(Math.abs(to.x - x) / 2, 40);
      // A bend is as wide as a node, so that the line is level where nodes stand beside it.
      d += `${d ? "L" : "M"}${x} ${from.middle}C${x + bend} ${from.middle} ${to.x - bend} ${to.middle} ${to.x} ${to.middle}`;
    });
    return element("path", { d, class: edge.change, "marker-end": "url(#arrow)" },
      element("title", {}, `${edge.from.name} names ${edge.to.name} (${edge.by})`));
  }

  function by(edge, points) {
    const [from, to] = points;
    const sign = { added: "+ ", removed: "− " }[edge.change] || "";
    const x = (from.x + BOX.width + to.x) / 2;
    const y = (from.middle + to.middle) / 2 + 3.5;
    return element("text", { class: `by ${edge.change}`, x, y }, sign + short(edge.by, 18));
  }

  // Moves labels that would lie on one another down.
  function spread(labels) {
    const at = (label, axis) => Number(label.getAttribute(axis));
    const lowest = new Map();
    for (const label of labels.toSorted((one, other) => at(one, "y") - at(other, "y"))) {
      const y = Math.max(at(label, "y"), (lowest.get(at(label, "x")) ?? -99) + 13);
      label.setAttribute("y", y);
      lowest.set(at(label, "x"), y);
    }
  }

  function box(node, { x, y }, isFocus, isFirst) {
    const slash = node.name.indexOf("/");
    const [kind, rest] = [node.name.slice(0, slash), node.name.slice(slash + 1)];
    const space = rest.lastIndexOf(" in ");
    const name = space < 0 ? rest : rest.slice(0, space);
    const under = `${kind}${space < 0 ? "" : rest.slice(space)} · ${node.state}`;
    const { width, height } = BOX;
    const mark = ["rolls", "refused"].includes(node.state) ? node.state : node.change;
    return element("g", {
      class: `node ${mark}`, transform: `translate(${x} ${y})`, role: "button",
      tabindex: isFirst ? 0 : -1, "aria-pressed": isFocus, "aria-label": `${node.name}, ${node.state}`,
      "data-at": node.at, "data-x": x, "data-y": y },
    element("title", {}, node.name),
    element("rect", { class: "box", width, height, rx: 4 }),
    element("rect", { class: "tab", width: 4, height: height - 8, x: 4, y: 4, rx: 2 }),
    element("text", { class: "first", x: 15, y: 16 }, short(name, 28)),
    element("text", { class: "second", x: 15, y: 30 }, short(under, 32)));
  }

  function short(text, most) {
    return text.length <= most ? text : `${text.slice(0, most - 9)}…${text.slice(-8)}`;
  }
})();
