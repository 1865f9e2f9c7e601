"""The configuration in effect for a command: command line over environment over file."""

from __future__ import annotations

import os

from postrender.cli.options import CONFIG_KEYS
from postrender.cli.reporting import check_log_file
from postrender.config.find import find_config
from postrender.config.settings import SEQUENCE, Settings
from postrender.errors import UserError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from postrender.yaml.stream import Stream


def effective_values(
    config: str | None, given: Mapping[str, object], function: Mapping[str, Any] | None = None
) -> tuple[dict[str, Any], str]:
    """Return the values in effect, without defaults, and the file that they are from.

    config: the file, None for the nearest. given: by parameter of the options. function: the values
    of a functionConfig.
    """
    path = config or find_config(_working_directory())
    if not path and not function and all(value is None for value in given.values()):
        return {}, ""
    from postrender.config.load import load_config, merge_values

    values = merge_values(load_config(path) if path else {}, dict(function or {}))
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


def settings_of(
    config: str | None, given: Mapping[str, object], function: Mapping[str, Any] | None = None
) -> Settings:
    """Return the settings in effect. Raises UserError for a log file that cannot be written."""
    values, path = effective_values(config, given, function)
    settings = Settings()
    if values:
        from postrender.config.load import settings_from

        settings = settings_from(values, path)
    check_log_file(settings.log_file)
    return settings


def render_settings(
    config: str | None, given: Mapping[str, object], function: Mapping[str, Any] | None = None
) -> Settings:
    """Return the settings in effect for a command that renders."""
    settings = settings_of(config, given, function)
    if settings.naming == SEQUENCE and not settings.history.previous:
        raise UserError(
            "naming: sequence needs to know which numbers there were",
            "say --previous; a file that is empty is a beginning",
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
