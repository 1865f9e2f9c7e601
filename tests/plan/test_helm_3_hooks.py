"""The finding `hook-on-helm-3` is right: each stream is rendered again without Helm's hooks."""

from __future__ import annotations

from pathlib import Path

import pytest

from postrender.config.settings import AttacherSettings, Settings
from postrender.errors import HOOK_ON_HELM_3
from postrender.inventory.build import take_inventory
from postrender.kubernetes.kinds import ObjectKey
from postrender.output import render
from postrender.plan.build import Plan, make_plan
from postrender.plan.history import History
from postrender.yaml.stream import read_stream
from tests.diff.change_cases import run
from tests.golden_cases import Case, cases
from tests.manifests import annotation, name_of, normalise

HELM_4 = "postrenderer.helm.sh/postrender-filename"
SETTINGS = Settings(attacher=AttacherSettings(is_enabled=False))
WITH_HOOKS = [
    case
    for case in cases()
    if b"helm.sh/hook:" in case.input
    and not (case.is_error or case.needs_files or b"kind: ResourceList" in case.input)
]


def plan_of(text: str, settings: Settings, history: History) -> Plan:
    stream = read_stream(text.encode(), "<stdin>")
    return make_plan(take_inventory(stream, settings), settings, history)


def config_maps(plan: Plan) -> set[str]:
    """Return the names of the ConfigMaps in the output that are not hooks."""
    objects = normalise("".join(render(plan)))
    return {
        name_of(obj)
        for obj in objects
        if obj["kind"] == "ConfigMap" and not annotation(obj, "helm.sh/hook")
    }


def without_helm_hooks(text: str) -> str:
    """Return a stream as Helm 3 passes the stream to a post-renderer."""
    documents = text.split("---\n")
    return "---\n".join(document for document in documents if "helm.sh/hook:" not in document)


def findings(plan: Plan) -> set[str]:
    """Return the ConfigMaps of the finding."""
    return {
        finding.location.subject.partition("/")[2]
        for finding in plan.findings
        if finding.code == HOOK_ON_HELM_3
    }


@pytest.mark.parametrize("keep_original", [False, True])
@pytest.mark.parametrize("case", WITH_HOOKS, ids=lambda case: case.name)
def test_the_finding_lists_the_originals_that_are_lost_on_helm_3(
    case: Case, keep_original: bool
) -> None:
    settings = SETTINGS._replace(keep_original=keep_original)
    text = case.input.decode()
    plan = plan_of(text, settings, History())
    on_helm_3 = plan_of(without_helm_hooks(text), settings, History())
    lost = config_maps(plan) - config_maps(on_helm_3)
    assert findings(plan) == (set() if HELM_4 in text else lost)


def test_there_are_cases_with_and_without_the_finding() -> None:
    plans = [plan_of(case.input.decode(), SETTINGS, History()) for case in WITH_HOOKS]
    assert {bool(findings(plan)) for plan in plans} == {True, False}


def test_a_hook_that_helm_has_stored_is_not_reported() -> None:
    """With `--previous helm:` the stored hooks of the release keep the original."""
    [case] = [case for case in WITH_HOOKS if case.name == HOOK_ON_HELM_3]
    key = ObjectKey(("", "ConfigMap"), None, "shop-config")
    history = History(is_known=True, hooks={key: "Job/shop-migrate"})
    text = case.input.decode()
    assert findings(plan_of(text, SETTINGS, history)) == set()
    assert "shop-config" in config_maps(plan_of(without_helm_hooks(text), SETTINGS, history))


def test_a_hook_in_the_plugin_of_argo_cd_is_not_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plugin renders with `helm template`, which passes hooks."""
    [case] = [case for case in WITH_HOOKS if case.name == HOOK_ON_HELM_3]
    (tmp_path / "stream.yaml").write_bytes(case.input)
    arguments = ["render", "stream.yaml", "--namespace=prod", "--attacher-image=postrender:test"]
    preview = ["diff", "--first-release", "--namespace=prod", "stream.yaml", "stream.yaml"]
    for application, is_reported in (("", True), ("shop", False)):
        monkeypatch.setenv("ARGOCD_APP_NAME", application)
        done = run(arguments, tmp_path)
        assert done.code == 0
        assert ("Helm 3 does not pass the hook" in done.stderr) == is_reported
        assert "name: shop-config\n" in done.stdout
        assert ("does not pass the hook" in run(preview, tmp_path).stdout) == is_reported


def test_a_hook_in_a_function_call_is_not_reported() -> None:
    """Helm does not call functions."""
    [case] = [case for case in WITH_HOOKS if case.name == HOOK_ON_HELM_3]
    items = [
        "- " + document.strip().replace("\n", "\n  ")
        for document in case.input.decode().split("---\n")
        if document.strip()
    ]
    head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
    plan = plan_of(head + "\n".join(items) + "\n", SETTINGS, History())
    assert findings(plan) == set()
    assert "shop-config" in config_maps(plan)


def test_a_program_does_not_keep_an_original_that_an_annotation_gives_up() -> None:
    pod = "{containers: [{name: web, envFrom: [{configMapRef: {name: app}}]%s}]}"
    reader = ", env: [{name: APP_CONFIGMAP, value: app}]"
    text = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app\n"
        '  annotations: {postrender/keep-original: "false"}\ndata: {a: b}\n'
        "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
        f"spec: {{template: {{spec: {pod % reader}}}}}\n"
        "---\napiVersion: batch/v1\nkind: Job\n"
        "metadata: {name: migrate, annotations: {helm.sh/hook: pre-upgrade}}\n"
        f"spec: {{template: {{spec: {pod % ''}}}}}\n"
    )
    assert findings(plan_of(text, SETTINGS, History())) == {"app"}
    assert not findings(plan_of(text.replace('"false"', '"true"'), SETTINGS, History()))
