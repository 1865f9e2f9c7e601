"""A preview written by hand that has one of everything, for the tests of the formats."""

from __future__ import annotations

from postrender.diff.model import (
    ADDED,
    CHANGED,
    CONFIG,
    DROPPED,
    ENDS,
    ENV,
    HOOK,
    IMAGE,
    NEW,
    NEXT_PODS,
    NEXT_RUN,
    NO_PODS,
    REFUSED,
    REMOVED,
    RETAINED,
    REUSED,
    ROLLS,
    STARTS,
    STAYS,
    SUPERSEDED,
    TEMPLATE,
    UNCHANGED,
    Blob,
    Cause,
    ContentChange,
    Edge,
    FieldChange,
    Graph,
    GraphNode,
    Hunk,
    KeyChange,
    Line,
    ObjectChange,
    Preview,
    RevisionChange,
    Undecided,
    WorkloadChange,
)
from postrender.kubernetes.kinds import Identity

CONFIG_MAP = Identity("", "ConfigMap", None, "web-config")
BINARY = Identity("", "ConfigMap", None, "web-logo")
HOSTILE = Identity("", "ConfigMap", "shop", "web-html")
MOVED = Identity("", "ConfigMap", None, "jobs-config")
FLAGS = Identity("", "ConfigMap", None, "flags")
SECRET = Identity("", "Secret", None, "web-database")
ROLLOUT = Identity("argoproj.io", "Rollout", None, "web")
WORKER = Identity("apps", "Deployment", None, "worker")
BEHIND = Identity("apps", "Deployment", None, "web-template")
AGENT = Identity("apps", "DaemonSet", "kube-system", "agent")
CRON = Identity("batch", "CronJob", None, "report")
JOB = Identity("batch", "Job", None, "migrate")
HOOK_JOB = Identity("batch", "Job", None, "smoke-test")
OLD_API = Identity("apps", "StatefulSet", None, "cache")
SERVICE = Identity("", "Service", None, "web")
ROLE = Identity("rbac.authorization.k8s.io", "Role", None, "reader")

CHART = FieldChange('metadata.labels["helm.sh/chart"]', CHANGED, "shop-1.2.3", "shop-1.2.4")
"""What a new version of a chart changes in all that it makes."""

TEXT_HUNK = Hunk(
    3,
    5,
    3,
    6,
    (
        Line(" ", 3, 3, "database:"),
        Line(" ", 4, 4, "  poolSize: 10"),
        Line("-", 5, 0, "  timeout: 30s"),
        Line("+", 0, 5, "  timeout: 5s"),
        Line("+", 0, 6, "  retries: 3\t# \u00fcber `all` of them"),
        Line(" ", 6, 7, "queue:"),
        Line(" ", 7, 8, "  url: amqp://queue"),
    ),
)
HOSTILE_HUNK = Hunk(
    1,
    2,
    1,
    4,
    (
        Line("-", 1, 0, "<p>old</p>"),
        Line("-", 2, 0, "```", is_open=True),
        Line("+", 0, 1, "</script><script>alert(1)</script><!-- & \"'"),
        Line("+", 0, 2, "````markdown | a table </details> @someone #1"),
        Line("+", 0, 3, "\x1b[31mred\x07 \u202e right to left, " + "long " * 60),
        Line("+", 0, 4, "", is_open=True),
    ),
)


def sample() -> Preview:
    """Return a preview that has one of everything."""
    timeout = FieldChange("spec.template.spec.terminationGracePeriodSeconds", CHANGED, 30, 60)
    volume = FieldChange(
        "spec.template.spec.volumes[name=jobs]",
        REMOVED,
        {"name": "jobs", "configMap": {"name": "jobs-config"}},
        None,
    )
    return Preview(
        "main.yaml",
        "head.yaml",
        contents=(
            ContentChange(
                CONFIG_MAP,
                CHANGED,
                "rename",
                "web-config-m567dfc6df",
                "web-config-7f89tk7g74",
                (
                    KeyChange("LOG_LEVEL", REMOVED, (_lines("-", "debug"),)),
                    KeyChange("application.yaml", CHANGED, (TEXT_HUNK,)),
                    KeyChange("feature.json", ADDED, (_lines("+", '{"new": true}'),)),
                ),
                (FieldChange("metadata.labels.team", CHANGED, "a", "b"),),
                (ROLLOUT,),
            ),
            ContentChange(
                BINARY,
                CHANGED,
                "rename",
                "web-logo-8cd7tc6dk6",
                "web-logo-b27mm5ctgg",
                (KeyChange("logo.png", CHANGED, (), Blob(2048, "ab" * 32), Blob(4096, "cd" * 32)),),
                (),
                (ROLLOUT,),
            ),
            ContentChange(
                HOSTILE,
                CHANGED,
                "ignore",
                "web-html",
                "web-html",
                (KeyChange("index.html", CHANGED, (HOSTILE_HUNK,)),),
                (),
                (AGENT,),
                "its name stays, so that nothing rolls",
            ),
            ContentChange(MOVED, ADDED, "rename", "", "jobs-config-6ct58987ht", (), (), (WORKER,)),
            ContentChange(FLAGS, REMOVED, "rename", "flags-9g67k2htb6", "", (), (), (ROLLOUT,)),
            ContentChange(SECRET, CHANGED, "rename", "", "", (), (), (ROLLOUT,)),
        ),
        workloads=(
            WorkloadChange(
                ROLLOUT,
                CHANGED,
                ROLLS,
                (
                    Cause(
                        CONFIG,
                        CONFIG_MAP,
                        what="its content changes",
                        keys=("LOG_LEVEL", "application.yaml", "feature.json"),
                    ),
                    Cause(CONFIG, FLAGS, what="it is no longer named"),
                    Cause(CONFIG, SECRET, what="its content changes"),
                    Cause(IMAGE, container="app", old="shop/web:1.4.0", new="shop/web:1.5.0"),
                    Cause(ENV, container="app", what="LOG_FORMAT", old="text", new="json"),
                    Cause(ENV, container="app", what="TOKEN", old="a", new=None),
                    Cause(TEMPLATE, field=timeout),
                ),
                via=BEHIND,
                fields=(
                    FieldChange("spec.replicas", CHANGED, 2, 3),
                    FieldChange("spec.strategy.canary.steps[0]", ADDED, None, {"setWeight": 10}),
                ),
            ),
            WorkloadChange(BEHIND, CHANGED, NO_PODS, (Cause(TEMPLATE, field=timeout),)),
            WorkloadChange(WORKER, CHANGED, ROLLS, (Cause(TEMPLATE, field=volume),)),
            WorkloadChange(AGENT, UNCHANGED, STAYS, in_place=(HOSTILE,), fields=()),
            WorkloadChange(OLD_API, CHANGED, NEXT_PODS, (Cause(TEMPLATE, field=timeout),)),
            WorkloadChange(CRON, ADDED, STARTS),
            WorkloadChange(
                JOB,
                CHANGED,
                REFUSED,
                (Cause(IMAGE, container="migrate", old="shop/web:1.4.0", new="shop/web:1.5.0"),),
            ),
            WorkloadChange(
                HOOK_JOB,
                CHANGED,
                HOOK,
                (Cause(IMAGE, container="test", old="shop/web:1.4.0", new="shop/web:1.5.0"),),
            ),
            WorkloadChange(
                Identity("batch", "CronJob", None, "cleanup"),
                CHANGED,
                NEXT_RUN,
                (Cause(CONFIG, MOVED, what="it is named now"),),
            ),
            WorkloadChange(Identity("apps", "Deployment", None, "legacy"), REMOVED, ENDS),
        ),
        revisions=(
            RevisionChange(CONFIG_MAP, "web-config-7f89tk7g74", NEW),
            RevisionChange(CONFIG_MAP, "web-config-m567dfc6df", SUPERSEDED, True),
            RevisionChange(CONFIG_MAP, "web-config-b27mm5ctgg", RETAINED, True),
            RevisionChange(CONFIG_MAP, "web-config-6mtk2m274t", DROPPED),
            RevisionChange(BINARY, "web-logo-b27mm5ctgg", NEW),
            RevisionChange(MOVED, "jobs-config-6ct58987ht", REUSED),
            RevisionChange(FLAGS, "flags-9g67k2htb6", SUPERSEDED),
            RevisionChange(SECRET, "", NEW),
        ),
        objects=(
            ObjectChange(
                SERVICE, CHANGED, (FieldChange("spec.ports[name=http].port", CHANGED, 80, 81),)
            ),
            ObjectChange(ROLE, ADDED),
            ObjectChange(Identity("networking.k8s.io", "Ingress", None, "web"), REMOVED),
        ),
        undecided=(
            Undecided(
                "head.yaml:12 (document 2, Rollout/web)",
                "names ConfigMap/other, which the stream has, but one of the two has a namespace "
                "and the other none: left alone",
                "say which is the release's with --namespace",
            ),
        ),
        graph=Graph(
            (
                GraphNode(ROLLOUT, "workload", CHANGED, ROLLS),
                GraphNode(BEHIND, "workload", CHANGED, NO_PODS),
                GraphNode(WORKER, "workload", CHANGED, ROLLS),
                GraphNode(AGENT, "workload", UNCHANGED, STAYS),
                GraphNode(CONFIG_MAP, "config", CHANGED),
                GraphNode(FLAGS, "config", REMOVED),
                GraphNode(MOVED, "config", ADDED),
                GraphNode(HOSTILE, "config", CHANGED),
                GraphNode(SECRET, "config", CHANGED),
                GraphNode(ROLE, "other", ADDED),
            ),
            (
                Edge(0, 1, "workloadRef"),
                Edge(1, 4, "volume"),
                Edge(1, 5, "envFrom", REMOVED),
                Edge(1, 8, "env"),
                Edge(2, 6, "envFrom", ADDED),
                Edge(3, 7, "volume"),
                Edge(9, 4, "resourceNames", ADDED),
            ),
        ),
    )


def _lines(sign: str, *texts: str) -> Hunk:
    """Return a hunk of lines that are all added or all removed."""
    is_new = sign == "+"
    numbered = enumerate(texts, 1)
    lines = [Line(sign, 0 if is_new else at, at if is_new else 0, text) for at, text in numbered]
    counts = (0, 0, 1, len(lines)) if is_new else (1, len(lines), 0, 0)
    return Hunk(*counts, tuple(lines))
