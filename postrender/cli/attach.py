"""`postrender attach`: the command that the attacher Job runs in the cluster."""

from __future__ import annotations

import sys
from typing import Any

from postrender.attach.command import run_attach
from postrender.attach.request import read_request
from postrender.cli.options import CLUSTER, SWITCH, Option, command
from postrender.cli.report import is_quiet, report_bug
from postrender.errors import UsageError


@command(
    "attach",
    "Keep used revisions, delete unused revisions.",
    details=(
        "The command adds owners to the revisions that objects use. The Job that render appends to "
        "the output runs this command in the cluster. Outside of a Pod, the command uses the "
        "kubeconfig. For compatibility with the tool configmap-attacher, the command also reads "
        "the environment variables IS_IN_CLUSTER, LOG_LEVEL, VERSION and JOB_NAME, and its options "
        "can begin with one dash."
    ),
    example="postrender attach --rollout=shop --configmaps=shop-app-m567dfc6df -n prod",
    options=(
        Option(
            "group",
            "Set the attach group. NAME is the name in render --group, or the value of the label "
            "postrender/attach-group.",
            metavar="NAME",
            default="",
            own_parameter="group_name",
        ),
        *CLUSTER,
        Option(
            "workload",
            "Make a workload an owner of revisions. ID is the render ID of the workload. "
            "Example: Rollout/web@8396ba243e=configmap/web-a,configmap/web-b. Repeatable.",
            is_repeated=True,
            metavar="KIND/NAME@ID=…",
            own_parameter="workloads",
        ),
        Option(
            "emitted",
            "Do not delete these revisions. Pass each revision of the manifests that is not in a "
            "--workload option, such as configmap/web-c. Repeatable.",
            is_repeated=True,
            metavar="KIND/NAME,…",
        ),
        Option(
            "release-owner",
            "Make this object an owner of every revision. The object must exist as long as the "
            "release.",
            metavar="KIND/NAME",
            default="",
        ),
        Option(
            "retired",
            "Delete these Secrets when unused. If the setting `secrets` was switched off, pass the "
            "revisions of Secrets in earlier manifests, such as secret/web-d. Repeatable.",
            is_repeated=True,
            metavar="KIND/NAME,…",
        ),
        Option(
            "rollout",
            "Make this Rollout an owner of ConfigMaps. Pass the ConfigMaps with --configmaps.",
            metavar="NAME",
            default="",
        ),
        Option(
            "configmaps",
            "Add an owner to these ConfigMaps. Pass the owner with --rollout.",
            metavar="NAME,…",
            default="",
            own_parameter="config_maps",
        ),
        Option(
            "timeout",
            "Wait this long for the workloads. Examples are 90s and 2m.",
            metavar="TIME",
            default="90s",
        ),
        Option(
            "on-failure",
            "Choose which failures cause exit code 1. With fail, every failure causes exit code 1. "
            "With report, only two failures cause exit code 1, and the log and Events have the "
            "others. The two failures are a missing revision that an object references, and a "
            "ConfigMap of another program with the name of a revision.",
            metavar="fail|report",
            default="fail",
            choices=("report", "fail"),
        ),
        Option(
            "delete-finished-jobs",
            "Delete superseded Jobs of the attach group. attach deletes only finished Jobs.",
            SWITCH,
            own_parameter="deletes_finished_jobs",
        ),
        Option(
            "no-prune",
            "Keep and report unused revisions. attach still adds owners.",
            SWITCH,
        ),
    ),
    has_one_dash=True,
)
def attach(
    namespace: str | None,
    kube_context: str | None,
    kubeconfig: str | None,
    on_failure: str,
    no_prune: bool,
    **given: Any,
) -> int:
    fails = on_failure == "fail"
    request = read_request(**given, prunes=not no_prune)
    try:
        return run_attach(
            request,
            namespace,
            kube_context,
            kubeconfig,
            fails=fails,
            is_quiet=is_quiet(),
            arguments=sys.argv[1:],
        )
    except UsageError:
        raise
    except Exception as error:
        # A bug of the attacher must not fail the release of a healthy application.
        if fails:
            raise
        report_bug(error)
        return 0
