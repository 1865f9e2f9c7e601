"""The quick reader of the command line against click, and the number of runs of a command."""

from __future__ import annotations

import os
import random
import sys
from unittest import mock

import click
import pytest

from postrender.cli import main
from postrender.cli.arguments import read_quickly
from postrender.cli.click_app import app
from postrender.cli.options import COMMANDS, FLAG, SWITCH, Command, load
from postrender.cli.report import BUG, CHANGES, DONE, FAULT, FOUND, INTERRUPTED
from postrender.errors import UsageError
from tests.effort import examples

QUICK = ("render", "fn", "diff")
LINES = examples(4_000)
VALUES = ("a", "", "-", "--", "3", "007", "1000001", "x y", "é", "text", "json", "objects", "1e3")
FLAG_WORDS = ("1", "true", "T", "yes", "on", "0", "False", "no", "off", " y ", "maybe", "2", "")
ODD = ("-x", "--help", "--version", "--unknown", "--strict=1", "--no-namespace", "--", "-", "a", "")


def random_line(command: Command, chance: random.Random) -> list[str]:
    """Return random arguments of a command; most of them are right."""
    line: list[str] = []
    for _ in range(chance.randrange(6)):
        option = chance.choice(command.all_options)
        name = chance.choice(("", "", "", "no-")) if option.form == FLAG else ""
        name = f"--{name}{chance.choice(option.long_names)}"
        if option.short and chance.random() < 0.4:
            name = f"-{option.short}"
        value = chance.choice((*VALUES, *option.choices, *option.choices))
        if option.form in (FLAG, SWITCH):
            line.append(name)
        elif chance.random() < 0.5:
            line.append(f"{name}={value}")
        else:
            line += [name, value]
    for _ in range(chance.choice((0, len(command.arguments), len(command.arguments), 3))):
        position = chance.randrange(len(line) + 1)
        line.insert(position, chance.choice(("a.yaml", "-", "git:a:b")))
    if chance.random() < 0.2:
        line.insert(chance.randrange(len(line) + 1), chance.choice(ODD))
    return line


def random_environment(command: Command, chance: random.Random) -> dict[str, str]:
    """Return random variables of a command's options, and some of no option."""
    names = [option.variable for option in command.options if option.variable]
    chosen = chance.sample(names, min(len(names), chance.randrange(3)))
    flags = {option.variable for option in command.options if option.form == FLAG}
    return {
        name: chance.choice(FLAG_WORDS if name in flags else VALUES)
        for name in [*chosen, *chance.sample(["POSTRENDER_UNKNOWN", "POSTRENDER_config"], 1)]
    }


def read_with_click(name: str, line: list[str]) -> dict[str, object] | None:
    """Return the values that click reads, None where it refuses the line or prints something."""
    group = app()
    command = group.get_command(click.Context(group), name)
    assert command
    try:
        with command.make_context(name, list(line)) as context:
            return dict(context.params)
    except (click.ClickException, click.exceptions.Exit):
        return None


@pytest.mark.random_inputs
@pytest.mark.parametrize("name", QUICK)
def test_the_quick_reader_agrees_with_click(name: str) -> None:
    command, chance = load(name), random.Random(name)
    count = 0
    for _ in range(LINES):
        line = random_line(command, chance)
        environment = random_environment(command, chance)
        quick = read_quickly(command, line, environment)
        if quick is None:
            continue
        count += 1
        with mock.patch.dict(os.environ, environment):
            assert quick == read_with_click(name, line), (line, environment)
    assert count > LINES / 20


PLAIN: tuple[list[str], ...] = (
    [],
    ["--namespace", "prod", "--strict", "-q", "--color=never", "--no-attacher"],
    ["-n", "prod", "-v", "--attacher-image=a:1", "--config", "postrender.yaml"],
)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        *((name, line) for name in ("render", "fn") for line in PLAIN),
        ("diff", ["-o", "markdown", "old.yaml", "git:main:app", "--exit-code", "-n", "prod"]),
    ],
)
def test_the_quick_reader_reads_options_that_are_spelled_out(name: str, line: list[str]) -> None:
    assert read_quickly(load(name), line, {}) is not None


@pytest.mark.parametrize(
    "line",
    [
        ["-qv"],
        ["-nprod"],
        ["--help"],
        ["--strct"],
        ["--", "a"],
        ["a", "b"],
        ["--strict=1"],
        ["--no-namespace", "prod"],
        ["--no-quiet"],
    ],
)
def test_the_quick_reader_leaves_other_lines_to_click(line: list[str]) -> None:
    assert read_quickly(load("render"), line, {}) is None


@pytest.mark.parametrize(
    "line", [["a"], ["a", "b", "c"], ["a", "b", "-U", "1"], ["a", "b", "--only", "workloads"]]
)
def test_the_quick_reader_leaves_numbers_and_repeated_options_to_click(line: list[str]) -> None:
    assert read_quickly(load("diff"), line, {}) is None


def test_help_is_that_of_click(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["render", "--help"]) == 0
    assert "--keep-original / --no-keep-original" in capsys.readouterr().out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_a_parameter_of_its_command(name: str) -> None:
    command = load(name)
    declared = [argument.parameter for argument in command.arguments]
    declared += [option.parameter for option in command.options]
    declared = [parameter for parameter in declared if parameter != "filename"]
    code = command.run.__code__
    taken = code.co_varnames[: code.co_argcount]
    has_rest = bool(code.co_flags & 0x08)
    assert declared[: len(taken)] == list(taken) if not has_rest else set(taken) <= set(declared)


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("options", [[], ["-qv"]], ids=str)  # click reads joined options
def test_a_usage_error_ends_the_only_run_of_a_command(
    name: str,
    options: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = load(name)
    runs = []

    def run(**values: object) -> int:
        runs.append(values)
        raise UsageError("two options exclude each other", "Remove one of the options")

    module, _, attribute = COMMANDS[name].partition(":")
    monkeypatch.setattr(
        sys.modules[f"postrender.cli.{module}"], attribute, command._replace(run=run)
    )
    given = [(argument.choices or ("a.yaml",))[0] for argument in command.arguments]
    assert main.run([*name.split(), *options, *given]) == FAULT
    assert len(runs) == 1
    usage, hint, empty, message = capsys.readouterr().err.splitlines()
    assert usage.startswith(f"Usage: postrender {name} [OPTIONS]")
    assert hint == f"Try 'postrender {name} --help' for help."
    assert empty == ""
    assert message == "Error: two options exclude each other. Remove one of the options."


def test_the_exit_codes_are_an_interface() -> None:
    assert (DONE, FOUND, FAULT, BUG, CHANGES, INTERRUPTED) == (0, 1, 2, 3, 4, 130)


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("try", "For example, run: postrender try ./chart"),
        ("diff a.yaml", "For example, run: postrender diff"),
        ("render --namespace", "Pass a value after --namespace."),
        ("explain --quiet=3", "Remove the value."),
        ("version x", "Remove what the command does not read."),
        ("render a b", "Pass one file"),
        ("diff -f a.yaml", "Pass the file as an argument"),
        ("schema", "Choose from"),
        ("render --namspace=a", "Did you mean"),
    ],
)
def test_an_error_of_click_says_how_to_fix_it(
    line: str, fix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(line.split()) == 2
    assert fix in capsys.readouterr().err
