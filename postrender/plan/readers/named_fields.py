"""Fields whose name shows that the value is the name of a ConfigMap or Secret.

The name of the flag, the variable, the annotation or the key contains `configmap`. The search
ignores case, `-` and `_`:

    args: [--config-map=shop/web-config]
    env:
      - name: SETTINGS_CONFIGMAP
        value: web-config

For a Secret, the name of the field contains `secret`. The kind of the object in a field
`kind`, one level above the key `name`, is also a sign.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.plan.by_name.mentions import Mention
from postrender.plan.by_name.signs import Evidence, Sign, sign_of
from postrender.text.shown import shown
from postrender.text.words import letters_of


def find(evidence: Evidence) -> Iterator[Sign]:
    """Return a sign for each mention with the target's kind in Mention.fields.

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
    """Return the first field name of a mention that contains the kind, else ""."""
    if mention.is_watched:
        return ""
    return next((field for field in mention.fields if kind.lower() in letters_of(field)), "")
