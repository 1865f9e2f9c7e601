"""kustomize as users run it: a folder to build, and a shell with all three programs."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.e2e.cluster import ControlPlane
from tests.e2e.programs import ROOT, program
from tests.e2e.releases import Done, run

# A Kustomization function entry that runs postrender, with its configuration.
FUNCTION = """\
apiVersion: postrender/v1alpha1
kind: Postrender
metadata:
  name: postrender
  annotations:
    config.kubernetes.io/function: |
      exec:
        path: postrender
        args: [fn]
spec:
  attacher:
    image: registry.example.com/postrender:1
"""


class Shell:
    """A shell in a folder, with kustomize, kubectl and this postrender on PATH."""

    def __init__(self, folder: Path, plane: ControlPlane | None = None) -> None:
        self.folder = folder
        programs = folder / "programs"
        programs.mkdir(parents=True)
        # The search for postrender.yaml stops here.
        (folder / ".git").mkdir()
        _write_program(programs / "postrender", sys.executable, "-m", "postrender")
        _write_program(programs / "kubectl", program("kubernetes"), "kubectl")
        _write_program(programs / "kustomize", program("kustomize"))
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("POSTRENDER_", "KUBE"))
        }
        self.env = {
            **kept,
            "PATH": os.pathsep.join([str(programs), kept.get("PATH", os.defpath)]),
            "PYTHONPATH": str(ROOT),
        }
        if plane:
            self.env |= {
                "KUBECONFIG": str(plane.kubeconfig),
                "KUBECACHEDIR": str(plane.folder / "kube-cache"),
            }

    def write(self, files: Mapping[str, str]) -> None:
        """Write files, given by their path in the folder."""
        for name, text in files.items():
            file = self.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")

    def run(self, script: str, stdin: str = "", check: bool = True) -> Done:
        """Run a bash script; raise ToolError if it fails and `check` is set."""
        command = ["bash", "-c", script]
        return run(command, env=self.env, folder=self.folder, stdin=stdin, check=check)

    def build(self, folder: str = ".", check: bool = True) -> Done:
        """Run `kustomize build` with functions enabled."""
        options = "--enable-alpha-plugins --enable-exec"
        return self.run(f"kustomize build {options} {shlex.quote(folder)}", check=check)


def _write_program(file: Path, *command: str) -> None:
    file.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', "utf-8")
    file.chmod(0o755)
