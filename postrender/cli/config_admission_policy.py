"""`postrender config admission-policy`: a policy that limits the writes of attachers."""

from __future__ import annotations

from postrender.cli.options import Command, settings_options
from postrender.cli.report import DONE, write
from postrender.cli.settings import report_ignored, settings_of
from postrender.yaml.emit import block_text

COMMAND = Command(
    "config admission-policy",
    "Print a policy for the attachers' writes.",
    details=(
        "The output is a ValidatingAdmissionPolicy, and needs Kubernetes 1.30 or later. The policy "
        "limits every ServiceAccount with a name that ends in -attach. If releases create the "
        "ServiceAccount in attacher.serviceAccount.name, the policy also limits this "
        "ServiceAccount. Without --namespace, the policy applies to all namespaces."
    ),
    example="postrender config admission-policy --namespace=prod | kubectl apply -f -",
    options=settings_options("config", "untrusted", "namespace"),
)


def run(config: str | None, **given: object) -> int:
    """Return DONE after printing the policy as YAML documents.

    Raises UserError for invalid settings.
    """
    from postrender.plan.admission import policy_objects

    settings = settings_of(config, given)
    report_ignored(settings.findings)
    objects = policy_objects(settings.attacher, settings.namespace)
    write([f"---\n{block_text(data)}\n" for data in objects])
    return DONE
