"""A small client of the Kubernetes API for tests: objects are dicts of parsed JSON."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from tests.e2e.rollouts_cache import wait_for_cache

T = TypeVar("T")
Json = dict[str, Any]
# Inside of the class, `Api.list` hides the type `list`.
Objects = list[Json]
Names = list[str]


# A busy machine gets this multiple of the time that an idle machine needs.
PATIENCE = 3
# A request that takes longer fails. A second attempt could find that the first had an effect.
REQUEST_SECONDS = 30 * PATIENCE
# The pause between two calls of a predicate grows from the first to the last value (in seconds).
# With short pauses only, the requests of waiting tests keep a core busy.
FIRST_PAUSE, LAST_PAUSE, GROWTH = 0.03, 0.2, 1.15


class Resource(NamedTuple):
    """The location at which the API serves a kind."""

    version: str
    plural: str
    namespaced: bool = True

    def path(self, namespace: str) -> str:
        """Return the path of the kind's objects, in one namespace or in all ("")."""
        root = "/api/v1" if self.version == "v1" else f"/apis/{self.version}"
        inside = f"/namespaces/{namespace}" if namespace and self.namespaced else ""
        return f"{root}{inside}/{self.plural}"


def _resources() -> Iterator[tuple[str, Resource]]:
    served = {
        "v1": (
            "ConfigMap Secret Pod PodTemplate ReplicationController Service ServiceAccount Event "
            "ResourceQuota"
        ),
        "apps/v1": "Deployment ReplicaSet StatefulSet DaemonSet ControllerRevision",
        "autoscaling/v2": "HorizontalPodAutoscaler",
        "batch/v1": "Job CronJob",
        "rbac.authorization.k8s.io/v1": "Role RoleBinding",
        "argoproj.io/v1alpha1": (
            "Rollout Experiment AnalysisTemplate AnalysisRun Application ApplicationSet AppProject"
        ),
    }
    for version, kinds in served.items():
        for kind in kinds.split():
            yield kind, Resource(version, f"{kind.lower()}s")
    for kind in ("Namespace", "Node"):
        yield kind, Resource("v1", f"{kind.lower()}s", namespaced=False)
    for kind in ("ClusterRole", "ClusterRoleBinding"):
        yield kind, Resource("rbac.authorization.k8s.io/v1", f"{kind.lower()}s", namespaced=False)
    yield (
        "ClusterAnalysisTemplate",
        Resource("argoproj.io/v1alpha1", "clusteranalysistemplates", namespaced=False),
    )
    yield (
        "CustomResourceDefinition",
        Resource("apiextensions.k8s.io/v1", "customresourcedefinitions", namespaced=False),
    )


KINDS = dict(_resources())

JSON_TYPE = "application/json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


class ApiError(Exception):
    """An error response of the API server."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


# The API server did not answer. OSError covers refused, reset and timed out connections and TLS.
UNREACHABLE = (OSError, http.client.HTTPException)


class Api:
    """A client for one user; `namespace` is the default of every call."""

    def __init__(self, url: str, token: str, ca: str, namespace: str = "") -> None:
        self.url, self.token, self.ca, self.namespace = url, token, ca, namespace
        self._tls = ssl.create_default_context(cafile=ca)
        self._local = threading.local()

    def within(self, namespace: str) -> Api:
        """Return a client of the same user for another namespace."""
        return Api(self.url, self.token, self.ca, namespace)

    # Objects

    def get(self, kind: str, name: str, namespace: str | None = None) -> Json:
        """Return one object; raise ApiError 404 if it does not exist."""
        return self.request("GET", self.path(kind, name, namespace))

    def find(self, kind: str, name: str, namespace: str | None = None) -> Json | None:
        """Return one object, or None."""
        try:
            return self.get(kind, name, namespace)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def list(
        self, kind: str, labels: str = "", fields: str = "", namespace: str | None = None
    ) -> Objects:
        """Return the objects of a kind that the selectors match, sorted by name."""
        query = urlencode({"labelSelector": labels, "fieldSelector": fields})
        response = self.request("GET", f"{self.path(kind, '', namespace)}?{query}")
        # The items of a list have neither apiVersion nor kind.
        items = [
            {"apiVersion": KINDS[kind].version, "kind": kind} | item for item in response["items"]
        ]
        return sorted(items, key=lambda item: str(item["metadata"]["name"]))

    def names(self, kind: str, labels: str = "") -> Names:
        """Return the sorted names of the objects of a kind."""
        return [item["metadata"]["name"] for item in self.list(kind, labels)]

    def create(self, obj: Json, namespace: str | None = None) -> Json:
        """Create an object; apiVersion is filled in."""
        obj = {"apiVersion": KINDS[obj["kind"]].version} | obj
        return self.request("POST", self.path(obj["kind"], "", namespace), obj)

    def delete(
        self, kind: str, name: str, propagation: str = "Background", namespace: str | None = None
    ) -> None:
        """Delete an object; `propagation` is `Background`, `Foreground` or `Orphan`."""
        body = {"propagationPolicy": propagation}
        self.request("DELETE", self.path(kind, name, namespace), body)

    def patch(
        self, kind: str, name: str, change: Json, how: str = MERGE, namespace: str | None = None
    ) -> Json:
        """Patch an object: MERGE, or STRATEGIC (not for Argo's kinds)."""
        if kind == "Rollout":
            wait_for_cache()
        return self.request("PATCH", self.path(kind, name, namespace), change, how)

    def path(self, kind: str, name: str = "", namespace: str | None = None) -> str:
        """Return the URL path of an object, or of a kind's objects."""
        inside = self.namespace if namespace is None else namespace
        return KINDS[kind].path(inside) + (f"/{quote(name)}" if name else "")

    # Waiting

    def wait_for(
        self, predicate: Callable[[], T | None], message: str = "", timeout: float = 90
    ) -> T:
        """Call `predicate` until it returns a true value, and return the value.

        Error responses, connection errors and missing fields count as "not yet". Raises an
        AssertionError that shows the objects of the namespace when the time is over.
        timeout: the seconds that are enough on an idle machine.
        """
        limit = PATIENCE * timeout
        deadline = time.monotonic() + limit
        last: object = None
        pause = FIRST_PAUSE
        while True:
            try:
                if value := predicate():
                    return value
                last = value
            except (ApiError, LookupError, *UNREACHABLE) as error:
                last = repr(error)
            if time.monotonic() > deadline:
                title = f"not within {limit} s: {message or predicate}\nlast: {last}"
                raise AssertionError(f"{title}\n{self.dump()}")
            time.sleep(pause)
            pause = min(LAST_PAUSE, pause * GROWTH)

    def dump(self) -> str:
        """Return the contents of the namespace, for the message of a failed test."""
        from tests.e2e.dump import dump

        try:
            return dump(self)
        except (ApiError, *UNREACHABLE) as error:
            return f"(the namespace cannot be read: {error})"

    # HTTP

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        content: str = JSON_TYPE,
        accept: str = JSON_TYPE,
    ) -> Json:
        """Send one request and return the parsed answer. `body` is JSON, or raw text."""
        text = body if isinstance(body, str) else json.dumps(body)
        data = None if body is None else text.encode()
        headers = self._headers(content, accept)
        status, answer = self._send(method, path, data, headers)
        if status >= 400:
            raise ApiError(status, f"{method} {path}: {_message(answer)}")
        parsed = json.loads(answer) if answer.startswith(b"{") else {}
        assert isinstance(parsed, dict)
        return parsed

    def watch(self, path: str, version: str, seconds: int = 300) -> Iterator[Json]:
        """Yield the events after a resource version, until the server ends the watch."""
        query = urlencode({"watch": "true", "resourceVersion": version, "timeoutSeconds": seconds})
        connection = self._connect(seconds + 30)
        try:
            connection.request("GET", f"{path}?{query}", headers=self._headers(""))
            response = connection.getresponse()
            if response.status >= 400:
                raise ApiError(response.status, _message(response.read()))
            for line in response:
                yield json.loads(line)
        finally:
            connection.close()

    def _headers(self, content: str, accept: str = JSON_TYPE) -> Mapping[str, str]:
        headers = {"Authorization": f"Bearer {self.token}", "Accept": accept}
        return headers | ({"Content-Type": content} if content else {})

    def _connect(self, timeout: float) -> http.client.HTTPSConnection:
        location = urlsplit(self.url)
        assert location.hostname
        return http.client.HTTPSConnection(
            location.hostname, location.port, timeout=timeout, context=self._tls
        )

    def _send(
        self, method: str, path: str, data: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, bytes]:
        """Send a request on the thread's connection, or on a new one if the server closed it."""
        reused: http.client.HTTPSConnection | None = getattr(self._local, "connection", None)
        for connection in (reused, self._connect(REQUEST_SECONDS)):
            if connection is None:
                continue
            try:
                connection.request(method, path, data, dict(headers))
                response = connection.getresponse()
                answer = response.status, response.read()
            except UNREACHABLE:
                connection.close()
                self._local.connection = None
                if connection is not reused:
                    raise
            else:
                self._local.connection = connection
                return answer
        raise AssertionError("the second connection either answers or raises")


def _message(answer: bytes) -> str:
    """Return the message of a Status, or the text of any other answer."""
    try:
        return str(json.loads(answer)["message"])
    except (ValueError, LookupError, TypeError):
        return answer.decode(errors="replace")
