"""The pre-commit hook does not trust the repository that it checks."""

from __future__ import annotations

import shlex

from ruamel.yaml import YAML

from tests.security.attack import MANIFESTS, ROOT, Attack


def hook() -> list[str]:
    """Return the arguments with which pre-commit runs postrender."""
    [entry] = YAML(typ="safe").load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    words = shlex.split(entry["entry"])
    assert words[0] == "postrender"
    return words[1:]


def test_the_hook_does_not_trust_a_configuration(attack: Attack) -> None:
    attack.write("rendered/app.yaml", MANIFESTS)
    attack.write("last.yaml", "")
    attack.write("postrender.yaml", "history: {previous: last.yaml}\n")
    done = attack.run(*hook(), "rendered/app.yaml")
    assert done.code == 1
    assert "with --untrusted, a postrender.yaml without --config must not read files" in done.err
    assert attack.run(*hook(), "--no-untrusted", "rendered/app.yaml").code == 0


def test_the_hook_accepts_a_configuration_of_the_output(attack: Attack) -> None:
    attack.write("rendered/app.yaml", MANIFESTS)
    attack.write("postrender.yaml", "rules: [{strategy: ignore}]\n")
    assert attack.run(*hook(), "rendered/app.yaml").code == 0
