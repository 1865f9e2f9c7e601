"""The records of the catalogue: the entry of a kind, and the uses in an entry.

This entry adds the pod template of a CloneSet:

    Entry(
        group="apps.kruise.io",
        kind="CloneSet",
        source="openkruise/kruise 07169cf, v1beta1",
        uses=(pod_spec("spec.template.spec"),),
    )
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from postrender.kubernetes.kinds import CONFIG_MAP, SECRET, GroupKind
from postrender.records import NamedTuple
from postrender.references.built_in import POD_SPEC_PATTERNS
from postrender.yaml.paths import Json, parse_pattern

# The shapes of the value at the path of a Use. For KEY_SELECTORS and EVERYTHING, the catalogue
# searches the value for references.
NAME = "name"
POD_SPEC = "pod spec"
OBJECT_REFERENCE = "object reference"
KEY_SELECTORS = "key selectors below"
EVERYTHING = "every reference below"

Pattern = tuple[str, ...]
Condition = Callable[[Mapping[str, Json]], bool]


class Use(NamedTuple):
    """The references at one path of a kind.

    shape: the shape of the value at the path, a constant from NAME to EVERYTHING.
    patterns: pairs of a pattern and a target. Each pattern is the path of a name, relative to
        `path`. () if the value determines the targets.
    keep: a clause with the reason why postrender never rewrites the references, "" if postrender
        rewrites the references.
    keep_if: the condition on the object under which `keep` applies, None if `keep` always applies.
    default_target: the target of an object reference without a kind, None for every target.
    is_written: whether a program writes to the referenced objects.
    """

    shape: str
    path: Pattern
    patterns: tuple[tuple[Pattern, GroupKind], ...] = ()
    keep: str = ""
    keep_if: Condition | None = None
    default_target: GroupKind | None = None
    is_written: bool = False

    def keep_reason(self, data: Mapping[str, Json]) -> str:
        """Return the reason to keep the originals, "" if postrender rewrites the references.

        data: the object with the references.
        """
        return self.keep if self.keep_if is None or self.keep_if(data) else ""


class Template(NamedTuple):
    """The pod template of a kind, or the field that contains all pod templates of the kind.

    is_scheduled: whether only Jobs that start later use a changed template.
    rolls_if: the condition on the object under which a changed template replaces the running pods;
        None: a changed template always replaces the pods. `rolls_if` has no effect if
        `is_scheduled` is True.
    """

    path: Pattern
    is_scheduled: bool = False
    rolls_if: Condition | None = None


class Entry(NamedTuple):
    """One kind of the catalogue.

    source: the project that defines the kind, with the commit and the API version.
    uses: the references. If several uses match a string, a use with `keep` overrides a use
        without `keep`.
    template: the pod template; None for a kind without a pod template. Also None if the catalogue
        does not describe the effect of a changed template.
    """

    group: str
    kind: str
    source: str
    uses: tuple[Use, ...]
    template: Template | None = None


def rolling(path: str, rolls_if: Condition | None = None) -> Template:
    """Return a pod template. If the template changes, new pods replace the running pods.

    rolls_if: the condition on the object for this replacement, None for no condition.
    """
    return Template(parse_pattern(path), rolls_if=rolls_if)


def scheduled(path: str) -> Template:
    """Return a pod template. If the template changes, only Jobs that start later use the change."""
    return Template(parse_pattern(path), is_scheduled=True)


def pod_spec(path: str, keep: str = "", keep_if: Condition | None = None) -> Use:
    """Return the use of a pod spec, or of a mapping with some fields of a pod spec."""
    return Use(
        shape=POD_SPEC,
        path=parse_pattern(path),
        patterns=POD_SPEC_PATTERNS,
        keep=keep,
        keep_if=keep_if,
    )


def _part_of_pod_spec(path: str, field: str) -> Use:
    """Return the use of a value that has the type of a field of a pod spec."""
    prefix = parse_pattern(field)
    patterns = tuple(
        (pattern[len(prefix) :], target)
        for pattern, target in POD_SPEC_PATTERNS
        if pattern[: len(prefix)] == prefix
    )
    return Use(shape=POD_SPEC, path=parse_pattern(path), patterns=patterns)


def container(path: str) -> Use:
    """Return the use of a container, or of a mapping with `env` and `envFrom`."""
    return _part_of_pod_spec(path, "containers[]")


def environment(path: str) -> Use:
    """Return the use of an environment variable, which is an item of `env`."""
    return _part_of_pod_spec(path, "containers[].env[]")


def volume(path: str) -> Use:
    """Return the use of a volume, or of another mapping with a volume source."""
    return _part_of_pod_spec(path, "volumes[]")


def config_map(path: str, keep: str = "") -> Use:
    """Return the use of a field that has the name of a ConfigMap."""
    patterns = (((), CONFIG_MAP),)
    return Use(shape=NAME, path=parse_pattern(path), patterns=patterns, keep=keep)


def secret(path: str, keep: str = "") -> Use:
    """Return the use of a field that has the name of a Secret."""
    patterns = (((), SECRET),)
    return Use(shape=NAME, path=parse_pattern(path), patterns=patterns, keep=keep)


def object_reference(path: str, default: GroupKind | None = None) -> Use:
    """Return the use of a mapping with `name`, and perhaps `kind` and `namespace`.

    default: the target if the mapping has no kind, None for every target.
    """
    return Use(shape=OBJECT_REFERENCE, path=parse_pattern(path), default_target=default)


def key_selectors(path: str) -> Use:
    """Return the use of every key selector below a path.

    A key selector is a mapping with `name` and `key`. The field name must contain `configMap` or
    `secret`, or the mapping must contain the kind of the target.
    """
    return Use(shape=KEY_SELECTORS, path=parse_pattern(path))


def everything(path: str, keep: str) -> Use:
    """Return the use of every reference below a path. postrender never rewrites the references."""
    return Use(shape=EVERYTHING, path=parse_pattern(path), keep=keep)


def written(use: Use) -> Use:
    """Return a use with `is_written`.

    By default, postrender does not rename the objects to which a program writes.
    """
    return use._replace(is_written=True)
