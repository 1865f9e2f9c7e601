"""The files in examples/argocd, as far as they can be checked without Argo CD.

What they do is in tests/e2e/test_argocd*.py.
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
    """Check that data has no other keys than the schema, and its types."""
    if isinstance(schema, list):
        assert isinstance(data, list), path
        for index, item in enumerate(data):
            assert_fits(item, schema[0], f"{path}[{index}]")
    elif isinstance(schema, dict):
        assert isinstance(data, dict), path
        for key, value in data.items():
            assert key in schema, f"{path}.{key} is unknown"
            assert_fits(value, schema[key], f"{path}.{key}")
    else:
        assert isinstance(data, schema), path


def test_the_plugin_is_a_config_management_plugin() -> None:
    plugin = load("plugin.yaml")
    assert_fits(plugin, PLUGIN)
    assert plugin["apiVersion"] == "argoproj.io/v1alpha1"
    assert plugin["kind"] == "ConfigManagementPlugin"
    assert plugin["metadata"]["name"] == "postrender"


def test_the_plugin_calls_the_script_for_what_it_can() -> None:
    spec = load("plugin.yaml")["spec"]
    commands = (
        spec["discover"]["find"],
        spec["init"],
        spec["generate"],
        spec["parameters"]["dynamic"],
    )
    assert [one["command"][0] for one in commands] == [SCRIPT.name] * 4
    [offered] = re.findall(r"^  (\w+(?: \| \w+)+)\) ", SCRIPT.read_text("utf-8"), re.M)
    assert [one["command"][1] for one in commands] == offered.split(" | ")


def test_the_script_is_executable_and_has_pipefail() -> None:
    assert os.access(SCRIPT, os.X_OK)
    assert "\nset -euo pipefail\n" in SCRIPT.read_text("utf-8")


@pytest.mark.skipif(BASH is None, reason="bash is not on PATH")
def test_the_script_says_how_it_is_used() -> None:
    done = subprocess.run([str(SCRIPT)], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "usage: postrender-argocd discover | init | generate | parameters\n"


@pytest.mark.parametrize("name", ["application.yaml", "applicationset.yaml"])
def test_an_example_names_the_plugin_and_its_parameters(name: str) -> None:
    spec = load(name)["spec"]
    plugin = (spec["template"]["spec"] if "template" in spec else spec)["source"]["plugin"]
    assert plugin["name"] == "postrender"
    announced = {one["name"]: one for one in load("plugin.yaml")["spec"]["parameters"]["static"]}
    announced["parameters"] = {"collectionType": "map"}
    for given in plugin["parameters"]:
        kind = announced[given["name"]].get("collectionType", "string")
        assert set(given) == {"name", kind}


def test_the_image_has_what_the_plugin_needs() -> None:
    copied = re.findall(r"^COPY (?:--from=(\w+) )?(\S+) (\S+)$", DOCKERFILE, re.M)
    assert ("argocd", "/usr/local/bin/helm", "/usr/local/bin/helm") in copied
    assert ("", SCRIPT.name, "/usr/local/bin/") in copied
    assert ("", "plugin.yaml", "/home/argocd/cmp-server/config/plugin.yaml") in copied
    assert re.search(r"^USER 999:999$", DOCKERFILE, re.M)
    # Where the attacher's image, on which this one is built, has postrender and its Python.
    assert re.search(r"^ENV .*PATH=/opt/postrender/bin:\$\{PATH\}$", DOCKERFILE, re.M)


def test_all_name_one_version_of_argo_cd() -> None:
    text = (EXAMPLES / "kustomization.yaml").read_text("utf-8") + DOCKERFILE
    found = set(re.findall(r"v\d+\.\d+\.\d+", text))
    module = Path(__file__).parent / "e2e" / "controlplane" / "argocd" / "go.mod"
    [tested] = re.findall(r"argo-cd/v3 (v\S+)$", module.read_text("utf-8"), re.M)
    assert found == {tested}
