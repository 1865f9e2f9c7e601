"""The test chart as a release: rendered, post-rendered and applied by the real tools."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.e2e.cluster import ControlPlane
from tests.e2e.plugins import link_plugin, write_postrender
from tests.e2e.processes import GO
from tests.e2e.programs import HERE, program, version

CHART = HERE / "chart"
TIMEOUT = 600

Values = Mapping[str, Any]
Done = subprocess.CompletedProcess[str]


class ToolError(AssertionError):
    """A tool failed unexpectedly; the message contains its whole output."""

    def __init__(self, command: list[str], done: Done) -> None:
        shown = shlex.join([Path(command[0]).name, *command[1:]])
        super().__init__(f"exit {done.returncode}: {shown}\n{done.stdout}{done.stderr}")


class Release:
    """One release of the chart in one namespace, by `helm3`, `helm4` or an older `helm3.21`.

    `config` is the content of postrender.yaml; a test may change it between calls. `arguments` are
    passed to postrender. `chart` is the folder of the chart. `folder` holds all files, including
    those of the tools. With `validates`, the tools also compare the objects with the API server's
    schemas. That takes as long as the rest of their work, so only the tests of each kind of object
    and of a whole life do it.
    """

    def __init__(
        self, tool: str, plane: ControlPlane, namespace: str, folder: Path, name: str = "app"
    ) -> None:
        self.tool, _, _ = tool.partition(".")
        self.program, self.version = program(tool), version(tool)
        self.plane, self.namespace, self.folder = plane, namespace, folder
        self.name = name
        self.config: dict[str, Any] = {"attacher": {"image": "postrender:e2e"}}
        self.arguments: list[str] = []
        self.postrender = True
        self.validates = False
        self.chart = CHART
        folder.mkdir(parents=True, exist_ok=True)
        write_postrender(self._script, POSTRENDER_CONFIG=str(folder / "postrender.yaml"))
        # On users' machines `helm` is on PATH, and postrender runs that helm.
        (self._script.parent / "helm").symlink_to(self.program)
        if self.tool == "helm4":
            link_plugin(folder / "helm" / "data")

    @property
    def refuses_kept(self) -> bool:
        """Return whether Helm refuses a rollback to a live object outside the current release."""
        return self.version < (3, 22) or (4,) <= self.version < (4, 2)

    @property
    def splits_lists(self) -> bool:
        """Return whether Helm splits each `kind: List` for a post-renderer."""
        return self.version >= (4, 2)

    # Releases

    def install(self, values: Values = {}, *options: str, check: bool = True) -> Done:  # noqa: B006
        """Run `helm install`, through postrender."""
        return self._deploy("install", values, options, check)

    def upgrade(self, values: Values = {}, *options: str, check: bool = True) -> Done:  # noqa: B006
        """Run `helm upgrade --install` through postrender, with only these values."""
        return self._deploy("upgrade", values, ("--install", *options), check)

    def rollback(self, revision: int, *options: str, check: bool = True) -> Done:
        """Run `helm rollback`; Helm applies its stored manifests, without postrender."""
        return self.helm("rollback", self.name, str(revision), *options, check=check)

    def uninstall(self, *options: str, check: bool = True) -> Done:
        """Run `helm uninstall`."""
        return self.helm("uninstall", self.name, *options, check=check)

    def manifest(self) -> str:
        """Return the manifests of the release's last revision, without hooks."""
        return self.helm("get", "manifest", self.name).stdout

    # Manifests

    def template(self, values: Values = {}) -> str:  # noqa: B006
        """Return the output of `helm template` for the chart."""
        return self.helm("template", self.name, *self._chart(values)).stdout

    def template_through(self, values: Values = {}, *options: str) -> str:  # noqa: B006
        """Return the output of `helm template` through postrender."""
        return self._deploy("template", values, options, check=True).stdout

    def render(self, text: str) -> str:
        """Return the output of postrender for manifests."""
        self._write_config()
        command = [str(self._script), *self.arguments]
        return run(command, env=self._env(), folder=self.folder, stdin=text).stdout

    def diff(self, old: str, new: str) -> str:
        """Return the output of `postrender diff OLD -`; new: the manifests of the newer side."""
        self._write_config()
        command = [str(self._script), "diff", old, "-"]
        return run(command, env=self._env(), folder=self.folder, stdin=new).stdout

    def apply(self, values: Values = {}, *options: str, check: bool = True) -> Done:  # noqa: B006
        """Run `helm template | postrender | kubectl apply`."""
        text = self.template(values)
        text = self.render(text) if self.postrender else text
        return self.apply_text(text, *options, check=check)

    def apply_text(self, text: str, *options: str, check: bool = True) -> Done:
        """Run `kubectl apply` for manifests."""
        # For a patch, kubectl's built-in schemas are enough.
        schemas = ["--openapi-patch=false", f"--validate={str(self.validates).lower()}"]
        return self.kubectl("apply", *schemas, *options, "-f", "-", stdin=text, check=check)

    # Tools

    def helm(self, *arguments: str, check: bool = True) -> Done:
        """Run the release's Helm, in its namespace."""
        command = [self.program, *arguments, "--namespace", self.namespace]
        return run(command, env=self._env(), folder=self.folder, check=check)

    def kubectl(self, *arguments: str, stdin: str = "", check: bool = True) -> Done:
        """Run kubectl, in the release's namespace."""
        command = [program("kubernetes"), "kubectl", "--namespace", self.namespace, *arguments]
        return run(command, env=self._env(), folder=self.folder, stdin=stdin, check=check)

    def _deploy(self, verb: str, values: Values, options: tuple[str, ...], check: bool) -> Done:
        self._write_config()
        through = self._through() if self.postrender else []
        if verb != "template" and not self.validates:
            options += ("--disable-openapi-validation",)
        return self.helm(verb, self.name, *self._chart(values), *through, *options, check=check)

    def _through(self) -> list[str]:
        """Return Helm's options for postrender: a program in Helm 3, a plugin's name in Helm 4."""
        # The option and value are one word, because Helm also applies its own options among two
        # words.
        options = [f"--post-renderer-args={argument}" for argument in self.arguments]
        return ["--post-renderer", "postrender", *options]

    def _chart(self, values: Values) -> list[str]:
        file = self.folder / "values.json"
        file.write_text(json.dumps(values))
        return [str(self.chart), "--values", str(file)]

    @property
    def _script(self) -> Path:
        return self.folder / "bin" / "postrender"

    def _write_config(self) -> None:
        (self.folder / "postrender.yaml").write_text(json.dumps(self.config))

    def _env(self) -> dict[str, str]:
        home = self.folder / "helm"
        inherited = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("HELM_", "KUBE", "POSTRENDER_"))
        }
        return inherited | {
            "KUBECONFIG": str(self.plane.kubeconfig),
            # The list of served kinds is the same for all tests, and slow to download.
            "KUBECACHEDIR": str(self.plane.folder / "kube-cache"),
            "HELM_CACHE_HOME": str(home / "cache"),
            "HELM_CONFIG_HOME": str(home / "config"),
            "HELM_DATA_HOME": str(home / "data"),
            "PATH": os.pathsep.join([str(self._script.parent), os.environ["PATH"]]),
        }


def run(
    command: list[str], env: Mapping[str, str], folder: Path, stdin: str = "", check: bool = True
) -> Done:
    """Run a program; raise ToolError if it fails and `check` is set."""
    done = subprocess.run(
        command,
        input=stdin,
        capture_output=True,
        text=True,
        env={**GO, **env},
        cwd=folder,
        timeout=TIMEOUT,
        check=False,
    )
    if check and done.returncode:
        raise ToolError(command, done)
    return done
