"""A slow and naive second implementation of the renderer, to test the real one.

The module loads a stream as plain data, applies each rule in a plain loop, and returns plain data.
It shares no code with the program. Bytes, comments, findings and the pod spec of the attacher are
left out. An attacher object is reduced to names, labels, the annotations that deploy tools read,
and the Job's arguments.
"""

from __future__ import annotations

import copy
import fnmatch
import functools
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from tests.reference_readers import (
    OWN_GROUPS,
    is_copied,
    is_filled,
    is_well_known,
    reader_of,
)

Obj = dict[str, Any]


class InputError(ValueError):
    """An error in the stream: the program must exit with 1 and write nothing."""


# ---------------------------------------------------------------- text to data, as Kubernetes reads

STR_TAG = "tag:yaml.org,2002:str"
CORE_TAGS = tuple(f"tag:yaml.org,2002:{name}" for name in ("int", "float", "bool", "null"))
TRUE = {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"}
FALSE = {"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"}
NULL = {"", "~", "null", "Null", "NULL"}
NOT_JSON = {".nan", ".NaN", ".NAN"} | {
    sign + text for sign in ("", "+", "-") for text in (".inf", ".Inf", ".INF")
}
INTEGER = re.compile(
    r"([-+]?)(?:0[xX](?P<x>[0-9a-fA-F]+)|0[bB](?P<b>[01]+)|0[oO]?(?P<o>[0-7]+)|(?P<d>0|[1-9][0-9]*))"
)
FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")


def resolve_plain(text: str) -> Any:
    """Return the value of a plain scalar, as sigs.k8s.io/yaml reads it (YAML 1.1 without dates)."""
    if text in TRUE:
        return True
    if text in FALSE:
        return False
    if text in NULL:
        return None
    if text in NOT_JSON:
        raise InputError(f"{text} is not a JSON value")
    return resolve_number(text)


def resolve_number(text: str) -> Any:
    """Return an integer or a float, or the text if it is not a number."""
    # A number starts with a digit, a sign or a dot.
    if not text[:1] or text[0] not in "0123456789+-.":
        return text
    # Underscores are ignored. After a leading dot, only single ones between digits are.
    between = r"(?<=[0-9])_(?=[0-9])"
    digits = re.sub(between, "", text) if text[0] == "." else text.replace("_", "")
    whole = INTEGER.fullmatch(digits)
    if whole is not None and integer_fits(whole):
        return integer_value(whole)
    if FLOAT.fullmatch(digits):
        value = float(digits)
        # Go's parser rejects an overflow, so that the text stays a string.
        return text if value in (float("inf"), float("-inf")) else value
    return text


def integer_value(match: re.Match[str]) -> int:
    """Return the number of an INTEGER match."""
    bases = {"x": 16, "b": 2, "o": 8, "d": 10}
    name, digits = next((n, d) for n, d in match.groupdict().items() if d is not None)
    return int(digits, bases[name]) * (-1 if match[1] == "-" else 1)


def integer_fits(match: re.Match[str]) -> bool:
    """Return whether a number fits into Go's int64, or uint64 if it has no sign."""
    value = integer_value(match)
    return -(2**63) <= value < (2**63 if match[1] else 2**64)


def scalar_value(event: ScalarEvent) -> Any:
    """Return the value of a scalar event; plain scalars are resolved, all others are strings."""
    if event.tag is None or event.tag == "!":
        return resolve_plain(event.value) if event.implicit[0] else event.value
    if event.tag == STR_TAG:
        return event.value
    if event.tag in CORE_TAGS:
        return resolve_plain(event.value)
    raise InputError(f"tag {event.tag}")


def key_text(key: Any) -> str:
    """Return a mapping key as text, as JSON requires."""
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int | float):
        return go_json(key)
    raise InputError(f"mapping key {key!r}")


class Builder:
    """A builder of plain data from parser events; an alias becomes a copy."""

    def __init__(self, events: Iterator[Any]) -> None:
        self.events = events
        self.anchors: dict[str, Any] = {}

    def documents(self) -> list[Any]:
        """Build every document."""
        documents = []
        for event in self.events:
            if isinstance(event, DocumentStartEvent):
                self.anchors = {}
                documents.append(self.node(next(self.events)))
        return documents

    def node(self, event: Any) -> Any:
        """Build one node from its first event."""
        if isinstance(event, AliasEvent):
            if event.anchor not in self.anchors:
                raise InputError(f"alias {event.anchor} before its anchor")
            return copy.deepcopy(self.anchors[event.anchor])
        value = self.content(event)
        if event.anchor is not None:
            self.anchors[event.anchor] = value
        return value

    def content(self, event: Any) -> Any:
        """Build a node that is not an alias."""
        if isinstance(event, ScalarEvent):
            return scalar_value(event)
        if isinstance(event, SequenceStartEvent):
            return self.sequence()
        if isinstance(event, MappingStartEvent):
            return self.mapping()
        raise InputError(f"unexpected {event}")

    def sequence(self) -> list[Any]:
        """Build the items of a list."""
        items = []
        while not isinstance(event := next(self.events), SequenceEndEvent):
            items.append(self.node(event))
        return items

    def mapping(self) -> Obj:
        """Build a mapping; each entry, own or merged, overrides the entries above."""
        entries: Obj = {}
        while not isinstance(event := next(self.events), MappingEndEvent):
            merging = is_merge(event)
            key = "<<" if merging else self.node(event)
            value = self.node(next(self.events))
            if merging:
                entries |= merge_sources(value)
            else:
                entries[key_text(key)] = value
        return entries


def is_merge(event: Any) -> bool:
    """Return whether an event is a merge key; Helm 4 writes it as `!!merge <<`."""
    if not isinstance(event, ScalarEvent) or event.value != "<<":
        return False
    return bool(event.implicit[0]) or event.tag == "tag:yaml.org,2002:merge"


def merge_sources(value: Any) -> Obj:
    """Return the keys that `<<` merges, from a mapping or a list in which the first wins."""
    result: Obj = {}
    for source in value if isinstance(value, list) else [value]:
        if not isinstance(source, dict):
            raise InputError("<< needs a mapping")
        result = {**source, **result}
    return result


def json_values(text: str) -> list[Any] | None:
    """Return the values of a stream of JSON objects, or None for another stream."""
    decoder = json.JSONDecoder()
    values = []
    rest = text.strip()
    if not rest.startswith("{"):
        return None
    while rest:
        try:
            value, end = decoder.raw_decode(rest)
        except json.JSONDecodeError:
            return None
        values.append(value)
        rest = rest[end:].strip()
    return values


def load(text: str) -> list[Any]:
    """Return all documents of a stream as data, with None for an empty document."""
    # kubectl ignores a byte order mark at the start of any document.
    text = re.sub(
        r"^(---(?:[ \t][^\n]*)?\r?\n)\ufeff", r"\1", text.removeprefix("\ufeff"), flags=re.M
    )
    values = json_values(text)
    if values is not None:
        return values
    try:
        return Builder(iter(YAML(typ="safe", pure=True).parse(text))).documents()
    except YAMLError as error:
        raise InputError(str(error)) from error


def is_list(value: Any) -> bool:
    """Return whether a value is a list object: List, ConfigMapList, ResourceList and so on."""
    return (
        isinstance(value, dict)
        and str(value.get("kind", "")).endswith("List")
        and isinstance(value.get("items"), list)
    )


def flatten(value: Any) -> list[Obj]:
    """Return the objects of a document; an item without a kind gets it from its list."""
    if not is_list(value):
        return [value] if isinstance(value, dict) else []
    objects = []
    for item in value["items"]:
        if isinstance(item, dict) and "kind" not in item and value["kind"] != "List":
            kind = value["kind"].removesuffix("List")
            item = {"apiVersion": value.get("apiVersion", "v1"), "kind": kind, **item}
        objects.extend(flatten(item))
    return objects


def normalise(text: str) -> list[Obj]:
    """Return a stream as a flat list of objects."""
    return [obj for document in load(text) for obj in flatten(document)]


# ------------------------------------------------------------------------------------ JSON and hash


def go_number(value: float) -> str:
    """Return a float as Go's encoding/json writes it."""
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        text = format(Decimal(repr(value)), "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa, exponent = repr(value).split("e")
    sign = exponent[0] if exponent[0] == "-" else "+"
    return f"{mantissa.removesuffix('.0')}e{sign}{exponent.lstrip('+-').lstrip('0')}"


def go_string(value: str) -> str:
    """Return a string as Go's encoding/json writes it."""
    text = json.dumps(value, ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def go_json(value: Any) -> str:
    """Return compact JSON with sorted keys and Go's escapes."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{go_string(k)}:{go_json(value[k])}" for k in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(go_json(item) for item in value) + "]"
    if isinstance(value, str):
        return go_string(value)
    if isinstance(value, float):
        return go_number(value)
    return json.dumps(value)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def hash10(text: str) -> str:
    """Return ten digits of a hash, in the alphabet of kustomize."""
    return sha256(text)[:10].translate(str.maketrans("013ae", "ghkmt"))


def checked_data(obj: Obj, key: str) -> Any:
    """Return a mapping of data with null values as empty texts, or None if absent."""
    data = obj.get(key)
    if data is None:
        return None
    if not isinstance(data, dict):
        raise InputError(f"{key} is not a mapping")
    for name, value in data.items():
        if value is not None and not isinstance(value, str):
            raise InputError(f"{key}.{name} is not a string")
    return {name: "" if value is None else value for name, value in data.items()}


def content_hash(obj: Obj, name: str = "", immutable: bool = True) -> str:
    """Return the content hash that kustomize computes; an empty mapping counts as absent."""
    data = checked_data(obj, "data")
    content: Obj = {"kind": obj["kind"], "name": name, "data": data or ""}
    other = "binaryData" if obj["kind"] == "ConfigMap" else "stringData"
    extra = checked_data(obj, other)
    if extra:
        content[other] = extra
    if obj["kind"] == "Secret":
        content["type"] = obj.get("type") or ""
    # A mutable revision must not share its name with an immutable one of the same content.
    if not immutable:
        content["immutable"] = False
    return hash10(go_json(content))


def revision_name(obj: Obj, immutable: bool = True) -> str:
    """Return `<base name>-<hash>`, with at most 253 characters."""
    base = name_of(obj)
    if len(base) + 11 <= 253:
        return f"{base}-{content_hash(obj, immutable=immutable)}"
    # A truncated name must end in a letter or digit. The hash then covers the whole base name.
    prefix = re.sub(r"[^A-Za-z0-9]+$", "", base[:242])
    return f"{prefix}-{content_hash(obj, base, immutable)}"


# -------------------------------------------------------------------------------- reading an object

WORKLOADS = {
    "": {"Pod", "PodTemplate", "ReplicationController"},
    "apps": {"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"},
    "extensions": {"Deployment", "DaemonSet", "ReplicaSet"},
    "batch": {"Job", "CronJob"},
    "argoproj.io": {
        "Rollout",
        "Experiment",
        "AnalysisTemplate",
        "ClusterAnalysisTemplate",
        "AnalysisRun",
    },
}
ATTACHER_KINDS = ("ServiceAccount", "Role", "RoleBinding", "Job")
MANAGED = "postrender/attach-group"
BASE_NAME = "postrender/base-name"
REVISION = "postrender/render-id"
CHECKSUM = "postrender/checksum"
WAVE = "argocd.argoproj.io/sync-wave"
FILENAME = "postrenderer.helm.sh/postrender-filename"


def sub(value: Any, *keys: str) -> Obj:
    """Return the mapping below some keys, or an empty one."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def items(value: Any, *keys: str) -> list[Obj]:
    """Return the mappings in the list below some keys."""
    values = sub(value, *keys[:-1]).get(keys[-1])
    return [item for item in values if isinstance(item, dict)] if isinstance(values, list) else []


def make(value: Obj, *keys: str) -> Obj:
    """Return the mapping below some keys, which is created if absent or null."""
    for key in keys:
        if not isinstance(value.get(key), dict):
            value[key] = {}
        value = value[key]
    return value


def text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def kind_of(obj: Obj) -> str:
    return text_or_none(obj.get("kind")) or ""


def group_of(obj: Obj) -> str:
    version = text_or_none(obj.get("apiVersion")) or ""
    return version.split("/")[0] if "/" in version else ""


def name_of(obj: Obj) -> str:
    return text_or_none(sub(obj, "metadata").get("name")) or ""


def namespace_of(obj: Obj) -> str | None:
    return text_or_none(sub(obj, "metadata").get("namespace"))


def annotation(obj: Obj, key: str) -> str | None:
    return text_or_none(sub(obj, "metadata", "annotations").get(key))


def label(obj: Obj, key: str) -> str | None:
    return text_or_none(sub(obj, "metadata", "labels").get(key))


def is_hook(obj: Obj) -> bool:
    """Return whether an object is a hook of Helm or Argo CD."""
    annotations = sub(obj, "metadata", "annotations")
    return "helm.sh/hook" in annotations or "argocd.argoproj.io/hook" in annotations


def is_workload(obj: Obj) -> bool:
    return kind_of(obj) in WORKLOADS.get(group_of(obj), set())


def is_frozen(obj: Obj) -> bool:
    """Return whether references keep base names: Jobs, Pods, hooks, no name, opted out."""
    immutable = is_workload(obj) and kind_of(obj) in ("Job", "Pod")
    has_opted_out = annotation(obj, "postrender/rewrite-references") == "false"
    return immutable or is_hook(obj) or not name_of(obj) or has_opted_out


def is_attacher(obj: Obj) -> bool:
    """Return whether an object is an attacher object of an earlier run."""
    return kind_of(obj) in ATTACHER_KINDS and label(obj, MANAGED) is not None


def is_config(obj: Obj, kind: str) -> bool:
    """Return whether an object is a ConfigMap or Secret with a name."""
    return kind_of(obj) == kind and group_of(obj) == "" and name_of(obj) != ""


def is_marked_revision(obj: Obj) -> bool:
    """Return whether an object is a revision with our label and annotation."""
    return label(obj, MANAGED) is not None and annotation(obj, BASE_NAME) is not None


def base_name_of(obj: Obj) -> str:
    """Return the base name that a revision has as an annotation, or the name of the object."""
    base_name = annotation(obj, BASE_NAME) if is_marked_revision(obj) else None
    return str(base_name or name_of(obj))


def is_revision(obj: Obj) -> bool:
    """Return whether an object is a marked revision, or its name ends in its content hash."""
    if is_marked_revision(obj):
        return True
    try:
        hashes = [content_hash(obj), content_hash(obj, immutable=False)]
    except InputError:
        return False
    return any(name_of(obj).endswith(f"-{value}") for value in hashes)


def templates_of(obj: Obj) -> list[Obj]:
    """Return the pod templates of a workload, in order; a Pod is its own template."""
    if not is_workload(obj):
        return []
    kind = kind_of(obj)
    if kind == "Pod":
        return [obj]
    if kind == "PodTemplate":
        return under(obj)
    if kind == "CronJob":
        return under(sub(obj, "spec", "jobTemplate", "spec"))
    if kind == "Experiment":
        return [template for part in items(obj, "spec", "templates") for template in under(part)]
    if kind in ("AnalysisTemplate", "ClusterAnalysisTemplate", "AnalysisRun"):
        jobs = [sub(metric, "provider", "job", "spec") for metric in items(obj, "spec", "metrics")]
        return [template for job in jobs for template in under(job)]
    return under(sub(obj, "spec"))


def under(spec: Obj) -> list[Obj]:
    """Return the template of a spec, if it has one."""
    return [spec["template"]] if isinstance(spec.get("template"), dict) else []


def has_many_templates(obj: Obj) -> bool:
    return kind_of(obj) in (
        "Experiment",
        "AnalysisTemplate",
        "ClusterAnalysisTemplate",
        "AnalysisRun",
    )


def render_id(obj: Obj) -> str:
    """Return the render ID of a workload's pod template, or of the list of templates."""
    cleaned = [clean_template(template) for template in templates_of(obj)]
    return sha256(go_json(cleaned if has_many_templates(obj) else cleaned[0]))[:10]


def clean_template(template: Obj) -> Obj:
    """Return a copy of a template without ignored annotations and emptied mappings."""
    result = copy.deepcopy(template)
    metadata = result.get("metadata")
    if isinstance(metadata, dict):
        for key in (REVISION, FILENAME):
            sub(metadata, "annotations").pop(key, None)
        if "annotations" in metadata and metadata["annotations"] in (None, {}):
            del metadata["annotations"]
    if "metadata" in result and result["metadata"] in (None, {}):
        del result["metadata"]
    return result


# --------------------------------------------------------------------------------------- references


@dataclass
class Slot:
    """A field that references a ConfigMap or Secret: holder[key]."""

    owner: Obj
    holder: Any
    key: Any
    kind: str
    template: Obj | None = None
    # True if the reference is a reason to create a revision.
    counts: bool = True
    # True if attach sees the reference in the cluster.
    seen: bool = True
    # True if the text may contain the name as one of several words.
    word: bool = False
    # The "namespace/" in an ingress annotation.
    prefix: str = ""
    # True if the reference is never rewritten, so that the original stays.
    kept: bool = False
    # True if the reference is a reason to create a revision that the user requests.
    permits: bool = False
    # True if a program writes to the object.
    written: bool = False
    # The namespace next to the name.
    other_namespace: str = ""

    @property
    def namespace(self) -> str | None:
        """Return the namespace of the referenced object."""
        return self.prefix[:-1] or self.other_namespace or namespace_of(self.owner)

    def read(self) -> list[str]:
        """Return the names in the field."""
        text = str(self.holder[self.key]).removeprefix(self.prefix)
        if not self.word:
            return [text]
        # `${NAME:-web-config}` has the words NAME and web-config.
        text = re.sub(r"(?<![A-Za-z0-9.-])(\$\{\w+:?)-", r"\1 ", text)
        return re.findall(r"[A-Za-z0-9.-]+", text)

    def write(self, old: str, new: str) -> None:
        """Replace a base name by the name of a revision."""
        text = str(self.holder[self.key])
        if self.word:
            start = r"(?<![A-Za-z0-9.-])((?:\$\{\w+:?-)?)"
            pattern = rf"{start}{re.escape(old)}(?![A-Za-z0-9.-])"
            self.holder[self.key] = re.sub(pattern, lambda match: match[1] + new, text)
        else:
            self.holder[self.key] = self.prefix + new


def pod_fields(spec: Obj) -> list[tuple[Obj, str, str]]:
    """Return every reference in a pod spec, as (holder, key, kind)."""
    fields: list[tuple[Obj, str, str]] = []
    for volume in items(spec, "volumes"):
        fields += volume_fields(volume)
    for group in ("containers", "initContainers", "ephemeralContainers"):
        for container in items(spec, group):
            fields += container_fields(container)
    fields += [(secret, "name", "Secret") for secret in items(spec, "imagePullSecrets")]
    return fields


def volume_fields(volume: Obj) -> list[tuple[Obj, str, str]]:
    fields = [(sub(volume, "configMap"), "name", "ConfigMap")]
    fields.append((sub(volume, "secret"), "secretName", "Secret"))
    for source in items(volume, "projected", "sources"):
        fields.append((sub(source, "configMap"), "name", "ConfigMap"))
        fields.append((sub(source, "secret"), "name", "Secret"))
    fields.append((sub(volume, "csi", "nodePublishSecretRef"), "name", "Secret"))
    drivers = ("flexVolume", "rbd", "iscsi", "cephfs")
    fields += [(sub(volume, driver, "secretRef"), "name", "Secret") for driver in drivers]
    fields.append((sub(volume, "azureFile"), "secretName", "Secret"))
    return fields


def container_fields(container: Obj) -> list[tuple[Obj, str, str]]:
    fields = []
    for env in items(container, "env"):
        source = sub(env, "valueFrom")
        fields.append((sub(source, "configMapKeyRef"), "name", "ConfigMap"))
        fields.append((sub(source, "secretKeyRef"), "name", "Secret"))
    for source in items(container, "envFrom"):
        fields.append((sub(source, "configMapRef"), "name", "ConfigMap"))
        fields.append((sub(source, "secretRef"), "name", "Secret"))
    return fields


def template_slots(obj: Obj) -> list[Slot]:
    """Return the references in a workload's pod templates."""
    slots = [
        Slot(obj, holder, key, kind, template)
        for template in templates_of(obj)
        for holder, key, kind in pod_fields(sub(template, "spec"))
    ]
    # attach cannot read a cluster-wide template.
    for slot in slots:
        slot.seen = kind_of(obj) != "ClusterAnalysisTemplate"
    return slots


NGINX = "nginx.ingress.kubernetes.io/"
NGINX_SECRETS = ("auth-secret", "auth-tls-secret", "proxy-ssl-secret")


def other_slots(obj: Obj) -> list[Slot]:
    """Return the references of built-in kinds outside pod templates."""
    slots = []
    kind, group = kind_of(obj), group_of(obj)
    if group == "argoproj.io" and is_workload(obj) and has_many_templates(obj):
        for argument in items(obj, "spec", "args"):
            holder = sub(argument, "valueFrom", "secretKeyRef")
            slots.append(Slot(obj, holder, "name", "Secret", seen=False))
    if kind == "ServiceAccount" and group == "":
        for key in ("imagePullSecrets", "secrets"):
            slots += [Slot(obj, secret, "name", "Secret", seen=False) for secret in items(obj, key)]
    if kind == "Ingress" and group in ("networking.k8s.io", "extensions"):
        slots += ingress_slots(obj)
    return slots


def ingress_slots(obj: Obj) -> list[Slot]:
    hosts = items(obj, "spec", "tls")
    slots = [Slot(obj, tls, "secretName", "Secret", seen=False) for tls in hosts]
    annotations = sub(obj, "metadata", "annotations")
    keys = {NGINX + key: "Secret" for key in NGINX_SECRETS}
    keys[NGINX + "fastcgi-params-configmap"] = "ConfigMap"
    keys["ingress.kubernetes.io/auth-secret"] = "Secret"
    for key, kind in keys.items():
        value = annotations.get(key)
        if isinstance(value, str):
            prefix = value[: value.index("/") + 1] if "/" in value else ""
            # An Ingress alone is a reason to revise a Secret, but not a ConfigMap.
            counts = kind == "Secret"
            slots.append(
                Slot(obj, annotations, key, kind, counts=counts, seen=False, prefix=prefix)
            )
    return slots


def path_steps(path: str) -> list[str]:
    """Return the steps of a path: `spec.a[]["b.c"].*` is spec, a, [], b.c, *."""
    steps = re.findall(r'\["((?:[^"\\]|\\.)*)"\]|(\[\])|([^.\[\]]+)', path)
    return [quoted or brackets or plain for quoted, brackets, plain in steps]


def path_fields(value: Any, steps: list[str]) -> list[tuple[Any, Any]]:
    """Return everything that a path reaches, as (holder, key)."""
    if isinstance(value, list):
        keys: list[Any] = list(range(len(value))) if steps[0] == "[]" else []
    elif isinstance(value, dict):
        keys = list(value) if steps[0] == "*" else [key for key in value if key == steps[0]]
    else:
        keys = []
    if len(steps) == 1:
        return [(value, key) for key in keys]
    return [reached for key in keys for reached in path_fields(value[key], steps[1:])]


def rule_slots(obj: Obj, rules: list[Obj]) -> list[Slot]:
    """Return the references that the path rules of the configuration find."""
    slots = []
    for rule in rules:
        fits = rule["kind"] == kind_of(obj) and rule.get("group", group_of(obj)) == group_of(obj)
        if not fits or not fnmatch.fnmatchcase(name_of(obj), rule.get("name", "*")):
            continue
        for holder, key in path_fields(obj, path_steps(rule["path"])):
            target = rule.get("target", "ConfigMap")
            word = rule.get("match", "whole") == "word"
            slots.append(Slot(obj, holder, key, target, seen=False, word=word))
    return slots


def embedded_slots(obj: Obj, value: Any) -> list[Slot]:
    """Return the references in anything that looks like a pod spec inside a custom kind."""
    slots = []
    if isinstance(value, dict):
        if any("name" in container for container in items(value, "containers")):
            for holder, key, kind in pod_fields(value):
                slots.append(Slot(obj, holder, key, kind, seen=False))
        else:
            slots += [slot for child in value.values() for slot in embedded_slots(obj, child)]
    elif isinstance(value, list):
        slots += [slot for child in value for slot in embedded_slots(obj, child)]
    return slots


# ------------------------------------------------------------------------------------- custom kinds

# The references of some custom kinds that are rewritten, as regular expressions of paths. The
# indexes of lists are left out. The kinds are those of the golden cases.
SERVER_POD = r"spec\.(containers|initContainers|volumes|imagePullSecrets)\[\].*"
SELECTOR = r"spec\..*(configMap|configMapKeyRef|[sS]ecret|secretKeyRef)\.name"
STEPS = r"spec\.(steps|sidecars)\[\]\.env(From)?\[\].*|spec\.volumes\[\].*"
REWRITTEN = {
    ("apps.kruise.io", "CloneSet"): r"spec\.template\.spec\..*",
    (
        "apps.kruise.io",
        "UnitedDeployment",
    ): r"spec\.template\.\w+Template\.spec\.template\.spec\..*",
    ("serving.knative.dev", "Service"): r"spec\.template\.spec\..*",
    ("keda.sh", "ScaledJob"): r"spec\.jobTargetRef\.template\.spec\..*",
    ("apps.openshift.io", "DeploymentConfig"): r"spec\.template\.spec\..*",
    (
        "argoproj.io",
        "WorkflowTemplate",
    ): r"spec\.(?!synchronization).*(container\.env|volumes|parameters).*",
    ("argoproj.io", "CronWorkflow"): r"spec\.workflowSpec\.templates\[\]\.container\.env.*",
    ("argoproj.io", "Sensor"): r"spec\.template\.(container|volumes)\b.*",
    ("monitoring.coreos.com", "Prometheus"): SERVER_POD,
    (
        "monitoring.coreos.com",
        "ServiceMonitor",
    ): rf"{SELECTOR}|spec\.endpoints\[\]\.basicAuth\.\w+\.name",
    ("kafka.strimzi.io", "Kafka"): SELECTOR,
    ("kafka.strimzi.io", "KafkaConnect"): rf"{SELECTOR}|spec\.externalConfiguration\.volumes\[\].*",
    (
        "gateway.networking.k8s.io",
        "BackendTLSPolicy",
    ): r"spec\.validation\.caCertificateRefs\[\]\.name",
    (
        "gateway.networking.k8s.io",
        "Gateway",
    ): r"spec\.listeners\[\]\.tls\.certificateRefs\[\]\.name",
    ("helm.toolkit.fluxcd.io", "HelmRelease"): r"spec\.valuesFrom\[\]\.name",
    ("kustomize.toolkit.fluxcd.io", "Kustomization"): r"spec\.postBuild\.substituteFrom\[\]\.name",
    ("tekton.dev", "Task"): STEPS,
    (
        "sparkoperator.k8s.io",
        "ScheduledSparkApplication",
    ): r"spec\.template\.(sparkConfigMap|driver\.env.*)",
    ("grafana.integreatly.org", "GrafanaDashboard"): r"spec\.configMapRef\.name",
    ("postgresql.cnpg.io", "Cluster"): r"spec\.(env|envFrom|monitoring)\b.*",
    ("cert-manager.io", "Issuer"): r"spec\.(?!acme\.privateKeySecretRef).*",
}
# References that do not look like references, with their target.
UNUSUAL = {
    ("gateway.networking.k8s.io", "Gateway"): (
        "spec.listeners[].tls.certificateRefs[].name",
        "Secret",
    ),
    ("networking.istio.io", "Gateway"): ("spec.servers[].tls.credentialName", "Secret"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): (
        "spec.paramRef.name",
        "ConfigMap",
    ),
}
WRITTEN = {
    ("cert-manager.io", "Issuer"): ["spec.acme.privateKeySecretRef.name"],
    ("cert-manager.io", "Certificate"): ["spec.secretName"],
    ("kafka.strimzi.io", "KafkaConnector"): ["spec.listOffsets.toConfigMap.name"],
}
OWN_KINDS = ("PersistentVolume", "StorageClass", "ValidatingAdmissionPolicyBinding")


def custom_slots(obj: Obj) -> list[Slot]:
    """Return the references in a custom kind, rewritten or kept."""
    key = (group_of(obj), kind_of(obj))
    # A definition has no references, and is not even read.
    if key[1] == "CustomResourceDefinition":
        return []
    if is_workload(obj) or (key[0] in OWN_GROUPS and key[1] not in OWN_KINDS):
        return []
    slots = []
    for path, holder, field_name, kind in looks_like_references(obj):
        is_rewritten = re.fullmatch(REWRITTEN.get(key, "-"), path) and not is_exception(obj)
        # A key selector that does not mention its kind is a Secret where it is rewritten.
        if is_rewritten and kind == "any ConfigMap":
            continue
        slot = Slot(obj, holder, field_name, kind.removeprefix("any "), counts=False)
        slot.kept = not is_rewritten
        slot.seen = not is_rewritten
        slot.permits = bool(is_rewritten) and "spec.containers" in path
        slot.written = path in WRITTEN.get(key, ())
        if isinstance(holder, dict) and field_name == "name":
            slot.other_namespace = text_or_none(holder.get("namespace")) or ""
        if field_name != "name" and "/" in str(holder[field_name]):
            slot.prefix = holder[field_name].rpartition("/")[0] + "/"
        slots.append(slot)
    return slots


def is_exception(obj: Obj) -> bool:
    """Return whether an object of a rewritten kind must not change."""
    spec = sub(obj, "spec")
    if kind_of(obj) == "ScaledJob":
        return sub(spec, "rollout").get("strategy") != "gradual"
    is_knative = group_of(obj) == "serving.knative.dev"
    return is_knative and "name" in sub(spec, "template", "metadata")


def looks_like_references(obj: Obj) -> list[tuple[str, Any, Any, str]]:
    """Return (path without indexes, holder, key, kind) of each string that may be a reference."""
    found: list[tuple[str, Any, Any, str]] = []
    unusual, target = UNUSUAL.get((group_of(obj), kind_of(obj)), ("", ""))
    for path, holder, key in strings_of(obj, ""):
        if path.split(".")[0] in ("apiVersion", "kind", "metadata", "status"):
            continue
        steps = re.sub(r"\[\]", "", path).split(".")
        if "metadata" in steps:
            continue
        if path == unusual:
            found.append((path, holder, key, target))
        # A list has the meaning of the key above it.
        above = steps[-2] if key == "name" and len(steps) > 1 else steps[-1]
        meant = [kind for kind in ("ConfigMap", "Secret") if is_mentioned(kind, above)]
        if key == "name":
            texts = [str(holder.get("kind")), str(holder.get("type"))]
            kinds = [kind for kind in ("ConfigMap", "Secret") if kind in texts]
            meant += [kind for kind in kinds if kind not in meant]
            is_selector = set(holder) <= {"name", "key", "namespace", "optional"}
            if not meant and is_selector and isinstance(holder.get("key"), str):
                meant = ["any ConfigMap", "any Secret"]
        found += [(path, holder, key, kind) for kind in meant if path != unusual]
    return found


def is_mentioned(kind: str, key: str) -> bool:
    return kind.lower() in re.sub("[-_]", "", key).lower()


def strings_of(value: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield (path without indexes, holder, key) of each string."""
    if isinstance(value, dict):
        pairs = [(key, f"{path}.{key}" if path else key) for key in value]
    elif isinstance(value, list):
        pairs = [(number, f"{path}[]") for number in range(len(value))]
    else:
        pairs = []
    for key, inner in pairs:
        if isinstance(value[key], str):
            yield inner, value, key
        else:
            yield from strings_of(value[key], inner)


# ----------------------------------------------------------------------------------- rendering


@dataclass
class Options:
    """The options of the command line and the configuration."""

    namespace: str | None
    secrets: bool
    keep_original: bool | None
    attacher: bool
    immutable: bool
    config: Obj


@dataclass
class Run:
    """The state of one rendering."""

    options: Options
    objects: list[Obj]
    earlier: list[Obj] = field(default_factory=list)
    slots: list[Slot] = field(default_factory=list)
    # By id() of an object: its original text as data, its strategy, the name of its revision.
    originals: dict[int, Obj] = field(default_factory=dict)
    strategies: dict[int, str] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    bases: dict[int, str] = field(default_factory=dict)
    kept: set[int] = field(default_factory=set)
    dropped: set[int] = field(default_factory=set)
    # The targets of each slot before the renames, as (slot, base name, target).
    targets: list[tuple[Slot, str, Obj]] = field(default_factory=list)

    def kinds(self) -> list[str]:
        """Return the kinds that get revisions."""
        return ["ConfigMap", "Secret"] if self.options.secrets else ["ConfigMap"]

    def configs(self) -> list[Obj]:
        """Return the ConfigMaps, and the Secrets if the options include them."""
        return [obj for obj in self.objects if self.is_config(obj)]

    def is_config(self, obj: Obj) -> bool:
        """Return whether an object is one of configs()."""
        return any(is_config(obj, kind) for kind in self.kinds())

    def same_namespace(self, namespace: str | None) -> str | None:
        """Return a namespace, or that of --namespace if it is absent."""
        return namespace or self.options.namespace

    def sole_namespace(self) -> str | None:
        """Return the one explicit namespace of all workloads and ConfigMaps, or None."""
        objects = [*self.configs(), *filter(is_workload, self.objects)]
        namespaces = {namespace_of(obj) for obj in objects} - {None}
        if len(namespaces) != 1 or self.has_namesakes:
            return None
        return namespaces.pop()

    @functools.cached_property
    def has_namesakes(self) -> bool:
        """Return whether two relevant objects differ only in an absent namespace."""
        names = {(kind_of(obj), name_of(obj)) for obj in self.configs()}
        owners = {
            id(slot.owner)
            for slot in self.slots
            if is_workload(slot.owner) and any((slot.kind, name) in names for name in slot.read())
        }
        relevant = [
            (*identity(obj)[:3], base_name_of(obj))
            for obj in self.objects
            if name_of(obj) and not is_hook(obj) and (self.is_config(obj) or id(obj) in owners)
        ]
        return any((*key[:2], None, key[3]) in relevant for key in relevant if key[2])

    def find(self, candidates: list[Obj], name: str, namespace: str | None) -> Obj | None:
        """Return the object with a name to which a reference from a namespace leads."""
        named = [obj for obj in candidates if name_of(obj) == name]
        # First: the same namespace text.
        for obj in named:
            if namespace_of(obj) == namespace:
                return obj
        # Second: the namespace of --namespace and an absent one are the same.
        if self.options.namespace is not None:
            for obj in named:
                if self.same_namespace(namespace_of(obj)) == self.same_namespace(namespace):
                    return obj
            return None
        # Third: the only candidate, if the stream has only one explicit namespace.
        only = self.sole_namespace()
        namespaces = {namespace_of(obj) for obj in named}
        if len(namespaces) == 1 and namespaces | {namespace} == {None, only}:
            return named[0]
        return None

    def target(self, slot: Slot, name: str) -> Obj | None:
        """Return the object to which a name in a reference leads."""
        if slot.kind not in self.kinds():
            return None
        candidates = [obj for obj in self.configs() if is_config(obj, slot.kind)]
        return self.find(candidates, name, slot.namespace)

    def possible_targets(self, slot: Slot, name: str) -> list[Obj]:
        """Return the objects that a reference may mean."""
        own = self.same_namespace(slot.namespace)
        return [
            obj
            for obj in self.configs()
            if (kind_of(obj), name_of(obj)) == (slot.kind, name)
            and (
                not slot.namespace
                or not namespace_of(obj)
                or own == self.same_namespace(namespace_of(obj))
            )
        ]

    def is_immutable(self, obj: Obj) -> bool:
        """Return the value of the object, else of its rule, else of the configuration."""
        value = obj.get("immutable")
        if isinstance(value, bool):
            return value
        return bool(self.rule_for(obj).get("immutable", self.options.immutable))

    def rule_for(self, obj: Obj) -> Obj:
        """Return the first rule of the configuration that matches."""
        for rule in self.options.config.get("rules", []):
            if self.rule_matches(rule.get("match", {}), obj):
                return dict(rule)
        return {}

    def rule_matches(self, match: Obj, obj: Obj) -> bool:
        """Return whether an object satisfies all conditions of a rule."""
        labels, annotations = sub(obj, "metadata", "labels"), sub(obj, "metadata", "annotations")
        namespace = self.same_namespace(namespace_of(obj)) or ""
        return (
            match.get("kind", kind_of(obj)) == kind_of(obj)
            and fnmatch.fnmatchcase(self.base_of(obj), match.get("name", "*"))
            and fnmatch.fnmatchcase(namespace, match.get("namespace", "*"))
            and all(labels.get(key) == value for key, value in match.get("labels", {}).items())
            and all(
                annotations.get(key) == text for key, text in match.get("annotations", {}).items()
            )
            and match.get("referenced", self.is_used(obj)) == self.is_used(obj)
        )

    def base_of(self, obj: Obj) -> str:
        """Return the base name of an object."""
        return self.bases.get(id(obj)) or name_of(obj)

    def is_used(self, obj: Obj) -> bool:
        """Return whether a rewritable object has a reference to an object that counts."""
        return any(
            target is obj and slot.counts and slot.owner is not obj and not is_frozen(slot.owner)
            for slot, _, target in self.targets
        )

    def is_permitted(self, obj: Obj) -> bool:
        """Return whether the user requests a rename for which a custom kind is enough."""
        requested = annotation(obj, "postrender/strategy") or self.rule_for(obj).get("strategy")
        return requested == "rename" and any(
            target is obj and slot.permits and not is_frozen(slot.owner)
            for slot, _, target in self.targets
        )

    def is_pinned(self, obj: Obj) -> bool:
        """Return whether an object that cannot be rewritten references the object."""
        return any(
            target is obj and (slot.kept or is_frozen(slot.owner))
            for slot, _, target in self.targets
        )

    def is_member(self, obj: Obj) -> bool:
        """Return whether an object is a revision, of this run or an earlier one."""
        return id(obj) in self.names or (self.is_config(obj) and is_marked_revision(obj))


def reference_render(
    text: str,
    *,
    namespace: str | None = None,
    secrets: bool = False,
    keep_original: bool | None = None,
    attacher: bool = True,
    immutable: bool = True,
    config: Obj | None = None,
) -> list[Obj]:
    """Return the objects that the rendered stream must contain, in order."""
    config = copy.deepcopy(config or {})
    options = Options(
        namespace=namespace or config.get("namespace"),
        secrets=secrets or bool(config.get("secrets", False)),
        keep_original=config.get("keepOriginal") if keep_original is None else keep_original,
        attacher=attacher and bool(sub(config, "attacher").get("enabled", True)),
        immutable=immutable and bool(config.get("immutable", True)),
        config=config,
    )
    objects = normalise(text)
    run = Run(options, [obj for obj in objects if not is_attacher(obj)])
    run.earlier = [obj for obj in objects if is_attacher(obj)]
    return render(run)


def render(run: Run) -> list[Obj]:
    for obj in run.objects:
        run.originals[id(obj)] = copy.deepcopy(obj)
        opt_out = sub(obj, "metadata", "annotations").get("postrender/rewrite-references", "true")
        has_own_template = not sub(obj, "spec", "workloadRef")
        if opt_out not in (("true", "false") if has_own_template else ("true",)):
            raise InputError(f"postrender/rewrite-references {opt_out}")
        for key in ("postrender/keep-original", "postrender/env-from"):
            if run.is_config(obj) and annotation(obj, key) not in (None, "true", "false"):
                raise InputError(key)
    auto_mount(run)
    find_slots(run)
    choose_strategies(run)
    drop_duplicates(run)
    name_revisions(run)
    find_pins(run)
    rewrite_references(run)
    add_resource_names(run)
    add_checksums(run)
    groups = find_groups(run)
    annotate_templates(run)
    mark_revisions(run, groups)
    result = assemble(run, groups)
    if run.options.attacher:
        for group in groups:
            result += attacher_objects(run, group)
    return result


def auto_mount(run: Run) -> None:
    """Mount the objects with a mount annotation, under their base names."""
    for config in sorted(run.configs(), key=identity_order):
        path = annotation(config, "postrender/mount-path")
        env_from = annotation(config, "postrender/env-from") == "true"
        if not (path or env_from) or is_hook(config):
            continue
        # Skip revisions, and originals that an earlier run kept next to their revision.
        if is_revision(config) or has_revision(run, config):
            continue
        containers = annotation(config, "postrender/containers")
        for template in templates_of(mount_target(run, config)):
            mount_in_template(config, template, path, env_from, containers)


def has_revision(run: Run, config: Obj) -> bool:
    name = revision_name(config, run.is_immutable(config))
    return any(
        name_of(obj) == name
        and kind_of(obj) == kind_of(config)
        and namespace_of(obj) == namespace_of(config)
        for obj in run.configs()
    )


def mount_target(run: Run, config: Obj) -> Obj:
    """Return the workload of the annotation, else the only workload of the namespace."""
    only = run.sole_namespace()
    home = run.same_namespace(namespace_of(config)) or only
    candidates = [
        obj
        for obj in run.objects
        if is_workload(obj)
        and not is_frozen(obj)
        and (run.same_namespace(namespace_of(obj)) or only) == home
        and (templates_of(obj) or sub(obj, "spec", "workloadRef"))
    ]
    mount_in = annotation(config, "postrender/mount-in")
    if mount_in is not None:
        candidates = [obj for obj in candidates if f"{kind_of(obj)}/{name_of(obj)}" == mount_in]
    # The workloadRef of a Rollout is followed. Its target may be outside of the stream.
    targets: list[Obj] = []
    for obj in candidates:
        target = referred_workload(run, obj) or (obj if templates_of(obj) else None)
        if target and not (is_frozen(target) or any(target is other for other in targets)):
            targets.append(target)
    if len(targets) != 1:
        raise InputError(f"{name_of(config)}: {len(targets)} workloads to mount in")
    return targets[0]


def mount_in_template(
    config: Obj, template: Obj, path: str | None, env_from: bool, container_names: str | None
) -> None:
    name = name_of(config)
    spec = make(template, "spec")
    key = ("configMap", "name") if kind_of(config) == "ConfigMap" else ("secret", "secretName")
    volume = "postrender-" + re.sub(r"[^a-z0-9-]", "-", name.lower())
    if path:
        spec.setdefault("volumes", []).append({"name": volume, key[0]: {key[1]: name}})
    containers = items(spec, "containers")
    if container_names is not None:
        names = [text.strip() for text in container_names.split(",")]
        containers += items(spec, "initContainers")
        containers = [container for container in containers if container.get("name") in names]
        if len(containers) != len(names):
            raise InputError(f"{name}: containers {container_names}")
    if not containers:
        raise InputError(f"{name}: no containers")
    for container in containers:
        if path:
            mount = {"name": volume, "mountPath": path, "readOnly": True}
            container.setdefault("volumeMounts", []).append(mount)
        if env_from:
            reference = "configMapRef" if kind_of(config) == "ConfigMap" else "secretRef"
            container.setdefault("envFrom", []).append({reference: {"name": name}})


def referred_workload(run: Run, obj: Obj) -> Obj | None:
    """Return the workload that a Rollout's workloadRef references."""
    if kind_of(obj) != "Rollout" or not is_workload(obj):
        return None
    ref = sub(obj, "spec", "workloadRef")
    candidates = [
        other for other in run.objects if is_workload(other) and kind_of(other) == ref.get("kind")
    ]
    name = text_or_none(ref.get("name"))
    return run.find(candidates, name, namespace_of(obj)) if name else None


def find_slots(run: Run) -> None:
    """Find all references and their targets."""
    rules = run.options.config.get("references", [])
    for obj in run.objects:
        slots = template_slots(obj) + other_slots(obj)
        # A path rule never edits a revision of an earlier run.
        if not (run.is_config(obj) and is_revision(obj)):
            slots += rule_slots(obj, rules)
        if run.options.config.get("embeddedPodSpecs") and not is_workload(obj):
            slots += embedded_slots(obj, obj)
        covered = [(id(slot.holder), slot.key, slot.kind) for slot in slots]
        slots += [
            slot
            for slot in custom_slots(obj)
            if (id(slot.holder), slot.key, slot.kind) not in covered
        ]
        run.slots += [
            slot
            for slot in slots
            if isinstance(slot.holder, dict | list) and readable(slot.holder, slot.key)
        ]
    for slot in run.slots:
        for name in slot.read():
            if slot.kept:
                run.targets += [(slot, name, target) for target in run.possible_targets(slot, name)]
                continue
            target = run.target(slot, name)
            if target is not None and not is_pin(slot, target):
                run.targets.append((slot, name, target))


def is_pin(slot: Slot, target: Obj) -> bool:
    """Return whether a template without a render ID references a revision of an earlier run."""
    return (
        slot.template is not None
        and is_marked_revision(target)
        and not has_render_id(slot.template)
    )


def has_render_id(template: Obj) -> bool:
    return REVISION in sub(template, "metadata", "annotations")


def readable(holder: Any, key: Any) -> bool:
    """Return whether holder[key] is a string that is not empty."""
    if isinstance(holder, dict) and key not in holder:
        return False
    return text_or_none(holder[key]) is not None


def choose_strategies(run: Run) -> None:
    for obj in run.configs():
        run.strategies[id(obj)] = strategy_of(run, obj)
        if run.strategies[id(obj)] == "rename":
            keep_by_name(run, obj)


def strategy_of(run: Run, obj: Obj) -> str:
    """Return the strategy of a ConfigMap or Secret: rename, checksum or ignore."""
    # Hooks, revisions and objects without a rewritable reference are left unchanged.
    if is_hook(obj) or is_revision(obj) or not (run.is_used(obj) or run.is_permitted(obj)):
        return "ignore"
    written = any(target is obj and slot.written for slot, _, target in run.targets)
    if written and not annotation(obj, "postrender/strategy") and not run.rule_for(obj):
        return "ignore"
    # The annotation overrides the rules, and the default is rename.
    requested = annotation(obj, "postrender/strategy") or run.rule_for(obj).get("strategy")
    if requested is None:
        labels = (obj.get("metadata") or {}).get("labels") or {}
        chart = str(labels.get("helm.sh/chart"))
        is_known = kind_of(obj) == "ConfigMap" and is_well_known(name_of(obj), chart)
        has_data = any(obj.get(key) for key in ("data", "binaryData", "stringData"))
        is_taken = is_known or is_filled(obj) or "sops" in obj
        return "ignore" if is_taken or not has_data else "rename"
    if requested not in ("rename", "checksum", "ignore"):
        raise InputError(f"strategy {requested}")
    return str(requested)


def keep_by_name(run: Run, obj: Obj) -> None:
    """Keep the original of an object with another reader; ignore an object with a writer."""
    decided = annotation(obj, "postrender/keep-original") or run.rule_for(obj).get("keepOriginal")
    if decided is not None:
        if run.is_pinned(obj) or decided in (True, "true"):
            run.kept.add(id(obj))
        return
    default = run.options.keep_original
    if run.is_pinned(obj) or default or (default is None and kind_of(obj) == "Secret"):
        run.kept.add(id(obj))
    linked = {(id(slot.holder), slot.key) for slot, _, _ in run.targets}
    objects = [other for other in run.objects if not is_attacher(other)]
    taken = {name_of(other) for other in objects if not run.is_config(other)}
    reader = reader_of(objects, obj, lambda holder, key: (id(holder), key) in linked, taken)
    reader = reader or ("read" if is_copied(obj) else "")
    requested = annotation(obj, "postrender/strategy") or run.rule_for(obj).get("strategy")
    if reader == "write" and not requested:
        run.strategies[id(obj)] = "ignore"
        run.kept.discard(id(obj))
    elif reader:
        run.kept.add(id(obj))


def drop_duplicates(run: Run) -> None:
    """Drop an equal duplicate of an object, or raise InputError for a different one."""
    for first in run.configs():
        if run.strategies[id(first)] == "ignore" or id(first) in run.dropped:
            continue
        for other in run.configs():
            if other is first or identity(other) != identity(first):
                continue
            if run.originals[id(other)] != run.originals[id(first)]:
                raise InputError(f"two different {name_of(first)}")
            run.dropped.add(id(other))
            run.strategies[id(other)] = "ignore"


def identity(obj: Obj) -> tuple[str, str, str | None, str]:
    return group_of(obj), kind_of(obj), namespace_of(obj), name_of(obj)


def name_revisions(run: Run) -> None:
    for obj in run.configs():
        run.bases[id(obj)] = name_of(obj)
    for obj in run.configs():
        final_content(run, obj, [])
    for obj in run.configs():
        if id(obj) in run.names:
            obj["metadata"]["name"] = run.names[id(obj)]


def final_content(run: Run, obj: Obj, waiting: list[Obj]) -> None:
    """Write references into the data of an object, then compute the name of its revision.

    waiting: the objects whose data needs this name
    """
    if any(other is obj for other in waiting):
        raise InputError("a cycle: " + ", ".join(name_of(other) for other in waiting))
    if id(obj) in run.names:
        return
    for slot, name, target in run.targets:
        is_rewritten = not (slot.kept or is_frozen(obj))
        if slot.owner is obj and run.strategies[id(target)] == "rename" and is_rewritten:
            final_content(run, target, [*waiting, obj])
            slot.write(name, run.names[id(target)])
    if run.strategies[id(obj)] == "rename":
        run.names[id(obj)] = revision_name(obj, run.is_immutable(obj))


def find_pins(run: Run) -> None:
    """Find the revisions that a template with a render ID in the output has by revision name."""
    pins = []
    for slot in run.slots:
        if slot.template is None or is_frozen(slot.owner):
            continue
        if has_render_id(slot.template) or revisions_of(run, slot.owner, slot.template):
            for name in slot.read():
                target = run.target(slot, name)
                if target is not None and (
                    run.names.get(id(target)) == name or is_pin(slot, target)
                ):
                    pins.append((slot, name, target))
    run.targets += pins


def rewrite_references(run: Run) -> None:
    for slot, name, target in run.targets:
        if id(target) in run.names and not is_frozen(slot.owner) and not slot.kept:
            slot.write(name, run.names[id(target)])


def add_resource_names(run: Run) -> None:
    """Add the revision's name after the base name in Roles; no name is removed."""
    for obj in run.objects:
        rbac = kind_of(obj) in ("Role", "ClusterRole") and not is_frozen(obj)
        if not rbac or group_of(obj) != "rbac.authorization.k8s.io":
            continue
        for rule in items(obj, "rules"):
            resources, names = rule.get("resources"), rule.get("resourceNames")
            if isinstance(resources, list) and isinstance(names, list):
                kinds = [
                    kind
                    for kind, plural in (("ConfigMap", "configmaps"), ("Secret", "secrets"))
                    if plural in resources
                ]
                rule["resourceNames"] = with_revisions(run, obj, kinds, names)


def with_revisions(run: Run, role: Obj, kinds: list[str], names: list[Any]) -> list[Any]:
    result = []
    for name in names:
        result.append(name)
        for config in sorted(
            run.configs(), key=lambda obj: (kind_of(obj), namespace_of(obj) or "")
        ):
            revision = run.names.get(id(config))
            is_meant = kind_of(config) in kinds and role_means(run, role, config, name)
            if revision is not None and is_meant and revision not in names + result:
                result.append(revision)
    return result


def role_means(run: Run, role: Obj, config: Obj, name: Any) -> bool:
    """Return whether a name in a Role means a ConfigMap; a ClusterRole covers all namespaces."""
    if run.bases[id(config)] != name:
        return False
    if kind_of(role) == "ClusterRole":
        return True
    candidates = [run.originals[id(obj)] for obj in run.configs() if same_kind(obj, config)]
    return run.find(candidates, name, namespace_of(role)) is run.originals[id(config)]


def same_kind(obj: Obj, other: Obj) -> bool:
    return kind_of(obj) == kind_of(other)


def add_checksums(run: Run) -> None:
    """Annotate each template with a hash of the ConfigMaps whose strategy is checksum."""
    for obj in run.objects:
        for template in templates_of(obj):
            lines = set()
            for slot, _, target in run.targets:
                is_checksum = run.strategies[id(target)] == "checksum"
                if slot.template is template and is_checksum and not is_frozen(obj):
                    lines.add((name_of(target), content_hash(target)))
            if lines:
                annotations = make(template, "metadata", "annotations")
                # Sorted by name: `app` precedes `app-config`, although `app=` does not.
                annotations[CHECKSUM] = sha256(
                    "".join(f"{name}={digest}\n" for name, digest in sorted(lines))
                )


# -------------------------------------------------------------------------------- attach groups


@dataclass
class AttachGroup:
    """The attacher of one namespace, and its revisions."""

    name: str
    namespace: str | None
    # The namespace, or that of --namespace if it is absent.
    home: str | None
    members: list[Obj] = field(default_factory=list)


def revisions_of(run: Run, obj: Obj, template: Obj | None = None) -> list[Obj]:
    """Return the revisions that a workload references, or only one of its templates."""
    revisions: list[Obj] = []
    for slot, _, target in run.targets:
        fits = slot.owner is obj and slot.template is not None
        if template is not None:
            fits = slot.template is template
        if fits and run.is_member(target) and not any(target is other for other in revisions):
            revisions.append(target)
    return revisions


def identity_order(obj: Obj) -> tuple[bool, str, str, str, str]:
    """Return the sort key of an object, with Rollouts first."""
    kind = kind_of(obj)
    return kind != "Rollout", kind, name_of(obj), namespace_of(obj) or "", group_of(obj)


def attached_workloads(run: Run) -> list[Obj]:
    """Return the workloads that reference revisions, of this run or an earlier one, sorted."""
    return [
        obj
        for obj in sorted(run.objects, key=identity_order)
        if is_workload(obj)
        and kind_of(obj) != "ClusterAnalysisTemplate"
        and not is_frozen(obj)
        and revisions_of(run, obj)
    ]


def group_name(run: Run, objs: list[Obj]) -> str:
    """Return `<release>-attach` or `<workload>-<kind>-attach`, truncated to 52 characters.

    objs: the workloads of the group. Their common instance label is the name of the release.
    """
    release = sub(run.options.config, "attacher").get("group")
    instances = {label(obj, "app.kubernetes.io/instance") for obj in objs}
    if not release and len(instances) == 1:
        release = instances.pop()
    if release:
        full = release if release.endswith("-attach") else f"{release}-attach"
    else:
        first = min(objs, key=identity_order)
        full = f"{name_of(first)}-{kind_of(first).lower()}-attach"
    if len(full) <= 52:
        return str(full)
    return full[:41].rstrip("-.") + "-" + sha256(full)[:10]


def find_groups(run: Run) -> list[AttachGroup]:
    """Return a group for each namespace with a rewritten workload.

    Without any such workload, return a group if the revisions are in one namespace.
    """
    groups: list[AttachGroup] = []
    attached = attached_workloads(run)
    for obj in attached:
        home = run.same_namespace(namespace_of(obj))
        if not any(group.home == home for group in groups):
            same = [other for other in attached if run.same_namespace(namespace_of(other)) == home]
            groups.append(AttachGroup(group_name(run, same), namespace_of(obj), home))
    if not groups:
        members = [obj for obj in run.configs() if run.is_member(obj)]
        names = {(label_of(run, [], obj), run.same_namespace(namespace_of(obj))) for obj in members}
        if len(names) == 1:
            [(name, home)] = names
            groups.append(AttachGroup(name, namespace_of(members[0]), home))
    for group in groups:
        group.members = [
            obj
            for obj in run.configs()
            if run.is_member(obj) and attach_group_of(run, groups, obj) is group
        ]
    return groups


def attach_group_of(run: Run, groups: list[AttachGroup], config: Obj) -> AttachGroup | None:
    """Return the group of the first workload with a reference, else that of the namespace."""
    homes = [
        run.same_namespace(namespace_of(obj))
        for obj in attached_workloads(run)
        if any(config is revision for revision in revisions_of(run, obj))
    ]
    homes.append(run.same_namespace(namespace_of(config)))
    for home in homes:
        for group in groups:
            if group.home == home:
                return group
    return None


def label_of(run: Run, groups: list[AttachGroup], config: Obj) -> str:
    """Return the name of a revision's group, else one after the first referencing object."""
    group = attach_group_of(run, groups, config)
    if group is not None:
        return group.name
    if is_marked_revision(config):
        return label(config, MANAGED) or ""
    owners = [slot.owner for slot, _, target in run.targets if target is config and slot.counts]
    rewritten = [owner for owner in owners if not is_frozen(owner)]
    return group_name(run, rewritten or [run.originals[id(config)]])


def annotate_templates(run: Run) -> None:
    """Add the render ID to each template that references a revision."""
    for obj in run.objects:
        if is_frozen(obj) or not revisions_of(run, obj):
            continue
        for template in templates_of(obj):
            if revisions_of(run, obj, template):
                make(template, "metadata", "annotations")[REVISION] = render_id(obj)


def mark_revisions(run: Run, groups: list[AttachGroup]) -> None:
    """Set the label, the annotations and `immutable` of every new revision."""
    for obj in run.configs():
        if id(obj) not in run.names:
            continue
        obj["immutable"] = run.is_immutable(obj)
        make(obj, "metadata", "labels")[MANAGED] = label_of(run, groups, obj)
        annotations = make(obj, "metadata", "annotations")
        obj["metadata"]["annotations"] = annotations
        annotations[BASE_NAME] = run.bases[id(obj)]
        annotations["helm-diff/base-name"] = run.bases[id(obj)]
        if run.options.attacher:
            annotations["helm.sh/resource-policy"] = "keep"
            annotations["kustomize.toolkit.fluxcd.io/prune"] = "disabled"
            add_option(annotations, "argocd.argoproj.io/sync-options", "Prune=false")
            add_option(annotations, "argocd.argoproj.io/compare-options", "IgnoreExtraneous")
            if any(target is obj and not slot.seen for slot, _, target in run.targets):
                annotations["postrender/sweep"] = "false"


def add_option(annotations: Obj, key: str, option: str) -> None:
    """Append an option to a comma-separated value that does not have it yet."""
    before = annotations.get(key) or ""
    options = [text.strip() for text in before.split(",") if text.strip()]
    if option not in options:
        annotations[key] = f"{before},{option}" if options else option


def assemble(run: Run, groups: list[AttachGroup]) -> list[Obj]:
    """Return the objects in their order, with a kept original before its revision."""
    result: list[Obj] = []
    for obj in run.objects:
        if id(obj) in run.dropped:
            continue
        if id(obj) in run.kept:
            result.append(run.originals[id(obj)])
        # An original that an earlier run kept is already next to its revision.
        before = [identity(original) for key, original in run.originals.items() if key != id(obj)]
        if id(obj) not in run.names or identity(obj) not in before:
            result.append(obj)
    # Attacher objects of other groups stay in the output.
    current = {(group.name, group.home) for group in groups}
    for obj in run.earlier:
        home = run.same_namespace(namespace_of(obj))
        if (label(obj, MANAGED), home) not in current:
            result.append(reduced(obj))
    return result


# ----------------------------------------------------------------------------- the attacher objects


def wave_of(obj: Obj) -> int:
    """Return the sync wave of an object, 0 if it has none."""
    text = annotation(obj, WAVE) or "0"
    return int(text) if re.fullmatch(r"[-+]?[0-9]+", text) else 0


def is_early_hook(obj: Obj) -> bool:
    """Return whether an object is a hook that Argo CD runs before or during the sync."""
    argo = annotation(obj, "argocd.argoproj.io/hook")
    if argo is not None:
        return bool({text.strip() for text in argo.split(",")} & {"PreSync", "Sync"})
    helm = annotation(obj, "helm.sh/hook") or ""
    return bool({text.strip() for text in helm.split(",")} & {"pre-install", "pre-upgrade"})


def job_mode(run: Run) -> bool:
    """Return whether the attacher is an ordinary Job instead of a hook."""
    mode = sub(run.options.config, "attacher").get("mode", "auto")
    if mode != "auto":
        return bool(mode == "job")
    waves = {wave_of(obj) for obj in run.objects if not is_hook(obj)}
    return len(waves) > 1 or any(is_early_hook(obj) for obj in run.objects)


def workload_entries(run: Run, group: AttachGroup) -> list[tuple[Obj, str, list[Obj]]]:
    """Return the workloads of a group, as (workload, render ID, revisions).

    A Rollout has the render ID and revisions of its workloadRef.
    """
    entries = []
    attached = attached_workloads(run)
    for obj in run.objects:
        referred = referred_workload(run, obj) or obj
        is_in_group = run.same_namespace(namespace_of(obj)) == group.home
        if is_in_group and not is_frozen(obj) and any(referred is other for other in attached):
            entries.append((obj, render_id(referred), revisions_of(run, referred)))
    return entries


def member_text(obj: Obj) -> str:
    return f"{kind_of(obj).lower()}/{name_of(obj)}"


def attacher_objects(run: Run, group: AttachGroup) -> list[Obj]:
    """Return ServiceAccount, Role and RoleBinding of a group, and a Job for each sync wave."""
    entries = workload_entries(run, group)
    waves = sorted({wave_of(obj) for obj, _, _ in entries}) or [0]
    result = []
    account = sub(run.options.config, "attacher", "serviceAccount")
    creates_rbac = sub(run.options.config, "attacher", "rbac").get("create", True)
    if account.get("create", True) and (creates_rbac or "name" in account):
        name = account.get("name", group.name)
        result.append(bare_object(group, "ServiceAccount", name, waves[0]))
    if creates_rbac:
        roles = ("Role", "RoleBinding")
        result += [bare_object(group, kind, group.name, waves[0]) for kind in roles]
    return result + [attacher_job(run, group, wave, entries) for wave in waves]


def bare_object(group: AttachGroup, kind: str, name: str, wave: int) -> Obj:
    metadata: Obj = {"name": name, "labels": {MANAGED: group.name}, "annotations": {}}
    if group.namespace is not None:
        metadata["namespace"] = group.namespace
    if wave != 0:
        metadata["annotations"][WAVE] = str(wave)
    return {"kind": kind, "metadata": metadata}


def attacher_job(
    run: Run, group: AttachGroup, wave: int, entries: list[tuple[Obj, str, list[Obj]]]
) -> Obj:
    job = bare_object(group, "Job", f"{group.name}-HASH", wave)
    job["metadata"]["annotations"].update(
        {
            "argocd.argoproj.io/sync-options": "Prune=false",
            "argocd.argoproj.io/compare-options": "IgnoreExtraneous",
        }
        if job_mode(run)
        else {
            "helm.sh/hook": "post-install,post-upgrade,post-rollback",
            "helm.sh/hook-delete-policy": "before-hook-creation",
            "argocd.argoproj.io/hook": "Sync",
            "argocd.argoproj.io/hook-delete-policy": "BeforeHookCreation",
        }
    )
    args = job_args(run, group, [entry for entry in entries if wave_of(entry[0]) == wave])
    job["spec"] = {"template": {"spec": {"containers": [{"args": args}]}}}
    return job


def original_text(run: Run, revision: Obj) -> str:
    """Return the original of a revision as an argument, or "" if the output does not have it."""
    base = annotation(revision, BASE_NAME) or run.bases.get(id(revision))
    home = run.same_namespace(namespace_of(revision))
    candidates = [obj for obj in run.configs() if id(obj) not in run.names]
    candidates += [original for key, original in run.originals.items() if key in run.kept]
    for obj in candidates:
        is_home = run.same_namespace(namespace_of(obj)) == home
        if is_home and kind_of(obj) == kind_of(revision) and name_of(obj) == base:
            return member_text(obj)
    return ""


def job_args(run: Run, group: AttachGroup, entries: list[tuple[Obj, str, list[Obj]]]) -> list[str]:
    args = ["attach", "--group", group.name]
    if group.namespace is not None:
        args += ["--namespace", group.namespace]
    referenced: list[str] = []
    for obj, identifier, revisions in entries:
        texts = sorted(member_text(revision) for revision in revisions)
        referenced += texts
        for part in hundreds(texts):
            args += ["--workload", f"{kind_of(obj)}/{name_of(obj)}@{identifier}={','.join(part)}"]
    used = [revision for _, _, revisions in workload_entries(run, group) for revision in revisions]
    emitted = {member_text(obj) for obj in (*group.members, *used)}
    emitted |= {text for obj in (*group.members, *used) if (text := original_text(run, obj))}
    for part in hundreds(sorted(emitted - set(referenced))):
        args += ["--emitted", ",".join(part)]
    settings = sub(run.options.config, "attacher")
    retired = [] if run.options.secrets else sorted(settings.get("retiredSecrets", []))
    for part in hundreds([f"secret/{name}" for name in retired]):
        args += ["--retired", ",".join(part)]
    account = sub(settings, "serviceAccount")
    creates_rbac = sub(settings, "rbac").get("create", True)
    if account.get("create", True) and (creates_rbac or account.get("name")):
        args += ["--release-owner", f"ServiceAccount/{account.get('name', group.name)}"]
    elif creates_rbac:
        args += ["--release-owner", f"Role/{group.name}"]
    args += ["--timeout", f"{settings.get('timeout', 90)}s"]
    args += ["--on-failure", "fail" if settings.get("required") else "report"]
    return [*args, "--delete-finished-jobs"] if job_mode(run) else args


def hundreds(names: list[str]) -> list[list[str]]:
    """Return parts of at most a hundred names, because the length of an argument is limited."""
    return [names[start : start + 100] for start in range(0, len(names), 100)]


# ---------------------------------------------------------------------------------------- comparing

COMPARED_ANNOTATIONS = (
    "helm.sh/hook",
    "helm.sh/hook-delete-policy",
    "argocd.argoproj.io/hook",
    "argocd.argoproj.io/hook-delete-policy",
    "argocd.argoproj.io/sync-options",
    "argocd.argoproj.io/compare-options",
    WAVE,
)


def reduced(obj: Obj) -> Obj:
    """Return the parts of an attacher object that are compared."""
    metadata = sub(obj, "metadata")
    annotations = sub(metadata, "annotations")
    kept = {key: annotations[key] for key in COMPARED_ANNOTATIONS if key in annotations}
    if kept.get(WAVE) == "0":
        del kept[WAVE]
    name, owner = name_of(obj), label(obj, MANAGED) or ""
    if kind_of(obj) == "Job" and re.fullmatch(re.escape(owner) + r"-([0-9a-z]{10}|HASH)", name):
        name = f"{owner}-HASH"
    new: Obj = {"name": name, "labels": {MANAGED: owner}, "annotations": kept}
    if namespace_of(obj) is not None:
        new["namespace"] = namespace_of(obj)
    result: Obj = {"kind": kind_of(obj), "metadata": new}
    if kind_of(obj) == "Job":
        result["spec"] = {"template": {"spec": {"containers": [{"args": args_of(obj)}]}}}
    return result


def args_of(obj: Obj) -> list[str]:
    containers = items(obj, "spec", "template", "spec", "containers")
    args = containers[0].get("args") if containers else None
    return [str(arg) for arg in args] if isinstance(args, list) else []


def compared_args(args: list[str]) -> Obj:
    """Return arguments without the order of names, and with split lists of names joined."""
    result: Obj = {"command": args[:1], "workloads": {}, "emitted": [], "rest": []}
    rest = args[1:]
    while rest:
        flag = rest.pop(0)
        if flag == "--workload" and rest:
            workload, _, names = rest.pop(0).partition("=")
            revisions = result["workloads"].setdefault(workload, [])
            revisions += names.split(",")
            revisions.sort()
        elif flag == "--emitted" and rest:
            result["emitted"] = sorted(result["emitted"] + rest.pop(0).split(","))
        elif flag == "--delete-finished-jobs" or not rest:
            result["rest"].append(flag)
        else:
            result["rest"].append(f"{flag} {rest.pop(0)}")
    result["rest"].sort()
    return result


def typed(value: Any) -> Any:
    """Return data in which == distinguishes True from 1, but not 1.0 from 1."""
    if isinstance(value, dict):
        return {key: typed(child) for key, child in value.items()}
    if isinstance(value, list):
        return [typed(child) for child in value]
    if isinstance(value, bool | int | float):
        return (type(value).__name__.replace("float", "int"), go_json(value))
    return value


def without_volume_names(value: Any) -> Any:
    """Return data in which the volumes of each pod spec are numbered instead of named."""
    if isinstance(value, list):
        return [without_volume_names(child) for child in value]
    if not isinstance(value, dict):
        return value
    result = {key: without_volume_names(child) for key, child in value.items()}
    names = [volume.get("name") for volume in items(value, "volumes")]
    numbers = {name: f"volume-{number}" for number, name in enumerate(names)}
    for volume in items(result, "volumes"):
        volume["name"] = numbers[volume.get("name")]
    for group in ("containers", "initContainers", "ephemeralContainers"):
        for container in items(result, group):
            for mount in items(container, "volumeMounts"):
                mount["name"] = numbers.get(mount.get("name"), mount.get("name"))
    return result


def comparable(objects: list[Obj], *, volume_names: bool = True) -> list[Obj]:
    """Return objects in a form to compare with ==; the Jobs of a group may be in any order."""
    result: list[Obj] = []
    for obj in objects:
        if is_attacher(obj):
            new = reduced(obj)
            if kind_of(obj) == "Job":
                new["spec"] = compared_args(args_of(obj))
            result.append(typed(new))
        else:
            result.append(typed(obj if volume_names else without_volume_names(obj)))
    return sorted_jobs(result)


def sorted_jobs(objects: list[Obj]) -> list[Obj]:
    """Return objects with adjacent attacher Jobs of one group sorted by content."""
    result: list[Obj] = []
    for obj in objects:
        position = len(result)
        while (
            is_attacher(obj)
            and position > 0
            and kind_of(obj) == "Job"
            and is_attacher(result[position - 1])
            and identity(result[position - 1]) == identity(obj)
            and repr(obj) < repr(result[position - 1])
        ):
            position -= 1
        result.insert(position, obj)
    return result


def dump(objects: list[Obj]) -> str:
    """Return objects as a stream of JSON documents, which all parsers read in the same way."""
    return "".join(f"---\n{json_text(obj)}\n" for obj in objects)


def json_text(obj: Obj) -> str:
    """Return JSON that is also YAML, with escaped line separators."""
    text = json.dumps(obj, ensure_ascii=False, indent=1)
    for character in "\x85\u2028\u2029\ufeff\x7f":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
