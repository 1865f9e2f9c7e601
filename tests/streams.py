"""Random streams of manifests, as objects and as text in the styles that YAML allows.

A seed decides everything. The objects have no readers by name (see tests/reference.py): no string
except a reference is the name of a ConfigMap or Secret.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.manifests import InputError, Obj, escaped, resolve_plain
from tests.reference import revision_name

# How much the notation of a stream varies: a factor for the chance of each variation.
PLAIN = 0
WILDNESS = (PLAIN, 1, 1, 3)
# The layouts of namespaces. With "mixed", some objects have a namespace, and others do not.
NAMESPACES = {
    "absent": [""],
    "one": ["blue"],
    "two": ["blue", "green"],
    "mixed": ["", "blue"],
}
LAYOUTS = ("absent", "one", "two")
EVERY_LAYOUT = tuple(NAMESPACES)


class Stream(NamedTuple):
    """A stream as text, with its objects, flattened and in order."""

    text: str
    objects: list[Obj]


SEEDS = st.integers(0, 2**32 - 1)


def styled_streams(layouts: tuple[str, ...] = LAYOUTS) -> st.SearchStrategy[Stream]:
    """Return a strategy for streams in random notations."""
    return SEEDS.map(lambda seed: random_stream(Random(seed), layouts))


def streams(layouts: tuple[str, ...] = LAYOUTS) -> st.SearchStrategy[str]:
    """Return a strategy for streams as text."""
    return styled_streams(layouts).map(lambda stream: stream.text)


def object_lists(layouts: tuple[str, ...] = LAYOUTS) -> st.SearchStrategy[list[Obj]]:
    """Return a strategy for the objects of streams."""
    return SEEDS.map(lambda seed: random_objects(Random(seed), layouts))


def random_stream(random: Random, layouts: tuple[str, ...]) -> Stream:
    objects = random_objects(random, layouts)
    return Stream(stream_text(objects, random, random.choice(WILDNESS)), objects)


# ------------------------------------------------------------------------------------- writing YAML

INNER = r"[^\W_]|[_./+=~$()<>@%*&!'|\\-]"
PLAIN_BLOCK = re.compile(rf"(?:[\w/$(=])(?:{INNER}|\"|[,\[\]{{}}]|:(?=\S)| (?=[A-Za-z0-9(]))*")
PLAIN_FLOW = re.compile(rf"(?:[\w/$(=])(?:{INNER}| (?=[A-Za-z0-9(]))*")
COMMENTS = (
    "# a comment",
    "#",
    "# name: app-config",
    "# - configMapRef: {name: app",
    "# it's \"quoted",
    "# --- no marker",
    "# *alias &anchor !tag",
    "#!shebang: |",
    "# äöü 🙂",
)
SPELLINGS = {"null": ["~", "Null"], "true": ["True", "yes", "on"], "false": ["False", "no", "off"]}
# The keys whose equal values may share an anchor, because postrender edits them alike.
SHARED = {"labels": "labels", "matchLabels": "labels", "env": "env", "envFrom": "envFrom"}
SHARED |= dict.fromkeys(("image", "mountPath", "value", "a", "on", "KEY"), "text")


def is_special(character: str) -> bool:
    """Return whether a character needs an escape: controls, line separators, byte order mark."""
    is_control = character < " " and character not in "\t\n"
    return is_control or "\x7f" <= character < "\xa0" or character in "\u2028\u2029\ufeff"


def is_plain(text: str, flow: bool) -> bool:
    try:
        is_string = resolve_plain(text) == text
    except InputError:
        return False
    return is_string and bool((PLAIN_FLOW if flow else PLAIN_BLOCK).fullmatch(text))


def is_literal(text: str) -> bool:
    """Return whether a literal block scalar preserves a string."""
    lines = text.split("\n")
    has_blank = any(line and not line.strip() for line in lines)
    has_tab = any(line.startswith("\t") for line in lines)
    return bool(text.strip()) and not (has_blank or has_tab or any(map(is_special, text)))


class Writer:
    """A writer of documents in a random notation."""

    def __init__(self, random: Random, wildness: int) -> None:
        self.random = random
        self.wildness = wildness
        # Anchors as (name, group, value), where only values of the same group share an anchor.
        self.anchors: list[tuple[str, str, Any]] = []
        self.count = 0

    def maybe(self, percent: int) -> bool:
        return self.random.randrange(100) < percent * self.wildness

    def scalar(self, value: Any, *, flow: bool = False, indent: str = "") -> str:
        """Return a scalar. indent: the indent of further lines, "" for a scalar on one line."""
        if not isinstance(value, str):
            text = json.dumps(value)
            return self.random.choice(SPELLINGS.get(text, [text])) if self.maybe(30) else text
        forms = ["double"]
        if "\n" not in value and not any(map(is_special, value)):
            forms.insert(0, "single")
        if is_plain(value, flow):
            forms.insert(0, "plain")
        form = self.random.choice(forms) if self.maybe(15) else forms[0]
        text = value
        if form == "single":
            text = "'" + value.replace("'", "''") + "'"
        elif form == "double":
            text = json.dumps(value, ensure_ascii=False)
            text = escaped(text, "".join(filter(is_special, set(value))))
        # A line break is a space.
        spaces = list(re.finditer("(?<=[A-Za-z]) (?=[A-Za-z])", text))
        if not indent or not spaces or not self.maybe(15):
            return text
        position = self.random.choice(spaces).start()
        return f"{text[:position]}\n{indent}{text[position + 1 :]}"

    def literal(self, text: str, column: int) -> str:
        step = self.random.randint(1, 4)
        core = text.rstrip("\n")
        chomp = ("-", "", "+")[min(len(text) - len(core), 2)]
        needs_step = core.lstrip("\n")[0] in " \t" or self.random.random() < 0.1
        header = [str(step) if needs_step else "", chomp]
        self.random.shuffle(header)
        lines = [" " * (column + step) + line if line else "" for line in core.split("\n")]
        lines += [""] * (len(text) - len(core) - 1)
        return "|" + "".join(header) + self.comment() + "\n" + "\n".join(lines)

    def anchored(self, value: Any, key: str, write: Callable[[], str]) -> str:
        """Return a node after a space: an alias of an equal node, or perhaps with an anchor."""
        group = SHARED.get(key, "") if value else ""
        aliases = [name for name, *anchored in self.anchors if anchored == [group, value]]
        if group and aliases and self.maybe(30):
            return f" *{aliases[0]} "
        if not self.maybe(20 if group else 1):
            return write()
        self.count += 1
        anchor = self.random.choice(("a", "x-", "A_")) + str(self.count)
        text = write()
        self.anchors.append((anchor, group, value))
        return f" &{anchor}{text}"

    def node(self, value: Any, column: int, key: str = "") -> str:
        """Return a value as it follows `key:` or `-`, with its space or line break."""
        return self.anchored(value, key, lambda: self.block_node(value, column, key))

    def block_node(self, value: Any, column: int, key: str) -> str:
        indent = " " * (column + self.random.randint(1, 3))
        if isinstance(value, dict | list):
            if not value or self.maybe(6):
                return f"{self.flow(value, indent, key)}{self.comment()}"
            step = self.random.randint(1, 4) if self.maybe(15) else 2
            if isinstance(value, list) and key:
                step = self.random.choice((0, step))
            return f"{self.comment()}\n{self.block(value, column + step, key)}"
        if value is None and self.maybe(30):
            return self.comment()
        if isinstance(value, str) and is_literal(value) and self.maybe(30 if "\n" in value else 4):
            return " " + self.literal(value, column)
        text = self.scalar(value, indent=indent) + self.comment()
        return f"\n{indent}{text}" if self.maybe(1) else f" {text}"

    def block(self, value: Any, column: int, key: str = "") -> str:
        """Return the lines of a mapping or list in block style."""
        is_list = isinstance(value, list)
        texts = (self.items if is_list else self.entries)(value, column, key)
        return "\n".join(self.between(column) + " " * column + text for text in texts)

    def entries(self, value: Obj, column: int, key: str) -> Iterator[str]:
        """Yield the entries of a mapping. A merge key may stand for some labels."""
        sources = [
            (name, part)
            for name, group, part in self.anchors
            if group == "labels" == SHARED.get(key) and part.items() <= value.items()
        ]
        merged: Obj = {}
        if sources and self.maybe(25):
            name, merged = sources[0]
            yield f"<<: *{name}"
        for name, child in value.items():
            if name not in merged:
                yield f"{self.scalar(name)}:{self.node(child, column, name)}"

    def items(self, value: list[Any], column: int, key: str) -> Iterator[str]:
        for child in value:
            if key == "items":
                # The objects of a List do not share anchors, because their edits may differ.
                self.anchors = []
            text = self.node(child, column)
            # A collection may start on the line of its dash.
            first = text.removeprefix("\n").lstrip(" ")
            width = len(text) - 1 - len(first) - column
            is_below = text.startswith("\n") and width > 1 and first[0] != "#"
            if is_below and self.random.random() < 0.8:
                text = " " * (width - 1) + first
            yield "-" + text

    def comment(self) -> str:
        """Return a comment after a node, or ""."""
        return "  " + self.random.choice(COMMENTS) if self.maybe(3) else ""

    def between(self, column: int) -> str:
        """Return a comment and an empty line before an entry, with at most its indent, or ""."""
        if not self.maybe(3):
            return ""
        indent = " " * self.random.choice((0, column, column // 2))
        return f"{indent}{self.random.choice(COMMENTS)}\n" + self.random.choice(("", "\n"))

    def flow(self, value: Any, indent: str, key: str) -> str:
        """Return a mapping or list in flow style. All lines after the first have the indent."""
        parts = []
        for name in value if isinstance(value, dict) else ():
            text = self.flow_node(value[name], indent, name)
            parts.append(f"{self.scalar(name, flow=True)}:{text}")
        for child in value if isinstance(value, list) else ():
            self.anchors = [] if key == "items" else self.anchors
            parts.append(self.flow_node(child, indent, "").removeprefix(" "))
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        comma = "," if parts and self.maybe(5) else ""
        if parts and self.maybe(15):
            lines = [f"{part},{self.comment()}" for part in parts[:-1]] + [parts[-1] + comma]
            return f" {opening}{self.comment()}\n{indent}" + f"\n{indent}".join([*lines, closing])
        return f" {opening}{', '.join(parts)}{comma}{closing}"

    def flow_node(self, value: Any, indent: str, key: str) -> str:
        def write() -> str:
            if isinstance(value, dict | list):
                return self.flow(value, indent + " ", key)
            return " " + self.scalar(value, flow=True, indent=indent + " ")

        return self.anchored(value, key, write)

    def document(self, value: Obj) -> str:
        """Return a document without its marker, ending in a line break."""
        self.anchors = []
        if self.maybe(5):
            text = json.dumps(value, ensure_ascii=False, indent=self.random.choice((None, 2)))
            return escaped(text, "".join(filter(is_special, set(text)))) + "\n"
        if self.maybe(5):
            return self.flow(value, "  ", "").lstrip() + "\n"
        column = self.random.randint(0, 3) if self.maybe(5) else 0
        return self.block(value, column) + "\n"


EMPTY = ("", "# nothing here\n", "\n", "# Source: demo/templates/empty.yaml\n", "\n# a\n\n")


def stream_text(objects: list[Obj], random: Random, wildness: int) -> str:
    writer = Writer(random, wildness)
    parts: list[str] = []
    body = ""
    for number, document in enumerate(grouped(objects, writer)):
        while random.random() < 0.05 * wildness:
            parts.append(marker(writer) + random.choice(EMPTY))
        body = writer.document(document)
        same_line = body.startswith("{") and writer.maybe(15)
        bare = number == 0 and not parts and writer.maybe(20)
        head = "" if bare else "--- " if same_line else marker(writer)
        if writer.maybe(20) and not same_line:
            head += f"# Source: demo/templates/{number}.yaml\n"
        end = random.choice(("...\n", "... # end\n", "...\n# after the end\n"))
        parts.append(head + body + (end if writer.maybe(10) else ""))
    text = "".join(parts)
    if writer.maybe(10):
        # The value of a block scalar would change without its line break.
        text = text[:-1] if body.startswith("{") else text + "# the end"
    text = text.replace("\n", "\r\n") if writer.maybe(10) else text
    return "\ufeff" + text if writer.maybe(10) else text


def marker(writer: Writer) -> str:
    others = ("--- ", "--- # a comment", "--- # ---", "---  ")
    return (writer.random.choice(others) if writer.maybe(10) else "---") + "\n"


def grouped(objects: list[Obj], writer: Writer) -> list[Obj]:
    """Return the documents of a stream: a ResourceList, or single objects and Lists."""
    if writer.maybe(5):
        version = "config.kubernetes.io/v1"
        return [{"apiVersion": version, "kind": "ResourceList", "items": objects}]
    documents: list[Obj] = []
    rest = list(objects)
    while rest:
        size = writer.random.randint(1, 3) if writer.maybe(10) else 0
        part, rest = rest[: size or 1], rest[size or 1 :]
        if size and writer.maybe(20):
            part[0] = list_of(part[:1])
        documents.append(list_of(part) if size else part[0])
    return documents


def list_of(objects: list[Obj]) -> Obj:
    return {"apiVersion": "v1", "kind": "List", "items": objects}


# ------------------------------------------------------------------------------ drawing the objects

CONFIG_NAMES = ("app", "app-config", "app-config.v2", "123", "4e5", "web", "settings", "no")
SECRET_NAMES = ("app", "token", "tls")
NAMES = ("app", "web", "worker", "app-config", "42")
VERSIONS = {
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "ReplicaSet": "apps/v1",
    "ReplicationController": "v1",
    "Rollout": "argoproj.io/v1alpha1",
    "Experiment": "argoproj.io/v1alpha1",
    "AnalysisTemplate": "argoproj.io/v1alpha1",
    "CronJob": "batch/v1",
    "Job": "batch/v1",
    "Pod": "v1",
    "PodTemplate": "v1",
}
OTHER_VERSIONS = {
    "Service": "v1",
    "ServiceAccount": "v1",
    "Ingress": "networking.k8s.io/v1",
    "Role": "rbac.authorization.k8s.io/v1",
    "ClusterRole": "rbac.authorization.k8s.io/v1",
    "Widget": "example.com/v1",
    "CustomResourceDefinition": "apiextensions.k8s.io/v1",
}
DATA_KEYS = ("a", "app.properties", "on", "1", "config.yaml", "KEY", "nested.name")
VALUES = (
    "",
    "true",
    "8080",
    "1e3",
    "=",
    "null",
    "x",
    "hello there world",
    "2001-01-01",
    " leading and trailing ",
    "key=value\nother=app-config\n",
    "server:\n  port: 8080\n  name: app\n",
    "a folded line of words\n  more indented\nback again\n",
    "two\n\n\nparts",
    "trailing lines\n\n\n",
    "\nleading line\n",
    "<a href='x'>&amp;</a>\n",
    "back\\slash \"quoted\" 'single' # no comment",
    "- list\n- like: {a: [1, 2]}\n",
    "tab\tinside\n\tand first\n",
    "äöü 🙂 \u2028\u2029\x85",
    "# only a comment\n",
    "a: b: c",
    "--- \n---\n...\n",
    "*star &amp !bang %per @at `tick",
    "\x01\x7f\ufeff",
    "line with spaces   \nnext\n",
    "  \n",
)
LETTERS = "ab:#-'\"\\ \n\t<&é🙂{}[],|>*!%@`=~?0"
HOOKS = (
    ("helm.sh/hook", "pre-install,pre-upgrade"),
    ("helm.sh/hook", "test"),
    ("argocd.argoproj.io/hook", "PreSync"),
    ("argocd.argoproj.io/hook", "PostSync"),
)


def random_objects(random: Random, layouts: tuple[str, ...] = LAYOUTS) -> list[Obj]:
    """Return the objects of one stream, flat and in order."""
    chart = Chart(random, NAMESPACES[random.choice(layouts)])
    # A few names belong to objects outside of the stream.
    objects = [
        chart.config("ConfigMap", name, namespace)
        for namespace in chart.namespaces
        for name in chart.config_names
        if random.random() < 0.9
    ]
    objects += [
        chart.config("Secret", name, namespace)
        for namespace in chart.namespaces
        for name in SECRET_NAMES
        if random.random() < 0.4
    ]
    for _ in range(random.randint(1, 5)):
        objects += chart.workload()
    for _ in range(random.randint(0, 3)):
        objects += chart.other()
    random.shuffle(objects)
    return objects


def annotate(meta: Obj, key: str, value: str) -> None:
    if not meta.get("annotations"):
        meta["annotations"] = {}
    meta["annotations"][key] = value


class Chart:
    """The choices for one stream."""

    def __init__(self, random: Random, namespaces: list[str]) -> None:
        self.random = random
        self.namespaces = namespaces
        self.config_names = random.sample(CONFIG_NAMES, random.randint(1, 3))
        self.hashed_names: list[str] = []
        self.has_waves = self.maybe(30)
        self.has_hooks = self.maybe(50)
        self.release = self.pick("", "", "shop")
        self.used: set[tuple[str, str, str]] = set()

    def maybe(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def pick(self, *values: Any) -> Any:
        return self.random.choice(values)

    def config_name(self) -> str:
        """Return a name for a reference, mostly of a ConfigMap in the stream."""
        names = [*self.config_names, *self.config_names, *self.hashed_names]
        return str(self.pick(*names, "absent-config", "web"))

    def secret_name(self) -> str:
        return str(self.pick(*SECRET_NAMES))

    def metadata(self, name: str, namespace: str) -> Obj:
        result: Obj = {"name": name} | ({"namespace": namespace} if namespace else {})
        labels = self.pick("", "", {"app": "web"}, {"app": "web", "tier": "a"}, {}, None)
        if self.release and self.maybe(80):
            labels = {**(labels or {}), "app.kubernetes.io/instance": self.release}
        notes = self.pick("", "", {"note": "app-config is here"}, {}, None)
        parts = {"labels": labels, "annotations": dict(notes) if notes else notes}
        return result | {key: value for key, value in parts.items() if value != ""}

    # ConfigMaps and Secrets

    def config(self, kind: str, name: str, namespace: str) -> Obj:
        meta = self.metadata(name, namespace)
        obj: Obj = {"apiVersion": "v1", "kind": kind, "metadata": meta}
        obj |= self.secret_data() if kind == "Secret" else self.data()
        strategy = self.pick(*[""] * 6, "checksum", "ignore", "rename")
        if strategy:
            annotate(meta, "postrender/strategy", strategy)
        # postrender's checksum does not depend on `immutable`, unlike its hash.
        if self.maybe(20) and strategy != "checksum":
            obj["immutable"] = self.pick(True, False)
        extra = self.pick(*[""] * 6, "keep", "not keep", "hook", "options", "kustomize", "generate")
        if extra in ("keep", "not keep"):
            annotate(meta, "postrender/keep-original", "true" if extra == "keep" else "false")
        elif extra == "hook":
            annotate(meta, "helm.sh/hook", "post-install")
        elif extra == "options":
            annotate(meta, "argocd.argoproj.io/sync-options", "Replace=false")
            annotate(meta, "argocd.argoproj.io/compare-options", "IgnoreExtraneous")
        elif extra == "kustomize" and kind == "ConfigMap":
            obj["data"] = {"named": f"by kustomize in {namespace}"}
            meta["name"] = revision_name(obj)
            self.hashed_names.append(meta["name"])
            # The golden cases kustomize-* are about the adoption of such a ConfigMap.
            annotate(meta, "postrender/strategy", "ignore")
        elif extra == "generate":
            meta["generateName"] = f"{meta.pop('name')}-"
        return obj

    def data(self) -> Obj:
        form = self.pick("data", "data", "data", "data", "binary", "both", "empty", "none", "null")
        result: Obj = {}
        if form in ("data", "both"):
            keys = self.random.sample(DATA_KEYS, self.random.randint(1, 3))
            result["data"] = {key: self.text() for key in keys}
            if self.maybe(10):
                result["data"][keys[0]] = None
        if form in ("binary", "both"):
            result["binaryData"] = {"logo.png": self.pick("iVBORw0KGgo=", "AAEC", "")}
        if form in ("empty", "null"):
            result["data"] = {} if form == "empty" else None
        return result

    def secret_data(self) -> Obj:
        result: Obj = {"type": "Opaque"} if self.maybe(70) else {}
        if self.maybe(80):
            result["data"] = {"k": self.pick("c2VjcmV0", "eA==")}
        if self.maybe(20):
            result["stringData"] = {"text": self.text()}
        return result

    def text(self) -> str:
        letters = "".join(self.random.choices(LETTERS, k=self.random.randint(0, 12)))
        return str(self.pick(letters, self.pick(*VALUES), self.pick(*VALUES)))

    # Pods

    def env(self) -> Obj:
        source = self.pick("configMapKeyRef", "configMapKeyRef", "value", "secretKeyRef", "field")
        if source == "value":
            return {"name": "B", "value": self.pick("info", "2e3", "--level=app-1", "")}
        if source == "field":
            return {"name": "D", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
        is_config = source == "configMapKeyRef"
        name = self.config_name() if is_config else self.secret_name()
        ref: Obj = {"name": name, "key": self.pick("a", "on")}
        return {"name": "A", "valueFrom": {source: ref | self.pick({}, {}, {"optional": True})}}

    def env_from(self) -> Obj:
        first = self.pick({}, {}, {"prefix": "P_"})
        if self.maybe(20):
            return {**first, "secretRef": {"name": self.secret_name()}}
        return {**first, "configMapRef": {"name": self.config_name()}}

    def container(self, name: str) -> Obj:
        result: Obj = {"name": name, "image": "registry.example/app:1.2.3"}
        if self.maybe(50):
            result["env"] = [self.env() for _ in range(self.pick(1, 1, 2))]
        elif self.maybe(20):
            result["env"] = self.pick(None, [])
        if self.maybe(60):
            result["envFrom"] = [self.env_from() for _ in range(self.pick(1, 1, 2))]
        if self.maybe(15):
            result["args"] = ["--config", "/etc/app-config.yaml", "-v=2"]
        return result

    def volume(self, number: int) -> Obj:
        config: Obj = {"name": self.config_name()}
        if self.maybe(30):
            config |= {"items": [{"key": "a", "path": "app-config"}], "defaultMode": 420}
        secret = {"name": self.secret_name()}
        sources = [{"configMap": config}, {"downwardAPI": {"items": []}}, {"secret": secret}]
        volume = self.pick(
            {"configMap": config},
            {"configMap": config},
            {"projected": {"sources": sources}},
            {"secret": {"secretName": secret["name"]}},
            {"csi": {"driver": "csi.example", "nodePublishSecretRef": secret}},
            {"emptyDir": {}},
        )
        return {"name": f"v{number}", **volume}

    def pod_spec(self) -> Obj:
        spec: Obj = {"containers": [self.container("main")]}
        if volumes := self.pick(0, 1, 1, 2):
            spec["volumes"] = [self.volume(number) for number in range(volumes)]
        extra = self.pick("", "", "", "initContainers", "ephemeralContainers", "twin", "settings")
        if extra == "twin":
            # Equal lists, which may share an anchor.
            spec["containers"].append({**spec["containers"][0], "name": "twin"})
        elif extra == "settings":
            spec |= {"hostNetwork": False, "terminationGracePeriodSeconds": 2000}
            spec["securityContext"] = {"runAsUser": 493, "runAsNonRoot": True}
            spec["imagePullSecrets"] = [{"name": self.secret_name()}]
        elif extra:
            spec[extra] = [self.container("extra")]
        return spec

    def pod_template(self) -> Obj:
        labels = {"app": "web", "tier": self.pick("a", "b")}
        metadata = self.pick(
            "",
            {"labels": labels},
            {"labels": labels},
            None,
            {},
            {"labels": labels, "annotations": None},
            {"annotations": {}, "labels": labels},
            {"labels": labels, "annotations": {"note": "for app-config"}},
        )
        return ({} if metadata == "" else {"metadata": metadata}) | {"spec": self.pod_spec()}

    # Workloads

    def workload(self) -> list[Obj]:
        kind = self.pick(*VERSIONS, "Deployment", "Rollout", "Rollout")
        meta = self.free_metadata(kind)
        if meta is None:
            return []
        obj = {"apiVersion": VERSIONS[kind], "kind": kind, "metadata": meta}
        obj |= self.workload_spec(kind)
        if self.has_waves and self.maybe(50):
            annotate(meta, "argocd.argoproj.io/sync-wave", self.pick("1", "-1", "0"))
        if self.has_hooks and kind in ("Job", "Pod", "Deployment") and self.maybe(50):
            annotate(meta, *self.pick(*HOOKS))
            meta["annotations"].pop("argocd.argoproj.io/sync-wave", None)
        if self.maybe(12):
            opt_out = self.pick("false", "false", "true")
            annotate(meta, "postrender/rewrite-references", opt_out)
        if kind == "Job" and self.maybe(25):
            meta["generateName"] = f"{meta.pop('name')}-"
        return [obj, *(self.rollout_for(meta) if kind == "Deployment" and self.maybe(30) else [])]

    def free_metadata(self, kind: str) -> Obj | None:
        """Return metadata with an unused identity, or None if the drawn one is taken."""
        namespace = self.pick(*self.namespaces) if not kind.startswith("C") else ""
        if kind == "CronJob":
            namespace = self.pick(*self.namespaces)
        identity = (kind, self.pick(*NAMES), namespace)
        if identity in self.used:
            return None
        self.used.add(identity)
        return self.metadata(*identity[1:])

    def workload_spec(self, kind: str) -> Obj:
        """Return the parts of a workload other than apiVersion, kind and metadata."""
        template = self.pod_template()
        if kind == "Pod":
            return {"spec": template["spec"]}
        if kind == "PodTemplate":
            return {"template": template}
        spec: Obj = {"template": template}
        if kind == "CronJob":
            spec = {"schedule": "*/5 * * * *", "jobTemplate": {"spec": spec}}
        elif kind == "Experiment":
            parts = [{"name": "baseline", "template": template}]
            parts += [{"name": "canary", "template": self.pod_template()}] if self.maybe(50) else []
            spec = {"templates": parts}
        elif kind == "AnalysisTemplate":
            web: Obj = {"name": "web", "provider": {"web": {"url": "http://example/x"}}}
            job: Obj = {"name": "job", "provider": {"job": {"spec": spec}}}
            spec = {"metrics": self.pick([web, job], [job], [job, web])}
        elif kind != "Job":
            spec = {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, **spec}
        return {"spec": spec}

    def rollout_for(self, meta: Obj) -> list[Obj]:
        """Return a Rollout that runs a Deployment's template."""
        identity = ("Rollout", meta["name"], meta.get("namespace", ""))
        if identity in self.used:
            return []
        self.used.add(identity)
        new = {key: meta[key] for key in ("name", "namespace") if key in meta}
        ref = {"apiVersion": "apps/v1", "kind": "Deployment", "name": meta["name"]}
        spec = {"replicas": 2, "workloadRef": ref}
        version = VERSIONS["Rollout"]
        return [{"apiVersion": version, "kind": "Rollout", "metadata": new, "spec": spec}]

    # Other objects

    def other(self) -> list[Obj]:
        kinds = [
            kind for kind in OTHER_VERSIONS if kind != "ClusterRole" or len(self.namespaces) < 2
        ]
        kind = self.pick(*kinds, "Role", "Ingress")
        meta = self.free_metadata(kind)
        if meta is None:
            return []
        obj = {"apiVersion": OTHER_VERSIONS[kind], "kind": kind, "metadata": meta}
        if kind == "ServiceAccount":
            key = self.pick("secrets", "imagePullSecrets")
            return [{**obj, key: [{"name": self.secret_name()}]}]
        if kind in ("Role", "ClusterRole"):
            return [{**obj, "rules": self.policy_rules()}]
        if kind == "Ingress":
            return [{**obj, "spec": self.ingress_spec(meta)}]
        if kind == "Service":
            ports = [{"port": 80, "targetPort": "http"}]
            return [{**obj, "spec": {"selector": {"app": "web"}, "ports": ports}}]
        free = {"configMap": self.config_name(), "size": 0.5, "names": ["a", None, True, 10]}
        return [{**obj, "spec": free}]

    def policy_rules(self) -> list[Obj]:
        names = self.random.sample([*self.config_names, *self.hashed_names, "tls"], self.pick(1, 2))
        resources = self.pick(["configmaps"], ["configmaps"], ["pods", "configmaps"], ["secrets"])
        verbs = self.pick(["get"], ["get"], ["get", "patch"])
        rule = {"apiGroups": [""], "resources": resources, "resourceNames": names, "verbs": verbs}
        other = {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["*"]}
        return [*self.pick([], [other]), rule]

    def ingress_spec(self, meta: Obj) -> Obj:
        if self.maybe(60):
            prefix = self.pick("", f"{meta['namespace']}/") if "namespace" in meta else ""
            kind, name = self.pick(
                ("auth-secret", self.pick("token", "tls")), ("custom-headers", self.config_name())
            )
            annotate(meta, f"nginx.ingress.kubernetes.io/{kind}", prefix + name)
        return {"tls": [{"hosts": ["example.com"], "secretName": self.secret_name()}]}
