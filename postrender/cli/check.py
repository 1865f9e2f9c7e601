"""`postrender check`: print findings, and fail on findings that put pods at risk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from postrender.cli.options import FILENAME, REPEATED, Argument, command, settings_options
from postrender.cli.render import plan_before_delivery, report_findings
from postrender.cli.report import DONE, FAULT, report_error
from postrender.cli.settings import render_settings, report_configuration
from postrender.config.settings import Settings
from postrender.diff.risks.broken_reference import find_missing_keys
from postrender.diff.risks.facts import Object, objects_of
from postrender.errors import Finding, UserError
from postrender.inventory.build import Inventory
from postrender.inventory.notes import find_rejected
from postrender.plan.namespaces import Resolver
from postrender.sources.charts import find_unused_configuration
from postrender.sources.inputs import read_input


@command(
    "check",
    "Fail on findings that put pods at risk.",
    details=(
        "check does not write manifests. Each FILE is input or output of postrender. Without a "
        "FILE, check reads stdin. Unlike `render --strict`, check does not report "
        "findings about the attacher, because check does not append the attacher."
    ),
    example="postrender check rendered/*.yaml",
    arguments=(Argument("files", "[FILE]...", default="-", is_many=True),),
    options=(
        FILENAME._replace(
            help="Read this file in addition to each FILE. Repeatable.", form=REPEATED
        ),
        *settings_options(
            "config",
            "untrusted",
            "namespace",
            "secrets",
            "secrets-hash-key-file",
            "keep-original",
            "kube-context",
            "kubeconfig",
            "allow-empty",
            "log-file",
        ),
    ),
)
def check(files: tuple[str, ...], config: str | None, **given: object) -> int:
    settings = render_settings(config, given)
    # Findings about the attacher would be wrong, because check does not append the attacher.
    attacher = settings.attacher._replace(is_enabled=False)
    settings = settings._replace(is_strict=True, attacher=attacher)
    return max([_check(name, settings, config) for name in files or ("-",)])


def _check(name: str, settings: Settings, config: str | None) -> int:
    """FAULT for an error or a strict finding, otherwise DONE."""
    # Empty stdin usually means that a command has failed. An empty file is not an error.
    settings = settings._replace(allow_empty=settings.allow_empty or name != "-")
    try:
        stream = read_input(name, "check")
        plan = plan_before_delivery(stream, settings)
        rejected = find_rejected(plan.inventory)
        broken = _find_broken(plan.inventory, settings)
        unused = find_unused_configuration(stream, settings, config)
        plan = plan._replace(findings=(*plan.findings, *rejected, *broken, *unused))
        if plan.findings:
            report_configuration(settings)  # the configuration can cause findings
        report_findings(plan, settings, cause="", fix="Apply the fix of each error above")
    except UserError as error:
        report_error(error)
        return FAULT
    return DONE


def _find_broken(inventory: Inventory, settings: Settings) -> Iterator[Finding]:
    """A finding for each key that a pod template uses, and that its ConfigMap does not have."""
    objects: dict[int, list[Object]] = {}
    for index in range(len(inventory.stream.documents)):
        with suppress(UserError):  # the program that applies the manifests reports this error
            objects[index] = list(objects_of(inventory.document(index).data))
    documents = {id(item): index for index, items in objects.items() for item in items}
    every = [item for items in objects.values() for item in items]
    for item, problem, place in find_missing_keys(every, Resolver(settings.namespace)):
        location = inventory.document(documents[id(item)]).location_of(())
        yield Finding(
            code="broken-reference",
            problem=f"{place}: {problem}",
            fix="Add the key, or correct the reference. If pods can start without the key, set "
            "optional: true",
            location=location,
            strict=True,
        )
