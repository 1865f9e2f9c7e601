"""The memory of an attacher's container and of its process, sampled while the container runs."""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path
from types import TracebackType

from tests.e2e.node.machine import CGROUPS

# The highest use of a cgroup, in versions 1 and 2.
FILES = ("memory.max_usage_in_bytes", "memory.peak")
PAUSE_SECONDS = 0.002


class Peaks:
    """A context manager that samples the attachers on the nodes of a cluster.

    `container` is the peak of the largest container in bytes, with the page cache. `process` is
    the peak of its process, and `uid` is the user of the process.
    """

    def __init__(self, label: str) -> None:
        self.container = self.process = self.uid = 0
        self._label = label
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Peaks:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopped.set()
        self._thread.join()

    def _sample(self) -> None:
        root = CGROUPS / "memory" if (CGROUPS / "memory").is_dir() else CGROUPS
        while not self._stopped.is_set():
            # Cgroups and processes disappear at any time.
            with contextlib.suppress(OSError):
                for pids in root.glob(f"{self._label}-*/kubepods/**/cgroup.procs"):
                    with contextlib.suppress(OSError, ValueError, LookupError):
                        self._look(pids)
            time.sleep(PAUSE_SECONDS)

    def _look(self, pids: Path) -> None:
        for pid in pids.read_text().split():
            process = Path("/proc", pid)
            if b"\0attach\0" not in (process / "cmdline").read_bytes():
                continue
            lines = (process / "status").read_text().splitlines()
            status = dict(line.split(":", 1) for line in lines)
            self.uid = int(status["Uid"].split()[0])
            self.process = max(self.process, 1024 * int(status["VmHWM"].split()[0]))
            for name in FILES:
                file = pids.with_name(name)
                if file.exists():
                    self.container = max(self.container, int(file.read_text()))
