"""History against a model of Helm 3: whatever a team does, every way back stays open.

The model is Helm's own algorithm (3.21, pkg/kube/client.go, `update`), for ConfigMaps only. The
real Helm runs in tests/e2e/test_rollback.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from postrender.config.settings import SEQUENCE, AttacherSettings, HistorySettings, Settings
from postrender.inventory.build import take_inventory
from postrender.output.build import render
from postrender.plan.build import make_plan
from postrender.plan.history import Manifest, Previous, read_history
from postrender.yaml.stream import Source, read_stream
from tests.reference import Obj, normalise

KEEP = "helm.sh/resource-policy"


class Stored(NamedTuple):
    """A revision of the release as Helm stores it; origin: the one that was rendered for it."""

    number: int
    origin: int
    text: str
    status: str

    @property
    def is_applied(self) -> bool:
        """Whether Helm has finished applying it."""
        return self.status in ("deployed", "superseded")


class NotFoundError(AssertionError):
    """Helm 3: no ConfigMap with the name … found."""


def chart(contents: dict[str, str]) -> str:
    """Return what a chart renders to: ConfigMaps, and a Rollout that names them all."""
    names = sorted(contents)
    config_maps = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name},
            "data": {"text": contents[name]},
        }
        for name in names
    ]
    sources = [{"configMapRef": {"name": name}} for name in names]
    rollout = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Rollout",
        "metadata": {"name": "app"},
        "spec": {"template": {"spec": {"containers": [{"name": "app", "envFrom": sources}]}}},
    }
    return "".join(f"---\n{json.dumps(each)}\n" for each in [*config_maps, rollout])


def config_maps(text: str) -> dict[str, Obj]:
    """Return the ConfigMaps of manifests by name."""
    found = [each for each in normalise(text) if each["kind"] == "ConfigMap"]
    names = [each["metadata"]["name"] for each in found]
    assert len(set(names)) == len(names)
    return dict(zip(names, found, strict=True))


def is_kept(config_map: Obj) -> bool:
    return bool(config_map["metadata"].get("annotations", {}).get(KEEP) == "keep")


@dataclass
class Helm3:
    """A release and its namespace; `limit` is --history-max."""

    settings: Settings
    limit: int = 5
    stored: list[Stored] = field(default_factory=list)
    live: dict[str, Obj] = field(default_factory=dict)
    strays: set[str] = field(default_factory=set)

    def render(self, contents: dict[str, str]) -> str:
        """Return what postrender makes of the chart, with all that is stored."""
        previous = Previous(
            tuple(
                Manifest(
                    f"revision {each.number}",
                    (Source(f"revision {each.number}", each.text.encode()),),
                    each.is_applied,
                )
                for each in self.stored
            ),
            (),
            len(self.stored),
        )
        stream = read_stream(chart(contents).encode(), "chart")
        history = read_history(previous, self.settings)
        inventory = take_inventory(stream, self.settings)
        return "".join(render(make_plan(inventory, self.settings, history)))

    def upgrade(self, contents: dict[str, str], *, is_rendered: bool = True) -> None:
        """Upgrade, which succeeds; is_rendered: whether by postrender."""
        text = self.render(contents) if is_rendered else chart(contents)
        deployed = self._deployed()
        self._update(deployed.text if deployed else "", text, adopts=True)
        self.strays = set()
        self._store(text, "deployed")

    def fail(self, contents: dict[str, str], *, early: bool) -> None:
        """Upgrade with --atomic to something that fails, when it is applied or (early) before."""
        text = self.render(contents)
        deployed = self._deployed()
        assert deployed
        back = deployed.text
        self.strays |= config_maps(text).keys() - self.live.keys()
        if early:
            # An object that the API server refuses: nothing is deleted any more.
            dropped = config_maps(back).keys() - config_maps(text).keys()
            if dropped & self.live.keys():
                return  # Helm cannot go back then, whatever the chart is: see docs/history.md
            before = config_maps(back)
            for name, config_map in config_maps(text).items():
                self.live[name] = merged(self.live.get(name), before.get(name), config_map)
        else:
            self._update(back, text, adopts=True)
        self._store(text, "failed")
        self._update(text, back, adopts=False)
        self._store(back, "deployed", deployed.origin)

    def rollback(self, back: int) -> None:
        """Go back by so many of the stored revisions, as far as there are.

        Not forward, to what was rendered later than what is there: Helm 3 cannot. Nor to what has
        something that a failed upgrade has made anew: see docs/history.md.
        """
        target = self.stored[-1 - min(back, len(self.stored) - 1)]
        if (
            target.origin <= self.stored[-1].origin
            and not self.strays & config_maps(target.text).keys()
        ):
            self._update(self.stored[-1].text, target.text, adopts=False)
            self._store(target.text, "deployed", target.origin)

    def _deployed(self) -> Stored | None:
        return next((each for each in self.stored[::-1] if each.status == "deployed"), None)

    def _store(self, text: str, status: str, origin: int = 0) -> None:
        if status == "deployed":
            self.stored = [
                each._replace(status="superseded") if each.status == "deployed" else each
                for each in self.stored
            ]
        number = self.stored[-1].number + 1 if self.stored else 1
        stored = Stored(number, origin or number, text, status)
        self.stored = [*self.stored, stored][-self.limit :]

    def _update(self, current: str, target: str, *, adopts: bool) -> None:
        before, after = config_maps(current), config_maps(target)
        for name, config_map in after.items():
            if name in self.live and name not in before and not adopts:
                raise NotFoundError(name)
            self.live[name] = merged(self.live.get(name), before.get(name), config_map)
        for name in before.keys() - after.keys():
            if name in self.live and not is_kept(self.live[name]):
                del self.live[name]


def merged(live: Obj | None, before: Obj | None, after: Obj) -> Obj:
    """Return what a three-way merge makes of a live object.

    One that is adopted, because the manifests before had it not, loses no annotation.
    """
    if live is None:
        return after
    assert live.get("data") == after.get("data"), "it is immutable"
    wanted = after["metadata"].get("annotations", {})
    gone = (before or after)["metadata"].get("annotations", {}).keys() - wanted.keys()
    there = live["metadata"].get("annotations", {})
    annotations = {key: value for key, value in there.items() if key not in gone} | wanted
    return {**after, "metadata": {**after["metadata"], "annotations": annotations}}


def names_of(contents: Iterable[str]) -> st.SearchStrategy[dict[str, str]]:
    return st.dictionaries(st.sampled_from(list(contents)), st.sampled_from("abcde"), min_size=1)


CONTENTS = names_of(["one", "two"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("upgrade"), CONTENTS),
        st.tuples(st.just("fail"), CONTENTS),
        st.tuples(st.just("fail early"), CONTENTS),
        st.tuples(st.just("rollback"), st.integers(1, 4)),
    ),
    max_size=12,
)
SETTINGS = st.builds(
    lambda keep, attaches, naming: Settings(
        attacher=AttacherSettings(is_enabled=attaches, image="postrender:1"),
        history=HistorySettings("helm:prod/app", keep),
        naming=naming,
    ),
    st.one_of(st.none(), st.integers(1, 4)),
    st.booleans(),
    st.sampled_from(["hash", SEQUENCE]),
)


@settings(max_examples=40, deadline=None)
@given(SETTINGS, CONTENTS, STEPS, st.booleans())
def test_every_way_back_stays_open(
    basis: Settings, first: dict[str, str], steps: list[tuple[str, object]], is_new: bool
) -> None:
    """is_new: whether the release begins with postrender, and not with plain manifests."""
    helm = Helm3(basis)
    if not is_new:
        helm.upgrade(first, is_rendered=False)
    helm.upgrade(first)
    contents = first
    for what, how in steps:
        before = names_in_use(helm)
        if what == "rollback" and isinstance(how, int):
            helm.rollback(how)
            before = names_in_use(helm)
            # Forward again is by an upgrade: Helm 3 cannot roll back to what came later.
            helm.upgrade(contents)
        elif isinstance(how, dict):
            contents = how
            if what == "upgrade":
                helm.upgrade(how)
            else:
                helm.fail(how, early=what == "fail early")
        assert names_in_use(helm) <= helm.live.keys()
        if basis.history.keep != 1:
            assert before <= helm.live.keys(), "old pods still need it"


def names_in_use(helm: Helm3) -> set[str]:
    """Return what the Rollout of the manifests that are applied names."""
    deployed = helm._deployed()
    assert deployed
    [rollout] = [each for each in normalise(deployed.text) if each["kind"] == "Rollout"]
    sources = rollout["spec"]["template"]["spec"]["containers"][0]["envFrom"]
    return {source["configMapRef"]["name"] for source in sources}


@settings(max_examples=40, deadline=None)
@given(SETTINGS, st.lists(CONTENTS, min_size=1, max_size=8))
def test_nothing_is_left_in_the_cluster_that_the_output_does_not_name(
    basis: Settings, releases: list[dict[str, str]]
) -> None:
    """Upgrades only: what Helm no longer tracks would stay for ever without an attacher."""
    helm = Helm3(basis)
    for contents in releases:
        helm.upgrade(contents)
        assert helm.live.keys() == config_maps(helm.stored[-1].text).keys()


@settings(max_examples=40, deadline=None)
@given(SETTINGS, st.lists(CONTENTS, min_size=1, max_size=8))
def test_the_last_contents_are_in_the_output(
    basis: Settings, releases: list[dict[str, str]]
) -> None:
    """Each base name has its last so many contents, the newest first by number.

    But while the chart does not have it, those go that Helm stores no release with any more. They
    are in one output for the last time, and if the chart has the base name again in the next, stay.
    """
    helm = Helm3(basis)
    seen: dict[str, list[tuple[str, int]]] = {}
    leaving: dict[str, list[tuple[str, int]]] = {}
    for number, contents in enumerate(releases):
        for name in seen.keys() - contents.keys():
            seen[name] = [each for each in seen[name] if each not in leaving.get(name, [])]
        leaving = {
            name: [each for each in seen[name] if each[1] < number - helm.limit]
            for name in seen.keys() - contents.keys()
        }
        helm.upgrade(contents)
        for name, text in contents.items():
            before = seen.get(name, [])
            if before and before[0][0] == text:
                before = before[1:]
            elif basis.naming != SEQUENCE:
                # With numbers in the names a content that comes back is a revision of its own.
                before = [each for each in before if each[0] != text]
            seen[name] = [(text, number), *before]
    keep = basis.history.keep or 12
    found = config_maps(helm.stored[-1].text).values()
    for name in releases[-1]:
        own = [each for each in found if base_name(each) == name]
        own.sort(key=lambda each: -order(each))
        texts = [text for text, _ in seen[name]]
        assert [each["data"]["text"] for each in own][:keep] == texts[:keep]
        assert len({order(each) for each in own}) == len(own)


def base_name(config_map: Obj) -> str:
    return str(config_map["metadata"]["annotations"]["postrender/base-name"])


def order(config_map: Obj) -> int:
    return int(config_map["metadata"]["annotations"]["postrender/revision-number"])
