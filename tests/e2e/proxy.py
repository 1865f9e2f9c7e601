"""A plain-http reverse proxy in front of the API server that counts requests and injects faults.

Each request has a number, starting at 1. A fault decides the fate of a request; watches are
streamed. `namespaces.reach_server_by(api, proxy.url)` sends attachers through the proxy.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import ssl
import threading
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from tests.e2e.api import UNREACHABLE
from tests.e2e.cluster import ControlPlane

WRITES = ("PATCH", "POST", "DELETE", "PUT")


class Request(NamedTuple):
    """A received request; `number` starts at 1."""

    number: int
    method: str
    path: str

    @property
    def query(self) -> dict[str, list[str]]:
        """The query parameters."""
        return parse_qs(urlsplit(self.path).query)

    @property
    def is_watch(self) -> bool:
        """True for a request that is answered by a stream of events."""
        return "watch" in self.query

    @property
    def is_write(self) -> bool:
        """True for a request that changes something."""
        return self.method in WRITES

    @property
    def verb(self) -> str:
        """The verb as in a Role: list, watch, get, patch, create, delete."""
        if self.method != "GET":
            return {"POST": "create"}.get(self.method, self.method.lower())
        segments = [part for part in urlsplit(self.path).path.split("/") if part]
        is_list = len(segments[segments.index("namespaces") :]) == 3
        return "watch" if self.is_watch else "list" if is_list else "get"

    def __str__(self) -> str:
        return f"{self.number}. {self.method} {self.path}"


class Answer(NamedTuple):
    """A fault that answers the request without the API server."""

    status: int
    body: str = ""
    retry_after: str = ""


class Cut(NamedTuple):
    """A fault that breaks the connection before, within or after the API server's answer.

    then: a function that is called at that moment.
    """

    when: str  # `before` the request is sent, in the `middle` of the answer, `after` the answer
    then: Callable[[], object] = bool


Fault = Callable[[Request], Answer | Cut | None]


def before(
    resource_or_method: str, count: int, do: Callable[[], object]
) -> Callable[[Request], None]:
    """Return a hook for the proxy that calls `do` before the given request is sent on."""
    matching: list[Request] = []

    def fault(request: Request) -> None:
        path = request.path.partition("?")[0]
        if not request.is_watch and (
            path.endswith(f"/{resource_or_method}") or request.method == resource_or_method
        ):
            matching.append(request)
            if len(matching) == count:
                do()

    return fault


def status(code: int, reason: str = "", retry_after: str = "") -> Answer:
    """Return an error in the form of the API server's errors."""
    content = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": f"injected: {reason or code}",
        "reason": reason,
        "code": code,
    }
    return Answer(code, json.dumps(content), retry_after)


def expired_watch() -> Answer:
    """Return the end of a watch whose resource version is too old."""
    error = json.loads(status(410, "Expired").body)
    return Answer(200, json.dumps({"type": "ERROR", "object": error}) + "\n")


class Proxy:
    """The proxy as a context manager; `fault` may be set at any time, `page` limits lists.

    on_answer: called with each request and the content of its answer, except for watches.
    """

    def __init__(self, plane: ControlPlane, fault: Fault | None = None) -> None:
        self.plane, self.fault = plane, fault
        self.page = 0
        self.on_answer: Callable[[Request, bytes], object] = lambda _request, _content: None
        self.requests: list[Request] = []
        self._lock = threading.Lock()
        self._tls = ssl.create_default_context(cafile=str(plane.ca))
        self._server = _Server(self)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def __enter__(self) -> Proxy:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def reset(self) -> None:
        """Start counting at 1 again."""
        with self._lock:
            self.requests = []

    @property
    def writes(self) -> list[Request]:
        """The requests that change something."""
        return [request for request in self.requests if request.is_write]

    @property
    def verbs(self) -> Counter[str]:
        """The number of requests of each verb."""
        return Counter(request.verb for request in self.requests)

    def take(self, method: str, path: str) -> tuple[Request, Answer | Cut | None]:
        """Count a request, and return it with its fault."""
        with self._lock:
            request = Request(len(self.requests) + 1, method, path)
            self.requests.append(request)
            return request, self.fault(request) if self.fault else None

    def target(self, path: str) -> str:
        """Return the path to request from the API server."""
        return path.replace("limit=500", f"limit={self.page}") if self.page else path

    def connect(self) -> http.client.HTTPSConnection:
        """Return a connection to the API server."""
        location = urlsplit(self.plane.url)
        assert location.hostname
        return http.client.HTTPSConnection(
            location.hostname, location.port, timeout=60, context=self._tls
        )


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: the tests break connections on purpose."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def setup(self) -> None:
        super().setup()
        self._upstream: http.client.HTTPSConnection | None = None

    def finish(self) -> None:
        if self._upstream:
            self._upstream.close()
        with contextlib.suppress(OSError):
            super().finish()

    def _handle(self) -> None:
        proxy = self.server.proxy
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        request, fault = proxy.take(self.command, self.path)
        if isinstance(fault, Answer):
            extra = {"Retry-After": fault.retry_after} if fault.retry_after else {}
            self._answer(fault.status, fault.body.encode(), extra)
            return
        if fault and fault.when == "before":
            self._break(fault)
            return
        try:
            response = self._ask(proxy.target(self.path), body)
            if request.is_watch and response.status == 200 and not fault:
                self._stream(response)
                return
            content = b"" if request.is_watch and fault else response.read()
            proxy.on_answer(request, content)
        except UNREACHABLE:
            self.close_connection = True
            return
        if fault and fault.when == "after":
            self._break(fault)
            return
        names = ("Content-Encoding", "Retry-After")
        passed_headers = {name: value for name in names if (value := response.getheader(name))}
        self._answer(response.status, content, passed_headers, cut=fault)

    do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = _handle  # noqa: N815

    def _ask(self, path: str, body: bytes) -> http.client.HTTPResponse:
        """Send the request on; if the idle connection was closed, on a new connection."""
        header_names = ("Authorization", "Accept", "Accept-Encoding", "Content-Type")
        headers = {name: self.headers[name] for name in header_names if name in self.headers}
        if self._upstream is None:
            self._upstream = self.server.proxy.connect()
        self._upstream.request(self.command, path, body or None, headers)
        return self._upstream.getresponse()

    def _answer(
        self, code: int, content: bytes, headers: dict[str, str], cut: Cut | None = None
    ) -> None:
        self.send_response_only(code)
        self.send_header("Content-Type", "application/json")
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if cut else content)
        if cut:
            self.wfile.flush()
            self._break(cut)

    def _stream(self, response: http.client.HTTPResponse) -> None:
        self.send_response_only(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        while chunk := response.read1(65536):
            self.wfile.write(chunk)
            self.wfile.flush()

    def _break(self, cut: Cut) -> None:
        cut.then()
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Print nothing."""
