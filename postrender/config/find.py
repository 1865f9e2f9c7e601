"""Where the configuration is."""

from __future__ import annotations

import os

FILE_NAME = "postrender.yaml"


def find_config(start: str) -> str:
    """Return the nearest postrender.yaml from a folder upward, as far as the first with .git.

    Nothing where there is none.
    """
    folder, above = start, ""
    while folder != above:
        candidate = os.path.join(folder, FILE_NAME)
        if os.path.isfile(candidate):
            return candidate
        if os.path.exists(os.path.join(folder, ".git")):
            return ""
        folder, above = os.path.dirname(folder), folder
    return ""
