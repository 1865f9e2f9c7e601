"""Values that are the base name of an object, fields named after a kind, and copied objects.

    kind: Widget
    spec:
      settings: web-config

Reference rules do not cover the field `settings`. If the stream has an object of another kind with
the name, such as a Service, the value can mean that object. It then is a sign only if the field's
name has a word such as `config`.

The name of a flag, a variable, an annotation or a key can contain `configmap` or, for a Secret,
`secret`, in any case, with `-` or `_`. So can the field `kind` one level above the key `name`:

    args: [--config-map=shop/web-config]
    env:
      - name: SETTINGS_CONFIGMAP
        value: web-config

Annotations let another program copy the object to other namespaces, where objects reference the
copies by the base name:

    kind: ConfigMap
    metadata:
      name: web-config
      annotations:
        reflector.v1.k8s.emberstack.com/reflection-allowed: "true"
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from postrender.kubernetes.annotations import copier_of
from postrender.plan.by_name.mentions import Mention
from postrender.plan.by_name.signs import Evidence, Sign, sign_of
from postrender.text import WHOLE, forms_of, letters_of, shown
from postrender.yaml.paths import format_path

# A word in the name of a field, such as `configMapName`, `INIT_CONFIG` or `--cm-name`.
_FIELD_WORD = r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])"
_CONFIGURATION_WORDS = frozenset({"cm", "config", "configuration", "conf", "settings"})


def find_whole_values(evidence: Evidence) -> Iterator[Sign]:
    """A sign for each mention that is the whole value of a field, a flag or a variable."""
    fixed_names = evidence.inventory.fixed_names
    for mention in evidence.mentions:
        is_taken = mention.name in fixed_names
        if (
            mention.is_program
            or mention.is_watched
            or (is_taken and not _is_about_configuration(mention))
        ):
            continue
        if WHOLE in forms_of(mention.text, mention.name):
            field = format_path(mention.path)
            for target in mention.targets:
                if target.key == mention.item.key:
                    continue  # an object does not read itself
                source, kind = mention.item.identity, target.identity.kind
                reason = f"{source} has the name of the {kind} as the value of {field}"
                yield sign_of(evidence, mention, target, reason)


def _is_about_configuration(mention: Mention) -> bool:
    words = {word.lower() for field in mention.fields for word in re.findall(_FIELD_WORD, field)}
    return not words.isdisjoint(_CONFIGURATION_WORDS)


def find_named_fields(evidence: Evidence) -> Iterator[Sign]:
    """A sign for each mention with the target's kind in Mention.fields.

    Annotations of Reloader are not signs, because Reloader only watches objects.
    """
    for mention in evidence.mentions:
        for target in mention.targets:
            field = _field_for(mention, target.identity.kind)
            if field:
                source, name = mention.item.identity, mention.name
                place = (
                    f"next to {field}"
                    if field.startswith("kind: ")
                    else f"in the value of {shown(field)}"
                )
                reason = f"{source} contains the name {name} {place}"
                yield sign_of(evidence, mention, target, reason)


def _field_for(mention: Mention, kind: str) -> str:
    if mention.is_watched:
        return ""
    return next((field for field in mention.fields if kind.lower() in letters_of(field)), "")


def find_copies(evidence: Evidence) -> Iterator[Sign]:
    """A sign for each renamed object that another program copies."""
    for item in evidence.renamed:
        program, annotation = copier_of(item.annotations)
        if program:
            path = (*item.path, "metadata", "annotations", annotation)
            yield Sign(
                target=item,
                reason=f"the annotation {annotation} lets {program} copy the "
                f"{item.identity.kind} to other namespaces",
                source=item,
                location=evidence.inventory.location_of(item, path),
            )
