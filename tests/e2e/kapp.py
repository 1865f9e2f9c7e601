"""A stand-in for kapp 0.60, with the effects of `kapp deploy` that the recipe needs.

    python -m tests.e2e.kapp deploy --app app --namespace prod --file app.yaml --file - --yes

An object with the annotation `kapp.k14s.io/versioned` gets a name that ends in `-ver-N`; N
increases if the object changed. All applied objects get kapp's labels, and the last five versions
are kept. Other objects with the label are deleted. With `kapp.k14s.io/delete-strategy: orphan` they
only lose the label. See kapp's pkg/kapp/diff/change_set_with_versioned_rs.go and
clusterapply/delete_change.go.

If POSTRENDER_E2E_KAPP is the path of a real kapp, the tests run that kapp.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.e2e.attach_processes import parse
from tests.e2e.programs import program

APP, ORPHANED = "kapp.k14s.io/app", "kapp.k14s.io/orphaned"
ASSOCIATION = "kapp.k14s.io/association"
VERSIONED, DELETE_STRATEGY = "kapp.k14s.io/versioned", "kapp.k14s.io/delete-strategy"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
KINDS = "rollouts,configmaps,jobs,serviceaccounts,roles,rolebindings"
VERSIONS_KEPT = 5

Json = dict[str, Any]


def main() -> None:
    """Deploy the given files."""
    parser = argparse.ArgumentParser()
    parser.add_argument("verb", choices=["deploy"])
    parser.add_argument("--app", required=True)
    parser.add_argument("--namespace", required=True)
    parser.add_argument("--file", action="append", required=True)
    parser.add_argument("--yes", action="store_true", required=True)
    options = parser.parse_args()
    label = hashlib.md5(options.app.encode()).hexdigest()
    objects = [obj for file in options.file for obj in parse(_read(file)) if _is_applied(obj)]
    deploy(options.namespace, label, objects)


def _read(file: str) -> str:
    return sys.stdin.read() if file == "-" else Path(file).read_text()


def _is_applied(obj: Json) -> bool:
    """Return whether an object is meant for the cluster, and is not configuration of kapp."""
    return bool(obj["apiVersion"] != "kapp.k14s.io/v1alpha1")


def deploy(namespace: str, label: str, objects: list[Json]) -> None:
    """Apply the objects, then delete or orphan other objects that have the label."""
    live = _kubectl(namespace, "get", KINDS, "-l", f"{APP}={label}", "-o", "json")
    existing: list[Json] = json.loads(live)["items"]
    for obj in objects:
        if VERSIONED in obj["metadata"].get("annotations", {}):
            _give_version(obj, objects, existing)
        association = hashlib.md5(_key(obj).encode()).hexdigest()
        labels = obj["metadata"].setdefault("labels", {})
        labels |= {APP: label, ASSOCIATION: f"v1.{association}"}
    existing_keys = {_key(obj) for obj in existing}
    for obj in objects:
        # kapp looks up existing objects, except those that it gives a version itself.
        is_new = (
            VERSIONED in obj["metadata"].get("annotations", {}) and _key(obj) not in existing_keys
        )
        verb = ["create"] if is_new else ["apply", "--openapi-patch=false", "--validate=false"]
        _kubectl(namespace, *verb, "-f", "-", stdin=json.dumps(obj))
    kept_keys = {_key(obj) for obj in [*objects, *_versions_to_keep(objects, existing)]}
    for obj in existing:
        if _key(obj) not in kept_keys:
            _delete(namespace, obj)


def _give_version(obj: Json, objects: list[Json], existing: list[Json]) -> None:
    """Set the name of an object's version, in the object and in the Rollouts that mount it."""
    base = obj["metadata"]["name"]
    versions = _versions(base, existing)
    number = max(versions, default=1)
    if versions and _compared(versions[number]) != _compared(obj):
        number += 1
    obj["metadata"]["name"] = f"{base}-ver-{number}"
    for volume in _volumes(objects):
        if volume["configMap"]["name"] == base:
            volume["configMap"]["name"] = obj["metadata"]["name"]


def _compared(obj: Json) -> Json:
    """Return the parts that cause a new version: the data and the user's annotations."""
    annotations = dict(obj["metadata"]["annotations"])
    annotations.pop(LAST_APPLIED, None)
    return {"data": obj["data"], "annotations": annotations}


def _volumes(objects: list[Json]) -> Iterator[Json]:
    for obj in objects:
        if obj["kind"] == "Rollout":
            yield from obj["spec"]["template"]["spec"]["volumes"]


def _versions(base: str, existing: list[Json]) -> dict[int, Json]:
    candidates = ((obj["metadata"]["name"].rpartition("-ver-"), obj) for obj in existing)
    return {int(number): obj for (prefix, _, number), obj in candidates if prefix == base}


def _versions_to_keep(objects: list[Json], existing: list[Json]) -> Iterator[Json]:
    for obj in objects:
        if VERSIONED in obj["metadata"].get("annotations", {}):
            versions = _versions(obj["metadata"]["name"].rpartition("-ver-")[0], existing)
            yield from [versions[number] for number in sorted(versions)][-VERSIONS_KEPT:]


def _delete(namespace: str, obj: Json) -> None:
    name = _key(obj)
    if obj["metadata"].get("annotations", {}).get(DELETE_STRATEGY) == "orphan":
        _kubectl(namespace, "label", name, f"{APP}-", f"{ORPHANED}=")
    else:
        _kubectl(namespace, "delete", name)


def _key(obj: Json) -> str:
    return f"{obj['kind']}/{obj['metadata']['name']}"


def _kubectl(namespace: str, *arguments: str, stdin: str = "") -> str:
    command = [program("kubernetes"), "kubectl", "--namespace", namespace, *arguments]
    return subprocess.run(
        command, input=stdin, stdout=subprocess.PIPE, text=True, check=True
    ).stdout


if __name__ == "__main__":
    main()
