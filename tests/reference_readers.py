"""A naive second implementation of the search for readers by name.

Every string of every object is looked at with regular expressions. The module shares no code with
the program. `reader_of` works on the plain objects of `tests.reference`.
"""

from __future__ import annotations

import base64
import fnmatch
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Obj = dict[str, Any]
Place = tuple[Any, ...]

WELL_KNOWN = Path(__file__).resolve().parents[1] / "postrender/plan/well_known_names.txt"
OWN_GROUPS = [
    *("", "apps", "batch", "autoscaling", "policy", "extensions", "rbac.authorization.k8s.io"),
    *("networking.k8s.io", "storage.k8s.io", "scheduling.k8s.io", "coordination.k8s.io"),
    *("admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io"),
    *("certificates.k8s.io", "discovery.k8s.io", "node.k8s.io", "events.k8s.io"),
]
WRITES = {"update", "patch", "*"}


def is_well_known(name: str, chart: str) -> bool:
    lines = WELL_KNOWN.read_text("utf-8").splitlines()
    globs = [line.split(";")[0].strip() for line in lines if line.strip() and line[0] != "#"]
    names = (name, f"{chart}/{name}")
    return any(fnmatch.fnmatchcase(names["/" in glob], glob) for glob in globs)


def is_filled(obj: Obj) -> bool:
    """Return whether an annotation or label lets another program write the data."""
    metadata = obj.get("metadata") or {}
    notes = metadata.get("annotations") or {}
    labels = metadata.get("labels") or {}
    is_config_map = obj["kind"] == "ConfigMap"
    switches = [
        notes.get("service.beta.openshift.io/inject-cabundle"),
        notes.get("service.alpha.openshift.io/inject-cabundle"),
        labels.get("config.openshift.io/inject-trusted-cabundle") if is_config_map else None,
    ]
    sources = [
        notes.get("replicator.v1.mittwald.de/replicate-from"),
        notes.get("reflector.v1.k8s.emberstack.com/reflects"),
        None if is_config_map else notes.get("secret-generator.v1.mittwald.de/autogenerate"),
        None if is_config_map else notes.get("secret-generator.v1.mittwald.de/type"),
    ]
    return any(is_on(value) for value in switches) or any(sources)


def is_copied(obj: Obj) -> bool:
    """Return whether an annotation lets another program copy the object to other namespaces."""
    notes = (obj.get("metadata") or {}).get("annotations") or {}
    switches = [
        notes.get("reflector.v1.k8s.emberstack.com/reflection-allowed"),
        notes.get("reflector.v1.k8s.emberstack.com/reflection-auto-enabled"),
        notes.get("replicator.v1.mittwald.de/replication-allowed"),
    ]
    namespaces = [
        notes.get("replicator.v1.mittwald.de/replicate-to"),
        notes.get("replicator.v1.mittwald.de/replicate-to-matching"),
    ]
    is_synced = notes.get("kubed.appscode.com/sync") is not None
    return is_synced or any(namespaces) or any(is_on(value) for value in switches)


def without_copies(notes: Obj) -> Obj:
    """Return annotations without those for copies."""
    copying = (
        r"reflector\.v1.*/reflection-|replicator\.v1.*/replicat(e-to|ion-allowed)|kubed.*/sync"
    )
    return {key: value for key, value in notes.items() if not re.match(copying, key)}


def is_on(value: object) -> bool:
    return bool(re.fullmatch(r"\s*(1|t|true)\s*", str(value), re.IGNORECASE))


def strings(value: Any, place: Place = ()) -> Iterator[tuple[Place, str, Any, Any]]:
    """Yield the place, the text, the holder and the key of each string."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, child in pairs:
        if isinstance(child, str):
            yield (*place, key), child, value, key
        elif isinstance(child, dict | list):
            yield from strings(child, (*place, key))


def reader_of(
    objects: list[Obj], config: Obj, linked: Callable[[Any, Any], bool], taken: set[str]
) -> str:
    """Return "write", "read" or "": the strongest sign that a program uses a name.

    linked: whether the string at holder[key] is a reference that resolves;
    taken: the names of the objects that are never revised.
    """
    signs: set[str] = set()
    for obj in objects:
        signs |= set(role_signs(objects, obj, config))
        signs |= set(text_signs(objects, obj, config, linked, taken))
    return "write" if "write" in signs else "read" if signs else ""


def role_signs(objects: list[Obj], role: Obj, config: Obj) -> Iterator[str]:
    if role.get("kind") not in ("Role", "ClusterRole") or is_for_people(objects, role):
        return
    if role["kind"] == "Role" and not may_share_namespace(role, config):
        return
    for rule in role.get("rules") or []:
        resources = set(rule.get("resources") or [])
        plural = config["kind"].lower() + "s"
        names = rule.get("resourceNames") or []
        if resources & {plural, "*"} and config["metadata"]["name"] in names:
            yield "write" if WRITES & set(rule.get("verbs") or []) else "read"


def is_for_people(objects: list[Obj], role: Obj) -> bool:
    subjects = [
        subject
        for obj in objects
        if obj.get("kind") in ("RoleBinding", "ClusterRoleBinding")
        and obj["roleRef"]["kind"] == role["kind"]
        and obj["roleRef"]["name"] == role["metadata"]["name"]
        for subject in obj.get("subjects") or []
    ]
    people = [
        subject
        for subject in subjects
        if subject["kind"] in ("User", "Group") and not subject["name"].startswith("system:")
    ]
    return bool(subjects) and people == subjects


def may_share_namespace(obj: Obj, other: Obj) -> bool:
    first, second = ((item.get("metadata") or {}).get("namespace") for item in (obj, other))
    return not first or not second or bool(first == second)


def text_signs(
    objects: list[Obj], obj: Obj, config: Obj, linked: Callable[[Any, Any], bool], taken: set[str]
) -> Iterator[str]:
    name, kind = config["metadata"]["name"], config["kind"].lower()
    # A definition has no references, and is not even read.
    is_read = obj.get("kind") not in (None, "CustomResourceDefinition")
    if not is_read or not may_share_namespace(obj, config):
        return
    word = rf"(?<![A-Za-z0-9.-]){re.escape(name)}(?![A-Za-z0-9.-])"
    for place, written, holder, key in strings(obj):
        is_encoded = obj.get("kind") == "Secret" and place[0] == "data"
        text = from_base64(written) if is_encoded else written
        if linked(holder, key) or not re.search(word, text) or not is_free(obj, place):
            continue
        fields = [plain(field) for field in fields_of(obj, place, text)]
        is_own = obj is config
        is_watched = any("reloader.stakater.com" in field for field in fields)
        is_named = not is_watched and any(kind in field for field in fields)
        if is_named or in_language(text, word, config["kind"]):
            found = True
        else:
            is_known = name in taken and not any(
                re.search(r"(^|[^a-z])(cm|conf|config|configuration|settings)([^a-z]|$)", part)
                for part in map(spaced, fields_of(obj, place, text))
            )
            is_program = place[-2:] in (("command", 0), ("args", 0)) and text[:1] != "-"
            found = not (is_own or is_known or is_program or is_watched) and is_value(text, name)
        if found:
            yield "write" if may_write(objects, obj, kind + "s") else "read"


def from_base64(text: str) -> str:
    try:
        return base64.b64decode(text).decode()
    except ValueError:
        return ""


def plain(text: str) -> str:
    return re.sub(r"[-_]", "", text.lower())


def spaced(text: str) -> str:
    return re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower()


def is_free(obj: Obj, place: Place) -> bool:
    """Return whether a string may be a reference that no rule knows."""
    group = str(obj.get("apiVersion")).rpartition("/")[0]
    if len(place) > 1 and place[-2] == "annotations":
        mine = (
            "postrender/",
            "helm-diff/",
            "postrenderer.helm.sh",
            "kubectl.kubernetes.io/",
            "kapp.k14s.io/",
        )
        return not str(place[-1]).startswith(mine)
    if place[0] in ("metadata", "apiVersion", "kind"):
        return False
    if obj["kind"] in ("ConfigMap", "Secret"):
        return place[0] in ("data", "stringData")
    if group in (*OWN_GROUPS, "argoproj.io"):
        keys = [key for key in place if isinstance(key, str)]
        maps = ("annotations", "volumeAttributes", "options", "parameters")
        is_list = keys[-1] in ("args", "command")
        return is_list or keys[-2:] == ["env", "value"] or (len(keys) > 1 and keys[-2] in maps)
    return not {"labels", "matchLabels", "selector", "matchExpressions"} & set(place)


def fields_of(obj: Obj, place: Place, text: str) -> list[str]:
    holder: Any = obj
    for key in place[:-1]:
        holder = holder[key]
    keys = [key for key in place if isinstance(key, str)]
    if keys[-2:] == ["env", "value"]:
        return [str(holder.get("name"))]
    if isinstance(place[-1], int):
        flag = re.match(r"(-[^=]*)=", text)
        if flag:
            return [flag[1]]
        before = str(holder[place[-1] - 1]) if place[-1] else ""
        if before.startswith("-") and "=" not in before:
            return [before]
        # `[kubectl, get, configmap, web]`
        resource = r"(cm|configmap|secret)s?"
        resources = [re.fullmatch(resource, str(word)) for word in holder[: place[-1]]]
        kinds = [match[1] for match in resources if match and match[0] != "cms"]
        return [kinds[-1].replace("cm", "configmap")] if kinds else keys[-1:]
    return keys[-2:]


def in_language(text: str, word: str, kind: str) -> bool:
    """Return whether a line with the name, or the key above the line, has the kind."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if not re.search(word, line) or re.match(r"\s*(#|//)", line):
            continue
        if kind.lower() in plain(line):
            return True
        if kind == "ConfigMap" and {"kubectl", "cm"} <= set(re.split(r"[\s/]+", plain(line))):
            return True
        if re.match(r'[\s-]*"?name', line):
            indent = re.match(r"[ -]*", line)
            above = [
                other
                for other in lines[max(0, number - 8) : number]
                if other.strip() and len(re.match(r"[ -]*", other)[0]) < len(indent[0])  # type: ignore[index]
            ]
            parent = plain(above[-1]) if above else ""
            around = lines[max(0, number - 8) : number + 8]
            if "metadata" in parent:
                if any(re.fullmatch(rf'\s*"?kind"?: "?{kind}"?,?\s*', other) for other in around):
                    return True
            elif kind.lower() in parent:
                return True
    return False


def is_value(text: str, name: str) -> bool:
    """Return whether a name is the value of a field or a flag, with or without a namespace."""
    line = text.strip()
    if "\n" in line:
        return False
    mark = r"\s/:@=,;'\"`()\[\]{}<>|"
    value = rf"(?:[^.~{mark}][^{mark}]*/)?{re.escape(name)}[.:!?]*"
    edge = r"[\s,;'\"`()\[\]{}<>|]"
    if not re.search(r"\s", line):
        return bool(
            re.search(rf"(?:^|{edge}){value}(?:{edge}|$)", line)
            or re.search(rf"(?:^|{edge})-[^\s=]*(?:=[^\s=]*)*={value}(?:{edge}|$)", line)
            or re.fullmatch(rf"[^\s,;'\"`()\[\]{{}}<>|]*={value}", line)
        )
    return bool(
        re.search(rf"(?:^|{edge})-[^\s=]*(?:[ \t]+|=(?:[^\s=]*=)*){value}(?:{edge}|$)", line)
    )


def may_write(objects: list[Obj], workload: Obj, plural: str) -> bool:
    """Return whether the ServiceAccount of a workload may change every object of a kind."""
    accounts = {str(value.get("serviceAccountName") or "default") for value in pod_specs(workload)}
    for binding in objects:
        if binding.get("kind") not in ("RoleBinding", "ClusterRoleBinding"):
            continue
        if not accounts & {subject["name"] for subject in binding.get("subjects") or []}:
            continue
        for role in objects:
            is_bound = role.get("kind") == binding["roleRef"]["kind"] and (
                role["metadata"]["name"] == binding["roleRef"]["name"]
            )
            for rule in (role.get("rules") or []) if is_bound else []:
                resources = set(rule.get("resources") or [])
                is_general = not rule.get("resourceNames") and resources & {plural, "*"}
                if is_general and WRITES & set(rule.get("verbs") or []):
                    return True
    return False


def pod_specs(value: Any) -> Iterator[Obj]:
    if isinstance(value, dict):
        if isinstance(value.get("containers"), list):
            yield value
        for child in value.values():
            yield from pod_specs(child)
    elif isinstance(value, list):
        for child in value:
            yield from pod_specs(child)
