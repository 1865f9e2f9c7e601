"""From the words of a command line to the call of a command.

Importing click takes longer than a whole `render` of a small input. `render` or `fn` stands in
front of every release, and `diff` in front of every merge. The quick reader therefore reads their
usual command lines: file names, `-` and options that are spelled out, as in `--namespace prod`,
`--namespace=prod` and `-q`. All other lines are for click, such as those with joined short options
(`-qv`), numbers, `--help` or a mistake. A test compares both readers.
"""

from __future__ import annotations

import sys

from postrender.cli.options import (
    COMMANDS,
    FLAG,
    INPUT,
    SWITCH,
    load,
)
from postrender.cli.report import set_presentation
from postrender.errors import UsageError, UserError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from postrender.cli.options import Argument, Command, Option

# The texts that click accepts in the environment variable of a FLAG, and their values.
_BOOLEANS = {
    **dict.fromkeys(("1", "true", "t", "yes", "y", "on"), True),
    **dict.fromkeys(("0", "false", "f", "no", "n", "off"), False),
}
# The options of `postrender` itself.
_GROUP_OPTIONS = frozenset({"-h", "--help", "--version"})


class _ForClickError(Exception):
    """The quick reader does not understand the command line."""


def with_command_first(words: list[str]) -> list[str]:
    """Write the command of a line first: `-n prod explain` means `explain -n prod`.

    A line without a command, or with an input first, is for `render`.
    """
    if not words or words[0] == "-":
        return ["render", *words]
    if words[0][:1] != "-" or words[0] in _GROUP_OPTIONS:
        return words
    for index, word in enumerate(words):
        names = [name for name in (word, " ".join(words[index : index + 2])) if name in COMMANDS]
        if word == "--":
            break
        if names and any(are_options(words[:index], load(name)) for name in (*names, "render")):
            command = names[-1].split()
            return [*command, *words[:index], *words[index + len(command) :]]
    return ["render", *words]


def are_options(words: Sequence[str], command: Command) -> bool:
    """Whether words are options of a command, each with its value."""
    forms = _forms(command)
    rest = iter(words)
    for word in rest:
        name, equals, _ = word.partition("=")
        if word[:2] == "--":
            given = [name]
        else:  # joined short options, the last of which can have a value: `-qnprod`
            given = [f"-{letter}" for letter in word[1:]]
            equals = ""
        if not given or word[:1] != "-":
            return False
        for number, one in enumerate(given):
            if one not in forms:
                return False
            if forms[one][0].form not in (FLAG, SWITCH):
                if not equals and number == len(given) - 1 and next(rest, None) is None:
                    return False
                break
    return True


def read_quickly(
    command: Command, words: Sequence[str], environment: Mapping[str, str]
) -> dict[str, Any] | None:
    """The values of the arguments and options of a command, by parameter.

    The result is None if the line is for click.
    words: the command line after the name of the command.
    """
    try:
        values = {option.parameter: _default(option, environment) for option in command.all_options}
        files, given = _split(command, words)
    except _ForClickError:
        return None
    for argument in command.arguments:
        values[argument.parameter] = files.pop(0) if files else argument.default
        if values[argument.parameter] is None:  # a required argument is missing
            return None
    return None if files else values | given


def _default(option: Option, environment: Mapping[str, str]) -> object:
    text = environment.get(option.variable)
    if not text:
        return option.absent
    if option.form != FLAG:
        return _checked(option, text)
    word = text.strip().lower()
    if word not in _BOOLEANS:
        raise _ForClickError
    return _BOOLEANS[word]


def _split(command: Command, words: Sequence[str]) -> tuple[list[str], dict[str, object]]:
    """The file names, and the values of the given options by parameter."""
    forms = _forms(command)
    files: list[str] = []
    given: dict[str, object] = {}
    rest = iter(words)
    for word in rest:
        if word == "-" or (word and word[0] != "-"):
            files.append(word)
            continue
        name, equals, text = word.partition("=")
        if name not in forms or (equals and name[:2] != "--"):
            raise _ForClickError
        option, is_on = forms[name]
        if option.form in (FLAG, SWITCH):
            if equals:
                raise _ForClickError
            given[option.parameter] = is_on
            continue
        if not equals:
            text = next(rest, "-")
            if text.startswith("-"):
                raise _ForClickError
        given[option.parameter] = _checked(option, text)
    return files, given


def _checked(option: Option, text: str) -> str:
    is_wrong = option.choices and text not in option.choices
    if is_wrong or option.limit or option.is_repeated:
        raise _ForClickError
    return text


def _forms(command: Command) -> dict[str, tuple[Option, bool]]:
    """The option of each name, and whether a FLAG is then on."""
    forms: dict[str, tuple[Option, bool]] = {}
    for option in command.all_options:
        forms |= {f"--{name}": (option, True) for name in option.long_names}
        if option.short:
            forms[f"-{option.short}"] = option, True
        if option.form == FLAG:
            forms[f"--no-{option.name}"] = option, False
    return forms


def call(command: Command, values: Mapping[str, Any]) -> int:
    """Run a command, and return its exit code.

    values: the values of the arguments and of all options, by parameter.
    """
    _check_encoding(command, values)
    rest = _with_filename(values)
    set_presentation(
        is_quiet=rest.pop("quiet"), is_verbose=rest.pop("verbose"), color=rest.pop("color")
    )
    return command.run(**rest)


def _check_encoding(command: Command, values: Mapping[str, Any]) -> None:
    for option in command.all_options:
        value = values[option.parameter]
        texts = value if isinstance(value, tuple) else (value,)
        if not option.is_path and not all(map(is_valid_text, texts)):
            name = f"--{option.name}" + (f" or {option.variable}" if option.variable else "")
            raise UserError(f"the value of {name} is not UTF-8", "Write the value in UTF-8")


def is_valid_text(value: object) -> bool:
    """Whether a value can be written as UTF-8.

    On Linux, Python decodes a byte of the command line that is not UTF-8 to a surrogate.
    """
    try:
        str(value).encode()
    except UnicodeEncodeError:
        return False
    return True


def _with_filename(values: Mapping[str, Any]) -> dict[str, Any]:
    """Put the file of --filename in place of INPUT. `check` reads it in addition to each FILE."""
    rest = dict(values)
    filename = rest.pop("filename", None)
    if filename and "files" in rest:
        rest["files"] += filename
    elif filename:
        if rest[INPUT.parameter] != INPUT.default:
            raise UsageError(
                "INPUT and -f FILE are both set, expected one input", "Remove INPUT or -f FILE"
            )
        rest[INPUT.parameter] = filename
    return rest


def terminal_argument(command: Command, values: Mapping[str, Any]) -> Argument | None:
    """The argument whose input would come from a terminal, None for none.

    The command would wait for the user to type manifests.
    """
    if sys.stdin is None or not sys.stdin.isatty():
        return None
    for argument in command.arguments:
        given = values.get("filename") or values[argument.parameter] or argument.default
        if "-" in (given if isinstance(given, tuple) else (given,)):
            return argument
    return None
