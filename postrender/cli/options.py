"""The declarations of arguments and options, and the options that several commands have.

The modules `arguments` and `click_app` use these declarations to read command lines.
"""

from __future__ import annotations

from postrender.errors import UsageError, UserError
from postrender.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# The forms of an option. VALUE is any text, CHOICE is one of several texts, and NUMBER is a whole
# number. REPEATED is a VALUE that users can repeat, and CHOICES is a CHOICE that users can repeat.
# SWITCH is `--name` without a value. FLAG is `--name` or `--no-name`, also without a value.
VALUE, CHOICE, CHOICES, NUMBER = "value", "choice", "choices", "number"
FLAG, SWITCH, REPEATED = "flag", "switch", "repeated"


class Argument(NamedTuple):
    """A positional argument.

    parameter: the parameter of `run` that gets the value.
    metavar: the name of the argument in the help, such as `[FILE]...`.
    default: the value if the argument is absent, None if the argument is required.
    is_many: whether users can repeat the argument. The value is then a tuple. `run` replaces an
        empty tuple with the default.
    choices: the allowed values, () for an input, a file or a chart.
    """

    parameter: str
    metavar: str
    default: str | None = None
    is_many: bool = False
    choices: tuple[str, ...] = ()


class Option(NamedTuple):
    """An option.

    name: the long name, without dashes.
    help: the help, without the default and the environment variable.
    form: one of the forms above.
    metavar: the name of the value in the help, None for the default of click.
    default: the value of an absent option. SWITCH, CHOICES and REPEATED do not set the field,
        because their default is always False or ().
    variable: the environment variable that also sets the option, "" for none.
    key: the path of the configuration key that the option overrides, () for none.
    choices: the allowed values of CHOICE and CHOICES.
    limit: the maximum of a NUMBER.
    short: the letter of the short name, "" for none.
    aliases: more long names, without dashes.
    default_text: the default in the help, "" to show the field `default`.
    own_parameter: the parameter of `run`, "" for the name with underscores instead of dashes.
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
        """The parameter of `run` that gets the value."""
        return self.own_parameter or self.name.replace("-", "_")

    @property
    def shown_default(self) -> str:
        """The text of the default in the help, such as `none`. The text is "" for a SWITCH."""
        return "" if self.form == SWITCH else self.default_text or str(self.default or "none")

    @property
    def long_names(self) -> tuple[str, ...]:
        """Every long name, without dashes."""
        return self.name, *self.aliases

    @property
    def is_path(self) -> bool:
        """Return whether the value can be a path. Only paths can have bytes that are not UTF-8."""
        return "FILE" in (self.metavar or "")


class Command(NamedTuple):
    """A command.

    name: the name. The name of a command in a group also contains the group, as in `config show`.
    summary: the first sentence of the help, at most 45 characters.
    details: the other sentences of the help.
    example: a command line for the help.
    has_one_dash: whether users can write `-name` instead of `--name`.
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
        """The options of the command, and the options in COMMON."""
        return self.options + COMMON


def check_encoding(command: Command, values: Mapping[str, object]) -> None:
    """Raise UserError if the value of an option is not UTF-8. The function does not check paths.

    On Linux, Python decodes a byte that is not UTF-8 to a surrogate. postrender cannot write a text
    with surrogates as UTF-8.
    values: the values of the options, by parameter.
    """
    for option in command.all_options:
        value = values.get(option.parameter)
        texts = value if isinstance(value, tuple) else (value,)
        if not option.is_path and not all(map(is_valid_text, texts)):
            name = f"--{option.name}" + (f" or {option.variable}" if option.variable else "")
            raise UserError(f"the value of {name} is not UTF-8", "Write the value in UTF-8")


def is_valid_text(value: object) -> bool:
    """Return whether postrender can write a value as UTF-8. Surrogates are not valid in UTF-8."""
    try:
        str(value).encode()
    except UnicodeEncodeError:
        return False
    return True


INPUT = Argument("input", "[INPUT]", default="-")
FILENAME = Option("filename", "Read this file instead of INPUT.", metavar="FILE", short="f")

# The options of every command. The function `invoke` in cli/registry.py applies these options.
COMMON = (
    Option("quiet", "Print only errors on stderr.", SWITCH, short="q"),
    Option(
        "verbose",
        "Print more notes on stderr. One note shows the path of the configuration file.",
        SWITCH,
        short="v",
    ),
    Option(
        "color",
        "Use colours.",
        CHOICE,
        default="auto",
        choices=("auto", "always", "never"),
        aliases=("colour",),
    ),
)


def _with_variables(*options: Option) -> tuple[Option, ...]:
    """Return options with environment variables, such as POSTRENDER_LOG_FILE for `log-file`."""
    return tuple(
        option._replace(variable="POSTRENDER_" + option.name.replace("-", "_").upper())
        for option in options
    )


# The options that choose, restrict or override the configuration, in the order of the help.
SETTINGS = _with_variables(
    Option(
        "config",
        "Read this configuration file.",
        metavar="FILE",
        default_text="the nearest postrender.yaml in this folder or a folder above, up to the root "
        "of the git repository",
    ),
    Option(
        "untrusted",
        "Restrict a postrender.yaml found by search. The file can then change only the output. "
        "By default, the file can also read the repository and run git.",
        form=FLAG,
        default_text="no",
    ),
    Option(
        "namespace",
        "Set the namespace of the release.",
        key=("namespace",),
        metavar="NAMESPACE",
        short="n",
    ),
    Option(
        "secrets",
        "Create revisions of Secrets too. Without a hash key, anybody can guess short passwords "
        "from the names of these revisions.",
        key=("secrets",),
        form=FLAG,
        default_text="no",
    ),
    Option(
        "secrets-hash-key-file",
        "Read the hash key for Secrets from this file.",
        key=("secretsHashKeyFile",),
        metavar="FILE",
        default_text="the key in $POSTRENDER_SECRETS_HASH_KEY, or no key",
    ),
    Option(
        "strict",
        "Fail on findings that put pods at risk.",
        key=("strict",),
        form=FLAG,
        default_text="no",
    ),
    Option(
        "keep-original",
        "Keep all originals next to revisions. The hooks of Helm 3 need the originals. "
        "--no-keep-original keeps only originals that an object or program may need.",
        key=("keepOriginal",),
        form=FLAG,
        default_text="only originals of Secrets, and originals that an object or program may need",
    ),
    Option(
        "allow-empty",
        "Accept empty input. By default, empty input is an error.",
        key=("allowEmpty",),
        form=FLAG,
        default_text="no",
    ),
    Option(
        "attacher",
        "Append the attacher Job.",
        key=("attacher", "enabled"),
        form=FLAG,
        default_text="yes",
    ),
    Option(
        "attacher-image",
        "Set the attacher's image.",
        key=("attacher", "image"),
        metavar="IMAGE",
        default_text="postrender:VERSION, which is not published",
    ),
    Option(
        "group",
        "Set the attach group to NAME-attach. NAME is usually the name of the release. If NAME "
        "already ends in -attach, the attach group is NAME.",
        key=("attacher", "group"),
        metavar="NAME",
        default_text="the name of the release, or else the name of a workload",
    ),
    Option(
        "previous",
        "Retain earlier revisions in the output. Pass the previously applied manifests.",
        key=("history", "previous"),
        metavar="FILE|git:REF:PATH|helm:NAMESPACE/RELEASE",
    ),
    Option(
        "kube-context",
        "Set the kubeconfig context for helm. helm reads the release in --previous or "
        "history.previous.",
        key=("history", "kubeContext"),
        metavar="CONTEXT",
        default_text="the current context",
    ),
    Option(
        "kubeconfig",
        "Set the kubeconfig file for helm. helm reads the release in --previous or "
        "history.previous.",
        key=("history", "kubeconfig"),
        metavar="FILE",
        default_text="$KUBECONFIG, or ~/.kube/config",
    ),
    Option(
        "log-file",
        "Append findings and errors to this file too.",
        key=("logFile",),
        metavar="FILE",
    ),
)
# The environment variables with the prefix POSTRENDER_ that do not set an option.
OTHER_VARIABLES = ("POSTRENDER_SECRETS_HASH_KEY",)

# The options of the commands that connect to a cluster without helm.
CLUSTER = _with_variables(
    Option(
        "namespace",
        "Set the namespace.",
        metavar="NAMESPACE",
        short="n",
        default_text="the namespace of the Pod or of the kubeconfig context",
    ),
    Option(
        "kube-context",
        "Set the kubeconfig context.",
        metavar="CONTEXT",
        default_text="the current context",
    ),
    Option(
        "kubeconfig",
        "Set the kubeconfig file.",
        metavar="FILE",
        default_text="$KUBECONFIG, or ~/.kube/config",
    ),
)


def settings_options(*names: str) -> tuple[Option, ...]:
    """Return the options of SETTINGS with these names, in the order of SETTINGS."""
    return tuple(option for option in SETTINGS if option.name in names)


def output_option(formats: tuple[str, ...]) -> Option:
    """Return the option --output, which chooses one of `formats`."""
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


def with_filename(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of `values`, in which the file of --filename replaces INPUT.

    For `check`, the function appends the files of --filename to the files that are arguments.
    values: the values of the arguments and of all options, by parameter.
    Raises UsageError if the user passes both INPUT and --filename.
    """
    copy = dict(values)
    filename = copy.pop("filename", None)
    if filename and "files" in copy:
        copy["files"] += filename
    elif filename:
        if copy["input"] != INPUT.default:
            raise UsageError(
                "INPUT and -f FILE are both set, expected one input", "Remove INPUT or -f FILE"
            )
        copy["input"] = filename
    return copy


def with_two_dashes(command: Command, arguments: list[str]) -> list[str]:
    """Return the words of a command line, with `--name` in place of `-name`.

    If `command.has_one_dash` is False, the function returns the words unchanged. The options in
    COMMON always need two dashes.
    """
    if not command.has_one_dash:
        return arguments
    names = {name for option in command.options for name in option.long_names}
    return [
        f"-{argument}"
        if argument[:1] == "-" and argument[1:].partition("=")[0] in names
        else argument
        for argument in arguments
    ]
