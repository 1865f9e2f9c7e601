"""The records of the catalogue. This adds the pod templates of two kinds:

*kinds(
    "apps.kruise.io: CloneSet StatefulSet",
    "openkruise/kruise 07169cf, v1beta1",
    pod_spec("spec.template.spec"),
)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from postrender.kubernetes.kinds import CONFIG_MAP, SECRET, GroupKind
from postrender.records import NamedTuple
from postrender.references.built_in import POD_SPEC_PATTERNS
from postrender.yaml.paths import EVERY_ITEM, Json, Path, parse_pattern, value_at

# The shapes of the value at the path of a Use. For KEY_SELECTORS and EVERYTHING, the catalogue
# searches the value for references.
NAME = "name"
POD_SPEC = "pod spec"
OBJECT_REFERENCE = "object reference"
KEY_SELECTORS = "key selectors below"
EVERYTHING = "every reference below"

# The entry whose uses apply to every custom kind.
EVERY_KIND = ("*", "*")

Pattern = tuple[str, ...]
Condition = Callable[[Mapping[str, Json]], bool]
# The same for one name: the object, and the path of the name.
NameCondition = Callable[[Json, Path], bool]


class Use(NamedTuple):
    """The references at one path of a kind.

    shape: the shape of the value at the path, a constant from NAME to EVERYTHING.
    patterns: the path of each name, relative to `path`, and its target. () if the value determines
        the targets.
    keep: a clause with the reason why postrender never rewrites the references, "" if it does. A
        reason is that the controller would not read a changed reference, or would do harm.
    keep_if: the condition on the object under which `keep` applies; without it, always.
    only_if: the condition on the object under which it has the references; without it, always.
    default_target: the target of an object reference without a kind, None for every target.
    namespace_key: the key next to a name that contains the namespace, "" if there is none.
    is_written: whether a program writes to the referenced objects.
    selects: whether the object selects other objects by name, and does not read them. postrender
        adds the new names, unless `keep` is set.
    name_if: the condition under which a name can be that of a ConfigMap or Secret.
    deletes_unselected: as in Rule.
    or_own_name: whether the object's own name is the reference if the path is missing.
    suffix: text that the program adds to the value, one of rule.DERIVED_SUFFIXES.
    """

    shape: str
    path: Pattern
    patterns: tuple[tuple[Pattern, GroupKind], ...] = ()
    keep: str = ""
    keep_if: Condition | None = None
    only_if: Condition | None = None
    default_target: GroupKind | None = None
    namespace_key: str = ""
    is_written: bool = False
    selects: bool = False
    name_if: NameCondition | None = None
    deletes_unselected: bool = False
    or_own_name: bool = False
    suffix: str = ""

    def keep_reason(self, data: Mapping[str, Json]) -> str:
        """The reason to keep the originals that this object references, "" to rewrite."""
        return self.keep if self.keep_if is None or self.keep_if(data) else ""


class Template(NamedTuple):
    """The pod template of a kind, or the field that contains all pod templates of the kind.

    is_scheduled: whether only Jobs that start later use a changed template.
    rolls_if: the condition on the object under which a changed template replaces the running pods;
        without it, always. It has no effect if `is_scheduled` is True.
    """

    path: Pattern
    is_scheduled: bool = False
    rolls_if: Condition | None = None


class Entry(NamedTuple):
    """One kind of the catalogue.

    source: the project that defines the kind, as `owner/repository COMMIT, VERSION`.
    uses: if several match a string, one with `keep` overrides one without.
    template: None for a kind without a pod template, or if the catalogue does not describe the
        effect of a changed template: then `diff` does not report that the kind rolls.
    """

    group: str
    kind: str
    source: str
    uses: tuple[Use, ...]
    template: Template | None = None


def kinds(
    names: str, source: str, *uses: Use, template: Template | None = None
) -> tuple[Entry, ...]:
    """The entries of kinds of one group with the same fields; names: `GROUP: KIND KIND`."""
    group, _, of_group = names.rpartition(": ")
    return tuple(Entry(group, name, source, uses, template) for name in of_group.split())


def rolling(path: str, rolls_if: Condition | None = None) -> Template:
    """A pod template. If it changes, new pods replace the running pods, if `rolls_if` is true."""
    return Template(parse_pattern(path), rolls_if=rolls_if)


def scheduled(path: str) -> Template:
    """A pod template. If it changes, only Jobs that start later use the change."""
    return Template(parse_pattern(path), is_scheduled=True)


def pod_spec(path: str, keep: str = "", keep_if: Condition | None = None) -> Use:
    """A pod spec, or a mapping with some fields of a pod spec."""
    return Use(
        shape=POD_SPEC,
        path=parse_pattern(path),
        patterns=POD_SPEC_PATTERNS,
        keep=keep,
        keep_if=keep_if,
    )


def _part_of_pod_spec(path: str, field: str) -> Use:
    """A value that has the type of a field of a pod spec."""
    prefix = parse_pattern(field)
    patterns = tuple(
        (pattern[len(prefix) :], target)
        for pattern, target in POD_SPEC_PATTERNS
        if pattern[: len(prefix)] == prefix
    )
    return Use(shape=POD_SPEC, path=parse_pattern(path), patterns=patterns)


def container(path: str) -> Use:
    """A container, or a mapping with `env` and `envFrom`."""
    return _part_of_pod_spec(path, "containers[]")


def environment(path: str) -> Use:
    """An environment variable, which is an item of `env`."""
    return _part_of_pod_spec(path, "containers[].env[]")


def volume(path: str) -> Use:
    """A volume, or another mapping with a volume source."""
    return _part_of_pod_spec(path, "volumes[]")


def config_map(path: str, keep: str = "") -> Use:
    """A field with the name of a ConfigMap."""
    patterns = (((), CONFIG_MAP),)
    return Use(shape=NAME, path=parse_pattern(path), patterns=patterns, keep=keep)


def secret(path: str, keep: str = "") -> Use:
    """A field with the name of a Secret."""
    patterns = (((), SECRET),)
    return Use(shape=NAME, path=parse_pattern(path), patterns=patterns, keep=keep)


def object_reference(path: str, default: GroupKind | None = None, keep: str = "") -> Use:
    """A mapping with `name`, and perhaps `kind` and `namespace`.

    default: the target if the mapping has no kind, None for every target.
    """
    return Use(OBJECT_REFERENCE, parse_pattern(path), keep=keep, default_target=default)


def key_selectors(path: str) -> Use:
    """Every key selector below a path: a mapping with `name` and `key`.

    The field name must contain `configMap` or `secret`, or the mapping the kind of the target.
    """
    return Use(shape=KEY_SELECTORS, path=parse_pattern(path))


def everything(path: str, keep: str) -> Use:
    """Every reference below a path; none is ever rewritten, for the reason `keep`."""
    return Use(shape=EVERYTHING, path=parse_pattern(path), keep=keep)


def written(use: Use) -> Use:
    """A use of objects to which a program writes. By default, postrender does not rename them."""
    return use._replace(is_written=True)


def writes(
    program: str,
    target: GroupKind,
    path: str = "metadata.name",
    *,
    namespace_key: str = "",
    or_own_name: bool = False,
    suffix: str = "",
    only_if: Condition | None = None,
) -> Use:
    """The name of an object to which a program writes: the object's own name without a `path`."""
    return Use(
        shape=NAME,
        path=parse_pattern(path),
        patterns=(((), target),),
        keep=f"{program} writes to the {target[1]}",
        only_if=only_if,
        namespace_key=namespace_key,
        is_written=True,
        or_own_name=or_own_name,
        suffix=suffix,
    )


def selector(path: str, *, deletes_unselected: bool = False) -> Use:
    """A list that selects objects by `kind` and `name`, and perhaps `namespace`.

    postrender adds an item for each revision, and leaves the item with the base name.
    """
    return Use(
        OBJECT_REFERENCE, parse_pattern(path), selects=True, deletes_unselected=deletes_unselected
    )


def selected_names(path: str, kinds: str, keep: str = "") -> tuple[Use, ...]:
    """The names in a selector that lists kinds and names in different fields.

    kinds: the key with the kinds, in the mapping with the names. Without it, all kinds are meant.
    keep: the reason for a field with a single name, to which postrender cannot add a name.
    """
    pattern = parse_pattern(path)
    depth = -2 if pattern[-1] == EVERY_ITEM else -1

    def condition(kind: str) -> NameCondition:
        return lambda data, name: _names_kind(value_at(data, (*name[:depth], kinds)), kind)

    return tuple(
        Use(
            NAME,
            pattern,
            patterns=(((), target),),
            keep=keep,
            selects=True,
            name_if=condition(target[1].lower()),
        )
        for target in (CONFIG_MAP, SECRET)
    )


def _names_kind(kinds: Json, kind: str) -> bool:
    """Whether a value lists a kind, as `ConfigMap`, `v1/ConfigMap`, `configmaps` or `*`."""
    if isinstance(kinds, dict):
        return _names_kind(kinds.get("kinds"), kind)
    if isinstance(kinds, list):
        return any(_names_kind(item, kind) for item in kinds)
    word = str(kinds).rpartition("/")[2].lower()
    return kinds is None or word in (kind, f"{kind}s", "*")


def has(path: str) -> Condition:
    """The condition that an object has a value at a path."""
    pattern = parse_pattern(path)
    return lambda data: value_at(data, pattern) is not None
