"""Programs that find ConfigMaps by labels, and so would find every revision of a ConfigMap.

A custom kind has a selector of ConfigMaps, a program a command or a call:

    spec:
      dashboardConfigMapSelector:
        matchLabels: {app: web}

    kubectl get cm -l app=web

A sidecar has the label in a variable or argument whose name contains `label`:

    containers:
    - name: dashboards
      image: kiwigrid/k8s-sidecar
      env:
      - name: LABEL
        value: grafana_dashboard

Such a variable can also select Pods, for which programs use the labels that most charts set. These
labels then count only if the container or the field is about ConfigMaps.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from postrender.errors import UserError
from postrender.inventory.build import Inventory
from postrender.kubernetes.kinds import CONFIG_MAP, CRD, WORKLOAD_KINDS, GroupKind, roots_of
from postrender.plan.by_name.strings import has_kind
from postrender.text import has_any, letters_of, unescaped
from postrender.yaml.paths import Json, Path, mappings_in, nested_mappings, value_at
from postrender.yaml.stream import Stream

# By label, the program that finds ConfigMaps by it. Sources:
# grafana-community/helm-charts charts/grafana/values.yaml
# velero-io/velero pkg/plugin/framework/common/plugin_config.go
# cloudnative-pg/cloudnative-pg pkg/utils/labels_annotations.go
_KNOWN = {
    "grafana_alert": "Grafana",
    "grafana_dashboard": "Grafana",
    "grafana_datasource": "Grafana",
    "grafana_notifier": "Grafana",
    "grafana_plugin": "Grafana",
    "velero.io/plugin-config": "Velero",
    "cnpg.io/reload": "CloudNativePG",
}
_COMMON_PREFIXES = ("app.kubernetes.io/", "helm.sh/", "argocd.argoproj.io/", "postrender/")
_COMMON = frozenset(
    {
        *("app", "chart", "component", "env", "environment", "heritage", "instance", "k8s-app"),
        *("name", "namespace", "owner", "part-of", "project", "release", "role", "service"),
        *("team", "tier", "type", "version"),
    }
)
_WORD = r"[\w./-]+"
# In a text, flag or field about labels, such as `kubectl get cm -l board`.
_SELECTS = r"(?i)label|selector|(?<!\S)-l"
_KIND_KEYS = frozenset({"kind", "kinds", "resource", "resources"})
_SELECTOR_KEYS = frozenset({"matchLabels", "matchExpressions"})
_KIND = CONFIG_MAP[1]
# The selectors of these objects select the parameters of policies, which often are ConfigMaps.
_BINDINGS = ("ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicyBinding")
# The start of a selector in a command or a call, with the rest of the line.
_CALL = r"(?i)(label_?selector|with_?labels?|matching_?labels|--selector|(?<!\S)-l)\b([^\n;|&]*)"
# A label and its value, as arguments of a call or in a mapping.
_PAIR = r"""["']([\w./-]+)["']\s{0,4}[:,=]>?\s{0,4}["']([\w.-]*)["']"""
_REQUIREMENT = r"([\w./-]+)(?:==?(.+)|\s+in\s+\(([^)]*)\))?"
# A text in quotes, or up to the next blank.
_STRING = r"""[\s=:(]*f?(?:"([^"]*)"|'([^']*)'|([^\s"'`)]+))"""
_COMMANDS = r"[|;&]|(?=\bkubectl\b|\boc\s)"
_RESOURCES = frozenset({"cm", "configmap", "configmaps", "both"})
# A value that is known only at run time has one of these.
_DYNAMIC = frozenset("$<{%(")
# A text about ConfigMaps with a selector has a mark of a selector, and one of the kind.
_MARKS = (
    *("labelselector", "label_selector", "withlabel", "with_label", "matchinglabel"),
    *("matching_label", "label-selector", "--selector", " -l", '"-l', "'-l", "k8s-sidecar"),
)
_FIELD_MARKS = ("selector", "matchlabels", "matchexpressions")
_KIND_MARKS = ("configmap", "config_map", "config-map", " cm", "paramref", "k8s-sidecar")
_BATCH = 64  # documents
# The selectors in these documents are those of pods.
_WITHOUT_SELECTORS = frozenset({kind for _, kind in WORKLOAD_KINDS} | {_KIND, "Service"})

# By label, the values that a selector permits, None for any value.
_Selector = Mapping[str, "AbstractSet[str] | None"]


# A program that finds the ConfigMaps with all labels of a selector.
LabelFinder = tuple[str, _Selector]


class LabelFinders:
    """The programs of a stream that find ConfigMaps by labels.

    A selector is in the index once, at its rarest label, so that few selectors are tried for a
    ConfigMap.
    """

    __slots__ = ("_index",)

    def __init__(self, finders: list[LabelFinder]) -> None:
        counts = Counter(pair for _, selector in finders for pair in _pairs_of(selector))
        self._index: dict[tuple[str, str | None], list[LabelFinder]] = defaultdict(list)
        for finder in finders:
            pairs = list(_pairs_of(finder[1]))
            label = min(pairs, key=lambda pair: counts[pair])[0] if pairs else ""
            for pair in [pair for pair in pairs if pair[0] == label] or [("", None)]:
                self._index[pair].append(finder)

    def find(self, kind: GroupKind, labels: Mapping[str, str]) -> LabelFinder | None:
        """A program that finds an object with these labels."""
        if kind != CONFIG_MAP:
            return None
        pairs = [pair for label in labels for pair in ((label, labels[label]), (label, None))]
        finders = (finder for pair in [*pairs, ("", None)] for finder in self._index.get(pair, ()))
        return next((finder for finder in finders if _selects(finder[1], labels)), None)


def _selects(selector: _Selector, labels: Mapping[str, str]) -> bool:
    return all(
        label in labels and (values is None or labels[label] in values)
        for label, values in selector.items()
    )


def _pairs_of(selector: _Selector) -> Iterator[tuple[str, str | None]]:
    for label, values in selector.items():
        yield from ((label, value) for value in values or (None,))


def find_finders(inventory: Inventory) -> LabelFinders:
    """The programs and objects of a stream that find ConfigMaps by labels."""
    finders: list[LabelFinder] = [(program, {label: None}) for label, program in _KNOWN.items()]
    config_maps = [item for item in inventory.items if item.identity.group_kind == CONFIG_MAP]
    own = {label for item in config_maps for label in item.labels if _is_own(label)} - _KNOWN.keys()
    for index in _documents_with_selectors(inventory.stream, own) if config_maps else ():
        try:
            document = inventory.document(index)
        except UserError:  # postrender passes on a document that it need not read
            continue
        for _, root in roots_of(document.data):
            kind, name = (value_at(root, path) for path in (("kind",), ("metadata", "name")))
            program = f"{kind}/{name}"
            finders += [(program, selector) for selector in _selectors_in(root, own)]
    return LabelFinders(finders)


def _is_own(label: str) -> bool:
    """Whether few charts set a label, so that a program does not find Pods by it."""
    return not (label.startswith(_COMMON_PREFIXES) or label in _COMMON)


def _documents_with_selectors(stream: Stream, own: AbstractSet[str]) -> Iterator[int]:
    """The documents that can have a selector of ConfigMaps; own: as for _selectors_in."""
    indexes = [index for index, kind in enumerate(stream.kinds) if kind != CRD]
    for start in range(0, len(indexes), _BATCH):
        batch = indexes[start : start + _BATCH]
        # Nearly no stream has a mark, and one search of a long text is faster than many searches.
        has_marks = has_any("\n".join(stream.texts[index] for index in batch).lower(), _MARKS)
        for index in batch:
            text, kind = stream.texts[index], stream.kinds[index]
            marks = (
                *(_MARKS if has_marks else ()),
                *(() if kind in _WITHOUT_SELECTORS else _FIELD_MARKS),
            )
            lowered = text.lower() if marks else ""
            has_own = own and re.search(_SELECTS, text) and own & set(re.findall(_WORD, text))
            if has_own or (has_any(lowered, marks) and has_any(lowered, _KIND_MARKS)):
                yield index


def _selectors_in(root: Json, own: AbstractSet[str]) -> Iterator[_Selector]:
    """The selectors of ConfigMaps in an object.

    own: the labels that count also if the variable or flag does not tell the kind.
    """
    kind = value_at(root, ("kind",))
    inside: Path = ()  # the last mapping with `kind: ConfigMap`, or with parameters of a policy
    for path, mapping in nested_mappings(root):
        if path[:1] == ("metadata",) or (kind == _KIND and path != ("data",)):
            continue
        is_parameter = path[-1:] == ("paramRef",) and kind in _BINDINGS
        if path and (is_parameter or (_KIND_KEYS & mapping.keys() and _tells_kind(mapping))):
            inside = path
        letters = _letters_about(path, inside)
        if letters and (_is_selector(path) or _SELECTOR_KEYS & mapping.keys()):
            yield from _structured(mapping)
        if re.search(_SELECTS, letters):
            yield from ({label: None} for label in own & mapping.keys())
        if "image" in mapping:
            yield from _of_container(mapping)
        for key, value in mapping.items():
            words = _words_in(value)
            text = " ".join(words)
            labels = own & set(re.findall(_WORD, text)) if own else own
            is_selector = str(key)[-9:].lower().endswith(("selector", "selectors"))
            if not (labels or is_selector or "el" in text or "-l" in text):
                continue  # nearly every value
            letters = _letters_about((*path, key), inside)
            is_read = bool(re.search(_SELECTS, letters))
            if letters and is_selector and _is_selector((key,)):
                yield from filter(None, map(_parsed, words))
            elif not is_read and re.search(_SELECTS, text) and has_kind(text, _KIND):
                is_read = True
                yield from filter(None, _in_text(text))
            flags = [(str(mapping.get("name")), text)] if key == "value" else _flags_in(words)
            for flag, word in [("label", text)] if is_read else flags if labels else ():
                if re.search(_SELECTS, flag):
                    yield from ({label: None} for label in own & set(re.findall(_WORD, word)))


def _tells_kind(mapping: Mapping[str, Json]) -> bool:
    """Whether a mapping has a key such as `kind: ConfigMap` or `resources: [configmaps]`."""
    words = (word for key in _KIND_KEYS for word in _words_in(mapping.get(key)))
    return any(word.rpartition("/")[2].lower() in _RESOURCES for word in words)


def _letters_about(path: Path, inside: Path) -> str:
    """The letters of a path about ConfigMaps, such as `spec.configMapSelector`, else ""."""
    letters = letters_of("".join(map(str, path)))
    is_inside = bool(inside) and path[: len(inside)] == inside
    return letters if is_inside or "configmap" in letters else ""


def _is_selector(path: Path) -> bool:
    """Whether the last key of a path is one such as `configMapSelector`."""
    key = letters_of(next((part for part in reversed(path) if isinstance(part, str)), ""))
    return key.endswith(("selector", "selectors")) and not key.startswith("namespace")


def _structured(mapping: Mapping[str, Json]) -> Iterator[_Selector]:
    """The selector in a mapping of labels, or with `matchLabels` or `matchExpressions`."""
    selector: dict[str, AbstractSet[str] | None] = {}
    labels = mapping.get("matchLabels", mapping)
    for label, value in labels.items() if isinstance(labels, dict) else ():
        if isinstance(value, str):
            selector[label] = _values_of(value)
    for expression in mappings_in(mapping.get("matchExpressions")):
        if expression.get("operator", "Exists") in ("In", "Exists"):
            values = _words_in(expression.get("values"))
            selector[str(expression.get("key"))] = frozenset(values) or None
    if selector or mapping.keys() <= _SELECTOR_KEYS:  # an empty selector permits all
        yield selector


def _of_container(container: Mapping[str, Json]) -> Iterator[_Selector]:
    """The selectors in the variables and flags of a container that reads ConfigMaps by labels."""
    words = [word for key in ("command", "args") for word in _words_in(container.get(key))]
    flags = list(_flags_in(words))
    flags += [
        (str(one.get("name")), str(one.get("value"))) for one in mappings_in(container.get("env"))
    ]
    text = " ".join(words)
    if (
        "k8s-sidecar" in str(container.get("image"))
        or any(value.lower() in _RESOURCES for _, value in flags)
        or any(True for _ in _in_text(text))
    ):
        selectors = (_parsed(value) for flag, value in flags if re.search(_SELECTS, flag))
        yield from filter(None, selectors)


def _flags_in(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The flag and the text of each word, as in `--label=board` or `--label board`."""
    flag = ""
    for word in words:
        flag = word.partition("=")[0] if word[:1] == "-" else flag
        yield flag, word.partition("=")[2] if word[:1] == "-" else word


def _words_in(value: Json) -> list[str]:
    """A string, or the strings of a list."""
    items = value if isinstance(value, list) else [value]
    return [unescaped(item) for item in items if isinstance(item, str)]


def _in_text(text: str) -> Iterator[_Selector]:
    """The selectors in commands and calls about ConfigMaps."""
    for part in re.split(_COMMANDS, text.replace("\\\n", " ").replace("\\n", "\n")):
        part = part.partition("\n")[0] if part.startswith(("kubectl", "oc")) else part
        if not has_kind(part, _KIND):
            continue
        for start, rest in re.findall(_CALL, part):
            if start.lower().startswith(("with", "match")):
                yield {label: _values_of(value) for label, value in re.findall(_PAIR, rest)}
            elif match := re.match(_STRING, rest):
                yield _parsed(match[1] or match[2] or match[3])


def _parsed(text: str) -> _Selector:
    """The selector in a text such as `app=web,tier in (a,b)`."""
    selector: dict[str, AbstractSet[str] | None] = {}
    for part in re.findall(r"(?:[^,(]|\([^()]*\))+", text):
        match = re.fullmatch(_REQUIREMENT, part.strip())
        if match and match[3] is not None:
            selector[match[1]] = frozenset(value.strip() for value in match[3].split(","))
        elif match:
            selector[match[1]] = _values_of(match[2] or "$")
    return selector


def _values_of(value: str) -> AbstractSet[str] | None:
    return None if _DYNAMIC & set(value) else frozenset({value})
