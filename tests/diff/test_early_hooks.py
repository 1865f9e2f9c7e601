"""The risk broken-reference of a hook that runs before the upgrade, with the older objects."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.diff.change_cases import run

CONFIG = """\
---
apiVersion: v1
kind: ConfigMap
metadata: {name: app}
data: {KEYS}
"""
HOOK = """\
---
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {ANNOTATION}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: a
          image: a
          env: [{name: A, valueFrom: {configMapKeyRef: {name: NAME, key: KEY}}}]
"""
EARLY = "helm.sh/hook: 'pre-install,pre-upgrade'"
NOW, LATER, POD = (
    "and the upgrade fails",
    "that of the next upgrade cannot",
    "New pods cannot start",
)


def config(keys: str, name: str = "app") -> str:
    return CONFIG.replace("KEYS", keys).replace("name: app", f"name: {name}")


def hook(key: str, name: str = "app", annotation: str = EARLY) -> str:
    text = HOOK.replace("KEY}", f"{key}}}").replace("NAME", name)
    return text.replace("ANNOTATION", annotation)


AFTER = "helm.sh/hook: post-upgrade"
HOOKED = config("b: x", "new").replace("{name: new", f"{{name: new, annotations: {{{EARLY}}}")
CASES = {
    "both get the key": (
        config("a: x") + hook("a"),
        config("a: x, b: x") + hook("b"),
        NOW,
    ),
    "a new ConfigMap": (
        config("a: x") + hook("a"),
        config("a: x") + config("b: x", "new") + hook("b", "new"),
        NOW,
    ),
    "a new ConfigMap that is a hook": (
        config("a: x") + hook("a"),
        config("a: x") + HOOKED + hook("b", "new"),
        "",
    ),
    "a new hook": (config("a: x"), config("a: x, b: x") + hook("b"), NOW),
    "a PreSync hook": (
        config("a: x"),
        config("a: x, b: x") + hook("b", annotation="argocd.argoproj.io/hook: PreSync"),
        NOW,
    ),
    "the key goes": (config("a: x, b: x") + hook("b"), config("a: x") + hook("b"), LATER),
    "a hook after the upgrade": (
        config("a: x") + hook("a", annotation=AFTER),
        config("a: x, b: x") + hook("b", annotation=AFTER),
        "",
    ),
    "a key that is lost after the upgrade": (
        config("a: x, b: x") + hook("b", annotation=AFTER),
        config("a: x") + hook("b", annotation=AFTER),
        POD,
    ),
    "broken before": (config("a: x") + hook("c"), config("a: z") + hook("c"), ""),
}


@pytest.mark.parametrize("case", CASES)
def test_a_hook_before_the_upgrade_reads_the_older_objects(case: str, tmp_path: Path) -> None:
    old, new, expected = CASES[case]
    (tmp_path / ".git").mkdir()
    (tmp_path / "old.yaml").write_text(old)
    (tmp_path / "new.yaml").write_text(new)
    done = run(["diff", "--format=json", "old.yaml", "new.yaml"], tmp_path)
    assert done.code == 0, done.stderr
    risks = json.loads(done.stdout)["risks"]
    found = [risk["consequence"] for risk in risks if risk["code"] == "broken-reference"]
    assert len(found) == bool(expected)
    assert all(expected in text for text in found)
