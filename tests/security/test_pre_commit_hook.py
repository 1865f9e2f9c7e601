"""The pre-commit hook does not trust the repository that it checks."""

from __future__ import annotations

import re
import shlex

import pytest
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
    assert done.code == 2
    assert "with --untrusted, a postrender.yaml without --config must not read files" in done.err
    trusting = [word for word in hook() if word != "--untrusted"]
    assert attack.run(*trusting, "rendered/app.yaml").code == 0


def test_the_hook_accepts_a_configuration_of_the_output(attack: Attack) -> None:
    attack.write("rendered/app.yaml", MANIFESTS)
    attack.write("postrender.yaml", "rules: [{strategy: ignore}]\n")
    assert attack.run(*hook(), "rendered/app.yaml").code == 0


# Names of files. A contributor chooses them, and pre-commit appends them to the entry of the hook.

EVIL = "logFile: written\nhistory: {previous: 'helm:prod/shop'}\n"
BY_NAME = MANIFESTS.replace("image: web,", "image: web, args: [--config=web-config],")
NAMES = [
    "--config=evil.yaml",
    "--no-untrusted",
    "--log-file=written",
    "--previous=helm:prod/shop",
    "-f",
    "-qv",
    "-",
    "--",
    "-- x.yaml",
    "git:HEAD:x.yaml",
    "git:HEAD:",
    "helm:prod/shop",
    "-x\n--config=evil.yaml",
]


@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_a_file_is_not_an_option_or_a_source(attack: Attack, name: str) -> None:
    attack.write("evil.yaml", EVIL)
    attack.write(name, BY_NAME)
    done = attack.run(*hook(), name, stdin="")
    assert (done.code, done.out) == (1, "")
    assert done.err.count("[by-name]") == 1, "the hook must read the file"
    assert not attack.trace.exists()
    assert not (attack.repository / "written").exists()


def test_all_documented_hooks_end_their_options() -> None:
    page = (ROOT / "docs" / "how-to" / "ci.md").read_text("utf-8")
    entries = re.findall(r"entry: (.*?)[`\n]", page)
    assert len(entries) == 3
    for entry in [*entries, " ".join(["postrender", *hook()])]:
        assert shlex.split(entry)[-1] == "--"


def test_an_option_after_the_names_has_a_helpful_error(attack: Attack) -> None:
    done = attack.run(*hook(), "--secrets", stdin="")
    assert done.code == 2
    assert "Check the path, or write options before --" in done.err


def test_the_documented_command_reads_only_files(attack: Attack) -> None:
    [command] = re.findall(
        r"^git ls-files -z .* \| xargs -0 postrender (.*)$",
        (ROOT / "docs" / "reference" / "command-line.md").read_text("utf-8"),
        re.M,
    )
    attack.write("evil.yaml", EVIL)
    attack.write("--config=evil.yaml", MANIFESTS)
    done = attack.run(*shlex.split(command), "--config=evil.yaml", "evil.yaml")
    assert done.code == 0, done.err
    assert not (attack.repository / "written").exists()


@pytest.mark.parametrize("command", ["render", "explain", "check", "adopt", "diff"])
def test_words_after_two_dashes_are_paths_in_every_command(attack: Attack, command: str) -> None:
    names = ["git:HEAD:missing", "-"][: 2 if command == "diff" else 1]
    done = attack.run(command, "--", *names)
    assert done.code == 2
    assert "./git:HEAD:missing: postrender cannot read the file" in done.err
