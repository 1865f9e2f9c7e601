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
COMMENT = r"[^\S\n]*(?:#|//)"
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


def is_on(value: object) -> bool:
    return bool(re.fullmatch(r"\s*(1|t|true)\s*", str(value), re.IGNORECASE))


def strings(value: Any, place: Place = ()) -> Iterator[tuple[Place, str, Any, Any]]:
    """Yield the place, the text, the holder and the key of each string, and of some keys."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    above = str(place[-1]) if place else ""
    for key, child in pairs:
        if isinstance(key, str) and re.search("configmap|secret", plain(above)):
            yield (*place, key), key, value, key  # `configMaps: {web: …}`
        if isinstance(child, str):
            yield (*place, key), child, value, key
        elif isinstance(child, dict | list):
            yield from strings(child, (*place, key))


def reader_of(
    objects: list[Obj], config: Obj, linked: Callable[[Any, Any], bool], taken: set[str]
) -> str:
    """Return "write", "read" or "": the strongest sign that a program uses a name.

    linked: whether the string at holder[key] is a reference that resolves.
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
    word = rf"{word}|(?<![A-Za-z0-9.-])\$\{{\w+:?-{re.escape(name)}(?![A-Za-z0-9.-])"
    for place, written, holder, key in strings(obj):
        is_encoded = obj.get("kind") == "Secret" and place[0] == "data"
        text = from_base64(written) if is_encoded else written
        if linked(holder, key) or not re.search(word, text) or not is_free(obj, place, kind):
            continue
        fields = [plain(field) for field in fields_of(obj, place, text)]
        is_own = obj is config
        is_watched = any("reloader.stakater.com" in field for field in fields)
        is_named = not is_watched and any(kind in field for field in fields)
        if (
            is_named
            or in_language(text, word, config["kind"])
            or (kind == "configmap" and is_spring(objects, fields, text, word))
        ):
            found = True
        else:
            is_known = name in taken and not any(
                re.search(r"(^|[^a-z])(cm|conf|config|configuration|settings)([^a-z]|$)", part)
                for part in map(spaced, fields_of(obj, place, text))
            )
            is_other = is_own or is_known or is_program(obj, place, text) or is_watched
            found = not is_other and is_value(text, name)
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


POD_REFERENCES = {
    "configMapRef.name": "configmap",
    "configMapKeyRef.name": "configmap",
    "configMap.name": "configmap",
    "secretRef.name": "secret",
    "secretKeyRef.name": "secret",
    "secret.secretName": "secret",
    "secret.name": "secret",
    "imagePullSecrets.name": "secret",
}


def is_free(obj: Obj, place: Place, kind: str) -> bool:
    """Return whether a string may be a reference to a kind that no rule knows or resolves."""
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
        # A reference to an object that may be in another namespace.
        is_list = is_list or POD_REFERENCES.get(".".join(keys[-2:])) == kind
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
        # `[kubectl, get, configmap, web]`, `[kubectl, get, "pod,cm", web]`, `[oc, get, cm/web]`
        resource = r"(?:^|,)(cm|configmap|secret)(?:$|,|(?<!cm)s(?:$|,))"
        words = [*map(str, holder[: place[-1]]), re.sub(r"/?[^/]*$", "", text)]
        kinds = [match[1] for match in (re.search(resource, word) for word in words) if match]
        return [kinds[-1].replace("cm", "configmap")] if kinds else keys[-1:]
    # `{kind: ConfigMap, clone: {name: web}}`
    outer: Any = obj
    for key in place[:-2]:
        outer = outer[key]
    is_name = place[-1] == "name" and len(place) > 2 and isinstance(outer, dict)
    kind = outer.get("kind") if is_name else None
    return [*keys[-2:], kind] if kind in ("ConfigMap", "Secret") else keys[-2:]


def is_program(obj: Obj, place: Place, text: str) -> bool:
    """Return whether a string is the program of a container, or its first argument."""
    if not re.fullmatch(r"[^-\s]\S*", text) or place[-2:] not in (("command", 0), ("args", 0)):
        return False
    container: Any = obj
    for key in place[:-2]:
        container = container[key]
    return place[-2] == "command" or not container.get("command")


def in_language(text: str, word: str, kind: str) -> bool:
    """Return whether a line with the name, or the key above the line, has the kind."""
    lines = shell_lines(text)
    is_code = any(re.search(word, line) and not re.match(COMMENT, line) for line in lines)
    if is_code and any(has_variable(line, kind) for line in lines):
        return True
    for number, line in enumerate(lines):
        if not re.search(word, line) or re.match(COMMENT, line):
            continue
        if kind.lower() in plain(line):
            return True
        is_kubectl = re.search(r"kubectl|(?<![a-z0-9.])oc(?![a-z0-9.])", plain(line))
        short = r"(?<![a-z0-9.])cm(?![a-z0-9.])"
        if kind == "ConfigMap" and is_kubectl and re.search(short, plain(line)):
            return True
        if re.match(r'[\s-]*"?name', line):
            number_above = above(lines, number)
            parent = "" if number_above is None else plain(lines[number_above])
            kind_line = rf'[\s-]*"?kind"?: "?{kind}"?,?\s*'
            if any(re.fullmatch(kind_line, other) for other in siblings(lines, number)):
                return True
            around = lines[max(0, number - 8) : number + 8]
            if "metadata" in parent:
                if any(re.fullmatch(kind_line, other) for other in around):
                    return True
            elif kind.lower() in parent:
                return True
    return False


def is_spring(objects: list[Obj], fields: list[str], text: str, word: str) -> bool:
    """Return whether a name is the name of a Spring application."""
    spring = r"spring\.?application\.?name"
    if any(re.search(spring, field) for field in fields):
        return True
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if not re.search(word, line) or re.match(COMMENT, line):
            continue
        application = above(lines, number) if re.match(r"\s*name:", line) else None
        top = None
        if application is not None and lines[application].strip() == "application:":
            top = above(lines, application)
        is_nested = top is not None and lines[top].strip() == "spring:"
        if is_nested or re.search(spring, plain(line)):
            return may_read_all(objects)
    return False


def above(lines: list[str], number: int) -> int | None:
    """Return the number of the nearest line with a smaller indent, among the 100 lines before."""
    indents = [len(re.match(r"[ -]*", line)[0]) for line in lines]  # type: ignore[index]
    numbers = range(max(0, number - 100), number)
    found = [
        other for other in numbers if lines[other].strip() and indents[other] < indents[number]
    ]
    return found[-1] if found else None


def siblings(lines: list[str], number: int) -> list[str]:
    """Return the lines with the same indent in the same mapping, at most eight lines away."""
    start, end = max(0, number - 8), min(len(lines), number + 8)
    depth = [len(re.match(r"[ -]*", line)[0]) for line in lines]  # type: ignore[index]
    is_item = [bool(re.match(r"\s*-", line)) for line in lines]
    own = depth[number]
    used = [other for other in range(start, end) if lines[other].strip() and depth[other] <= own]
    before = [other for other in used if other < number and depth[other] < own]
    items = [other for other in used if other <= number and depth[other] == own and is_item[other]]
    first = max([start, *(other + 1 for other in before), *items])
    after = [other for other in used if other > number and (depth[other] < own or is_item[other])]
    return [lines[other] for other in used if first <= other < min([end, *after])]


def may_read_all(objects: list[Obj]) -> bool:
    """Return whether a role permits programs to read every ConfigMap."""
    roles = [obj for obj in objects if obj.get("kind") in ("Role", "ClusterRole")]
    return any(
        not rule.get("resourceNames")
        and {"configmaps", "*"} & set(rule.get("resources") or [])
        and {"get", "list", "watch", "*"} & set(rule.get("verbs") or [])
        for role in roles
        for rule in role.get("rules") or []
    )


def shell_lines(text: str) -> list[str]:
    """Return the lines of a text. A line that ends with a backslash continues in the next line."""
    command = rf"(?m)^(?!{COMMENT}).*\\\n(?:.*\\\n)*.*"
    joined = re.sub(command, lambda match: re.sub(r"\\\n[^\S\n]*", " ", match[0]), text)
    return joined.split("\n")


def has_variable(line: str, kind: str) -> bool:
    """Return whether a line has a kubectl command that takes the name of a ConfigMap from $NAME."""
    if re.match(COMMENT, line):
        return False
    resource = {"ConfigMap": "cm|configmaps?", "Secret": "secrets?"}[kind]
    for command in re.findall(r"(?i)(?:kubectl|\boc\b)([^|;&<>()]*)", line):
        words = re.sub(r"[/,\"']", " ", command)
        after = re.split(rf"(?i)(?<!\S)(?:{resource})(?!\S)", words, maxsplit=1)[1:]
        variable = r"(?<!\S)(?<! -n )(?<! --namespace )\$"
        if any(re.search(variable, " " + " ".join(part.split())) for part in after):
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
