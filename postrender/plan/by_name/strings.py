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

The name and the command or kind can be in different lines:

    for name in web-config web-routes; do
      kubectl get configmap "$name"
    done

A text with the name and the kind anywhere is therefore a sign, if the stream has no object of
another kind with the name.

Spring Cloud Kubernetes reads the ConfigMaps in its own properties, and the one that has the name of
the application:

    env:
      - name: SPRING_APPLICATION_NAME
        value: shop

Many Spring applications have their name in a file such as `application.yaml`. Most of them do not
use Spring Cloud Kubernetes, so the name in a text is a sign only if a role permits programs to read
all ConfigMaps.

Many of these strings are templates and not valid YAML, so the rules search line by line.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from postrender.kubernetes.annotations import copier_of
from postrender.kubernetes.kinds import CONTENT_KINDS
from postrender.plan.by_name import roles
from postrender.plan.by_name.mentions import (
    KUBECTL_KINDS,
    Evidence,
    Mention,
    Sign,
    is_policy,
    sign_of,
)
from postrender.plan.by_name.outline import Outline
from postrender.text import WHOLE, WORD, WordSet, letters_of, shown, words_of
from postrender.yaml.paths import format_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    Text = TypeVar("Text")

# The arguments of a kubectl or oc command. The command can be a variable, such as `${KUBECTL}`.
_COMMAND = r"(?i)(?:kubectl|\boc\b)([^|;&<>()\n]*)"
# In a template of a manifest, such as `kind: {{ .Kind }}`.
_TEMPLATED_KIND = r"""\bkind["']?\s{0,9}[:=]\s{0,9}["']?(?:\{\{|[$<%])"""
_TO_SPACES = str.maketrans("/,\"'", "    ")
_NAMESPACE_FLAGS = ("-n", "--namespace")
_COMMENTS = ("#", "//")
_PROPERTY = "springapplicationname"  # spring.application.name, SPRING_APPLICATION_NAME
_KINDS = {kind.lower(): kind for kind in CONTENT_KINDS}
_CONFIG_MAP = "ConfigMap"


def find_embedded_texts(evidence: Evidence) -> Iterator[Sign]:
    """A sign for each mention in a manifest, a pod template or a command inside a string."""
    texts = _texts(evidence, _EmbeddedText)
    fixed_names = evidence.inventory.fixed_names
    for mention in evidence.mentions:
        is_taken = mention.name in fixed_names
        for target in mention.targets:
            kind = target.identity.kind
            if texts[mention.text].references(mention.name, kind, is_taken=is_taken):
                reason = f"a text in {mention.item.identity} references the {kind}"
                yield sign_of(evidence, mention, target, reason)


class _Text:
    """A text with mentions.

    numbers: by name, the numbers of the lines with the name. Comments are left out.
    """

    def __init__(self, lines: Sequence[str], names: WordSet) -> None:
        self.lines = lines
        self.numbers: dict[str, list[int]] = defaultdict(list)
        for number, line in enumerate(lines):
            if names.may_be_in(line) and not is_comment(line):
                for name in names.in_words(line):
                    self.numbers[name].append(number)


class _EmbeddedText(_Text):
    """A text that can be a manifest or a script.

    kinds: the kinds in the text. variable_kinds: those that a command reads by a variable.
    free_kinds: those in a line other than a command with the name of an object.
    """

    def __init__(self, text: str, names: WordSet) -> None:
        super().__init__(_lines_of(text), names)
        letters = letters_of(text)
        self.kinds = {
            kind
            for kind in CONTENT_KINDS
            if kind.lower() in letters or (kind == _CONFIG_MAP and _may_be_short(letters))
        }
        lines = [line for line in self.lines if not is_comment(line)] if self.kinds else []
        self.variable_kinds = {kind for line in lines if "$" in line for kind in _read_kinds(line)}
        if re.search(_TEMPLATED_KIND, text):
            self.kinds = self.variable_kinds = set(CONTENT_KINDS)
        self.free_kinds = {
            kind for kind in self.kinds if any(_has_free_kind(line, kind) for line in lines)
        }
        self._outline = Outline(self.lines)
        self._results: dict[tuple[int, str, bool], bool] = {}

    def references(self, name: str, kind: str, *, is_taken: bool) -> bool:
        """Whether the text references an object by its name.

        True if a line with the name also has the kind, or is the `name: …` of an object of the
        kind. Also true if the text has the name, and a command reads the kind by a name from a
        variable.
        is_taken: whether an object of another kind has the name. Otherwise, the kind can be
            anywhere in the text, unless the line is the `name: …` of an object of another kind.
        """
        return kind in self.kinds and any(
            self._is_reference(number, kind, is_taken=is_taken)
            for number in self.numbers.get(name, ())
        )

    def _is_reference(self, number: int, kind: str, *, is_taken: bool) -> bool:
        key = number, kind, is_taken
        if key not in self._results:
            self._results[key] = (
                kind in self.variable_kinds
                or has_kind(self.lines[number], kind)
                or _is_below_kind(self._outline, number, kind)
                or (
                    not is_taken
                    and kind in self.free_kinds
                    and self._outline.kind_of(number) in ("", kind)
                )
            )
        return self._results[key]


def _texts(evidence: Evidence, make: Callable[[str, WordSet], Text]) -> dict[str, Text]:
    """An object for each text with mentions, so that all names in the text share its lines."""
    names: dict[str, list[str]] = defaultdict(list)
    for mention in evidence.mentions:
        names[mention.text].append(mention.name)
    return {text: make(text, WordSet(names[text])) for text in names}


def _may_be_short(letters: str) -> bool:
    return "cm" in letters or "s://" in letters or _is_of_spring(letters)


def _is_of_spring(letters: str) -> bool:
    """Whether a text can have the properties of Spring Cloud Kubernetes."""
    return "spring" in letters and "kubernetes" in letters


def has_kind(line: str, kind: str) -> bool:
    """Whether a text has a kind, also in its short form, or in a property of Spring."""
    letters = letters_of(line)
    if kind.lower() in letters:
        return True
    return kind == _CONFIG_MAP and (
        ("cm" in letters and "cm" in words_of(letters))
        or _is_of_spring(letters)
        or "k8s://" in letters
        or "kubernetes://" in letters
    )


def _has_free_kind(line: str, kind: str) -> bool:
    """Whether a line has a kind, but is not a command with the name of an object of the kind."""
    if kind == _CONFIG_MAP and line.strip() == "kubernetes:":  # of Spring Cloud
        return True
    if not has_kind(line, kind):
        return False
    return not re.search(_COMMAND, line) or kind in _read_kinds(line)


def _read_kinds(line: str) -> set[str]:
    """The kinds that the commands in a line read by a variable, or without a name.

    In `kubectl get cm -n "$NAMESPACE" "$NAME"`, the name is the last word.
    """
    found: set[str] = set()
    for command in re.findall(_COMMAND, line):
        kinds: set[str] = set()
        has_name = has_variable = False
        before = ""
        for word in command.translate(_TO_SPACES).split():
            if word.lower() in KUBECTL_KINDS:
                kinds.add(_KINDS[KUBECTL_KINDS[word.lower()]])
            elif kinds and before not in _NAMESPACE_FLAGS and word[0] != "-":
                has_variable = has_variable or word[0] == "$"
                has_name = has_name or before[:1] != "-" or "=" in before
            before = word
        if has_variable or not has_name:
            found |= kinds
    return found


def _is_below_kind(outline: Outline, number: int, kind: str) -> bool:
    """Whether a line is in a mapping or list of a kind, or is the `name: …` of such an object.

    The kind is in the parent key (`configMap:`), or in a line `kind: …` of the same mapping or next
    to the parent key `metadata:`.
    """
    if outline.kind_of(number) == kind or kind.lower() in letters_of(outline.parent_of(number)):
        return True
    return kind == _CONFIG_MAP and _is_of_spring("".join(outline.keys_above(number)))


def _lines_of(text: str) -> list[str]:
    """The lines of a text, with continuation lines joined."""
    lines = text.split("\n")
    if "\\\n" not in text:
        return lines
    joined: list[str] = []
    parts: list[str] = []
    for line in lines:
        parts.append(line.lstrip() if parts else line)
        if line.endswith("\\") and not is_comment(parts[0]):
            parts[-1] = parts[-1][:-1]
        else:
            joined.append(" ".join(parts))
            parts = []
    return [*joined, " ".join(parts)] if parts else joined


def is_comment(line: str) -> bool:
    """Whether a line of a text is a comment in most languages."""
    return line.lstrip().startswith(_COMMENTS)


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
    return _PROPERTY in re.sub("[^a-z]", "", text.lower())


class _SpringText(_Text):
    """A text that can set spring.application.name, in properties, Java options or YAML."""

    def __init__(self, text: str, names: WordSet) -> None:
        super().__init__(text.split("\n") if "spring" in text.lower() else (), names)
        self._outline = Outline(self.lines)
        self._results: dict[int, bool] = {}

    def sets_name(self, name: str) -> bool:
        return any(map(self._is_setting, self.numbers.get(name, ())))

    def _is_setting(self, number: int) -> bool:
        if number not in self._results:
            is_property = _is_property(self.lines[number])
            self._results[number] = is_property or self._is_nested(number)
        return self._results[number]

    def _is_nested(self, number: int) -> bool:
        """Whether a line is `name: …` below the keys `spring:` and `application:`."""
        is_name = self.lines[number].strip().startswith("name:")
        return is_name and self._outline.keys_above(number)[-2:] == ["spring", "application"]


# A word in the name of a field, such as `configMapName`, `INIT_CONFIG` or `--cm-name`.
_FIELD_WORD = r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])"
_CONFIGURATION_WORDS = frozenset(
    {"cm", "cms", "cfg", "config", "configs", "configuration", "configurations", "conf", "settings"}
)
# In `image: web-config:v1`, the name is that of an image.
_IMAGE_WORDS = frozenset({"image", "images"})
# A key or variable and its value, such as `configName: web-config` or `"config"="shop/web-config"`.
_KEY_AND_VALUE = (
    r"""(?<![\w.-])([A-Za-z][\w.-]{0,99})["']?[ \t]{0,9}[:=][ \t]{0,9}["']?"""
    r"""(?:[\w.-]{1,99}/)?([A-Za-z0-9.-]+)"""
)


def find_whole_values(evidence: Evidence) -> Iterator[Sign]:
    """A sign for each mention that is the whole value of a field, a flag or a variable.

    A part is enough if the field is about configuration (`config: one, web-config`), or if no other
    object has the name and the value has no blanks (`source: web-config:key`).
    """
    fixed_names = evidence.inventory.fixed_names
    texts = _texts(evidence, _KeyedText)
    for mention in evidence.mentions:
        if mention.is_program or mention.is_watched:
            continue
        is_taken = mention.name in fixed_names
        if is_taken and not is_about_configuration(mention.fields):
            continue
        text = texts[mention.text]
        is_named = mention.name in text.configurations and not is_taken
        is_part = text.has_part(mention) and (
            is_about_configuration(mention.fields)
            or (text.is_one_word and not is_about(mention.fields, _IMAGE_WORDS))
        )
        if WHOLE in mention.forms or is_named or is_part or is_policy(mention.item):
            field = format_path(mention.path)
            for target in mention.targets:
                if target.key == mention.item.key:
                    continue  # an object does not read itself
                source, kind = mention.item.identity, target.identity.kind
                reason = f"{source} has the name of the {kind} as the value of {field}"
                yield sign_of(evidence, mention, target, reason)


class _KeyedText(_Text):
    """A text that can be a file with settings.

    configurations: the names that are the value of a key about configuration.
    is_one_word: whether the text has no blanks.
    """

    def __init__(self, text: str, names: WordSet) -> None:
        super().__init__(text.split("\n"), names)
        self.configurations = {
            value
            for number in set(itertools.chain.from_iterable(self.numbers.values()))
            for key, value in re.findall(_KEY_AND_VALUE, self.lines[number])
            if value in self.numbers and is_about_configuration((key,))
        }
        stripped = text.strip()
        self.is_one_word = len(text.split()) == 1
        self._value = None if "\n" in stripped else stripped.rpartition("=")[2]
        first, _, rest = (self._value or "").partition("/")
        self._first = "" if "/" in rest or not rest else first

    def has_part(self, mention: Mention) -> bool:
        """Whether a name is an item of a value, or has a key, as in `a, web` and `web/app.yaml`."""
        return self._value is not None and (WORD in mention.forms or mention.name == self._first)


def is_about_configuration(fields: Iterable[str]) -> bool:
    """Whether the name of a field has a word such as `config`."""
    return is_about(fields, _CONFIGURATION_WORDS)


def is_about(fields: Iterable[str], words: AbstractSet[str]) -> bool:
    """Whether the name of a field has one of these words."""
    return any(word.lower() in words for field in fields for word in re.findall(_FIELD_WORD, field))


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
