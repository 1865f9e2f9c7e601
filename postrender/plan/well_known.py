"""Well-known names: names of ConfigMaps that are fixed in the source code of a program.

The manifests do not show that the program reads the ConfigMap.

The file well_known_names.txt has a line for each name. A line has three parts: the name or a
glob, the program, and a source file that contains the name. Semicolons separate the parts. To add a
name, add a line. If the name depends on the release name, add a chart glob and a slash before the
name, as in `jupyterhub-[0-9]*/*hub`. The chart glob matches the label `helm.sh/chart`.
"""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from functools import cache

from postrender.kubernetes.kinds import CONFIG_MAP, Identity
from postrender.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_CHART_LABEL = "helm.sh/chart"
# The import of pathlib would take a tenth of the time of a small render.
_FILE = os.path.join(os.path.dirname(__file__), "well_known_names.txt")


class _Glob(NamedTuple):
    """A glob for names.

    prefix: the text before the first special character.
    program: the program that reads the matching ConfigMaps.
    """

    text: str
    prefix: str
    program: str


class _Names(NamedTuple):
    """The well-known names.

    lines: the unsplit line of each name that is not a glob.
    prefixes: the prefixes of the globs.
    """

    lines: dict[str, str]
    globs: tuple[_Glob, ...]
    prefixes: tuple[str, ...]


@cache
def _names() -> _Names:
    with open(_FILE, encoding="utf-8") as file:
        lines = {line.partition(";")[0]: line for line in file if not line.startswith("#")}
    globs = []
    for name in [name for name in lines if "*" in name or "[" in name]:
        prefix = name.partition("*")[0].partition("[")[0]
        globs.append(_Glob(name, prefix, _program_in(lines.pop(name))))
    return _Names(lines, tuple(globs), tuple(glob.prefix for glob in globs))


def _program_in(line: str) -> str:
    return line.split(";")[1].strip()


def well_known_reader(identity: Identity, labels: Mapping[str, str]) -> str:
    """Return the program that reads an object by its well-known name, "" if there is none."""
    if identity.group_kind != CONFIG_MAP:
        return ""
    name, names = identity.name, _names()
    if name in names.lines:
        return _program_in(names.lines[name])
    name_in_chart = f"{labels.get(_CHART_LABEL, '')}/{name}"
    if not (name.startswith(names.prefixes) or name_in_chart.startswith(names.prefixes)):
        return ""  # Nearly every name leads to this line.
    for glob in names.globs:
        text = name_in_chart if "/" in glob.text else name
        # Compare the prefix first, because the first use of a glob compiles a pattern.
        if text.startswith(glob.prefix) and fnmatchcase(text, glob.text):
            return glob.program
    return ""
