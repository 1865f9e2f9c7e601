"""How commands declare their arguments and options, and the options that several of them share.

Both readers of the command line work on these declarations: `arguments` and `click_app`.
"""

from __future__ import annotations

from postrender.errors import UsageError
from postrender.startup.records import NamedTuple

# The forms of an option: `--name VALUE`, one of several values, any number of such values, a whole
# number, `--name/--no-name`, and `--name`. REPEATED takes any text, any number of times.
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

    parameter: of the command's function.
    default: the value when the argument is absent, None if the argument is required.
    is_many: whether there may be any number; the value is then a tuple.
    choices: the values that are allowed; without them the value is a path, `-` for stdin, or
    `git:REV:PATH`.
    """

    parameter: str
    metavar: str
    default: str | None = None
    is_many: bool = False
    choices: tuple[str, ...] = ()


class Option(NamedTuple):
    """An option.

    name: without dashes. short: one letter. aliases: further long names.
    variable: of the environment, read when the option is not given.
    key: of the configuration; the option overrides that value.
    parameter: of the command's function. limit: the highest value of a NUMBER.
    default_text: the default in words, where `default` does not show it.
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
    short: str = ""
    aliases: tuple[str, ...] = ()
    default_text: str = ""
    own_parameter: str = ""

    @property
    def parameter(self) -> str:
        """The name of the parameter of the command's function."""
        return self.own_parameter or self.name.replace("-", "_")

    @property
    def long_names(self) -> tuple[str, ...]:
        """Every long name, without dashes."""
        return self.name, *self.aliases


class Command(NamedTuple):
    """A command.

    name: two words in a group. summary: one sentence of at most 45 characters.
    details: further sentences of the help. example: a command line.
    has_one_dash: whether `-name` is read as `--name`.
    """

    name: str
    summary: str
    details: str = ""
    example: str = ""
    arguments: tuple[Argument, ...] = ()
    options: tuple[Option, ...] = ()
    has_one_dash: bool = False

    @property
    def all_options(self) -> tuple[Option, ...]:
        """The options of the command, and those of every command."""
        return self.options + COMMON


# The longest summary that no list of commands cuts off.
MAX_SUMMARY = 45

INPUT = Argument("input", "[INPUT]", default="-")
FILENAME = Option("filename", "Read this file; the same as INPUT.", metavar="FILE", short="f")

# Options of every command; cli/main.py applies them.
COMMON = (
    Option("quiet", "Print errors only.", SWITCH, default=False, short="q"),
    Option("verbose", "Also print notes about the run.", SWITCH, default=False, short="v"),
    Option(
        "color",
        "Use colours.",
        CHOICE,
        default="auto",
        choices=("auto", "always", "never"),
        aliases=("colour",),
    ),
)


def _setting(
    name: str,
    help_: str,
    *key: str,
    form: str = VALUE,
    metavar: str | None = None,
    short: str = "",
    default_text: str = "",
) -> Option:
    variable = "POSTRENDER_" + name.replace("-", "_").upper()
    return Option(
        name=name,
        help=help_,
        form=form,
        metavar=metavar,
        variable=variable,
        key=key,
        short=short,
        default_text=default_text,
    )


# The options that set the configuration, in the order of the help.
SETTINGS = (
    _setting(
        "config",
        "Read this configuration file.",
        metavar="FILE",
        default_text="the nearest postrender.yaml in this folder or above it",
    ),
    _setting(
        "namespace",
        "Set the namespace of the release.",
        "namespace",
        metavar="NAMESPACE",
        short="n",
        default_text="unknown",
    ),
    _setting("secrets", "Revise Secrets too.", "secrets", form=FLAG, default_text="no"),
    _setting(
        "strict",
        "Fail on certain leftovers and on edited revisions.",
        "strict",
        form=FLAG,
        default_text="no",
    ),
    _setting(
        "keep-original",
        "Keep originals next to revisions, for the hooks of Helm 3.",
        "keepOriginal",
        form=FLAG,
        default_text="no",
    ),
    _setting(
        "allow-empty",
        "Accept empty input instead of failing.",
        "allowEmpty",
        form=FLAG,
        default_text="no",
    ),
    _setting(
        "attacher",
        "Append the attacher Job.",
        "attacher",
        "enabled",
        form=FLAG,
        default_text="yes",
    ),
    _setting(
        "attacher-image",
        "Set the attacher's image.",
        "attacher",
        "image",
        metavar="IMAGE",
        default_text="postrender:VERSION, which is not published",
    ),
    _setting(
        "previous",
        "Retain the revisions of previously applied manifests.",
        "history",
        "previous",
        metavar="FILE|git:REV:PATH|helm:NAMESPACE/RELEASE",
        default_text="none",
    ),
    _setting(
        "kube-context",
        "Set the kubeconfig context for --previous=helm:….",
        "history",
        "kubeContext",
        metavar="CONTEXT",
        default_text="the current context",
    ),
    _setting(
        "kubeconfig",
        "Set the kubeconfig file for --previous=helm:….",
        "history",
        "kubeconfig",
        metavar="FILE",
        default_text="$KUBECONFIG, or ~/.kube/config",
    ),
    _setting(
        "log-file",
        "Also append findings and errors to this file.",
        "logFile",
        metavar="FILE",
        default_text="none",
    ),
)
CONFIG_KEYS = {option.parameter: option.key for option in SETTINGS if option.key}

# The options of commands that query a cluster.
CLUSTER = (
    Option(
        "namespace",
        "Set the namespace.",
        metavar="NAMESPACE",
        variable="POSTRENDER_NAMESPACE",
        short="n",
        default_text="that of the Pod or of the kubeconfig context",
    ),
    Option(
        "kube-context",
        "Set the kubeconfig context.",
        metavar="CONTEXT",
        variable="POSTRENDER_KUBE_CONTEXT",
        default_text="the current context",
    ),
    Option(
        "kubeconfig",
        "Set the kubeconfig file.",
        metavar="FILE",
        variable="POSTRENDER_KUBECONFIG",
        default_text="$KUBECONFIG, or ~/.kube/config",
    ),
)


def settings_options(*names: str) -> tuple[Option, ...]:
    """Return the options of SETTINGS that have these names."""
    return tuple(option for option in SETTINGS if option.name in names)


def output_option(formats: tuple[str, ...]) -> Option:
    """Return the option that chooses one of several output formats."""
    return Option(
        "output",
        "Choose the output format.",
        CHOICE,
        default="text",
        choices=formats,
        short="o",
        aliases=("format",),
        own_parameter="form",
    )


def with_filename(values: dict[str, object]) -> dict[str, object]:
    """Return the values of a command with `-f FILE` in the place of its INPUT.

    Raises UsageError where both are given.
    """
    if "filename" not in values:
        return values
    values = dict(values)
    filename = values.pop("filename")
    if "files" in values:
        values["files"] = (*_texts(values["files"]), *_texts(filename))
    elif filename:
        if values["input"] != INPUT.default:
            raise UsageError("INPUT and -f FILE are both given, expected only one of them")
        values["input"] = filename
    return values


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, tuple) else ()


def with_two_dashes(command: Command, arguments: list[str]) -> list[str]:
    """Return arguments in which `-name` is `--name` for the options of a command."""
    if not command.has_one_dash:
        return arguments
    names = {name for option in command.options for name in option.long_names}
    return [
        f"-{argument}"
        if argument[:1] == "-" and argument[1:].partition("=")[0] in names
        else argument
        for argument in arguments
    ]
