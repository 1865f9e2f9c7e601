"""The key `extends` of a configuration file: the checks of the path, and the merge of the files.

A configuration file from --config or POSTRENDER_CONFIG may extend any file. A discovered file may
extend only a YAML file in the same repository. This YAML file must belong to root or to the user.
The extended file has the trust of the file that extends it (see the module `trust`).
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

    value: the value of `extends` in `file`.
    earlier: the configuration files that postrender has read, in order. The last file is `file`.
    source: the source of the first file.
    location: the location of the value.
    Raises UserError if the path is not a file, or if `earlier` contains the file. If the trust of
    the source is below FULL, also raises UserError if _is_permitted or is_owner_trusted rejects the
    path.
    """
    path = os.path.normpath(os.path.join(os.path.dirname(file), value))
    if source.trust < FULL and not _is_permitted(path, source):
        raise UserError(
            f"the extended file is {path}, expected a YAML file in the repository "
            f"{source.repository}",
            f"Fix the path. If you trust both files, pass --config {source.file}",
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
            f"If you trust both files, pass --config {source.file}. Otherwise delete `extends`",
            location,
        )
    if any(os.path.samefile(path, other) for other in earlier):
        chain = " -> ".join([*earlier, path])
        raise UserError(
            f"the key `extends` leads back to an earlier file ({chain})",
            "Delete the key `extends` from one of these files",
            location,
        )
    return path


def _is_permitted(path: str, source: Source) -> bool:
    """Return whether a discovered file may extend the file at a path. The file can be missing.

    The target is the path after the resolution of links. The path and the target must both end in
    .yaml or .yml. The target must be in the repository, and outside of every folder `.git`.
    """
    if "\0" in path:  # realpath would raise ValueError
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
    """Return a value of a file, merged with the value of the extended file.

    base: the value of the extended file.
    own: the value of the file that has the key `extends`.
    path: the path of both values in the configuration.

    The function merges mappings by key. In `attacher.podTemplate`, the function merges lists by the
    names of their items, if every item has a name. Outside of `attacher.podTemplate`, the function
    appends to a list in `own` the items that only `base` has. The items of `own` must be first,
    because postrender applies the first matching rule. In every other case, `own` replaces `base`.
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
