"""`postrender diff`: a preview of the effects of a change in manifests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from postrender.cli.options import (
    PLANNING,
    SWITCH,
    Argument,
    Option,
    command,
    output_option,
    settings_options,
)
from postrender.cli.progress import progress
from postrender.cli.render import check_content
from postrender.cli.report import (
    CHANGES,
    DONE,
    stdout_terminal,
    write_for_reader,
)
from postrender.cli.settings import (
    FoundConfig,
    config_source,
    report_ignored,
    settings_of,
    side_settings,
    with_hash_key,
)
from postrender.config.settings import Settings
from postrender.diff import SECTIONS
from postrender.diff.build import compare
from postrender.diff.formats import REPORTERS
from postrender.diff.model import only_sections
from postrender.errors import UsageError, UserError
from postrender.sources.charts import find_unused_configuration
from postrender.sources.inputs import STDIN, read_inputs
from postrender.sources.paths import GIT, HELM
from postrender.text import printable
from postrender.yaml.stream import Stream, read_streams


@command(
    "diff",
    "Show which workloads a change rolls.",
    details=(
        "OLD and NEW are a file, a folder of manifests, git:REF:PATH, helm:NAMESPACE/RELEASE, or - "
        "for stdin. Both can be input or output of postrender."
    ),
    example="postrender diff <(helm template shop ./v1) <(helm template shop ./v2)",
    arguments=(Argument("old", "OLD"), Argument("new", "NEW")),
    options=(
        output_option(tuple(REPORTERS)),
        Option(
            "exit-code",
            "Exit with code 4 if anything changes. The code is also 4 if diff cannot compare a "
            "part.",
            SWITCH,
        ),
        Option(
            "fail-on",
            "Exit with code 4 if there is a risk. Repeatable.",
            is_repeated=True,
            choices=("risk",),
            default_text="none",
        ),
        Option(
            "old-config",
            "Use this configuration file for OLD. diff then renders each side with its own file, "
            "and compares the outputs. By default, a git: side has the file of its commit, and any "
            "other side has the file in --config.",
            metavar="FILE|FOLDER",
        ),
        Option(
            "first-release",
            "Preview the first release with postrender. OLD contains the manifests that you have "
            "applied without postrender.",
            SWITCH,
            own_parameter="is_first_release",
        ),
        Option(
            "unified",
            "Show N unchanged lines around each change.",
            metavar="N",
            default=3,
            limit=1_000_000,
            short="U",
            own_parameter="context",
        ),
        Option(
            "only",
            "Show only this section. configmaps includes Secrets. Repeatable.",
            is_repeated=True,
            choices=SECTIONS,
            default_text="all sections",
        ),
        *settings_options(
            *PLANNING,
            "attacher-mode",
            "attacher-image",
            "allow-empty",
            "previous",
            "kube-context",
            "kubeconfig",
            "log-file",
        ),
    ),
)
def diff(
    old: str,
    new: str,
    form: str,
    exit_code: bool,
    fail_on: tuple[str, ...],
    is_first_release: bool,
    context: int,
    only: tuple[str, ...],
    config: str | None,
    old_config: str | None,
    **given: object,
) -> int:
    if old == new == "-":
        raise UsageError(
            "OLD and NEW are both -, expected at most one -", "Pass a file as OLD or NEW"
        )
    old_found = _configuration(old, config if old_config is None else old_config, given)
    found = _configuration(new, config, given)
    settings = with_hash_key(settings_of(found, given), given)
    old_settings = settings if old_found == found else side_settings(old_found, given)
    settings, old_settings = (_in_namespace(one, (old, new)) for one in (settings, old_settings))
    report_ignored(tuple(dict.fromkeys((*settings.findings, *old_settings.findings))))
    with progress("postrender reads OLD and NEW"):
        previous = str(given["previous"] or "")
        if previous and not previous.startswith(HELM):
            from postrender.sources.helm import read_manifests

            read_manifests(previous)  # diff only needs to know that it exists
        sides = [_side(name, settings) for name in (old, new)]
    if not any(side.texts for side in sides):
        raise UserError(
            f"{old} and {new} do not contain manifests",
            "Pass manifests as OLD or NEW",
        )
    report_ignored(find_unused_configuration(sides, settings, config))
    reporter = REPORTERS[form]
    count = sum(len(side.texts) for side in sides)
    with progress(f"postrender compares {count:,} documents"):
        preview = compare(
            sides[0],
            sides[1],
            settings,
            context,
            old_settings=old_settings,
            is_first_release=is_first_release,
        )
        preview = only_sections(preview, only)
        text = reporter.render(preview, stdout_terminal())
    write_for_reader(text, reporter.escapes)
    is_failure = (exit_code and preview.has_changes) or (fail_on and preview.risks)
    return CHANGES if is_failure else DONE


def _configuration(side: str, config: str | None, given: Mapping[str, object]) -> FoundConfig:
    """The configuration for a side; config: the file that the user chose for the side."""
    if config is None and side.startswith(GIT):
        from postrender.sources.git import find_git_config

        return find_git_config(side, is_untrusted=bool(given.get("untrusted"))), ()
    return config_source(config, given)


def _side(name: str, settings: Settings) -> Stream:
    if name.startswith(HELM):
        from postrender.sources.helm import read_release

        sources = read_release(name, settings)
    else:
        sources = read_inputs(name, allow_empty=settings.allow_empty)
    stream = read_streams(sources, STDIN if name == "-" else printable(name))
    check_content(stream, settings)
    return stream


def _in_namespace(settings: Settings, sides: Iterable[str]) -> Settings:
    """Settings with the namespace of the Helm release, unless the user has set one."""
    namespaces = [name[len(HELM) :].partition("/")[0] for name in sides if name.startswith(HELM)]
    return settings._replace(namespace=settings.namespace or (*namespaces, "")[0])
