"""The command line: one thin function a command, each of which returns an exit code."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click

from postrender import __version__
from postrender.errors import Finding, Place, UserError
from postrender.inputs import STDIN, read_input, read_inputs
from postrender.inventory import take_inventory
from postrender.options import CONFIG_KEYS, long_option, settings_options
from postrender.plan import Plan, make_plan
from postrender.preview import SECTIONS
from postrender.render import render as render_plan
from postrender.reports import check_log_file, log_error, report_bug, report_error, report_finding
from postrender.settings import SEQUENCE, Settings
from postrender.stream import Stream, has_content, read_stream, read_streams

DONE, FAULT, USAGE, BUG, CHANGES, INTERRUPTED = 0, 1, 2, 3, 4, 130

# Where the formats stand, which are imported when they are asked for: a new one is a new entry.
EXPLAIN_FORMATS = {
    "text": "postrender.explain:to_text",
    "json": "postrender.explain:to_json",
    "mermaid": "postrender.preview.graph:to_mermaid",
    "dot": "postrender.preview.graph:to_dot",
}
DIFF_FORMATS = {
    "text": "postrender.preview.text:to_text",
    "markdown": "postrender.preview.markdown:to_markdown",
    "json": "postrender.preview.json:to_json",
    "html": "postrender.preview.html:to_html",
    "mermaid": "postrender.preview.graph:to_mermaid",
    "dot": "postrender.preview.graph:to_dot",
}

# The schema of each command that prints JSON.
JSON_SCHEMAS = {"diff": "preview/preview.schema.json", "explain": "explain.schema.json"}

_OWN_OPTIONS = frozenset({"--help", "--version"})


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its exit code.

    With no command, or with an option first, it is `render`.
    """
    code = run(sys.argv[1:] if arguments is None else arguments)
    # Everything is written: taking the interpreter down in order would take longer than a small
    # render does.
    os._exit(_close_output() or code)


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code. Every error is caught here."""
    # A run is short, and nothing in it makes cycles: collecting them takes a tenth of the time.
    gc.disable()
    if "_POSTRENDER_COMPLETE" not in os.environ and (
        not arguments or (arguments[0].startswith("-") and arguments[0] not in _OWN_OPTIONS)
    ):
        arguments = ["render", *arguments]
    try:
        code = cli.main(list(arguments), prog_name="postrender", standalone_mode=False)
        return code if isinstance(code, int) else DONE
    except UserError as error:
        report_error(error)
        return FAULT
    except click.exceptions.Abort:
        return INTERRUPTED
    except KeyboardInterrupt:
        return INTERRUPTED
    except click.ClickException as error:
        with contextlib.suppress(OSError, AttributeError):  # stderr may be closed or full
            error.show()
        return error.exit_code
    except OSError as error:
        report_error(_unwritable(error))
        return FAULT
    except Exception as error:
        report_bug(error)
        return BUG


class _Commands(click.Group):
    """The commands; where a file stands in the place of one, the error says how to name it."""

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


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="postrender")
def cli() -> None:
    """Give every ConfigMap content a name of its own, and rewrite what refers to it.

    With no command, or with an option first, it is `render`: rendered manifests on stdin,
    the same with revisions on stdout. Its options: `postrender render --help`.
    """


def _values(
    config: str | None, given: dict[str, Any], function: dict[str, Any] | None = None
) -> tuple[dict[str, Any], str]:
    """Return the effective values (without defaults) and the file they come from.

    function: those of a functionConfig.
    """
    from postrender.config import find_config, load_config, merge_values

    path = config or find_config(_working_directory())
    values = merge_values(load_config(path) if path else {}, function or {})
    for option, value in given.items():
        if value is not None:
            over: Any = value
            for key in reversed(CONFIG_KEYS[option]):
                over = {key: over}
            values = merge_values(values, over)
    return values, path


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was deleted
        return ""


def _settings(
    config: str | None, given: dict[str, Any], function: dict[str, Any] | None = None
) -> Settings:
    from postrender.config import settings_from

    settings = settings_from(*_values(config, given, function))
    check_log_file(settings.log_file)
    return settings


def _render_settings(
    config: str | None, given: dict[str, Any], function: dict[str, Any] | None = None
) -> Settings:
    settings = _settings(config, given, function)
    if settings.naming == SEQUENCE and not settings.history.previous:
        raise UserError(
            "naming: sequence needs to know which numbers there were",
            "say --previous; a file that is empty is a beginning",
        )
    return settings


def _is_function_call(stream: Stream) -> bool:
    """Tell whether the input is a ResourceList, which kustomize and kpt call a function with."""
    if not any("ResourceList" in document.text for document in stream.documents):
        return False
    from postrender.resource_list import is_resource_list

    return is_resource_list(stream)


def _function_settings(stream: Stream, config: str | None, given: dict[str, Any]) -> Settings:
    from postrender.function_config import function_values

    return _render_settings(config, given, function_values(stream))


@cli.command()
@click.argument("input", default="-", type=click.Path(), metavar="[INPUT]")
@settings_options()
def render(input: str, config: str | None, **given: Any) -> int:  # noqa: A002
    """Read rendered manifests from INPUT (stdin by default), write them with revisions."""
    if _nobody_pipes(input):
        click.echo(click.get_current_context().get_help())
        return DONE
    settings = _render_settings(config, given)
    is_function = False
    findings: tuple[Finding, ...] = ()
    try:
        stream = read_stream(*read_input(input))
        is_function = _is_function_call(stream)
        if is_function:
            settings = _function_settings(stream, config, given)
        plan = _plan(stream, settings)
        findings = plan.findings
        _report_findings(plan, settings)
        output = render_plan(plan)
        _report_size(plan, output, settings)
    except UserError as error:
        if is_function:
            from postrender.resource_list import failed

            _write(failed(stream, findings, error, is_strict=settings.is_strict))
        log_error(error, settings.log_file)
        raise
    if is_function and findings:
        from postrender.resource_list import with_findings

        output = with_findings(output, stream, findings)
    _write(output)
    return DONE


@cli.command()
@click.argument("input", default="-", type=click.Path(), metavar="[INPUT]")
@click.option("--format", "format_", default="text", type=click.Choice(list(EXPLAIN_FORMATS)))
@settings_options()
def explain(input: str, format_: str, config: str | None, **given: Any) -> int:  # noqa: A002
    """Tell what render would do with each ConfigMap of INPUT, and why."""
    from pkgutil import resolve_name

    from postrender.explain import explain as explain_plan

    if _nobody_pipes(input):
        click.echo(click.get_current_context().get_help())
        return DONE
    settings = _render_settings(config, given)
    try:
        stream = read_stream(*read_input(input))
        if _is_function_call(stream):
            settings = _function_settings(stream, config, given)
        plan = _plan(stream, settings)
        _write([resolve_name(EXPLAIN_FORMATS[format_])(explain_plan(plan))], is_to_read=True)
        _report_findings(plan, settings)
    except UserError as error:
        log_error(error, settings.log_file)
        raise
    return DONE


@cli.command()
@click.argument("old", type=click.Path(), metavar="OLD")
@click.argument("new", type=click.Path(), metavar="NEW")
@click.option(
    "--format",
    "format_",
    default="text",
    type=click.Choice(list(DIFF_FORMATS)),
    help="What to print.",
    show_default=True,
)
@click.option("--exit-code", "tells", is_flag=True, help="Exit with 4 where there are changes.")
@click.option(
    "--context",
    default=3,
    type=click.IntRange(0, 1_000_000),
    metavar="N",
    help="Lines around each change of text  [default: 3]",
)
@click.option(
    "--only",
    multiple=True,
    type=click.Choice(SECTIONS),
    help="Tell of these changes only; may be given several times.",
)
@settings_options(
    "config", "namespace", "secrets", "keep_original", "allow_empty", "previous", "log_file"
)
def diff(
    old: str,
    new: str,
    format_: str,
    tells: bool,
    context: int,
    only: tuple[str, ...],
    config: str | None,
    **given: Any,
) -> int:
    """Tell what a change from OLD to NEW will do: which workloads roll, and because of what.

    Each is a file, `-` for stdin, a folder of manifests or git:REV:PATH, and is rendered by
    postrender already or not yet.
    """
    from pkgutil import resolve_name

    from postrender.preview.compare import compare
    from postrender.preview.sections import only_sections
    from postrender.preview.view import view_of

    if old == new == "-":
        raise click.UsageError("OLD and NEW cannot both be stdin.")
    if _nobody_pipes(old) or _nobody_pipes(new):
        raise click.UsageError("nothing is piped into stdin, which - stands for.")
    settings = _settings(config, given)
    try:
        sides = [_side(name, settings) for name in (old, new)]
        if not any(side.documents for side in sides):
            raise UserError(
                f"neither {old} nor {new} has a file of manifests",
                "check both paths: one may be empty with --allow-empty, but not both",
            )
        preview = only_sections(compare(sides[0], sides[1], settings, context), only)
        view = [view_of(sys.stdout)] if format_ == "text" else []
        _write([resolve_name(DIFF_FORMATS[format_])(preview, *view)], is_to_read=True)
    except UserError as error:
        log_error(error, settings.log_file)
        raise
    return CHANGES if tells and preview.has_changes else DONE


def _side(name: str, settings: Settings) -> Stream:
    sources = read_inputs(name, allow_empty=settings.allow_empty)
    stream = read_streams(sources, STDIN if name == "-" else name)
    _check_content(stream, settings)
    return stream


@cli.command()
@click.argument("files", nargs=-1, type=click.Path(), metavar="[FILE]...")
@settings_options("config", "namespace", "secrets", "keep_original", "log_file")
def check(files: tuple[str, ...], config: str | None, **given: Any) -> int:
    """Fail on what render --strict fails on in any FILE (stdin by default), and write nothing.

    For manifests that are kept in git, rendered by postrender already or not yet. Each FILE is a
    stream of its own.
    """
    if not files and _nobody_pipes("-"):
        click.echo(click.get_current_context().get_help())
        return DONE
    settings = _render_settings(config, given)
    # A file of comments is no broken pipe, and nothing is appended here.
    attacher = settings.attacher._replace(is_enabled=False)
    settings = settings._replace(is_strict=True, allow_empty=True, attacher=attacher)
    return max([_check(name, settings) for name in files or ("-",)])


def _check(name: str, settings: Settings) -> int:
    try:
        plan = _plan(read_stream(*read_input(name)), settings)
        _report_findings(plan, settings, "mend them as each of their lines says")
    except UserError as error:
        report_error(error)
        log_error(error, settings.log_file)
        return FAULT
    return DONE


@cli.command()
@long_option(
    "set", "set_name", metavar="NAME", help="The label postrender/managed of its revisions."
)
@long_option(
    "namespace",
    metavar="NAMESPACE",
    envvar="POSTRENDER_NAMESPACE",
    help="Where  [default: the Pod's, or the kubeconfig's]",
)
@long_option(
    "workload",
    "workloads",
    multiple=True,
    metavar="KIND/NAME@ID=…",
    help="A workload, its render id, and the revisions that it names: "
    "Rollout/web@8396ba243e=configmap/web-a,configmap/web-b. Any number.",
)
@long_option(
    "emitted",
    multiple=True,
    metavar="KIND/NAME,…",
    help="What else was applied, and is never deleted: configmap/web-c.",
)
@long_option("rollout", default="", metavar="NAME", help="A Rollout whose render id is not known.")
@long_option("configmaps", default="", metavar="NAME,…", help="The ConfigMaps that -rollout names.")
@long_option("timeout", default="90s", metavar="TIME", help="How long to wait: 90s (default), 2m.")
@long_option(
    "on-failure",
    default="fail",
    metavar="fail|report",
    type=click.Choice(["report", "fail"]),
    help="report: exit 0 if it was recorded as an Event  [default: fail]",
)
@long_option(
    "delete-finished-jobs", is_flag=True, help="Delete Jobs of the set that this run replaces."
)
@long_option("no-prune", is_flag=True, help="Write owners, but only report what is unused.")
def attach(
    namespace: str | None,
    rollout: str,
    configmaps: str,
    on_failure: str,
    no_prune: bool,
    delete_finished_jobs: bool,
    **given: Any,
) -> int:
    """Own the revisions in the cluster, so that they live as long as anything names them.

    This is what the appended Job runs; outside of a Pod it uses the kubeconfig. Also takes the
    options and the environment of the original configmap-attacher: -rollout, -namespace,
    -configmaps; IS_IN_CLUSTER, LOG_LEVEL, VERSION, JOB_NAME.
    """
    from postrender.attach.command import read_request, run_attach

    request = read_request(
        **given,
        rollout=rollout,
        config_maps=configmaps,
        prunes=not no_prune,
        deletes_finished_jobs=delete_finished_jobs,
    )
    fails = on_failure == "fail"
    return run_attach(request, namespace, fails=fails, arguments=sys.argv[1:])


@cli.command()
@click.argument("input", default="-", type=click.Path(), metavar="[INPUT]")
@click.option(
    "--namespace",
    metavar="NAMESPACE",
    envvar="POSTRENDER_NAMESPACE",
    help="Of objects that have none  [default: the context's]",
)
@click.option(
    "--context", metavar="CONTEXT", help="The context of the kubeconfig  [default: the current one]"
)
@click.option("--dry-run", is_flag=True, help="Tell what would be done, and write nothing.")
def adopt(input: str, namespace: str | None, context: str | None, dry_run: bool) -> int:  # noqa: A002
    """Keep the live originals that the first release with revisions would delete.

    INPUT (stdin by default) is what postrender renders. Old pods then keep their configuration
    through the first canary, and the attacher collects the originals afterwards.
    """
    from postrender.attach.command import run_adopt

    if _nobody_pipes(input):
        click.echo(click.get_current_context().get_help())
        return DONE
    settings = Settings(with_secrets=True)
    inventory = take_inventory(read_stream(*read_input(input)), settings)
    lines = run_adopt(inventory, namespace, context, is_dry=dry_run)
    _write([f"{line}\n" for line in lines])
    return DONE


@cli.command("schema")
@click.argument("command", type=click.Choice(list(JSON_SCHEMAS)), metavar="|".join(JSON_SCHEMAS))
def json_schema(command: str) -> int:
    """Print the JSON Schema of what diff or explain prints with --format json."""
    from postrender.schemas import schema_text

    _write([schema_text(JSON_SCHEMAS[command])])
    return DONE


@cli.group()
def config() -> None:
    """Show the configuration's schema, or the values in effect."""


@config.command()
def schema() -> int:
    """Print the JSON Schema of postrender.yaml."""
    from postrender.config import schema_text

    _write([schema_text()])
    return DONE


@config.command()
@settings_options()
def show(config: str | None, **given: Any) -> int:
    """Print the values in effect as YAML, defaults included."""
    from postrender.config import defaults, merge_values
    from postrender.editing.emit import block_text

    values, source = _values(config, given)
    head = f"# {source or 'no postrender.yaml found'}\n"
    _write([head, block_text(merge_values(defaults(), values)), "\n"])
    return DONE


def _nobody_pipes(name: str) -> bool:
    return name == "-" and sys.stdin is not None and sys.stdin.isatty()


def _check_content(stream: Stream, settings: Settings) -> None:
    """Refuse an empty input: it is the broken pipe upstream."""
    if not settings.allow_empty and not any(
        has_content(document.text) for document in stream.documents
    ):
        raise UserError(
            "nothing but comments in the input",
            "check the program that feeds it, or say --allow-empty",
            Place(stream.source),
        )


def _plan(stream: Stream, settings: Settings) -> Plan:
    _check_content(stream, settings)
    inventory = take_inventory(stream, settings)
    if not settings.history.previous:
        return make_plan(inventory, settings)
    from postrender.previous import read_previous, with_release_namespace

    in_release = with_release_namespace(settings)
    history, findings = read_previous(inventory, settings)
    plan = make_plan(inventory, in_release, history)
    return plan._replace(findings=(*findings, *plan.findings))


def _report_findings(
    plan: Plan, settings: Settings, remedy: str = "mend them, or run without --strict"
) -> None:
    """Print the findings; raise UserError for those that fail the run."""
    for finding in plan.findings:
        is_failure = finding.strict and settings.is_strict
        report_finding(finding, settings.log_file, is_failure=is_failure)
    failing = [finding for finding in plan.findings if finding.strict and settings.is_strict]
    if failing:
        lines = ", ".join(dict.fromkeys(str(finding.place.line) for finding in failing))
        what = f"{len(failing)} of the findings fail with --strict (line {lines})"
        raise UserError(what, remedy, Place(failing[0].place.source))


def _report_size(plan: Plan, output: Sequence[str], settings: Settings) -> None:
    """Print a finding where Helm may not be able to store the output with all that it carries."""
    if settings.history.previous.startswith("helm:"):
        from postrender.release_size import find_size

        finding = find_size(plan, output)
        if finding:
            report_finding(finding, settings.log_file, is_failure=False)


def _write(parts: Iterable[str], *, is_to_read: bool = False) -> None:
    """Write the result, when everything else has succeeded.

    is_to_read: whether it is for a person, who may leave the pager before its end.
    """
    try:
        if sys.stdout is None:
            raise OSError(0, "it is closed")
        # Opened anew, because sys.stdout is not buffered where PYTHONUNBUFFERED says so.
        with open(sys.stdout.fileno(), "wb", closefd=False) as output:
            output.writelines(part.encode() for part in parts)
    except OSError as error:
        unwritable = _unwritable(error)
        if not (is_to_read and isinstance(error, BrokenPipeError)):
            raise unwritable from None


def _unwritable(error: OSError) -> UserError:
    # What could not be written must not be tried again when the interpreter ends.
    sys.stdout = None
    what = f"cannot write the result: {error.strerror}"
    return UserError(what, "check what reads it", Place("<stdout>"))


def _close_output() -> int:
    """Flush what click has written; return an exit code if that fails."""
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
    except OSError:
        sys.stderr = None
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        report_error(_unwritable(error))
        return FAULT
    return DONE
