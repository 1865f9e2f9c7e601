"""Signs in texts that build a name at run time, and so have only a part of the name.

The name `web-config` ends in a part of each of these texts:

    kubectl get configmap "$RELEASE-config"
    read_namespaced_config_map(release + "-config", namespace)
    configMap: {name: "{{ .Release.Name }}-config"}

A part counts only if the text, its field or another text of the same workload is about the kind, or
if the part is in a field such as `--config`. So does the whole name next to a `.`, as in
`--configmap=prod.web-config`, `configmap: web-config.app.yaml` and `.configmaps.web-config`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from postrender.inventory.model import Item
from postrender.kubernetes.kinds import CONTENT_KINDS, CRD
from postrender.name_parts import NameParts, has_affix, joins_words
from postrender.plan.by_name.mentions import (
    Evidence,
    Sign,
    field_names,
    has_encoded_names,
    is_encoded_at,
    is_policy,
    may_be_read,
    may_reference,
    strings_in,
)
from postrender.plan.by_name.strings import has_kind, is_about, is_about_configuration, is_comment
from postrender.records import grouped
from postrender.text import decoded, has_any, letters_of, shown, unescaped
from postrender.yaml.document import ParsedDocument
from postrender.yaml.paths import Path, value_at

# One part can be that of many objects, and in many texts. So only the first texts in a namespace
# count, those of pods with different ServiceAccounts separately.
_MOST_ACCOUNTS = 8
_AFTER_KIND = r"(?i)(?:config[_-]?maps?|secrets?|\bcm)[^A-Za-z0-9]{1,3}([a-z0-9-]+)"
# In `configMapRef: {name: board, key: board.json}`, the word before the `.` is not a name.
_KEY_WORDS = frozenset({"file", "filename", "key", "path"})
_ALL = ("*", "*/*")


def find_built_names(evidence: Evidence) -> Iterator[Sign]:
    """A sign for each renamed object whose name a text can build."""
    targets = grouped(evidence.renamed, lambda item: item.base_name)
    parts = NameParts(targets.keys())
    found: dict[tuple[str, str, str | None], set[frozenset[str]]] = defaultdict(set)
    for index, items in evidence.inventory.items_by_document() if targets else ():
        text = evidence.inventory.stream.texts[index]
        is_encoded = has_encoded_names(items, text)
        possible = parts.names.keys() if is_encoded else parts.possible_in(text)
        if not possible:
            continue
        words = None if is_encoded else {part.strip("-.").lower() for part in possible}
        document = evidence.inventory.document(index)
        for item in items:
            if item.is_attacher or item.identity.kind == CRD:
                continue
            accounts = frozenset(
                str(value_at(document.data, (*template, "spec", "serviceAccountName")))
                for template in item.templates
            )
            for path, part, kind in _parts(item, document, parts, words):
                earlier = found[part, kind, item.identity.namespace]
                if accounts in earlier or len(earlier) >= _MOST_ACCOUNTS:
                    continue
                earlier.add(accounts)
                for target in (one for name in parts.names[part] for one in targets[name]):
                    if target.identity.kind == kind and may_be_read(
                        evidence.resolver, item, target, (text,)
                    ):
                        yield _sign(evidence, item, path, part, target)


def _sign(evidence: Evidence, item: Item, path: Path, part: str, target: Item) -> Sign:
    kind = target.identity.kind
    return Sign(
        target=target,
        reason=f"a text in {item.identity} reads a {kind} by a name with the part {shown(part)}",
        source=item,
        location=evidence.inventory.location_of(item, (*item.path, *path)),
        is_write=is_policy(item),
    )


def _parts(
    item: Item, document: ParsedDocument, known: NameParts, words: AbstractSet[str] | None
) -> Iterator[tuple[Path, str, str]]:
    """The path, the part and the kind of each known part in an object's texts about a kind.

    words: only a text that has one of these has a part; None for any text.
    """
    data = value_at(document.data, item.path)
    texts = [
        (path, unescaped(decoded(text) if is_encoded_at(item, path) else text))
        for path, text in strings_in(data, None)
        if may_reference(item, path, data, frozenset())
    ]
    possible = [
        (path, text) for path, text in texts if words is None or has_any(text.lower(), words)
    ]
    has_fields = item.identity.kind not in CONTENT_KINDS
    found = {path: known.found_in(text) for path, text in possible}
    kinds_in_lists: dict[Path, list[str]] = {}
    is_joined = has_fields and any(joins_words(text) and _kinds_of(text) for _, text in texts)
    for path, text in possible if is_joined or has_affix(document.text) else ():
        if text.split() == [text]:
            fields = field_names(data, path, text, kinds_in_lists)
            if is_joined or any(map(has_affix, fields)):
                found[path] |= known.without_hyphen([text])
    if not any(found.values()):
        return
    # A variable of a container can have the name, and its command the kind.
    shared = {kind for _, text in texts for kind in _kinds_of(text)} if has_fields else set()
    if is_policy(item) and any("resources" in path and text in _ALL for path, text in texts):
        shared |= set(CONTENT_KINDS)
    for path, text in possible:
        parts = found[path]
        if not parts:
            continue
        fields = field_names(data, path, text, kinds_in_lists)
        letters = letters_of("".join(map(str, (*path, *fields))))
        of_field = {kind for kind in CONTENT_KINDS if kind.lower() in letters}
        kinds = shared | of_field | _kinds_of(text)
        if "\n" not in text and is_about_configuration(fields):
            kinds |= {"ConfigMap"}
        after_kinds = set(re.findall(_AFTER_KIND, text))
        is_key = is_about(fields[-1:], _KEY_WORDS)
        for part in sorted(parts):
            if is_key and part[-1] == ".":
                continue
            # A host such as `web-0.web-config` has the name next to a `.` too.
            can_be_host = "." in (part[0], part[-1]) and part.strip(".") not in after_kinds
            yield from ((path, part, kind) for kind in sorted(of_field if can_be_host else kinds))


def _kinds_of(text: str) -> set[str]:
    lines = "\n".join(line for line in text.split("\n") if not is_comment(line))
    return {kind for kind in CONTENT_KINDS if has_kind(lines, kind)}
