"""`postrender config show`: the configuration in effect, and the source of each value."""

from __future__ import annotations

from postrender.cli.options import FLAG, SETTINGS, Command
from postrender.cli.report import DONE, write
from postrender.cli.settings import effective_values, report_ignored
from postrender.config.load import ConfigFile, defaults, load_files, merge_values
from postrender.yaml.emit import block_text
from postrender.yaml.paths import value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from postrender.yaml.paths import Path

COMMAND = Command(
    "config show",
    "Print the values in effect, and their source.",
    details=(
        "Options override environment variables, and environment variables override "
        "postrender.yaml."
    ),
    example="postrender config show --strict",
    options=SETTINGS,
)


def run(config: str | None, **given: object) -> int:
    """Return DONE after printing the configuration as YAML with comments.

    Raises UserError as effective_values does.
    """
    values, source, findings = effective_values(config, given)
    report_ignored(findings)
    files = load_files(source) if source else []
    default_values = defaults()
    sources = {**_file_sources(files), **_option_sources(given)}
    lines = _lines(merge_values(default_values, values), default_values, (), sources)
    head = (
        f"{source.file} ({source.label})"
        if source
        else "postrender does not use a configuration file"
    )
    extended = (f"# extends {file.file}\n" for file in files[1:])
    write([f"# {head}\n", *extended, *lines])
    return DONE


def _lines(
    values: Mapping[str, Any],
    default_values: Mapping[str, Any],
    path: Path,
    sources: Mapping[Path, str],
) -> Iterator[str]:
    """Return the YAML lines of `values`. A comment after each value shows the value's source.

    default_values: the default of each key. If the default is a mapping with keys, each of these
        keys has its own comment.
    path: the path of `values` in the configuration.
    sources: the source of each value that is not a default, by path.
    """
    indent = "  " * len(path)
    for key, value in values.items():
        inside = (*path, key)
        if default_values.get(key) and isinstance(default_values[key], dict):
            yield f"{indent}{key}:\n"
            yield from _lines(value, default_values[key], inside, sources)
            continue
        head, *rest = block_text({key: value}).splitlines()
        yield f"{indent}{head}  # {sources.get(inside, 'default')}\n"
        yield from (f"{indent}{line}\n" for line in rest)


def _file_sources(files: Sequence[ConfigFile]) -> dict[Path, str]:
    """Return the location of each key in the configuration files, by the path of the key.

    A location is `FILE:LINE`. If postrender merges the lists or mappings of several files, the
    result has all locations, separated by commas.
    files: the configuration file, then the extended files.
    """
    sources: dict[Path, str] = {}
    for file in reversed(files):
        for path in _paths(file.values, ()):
            line = f"{file.file}:{file.location_of(path).line}"
            is_joined = path in sources and isinstance(value_at(file.values, path), (dict, list))
            sources[path] = f"{line}, {sources[path]}" if is_joined else line
    return sources


def _paths(value: object, path: Path) -> Iterator[Path]:
    """Return the path of each key in a mapping and in nested mappings.

    For a value that is not a mapping, the function yields nothing.
    path: the path of the value.
    """
    if isinstance(value, dict):
        for key, inside in value.items():
            yield (*path, key)
            yield from _paths(inside, (*path, key))


def _option_sources(given: Mapping[str, object]) -> dict[Path, str]:
    """Return the source of each key that an option or environment variable sets, by path.

    A source is a text such as `--strict` or `POSTRENDER_STRICT`. Only click knows the source of a
    value, so click must run the command.
    given: the values of the options, by parameter.
    """
    import click
    from click.core import ParameterSource

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
