"""A real Argo CD for tests, with the plugin of examples/argocd.

The processes of Argo CD run on this machine. Argo CD has the rights of an administrator, and uses
the namespace argocd of the test's control plane. The folder `bin` is on PATH, and replaces the
sidecar's image. `bin` contains the programs that the plugin runs, such as postrender and helm.
"""

from __future__ import annotations

import http.client
import shlex
import socket
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tests.e2e.cluster import ControlPlane, kubeconfig
from tests.e2e.custom_kinds import create_definition, wait_until_served
from tests.e2e.processes import Processes, Server, free_ports
from tests.e2e.programs import ROOT, argocd_manifests, program, version

NAMESPACE = "argocd"
EXAMPLES = ROOT / "examples" / "argocd"
PLUGIN = "postrender"
# The same plugin without `pipefail`, to show the effect of that option.
CARELESS_PLUGIN = "postrender-without-pipefail"
# A file in an Application's folder, which contains a number N. helm prints the first N bytes of the
# manifests, and then fails.
CUT = "helm-breaks-off-after"
# With this file in the chart, helm fails until the path in the file exists.
NEEDS = "helm-needs"
# The source hydrator commits the output of plugins since Argo CD 3.5.
HAS_HYDRATOR = version("argocd") >= (3, 5)
# Namespaces other than argocd that may contain Applications.
APPLICATION_NAMESPACES = "*-apps"


class ArgoCd(NamedTuple):
    """A running Argo CD, as plain data that other processes can use.

    The logs are in `folder`. The sockets of the plugins are in `sockets`.
    """

    folder: Path
    sockets: Path


class ArgoCdServer(Server):
    """A context manager that starts Argo CD in a folder.

    has_plugins: whether this class starts the plugins. If False, the test starts the plugins.
    """

    def __init__(self, folder: Path, plane: ControlPlane, has_plugins: bool = True) -> None:
        self._folder, self._plane, self._has_plugins = folder, plane, has_plugins
        self._api = plane.api(NAMESPACE)
        self._processes = Processes(folder)
        # The path of a Unix socket has at most 107 bytes, so the folder has a short path.
        self._sockets = tempfile.TemporaryDirectory(prefix="postrender-cmp-")
        self.argocd = ArgoCd(folder, Path(self._sockets.name))

    def stop(self) -> None:
        """End every process, but keep the logs."""
        self._processes.stop()
        self._sockets.cleanup()

    def _start_all(self) -> None:
        self._prepare_cluster()
        self._prepare_folder()
        ports = free_ports(9)
        redis, repo, *other_addresses = (f"127.0.0.1:{port}" for port in ports)
        self._start("redis", redis)
        for plugin, folder in self._plugins().items() if self._has_plugins else ():
            self._start("cmp-server", "--config-dir-path", str(folder), name=plugin)
            self._processes.wait(plugin, (self.argocd.sockets / f"{plugin}.sock").exists)
        self._start(
            "repo-server",
            *("--address=127.0.0.1", f"--port={ports[1]}", "--disable-tls", f"--redis={redis}"),
            # Since Argo CD 3.5, this option has a default, which is not valid with --disable-tls.
            *(["--client-ca-path="] if HAS_HYDRATOR else []),
            *("--metrics-address=127.0.0.1", f"--metrics-port={ports[2]}"),
            # The option applies only to Applications with the annotation manifest-generate-paths.
            "--plugin-use-manifest-generate-paths",
        )
        for name, port in (("redis", ports[0]), ("repo-server", ports[1])):
            self._processes.wait(name, partial(_listens, port))
        hydrator = self._start_hydrator(*ports[7:]) if HAS_HYDRATOR else []
        cluster = f"--kubeconfig={self._folder / 'kubeconfig'}"
        self._start(
            "application-controller",
            *(cluster, f"--namespace={NAMESPACE}", f"--metrics-port={ports[3]}"),
            *(f"--repo-server={repo}", "--repo-server-plaintext", f"--redis={redis}"),
            f"--application-namespaces={APPLICATION_NAMESPACES}",
            # The default is two minutes, and Argo CD may notice a deletion only at a resync.
            *("--app-resync=5", "--app-resync-jitter=0"),
            *hydrator,
        )
        self._start(
            "applicationset-controller",
            *(cluster, f"--namespace={NAMESPACE}", f"--metrics-addr={other_addresses[2]}"),
            *(f"--probe-addr={other_addresses[3]}", f"--webhook-addr={other_addresses[4]}"),
            *(f"--argocd-repo-server={repo}", "--repo-server-plaintext"),
        )
        self._processes.wait("application-controller", lambda: _is_healthy(ports[3]))

    def _start_hydrator(self, port: int, metrics_port: int) -> list[str]:
        """Start the server that commits rendered manifests; return the controller's options."""
        self._start(
            "commit-server",
            *("--address=127.0.0.1", f"--port={port}"),
            *("--metrics-address=127.0.0.1", f"--metrics-port={metrics_port}"),
        )
        self._processes.wait("commit-server", partial(_listens, port))
        return ["--hydrator-enabled", f"--commit-server=127.0.0.1:{port}"]

    def _start(self, part: str, *arguments: str, name: str = "") -> None:
        command = [program("argocd"), part, *arguments]
        self._processes.start(name or part, command, self._environment())

    def _environment(self) -> dict[str, str]:
        folder = self._folder
        bin_folder = folder / "bin"
        return {
            "ARGOCD_FAKE_IN_CLUSTER": "true",
            "ARGOCD_GPG_ENABLED": "false",
            "ARGOCD_PLUGINSOCKFILEPATH": str(self.argocd.sockets),
            "ARGOCD_SSH_DATA_PATH": str(folder / "ssh"),
            "ARGOCD_TLS_DATA_PATH": str(folder / "tls"),
            "ARGOCD_GNUPGHOME": str(folder / "gnupg"),
            "KUBECONFIG": str(folder / "kubeconfig"),
            "PATH": f"{bin_folder}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "tmp"),
            "POSTRENDER_ATTACHER_IMAGE": "postrender:e2e",
        }

    def _plugins(self) -> dict[str, Path]:
        """Return the folder of each plugin's plugin.yaml."""
        careless = self._folder / "careless"
        careless.mkdir()
        text = (EXAMPLES / "plugin.yaml").read_text("utf-8")
        text = text.replace(f"name: {PLUGIN}\n", f"name: {CARELESS_PLUGIN}\n")
        text = text.replace("[postrender-argocd,", "[postrender-argocd-careless,")
        (careless / "plugin.yaml").write_text(text, "utf-8")
        return {PLUGIN: EXAMPLES, CARELESS_PLUGIN: careless}

    def _prepare_folder(self) -> None:
        for name in ("ssh", "tls", "gnupg", "home", "tmp", "bin"):
            (self._folder / name).mkdir()
        plane = self._plane
        access = kubeconfig(plane.url, plane.token, plane.ca, NAMESPACE)
        (self._folder / "kubeconfig").write_text(access)
        python = shlex.quote(sys.executable)
        script = EXAMPLES / "postrender-argocd"
        (self._folder / "bin" / script.name).symlink_to(script)
        # The copy differs from the script only in `pipefail`.
        lines = script.read_text("utf-8").replace("set -euo pipefail", "set -eu").splitlines()
        self._write(f"{script.name}-careless", *lines, shell="bash")
        self._write("python", f'exec {python} "$@"')
        # Argo CD 3.5 runs this part of its image for each commit. The commits are unsigned.
        self._write("git-verify-wrapper.sh", "exit 0")
        self._write(
            "postrender",
            f'PYTHONPATH={shlex.quote(str(ROOT))} exec {python} -m postrender "$@"',
        )
        # The image of Argo CD has Helm 4 since 3.5. The image of the sidecar copies this Helm.
        helm = shlex.quote(program("helm4" if version("argocd") >= (3, 5) else "helm3"))
        self._write(
            "helm",
            f'if [ "$1" = template ] && [ -f {NEEDS} ] && [ ! -e "$(cat {NEEDS})" ]; then',
            "  echo 'helm: no network' >&2",
            "  exit 1",
            "fi",
            f'if [ "$1" = template ] && [ -f {CUT} ]; then',
            f'  {helm} "$@" | head -c "$(cat {CUT})"',
            "  echo 'helm: killed' >&2",
            "  exit 137",
            "fi",
            f'exec {helm} "$@"',
        )

    def _write(self, name: str, *lines: str, shell: str = "sh") -> None:
        file = self._folder / "bin" / name
        file.write_text("\n".join([f"#!/usr/bin/env {shell}", *lines, ""]))
        file.chmod(0o755)

    def _prepare_cluster(self) -> None:
        """Apply Argo CD's definitions and settings, as its own installation does."""
        api = self._api
        api.create({"kind": "Namespace", "metadata": {"name": NAMESPACE}})
        for file in argocd_manifests("crds"):
            create_definition(api, file.read_text("utf-8"))
        for file in argocd_manifests("config"):
            kind = "Secret" if "secret" in file.name else "ConfigMap"
            api.request("POST", api.path(kind), file.read_text(), "application/yaml")
        project = {
            "kind": "AppProject",
            "metadata": {"name": "default"},
            "spec": {
                "sourceRepos": ["*"],
                "sourceNamespaces": ["*"],
                "destinations": [{"server": "*", "namespace": "*"}],
                "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
            },
        }
        wait_until_served(api, "Application", "ApplicationSet", "AppProject")
        api.create(project)


def _listens(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), timeout=5):
        return True


def _is_healthy(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    connection.request("GET", "/healthz")
    return connection.getresponse().status == 200
