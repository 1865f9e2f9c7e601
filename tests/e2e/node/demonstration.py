"""The demonstration of `make story`: a canary with real pods, with and without postrender.

python -m tests.e2e.node.demonstration
"""

from __future__ import annotations

import datetime
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tests.e2e.api import Api, Json
from tests.e2e.node.images import ImageError, archives
from tests.e2e.node.machine import obstacle
from tests.e2e.node.nodes import NodeCluster, RealNodes
from tests.e2e.node.peaks import Peaks
from tests.e2e.node.story import WAYS, Row, Shop, new_namespace, new_release, play
from tests.e2e.processes import StartError
from tests.e2e.programs import version
from tests.e2e.queries import attachers, owners, revisions

TOOL = "helm4"
INTRODUCTION = """\
A shop reads ConfigMaps in six ways. Release v2 changes all ConfigMaps, and its canary pauses:
one pod runs v1, one pod runs v2. The v1 pod crashes. Later somebody deletes the v1 pod.
The tables show what the process in each pod reads. The auto-mount is a feature of postrender.
"""
CONCLUSION = """\
Without postrender, a v1 pod that starts again runs the program of v1 with the configuration of v2.
With postrender, the pod reads the configuration of v1. The chart is in tests/e2e/node/chart.
"""
TITLE_WIDTH = 33


class Story(NamedTuple):
    """The rows of a played story, and facts about the story."""

    rows: list[Row]
    facts: list[str]


def play_story(nodes: RealNodes, folder: Path, has_postrender: bool) -> Story:
    """Play the story in a new namespace."""
    api = new_namespace(nodes.plane, "with" if has_postrender else "without")
    release = new_release(TOOL, nodes.plane, api, folder)
    release.postrender = has_postrender
    with Peaks(nodes.label) as peaks:
        rows = play(Shop(release, api, nodes.label))
    return Story(rows, facts(api, peaks) if has_postrender else [])


def facts(api: Api, peaks: Peaks) -> list[str]:
    """Return sentences about the owners of a revision, and about the attacher."""
    lines = ["The attacher, a Job that postrender adds, keeps the ConfigMaps of both releases:"]
    for revision in revisions(api):
        if {"file"} == set(revision["data"]):
            title = f"{revision['metadata']['name']} ({revision['data']['file']})"
            lines.append(f"  ConfigMap/{title} is owned by {' and '.join(owners(revision))}.")
    longest = max(map(duration, attachers(api)))
    lines.append(
        f"Each attacher ran as user {peaks.uid}, with at most {peaks.process / 1e6:.0f} MB, "
        f"and ended within {longest} s of the creation of its pod."
    )
    return lines


def duration(pod: Json) -> int:
    """Return the seconds from the creation of a pod to the end of its container."""
    [status] = pod["status"]["containerStatuses"]
    ended = status["state"]["terminated"]["finishedAt"]
    first, last = (
        datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ")
        for text in (pod["metadata"]["creationTimestamp"], ended)
    )
    return (last - first).seconds


def table(title: str, rows: list[Row]) -> str:
    """Return the rows of a story as a table."""
    widths = [max(len(way), 2) + 2 for way in WAYS]
    lines = [title.ljust(TITLE_WIDTH) + _cells(list(WAYS), widths)]
    for row in rows:
        cells = _cells([row.values.get(way, "-") for way in WAYS], widths)
        verdict = "ok" if row.is_consistent else f"WRONG, expected {row.release}"
        lines.append(f"  {row.title}".ljust(TITLE_WIDTH) + cells + verdict)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _cells(words: list[str], widths: list[int]) -> str:
    return "".join(word.ljust(width) for word, width in zip(words, widths, strict=True))


def versions() -> str:
    """Return the names and versions of the programs."""
    numbers = {"Kubernetes": version("kubernetes"), "Helm": version(TOOL)}
    shown = [f"{name} {'.'.join(map(str, parts))}" for name, parts in numbers.items()]
    for name in ("containerd", "runc"):
        done = subprocess.run([name, "--version"], capture_output=True, text=True)
        found = re.search(r"\d+(\.\d+)+", done.stdout)
        shown.append(f"{name} {found.group() if found else '?'}")
    return ", ".join(shown)


def main() -> int:
    """Play both stories at the same time, and print them."""
    if problem := obstacle():
        print(f"make story: {problem}", file=sys.stderr)
        return 1
    try:
        print("preparing the images (two minutes the first time) ...", file=sys.stderr, flush=True)
        images = archives()
        began = time.monotonic()
        print(INTRODUCTION, flush=True)
        with tempfile.TemporaryDirectory(prefix="postrender-story-") as name:
            without, with_postrender = _play_both(Path(name), images)
    except (ImageError, StartError, AssertionError) as error:
        print(f"make story: {error}", file=sys.stderr)
        return 1
    print(table("Without postrender", without.rows))
    print(table("With postrender", with_postrender.rows))
    print(CONCLUSION)
    print("\n".join(with_postrender.facts))
    print(f"\n{versions()}. {time.monotonic() - began:.0f} s in all.")
    return 0


def _play_both(folder: Path, images: list[Path]) -> list[Story]:
    with NodeCluster(folder / "plane", images) as cluster, ThreadPoolExecutor() as pool:
        nodes = RealNodes(cluster.plane, cluster.label)
        stories = [
            pool.submit(play_story, nodes, folder / str(has_postrender), has_postrender)
            for has_postrender in (False, True)
        ]
        return [story.result() for story in stories]


if __name__ == "__main__":
    sys.exit(main())
