"""The arguments of a plain call, read without click.

Importing click takes longer than a small render. click reads all other command lines: joined short
options, `--`, help, and every mistake. A test compares this module with click on random command
lines and environments.
"""

from __future__ import annotations

from postrender.cli.options import CHOICE, CHOICES, FLAG, NUMBER, SWITCH, VALUE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from postrender.cli.options import Command, Option

    Values = dict[str, object]

# The words that click reads as a boolean in a variable.
_BOOLEANS = {
    **dict.fromkeys(("1", "true", "t", "yes", "y", "on"), True),
    **dict.fromkeys(("0", "false", "f", "no", "n", "off"), False),
}
# The most digits of a number that this module reads. click reads longer numbers.
_LONGEST_NUMBER = 7


class _NotPlainError(Exception):
    """The signal that click must read the command line."""


def read_arguments(
    command: Command, arguments: Sequence[str], environment: Mapping[str, str]
) -> Values | None:
    """Return the value of each parameter, or None if click must read the command line.

    arguments: the arguments after the name of the command.
    """
    try:
        positional, given = _split(command, arguments)
        return {
            **_match_arguments(command, positional),
            **{
                option.parameter: _value(option, given.get(option.name, []), environment)
                for option in command.all_options
            },
        }
    except _NotPlainError:
        return None


def _split(command: Command, arguments: Sequence[str]) -> tuple[list[str], dict[str, list[object]]]:
    """Return the positional arguments, and the given values of each option by its name."""
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
    """Return the value of one occurrence of an option, None for a FLAG or a SWITCH.

    separator, text: the `=` in the argument and the value after the `=`, "" if absent.
    rest: the arguments after the option, from which a separate value is taken.
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
        is_short = len(text) <= _LONGEST_NUMBER and text.isascii() and text.isdecimal()
        if not is_short or int(text) > option.limit:
            raise _NotPlainError
        return int(text)
    return text


def _value(option: Option, given: list[object], environment: Mapping[str, str]) -> object:
    """Return the value of an option: the given value, the variable, or the default."""
    if option.form not in (VALUE, CHOICE, NUMBER, FLAG, SWITCH):
        return tuple(given) or option.default or ()
    if given:
        return given[-1]
    text = environment.get(option.variable, "") if option.variable else ""
    if not text:
        return option.default
    if option.form == VALUE:
        return text
    word = text.strip().lower()
    if option.form != FLAG or word not in _BOOLEANS:
        raise _NotPlainError
    return _BOOLEANS[word]


def _match_arguments(command: Command, given: list[str]) -> Values:
    """Return the values of the positional arguments."""
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
