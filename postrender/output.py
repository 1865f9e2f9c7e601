"""The output of a plan: the input with the edits of the plan. All other bytes are unchanged.

An object whose text cannot be edited is written again, without comments. If its document has
aliases, the whole document is written again.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence

from postrender.errors import Finding, Location
from postrender.inventory.build import Inventory
from postrender.inventory.model import Item
from postrender.krm.input import outdated_on_original
from postrender.kubernetes.kinds import items_of
from postrender.plan.build import Plan
from postrender.records import grouped
from postrender.yaml.document import ParsedDocument
from postrender.yaml.edits import AddAfter, Edit, Remove, SetScalar, apply_edits
from postrender.yaml.paths import Path
from postrender.yaml.scalars import block_text, flow_text
from postrender.yaml.splice import edited_text
from postrender.yaml.stream import BOM, has_content, stream_texts


def render(plan: Plan) -> list[str]:
    """The texts whose concatenation is the output of a plan.

    UserError if an edit would also change another value through an alias.
    """
    stream = plan.inventory.stream
    # If the only document is a List, new objects become items of the List.
    sole_list = _sole_list(plan.inventory) if plan.appended else None
    edited = (item for item in plan.inventory.items if item.key in plan.edits)
    items = grouped(edited, lambda item: item.document)
    removed = grouped(plan.removed, lambda key: key[0])
    extra = _extra_edits(plan, sole_list)
    texts: list[str] = []
    for index, text in enumerate(stream.texts):
        if index in items or index in removed or index in extra:
            edits = _DocumentEdits(
                plan,
                index,
                items=items.get(index, ()),
                removed=[path for _, path in removed.get(index, ())],
                extra=extra[index],
            )
            new_texts = edits.texts()
            if not new_texts and texts and texts[-1].endswith(BOM):
                texts.pop()  # the `---` and the byte order mark before the removed document
            texts += new_texts
        else:
            texts.append(text)
    return stream_texts(stream, texts if sole_list is not None else _append(plan, texts))


def _extra_edits(plan: Plan, sole_list: int | None) -> defaultdict[int, list[Edit]]:
    """By document index, the edits that append objects to a List or add a line break."""
    extra: defaultdict[int, list[Edit]] = defaultdict(list)
    if plan.appended or plan.copies:
        for index, text in enumerate(plan.inventory.stream.texts):
            if plan.inventory.is_read[index] and not text.endswith("\n"):
                extra[index] += _missing_line_break(plan.inventory.document(index))
    if sole_list is not None:
        items = items_of(plan.inventory.document(sole_list).data) or ()
        extra[sole_list].append(AddAfter(("items", len(items) - 1), plan.appended))
    return extra


def _missing_line_break(document: ParsedDocument) -> list[Edit]:
    """The edit that ends a block scalar at the end of a document with a line break."""
    from postrender.yaml.nodes import last_block_scalar

    last = None if document.data is None else last_block_scalar(document.nodes.root)
    return [SetScalar(*last)] if last else []


def _sole_list(inventory: Inventory) -> int | None:
    """The index of a List with items that is the only document with content, else None."""
    index = inventory.stream.sole_document
    if index is None or not inventory.is_read[index]:
        return None
    return index if items_of(inventory.document(index).data) else None


class _DocumentEdits:
    """The edits of one document; items: the objects that the plan edits; extra: _extra_edits()."""

    __slots__ = ("extra", "index", "items", "plan", "removed")

    def __init__(
        self,
        plan: Plan,
        index: int,
        *,
        items: Sequence[Item],
        removed: Sequence[Path],
        extra: Sequence[Edit],
    ) -> None:
        self.plan = plan
        self.index = index
        self.items = items
        self.removed = removed
        self.extra = extra

    def texts(self) -> list[str]:
        """The texts that replace the document, [] if the plan removes it.

        An original that stays in the output is followed by its revision.
        """
        if () in self.removed:
            return []
        if self.items and self.items[0].path == () and self.items[0].key in self.plan.copies:
            original = self.edited(self.extra)
            copy = self.edited(_with_extra(self.object_edits(), self.extra))
            newline = self.plan.inventory.stream.newline
            return _with_copy(original, copy, newline, is_in_json_lines=self._is_in_json_lines())
        removals = [Remove(path) for path in self.removed]
        edits = [*self.object_edits(), *self.copy_edits()]
        return [self.edited([*_with_extra(edits, self.extra), *removals])]

    def _is_in_json_lines(self) -> bool:
        """Whether the document is JSON, and the next document does not start with `---`."""
        text, *after = self.plan.inventory.stream.texts[self.index : self.index + 2]
        return not any(next_text.startswith("---") for next_text in after) and _is_json(text)

    def object_edits(self) -> list[Edit]:
        """The edits of the objects, except originals in a List that copy_edits() copies."""
        copies = self.plan.copies
        return [
            edit
            for item in self.items
            if item.path == () or item.key not in copies
            for edit in self.plan.edits[item.key]
        ]

    def copy_edits(self) -> list[Edit]:
        """Add a revision after each original that stays in a List, and clean its annotations."""
        edits: list[Edit] = []
        for item in self.items:
            if item.key in self.plan.copies:
                from postrender.yaml.node_edits import verbatim_at

                data = verbatim_at(self.parsed.nodes, item.path)
                data = apply_edits(data, self.plan.edits[item.key], item.path)
                edits.append(AddAfter(item.path, (data,)))
                annotations = (*item.path, "metadata", "annotations")
                edits += [Remove((*annotations, name)) for name in outdated_on_original(item)]
        return edits

    @property
    def parsed(self) -> ParsedDocument:
        return self.plan.inventory.document(self.index)

    def edited(self, edits: Sequence[Edit]) -> str:
        return edited_text(self.parsed, edits, self.plan.inventory.stream.newline)


def _with_extra(edits: Sequence[Edit], extra: Sequence[Edit]) -> list[Edit]:
    """All edits, without an extra SetScalar if `edits` has a SetScalar at the same path."""
    if not extra:
        return list(edits)
    changed = {edit.path for edit in edits if isinstance(edit, SetScalar)}
    return [
        *edits,
        *(edit for edit in extra if not (isinstance(edit, SetScalar) and edit.path in changed)),
    ]


def _with_copy(original: str, copy: str, newline: str, *, is_in_json_lines: bool) -> list[str]:
    """The texts of an original and of its revision (copy), with a line `---` between them.

    JSON objects in a row do not need this line.
    """
    if not original.endswith("\n"):
        original += newline
    marker = copy.find("---") if copy.startswith("%") else 0
    copy = copy[marker:]
    if copy.startswith("---"):
        return [original, copy]
    return [original, copy.lstrip() if is_in_json_lines else f"---{newline}{copy}"]


def _append(plan: Plan, texts: list[str]) -> list[str]:
    """The texts, followed by each appended object of the plan as a document."""
    if not plan.appended:
        return texts
    stream, newline = plan.inventory.stream, plan.inventory.stream.newline
    if texts and not texts[-1].endswith("\n"):
        texts = [*texts, newline]
    if all(_is_json(text) for text in stream.texts if has_content(text)):
        return [*texts, *(flow_text(data) + newline for data in plan.appended)]
    return [
        *texts,
        *(f"---{newline}{block_text(data, 0, newline)}{newline}" for data in plan.appended),
    ]


def _is_json(text: str) -> bool:
    """Whether a document is a JSON object, and not YAML that begins with a brace."""
    if not text.lstrip().startswith("{"):
        return False

    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


_LIMIT = 1024 * 1024  # bytes
_WARN_AT = 0.75  # an output of at least this fraction of the limit is near the limit
# Even if gzip does not compress, fewer bytes are never near the limit. base64 makes 4 bytes of 3.
_ALWAYS_FITS = _LIMIT * _WARN_AT * 3 / 4


def find_size(plan: Plan, output: Sequence[str]) -> Finding | None:
    """A finding if an output is near the limit of Helm's release Secret.

    A Secret can store at most 1 MiB. Helm 3 and 4 store the manifests and the chart in it,
    compressed with gzip and encoded as base64 (pkg/storage/driver).
    """
    data = "".join(output).encode()
    if len(data) < _ALWAYS_FITS:
        return None
    import gzip  # a large module, which only large outputs need

    size = len(gzip.compress(data, 9)) * 4 // 3
    if size < _LIMIT * _WARN_AT:
        return None
    largest = _largest_sentence(plan)
    fix = "Move large data out of the ConfigMaps"
    return Finding(
        code="release-size",
        problem=f"the manifests use about {size // 1024} of the 1024 KiB in Helm's release Secret, "
        f"which also stores the chart{largest}",
        fix="Lower history.keep, or move large data out of the ConfigMaps" if largest else fix,
        location=Location(plan.inventory.stream.source),
    )


def _largest_sentence(plan: Plan) -> str:
    """A period and a sentence about the base names with the largest retained revisions, if any."""
    sizes: dict[str, int] = defaultdict(int)
    for retained in plan.context.retained if plan.context else ():
        if retained.is_emitted:
            sizes[retained.revision.base_name] += len(json.dumps(retained.revision.content))
    largest = sorted(sizes.items(), key=lambda pair: -pair[1])[:3]
    names = ", ".join(f"{name} ({size // 1024} KiB uncompressed)" for name, size in largest)
    return f". The base names with the largest retained revisions are {names}" if names else ""
