"""A naive reader of the rule that no field outside of pod templates is blind.

A string that equals the name of a ConfigMap is a reference, unless it is on the written list of
`references.built_in`, or in one of the places below.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from postrender.config.settings import AttacherSettings, Settings
from postrender.inventory.build import take_inventory
from postrender.output import render
from postrender.plan.build import make_plan
from postrender.references.built_in import COVERED, UNRELATED
from postrender.yaml.stream import read_stream
from tests.manifests import Obj, dump, normalise

NAME = "web"
# Kubernetes uses these for labels only. postrender reads `selector` in any object as labels.
LABELS = {"labels", "matchLabels", "matchExpressions", "selector"}
# Where the pod templates are. tests/references proves the rules for their fields.
TEMPLATES = {
    "Rollout": r"spec\.template($|\.|\[)",
    "Experiment": r"spec\.templates\[\d+\]\.template($|\.|\[)",
    "AnalysisTemplate": r"spec\.metrics\[\d+\]\.provider\.job\.spec\.template($|\.|\[)",
    "ClusterAnalysisTemplate": r"spec\.metrics\[\d+\]\.provider\.job\.spec\.template($|\.|\[)",
    "AnalysisRun": r"spec\.metrics\[\d+\]\.provider\.job\.spec\.template($|\.|\[)",
}


def open_fields(item: Obj, name: str) -> list[str]:
    """Return the paths of the strings that equal a name, and that can reference the ConfigMap."""
    group = item["apiVersion"].rpartition("/")[0]
    listed = [
        re.escape(pattern).replace(r"\[\]", r"\[\d+\]")
        for pattern in UNRELATED.get((group, item["kind"]), ())
    ]
    template = TEMPLATES.get(item["kind"], "$^")
    is_covered = (group, item["kind"]) in COVERED
    return [
        path
        for path, keys, parent, value in leaves(item, "", ())
        if value == name
        and keys[0] not in ("apiVersion", "kind", "metadata")
        and not LABELS & set(keys)
        and "resourceNames" not in keys  # of the `resources` beside it, with rules of their own
        and not is_of_another_kind(keys, parent)
        and (not is_covered or is_of_the_kind(keys, parent))
        and (is_of_the_kind(keys, parent) or not re.match(template, path))
        and not any(re.match(pattern + r"($|\.|\[)", path) for pattern in listed)
    ]


def is_of_the_kind(keys: tuple[str, ...], parent: Any) -> bool:
    return keys[-1] == "name" and isinstance(parent, dict) and parent.get("kind") == "ConfigMap"


def is_of_another_kind(keys: tuple[str, ...], parent: Any) -> bool:
    """Whether the string is the name next to `kind: Service`, or names a Secret."""
    if keys[-1] == "name" and len(keys) > 1 and isinstance(parent, dict):
        kind = str(parent.get("kind"))
        if kind != "ConfigMap" and re.fullmatch("[A-Z][A-Za-z]+", kind) and "kind" in parent:
            return True
    # A key such as `secretName` or `secretRef` means a Secret.
    letters = [key.replace("-", "").replace("_", "").lower() for key in keys[-2:]]
    return any("secret" in key for key in letters) and not any(
        "configmap" in key for key in letters
    )


def leaves(
    value: Any, path: str, keys: tuple[str, ...], parent: Any = None
) -> Iterator[tuple[str, tuple[str, ...], Any, Any]]:
    """Yield the path, the keys, the parent and the value of each scalar."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}" if path else key, (*keys, key), value)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from leaves(inner, f"{path}[{number}]", keys, value)
    else:
        yield path, keys, parent, value


CONFIG_MAP = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": NAME},
    "data": {"a": "b"},
}
READER = {
    "apiVersion": "batch/v1",
    "kind": "CronJob",
    "metadata": {"name": "reader"},
    "spec": {
        "jobTemplate": {
            "spec": {
                "template": {
                    "spec": {
                        "containers": [{"name": "a", "envFrom": [{"configMapRef": {"name": NAME}}]}]
                    }
                }
            }
        }
    },
}


def is_safe(item: Obj) -> bool:
    """Return whether an object still finds a ConfigMap by its name, although pods use a revision.

    The original stays in the output, or the object selects the revision in addition.
    """
    run = Settings(attacher=AttacherSettings(is_enabled=False))
    stream = read_stream(dump([CONFIG_MAP, READER, item]).encode(), "stream")
    output = normalise("".join(render(make_plan(take_inventory(stream, run), run))))
    names = [obj["metadata"]["name"] for obj in output if obj["kind"] == "ConfigMap"]
    return NAME in names or names[0] in str(output[-1])
