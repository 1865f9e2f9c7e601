"""`postrender check`: print findings, and fail on findings that put pods at risk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from postrender import __version__
from postrender.cli.options import (
    FILENAME,
    PLANNING,
    Argument,
    command,
    output_option,
    settings_options,
)
from postrender.cli.progress import progress
from postrender.cli.render import check_content, plan_before_delivery, strict_error
from postrender.cli.report import (
    DONE,
    FAULT,
    FOUND,
    report_error,
    report_finding,
    write_for_reader,
)
from postrender.cli.settings import render_settings, report_configuration
from postrender.config.settings import Settings
from postrender.diff.risks.broken_reference import find_missing_keys
from postrender.diff.risks.facts import Object, objects_of
from postrender.diff.risks.misspelt import find_misspelt
from postrender.errors import CODES, ERROR, Finding, Location, UserError
from postrender.inventory.build import Inventory, refuse_templates, take_inventory
from postrender.inventory.fields import find_invalid_fields
from postrender.inventory.notes import find_idle_rules, find_no_objects
from postrender.kubernetes.kinds import Identity, roots_of
from postrender.plan.namespaces import Resolver
from postrender.sources.charts import find_unused_configuration
from postrender.sources.inputs import STDIN, read_inputs
from postrender.sources.paths import ChartError, chart_error
from postrender.text import JSON_ESCAPES, printable, visible_json
from postrender.yaml.paths import Path
from postrender.yaml.stream import Source, read_streams

# The code of an error in the formats for programs, which have a code for each finding.
_UNREADABLE = "unreadable"

Result = TypeVar("Result")


@command(
    "check",
    "Fail on findings that put pods at risk.",
    details=(
        "Each FILE is a file, a folder, git:REF:PATH, or - for stdin, with input or output of "
        "postrender. Without a FILE, check reads stdin. All FILEs together are one application. If "
        "two of them contain the same object, each folder, or else each file, is an application. "
        "check does not append the attacher, and reports no findings about the attacher."
    ),
    example="postrender check rendered/*.yaml",
    arguments=(Argument("files", "[FILE|FOLDER]...", default="-", is_many=True),),
    options=(
        FILENAME._replace(
            help="Read this file in addition to each FILE. Repeatable.", is_repeated=True
        ),
        output_option(("text", "json", "sarif")),
        *settings_options(*PLANNING, "kube-context", "kubeconfig", "allow-empty", "log-file"),
    ),
)
def check(files: tuple[str, ...], form: str, config: str | None, **given: object) -> int:
    settings = render_settings(config, given)
    # Findings about the attacher would be wrong, because check does not append the attacher.
    attacher = settings.attacher._replace(is_enabled=False)
    settings = settings._replace(is_strict=True, attacher=attacher)
    with progress("postrender checks the manifests"):
        findings = _all_findings(files or ("-",), settings, config)
    is_text = form == "text"
    if is_text and any(finding.code for finding in findings):
        report_configuration(settings)  # the configuration can cause findings
    for finding in findings:
        if not finding.code and is_text:
            location = finding.location if finding.location.source else None
            report_error(UserError(finding.problem, finding.fix, location))
        else:
            report_finding(finding, is_failure=finding.strict, is_printed=is_text)
    if not is_text:
        document = _json(findings, settings) if form == "json" else _sarif(findings)
        write_for_reader(visible_json(document), JSON_ESCAPES)
    failing = [finding for finding in findings if finding.strict and finding.code]
    summary = strict_error(failing, cause="", fix="Apply the fix of each error above")
    if summary and is_text:
        report_error(summary)
    if not all(finding.code for finding in findings):
        return FAULT
    return FOUND if failing else DONE


def _all_findings(names: Sequence[str], settings: Settings, config: str | None) -> list[Finding]:
    """The findings about all inputs, in the order of the inputs.

    strict: whether the finding is an error. An input that cannot be read has no code.
    """
    readable: list[tuple[Source, Inventory]] = []
    mistakes: list[Finding] = []
    order: dict[str, int] = {}
    for name in names:
        found, errors = _tried(_read, name)
        mistakes += errors
        order.setdefault(name, len(order))
        for source in found or ():
            if source.name in order and source.name != name:
                continue  # a file of a folder that is an input too
            order.setdefault(source.name, len(order))
            inventory, errors = _tried(_inventory, source, settings)
            mistakes += errors
            readable += [(source, inventory)] if inventory else []
    if not (
        settings.allow_empty or mistakes or not all(one.stream.is_empty for _, one in readable)
    ):
        fix = "Check the command that wrote the files, or pass --allow-empty"
        location = Location(names[0] if len(names) == 1 else "")
        return [Finding("", "the input is empty", fix, location, strict=True)]
    streams = [one.stream for _, one in readable if not one.stream.is_empty]
    # Nothing is checked, perhaps because of a wrong path.
    is_idle = all(map(find_no_objects, streams)) and not settings.allow_empty
    applications = [*_applications(readable)]
    idle_rules = Counter[str]()  # a configuration can be for several applications
    for application in applications:
        findings, errors = _tried(_findings, application, settings, config)
        idle_rules.update(one.problem for one in findings or () if one.code == "idle-rule")
        mistakes += (
            one._replace(strict=True) if is_idle and one.code == "no-objects" else one
            for one in findings or ()
            if one.code != "idle-rule" or idle_rules[one.problem] == len(applications)
        )
        mistakes += errors
    return sorted(
        mistakes,
        key=lambda one: (order.get(one.location.source, len(order)), one.location.line),
    )


def _tried(
    function: Callable[..., Result], *arguments: object
) -> tuple[Result | None, list[Finding]]:
    """The result of a function, or its UserError as a finding without a code."""
    try:
        return function(*arguments), []
    except UserError as error:
        location = error.location or Location("")
        return None, [Finding("", error.problem, error.fix, location, strict=True)]


def _read(name: str) -> tuple[Source, ...]:
    try:
        return read_inputs(name, allow_empty=True)
    except ChartError as error:
        raise chart_error(error.chart, "check") from None


def _inventory(source: Source, settings: Settings) -> Inventory:
    """The objects of one file. UserError for a file that is not YAML, or is a template."""
    stream = read_streams([source], printable(source.name))
    # Empty stdin usually means that a command has failed. An empty file is not an error.
    if source.name == STDIN:
        check_content(stream, settings)
    inventory = take_inventory(stream, settings)
    refuse_templates(inventory)
    return inventory


def _applications(sources: list[tuple[Source, Inventory]]) -> Iterator[list[Source]]:
    """The files that belong together: all, those of a folder, or each one.

    The same object in two files means that the files are for different clusters or releases.
    """
    if not _share_objects(inventory for _, inventory in sources):
        yield [source for source, _ in sources]
        return
    folders: dict[str, list[tuple[Source, Inventory]]] = {}
    for source, inventory in sources:
        folders.setdefault(source.name.rpartition("/")[0], []).append((source, inventory))
    for parts in folders.values():
        together = [source for source, _ in parts]
        is_alone = _share_objects(inventory for _, inventory in parts)
        yield from ([source] for source in together) if is_alone else [together]


def _share_objects(inventories: Iterable[Inventory]) -> bool:
    """Whether an object is in several inventories."""
    files: Counter[Identity] = Counter()
    for inventory in inventories:
        files.update({item.identity for item in inventory.items if not item.has_generated_name})
    return any(count > 1 for count in files.values())


def _findings(sources: list[Source], settings: Settings, config: str | None) -> list[Finding]:
    """The findings about one application."""
    stream = read_streams(sources, printable(sources[0].name) if sources else "")
    plan = plan_before_delivery(stream, settings._replace(allow_empty=True))
    parts = [read_streams([source], printable(source.name)) for source in sources]
    invalid = [*find_invalid_fields(plan.inventory)]
    explained = {finding.location.source for finding in invalid}
    return [
        *(finding for finding in plan.findings if finding.code != "no-objects"),
        *(
            finding
            for finding in filter(None, map(find_no_objects, parts))
            if finding.location.source not in explained
        ),
        *find_idle_rules(plan.inventory, settings),
        *invalid,
        *_find_broken(plan.inventory, settings),
        *find_unused_configuration([stream], settings, config),
    ]


def _find_broken(inventory: Inventory, settings: Settings) -> Iterator[Finding]:
    """A finding for each key that a ConfigMap does not have, and for each misspelt name."""
    places: dict[int, tuple[int, Path]] = {}
    objects: list[Object] = []
    for index in range(len(inventory.stream.texts)):
        with suppress(UserError):  # the program that applies the manifests reports this error
            data = inventory.document(index).data
            places |= {id(root): (index, path) for path, root in roots_of(data)}
            objects += objects_of(data)

    def location_of(item: Object, path: Path) -> Location:
        index, start = places[id(item.data)]
        return inventory.document(index).location_of((*start, *path))

    resolver = Resolver(settings.namespace)
    for item, problem, path in find_missing_keys(objects, resolver):
        yield Finding(
            code="broken-reference",
            problem=problem,
            fix="Add the key, or correct the reference. If pods can start without the key, set "
            "optional: true",
            location=location_of(item, path),
            strict=True,
        )
    for item, use, similar in find_misspelt(objects, resolver):
        kind = similar.identity.kind
        yield Finding(
            code="broken-reference",
            problem=f"the input has no {kind}/{use.name}, and nothing uses {similar.identity}, "
            "which has a similar name",
            fix=f"If the {kind} is meant, correct the name in the reference. If {kind}/{use.name} "
            "exists in the cluster, ignore this warning",
            location=location_of(item, use.path),
        )


def _severity(finding: Finding) -> str:
    return ERROR if finding.strict else finding.severity


def _json(findings: Sequence[Finding], settings: Settings) -> Mapping[str, Any]:
    """The document of check.schema.json."""
    return {
        "version": 1,
        "configuration": settings.configuration,
        "findings": [
            {
                "code": finding.code or _UNREADABLE,
                "severity": _severity(finding),
                "file": finding.location.source,
                "line": finding.location.line,
                "document": finding.location.document,
                "template": finding.location.template,
                "object": finding.location.subject,
                "path": finding.location.path,
                "problem": finding.problem,
                "fix": finding.fix,
            }
            for finding in findings
        ],
    }


def _sarif(findings: Sequence[Finding]) -> Mapping[str, Any]:
    """A log in SARIF 2.1.0, which code scanning services read."""
    from urllib.parse import quote

    meanings = {_UNREADABLE: "check cannot read the input", **CODES}
    codes = dict.fromkeys(finding.code or _UNREADABLE for finding in findings)
    rules = [{"id": code, "shortDescription": {"text": meanings[code]}} for code in codes]
    driver = {"name": "postrender", "version": __version__, "rules": rules}
    results = [
        {
            "ruleId": finding.code or _UNREADABLE,
            "level": _severity(finding),
            "message": {"text": f"{finding.problem}. {finding.fix}."},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": quote(finding.location.source or STDIN)},
                        "region": {"startLine": max(finding.location.line, 1)},
                    }
                }
            ],
        }
        for finding in findings
    ]
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
