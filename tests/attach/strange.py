"""Answers of the right kind that have random values and headers.

Each command either does its work or ends with an error for people. Whether a change is a lie that
attach must believe is not of interest here, as it is in tests.attach.faulty.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from datetime import timedelta
from random import Random
from typing import Any

import httpx2

from postrender.attach.adopt import Original, adopt, undo
from postrender.attach.collect import Pass
from postrender.attach.request import CONFIG_MAPS, CONSUMER_KINDS, SECRETS, NamedObject
from postrender.diff.values import Terminal
from postrender.errors import UserError
from postrender.status import REPORTERS
from postrender.status.build import read_status
from postrender.status.snapshot import read_cluster
from tests.attach.cluster import GROUP, NAMESPACE, Cluster, Json, logged, real_session
from tests.attach.faulty import run
from tests.status.worlds import random_world

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 5, 10**30, 1e999, "", "x", "-", "a=b", "--group", "\0", "\ud800"),
    *("\x1b[31mx", "\u202ex", "/", "..", "a/b?c#d", "a\nb", "x" * 70_000, "²", "१", "1" * 5000),
    *("9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "{", '["a"]', '{"a": 1}'),
    *([], {}, [None], [[]], [{}], {"a": [1]}, {"a": None}, {"": ""}, [{"name": 5}]),
)
KEYS = (
    "kind",
    "name",
    "uid",
    "metadata",
    "spec",
    "status",
    "data",
    "items",
    "\x1b[0m",
    "\ud800",
    "",
)
HEADERS = (
    *(("Date", f"Fri, 31 Dec 9999 23:59:59 {zone}") for zone in ("GMT", "-1200")),
    *(("Date", text) for text in ("x, 99 Jan 2026 99:99:99 +9999", "Thu, 01 Jan 0001", "\xb2")),
    *(("Retry-After", text) for text in ("\xb2", "9" * 5000, "nan", "-5")),
    *(("Set-Cookie", "a=b; Domain=x; Expires=x"), ("Content-Encoding", "gzip")),
    ("Content-Type", "text/html; charset=utf-7"),
)
CODES = (200, 200, 200, 302, 401, 404, 409, 410, 429, 500, 503)


class StrangeCluster(Cluster):
    """A cluster that changes some answers; is_strange: of a kind's plural."""

    def __init__(self, random: Random, is_strange: Callable[[str], bool], *objects: Json) -> None:
        super().__init__(*objects)
        self.random, self.is_strange = random, is_strange
        self.latency = 0.05

    def _session(self) -> object:
        return real_session(self._answer)

    def _answer(self, request: Any) -> Any:
        response = super()._answer(request)
        if not self.is_strange(request.url.path):
            return response
        headers = {"Date": response.headers["Date"]}
        if self.random.randrange(4) == 0:
            headers.update([self.random.choice(HEADERS)])
            sent = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
            code = self.random.choice(CODES)
            return httpx2.Response(code, content=response.read(), headers=sent)
        lines = response.read().splitlines() or [b"{}"]
        content = b"\n".join(self._changed(line) for line in lines)
        return httpx2.Response(response.status_code, content=content, headers=headers)

    def _changed(self, line: bytes) -> bytes:
        try:
            body = json.loads(line)
        except ValueError:
            return line
        for _ in range(self.random.choice((1, 1, 1, 2, 5))):
            change(body, self.random)
        return json.dumps(body).encode()


def change(body: Any, random: Random) -> None:
    """Replace, delete or add a random value."""
    places = list(places_in(body))
    if places:
        parent, key = random.choice(places)
        way = random.randrange(5)
        if way == 0:
            del parent[key]
        elif way == 1 and isinstance(parent, dict):
            parent[random.choice(KEYS)] = deepcopy(random.choice(VALUES))
        else:
            parent[key] = deepcopy(random.choice(VALUES))


def places_in(body: Any) -> Iterator[tuple[Any, Any]]:
    """Each place of a value: the mapping or list, and the key or index."""
    if not isinstance(body, (dict, list)):
        return
    for key, value in body.items() if isinstance(body, dict) else enumerate(body):
        yield body, key
        yield from places_in(value)


def status(cluster: Cluster, random: Random) -> None:
    kinds = [NamedObject(kind, "app") for kind in random.sample(CONSUMER_KINDS, 3)]
    targets = random.choice(([], kinds))
    snapshot = read_cluster(cluster.client(600, is_patient=False), targets)
    for has_difference in (False, True):
        found = read_status(snapshot, targets, "", with_difference=has_difference and bool(targets))
        for reporter in REPORTERS.values():
            reporter.render(found, Terminal(80))


def collect(cluster: Cluster, random: Random) -> None:
    older_than = random.choice((None, timedelta(seconds=1)))
    is_dry = random.randrange(3) == 0
    namespace = random.choice((NAMESPACE, ""))
    client_of = lambda place: cluster.client(3600, place)  # noqa: E731
    Pass(client_of, namespace, older_than, is_dry=is_dry).run()


def adopt_all(cluster: Cluster, random: Random) -> None:
    client = cluster.client(600)
    if random.randrange(2):
        undo(client, GROUP, is_dry=random.randrange(3) == 0)
    originals = [
        Original(kind, NAMESPACE, "app", False, {"postrender/attach-group": GROUP}, {})
        for kind in (CONFIG_MAPS, SECRETS)
    ]
    adopt(client, originals, is_dry=random.randrange(3) == 0)


def check_values(random: Random) -> None:
    """Run a command on strange answers. Any exception but UserError is a finding."""
    objects = random_world(random)
    one = random.choice(objects)["kind"].lower() + "s"
    rate = random.choice((0.02, 0.1, 0.5))
    is_strange = random.choice((lambda path: one in path, lambda _: random.random() < rate))
    cluster = StrangeCluster(random, is_strange, *objects)
    command = random.choice((status, collect, adopt_all, None))
    if command is None:
        run(cluster, "Deployment/app@bb=configmap/app-2k4")
        return
    with cluster.clock(), logged(), suppress(UserError):
        command(cluster, random)
    assert cluster.seconds < 3700
