"""The measurements: each public function yields the rows of one `--only` name."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.attach import api_server, arguments_of
from benchmarks.chart import COMPONENTS, chart
from benchmarks.crds import CONFIG_MAPS, crds
from benchmarks.generate import Stream, write_stream
from benchmarks.kustomize import write_kustomization
from benchmarks.many import many
from benchmarks.measure import Command, in_turn, instructions, once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

ROOT = Path(__file__).resolve().parents[1]
MEGA = 1_000_000

_SCRIPT = Path(sys.executable).with_name("postrender")
# The script that pip installs, run by this interpreter.
POSTRENDER = (
    (sys.executable, str(_SCRIPT)) if _SCRIPT.exists() else (sys.executable, "-m", "postrender")
)

# A typical configuration file, with the image and a rule.
_CONFIGURATION = """\
namespace: prod
attacher:
  image: registry.example.com/postrender:1
rules:
- match: {kind: ConfigMap, name: "*-dashboard"}
  strategy: ignore
"""
# Short processes vary more, so they are repeated three times as often.
_OFTEN = 3


@dataclass(frozen=True)
class Bench:
    """The folder for the streams, and how often each process runs."""

    folder: Path
    runs: int

    def stream(self, name: str, documents: Iterable[str]) -> Stream:
        """Write a stream into the folder."""
        return write_stream(documents, self.folder / f"{name}.yaml")

    def many(self, count: int, services: bool = True, changed: int = 0) -> Stream:
        """Write a stream of `many` into the folder."""
        name = f"many-{count}-{services}-{changed}"
        return self.stream(name, many(count, services, changed))


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table.

    target: the largest ratio that is good enough
    instructions: the number of executed instructions
    note: why the row has no figures
    """

    what: str
    ours: str = ""
    other: str = ""
    ratio: float | None = None
    target: float | None = None
    instructions: int | None = None
    note: str = ""

    @property
    def is_missed(self) -> bool:
        """True if the ratio is above the target."""
        return self.ratio is not None and self.target is not None and self.ratio > self.target


def _timed(
    bench: Bench, what: str, ours: Command, other: Command, target: float | None = None
) -> Row:
    comparison = in_turn(ours, other, bench.runs, bench.folder)
    return Row(
        what=what,
        ours=f"{comparison.ours.seconds:.3f} s",
        other=f"{comparison.other.seconds:.3f} s",
        ratio=comparison.ratio,
        target=target,
    )


def _alone(bench: Bench, what: str, ours: Command) -> Row:
    """Measure a command that no other program matches; the count tells commits apart."""
    once(ours, bench.folder)
    seconds = median(once(ours, bench.folder).seconds for _ in range(bench.runs * _OFTEN))
    count = instructions(ours, bench.folder) if shutil.which("valgrind") else None
    return Row(what, ours=f"{seconds:.3f} s", instructions=count)


def _render(stream: Stream, revisions: int, *arguments: str) -> Command:
    return Command((*POSTRENDER, *arguments), stream.path, revisions)


def start_up(bench: Bench) -> Iterator[Row]:
    """Yield the rows for small inputs; most of their time is start-up."""
    three = bench.many(3)
    configuration = bench.folder / "postrender.yaml"
    configuration.write_text(_CONFIGURATION)
    yield _alone(bench, "render 3 ConfigMaps", _render(three, 3))
    configured = _render(three, 3, f"--config={configuration}")
    yield _alone(bench, "render 3 with a configuration file", configured)
    objects = _render(bench.stream("chart", chart()), len(COMPONENTS))
    yield _alone(bench, "render a chart of 150 objects", objects)
    sides = (str(bench.many(3).path), str(bench.many(3, changed=1).path))
    yield _alone(bench, "diff of 3", Command((*POSTRENDER, "diff", *sides)))


def helm(bench: Bench) -> Iterator[Row]:
    """Yield the row for the time that a user of Helm waits."""
    what = "helm template with the post-renderer / without"
    program = _program("helm", "helm3")
    if not program:
        yield Row(what, note="skipped: no Helm 3 on PATH or in .cache/e2e")
        return
    plain = (*program, "template", "shop", str(ROOT / "examples" / "chart"))
    ours = Command((*plain, "--post-renderer", str(_SCRIPT)))
    yield _timed(Bench(bench.folder, bench.runs * _OFTEN), what, ours, Command(plain), 1.9)


def argocd(bench: Bench) -> Iterator[Row]:
    """Yield the row for the CPU time of an Application in the sidecar of Argo CD."""
    what = "CPU of the Argo CD plugin, 21 objects / `helm template`"
    program = _program("helm", "helm4")
    if not program:
        yield Row(what, note="skipped: no Helm on PATH or in .cache/e2e")
        return
    chart, programs = bench.folder / "application", bench.folder / "programs"
    (chart / "templates").mkdir(parents=True)
    programs.mkdir()
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: shop\nversion: 1.0.0\n")
    shutil.copy(bench.many(7).path, chart / "templates")
    (programs / "helm").symlink_to(program[0])
    (programs / "python").symlink_to(sys.executable)
    (programs / "postrender").symlink_to(_SCRIPT)
    script = ROOT / "examples" / "argocd" / "postrender-argocd"
    both = 'cd "$1" && "$2" init && "$2" generate'
    variables = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "TMPDIR": str(bench.folder),
        "ARGOCD_APP_NAME": "shop",
        "ARGOCD_APP_NAMESPACE": "prod",
        "KUBE_VERSION": "1.36.0",
        "KUBE_API_VERSIONS": "v1,apps/v1",
    }
    ours = Command(
        ("bash", "-c", both, "bash", str(chart), str(script)),
        revisions=7,
        variables=tuple(variables.items()),
    )
    other = Command((*program, "template", "shop", str(chart)))
    comparison = in_turn(ours, other, bench.runs * _OFTEN, bench.folder)
    yield Row(
        what=what,
        ours=f"{comparison.ours.cpu:.3f} s",
        other=f"{comparison.other.cpu:.3f} s",
        ratio=comparison.cpu_ratio,
        target=2.6,
    )


def large(bench: Bench) -> Iterator[Row]:
    """Yield the rows for a large stream, compared with its parser alone."""
    stream = bench.many(1000)
    ours = _render(stream, 1000)
    compose = Command((sys.executable, "-m", "benchmarks.compose"), stream.path)
    yield _timed(bench, "render 1,000 / compose its relevant documents", ours, compose, 1.6)
    events = Command((sys.executable, "-m", "benchmarks.events"), stream.path)
    yield _timed(bench, "render 1,000 / libyaml's events and I/O", ours, events, 6.5)


def kustomize(bench: Bench) -> Iterator[Row]:
    """Yield the row for equal revisions, compared with kustomize's generator."""
    what = "render 1,000 / `kubectl kustomize`"
    program = _program("kubectl", "kubernetes")
    if not program:
        yield Row(what, note="skipped: no kubectl on PATH or in .cache/e2e")
        return
    folder = bench.folder / "kustomize"
    write_kustomization(1000, folder)
    other = Command((*program, "kustomize", str(folder)), revisions=1000, limit=2)
    yield _timed(bench, what, _render(bench.many(1000, services=False), 1000), other, 0.02)


def growth(bench: Bench) -> Iterator[Row]:
    """Yield the row for 10,000 ConfigMaps, compared with 1,000 ConfigMaps."""
    middle, most = (_render(bench.many(count), count) for count in (1000, 10_000))
    yield _timed(bench, "render 10,000 / render 1,000", most, middle, 10.5)


def definitions(bench: Bench) -> Iterator[Row]:
    """Yield the rows for streams of CRDs, which postrender copies almost without cost."""
    small = _render(bench.stream("crds", crds()), CONFIG_MAPS)
    yield _alone(bench, "render 2 MB of CRDs", small)
    stream = bench.stream("crds-20", crds(10))
    copied = Command((sys.executable, "-m", "benchmarks.pipe"), stream.path)
    what = "render 20 MB of CRDs / read, decode, encode, write"
    yield _timed(bench, what, _render(stream, CONFIG_MAPS), copied, 2.5)


def preview(bench: Bench) -> Iterator[Row]:
    """Yield the rows for a preview, compared with dyff, a diff program for manifests."""
    program = _program("dyff", "dyff")
    for what, changed, target in (("a tenth", 10, 0.7), ("all", 1, 1.3)):
        label = f"diff, {what} of 1,000 changed / `dyff between`"
        if not program:
            yield Row(label, note="skipped: no dyff on PATH or in .cache/e2e")
            continue
        sides = [str(bench.many(1000, changed=nth).path) for nth in (0, changed)]
        objects = 3 * 1000 // changed
        other = Command((*program, "between", "--omit-header", *sides), objects=objects)
        ours = Command((*POSTRENDER, "diff", *sides), objects=objects)
        yield _timed(bench, label, ours, other, target)


def memory(bench: Bench) -> Iterator[Row]:
    """Yield the rows for the peak memory of one run, compared with a stream of 100 MB."""
    emoji = chain(("# \N{GRINNING FACE}\n",), crds(50))
    yield _peak(bench, "untouched", bench.stream("crds-100", crds(50)), CONFIG_MAPS, 2.2)
    yield _peak(bench, "untouched, with an emoji", bench.stream("emoji", emoji), CONFIG_MAPS, 2.2)
    yield _peak(bench, "all documents relevant", bench.many(48_000), 48_000, 8)


def _peak(bench: Bench, what: str, stream: Stream, revisions: int, target: float) -> Row:
    peak = once(_render(stream, revisions), bench.folder).peak
    stream.path.unlink()
    ours, other = (f"{size / MEGA:.0f} MB" for size in (peak, stream.size))
    return Row(
        what=f"peak memory, 100 MB, {what} / stream",
        ours=ours,
        other=other,
        ratio=peak / stream.size,
        target=target,
    )


def attach(bench: Bench) -> Iterator[Row]:
    """Yield the rows for the attacher, with a stand-in for the API server."""
    what = "attach 1 ConfigMap / import its client"
    try:
        import lightkube  # noqa: F401
    except ImportError:
        yield Row(what, note="skipped: postrender[attach] is not installed")
        return
    client = Command((sys.executable, "-c", "import httpx2, lightkube"))
    with api_server(1, bench.folder) as small, api_server(500, bench.folder) as big:
        yield _timed(bench, what, _attach(1, small), client)
        what = "attach 500 ConfigMaps / attach 1"
        yield _timed(bench, what, _attach(500, big), _attach(1, small))


def _attach(count: int, kubeconfig: Path) -> Command:
    arguments = (*POSTRENDER, *arguments_of(count))
    return Command(arguments, variables=(("KUBECONFIG", str(kubeconfig)),))


def _program(name: str, built: str) -> tuple[str, ...]:
    """Return the command of a program, or () if there is none.

    name: the program to find on PATH
    built: the file name of the program in the folder of the end-to-end tests
    """
    program = shutil.which(name)
    if program:
        return (program,)
    folder = Path(os.environ.get("POSTRENDER_E2E") or ROOT / ".cache" / "e2e", "bin").resolve()
    program = shutil.which(built, path=str(folder))
    # The binary `kubernetes` has a subcommand for each program of Kubernetes.
    subcommand = (name,) if built == "kubernetes" else ()
    return (program, *subcommand) if program else ()


ROWS: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "start-up": start_up,
    "helm": helm,
    "argocd": argocd,
    "large": large,
    "kustomize": kustomize,
    "growth": growth,
    "crds": definitions,
    "preview": preview,
    "memory": memory,
    "attach": attach,
}
