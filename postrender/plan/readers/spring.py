"""Names of Spring applications.

Spring Cloud Kubernetes reads the ConfigMap that has the name of the application:

    env:
      - name: SPRING_APPLICATION_NAME
        value: shop

Many Spring applications have their name in a file such as `application.yaml`. Most Spring
applications do not use Spring Cloud Kubernetes. Therefore the name in a text is a sign only if a
role permits programs to read all ConfigMaps.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.plan.by_name import roles
from postrender.plan.by_name.mentions import Mention
from postrender.plan.by_name.signs import Evidence, Sign, sign_of
from postrender.plan.readers.text_lines import is_comment, parent_of
from postrender.text.words import letters_of, words_of

_PROPERTY = "springapplicationname"  # spring.application.name, SPRING_APPLICATION_NAME
_CONFIG_MAP = "ConfigMap"


def find(evidence: Evidence) -> Iterator[Sign]:
    """Return a sign for each mention that is the name of a Spring application."""
    mentions = [mention for mention in evidence.mentions if any(map(_is_property, mention.fields))]
    in_texts = [mention for mention in evidence.mentions if _is_in_text(mention)]
    if in_texts and roles.may_read_all(evidence, _CONFIG_MAP):
        mentions += in_texts
    for mention in mentions:
        for target in mention.targets:
            if target.identity.kind == _CONFIG_MAP:
                source = mention.item.identity
                reason = (
                    "Spring Cloud Kubernetes may read the ConfigMap with the application name of "
                    f"{source}"
                )
                yield sign_of(evidence, mention, target, reason)


def _is_property(text: str) -> bool:
    return _PROPERTY in letters_of(text).replace(".", "")


def _is_in_text(mention: Mention) -> bool:
    """Return whether the text of a mention sets spring.application.name to the mentioned name.

    The text can have the form of properties, of a Java option, or of YAML.
    """
    if "spring" not in mention.text.lower():
        return False
    lines = mention.text.split("\n")
    return any(
        _is_property(line) or _is_nested(lines, number)
        for number, line in enumerate(lines)
        if mention.name in line and mention.name in words_of(line) and not is_comment(line)
    )


def _is_nested(lines: list[str], number: int) -> bool:
    """Return whether a line is `name: …` below the keys `spring:` and `application:`."""
    if not lines[number].strip().startswith("name:"):
        return False
    application = parent_of(lines, number)
    if application is None or lines[application].strip() != "application:":
        return False
    spring = parent_of(lines, application)
    return spring is not None and lines[spring].strip() == "spring:"
