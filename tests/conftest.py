"""Makes `tests` and `postrender` importable wherever pytest is started."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[1])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

# In the controller of xdist too, which never loads the conftest of a folder below.
pytest_plugins = ["tests.e2e.absent"]
