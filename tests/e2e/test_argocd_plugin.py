"""Rendering by the plugin: parameters, names, discovery, ApplicationSets."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.api import Api
from tests.e2e.applications import Application, Repository, example
from tests.e2e.argocd import PLUGIN, ArgoCd
from tests.e2e.cluster import ControlPlane
from tests.e2e.lifecycle_checks import wait_until_owned
from tests.e2e.plugins import write_script
from tests.e2e.programs import ROOT, program, version
from tests.e2e.queries import contents, revisions, wait_for_phase
from tests.pages import commands_in
from tests.test_argocd_examples import REFUSED

# A ConfigMap that contains the release, cluster and values that Helm received.
VALUES_TEMPLATE = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: told
data:
  release: {{ .Release.Name }}
  namespace: {{ .Release.Namespace }}
  version: {{ .Capabilities.KubeVersion.Version }}
  rollouts: {{ .Capabilities.APIVersions.Has "argoproj.io/v1alpha1/Rollout" | quote }}
  {{- range $name, $value := .Values.told }}
  {{ $name }}: {{ toJson $value | quote }}
  {{- end }}
"""


def sync_values(application: Application) -> dict[str, str]:
    """Sync an Application with this ConfigMap, and return the ConfigMap's data."""
    application.repository.commit(files={"templates/told.yaml": VALUES_TEMPLATE})
    application.push("old")
    application.create()
    application.wait_until_synced()
    data: dict[str, str] = application.api.get("ConfigMap", "told")["data"]
    return data


def test_helm_receives_the_release_and_the_cluster(application: Application, api: Api) -> None:
    application.parameters(("values-files", ["values.json"]))
    values = sync_values(application)
    assert values["release"] == application.name
    assert values["namespace"] == api.namespace
    # Argo CD passes the whole version since 3.5.
    numbers = version("kubernetes")[: 3 if version("argocd") >= (3, 5) else 2]
    assert values["version"] == f"v{'.'.join(map(str, numbers))}"
    assert values["rollouts"] == "true"


def test_values_come_from_files_a_text_and_single_parameters(application: Application) -> None:
    files = {
        "one.yaml": "told: {a: one, b: one, c: one, d: one}",
        "two.yaml": "told: {b: two, c: two, d: two}",
    }
    application.repository.commit({}, files)
    application.parameters(
        ("release-name", "app"),
        ("values-files", ["values.json", "one.yaml", "two.yaml"]),
        ("values", "told:\n  c: text\n  d: text\n"),
        (
            "parameters",
            {
                "told.d": "x,y=$$HOME ${ARGOCD_APP_NAMESPACE} `id` 'z'",
                "told.list": "{1,2}",
                "told.Case": "7",
            },
        ),
    )
    values = sync_values(application)
    assert {key: json.loads(values[key]) for key in ["a", "b", "c", "d", "list", "Case"]} == {
        "a": "one",
        "b": "two",
        "c": "text",
        "d": f"x,y=$HOME {application.api.namespace} `id` 'z'",
        "list": [1, 2],
        "Case": 7,
    }


def test_a_release_name_is_never_an_option_of_helm(application: Application) -> None:
    application.parameters(("release-name", "--post-renderer=/bin/true"))
    application.push("old")
    application.create()
    application.wait_for_message("invalid release name")


def is_stored(parameter: Any) -> bool:
    """Return whether Argo CD's CRD has the types of a parameter, and the API server its text."""
    if not isinstance(parameter, dict):
        return False
    texts = [parameter.get("name", ""), parameter.get("string", "")]
    items, entries = parameter.get("array", []), parameter.get("map", {})
    if not (isinstance(items, list) and isinstance(entries, dict)):
        return False
    texts += [*items, *entries, *entries.values()]
    return all(isinstance(text, str) and not re.search("[\0\ud800-\udfff]", text) for text in texts)


def test_a_parameter_without_an_effect_is_an_error(application: Application) -> None:
    application.push("old")
    application.create()
    for parameters, message in REFUSED.values():
        if not (isinstance(parameters, list) and all(map(is_stored, parameters))):
            continue
        application.spec["source"]["plugin"]["parameters"] = parameters
        source = {"plugin": {"parameters": parameters}}
        application.argocd.patch("Application", application.name, {"spec": {"source": source}})
        application.refresh("hard")
        application.wait_for_message(message)


def test_a_dependency_that_is_not_in_the_repository_is_fetched(application: Application) -> None:
    chart = application.repository.chart
    other = application.repository.folder / "other"
    shutil.copytree(chart, other)
    with (chart / "Chart.yaml").open("a") as file:
        file.write("dependencies: [{name: other, version: 1.0.0, repository: file://../other}]\n")
    (other / "Chart.yaml").write_text("apiVersion: v2\nname: other\nversion: 1.0.0\n")
    (other / "values.yaml").write_text(
        "configMaps: {from-other: {a: b}}\nconfigMapAnnotations: {}\nworkloads: []\nextra: []\n"
    )
    application.install()
    assert application.api.get("ConfigMap", "from-other")["data"] == {"a": "b"}


# Which Applications


@pytest.fixture
def elsewhere(
    argocd: ArgoCd, plane: ControlPlane, api: Api, tmp_path: Path
) -> Iterator[Application]:
    """Yield an Application in its own namespace."""
    inside = f"{api.namespace}-apps"
    plane.api().create({"kind": "Namespace", "metadata": {"name": inside}})
    application = Application(argocd, plane, api, tmp_path / "elsewhere", inside)
    yield application
    application.forget()
    plane.api().delete("Namespace", inside)


def test_an_application_outside_of_argo_cds_namespace(elsewhere: Application, api: Api) -> None:
    elsewhere.parameters(("values-files", ["values.json"]))
    assert sync_values(elsewhere)["release"] == elsewhere.name
    elsewhere.wait_until("Synced", "Healthy")
    wait_until_owned(api)


def test_a_configuration_above_the_chart_is_found(application: Application, api: Api) -> None:
    (application.repository.folder / "postrender.yaml").write_text('{"attacher": {"mode": "job"}}')
    application.repository.has_config = False
    application.install()
    assert [hook for hook in application.hooks() if hook["kind"] == "Job"] == []
    assert len(revisions(api)) == 1


@pytest.mark.parametrize(("paths", "is_sent"), [(".", False), (".;..", True)])
def test_only_the_paths_of_an_application_are_sent_to_the_plugin(
    application: Application, api: Api, paths: str, is_sent: bool
) -> None:
    (application.repository.folder / "postrender.yaml").write_text('{"attacher": {"mode": "job"}}')
    application.repository.has_config = False
    application.generate_paths(paths)
    application.install()
    assert len(revisions(api)) == 1
    hooks = [hook for hook in application.hooks() if hook["kind"] == "Job"]
    assert (hooks == []) == is_sent


def test_an_application_without_a_tool_is_rendered_by_helm(application: Application) -> None:
    del application.spec["source"]["plugin"]
    application.push("")
    application.create()
    application.wait_until_synced()
    assert application.get()["status"]["sourceType"] == "Helm"
    assert application.api.get("ConfigMap", "app-config")


def test_a_chart_without_postrender_yaml_is_rendered(application: Application, api: Api) -> None:
    application.repository.has_config = False
    application.install()
    assert application.get()["status"]["sourceType"] == "Plugin"
    assert len(revisions(api)) == 1


def test_values_files_outside_the_repository_are_refused(application: Application) -> None:
    application.parameters(("values-files", ["/../../etc/passwd"]))
    application.push("old")
    application.create()
    application.wait_for_message("values-files: /../../etc/passwd is outside the repository")


def test_a_configuration_cannot_start_a_program(application: Application, api: Api) -> None:
    history = {"previous": f"helm:{api.namespace}/app", "kubeconfig": "./kc.yaml"}
    application.repository.config["history"] = history
    application.push("old")
    application.create()
    application.wait_for_message("a postrender.yaml without --config must not run helm")


# The Parameters tab


def test_parameters_are_announced(argocd: ArgoCd, tmp_path: Path) -> None:
    chart = Repository(tmp_path / "repository").chart
    socket = argocd.sockets / f"{PLUGIN}.sock"
    done = subprocess.run(
        [program("argocd"), "announcements", socket, chart],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    announced = {parameter["name"]: parameter for parameter in json.loads(done.stdout)}
    assert set(announced) == {"release-name", "values-files", "values", "parameters"}
    assert announced["values-files"]["collectionType"] == "array"
    assert announced["parameters"]["map"] | {"image": "app:1"} == announced["parameters"]["map"]
    assert announced["parameters"]["map"]["workloads[0].volume[0]"] == "app-config"
    assert announced["parameters"]["map"]["replicas"] == "2"


# ApplicationSet


def test_the_plugin_runs_in_a_shell(tmp_path: Path) -> None:
    """The commands of docs/how-to/argocd.md, without Argo CD."""
    page = ROOT / "docs" / "how-to" / "argocd.md"
    [block] = commands_in(page, "Render an Application in a shell")[:1]
    shutil.copytree(ROOT / "examples" / "chart", tmp_path / "chart")
    (tmp_path / "postrender").symlink_to(ROOT)
    # Like pipx: PATH has only the program, which is next to its Python.
    venv = tmp_path / "venv" / "bin"
    for file, command in (
        (tmp_path / "bin" / "helm", str(program("helm4"))),
        (venv / "postrender", f"{sys.executable} -m postrender"),
        (venv / "python", sys.executable),
    ):
        write_script(file, f'exec {command} "$@"')
    (tmp_path / "bin" / "postrender").symlink_to(venv / "postrender")
    for name in ("python", "python3"):
        write_script(tmp_path / "bin" / name, "exit 7")
    variables = {
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path),
        "PYTHONPATH": str(ROOT),
    }

    def run(text: str) -> str:
        done = subprocess.run(
            ["bash", "-euc", f'{text}\necho "<${{ARGOCD_APP_NAME-}}>"'],
            cwd=tmp_path / "chart",
            env=variables,
            check=True,
            timeout=300,
            stdout=subprocess.PIPE,
            text=True,
        )
        return done.stdout

    assert run(block.text) == "<>\n", "a later command has no variable of the recipe"
    after = (tmp_path / "after.yaml").read_text()
    values_v2 = (ROOT / "examples" / "chart" / "values-v2.yaml").read_text()
    assert "shop-web-config-" in after
    assert "name: shop-attach" in after
    assert re.findall(r"tag: (\S+)", values_v2)[0].strip('"') in after
    entry = '{"name": "values-files", "array": ["values-v2.yaml"]}'
    others = [
        {"name": "release-name", "string": "app"},
        {"name": "values", "string": "web: {replicas: 7}"},
        {"name": "parameters", "map": {"api.image.tag": "9.9"}},
    ]
    assert entry in block.text
    run(block.text.replace(entry, f"{entry}, {json.dumps(others)[1:-1]}"))
    after = (tmp_path / "after.yaml").read_text()
    assert "name: app-web-config-" in after
    assert "replicas: 7" in after
    assert re.search(r"image: \S+:9\.9", after)


def test_an_application_set_creates_an_application_for_each_environment(
    application: Application, plane: ControlPlane, namespace: str
) -> None:
    repository = application.repository
    names = [f"{namespace}-{environment}" for environment in ("staging", "production")]
    values = {
        f"values-{name.rpartition('-')[2]}.yaml": json.dumps(
            {"configMaps": {"app-config": {"greeting": name}}}
        )
        for name in names
    }
    repository.commit(files=values)
    text = json.dumps(example("applicationset.yaml"))
    text = text.replace("shop-{{", f"{namespace}-{{{{")
    text = text.replace("https://git.example.com/shop.git", repository.url)
    made = json.loads(text)
    made["metadata"]["name"] = namespace
    argo = application.argocd
    argo.create(made)
    try:
        for name in names:
            assert_released(plane.api(name), greeting=name)
    finally:
        argo.delete("ApplicationSet", namespace, "Foreground")
        argo.wait_for(lambda: not set(names) & set(argo.names("Application")), "gone", 180)
        for name in names:
            assert not revisions(plane.api(name))
            plane.api().delete("Namespace", name)


def assert_released(api: Api, greeting: str) -> None:
    """Wait until the chart is applied with a greeting, and attached."""
    api.wait_for(lambda: api.find("Rollout", "app"), "synced", 180)
    wait_for_phase(api, "Healthy")
    api.wait_for(
        lambda: contents(api) == [greeting, greeting], "the Pods run with the right values"
    )
    wait_until_owned(api)
