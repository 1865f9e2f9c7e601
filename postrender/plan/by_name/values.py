"""Values that are the base name of an object, possibly after a flag or a namespace.

    kind: Widget
    spec:
      settings: web-config

Reference rules do not cover the field `settings`. If the stream has an object of another kind with
the name, such as a Service, the value can mean that object. A sign shows that a program reads the
ConfigMap. In this case, the value is a sign only if the field's name has a word such as `config`.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.plan.by_name.mentions import Mention
from postrender.plan.by_name.signs import Evidence, Sign, sign_of
from postrender.startup.patterns import pattern
from postrender.text.occurrences import WHOLE, forms_of
from postrender.yaml.paths import format_path

# A word in the name of a field, such as `configMapName`, `INIT_CONFIG` or `--cm-name`.
_FIELD_WORD = pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_CONFIGURATION_WORDS = frozenset({"cm", "config", "configuration", "conf", "settings"})


def find(evidence: Evidence) -> Iterator[Sign]:
    """Return a sign for each mention that is a whole value.

    The program of a container and the annotations of Reloader are not signs.
    """
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
    words = {word.lower() for field in mention.fields for word in _FIELD_WORD.findall(field)}
    return not words.isdisjoint(_CONFIGURATION_WORDS)
