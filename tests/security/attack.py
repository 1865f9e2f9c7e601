"""A run of postrender in a repository of an attacker, and the traces that an attack leaves."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.forked import run_fork

ROOT = Path(__file__).resolve().parents[2]
CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: web-config}
data: {greeting: hello}
"""
WORKLOAD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - {name: web, image: web, envFrom: [{configMapRef: {name: web-config}}]}
"""
MANIFESTS = f"---\n{CONFIG_MAP}---\n{WORKLOAD}"
# A Secret in an earlier output of the victim.
PREVIOUS_SECRET = """\
apiVersion: v1
kind: Secret
metadata:
  name: db-5t2k9mbh4g
  labels: {postrender/attach-group: web-attach}
  annotations: {postrender/base-name: db, helm-diff/base-name: db}
stringData: {password: canary}
"""
# A helm that leaves a trace when it runs.
HELM = """\
#!/bin/sh
echo "$@" >> "{trace}"
echo '[]'
"""


@dataclass(frozen=True)
class Done:
    """The result of a run."""

    code: int
    out: str
    err: str


class Attack:
    """A repository of an attacker, and the files of a victim outside it.

    repository: the working directory, with .git.
    victim: a folder of somebody else.
    trace: a file that exists if helm ran.
    """

    def __init__(self, folder: Path) -> None:
        self.repository, self.victim = folder / "repository", folder / "victim"
        self.trace = folder / "helm-ran"
        for path in (self.repository / ".git", self.victim, folder / "bin"):
            path.mkdir(parents=True)
        helm = folder / "bin" / "helm"
        helm.write_text(HELM.format(trace=self.trace))
        helm.chmod(0o755)
        own = {key: text for key, text in os.environ.items() if not key.startswith("POSTRENDER_")}
        self.environment = {
            **own,
            "PATH": f"{helm.parent}:{own['PATH']}",
            "HELM_BIN": str(helm),
            "POSTRENDER_ATTACHER_IMAGE": "postrender:test",
        }

    def write(self, name: str, text: str) -> Path:
        """Write a file of the repository and return its path."""
        path = self.repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def run(
        self,
        *arguments: str,
        stdin: str = MANIFESTS,
        environment: Mapping[str, str] = {},
        folder: str = ".",
    ) -> Done:
        """Run postrender in a folder of the repository."""
        variables = {**self.environment, **environment}
        place = self.repository / folder
        code, out, err = run_fork(arguments, stdin.encode(), variables, place)
        return Done(code, out.decode(), err.decode())
