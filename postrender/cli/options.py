"""The declaration of a command, and the options that several commands share.

click reads most command lines, and `arguments` reads the usual ones of frequent commands without
click. Both use these declarations, so this module does not import click.
"""

from __future__ import annotations

from collections.abc import Callable

from postrender.records import NamedTuple

# The forms of an option: with a value; `--name` without one; and `--name` or `--no-name`.
VALUE, SWITCH, FLAG = "value", "switch", "flag"


class Argument(NamedTuple):
    """A positional argument.

    parameter: the parameter of the command that gets the value.
    metavar: the name in the help, such as `[FILE]...`.
    default: None if the argument is required.
    is_many: whether users can repeat the argument. The value is then a tuple, () if absent.
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
    metavar: the name of the value in the help, None for the one that click chooses.
    default: the value of an absent option, unless it is a SWITCH or repeated (see `absent`).
    variable: the environment variable that also sets the option, "" for none.
    key: the path of the configuration key that the option overrides, () for none.
    choices: the allowed values, () for any.
    limit: the maximum of a whole number, 0 for another value.
    is_repeated: whether users can repeat the option. The value is then a tuple.
    short: the letter of the short name, "" for none.
    aliases: more long names.
    default_text: the default in the help, "" to show `default`.
    own_parameter: the parameter of the command, "" for the name with underscores.
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
    is_repeated: bool = False
    short: str = ""
    aliases: tuple[str, ...] = ()
    default_text: str = ""
    own_parameter: str = ""

    @property
    def parameter(self) -> str:
        return self.own_parameter or self.name.replace("-", "_")

    @property
    def absent(self) -> object:
        """The value of an absent option."""
        if self.form == SWITCH:
            return False
        return () if self.is_repeated else self.default

    @property
    def shown_default(self) -> str:
        """The default in the help, such as `none`; "" for a SWITCH."""
        return "" if self.form == SWITCH else self.default_text or str(self.default or "none")

    @property
    def long_names(self) -> tuple[str, ...]:
        return self.name, *self.aliases

    @property
    def is_path(self) -> bool:
        """Whether the value can be a path. Only paths can have bytes that are not UTF-8."""
        return "FILE" in (self.metavar or "")


class Command(NamedTuple):
    """A command.

    name: with the group, as in `config show`.
    summary: the first sentence of the help, at most 45 characters.
    details: the other sentences of the help.
    example: a command line for the help.
    run: the function that gets the values of all arguments and options by parameter, writes the
        result to stdout, and returns the exit code. It can raise UserError and UsageError.
    has_one_dash: whether users can write `-name` instead of `--name`.
    """

    name: str
    summary: str
    details: str
    example: str
    run: Callable[..., int]
    arguments: tuple[Argument, ...]
    options: tuple[Option, ...]
    has_one_dash: bool

    @property
    def all_options(self) -> tuple[Option, ...]:
        return self.options + COMMON


def command(
    name: str,
    summary: str,
    *,
    details: str = "",
    example: str,
    arguments: tuple[Argument, ...] = (),
    options: tuple[Option, ...] = (),
    has_one_dash: bool = False,
) -> Callable[[Callable[..., int]], Command]:
    """A decorator that makes a function a command."""
    return lambda run: Command(
        name, summary, details, example, run, arguments, options, has_one_dash
    )


INPUT = Argument("input_", "[INPUT]", default="-")
FILENAME = Option("filename", "Read this file instead of INPUT.", metavar="FILE", short="f")

# The options of every command, which the module `arguments` applies.
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
        default="auto",
        choices=("auto", "always", "never"),
        aliases=("colour",),
    ),
)


def _with_variables(*options: Option) -> tuple[Option, ...]:
    """Add environment variables to options, such as POSTRENDER_LOG_FILE to `log-file`."""
    return tuple(
        option._replace(variable="POSTRENDER_" + option.name.replace("-", "_").upper())
        for option in options
    )


# The options that choose, restrict or override the configuration, in the order of the help.
SETTINGS = _with_variables(
    Option(
        "config",
        "Read this configuration file. With a folder, the search begins in the folder.",
        metavar="FILE|FOLDER",
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
        "attacher-mode",
        "Set the form of the attacher. external appends an inventory, for postrender collect.",
        key=("attacher", "mode"),
        choices=("auto", "hook", "job", "external"),
        default_text="auto",
    ),
    Option(
        "attacher-image",
        "Set the attacher's image.",
        key=("attacher", "image"),
        metavar="IMAGE",
        default_text="none, and an output with the attacher Job needs an image",
    ),
    Option(
        "attacher-prune",
        "Let the attacher delete unused revisions. --no-attacher-prune stops all deletions.",
        key=("attacher", "prune"),
        form=FLAG,
        default_text="yes",
    ),
    Option(
        "group",
        "Set the attach group to NAME-attach. NAME is usually the name of the release. If NAME "
        "already ends in -attach, the attach group is NAME. If NAME is too long for a Job, or has "
        "other characters than a-z, 0-9 and hyphens, the attach group has a hash. postrender "
        "status prints it.",
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
# With this variable, which completion scripts set, click prints completions.
COMPLETION_VARIABLE = "_POSTRENDER_COMPLETE"

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
        aliases=("context",),
    ),
    Option(
        "kubeconfig",
        "Set the kubeconfig file.",
        metavar="FILE",
        default_text="$KUBECONFIG, or ~/.kube/config",
    ),
)


# The names of the options of every command that makes a plan and delivers nothing.
PLANNING = (
    "config",
    "untrusted",
    "namespace",
    "secrets",
    "secrets-hash-key-file",
    "keep-original",
)


def settings_options(*names: str) -> tuple[Option, ...]:
    """Options of SETTINGS by name, in the order of SETTINGS."""
    return tuple(option for option in SETTINGS if option.name in names)


def output_option(formats: tuple[str, ...]) -> Option:
    """--output with these choices."""
    return Option(
        "output",
        "Choose the output format.",
        default="text",
        choices=formats,
        short="o",
        aliases=("format",),
        own_parameter="form",
    )


# The module and the name of each command. The first word of `config show` is a group.
COMMANDS = {
    "adopt": "adopt:adopt",
    "attach": "attach:attach",
    "check": "check:check",
    "collect": "collect:collect",
    "completion": "about:completion",
    "config admission-policy": "config:admission_policy",
    "config collector": "config:collector",
    "config init": "config:init",
    "config rbac": "config:rbac",
    "config schema": "config:schema",
    "config show": "config:show",
    "config validate": "config:validate",
    "diff": "diff:diff",
    "explain": "explain:explain",
    "fn": "fn:fn",
    "render": "render:render",
    "schema": "about:schema",
    "status": "status:status",
    "try": "try_chart:try_chart",
    "version": "about:version",
}


def load(name: str) -> Command:
    """Import a command by its name, such as `config show`."""
    from importlib import import_module

    module, _, attribute = COMMANDS[name].partition(":")
    command: Command = getattr(import_module(f"postrender.cli.{module}"), attribute)
    return command
