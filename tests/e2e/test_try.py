"""`postrender try` with the real Helm, on the example chart and on a chart that fails."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.plugins import link_plugin, write_postrender
from tests.e2e.programs import program

ROOT = Path(__file__).resolve().parents[2]
CHART = str(ROOT / "examples" / "chart")
V1 = str(ROOT / "examples" / "chart" / "values-v1.yaml")


@pytest.fixture(params=["helm3", "helm4"])
def helm(request: pytest.FixtureRequest) -> str:
    return program(request.param)


def attempt(helm: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / ".git").mkdir(exist_ok=True)  # no configuration above the folder is read
    variables = {"HELM_BIN": helm, "PYTHONPATH": str(ROOT), "HOME": str(folder), "PATH": ""}
    return subprocess.run(
        [sys.executable, "-m", "postrender", "try", *arguments, "--page=page.html"],
        cwd=folder,
        env=variables,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def test_one_chart_is_explained(helm: str, tmp_path: Path) -> None:
    done = attempt(helm, tmp_path, CHART)
    assert (done.returncode, done.stderr) == (0, "")
    assert "would rename 8 of 9 ConfigMaps" in done.stdout
    assert len(done.stdout.splitlines()) <= 30
    assert (tmp_path / "page.html").read_text("utf-8").startswith("<!doctype html>")


def test_set_is_previewed_with_the_name_of_the_chart(helm: str, tmp_path: Path) -> None:
    done = attempt(helm, tmp_path, CHART, "-f", V1, "--set", "web.payment.retries=3", "-n", "prod")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Rollout/shop-web rolls" in done.stdout
    assert "ConfigMap/shop-web-config: content changes (application.yaml)" in done.stdout
    assert len(done.stdout.splitlines()) <= 45


def test_two_charts_are_compared(helm: str, tmp_path: Path) -> None:
    shutil.copytree(CHART, tmp_path / "next")
    values = tmp_path / "next" / "values.yaml"
    values.write_text(values.read_text("utf-8").replace("LOG_LEVEL: info", "LOG_LEVEL: debug"))
    done = attempt(helm, tmp_path, CHART, "next")
    assert (done.returncode, done.stderr) == (0, "")
    assert "to next" in done.stdout
    assert "ConfigMap/shop-web-env: content changes (LOG_LEVEL)" in done.stdout


def test_the_printed_release_does_what_try_shows(helm: str, tmp_path: Path) -> None:
    """The configuration is next to the chart, and helm runs in another folder."""
    chart = tmp_path / "my charts" / "shop"
    shutil.copytree(CHART, chart)
    rule = "{match: {name: '*-config'}, strategy: ignore}"
    (chart / "postrender.yaml").write_text(f"rules: [{rule}]\n")
    done = attempt(helm, tmp_path, "my charts/shop", "--secrets", "-n", "prod")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\nConfiguration: my charts/shop/postrender.yaml\n" in done.stdout
    [line] = [line for line in done.stdout.splitlines() if line.startswith("  release  ")]
    assert "--attacher-image=IMAGE" in line
    line = line.replace("=IMAGE", "=postrender:0.1.0")
    words = shlex.split(line.removeprefix("  release  "))
    assert words[:3] == ["helm", "upgrade", "--install"]
    write_postrender(tmp_path / "bin" / "postrender")
    link_plugin(tmp_path)
    rendered = subprocess.run(
        [helm, "template", *words[3:]],
        cwd=tmp_path,
        env={
            "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "HELM_DATA_HOME": str(tmp_path),
        },
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert rendered.returncode == 0, rendered.stderr
    revisions = re.findall(r"^  \S+ +-> (\S+?),?(?: |$)", done.stdout, re.M)
    assert len(revisions) == 5
    for revision in revisions:
        if revision != "a":  # "a revision": the name of a Secret's revision is hidden
            assert f"name: {revision}\n" in rendered.stdout
    assert "name: shop-web-config\n" in rendered.stdout
    assert "postrender/attach-group: shop-attach\n" in rendered.stdout


def test_a_broken_chart_shows_the_message_of_helm(helm: str, tmp_path: Path) -> None:
    templates = tmp_path / "broken" / "templates"
    templates.mkdir(parents=True)
    chart = "apiVersion: v2\nname: broken\nversion: 1.0.0\n"
    (tmp_path / "broken" / "Chart.yaml").write_text(chart)
    (templates / "a.yaml").write_text('a: {{ required "set web.image" .Values.image }}\n')
    done = attempt(helm, tmp_path, "broken")
    assert done.returncode == 2
    assert done.stderr.startswith("error: broken: helm template failed: execution error at")
    assert "set web.image. Fix the chart" in done.stderr
    dependency = 'dependencies: [{name: common, version: 1.x, repository: "https://x.example"}]\n'
    (tmp_path / "broken" / "Chart.yaml").write_text(chart + dependency)
    assert "Run: helm dependency build broken." in attempt(helm, tmp_path, "broken").stderr
