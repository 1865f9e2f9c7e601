"""Flux for one test: the real kustomize-controller, and a stand-in for the source-controller.

The source-controller downloads an artifact, and writes the artifact's address and digest to the
status of an OCIRepository. Here, the test serves the artifact and writes the status itself.
"""

from __future__ import annotations

import hashlib
import http.server
import io
import tarfile
import threading
from functools import partial
from pathlib import Path
from typing import Any

from tests.e2e.api import KINDS, MERGE, Api, Json, Resource
from tests.e2e.attach_processes import parse
from tests.e2e.cluster import ControlPlane
from tests.e2e.custom_kinds import create_definition, define_kinds, wait_until_served
from tests.e2e.processes import Processes, Server, free_ports
from tests.e2e.programs import ROOT, flux_definitions, program

# The source and the Kustomization of the page.
EXAMPLE = ROOT / "examples" / "flux" / "demo.yaml"
# The controller watches all of these kinds.
SOURCES = {
    "OCIRepository": "ocirepositories",
    "GitRepository": "gitrepositories",
    "Bucket": "buckets",
}
SOURCE_VERSION = "source.toolkit.fluxcd.io/v1"
KINDS |= {kind: Resource(SOURCE_VERSION, plural) for kind, plural in SOURCES.items()}
KINDS["Kustomization"] = Resource("kustomize.toolkit.fluxcd.io/v1", "kustomizations")


class Flux(Server):
    """A context manager that runs kustomize-controller for the example, in one namespace."""

    def __init__(self, folder: Path, plane: ControlPlane, api: Api) -> None:
        self._plane, self._api = plane, api
        self._processes = Processes(folder)
        handler = partial(_Artifacts, directory=str(folder))
        self._artifacts = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.name = ""

    def publish(self, text: str) -> None:
        """Make manifests the newest artifact of the source, as after `flux push artifact`."""
        content = _archive({"demo.yaml": text})
        digest = hashlib.sha256(content).hexdigest()
        (self._processes.folder / f"{digest}.tar.gz").write_bytes(content)
        host, port = self._artifacts.server_address[:2]
        artifact = {
            "digest": f"sha256:{digest}",
            "lastUpdateTime": "2026-01-01T00:00:00Z",
            "path": f"{digest}.tar.gz",
            "revision": f"prod@sha256:{digest}",
            "size": len(content),
            "url": f"http://{host!s}:{port}/{digest}.tar.gz",
        }
        self._write_status("OCIRepository", {"artifact": artifact})
        self._api.wait_for(
            lambda: self.status().get("lastAppliedRevision") == artifact["revision"],
            f"Flux applies the artifact: {self.status().get('conditions')}",
        )

    def reconcile(self, time: str) -> None:
        """Apply the same artifact again, as `flux reconcile kustomization` does."""
        change = {"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": time}}}
        self._api.request("PATCH", self._api.path("Kustomization", self.name), change, MERGE)
        self._api.wait_for(
            lambda: self.status().get("lastHandledReconcileAt") == time, "Flux reconciles"
        )

    def status(self) -> Json:
        """Return the status of the Kustomization."""
        status: Json = self._api.get("Kustomization", self.name).get("status", {})
        return status

    def delete(self) -> None:
        """Delete the Kustomization, and wait until Flux has deleted its objects."""
        self._api.delete("Kustomization", self.name)
        self._api.wait_for(lambda: not self._api.list("Kustomization"), "Flux prunes")

    def stop(self) -> None:
        """End the controller; without it, the finalizer of the Kustomization would stay."""
        for kustomization in self._api.list("Kustomization") if self.name else ():
            path = self._api.path("Kustomization", kustomization["metadata"]["name"])
            self._api.request("PATCH", path, {"metadata": {"finalizers": None}}, MERGE)
        self._processes.stop()
        self._artifacts.shutdown()

    def _start_all(self) -> None:
        threading.Thread(target=self._artifacts.serve_forever, daemon=True).start()
        for file in flux_definitions():
            create_definition(self._api, file.read_text("utf-8"))
        # The kind Kustomization has Flux's schema. The kinds of sources have no schema.
        define_kinds(self._api, *SOURCES)
        wait_until_served(self._api, "Kustomization")
        self._create_example()
        metrics, health = free_ports(2)
        self._processes.start(
            "kustomize-controller",
            [
                program("kustomize-controller"),
                "--watch-all-namespaces=false",
                "--enable-leader-election=false",
                f"--metrics-addr=127.0.0.1:{metrics}",
                f"--health-addr=127.0.0.1:{health}",
                "--kube-api-qps=1000",
                "--kube-api-burst=1000",
            ],
            {
                "KUBECONFIG": str(self._plane.kubeconfig),
                "RUNTIME_NAMESPACE": self._api.namespace,
                "TMPDIR": str(self._processes.folder),
            },
        )
        self._processes.wait(
            "kustomize-controller", lambda: "finalizers" in self._kustomization()["metadata"]
        )

    def _create_example(self) -> None:
        """Create the source and the Kustomization of the page in the test's namespace."""
        source, kustomization = parse(EXAMPLE.read_text("utf-8"))
        namespace = self._api.namespace
        for obj in (source, kustomization):
            obj["metadata"]["namespace"] = namespace
            self._api.create(obj)
        self.name = kustomization["metadata"]["name"]
        change = {"spec": {"targetNamespace": namespace}}
        self._api.request("PATCH", self._api.path("Kustomization", self.name), change, MERGE)

    def _kustomization(self) -> Json:
        return self._api.get("Kustomization", self.name)

    def _write_status(self, kind: str, status: Json) -> None:
        path = f"{self._api.path(kind, self.name)}/status"
        self._api.request("PATCH", path, {"status": status}, MERGE)


class _Artifacts(http.server.SimpleHTTPRequestHandler):
    """A handler that serves artifacts and writes no log."""

    def log_message(self, *_: Any) -> None:
        """Write nothing."""


def _archive(files: Json) -> bytes:
    """Return a compressed archive of files with these texts."""
    result = io.BytesIO()
    with tarfile.open(fileobj=result, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return result.getvalue()
