"""What the API server rejects in a new object, as tables: names, labels, types and values.

Source: `pkg/apis/*/validation` and `apimachinery/pkg/util/validation` of Kubernetes. Most rows
were tried with an API server of Kubernetes 1.36. The tables leave out what only some versions
reject.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from postrender.kubernetes.kinds import (
    CONTENT_KINDS,
    CRD,
    DATA_FIELDS,
    MAX_CONTENT_SIZE,
    POD,
    RBAC_GROUP,
    ROLLOUT,
    WORKLOAD_KINDS,
    GroupKind,
    content_size,
    group_kind_of,
    is_built_in,
    pod_templates,
)
from postrender.kubernetes.validation.checks import (
    ADDED,
    ANALYSES,
    API_SERVER,
    LIVE,
    NEW,
    OF_PODS,
    ROLLOUTS,
    SERVER_SIDE,
    STRICT,
    Check,
    Problem,
    is_base64,
    is_content_key,
    is_label,
    is_label_key,
    is_label_value,
    is_placeholder,
    is_subdomain,
)
from postrender.kubernetes.validation.field_types import (
    FreeType,
    UnknownField,
    find_wrong_types,
    string,
)
from postrender.kubernetes.validation.network_rows import ADDED_NETWORK_ROWS
from postrender.kubernetes.validation.pods import POD_TABLES, across_containers, restart_policy
from postrender.kubernetes.validation.rollouts import METRIC_ROWS, SPEC_ROWS, find_invalid_weights
from postrender.kubernetes.validation.rows import NEW_KIND_ROWS, kind_rows
from postrender.text import decoded
from postrender.yaml.paths import (
    Json,
    Parts,
    Path,
    PatternTree,
    mapping_at,
    mappings_in,
    parse_pattern,
    parts_at,
    value_at,
)

_MAX_ANNOTATIONS = 262_144

_ONLY_NEW = {LIVE: False, ADDED: True}

# Who rejects a value, its path, and a clause about it.
Rejection = tuple[str, Path, str]


def find_invalid(root: dict[str, Json]) -> Iterator[Problem]:
    """The values of an object for which the API server rejects a new object.

    The clause about a field that Helm 3 drops is an UnknownField. A custom resource has only rules
    about names, labels and, if it is one of Argo Rollouts, types.
    """
    for judge, path, text in find_rejections(root):
        if judge in (API_SERVER, STRICT):
            yield path, text


def find_rejections(
    root: dict[str, Json], parts: Parts = None, *, is_new: bool = True
) -> list[Rejection]:
    """The values of an object that something rejects.

    A value with a placeholder, such as `${REPLICAS}`, does not count, because a program replaces
    the value.
    parts: of the object, to check only values that contain one, or are in one.
    is_new: whether the cluster lacks the object. Otherwise, `kubectl apply` and Helm 3 merge
        two containers, volumes or mounts of one name into the list of the live object, if it has
        the list, and the API server sees only one.
    """
    # Two checks read the labels of a kind with known fields.
    rejections = dict.fromkeys(_rejections(root, parts, is_new))
    found = [one for one in rejections if not _is_replaced(root, one)]
    always = {(path, text) for judge, path, text in found if judge == API_SERVER}
    return [one for one in found if one[0] != SERVER_SIDE or one[1:] not in always]


def _is_replaced(root: dict[str, Json], rejection: Rejection) -> bool:
    judge, path, _ = rejection
    return judge not in OF_PODS and is_placeholder(value_at(root, path))


def _rejections(root: dict[str, Json], parts: Parts, is_new: bool) -> Iterator[Rejection]:
    group_kind = group_kind_of(root)
    if group_kind is None:
        return
    is_checked, is_rollout = _is_checked(group_kind)
    found = [((), root)] if group_kind == POD else pod_templates(group_kind, root)
    templates: dict[Path, Json] = dict(found)
    for path, text in _of_object(group_kind, root, templates, parts):
        is_open = is_rollout and isinstance(text, FreeType)
        judge = STRICT if isinstance(text, UnknownField) else API_SERVER
        yield ROLLOUTS if is_open else judge, path, text
    for path, value, (check, judge) in _rows_of(group_kind).find(root, parts):
        for text in check(value):
            if judge == NEW:
                is_added = is_new or _is_added(parts_at(parts, path))
                yield API_SERVER if is_added else SERVER_SIDE, path, text
            elif _ONLY_NEW.get(judge, is_new) == is_new:
                yield API_SERVER if judge in _ONLY_NEW else judge, path, text
    for path, text in find_invalid_weights(root, parts) if is_rollout else ():
        yield ROLLOUTS, path, text
    is_whole = is_new or is_rollout  # no apply merges two containers
    for start, template in templates.items() if is_checked else ():
        if isinstance(template, dict) or not is_rollout:  # a Rollout can have a workloadRef
            for path, text in _of_pod(group_kind, root, (*start, "spec"), parts, is_new=is_whole):
                yield ROLLOUTS if is_rollout else API_SERVER, path, text
    has_selector = is_rollout and not mapping_at(root, ("spec", "workloadRef"))
    if templates and (group_kind[0] == "apps" or has_selector):
        judge = ROLLOUTS if is_rollout else API_SERVER
        yield from ((judge, path, text) for path, text in _selector(root))


def _is_added(parts: Parts) -> bool:
    """Whether all items of a list are new, from the parts of the list that differ."""
    return parts is None or (0 in parts and all(inner is None for inner in parts.values()))


def _of_object(
    group_kind: GroupKind,
    root: dict[str, Json],
    templates: Mapping[Path, Json],
    parts: Parts,
) -> Iterator[Problem]:
    """The problems of names, labels, types and contents."""
    if parts_at(parts, ("metadata",)) != {} or group_kind[1] in _PARTS_OF_NAMES:
        yield from _name(group_kind, root)
    for path, value in {(): root, **templates}.items():
        if parts_at(parts, (*path, "metadata")) != {}:
            yield from _labels((*path, "metadata"), mapping_at(value, ("metadata",)))
    yield from find_wrong_types(root, parts)
    if group_kind[0] == "" and group_kind[1] in CONTENT_KINDS:
        yield from _content(group_kind[1], root)


def _of_pod(
    group_kind: GroupKind, root: dict[str, Json], path: Path, parts: Parts, *, is_new: bool
) -> Iterator[Problem]:
    """The problems of a whole pod spec, which is at `path`."""
    claims = ("spec", "volumeClaimTemplates")
    if parts_at(parts, path) != {} or parts_at(parts, claims) != {}:
        pod = mapping_at(root, path)
        yield from across_containers(path, pod, mappings_in(value_at(root, claims)), is_new=is_new)
        yield from restart_policy(group_kind, path, pod)


_KIND_ROWS = (
    (kind_rows, API_SERVER),
    (NEW_KIND_ROWS.get, NEW),
    (ADDED_NETWORK_ROWS.get, ADDED),
    (SPEC_ROWS.get, ROLLOUTS),
    (METRIC_ROWS.get, ANALYSES),
)


@cache
def _rows_of(group_kind: GroupKind) -> PatternTree:
    """The checks of an object by path, each with who rejects the value."""
    tree = PatternTree()
    for rows_of, judge in _KIND_ROWS:
        _add(tree, rows_of(group_kind) or (), judge)
    pattern = WORKLOAD_KINDS.get(group_kind)
    if pattern is not None:
        pods, shared = tree.at((*pattern, "spec")), _pod_rows(*_is_checked(group_kind))
        pods.payloads += shared.payloads
        pods.children |= shared.children
    return tree


def _is_checked(group_kind: GroupKind) -> tuple[bool, bool]:
    """Whether there are checks of a kind, and whether these are those of a Rollout."""
    is_rollout = group_kind == ROLLOUT
    return is_rollout or is_built_in(group_kind[0]), is_rollout


@cache
def _pod_rows(is_checked: bool, is_rollout: bool) -> PatternTree:
    tree = PatternTree()
    for rows, judge, judge_of_rollouts in POD_TABLES:
        who = judge_of_rollouts if is_rollout else judge
        if who in OF_PODS or (who and is_checked):
            _add(tree, rows, who)
    return tree


def _add(tree: PatternTree, rows: Iterable[tuple[str, Check]], judge: str) -> None:
    for path, check in rows:
        tree.add(parse_pattern(path) if path else (), (check, judge))


# The longest name of a kind, and whether the name has no dots.
_NAMES = {
    ("", "Service"): (63, True),
    ("", "Namespace"): (63, True),
    ("apps", "StatefulSet"): (63, True),
    ("batch", "Job"): (63, False),
    ("batch", "CronJob"): (52, False),
}
# What is before the group in the names of these kinds.
_PARTS_OF_NAMES = {CRD: ("names", "plural"), "APIService": ("version",)}
# Kinds of these groups have other names.
_OTHER_NAMES = ("certificates.k8s.io", "openshift.io", "policy")


def _name(group_kind: GroupKind, root: dict[str, Json]) -> Iterator[Problem]:
    name, path = value_at(root, ("metadata", "name")), ("metadata", "name")
    if not isinstance(name, str) or not name or group_kind[0].endswith(_OTHER_NAMES):
        return
    if group_kind[0] == RBAC_GROUP:
        if name in (".", "..") or "/" in name or "%" in name:
            yield path, "the name cannot be a part of a URL"
        return
    limit, has_no_dots = _NAMES.get(group_kind, (253, False))
    if len(name) > limit:
        yield path, f"the name has {len(name)} characters, and can have {limit}"
    elif not (is_label if has_no_dots else is_subdomain)(name):
        yield path, "the name has a character that its kind does not allow"
    elif group_kind[1] == "PriorityClass" and name.startswith("system-"):
        yield path, "only Kubernetes can use the prefix system-"
    field = _PARTS_OF_NAMES.get(group_kind[1], ())
    first, group = value_at(root, ("spec", *field)), value_at(root, ("spec", "group"))
    if field and first and group and name != f"{first}.{group}":
        yield path, f"the name is not {first}.{group}"


def _labels(path: Path, metadata: dict[str, Json]) -> Iterator[Problem]:
    for field in ("labels", "annotations"):
        for key, value in mapping_at(metadata, (field,)).items():
            where = (*path, field, key)
            if not is_label_key(key.lower() if field == "annotations" else key):
                yield where, f"the key of the {field.removesuffix('s')} is not valid"
            if value is not None and not isinstance(value, str):
                yield from ((where, clause) for clause in string(value))
            elif field == "labels" and not is_label_value(value or ""):
                yield where, "the value of the label is longer than 63 or has a wrong character"
    texts = [str(text) for item in mapping_at(metadata, ("annotations",)).items() for text in item]
    if sum(map(len, texts)) > _MAX_ANNOTATIONS:
        yield (*path, "annotations"), f"the annotations have more than {_MAX_ANNOTATIONS:,} bytes"


def _content(kind: str, root: dict[str, Json]) -> Iterator[Problem]:
    """The data of a ConfigMap or Secret. The texts about a Secret do not name a key."""
    counts = Counter(key for field in ("data", "binaryData") for key in mapping_at(root, (field,)))
    for field in DATA_FIELDS:
        for key, value in mapping_at(root, (field,)).items():
            what = "a key" if kind == "Secret" else f"the key {key}"
            if not is_content_key(key):
                yield (field,), f"{what} has a character that a key cannot have, or is too long"
            is_binary = field == "binaryData" or (field == "data" and kind == "Secret")
            is_text = isinstance(value, str) and not is_base64(value)
            if is_binary and is_text and not is_placeholder(value):
                yield (field,), f"the value of {what} is not base64"
            if counts[key] > 1 and field == "data":
                yield (field,), f"{what} is in data and in binaryData"
    if content_size(root) > MAX_CONTENT_SIZE:
        yield (), f"the content has more than {MAX_CONTENT_SIZE:,} bytes"
    secret = str(root.get("type")) if kind == "Secret" else ""
    needed = _SECRET_KEYS.get(secret, ())
    present = {key for field in DATA_FIELDS for key in mapping_at(root, (field,))}
    if secret == "kubernetes.io/basic-auth" and present.isdisjoint(("username", "password")):
        yield ("type",), "a Secret of this type needs the key username or password"
    if secret == _TOKEN and not value_at(root, ("metadata", "annotations", f"{_ACCOUNT}.name")):
        yield ("type",), f"a Secret of this type needs the annotation {_ACCOUNT}.name"
    if missing := [key for key in needed if key not in present]:
        yield ("type",), f"a Secret of this type needs the key {missing[0]}"
    elif needed and needed[0].startswith(".docker") and not _is_json(root, needed[0]):
        yield ("type",), f"the value of the key {needed[0]} is not a mapping in JSON"


def _is_json(root: dict[str, Json], key: str) -> bool:
    """Whether a value of a Secret is a mapping in JSON, or contains a placeholder."""
    text = value_at(root, ("stringData", key))
    encoded = value_at(root, ("data", key))
    if text is None and isinstance(encoded, str) and not is_placeholder(encoded):
        text = decoded(encoded)
    try:
        return is_placeholder(text) or isinstance(json.loads(str(text)), dict)
    except (ValueError, RecursionError):
        return False


_ACCOUNT = "kubernetes.io/service-account"
_TOKEN = f"{_ACCOUNT}-token"
_SECRET_KEYS = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}


def _selector(root: dict[str, Json]) -> Iterator[Problem]:
    selector, path = mapping_at(root, ("spec", "selector")), ("spec", "selector")
    wanted = mapping_at(selector, ("matchLabels",))
    labels = mapping_at(root, ("spec", "template", "metadata", "labels"))
    if not wanted and not mappings_in(selector.get("matchExpressions")):
        yield path, "the selector is missing or empty"
    elif any(labels.get(key) != value for key, value in wanted.items()):
        yield path, "the selector does not match the labels of the pod template"
