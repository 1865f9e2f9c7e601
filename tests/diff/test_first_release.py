"""`postrender diff --first-release`: the older side is applied without postrender."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import assume, given

from postrender.config.settings import Settings
from tests.diff.change_cases import Result, run
from tests.diff.test_compare import (
    EXAMPLES,
    RUNS,
    compared,
    pairs,
    rendered,
    rendered_templates,
    rolling_workloads,
    templates_by_key,
    text_of,
    without_attachers,
)
from tests.manifests import InputError, Obj, normalise

CONFIG_MAP = """\
---
apiVersion: v1
kind: ConfigMap
metadata: {name: NAME}
data: {level: info}
"""
DEPLOYMENT = """\
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: web
          image: web:1
          envFrom: [{configMapRef: {name: files}}, {configMapRef: {name: settings}}]
"""
HOOK = """\
---
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {helm.sh/hook: pre-upgrade}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: a, image: a, envFrom: [{configMapRef: {name: settings}}]}]
"""
CHART = "".join(
    [CONFIG_MAP.replace("NAME", "files"), CONFIG_MAP.replace("NAME", "settings"), DEPLOYMENT, HOOK]
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()  # stops the search for postrender.yaml
    (tmp_path / "old.yaml").write_text(CHART)
    return tmp_path


def first_release(folder: Path, *options: str, old: str = "old.yaml", new: str) -> Result:
    return run(["diff", "--first-release", *options, old, new], folder)


def notes(folder: Path, *options: str, new: str = "old.yaml") -> dict[str, str]:
    preview = json.loads(first_release(folder, "--format=json", *options, new=new).stdout)
    return {content["object"]["name"]: content["note"] for content in preview["contents"]}


def test_the_workloads_roll_and_a_deleted_original_is_shown(folder: Path) -> None:
    done = first_release(folder, new="old.yaml")
    assert done.code == 0, done.stderr
    assert "~ Deployment/web rolls" in done.stdout
    assert "files -> files-" in done.stdout
    assert "settings -> settings-" in done.stdout
    assert "ConfigMap/files: the name changes, but the content does not change" in done.stdout
    # Job/migrate keeps the original of the other ConfigMap, which does not change.
    assert at_risk(folder) == ["ConfigMap/files"]


def at_risk(folder: Path, *options: str) -> list[str]:
    preview = json.loads(first_release(folder, "--format=json", *options, new="old.yaml").stdout)
    risks = [risk for risk in preview["risks"] if risk["code"] == "deleted-original"]
    assert all("run postrender adopt" in risk["consequence"] for risk in risks)
    return [f"{risk['object']['kind']}/{risk['object']['name']}" for risk in risks]


def test_an_original_that_stays_is_not_at_risk(folder: Path) -> None:
    kept = "{name: files, annotations: {helm.sh/resource-policy: keep}}"
    (folder / "old.yaml").write_text(CHART.replace("{name: files}", kept, 1))
    assert at_risk(folder) == []
    (folder / "old.yaml").write_text(CHART)
    assert at_risk(folder, "--previous=old.yaml") == []


def test_a_secret_can_be_at_risk_too(folder: Path) -> None:
    secret = CONFIG_MAP.replace("ConfigMap", "Secret").replace("\ndata", "\nstringData")
    user = DEPLOYMENT.replace("{configMapRef: {name: files}}", "{secretRef: {name: files}}")
    (folder / "old.yaml").write_text(secret.replace("NAME", "files") + user)
    assert at_risk(folder, "--secrets") == []  # the original of a Secret stays
    removed = '{name: NAME, annotations: {postrender/keep-original: "false"}}'
    secret = secret.replace("{name: NAME}", removed).replace("NAME", "files")
    (folder / "old.yaml").write_text(secret + user)
    assert at_risk(folder, "--secrets") == ["Secret/files"]


def test_a_changed_original_that_stays_is_shown(folder: Path) -> None:
    (folder / "new.yaml").write_text(CHART.replace("info", "debug"))
    done = run(["diff", "old.yaml", "new.yaml"], folder)
    expected = "the original ConfigMap, referenced by Job/migrate, also changes"
    assert done.stdout.count(expected) == 1


def test_a_retained_original_is_not_deleted(folder: Path) -> None:
    assert notes(folder, "--previous=old.yaml") == {"files": "", "settings": ""}


def test_a_rendered_newer_side_has_the_same_preview(folder: Path) -> None:
    # A rendered side does not show whether Helm 3 or Helm 4 passed the hook.
    (folder / "old.yaml").write_text(CHART.removesuffix(HOOK))
    done = run(["render", "--no-attacher", "old.yaml"], folder)
    (folder / "rendered.yaml").write_text(done.stdout)
    expected = first_release(folder, "--only=workloads", new="old.yaml").stdout
    shown = first_release(folder, "--only=workloads", new="rendered.yaml").stdout
    assert "rolls" in expected
    assert shown.replace("rendered.yaml", "old.yaml") == expected


def test_annotations_have_no_effect_on_the_older_side(folder: Path) -> None:
    text = CHART.replace(
        "{name: files}\ndata",
        "{name: files, annotations: "
        "{postrender/strategy: rename, postrender/mount-path: /etc/x}}\ndata",
    )
    assert text != CHART
    (folder / "annotated.yaml").write_text(text)
    done = first_release(folder, old="annotated.yaml", new="annotated.yaml")
    assert "files -> files-" in done.stdout, done.stderr


@pytest.mark.parametrize(("kind", "option"), [("ConfigMap", "--first-release"), ("Secret", "-q")])
def test_copies_that_keep_their_name_can_differ_in_annotations(
    folder: Path, kind: str, option: str
) -> None:
    plain = CONFIG_MAP.replace("ConfigMap", kind).replace("NAME", "files")
    for value in ("rename", "wrong"):
        annotated = plain.replace("files", f"files, annotations: {{postrender/strategy: {value}}}")
        (folder / "twice.yaml").write_text(plain + annotated)
        (folder / "once.yaml").write_text(plain.replace("info", "warn"))
        done = run(["diff", option, "twice.yaml", "once.yaml"], folder)
        assert done.stdout.startswith(f"1 {kind} changes\n"), done.stderr


def test_an_output_of_postrender_was_not_applied_without_postrender(folder: Path) -> None:
    done = run(["render", "--attacher-image=a:1", "old.yaml"], folder)
    (folder / "rendered.yaml").write_text(done.stdout)
    refused = first_release(folder, old="rendered.yaml", new="old.yaml")
    assert (refused.code, refused.stdout) == (2, "")
    assert refused.stderr.endswith(
        "error: rendered.yaml: --first-release is set, but OLD is an output of "
        "postrender. Pass the manifests from before the first release as OLD, or remove "
        "--first-release.\n"
    )


@EXAMPLES
@given(pair=pairs(), run=RUNS)
def test_workloads_roll_exactly_if_the_rendered_template_differs_from_the_applied_template(
    pair: tuple[list[Obj], list[Obj]], run: Settings
) -> None:
    old, new = (text_of(objects) for objects in pair)
    try:
        after = rendered_templates(new, run)
    except InputError:
        assume(False)
        raise
    before = templates_by_key(normalise(old), run)
    expected = {key for key in before.keys() & after.keys() if before[key] != after[key]}
    preview = compared(old, new, run, is_first_release=True)
    assert rolling_workloads(preview, run) == expected
    other = compared(old, rendered(new, run), run, is_first_release=True)
    assert without_attachers(other) == without_attachers(preview)


def test_the_tracking_of_argo_cd_is_no_change(folder: Path) -> None:
    """Argo CD adds an annotation to the manifests that it shows, and not to those of the chart."""
    unused = CONFIG_MAP.replace("NAME", "unused")
    chart = CHART + unused + unused.replace("ConfigMap", "Secret").replace("\ndata", "\nstringData")
    tracking = "annotations: {argocd.argoproj.io/tracking-id: 'shop:/ConfigMap:prod/web'}}"
    tracked = re.sub("^(metadata: {name: [a-z]+)}", rf"\1, {tracking}", chart, flags=re.M)
    assert tracked.count("tracking-id") == 5
    (folder / "old.yaml").write_text(chart)
    expected = first_release(folder, "--format=json", new="old.yaml")
    (folder / "new.yaml").write_text(chart)
    (folder / "old.yaml").write_text(tracked)
    actual = first_release(folder, "--format=json", new="new.yaml")
    assert actual.stdout.replace("new.yaml", "old.yaml") == expected.stdout


@pytest.mark.parametrize("is_output", [True, False])
def test_the_attacher_is_new(folder: Path, is_output: bool) -> None:
    options = ["--attacher-image", "registry.example.com/postrender:1"]
    if is_output:
        output = run(["render", "--group", "web", *options, "old.yaml"], folder).stdout
        (folder / "new.yaml").write_text(output)
    shown = first_release(folder, *options, new="new.yaml" if is_output else "old.yaml").stdout
    assert re.search(r"\+ Role/\S+ is added", shown)
    assert '["configmaps"], "verbs": ["delete", ' in shown
    assert re.search(r"\+ RoleBinding/\S+ is added", shown)
    assert "image: registry.example.com/postrender:1\n" in shown


RELOADED = """\
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: prometheus}
spec:
  selector: {matchLabels: {app: prometheus}}
  template:
    metadata: {labels: {app: prometheus}}
    spec:
      containers:
        - {name: reload, image: "configmap-reload:1", volumeMounts: [{name: r, mountPath: /r}]}
      volumes: [{name: r, configMap: {name: rules}}]
"""


@pytest.mark.parametrize("options", [None, [], ["--keep-original"]])
def test_a_workload_that_reloads_its_file_is_a_risk(
    tmp_path: Path, options: list[str] | None
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "a.yaml").write_text(CONFIG_MAP.replace("NAME", "rules") + RELOADED)
    if options is not None:
        output = run(["render", "--no-attacher", *options, "a.yaml"], tmp_path).stdout
        (tmp_path / "output.yaml").write_text(output)
    new = "a.yaml" if options is None else "output.yaml"
    first = run(["diff", "--first-release", "a.yaml", new], tmp_path).stdout
    assert first.count("the workload reloads ConfigMap/rules without a restart") == 1
    assert "Deployment/prometheus\n    the workload reloads ConfigMap/rules" in first
    explained = run(["explain", "a.yaml"], tmp_path).stdout
    assert "reloaded without a restart by Deployment/prometheus, which now rolls" in explained
