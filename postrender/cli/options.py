"""How commands declare their arguments and options, and the options that several of them share.

Both readers of the command line work on these declarations: postrender.cli.arguments and
postrender.cli.click_app.
"""

from __future__ import annotations

from postrender.startup.records import NamedTuple

# Forms of an option: `--name VALUE`, one of several values, any number of these, a whole number,
# `--name/--no-name`, and `--name`. REPEATED takes any text, any number of times.
VALUE, CHOICE, CHOICES, NUMBER, FLAG, SWITCH, REPEATED = (
    "value",
    "choice",
    "choices",
    "number",
    "flag",
    "switch",
    "repeated",
)


class Argument(NamedTuple):
    """A positional argument.

    parameter: of the command's function. default: the value when it is not given, None if it must
    be. is_many: whether there may be any number; the value is then a tuple. choices: the values
    that it can have; without them it is a path, `-` for stdin, or `git:REV:PATH`.
    """

    parameter: str
    metavar: str
    default: str | None = None
    is_many: bool = False
    choices: tuple[str, ...] = ()


class Option(NamedTuple):
    """An option.

    name: without dashes. variable: of the environment, read when the option is not given. key: of
    the configuration, by which the option is overridden. parameter: of the command's function.
    limit: the highest value of a NUMBER. has_one_dash: whether `-name` is accepted too.
    """

    name: str
    help: str
    form: str = VALUE
    metavar: str | None = None
    default: object = None
    variable: str = ""
    key: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    limit: int = 0
    shows_default: bool = False
    has_one_dash: bool = False
    own_parameter: str = ""

    @property
    def parameter(self) -> str:
        """The name of the parameter of the command's function."""
        return self.own_parameter or self.name.replace("-", "_")


class Command(NamedTuple):
    """A command: its name (two words in a group), its help, what it takes."""

    name: str
    help: str
    arguments: tuple[Argument, ...] = ()
    options: tuple[Option, ...] = ()


INPUT = Argument("input", "[INPUT]", default="-")


def _setting(
    name: str, help_: str, *key: str, form: str = VALUE, metavar: str | None = None
) -> Option:
    variable = "POSTRENDER_" + name.replace("-", "_").upper()
    return Option(name, help_, form, metavar, variable=variable, key=key)


# The options that set the configuration, in the order of the help.
SETTINGS = (
    _setting(
        "config",
        "The configuration  [default: the nearest postrender.yaml upward]",
        metavar="FILE",
    ),
    _setting("namespace", "The release's namespace.", "namespace"),
    _setting("secrets", "Revise Secrets too.", "secrets", form=FLAG),
    _setting("strict", "Fail on certain leftovers and on edited revisions.", "strict", form=FLAG),
    _setting(
        "keep-original",
        "Keep originals beside revisions (Helm 3 hooks need it).",
        "keepOriginal",
        form=FLAG,
    ),
    _setting("allow-empty", "Take an empty input for what it is.", "allowEmpty", form=FLAG),
    _setting("attacher", "Append the attacher Job.", "attacher", "enabled", form=FLAG),
    _setting("attacher-image", "The attacher's image.", "attacher", "image"),
    _setting(
        "previous",
        "What was applied before, whose revisions are carried along.",
        "history",
        "previous",
        metavar="FILE|git:REV:PATH|helm:NAMESPACE/RELEASE",
    ),
    _setting(
        "kube-context",
        "Of the helm that --previous asks.",
        "history",
        "kubeContext",
        metavar="CONTEXT",
    ),
    _setting(
        "kubeconfig", "Of the helm that --previous asks.", "history", "kubeconfig", metavar="FILE"
    ),
    _setting("log-file", "Append findings and errors to this file too.", "logFile", metavar="FILE"),
)
CONFIG_KEYS = {option.parameter: option.key for option in SETTINGS if option.key}


def settings_options(*names: str) -> tuple[Option, ...]:
    """Return those of SETTINGS that have these names."""
    return tuple(option for option in SETTINGS if option.name in names)
