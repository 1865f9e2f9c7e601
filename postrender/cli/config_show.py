"""`postrender config show`: the configuration in effect, and the source of each value."""

from __future__ import annotations

from postrender.cli.options import CONFIG_KEYS, SETTINGS, Command
from postrender.cli.pipes import write
from postrender.cli.registry import DONE
from postrender.cli.values import effective_values
from postrender.config.load import defaults, load_document, merge_values
from postrender.yaml.emit import block_text
from postrender.yaml.paths import value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from postrender.yaml.paths import Path

COMMAND = Command(
    "config show",
    "Print the values in effect, and their source.",
    details="Options override variables, variables override the file.",
    example="postrender config show --strict",
    options=SETTINGS,
)


def run(config: str | None, **given: object) -> int:
    """Run the command and return its exit code."""
    values, file = effective_values(config, given)
    standard = defaults()
    sources = {**_file_sources(file), **_option_sources(given)}
    lines = _lines(merge_values(standard, values), standard, (), sources)
    write([f"# {file or 'no postrender.yaml found'}\n", *lines])
    return DONE


def _lines(
    values: Mapping[str, Any],
    standard: Mapping[str, Any],
    path: Path,
    sources: Mapping[Path, str],
) -> Iterator[str]:
    """Yield the lines of a mapping; a comment behind each key is the source of its value.

    standard: the defaults; a mapping that has keys there is a section, not a value.
    """
    indent = "  " * len(path)
    for key, value in values.items():
        inside = (*path, key)
        if standard.get(key) and isinstance(standard[key], dict):
            yield f"{indent}{key}:\n"
            yield from _lines(value, standard[key], inside, sources)
            continue
        head, *rest = block_text({key: value}).splitlines()
        yield f"{indent}{head}  # {sources.get(inside, 'default')}\n"
        yield from (f"{indent}{line}\n" for line in rest)


def _file_sources(file: str) -> dict[Path, str]:
    """Return the line of each key of the configuration file, as `FILE:LINE`, by its path."""
    if not file:
        return {}
    document, root = load_document(file)
    return {
        path: f"{file}:{document.location_of((*root, *path)).line}"
        for path in _paths(value_at(document.data, root), ())
    }


def _paths(value: object, path: Path) -> Iterator[Path]:
    if isinstance(value, dict):
        for key, inside in value.items():
            yield (*path, key)
            yield from _paths(inside, (*path, key))


def _option_sources(given: Mapping[str, object]) -> dict[Path, str]:
    """Return the option or the variable that sets each key, by its path."""
    import click
    from click.core import ParameterSource

    context = click.get_current_context(silent=True)
    by_parameter = {option.parameter: option for option in SETTINGS}
    sources: dict[Path, str] = {}
    for parameter, value in given.items():
        if value is None or parameter not in CONFIG_KEYS:
            continue
        option = by_parameter[parameter]
        source = context.get_parameter_source(parameter) if context else None
        is_variable = source == ParameterSource.ENVIRONMENT
        sources[CONFIG_KEYS[parameter]] = option.variable if is_variable else f"--{option.name}"
    return sources
