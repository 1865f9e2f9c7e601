"""The command line as click reads it: help, completion, usage errors, and what is not plain."""

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
    Argument,
    Command,
    Option,
)
from postrender.cli.pipes import nobody_pipes
from postrender.cli.registry import COMMANDS, DONE, INTERRUPTED, load
from postrender.errors import UsageError


def run_with_click(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code; usage errors are reported here."""
    try:
        code = app().main(list(arguments), prog_name="postrender", standalone_mode=False)
        return code if isinstance(code, int) else DONE
    except click.exceptions.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        with contextlib.suppress(OSError, AttributeError):  # stderr may be closed or full
            error.show()
        return error.exit_code


class _Commands(click.Group):
    """The commands; a file in the place of a command gets an error that shows how to render it."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if "." not in args[0] and os.sep not in args[0]:
                raise
            said = error.format_message()
            raise click.UsageError(
                f"{said} To render a file, say: postrender render {args[0]}", error.ctx
            ) from None


def app() -> click.Group:
    """Return the whole command line."""
    group = _Commands(
        "postrender",
        help="""Give every ConfigMap content a name of its own, and rewrite what refers to it.

        With no command, or with an option first, it is `render`: rendered manifests on stdin,
        the same with revisions on stdout. Its options: `postrender render --help`.
        """,
        context_settings={"help_option_names": ["--help"], "max_content_width": 100},
        params=[_version_option()],
    )
    config = click.Group("config", help="Show the configuration's schema, or the values in effect.")
    for name, module in COMMANDS.items():
        command = _click_command(name.split()[-1], module)
        (config if name.startswith("config ") else group).add_command(command)
    group.add_command(config)
    return group


def _version_option() -> click.Parameter:
    command = click.version_option(__version__, prog_name="postrender")(click.Command(None))
    return command.params[0]


def _click_command(name: str, module: str) -> click.Command:
    code = load(module)
    command: Command = code.COMMAND

    def call(**values: Any) -> int:
        context = click.get_current_context()
        for argument in command.arguments:
            if nobody_pipes(values[argument.parameter] or argument.default):
                if argument.default is None:
                    raise click.UsageError("nothing is piped into stdin, which - stands for.")
                click.echo(context.get_help())
                return DONE
        try:
            return int(code.run(**values))
        except UsageError as problem:
            raise click.UsageError(str(problem), context) from None

    return click.Command(
        name,
        callback=call,
        help=command.help,
        params=[*map(_click_argument, command.arguments), *map(_click_option, command.options)],
    )


def _click_argument(argument: Argument) -> click.Argument:
    if argument.is_many:
        return click.Argument(
            [argument.parameter], nargs=-1, type=click.Path(), metavar=argument.metavar
        )
    type_: click.ParamType[Any] = click.Path()
    if argument.choices:
        type_ = click.Choice(argument.choices)
    settings: dict[str, Any] = {}
    if argument.default is not None:
        settings["default"] = argument.default
    return click.Argument([argument.parameter], type=type_, metavar=argument.metavar, **settings)


def _click_option(option: Option) -> click.Option:
    dashed = f"--{option.name}"
    if option.form == FLAG:
        dashed += f"/--no-{option.name}"
    names = [f"-{option.name}", dashed] if option.has_one_dash else [dashed]
    settings: dict[str, Any] = {
        "envvar": option.variable or None,
        "help": option.help,
        "metavar": option.metavar,
        **_FORMS.get(option.form, lambda _option: {})(option),
    }
    if option.default is not None:
        settings["default"] = option.default
    return click.Option([*names, option.parameter], **settings)


_FORMS: Mapping[str, Any] = {
    CHOICE: lambda option: {
        "type": click.Choice(option.choices),
        "show_default": option.shows_default,
    },
    CHOICES: lambda option: {"type": click.Choice(option.choices), "multiple": True},
    NUMBER: lambda option: {"type": click.IntRange(0, option.limit)},
    FLAG: lambda _option: {"default": None},
    SWITCH: lambda _option: {"is_flag": True},
    REPEATED: lambda _option: {"multiple": True},
}
