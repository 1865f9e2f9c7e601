"""The retries of the cluster client: a real HTTP client with a mock transport."""

from __future__ import annotations

import json
import math
import ssl
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from typing import Any

import pytest

from postrender.attach import client as module
from postrender.attach.client import (
    FORBIDDEN_RETRY_SECONDS,
    PAGE_BYTES,
    PAGE_SIZE,
    RETRY_SECONDS,
    ApiError,
    Client,
)
from postrender.attach.request import CONFIG_MAPS, EVENTS, PODS, SECRETS
from tests.attach.cluster import logged

httpx2 = pytest.importorskip("httpx2")

Waits = list[float]


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Waits:
    """Return the seconds of each wait; the clock starts at 1000, and advances only by them."""
    passed: Waits = []
    monkeypatch.setattr("postrender.attach.client.time.sleep", passed.append)
    monkeypatch.setattr("postrender.attach.client.time.monotonic", lambda: 1000 + sum(passed))
    return passed


def client_of(*answers: int | Exception) -> Client:
    """Return a client that gets these codes or errors in turn, and then always the last one."""
    left: Iterator[int | Exception] = iter(answers)
    last: list[int | Exception] = []

    def answer(_request: object) -> object:
        last[:] = [next(left, *last)] if last else [next(left)]
        if isinstance(last[0], Exception):
            raise last[0]
        return httpx2.Response(last[0], json={"message": MESSAGES.get(last[0], "no")})

    transport = httpx2.MockTransport(answer)
    session = httpx2.Client(base_url="https://cluster.example.com", transport=transport)
    return Client(session, "prod", "tests")


MESSAGES = {403: "configmaps is forbidden", 422: "policy x denied request: no team"}


def patch(client: Client) -> bool:
    return client.patch(CONFIG_MAPS, "app", {})


@pytest.mark.parametrize("code", [429, 500, 502, 503, 504, 409, 401, 403])
def test_a_transient_error_is_retried(waits: Waits, code: int) -> None:
    assert patch(client_of(code, code, 200))
    assert len(waits) == 2


@pytest.mark.parametrize("code", [400, 405, 413, 422])
def test_a_permanent_error_is_not_retried(waits: Waits, code: int) -> None:
    with pytest.raises(ApiError, match=str(code)):
        patch(client_of(code))
    assert not waits


def test_a_refusal_by_a_policy_is_not_a_missing_permission(
    waits: Waits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(MESSAGES, 403, "ValidatingAdmissionPolicy 'team' denied request: no team")
    with pytest.raises(ApiError, match="Change the policy or webhook"):
        patch(client_of(403))
    assert not waits


@pytest.mark.parametrize(
    ("answer", "longest"), [(500, RETRY_SECONDS), (403, FORBIDDEN_RETRY_SECONDS)]
)
def test_retries_end(waits: Waits, answer: int, longest: float) -> None:
    with pytest.raises(ApiError):
        patch(client_of(answer))
    assert longest / 3 < sum(waits) <= longest


def test_all_missing_permissions_share_one_patience(waits: Waits) -> None:
    client = client_of(403)
    for _ in range(10):
        with pytest.raises(ApiError, match="Compare the permissions"):
            patch(client)
    assert sum(waits) <= FORBIDDEN_RETRY_SECONDS


def test_a_forbidden_request_is_retried_after_a_lost_connection(waits: Waits) -> None:
    lost: Callable[[], Exception] = lambda: httpx2.ConnectError("refused")  # noqa: E731
    client = client_of(*[403] * 3, 200, lost(), *[403] * 3, 200)
    assert patch(client)
    assert patch(client)
    assert len(waits) == 7


def test_a_deleted_object_is_not_an_error(waits: Waits) -> None:
    assert not patch(client_of(404))
    assert client_of(404).list_all(CONFIG_MAPS, dict) == ([], "")
    assert client_of(404).read(CONFIG_MAPS, "app") is None
    assert client_of(404).delete(CONFIG_MAPS, "app", {})
    assert not client_of(409).delete(CONFIG_MAPS, "app", {})
    assert not waits


def test_the_answers_to_writes_contain_metadata_only() -> None:
    """The API server answers a patch, and some deletions, with the object."""
    accepted: list[str] = []

    def answer(request: Any) -> object:
        accepted.append(request.headers["Accept"])
        return httpx2.Response(200, json={})

    session = httpx2.Client(
        base_url="https://cluster.example.com", transport=httpx2.MockTransport(answer)
    )
    client = Client(session, "prod", "tests")
    client.patch(SECRETS, "app", {})
    client.delete(SECRETS, "app", {})
    assert accepted == ["application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"] * 2


def test_the_time_comes_from_the_api_server(waits: Waits) -> None:
    """The clock of the node may be wrong."""

    def answer(_request: object) -> object:
        headers = {"Date": "Sat, 21 Nov 2026 12:00:00 GMT"}
        return httpx2.Response(200, json={}, headers=headers)

    session = httpx2.Client(
        base_url="https://cluster.example.com", transport=httpx2.MockTransport(answer)
    )
    client = Client(session, "prod", "tests")
    assert client.now() != datetime(2026, 11, 21, 12, tzinfo=timezone.utc)
    assert patch(client)
    waits.append(90)
    assert client.now() == datetime(2026, 11, 21, 12, 1, 30, tzinfo=timezone.utc)


def test_a_list_with_expiring_pages_is_an_error(waits: Waits) -> None:
    with pytest.raises(ApiError, match="because the list expires"):
        client_of(410).list_all(CONFIG_MAPS, dict)
    assert len(waits) == module.LIST_TRIES


def test_a_large_page_is_read_again_in_smaller_pages() -> None:
    limits, items = answered_limits(["x" * 100_000] * 100)
    assert len(items) == 100
    assert limits[:3] == [PAGE_SIZE, PAGE_SIZE // 8, PAGE_SIZE // 64]
    assert len(limits) == 2 + math.ceil(100 / limits[2])


def test_an_object_that_is_larger_than_a_page_is_read() -> None:
    limits, items = answered_limits(["x" * (PAGE_BYTES + 1), "small"])
    assert [len(item) for item in items] == [PAGE_BYTES + 1, 5]
    assert limits[-2:] == [1, 1]


def answered_limits(texts: Sequence[str]) -> tuple[list[int], list[str]]:
    """Return the limit of each request for a list of objects with these texts, and the texts."""
    limits: list[int] = []

    def answer(request: Any) -> object:
        query = request.url.params
        limits.append(int(query["limit"]))
        start = int(query.get("continue", "0"))
        end = start + limits[-1]
        rest = {"continue": str(end)} if end < len(texts) else {}
        return httpx2.Response(200, json={"metadata": rest, "items": texts[start:end]})

    transport = httpx2.MockTransport(answer)
    session = httpx2.Client(base_url="https://cluster.example.com", transport=transport)
    return limits, Client(session, "prod", "tests").list_all(PODS, str)[0]


def client_with(answer: Callable[[Any], object]) -> Client:
    """Return a client whose requests a function answers."""
    session = httpx2.Client(
        base_url="https://cluster.example.com", transport=httpx2.MockTransport(answer)
    )
    return Client(session, "prod", "tests")


def raise_as_cause() -> None:
    try:
        raise ssl.SSLCertVerificationError("self-signed certificate")
    except ssl.SSLError as error:
        raise httpx2.ConnectError("no trust") from error


def raise_in_context() -> None:
    try:
        raise ssl.SSLCertVerificationError("self-signed certificate")
    except ssl.SSLError:
        raise httpx2.ConnectError("no trust")  # noqa: B904


@pytest.mark.parametrize("fail", [raise_as_cause, raise_in_context])
def test_an_untrusted_certificate_is_not_retried(waits: Waits, fail: Callable[[], None]) -> None:
    with pytest.raises(ApiError, match="Check the certificate authority") as caught:
        client_with(lambda _: fail()).read(CONFIG_MAPS, "app")
    assert not caught.value.is_answer
    assert not waits


@pytest.mark.parametrize("content", [b"", b"[1]", b"<html>", b'{"cut'])
def test_an_unreadable_answer_is_retried(waits: Waits, content: bytes) -> None:
    """A proxy can answer in place of the API server."""
    client = client_with(lambda _: httpx2.Response(200, content=content))
    with pytest.raises(ApiError, match=r"the request to cluster\.example\.com failed") as caught:
        client.read(CONFIG_MAPS, "app")
    assert not caught.value.is_answer
    assert waits


@pytest.mark.parametrize(("header", "first"), [("3", 3), ("600", 5), ("soon", 0), ("-1", 0)])
def test_the_server_can_ask_for_a_delay(waits: Waits, header: str, first: int) -> None:
    headers = {"Retry-After": header}
    client = client_with(lambda _: httpx2.Response(429, headers=headers, json={"message": "busy"}))
    with pytest.raises(ApiError):
        client.read(CONFIG_MAPS, "app")
    assert waits[0] == first or (not first and waits[0] < 1)


def test_pauses_grow_and_stay_short(waits: Waits) -> None:
    with pytest.raises(ApiError):
        patch(client_of(503))
    assert waits[0] <= 0.15
    assert waits[3] > waits[0]
    assert max(waits) <= 7.5


def test_a_warning_about_retries_is_logged_once(waits: Waits) -> None:
    with logged() as log:
        assert patch(client_of(503, 503, 503, 200))
        assert patch(client_of(403, 403, 200))
    assert log == [
        "warning: postrender cannot patch configmaps/app in namespace prod (HTTP status 503: no). "
        "postrender retries the request for at most 60 seconds.",
        "warning: postrender cannot patch configmaps/app in namespace prod (HTTP status 403: "
        "configmaps is forbidden). postrender retries the request for at most 5 seconds.",
    ]
    assert len(waits) == 5


def test_an_error_without_a_message_shows_the_answer() -> None:
    client = client_with(lambda _: httpx2.Response(418, content=b"x" * 300))
    with pytest.raises(ApiError) as caught:
        client.read(CONFIG_MAPS, "app")
    assert caught.value.problem == (
        f"postrender cannot get configmaps/app in namespace prod (HTTP status 418: {'x' * 200})"
    )


def test_only_a_conflict_of_a_patch_is_retried(waits: Waits) -> None:
    """For a new Event, a conflict shows that an earlier try created it."""
    client = client_of(409)
    client.create(EVENTS, {})
    assert not waits
    assert (client.requests, client.writes) == (1, 1)
    with pytest.raises(ApiError, match="Try again later"):
        patch(client)
    assert waits


def test_writes_and_requests_are_counted() -> None:
    client = client_of(200)
    patch(client)
    client.read(CONFIG_MAPS, "app")
    client.delete(CONFIG_MAPS, "app", {})
    list(client.watch(PODS, "1", 5))
    assert (client.requests, client.writes) == (4, 2)


# A watch


def watched(*lines: object, status: int = 200) -> list[tuple[str, Any]]:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    client = client_with(lambda _: httpx2.Response(status, content=text.encode()))
    return list(client.watch(PODS, "1", 5))


ADDED = {"type": "ADDED", "object": {"metadata": {"name": "a"}}}


def test_a_watch_returns_the_changes() -> None:
    assert watched(ADDED, ADDED) == [("ADDED", ADDED["object"])] * 2


@pytest.mark.parametrize("end", [{"type": "ERROR", "object": {"code": 410}}, {}, '{"cut', "", "[]"])
def test_an_error_ends_a_watch(end: object) -> None:
    """The caller then lists the objects again."""
    assert watched(ADDED, end, ADDED) == [("ADDED", ADDED["object"])]


def test_a_refused_watch_ends_unless_a_permission_is_missing() -> None:
    assert watched(ADDED, status=500) == []
    with pytest.raises(ApiError, match="postrender cannot watch pods in namespace prod"):
        watched({"message": "no"}, status=403)


@pytest.mark.parametrize(("seconds", "sent"), [(0.2, "1"), (7.6, "8")])
def test_the_server_ends_a_watch_in_time(seconds: float, sent: str) -> None:
    requests: list[Any] = []

    def answer(request: Any) -> object:
        requests.append(request)
        return httpx2.Response(200)

    list(client_with(answer).watch(PODS, "7", seconds))
    [request] = requests
    assert request.url.path == "/api/v1/namespaces/prod/pods"
    assert dict(request.url.params) == {
        "watch": "true",
        "resourceVersion": "7",
        "timeoutSeconds": sent,
    }
