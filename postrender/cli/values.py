"""The configuration in effect: options override variables, which override the file."""

from __future__ import annotations

import os

from postrender.cli.options import CONFIG_KEYS, SETTINGS
from postrender.cli.reporting import check_log_file, report_detail, report_warning
from postrender.config.find import find_config
from postrender.config.settings import SEQUENCE, Settings
from postrender.errors import UserError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from postrender.yaml.stream import Stream


_PREFIX = "POSTRENDER_"
# The least similarity of a misspelt name. Names that only share some words are less similar.
_CUTOFF = 0.85


def effective_values(
    config: str | None, given: Mapping[str, object], function: Mapping[str, Any] | None = None
) -> tuple[dict[str, Any], str]:
    """Return the values in effect, without defaults, and the file that they are from.

    config: the file, None for the nearest. given: by parameter of the options. function: the values
    of a functionConfig.
    """
    path = config or nearest_config()
    if not path and not function and all(value is None for value in given.values()):
        return {}, ""
    from postrender.config.load import load_config, merge_values

    values = merge_values(load_config(path) if path else {}, dict(function or {}))
    for option, value in given.items():
        if value is not None:
            nested: Any = value
            for key in reversed(CONFIG_KEYS[option]):
                nested = {key: nested}
            values = merge_values(values, nested)
    return values, path


def nearest_config() -> str:
    """Return the nearest configuration file, or "" if there is none."""
    return find_config(_working_directory())


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # the working directory was deleted
        return ""


def settings_of(
    config: str | None, given: Mapping[str, object], function: Mapping[str, Any] | None = None
) -> Settings:
    """Return the settings in effect. Raises UserError for a log file that cannot be written."""
    values, path = effective_values(config, given, function)
    if function is None:  # a function call reads the settings a second time
        _check_variables()
        report_detail(f"the configuration is {path}" if path else "no postrender.yaml is used")
    settings = Settings()
    if values:
        from postrender.config.load import settings_from

        settings = settings_from(values, path)
    check_log_file(settings.log_file)
    return settings


def _check_variables() -> None:
    """Report each variable of the environment that looks like a misspelt postrender variable."""
    own = {name for name in os.environ if name.startswith(_PREFIX)}
    known = {option.variable for option in SETTINGS} if own else set()
    if own <= known:
        return
    import difflib

    for name in sorted(own - known):
        matches = difflib.get_close_matches(name, known, 1, _CUTOFF)
        if matches:
            report_warning(
                f"postrender does not read the variable {name}", f"Did you mean {matches[0]}?"
            )


def render_settings(
    config: str | None, given: Mapping[str, object], function: Mapping[str, Any] | None = None
) -> Settings:
    """Return the settings in effect for a command that renders."""
    settings = settings_of(config, given, function)
    if settings.naming == SEQUENCE and not settings.history.previous:
        raise UserError(
            "naming: sequence needs the previous revision numbers, and --previous is not set",
            "Pass --previous; an empty file starts at number 1",
        )
    return settings


def is_function_call(stream: Stream) -> bool:
    """Return whether a stream is a ResourceList, with which kustomize and kpt call a function."""
    if not any("ResourceList" in document.text for document in stream.documents):
        return False
    from postrender.krm.results import is_resource_list

    return is_resource_list(stream)


def function_settings(stream: Stream, config: str | None, given: Mapping[str, object]) -> Settings:
    """Return the settings of a function call."""
    from postrender.krm.function_config import function_values

    return render_settings(config, given, function_values(stream))
