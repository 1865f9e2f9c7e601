"""`postrender config rbac`: the permissions of all attachers in a namespace."""

from __future__ import annotations

from postrender.cli.options import CHOICE, Command, Option, settings_options
from postrender.cli.pipes import write
from postrender.cli.registry import DONE
from postrender.cli.reporting import report_warning
from postrender.cli.values import report_ignored, settings_of
from postrender.yaml.emit import block_text

COMMAND = Command(
    "config rbac",
    "Print the attachers' Role and RoleBinding.",
    details=(
        "Apply the output once to each namespace, and set attacher.rbac.create: false for the "
        "releases in the namespace. The releases then do not contain a Role. The output has the "
        "ServiceAccount too, unless attacher.serviceAccount has a name or create: false."
    ),
    example="postrender config rbac --namespace=prod | kubectl apply -f -",
    options=(
        *settings_options("config", "untrusted", "namespace", "secrets"),
        Option(
            "mode",
            "Print permissions for this form of the Job.",
            CHOICE,
            choices=("auto", "hook", "job"),
            default_text="attacher.mode, where auto covers both forms",
        ),
    ),
)


def run(config: str | None, mode: str | None, **given: object) -> int:
    """Print the objects as YAML documents, and return DONE.

    mode: the form of the Job, None for the setting `attacher.mode`.
    Raises UserError for invalid settings.
    """
    from postrender.plan.attacher_rbac import rbac_objects

    settings = settings_of(config, given)
    report_ignored(settings.findings, settings.log_file)
    attacher = settings.attacher
    if settings.file and attacher.creates_rbac:
        report_warning(
            f"{settings.file} does not set attacher.rbac.create: false, so releases create Roles",
            "Set attacher.rbac.create: false",
        )
    attacher = attacher._replace(mode=mode or attacher.mode)
    objects = rbac_objects(attacher, settings.namespace, with_secrets=settings.with_secrets)
    write([f"---\n{block_text(data)}\n" for data in objects])
    return DONE
