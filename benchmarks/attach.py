"""A stand-in for an API server that has one Deployment with many ConfigMaps, for `attach`.

It answers lists and patches of what `postrender attach` reads, at once and from memory: what is
measured is the attacher, not a cluster. tests/e2e measures it against a real API server.
"""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RENDER_ID = "0123456789"
NAMESPACE = "default"

_OWNER = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "app", "uid": "uid-deployment"}

Json = dict[str, Any]


def names_of(count: int) -> list[str]:
    """Return the names of the ConfigMaps."""
    return [f"app-config-{number:05}-2456789bcd" for number in range(count)]


def arguments_of(count: int) -> tuple[str, ...]:
    """Return the arguments with which the rendered Job would call `postrender attach`."""
    names = ",".join(f"configmap/{name}" for name in names_of(count))
    return ("attach", "--group", "app-attach", "--workload", f"Deployment/app@{RENDER_ID}={names}")


@contextmanager
def api_server(count: int, folder: Path) -> Iterator[Path]:
    """Run the server with so many ConfigMaps; yield a kubeconfig for it."""
    server = _Server(count)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    kubeconfig = folder / f"kubeconfig-{count}"
    kubeconfig.write_text(json.dumps(_kubeconfig(server.server_address[1])))
    try:
        yield kubeconfig
    finally:
        server.shutdown()
        server.server_close()


def _kubeconfig(port: int) -> Json:
    cluster = {"server": f"http://127.0.0.1:{port}"}
    context = {"cluster": "bench", "user": "bench", "namespace": NAMESPACE}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "bench",
        "clusters": [{"name": "bench", "cluster": cluster}],
        "contexts": [{"name": "bench", "context": context}],
        "users": [{"name": "bench", "user": {"token": "bench"}}],
    }


class _Server(ThreadingHTTPServer):
    """The server with its objects, by plural."""

    daemon_threads = True

    def __init__(self, count: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.objects: dict[str, list[Json]] = {
            "configmaps": [_config_map(name) for name in names_of(count)],
            "deployments": [_deployment(count)],
            "replicasets": [_replica_set(count)],
        }


def _config_map(name: str) -> Json:
    metadata = _metadata(name) | {"labels": {"postrender/attach-group": "app-attach"}}
    return {"metadata": metadata | {"annotations": {"postrender/base-name": name[:-11]}}}


def _deployment(count: int) -> Json:
    metadata = _metadata("app") | {"uid": _OWNER["uid"], "generation": 1}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {"replicas": 1, "template": _template(count)},
        "status": {"observedGeneration": 1},
    }


def _replica_set(count: int) -> Json:
    metadata = _metadata("app-1") | {"ownerReferences": [_OWNER | {"controller": True}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": metadata,
        "spec": {"replicas": 1, "template": _template(count)},
    }


def _template(count: int) -> Json:
    sources = [{"configMapRef": {"name": name}} for name in names_of(count)]
    return {
        "metadata": {"annotations": {"postrender/render-id": RENDER_ID}},
        "spec": {"containers": [{"name": "main", "envFrom": sources}]},
    }


def _metadata(name: str) -> Json:
    return {
        "name": name,
        "namespace": NAMESPACE,
        "uid": f"uid-{name}",
        "resourceVersion": "1",
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }


class _Handler(BaseHTTPRequestHandler):
    """Lists and patches; everything else is not found."""

    protocol_version = "HTTP/1.1"
    # One packet an answer: headers sent alone would wait 40 ms for their acknowledgement.
    wbufsize = 65536

    def do_GET(self) -> None:
        """Answer a list, or the object of that name."""
        plural, _, name = self._resource()
        found = self._objects(plural)
        if not name:
            self._answer(200, {"metadata": {"resourceVersion": "1"}, "items": found})
            return
        own = [item for item in found if item["metadata"]["name"] == name]
        self._answer(200 if own else 404, own[0] if own else {"message": "not found"})

    def do_PATCH(self) -> None:
        """Take any patch for made."""
        self.rfile.read(int(self.headers["Content-Length"]))
        plural, _, name = self._resource()
        own = [item for item in self._objects(plural) if item["metadata"]["name"] == name]
        self._answer(200 if own else 404, own[0] if own else {"message": "not found"})

    def do_POST(self) -> None:
        """Take any object, as an Event, for made."""
        self._answer(201, json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def log_message(self, *_arguments: Any) -> None:
        """Write no log."""

    def _resource(self) -> tuple[str, str, str]:
        path = self.path.partition("?")[0]
        return path.rpartition(f"/namespaces/{NAMESPACE}/")[2].partition("/")

    def _objects(self, plural: str) -> list[Json]:
        return cast("_Server", self.server).objects.get(plural, [])

    def _answer(self, code: int, data: Json) -> None:
        body = json.dumps(data).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
