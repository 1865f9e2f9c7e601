"""`postrender attach`: what the appended Job runs in the cluster."""

from __future__ import annotations

import sys

from postrender.cli.options import CHOICE, REPEATED, SWITCH, Command, Option

COMMAND = Command(
    "attach",
    """Own the revisions in the cluster, so that they live as long as anything names them.

    This is what the appended Job runs; outside of a Pod it uses the kubeconfig. Also takes the
    options and the environment of the original configmap-attacher: -rollout, -namespace,
    -configmaps; IS_IN_CLUSTER, LOG_LEVEL, VERSION, JOB_NAME.
    """,
    options=(
        Option(
            "group",
            "The label postrender/attach-group of its revisions.",
            metavar="NAME",
            has_one_dash=True,
            own_parameter="group_name",
        ),
        Option(
            "namespace",
            "Where  [default: the Pod's, or the kubeconfig's]",
            metavar="NAMESPACE",
            variable="POSTRENDER_NAMESPACE",
            has_one_dash=True,
        ),
        Option(
            "workload",
            "A workload, its render id, and the revisions that it names: "
            "Rollout/web@8396ba243e=configmap/web-a,configmap/web-b. Any number.",
            REPEATED,
            metavar="KIND/NAME@ID=…",
            has_one_dash=True,
            own_parameter="workloads",
        ),
        Option(
            "emitted",
            "What else was applied, and is never deleted: configmap/web-c.",
            REPEATED,
            metavar="KIND/NAME,…",
            has_one_dash=True,
        ),
        Option(
            "rollout",
            "A Rollout whose render id is not known.",
            metavar="NAME",
            default="",
            has_one_dash=True,
        ),
        Option(
            "configmaps",
            "The ConfigMaps that -rollout names.",
            metavar="NAME,…",
            default="",
            has_one_dash=True,
        ),
        Option(
            "timeout",
            "How long to wait: 90s (default), 2m.",
            metavar="TIME",
            default="90s",
            has_one_dash=True,
        ),
        Option(
            "on-failure",
            "report: exit 0 if it was recorded as an Event  [default: fail]",
            CHOICE,
            metavar="fail|report",
            default="fail",
            choices=("report", "fail"),
            has_one_dash=True,
        ),
        Option(
            "delete-finished-jobs",
            "Delete Jobs of the set that this run replaces.",
            SWITCH,
            default=False,
            has_one_dash=True,
        ),
        Option(
            "no-prune",
            "Write owners, but only report what is unused.",
            SWITCH,
            default=False,
            has_one_dash=True,
        ),
    ),
)


def run(
    group_name: str | None,
    namespace: str | None,
    workloads: tuple[str, ...],
    emitted: tuple[str, ...],
    rollout: str,
    configmaps: str,
    timeout: str,
    on_failure: str,
    delete_finished_jobs: bool,
    no_prune: bool,
) -> int:
    """Run the command and return its exit code."""
    from postrender.attach.command import read_request, run_attach

    request = read_request(
        group_name=group_name,
        workloads=workloads,
        emitted=emitted,
        timeout=timeout,
        rollout=rollout,
        config_maps=configmaps,
        prunes=not no_prune,
        deletes_finished_jobs=delete_finished_jobs,
    )
    fails = on_failure == "fail"
    return run_attach(request, namespace, fails=fails, arguments=sys.argv[1:])
