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

In a script, the name and the command can be in different lines:

    for name in web-config web-routes; do
      kubectl get configmap "$name"
    done

The rule searches line by line, because many of these strings are templates and not valid YAML.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from postrender.plan.by_name.mentions import KUBECTL_KINDS
from postrender.plan.by_name.signs import Evidence, Sign, sign_of
from postrender.plan.readers.text_lines import (
    MAX_DISTANCE,
    is_comment,
    lines_of,
    parent_of,
    siblings_of,
)
from postrender.records import NamedTuple
from postrender.startup.patterns import pattern
from postrender.text.words import letters_of, words_of

# The arguments of a kubectl or oc command. The command can be a variable, such as `${KUBECTL}`.
_COMMAND = pattern(r"(?i)(?:kubectl|\boc\b)([^|;&<>()\n]*)")
_TO_SPACES = str.maketrans("/,\"'", "    ")
_NAMESPACE_FLAGS = ("-n", "--namespace")


class _Text(NamedTuple):
    """A text in which the rule searches.

    letters: the text in lower case, without `-` and `_`.
    lines: the lines, with continuation lines joined.
    variable_kinds: the kinds, in lower case, that a command in the text reads by a name from a
        variable.
    """

    letters: str
    lines: Sequence[str]
    variable_kinds: AbstractSet[str]


def find(evidence: Evidence) -> Iterator[Sign]:
    """Return a sign for each mention in a manifest, a pod template or a command inside a string."""
    texts: dict[str, _Text] = {}
    for mention in evidence.mentions:
        if mention.text not in texts:
            texts[mention.text] = _text_of(mention.text)
        for target in mention.targets:
            if _references(texts[mention.text], mention.name, target.identity.kind):
                reason = f"a text in {mention.item.identity} references the {target.identity.kind}"
                yield sign_of(evidence, mention, target, reason)


def _text_of(text: str) -> _Text:
    lines = lines_of(text)
    kinds = {kind for line in lines for kind in _variable_kinds(line)} if "$" in text else set()
    return _Text(letters_of(text), lines, kinds)


def _references(text: _Text, name: str, kind: str) -> bool:
    """Return whether a text references an object by its name.

    True if a line with the name also has the kind, or is the `name: …` of an object of the kind.
    Also true if the text has the name, and a command reads the kind by a name from a variable.
    """
    if not (kind.lower() in text.letters or (kind == "ConfigMap" and "cm" in text.letters)):
        return False
    return any(
        kind.lower() in text.variable_kinds
        or _has_kind(line, kind)
        or _is_below_kind(text.lines, number, kind)
        for number, line in enumerate(text.lines)
        if name in line and name in words_of(line) and not is_comment(line)
    )


def _has_kind(line: str, kind: str) -> bool:
    letters = letters_of(line)
    if kind.lower() in letters:
        return True
    if kind != "ConfigMap" or "cm" not in letters:
        return False
    words = words_of(letters)
    return "cm" in words and ("kubectl" in letters or "oc" in words)


def _variable_kinds(line: str) -> Iterator[str]:
    """Return the kinds, in lower case, that the commands in a line read by a name from a variable.

    In `kubectl get cm -n "$NAMESPACE" "$NAME"`, the name is the last word.
    """
    if "$" not in line or is_comment(line):
        return
    for command in _COMMAND.findall(line):
        kinds: list[str] = []
        before = ""
        for word in command.translate(_TO_SPACES).split():
            if word.startswith("$") and before not in _NAMESPACE_FLAGS:
                yield from kinds
            if word.lower() in KUBECTL_KINDS:
                kinds.append(KUBECTL_KINDS[word.lower()])
            before = word


def _is_below_kind(lines: Sequence[str], number: int, kind: str) -> bool:
    """Return whether a line is the `name: …` of an object of a kind.

    The kind is in the parent key (`configMap:`), or in a line `kind: …`. The line `kind: …` is in
    the same mapping, or near the parent key `metadata:`.
    """
    if not lines[number].replace('"', "").strip().lstrip("- ").startswith("name"):
        return False
    if any(_is_kind(line, kind) for line in siblings_of(lines, number)):
        return True
    parent = parent_of(lines, number)
    if parent is None:
        return False
    letters = letters_of(lines[parent])
    if "metadata" not in letters:
        return kind.lower() in letters
    # The line `kind: ConfigMap` can be above or below `metadata:`.
    around = lines[max(0, number - MAX_DISTANCE) : number + MAX_DISTANCE]
    return any(_is_kind(line, kind) for line in around)


def _is_kind(line: str, kind: str) -> bool:
    return line.replace('"', "").strip().lstrip("- ").rstrip(",") == f"kind: {kind}"
