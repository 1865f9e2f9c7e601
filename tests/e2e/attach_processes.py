"""Processes of `postrender attach`, with the arguments and account of the rendered Job."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

from tests.e2e.accounts import account_kubeconfig
from tests.e2e.api import KINDS, Api, ApiError, Json
from tests.e2e.cluster import ControlPlane
from tests.e2e.programs import ROOT

# A run that takes longer is considered to hang.
HANG_SECONDS = 300
T = TypeVar("T")
Item = TypeVar("Item")
_numbers = itertools.count(1)


class Run:
    """One process of `postrender attach`."""

    def __init__(self, process: subprocess.Popen[bytes], file: Path) -> None:
        self.process, self._file = process, file
        self._started = time.monotonic()
        self.seconds = 0.0
        self.peak_mb = 0.0

    @property
    def log(self) -> str:
        """The output so far."""
        return self._file.read_text()

    @property
    def messages(self) -> list[tuple[str, str]]:
        """The log lines, as (level, message)."""
        lines = [json.loads(line) for line in self.log.splitlines() if line.startswith("{")]
        return [(line["level"], line["msg"]) for line in lines]

    def errors(self, level: str = "error") -> list[str]:
        """Return the messages of a level."""
        return [text for line_level, text in self.messages if line_level == level]

    @property
    def code(self) -> int:
        """The exit code; reading it waits for the end of the process."""
        deadline = time.monotonic() + HANG_SECONDS
        while self.process.poll() is None:
            self.peak_mb = max(self.peak_mb, _peak(self.process.pid))
            if time.monotonic() > deadline:
                self.process.kill()
                raise AssertionError(f"the process still runs after {HANG_SECONDS} s\n{self.log}")
            time.sleep(0.005)
        self.seconds = self.seconds or time.monotonic() - self._started
        assert "Traceback" not in self.log, self.log
        return self.process.returncode

    def until(self, text: str) -> Run:
        """Wait until the process has printed a text."""
        deadline = time.monotonic() + HANG_SECONDS
        while text not in self.log:
            is_over = self.process.poll() is not None or time.monotonic() > deadline
            assert not is_over or text in self.log, f"never printed {text!r}\n{self.log}"
            time.sleep(0.01)
        return self

    def kill(self) -> None:
        """Kill the process with SIGKILL."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def _peak(pid: int) -> float:
    """Return the peak memory of a process, in MB."""
    with contextlib.suppress(OSError):
        match = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
        return int(match[1]) / 1024 if match else 0.0
    return 0.0


class Runner:
    """Starts runs in one namespace; the default account is the attach group's ServiceAccount."""

    def __init__(self, plane: ControlPlane, namespace: str, folder: Path) -> None:
        self.plane, self.api, self.folder = plane, plane.api(namespace), folder
        folder.mkdir(parents=True, exist_ok=True)

    def start(self, arguments: list[str], url: str = "", account: str = "") -> Run:
        """Start a run; `url` overrides the address of the API server."""
        account = account or arguments[arguments.index("--group") + 1]
        number = next(_numbers)
        access = self.folder / f"kubeconfig-{number}"
        access.write_text(account_kubeconfig(self.plane, self.api, account, url))
        env = {
            "PATH": os.environ.get("PATH", os.defpath),
            "PYTHONPATH": str(ROOT),
            "KUBECONFIG": str(access),
            "IS_IN_CLUSTER": "false",
        }
        file = self.folder / f"log-{number}"
        with file.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "postrender", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=env,
                start_new_session=True,
            )
        return Run(process, file)

    def run(self, arguments: list[str], url: str = "", account: str = "") -> Run:
        """Start a run and wait for its end."""
        run = self.start(arguments, url, account)
        assert run.code is not None
        return run


def arguments_of(objects: Iterable[Json], **changed: str) -> list[str]:
    """Return the arguments of the only attacher Job among objects, with some options changed.

    Example: `arguments_of(objects, timeout="3s", on_failure="fail")`.
    """
    jobs = [obj for obj in objects if obj["kind"] == "Job" and "attach" in obj["metadata"]["name"]]
    assert len(jobs) == 1
    arguments = list(jobs[0]["spec"]["template"]["spec"]["containers"][0]["args"])
    for option, value in changed.items():
        arguments[arguments.index("--" + option.replace("_", "-")) + 1] = value
    return arguments


def parse(text: str) -> list[Json]:
    """Return the objects of rendered manifests."""
    from ruamel.yaml import YAML

    return [obj for obj in YAML(typ="safe").load_all(text) if obj]


def create_all(api: Api, objects: Iterable[Json]) -> None:
    """Create or replace objects, except Jobs, which would run attachers."""
    in_parallel(partial(put, api), [obj for obj in objects if obj["kind"] != "Job"])


def put(api: Api, obj: Json) -> Json:
    """Create an object, or merge it into the existing one (a merge patch)."""
    try:
        return api.create(obj)
    except ApiError as error:
        if error.status != 409:
            raise
    return api.patch(obj["kind"], obj["metadata"]["name"], obj)


def in_parallel(work: Callable[[Item], T], items: Iterable[Item], workers: int = 8) -> list[T]:
    """Call a function for each item, several at a time; raise the first error."""
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, items))


def events_on(api: Api, kind: str, name: str, reason: str = "AttachFailed") -> list[str]:
    """Return the messages of the Events about a workload with one reason.

    The selector is that of `kubectl describe`: the uid is included if the workload exists.
    """
    involved = api.find(kind, name) if kind in KINDS else None
    fields = {
        "involvedObject.kind": kind,
        "involvedObject.name": name,
        "involvedObject.uid": involved["metadata"]["uid"] if involved else "",
    }
    selector = ",".join(f"{key}={value}" for key, value in fields.items() if value)
    events = api.list("Event", fields=selector)
    return [event["message"] for event in events if event["reason"] == reason]
