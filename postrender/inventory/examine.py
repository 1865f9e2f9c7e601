"""One document examined while its nodes are at hand: its objects, and the sites of likely edits.

The nodes are dropped afterwards: what a plan or a render needs of them is in the result.
"""

from __future__ import annotations

from functools import cache

from postrender.config.settings import Settings
from postrender.errors import Location, UserError
from postrender.inventory.model import Item, Reference, new_item
from postrender.kubernetes.annotations import CHECKSUM_ANNOTATION, RENDER_ID_ANNOTATION
from postrender.kubernetes.kinds import (
    WORKLOAD_KINDS,
    GroupKind,
    Identity,
    api_group,
    group_kind_of,
    items_of,
    roots_of,
    strings_at,
)
from postrender.kubernetes.pod_template import read_pod_template
from postrender.references import Rule, find_built_in
from postrender.references.custom import embedded_pod_specs, find_custom
from postrender.references.rule import RBAC
from postrender.startup.records import NamedTuple
from postrender.yaml.document import ParsedDocument, parse_document
from postrender.yaml.edits import AddAfter, AddKeys, Edit, SetScalar
from postrender.yaml.paths import Json, Path, PatternTree, mapping_at, value_at
from postrender.yaml.sites import Site, SiteKey, locate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


class Examined(NamedTuple):
    """What one document holds.

    sites: of edits that a plan is likely to make; last_item: where a List takes further items;
    open_end: the edit that closes a block scalar without a line break at the very end;
    is_fragment: whether the document begins like an object and lacks the rest; data: all of it,
    where the text is not edited (a plan needs only the items, and all data takes much memory).
    """

    items: tuple[Item, ...]
    sites: dict[SiteKey, Site | None]
    last_item: Path = ()
    open_end: SetScalar | None = None
    is_fragment: bool = False
    data: Json = None


def examine(
    index: int,
    text: str,
    location: Location,
    settings: Settings,
    names: set[str] | None,
    *,
    is_edited: bool = True,
) -> Examined:
    """Compose one document and return what it holds.

    place: of its first line; names: those that references of interest hold, None for any;
    is_edited: whether its text will be, so that it is worth to look for the sites of edits.
    Raises UserError for text that is no YAML and for shapes that an API server would refuse.
    """
    document = parse_document(text, location)
    data = document.data
    if data is None:
        return Examined((), {})
    examiner = _Examiner(index, document, settings, names, is_edited, {})
    items = [examiner.item(path, root) for path, root in roots_of(data) if isinstance(root, dict)]
    listed = items_of(data)
    return Examined(
        tuple(item for item in items if item),
        examiner.sites,
        ("items", len(listed) - 1) if listed else (),
        None if text.endswith("\n") else _open_end(document),
        _is_fragment(data),
        None if is_edited else data,
    )


def _open_end(document: ParsedDocument) -> SetScalar | None:
    from postrender.yaml.nodes import last_block_scalar

    last = last_block_scalar(document.nodes.root)
    return SetScalar(*last) if last else None


def _is_fragment(data: Json) -> bool:
    if not isinstance(data, dict) or not {"apiVersion", "kind"} & data.keys():
        return False
    has_body = isinstance(data.get("metadata"), dict) or items_of(data) is not None
    return group_kind_of(data) is None or not has_body


class _Examiner(NamedTuple):
    """Makes items of the objects of one document, and locates what is likely to be edited."""

    number: int
    document: ParsedDocument
    settings: Settings
    names: set[str] | None
    is_edited: bool
    sites: dict[SiteKey, Site | None]

    def item(self, path: Path, data: dict[str, Json]) -> Item | None:
        group_kind = group_kind_of(data)
        if group_kind is None:
            return None
        is_revisable = group_kind in self.settings.revisable
        if is_revisable:
            self.check_metadata(path, group_kind, data)
        item = self.bare_item(path, group_kind, data)
        if item.is_attacher:
            return item._replace(content=data)
        if is_revisable:
            item = self.revisable_item(item, data)
        return self.with_references(item, data)

    def bare_item(self, path: Path, group_kind: GroupKind, data: dict[str, Json]) -> Item:
        metadata = mapping_at(data, ("metadata",))
        name, namespace = metadata.get("name"), metadata.get("namespace")
        identity = Identity(
            *group_kind,
            namespace if isinstance(namespace, str) and namespace else None,
            name if isinstance(name, str) else "",
        )
        return new_item(
            (self.number, path),
            self.document.line_of(path),
            identity,
            strings_at(data, "labels"),
            strings_at(data, "annotations"),
        )

    def check_metadata(self, path: Path, group_kind: GroupKind, data: dict[str, Json]) -> None:
        """Refuse what an API server would in the metadata that a revision is made of."""
        metadata = mapping_at(data, ("metadata",))
        for key in ("name", "namespace"):
            if not isinstance(metadata.get(key, ""), (str, type(None))):
                what = f"the {key} of this {group_kind[1]} is no string"
                self.refuse((*path, "metadata", key), what, "put it in quotes")
        for key in ("labels", "annotations"):
            self.check_strings((*path, "metadata", key), mapping_at(metadata, (key,)))

    def check_strings(self, path: Path, values: dict[str, Json]) -> None:
        for name, value in values.items():
            if value is not None and not isinstance(value, str):
                what = f"the value of {name!r} is no string"
                self.refuse((*path, name), what, "put it in quotes")

    def revisable_item(self, item: Item, data: dict[str, Json]) -> Item:
        self.check_content(item.path, data)
        metadata = (*item.path, "metadata")
        self.locate(SetScalar((*metadata, "name"), ""))
        self.locate(AddKeys((*metadata, "labels"), {}))
        self.locate(AddKeys((*metadata, "annotations"), {}))
        if "immutable" not in data:
            self.locate(AddKeys(item.path, {}))
        folded = tuple(self.document.folded_scalars(item.path))
        for path, _ in folded:
            self.locate(SetScalar(path, ""))
        return item._replace(content=data, folded=folded)

    def check_content(self, path: Path, data: dict[str, Json]) -> None:
        """Refuse data that an API server would: values must be strings."""
        for key in ("data", "binaryData", "stringData"):
            values = data.get(key)
            if values is None:
                continue
            if not isinstance(values, dict):
                self.refuse((*path, key), f"{key} is no mapping", "write it as `key: value` pairs")
            self.check_strings((*path, key), values)

    def with_references(self, item: Item, data: dict[str, Json]) -> Item:
        templates = _templates(item, data)
        references = self.references(item, data, templates)
        if not item.is_rewritable:
            templates = []
        elif references:
            for path, template in templates:
                self.locate_annotations(path, template)
        workload_ref, history_limit = _workload_ref(item.identity, data), _history_limit(data)
        if not (references or templates or workload_ref) and history_limit is None:
            return item
        return item._replace(
            references=references,
            templates=tuple(
                read_pod_template(
                    path, template, [r.path for r in references if r.template == number]
                )
                for number, (path, template) in enumerate(templates)
            ),
            workload_ref=workload_ref,
            history_limit=history_limit,
        )

    def references(
        self, item: Item, data: dict[str, Json], templates: list[tuple[Path, Json]]
    ) -> tuple[Reference, ...]:
        settings = self.settings
        found = find_built_in(item.identity.group_kind, settings.revisable, data)
        if settings.references:
            found += find_custom(settings.active_references, item.identity, data)
        if settings.finds_pod_specs:
            found += embedded_pod_specs(item.identity, settings.revisable, data)
        # Where two rules match one place, the first one counts.
        first: dict[tuple[Path, GroupKind], Reference] = {}
        for path, value, rule in found:
            if value is None or (rule.only_if and not rule.only_if(mapping_at(data, path[:-2]))):
                continue
            reference = self.reference((*item.path, *path), value, rule, templates)
            if reference:
                first.setdefault((reference.path, rule.target), reference)
        return tuple(first.values())

    def reference(
        self, path: Path, value: Json, rule: Rule, templates: list[tuple[Path, Json]]
    ) -> Reference | None:
        """Return the reference at a path, unless it is known to name nothing in the stream."""
        if not isinstance(value, str):
            self.refuse_reference(path, value, rule)
        namespace, _, name = value.rpartition("/") if rule.is_qualified else ("", "", value)
        if self.names is not None and name not in self.names and not rule.is_word:
            return None
        site = self.locate(AddAfter(path, ()) if rule.family == RBAC else SetScalar(path, ""))
        inside = [
            number
            for number, (template, _) in enumerate(templates)
            if path[: len(template)] == template
        ]
        line = site.line if site else self.document.line_of(path)
        template = inside[0] if inside else None
        return Reference(path, name, namespace or None, rule, template, line)

    def refuse_reference(self, path: Path, value: Json, rule: Rule) -> NoReturn:
        names = {"dict": "a mapping", "list": "a list"}
        what = names.get(type(value).__name__, "no string")
        if rule.origin:
            what = f"the reference rule {rule.origin} matches {what}"
            self.refuse(path, what, "let its path end at a string")
        self.refuse(path, f"the name of a {rule.target[1]} is {what}", "put it in quotes")

    def locate_annotations(self, path: Path, template: Json) -> None:
        annotations = mapping_at(template, ("metadata", "annotations"))
        target = (*path, "metadata", "annotations")
        self.locate(AddKeys(target, {}))
        for name in (RENDER_ID_ANNOTATION, CHECKSUM_ANNOTATION):
            if name in annotations:
                self.locate(SetScalar((*target, name), ""))

    def locate(self, edit: Edit) -> Site | None:
        if not self.is_edited:
            return None
        key = (type(edit), edit.path)
        if key not in self.sites:
            self.sites[key] = locate(self.document, edit)
        return self.sites[key]

    def refuse(self, path: Path, what: str, fix: str) -> NoReturn:
        raise UserError(what, fix, self.document.location_of(path))


def _templates(item: Item, data: dict[str, Json]) -> list[tuple[Path, Json]]:
    tree = template_tree(item.identity.group_kind)
    return [((*item.path, *path), value) for path, value, _ in tree.find(data)] if tree else []


@cache
def template_tree(group_kind: GroupKind) -> PatternTree | None:
    """Return what finds the pod templates of a kind, None for one that has none inside it."""
    workload = WORKLOAD_KINDS.get(group_kind)
    if workload is None or not workload.template:
        return None
    tree: PatternTree = PatternTree()
    tree.add(workload.template, None)
    return tree


def _workload_ref(identity: Identity, data: dict[str, Json]) -> tuple[GroupKind, str] | None:
    """Return what a Rollout without a template of its own takes it from."""
    if identity.group_kind != ("argoproj.io", "Rollout"):
        return None
    ref = mapping_at(data, ("spec", "workloadRef"))
    kind, name = ref.get("kind"), ref.get("name")
    if not isinstance(kind, str) or not isinstance(name, str):
        return None
    return (api_group(str(ref.get("apiVersion") or "apps/v1")), kind), name


def _history_limit(data: dict[str, Json]) -> int | None:
    limit = value_at(data, ("spec", "revisionHistoryLimit"))
    return limit if isinstance(limit, int) and not isinstance(limit, bool) else None
