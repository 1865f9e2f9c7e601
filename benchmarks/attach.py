"""A stand-in for an API server that has one Deployment with many ConfigMaps, for `attach`.

The server answers requests at once and from memory: the measurement covers the attacher, not a
cluster. tests/e2e measures the attacher against a real API server.
"""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, cast

from postrender.attach.request import CONSUMER_KINDS, REVISED_KINDS
from postrender.kubernetes.hashing import hashed_content, revision_name, without_hash
from postrender.kubernetes.kinds import CONFIG_MAP

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RENDER_ID = "0123456789"
_ANNOTATIONS = {"annotations": {"postrender/render-id": RENDER_ID}}
NAMESPACE = "default"

_KINDS = {resource.plural: resource for resource in (*CONSUMER_KINDS, *REVISED_KINDS)}
_METADATA = "PartialObjectMetadata"

_OWNER = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "app", "uid": "uid-deployment"}
_CONTENT: dict[str, Any] = {"data": {"LOG_LEVEL": "debug"}, "immutable": True}

Json = dict[str, Any]


def names_of(count: int) -> list[str]:
    """Return the names of the ConfigMaps, with the hash of their content."""
    content = hashed_content(CONFIG_MAP, _CONTENT, is_immutable=True)
    return [revision_name(f"app-config-{number:05}", content) for number in range(count)]


def arguments_of(count: int) -> tuple[str, ...]:
    """Return the arguments that the rendered Job passes to `postrender attach`."""
    names = ",".join(f"configmap/{name}" for name in names_of(count))
    return ("attach", "--group", "app-attach", "--workload", f"Deployment/app@{RENDER_ID}={names}")


@contextmanager
def api_server(count: int, folder: Path) -> Iterator[Path]:
    """Run the server with `count` ConfigMaps and yield a kubeconfig for it."""
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
    """The server, with its objects by the plural of their kind."""

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
    annotations = {"postrender/base-name": without_hash(name)}
    head = {"apiVersion": "v1", "kind": "ConfigMap"}
    return {**head, "metadata": metadata | {"annotations": annotations}, **_CONTENT}


def _deployment(count: int) -> Json:
    metadata = _metadata("app") | _ANNOTATIONS | {"uid": _OWNER["uid"], "generation": 1}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {"replicas": 1, "template": _template(count)},
        "status": {"observedGeneration": 1},
    }


def _replica_set(count: int) -> Json:
    owners = [_OWNER | {"controller": True}]
    metadata = _metadata("app-1") | _ANNOTATIONS | {"ownerReferences": owners}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": metadata,
        "spec": {"replicas": 1, "template": _template(count)},
    }


def _template(count: int) -> Json:
    sources = [{"configMapRef": {"name": name}} for name in names_of(count)]
    return {"spec": {"containers": [{"name": "main", "envFrom": sources}]}}


def _metadata(name: str) -> Json:
    return {
        "name": name,
        "namespace": NAMESPACE,
        "uid": f"uid-{name}",
        "resourceVersion": "1",
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }


class _Handler(BaseHTTPRequestHandler):
    """The answers to lists, reads, patches and new objects; an unknown name is not found."""

    protocol_version = "HTTP/1.1"
    # Send an answer as one packet: separate headers would wait 40 ms for their acknowledgement.
    wbufsize = 65536

    def do_GET(self) -> None:
        """Answer with a list, or with the object that has the name."""
        plural, _, name = self._resource()
        if name:
            self._answer_object(plural, name)
        else:
            self._answer(200, self._list(plural))

    def do_PATCH(self) -> None:
        """Accept any patch without applying it."""
        self.rfile.read(int(self.headers["Content-Length"]))
        _, _, name = self._resource()
        self._answer(200, {"kind": _METADATA, "metadata": _metadata(name)})

    def do_POST(self) -> None:
        """Accept any new object, such as an Event, without storing it."""
        data = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._answer(201, {"kind": _METADATA, "metadata": _metadata(data["metadata"]["name"])})

    def log_message(self, *_arguments: Any) -> None:
        """Do not log requests."""

    def _resource(self) -> tuple[str, str, str]:
        path = self.path.partition("?")[0]
        return path.rpartition(f"/namespaces/{NAMESPACE}/")[2].partition("/")

    def _list(self, plural: str) -> Json:
        """Return whole objects, or only their metadata if the client asks for it."""
        has_content = _METADATA not in self.headers["Accept"]
        resource, items = _KINDS[plural], self._objects(plural)
        if not has_content:
            items = [{"metadata": item["metadata"]} for item in items]
        return {
            "apiVersion": resource.api_version if has_content else "meta.k8s.io/v1",
            "kind": f"{resource.kind if has_content else _METADATA}List",
            "metadata": {"resourceVersion": "1"},
            "items": items,
        }

    def _objects(self, plural: str) -> list[Json]:
        return cast("_Server", self.server).objects.get(plural, [])

    def _answer_object(self, plural: str, name: str) -> None:
        for item in self._objects(plural):
            if item["metadata"]["name"] == name:
                self._answer(200, item)
                return
        self._answer(404, {"message": "not found"})

    def _answer(self, code: int, data: Json) -> None:
        body = json.dumps(data).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
