"""The examination of one document: its objects, their references and pod templates.

Of a duplicate key, kubectl, Helm and the API server use the last value. A pair of keys is ambiguous
if the keys differ in YAML, but are equal in JSON, such as an unquoted `on`, which is a boolean in
YAML, and a quoted "true". These tools then pick a value at random (sigs.k8s.io/yaml).
"""

from __future__ import annotations

from postrender.config.settings import Settings
from postrender.errors import DUPLICATE_KEY, Finding, UserError
from postrender.inventory.model import Item, Reference
from postrender.kubernetes.annotations import (
    GROUP_LABEL,
    HOOK_ANNOTATIONS,
    REWRITE_ANNOTATION,
)
from postrender.kubernetes.attach_groups import is_inventory
from postrender.kubernetes.hashing import without_hash
from postrender.kubernetes.kinds import (
    ANNOTATIONS,
    ATTACHER_KINDS,
    CRD,
    DATA_FIELDS,
    IMMUTABLE_WORKLOADS,
    GroupKind,
    Identity,
    group_kind_of,
    pod_templates,
    roots_of,
    strings_at,
    workload_ref,
)
from postrender.references.built_in import find_built_in, is_custom
from postrender.references.custom import embedded_pod_specs, find_custom
from postrender.references.rule import Rule
from postrender.text import shown
from postrender.yaml.document import ParsedDocument
from postrender.yaml.paths import EVERY_KEY, Json, Path, item_path, mapping_at, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from postrender.yaml.nodes import DuplicateKey
    from postrender.yaml.parser import YamlNode


def examine(
    index: int, document: ParsedDocument, settings: Settings, names: set[str] | None
) -> tuple[Item, ...]:
    """The objects of one document, which has this index in the stream.

    names: the names of the possible targets of references, None for any name. References to other
        names are left out, unless the name ends in a hash or Rule.is_word is set.
    UserError for a reference whose name is not a string, and for an annotation
    `postrender/rewrite-references` that has no effect.
    """
    examiner = _Examiner(index, document, settings, names)
    items = (
        examiner.item(path, root)
        for path, root in roots_of(document.data)
        if isinstance(root, dict)
    )
    return tuple(item for item in items if item)


class _Examiner:
    """The steps of examine(), for one document."""

    __slots__ = ("document", "index", "names", "settings")

    def __init__(
        self,
        index: int,
        document: ParsedDocument,
        settings: Settings,
        names: set[str] | None,
    ) -> None:
        self.index = index
        self.document = document
        self.settings = settings
        self.names = names

    def item(self, path: Path, data: dict[str, Json]) -> Item | None:
        """The item for the data at a path, None if it is not a Kubernetes object."""
        group_kind = group_kind_of(data)
        if group_kind is None:
            return None
        item = self.bare_item(path, group_kind, data)
        self.check_opt_out(item, data)
        if item.is_attacher:
            return item._replace(stored=data)
        if group_kind in self.settings.revisable:
            item = self.revisable_item(item, data)
        return self.with_references(item, data)

    def check_opt_out(self, item: Item, data: dict[str, Json]) -> None:
        """Refuse `postrender/rewrite-references` if it is invalid or does not have an effect.

        "false" has no effect on a Rollout that uses the pod template of another object.
        """
        value = mapping_at(data, ANNOTATIONS).get(REWRITE_ANNOTATION)
        if value is None:
            return
        path = (*item.path, *ANNOTATIONS, REWRITE_ANNOTATION)
        if value not in ("true", "false"):
            quotes = " without quotes" if isinstance(value, bool) else ""
            problem = f'the annotation is {shown(value)}{quotes}, expected "true" or "false"'
            self.refuse(path, problem, 'Write "true" or "false", with the quotes')
        source = workload_ref(item.identity.group_kind, data)
        if source and value == "false":
            (_, kind), name = source
            problem = (
                "the annotation has no effect, because the pod template of "
                f"{item.identity} is in {kind}/{name}"
            )
            self.refuse(path, problem, f"Move the annotation to {kind}/{name}")

    def bare_item(self, path: Path, group_kind: GroupKind, data: dict[str, Json]) -> Item:
        """An item without references, pod templates and content."""
        metadata = mapping_at(data, ("metadata",))
        name, namespace = _name_text(metadata.get("name")), metadata.get("namespace")
        labels, annotations = strings_at(data, "labels"), strings_at(data, "annotations")
        group, kind = group_kind
        is_mutable = group_kind not in IMMUTABLE_WORKLOADS
        is_hook = not annotations.keys().isdisjoint(HOOK_ANNOTATIONS)
        identity = Identity(
            group=group,
            kind=kind,
            namespace=namespace if isinstance(namespace, str) and namespace else None,
            name=name,
        )
        opt_out = self.opt_out(identity, labels, annotations)
        return Item(
            key=(self.index, path),
            line=self.document.line_of(path),
            identity=identity,
            labels=labels,
            annotations=annotations,
            is_hook=is_hook,
            is_attacher=(kind in ATTACHER_KINDS and GROUP_LABEL in labels)
            or is_inventory(group_kind, name, labels),
            opt_out=opt_out,
            is_rewritable=is_mutable and bool(name) and not (is_hook or opt_out),
        )

    def opt_out(
        self, identity: Identity, labels: dict[str, str], annotations: dict[str, str]
    ) -> str:
        """The value of Item.opt_out. The annotation has priority over rules."""
        annotation = annotations.get(REWRITE_ANNOTATION)
        if annotation is not None:
            return REWRITE_ANNOTATION if annotation == "false" else ""
        for rule in self.settings.rules:
            rewrites = rule.rewrites_references
            if rewrites is not None and rule.matches(identity, labels, annotations):
                return "" if rewrites else "the key rewriteReferences of a rule"
        return ""

    def check_metadata(self, item: Item, data: dict[str, Json]) -> None:
        """Refuse a name, namespace, label or annotation that is neither string nor null."""
        path, metadata = (*item.path, "metadata"), mapping_at(data, ("metadata",))
        for key in ("name", "namespace"):
            if not isinstance(metadata.get(key, ""), (str, type(None))):
                actual = _type_of(metadata[key])
                problem = f"the {key} of the {item.identity.kind} is {actual}, expected a string"
                self.refuse((*path, key), problem, _string_fix(metadata[key], key))
        for key in ("labels", "annotations"):
            self.check_mapping((*path, key), metadata.get(key))
            self.check_strings((*path, key), mapping_at(metadata, (key,)))

    def check_mapping(self, path: Path, value: Json) -> None:
        """Refuse a value that gets new keys and is neither a mapping nor null."""
        if value is not None and not isinstance(value, dict):
            self.refuse(
                path,
                f"the value is {_type_of(value)}, expected a mapping",
                "Write the value as `key: value` pairs",
            )

    def check_strings(self, path: Path, values: dict[str, Json]) -> None:
        """Refuse a value that is neither string nor null; path: of the mapping with the values."""
        for name, value in values.items():
            if value is not None and not isinstance(value, str):
                problem = f"the value is {_type_of(value)}, expected a string"
                self.refuse((*path, name), problem, _string_fix(value, "value"))

    def revisable_item(self, item: Item, data: dict[str, Json]) -> Item:
        """Set `content`, and `error` if the object is invalid."""
        try:
            self.check_metadata(item, data)
            self.check_content(item.path, data)
            check_duplicate_keys(self.document, item.path)
            folded = tuple(self.document.folded_scalars(item.path))
            return item._replace(stored=data, folded=folded)
        except UserError as error:
            return item._replace(stored=data, error=error)

    def check_content(self, path: Path, data: dict[str, Json]) -> None:
        """Refuse `data`, `binaryData` or `stringData` that is not a mapping of strings."""
        for key in DATA_FIELDS:
            values = data.get(key)
            if values is None:
                continue
            if not isinstance(values, dict):
                problem = f"the value is {_type_of(values)}, expected a mapping"
                self.refuse((*path, key), problem, f"Write {key} as `key: value` pairs")
            self.check_strings((*path, key), values)

    def with_references(self, item: Item, data: dict[str, Json]) -> Item:
        """Set the references, pod templates, workloadRef and history limit."""
        group_kind = item.identity.group_kind
        templates = [
            ((*item.path, *path), template) for path, template in pod_templates(group_kind, data)
        ]
        references = self.references(item, data, templates)
        if not item.is_rewritable:
            templates = []
        elif references and templates:
            for path, annotated in [(item.path, data), *templates]:
                self.check_mapping((*path, "metadata"), value_at(annotated, ("metadata",)))
                self.check_mapping((*path, *ANNOTATIONS), value_at(annotated, ANNOTATIONS))
        template_source, history_limit = workload_ref(group_kind, data), _history_limit(data)
        if not (references or templates or template_source) and history_limit is None:
            return item
        return item._replace(
            references=references,
            templates=tuple(path for path, _ in templates),
            workload_ref=template_source,
            history_limit=history_limit,
        )

    def references(
        self, item: Item, data: dict[str, Json], templates: list[tuple[Path, Json]]
    ) -> tuple[Reference, ...]:
        settings, group_kind = self.settings, item.identity.group_kind
        if group_kind[1] == CRD:
            return ()  # the schema in a CRD does not have references
        matches = find_built_in(group_kind, settings.revisable, data)
        if settings.references:
            matches += find_custom(settings.active_references, item.identity, data)
        pod_specs = []
        if settings.finds_pod_specs:
            pod_specs = embedded_pod_specs(item.identity, settings.revisable, data)
        if is_custom(group_kind):
            # Imported late, because few charts have references in custom kinds.
            from postrender.references.catalogue import find_catalogued

            kept, rewritten = find_catalogued(group_kind, settings.revisable, data)
            matches += [*kept, *pod_specs, *rewritten]
        else:
            matches += pod_specs
        # If two rules with the same target kind match one field, the first rule applies.
        references: dict[tuple[Path, GroupKind], Reference] = {}
        for path, value, rule in matches:
            if value is None or not rule.fits(path, data):
                continue
            reference = self.reference((*item.path, *path), value, rule, templates)
            if reference and rule.namespace_key:
                namespace = mapping_at(data, path[:-1]).get(rule.namespace_key)
                if isinstance(namespace, str):
                    reference = reference._replace(namespace=namespace)
            if reference and rule.adds_names:
                items = value_at(data, item_path(path)[:-1])
                reference = reference._replace(items=items if isinstance(items, list) else ())
            if reference:
                references.setdefault((reference.path, rule.target), reference)
        return tuple(references.values())

    def reference(
        self, path: Path, value: Json, rule: Rule, templates: list[tuple[Path, Json]]
    ) -> Reference | None:
        """The reference at a path, None if the value cannot be the name of a target."""
        if not isinstance(value, str):
            if self.is_unrelated(value, rule):
                return None
            self.refuse_reference(path, value, rule)
        namespace, _, name = value.rpartition("/") if rule.is_qualified else ("", "", value)
        if not (rule.is_word or self.may_target(name)):
            return None
        template_indexes = (
            template_index
            for template_index, (template, _) in enumerate(templates)
            if path[: len(template)] == template
        )
        return Reference(
            path=path,
            name=name,
            namespace=namespace or None,
            rule=rule,
            template=next(template_indexes, None),
        )

    def may_target(self, name: str) -> bool:
        """Whether a name is the name of a possible target, or ends in a hash."""
        return self.names is None or name in self.names or bool(without_hash(name))

    def is_unrelated(self, value: Json, rule: Rule) -> bool:
        """Whether a value that is not a string is certainly not the name of a target."""
        if rule.origin:
            return False
        if isinstance(value, (dict, list)):
            # A rule for all kinds also matches kinds in which the field has another meaning.
            return rule.kind == EVERY_KEY
        return self.names is not None and str(value) not in self.names

    def refuse_reference(self, path: Path, value: Json, rule: Rule) -> NoReturn:
        actual = _type_of(value)
        if rule.origin:
            problem = f"the reference rule {rule.origin} matches {actual}, expected a string"
            fixes = {
                "a mapping": "Extend the path of the rule to the key that contains the name",
                "a list": "Add [] to the path of the rule, to match each item of the list",
            }
            fix = fixes.get(actual, "Change the path of the rule, or put the value in quotes")
            self.refuse(path, problem, fix)
        problem = f"the reference is {actual}, expected the name of a {rule.target[1]}"
        is_scalar = not isinstance(value, (dict, list))
        fix = "Put the name in quotes" if is_scalar else f"Write the name of the {rule.target[1]}"
        self.refuse(path, problem, fix)

    def refuse(self, path: Path, problem: str, fix: str) -> NoReturn:
        raise UserError(problem, fix, self.document.location_of(path))


def _type_of(value: Json) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return "a string" if isinstance(value, str) else "a number or a boolean"


def _string_fix(value: Json, noun: str) -> str:
    is_scalar = not isinstance(value, (dict, list))
    return f"Put the {noun} in quotes" if is_scalar else f"Write the {noun} as a string"


def _name_text(name: Json) -> str:
    """A name as text, "" for a value that is neither a string nor a number.

    A YAML parser reads the unquoted name `123` as a number. A reference to the object can
    contain the string "123".
    """
    is_number = isinstance(name, (int, float)) and not isinstance(name, bool)
    return str(name) if is_number or isinstance(name, str) else ""


def _history_limit(data: dict[str, Json]) -> int | None:
    limit = value_at(data, ("spec", "revisionHistoryLimit"))
    return limit if isinstance(limit, int) and not isinstance(limit, bool) else None


def duplicate_key_findings(document: ParsedDocument) -> tuple[Finding, ...]:
    """A finding for each duplicate key of a document."""
    return tuple(_duplicate_finding(document, duplicate) for duplicate in document.duplicate_keys())


def _duplicate_finding(document: ParsedDocument, duplicate: DuplicateKey) -> Finding:
    line = document.nodes.location_of(duplicate.first).line
    problem = (
        f"the mapping has the key {shown(duplicate.path[-1])} again, and this value overrides the "
        f"value on line {line}"
    )
    fix = "Remove one of the two keys"
    # Two objects without `---` between them are one mapping, and kubectl applies only the second.
    hides_object = duplicate.path == ("kind",)
    if hides_object:
        problem += ", so this can be a second object that replaces the first"
        fix = "Write --- between the two objects, or remove one of the two keys"
    elif duplicate.is_ambiguous:
        problem = _ambiguity(document, duplicate).problem
    return Finding(
        code=DUPLICATE_KEY,
        problem=problem,
        fix=fix,
        location=document.nodes.location_of(duplicate.key, duplicate.path),
        strict=hides_object,
    )


def _ambiguity(document: ParsedDocument, duplicate: DuplicateKey) -> UserError:
    line = document.nodes.location_of(duplicate.first).line
    return UserError(
        f"the keys {_as_written(duplicate.first)} (line {line}) and "
        f"{_as_written(duplicate.key)} are one key in JSON, and kubectl uses one of the two values "
        "at random",
        "Remove one of the two keys",
        document.nodes.location_of(duplicate.key, duplicate.path),
    )


def _as_written(key: YamlNode) -> str:
    """A key in backticks, with quotes if it has quotes in the input."""
    return f"`{shown(key.value) if key.style else key.value}`"


def check_duplicate_keys(document: ParsedDocument, path: Path) -> None:
    """Raise UserError if the object at a path has an ambiguous pair of keys.

    Without it, the hash in a revision name could cover one value, and the API server could store
    the other.
    """
    for duplicate in document.duplicate_keys():
        if duplicate.is_ambiguous and duplicate.path[: len(path)] == path:
            raise _ambiguity(document, duplicate)
