// Search, filters, folding, side-by-side diffs and the drawing of the graph. All content is already
// in the page. The script does not load anything, and never inserts text as markup.
(() => {
  "use strict";
  const root = document.documentElement;
  const memory = {
    get(name) {
      try { return localStorage.getItem(`postrender.${name}`); } catch { return null; }
    },
    set(name, value) {
      try { localStorage.setItem(`postrender.${name}`, value); } catch { /* storage is blocked */ }
    },
  };
  const isNarrow = matchMedia("(max-width: 61.99rem)").matches;
  const preferences = {
    theme: memory.get("theme") || "auto",
    layout: isNarrow ? "inline" : memory.get("layout") || "split",
  };
  // Set the theme and the layout before the first paint, so that the colours do not flash.
  root.classList.add("js");
  Object.assign(root.dataset, preferences);
  document.addEventListener("DOMContentLoaded", start);

  // Returns an HTML or SVG element; children: elements and texts.
  function element(name, attributes = {}, ...children) {
    const isSvg = ["svg", "g", "path", "rect", "text", "title", "defs", "marker"].includes(name);
    const created = isSvg
      ? document.createElementNS("http://www.w3.org/2000/svg", name)
      : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, value);
    created.append(...children);
    return created;
  }

  // Returns a count with separators: 1,200.
  const formatted = (count) => count.toLocaleString("en");

  // Sets up the page if the preview has entries.
  function start() {
    const search = document.getElementById("search");
    if (!search) return;
    const finder = createFinder(search, createGraph());
    setUpSwitches();
    setUpFolding();
    setUpDiffs();
    setUpKeyboard(search, finder);
    addEventListener("hashchange", () => reveal(finder));
    document.addEventListener("click", (event) => {
      const link = event.target.closest?.('a[href^="#"]');
      if (link && link.hash === location.hash) reveal(finder);
    });
    reveal(finder);
  }

  // ---- search and filters

  // Sets up search and filters; drawLater: the result of createGraph. Returns three functions: reset()
  // clears search and filters, isFiltered() reports whether the page is filtered, and shown() returns
  // the visible entries.
  function createFinder(search, drawLater) {
    const updates = [];
    // A search result is an entry with one object, or one object of an entry with several objects.
    const items = [...document.querySelectorAll(".entry")].flatMap((entry) => {
      const members = [...entry.querySelectorAll(".member")];
      if (members.length) updates.push(groupUpdate(entry, members));
      const shared = members.length ? textOf(entry, "h3, .member") : "";
      return (members.length ? members : [entry]).map((target) => ({
        target,
        section: entry.parentElement,
        change: entry.dataset.change || "",
        effects: (target.dataset.effects || "").split(","),
        text: shared + textOf(target),
      }));
    });
    const sections = new Map(items.map((item) => [item.section, { shown: 0, all: 0 }]));
    for (const item of items) sections.get(item.section).all += 1;
    const boxes = [...document.querySelectorAll(".chips input")];
    const clear = document.getElementById("clear");
    const results = document.getElementById("results");
    let isFiltered = false;

    // Returns the values of the checked boxes of a filter.
    function checkedValues(name) {
      return boxes.filter((box) => box.name === name && box.checked).map((box) => box.value);
    }

    // Shows the items that match the search and the filters, and updates the counts and the graph.
    function apply() {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const changes = checkedValues("change");
      const effects = checkedValues("effect");
      isFiltered = words.length + changes.length + effects.length > 0;
      for (const counts of sections.values()) counts.shown = 0;
      let shown = 0;
      for (const item of items) {
        const isShown =
          words.every((word) => item.text.includes(word)) &&
          (!changes.length || changes.includes(item.change)) &&
          (!effects.length || effects.some((effect) => item.effects.includes(effect)));
        if (item.target.hidden === isShown) item.target.hidden = !isShown;
        if (isShown) {
          shown += 1;
          sections.get(item.section).shown += 1;
        }
      }
      for (const update of updates) update();
      for (const [section, counts] of sections) {
        section.hidden = !counts.shown;
        section.querySelector(".count").textContent = isFiltered
          ? `${formatted(counts.shown)} of ${formatted(counts.all)}` : formatted(counts.all);
      }
      results.textContent = isFiltered
        ? `${formatted(shown)} of ${formatted(items.length)} entries`
        : `${formatted(items.length)} ${items.length === 1 ? "entry" : "entries"}`;
      clear.hidden = !isFiltered;
      document.getElementById("empty").hidden = shown > 0 || !isFiltered;
      const checked = changes.length + effects.length;
      document.getElementById("active").textContent = checked ? ` (${checked})` : "";
      drawLater(isFiltered ? words : null);
    }

    function reset() {
      search.value = "";
      for (const box of boxes) box.checked = false;
      apply();
    }

    // Sets the estimated height of each entry with diffs, so that the page does not jump.
    for (const { target } of items) {
      const lines = [...target.querySelectorAll("pre")].map((pre) => pre.childElementCount);
      if (!lines.length) continue;
      const height = lines.reduce((sum, count) => sum + count * 20 + 40, 90);
      target.style.setProperty("--tall", `${height}px`);
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

  // Returns the names, keys and paths in an element as text in lower case, without the parts that
  // match the selector `excluded`.
  function textOf(target, excluded) {
    return [...target.querySelectorAll(".name, code, .key-name")]
      .filter((part) => !excluded || !part.closest(excluded))
      .map((part) => `${part.textContent}\n`).join("").toLowerCase();
  }

  // Returns a function that updates an entry of several objects after a search: the visibility, the
  // heading, the count, and whether the list is folded.
  function groupUpdate(entry, members) {
    const heading = entry.querySelector("h3");
    const more = heading.querySelector(".more");
    const list = entry.querySelector(".members");
    const count = list.querySelector(".count");
    const isLong = !list.open;
    let last = members.length;
    return () => {
      const shown = members.filter((member) => !member.hidden);
      entry.hidden = !shown.length;
      if (!shown.length) return;
      heading.firstChild.replaceWith(shown[0].querySelector(".name").cloneNode(true));
      more.textContent = shown.length > 1 ? `and ${formatted(shown.length - 1)} more` : "";
      const isPart = shown.length < members.length;
      count.textContent = isPart ? `(${formatted(shown.length)} shown)` : "";
      if (isLong && isPart !== last < members.length) list.open = isPart;
      last = shown.length;
    };
  }

  // ---- preferences and folding

  // Sets up the choice of layout and theme, and the checkbox for the shortcuts / j k.
  function setUpSwitches() {
    for (const radio of document.querySelectorAll(".switch input")) {
      radio.checked = preferences[radio.name] === radio.value;
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

  // Sets up the buttons that unfold or fold all visible entries.
  function setUpFolding() {
    const setAll = (isOpen) => {
      for (const entry of document.querySelectorAll(".entry:not([hidden])")) {
        if (entry.tagName === "DETAILS") entry.open = isOpen;
        for (const details of entry.querySelectorAll("details")) details.open = isOpen;
      }
    };
    document.getElementById("unfold").addEventListener("click", () => setAll(true));
    document.getElementById("fold").addEventListener("click", () => setAll(false));
  }

  // Scrolls to the element in the hash of the address, and unfolds the element. If the element is
  // hidden, clears the search and the filters.
  function reveal(finder) {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (!target) return;
    if (target.closest("[hidden]")) finder.reset();
    let details = target.closest("details");
    while (details) {
      details.open = true;
      details = details.parentElement.closest("details");
    }
    if (target.matches(".member")) target.focus({ preventScroll: true });
    if (target.tagName === "DETAILS") {
      const keys = target.querySelectorAll(".key");
      if (keys.length === 1) keys[0].open = true;
      target.querySelector("summary").focus({ preventScroll: true });
    }
    target.scrollIntoView();
  }

  // ---- side-by-side diffs, built when the reader scrolls to a diff

  // In the layout "split", builds a table for each diff with two sides when the diff comes near the
  // view.
  function setUpDiffs() {
    const diffs = document.querySelectorAll(".diff");
    const observer = new IntersectionObserver((changes) => {
      for (const { target, isIntersecting } of changes) {
        if (isIntersecting && isTwoSided(target)) buildTable(target);
      }
    }, { rootMargin: "600px 0px" });
    const isTwoSided = (diff) => diff.querySelector("pre > span[data-l]") ||
      (diff.querySelector("del") && diff.querySelector("ins"));
    const watch = () => {
      observer.disconnect();
      if (root.dataset.layout !== "split") return;
      for (const diff of diffs) {
        if (!diff.classList.contains("built")) observer.observe(diff);
      }
    };
    root.addEventListener("layout", watch);
    watch();
  }

  // Adds the side-by-side table to a diff; the style then hides the unified diff.
  function buildTable(diff) {
    if (root.dataset.layout !== "split" || diff.classList.contains("built")) return;
    const body = element("tbody");
    let removed = [];
    let added = [];
    const flush = () => {
      for (let row = 0; row < Math.max(removed.length, added.length); row += 1) {
        body.append(element("tr", {}, ...cells(removed[row], "del", 0), ...cells(added[row], "ins", 1)));
      }
      removed = [];
      added = [];
    };
    for (const line of diff.querySelector("pre").children) {
      const side = line.dataset.side;
      if (line.tagName === "DEL" || side === "old") removed.push(line);
      else if (line.tagName === "INS" || side === "new") added.push(line);
      else {
        flush();
        if (line.dataset.l === undefined) {
          body.append(element("tr", {}, element("td", { colspan: 4 }, line.textContent.trimEnd())));
        } else body.append(element("tr", {}, ...cells(line, "", 0), ...cells(line, "", 1)));
      }
    }
    flush();
    const titles = ["Old line", "Old text", "New line", "New text"];
    const head = element("tr", { class: "sr-only" }, ...titles.map((title) => element("th", { scope: "col" }, title)));
    const columns = ["number", "text", "number", "text"].map((name) => element("col", { class: name }));
    diff.append(element("table", {}, element("colgroup", {}, ...columns), element("thead", {}, head), body));
    diff.classList.add("built");
  }

  // Returns the cells for the number and the text of a line, or empty cells if line is undefined.
  // side: 0 is old, 1 is new.
  function cells(line, kind, side) {
    if (!line) return [element("td", { class: "number none" }), element("td", { class: "none" })];
    const numbers = line.dataset.l || "";
    const width = (numbers.length - 1) / 2;
    const number = numbers.slice(side * (width + 1), side * (width + 1) + width).trim();
    const copy = line.cloneNode(true);
    const cell = element("td", { class: kind }, ...copy.childNodes);
    const last = cell.lastChild;
    if (last?.nodeType === Node.TEXT_NODE) last.data = last.data.replace(/\n$/, "");
    return [element("td", { class: `number ${kind}` }, number), cell];
  }

  // ---- the keyboard

  // Sets up the shortcuts that the page lists under "Keys".
  function setUpKeyboard(search, finder) {
    const handle = (entry) => entry.querySelector(":scope > summary") || entry;
    const current = () => document.activeElement?.closest(".entry");

    // Moves the focus by `step` entries. If no entry has the focus, moves the focus to the first
    // entry in view.
    function move(step) {
      const shown = finder.shown();
      const position = shown.indexOf(current());
      const inView = () => shown.findIndex((entry) => entry.getBoundingClientRect().bottom > 8);
      const next = position >= 0 ? position + step : Math.max(inView(), 0);
      const target = shown[Math.min(Math.max(next, 0), shown.length - 1)];
      if (!target) return;
      handle(target).focus({ preventScroll: true });
      handle(target).scrollIntoView({ block: "nearest" });
    }

    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const isTyping = event.target === search;
      const hasLetters = document.getElementById("letters").checked && !isTyping;
      const isOnEntry = event.target === handle(current() || root);
      const { key } = event;
      if (key === "Escape") {
        if (finder.isFiltered()) finder.reset();
        else if (isTyping) document.getElementById("main").focus();
        else return;
      } else if (key === "/" && hasLetters) {
        search.focus();
        search.select();
      } else if ((key === "j" && hasLetters) || (key === "ArrowDown" && (isOnEntry || isTyping))) {
        move(1);
      } else if ((key === "k" && hasLetters) || (key === "ArrowUp" && isOnEntry)) {
        move(-1);
      } else if (key === "Enter" && isTyping) {
        move(1);
      } else return;
      event.preventDefault();
    });
  }

  // ---- the graph

  // Sets up the drawing. Returns drawLater(words), which draws, after a delay, the nodes of visible
  // entries and the results of connectedWith. Nodes without an entry must match the words of the
  // search. If words is null, drawLater draws all nodes.
  function createGraph() {
    const drawing = document.getElementById("drawing");
    if (!drawing) return () => {};
    const section = drawing.parentElement;
    // The maximum number of nodes in the drawing until the reader presses "Draw all".
    const limit = 120;
    const nodes = [...document.querySelectorAll("#references > ul > li")].map((item, number) => ({
      number,
      item,
      role: item.dataset.role,
      change: item.dataset.change,
      state: item.dataset.state,
      name: item.dataset.name,
      entry: document.getElementById(item.querySelector("a")?.hash.slice(1) || "-"),
      targets: [],
      sources: [],
    }));
    const edges = nodes.flatMap((from) => [...from.item.querySelectorAll("li")].map((item) => (
      { from, to: nodes[item.dataset.to], label: item.dataset.label, change: item.dataset.change })));
    for (const edge of edges) {
      edge.from.targets.push(edge.to);
      edge.to.sources.push(edge.from);
    }
    for (const node of nodes) node.neighbours = [...node.targets, ...node.sources];
    const count = element("span", { role: "status" });
    const [drawAll, back, zoomOut, zoomIn] = ["Draw all", "Back to all", "Smaller", "Larger"]
      .map((label) => element("button", { type: "button" }, label));
    const sheet = element("div", { class: "sheet", tabindex: "0", role: "group", "aria-label": "Reference graph" });
    const legend = ["rolls", "changed", "added", "removed"].map((state) => element("span", { class: `legend ${state}` }, state));
    const zoomButtons = element("span", { class: "zoom" }, zoomOut, zoomIn);
    drawing.append(element("div", { class: "bar" }, count, drawAll, back, ...legend, zoomButtons), sheet);
    document.getElementById("references").open = false;

    let words = null;
    let focus = null;
    let isAll = false;
    let scale = 0;
    let timer = 0;
    let isInView = false;

    // Returns the nodes to draw: all nodes, or the results of connectedWith for the focused node or
    // for the search results.
    function selection() {
      if (focus) return connectedWith(focus);
      if (!words) return new Set(nodes);
      const matches = nodes.filter((node) => (node.entry
        ? !node.entry.hidden
        : words.length && words.every((word) => node.name.toLowerCase().includes(word))));
      return new Set(matches.flatMap((node) => [...connectedWith(node)]));
    }

    // Draws the selected nodes, once the section is in view.
    function draw() {
      const selected = selection();
      const matching = nodes.filter((node) => selected.has(node));
      for (const node of nodes) node.item.hidden = !selected.has(node);
      section.hidden = !matching.length;
      if (!isInView || !matching.length) return;
      // Take the nodes group by group up to the limit. Only the last group can be incomplete.
      const shown = isAll || matching.length <= limit
        ? matching : groupsOf(matching).flat().slice(0, limit);
      const { picture, width } = pictureOf(shown, edges, focus);
      sheet.replaceChildren(picture);
      scale ||= Math.min(Math.max(sheet.clientWidth / width, 0.8), 1);
      picture.setAttribute("width", width * scale);
      count.textContent = shown.length < nodes.length
        ? `${formatted(shown.length)} of ${formatted(nodes.length)} objects` : `${formatted(nodes.length)} objects`;
      drawAll.hidden = shown.length === matching.length;
      back.hidden = !focus;
    }

    // Focuses a node, or removes the focus from the focused node, and draws again.
    function toggleFocus(node) {
      focus = focus === node ? null : node;
      draw();
      sheet.querySelector(`[data-number="${node.number}"]`)?.focus();
    }

    const zoom = (factor) => {
      scale = Math.min(Math.max(scale * factor, 0.3), 2.5);
      const picture = sheet.firstChild;
      picture.setAttribute("width", picture.viewBox.baseVal.width * scale);
    };
    drawAll.addEventListener("click", () => {
      isAll = true;
      draw();
      sheet.focus();
    });
    back.addEventListener("click", () => {
      focus = null;
      draw();
      sheet.focus();
    });
    zoomOut.addEventListener("click", () => zoom(1 / 1.25));
    zoomIn.addEventListener("click", () => zoom(1.25));
    sheet.addEventListener("click", (event) => {
      const box = event.target.closest(".node");
      if (box) toggleFocus(nodes[box.dataset.number]);
    });
    sheet.addEventListener("keydown", (event) => {
      const box = event.target.closest(".node");
      if (!box) return;
      const node = nodes[box.dataset.number];
      if (event.key === "Enter" || event.key === " ") toggleFocus(node);
      else if (event.key === "Escape" && focus) toggleFocus(focus);
      else if (!event.key.startsWith("Arrow") || !step(sheet, box, node, event.key)) return;
      event.preventDefault();
    });
    new IntersectionObserver((changes, observer) => {
      if (!changes.some((change) => change.isIntersecting)) return;
      observer.disconnect();
      isInView = true;
      draw();
    }, { rootMargin: "800px 0px" }).observe(section);
    return (searched) => {
      words = searched;
      focus = null;
      clearTimeout(timer);
      timer = setTimeout(draw, 150);
    };
  }

  // Returns a set of the node, its direct and indirect targets, and its direct and indirect sources.
  function connectedWith(node) {
    const connected = new Set([node]);
    for (const direction of ["targets", "sources"]) {
      const reached = new Set([node]);
      for (const current of reached) for (const next of current[direction]) reached.add(next);
      for (const other of reached) connected.add(other);
    }
    return connected;
  }

  // Returns the nodes in groups; a group has all nodes that are connected with each other.
  function groupsOf(nodes) {
    const left = new Set(nodes);
    const groups = [];
    for (const node of nodes) {
      if (!left.delete(node)) continue;
      const group = [node];
      for (const current of group) {
        for (const next of current.neighbours) if (left.delete(next)) group.push(next);
      }
      groups.push(group.sort((first, second) => first.number - second.number));
    }
    return groups;
  }

  // Moves the focus: the keys up and down in a column, the keys left and right along an edge.
  // Returns false if there is no node in this direction.
  function step(sheet, box, node, key) {
    const others = [...sheet.querySelectorAll(".node")];
    const [x, y] = [Number(box.dataset.x), Number(box.dataset.y)];
    const isVertical = key === "ArrowUp" || key === "ArrowDown";
    const sign = key === "ArrowUp" || key === "ArrowLeft" ? -1 : 1;
    const numbers = new Set(node.neighbours.map((neighbour) => String(neighbour.number)));
    const candidates = others.filter((other) => {
      const [dx, dy] = [other.dataset.x - x, other.dataset.y - y];
      return isVertical ? !dx && dy * sign > 0 : numbers.has(other.dataset.number) && dx * sign > 0;
    });
    const distance = (other) => Math.abs(other.dataset.y - y);
    const next = candidates.sort((first, second) => distance(first) - distance(second))[0];
    if (!next) return false;
    for (const other of others) other.setAttribute("tabindex", other === next ? 0 : -1);
    next.focus();
    return true;
  }

  // Sizes in the drawing. width, height: a node; across, down: the gaps between columns and rows;
  // bend: the height of a bend; between: the gap between groups.
  // letters: the number of letters in a line of a node.
  const BOX = { width: 220, letters: 28, height: 38, across: 140, down: 10, bend: 12, between: 14 };

  // Returns the drawing as an SVG element, and its width. ConfigMaps and Secrets are on the right.
  function pictureOf(nodes, edges, focus) {
    const shown = new Set(nodes);
    BOX.letters = Math.min(Math.max(28, ...[...shown].map((node) => objectName(node).length)), 60);
    BOX.width = 24 + 7.3 * BOX.letters;
    const drawn = edges.filter((edge) => shown.has(edge.from) && shown.has(edge.to));
    const columns = columnsOf(nodes, drawn);
    const places = new Map();
    const routes = new Map(drawn.map((edge) => [edge, routeOf(edge, columns)]));
    let top = BOX.between;
    for (const group of groupsOf(nodes)) {
      const inside = new Set(group);
      const inner = group.length > 1 ? drawn.filter((edge) => inside.has(edge.from)) : [];
      const rows = ordered(group, inner.map((edge) => routes.get(edge)), columns);
      top = place(rows, columns, top, places);
    }
    const width = 28 + BOX.width + Math.max(0, ...columns.values()) * (BOX.width + BOX.across);
    const label = `References of ${nodes.length} objects; the list below has the same content`;
    const picture = element("svg", { viewBox: `0 0 ${width} ${top}`, role: "group", "aria-label": label });
    picture.append(arrowHead());
    const lines = drawn.map((edge) => [edge, routes.get(edge).map((node) => places.get(node))]);
    for (const [edge, points] of lines) picture.append(line(edge, points));
    if (lines.length <= 80) {
      const labels = lines.map(([edge, points]) => edgeLabel(edge, points));
      spread(labels);
      picture.append(...labels);
    }
    const first = focus || nodes[0];
    for (const node of nodes) picture.append(box(node, places.get(node), node === focus, node === first));
    return { picture, width };
  }

  // Returns the column of each node: left of its targets, except in cycles and in long chains.
  // ConfigMaps and Secrets are in the last column.
  function columnsOf(nodes, edges) {
    const steps = new Map(nodes.map((node) => [node, node.role === "config" ? 0 : 1]));
    for (let round = 0; round < 4; round += 1) {
      for (const { from, to } of edges) {
        if (from !== to && from.role !== "config" && steps.get(from) <= steps.get(to)) {
          steps.set(from, Math.min(steps.get(to) + 1, 4));
        }
      }
    }
    const used = [...new Set(steps.values())].sort((first, second) => second - first);
    return new Map(nodes.map((node) => [node, used.indexOf(steps.get(node))]));
  }

  // Returns the route of an edge: its two nodes, and a bend in each column between them.
  // Adds the columns of the bends to `columns`.
  function routeOf(edge, columns) {
    const bends = [];
    for (let column = columns.get(edge.from) + 1; column < columns.get(edge.to); column += 1) {
      const bend = { isBend: true };
      columns.set(bend, column);
      bends.push(bend);
    }
    return [edge.from, ...bends, edge.to];
  }

  // Returns the nodes and bends of a group by column, in the order of the barycentre heuristic.
  function ordered(group, routes, columns) {
    const neighbours = new Map(group.map((node) => [node, []]));
    for (const route of routes) {
      for (const stop of route) if (!neighbours.has(stop)) neighbours.set(stop, []);
      for (let step = 1; step < route.length; step += 1) {
        neighbours.get(route[step - 1]).push(route[step]);
        neighbours.get(route[step]).push(route[step - 1]);
      }
    }
    const rows = [];
    for (const stop of neighbours.keys()) (rows[columns.get(stop)] ||= []).push(stop);
    const filled = rows.filter(Boolean);
    const position = new Map();
    const setPositions = (row) => row.forEach((stop, index) => position.set(stop, index - row.length / 2));
    filled.forEach(setPositions);
    for (let round = 0; round < (neighbours.size > 2 ? 4 : 0); round += 1) {
      for (const row of round % 2 ? filled.toReversed() : filled) {
        const mean = new Map(row.map((stop) => {
          const near = neighbours.get(stop).map((other) => position.get(other));
          return [stop, near.length ? near.reduce((sum, value) => sum + value, 0) / near.length : position.get(stop)];
        }));
        row.sort((first, second) => mean.get(first) - mean.get(second));
        setPositions(row);
      }
    }
    return filled;
  }

  // Sets the places of a group, each column centred, and returns the top of the next group.
  function place(rows, columns, top, places) {
    const heightOf = (stop) => (stop.isBend ? BOX.bend : BOX.height) + BOX.down;
    const heights = rows.map((row) => row.reduce((sum, stop) => sum + heightOf(stop), 0));
    const tallest = Math.max(...heights);
    rows.forEach((row, number) => {
      let y = top + (tallest - heights[number]) / 2;
      for (const stop of row) {
        const x = 14 + columns.get(stop) * (BOX.width + BOX.across);
        places.set(stop, { x, y, middle: y + (heightOf(stop) - BOX.down) / 2 });
        y += heightOf(stop);
      }
    });
    return top + tallest + BOX.between;
  }

  function arrowHead() {
    const head = element("path", { d: "M0 0L7 3.5L0 7", class: "unchanged" });
    return element("defs", {}, element("marker", {
      id: "arrow", viewBox: "0 0 8 7", refX: 7, refY: 3.5, markerWidth: 8, markerHeight: 7,
      markerUnits: "userSpaceOnUse", orient: "auto" }, head));
  }

  // Returns the line of an edge through its points, with a title.
  function line(edge, points) {
    let d = "";
    points.slice(1).forEach((to, number) => {
      const from = points[number];
      const x = from.x + BOX.width;
      const bend = Math.max(Math.abs(to.x - x) / 2, 40);
      // In a column that the line crosses, the line is horizontal and as long as a node is wide.
      d += `${d ? "L" : "M"}${x} ${from.middle}C${x + bend} ${from.middle} ${to.x - bend} ${to.middle} ${to.x} ${to.middle}`;
    });
    return element("path", { d, class: edge.change, "marker-end": "url(#arrow)" },
      element("title", {}, `${edge.from.name} references ${edge.to.name} (${edge.label})`));
  }

  // Returns the label of an edge, in the middle of its first part.
  function edgeLabel(edge, points) {
    const [from, to] = points;
    const sign = { added: "+ ", removed: "− " }[edge.change] || "";
    const x = (from.x + BOX.width + to.x) / 2;
    const y = (from.middle + to.middle) / 2 + 3.5;
    return element("text", { class: `label ${edge.change}`, x, y }, sign + short(edge.label, 18));
  }

  // Moves labels down that would overlap other labels.
  function spread(labels) {
    const coordinate = (label, axis) => Number(label.getAttribute(axis));
    const lowest = new Map();
    for (const label of labels.toSorted((first, second) => coordinate(first, "y") - coordinate(second, "y"))) {
      const x = coordinate(label, "x");
      const y = Math.max(coordinate(label, "y"), (lowest.get(x) ?? -99) + 13);
      label.setAttribute("y", y);
      lowest.set(x, y);
    }
  }

  // Returns the name of the object of a node, without its kind and namespace.
  function objectName(node) {
    const rest = node.name.slice(node.name.indexOf("/") + 1);
    const space = rest.lastIndexOf(" in ");
    return space < 0 ? rest : rest.slice(0, space);
  }

  // Returns the box of a node at a place; isTabStop: whether the tab key reaches the box.
  function box(node, { x, y }, isFocus, isTabStop) {
    const name = objectName(node);
    const kind = node.name.slice(0, node.name.indexOf("/"));
    const namespace = node.name.slice(kind.length + 1 + name.length);
    const state = ` · ${node.state}`;
    const details = short(kind + namespace, BOX.letters - state.length) + state;
    const { width, height } = BOX;
    const mark = ["rolls", "rejected"].includes(node.state) ? node.state : node.change;
    return element("g", {
      class: `node ${mark}`, transform: `translate(${x} ${y})`, role: "button",
      tabindex: isTabStop ? 0 : -1, "aria-pressed": isFocus, "aria-label": `${node.name}, ${node.state}`,
      "data-number": node.number, "data-x": x, "data-y": y },
    element("title", {}, node.name),
    element("rect", { class: "box", width, height, rx: 4 }),
    element("rect", { class: "tab", width: 4, height: height - 8, x: 4, y: 4, rx: 2 }),
    element("text", { class: "first", x: 15, y: 16 }, short(name, BOX.letters)),
    element("text", { class: "second", x: 15, y: 30 }, details));
  }

  // Returns a text, shortened in the middle to the limit.
  function short(text, limit) {
    return text.length <= limit ? text : `${text.slice(0, limit - 9)}…${text.slice(-8)}`;
  }
})();
