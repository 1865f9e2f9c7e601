"""What pods read changes if a reference moves to another revision, whatever is current."""

from __future__ import annotations

from itertools import permutations

import pytest

from postrender.config.settings import Settings
from postrender.diff.build import compare
from postrender.diff.formats import REPORTERS
from postrender.diff.model import ContentChange, Preview
from postrender.diff.values import Terminal
from postrender.kubernetes.hashing import without_hash
from postrender.yaml.stream import read_stream

# The names and values of the revisions. The first one is current.
REVISIONS = {
    "web-m567dfc6df": "blueberry",
    "web-7f89tk7g74": "greenhouse",
    "web-8cd7tc6dk6": "redwood",
}
CURRENT = next(iter(REVISIONS))
VOLUME = "volumes: [{{name: v, configMap: {{name: {}, items: [{{key: COLOR, path: c}}]}}}}]"
ENV = "env: [{{name: C, valueFrom: {{configMapKeyRef: {{name: {}, key: COLOR}}}}}}]"
ENV_FROM = "envFrom: [{{configMapRef: {{name: {}}}}}]"


def revision(name: str, value: str, kind: str = "ConfigMap") -> str:
    is_current = "helm-diff/base-name: x, " if name == CURRENT else ""
    data = "data" if kind == "ConfigMap" else "stringData"
    return f"""\
apiVersion: v1
kind: {kind}
immutable: true
metadata:
  name: {name}
  labels: {{postrender/attach-group: web-deployment-attach}}
  annotations: {{{is_current}postrender/base-name: web, helm.sh/resource-policy: keep}}
{data}: {{COLOR: {value}}}
---
"""


def workload(name: str, container: str, pod: str = "", image: str = "app:1") -> str:
    return f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}}}
spec:
  template:
    spec:
      containers:
        - name: app
          image: {image}
          {container or "args: []"}
      {pod}
---
"""


RETAINED = "".join(revision(name, value) for name, value in REVISIONS.items())


def preview(old: str, new: str, settings: Settings | None = None) -> Preview:
    sides = [read_stream(text.encode(), "x.yaml") for text in (old, new)]
    return compare(sides[0], sides[1], settings or Settings())


def lines_of(content: ContentChange) -> list[str]:
    hunks = [hunk for key in content.keys for hunk in key.hunks]
    return [f"{line.sign}{line.text}" for hunk in hunks for line in hunk.lines]


@pytest.mark.parametrize("form", [VOLUME, ENV, ENV_FROM], ids=["volume", "env", "envFrom"])
@pytest.mark.parametrize(("old", "new"), permutations(REVISIONS, 2))
def test_a_moved_reference_shows_what_pods_read(old: str, new: str, form: str) -> None:
    in_pod = form == VOLUME
    sides = [
        RETAINED + workload("app", *("", used) if in_pod else (used, ""))
        for used in (form.format(old), form.format(new))
    ]
    found = preview(sides[0], sides[1])
    [content] = found.contents
    assert (content.old_revision, content.new_revision) == (old, new)
    assert lines_of(content) == [f"-{REVISIONS[old]}", f"+{REVISIONS[new]}"]
    assert [user.name for user in content.users] == ["app"]
    [change] = found.workloads
    assert change.effect == "rolls"
    assert [cause.keys for cause in change.causes] == [("COLOR",)]
    for form_name, reporter in REPORTERS.items():
        text = reporter.render(found, Terminal(200, False))
        assert "content does not change" not in text, form_name
        if reporter.is_complete:
            assert REVISIONS[old] in text, form_name
            assert REVISIONS[new] in text, form_name


def test_two_workloads_read_two_revisions() -> None:
    current, green, red = REVISIONS
    old, new = (
        RETAINED
        + workload("one", ENV_FROM.format(one))
        + workload("two", ENV_FROM.format(two))
        + workload("three", ENV_FROM.format(current))
        for one, two in ((current, red), (green, current))
    )
    found = preview(old, new)
    assert [
        (content.old_revision, content.new_revision, [user.name for user in content.users])
        for content in found.contents
    ] == [(current, green, ["one"]), (red, current, ["two"])]
    assert [workload.identity.name for workload in found.workloads] == ["one", "two"]


def test_one_of_two_references_moves() -> None:
    current, green, _ = REVISIONS
    old, new = (
        RETAINED + workload("app", ENV_FROM.format(current), VOLUME.format(name))
        for name in (current, green)
    )
    [content] = preview(old, new).contents
    assert (content.old_revision, content.new_revision) == (current, green)


def test_a_reference_to_a_revision_that_only_the_older_side_has() -> None:
    current, green, _ = REVISIONS
    old = RETAINED + workload("app", ENV_FROM.format(current))
    kept = revision(current, "blueberry") + workload("app", ENV_FROM.format(green))
    [content] = preview(old, kept).contents
    assert lines_of(content) == ["-blueberry", "+greenhouse"]
    assert content.note == "NEW references a revision that NEW does not contain"


def test_an_edited_revision_is_read_in_place() -> None:
    _, green, _ = REVISIONS
    old = RETAINED + workload("app", ENV_FROM.format(green))
    found = preview(old, old.replace("COLOR: greenhouse", "COLOR: evil"))
    [content] = found.contents
    assert lines_of(content) == ["-greenhouse", "+evil"]
    assert [user.name for user in content.users] == ["app"]
    [change] = found.workloads
    assert (change.effect, [target.name for target in change.in_place]) == ("stays", ["web"])


def test_an_earlier_revision_that_nothing_references_is_shown() -> None:
    added = revision("web-aaaaaaaaaa", "evil")
    [content] = preview(RETAINED, RETAINED + added).contents
    assert (content.change, content.new_revision) == ("added", "web-aaaaaaaaaa")
    assert lines_of(content) == ["+evil"]


@pytest.mark.parametrize("image", ["app:1", "app:2"])
def test_a_text_with_another_revision_is_shown(image: str) -> None:
    """Also if the workload has another cause."""
    current, green, red = REVISIONS
    for old_name, new_name in permutations((current, green, red), 2):
        old = RETAINED + workload("app", f"args: [--config={old_name}]")
        new = RETAINED + workload("app", f"args: [--config={new_name}]", image=image)
        [change] = preview(old, new).workloads
        fields = [cause.field for cause in change.causes if cause.field]
        assert [(field.path.rpartition(".")[2]) for field in fields] == ["args[0]"]
        if image == "app:2":
            assert (fields[0].old, fields[0].new) == (
                f"--config={old_name}",
                f"--config={new_name}",
            )


def test_a_secret_stays_hidden() -> None:
    current, green, _ = REVISIONS
    reference = "envFrom: [{{secretRef: {{name: {}}}}}]"
    secrets = "".join(revision(name, value, "Secret") for name, value in REVISIONS.items())
    for with_secrets in (False, True):
        old, new = (secrets + workload("app", reference.format(name)) for name in (current, green))
        found = preview(old, new, Settings(with_secrets=with_secrets))
        [content] = found.contents
        assert (content.change, content.parts, content.keys) == ("changed", ("data",), ())
        assert found.workloads[0].causes[0].reason == "content changes"
        for reporter in REPORTERS.values():
            text = reporter.render(found, Terminal(200, False))
            assert not any(name in text for name in (*REVISIONS, *REVISIONS.values(), "COLOR"))


def test_many_revisions_take_linear_time() -> None:
    """The content of a large revision is not compared with every other one."""
    names = [f"web-{one}{two}cccccccc" for one in "245" for two in "2456789b"]
    assert all(map(without_hash, names))
    large = "web-7f89tk7g74"
    value = "x" * 1000
    objects = revision(large, value) + "".join(revision(name, name) for name in names)
    sides = ["", ""]
    for name in names:
        for side, used in enumerate((large, name)):
            sides[side] += workload(f"w-{name}", ENV_FROM.format(used))
    for old, new in (sides, sides[::-1]):
        text = REPORTERS["text"].render(preview(objects + old, objects + new), Terminal(200, False))
        assert text.count(value) <= 12
        if old is sides[0]:
            assert all(f"+{name}" in text or f": {name}" in text for name in names)


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
def test_the_labels_of_an_added_object_are_shown(kind: str) -> None:
    """A Secret shows that it is added, and nothing else."""
    head = f"apiVersion: v1\nkind: {kind}\nimmutable: true\n"
    added = f"{head}metadata:\n  name: x\n  labels: {{tier: gold}}\n"
    for old, new in (("", added), (added, "")):
        found = preview(RETAINED + old, RETAINED + new)
        [content] = found.contents
        paths = [field.path for field in content.fields]
        assert paths == (["metadata.labels.tier", "immutable"] if kind == "ConfigMap" else [])
        for form, reporter in REPORTERS.items():
            if reporter.is_complete:
                text = reporter.render(found, Terminal(200, False))
                assert ("gold" in text) is (kind == "ConfigMap"), form
