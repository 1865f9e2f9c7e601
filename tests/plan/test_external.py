"""`attacher.mode: external`: an inventory instead of the attacher Job."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from postrender.cli import main
from postrender.kubernetes.kinds import MAX_CONTENT_SIZE
from postrender.plan import attacher_job

CHART = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: web-config}
data: {color: COLOR}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "web:1", envFrom: [{configMapRef: {name: web-config}}]}]
"""
BLUE, GREEN = CHART.replace("COLOR", "blue"), CHART.replace("COLOR", "green")
EXTERNAL = ("--attacher-mode=external", "--group=shop")
JOB = ("--attacher-mode=job", "--group=shop", "--attacher-image=a:1")

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Return a function that runs a command in an empty repository, with a text as stdin."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()

    def call(command: str, *arguments: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        code = main.run([command, *arguments])
        return code, *capfd.readouterr()

    return call


def kinds(text: str) -> list[str]:
    objects = [item for item in YAML(typ="safe").load_all(text) if item]
    return [f"{item['kind']}/{item['metadata']['name']}" for item in objects]


def test_the_form_can_change_in_both_directions(run: Run) -> None:
    _, external, _ = run("render", *EXTERNAL, stdin=BLUE)
    _, job, _ = run("render", *JOB, stdin=BLUE)
    assert kinds(external)[-1] == "ConfigMap/shop-attach-inventory"
    _, to_job, _ = run("render", *JOB, stdin=external)
    assert kinds(to_job) == kinds(job)
    _, to_external, _ = run("render", *EXTERNAL, stdin=job)
    assert kinds(to_external) == kinds(external)


def test_an_inventory_of_an_earlier_output_is_replaced(run: Run) -> None:
    _, output, _ = run("render", *EXTERNAL, stdin=BLUE)
    inventory = output[
        output.index("---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: shop") :
    ]
    _, mixed, _ = run("render", *EXTERNAL, stdin=f"{GREEN}{inventory}")
    assert (mixed.count("kind: ConfigMap"), mixed.count("postrender/inventory")) == (2, 1)
    assert run("render", *EXTERNAL, stdin=mixed)[1] == mixed


def test_a_variable_sets_the_form(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTRENDER_ATTACHER_MODE", "external")
    assert "shop-attach-inventory" in run("render", "--group=shop", stdin=BLUE)[1]
    monkeypatch.setenv("POSTRENDER_ATTACHER_MODE", "externally")
    code, output, error = run("render", "--group=shop", stdin=BLUE)
    assert (code, output) == (2, "")
    assert "externally" in error


def test_an_inventory_that_kubernetes_would_refuse(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MAX_CONTENT_SIZE == 1024 * 1024
    monkeypatch.setattr(attacher_job, "MAX_CONTENT_SIZE", 100)
    code, output, error = run("render", *EXTERNAL, stdin=BLUE)
    assert (code, output) == (2, "")
    assert "ConfigMap/shop-attach-inventory, the inventory of 1 revisions, is larger" in error


def test_explain_shows_the_inventory(run: Run) -> None:
    _, text, _ = run("explain", *EXTERNAL, stdin=BLUE)
    assert (
        "attacher shop-attach has only an inventory. The setting attacher.mode is external" in text
    )
    document = json.loads(run("explain", "--output=json", *EXTERNAL, stdin=BLUE)[1])
    assert document["attacher"]["mode"] == "external"
    assert [item["object"]["name"] for item in document["objects"]] == ["web-config"]


@pytest.mark.parametrize("options", [EXTERNAL, (*EXTERNAL, "--secrets")])
def test_a_preview_does_not_show_the_inventory(
    run: Run, tmp_path: Path, options: tuple[str, ...]
) -> None:
    outputs = [run("render", *options, stdin=text)[1] for text in (BLUE, GREEN)]
    for number, text in enumerate([BLUE, GREEN, *outputs]):
        (tmp_path / str(number)).write_text(text)
    (tmp_path / "postrender.yaml").write_text("attacher: {group: shop}\n")
    settings = tuple(option for option in options if "group" not in option)
    plain = run("diff", *settings, "0", "1")[1]
    assert "color" in plain
    for pair in (("2", "3"), ("2", "1"), ("0", "3")):
        code, text, error = run("diff", *settings, *pair)
        assert (code, "inventory" in text, "postrender/" in text) == (0, False, False), text + error
    (tmp_path / "foreign").write_text(outputs[1].replace("--workload", "--emitted"))
    assert "shop-attach-inventory" in run("diff", *settings, "2", "foreign")[1]


def test_the_inventory_is_the_owner_that_an_apply_can_delete(run: Run, tmp_path: Path) -> None:
    (tmp_path / "previous").write_text(run("render", *EXTERNAL, stdin=BLUE)[1])
    renamed = BLUE.replace("{name: web}", "{name: frontend}")
    arguments = ("--group=other", "--previous=previous", "--attacher-image=a:1")
    _, _, error = run("render", *arguments, stdin=renamed)
    assert "deletes all owners of ConfigMap/web-config-" in error
    assert "(Deployment/web, ConfigMap/shop-attach-inventory)" in error
    assert "To keep ConfigMap/shop-attach-inventory, set attacher.mode to external" in error
    assert "pass --group shop." in error
    _, _, error = run("render", "--previous=previous", *EXTERNAL, stdin=renamed)
    assert not error
    # The owner stays, but no longer references a ConfigMap.
    stays = f"{renamed}---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n"
    assert "deletes all owners" not in run("render", *arguments, stdin=stays)[2]


def test_retained_revisions_are_in_the_inventory(run: Run, tmp_path: Path) -> None:
    (tmp_path / "previous").write_text(run("render", *EXTERNAL, stdin=BLUE)[1])
    _, output, _ = run("render", "--previous=previous", *EXTERNAL, stdin=GREEN)
    revisions = [name for name in kinds(output) if "web-config-" in name]
    assert len(revisions) == 2
    inventory = output[output.index("arguments:") :]
    assert all(name.lower() in inventory for name in revisions)
    assert output.count("postrender/applied") == 2
    (tmp_path / "previous").write_text(output)
    _, job, _ = run("render", "--previous=previous", *JOB, stdin=GREEN)
    assert job.count("postrender/applied") == 2  # a rollback to this release must be noticed


def test_check_and_fn_know_the_form(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "postrender.yaml"
    file.write_text("attacher: {mode: external, group: shop}\n")
    assert run("check", "-", stdin=BLUE)[0] == 0
    file.unlink()
    items = "".join(
        f"- {text.strip()}\n".replace("\n", "\n  ").rstrip() + "\n" for text in BLUE.split("---\n")
    )
    head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
    config = (
        "functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: settings}\n"
        "  data: {attacher.mode: external, attacher.group: shop}\n"
    )
    code, output, error = run("fn", stdin=f"{head}{config}items:\n{items}")
    assert (code, "name: shop-attach-inventory" in output) == (0, True), error
    assert "kind: Job" not in output


SECRET = """\
---
apiVersion: v1
kind: Secret
metadata: {name: token}
stringData: {token: abc}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: worker}
spec:
  selector: {matchLabels: {app: worker}}
  template:
    metadata: {labels: {app: worker}}
    spec:
      containers: [{name: web, image: "web:1", envFrom: [{secretRef: {name: token}}]}]
"""


def test_the_inventory_keeps_the_names_of_retired_secrets(run: Run, tmp_path: Path) -> None:
    previous = tmp_path / "previous"
    _, with_secrets, _ = run("render", *EXTERNAL, "--secrets", stdin=BLUE + SECRET)
    previous.write_text(with_secrets)
    [name] = [text for text in kinds(with_secrets) if text.startswith("Secret/token-")]
    _, output, _ = run("render", *EXTERNAL, "--previous=previous", stdin=BLUE + SECRET)
    assert f"--retired secret/{name.partition('/')[2]}\n" in output
    previous.write_text(output)
    _, again, _ = run("render", *EXTERNAL, "--previous=previous", stdin=BLUE + SECRET)
    assert f"--retired secret/{name.partition('/')[2]}\n" in again
