"""The history against a model of Helm 3: every rollback stays possible, whatever a team does.

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
from postrender.output import render
from postrender.plan.build import make_plan
from postrender.plan.history import Manifest, Previous, read_history
from postrender.yaml.stream import Source, read_stream
from tests.effort import examples
from tests.manifests import Obj, normalise

KEEP = "helm.sh/resource-policy"


class Stored(NamedTuple):
    """A stored Helm release revision; origin: the release revision whose render made the text."""

    number: int
    origin: int
    text: str
    status: str

    @property
    def is_applied(self) -> bool:
        """Return whether Helm has finished the apply."""
        return self.status in ("deployed", "superseded")


class NotFoundError(AssertionError):
    """Helm 3: no ConfigMap with the name … found."""


def chart(contents: dict[str, str]) -> str:
    """Return the output of a chart: ConfigMaps, and a Rollout that references all of them."""
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
    return "".join(f"---\n{json.dumps(manifest)}\n" for manifest in [*config_maps, rollout])


def config_maps(text: str) -> dict[str, Obj]:
    """Return the ConfigMaps of manifests by name."""
    objects = [manifest for manifest in normalise(text) if manifest["kind"] == "ConfigMap"]
    names = [config_map["metadata"]["name"] for config_map in objects]
    assert len(set(names)) == len(names)
    return dict(zip(names, objects, strict=True))


def is_kept(config_map: Obj) -> bool:
    return bool(config_map["metadata"].get("annotations", {}).get(KEEP) == "keep")


@dataclass
class Helm3:
    """A release and its namespace.

    limit: --history-max; strays: the objects that a failed upgrade has created.
    """

    settings: Settings
    limit: int = 5
    stored: list[Stored] = field(default_factory=list)
    live: dict[str, Obj] = field(default_factory=dict)
    strays: set[str] = field(default_factory=set)

    def render(self, contents: dict[str, str]) -> str:
        """Return the chart's output rendered by postrender, with the stored release as history."""
        previous = Previous(
            tuple(
                Manifest(
                    f"revision {stored.number}",
                    (Source(f"revision {stored.number}", stored.text.encode()),),
                    stored.is_applied,
                )
                for stored in self.stored
            ),
            (),
            len(self.stored),
        )
        stream = read_stream(chart(contents).encode(), "chart")
        history = read_history(previous, self.settings)
        inventory = take_inventory(stream, self.settings)
        return "".join(render(make_plan(inventory, self.settings, history)))

    def upgrade(self, contents: dict[str, str], *, is_rendered: bool = True) -> None:
        """Upgrade successfully; is_rendered: whether postrender renders the chart."""
        text = self.render(contents) if is_rendered else chart(contents)
        deployed = self._deployed()
        self._update(deployed.text if deployed else "", text, adopts=True)
        self.strays = set()
        self._store(text, "deployed")

    def fail(self, contents: dict[str, str], *, early: bool) -> None:
        """Fail an upgrade with --atomic.

        early: whether the upgrade fails during the apply instead of after it.
        """
        text = self.render(contents)
        deployed = self._deployed()
        assert deployed
        deployed_text = deployed.text
        self.strays |= config_maps(text).keys() - self.live.keys()
        if early:
            # The API server rejects an object, so Helm deletes nothing.
            before = config_maps(deployed_text)
            dropped = before.keys() - config_maps(text).keys()
            if dropped & self.live.keys():
                return  # Helm cannot roll back in this case (docs/how-to/history.md)
            for name, config_map in config_maps(text).items():
                self.live[name] = merged(self.live.get(name), before.get(name), config_map)
        else:
            self._update(deployed_text, text, adopts=True)
        self._store(text, "failed")
        self._update(text, deployed_text, adopts=False)
        self._store(deployed_text, "deployed", deployed.origin)

    def rollback(self, steps: int) -> None:
        """Roll back by a number of stored release revisions, at most to the oldest.

        Helm 3 cannot roll back to manifests rendered later than the current ones. It also cannot
        roll back to manifests with an object that a failed upgrade has created: see
        docs/how-to/history.md.
        """
        target = self.stored[-1 - min(steps, len(self.stored) - 1)]
        if (
            target.origin <= self.stored[-1].origin
            and not self.strays & config_maps(target.text).keys()
        ):
            self._update(self.stored[-1].text, target.text, adopts=False)
            self._store(target.text, "deployed", target.origin)

    def _deployed(self) -> Stored | None:
        return next((stored for stored in self.stored[::-1] if stored.status == "deployed"), None)

    def _store(self, text: str, status: str, origin: int = 0) -> None:
        if status == "deployed":
            self.stored = [
                earlier._replace(status="superseded") if earlier.status == "deployed" else earlier
                for earlier in self.stored
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
    """Return a live object after a three-way merge.

    An object that the earlier manifests lack is adopted, and keeps all its annotations.
    """
    if live is None:
        return after
    assert live.get("data") == after.get("data"), "an immutable ConfigMap changes"
    target = after["metadata"].get("annotations", {})
    removed = (before or after)["metadata"].get("annotations", {}).keys() - target.keys()
    existing = live["metadata"].get("annotations", {})
    annotations = {key: value for key, value in existing.items() if key not in removed} | target
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


@settings(max_examples=examples(80))
@given(SETTINGS, CONTENTS, STEPS, st.booleans())
def test_every_rollback_stays_possible(
    basis: Settings, first: dict[str, str], steps: list[tuple[str, object]], is_new: bool
) -> None:
    """is_new: whether postrender renders the first release, too."""
    helm = Helm3(basis)
    if not is_new:
        helm.upgrade(first, is_rendered=False)
    helm.upgrade(first)
    contents = first
    for action, argument in steps:
        before = names_in_use(helm)
        if action == "rollback" and isinstance(argument, int):
            helm.rollback(argument)
            before = names_in_use(helm)
            # An upgrade leads forward again: Helm 3 cannot roll back to later manifests.
            helm.upgrade(contents)
        elif isinstance(argument, dict):
            contents = argument
            if action == "upgrade":
                helm.upgrade(contents)
            else:
                helm.fail(contents, early=action == "fail early")
        assert names_in_use(helm) <= helm.live.keys()
        if basis.history.keep != 1:
            old_pods_use = before - originals_that_the_chart_lost(before, contents)
            assert old_pods_use <= helm.live.keys(), "old pods still need their ConfigMaps"


def originals_that_the_chart_lost(names: set[str], contents: dict[str, str]) -> set[str]:
    """Return the originals whose base name the chart no longer has.

    If no revision exists either, postrender does not manage the object, and Helm deletes it.
    """
    return {name for name in names if "-" not in name and name not in contents}


def names_in_use(helm: Helm3) -> set[str]:
    """Return the names that the Rollout of the deployed manifests references."""
    deployed = helm._deployed()
    assert deployed
    [rollout] = [manifest for manifest in normalise(deployed.text) if manifest["kind"] == "Rollout"]
    sources = rollout["spec"]["template"]["spec"]["containers"][0]["envFrom"]
    return {source["configMapRef"]["name"] for source in sources}


@settings(max_examples=examples(80))
@given(SETTINGS, st.lists(CONTENTS, min_size=1, max_size=8))
def test_the_last_contents_are_in_the_output_and_in_the_cluster(
    basis: Settings, releases: list[dict[str, str]]
) -> None:
    """The output has the last contents of each base name, and the newest has the highest number.

    The cluster has exactly the objects of the output: without an attacher, an object that Helm no
    longer tracks would stay for ever.

    If the chart loses a base name, its contents leave the output when Helm deletes the stored
    release. They are in one output for the last time, and stay if the next release has the base
    name again. With `keep`, they may have been in that output earlier, and are then optional.
    """
    helm = Helm3(basis)
    seen: dict[str, list[tuple[str, int]]] = {}
    leaving: dict[str, list[tuple[str, int]]] = {}
    optional: dict[str, set[str]] = {}
    for number, contents in enumerate(releases):
        optional = {name: {text for text, _ in pairs} for name, pairs in leaving.items()}
        for name in seen.keys() - contents.keys():
            seen[name] = [pair for pair in seen[name] if pair not in leaving.get(name, [])]
        leaving = {
            name: [pair for pair in seen[name] if pair[1] < number - helm.limit]
            for name in seen.keys() - contents.keys()
        }
        helm.upgrade(contents)
        assert helm.live.keys() == config_maps(helm.stored[-1].text).keys()
        for name, text in contents.items():
            before = seen.get(name, [])
            if before and before[0][0] == text:
                before = before[1:]
            elif basis.naming != SEQUENCE:
                # With numbers in the names, content that returns is a new revision.
                before = [pair for pair in before if pair[0] != text]
            seen[name] = [(text, number), *before]
    keep = basis.history.keep or 12
    output = config_maps(helm.stored[-1].text).values()
    for name in releases[-1]:
        revisions = [config_map for config_map in output if base_name(config_map) == name]
        revisions.sort(key=lambda revision: -order(revision))
        texts = [text for text, _ in seen[name]]
        skipped = optional.get(name, set()) if basis.history.keep else set()
        actual = [revision["data"]["text"] for revision in revisions][:keep]
        assert without(skipped, actual) == without(skipped, texts[:keep])
        assert len({order(revision) for revision in revisions}) == len(revisions)


def without(skipped: set[str], texts: list[str]) -> list[str]:
    return [text for text in texts if text not in skipped]


def base_name(config_map: Obj) -> str:
    return str(config_map["metadata"]["annotations"]["postrender/base-name"])


def order(config_map: Obj) -> int:
    return int(config_map["metadata"]["annotations"]["postrender/revision-number"])
