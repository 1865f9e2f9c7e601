"""`postrender config rbac`: the permissions of all attachers in a namespace."""

from __future__ import annotations

from postrender.cli.options import CHOICE, Command, Option, settings_options
from postrender.cli.report import DONE, report_warning, write
from postrender.cli.settings import report_ignored, settings_of
from postrender.yaml.emit import block_text

COMMAND = Command(
    "config rbac",
    "Print the attachers' Role and RoleBinding.",
    details=(
        "Apply the output once to each namespace with an attacher. Set attacher.rbac.create to "
        "false, so that the releases do not contain a Role. The output also contains the "
        "ServiceAccount, if attacher.serviceAccount does not set a name and does not set create to "
        "false."
    ),
    example="postrender config rbac --namespace=prod | kubectl apply -f -",
    options=(
        *settings_options("config", "untrusted", "namespace", "secrets"),
        Option(
            "mode",
            "Print the permissions for this attacher.mode. auto needs the permissions of hook and "
            "job.",
            CHOICE,
            choices=("auto", "hook", "job"),
            default_text="attacher.mode in the configuration",
        ),
    ),
)


def run(config: str | None, mode: str | None, **given: object) -> int:
    """Return DONE after printing the objects as YAML documents.

    mode: the form of the Job, None for the setting `attacher.mode`.
    Raises UserError for invalid settings.
    """
    from postrender.plan.admission import rbac_objects

    settings = settings_of(config, given)
    report_ignored(settings.findings)
    attacher = settings.attacher
    if settings.file and attacher.creates_rbac:
        report_warning(
            f"{settings.file} does not set attacher.rbac.create to false, so each release still "
            "creates a Role",
            "Set attacher.rbac.create to false",
        )
    attacher = attacher._replace(mode=mode or attacher.mode)
    objects = rbac_objects(attacher, settings.namespace, with_secrets=settings.with_secrets)
    write([f"---\n{block_text(data)}\n" for data in objects])
    return DONE
