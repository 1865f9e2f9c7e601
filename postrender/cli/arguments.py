"""The values of the arguments and options of a command, read without click.

The import of click takes longer than `postrender render` takes for a small input. click reads only
the command lines that this module cannot read. Such a command line contains, for example, joined
short options (`-qv`), `--`, a help option or an invalid argument. A test compares the results of
this module and of click for random command lines.
"""

from __future__ import annotations

from postrender.cli.options import CHOICE, CHOICES, FLAG, NUMBER, REPEATED, SWITCH, VALUE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from postrender.cli.options import Command, Option

    Values = dict[str, object]

# The boolean for each text that click accepts in the environment variable of a FLAG.
_BOOLEANS = {
    **dict.fromkeys(("1", "true", "t", "yes", "y", "on"), True),
    **dict.fromkeys(("0", "false", "f", "no", "n", "off"), False),
}
# The maximum number of digits in a number that this module reads. click reads longer numbers.
_MAX_DIGITS = 7


class _NotPlainError(Exception):
    """The signal that click must read the command line.

    Every private function of this module can raise this error.
    """


def read_arguments(
    command: Command, arguments: Sequence[str], environment: Mapping[str, str]
) -> Values | None:
    """Return the value of each parameter of a command, or None if click must read the command line.

    arguments: the words of the command line after the name of the command.
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
    """Return the positional arguments, and the values of each given option by the option's name."""
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
    """Return the value of one occurrence of an option, or None if the option is a FLAG or SWITCH.

    separator: "=" if the word of the option contains `=`, else "".
    text: the part of the word after `=`, else "".
    rest: the later words of the command line. If `separator` is "", the next word is the value.
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
    """Return the value of an option from `given`, else from the environment, else the default."""
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
