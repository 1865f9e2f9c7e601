"""Programs that read a ConfigMap by a well-known name.

A well-known name is fixed in the source code of a program, so the manifests do not show that the
program reads the ConfigMap. To add a name, add a line to well_known_names.txt. A line has three
parts, separated by semicolons: the name or a glob, the program, and a source file that contains the
name. If the name depends on the release name, add a chart glob and a slash before the name, as in
`jupyterhub-[0-9]*/*hub`. The chart glob matches the label `helm.sh/chart`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache

from postrender.kubernetes.kinds import CONFIG_MAP, Identity

_CHART_LABEL = "helm.sh/chart"
# The import of pathlib would take a tenth of the time of a small render.
_FILE = os.path.join(os.path.dirname(__file__), "well_known_names.txt")


@cache
def _names() -> tuple[dict[str, str], list[tuple[str, str, str]], tuple[str, ...]]:
    """The line of each name without a wildcard, the globs, and the prefixes of the globs.

    A glob has three parts: the text before the first wildcard, the whole text, and the program.
    """
    with open(_FILE, encoding="utf-8") as file:
        lines = {line.partition(";")[0]: line for line in file if not line.startswith("#")}
    globs = []
    for name in [name for name in lines if "*" in name or "[" in name]:
        prefix = name.partition("*")[0].partition("[")[0]
        globs.append((prefix, name, _program_in(lines.pop(name))))
    return lines, globs, tuple(prefix for prefix, _, _ in globs)


def _program_in(line: str) -> str:
    return line.split(";")[1].strip()


def well_known_reader(identity: Identity, labels: Mapping[str, str]) -> str:
    """The program that reads an object by its well-known name, "" if there is none."""
    if identity.group_kind != CONFIG_MAP:
        return ""
    name, (lines, globs, prefixes) = identity.name, _names()
    if name in lines:
        return _program_in(lines[name])
    name_in_chart = f"{labels.get(_CHART_LABEL, '')}/{name}"
    if not (name.startswith(prefixes) or name_in_chart.startswith(prefixes)):
        return ""  # Nearly every name leads to this line.
    for prefix, glob, program in globs:
        text = name_in_chart if "/" in glob else name
        # Compare the prefix first, because the first use of a glob compiles a pattern.
        if text.startswith(prefix) and fnmatchcase(text, glob):
            return program
    return ""
