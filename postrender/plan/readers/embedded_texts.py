"""Manifests, pod templates and commands inside a string.

A program creates the pods of the template, or runs the command. postrender does not rewrite
strings such as these values:

    data:
      pod-template.yaml: |
        spec:
          volumes:
          - name: config
            configMap:
              name: web-config
      start.sh: kubectl get configmap web-config

The search is line by line, because many of these texts are templates and not valid YAML.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from postrender.plan.readers.sign import Evidence, Sign, sign_of
from postrender.text.words import letters_of, words_of

_COMMENTS = ("#", "//")
# The number of lines that are searched for `configMap:` above a `name:`. Lines such as
# `optional: true` may be between them.
_LONGEST_BLOCK = 8


def find(evidence: Evidence) -> Iterator[Sign]:
    """Yield a sign for each mention in a manifest or a command inside a string."""
    for mention in evidence.mentions:
        for target in mention.targets:
            if _references(mention.text, mention.name, target.identity.kind):
                reason = f"a text in {mention.item.identity} references the {target.identity.kind}"
                yield sign_of(evidence, mention, target, reason)


def _references(text: str, name: str, kind: str) -> bool:
    """Return whether a line that contains a name has the kind, or is below a line with the kind."""
    if kind.lower() not in letters_of(text) and "kubectl" not in text:
        return False
    lines = text.split("\n")
    return any(
        _has_kind(line, kind) or _is_below_kind(lines, number, kind)
        for number, line in enumerate(lines)
        if name in line and name in words_of(line) and not line.lstrip().startswith(_COMMENTS)
    )


def _has_kind(line: str, kind: str) -> bool:
    words = letters_of(line).replace("/", " ").split()
    short = kind == "ConfigMap" and "kubectl" in words and "cm" in words
    return short or any(kind.lower() in word for word in words)


def _is_below_kind(lines: Sequence[str], number: int, kind: str) -> bool:
    """Return whether a line `name: …` is in the mapping of a key such as `configMap:`.

    In an embedded manifest, the line `kind: ConfigMap` is above or below `metadata:`.
    """
    if not lines[number].replace('"', "").strip().lstrip("- ").startswith("name"):
        return False
    indent = _indent_of(lines[number])
    for line in reversed(lines[max(0, number - _LONGEST_BLOCK) : number]):
        if line.strip() and _indent_of(line) < indent:
            parent = letters_of(line)
            if "metadata" in parent:
                return _is_manifest_of(lines, number, kind)
            return kind.lower() in parent
    return False


def _is_manifest_of(lines: Sequence[str], number: int, kind: str) -> bool:
    around = lines[max(0, number - _LONGEST_BLOCK) : number + _LONGEST_BLOCK]
    return any(line.replace('"', "").strip().rstrip(",") == f"kind: {kind}" for line in around)


def _indent_of(line: str) -> int:
    return len(line) - len(line.lstrip(" -"))
