"""A stand-in for kapp 0.60: what `kapp deploy` does to the cluster, as far as the recipe meets it.

    python -m tests.e2e.kapp deploy --app app --namespace prod --file app.yaml --file - --yes

It gives what is annotated `kapp.k14s.io/versioned` a name that ends in `-ver-N`, with N one more
than the last if anything changed, labels all that it applies, keeps the last five versions, and
deletes what else bears its label, or with `kapp.k14s.io/delete-strategy: orphan` only takes the
label off (kapp's pkg/kapp/diff/change_set_with_versioned_rs.go, clusterapply/delete_change.go).
With POSTRENDER_E2E_KAPP set to the path of a real kapp the tests run that.
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

from tests.e2e.programs import program
from tests.e2e.runs import parse

APP, ORPHANED = "kapp.k14s.io/app", "kapp.k14s.io/orphaned"
ASSOCIATION = "kapp.k14s.io/association"
VERSIONED, DELETE_STRATEGY = "kapp.k14s.io/versioned", "kapp.k14s.io/delete-strategy"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
KINDS = "rollouts,configmaps,jobs,serviceaccounts,roles,rolebindings"
VERSIONS_KEPT = 5

Json = dict[str, Any]


def main() -> None:
    """Deploy the files given."""
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
    """Tell whether an object is for the cluster, and no configuration of kapp's."""
    return bool(obj["apiVersion"] != "kapp.k14s.io/v1alpha1")


def deploy(namespace: str, label: str, objects: list[Json]) -> None:
    """Apply the objects, then see to those that bear the label and are not among them."""
    live = _kubectl(namespace, "get", KINDS, "-l", f"{APP}={label}", "-o", "json")
    existing: list[Json] = json.loads(live)["items"]
    for obj in objects:
        if VERSIONED in obj["metadata"].get("annotations", {}):
            _give_version(obj, objects, existing)
        association = hashlib.md5(_key(obj).encode()).hexdigest()
        labels = obj["metadata"].setdefault("labels", {})
        labels |= {APP: label, ASSOCIATION: f"v1.{association}"}
    known = {_key(obj) for obj in existing}
    for obj in objects:
        # It looks for others that have a name, and not for those that it gives a version itself.
        is_new = VERSIONED in obj["metadata"].get("annotations", {}) and _key(obj) not in known
        verb = ["create"] if is_new else ["apply", "--openapi-patch=false"]
        _kubectl(namespace, *verb, "-f", "-", stdin=json.dumps(obj))
    wanted = {_key(obj) for obj in [*objects, *_versions_to_keep(objects, existing)]}
    for obj in existing:
        if _key(obj) not in wanted:
            _delete(namespace, obj)


def _give_version(obj: Json, objects: list[Json], existing: list[Json]) -> None:
    """Give an object the name of its version, here and where the Rollouts mount it."""
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
    """Return what makes a new version: the data, and what somebody has annotated."""
    annotations = dict(obj["metadata"]["annotations"])
    annotations.pop(LAST_APPLIED, None)
    return {"data": obj["data"], "annotations": annotations}


def _volumes(objects: list[Json]) -> Iterator[Json]:
    for obj in objects:
        if obj["kind"] == "Rollout":
            yield from obj["spec"]["template"]["spec"]["volumes"]


def _versions(base: str, existing: list[Json]) -> dict[int, Json]:
    found = ((obj["metadata"]["name"].rpartition("-ver-"), obj) for obj in existing)
    return {int(number): obj for (before, _, number), obj in found if before == base}


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
