"""Mentions: strings that contain an object's base name and that reference rules do not rewrite.

The search looks for the base names of revisions, and of objects that postrender would rename. The
search skips CustomResourceDefinitions and the objects of attachers. The search covers annotations
and these strings:

- In a ConfigMap or Secret, the data, also in Base64.
- In a pod template, and in the kinds that `references.built_in` calls covered, free text and
  unresolved references. Free text means commands, arguments, `env` values, and parameters of
  drivers. Reference rules cover the other fields. References in Roles are not mentions.
- In any other object, every string outside of metadata, labels and selectors. In kinds of
  Kubernetes and Argo Rollouts, except in fields that name something else.
- In every object, a name next to `kind: ConfigMap` or `kind: Secret`.

The rules of this package find signs in the mentions (see the records Evidence and Sign).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from fnmatch import fnmatchcase
from functools import lru_cache

from postrender.config.settings import IgnoredLeftover
from postrender.errors import Location
from postrender.inventory.build import Inventory, may_escape_names
from postrender.inventory.model import Item, ItemKey
from postrender.krm.input import is_tool_annotation
from postrender.kubernetes.annotations import HELM_POSTRENDERER_PREFIX, PAIRING_ANNOTATION, PREFIX
from postrender.kubernetes.kinds import (
    CONTENT_KINDS,
    CRD,
    SECRET,
    WORKLOAD_KINDS,
    GroupKind,
    is_built_in,
)
from postrender.plan.links import Link
from postrender.plan.namespaces import Resolver
from postrender.records import NamedTuple, grouped
from postrender.references.built_in import COVERED, find_built_in, is_custom, names_something_else
from postrender.references.custom import embedded_references
from postrender.references.rule import RBAC, SELECTOR
from postrender.text import WordSet, decoded, forms_of, has_any, letters_of, unescaped, words_of
from postrender.yaml.document import ParsedDocument
from postrender.yaml.paths import Json, Path, mapping_at, matches_start, value_at

# Annotations with these prefixes never reference a ConfigMap or Secret.
_UNSEARCHED_ANNOTATIONS = (
    PREFIX,
    PAIRING_ANNOTATION,
    HELM_POSTRENDERER_PREFIX,
    "kubectl.kubernetes.io/",
    "kapp.k14s.io/",
)
_RELOADER = "reloader.stakater.com"
# More words than the command line of configmap-attacher has.
_MANY_WORDS = 20
_TEXT_LISTS = frozenset({"args", "command"})
_TEXT_MAPS = frozenset({"annotations", "volumeAttributes", "options", "parameters"})
# A label that a container reads, in the `fieldPath` of a variable or of a volume `downwardAPI`.
_LABEL_READS = "metadata.labels["
_LABEL_READ = r"""metadata\.labels\[\\?['"]([\w./-]+)"""
# The keys of free text. "value" is the key in an entry of `env`.
_TEXT_KEYS = (*_TEXT_LISTS, *_TEXT_MAPS, "value", _LABEL_READS)
# In a covered kind, a volume claim can have an object of any kind as its dataSource.
_KIND_BESIDE = r"\bkind\W{1,9}(?:ConfigMap|Secret)\b"
_DATA = frozenset({"data", "stringData", "binaryData"})
# The kinds by their name in a kubectl command, such as `[kubectl, get, cm, web]`.
KUBECTL_KINDS = {
    "cm": "configmap",
    "configmap": "configmap",
    "configmaps": "configmap",
    "secret": "secret",
    "secrets": "secret",
}
# Keys whose mapping can have names as keys, as `configMaps` has.
_CONFIGURATIONS = frozenset({"configs", "configurations", "cms"})
_LABELS = frozenset({"labels", "matchLabels", "selector", "matchExpressions"})


class Mention(NamedTuple):
    """A string that contains the base name of one or more objects.

    line: the line in the document, from 0.
    text: the string. For Base64, the decoded string. Messages must not show that of a Secret.
    fields: the names that describe the string. For an `env` value, the name of the variable. For an
        item of a list, the flag, else the kind in a kubectl command, else the key of the list. For
        another string, the last two keys of the path. For the key `value`, also the `name` beside
        it. For the key `name`, also the kind beside it or one level above, such as
        `kind: ConfigMap`.
    forms: the forms in which the text has the name (`postrender.text`).
    targets: the objects that the name can mean.
    is_program: whether the string is the program or the subcommand of a container.
    """

    item: Item
    path: Path
    line: int
    text: str
    name: str
    fields: tuple[str, ...]
    forms: AbstractSet[str]
    targets: tuple[Item, ...]
    is_program: bool

    @property
    def is_watched(self) -> bool:
        """Whether the string is in an annotation of Reloader, which only watches objects."""
        return any(_RELOADER in field for field in self.fields)


def find_mentions(
    inventory: Inventory,
    resolver: Resolver,
    links: Sequence[Link],
    targets: Iterable[Item],
    ignored: Sequence[IgnoredLeftover],
) -> list[Mention]:
    """The mentions in a stream.

    targets: the objects with the base names to search for.
    ignored: the entries of `leftovers.ignore`.
    """
    by_name = grouped(targets, lambda target: target.base_name)
    if not by_name:
        return []
    all_names = WordSet(by_name)
    search = _Search(resolver, {(link.source.key, link.reference.path) for link in links}, by_name)
    mentions: list[Mention] = []
    for index, items in inventory.items_by_document():
        text = inventory.stream.texts[index]
        # A text search misses escaped and encoded names.
        is_encoded = has_encoded_names(items, text)
        if is_encoded:
            names = all_names
        elif search.may_mention(items, text):
            unexplained = search.unexplained(items, text, all_names.possible_in(text))
            if not unexplained:
                continue
            names = WordSet(unexplained)
        else:
            continue
        document = inventory.document(index)
        labels = set(re.findall(_LABEL_READ, text)) if _LABEL_READS in text else frozenset()
        for item in items:
            mentions += [
                mention
                for mention in search.run(item, document, names, labels, is_encoded=is_encoded)
                if not any(_is_ignored(rule, mention) for rule in ignored)
            ]
    return mentions


def has_encoded_names(items: Iterable[Item], text: str) -> bool:
    """Whether a document can have names in Base64 or with escapes."""
    return (
        "binaryData" in text
        or any(item.identity.kind == "Secret" for item in items)
        or may_escape_names(text)
    )


class _Search:
    """The search for mentions in the objects of a stream.

    linked: the source and path of each resolved reference, which is not a mention.
    """

    __slots__ = ("by_name", "linked", "resolver")

    def __init__(
        self,
        resolver: Resolver,
        linked: AbstractSet[tuple[ItemKey, Path]],
        by_name: Mapping[str, Sequence[Item]],
    ) -> None:
        self.resolver = resolver
        self.linked = linked
        self.by_name = by_name

    def may_mention(self, items: Iterable[Item], text: str) -> bool:
        if all(map(self.has_only_links, items)):
            return has_any(text, _TEXT_KEYS) or bool(re.search(_KIND_BESIDE, text))
        return True

    def has_only_links(self, item: Item) -> bool:
        """Whether only free text and names next to a kind can be mentions in an object.

        True if reference rules cover all other fields, and all references except in RBAC resolve.
        """
        return item.identity.group_kind in COVERED and all(
            reference.rule.family == RBAC or (item.key, reference.path) in self.linked
            for reference in item.references
        )

    def unexplained(self, items: Sequence[Item], text: str, names: set[str]) -> set[str]:
        """The names that occur in a text besides resolved references and the own name."""
        if "&" in text or len(items) != 1:  # an alias repeats a name
            return names
        (item,) = items
        known = dict.fromkeys(names, 0)
        for reference in item.references:
            if reference.name in known and (item.key, reference.path) in self.linked:
                known[reference.name] += 1
        own_name = item.base_name
        if any(target.key == item.key for target in self.by_name.get(own_name, ())):
            known[own_name] = known.get(own_name, 0) + 1
        return {name for name in names if not known[name] or text.count(name) != known[name]}

    def run(
        self,
        item: Item,
        document: ParsedDocument,
        names: WordSet,
        labels: AbstractSet[str],
        *,
        is_encoded: bool,
    ) -> Iterator[Mention]:
        """The mentions in an object.

        labels: the keys of the labels that containers read.
        is_encoded: whether the object can have Base64 with names.
        """
        if item.is_attacher or item.identity.kind == CRD:
            return
        length = len(item.path)
        data = value_at(document.data, item.path)
        target_kinds = {
            **_secret_fields(item, data),
            **{
                reference.path[length:]: reference.rule.target
                for reference in item.references
                if reference.rule.family != RBAC
            },
        }
        # postrender adds names to a selector, and leaves the base name there.
        selected = {
            reference.path[length:]
            for reference in item.references
            if reference.rule.family == SELECTOR
        }
        kinds: dict[Path, list[str]] = {}
        for path, scalar in strings_in(data, None if is_encoded else names):
            if (item.key, (*item.path, *path)) in self.linked or path in selected:
                continue
            if not (path in target_kinds or may_reference(item, path, data, labels)):
                continue
            text = unescaped(decoded(scalar) if is_encoded_at(item, path) else scalar)
            texts = (document.text, text)
            targets = {
                name: self.targets_of(item, name, path, target_kinds.get(path), texts)
                for name in dict.fromkeys(word for word in words_of(text) if word in self.by_name)
            }
            found = WordSet(name for name in targets if targets[name])
            if not found:
                continue
            lines = _lines_of(document, (*item.path, *path), scalar, found)
            forms = forms_of(text, found)
            fields = field_names(data, path, text, kinds)
            is_program = _is_program(data, path, text)
            for name in filter(targets.get, targets):
                yield Mention(
                    item=item,
                    path=path,
                    line=lines.get(name, lines[""]),
                    text=text,
                    name=name,
                    fields=fields,
                    forms=forms[name],
                    targets=targets[name],
                    is_program=is_program,
                )

    def targets_of(
        self, item: Item, name: str, path: Path, kind: GroupKind | None, texts: Sequence[str]
    ) -> tuple[Item, ...]:
        """The objects that a name at a path can mean.

        kind: the target of a reference there. texts: as in may_be_read.
        """
        targets = self.by_name[name]
        self.resolver.count_meanings(targets)
        return tuple(
            target
            for target in targets
            if may_be_read(self.resolver, item, target, texts)
            and kind in (None, target.identity.group_kind)
            and not (target.key == item.key and path[0] == "metadata")
        )


def may_be_read(resolver: Resolver, item: Item, target: Item, texts: Sequence[str]) -> bool:
    """Whether a name in an object is possibly that of a ConfigMap or Secret.

    texts: the document and the string with the name. If one of them has the namespace of the
        target, as in `--config-map=prod/web-config`, the object can be in another namespace.
    """
    return resolver.may_mean(item, target) or any(
        resolver.namespace_of(target.identity.namespace) in _all_words(text) for text in texts
    )


@lru_cache(maxsize=2)  # a document and one of its strings
def _all_words(text: str) -> AbstractSet[str | None]:
    return frozenset(words_of(text))


def _secret_fields(item: Item, data: Json) -> dict[Path, GroupKind]:
    """The fields that reference Secrets, also without the setting `secrets`.

    The name there does not mean a ConfigMap.
    """
    if item.identity.group_kind in COVERED:
        return {}
    group_kind = item.identity.group_kind
    fields = {path: SECRET for path, _, _ in find_built_in(group_kind, (SECRET,), data)}
    if is_custom(group_kind) and isinstance(data, dict):
        shaped = embedded_references(data, (SECRET,))
        fields |= {reference.path: SECRET for reference in shaped if not reference.is_guess}
    return fields


def is_encoded_at(item: Item, path: Path) -> bool:
    """Whether the string at a path of an object is Base64."""
    return path[0] == ("data" if item.identity.group_kind == SECRET else "binaryData")


def may_reference(item: Item, path: Path, data: Json, labels: AbstractSet[str]) -> bool:
    """Whether the string at a path of an object can be the name of a ConfigMap or Secret.

    labels: the keys of the labels that containers read.
    """
    if path[-2:-1] == ("labels",):
        return path[-1] in labels
    if path[-2:-1] == ("annotations",):
        name = str(path[-1])
        return not (name.startswith(_UNSEARCHED_ANNOTATIONS) or is_tool_annotation(name))
    if path[0] in ("metadata", "apiVersion", "kind"):
        return False
    if item.identity.kind in CONTENT_KINDS:
        return path[0] in _DATA
    group_kind = item.identity.group_kind
    if not (is_built_in(group_kind[0]) or group_kind in WORKLOAD_KINDS):
        return not (_LABELS & set(path))
    if _is_free_text(path):
        return not _sets_owners(data, path)
    kind = _kind_beside(data, path)
    if kind:
        return kind in CONTENT_KINDS
    return not (
        _LABELS & set(path)
        or names_something_else(group_kind, path)
        or matches_start(path, WORKLOAD_KINDS.get(group_kind, ("",)))
    )


def _is_free_text(path: Path) -> bool:
    keys = [part for part in path if isinstance(part, str)]
    if _TEXT_LISTS & set(keys[-1:]) or (len(keys) > 1 and keys[-2] in _TEXT_MAPS):
        return True
    return keys[-2:] == ["env", "value"]


def _sets_owners(data: Json, path: Path) -> bool:
    """Whether an argument is one of configmap-attacher, which does not read the content."""
    words = value_at(data, path[:-1])
    texts = map(str, words) if isinstance(words, list) and len(words) < _MANY_WORDS else ()
    return {"rollout", "configmaps"} <= {text.partition("=")[0].lstrip("-") for text in texts}


def field_names(
    data: Json, path: Path, text: str, kinds_in_lists: dict[Path, list[str]]
) -> tuple[str, ...]:
    """The value of Mention.fields.

    A flag is in the string itself (`--config-map=web`), or is the preceding string of the list.
    The kind in `[kubectl, get, cm, web]` is `configmap`.
    kinds_in_lists: the results of _kinds_before for the lists of the object, by path.
    """
    keys = [part for part in path if isinstance(part, str)]
    if keys[-2:] == ["env", "value"]:
        return (str(value_at(data, (*path[:-1], "name"))),)
    if isinstance(path[-1], int):
        flag = text.partition("=")[0] if text.startswith("-") and "=" in text else ""
        if not flag and path[-1]:
            before = str(value_at(data, (*path[:-1], path[-1] - 1)))
            flag = before if before.startswith("-") and "=" not in before else ""
        if not flag:
            flag = _kind_in(text.rpartition("/")[0])
        if not flag:
            if path[:-1] not in kinds_in_lists:
                kinds_in_lists[path[:-1]] = _kinds_before(value_at(data, path[:-1]))
            flag = kinds_in_lists[path[:-1]][path[-1]]
        return (flag,) if flag else tuple(keys[-1:])
    if path[-1] == "value" and isinstance(name := value_at(data, (*path[:-1], "name")), str):
        return (name, *keys[-2:])
    kinds = dict.fromkeys((_kind_beside(data, path), _kind_above(data, path)))
    return (*keys[-2:], *(f"kind: {kind}" for kind in kinds if kind in CONTENT_KINDS))


def _kind_beside(data: Json, path: Path) -> str:
    """The kind for a name in `{kind: ConfigMap, name: web}`, "" if there is none."""
    kind = value_at(data, (*path[:-1], "kind")) if path[-1] == "name" and path[:-1] else None
    return kind if isinstance(kind, str) and re.fullmatch("[A-Z][A-Za-z]+", kind) else ""


def _kind_above(data: Json, path: Path) -> str:
    """The kind for a name in `{kind: ConfigMap, clone: {name: web}}`, "" if there is none."""
    if path[-1] != "name" or not path[:-2]:  # the kind of the object itself says nothing
        return ""
    kind = value_at(data, (*path[:-2], "kind"))
    return kind if isinstance(kind, str) else ""


def _is_program(data: Json, path: Path, text: str) -> bool:
    """Whether a string is the program or the subcommand of a container.

    Without a command, the entrypoint of the image can run the first argument, as in
    `docker-entrypoint.sh postgres`. A text with spaces is a script.
    """
    if text.startswith("-") or text.split() != [text] or "=" in text:
        return False
    if path[-1] != 0 or path[-2] not in ("command", "args"):
        return False
    container = mapping_at(data, path[:-2])
    is_container = "image" in container or path[-4:-3] in (("containers",), ("initContainers",))
    return is_container and (path[-2] == "command" or not container.get("command"))


def _kind_in(word: Json) -> str:
    """The first kind in a word of a kubectl command, such as `pod,cm`, "" if there is none."""
    parts = word.split(",") if isinstance(word, str) else ()
    return next((KUBECTL_KINDS[part] for part in parts if part in KUBECTL_KINDS), "")


def _kinds_before(words: Json) -> list[str]:
    """For each word of a kubectl command, the nearest kind before it, "" if there is none."""
    kinds = [""]
    for word in words if isinstance(words, list) else ():
        kinds.append(_kind_in(word) or kinds[-1])
    return kinds


def _lines_of(document: ParsedDocument, path: Path, text: str, names: WordSet) -> Mapping[str, int]:
    """The first line of each name in a block literal; at "", the first line of the scalar."""
    line = document.line_of(path)
    lines = {"": line}
    if document.is_literal(path):
        for number, part in enumerate(text.split("\n"), line + 1):
            for name in names.in_words(part) if names.may_be_in(part) else ():
                lines.setdefault(name, number)
    return lines


def strings_in(data: Json, names: WordSet | None) -> list[tuple[Path, str]]:
    """The strings with their paths, and the keys in a specification that can be names.

    A key can be a name below a key such as `configMaps`, or if it has a `-`.

    names: only strings that contain one of these names, None for all strings.
    """
    found: list[tuple[Path, str]] = []

    def search(data: Json, path: Path) -> None:
        entries: Iterable[tuple[int | str, Json]] = ()
        has_names = is_specified = False
        if isinstance(data, dict):
            entries, has_names = data.items(), bool(path) and _has_names(path[-1])
            is_specified = path[:1] == ("spec",) and "metadata" not in path
        elif isinstance(data, list):
            entries = enumerate(data)
        for key, value in entries:
            # YAML permits other keys, such as numbers. No field has a `-` in its name.
            if isinstance(key, str) and (has_names or (is_specified and "-" in key)):
                found.append(((*path, key), key))
            if isinstance(value, str):
                if names is None or names.may_be_in(value):
                    found.append(((*path, key), value))
            elif isinstance(value, (dict, list)):
                search(value, (*path, key))

    search(data, ())
    return found


@lru_cache(maxsize=1024)
def _has_names(key: str | int) -> bool:
    letters = letters_of(str(key))
    return letters in _CONFIGURATIONS or any(kind.lower() in letters for kind in CONTENT_KINDS)


def _is_ignored(rule: IgnoredLeftover, mention: Mention) -> bool:
    identity = mention.item.identity
    return (
        fnmatchcase(identity.kind, rule.kind)
        and fnmatchcase(identity.name, rule.name)
        and fnmatchcase(mention.name, rule.value)
        and matches_start(mention.path, rule.path)
    )


class Evidence(NamedTuple):
    """What the rules of this package search for signs.

    renamed: the objects that postrender would rename.
    """

    inventory: Inventory
    resolver: Resolver
    mentions: Sequence[Mention]
    links: Sequence[Link]
    renamed: Sequence[Item]


class Sign(NamedTuple):
    """A sign that a program reads an object by a name that postrender does not rewrite.

    target: the object that the program reads.
    reason: a clause for a message, such as `Role/app has the name in resourceNames`.
    source: the object in which the rule found the sign.
    is_write: whether the object must keep its name, because the program has permission to change
        it, or is a policy with a condition on the name.
    """

    target: Item
    reason: str
    source: Item
    location: Location
    is_write: bool = False


def is_policy(item: Item) -> bool:
    """Whether the texts of an object are conditions, which can be wrong for a revision."""
    group = item.identity.group_kind[0]
    return group == "admissionregistration.k8s.io" or group.endswith("gatekeeper.sh")


def sign_of(evidence: Evidence, mention: Mention, target: Item, reason: str) -> Sign:
    """The sign that one of the targets of a mention is read by name."""
    item = mention.item
    return Sign(
        target=target,
        reason=reason,
        source=item,
        location=evidence.inventory.location_of(item, (*item.path, *mention.path), mention.line),
        is_write=is_policy(item),
    )
