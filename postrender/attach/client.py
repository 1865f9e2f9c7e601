"""The API requests of attach, each with retries: list, watch, patch, delete, create, get.

This client is not lightkube.Client, because lightkube 1.0 cannot send two of the requests. Its
delete has no preconditions, and its list has no PartialObjectMetadata. Lists of ConfigMaps and
Secrets ask for metadata only: no value is read, and 2,000 objects fit into a small Pod.
"""

from __future__ import annotations

import json
import logging
import random
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from postrender.attach.resources import REVISED_KINDS, Resource
from postrender.errors import UserError, sentences

if TYPE_CHECKING:
    from httpx2 import Client as Session
    from httpx2 import Response

    from postrender.attach.live import Object

Fact = TypeVar("Fact")

PAGE_SIZE = 500
# The number of attempts for a list whose pages expire.
LIST_TRIES = 5
# How long a request is retried while the API server is unreachable, busy or failing.
PATIENCE_SECONDS = 60.0
# A Role that was just applied may not be in force yet. A restarted API server does not know any
# Role at first. This is the total for all requests; a lost connection resets the total.
UNKNOWN_PATIENCE_SECONDS = 5.0
_FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.1, 5.0

# The statuses of an ApiError without an HTTP response.
_NO_ANSWER, _UNTRUSTED = 0, -1
_UNAUTHORIZED, FORBIDDEN = 401, 403
_NOT_FOUND, _CONFLICT, _GONE = 404, 409, 410
_TRANSIENT = frozenset({_NO_ANSWER, 429, 500, 502, 503, 504})
_METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_STRATEGIC = "application/strategic-merge-patch+json"

# Phrases in the refusals of admission policies and webhooks (Kubernetes 1.35).
_ADMISSION = ("denied request", "denied the request")

_FIXES = {
    _NO_ANSWER: "Check the network and that the API server runs",
    _UNTRUSTED: "Check the certificate authority in the kubeconfig",
    _UNAUTHORIZED: "Check the token or certificate",
    FORBIDDEN: "Check the Role and RoleBinding in this namespace",
}

_log = logging.getLogger(__name__)


class ApiError(UserError):
    """The API server refused a request, or did not answer.

    status: of HTTP, or 0 and less without an answer;
    retry_after: the seconds that the server asks for.
    """

    def __init__(self, status: int, problem: str, retry_after: float = 0.0) -> None:
        self.status = status
        self.retry_after = retry_after
        # An admission policy refuses with the same status as a missing permission.
        is_by_policy = status == FORBIDDEN and any(phrase in problem for phrase in _ADMISSION)
        self.is_missing_permission = status == FORBIDDEN and not is_by_policy
        fix = "" if is_by_policy else _FIXES.get(status, "")
        super().__init__(problem, fix or "See the API server's log for details")

    @property
    def is_answer(self) -> bool:
        """Return whether the error is an answer of the API server."""
        return self.status > 0


class Client:
    """One namespace of a cluster, through an authenticated HTTP session.

    manager: the field manager of the writes;
    requests, writes: the numbers of sent requests, including retries.
    """

    def __init__(self, session: Session, namespace: str, manager: str) -> None:
        self._session = session
        self._manager = {"fieldManager": manager}
        self._unknown_seconds = UNKNOWN_PATIENCE_SECONDS
        self.namespace = namespace
        self.requests = 0
        self.writes = 0

    def list_all(
        self, resource: Resource, read: Callable[[Object], Fact], selector: str = ""
    ) -> tuple[list[Fact], str]:
        """Return `read` of each object of a kind, and a version to watch from. Raises ApiError.

        If the cluster does not have the kind, the result is empty and the version is "".
        selector: a label selector.
        """
        for _ in range(LIST_TRIES):
            result = self._list(resource, read, selector)
            if result is not None:
                return result
            time.sleep(_FIRST_PAUSE_SECONDS)
        what = f"cannot list {resource.plural} in namespace {self.namespace}"
        raise ApiError(_GONE, f"{what}: {_GONE} the pages expire before they are read")

    def _list(
        self, resource: Resource, read: Callable[[Object], Fact], selector: str
    ) -> tuple[list[Fact], str] | None:
        """Return the result of list_all, or None if a page has expired."""
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
        """Yield the metadata and items of each page of a list."""
        accept = _METADATA_ONLY if resource in REVISED_KINDS else "application/json"
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
        """Yield (type, object) of each change, until the watch ends.

        The watch may end early (an expired version, a lost connection); the caller then lists
        again. Raises ApiError if watching is forbidden.
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
        """Apply a strategic merge patch; return False if the object is deleted. Raises ApiError."""
        what = f"patch {resource.plural}/{name}"
        return self._change("PATCH", self._url(resource, name), what, patch, _NOT_FOUND)

    def delete(self, resource: Resource, name: str, preconditions: Mapping[str, str]) -> bool:
        """Delete an object that has not changed; return False if it has. Raises ApiError.

        preconditions: uid, and resourceVersion if any change counts.
        """
        body: Object = {
            "preconditions": dict(preconditions),
            "propagationPolicy": "Background",
        }
        what = f"delete {resource.plural}/{name}"
        try:
            return self._change("DELETE", self._url(resource, name), what, body, _CONFLICT)
        except ApiError as error:
            # An earlier try, whose answer was lost, may have deleted the object.
            if error.status == _NOT_FOUND:
                return True
            raise

    def create(self, resource: Resource, data: Object) -> None:
        """Create an object. Raises ApiError.

        A conflict is not an error: an earlier try, whose answer was lost, created the object.
        """
        self._change("POST", self._url(resource), f"create {resource.plural}", data, _CONFLICT)

    def read(self, resource: Resource, name: str) -> Object | None:
        """Return one whole object, or None if the object does not exist. Raises ApiError."""
        try:
            return self._send("GET", self._url(resource, name), f"get {resource.plural}/{name}")
        except ApiError as error:
            if error.status == _NOT_FOUND:
                return None
            raise

    def _change(self, method: str, url: str, what: str, body: Object, *expected: int) -> bool:
        """Send a write; return False if the answer is one of the expected refusals."""
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
        """Send a request with retries; return the object in the answer. Raises ApiError."""
        headers = {"Accept": accept}
        content = None
        if body is not None:
            headers["Content-Type"] = _STRATEGIC if method == "PATCH" else "application/json"
            content = json.dumps(body).encode()
        arguments = {
            "params": {key: value for key, value in (parameters or {}).items() if value},
            "content": content,
            "headers": headers,
        }
        started, pause = time.monotonic(), _FIRST_PAUSE_SECONDS
        while True:
            delay = pause * random.uniform(0.5, 1.5)
            try:
                return self._try(method, url, what, arguments)
            except ApiError as error:
                delay = max(delay, error.retry_after)
                if not self._may_wait(error, method, time.monotonic() - started + delay, delay):
                    raise
                if pause == _FIRST_PAUSE_SECONDS:
                    _log.warning(sentences(error.problem, "Retrying"))
            time.sleep(delay)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)

    def _try(self, method: str, url: str, what: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Send a request once; return the object in the answer. Raises ApiError."""
        self.requests += 1
        self.writes += method != "GET"
        _log.debug(f"{method} {url}")
        try:
            answer = self._session.request(method, url, **arguments)
            if answer.is_success:
                return _object(answer)
        except _transport_errors() as problem:
            self._unknown_seconds = UNKNOWN_PATIENCE_SECONDS
            raise self._no_answer(problem, what) from None
        raise self._error(answer, what)

    def _may_wait(self, error: ApiError, method: str, seconds: float, delay: float) -> bool:
        """Return whether to retry a request.

        seconds: the duration of all tries, including the delay before the next try.
        """
        if error.status == _UNAUTHORIZED or error.is_missing_permission:
            self._unknown_seconds -= delay
            return self._unknown_seconds >= 0
        is_conflict = error.status == _CONFLICT and method == "PATCH"
        return seconds <= PATIENCE_SECONDS and (is_conflict or error.status in _TRANSIENT)

    def _no_answer(self, problem: Exception, what: str) -> ApiError:
        reason = str(problem) or type(problem).__name__
        server = self._session.base_url.host
        return ApiError(
            _UNTRUSTED if _is_untrusted(problem) else _NO_ANSWER,
            f"cannot {what} in namespace {self.namespace}: request to {server} failed ({reason})",
        )

    def _error(self, answer: Response, what: str) -> ApiError:
        try:
            message = str(answer.json()["message"])
        except (ValueError, KeyError, TypeError):
            message = answer.text[:200]
        text = f"cannot {what} in namespace {self.namespace}: {answer.status_code} {message}"
        return ApiError(answer.status_code, text, _retry_after(answer))


def _transport_errors() -> tuple[type[Exception], ...]:
    import httpx2

    # A body that is cut off or not JSON comes from a broken connection or a proxy.
    return httpx2.TransportError, httpx2.DecodingError, httpx2.StreamError, ValueError


def _is_untrusted(problem: BaseException | None) -> bool:
    """Return whether the server's certificate was refused, so that a retry would not help."""
    if isinstance(problem, ssl.SSLCertVerificationError):
        return True
    return problem is not None and _is_untrusted(problem.__cause__ or problem.__context__)


def _retry_after(answer: Response) -> float:
    text = answer.headers.get("Retry-After", "")
    return min(float(text), LONGEST_PAUSE_SECONDS) if text.isdigit() else 0.0


def _object(answer: Response) -> dict[str, Any]:
    data = answer.json()
    if not isinstance(data, dict):
        raise ValueError("the answer is not a JSON object")
    return data


def _events(answer: Response) -> Iterator[tuple[str, Object]]:
    for line in answer.iter_lines():
        event = json.loads(line) if line else {}
        kind, data = event.get("type"), event.get("object")
        if kind == "ERROR" or not isinstance(data, dict):
            return
        yield str(kind), data
