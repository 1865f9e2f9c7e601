"""The search for the configuration file."""

from __future__ import annotations

import os

FILE_NAME = "postrender.yaml"


def find_config(start: str) -> str:
    """Return the nearest postrender.yaml at or above a folder, "" if there is none.

    The search stops at the first folder that has .git.
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
