"""Functions that return the settings in effect, and check the input of a KRM function.

An option overrides its environment variable. An environment variable overrides a functionConfig,
and a functionConfig overrides the configuration file.
"""

from __future__ import annotations

import os

from postrender.cli.options import OTHER_VARIABLES, SETTINGS, is_valid_text
from postrender.cli.report import (
    log_note,
    report_detail,
    report_finding,
    report_unless_verbose,
    report_warning,
    set_log_file,
)
from postrender.config.find import find_config
from postrender.config.settings import SEQUENCE, Settings
from postrender.errors import Location, UserError
from postrender.records import NamedTuple
from postrender.text import similar_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from postrender.config.find import Source
    from postrender.errors import Finding
    from postrender.yaml.document import ParsedDocument
    from postrender.yaml.stream import Stream


_PREFIX = "POSTRENDER_"
# The variable with the name of the Argo CD Application. Argo CD sets the variable for config
# management plugins.
_ARGO_CD_APPLICATION = "ARGOCD_APP_NAME"
# The minimum similarity (ratio of difflib) of a misspelt variable and the correct variable. With a
# lower minimum, postrender would warn of variables that only have some words in common.
_CUTOFF = 0.85


class EffectiveValues(NamedTuple):
    """The configuration values in effect, without defaults.

    values: nested mappings with the keys of postrender.yaml.
    source: the configuration file, None if postrender does not use a file.
    findings: the findings of the search for the configuration file.
    """

    values: dict[str, Any]
    source: Source | None = None
    findings: tuple[Finding, ...] = ()


def effective_values(
    config: str | None, given: Mapping[str, object], function: Mapping[str, Any] | None = None
) -> EffectiveValues:
    """Return the configuration values in effect.

    config: the file in --config, None for the nearest postrender.yaml.
    given: the values of the options, by parameter. The value is None if the option is not set.
    function: the values of the functionConfig, {} if the input has no functionConfig. None if
        postrender has not read a functionConfig.
    Raises UserError as find_config and load_config do.
    """
    options = {
        option.key: given[option.parameter]
        for option in SETTINGS
        if option.key and given.get(option.parameter) is not None
    }
    source, findings = config_source(config, is_untrusted=bool(given.get("untrusted")))
    if source is None and not function and not options:
        return EffectiveValues({}, None, findings)
    from postrender.config.load import load_config, merge_values

    values = merge_values(load_config(source) if source else {}, dict(function or {}))
    for path, value in options.items():
        nested: Any = value
        for key in reversed(path):
            nested = {key: nested}
        values = merge_values(values, nested)
    return EffectiveValues(values, source, findings)


def config_source(
    config: str | None, *, is_untrusted: bool = False
) -> tuple[Source | None, tuple[Finding, ...]]:
    """Return the configuration file, and the findings of the search for the file.

    The file is None if the search does not find a file.
    config: the file in --config, None or "" for the nearest postrender.yaml.
    is_untrusted: whether --untrusted is set.
    Raises UserError as find_config does.
    """
    if not config:
        found = find_config(_working_directory())
        if not found.path:
            return None, found.findings
    from postrender.config.find import discovered_file, explicit_file

    if config:
        return explicit_file(config), ()
    source = discovered_file(found.path, found.repository, is_untrusted=is_untrusted)
    return source, found.findings


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # the working directory was deleted
        return ""


def settings_of(
    config: str | None, given: Mapping[str, object], function: Mapping[str, Any] | None = None
) -> Settings:
    """Return the settings in effect.

    If `function` is None, settings_of also warns of misspelt environment variables, and reports
    the path of the configuration file.
    The parameters are the parameters of effective_values.
    Raises UserError for an invalid configuration, and for an ARGOCD_APP_NAME that is not UTF-8.
    Also raises UserError as set_log_file does.
    """
    values, source, findings = effective_values(config, given, function)
    path = source.file if source else ""
    # `postrender fn` calls this function twice. The second call, with the functionConfig, must not
    # print the messages again.
    if function is None:
        _check_variables()
        report_detail(_configuration_note(path))
    settings = Settings()
    if values:
        from postrender.config.load import settings_from

        settings = settings_from(values)
    application = os.environ.get(_ARGO_CD_APPLICATION, "")
    if not is_valid_text(application):
        problem = f"the variable {_ARGO_CD_APPLICATION} is not UTF-8"
        raise UserError(problem, "Write the value in UTF-8")
    if application:
        attacher = settings.attacher._replace(release=application)
        settings = settings._replace(attacher=attacher)
    set_log_file(settings.log_file)
    if function is None:
        log_note(_configuration_note(path))
    return settings._replace(file=path, findings=findings)


def with_hash_key(settings: Settings, given: Mapping[str, object]) -> Settings:
    """Return settings with the hash key. If `secrets` is false, return unchanged settings.

    given: the values of the options, by parameter.
    Raises UserError as read_hash_key does.
    """
    if not settings.with_secrets:
        return settings
    from postrender.config.load import read_hash_key

    option = given.get("secrets_hash_key_file")
    return settings._replace(hash_key=read_hash_key(str(option or ""), settings.hash_key_file))


def report_ignored(findings: Sequence[Finding]) -> None:
    """Print the findings about ignored configuration files.

    Do not call this function after plan_of, because the plan already contains these findings.
    """
    for finding in findings:
        report_finding(finding)


def report_configuration(settings: Settings) -> None:
    """Print the path of the configuration file, unless --quiet or --verbose is set.

    With --verbose, settings_of has already printed the path.
    """
    report_unless_verbose(_configuration_note(settings.file))


def _configuration_note(path: str) -> str:
    if path:
        return f"postrender uses the configuration {path}"
    return "postrender does not use a configuration file"


def _check_variables() -> None:
    """Warn of each misspelt environment variable with the prefix POSTRENDER_."""
    known = {*(option.variable for option in SETTINGS), *OTHER_VARIABLES}
    unknown = {name for name in os.environ if name.startswith(_PREFIX)} - known
    for name in sorted(unknown):
        matches = similar_words(name, known, _CUTOFF)
        if matches:
            report_warning(
                f"postrender does not read the variable {name}", f"Use {matches[0]} instead"
            )


def render_settings(
    config: str | None, given: Mapping[str, object], function: Mapping[str, Any] | None = None
) -> Settings:
    """Return the settings in effect for a command that makes a plan.

    The parameters are the parameters of effective_values.
    Raises UserError as settings_of and with_hash_key do. Also raises UserError if `naming` is
    SEQUENCE and --previous is not set.
    """
    settings = with_hash_key(settings_of(config, given, function), given)
    if settings.naming == SEQUENCE and not settings.history.previous:
        raise UserError(
            'naming is "sequence", but --previous is not set',
            "Pass the previous output with --previous. For the first release, pass an empty file",
        )
    return settings


def check_function_call(stream: Stream) -> None:
    """Raise UserError if the input of `fn` is not a ResourceList, or if `items` is not a list.

    A ResourceList without `items` is valid.
    """
    parsed = _parsed_list(stream)
    if parsed is None:
        raise UserError(
            "the input is not a ResourceList",
            "Pass manifests to `postrender render`. Run `postrender fn` only in kustomize or kpt",
            Location(stream.source),
        )
    from postrender.yaml.paths import value_at

    items = value_at(parsed.data, ("items",))
    if items is not None and not isinstance(items, list):
        actual = "a mapping" if isinstance(items, dict) else "a single value"
        raise UserError(
            f"the value is {actual}, expected a list of objects",
            "Write the objects as a list",
            parsed.location_of(("items",)),
        )


def _parsed_list(stream: Stream) -> ParsedDocument | None:
    """Return the parsed ResourceList in a stream, None if the stream is not a ResourceList."""
    if not any("ResourceList" in document.text for document in stream.documents):
        return None
    from postrender.krm.resource_list import parsed_list

    return parsed_list(stream)


def check_not_a_function(stream: Stream) -> None:
    """Raise UserError for a functionConfig with settings.

    Only `postrender fn` reads a functionConfig.
    """
    if _parsed_list(stream) is not None:
        from postrender.krm.function import check_no_function_config

        check_no_function_config(stream)
