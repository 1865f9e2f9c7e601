"""The API requests of attach and adopt: list, watch, patch, delete, create and get.

The client retries a request that fails for a temporary reason, but not a watch. After a broken
watch, the caller must list the objects again. Every method that sends a request raises ApiError if
the API server refuses it or does not answer, and UserError if the login fails.

postrender does not use lightkube.Client, because lightkube 1.0 cannot send a delete request with
preconditions, and cannot list PartialObjectMetadata. To save memory, the client lists only the
metadata of ConfigMaps and Secrets.
"""

from __future__ import annotations

import contextlib
import json
import logging
import random
import re
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import MAXYEAR, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, TypeVar

from postrender.attach.answers import check_list, check_object, check_write, parse
from postrender.attach.live import text_at
from postrender.attach.request import CONFIG_MAPS, REVISED_KINDS, Resource
from postrender.errors import UserError, sentences
from postrender.kubernetes.kinds import is_built_in

if TYPE_CHECKING:
    from httpx2 import Client as Session
    from httpx2 import Response

    from postrender.attach.live import Object

Record = TypeVar("Record")

PAGE_SIZE = 500
# The client stops reading a page after PAGE_BYTES, because parsed objects take up to 20 times the
# memory of their text. It then divides the maximum number of objects of a page by PAGE_DIVISOR, and
# requests the page again.
PAGE_BYTES, PAGE_DIVISOR = 4 << 20, 8
# The maximum size of any answer. etcd stores at most 1.5 MB for an object by default, which JSON
# escapes can make six times longer.
MAX_BYTES = 16 << 20
# The maximum number of pages of a list.
MAX_PAGES = 10_000
# The maximum number of attempts to read a list. Pages can expire before the client reads all pages.
LIST_TRIES = 5
# The maximum time for one answer. The API server itself ends every list after 60 seconds.
REQUEST_SECONDS = 60.0
# The maximum time for retries of one request while the API server is unreachable, busy or failing.
# The limit also applies to retries of a patch after a conflict.
RETRY_SECONDS = 60.0
# The maximum total time for the retries of all requests after status 401 or a missing permission.
# The API server can need a moment before a new Role has an effect. A restarted API server does not
# know any Role at first. After a lost connection, the client therefore allows the whole time again.
FORBIDDEN_RETRY_SECONDS = 5.0
# Both times for a person who waits. An API server that has not answered yet is an error at once.
_IMPATIENT = 3.0, 0.0
_FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.1, 5.0

# The statuses of an ApiError without a readable answer.
_NO_ANSWER, _UNTRUSTED = 0, -1
_UNAUTHORIZED, FORBIDDEN = 401, 403
_NOT_FOUND, CONFLICT, _GONE = 404, 409, 410
_TRANSIENT = frozenset({_NO_ANSWER, 429, 500, 502, 503, 504})
_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_STRATEGIC = "application/strategic-merge-patch+json"
# What the API server writes for a kind that it does not have (net/http, NotFound).
_NO_KIND = b"404 page not found"
# No two objects of a list have the same values of one of these groups of fields.
_KEYS = (("namespace", "name"), ("uid",))
# The types of the events of a watch, without ERROR and BOOKMARK.
_EVENTS = ("ADDED", "MODIFIED", "DELETED")
# The time that a watch may last longer than the client has asked for, in seconds.
_WATCH_DELAY = 5.0
# The HTTP method of each verb.
_METHODS = {"list": "GET", "get": "GET", "patch": "PATCH", "delete": "DELETE", "create": "POST"}

# Phrases that occur only in the refusals of admission policies and webhooks (Kubernetes 1.35).
_ADMISSION = ("denied request", "denied the request")

PERMISSION_FIX = (
    "Compare the permissions of the account with the Role that `postrender config rbac` prints"
)
_FIXES = {
    _NO_ANSWER: "Check the network, and check that the API server runs",
    _UNTRUSTED: "Check the certificate authority in the kubeconfig. In a Pod, check the ca.crt of "
    "the ServiceAccount",
    _UNAUTHORIZED: "Check the token or the client certificate",
    **dict.fromkeys(
        (CONFLICT, _GONE, *sorted(_TRANSIENT - {_NO_ANSWER})),
        "Try again later, or fix the cause in this message",
    ),
}
_POLICY_FIX = "Change the policy or webhook that denied the request, or ask for an exception"
_OTHER_FIX = "Fix the cause in this message, then try again"

_ERRNO = re.compile(r"^\[Errno -?\d+\] ")

_log = logging.getLogger(__name__)


class _PageSizeError(Exception):
    """A page has more bytes than PAGE_BYTES, but might have fewer objects."""


class ApiError(UserError):
    """The error for a request that the API server refused or did not answer.

    status: the HTTP status; _UNTRUSTED for an untrusted certificate; _NO_ANSWER for any other
        failed connection, and for an answer that is not readable.
    retry_after: the minimum delay that the server requests before a retry, in seconds.
    permission_fix: the fix for a missing permission.
    is_missing_permission: whether the status is 403, and no admission policy refused the request.
    """

    def __init__(
        self,
        status: int,
        problem: str,
        retry_after: float = 0.0,
        permission_fix: str = PERMISSION_FIX,
    ) -> None:
        self.status = status
        self.retry_after = retry_after
        # An admission policy refuses with the same status as a missing permission.
        is_by_policy = status == FORBIDDEN and any(phrase in problem for phrase in _ADMISSION)
        self.is_missing_permission = status == FORBIDDEN and not is_by_policy
        fixes = {**_FIXES, FORBIDDEN: _POLICY_FIX if is_by_policy else permission_fix}
        super().__init__(problem, fixes.get(status, _OTHER_FIX))

    @property
    def is_answer(self) -> bool:
        """Whether the API server sent a readable answer."""
        return self.status > 0


class Client:
    """A client for one namespace of a cluster, with an authenticated HTTP session.

    namespace: "" for a client that only lists, the objects of all namespaces.

    manager: the name of the field manager in the client's writes.
    deadline: on the clock of time.monotonic. Later requests raise ApiError.
    is_patient: whether to retry for a minute. Otherwise, a person waits for the result.
    permission_fix: as in ApiError.
    requests, writes: the number of sent requests, and of those that change an object, with retries.
    """

    def __init__(
        self,
        session: Session,
        namespace: str,
        manager: str,
        deadline: float = inf,
        *,
        is_patient: bool = True,
        permission_fix: str = PERMISSION_FIX,
    ) -> None:
        self._is_patient = is_patient
        self._permission_fix = permission_fix
        self._session = session
        self._deadline = deadline
        self._manager = {"fieldManager": manager}
        patience = (RETRY_SECONDS, FORBIDDEN_RETRY_SECONDS) if is_patient else _IMPATIENT
        self._retry_seconds, self._forbidden_limit = patience
        self._forbidden_seconds = self._forbidden_limit
        self.namespace = namespace
        self.requests = 0
        self.writes = 0
        # The time in the header Date of the latest answer, and time.monotonic() at that moment.
        self._server_time: tuple[datetime, float] | None = None

    @property
    def _place(self) -> str:
        return f"namespace {self.namespace}" if self.namespace else "all namespaces"

    def now(self) -> datetime:
        """The current time of the API server, but the local time before the first answer."""
        if self._server_time is None:
            return datetime.now(timezone.utc)
        time_then, arrived = self._server_time
        return time_then + timedelta(seconds=time.monotonic() - arrived)

    def list_all(
        self,
        resource: Resource,
        read: Callable[[Object], Record],
        selector: str = "",
        *,
        name: str = "",
        is_whole: bool = False,
    ) -> tuple[list[Record], str]:
        """The record of each object of a kind, and the resourceVersion to watch from.

        If the cluster does not have a custom kind, the result is ([], "").

        is_whole: whether to list ConfigMaps with their content, and not only their metadata.
        """
        parameters = {"limit": str(PAGE_SIZE), "labelSelector": selector}
        if name:
            parameters["fieldSelector"] = f"metadata.name={name}"
        for _ in range(LIST_TRIES):
            records: list[Record] = []
            version = ""
            try:
                for page_version, items in self._pages(
                    resource, dict(parameters), name, is_whole=is_whole
                ):
                    records.extend(map(read, items))
                    version = page_version
                return records, version
            except ApiError as error:
                if error.status == _NOT_FOUND and not is_built_in(resource.group_kind[0]):
                    return [], ""
                if error.status != _GONE:
                    raise
            time.sleep(_FIRST_PAUSE_SECONDS)  # a page has expired
        problem = f"postrender cannot list {resource.plural} in {self._place}"
        raise ApiError(
            _GONE, f"{problem}, because the list expires before postrender has read the whole list"
        )

    def list_allowed(
        self, resource: Resource, read: Callable[[Object], Record]
    ) -> list[Record] | None:
        """The record of each object of a kind, None if the account may not list the kind."""
        try:
            return self.list_all(resource, read)[0]
        except ApiError as error:
            if error.status != FORBIDDEN:
                raise
            return None

    def _pages(
        self, resource: Resource, parameters: dict[str, str], name: str, *, is_whole: bool
    ) -> Iterator[tuple[str, list[Object]]]:
        """The resourceVersion and the items of each page; parameters: changed for each page."""
        has_content = resource not in REVISED_KINDS or (is_whole and resource == CONFIG_MAPS)
        accept = "application/json" if has_content else _METADATA_LIST
        check = partial(
            check_list,
            resource=resource,
            namespace=self.namespace,
            name=name,
            has_content=has_content,
        )
        tokens: set[str] = set()
        seen: set[tuple[str, ...]] = set()
        for _ in range(MAX_PAGES):
            size = int(parameters["limit"])
            max_bytes = PAGE_BYTES if size > 1 else None
            try:
                answer = self._send(
                    "list",
                    resource,
                    check,
                    parameters=parameters,
                    accept=accept,
                    max_bytes=max_bytes,
                )
            except _PageSizeError:
                parameters["limit"] = str(max(1, size // PAGE_DIVISOR))
                continue
            items = answer["items"] or []
            keys = {
                tuple(text_at(item, "metadata", field) for field in fields)
                for item in items
                for fields in _KEYS
            }
            token = text_at(answer, "metadata", "continue")
            if len(keys) < len(items) * len(_KEYS) or seen & keys or token in tokens:
                break
            yield text_at(answer, "metadata", "resourceVersion"), items
            if not token:
                return
            seen |= keys
            tokens.add(token)
            parameters["continue"] = token
        raise ApiError(
            _NO_ANSWER,
            f"postrender cannot list {resource.plural} in {self._place}, because the "
            "answers repeat objects or do not end",
        )

    def watch(
        self, resource: Resource, version: str, seconds: float
    ) -> Iterator[tuple[str, Object]]:
        """The type (such as `ADDED`) and the object of each change, until the watch ends.

        Any refusal but a missing permission, an expired version or a lost connection ends the watch
        early, without an error.
        """
        parameters = {
            "watch": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(max(1, round(seconds))),
        }
        self.requests += 1
        # The server should end the watch, but a line need not end.
        ends = time.monotonic() + max(1.0, seconds) + _WATCH_DELAY
        try:
            url = self._url(resource)
            with self._session.stream("GET", url, params=parameters) as answer:
                if answer.status_code == FORBIDDEN:
                    content = _read(answer, ends)
                    raise self._error(answer, content, f"watch {resource.plural}", "")
                if answer.is_success:
                    for line in _lines(answer, min(ends, self._deadline)):
                        event = parse(line)
                        data = event.get("object")
                        if event.get("type") not in _EVENTS or not isinstance(data, dict):
                            return
                        check_object(data, resource, self.namespace, "")
                        yield event["type"], data
        except _transport_errors():
            return

    def patch(self, resource: Resource, name: str, patch: Object) -> bool:
        """Send a strategic merge patch, and return whether the object exists."""
        return self._change("patch", resource, name, patch, _NOT_FOUND)

    def delete(self, resource: Resource, name: str, preconditions: Mapping[str, str]) -> bool:
        """Delete an object, and return whether it met the preconditions, or does not exist."""
        body: Object = {
            "preconditions": dict(preconditions),
            "propagationPolicy": "Background",
        }
        try:
            return self._change("delete", resource, name, body, CONFLICT)
        except ApiError as error:
            # An earlier try may have deleted the object, without an answer to the client.
            if error.status == _NOT_FOUND:
                return True
            raise

    def create(self, resource: Resource, data: Object) -> None:
        """Create an object with a name that nobody else uses."""
        # After a conflict, an earlier try created the object, without an answer to the client.
        self._change("create", resource, "", data, CONFLICT)

    def read(self, resource: Resource, name: str) -> Object | None:
        """One whole object, None if it does not exist."""
        check = partial(check_object, resource=resource, namespace=self.namespace, name=name)
        try:
            return self._send("get", resource, check, name)
        except ApiError as error:
            if error.status == _NOT_FOUND:
                return None
            raise

    def _change(
        self, verb: str, resource: Resource, name: str, body: Object, expected: int
    ) -> bool:
        """Send a request that changes an object, and return False for the expected HTTP status."""
        parameters = self._manager if verb != "delete" else {}
        check = partial(check_write, namespace=self.namespace, name=name)
        try:
            # The answer with only metadata does not contain the values of a Secret.
            self._send(verb, resource, check, name, parameters, body, accept=_METADATA)
        except ApiError as error:
            if error.status == expected:
                return False
            raise
        return True

    def _url(self, resource: Resource, name: str = "") -> str:
        scope = f"/namespaces/{self.namespace}" if self.namespace else ""
        url = f"{resource.path}{scope}/{resource.plural}"
        return f"{url}/{name}" if name else url

    def _send(
        self,
        verb: str,
        resource: Resource,
        check: Callable[[Object], None],
        name: str = "",
        parameters: Mapping[str, str] | None = None,
        body: Object | None = None,
        accept: str = "application/json",
        max_bytes: int | None = None,
    ) -> dict[str, Any]:
        """Send a request with retries, and return the JSON object in the answer.

        check: raises ValueError if the answer is not what the client asked for.
        parameters: of the query. A parameter with the value "" is left out.
        max_bytes: None, or the size above which to raise _PageSizeError.
        """
        method, url = _METHODS[verb], self._url(resource, name)
        action = f"{verb} {resource.plural}/{name}" if name else f"{verb} {resource.plural}"
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
            if time.monotonic() > self._deadline:
                raise ApiError(
                    _NO_ANSWER,
                    f"postrender cannot {action} in {self._place}, because this run "
                    "has taken too much time",
                )
            try:
                return self._try(method, url, action, name, arguments, check, max_bytes)
            except ApiError as error:
                delay = max(pause * random.uniform(0.5, 1.5), error.retry_after)
                # With a resourceVersion, a retry would end in the same conflict.
                is_final = error.status == CONFLICT and _has_version(body)
                seconds = time.monotonic() - started + delay
                if is_final or not self._should_retry(error, method, seconds, delay):
                    raise
                if pause == _FIRST_PAUSE_SECONDS:
                    is_refusal = _is_refusal(error)
                    limit = self._forbidden_limit if is_refusal else self._retry_seconds
                    retry = f"postrender retries the request for at most {limit:.0f} seconds"
                    _log.warning(sentences(error.problem, retry))
            time.sleep(delay)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)

    def _try(
        self,
        method: str,
        url: str,
        action: str,
        name: str,
        arguments: dict[str, Any],
        check: Callable[[Object], None],
        max_bytes: int | None,
    ) -> dict[str, Any]:
        """Send a request once; action: the request as a verb phrase, for messages."""
        self.requests += 1
        self.writes += method != "GET"
        _log.debug(f"{method} {url}")
        ends = min(time.monotonic() + REQUEST_SECONDS, self._deadline)
        try:
            with self._session.stream(method, url, **arguments) as answer:
                self._note_time(answer)
                content = _read(answer, ends, max_bytes)
            if answer.is_success:
                data = parse(content)
                check(data)
                return data
        except _transport_errors() as problem:
            self._forbidden_seconds = self._forbidden_limit
            if "Illegal header" in str(problem):  # this message has the token
                raise UserError(
                    f"postrender cannot {action} in {self._place}, because the token has a "
                    "character that no header can have, such as a line break",
                    "Fix the token in the kubeconfig, or the program that prints the token",
                ) from None
            raise self._no_answer(problem, action) from None
        raise self._error(answer, content, action, name)

    def _note_time(self, answer: Response) -> None:
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            date = parsedate_to_datetime(answer.headers.get("Date", ""))
            if date.year < MAXYEAR:  # later additions must not overflow
                self._server_time = date.astimezone(timezone.utc), time.monotonic()

    def _should_retry(self, error: ApiError, method: str, seconds: float, delay: float) -> bool:
        """Whether to retry; seconds: the time since the first try, plus the delay."""
        if _is_refusal(error):
            self._forbidden_seconds -= delay
            return self._forbidden_seconds >= 0
        if error.status == _NO_ANSWER and not self._is_patient and self._server_time is None:
            return False
        is_conflict = error.status == CONFLICT and method == "PATCH"
        is_in_time = seconds <= self._retry_seconds and time.monotonic() + delay <= self._deadline
        return is_in_time and (is_conflict or error.status in _TRANSIENT)

    def _no_answer(self, problem: Exception, action: str) -> ApiError:
        reason = _ERRNO.sub("", str(problem)) or type(problem).__name__
        server = self._session.base_url.host
        return ApiError(
            _UNTRUSTED if _is_untrusted(problem) else _NO_ANSWER,
            f"postrender cannot {action} in {self._place}, because the request to "
            f"{server} failed ({reason})",
        )

    def _error(self, answer: Response, content: bytes, action: str, name: str) -> ApiError:
        status, body = answer.status_code, {}
        with contextlib.suppress(ValueError):
            body = parse(content)
        message = text_at(body, "message") or content.decode("utf-8", "replace")[:200]
        problem = f"postrender cannot {action} in {self._place}"
        text = f"{problem} (HTTP status {status}: {message.rstrip('.')})"
        # A proxy can also answer with this status. Only the API server knows that an object, or a
        # whole kind, does not exist.
        is_known = body.get("reason") == "NotFound" or (not name and content.strip() == _NO_KIND)
        if status == _NOT_FOUND and not is_known:
            status = _NO_ANSWER
        return ApiError(status, text, _retry_after(answer), self._permission_fix)


def _has_version(body: Object | None) -> bool:
    return bool(text_at(body, "metadata", "resourceVersion"))


def _is_refusal(error: ApiError) -> bool:
    """Whether the API server did not accept the login, or found no permission."""
    return error.status == _UNAUTHORIZED or error.is_missing_permission


def _transport_errors() -> tuple[type[Exception], ...]:
    import httpx2

    # ValueError: because of a broken connection or a proxy, a body can be cut off, or is not JSON.
    # InvalidURL: a continue token or a version of the server can be too long for a URL.
    of_httpx = (httpx2.TransportError, httpx2.DecodingError, httpx2.StreamError, httpx2.InvalidURL)
    return *of_httpx, ValueError


def _is_untrusted(problem: BaseException | None) -> bool:
    if isinstance(problem, ssl.SSLCertVerificationError):
        return True
    return problem is not None and _is_untrusted(problem.__cause__ or problem.__context__)


def _retry_after(answer: Response) -> float:
    """The seconds in the header Retry-After, at most LONGEST_PAUSE_SECONDS."""
    text = answer.headers.get("Retry-After", "")
    return min(float(text), LONGEST_PAUSE_SECONDS) if text.isdecimal() else 0.0


def _read(answer: Response, ends: float, max_bytes: int | None = None) -> bytes:
    content = bytearray()
    for part in answer.iter_bytes():
        content += part
        if max_bytes is not None and len(content) > max_bytes:
            raise _PageSizeError
        if len(content) > MAX_BYTES:
            raise ValueError(f"the answer has more than {MAX_BYTES >> 20} MiB")
        if time.monotonic() > ends:
            raise ValueError("the answer takes too much time")
    return bytes(content)


def _lines(answer: Response, ends: float) -> Iterator[bytes]:
    rest = b""
    for part in answer.iter_bytes():
        *lines, rest = (rest + part).split(b"\n")
        yield from lines
        if time.monotonic() > ends or len(rest) > MAX_BYTES:
            return
    if rest:
        yield rest
