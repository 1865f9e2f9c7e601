"""Makes `tests` and `postrender` importable wherever pytest is started."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[1])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

# In a job of GitHub Actions the program would write its messages for that.
os.environ.pop("GITHUB_ACTIONS", None)

# In the controller of xdist too, which never loads the conftest of a folder below.
pytest_plugins = ["tests.e2e.absent", "tests.update_golden"]
