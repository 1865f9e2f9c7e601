"""Build the real programs that the end-to-end tests run, from the Go module proxy.

    python -m tests.e2e.build [CELL ...]

Without arguments this builds the version of each tool that CI runs. The folder `bin` in the build
folder has links to the programs. versions.yaml has the versions and the cells. The script needs
Go, and Go downloads the version of Go that versions.yaml asks for. The first build takes about 25
minutes on two cores. Nothing is built again while the files that a program is built from are
unchanged.

To add a version of a tool, add it to versions.yaml. If the tool has a folder, copy the file
VERSION.mod of another version there, change the versions, and run `go mod tidy
-modfile=VERSION.mod`. Then run `make matrix CELL=TOOL-VERSION` and `make docs`, and commit
results.yaml. If a test fails because the tool has changed, add the version to the row of the test
in tests/e2e/BEHAVIOUR.md (*since 3.22*), and use `version` from programs.py in the test.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.e2e.programs import folder, folder_of
from tests.e2e.versions import HERE, Cell, defaults, selected

SOURCES = HERE / "controlplane"
# The version that the parts of Kubernetes report. Charts check this version.
VERSION_PACKAGES = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
ROLLOUTS, ARGOCD = "github.com/argoproj/argo-rollouts", "github.com/argoproj/argo-cd/v3"
FLUX = "github.com/fluxcd/kustomize-controller"
# The folders with manifests of the tools.
MANIFESTS = ("crds", "argocd", "flux")
ARGOCD_SETTINGS = ("cm", "cmd-params-cm", "rbac-cm", "secret")


class BuildError(Exception):
    """A program cannot be built; the message describes the problem."""


def build(cell: Cell) -> None:
    """Build the program of a cell into a folder of its own, unless it is there."""
    target, wanted = folder_of(cell), fingerprint(cell)
    stamp = target / "built"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    began = time.monotonic()
    print(f"building {cell.title} {cell.version} ...", file=sys.stderr, flush=True)
    shutil.rmtree(target, ignore_errors=True)
    (target / "bin").mkdir(parents=True)
    program = target / "bin" / cell.program
    if cell.folder:
        options = [*module_file(cell), "-ldflags", link_flags(cell)]
        go(cell, "build", *options, "-o", str(program), cell.package)
        copy_manifests(cell, target)
    else:
        go(cell, "install", "-ldflags", link_flags(cell), f"{cell.package}@v{cell.version}")
        (target / "bin" / Path(cell.package).name).rename(program)
    stamp.write_text(wanted)
    print(f"  {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)


def fingerprint(cell: Cell) -> str:
    """Return a digest of everything that the program of a cell is built from."""
    inputs = (cell.version, cell.package, cell.program, cell.go, link_flags(cell))
    digest = hashlib.sha256(repr(inputs).encode())
    for file in source_files(cell):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def source_files(cell: Cell) -> list[Path]:
    """Return the files of a cell's module in this repository."""
    if not cell.folder:
        return []
    source = SOURCES / cell.folder
    return sorted([*source.glob("*.go"), *source.glob(f"{cell.version}.*")])


def module_file(cell: Cell) -> list[str]:
    """Return the option for the file that has the versions of all modules, if there is one."""
    name = f"{cell.version}.mod"
    return [f"-modfile={name}"] if (SOURCES / cell.folder / name).exists() else []


def link_flags(cell: Cell) -> str:
    """Return the flags of the linker."""
    flags = ["-s", "-w"]
    if cell.folder == "kubernetes":
        major, minor, _ = cell.version.split(".")
        values = {"gitVersion": f"v{cell.version}", "gitMajor": major, "gitMinor": minor}
        for package in VERSION_PACKAGES:
            flags += [f"-X {package}.{name}={value}" for name, value in values.items()]
    return " ".join(flags)


def go(cell: Cell, command: str, *arguments: str) -> str:
    """Run Go in the module of a cell, or without a module; return its output."""
    variables = {
        "GOTOOLCHAIN": f"go{cell.go}",
        "GOFLAGS": "-buildvcs=false",
        "GOBIN": str(folder_of(cell) / "bin"),
        # The program of the tests' images runs without a C library.
        **({"CGO_ENABLED": "0"} if cell.folder == "pod" else {}),
    }
    done = subprocess.run(
        ["go", command, *arguments],
        cwd=SOURCES / cell.folder,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        text=True,
    )
    if done.returncode:
        raise BuildError(f"go cannot build {cell.title} {cell.version}")
    return done.stdout


def copy_manifests(cell: Cell, target: Path) -> None:
    """Copy the manifests that a tool needs in a cluster from its Go module."""
    if cell.folder == "rollouts":
        copy(module(cell, ROLLOUTS).glob("manifests/crds/*-crd.yaml"), target / "crds")
    elif cell.folder == "flux":
        copy(module(cell, FLUX).glob("config/crd/bases/*.yaml"), target / "flux")
    elif cell.folder == "argocd":
        source = module(cell, ARGOCD) / "manifests"
        copy(source.glob("crds/*-crd.yaml"), target / "argocd" / "crds")
        settings = [source / "base" / "config" / f"argocd-{name}.yaml" for name in ARGOCD_SETTINGS]
        copy(settings, target / "argocd" / "config")
        copy([source / "base/repo-server/argocd-repo-server-deployment.yaml"], target / "argocd")


def module(cell: Cell, name: str) -> Path:
    """Return the folder of a module's sources."""
    found = json.loads(go(cell, "list", *module_file(cell), "-m", "-json", name))
    return Path(found["Dir"])


def copy(files: Iterable[Path], target: Path) -> None:
    """Copy files without their permissions; files in the module cache are read-only."""
    target.mkdir(parents=True, exist_ok=True)
    for file in files:
        shutil.copyfile(file, target / file.name)


def build_defaults() -> None:
    """Build the programs that CI runs, and link to them."""
    stamp = folder() / "built"
    stamp.unlink(missing_ok=True)
    for cell in defaults():
        build(cell)
    for name in ("bin", *MANIFESTS):
        path = folder() / name
        path.unlink() if path.is_symlink() else shutil.rmtree(path, ignore_errors=True)
    (folder() / "bin").mkdir()
    for cell in defaults():
        program = folder_of(cell) / "bin" / cell.program
        link(program, folder() / "bin" / (cell.also or cell.program))
        for name in MANIFESTS:
            if (folder_of(cell) / name).exists():
                link(folder_of(cell) / name, folder() / name)
    stamp.touch()


def link(target: Path, path: Path) -> None:
    """Create a relative link, so that the build folder can be moved."""
    path.symlink_to(os.path.relpath(target, path.parent))


def main(names: Sequence[str]) -> int:
    """Build the programs that CI runs, and the programs of some cells."""
    if not shutil.which("go"):
        print("error: go is not on PATH. Install Go 1.26 or later", file=sys.stderr)
        return 1
    try:
        build_defaults()
        for name in names:
            for cell in selected(name):
                build(cell)
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
