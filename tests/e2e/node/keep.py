"""The cluster of `make cluster`: one real node with Argo Rollouts, until Ctrl-C.

python -m tests.e2e.node.keep [IMAGE.tar ...]
"""

from __future__ import annotations

import shlex
import signal
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from tests.e2e.node.images import ImageError, archives
from tests.e2e.node.machine import obstacle
from tests.e2e.node.nodes import NodeCluster
from tests.e2e.plugins import write_script
from tests.e2e.processes import StartError
from tests.e2e.programs import program

MANUAL = """\
The cluster is ready, with Argo Rollouts and the image of postrender. In another terminal, run:

  export KUBECONFIG={kubeconfig} PATH={programs}:$PATH

PATH then has this Helm 4 and this kubectl. Ctrl-C here deletes the cluster.
"""


def write_programs(folder: Path) -> Path:
    """Write helm and kubectl into a folder, as users call them, and return the folder."""
    folder.mkdir()
    (folder / "helm").symlink_to(program("helm4"))
    kubernetes = shlex.quote(program("kubernetes"))
    write_script(folder / "kubectl", f'exec {kubernetes} kubectl "$@"')
    return folder


def keep(folder: Path, images: Sequence[Path], end: threading.Event) -> None:
    """Run a cluster until the end, and print how to use the cluster."""
    with NodeCluster(folder / "plane", images) as cluster:
        programs = write_programs(folder / "bin")
        print(MANUAL.format(kubeconfig=cluster.plane.kubeconfig, programs=programs), flush=True)
        end.wait()
        print("deleting the cluster ...", file=sys.stderr, flush=True)


def main(files: Sequence[str]) -> int:
    """Run the cluster; files: archives of further images."""
    problem = obstacle()
    missing = [file for file in files if not Path(file).is_file()]
    if missing and not problem:
        problem = f"{missing[0]} is not a file. Pass the archives of images: make cluster IMAGES=…"
    if problem:
        print(f"make cluster: {problem}", file=sys.stderr)
        return 1
    end = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: end.set())
    try:
        print("preparing the images (two minutes the first time) ...", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="postrender-cluster-") as name:
            keep(Path(name), [*archives(), *map(Path, files)], end)
    except (ImageError, StartError) as error:
        print(f"make cluster: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
