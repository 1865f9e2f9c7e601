"""The commands as a click application.

click prints help, completions and usage errors, and reads every command line except those that
the quick reader of `arguments` reads.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import click
from click.core import ParameterSource

from postrender.cli.arguments import call, terminal_argument
from postrender.cli.options import (
    COMMANDS,
    FLAG,
    SWITCH,
    Argument,
    Command,
    Option,
    load,
)
from postrender.cli.report import DONE, INTERRUPTED, unwritable_error, write
from postrender.cli.version import version_text
from postrender.errors import UsageError
from postrender.sources.paths import GIT, HELM
from postrender.terminal import columns_on, wrap
from postrender.text import shown, similar_words

_FILENAMES = ("-f", "--filename")
# The commands that read one file.
_ONE = ("render", "explain")
_CONTEXT: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 160}


def run_with_click(arguments: Sequence[str]) -> int:
    """Run a command line, print any usage error, and return the exit code."""
    try:
        result = app().main(list(arguments), prog_name="postrender", standalone_mode=False)
        return result if isinstance(result, int) else DONE
    except click.exceptions.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        return _show(_with_hint(error))


def show_usage_error(error: UsageError, command: Command) -> int:
    """Print the usage error of a command that ran without click, and return the exit code."""
    group = click.Context(app(), info_name="postrender", **_CONTEXT)
    context = click.Context(_click_command(command), group, info_name=command.name, **_CONTEXT)
    return _show(click.UsageError(str(error), context))


def _show(error: click.ClickException) -> int:
    if isinstance(error, click.UsageError):
        start = "Error: "  # which click prints
        lines = wrap(error.format_message(), columns_on(sys.stderr), start, "  ")
        error = click.UsageError("\n".join(lines).removeprefix(start), error.ctx)
    with contextlib.suppress(OSError, AttributeError):  # stderr can be closed or full
        error.show()
    return error.exit_code


def _with_hint(error: click.ClickException) -> click.ClickException:
    """Add a fix to an error of click that has none."""
    if isinstance(error, click.NoSuchOption):
        # Without the dashes, which all options share, other options are not similar.
        name, known = error.option_name.lstrip("-"), error.possibilities or ()
        similar = similar_words(name, (option.lstrip("-") for option in known))
        known = [option for option in known if option.lstrip("-") in similar]
        error = click.NoSuchOption(error.option_name, possibilities=known, ctx=error.ctx)
    context = error.ctx if isinstance(error, click.UsageError) else None
    fix = _fix_of(error, context.command if context else None)
    return (
        click.UsageError(f"{error.format_message().rstrip('.')}. {fix}", context) if fix else error
    )


def _fix_of(error: click.ClickException, command: click.Command | None) -> str:
    """How to fix an error of click, "" if the error says so."""
    if isinstance(error, click.NoSuchOption):
        is_file = _reads_files(command) and error.option_name in _FILENAMES
        return f"Pass the file as an argument, without {error.option_name}." if is_file else ""
    if isinstance(error, click.MissingParameter) and isinstance(command, _Command):
        has_choices = any(argument.choices for argument in command.own.arguments)
        return "" if has_choices else f"For example, run: {command.own.example.splitlines()[0]}"
    if isinstance(error, click.BadOptionUsage):
        has_value = "does not take" in error.format_message()
        return "Remove the value." if has_value else f"Pass a value after {error.option_name}."
    if not error.format_message().startswith("Got unexpected extra"):
        return ""
    if command and _reads_files(command) and command.name in _ONE:
        return "Pass one file, with a line `---` between the manifests."
    return "Remove what the command does not read."


def _reads_files(command: click.Command | None) -> bool:
    return isinstance(command, _Command) and any(
        not argument.choices for argument in command.own.arguments
    )


class _WritesHelp(click.Command):
    """A command or group that raises UserError if click cannot write to stdout.

    click writes the help and the version in the method make_context.
    """

    def make_context(self, *args: Any, **settings: Any) -> click.Context:
        try:
            return super().make_context(*args, **settings)
        except OSError as error:
            problem = unwritable_error(error)
            if isinstance(error, BrokenPipeError):  # the reader has seen enough, as `head -1`
                raise click.exceptions.Exit(DONE) from None
            raise problem from None


class _Group(_WritesHelp, click.Group):
    """A group that imports a command when click asks for it.

    start: the start of the command names, such as `config `.
    """

    def __init__(self, name: str, start: str, **settings: Any) -> None:
        self.start = start
        names = [name.removeprefix(start) for name in COMMANDS if name.startswith(start)]
        # click suggests similar names from this dictionary.
        commands = {name: click.Command(name) for name in names if " " not in name}
        super().__init__(name, commands=commands, **settings)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = self.start + cmd_name
        if cmd_name in self.commands and name in COMMANDS:
            return _click_command(load(name))
        return super().get_command(ctx, cmd_name)


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

    own: the declaration of the command.
    """

    def __init__(self, own: Command, **settings: Any) -> None:
        self.own = own
        super().__init__(own.name, **settings)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _with_paths(_with_two_dashes(args, self.own)))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Example"):
            for line in self.own.example.splitlines():
                formatter.write(f"  {line}\n")


def _with_two_dashes(words: Sequence[str], command: Command) -> list[str]:
    """Write `--name` instead of `-name`, if the command permits one dash for its own options."""
    options = command.options if command.has_one_dash else ()
    names = {name for option in options for name in option.long_names}
    return [
        f"-{word}" if word[:1] == "-" and word[1:].partition("=")[0] in names else word
        for word in words
    ]


def _with_paths(words: list[str]) -> list[str]:
    """Write `./NAME` for each word after `--` that would not mean a file.

    A program such as pre-commit passes the names of files, which a stranger can choose.
    """
    end = words.index("--") + 1 if "--" in words else len(words)
    is_path = [word != "-" and not word.startswith((GIT, HELM)) for word in words[end:]]
    paths = zip(words[end:], is_path, strict=True)
    return [*words[:end], *(word if is_file else f"./{word}" for word, is_file in paths)]


def app() -> click.Group:
    """All commands."""
    group = _Commands(
        "postrender",
        start="",
        help="""Add a content hash to the names of ConfigMaps.

        postrender also rewrites the references of workloads. Without a command, or with an option
        first, postrender runs the command render. The command reads manifests on stdin, and writes
        manifests with revisions to stdout. `postrender render -h` lists the options.

        Example: helm template shop ./chart | postrender
        """,
        context_settings=_CONTEXT,
    )
    group.params.append(
        click.Option(
            ["--version"],
            is_flag=True,
            expose_value=False,
            is_eager=True,
            callback=_print_version,
            help="Print the version and the commit.",
        )
    )
    help_ = "Create, check and show the configuration.\n\nExample: postrender config show"
    group.add_command(_Group("config", start="config ", help=help_))
    return group


def _print_version(context: click.Context, _parameter: click.Parameter, is_set: bool) -> None:
    if is_set:
        click.echo(version_text())
        context.exit()


def _click_command(command: Command) -> click.Command:
    return _Command(
        command,
        callback=_callback(command),
        help=f"{command.summary}\n\n{command.details}".strip(),
        short_help=command.summary,
        context_settings=_CONTEXT,
        params=[
            *map(_click_argument, command.arguments),
            *map(_click_option, command.all_options),
        ],
    )


def _callback(command: Command) -> Callable[..., int]:
    """The function that runs a command. For input from a terminal, it prints the help."""

    def run(**values: Any) -> int:
        context = click.get_current_context()
        argument = terminal_argument(command, values)
        if argument and argument.default is None:
            raise click.UsageError("'-' means stdin, but stdin is a terminal. Pass a path instead.")
        if argument:
            write([context.get_help(), "\n"], for_reader=True)
            return DONE
        try:
            return call(command, values)
        except UsageError as error:
            raise click.UsageError(str(error), context) from None

    return run


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
    }
    if option.form == SWITCH:
        settings |= {"is_flag": True, "default": False}
    elif option.form == FLAG:
        settings["default"] = None
    else:
        settings |= {"type": _type_of(option), "multiple": option.is_repeated}
    if option.default is not None:
        settings["default"] = option.default
    return _Option([*names, option.parameter], **settings)


class _Option(click.Option):
    """An option whose errors name the environment variable, if the variable sets the option."""

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        try:
            return super().process_value(ctx, value)
        except click.BadParameter as error:
            if ctx.get_parameter_source(str(self.name)) != ParameterSource.ENVIRONMENT:
                raise
            choices = getattr(self.type, "choices", ("true", "false"))
            raise click.UsageError(
                f"The environment variable {self.envvar} is {shown(value)}, expected "
                f"{' or '.join(choices)}. Correct the variable, or unset the variable.",
                error.ctx,
            ) from None


def _extra_help(option: Option) -> str:
    """The default and the environment variable, such as `  [default: none]`."""
    parts = {"default": option.shown_default, "variable": option.variable}
    text = "; ".join(f"{name}: {value}" for name, value in parts.items() if value)
    return f"  [{text}]" if text else ""


def _type_of(option: Option) -> click.ParamType[Any] | None:
    if option.choices:
        return click.Choice(option.choices)
    if option.limit:
        return _Number(0, option.limit)
    return click.Path() if option.is_path else None


class _Number(click.IntRange):
    """A whole number. Unlike click.IntRange, this type does not show the range in the help."""

    def _describe_range(self) -> str:
        return ""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            limit = (
                f"of {self.min} or more" if self.max is None else f"from {self.min} to {self.max}"
            )
            self.fail(f"the value is {shown(value)}, expected a whole number {limit}.", param, ctx)
