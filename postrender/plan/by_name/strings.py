"""Signs in strings: names as whole values, in named fields and in texts, and copied objects.

A field that reference rules do not cover can have a name as its whole value:

    kind: Widget
    spec:
      settings: web-config

If the stream has an object of another kind with the name, such as a Service, the value can mean
that object. It then is a sign only if the field's name has a word such as `config`.

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

A string can contain a manifest or a command. A program later uses the manifest, or runs the
command. This example has a pod template and a command:

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

Spring Cloud Kubernetes reads the ConfigMap that has the name of the application:

    env:
      - name: SPRING_APPLICATION_NAME
        value: shop

Many Spring applications have their name in a file such as `application.yaml`. Most of them do not
use Spring Cloud Kubernetes, so the name in a text is a sign only if a role permits programs to read
all ConfigMaps.

Many of these strings are templates and not valid YAML, so the rules search line by line.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from postrender.kubernetes.annotations import copier_of
from postrender.kubernetes.kinds import CONTENT_KINDS
from postrender.plan.by_name import roles
from postrender.plan.by_name.mentions import KUBECTL_KINDS, Evidence, Mention, Sign, sign_of
from postrender.text import WHOLE, WordSet, letters_of, shown, words_of
from postrender.yaml.paths import format_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    Text = TypeVar("Text")

# The arguments of a kubectl or oc command. The command can be a variable, such as `${KUBECTL}`.
_COMMAND = r"(?i)(?:kubectl|\boc\b)([^|;&<>()\n]*)"
_TO_SPACES = str.maketrans("/,\"'", "    ")
_NAMESPACE_FLAGS = ("-n", "--namespace")
_COMMENTS = ("#", "//")
# The maximum distance in lines between `name:` and a line `kind: …`.
_MAX_DISTANCE = 8
# The maximum distance in lines between `name:` and the key above, such as `configMap:`.
_MAX_DISTANCE_OF_PARENT = 100
_PROPERTY = "springapplicationname"  # spring.application.name, SPRING_APPLICATION_NAME
_CONFIG_MAP = "ConfigMap"


def find_embedded_texts(evidence: Evidence) -> Iterator[Sign]:
    """A sign for each mention in a manifest, a pod template or a command inside a string."""
    texts = _texts(evidence, _EmbeddedText)
    for mention in evidence.mentions:
        for target in mention.targets:
            if texts[mention.text].references(mention.name, target.identity.kind):
                reason = f"a text in {mention.item.identity} references the {target.identity.kind}"
                yield sign_of(evidence, mention, target, reason)


class _Text:
    """A text with mentions.

    numbers: by name, the numbers of the lines with the name. Comments are left out.
    """

    def __init__(self, lines: Sequence[str], names: WordSet) -> None:
        self.lines = lines
        self.numbers: dict[str, list[int]] = defaultdict(list)
        for number, line in enumerate(lines):
            if names.may_be_in(line) and not _is_comment(line):
                for name in names.in_words(line):
                    self.numbers[name].append(number)


class _EmbeddedText(_Text):
    """A text that can be a manifest or a script.

    kinds: the kinds in the text. variable_kinds: those that a command reads by a variable.
    """

    def __init__(self, text: str, names: WordSet) -> None:
        super().__init__(_lines_of(text), names)
        letters = letters_of(text)
        self.kinds = {
            kind
            for kind in CONTENT_KINDS
            if kind.lower() in letters or (kind == _CONFIG_MAP and "cm" in letters)
        }
        lines = (line for line in self.lines if "$" in line) if self.kinds else ()
        self.variable_kinds = {kind for line in lines for kind in _variable_kinds(line)}
        self._results: dict[tuple[int, str], bool] = {}

    def references(self, name: str, kind: str) -> bool:
        """Whether the text references an object by its name.

        True if a line with the name also has the kind, or is the `name: …` of an object of the
        kind. Also true if the text has the name, and a command reads the kind by a name from a
        variable.
        """
        return kind in self.kinds and any(
            self._is_reference(number, kind) for number in self.numbers.get(name, ())
        )

    def _is_reference(self, number: int, kind: str) -> bool:
        if (number, kind) not in self._results:
            self._results[number, kind] = (
                kind.lower() in self.variable_kinds
                or _has_kind(self.lines[number], kind)
                or _is_below_kind(self.lines, number, kind)
            )
        return self._results[number, kind]


def _texts(evidence: Evidence, make: Callable[[str, WordSet], Text]) -> dict[str, Text]:
    """An object for each text with mentions, so that all names in the text share its lines."""
    names: dict[str, list[str]] = defaultdict(list)
    for mention in evidence.mentions:
        names[mention.text].append(mention.name)
    return {text: make(text, WordSet(names[text])) for text in names}


def _has_kind(line: str, kind: str) -> bool:
    letters = letters_of(line)
    if kind.lower() in letters:
        return True
    if kind != "ConfigMap" or "cm" not in letters:
        return False
    words = words_of(letters)
    return "cm" in words and ("kubectl" in letters or "oc" in words)


def _variable_kinds(line: str) -> Iterator[str]:
    """The kinds, in lower case, that the commands in a line read by a name from a variable.

    In `kubectl get cm -n "$NAMESPACE" "$NAME"`, the name is the last word.
    """
    if _is_comment(line):
        return
    for command in re.findall(_COMMAND, line):
        kinds: list[str] = []
        before = ""
        for word in command.translate(_TO_SPACES).split():
            if word.startswith("$") and before not in _NAMESPACE_FLAGS:
                yield from kinds
            if word.lower() in KUBECTL_KINDS:
                kinds.append(KUBECTL_KINDS[word.lower()])
            before = word


def _is_below_kind(lines: Sequence[str], number: int, kind: str) -> bool:
    """Whether a line is the `name: …` of an object of a kind.

    The kind is in the parent key (`configMap:`), or in a line `kind: …` of the same mapping or near
    the parent key `metadata:`.
    """
    if not lines[number].replace('"', "").strip().lstrip("- ").startswith("name"):
        return False
    if any(_is_kind(line, kind) for line in _siblings_of(lines, number)):
        return True
    parent = _parent_of(lines, number)
    if parent is None:
        return False
    letters = letters_of(lines[parent])
    if "metadata" not in letters:
        return kind.lower() in letters
    # The line `kind: ConfigMap` can be above or below `metadata:`.
    around = lines[max(0, number - _MAX_DISTANCE) : number + _MAX_DISTANCE]
    return any(_is_kind(line, kind) for line in around)


def _is_kind(line: str, kind: str) -> bool:
    return line.replace('"', "").strip().lstrip("- ").rstrip(",") == f"kind: {kind}"


def _lines_of(text: str) -> list[str]:
    """The lines of a text, with continuation lines joined."""
    lines = text.split("\n")
    if "\\\n" not in text:
        return lines
    joined: list[str] = []
    parts: list[str] = []
    for line in lines:
        parts.append(line.lstrip() if parts else line)
        if line.endswith("\\") and not _is_comment(parts[0]):
            parts[-1] = parts[-1][:-1]
        else:
            joined.append(" ".join(parts))
            parts = []
    return [*joined, " ".join(parts)] if parts else joined


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith(_COMMENTS)


def _parent_of(lines: Sequence[str], number: int) -> int | None:
    """The number of the line with the parent key, None if no parent is near."""
    indent = _indent_of(lines[number])
    for above in reversed(range(max(0, number - _MAX_DISTANCE_OF_PARENT), number)):
        if lines[above].strip() and _indent_of(lines[above]) < indent:
            return above
    return None


def _siblings_of(lines: Sequence[str], number: int) -> Iterator[str]:
    """A line and the nearby lines of the same mapping, without nested lines."""
    indent = _indent_of(lines[number])
    for line in reversed(lines[max(0, number - _MAX_DISTANCE) : number + 1]):
        if line.strip() and _indent_of(line) <= indent:
            if _indent_of(line) < indent:
                break
            yield line
            if _begins_item(line):
                break
    for line in lines[number + 1 : number + _MAX_DISTANCE]:
        if line.strip() and _indent_of(line) <= indent:
            if _indent_of(line) < indent or _begins_item(line):
                break
            yield line


def _begins_item(line: str) -> bool:
    return line.lstrip().startswith("-")


def _indent_of(line: str) -> int:
    return len(line) - len(line.lstrip(" -"))


def find_spring_names(evidence: Evidence) -> Iterator[Sign]:
    """A sign for each mention that is the name of a Spring application."""
    mentions = [mention for mention in evidence.mentions if any(map(_is_property, mention.fields))]
    texts = _texts(evidence, _SpringText)
    in_texts = [
        mention for mention in evidence.mentions if texts[mention.text].sets_name(mention.name)
    ]
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


class _SpringText(_Text):
    """A text that can set spring.application.name, in properties, Java options or YAML."""

    def __init__(self, text: str, names: WordSet) -> None:
        super().__init__(text.split("\n") if "spring" in text.lower() else (), names)
        self._results: dict[int, bool] = {}

    def sets_name(self, name: str) -> bool:
        return any(map(self._is_setting, self.numbers.get(name, ())))

    def _is_setting(self, number: int) -> bool:
        if number not in self._results:
            is_property = _is_property(self.lines[number])
            self._results[number] = is_property or _is_nested(self.lines, number)
        return self._results[number]


def _is_nested(lines: Sequence[str], number: int) -> bool:
    """Whether a line is `name: …` below the keys `spring:` and `application:`."""
    if not lines[number].strip().startswith("name:"):
        return False
    application = _parent_of(lines, number)
    if application is None or lines[application].strip() != "application:":
        return False
    spring = _parent_of(lines, application)
    return spring is not None and lines[spring].strip() == "spring:"


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
        if WHOLE in mention.forms:
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
