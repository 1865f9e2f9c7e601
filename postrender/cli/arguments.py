"""A fast parser for the arguments and options of a command.

The import of the package click takes longer than a whole `postrender render` of a small input.
Therefore, this module reads most command lines, and click reads only the other command lines. A
command line for click contains, for example, joined short options (`-qv`), `--`, a help option or
an invalid argument. A test compares the results of this module with the results of click for random
command lines.
"""

from __future__ import annotations

from postrender.cli.options import CHOICE, CHOICES, FLAG, NUMBER, REPEATED, SWITCH, VALUE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from postrender.cli.options import Command, Option

    Values = dict[str, object]

# The texts that click accepts in the environment variable of a FLAG, and their values.
_BOOLEANS = {
    **dict.fromkeys(("1", "true", "t", "yes", "y", "on"), True),
    **dict.fromkeys(("0", "false", "f", "no", "n", "off"), False),
}
# The maximum length of a number that this module reads. click reads longer numbers.
_MAX_DIGITS = 7


class _NotPlainError(Exception):
    """The signal that click must read the command line.

    Every private function of this module can raise this error.
    """


def read_arguments(
    command: Command, arguments: Sequence[str], environment: Mapping[str, str]
) -> Values | None:
    """Return the values of a command's arguments and options, by parameter.

    Return None if click must read the command line.
    arguments: the words of the command line after the name of the command.
    environment: the environment variables, by name.
    """
    try:
        positional, given = _split(command, arguments)
        return {
            **_argument_values(command, positional),
            **{
                option.parameter: _option_value(option, given.get(option.name, []), environment)
                for option in command.all_options
            },
        }
    except _NotPlainError:
        return None


def _split(command: Command, arguments: Sequence[str]) -> tuple[list[str], dict[str, list[object]]]:
    """Return the positional arguments, and a list of values for the name of each given option.

    The values of an option are in the order of the command line. The value of a FLAG or SWITCH is a
    boolean.
    """
    options = {name: option for option in command.all_options for name in option.long_names}
    shorts = {f"-{option.short}": option for option in command.all_options if option.short}
    positional: list[str] = []
    given: dict[str, list[object]] = {}
    rest = iter(arguments)
    for argument in rest:
        if argument == "-" or not argument.startswith("-"):
            positional.append(argument)
            continue
        name, separator, text = argument.removeprefix("--").partition("=")
        is_negated = name.startswith("no-") and name not in options
        option = options.get(name.removeprefix("no-") if is_negated else name)
        if not argument.startswith("--"):
            option, separator, is_negated = shorts.get(argument), "", False
        if option is None or (is_negated and option.form != FLAG):
            raise _NotPlainError
        value = _occurrence(option, separator, text, rest)
        given.setdefault(option.name, []).append(not is_negated if value is None else value)
    return positional, given


def _occurrence(option: Option, separator: str, text: str, rest: Iterator[str]) -> object:
    """Return the value that follows an option: an integer for a NUMBER, otherwise a string.

    Return None for a FLAG or SWITCH.
    separator: "=" if the word with the option contains `=`, otherwise "".
    text: the part of the word after `=`, otherwise "".
    rest: the later words. If `separator` is "", the function takes the value from `rest`.
    """
    if option.form in (FLAG, SWITCH):
        if separator:
            raise _NotPlainError
        return None
    if not separator:
        text = next(rest, "-")
        if text.startswith("-"):
            raise _NotPlainError
    if option.form in (CHOICE, CHOICES) and text not in option.choices:
        raise _NotPlainError
    if option.form == NUMBER:
        is_short = len(text) <= _MAX_DIGITS and text.isascii() and text.isdecimal()
        if not is_short or int(text) > option.limit:
            raise _NotPlainError
        return int(text)
    return text


def _option_value(option: Option, given: list[object], environment: Mapping[str, str]) -> object:
    """Return the value of an option for `run`.

    CHOICES and REPEATED have a tuple of the values in `given`. Any other option has the last value
    in `given`. If `given` is empty, the option has the value of the environment variable, or else
    the default.
    given: the values of the option in the command line.
    """
    if option.form in (CHOICES, REPEATED):
        return tuple(given)
    if given:
        return given[-1]
    text = environment.get(option.variable, "")
    if not text:
        return False if option.form == SWITCH else option.default
    if option.form == VALUE:
        return text
    word = text.strip().lower()
    if option.form != FLAG or word not in _BOOLEANS:
        raise _NotPlainError
    return _BOOLEANS[word]


def _argument_values(command: Command, given: list[str]) -> Values:
    """Return the values of the positional arguments, by parameter."""
    values: Values = {}
    rest = list(given)
    for argument in command.arguments:
        if argument.is_many:
            values[argument.parameter], rest = tuple(rest), []
        elif rest and (not argument.choices or rest[0] in argument.choices):
            values[argument.parameter] = rest.pop(0)
        elif not rest and argument.default is not None:
            values[argument.parameter] = argument.default
        else:
            raise _NotPlainError
    if rest or "" in given:
        raise _NotPlainError
    return values
