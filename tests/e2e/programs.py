"""The real programs that tests/e2e/controlplane/build makes, and where they are."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent


def folder() -> Path:
    """Return the folder that was built into; POSTRENDER_E2E names another."""
    return Path(os.environ.get("POSTRENDER_E2E") or ROOT / ".cache" / "e2e").resolve()


def present() -> bool:
    """Tell whether a build is there, and complete."""
    return (folder() / "built").exists()


def program(name: str) -> str:
    """Return the path of a program that the build made: `argocd`, `helm4` and so on."""
    return str(folder() / "bin" / name)


def definitions() -> list[Path]:
    """Return the files with Argo Rollouts' custom resource definitions."""
    return sorted((folder() / "crds").glob("*.yaml"))


def argocd_manifests(name: str) -> list[Path]:
    """Return files of Argo CD's own: its `crds`, the `config` of a fresh installation."""
    return sorted((folder() / "argocd" / name).glob("*.yaml"))


def argocd_repo_server() -> Path:
    """Return the file with the Deployment of Argo CD's repo-server, as it is installed."""
    return folder() / "argocd" / "argocd-repo-server-deployment.yaml"
