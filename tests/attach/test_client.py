"""The retries of the cluster client: a real HTTP client with a mock transport."""

from __future__ import annotations

import json
import math
import ssl
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from itertools import count, repeat
from typing import Any

import pytest

from postrender.attach import client as module
from postrender.attach.answers import MAX_DEPTH
from postrender.attach.client import (
    FORBIDDEN_RETRY_SECONDS,
    PAGE_BYTES,
    PAGE_SIZE,
    REQUEST_SECONDS,
    RETRY_SECONDS,
    ApiError,
    Client,
)
from postrender.attach.live import text_at
from postrender.attach.request import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    EVENTS,
    JOBS,
    PODS,
    ROLLOUTS,
    SECRETS,
)
from tests.attach.cluster import logged

httpx2 = pytest.importorskip("httpx2")

Waits = list[float]
Json = dict[str, Any]


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

    def answer(request: Any) -> object:
        last[:] = [next(left, *last)] if last else [next(left)]
        if isinstance(last[0], Exception):
            raise last[0]
        if last[0] < 300:
            return httpx2.Response(last[0], json=answer_to(request))
        return httpx2.Response(last[0], json=status(last[0]))

    transport = httpx2.MockTransport(answer)
    session = httpx2.Client(base_url="https://cluster.example.com", transport=transport)
    return Client(session, "prod", "tests")


def status(code: int) -> Json:
    """Return the answer of the API server to a refused request."""
    reason = {404: "NotFound"}.get(code, "")
    message = MESSAGES.get(code, "no")
    return {"kind": "Status", "apiVersion": "v1", "reason": reason, "message": message}


def answer_to(request: Any) -> Json:
    """Return the answer of the API server to a write or to the read of a ConfigMap."""
    _, _, name = request.url.path.partition("/namespaces/prod/")
    metadata = {"name": name.partition("/")[2] or "new", "namespace": "prod", "uid": "1"}
    if request.method == "GET":
        return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata}
    kind = "PartialObjectMetadata"
    return {"kind": kind, "apiVersion": "meta.k8s.io/v1", "metadata": metadata}


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


@pytest.mark.parametrize("has_answered", [False, True])
def test_a_person_does_not_wait_for_a_server_that_never_answered(
    waits: Waits, has_answered: bool
) -> None:
    answers = iter([True] * has_answered + [False] * 99)

    def answer(request: Any) -> object:
        if not next(answers):
            raise httpx2.ConnectError("refused")
        headers = {"Date": "Sat, 21 Nov 2026 12:00:00 GMT"}
        return httpx2.Response(200, json=answer_to(request), headers=headers)

    session = httpx2.Client(
        base_url="https://cluster.example.com", transport=httpx2.MockTransport(answer)
    )
    client = Client(session, "prod", "tests", is_patient=False)
    if has_answered:
        patch(client)
    with pytest.raises(ApiError, match="refused"):
        patch(client)
    assert bool(waits) == has_answered


def test_a_deleted_object_is_not_an_error(waits: Waits) -> None:
    assert not patch(client_of(404))
    assert client_of(404).read(CONFIG_MAPS, "app") is None
    assert client_of(404).delete(CONFIG_MAPS, "app", {})
    assert not client_of(409).delete(CONFIG_MAPS, "app", {})
    assert not waits


def test_the_answers_to_writes_contain_metadata_only() -> None:
    """The API server answers a patch, and some deletions, with the object."""
    accepted: list[str] = []

    def answer(request: Any) -> object:
        accepted.append(request.headers["Accept"])
        return httpx2.Response(200, json=answer_to(request))

    session = httpx2.Client(
        base_url="https://cluster.example.com", transport=httpx2.MockTransport(answer)
    )
    client = Client(session, "prod", "tests")
    client.patch(SECRETS, "app", {})
    client.delete(SECRETS, "app", {})
    assert accepted == ["application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"] * 2


def test_the_time_comes_from_the_api_server(waits: Waits) -> None:
    """The clock of the node may be wrong."""

    def answer(request: Any) -> object:
        headers = {"Date": "Sat, 21 Nov 2026 12:00:00 GMT"}
        return httpx2.Response(200, json=answer_to(request), headers=headers)

    session = httpx2.Client(
        base_url="https://cluster.example.com", transport=httpx2.MockTransport(answer)
    )
    client = Client(session, "prod", "tests")
    assert client.now() != datetime(2026, 11, 21, 12, tzinfo=timezone.utc)
    assert patch(client)
    waits.append(90)
    assert client.now() == datetime(2026, 11, 21, 12, 1, 30, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    "date", ["Fri, 31 Dec 9999 23:59:59 GMT", "Fri, 31 Dec 9999 23:59:59 -1200", "soon"]
)
def test_a_time_that_no_clock_shows_is_ignored(date: str, waits: Waits) -> None:
    client = client_with(lambda _: httpx2.Response(200, json={}, headers={"Date": date}))
    with pytest.raises(ApiError):
        client.read(CONFIG_MAPS, "app")
    assert client.now() - datetime.now(timezone.utc) < timedelta(days=1)
    assert waits


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
        items = [
            pod(f"pod-{number}", hostname=text)
            for number, text in enumerate(texts[start:end], start)
        ]
        rest = str(end) if end < len(texts) else ""
        return httpx2.Response(200, json=page(*items, rest=rest))

    return limits, client_with(answer).list_all(PODS, hostname)[0]


def hostname(data: Any) -> str:
    return text_at(data, "spec", "hostname")


def pod(name: str, **spec: str) -> Json:
    metadata = {"name": name, "namespace": "prod", "uid": f"uid-{name}"}
    return {"metadata": metadata, "spec": {"containers": [], **spec}}


def page(*items: Json, rest: str = "") -> Json:
    """Return a page of a list of Pods. rest: the token for the next page."""
    metadata = {"resourceVersion": "7", "continue": rest}
    return {"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": list(items)}


def client_with(answer: Callable[[Any], object]) -> Client:
    """Return a client whose requests a function answers."""
    session = httpx2.Client(
        base_url="https://cluster.example.com", transport=httpx2.MockTransport(answer)
    )
    return Client(session, "prod", "tests")


def always(code: int, text: str) -> Callable[[Any], object]:
    return lambda _: httpx2.Response(code, content=text.encode())


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


@pytest.mark.parametrize(
    ("header", "first"), [("3", 3), ("600", 5), ("soon", 0), ("-1", 0), ("\xb2", 0)]
)
def test_the_server_can_ask_for_a_delay(waits: Waits, header: str, first: int) -> None:
    headers = [(b"Retry-After", header.encode("latin-1"))]
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


# Answers that are not what the client asked for


LIST = page(pod("a"), pod("b"))
WRONG_LISTS: dict[str, Json] = {
    "an empty object": {},
    "a Status": {"kind": "Status", "apiVersion": "v1", "status": "Failure"},
    "a list of another kind": {**LIST, "kind": "SecretList"},
    "a list of another group": {**LIST, "apiVersion": "metrics.k8s.io/v1beta1"},
    "one object": {"kind": "Pod", "apiVersion": "v1", **pod("a")},
    "no items": {**LIST, "items": None},
    "a text as items": {**LIST, "items": "ab"},
    "no resourceVersion": {**LIST, "metadata": {}},
    "an item of another kind": page({**pod("a"), "kind": "Secret"}),
    "an item that is no object": {**LIST, "items": ["a"]},
    "an item without metadata": page({"spec": {}}),
    "an item without a spec": page({"metadata": pod("a")["metadata"]}),
    "an item of another namespace": page({**pod("a"), "metadata": {"name": "a", "uid": "1"}}),
    "an item that the page repeats": page(pod("a"), pod("a")),
    "a uid that the page repeats": page(
        pod("a"), {**pod("b"), "metadata": {**pod("b")["metadata"], "uid": "uid-a"}}
    ),
}


@pytest.mark.parametrize("case", WRONG_LISTS)
def test_a_list_that_is_not_the_asked_one_is_no_empty_list(waits: Waits, case: str) -> None:
    client = client_with(lambda _: httpx2.Response(200, json=WRONG_LISTS[case]))
    with pytest.raises(ApiError, match="postrender cannot list pods") as caught:
        client.list_all(PODS, dict)
    assert not caught.value.is_answer
    assert waits or "repeats" in case


def test_a_list_of_metadata_is_not_a_list_of_objects(waits: Waits) -> None:
    """The metadata of Pods has no references."""
    metadata = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1"}
    for answer, resource in (({**LIST, **metadata}, PODS), (LIST, CONFIG_MAPS)):
        client = client_with(always(200, json.dumps(answer)))
        with pytest.raises(ApiError, match="the answer is not a"):
            client.list_all(resource, dict)
    assert waits


def test_a_list_of_one_name_has_no_other_object(waits: Waits) -> None:
    client = client_with(lambda _: httpx2.Response(200, json=LIST))
    with pytest.raises(ApiError, match="another name"):
        client.list_all(PODS, dict, name="a")
    assert waits


NOT_FOUND = {"kind": "Status", "apiVersion": "v1", "reason": "NotFound", "message": "no"}


@pytest.mark.parametrize("answer", [b"404 page not found\n", json.dumps(NOT_FOUND).encode()])
def test_only_a_custom_kind_can_be_absent(waits: Waits, answer: bytes) -> None:
    client = client_with(lambda _: httpx2.Response(404, content=answer))
    assert client.list_all(ROLLOUTS, dict) == ([], "")
    for resource in (PODS, CONFIG_MAPS, JOBS, DEPLOYMENTS):
        with pytest.raises(ApiError, match=f"cannot list {resource.plural}.*HTTP status 404"):
            client.list_all(resource, dict)
    assert not waits


@pytest.mark.parametrize("answer", [b"", b"<html>Not found</html>", b"{}"])
def test_a_proxy_does_not_know_that_a_kind_is_absent(waits: Waits, answer: bytes) -> None:
    client = client_with(lambda _: httpx2.Response(404, content=answer))
    with pytest.raises(ApiError) as caught:
        client.list_all(ROLLOUTS, dict)
    assert not caught.value.is_answer
    with pytest.raises(ApiError):
        client.read(CONFIG_MAPS, "app")
    with pytest.raises(ApiError):
        client.delete(CONFIG_MAPS, "app", {})
    assert waits


OBJECT: Json = {
    "kind": "ConfigMap",
    "apiVersion": "v1",
    "metadata": {"name": "app", "namespace": "prod", "uid": "1"},
}


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "Secret"},
        {"apiVersion": "v2"},
        {"metadata": {**OBJECT["metadata"], "name": "other"}},
        {"metadata": {**OBJECT["metadata"], "namespace": "other"}},
        {"metadata": {**OBJECT["metadata"], "uid": ""}},
        {"metadata": None},
    ],
    ids=str,
)
def test_another_object_than_the_asked_one(waits: Waits, wrong: Json) -> None:
    client = client_with(lambda _: httpx2.Response(200, json={**OBJECT, **wrong}))
    with pytest.raises(ApiError, match=r"in the answer|the answer is not"):
        client.read(CONFIG_MAPS, "app")
    assert waits


@pytest.mark.parametrize(
    "answer", [{}, OBJECT, {"kind": "Status", "status": "Failure"}, {"kind": "ConfigMapList"}]
)
def test_a_write_without_its_answer_has_not_happened(waits: Waits, answer: Json) -> None:
    client = client_with(lambda _: httpx2.Response(200, json=answer))
    with pytest.raises(ApiError) as caught:
        patch(client)
    assert not caught.value.is_answer
    assert waits


@pytest.mark.parametrize("rest", ["1", "random"])
def test_a_list_that_does_not_end(rest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server repeats a token, or always has a new one."""
    assert module.MAX_PAGES <= 10_000
    monkeypatch.setattr(module, "MAX_PAGES", 20)
    number = count()

    def answer(_request: object) -> object:
        token = f"{next(number)}" if rest == "random" else rest
        return httpx2.Response(200, json=page(pod(f"pod-{next(number)}"), rest=token))

    client = client_with(answer)
    with pytest.raises(ApiError, match="because the answers repeat objects or do not end"):
        client.list_all(PODS, dict)
    assert client.requests == (20 if rest == "random" else 2)


def test_a_token_that_is_too_long_for_a_url(waits: Waits) -> None:
    """The fuzzer found this: httpx raised an error of its own, which ended a run as a bug."""
    client = client_with(lambda _: httpx2.Response(200, json=page(pod("a"), rest="x" * 70_000)))
    with pytest.raises(ApiError, match="too long") as caught:
        client.list_all(PODS, dict)
    assert not caught.value.is_answer
    assert not list(client.watch(PODS, "9" * 70_000, 1))
    assert waits


def test_an_object_that_a_later_page_repeats() -> None:
    pages = iter([page(pod("a"), rest="1"), page(pod("b"), rest="2"), page(pod("a"))])
    client = client_with(lambda _: httpx2.Response(200, json=next(pages)))
    with pytest.raises(ApiError, match="repeat objects"):
        client.list_all(PODS, dict)


DEPTHS = [MAX_DEPTH - 5, 950, 9000, 100_000]


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_deep_object_does_not_hide_the_others(depth: int) -> None:
    """The API server permits 10,000 levels in an object of a custom kind."""
    deep = '{"a":[' * (depth // 2) + '"]}"' + "]}" * (depth // 2)
    items = [json.dumps(pod(name, hostname=name)) for name in "abc"]
    items[1] = items[1][:-1] + f', "more": {deep}, "last": "\\"[" }}'
    text = json.dumps(page()).replace("[]", f"[{', '.join(items)}]")
    client = client_with(lambda _: httpx2.Response(200, content=text.encode()))
    read, _ = client.list_all(PODS, dict)
    assert [hostname(item) for item in read] == ["a", "b", "c"]
    assert read[1]["last"] == '"['


@pytest.mark.parametrize("text", ['{"a":' * 20_000, "[" * 20_000 + "}" * 20_000, "[" * 20_000])
def test_a_deep_answer_that_is_cut_off_is_unreadable(waits: Waits, text: str) -> None:
    for code in (200, 500):
        client = client_with(always(code, text))
        with pytest.raises(ApiError):
            client.read(CONFIG_MAPS, "app")
    assert waits


def test_an_answer_of_one_byte_a_second(waits: Waits) -> None:
    def drip() -> Iterator[bytes]:
        for number in json.dumps(OBJECT).encode() * 10:
            waits.append(1)
            yield bytes([number])

    client = client_with(lambda _: httpx2.Response(200, content=drip()))
    with pytest.raises(ApiError, match="the answer takes too much time"):
        client.read(CONFIG_MAPS, "app")
    assert sum(waits) == pytest.approx(REQUEST_SECONDS, abs=2)


def test_an_answer_without_an_end(monkeypatch: pytest.MonkeyPatch, waits: Waits) -> None:
    assert module.MAX_BYTES <= 16 << 20
    monkeypatch.setattr(module, "MAX_BYTES", 1000)
    client = client_with(lambda _: httpx2.Response(200, content=repeat(b"x" * 100)))
    with pytest.raises(ApiError, match="the answer has more than"):
        client.read(CONFIG_MAPS, "app")
    assert waits
    client = client_with(lambda _: httpx2.Response(200, content=repeat(b"x" * 100)))
    assert list(client.watch(PODS, "1", 5)) == []


def test_a_run_sends_nothing_after_its_deadline(waits: Waits) -> None:
    session = client_of(503)._session
    client = Client(session, "prod", "tests", deadline=1010.0)
    with pytest.raises(ApiError, match="503"):
        patch(client)
    assert sum(waits) <= 10
    sent = client.requests
    waits.append(11)
    with pytest.raises(ApiError, match="because this run has taken too much time"):
        patch(client)
    assert client.requests == sent


# A watch


def watched(*lines: object, status: int = 200) -> list[tuple[str, Any]]:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    client = client_with(lambda _: httpx2.Response(status, content=text.encode()))
    return list(client.watch(PODS, "1", 5))


ADDED = {"type": "ADDED", "object": {"kind": "Pod", "apiVersion": "v1", **pod("a")}}


def test_a_watch_returns_the_changes() -> None:
    assert watched(ADDED, ADDED) == [("ADDED", ADDED["object"])] * 2


ENDS = [
    {"type": "ERROR", "object": {"code": 410}},
    {"type": "ADDED", "object": {"kind": "Secret", "apiVersion": "v1", **pod("a")}},
    {"type": "ADDED", "object": {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "b"}}},
    {"type": "SOON", "object": ADDED["object"]},
    *({}, '{"cut', "", "[]"),
]


@pytest.mark.parametrize("end", ENDS)
def test_an_error_ends_a_watch(end: object) -> None:
    """The caller then lists the objects again."""
    assert watched(ADDED, end, ADDED) == [("ADDED", ADDED["object"])]


def test_a_watch_that_sends_a_byte_a_second_ends(waits: Waits) -> None:
    def drip() -> Iterator[bytes]:
        for number in repeat(b"x"):
            waits.append(1)
            yield number

    client = client_with(lambda _: httpx2.Response(200, content=drip()))
    assert list(client.watch(PODS, "1", 7)) == []
    assert sum(waits) <= 14


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
