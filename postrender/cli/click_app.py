"""The commands as a click application.

click is a package for command lines. click prints help, completions and usage errors, and reads
each command line that the module `arguments` cannot read.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

import click

from postrender import __version__
from postrender.cli.options import (
    CHOICE,
    CHOICES,
    FLAG,
    NUMBER,
    REPEATED,
    SWITCH,
    VALUE,
    Argument,
    Command,
    Option,
    with_two_dashes,
)
from postrender.cli.registry import COMMANDS, GROUPS, invoke, load
from postrender.cli.report import DONE, INTERRUPTED, reads_terminal, unwritable_error, write
from postrender.errors import UsageError
from postrender.text import shown

_FILENAMES = ("-f", "--filename")
_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def run_with_click(arguments: Sequence[str]) -> int:
    """Return the exit code after running a command line and printing any usage error.

    After an interrupt, the exit code is INTERRUPTED. Raises UserError as the command does.
    """
    try:
        result = app().main(list(arguments), prog_name="postrender", standalone_mode=False)
        return result if isinstance(result, int) else DONE
    except click.exceptions.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        with contextlib.suppress(OSError, AttributeError):  # stderr can be closed or full
            _with_hint(error).show()
        return error.exit_code


def _with_hint(error: click.ClickException) -> click.ClickException:
    """Return a usage error, with a hint if -f or --filename is an unknown option.

    The error has the hint only if a file can be a positional argument of the command.
    """
    if not isinstance(error, click.NoSuchOption) or error.option_name not in _FILENAMES:
        return error
    if error.ctx is None or not _reads_files(error.ctx.command):
        return error
    fix = f"Pass the file as an argument, without {error.option_name}."
    return click.UsageError(f"{error.format_message()} {fix}", error.ctx)


def _reads_files(command: click.Command) -> bool:
    return isinstance(command, _Command) and any(
        not argument.choices for argument in command.declaration.arguments
    )


class _WritesHelp(click.Command):
    """A command or group that raises UserError if click cannot write to stdout.

    click writes the help and the version in the method make_context.
    """

    def make_context(self, *args: Any, **settings: Any) -> click.Context:
        try:
            return super().make_context(*args, **settings)
        except OSError as error:
            raise unwritable_error(error) from None


class _Group(_WritesHelp, click.Group):
    """A group of commands."""


class _Commands(_Group):
    """The group of all commands.

    If an unknown command looks like a path, the error shows how to render the file.
    """

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if "." not in args[0] and os.sep not in args[0]:
                raise
            raise click.UsageError(
                f"{error.format_message()} To render a file, run: postrender render {args[0]}",
                error.ctx,
            ) from None


class _Command(_WritesHelp):
    """A command with an example in its help.

    If `declaration.has_one_dash` is True, users can write `-name` instead of `--name`.
    """

    declaration: Command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, with_two_dashes(self.declaration, args))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        if self.declaration.example:
            with formatter.section("Example"):
                for line in self.declaration.example.splitlines():
                    formatter.write(f"  {line}\n")


def app() -> click.Group:
    """Return the click group that contains all commands and groups."""
    group = _Commands(
        "postrender",
        help="""Add a content hash to the names of ConfigMaps.

        postrender also rewrites the references of workloads. Without a command, or with an option
        first, postrender runs the command render. The command reads manifests on stdin, and writes
        manifests with revisions to stdout. `postrender render -h` lists the options.

        Example: helm template shop ./chart | postrender
        """,
        context_settings=_CONTEXT,
    )
    click.version_option(__version__, prog_name="postrender")(group)
    for name, help_ in GROUPS.items():
        group.add_command(_Group(name, help=help_))
    for name, module_name in COMMANDS.items():
        words = name.split()
        parent = group.commands[words[0]] if words[1:] else group
        if isinstance(parent, click.Group):
            parent.add_command(_click_command(words[-1], module_name))
    return group


def _click_command(name: str, module_name: str) -> click.Command:
    module = load(module_name)
    declaration: Command = module.COMMAND

    def call(**values: Any) -> int:
        context = click.get_current_context()
        for argument in declaration.arguments:
            if reads_terminal(argument, values):
                if argument.default is None:
                    raise click.UsageError(
                        "'-' means stdin, but stdin is a terminal. Pass a path instead."
                    )
                write([context.get_help(), "\n"], for_reader=True)
                return DONE
        try:
            return invoke(module, values)
        except UsageError as error:
            raise click.UsageError(str(error), context) from None

    command = _Command(
        name,
        callback=call,
        help=f"{declaration.summary}\n\n{declaration.details}".strip(),
        short_help=declaration.summary,
        context_settings=_CONTEXT,
        params=[
            *map(_click_argument, declaration.arguments),
            *map(_click_option, declaration.all_options),
        ],
    )
    command.declaration = declaration
    return command


def _click_argument(argument: Argument) -> click.Argument:
    settings: dict[str, Any] = {"type": click.Path(), "metavar": argument.metavar}
    if argument.choices:
        settings["type"] = click.Choice(argument.choices)
    if argument.is_many:
        settings["nargs"] = -1
    elif argument.default is not None:
        settings["default"] = argument.default
    return click.Argument([argument.parameter], **settings)


def _click_option(option: Option) -> click.Option:
    names = [f"-{option.short}"] if option.short else []
    if option.form == FLAG:
        names.append(f"--{option.name}/--no-{option.name}")
    else:
        names += [f"--{name}" for name in option.long_names]
    settings: dict[str, Any] = {
        "envvar": option.variable or None,
        "help": f"{option.help}{_extra_help(option)}",
        "metavar": option.metavar,
        **_FORMS[option.form](option),
    }
    if option.default is not None:
        settings["default"] = option.default
    return click.Option([*names, option.parameter], **settings)


def _extra_help(option: Option) -> str:
    """Return the end of an option's help, with the default and the environment variable.

    The result is "" if the option has neither.
    """
    parts = {"default": option.shown_default, "variable": option.variable}
    text = "; ".join(f"{name}: {value}" for name, value in parts.items() if value)
    return f"  [{text}]" if text else ""


_FORMS: Mapping[str, Any] = {
    VALUE: lambda _option: {},
    CHOICE: lambda option: {"type": click.Choice(option.choices)},
    CHOICES: lambda option: {"type": click.Choice(option.choices), "multiple": True},
    NUMBER: lambda option: {"type": _Number(0, option.limit)},
    FLAG: lambda _option: {"default": None},
    SWITCH: lambda _option: {"is_flag": True, "default": False},
    REPEATED: lambda _option: {"multiple": True},
}


class _Number(click.IntRange):
    """A whole number. Unlike click.IntRange, this type does not show the range in the help."""

    def _describe_range(self) -> str:
        return ""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number. The message of BadParameter contains the limits."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            limit = (
                f"of {self.min} or more" if self.max is None else f"from {self.min} to {self.max}"
            )
            self.fail(f"the value is {shown(value)}, expected a whole number {limit}.", param, ctx)
