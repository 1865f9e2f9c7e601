"""The key `extends` of a configuration file: the check of the extended file, and the merge.

If postrender found a file without --config or POSTRENDER_CONFIG, the file may extend only a YAML
file in its own repository. The extended file has the same rights as the file that extends it.
"""

from __future__ import annotations

import os

from postrender.config.find import is_inside, is_owner_trusted
from postrender.config.trust import FULL
from postrender.errors import UserError
from postrender.kubernetes.named_lists import merge_by_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from postrender.config.trust import Source
    from postrender.errors import Location
    from postrender.yaml.paths import Json, Path

_ENDINGS = (".yaml", ".yml")
_POD_TEMPLATE = ("attacher", "podTemplate")


def extended_file(
    value: str, file: str, earlier: Sequence[str], source: Source, location: Location
) -> str:
    """Return the path of the file that `file` extends.

    value: the value of `extends` in `file`; location: the location of the value;
    earlier: the configuration files that postrender has already read; the last file is `file`;
    source: the source of the first file in `earlier`.
    Raises UserError for a path that `source` may not extend, or that is not a file. Also raises
    UserError for a file in `earlier`. If `source` does not have full trust, a file of another user
    is also an error.
    """
    path = os.path.normpath(os.path.join(os.path.dirname(file), value))
    if source.trust < FULL and not _is_permitted(path, source):
        raise UserError(
            f"the extended file is {path}, expected a YAML file in the repository of {source.name}",
            f"Fix the path. If you trust the whole file, pass --config {source.file}",
            location,
        )
    if not os.path.isfile(path):
        raise UserError(
            f"the extended file {path} is a folder"
            if os.path.isdir(path)
            else f"the extended file {path} does not exist",
            f"Fix the path, which is relative to the folder of {file}",
            location,
        )
    if source.trust < FULL and not is_owner_trusted(path):
        raise UserError(
            f"the extended file {path} belongs to another user",
            f"If you trust both files, pass --config {source.file}",
            location,
        )
    if any(os.path.samefile(path, other) for other in earlier):
        chain = " -> ".join([*earlier, path])
        raise UserError(
            f"the file extends itself ({chain})",
            "Delete the key `extends` from one of these files",
            location,
        )
    return path


def _is_permitted(path: str, source: Source) -> bool:
    """Return whether a discovered file may extend a path. The file at the path can be missing.

    The path and its target (after links are followed) must both end in .yaml or .yml. The target
    must be in the repository, and outside of every folder `.git`.
    """
    if "\0" in path:  # realpath raises ValueError
        return False
    real = os.path.realpath(path)
    return (
        bool(source.repository)
        and path.endswith(_ENDINGS)
        and real.endswith(_ENDINGS)
        and is_inside(path, source.repository)
        and ".git" not in os.path.relpath(real, os.path.realpath(source.repository)).split(os.sep)
    )


def merge_extended(base: Json, own: Json, path: Path = ()) -> Json:
    """Return the value `own` of a file, merged with the value `base` of the extended file.

    The function merges mappings by key. In `attacher.podTemplate`, the function merges lists by the
    names of their items, if every item has a name. Elsewhere, the function joins lists without
    duplicates, and `own` is first, because the first matching rule applies. In every other case,
    `own` replaces `base`.
    path: the path of both values in the configuration.
    """
    if isinstance(base, dict) and isinstance(own, dict):
        merged = dict(base)
        for key, value in own.items():
            merged[key] = merge_extended(base[key], value, (*path, key)) if key in base else value
        return merged
    if not (isinstance(base, list) and isinstance(own, list)):
        return own
    if path[: len(_POD_TEMPLATE)] != _POD_TEMPLATE:
        return [*own, *(item for item in base if item not in own)]
    merged_items = merge_by_name(base, own, lambda item, other: merge_extended(item, other, path))
    return own if merged_items is None else merged_items
