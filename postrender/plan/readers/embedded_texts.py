"""Manifests, pod templates and commands inside a string.

A program later uses the manifest or the template, or runs the command. postrender does not rewrite
these strings. This example has a pod template and a command:

    data:
      pod-template.yaml: |
        spec:
          volumes:
          - name: config
            configMap:
              name: web-config
      start.sh: kubectl get configmap web-config

The rule searches line by line, because many of these strings are templates and not valid YAML.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from postrender.plan.readers.sign import Evidence, Sign, sign_of
from postrender.text.words import letters_of, words_of

_COMMENTS = ("#", "//")
# The maximum distance in lines between `name:` and a line with the kind, such as `configMap:`.
_MAX_DISTANCE = 8


def find(evidence: Evidence) -> Iterator[Sign]:
    """Yield a sign for each mention in a manifest or a command inside a string."""
    for mention in evidence.mentions:
        for target in mention.targets:
            if _references(mention.text, mention.name, target.identity.kind):
                reason = f"a text in {mention.item.identity} references the {target.identity.kind}"
                yield sign_of(evidence, mention, target, reason)


def _references(text: str, name: str, kind: str) -> bool:
    """Return whether a line with the name also has the kind, or is below a line with the kind."""
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
    """Return whether a line is `name: …` below a key with the kind, or in an object of the kind."""
    if not lines[number].replace('"', "").strip().lstrip("- ").startswith("name"):
        return False
    indent = _indent_of(lines[number])
    for line in reversed(lines[max(0, number - _MAX_DISTANCE) : number]):
        if line.strip() and _indent_of(line) < indent:
            parent = letters_of(line)
            if "metadata" in parent:
                return _is_manifest_of(lines, number, kind)
            return kind.lower() in parent
    return False


def _is_manifest_of(lines: Sequence[str], number: int, kind: str) -> bool:
    # The line `kind: ConfigMap` can be above or below `metadata:`.
    around = lines[max(0, number - _MAX_DISTANCE) : number + _MAX_DISTANCE]
    return any(line.replace('"', "").strip().rstrip(",") == f"kind: {kind}" for line in around)


def _indent_of(line: str) -> int:
    return len(line) - len(line.lstrip(" -"))
