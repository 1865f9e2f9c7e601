"""The files in examples/argocd, as far as they can be checked without Argo CD.

tests/e2e/test_argocd*.py runs them in Argo CD.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.e2e.versions import defaults

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "argocd"
SCRIPT = EXAMPLES / "postrender-argocd"
DOCKERFILE = (EXAMPLES / "Dockerfile").read_text("utf-8")
BASH = shutil.which("bash")

COMMAND = {"command": list, "args": list}
# Argo CD 3.2, cmpserver/plugin/config.go and reposerver/repository/repository.proto.
ANNOUNCEMENT = {
    "name": str,
    "title": str,
    "tooltip": str,
    "required": bool,
    "itemType": str,
    "collectionType": str,
    "string": str,
    "array": list,
    "map": dict,
}
PLUGIN: dict[str, Any] = {
    "apiVersion": str,
    "kind": str,
    "metadata": {"name": str},
    "spec": {
        "version": str,
        "init": COMMAND,
        "generate": COMMAND,
        "discover": {"fileName": str, "find": COMMAND | {"glob": str}},
        "parameters": {"static": [ANNOUNCEMENT], "dynamic": COMMAND},
        "preserveFileMode": bool,
        "provideGitCreds": bool,
    },
}


def load(name: str) -> Any:
    return YAML(typ="safe").load((EXAMPLES / name).read_text("utf-8"))


def assert_fits(data: Any, schema: Any, path: str = "") -> None:
    """Check that data has only keys of the schema, with values of its types."""
    if isinstance(schema, list):
        assert isinstance(data, list), path
        for index, item in enumerate(data):
            assert_fits(item, schema[0], f"{path}[{index}]")
    elif isinstance(schema, dict):
        assert isinstance(data, dict), path
        for key, value in data.items():
            assert key in schema, f"{path}.{key} is not in the schema"
            assert_fits(value, schema[key], f"{path}.{key}")
    else:
        assert isinstance(data, schema), path


def test_the_plugin_is_a_config_management_plugin() -> None:
    plugin = load("plugin.yaml")
    assert_fits(plugin, PLUGIN)
    assert plugin["apiVersion"] == "argoproj.io/v1alpha1"
    assert plugin["kind"] == "ConfigManagementPlugin"
    assert plugin["metadata"]["name"] == "postrender"


def test_the_plugin_calls_each_command_of_the_script() -> None:
    text = (EXAMPLES / "plugin.yaml").read_text("utf-8")
    discovery = re.search(r"^  # (discover:)\n((?:  #   .*\n)+)", text, re.M)
    assert discovery, "plugin.yaml shows how to enable the discovery"
    optional = YAML(typ="safe").load(discovery[0].replace("  # ", ""))
    spec = {**load("plugin.yaml")["spec"], **optional}
    assert_fits(spec, PLUGIN["spec"])
    commands = (
        spec["discover"]["find"],
        spec["init"],
        spec["generate"],
        spec["parameters"]["dynamic"],
    )
    assert [command["command"][0] for command in commands] == [SCRIPT.name] * 4
    [names] = re.findall(r"^  (\w+(?: \| \w+)+)\) ", SCRIPT.read_text("utf-8"), re.M)
    assert [command["command"][1] for command in commands] == names.split(" | ")


def test_the_script_is_executable_and_has_pipefail() -> None:
    assert os.access(SCRIPT, os.X_OK)
    assert "\nset -euo pipefail\n" in SCRIPT.read_text("utf-8")


@pytest.mark.skipif(BASH is None, reason="bash is not on PATH")
def test_without_arguments_the_script_prints_its_usage() -> None:
    done = subprocess.run([str(SCRIPT)], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "usage: postrender-argocd discover | init | generate | parameters\n"


@pytest.mark.parametrize("name", ["application.yaml", "applicationset.yaml"])
def test_an_example_uses_the_plugin_and_its_parameters(name: str) -> None:
    spec = load(name)["spec"]
    plugin = (spec["template"]["spec"] if "template" in spec else spec)["source"]["plugin"]
    assert plugin["name"] == "postrender"
    static = load("plugin.yaml")["spec"]["parameters"]["static"]
    announced = {parameter["name"]: parameter for parameter in static}
    announced["parameters"] = {"collectionType": "map"}
    for parameter in plugin["parameters"]:
        kind = announced[parameter["name"]].get("collectionType", "string")
        assert set(parameter) == {"name", kind}


def test_the_image_has_the_programs_of_the_plugin() -> None:
    copied = re.findall(r"^COPY (?:--from=(\w+) )?(\S+) (\S+)$", DOCKERFILE, re.M)
    assert ("argocd", "/usr/local/bin/helm", "/usr/local/bin/helm") in copied
    assert ("", SCRIPT.name, "/usr/local/bin/") in copied
    assert ("", "plugin.yaml", "/home/argocd/cmp-server/config/plugin.yaml") in copied
    assert re.search(r"^USER 999:999$", DOCKERFILE, re.M)
    assert ("postrender", "/opt/postrender", "/opt/postrender") in copied
    assert re.search(r"^ENV .*PATH=/opt/postrender/bin:\$\{PATH\}$", DOCKERFILE, re.M)


def test_all_files_use_the_tested_version_of_argo_cd() -> None:
    text = (EXAMPLES / "kustomization.yaml").read_text("utf-8") + DOCKERFILE
    versions = set(re.findall(r"v\d+\.\d+\.\d+", text))
    [tested] = [cell.version for cell in defaults() if cell.program == "argocd"]
    assert versions == {f"v{tested}"}


# Parameters. Without a check, a misspelled one would deploy the default values of the chart.

HELM = "#!/bin/sh\nprintf '%s\\n' \"$@\"\ncat\n"
# Per case: the parameters, arguments of helm, the release, and the values that helm reads on stdin.
READ: dict[str, tuple[list[Any], list[str], str, str]] = {
    "nothing": ([], [], "shop", ""),
    "a release name": ([{"name": "release-name", "string": "app"}], [], "app", ""),
    "values": (
        [{"name": "values", "string": "a: 1\nb: ü\n"}],
        [],
        "shop",
        "a: 1\nb: ü\n",
    ),
    "all parameters": (
        [
            {"name": "parameters", "map": {"b": "2"}},
            {"name": "values", "string": "a: 1"},
            {"name": "release-name", "string": "--app"},
            {"name": "values-files", "array": ["values-prod.yaml"]},
        ],
        ["--values", "CHART/values-prod.yaml", "--set", "b=2"],
        "--app",
        "a: 1",
    ),
    "a values file": (
        [{"name": "values-files", "array": ["values-prod.yaml"]}],
        ["--values", "CHART/values-prod.yaml"],
        "shop",
        "",
    ),
    "single values": (
        [{"name": "parameters", "map": {"image.tag": "1,2", "empty": ""}}],
        ["--set", "image.tag=1\\,2", "--set", "empty="],
        "shop",
        "",
    ),
    # As os.Expand of Go, which Argo CD calls for source.helm. Argo CD does not change `values`.
    "the build environment": (
        [
            {
                "name": "parameters",
                "map": {
                    "tag": "v-${ARGOCD_APP_NAME}-$ARGOCD_APP_NAMESPACE.$KUBE_API_VERSIONS,b",
                    "list": "{$ARGOCD_APP_NAME,b}",
                    "$ARGOCD_APP_NAME": "$$5 ${$}x $ a$",
                },
            },
            {"name": "values-files", "array": ["values-${ARGOCD_APP_NAME}.yaml"]},
            {"name": "values", "string": "a: $ARGOCD_APP_NAME"},
        ],
        [
            *("--values", "CHART/values-shop.yaml"),
            *("--set", "tag=v-shop-prod.v1\\,b", "--set", "list={shop,b}"),
            *("--set", "$ARGOCD_APP_NAME=$5 $x $ a$"),
        ],
        "shop",
        "a: $ARGOCD_APP_NAME",
    ),
}
REFUSED: dict[str, tuple[list[Any], str]] = {
    "the name in source.helm": (
        [{"name": "valueFiles", "array": ["values-prod.yaml"]}],
        '"valueFiles" is not a parameter of the plugin. Use values-files (array).',
    ),
    "a similar name": (
        [{"name": "values-file", "array": ["values-prod.yaml"]}],
        '"values-file" is not a parameter of the plugin. Use values-files (array).',
    ),
    "a name with a space": (
        [{"name": "values-files ", "array": ["values-prod.yaml"]}],
        '"values-files " is not a parameter of the plugin. Use values-files (array).',
    ),
    "an unknown name": (
        [{"name": "skipCrds", "string": "true"}],
        '"skipCrds" is not a parameter of the plugin. Use release-name (string) or '
        "values-files (array) or values (string) or parameters (map).",
    ),
    "no name": (
        [{"string": "true"}],
        '"" is not a parameter of the plugin. Use release-name (string) or '
        "values-files (array) or values (string) or parameters (map).",
    ),
    "a string instead of a list": (
        [{"name": "values-files", "string": "values-prod.yaml"}],
        '"values-files" has string. Write the value in array.',
    ),
    "a list instead of a map": (
        [{"name": "parameters", "array": ["replicaCount=5"]}],
        '"parameters" has array. Write the value in map.',
    ),
    "a map instead of a text": (
        [{"name": "values", "map": {"replicaCount": "5"}}],
        '"values" has map. Write the value in string.',
    ),
    "two types": (
        [{"name": "values-files", "string": "a.yaml", "array": ["b.yaml"]}],
        '"values-files" has string and array. Write the value in array.',
    ),
    "no value": (
        [{"name": "values-files"}],
        '"values-files" has no value. Write the value in array.',
    ),
    "an empty item": (
        [{"name": "values-files", "array": ["", "values-prod.yaml"]}],
        '"values-files" has an empty value or entry. Write a value, or remove the parameter.',
    ),
    "an empty list": (
        [{"name": "values-files", "array": []}],
        '"values-files" has an empty value or entry. Write a value, or remove the parameter.',
    ),
    "an empty text": (
        [{"name": "values", "string": " \n"}],
        '"values" has an empty value or entry. Write a value, or remove the parameter.',
    ),
    "an empty release name": (
        [{"name": "release-name", "string": ""}],
        '"release-name" has an empty value or entry. Write a value, or remove the parameter.',
    ),
    "an empty map": (
        [{"name": "parameters", "map": {}}],
        '"parameters" has an empty value or entry. Write a value, or remove the parameter.',
    ),
    "the name of an environment variable": (
        [{"name": "VALUES_FILES", "array": ["values-prod.yaml"]}],
        '"VALUES_FILES" is not a parameter of the plugin. Use values-files (array).',
    ),
    "the parameters in source.helm": (
        [{"name": "helm-parameters", "map": {"replicaCount": "5"}}],
        '"helm-parameters" is not a parameter of the plugin. Use parameters (map).',
    ),
    "a name with a value": (
        [{"name": "parameters", "map": {"replicaCount=5": "true"}}],
        '"parameters" has the name "replicaCount=5". Write a name without = and outer spaces.',
    ),
    "a value's name with a space": (
        [{"name": "parameters", "map": {" replicaCount": "5"}}],
        '"parameters" has the name " replicaCount". Write a name without = and outer spaces.',
    ),
    "one parameter twice": (
        [{"name": "values", "string": "a: 1"}, {"name": "values", "string": "b: 1"}],
        '"values" is there twice. Remove one of the two.',
    ),
    "a number in a map": (
        [{"name": "parameters", "map": {"api.replicas": 3}}],
        '"parameters" has a number at api.replicas. Quote it.',
    ),
    "a number in a list": (
        [{"name": "values-files", "array": [1.5]}],
        '"values-files" has a number. Quote it.',
    ),
    "a number": ([{"name": "values", "string": 5}], '"values" has a number. Quote it.'),
    "a truth value": (
        [{"name": "parameters", "map": {"debug": True}}],
        '"parameters" has true or false without quotes at debug. Quote it.',
    ),
    "nothing in a map": (
        [{"name": "parameters", "map": {"a": None}}],
        '"parameters" has null at a. Write a text.',
    ),
    "nested values": (
        [{"name": "parameters", "map": {"x": "y", "a": {"b.c": "d"}}}],
        '"parameters" has a map at a. Write a.b\\.c: "…".',
    ),
    "a list of values": (
        [{"name": "parameters", "map": {"a": ["b"]}}],
        '"parameters" has a list at a. Write a[0]: "…".',
    ),
    "a variable of the sidecar": (
        [{"name": "parameters", "map": {"a": "b", "home": "x${HOME}"}}],
        '"parameters" has a $ that does not refer to Argo CD\'s build environment at home. '
        "Fix the name, or write $$ for a dollar sign.",
    ),
    "a password with a dollar": (
        [{"name": "parameters", "map": {"password": "pa$5word"}}],
        '"parameters" has a $ that does not refer to Argo CD\'s build environment at password. '
        "Fix the name, or write $$ for a dollar sign.",
    ),
    "an open reference": (
        [{"name": "parameters", "map": {"a": "${ARGOCD_APP_NAME"}}],
        '"parameters" has a $ that does not refer to Argo CD\'s build environment at a. '
        "Fix the name, or write $$ for a dollar sign.",
    ),
    "a reference without a name": (
        [{"name": "values-files", "array": ["${}.yaml"]}],
        '"values-files" has a $ that does not refer to Argo CD\'s build environment. '
        "Fix the name, or write $$ for a dollar sign.",
    ),
    "a text in array": (
        [{"name": "values-files", "array": "values-prod.yaml"}],
        '"values-files" has a text. Write a list.',
    ),
    "a list in map": (
        [{"name": "parameters", "map": ["a=b"]}],
        '"parameters" has a list. Write a map.',
    ),
    "a zero byte": (
        [{"name": "values", "string": "a: 1\0--post-renderer=x"}],
        '"values" has a character that is not text. Remove the character.',
    ),
    "half a character": (
        [{"name": "parameters", "map": {"a": "\ud800"}}],
        '"parameters" has a character that is not text. Remove the character.',
    ),
    "a number as the name": (
        [{"name": 5, "string": "a"}],
        '"5" is not a parameter of the plugin. Use release-name (string) or '
        "values-files (array) or values (string) or parameters (map).",
    ),
}
# Only a shell can have these: the API server of Argo CD refuses them.
MALFORMED = ['{"helm": {"a": 1}}', "- name: values", "[5]", '"values"', "3", "[" * 100_000]


def generate(folder: Path, parameters: list[Any] | str) -> subprocess.CompletedProcess[str]:
    """Run the plugin with a helm that prints its arguments, and a postrender that passes them."""
    chart, programs = folder / "chart", folder / "bin"
    for path in (chart, programs, chart / ".git"):
        path.mkdir()
    (chart / "Chart.yaml").write_text("name: shop\n")
    for name in ("prod", "shop"):
        (chart / f"values-{name}.yaml").write_text("replicaCount: 5\n")
    for name, text in (("helm", HELM), ("postrender", "#!/bin/sh\ncat\n")):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    environment = {
        "PATH": f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "TMPDIR": str(folder),
        "ARGOCD_APP_NAME": "shop",
        "ARGOCD_APP_NAMESPACE": "prod",
        "KUBE_VERSION": "1.36.0",
        "KUBE_API_VERSIONS": "v1",
        "ARGOCD_APP_PARAMETERS": (
            parameters if isinstance(parameters, str) else json.dumps(parameters)
        ),
    }
    assert BASH
    return subprocess.run(
        [BASH, SCRIPT, "generate"], cwd=chart, env=environment, capture_output=True, text=True
    )


@pytest.mark.skipif(not BASH, reason="needs bash")
@pytest.mark.parametrize("case", READ)
def test_parameters_become_arguments_of_helm(case: str, tmp_path: Path) -> None:
    parameters, expected, release, values = READ[case]
    done = generate(tmp_path, parameters)
    given = done.stdout.replace(str(tmp_path / "chart"), "CHART").partition("\nv1\n")[2]
    arguments = "".join(f"{line}\n" for line in (*expected, "--values", "-", "--", release, "."))
    assert (done.returncode, given) == (0, f"{arguments}{values}\n"), done.stderr


@pytest.mark.skipif(not BASH, reason="needs bash")
def test_a_variable_that_only_argo_cd_sets_is_missed_in_a_shell(tmp_path: Path) -> None:
    done = generate(tmp_path, [{"name": "parameters", "map": {"tag": "$ARGOCD_APP_REVISION"}}])
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        'error: source.plugin.parameters: "parameters" refers to ARGOCD_APP_REVISION at tag, which '
        "is not set. Set the variable.\n"
    )


@pytest.mark.skipif(not BASH, reason="needs bash")
@pytest.mark.parametrize("text", MALFORMED)
def test_parameters_that_are_not_a_list_are_refused(text: str, tmp_path: Path) -> None:
    done = generate(tmp_path, text)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "error: ARGOCD_APP_PARAMETERS is not a list of parameters in JSON. Write the list as in "
        """'[{"name": "values", "string": "replicaCount: 3"}]'.\n"""
    )


@pytest.mark.skipif(not BASH, reason="needs bash")
@pytest.mark.parametrize("case", REFUSED)
def test_a_parameter_without_an_effect_is_refused(case: str, tmp_path: Path) -> None:
    parameters, message = REFUSED[case]
    done = generate(tmp_path, parameters)
    assert done.stderr == f"error: source.plugin.parameters: {message}\n"
    assert (done.returncode, done.stdout) == (1, "")
