"""Large CustomResourceDefinitions that mention ConfigMaps, and three ConfigMaps to revise."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from benchmarks.many import app_name, config_map, rollout
from benchmarks.text import camel, document, indent, prose, sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

CONFIG_MAPS = 3
_CRDS = 10
_CHARACTERS = 200_000

_HEAD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  annotations:
    controller-gen.kubebuilder.io/version: v0.16.5
  name: {plural}.fleet.example.org
spec:
  group: fleet.example.org
  names:
    kind: {kind}
    listKind: {kind}List
    plural: {plural}
    singular: {singular}
  scope: Namespaced
  versions:
    - name: v1
      schema:
        openAPIV3Schema:
          properties:
            spec:
              properties:
"""

_TAIL = """\
              type: object
          type: object
      served: true
      storage: true
      subresources:
        status: {}
"""

# Text that looks like a manifest when each line is read alone.
_EXAMPLE = """\
description: |-
  {text}
  For example:

  kind: ConfigMap
  metadata:
    name: app-00000-config
type: string"""

_KEY_REF = """\
description: A key of a ConfigMap in the namespace of this object. {text}
properties:
  key:
    description: {text}
    type: string
  name:
    default: ""
    description: |-
      The name of the ConfigMap that holds the key.
      {text}
    type: string
  optional:
    type: boolean
required:
  - key
type: object
x-kubernetes-map-type: atomic"""

# YAML 1.1 resolves a bare `=` to the tag `value`, which constructors reject.
_MATCHERS = """\
description: {text}
enum:
  - '!='
  - =
  - =~
type: string"""

_SPECIAL = {
    "configMap": _KEY_REF,
    "configMapKeyRef": _KEY_REF,
    "configMapRef": _KEY_REF,
    "configMapTemplate": _EXAMPLE,
    "matchType": _MATCHERS,
}


def crds(times: int = 1) -> Iterator[str]:
    """Yield about 2 MB of definitions, three ConfigMaps and a Rollout that uses them.

    times: how often the definitions are repeated, to make a stream larger without more work
    """
    definitions = [
        document(f"fleet/crds/crd-{number}.yaml", _definition(random.Random(number)))
        for number in range(_CRDS)
    ]
    for _ in range(times):
        yield from definitions
    for number in range(CONFIG_MAPS):
        yield document("fleet/templates/configmap.yaml", config_map(number))
    yield document("fleet/templates/rollout.yaml", _consumer())


def _consumer() -> str:
    """Return a Rollout that uses all ConfigMaps."""
    sources = "".join(
        f"\n            - configMapRef:\n                name: {app_name(number)}-config"
        for number in range(1, CONFIG_MAPS)
    )
    return rollout(0).replace("envFrom:", f"envFrom:{sources}")


def _definition(rng: random.Random) -> str:
    kind = camel(rng, 3)
    kind = kind[0].upper() + kind[1:]
    names = {"kind": kind, "singular": kind.lower(), "plural": f"{kind.lower()}s"}
    parts, size = [_HEAD.format(**names)], 0
    while size < _CHARACTERS:
        parts.append(indent(_property(rng, 4, len(parts)), 16))
        size += len(parts[-1])
    return "".join([*parts, _TAIL])


def _property(rng: random.Random, depth: int, number: int) -> str:
    """Return a property of a schema.

    number: a suffix that makes the name unique among its siblings
    """
    if rng.random() < 0.06:
        name = rng.choice(list(_SPECIAL))
        return f"{name}{number}:\n{indent(_SPECIAL[name].format(text=sentence(rng, 9)), 2)}\n"
    schema = _object(rng, depth) if depth and rng.random() < 0.4 else _leaf(rng)
    return f"{camel(rng, 2)}{number}:\n{indent(schema, 2)}"


def _object(rng: random.Random, depth: int) -> str:
    children = "".join(_property(rng, depth - 1, number) for number in range(1, rng.randint(3, 8)))
    schema = f"properties:\n{indent(children, 2)}type: object\n"
    if rng.random() < 0.3:
        schema = f"items:\n{indent(schema, 2)}type: array\n"
    return _description(rng) + schema


def _leaf(rng: random.Random) -> str:
    kind = rng.choice(("string", "string", "boolean", "integer"))
    return f"{_description(rng)}type: {kind}\n"


def _description(rng: random.Random) -> str:
    about = rng.choice(("", "", "Read from a ConfigMap unless set. ", "ConfigMaps are ignored. "))
    if rng.random() < 0.5:
        return f"description: {about}{prose(rng, 2)}\n"
    lines = "\n".join(prose(rng, 1) for _ in range(rng.randint(2, 4)))
    return f"description: |-\n{indent(f'{about}{lines}', 2)}\n"
