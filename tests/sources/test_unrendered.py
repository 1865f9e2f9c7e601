"""Inputs that are not rendered manifests: chart folders, Helm templates and values files."""

from __future__ import annotations

from pathlib import Path

import pytest

from postrender.config.settings import HistorySettings, Settings
from postrender.errors import CODES, Finding, UserError
from postrender.inventory.build import take_inventory
from postrender.inventory.notes import find_no_objects
from postrender.sources.helm import read_previous
from postrender.sources.inputs import read_input, read_inputs
from postrender.yaml.stream import read_stream
from tests.cli.test_processes import CONFIG_MAP, GOOD
from tests.repositories import commit, new_repository, nobody

CHART = {
    "shop/Chart.yaml": "apiVersion: v2\nname: shop\n",
    "shop/templates/config.yaml": "{{ if .Values.a }}\n",
    "umbrella/Chart.yaml": "apiVersion: v2\nname: umbrella\n",
}
VALUES = "image: {tag: v2}\n"


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run the test in a repository with a chart and an umbrella chart."""
    for name, value in nobody().items():
        monkeypatch.setenv(name, value)
    folder = new_repository(tmp_path / "repository", CHART)
    monkeypatch.chdir(folder)
    return folder


# --- chart folders -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("shop", "helm template NAME shop | postrender explain"),
        ("umbrella", "helm template NAME umbrella | postrender explain"),
        ("git:main:shop", "helm template NAME shop | postrender explain"),
    ],
)
def test_a_chart_folder_is_not_one_file(name: str, command: str) -> None:
    with pytest.raises(UserError) as caught:
        read_input(name, "explain")
    assert caught.value.problem == f"{name} is a chart folder, expected rendered manifests"
    place = " in a checkout of main" if name.startswith("git:") else ""
    assert caught.value.fix == f"Render the chart first{place}: {command}"


def test_the_command_for_a_chart_folder_is_render_by_default() -> None:
    with pytest.raises(UserError, match=r"helm template NAME shop \| postrender render"):
        read_input("shop")


@pytest.mark.parametrize("name", ["shop", "shop/", "umbrella", "git:main:shop", "git:main:./shop"])
def test_a_chart_folder_is_not_a_folder_of_manifests(name: str) -> None:
    with pytest.raises(UserError) as caught:
        read_inputs(name)
    assert caught.value.problem == f"{name} is a chart folder, expected rendered manifests"
    path = name.removeprefix("git:main:")
    assert caught.value.fix.endswith(
        f"to a file and pass the file: helm template NAME {path} > FILE"
    )


def test_the_configuration_of_a_chart_folder_is_in_the_fix(repository: Path) -> None:
    (repository / "shop" / "postrender.yaml").touch()
    for read in (read_input, read_inputs):
        with pytest.raises(UserError) as caught:
            read("shop")
        assert caught.value.fix.endswith(". Also pass --config=shop/postrender.yaml")


@pytest.mark.parametrize("name", ["shop", "git:main:shop"])
def test_a_chart_folder_is_not_the_previous_output(name: str) -> None:
    settings = Settings(history=HistorySettings(previous=name))
    stream = read_stream(CONFIG_MAP.encode(), "app.yaml")
    with pytest.raises(UserError) as caught:
        read_previous(take_inventory(stream, settings), settings)
    assert caught.value.problem == (
        f"--previous={name} is a chart folder, expected the previous output of postrender"
    )


@pytest.mark.parametrize(
    ("name", "chart"), [(".", "./shop"), ("git:main:", "git:main:shop"), ("git:main:.", None)]
)
def test_a_folder_of_manifests_may_not_contain_a_chart(name: str, chart: str | None) -> None:
    with pytest.raises(UserError) as caught:
        read_inputs(name)
    chart = chart or f"{name}/shop"
    assert caught.value.problem == f"{chart} is a chart folder, expected rendered manifests"


def test_a_chart_file_without_templates_may_be_below_a_folder_of_manifests(
    repository: Path,
) -> None:
    (repository / "apps" / "shop").mkdir(parents=True)
    (repository / "apps" / "shop" / "Chart.yaml").write_text("name: shop\n")
    (repository / "apps" / "shop" / "rendered.yaml").write_text(GOOD)
    assert len(read_inputs("apps")) == 2


def test_a_chart_in_git_is_committed_content_only(repository: Path) -> None:
    (repository / "umbrella" / "Chart.yaml").unlink()
    (repository / "umbrella" / "a.yaml").write_text(GOOD)
    assert len(read_inputs("umbrella")) == 1
    with pytest.raises(UserError, match="chart folder"):
        read_inputs("git:main:umbrella")
    commit(repository, {})
    assert len(read_inputs("git:HEAD:umbrella")) == 1


# --- templates -----------------------------------------------------------------------------------

HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{{- if .Values.enabled }}\n" + HEAD + "{{- end }}\n", 1),
        ("{{ if .Values.enabled }}\n" + HEAD + "{{ end }}\n", 2),
        ('{{/*\nThe name.\n*/}}\n{{- define "web" -}}\n' + HEAD, 4),
        (HEAD + "data:\n  replicas: {{ .Values.replicas }}\n", 6),
        (HEAD + '  labels:\n    {{- include "labels" . | nindent 4 }}\n', 6),
        (HEAD.replace("web", "{{ .Release.Name }}-web"), 4),
        (HEAD + "data:\n  {{- range $key, $value := .Values.data }}\n  a: b\n  {{- end }}\n", 6),
    ],
)
def test_an_unrendered_template_is_reported(text: str, line: int) -> None:
    with pytest.raises(UserError) as caught:
        take_inventory(read_stream(text.encode(), "config.yaml"), Settings())
    assert caught.value.problem.startswith("the document looks like a Helm template")
    assert caught.value.fix == ("Pass the output of: helm template NAME CHART")
    assert caught.value.location is not None
    assert (caught.value.location.source, caught.value.location.line) == ("config.yaml", line)


def test_the_templates_of_another_program_are_not_helm_templates() -> None:
    text = HEAD + "data:\n  alert: '{{ $labels.job }}'\n  a: 1\n  b: [\n"
    with pytest.raises(UserError) as caught:
        take_inventory(read_stream(text.encode(), "config.yaml"), Settings())
    assert caught.value.problem.startswith("the document is not valid YAML")
    valid = HEAD + "data:\n  alert: '{{ $labels.job }}'\n"
    assert len(take_inventory(read_stream(valid.encode(), "config.yaml"), Settings()).items) == 1


# --- values files --------------------------------------------------------------------------------


def no_objects(text: str) -> Finding | None:
    stream = read_stream(text.encode(), "values.yaml")
    return find_no_objects(stream)


@pytest.mark.parametrize(
    "text",
    [
        VALUES,
        "# of a chart\n---\n- a\n- b\n",
        '{"image": {"tag": "v2"}}\n',
        "rbac:\n  apiVersion: rbac.authorization.k8s.io/v1\n  kind: Role\n",
        "extraObjects:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n",
    ],
)
def test_an_input_without_objects_is_a_finding(text: str) -> None:
    finding = no_objects(text)
    assert finding is not None
    assert (finding.code, finding.severity, finding.strict) == ("no-objects", "warning", False)
    assert finding.code in CODES
    assert str(finding) == (
        "values.yaml: the input does not contain Kubernetes objects. Pass rendered manifests. "
        "If the input is the values file of a chart, pass the output of: "
        "helm template NAME CHART --values FILE. [no-objects]"
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# only a comment\n",
        GOOD,
        CONFIG_MAP,
        f"{VALUES}---\n{GOOD}",
        "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n",
        '{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}}\n',
        "{kind: Service, apiVersion: v1}\n",
        '"\\x6bind": Service\n"apiVersio\\x6e": v1\n',
        "apiVersion: v1\nkind: List\nitems: []\n",
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Service\n",
        "apiVersion: v1\n'kind': Service\nspec: [\n",
    ],
)
def test_an_input_that_may_have_an_object_has_no_finding(text: str) -> None:
    assert no_objects(text) is None
