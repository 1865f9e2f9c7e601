"""The files in examples/argocd, as far as they can be checked without Argo CD.

tests/e2e/test_argocd*.py runs them in Argo CD.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
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
