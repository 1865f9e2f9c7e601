"""A real control plane in a temporary folder: etcd, API server, controller manager, Argo Rollouts.

All parts are processes. Each is ended by its process id. tests/e2e/node adds real nodes.
"""

from __future__ import annotations

import json
import secrets
import shutil
from pathlib import Path
from typing import NamedTuple

from tests.e2e.api import Api
from tests.e2e.custom_kinds import are_served, create_definition
from tests.e2e.processes import Processes, Server, free_ports
from tests.e2e.programs import definitions, program

ROLLOUTS_KINDS = (
    "Rollout",
    "Experiment",
    "AnalysisTemplate",
    "ClusterAnalysisTemplate",
    "AnalysisRun",
)


class ControlPlane(NamedTuple):
    """The address and credentials of a running control plane, as plain data."""

    url: str
    token: str
    folder: Path

    @property
    def ca(self) -> Path:
        """The file with the certificate that signed the API server's certificate."""
        return self.folder / "certificates" / "apiserver.crt"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.folder / "admin.kubeconfig"

    def api(self, namespace: str = "") -> Api:
        """Return the administrator's client."""
        return Api(self.url, self.token, str(self.ca), namespace)


def kubeconfig(server: str, token: str, ca: Path | None, namespace: str = "default") -> str:
    """Return the text of a kubeconfig with one cluster, user and context. JSON is valid YAML."""
    cluster = {"server": server} | ({"certificate-authority": str(ca)} if ca else {})
    context = {"cluster": "e2e", "user": "e2e", "namespace": namespace}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "e2e", "cluster": cluster}],
        "users": [{"name": "e2e", "user": {"token": token}}],
        "contexts": [{"name": "e2e", "context": context}],
        "current-context": "e2e",
    }
    return json.dumps(config, indent=2)


class Cluster(Server):
    """A context manager that starts a control plane in a folder; `plane` has its address."""

    def __init__(self, folder: Path, address: str = "127.0.0.1") -> None:
        self._ports = free_ports(5)
        self._processes = Processes(folder)
        self._address = address
        url = f"https://{address}:{self._ports[0]}"
        self.plane = ControlPlane(url, secrets.token_hex(16), folder)

    def stop(self) -> None:
        """End every process, writers first; the logs are kept, the data (100 MB) is deleted."""
        self._processes.stop()
        shutil.rmtree(self.plane.folder / "etcd", ignore_errors=True)

    def stop_api(self) -> None:
        """End only the API server, as if it crashed; etcd keeps the data."""
        self._processes.end("apiserver")

    def start_api(self) -> None:
        """Start the API server at the same address; return when it is ready."""
        self._processes.start(
            "apiserver", [program("kubernetes"), "apiserver", *self._apiserver_flags()]
        )
        self._processes.wait("apiserver", self._is_ready)

    def _start_all(self) -> None:
        plane = self.plane
        (plane.folder / "tokens.csv").write_text(self._tokens())
        plane.kubeconfig.write_text(kubeconfig(plane.url, plane.token, plane.ca))
        self._processes.start("etcd", [program("kubernetes"), "etcd", *self._etcd_flags()])
        self.start_api()
        # The controller manager's garbage collector looks for new kinds only every 30 seconds, so
        # the kinds are defined first.
        self._define_kinds()
        manager = [program("kubernetes"), "controller-manager", *self._manager_flags()]
        self._processes.start("controller-manager", manager)
        self._prepare_rollouts()
        rollouts = [program("rollouts-controller"), *self._rollouts_flags()]
        self._processes.start("rollouts-controller", rollouts, {"POD_NAMESPACE": "argo-rollouts"})
        self._processes.wait("controller-manager", self._has_service_accounts)

    def _tokens(self) -> str:
        """Return the tokens of all users, in the API server's format."""
        return f"{self.plane.token},admin,admin,system:masters\n"

    def _etcd_flags(self) -> list[str]:
        client, peer = (f"http://127.0.0.1:{port}" for port in self._ports[1:3])
        return [
            f"--data-dir={self.plane.folder / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ]

    def _apiserver_flags(self) -> list[str]:
        folder = self.plane.folder
        # The API server generates this key for its certificate; the key also signs tokens.
        key = self._key
        return [
            f"--etcd-servers=http://127.0.0.1:{self._ports[1]}",
            f"--cert-dir={folder / 'certificates'}",
            f"--bind-address={self._address}",
            f"--secure-port={self._ports[0]}",
            "--service-cluster-ip-range=10.0.0.0/16",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            f"--token-auth-file={folder / 'tokens.csv'}",
            "--profiling=false",
            # Its queues take a fifteenth of the time, and the tests need no fairness.
            "--enable-priority-and-fairness=false",
            *self._node_flags(),
        ]

    def _node_flags(self) -> list[str]:
        """Return the flags of the API server that depend on the nodes."""
        return [
            "--authorization-mode=RBAC",
            "--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
            # This plugin taints the node until the node lifecycle controller has seen a kubelet.
            "--disable-admission-plugins=TaintNodesByCondition",
            "--endpoint-reconciler-type=none",
        ]

    def _controllers(self) -> str:
        """Return the controllers to run, as a flag of the controller manager."""
        # The simulated kubelet does not renew the node's lease.
        return "*,-node-lifecycle-controller"

    def _manager_flags(self) -> list[str]:
        admin = self.plane.kubeconfig
        return [
            f"--kubeconfig={admin}",
            f"--authentication-kubeconfig={admin}",
            f"--authorization-kubeconfig={admin}",
            f"--service-account-private-key-file={self._key}",
            f"--root-ca-file={self.plane.ca}",
            "--leader-elect=false",
            "--secure-port=0",
            f"--controllers={self._controllers()}",
            # The default of 20 requests per second would slow down the tests.
            "--kube-api-qps=1000",
            "--kube-api-burst=1000",
        ]

    def _rollouts_flags(self) -> list[str]:
        return [
            f"--kubeconfig={self.plane.kubeconfig}",
            "--leader-elect=false",
            f"--metricsPort={self._ports[3]}",
            f"--healthzPort={self._ports[4]}",
            "--qps=1000",
            "--burst=1000",
        ]

    @property
    def _key(self) -> Path:
        return self.plane.folder / "certificates" / "apiserver.key"

    def _define_kinds(self) -> None:
        """Apply Argo Rollouts' definitions, and wait until their kinds are served."""
        api = self.plane.api()
        for file in definitions():
            create_definition(api, file.read_text("utf-8"))
        self._processes.wait("apiserver", lambda: are_served(api, *ROLLOUTS_KINDS))

    def _prepare_rollouts(self) -> None:
        """Create the objects that Argo Rollouts expects in its namespace."""
        api = self.plane.api("argo-rollouts")
        api.create({"kind": "Namespace", "metadata": {"name": "argo-rollouts"}})
        api.create({"kind": "ConfigMap", "metadata": {"name": "argo-rollouts-config"}})
        api.create({"kind": "Secret", "metadata": {"name": "argo-rollouts-notification-secret"}})

    def _is_ready(self) -> bool:
        return self.plane.ca.exists() and not self.plane.api().request("GET", "/readyz")

    def _has_service_accounts(self) -> bool:
        """Return whether the controllers work: one of them creates this ServiceAccount."""
        return self.plane.api().find("ServiceAccount", "default", "default") is not None
