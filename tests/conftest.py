"""Setup of all tests: imports, environment and plugins, from wherever pytest is started."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

ROOT = str(Path(__file__).resolve().parents[1])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

from tests.effort import IS_FUZZ, examples  # noqa: E402

# In a job of GitHub Actions, the program would print its messages as workflow commands.
os.environ.pop("GITHUB_ACTIONS", None)

# Many tests start the program, which takes four times as long without compiled modules.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A busy machine is slow, so no property fails on the clock. Each run draws the same examples, so
# that no merge is refused by chance. `make fuzz` draws random examples.
settings.register_profile(
    "postrender",
    deadline=None,
    derandomize=not IS_FUZZ,
    max_examples=examples(200),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("postrender")

pytest_plugins = ["tests.rings", "tests.update_golden"]
