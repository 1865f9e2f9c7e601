"""`postrender config`: create, check and show the configuration, and print what attachers need."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click
from click.core import ParameterSource

from postrender.cli.options import (
    FLAG,
    SETTINGS,
    SWITCH,
    Argument,
    Option,
    command,
    settings_options,
)
from postrender.cli.report import DONE, report_warning, write, write_for_reader
from postrender.cli.settings import config_source, effective_values, report_ignored, settings_of
from postrender.config.find import FILE_NAME
from postrender.config.load import (
    ConfigFile,
    defaults,
    load_config,
    load_files,
    merge_values,
)
from postrender.config.settings import EXTERNAL, Settings, settings_from
from postrender.errors import Location, UsageError, UserError
from postrender.plan.admission import collector_objects, policy_objects, rbac_objects
from postrender.plan.attacher_objects import has_image
from postrender.text import CONFIG_SCHEMA, TEXT_ESCAPES, packaged_text, printable, visible_line
from postrender.yaml.paths import Json, Path, value_at
from postrender.yaml.scalars import block_text

_EXAMPLE_FILE = """\
# The configuration of postrender. `postrender config schema` describes every key, and
# `postrender config show` prints the values in effect.

# attacher:
#   image: registry.example.com/postrender:1   # the image that the attacher Job runs

# strict: true         # fail on findings that put pods at risk

# rules:               # the first rule that matches an object applies
# - match: {name: "*-feature-flags"}
#   strategy: ignore   # rename, checksum or ignore
"""


@command(
    "config init",
    "Create a configuration file.",
    details="The default of FILE is postrender.yaml in this folder, and - means stdout. postrender "
    "never overwrites an existing file.",
    example="postrender config init chart/postrender.yaml",
    arguments=(Argument("file", "[FILE]", default=FILE_NAME),),
)
def init(file: str) -> int:
    if not file:
        raise UsageError("the path of the new file is empty", "Pass the path of a new file")
    if file == "-":
        write([_EXAMPLE_FILE])
        return DONE
    try:
        with open(file, "x", encoding="utf-8") as output:
            output.write(_EXAMPLE_FILE)
    except OSError as error:
        problem, fix = f"postrender cannot write the file ({error.strerror})", "Pass another path"
        if isinstance(error, FileExistsError) and os.path.isdir(file):
            problem = "the path is a folder, expected a new file"
            fix = "Pass the path of a new file"
        elif isinstance(error, FileExistsError):
            problem, fix = "the file already exists", "Edit the file, or pass another path"
        elif isinstance(error, FileNotFoundError):
            problem = "the folder of the file does not exist"
            fix = "Create the folder, or pass another path"
        raise UserError(problem, fix, Location(file)) from None
    write([f"postrender created {visible_line(printable(file))}\n"])
    return DONE


@command(
    "config validate",
    "Check a configuration file.",
    details=(
        "Without a FILE, postrender checks the file in --config, or else the nearest "
        "postrender.yaml in this folder or a folder above."
    ),
    example="postrender config validate chart/postrender.yaml",
    arguments=(Argument("file", "[FILE]", default=""),),
    options=settings_options("config"),
)
def validate(file: str, config: str | None) -> int:
    source, findings = config_source(file or config)
    report_ignored(findings)
    if source is None:
        raise UserError(
            "postrender did not find a postrender.yaml in this folder or a folder above, up to the "
            "root of the git repository",
            "Pass a file, or create a file with: postrender config init",
        )
    settings_from(load_config(source))
    write([f"{visible_line(source.file)} is valid\n"])
    return DONE


@command(
    "config schema",
    "Print the JSON Schema of postrender.yaml.",
    example="postrender config schema > postrender.schema.json",
)
def schema() -> int:
    write([packaged_text(CONFIG_SCHEMA)])
    return DONE


@command(
    "config admission-policy",
    "Print a policy for the attachers' writes.",
    details=(
        "The output is a ValidatingAdmissionPolicy, and needs Kubernetes 1.30 or later. The policy "
        "limits the ServiceAccounts of attachers, without --namespace in all namespaces."
    ),
    example="postrender config admission-policy --namespace=prod | kubectl apply -f -",
    options=settings_options("config", "untrusted", "namespace"),
)
def admission_policy(config: str | None, **given: object) -> int:
    settings = _settings(config, given)
    _write_objects(policy_objects(settings.attacher, settings.namespace))
    return DONE


def _settings(config: str | None, given: Mapping[str, object]) -> Settings:
    settings = settings_of(config_source(config, given), given)
    report_ignored(settings.findings)
    return settings


@command(
    "config rbac",
    "Print the attachers' Role and RoleBinding.",
    details=(
        "Apply the output once to each namespace with an attacher. Set attacher.rbac.create to "
        "false, so that the releases do not contain a Role. The output also contains the "
        "ServiceAccount, unless attacher.serviceAccount sets a name or create to false."
    ),
    example="postrender config rbac --namespace=prod | kubectl apply -f -",
    options=(
        *settings_options("config", "untrusted", "namespace", "secrets"),
        Option(
            "mode",
            "Print the permissions for this attacher.mode. auto needs the permissions of hook and "
            "job, and external needs none.",
            choices=("auto", "hook", "job", "external"),
            default_text="attacher.mode in the configuration",
        ),
    ),
)
def rbac(config: str | None, mode: str | None, **given: object) -> int:
    if mode == EXTERNAL:
        raise UsageError(
            "with attacher.mode external, no release has an attacher that needs permissions",
            "For the CronJob of postrender collect, run: postrender config collector",
        )
    settings = _settings(config, given)
    attacher = settings.attacher
    if settings.file and attacher.creates_rbac:
        report_warning(
            f"{settings.file} does not set attacher.rbac.create to false, so each release still "
            "creates a Role",
            "Set attacher.rbac.create to false",
        )
    if attacher.is_external and mode is None:
        report_warning(
            "attacher.mode is external, so no release has an attacher that needs these permissions",
            "For the CronJob of postrender collect, run: postrender config collector",
        )
    attacher = attacher._replace(mode=mode or attacher.mode)
    _write_objects(rbac_objects(attacher, settings.namespace, with_secrets=settings.with_secrets))
    return DONE


@command(
    "config collector",
    "Print a CronJob that runs collect.",
    details=(
        "The output also contains the ServiceAccount and the least permissions for the CronJob. "
        "The CronJob runs postrender collect each hour, for releases with attacher.mode external. "
        "attacher.image and attacher.podTemplate apply to its Pod."
    ),
    example="postrender config collector --namespace=prod | kubectl apply -f -",
    options=(
        *settings_options("config", "untrusted", "namespace", "secrets", "attacher-image"),
        Option(
            "all-namespaces",
            "Collect in all namespaces. --namespace is then the namespace of the CronJob.",
            SWITCH,
            short="A",
        ),
    ),
)
def collector(config: str | None, all_namespaces: bool, **given: object) -> int:
    settings = _settings(config, given)
    if all_namespaces and not settings.namespace:
        raise UsageError(
            "--all-namespaces is set without --namespace",
            "Pass --namespace with the namespace of the CronJob",
        )
    attacher = settings.attacher._replace(mode="auto")
    if not has_image(attacher):
        raise UserError(
            "attacher.image is not set, and the Pod of the CronJob needs the image",
            "Set attacher.image (or pass --attacher-image) to your copy of the attacher's image",
        )
    objects = collector_objects(
        attacher,
        settings.namespace,
        is_cluster_wide=all_namespaces,
        with_secrets=settings.with_secrets,
    )
    _write_objects(objects)
    return DONE


def _write_objects(objects: Sequence[Mapping[str, Json]]) -> None:
    write([f"---\n{block_text(data)}\n" for data in objects])


@command(
    "config show",
    "Print the values in effect, and their source.",
    details=(
        "Options override environment variables, and environment variables override "
        "postrender.yaml."
    ),
    example="postrender config show --strict",
    options=SETTINGS,
)
def show(config: str | None, **given: object) -> int:
    source, findings = config_source(config, given)
    values = effective_values(source, given)
    report_ignored(findings)
    files = load_files(source) if source else []
    default_values = defaults()
    sources = {**_file_sources(files), **_option_sources(given)}
    head = "postrender does not use a configuration file"
    if source:
        head = f"{source.file} ({source.label})"
    heads = [head, *(f"extends {file.file}" for file in files[1:])]
    lines = [
        *(f"# {visible_line(line)}\n" for line in heads),
        *_lines(merge_values(default_values, values), default_values, (), sources),
    ]
    write_for_reader("".join(lines), TEXT_ESCAPES)
    return DONE


def _lines(
    values: Mapping[str, Any],
    default_values: Mapping[str, Any],
    path: Path,
    sources: Mapping[Path, str],
) -> Iterator[str]:
    """The YAML lines of the values at a path, with the source of each value in a comment.

    A mapping whose default has keys gets a comment for each key, and other mappings get one.
    """
    indent = "  " * len(path)
    for key, value in values.items():
        inside = (*path, key)
        if default_values.get(key) and isinstance(default_values[key], dict):
            yield f"{indent}{key}:\n"
            yield from _lines(value, default_values[key], inside, sources)
            continue
        head, *rest = block_text({key: value}).splitlines()
        yield f"{indent}{head}  # {visible_line(sources.get(inside, 'default'))}\n"
        yield from (f"{indent}{line}\n" for line in rest)


def _file_sources(files: Sequence[ConfigFile]) -> dict[Path, str]:
    """`FILE:LINE` of each key. A list that several files fill has all of their lines.

    files: the configuration file, then the files that it extends.
    """
    sources: dict[Path, str] = {}
    for file in reversed(files):
        for path in _paths(file.values, ()):
            line = f"{file.file}:{file.location_of(path).line}"
            is_joined = path in sources and isinstance(value_at(file.values, path), (dict, list))
            sources[path] = f"{line}, {sources[path]}" if is_joined else line
    return sources


def _paths(value: object, path: Path) -> Iterator[Path]:
    """The path of each key in a mapping at `path`, and in the mappings below."""
    if isinstance(value, dict):
        for key, inside in value.items():
            yield (*path, key)
            yield from _paths(inside, (*path, key))


def _option_sources(given: Mapping[str, object]) -> dict[Path, str]:
    """The option or variable that sets each key, such as `--strict`."""
    context = click.get_current_context()
    sources: dict[Path, str] = {}
    for option in SETTINGS:
        if option.key and given[option.parameter] is not None:
            source = context.get_parameter_source(option.parameter)
            is_variable = source == ParameterSource.ENVIRONMENT
            is_negated = option.form == FLAG and given[option.parameter] is False
            name = f"--no-{option.name}" if is_negated else f"--{option.name}"
            sources[option.key] = option.variable if is_variable else name
    return sources
