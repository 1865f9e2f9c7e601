"""The parts of names, from which a text builds a name, or by which it finds one."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import chain

from postrender.text import has_any, split_defaults, with_spaces, words_of

# A variable, a verb of a format string, a wildcard, and a line break in JSON text.
_PLACEHOLDER = r"\$\w+|%(?:\(\w{1,40}\))?[svd]|\.[*+]|\\[nt]"
# A text with a part of a name that need not begin or end with `-`, and what is between both.
_AFFIXES = ("prefix", "suffix", "startswith", "endswith", "starts_with", "ends_with")
_AFTER_AFFIX = r"\w{0,20}[^\w.]{1,5}(?:[\w.]{1,80},[^\w.]{1,3})?([\w.-]+)"
# The key of a field, the name of a variable, and a flag end, or begin, with these.
_END_OF_FIELD = r"""(?m)[\w.-]*["']?\s*(?:[:=,}\]]|$)"""
_FLAG = r"""(?<!\S)["'\[]?-[\w.-]*$"""
_MOST_BEFORE, _MOST_AFTER = 60, 400
# A `-` between two variables, or as an argument of a function, precedes one of these characters.
_JOIN_MARK = r"""-[$%{"'\\]"""
_HYPHEN = r"""\\{0,3}["']-\\{0,3}["']"""
_JOIN = (
    r"(?i)[\0})]-[\0{$]|"
    rf"(?:join|split)[^\w\s]{{1,2}}{_HYPHEN}|{_HYPHEN}\)?\.join|,\s?{_HYPHEN}\)"
)
_ANCHORED = r"\^([\w.-]+)|(?<![\w.-])([\w.-]+)\$"
_OPTION = r"(?<!\S)-+"
# A `-` at the end of a word, or at the start of one that does not follow a blank.
_EDGE = r"-(?:(?<=[^\sA-Za-z0-9.-]-)|(?<=[A-Za-z0-9.]-)-*(?![A-Za-z0-9.-]))"
# A text is searched for the starts and ends of names before it is split, if these are at most so
# many at one of these lengths.
_FEW_EDGES = 60
_LENGTHS_OF_EDGES = (253, 8, 3)
# A name of more words has no parts beyond these.
_MOST_CUTS = 8


def _parts_of(name: str) -> Iterator[str]:
    """The parts of a name between two `-`, and the name after or before a `.`.

    A program can build `web-eu-config` from `web-`, `-eu-` and `-config`, and read the whole name
    in `prod.web-eu-config` and `web-eu-config.app.yaml`.
    """
    cuts = [number for number, character in enumerate(name) if character == "-"][:_MOST_CUTS]
    for index, cut in enumerate(cuts):
        yield name[: cut + 1]
        yield name[cut:]
        yield from (name[cut : end + 1] for end in cuts[index + 1 :])
    yield f".{name}"
    yield f"{name}."


def joins_words(text: str) -> bool:
    """Whether a text joins words with `-`, as `printf '%s-%s'` and `"$A-$B"` do."""
    if not re.search(_JOIN_MARK, text):
        return False  # the usual text, much faster
    return re.search(_JOIN, re.sub(_PLACEHOLDER, "\0", text)) is not None


def has_affix(text: str) -> bool:
    """Whether a text can have the prefix or suffix of a name without a `-`."""
    lowered = text.lower()
    return has_any(lowered, ("fix", "swith", "s_with")) and has_any(lowered, _AFFIXES)


def _after_affixes(text: str) -> Iterator[str]:
    """The words in lower case that can be prefixes or suffixes of names."""
    for _, rest in _affixes_in(text):
        if match := re.match(_AFTER_AFFIX, rest):
            yield match[1]


def _has_affix_field(text: str) -> bool:
    """Whether a document can have a field, flag or variable with the prefix or suffix of a name."""
    return any(
        re.match(_END_OF_FIELD, rest) or re.search(_FLAG, before)
        for before, rest in _affixes_in(text)
    )


def _affixes_in(text: str) -> Iterator[tuple[str, str]]:
    """What is before and after each word such as `prefix`, in lower case.

    A regular expression of all affixes takes twenty times as long.
    """
    lowered = text.lower()
    for affix in _AFFIXES:
        end = 0
        while (start := lowered.find(affix, end)) >= 0:
            end = start + len(affix)
            yield lowered[max(0, start - _MOST_BEFORE) : start], lowered[end : end + _MOST_AFTER]


def _without_placeholders(text: str) -> str:
    if "$" in text or "%" in text or "\\" in text or ".*" in text or ".+" in text:
        return re.sub(_PLACEHOLDER, "\0", split_defaults(text))
    return text


def _edges_of(names: Iterable[str]) -> AbstractSet[str]:
    """A few texts, one of which is in each text with a name next to a `.`; "" if there are many."""
    for length in _LENGTHS_OF_EDGES:
        edges: set[str] = set()
        for name in names:
            edges |= {f".{name[:length]}", f"{name[-length:]}."}
            if len(edges) > _FEW_EDGES:
                break
        else:
            return edges
    return {""}


class NameParts:
    """The parts of names, to be found in texts."""

    def __init__(self, names: AbstractSet[str]) -> None:
        self._names = names
        self._edges = _edges_of(self._names)

    @cached_property
    def names(self) -> Mapping[str, Sequence[str]]:
        """The names by their parts."""
        names: dict[str, list[str]] = defaultdict(list)
        for name in self._names:
            for part in _parts_of(name):
                names[part].append(name)
        return names

    def possible_in(self, text: str) -> set[str]:
        """The parts that the strings of a document can have."""
        is_joined, is_affixed = joins_words(text), has_affix(text)
        found = self._found(text, is_joined=is_joined, is_affixed=is_affixed)
        if is_joined or (is_affixed and _has_affix_field(text)):
            found |= self.without_hyphen(words_of(text))
        return found

    def found_in(self, text: str) -> set[str]:
        """The parts that a text has.

        Parts begin or end with `-`, next to a variable, a placeholder or a quote, as in
        `"$RELEASE-config"`, `{{ .Release }}-config` and `app + "-config"`, or are next to a `.`.
        They have no `-` in `name.endsWith("config")`, in `/config$/`, and in a text that joins
        words, such as `"-".join([app, "config"])`.
        """
        return self._found(text, is_joined=joins_words(text), is_affixed=has_affix(text))

    def _found(self, text: str, *, is_joined: bool, is_affixed: bool) -> set[str]:
        text = _without_placeholders(text)
        found = self._beside_dots(text)
        if "^" in text or "$'" in text or '$"' in text or "$/" in text:
            found |= self.without_hyphen(chain.from_iterable(re.findall(_ANCHORED, text)))
        if is_affixed:
            found |= self.without_hyphen(_after_affixes(text))
        if not re.search(_EDGE, text):
            return found  # the usual document, much faster
        words = words_of(re.sub(_OPTION, " ", text))
        found |= self.names.keys() & words
        return found | self.without_hyphen(words) if is_joined else found

    def _beside_dots(self, text: str) -> set[str]:
        """The names next to a `.`, with the `.`."""
        if not has_any(text, self._edges):
            return set()  # the usual text, much faster
        pieces = with_spaces(text).split(".")
        before = self._names & {piece.rpartition(" ")[2] for piece in pieces[:-1]}
        after = self._names & {piece.partition(" ")[0] for piece in pieces[1:]}
        return {f"{name}." for name in before} | {f".{name}" for name in after}

    def without_hyphen(self, words: Iterable[str]) -> set[str]:
        """The parts that begin or end with `-`, and are among the words without it."""
        words = set(words)
        found = {part for word in self._bare.keys() & words for part in self._bare[word]}
        edges = [word for word in words if word[:1] == "-" or word[-1:] == "-"]
        stripped = {part for word in edges for part in _with_hyphen(word)}
        return found | (stripped & self.names.keys())

    @cached_property
    def _bare(self) -> Mapping[str, Sequence[str]]:
        """The parts that begin or end with `-`, by the rest."""
        bare: dict[str, list[str]] = defaultdict(list)
        for part in self.names:
            if part[0] == "-":
                bare[part[1:]].append(part)
            if part[-1] == "-":
                bare[part[:-1]].append(part)
        return bare


def _with_hyphen(word: str) -> tuple[str, str]:
    return f"-{word.lstrip('-')}", f"{word.rstrip('-')}-"
