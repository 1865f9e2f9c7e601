"""What the API server rejects in a new object, as tables: names, labels, types and values.

Source: `pkg/apis/*/validation` and `apimachinery/pkg/util/validation` of Kubernetes. Most rows
were tried with an API server of Kubernetes 1.36. The tables leave out what only some versions
reject.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from postrender.kubernetes.kinds import (
    CONTENT_KINDS,
    CRD,
    DATA_FIELDS,
    MAX_CONTENT_SIZE,
    RBAC_GROUP,
    ROLLOUT,
    GroupKind,
    content_size,
    group_kind_of,
    is_built_in,
    pod_templates,
)
from postrender.kubernetes.validation.checks import (
    Problem,
    find_wrong_types,
    is_label,
    is_label_value,
    is_subdomain,
    needs_quotes,
)
from postrender.kubernetes.validation.pods import (
    LIVE_POD_ROWS,
    NEW_POD_ROWS,
    POD_ROWS,
    REPEATED_ROWS,
    ROLLOUT_ROWS,
    across_containers,
    restart_policy,
)
from postrender.kubernetes.validation.rows import KIND_ROWS, NEW_KIND_ROWS
from postrender.text import decoded
from postrender.yaml.paths import (
    Json,
    Parts,
    Path,
    PatternTree,
    mapping_at,
    mappings_in,
    parts_at,
    value_at,
)

_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/= \t\r\n")
_CONTENT_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}\Z")
# The marks of Flux, make, Helm, argocd-vault-plugin, vals, sops and Bank-Vaults.
_PLACEHOLDERS = ("${", "$(", "{{", "<", "ref+", "ENC[", "vault:", "bao:")
_MAX_ANNOTATIONS = 262_144


def find_invalid(
    root: dict[str, Json], parts: Parts = None, *, is_new: bool = True
) -> Iterator[Problem]:
    """The values of an object for which the API server rejects a new object.

    A custom resource has only rules about names, labels and, if it is a Rollout, types. A value
    with a placeholder, such as `${REPLICAS}`, does not count, because a program replaces the value.
    parts: of the object, to check only values that contain one, or are in one.
    is_new: whether the cluster lacks the object. Otherwise, `kubectl apply` and Helm 3 merge
        two containers, volumes or mounts of one name into the list of the live object, if it has
        the list, and the API server sees only one.
    """
    for path, text in _problems(root, parts, is_new=is_new):
        if not _is_placeholder(value_at(root, path)):
            yield path, text


def find_repeated(root: dict[str, Json], parts: Parts = None) -> Iterator[Problem]:
    """The items of lists with equal keys, which only a server-side apply rejects in an object."""
    group_kind = group_kind_of(root)
    if group_kind is not None and is_built_in(group_kind[0]):
        for path, value, check in NEW_KIND_ROWS.get(group_kind, _NO_ROWS).find(root, parts):
            yield from ((path, text) for text in check(value))
        for start, template in pod_templates(group_kind, root):
            for path, value, check in REPEATED_ROWS.find(template, parts_at(parts, start)):
                yield from (((*start, *path), text) for text in check(value))


def _is_placeholder(value: Json) -> bool:
    return isinstance(value, str) and any(mark in value for mark in _PLACEHOLDERS)


def _problems(root: dict[str, Json], parts: Parts, *, is_new: bool) -> Iterator[Problem]:
    group_kind = group_kind_of(root)
    if group_kind is None:
        return
    templates = pod_templates(group_kind, root)
    if parts_at(parts, ("metadata",)) != {} or group_kind[1] == CRD:
        yield from _name(group_kind, root)
    for path, value in (((), root), *templates):
        if parts_at(parts, (*path, "metadata")) != {}:
            yield from _labels((*path, "metadata"), mapping_at(value, ("metadata",)))
    if not (is_built_in(group_kind[0]) or group_kind == ROLLOUT):
        return
    if group_kind[1] != CRD:
        yield from find_wrong_types(root, parts)
    if group_kind[0] == "" and group_kind[1] in CONTENT_KINDS:
        yield from _content(group_kind[1], root)
    for path, value, check in KIND_ROWS.get(group_kind, _NO_ROWS).find(root, parts):
        yield from ((path, text) for text in check(value))
    for path, value, check in NEW_KIND_ROWS.get(group_kind, _NO_ROWS).find(root, parts):
        if is_new or _is_added(parts_at(parts, path)):
            yield from ((path, text) for text in check(value))
    if group_kind == ("", "Pod"):
        templates = [((), root)]
    claims = ("spec", "volumeClaimTemplates")
    for start, template in templates:
        path, pod = (*start, "spec"), mapping_at(template, ("spec",))
        inside = parts_at(parts, path)
        trees = [ROLLOUT_ROWS] if group_kind == ROLLOUT else [POD_ROWS]
        if group_kind != ROLLOUT:
            trees += [NEW_POD_ROWS] if is_new else [NEW_POD_ROWS, LIVE_POD_ROWS]
        for tree in trees:
            for inner, value, check in tree.find(pod, inside):
                if tree is not NEW_POD_ROWS or is_new or _is_added(parts_at(inside, inner)):
                    yield from (((*path, *inner), text) for text in check(value))
        if group_kind != ROLLOUT and (inside != {} or parts_at(parts, claims) != {}):
            names = mappings_in(value_at(root, claims))
            yield from across_containers(path, pod, names, is_new=is_new)
            yield from restart_policy(group_kind, path, pod)
    if group_kind[0] == "apps" and templates:
        yield from _selector(root)


def _is_added(parts: Parts) -> bool:
    """Whether all items of a list are new, from the parts of the list that differ."""
    return parts is None or (0 in parts and all(inner is None for inner in parts.values()))


# The longest name of a kind, and whether the name has no dots.
_NAMES = {
    ("", "Service"): (63, True),
    ("", "Namespace"): (63, True),
    ("apps", "StatefulSet"): (63, True),
    ("batch", "Job"): (63, False),
    ("batch", "CronJob"): (52, False),
}
# Kinds of these groups have other names.
_OTHER_NAMES = ("certificates.k8s.io", "openshift.io")


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
    names = mapping_at(root, ("spec", "names"))
    expected = f"{names.get('plural')}.{value_at(root, ('spec', 'group'))}"
    if group_kind[1] == CRD and names and name != expected:
        yield path, f"the name is not {expected}"


def _labels(path: Path, metadata: dict[str, Json]) -> Iterator[Problem]:
    for field in ("labels", "annotations"):
        for key, value in mapping_at(metadata, (field,)).items():
            where = (*path, field, key)
            if not _is_label_key(key.lower() if field == "annotations" else key):
                yield where, f"the key of the {field.removesuffix('s')} is not valid"
            if value is not None and not isinstance(value, str):
                yield where, needs_quotes(value)
            elif field == "labels" and not is_label_value(value or ""):
                yield where, "the value of the label is longer than 63 or has a wrong character"
    texts = [str(text) for item in mapping_at(metadata, ("annotations",)).items() for text in item]
    if sum(map(len, texts)) > _MAX_ANNOTATIONS:
        yield (*path, "annotations"), f"the annotations have more than {_MAX_ANNOTATIONS:,} bytes"


@lru_cache(maxsize=256)  # most objects have the same keys
def _is_label_key(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    return (not slash or is_subdomain(prefix)) and name != "" and is_label_value(name)


def _content(kind: str, root: dict[str, Json]) -> Iterator[Problem]:
    """The data of a ConfigMap or Secret. The texts about a Secret do not name a key."""
    counts = Counter(key for field in ("data", "binaryData") for key in mapping_at(root, (field,)))
    for field in DATA_FIELDS:
        for key, value in mapping_at(root, (field,)).items():
            what = "a key" if kind == "Secret" else f"the key {key}"
            if not _CONTENT_KEY.match(key) or key == "." or key.startswith(".."):
                yield (field,), f"{what} has a character that a key cannot have, or is too long"
            is_binary = field == "binaryData" or (field == "data" and kind == "Secret")
            is_text = isinstance(value, str) and not _is_base64(value)
            if is_binary and is_text and not _is_placeholder(value):
                yield (field,), f"the value of {what} is not base64"
            if counts[key] > 1 and field == "data":
                yield (field,), f"{what} is in data and in binaryData"
    if content_size(root) > MAX_CONTENT_SIZE:
        yield (), f"the content has more than {MAX_CONTENT_SIZE:,} bytes"
    needed = _SECRET_KEYS.get(str(root.get("type")), ()) if kind == "Secret" else ()
    present = {key for field in DATA_FIELDS for key in mapping_at(root, (field,))}
    if missing := [key for key in needed if key not in present]:
        yield ("type",), f"a Secret of this type needs the key {missing[0]}"
    elif needed and needed[0].startswith(".docker") and not _is_json(root, needed[0]):
        yield ("type",), f"the value of the key {needed[0]} is not a mapping in JSON"


def _is_json(root: dict[str, Json], key: str) -> bool:
    """Whether a value of a Secret is a mapping in JSON, or contains a placeholder."""
    text = value_at(root, ("stringData", key))
    encoded = value_at(root, ("data", key))
    if text is None and isinstance(encoded, str) and not _is_placeholder(encoded):
        text = decoded(encoded)
    try:
        return _is_placeholder(text) or isinstance(json.loads(str(text)), dict)
    except (ValueError, RecursionError):
        return False


def _is_base64(text: str) -> bool:
    return _BASE64.issuperset(text)


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


_NO_ROWS = PatternTree()
