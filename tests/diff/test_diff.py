"""`postrender diff` on manifests in unusual notations, and on other corner cases."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.diff.change_cases import Result, run

CONFIG = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\ndata:\n  key: "{}"\n'
ROLLOUT = """\
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata:
  name: shop
spec:
  template:
    spec:
      containers:
        - name: app
          envFrom:
            - configMapRef:
                name: web
"""
TEMPLATE = """\
  apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: shop-template
  spec:
    replicas: 0
    template:
      spec:
        containers:
          - name: app
            image: shop:1
"""


ATTACHER = """\
apiVersion: batch/v1
kind: Job
metadata: {{name: {}, labels: {{postrender/attach-group: web-attach}}}}
spec: {{template: {{spec: {{containers: [{{name: attach, image: "attach:{}"}}]}}}}}}
"""


def diff(folder: Path, old: str, new: str, *options: str) -> Result:
    (folder / "old.yaml").write_bytes(old.encode())
    (folder / "new.yaml").write_bytes(new.encode())
    (folder / ".git").mkdir(exist_ok=True)
    return run(["diff", *options, "old.yaml", "new.yaml"], folder)


def preview_of(folder: Path, old: str, new: str, *options: str) -> Any:
    done = diff(folder, old, new, "--format", "json", *options)
    assert done.code == 0, done.stderr
    return json.loads(done.stdout)


def rendered_text(folder: Path, text: str) -> str:
    (folder / "input.yaml").write_text(text, "utf-8")
    done = run(["render", "--no-attacher", "input.yaml"], folder)
    assert done.code == 0, done.stderr
    return done.stdout


def effects(preview: Any) -> dict[str, str]:
    return {change["object"]["name"]: change["effect"] for change in preview["workloads"]}


@pytest.mark.parametrize(
    "config",
    [
        CONFIG,
        'apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: web}}\ndata: {{key: "{}"}}\n',
        '{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": "web"}}, '
        '"data": {{"key": "{}"}}}}\n',
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n"
        '  metadata: {{name: web}}\n  data: {{key: "{}"}}\n',
        'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name:\n    web\ndata:\n  key: "{}"\n',
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  labels:\n    name: other\n"
        '  ? name\n  : web\ndata:\n  key: "{}"\n',
        'apiVersion: v1\nkind: "ConfigMap"\nmetadata:\n  name: web\ndata:\n  key: "{}"\n',
    ],
    ids=["block", "flow", "json", "list", "next line", "other key", "quoted kind"],
)
def test_a_rollout_rolls_in_every_notation_of_the_configmap(tmp_path: Path, config: str) -> None:
    old, new = (f"{config.format(value)}---\n{ROLLOUT}" for value in (1, 2))
    assert effects(preview_of(tmp_path, old, new)) == {"shop": "rolls"}


def test_a_rollout_finds_its_template_in_a_list(tmp_path: Path) -> None:
    template = "apiVersion: v1\nkind: List\nitems:\n-" + TEMPLATE[1:]
    reference = "  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: shop-template}\n"
    head = ROLLOUT.partition("  template:\n")[0] + reference
    old, new = (f"{template}---\n{head}  replicas: {count}\n" for count in (1, 2))
    preview = preview_of(tmp_path, old, new)
    assert effects(preview) == {"shop": "stays"}
    assert preview["undecided"] == []


def test_a_workload_pinned_to_a_revision_does_not_roll(tmp_path: Path) -> None:
    pinned = TEMPLATE.replace("image: shop:1", "envFrom: [{configMapRef: {name: web-4h2mbtbbt6}}]")
    rest = f"---\n{ROLLOUT}---\n{textwrap.dedent(pinned)}"
    old, new = (f"{CONFIG.format(value)}{rest}".replace("key:", "a:") for value in "bc")
    rendered = [rendered_text(tmp_path, side) for side in (old, new)]
    assert "name: web-4h2mbtbbt6\n" in rendered[0]
    for sides in ((old, new), rendered, (rendered[0], new), (old, rendered[1])):
        assert effects(preview_of(tmp_path, *sides)) == {"shop": "rolls"}


def test_a_null_in_a_pod_template_does_not_roll_the_workload(tmp_path: Path) -> None:
    old = f"{CONFIG.format(1)}---\n{ROLLOUT}"
    new = f"{old}          env: null\n"
    rendered = [rendered_text(tmp_path, side) for side in (old, new)]
    for sides in ((old, new), rendered):
        preview = preview_of(tmp_path, *sides)
        assert effects(preview) == {"shop": "stays"}
        [cause] = preview["workloads"][0]["causes"]
        assert cause["field"] == {
            "path": "spec.template.spec.containers[name=app].env",
            "change": "added",
            "old": None,
            "new": None,
        }


@pytest.mark.parametrize(
    ("before", "after", "is_undecided"),
    [
        ("shop-template", "other", True),
        ("other", "shop-template", True),
        ("other", "other, and the Rollout changes", True),
        ("other", "other", False),
    ],
)
def test_a_rollout_without_its_template_is_undecided(
    tmp_path: Path, before: str, after: str, is_undecided: bool
) -> None:
    reference = "  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: shop-template}\n"
    rollout = ROLLOUT.partition("  template:\n")[0] + reference
    template = textwrap.dedent(TEMPLATE)
    old, new = (
        f"{template.replace('shop-template', side.partition(',')[0])}---\n{rollout}"
        + ("  paused: true\n" if "changes" in side else "")
        for side in (before, after)
    )
    preview = preview_of(tmp_path, old, new, "--only", "workloads")
    assert effects(preview).get("shop", "stays") == "stays"
    assert [item["problem"] for item in preview["undecided"]] == is_undecided * [
        "Rollout/shop uses the pod template of Deployment/shop-template, which is not in these "
        "manifests, so diff cannot predict whether the Rollout rolls"
    ]


@pytest.mark.parametrize("config", ["", f"---\n{CONFIG.format(1)}"], ids=["alone", "with a config"])
@pytest.mark.parametrize("options", [(), ("--namespace", "prod")], ids=" ".join)
def test_a_rollout_finds_a_template_without_a_namespace(
    tmp_path: Path, options: tuple[str, ...], config: str
) -> None:
    reference = "  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: shop-template}\n"
    rollout = ROLLOUT.partition("  template:\n")[0] + reference
    rollout = rollout.replace("name: shop\n", "name: shop\n  namespace: prod\n", 1)
    old = f"{textwrap.dedent(TEMPLATE)}---\n{rollout}{config}"
    preview = preview_of(tmp_path, old, old.replace("shop:1", "shop:2"), *options)
    assert effects(preview)["shop"] == "rolls"
    assert preview["undecided"] == []


def test_removing_the_last_object_of_another_namespace_rolls_the_workload(tmp_path: Path) -> None:
    config = CONFIG.format(1).replace("name: web", "name: web\n  namespace: shop")
    other = CONFIG.format(1).replace("name: web", "name: other\n  namespace: elsewhere")
    new = f"{config}---\n{ROLLOUT}"
    # In NEW, `shop` is the only namespace, so the Rollout without a namespace is in `shop`.
    assert effects(preview_of(tmp_path, f"{new}---\n{other}", f"{new}---\n")) == {"shop": "rolls"}


def test_a_new_metric_without_pods_does_not_change_the_template(tmp_path: Path) -> None:
    old = (
        "apiVersion: argoproj.io/v1alpha1\nkind: AnalysisTemplate\nmetadata: {name: smoke}\n"
        "spec:\n  metrics:\n  - name: job\n    provider: {job: {spec: {template: {spec: {}}}}}\n"
    )
    new = f"{old}  - name: errors\n    provider: {{prometheus: {{query: up}}}}\n"
    workload = preview_of(tmp_path, old, new)["workloads"][0]
    assert (workload["effect"], workload["causes"]) == ("stays", [])
    assert [field["path"] for field in workload["fields"]] == ["spec.metrics[name=errors]"]


def test_values_that_are_not_base64_are_compared_as_they_are(tmp_path: Path) -> None:
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nbinaryData: {logo: %s}\n"
    [content] = preview_of(tmp_path, config % "no-base64!", config % "other!")["contents"]
    [key] = content["keys"]
    assert (key["key"], key["change"]) == ("logo", "changed")
    assert (key["oldBinary"]["size"], key["newBinary"]["size"]) == (10, 6)


def test_an_edited_revision_number_is_ignored(tmp_path: Path) -> None:
    revisions = "---\n".join(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n"
        f"  name: web-{name}\n  labels: {{postrender/attach-group: set}}\n"
        "  annotations: {postrender/base-name: web, helm-diff/base-name: web, "
        'postrender/revision-number: "²"}\nimmutable: true\ndata: {}\n'
        for name in ("bcdfg24567", "bcdfg24568")
    )
    assert diff(tmp_path, CONFIG.format(1), revisions).code == 0


def test_an_empty_folder_on_both_sides_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    done = run(["diff", "--allow-empty", "old", "new"], tmp_path)
    assert (done.code, done.stdout) == (2, "")
    assert "error: old and new do not contain manifests. Pass manifests as OLD" in done.stderr


def test_two_empty_files_do_not_differ(tmp_path: Path) -> None:
    done = diff(tmp_path, "# nothing\n", "", "--allow-empty")
    assert (done.code, done.stdout) == (0, "no changes\nNo configuration file\n")


def test_an_error_escapes_control_characters(tmp_path: Path) -> None:
    name = r"web\u001b[31m\u202e"
    bad = (
        f'{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}},"data":{{"a":1}}}}'
    )
    done = diff(tmp_path, bad, bad.replace("1}", "2}"))
    assert done.code == 2
    assert r"ConfigMap/web\x1b[31m\u202e" in done.stderr
    assert done.stderr.rstrip("\n").isprintable()


@pytest.mark.parametrize("name", ["text", "markdown", "html"])
def test_the_selected_sections_are_listed_if_nothing_in_the_sections_changes(
    tmp_path: Path, name: str
) -> None:
    sides = [f"{CONFIG.format(number)}---\n{ROLLOUT}" for number in (1, 2)]
    options = ("--only", "objects", "--only", "revisions", "--format", name)
    assert "no changes" not in diff(tmp_path, *sides, *options).stdout
    assert "no changes in objects" in diff(tmp_path, *sides, *options[:2], *options[-2:]).stdout


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("web-attach-0123456789", "web-attach-9876543210", {"web-attach"}),
        ("web-attach-0123456789", "web-attach-by-hand", {"web-attach", "web-attach-by-hand"}),
        ("web-attach-by-hand", "web-attach-by-hand", {"web-attach-by-hand"}),
        ("migrate", "migrate", {"migrate"}),
    ],
)
def test_the_job_of_an_attacher_is_compared_without_its_hash(
    tmp_path: Path, old: str, new: str, names: set[str]
) -> None:
    """Only a name that ends in a hash is the name of the attach group in the preview."""
    preview = preview_of(tmp_path, ATTACHER.format(old, 1), ATTACHER.format(new, 2))
    assert {change["object"]["name"] for change in preview["objects"]} == names


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("RoleBinding", "subjects: [web]"),
        ("RoleBinding", "subjects: web"),
        ("Job", "spec: web"),
        ("Job", "spec: {template: {spec: {containers: [web]}}}"),
        ("Job", "spec: {template: {spec: {containers: [{args: web}]}}}"),
        ("Job", "spec: {template: {spec: {containers: [{args: [attach, --workload]}]}}}"),
    ],
)
def test_an_invalid_object_of_an_attacher_is_compared(
    tmp_path: Path, kind: str, fields: str
) -> None:
    start = ATTACHER.partition("spec:")[0].format("web-attach-0123456789").replace("Job", kind)
    sides = [f"{start}{fields.replace('web', name)}\n" for name in ("web", "shop")]
    preview = preview_of(tmp_path, sides[0], f"{sides[1]}other: 1\n")
    assert [change["object"]["kind"] for change in preview["objects"]] == [kind]


def test_an_unrendered_side_is_compared_with_a_rendered_side(tmp_path: Path) -> None:
    sides = [f"{CONFIG.format(number)}---\n{ROLLOUT}" for number in (1, 2)]
    rendered = [rendered_text(tmp_path, side) for side in sides]
    assert preview_of(tmp_path, rendered[0], sides[1])["undecided"] == []
    assert "diff first renders OLD" in str(preview_of(tmp_path, sides[0], rendered[1])["undecided"])


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("ignore", "checksum", "the strategy changes"),
        ("checksum", "ignore", "the strategy changes"),
        ("ignore", "rename", "the name changes, but the content does not change"),
        ("rename", "checksum", "the name changes, but the content does not change"),
    ],
)
def test_a_new_strategy_rolls_workloads_with_the_same_content(
    tmp_path: Path, before: str, after: str, reason: str
) -> None:
    request = "metadata:\n  annotations: {{postrender/strategy: {}}}\n"
    config = CONFIG.format(1)
    sides = [
        config.replace("metadata:\n", request.format(strategy)) + f"---\n{ROLLOUT}"
        for strategy in (before, after)
    ]
    (workload,) = preview_of(tmp_path, *sides)["workloads"]
    assert (workload["effect"], workload["causes"][0]["what"]) == ("rolls", reason)


@pytest.mark.parametrize("options", [(), ("--namespace", "prod")], ids=" ".join)
def test_a_removed_configmap_is_still_referenced_if_only_the_configmap_has_a_namespace(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    config = CONFIG.format(1).replace("  name: web", "  name: web\n  namespace: prod")
    preview = preview_of(tmp_path, f"{config}---\n{ROLLOUT}", ROLLOUT, *options)
    assert effects(preview) == {"shop": "rolls"}
    (content,) = preview["contents"]
    assert (content["formerUsers"], len(content["users"])) == ([], 1)
    (cause,) = preview["workloads"][0]["causes"]
    assert cause["what"] == "removed, but the workload still references the name"


NOTE = (
    "---\napiVersion: example.com/v1\nkind: Note\nmetadata: {{name: note}}\nspec: {{about: {}}}\n"
)
ROLE = """\
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: reader}}
rules: [{{apiGroups: [""], resources: [configmaps], verbs: [get], resourceNames: [{}]}}]
"""


@pytest.mark.parametrize(
    ("form", "before", "after", "path"),
    [
        (NOTE, "{current}", "{earlier}", "spec.about"),
        (ROLE, "web, {current}", "web", "rules[0].resourceNames[1]"),
        (ROLE, "web, {current}, {earlier}", "web, {current}", None),
    ],
    ids=["another-revision", "no-current-revision", "no-earlier-revision"],
)
def test_an_edit_of_a_revision_name_in_an_output_is_a_change(
    tmp_path: Path, form: str, before: str, after: str, path: str | None
) -> None:
    outputs = [
        rendered_text(tmp_path, f"{CONFIG.format(number)}---\n{ROLLOUT}") for number in (1, 2)
    ]
    earlier, current = (re.findall(r"web-\w{10}\b", output)[0] for output in outputs)
    retained = outputs[0].partition("---\n")[0]
    sides = [
        f"{outputs[1]}{form.format(name.format(earlier=earlier, current=current))}---\n{retained}"
        for name in (before, after)
    ]
    fields = [
        field for change in preview_of(tmp_path, *sides)["objects"] for field in change["fields"]
    ]
    assert [field["path"] for field in fields] == ([path] if path else [])
