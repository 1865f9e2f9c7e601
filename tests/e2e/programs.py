"""The real programs that tests/e2e/controlplane/build builds, and their locations."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent


def folder() -> Path:
    """Return the build folder; POSTRENDER_E2E overrides it."""
    return Path(os.environ.get("POSTRENDER_E2E") or ROOT / ".cache" / "e2e").resolve()


def present() -> bool:
    """Return whether there is a complete build."""
    return (folder() / "built").exists()


def program(name: str) -> str:
    """Return the path of a built program, such as `argocd` or `helm4`."""
    return str(folder() / "bin" / name)


def definitions() -> list[Path]:
    """Return the files with Argo Rollouts' custom resource definitions."""
    return sorted((folder() / "crds").glob("*.yaml"))


def argocd_manifests(name: str) -> list[Path]:
    """Return Argo CD's own files: its `crds`, or the `config` of a fresh installation."""
    return sorted((folder() / "argocd" / name).glob("*.yaml"))


def argocd_repo_server() -> Path:
    """Return the file with the Deployment of Argo CD's repo-server, as installed."""
    return folder() / "argocd" / "argocd-repo-server-deployment.yaml"
