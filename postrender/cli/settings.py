"""The settings in effect, from options, environment variables and the configuration file.

An option overrides its environment variable. An environment variable overrides a functionConfig,
and a functionConfig overrides the configuration file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from postrender.cli.arguments import is_valid_text
from postrender.cli.options import OTHER_VARIABLES, SETTINGS
from postrender.cli.report import (
    log_note,
    report_detail,
    report_finding,
    report_unless_verbose,
    report_warning,
    set_log_file,
)
from postrender.config.find import Source, explicit_file, find_config, shown_path
from postrender.config.load import load_config, merge_values, read_hash_key
from postrender.config.settings import NOTHING, SEQUENCE, Settings, settings_from
from postrender.config.validate import key_paths
from postrender.errors import Finding, Location, UserError
from postrender.krm.input import parsed_list
from postrender.sources.paths import CHART_FILE
from postrender.text import printable, similar_words
from postrender.yaml.stream import Stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PREFIX = "POSTRENDER_"
# The variable with the name of the Argo CD Application. Argo CD sets the variable for config
# management plugins.
_ARGO_CD_APPLICATION = "ARGOCD_APP_NAME"
# The minimum similarity (ratio of difflib) of a misspelt variable and the correct variable. With a
# lower minimum, postrender would warn of variables that only have some words in common.
_CUTOFF = 0.85

# A configuration file, None if there is none, and the findings of the search.
FoundConfig = tuple[Source | None, tuple[Finding, ...]]


def effective_values(
    source: Source | None,
    given: Mapping[str, object],
    function: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The values that are set: nested mappings with the keys of postrender.yaml, without defaults.

    source: the configuration file.
    given: the values of the options, by parameter. The value is None if the option is not set.
    function: the values of the functionConfig, None if the input has not been read yet.
    """
    values = merge_values(load_config(source) if source else {}, dict(function or {}))
    for option in SETTINGS:
        value: Any = given.get(option.parameter)
        if option.key and value is not None:
            for key in reversed(option.key):
                value = {key: value}
            values = merge_values(values, value)
    return values


def config_source(
    config: str | None, given: Mapping[str, object] = NOTHING, chart: str = ""
) -> FoundConfig:
    """The configuration file, and the findings of the search for it.

    config: the file in --config, or the folder in which the search begins. None or "" for the
        folder of the chart, or else the working directory.
    given: the values of the options, of which --untrusted counts.
    chart: the chart that the command renders, "" for none. The Argo CD plugin runs in its folder.
    """
    is_untrusted = bool(given.get("untrusted"))
    if config and not os.path.isdir(config):
        return explicit_file(config), ()
    if config:
        return find_config(os.path.realpath(config), is_untrusted=is_untrusted)
    try:
        folder = os.getcwd()
    except OSError:  # the working directory was deleted
        folder = ""
    nearest, nearest_findings = find_config(folder, is_untrusted=is_untrusted)
    if os.path.isdir(chart):
        own, findings = find_config(os.path.realpath(chart), is_untrusted=is_untrusted)
        if own and nearest and own.file != nearest.file:
            findings = (*findings, _unused(nearest, own))
        if own:
            return own, findings
    return nearest, nearest_findings


def _unused(nearest: Source, own: Source) -> Finding:
    """The finding that a chart has its own file; nearest: the file of the working directory."""
    problem = (
        f"try uses {printable(shown_path(own))}, which is nearer to {CHART_FILE}. Without "
        "--config, helm in the working directory would use this file"
    )
    fix = "Release with the printed command, or pass --config to try and to the release"
    location = Location(printable(shown_path(nearest)))
    return Finding("config-unused", problem, fix, location)


def settings_of(
    found: FoundConfig,
    given: Mapping[str, object],
    function: Mapping[str, Any] | None = None,
) -> Settings:
    """Return the settings in effect, and start to write the log file.

    Also report the path of the configuration file, and misspelt environment variables. `fn` calls
    this function again with the values of the functionConfig, which must not repeat the reports.
    found: the result of config_source.
    """
    values = effective_values(found[0], given, function)
    path = found[0].file if found[0] else ""
    if function is None:
        _check_variables()
        report_detail(_configuration_note(path))
    settings = _settings(values, *found)
    set_log_file(settings.log_file)
    if function is None:
        log_note(_configuration_note(path))
    return settings


def side_settings(found: FoundConfig, given: Mapping[str, object]) -> Settings:
    """The settings for one side of `diff`, with the hash key and without reports or a log file."""
    return with_hash_key(_settings(effective_values(found[0], given), *found), given)


def _settings(
    values: dict[str, Any], source: Source | None, findings: tuple[Finding, ...]
) -> Settings:
    settings = settings_from(values) if values else Settings()
    application = os.environ.get(_ARGO_CD_APPLICATION, "")
    if not is_valid_text(application):
        problem = f"the variable {_ARGO_CD_APPLICATION} is not UTF-8"
        raise UserError(problem, "Write the value in UTF-8")
    if application:
        attacher = settings.attacher._replace(release=application)
        settings = settings._replace(attacher=attacher, has_all_hooks=True)
    file = source.file if source else ""
    configuration = printable(shown_path(source)) if source else ""
    return settings._replace(file=file, configuration=configuration, findings=findings)


def with_hash_key(settings: Settings, given: Mapping[str, object]) -> Settings:
    """Read the hash key, if postrender creates revisions of Secrets."""
    if not settings.with_secrets:
        return settings
    option = given.get("secrets_hash_key_file")
    return settings._replace(hash_key=read_hash_key(str(option or ""), settings.hash_key_file))


def report_ignored(findings: Sequence[Finding]) -> None:
    """Print findings about ignored configuration files, for a command without a plan."""
    for finding in findings:
        report_finding(finding)


def report_configuration(settings: Settings) -> None:
    """Print the path of the configuration file. With --verbose, settings_of has printed it."""
    report_unless_verbose(_configuration_note(settings.file))


def _configuration_note(path: str) -> str:
    if path:
        return f"postrender uses the configuration {path}"
    return "postrender does not use a configuration file"


def _check_variables() -> None:
    """Warn of each variable POSTRENDER_* that is misspelt or has the name of a key."""
    known = {*(option.variable for option in SETTINGS), *OTHER_VARIABLES}
    unknown = {name for name in os.environ if name.startswith(_PREFIX)} - known
    if not unknown:
        return
    variables = {".".join(option.key): option.variable for option in SETTINGS if option.variable}
    of_keys = {
        _PREFIX + re.sub("(?<=[a-z])(?=[A-Z])", "_", path).replace(".", "_").upper(): path
        for path in key_paths()
    }
    for name in sorted(unknown):
        path = of_keys.get(name)
        if path:
            fix = f"Use {variables[path]}" if path in variables else f"Set the key {path}"
        elif matches := similar_words(name, known, _CUTOFF):
            fix = f"Use {matches[0]} instead"
        else:
            continue
        report_warning(f"postrender does not read the variable {name}", fix)


def render_settings(
    config: str | None, given: Mapping[str, object], function: Mapping[str, Any] | None = None
) -> Settings:
    """The settings in effect, with the hash key, for a command that makes a plan."""
    found = config_source(config, given)
    settings = with_hash_key(settings_of(found, given, function), given)
    if settings.naming == SEQUENCE and not settings.history.previous:
        raise UserError(
            'naming is "sequence", but --previous is not set',
            "Pass the previous output with --previous. For the first release, pass an empty file",
        )
    return settings


def check_not_a_function(stream: Stream) -> None:
    """Raise UserError for a ResourceList with settings, which only `postrender fn` reads."""
    index = stream.sole_document
    if index is not None and "ResourceList" in stream.texts[index]:
        from postrender.krm.function import check_no_function_config

        if parsed_list(stream) is not None:
            check_no_function_config(stream)
