"""The real programs that tests/e2e/build.py builds, and their locations."""

from __future__ import annotations

import os
from pathlib import Path

from tests.e2e.versions import Cell, cells, defaults

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent


def folder() -> Path:
    """Return the build folder; POSTRENDER_E2E overrides it."""
    return Path(os.environ.get("POSTRENDER_E2E") or ROOT / ".cache" / "e2e").resolve()


def present() -> bool:
    """Return whether there is a complete build."""
    return (folder() / "built").exists()


def folder_of(cell: Cell) -> Path:
    """Return the folder with the program of a cell."""
    return folder() / "versions" / cell.name


def program(name: str) -> str:
    """Return the path of a built program, such as `argocd` or `helm4`.

    A variable such as POSTRENDER_E2E_HELM4 or POSTRENDER_E2E_HELM3_21 sets another program.
    """
    variable = f"POSTRENDER_E2E_{name.upper().replace('.', '_').replace('-', '_')}"
    return os.environ.get(variable) or str(_part("bin", name))


def _part(folder_name: str, name: str = "") -> Path:
    """Return the path of a part of the build, from the selected cell if the cell has it."""
    selected = os.environ.get("POSTRENDER_E2E_CELL", "")
    own = folder() / "versions" / selected / folder_name / name
    return own if selected and own.exists() else folder() / folder_name / name


def version(name: str, selected: str = "") -> tuple[int, ...]:
    """Return the version of a program that the tests run, such as (3, 22, 0).

    selected: a cell of the matrix; by default that of these tests
    """
    selected = selected or os.environ.get("POSTRENDER_E2E_CELL", "")
    named = [cell for cell in defaults() if name == (cell.also or cell.program)]
    chosen = [cell for cell in cells() if (cell.program, cell.name) == (name, selected)]
    return [*chosen, *named][0].numbers


def definitions() -> list[Path]:
    """Return the files with Argo Rollouts' custom resource definitions."""
    return sorted(_part("crds").glob("*.yaml"))


def flux_definitions() -> list[Path]:
    """Return the files with the custom resource definitions of Flux's kustomize-controller."""
    return sorted(_part("flux").glob("*.yaml"))


def argocd_manifests(name: str) -> list[Path]:
    """Return Argo CD's own files: its `crds`, or the `config` of a fresh installation."""
    return sorted((_part("argocd") / name).glob("*.yaml"))


def argocd_repo_server() -> Path:
    """Return the file with the Deployment of Argo CD's repo-server, as installed."""
    return _part("argocd") / "argocd-repo-server-deployment.yaml"
