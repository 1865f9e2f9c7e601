"""The few requests that attach sends, each retried for a while: list, watch, patch, delete, create.

Lists are paged; those of ConfigMaps and Secrets ask for metadata only (PartialObjectMetadata), so
that no value is read and 2,000 of them fit into a small Pod.
"""

from __future__ import annotations

import json
import random
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from postrender.attach.resources import REVISED, Resource
from postrender.errors import UserError

if TYPE_CHECKING:
    from httpx2 import Client as Session
    from httpx2 import Response

    from postrender.attach.live import Object
    from postrender.attach.log import Log

Fact = TypeVar("Fact")

PAGE_SIZE = 500
# How often a list is begun anew because its pages expire.
LIST_TRIES = 5
# How long a request is tried again while the API server is away, busy or broken.
PATIENCE_SECONDS = 60.0
# A Role that was applied just before a run may not be in force when it starts, and a restarted API
# server knows no Role at first. So long in all, and anew after each lost connection.
UNKNOWN_PATIENCE_SECONDS = 5.0
_FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.1, 5.0

# Beside the codes of HTTP: what an ApiError bears where there was no answer.
_NO_ANSWER, _UNTRUSTED = 0, -1
_UNAUTHORIZED, FORBIDDEN = 401, 403
_NOT_FOUND, _CONFLICT, _GONE = 404, 409, 410
_PASSING = frozenset({_NO_ANSWER, 429, 500, 502, 503, 504})
_METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_STRATEGIC = "application/strategic-merge-patch+json"

# What the refusals of admission policies and of webhooks say (Kubernetes 1.35).
_ADMISSION = ("denied request", "denied the request")

_REMEDIES = {
    _NO_ANSWER: "check the network and that the API server runs",
    _UNTRUSTED: "check the certificate authority that the kubeconfig names",
    _UNAUTHORIZED: "check the token or certificate",
    FORBIDDEN: "check the Role and RoleBinding in this namespace",
}


class ApiError(UserError):
    """The API server refused a request, or did not answer. status: of HTTP, less for no answer."""

    def __init__(self, status: int, what: str) -> None:
        self.status = status
        # A policy refuses with the same code as a Role that lacks a permission.
        self.is_missing_permission = status == FORBIDDEN and not any(
            words in what for words in _ADMISSION
        )
        by_policy = status == FORBIDDEN and not self.is_missing_permission
        known = "" if by_policy else _REMEDIES.get(status, "")
        super().__init__(what, known or "the API server's log may tell more")

    @property
    def is_answer(self) -> bool:
        """Whether the API server said so itself."""
        return self.status > 0


class Client:
    """One namespace of a cluster, through an authenticated HTTP session.

    manager: the field manager of what is written; log: told of each request, and warned of each
    that has to be tried again; requests, writes: how many were sent, every try counted.
    """

    def __init__(self, session: Session, namespace: str, manager: str, log: Log) -> None:
        self._session = session
        self._manager = {"fieldManager": manager}
        self._log = log
        self._unknown_seconds = UNKNOWN_PATIENCE_SECONDS
        self.namespace = namespace
        self.requests = 0
        self.writes = 0

    def list_all(
        self, resource: Resource, read: Callable[[Object], Fact], selector: str = ""
    ) -> tuple[list[Fact], str]:
        """Return what `read` makes of each object of a kind, and a version to watch from.

        Nothing and "" where the cluster has no such kind. selector: a label selector.
        Raises ApiError.
        """
        for _ in range(LIST_TRIES):
            found = self._list(resource, read, selector)
            if found is not None:
                return found
            # A page came too late, and what it was a part of is gone: from the start again.
            time.sleep(_FIRST_PAUSE_SECONDS)
        what = f"cannot list {resource.plural} in namespace {self.namespace}"
        raise ApiError(_GONE, f"{what}: {_GONE} its pages expire before they are read")

    def _list(
        self, resource: Resource, read: Callable[[Object], Fact], selector: str
    ) -> tuple[list[Fact], str] | None:
        """Return what list_all does, or None where a page has expired."""
        facts: list[Fact] = []
        version = ""
        try:
            for metadata, items in self._pages(resource, selector):
                facts.extend(map(read, items))
                version = metadata.get("resourceVersion") or ""
        except ApiError as error:
            if error.status == _NOT_FOUND:
                return [], ""
            if error.status != _GONE:
                raise
            return None
        return facts, version

    def _pages(
        self, resource: Resource, selector: str
    ) -> Iterator[tuple[dict[str, Any], list[Object]]]:
        """Yield metadata and items of each page of a list."""
        accept = _METADATA_ONLY if resource in REVISED else "application/json"
        parameters = {"limit": str(PAGE_SIZE), "labelSelector": selector}
        while True:
            what = f"list {resource.plural}"
            answer = self._send("GET", self._url(resource), what, parameters, accept=accept)
            metadata = answer.get("metadata") or {}
            yield metadata, answer.get("items") or []
            parameters["continue"] = metadata.get("continue") or ""
            if not parameters["continue"]:
                return

    def watch(
        self, resource: Resource, version: str, seconds: float
    ) -> Iterator[tuple[str, Object]]:
        """Yield (type, object) of what changes, until it is over for whatever reason.

        It may end early (an expired version, a lost connection): list again then.
        Raises ApiError where watching is forbidden.
        """
        parameters = {
            "watch": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(max(1, round(seconds))),
        }
        self.requests += 1
        try:
            url = self._url(resource)
            with self._session.stream("GET", url, params=parameters) as answer:
                if answer.status_code == FORBIDDEN:
                    answer.read()
                    raise self._error(answer, f"watch {resource.plural}")
                if answer.is_success:
                    yield from _events(answer)
        except _transport_errors():
            return

    def patch(self, resource: Resource, name: str, patch: Object) -> bool:
        """Apply a strategic merge patch; return False where the object is gone. Raises ApiError."""
        what = f"patch {resource.plural}/{name}"
        return self._change("PATCH", self._url(resource, name), what, patch, _NOT_FOUND)

    def delete(self, resource: Resource, name: str, preconditions: Mapping[str, str]) -> bool:
        """Delete an object if it is still as it was read: preconditions on uid, resourceVersion.

        Return False where it has changed. One that is gone may have been deleted by a try whose
        answer was lost. Raises ApiError.
        """
        body: Object = {
            "preconditions": dict(preconditions),
            "propagationPolicy": "Background",
        }
        what = f"delete {resource.plural}/{name}"
        try:
            return self._change("DELETE", self._url(resource, name), what, body, _CONFLICT)
        except ApiError as error:
            if error.status == _NOT_FOUND:
                return True
            raise

    def create(self, resource: Resource, data: Object) -> None:
        """Create an object, unless a try whose answer was lost has made it. Raises ApiError."""
        self._change("POST", self._url(resource), f"create {resource.plural}", data, _CONFLICT)

    def read(self, resource: Resource, name: str) -> Object | None:
        """Return one whole object, or None where it is gone. Raises ApiError."""
        try:
            return self._send("GET", self._url(resource, name), f"get {resource.plural}/{name}")
        except ApiError as error:
            if error.status == _NOT_FOUND:
                return None
            raise

    def _change(self, method: str, url: str, what: str, body: Object, *expected: int) -> bool:
        """Send a write; return False where it is answered with one of the expected refusals."""
        try:
            self._send(method, url, what, self._manager if method != "DELETE" else {}, body)
        except ApiError as error:
            if error.status in expected:
                return False
            raise
        return True

    def _url(self, resource: Resource, name: str = "") -> str:
        url = f"{resource.path}/namespaces/{self.namespace}/{resource.plural}"
        return f"{url}/{name}" if name else url

    def _send(
        self,
        method: str,
        url: str,
        what: str,
        parameters: Mapping[str, str] | None = None,
        body: Object | None = None,
        accept: str = "application/json",
    ) -> dict[str, Any]:
        """Send a request until it is answered for good; return the object in the answer."""
        headers = {"Accept": accept}
        content = None
        if body is not None:
            headers["Content-Type"] = _STRATEGIC if method == "PATCH" else "application/json"
            content = json.dumps(body).encode()
        given = {key: value for key, value in (parameters or {}).items() if value}
        started, pause = time.monotonic(), _FIRST_PAUSE_SECONDS
        while True:
            self.requests += 1
            self.writes += method != "GET"
            self._log.debug(f"{method} {url}")
            delay = pause * random.uniform(0.5, 1.5)
            try:
                answer = self._session.request(
                    method, url, params=given, content=content, headers=headers
                )
                if answer.is_success:
                    return _object(answer)
                error = self._error(answer, what)
                delay = max(delay, _retry_after(answer))
            except _transport_errors() as problem:
                error = self._no_answer(problem, what)
                self._unknown_seconds = UNKNOWN_PATIENCE_SECONDS
            if not self._may_wait(error, method, time.monotonic() - started + delay, delay):
                raise error
            if pause == _FIRST_PAUSE_SECONDS:
                self._log.warning(f"{error.problem}: trying again")
            time.sleep(delay)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)

    def _may_wait(self, error: ApiError, method: str, seconds: float, delay: float) -> bool:
        """Tell whether a request is tried again, after a delay with which it takes so long."""
        if error.status == _UNAUTHORIZED or error.is_missing_permission:
            self._unknown_seconds -= delay
            return self._unknown_seconds >= 0
        is_conflict = error.status == _CONFLICT and method == "PATCH"
        return seconds <= PATIENCE_SECONDS and (is_conflict or error.status in _PASSING)

    def _no_answer(self, problem: Exception, what: str) -> ApiError:
        reason = str(problem) or type(problem).__name__
        server = self._session.base_url.host
        text = f"cannot {what} in namespace {self.namespace}: {server}: {reason}"
        return ApiError(_UNTRUSTED if _is_untrusted(problem) else _NO_ANSWER, text)

    def _error(self, answer: Response, what: str) -> ApiError:
        try:
            message = str(answer.json()["message"])
        except (ValueError, KeyError, TypeError):
            message = answer.text[:200]
        text = f"cannot {what} in namespace {self.namespace}: {answer.status_code} {message}"
        return ApiError(answer.status_code, text)


def _transport_errors() -> tuple[type[Exception], ...]:
    import httpx2

    # A body that is cut off, or no JSON, comes from a connection that broke or a proxy.
    return httpx2.TransportError, httpx2.DecodingError, httpx2.StreamError, ValueError


def _is_untrusted(problem: BaseException | None) -> bool:
    """Tell whether the server's certificate was refused: trying again would not help."""
    if isinstance(problem, ssl.SSLCertVerificationError):
        return True
    return problem is not None and _is_untrusted(problem.__cause__ or problem.__context__)


def _retry_after(answer: Response) -> float:
    text = answer.headers.get("Retry-After", "")
    return min(float(text), LONGEST_PAUSE_SECONDS) if text.isdigit() else 0.0


def _object(answer: Response) -> dict[str, Any]:
    data = answer.json()
    if not isinstance(data, dict):
        raise ValueError("the answer is no object")
    return data


def _events(answer: Response) -> Iterator[tuple[str, Object]]:
    for line in answer.iter_lines():
        event = json.loads(line) if line else {}
        kind, data = event.get("type"), event.get("object")
        if kind == "ERROR" or not isinstance(data, dict):
            return
        yield str(kind), data
