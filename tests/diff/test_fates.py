"""What happens to the old revision of a ConfigMap or Secret that old pods use."""

from __future__ import annotations

import pytest

from postrender.config.settings import Settings, settings_from
from postrender.diff.build import compare
from postrender.diff.model import DELETED, IN_MANIFESTS, LEFT, UNTIL_PRUNED, Fate, Preview
from postrender.diff.values import Style, namer
from postrender.diff.words import describe_facts
from postrender.inventory.build import take_inventory
from postrender.output import render
from postrender.plan.build import make_plan
from postrender.yaml.stream import Stream, read_stream

IMAGE = "example.com/postrender:1"
ON = settings_from({"attacher": {"image": IMAGE}})
OFF = settings_from({"attacher": {"enabled": False}})
# With these settings, render does not stop tools from deleting a revision.
BARE = OFF._replace(history=OFF.history._replace(previous="unused"))
FLUX_PRUNE = "kustomize.toolkit.fluxcd.io/prune"
KEPT = "{helm.sh/resource-policy: keep}"


def configmap(value: str, annotations: str = "{}", kind: str = "ConfigMap") -> str:
    field = "data" if kind == "ConfigMap" else "stringData"
    return f"""\
apiVersion: v1
kind: {kind}
metadata: {{name: web-config, annotations: {annotations}}}
{field}: {{level: {value}}}
---
"""


def workload(kind: str = "Deployment", limit: int | None = None, reference: str = "") -> str:
    group = "argoproj.io/v1alpha1" if kind == "Rollout" else "apps/v1"
    history = "" if limit is None else f"  revisionHistoryLimit: {limit}\n"
    reference = reference or "configMapRef: {name: web-config}"
    return f"""\
apiVersion: {group}
kind: {kind}
metadata: {{name: web-{kind.lower()}}}
spec:
{history}  template:
    spec:
      containers:
        - name: web
          image: web:1
          envFrom: [{{{reference}}}]
---
"""


ROLLOUT_OF_DEPLOYMENT = """\
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web}
spec:
  revisionHistoryLimit: 4
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web-deployment}
---
"""
UNRELATED = workload(reference="configMapRef: {name: other}")
OTHER = UNRELATED.replace("web-d", "other-d")


def stream(text: str) -> Stream:
    return read_stream(text.encode(), "input.yaml")


def rendered(text: str, settings: Settings) -> str:
    return "".join(render(make_plan(take_inventory(stream(text), settings), settings)))


def preview(old: str, new: str, settings: Settings) -> Preview:
    return compare(stream(old), stream(new), settings)


def fate(old: str, new: str, settings: Settings = ON) -> Fate | None:
    (found,) = [
        content
        for content in preview(old, new, settings).contents
        if not content.note.startswith("this entry is")
    ]
    return found.fate


OLD, NEW = configmap("info"), configmap("debug")


@pytest.mark.parametrize(
    ("workloads", "expected"),
    [
        (workload(limit=3), Fate(UNTIL_PRUNED, ("ReplicaSets",), (3,))),
        (workload("Rollout"), Fate(UNTIL_PRUNED, ("ReplicaSets",), (10,))),
        (
            workload(limit=3) + workload("StatefulSet", limit=1),
            Fate(UNTIL_PRUNED, ("ReplicaSets", "ControllerRevisions"), (1, 3)),
        ),
        (
            workload(limit=0) + ROLLOUT_OF_DEPLOYMENT,
            Fate(UNTIL_PRUNED, ("ReplicaSets",), (4,)),
        ),
        (workload("ReplicaSet"), Fate(UNTIL_PRUNED)),
    ],
    ids=["limit", "default-limit", "several-kinds", "workload-ref", "no-history"],
)
def test_the_attacher_keeps_the_old_revision_until_the_history_ends(
    workloads: str, expected: Fate
) -> None:
    old, new = OLD + workloads, NEW + workloads
    assert fate(old, new) == expected
    assert fate(rendered(old, ON), rendered(new, ON)) == expected
    assert fate(rendered(old, ON), new) == expected


@pytest.mark.parametrize(
    ("is_on", "annotations", "expected"),
    [
        ((False, False), "{}", Fate(DELETED)),
        ((False, True), "{}", Fate(DELETED)),  # Helm deletes it before the attacher runs
        ((True, False), "{}", Fate(LEFT)),
        ((False, False), KEPT, Fate(LEFT)),
        ((False, True), KEPT, Fate(UNTIL_PRUNED, ("ReplicaSets",), (10,))),
    ],
)
def test_annotations_and_attachers_of_outputs_decide(
    is_on: tuple[bool, bool], annotations: str, expected: Fate
) -> None:
    sides = [
        rendered(configmap(value, annotations) + workload(), ON if has_attacher else BARE)
        for value, has_attacher in zip(("info", "debug"), is_on, strict=True)
    ]
    for settings in (ON, OFF):  # the settings of the reader do not matter
        assert fate(sides[0], sides[1], settings) == expected


def test_the_settings_decide_for_inputs() -> None:
    old, new = OLD + workload(), NEW + workload()
    assert fate(old, new, OFF) == Fate(LEFT)


HASHED = "4e5-k289f9d562"  # by kustomize


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ("{postrender/strategy: ignore}", Fate(DELETED)),
        ("{}", Fate(UNTIL_PRUNED, ("ReplicaSets",), (10,))),
    ],
)
def test_render_does_not_mark_an_ignored_object_with_the_name_of_a_revision(
    annotations: str, expected: Fate
) -> None:
    config_map = configmap("info", annotations).replace("web-config", HASHED)
    config_map = config_map.replace("level: info", "named: 'by kustomize in '")
    # What has another reference to the ConfigMap makes it one of the compared objects.
    users = workload(reference=f"configMapRef: {{name: {HASHED}}}") + NEW + workload("StatefulSet")
    for old in (config_map + users, rendered(config_map + users, ON)):
        contents = preview(old, users, ON).contents
        assert [one.fate for one in contents if one.old_revision == HASHED] == [expected]


OPTIONAL = workload(reference="configMapRef: {name: web-config, optional: true}")


@pytest.mark.parametrize(
    ("workloads", "is_optional"),
    [(OPTIONAL, True), (OPTIONAL + workload("StatefulSet"), False), (workload(), False)],
)
def test_pods_start_without_an_optional_revision(workloads: str, is_optional: bool) -> None:
    old, new = OLD + workloads, NEW + workloads
    assert fate(rendered(old, BARE), new, OFF) == Fate(DELETED, is_optional=is_optional)


@pytest.mark.parametrize(
    "annotation",
    ["argocd.argoproj.io/sync-options: 'Replace=true, Prune=false'", f"{FLUX_PRUNE}: disabled"],
)
def test_every_tool_can_keep_a_revision(annotation: str) -> None:
    old, new = (configmap(value, f"{{{annotation}}}") + workload() for value in ("info", "debug"))
    assert fate(rendered(old, BARE), rendered(new, BARE), OFF) == Fate(LEFT)


def test_a_retained_revision_stays_in_the_manifests() -> None:
    assert fate(OLD + workload(), NEW + workload(), BARE) == Fate(IN_MANIFESTS)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (OLD + workload(), NEW + workload("StatefulSet")),
        (
            OLD + workload() + OTHER,
            NEW + OTHER,
        ),
        (OLD + workload(), OTHER),
    ],
    ids=["other-workload", "no-workload-uses-it", "both-removed"],
)
def test_pods_of_a_removed_workload_need_nothing(old: str, new: str) -> None:
    assert fate(old, new, OFF) is None


@pytest.mark.parametrize(
    "new",
    [
        NEW + UNRELATED,
        UNRELATED,
        configmap("debug", "{postrender/strategy: ignore}") + workload(),
    ],
    ids=["reference-removed", "configmap-removed", "strategy-ignore"],
)
def test_old_pods_can_need_a_revision_that_new_pods_do_not_use(new: str) -> None:
    assert fate(OLD + workload(), new, OFF) == Fate(LEFT)
    assert fate(rendered(OLD + workload(), BARE), new, OFF) == Fate(DELETED)


def test_a_new_workload_has_no_old_pods() -> None:
    assert fate(OLD + OTHER, NEW + OTHER + workload(), OFF) is None


def test_a_secret_has_a_fate_without_a_hash() -> None:
    settings = OFF._replace(with_secrets=True)
    secret = workload(reference="secretRef: {name: web-config}")
    sides = [configmap(value, kind="Secret") + secret for value in ("info", "debug")]
    bare = BARE._replace(with_secrets=True)
    found = preview(rendered(sides[0], bare), sides[1], settings)
    (content,) = found.contents
    assert content.fate == Fate(DELETED)
    style = Style(code=str, prose=str, name=namer(found))
    fate = (
        "the old revision is DELETED on apply by Helm, Argo CD or Flux: old pods that restart "
        "cannot start"
    )
    assert fate in describe_facts(content, style)


def test_a_key_under_the_same_name_has_no_fate() -> None:
    sides = [configmap(value, "{postrender/strategy: checksum}") for value in ("info", "debug")]
    assert fate(sides[0] + workload(), sides[1] + workload(), OFF) is None
