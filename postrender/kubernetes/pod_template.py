"""A pod template as text, split at the names of its references.

The render ID is a hash of the template's canonical JSON with the new names in all references.
read_pod_template encodes the JSON once, and splits the text at the references. The package `plan`
inserts the new names later. With plain data instead of text, a template would take five times the
memory, and postrender would encode each template twice.
"""

from __future__ import annotations

from postrender.kubernetes.annotations import RENDER_ID_ANNOTATION
from postrender.kubernetes.hashing import IGNORED_ANNOTATIONS, canonical_json, template_text
from postrender.records import NamedTuple
from postrender.yaml.paths import mapping_at, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from postrender.yaml.paths import Json, Path

_ANNOTATIONS = ("metadata", "annotations")
_IGNORED_PATHS = frozenset((*_ANNOTATIONS, annotation) for annotation in IGNORED_ANNOTATIONS)
# Shared by all templates without annotations.
_NO_ANNOTATIONS: dict[str, Json] = {}
# The mark for the position of a name. JSON does not escape DEL, and templates rarely contain DEL.
_MARK = "\x7f"


class PodTemplate(NamedTuple):
    """One pod template of a workload.

    path: the path of the template in the document.
    parts: the text of template_text(), split at the references.
    references: the path and name of each reference in the text, in the order of the text; () if
        the text is not split.
    annotations: all annotations of the template.
    has_render_id: whether the template in the input already has a render ID.
    """

    path: Path
    parts: tuple[str, ...]
    references: tuple[tuple[Path, str], ...]
    annotations: dict[str, Json]
    has_render_id: bool

    @property
    def data(self) -> Json:
        """The template in the input, as plain data."""
        import json  # late, because few charts need the decoded data

        data: dict[str, Any] = json.loads(self.text({}))
        if self.annotations:
            data.setdefault("metadata", {})["annotations"] = dict(self.annotations)
        return data

    def text(self, names: Mapping[Path, str]) -> str:
        """Return the text of template_text() with new names.

        names: the new names, by the path of the reference. All other references keep their names.
            The method ignores a path that is not in self.references.
        """
        texts = [self.parts[0]]
        for (path, old_name), part in zip(self.references, self.parts[1:], strict=True):
            name = names.get(path, old_name)
            texts += [canonical_json(name), part]
        return "".join(texts)


def read_pod_template(path: Path, data: Json, references: Iterable[Path]) -> PodTemplate:
    """Return the pod template at a path of a document.

    data: the template as plain data.
    references: the paths of the template's references in the document.
    """
    annotations = mapping_at(data, _ANNOTATIONS)
    names: dict[Path, str] = {}
    marked = data
    for reference in references:
        in_template = reference[len(path) :]
        name = value_at(data, in_template)
        if isinstance(name, str) and reference not in names and in_template not in _IGNORED_PATHS:
            marked = _replaced(marked, in_template, f"{_MARK}{len(names)}{_MARK}")
            names[reference] = name
    parts = template_text(marked).split(_MARK)
    paths = list(names)
    if len(parts) == 2 * len(paths) + 1:
        ordered_paths = [paths[int(number)] for number in parts[1::2]]
        texts = _without_quotes(parts[::2])
    else:  # the template contains _MARK
        ordered_paths = []
        texts = (template_text(data),)
    return PodTemplate(
        path=path,
        parts=texts,
        references=tuple((reference, names[reference]) for reference in ordered_paths),
        annotations=annotations or _NO_ANNOTATIONS,
        has_render_id=annotations.get(RENDER_ID_ANNOTATION) is not None,
    )


def _replaced(data: Any, path: Path, value: Json) -> Any:
    """Return a copy of data with another value at a path. The copy shares all other values."""
    if not path:
        return value
    copy = data.copy()
    copy[path[0]] = _replaced(copy[path[0]], path[1:], value)
    return copy


def _without_quotes(parts: list[str]) -> tuple[str, ...]:
    """Return the parts without the quotes around names, because text() adds names with quotes."""
    last = len(parts) - 1
    return tuple(
        part[(1 if number else 0) : (-1 if number < last else None)]
        for number, part in enumerate(parts)
    )
