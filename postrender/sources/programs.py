"""The search for other programs on PATH, without the working directory."""

from __future__ import annotations

import os

# The endings of programs on Windows, without those of batch files, because a shell would interpret
# the arguments of a batch file.
_WINDOWS_ENDINGS = (".exe", ".com")
_IS_WINDOWS = os.name == "nt"


def find_program(name: str) -> str | None:
    """Return the absolute path of a program on PATH, None if no folder of PATH has the program.

    The working directory can be a repository of somebody else. The function therefore skips
    relative folders of PATH. Unlike shutil.which, the function also skips the working directory on
    Windows.
    """
    endings = _WINDOWS_ENDINGS if _IS_WINDOWS else ()
    has_ending = not endings or name.lower().endswith(endings)
    files = [name] if has_ending else [name + ending for ending in endings]
    for folder in os.get_exec_path():
        if not os.path.isabs(folder):
            continue
        for file in files:
            path = os.path.join(folder, file)
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return path
    return None
