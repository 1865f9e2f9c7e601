"""A preview with one of each record, written by hand for the tests of the formats."""

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
    Risk,
    Undecided,
    WorkloadChange,
)
from postrender.kubernetes.kinds import Identity

CONFIG_MAP = Identity(group="", kind="ConfigMap", namespace=None, name="web-config")
BINARY = Identity(group="", kind="ConfigMap", namespace=None, name="web-logo")
HOSTILE = Identity(group="", kind="ConfigMap", namespace="shop", name="web-html")
MOVED = Identity(group="", kind="ConfigMap", namespace=None, name="jobs-config")
FLAGS = Identity(group="", kind="ConfigMap", namespace=None, name="flags")
SECRET = Identity(group="", kind="Secret", namespace=None, name="web-database")
ROLLOUT = Identity(group="argoproj.io", kind="Rollout", namespace=None, name="web")
WORKER = Identity(group="apps", kind="Deployment", namespace=None, name="worker")
BEHIND = Identity(group="apps", kind="Deployment", namespace=None, name="web-template")
AGENT = Identity(group="apps", kind="DaemonSet", namespace="kube-system", name="agent")
CRON = Identity(group="batch", kind="CronJob", namespace=None, name="report")
JOB = Identity(group="batch", kind="Job", namespace=None, name="migrate")
HOOK_JOB = Identity(group="batch", kind="Job", namespace=None, name="smoke-test")
OLD_API = Identity(group="apps", kind="StatefulSet", namespace=None, name="cache")
SERVICE = Identity(group="", kind="Service", namespace=None, name="web")
ROLE = Identity(group="rbac.authorization.k8s.io", kind="Role", namespace=None, name="reader")

CHART = FieldChange(
    path='metadata.labels["helm.sh/chart"]', change=CHANGED, old="shop-1.2.3", new="shop-1.2.4"
)
"""The change that a new chart version makes in every object."""

TEXT_HUNK = Hunk(
    old=3,
    old_count=5,
    new=3,
    new_count=6,
    lines=(
        Line(sign=" ", old=3, new=3, text="database:"),
        Line(sign=" ", old=4, new=4, text="  poolSize: 10"),
        Line(sign="-", old=5, new=0, text="  timeout: 30s"),
        Line(sign="+", old=0, new=5, text="  timeout: 5s"),
        Line(sign="+", old=0, new=6, text="  retries: 3\t# \u00fcber `all` of them"),
        Line(sign=" ", old=6, new=7, text="queue:"),
        Line(sign=" ", old=7, new=8, text="  url: amqp://queue"),
    ),
)
HOSTILE_HUNK = Hunk(
    old=1,
    old_count=2,
    new=1,
    new_count=4,
    lines=(
        Line(sign="-", old=1, new=0, text="<p>old</p>"),
        Line(sign="-", old=2, new=0, text="```", is_open=True),
        Line(sign="+", old=0, new=1, text="</script><script>alert(1)</script><!-- & \"'"),
        Line(sign="+", old=0, new=2, text="````markdown | a table </details> @someone #1"),
        Line(sign="+", old=0, new=3, text="\x1b[31mred\x07 \u202e right to left, " + "long " * 60),
        Line(sign="+", old=0, new=4, text="", is_open=True),
    ),
)


def sample() -> Preview:
    """Return a preview with one of each record."""
    timeout = FieldChange(
        path="spec.template.spec.terminationGracePeriodSeconds", change=CHANGED, old=30, new=60
    )
    volume = FieldChange(
        path="spec.template.spec.volumes[name=jobs]",
        change=REMOVED,
        old={"name": "jobs", "configMap": {"name": "jobs-config"}},
        new=None,
    )
    return Preview(
        "main.yaml",
        "head.yaml",
        contents=(
            ContentChange(
                identity=CONFIG_MAP,
                change=CHANGED,
                strategy="rename",
                old_revision="web-config-m567dfc6df",
                new_revision="web-config-7f89tk7g74",
                keys=(
                    KeyChange("LOG_LEVEL", REMOVED, (_lines("-", "debug"),)),
                    KeyChange("application.yaml", CHANGED, (TEXT_HUNK,)),
                    KeyChange("feature.json", ADDED, (_lines("+", '{"new": true}'),)),
                ),
                fields=(
                    FieldChange(path="metadata.labels.team", change=CHANGED, old="a", new="b"),
                ),
                users=(ROLLOUT,),
            ),
            ContentChange(
                identity=BINARY,
                change=CHANGED,
                strategy="rename",
                old_revision="web-logo-8cd7tc6dk6",
                new_revision="web-logo-b27mm5ctgg",
                keys=(
                    KeyChange(
                        key="logo.png",
                        change=CHANGED,
                        hunks=(),
                        old_blob=Blob(2048, "ab" * 32),
                        new_blob=Blob(4096, "cd" * 32),
                    ),
                ),
                fields=(),
                users=(ROLLOUT,),
            ),
            ContentChange(
                identity=HOSTILE,
                change=CHANGED,
                strategy="ignore",
                reason="workloads do not reference the ConfigMap",
                old_revision="web-html",
                new_revision="web-html",
                keys=(KeyChange("index.html", CHANGED, (HOSTILE_HUNK,)),),
                fields=(),
                users=(AGENT,),
                note="the ConfigMap keeps its name, so this change does not roll workloads",
            ),
            ContentChange(
                identity=MOVED,
                change=ADDED,
                strategy="rename",
                old_revision="",
                new_revision="jobs-config-6ct58987ht",
                keys=(),
                fields=(),
                users=(WORKER,),
            ),
            ContentChange(
                identity=FLAGS,
                change=REMOVED,
                strategy="rename",
                old_revision="flags-9g67k2htb6",
                new_revision="",
                keys=(),
                fields=(),
                users=(ROLLOUT,),
            ),
            ContentChange(
                identity=SECRET,
                change=CHANGED,
                strategy="rename",
                old_revision="",
                new_revision="",
                keys=(),
                fields=(),
                users=(ROLLOUT,),
            ),
        ),
        workloads=(
            WorkloadChange(
                identity=ROLLOUT,
                change=CHANGED,
                effect=ROLLS,
                causes=(
                    Cause(
                        CONFIG,
                        CONFIG_MAP,
                        reason="content changes",
                        keys=("LOG_LEVEL", "application.yaml", "feature.json"),
                    ),
                    Cause(CONFIG, FLAGS, reason="reference removed"),
                    Cause(CONFIG, SECRET, reason="content changes"),
                    Cause(IMAGE, container="app", old="shop/web:1.4.0", new="shop/web:1.5.0"),
                    Cause(ENV, container="app", variable="LOG_FORMAT", old="text", new="json"),
                    Cause(ENV, container="app", variable="TOKEN", old="a", new=None),
                    Cause(TEMPLATE, field=timeout),
                ),
                via=BEHIND,
                fields=(
                    FieldChange(path="spec.replicas", change=CHANGED, old=2, new=3),
                    FieldChange(
                        path="spec.strategy.canary.steps[0]",
                        change=ADDED,
                        old=None,
                        new={"setWeight": 10},
                    ),
                ),
            ),
            WorkloadChange(
                identity=BEHIND,
                change=CHANGED,
                effect=NO_PODS,
                causes=(Cause(TEMPLATE, field=timeout),),
            ),
            WorkloadChange(
                identity=WORKER,
                change=CHANGED,
                effect=ROLLS,
                causes=(Cause(TEMPLATE, field=volume),),
            ),
            WorkloadChange(AGENT, UNCHANGED, STAYS, in_place=(HOSTILE,), fields=()),
            WorkloadChange(
                identity=OLD_API,
                change=CHANGED,
                effect=NEXT_PODS,
                causes=(Cause(TEMPLATE, field=timeout),),
            ),
            WorkloadChange(CRON, ADDED, STARTS),
            WorkloadChange(
                identity=JOB,
                change=CHANGED,
                effect=REFUSED,
                causes=(
                    Cause(IMAGE, container="migrate", old="shop/web:1.4.0", new="shop/web:1.5.0"),
                ),
            ),
            WorkloadChange(
                identity=HOOK_JOB,
                change=CHANGED,
                effect=HOOK,
                causes=(
                    Cause(IMAGE, container="test", old="shop/web:1.4.0", new="shop/web:1.5.0"),
                ),
            ),
            WorkloadChange(
                identity=Identity(group="batch", kind="CronJob", namespace=None, name="cleanup"),
                change=CHANGED,
                effect=NEXT_RUN,
                causes=(Cause(CONFIG, MOVED, reason="reference added"),),
            ),
            WorkloadChange(
                Identity(group="apps", kind="Deployment", namespace=None, name="legacy"),
                REMOVED,
                ENDS,
            ),
        ),
        revisions=(
            RevisionChange(CONFIG_MAP, "web-config-7f89tk7g74", NEW),
            RevisionChange(
                identity=CONFIG_MAP,
                name="web-config-m567dfc6df",
                change=SUPERSEDED,
                is_retained=True,
            ),
            RevisionChange(
                identity=CONFIG_MAP, name="web-config-b27mm5ctgg", change=RETAINED, is_retained=True
            ),
            RevisionChange(CONFIG_MAP, "web-config-6mtk2m274t", DROPPED),
            RevisionChange(BINARY, "web-logo-b27mm5ctgg", NEW),
            RevisionChange(MOVED, "jobs-config-6ct58987ht", REUSED),
            RevisionChange(FLAGS, "flags-9g67k2htb6", SUPERSEDED),
            RevisionChange(SECRET, "", NEW),
        ),
        objects=(
            ObjectChange(
                SERVICE,
                CHANGED,
                (FieldChange(path="spec.ports[name=http].port", change=CHANGED, old=80, new=81),),
            ),
            ObjectChange(ROLE, ADDED),
            ObjectChange(
                Identity(group="networking.k8s.io", kind="Ingress", namespace=None, name="web"),
                REMOVED,
            ),
        ),
        risks=(
            Risk(
                Identity(group="", kind="Namespace", namespace=None, name="shop"),
                "the object is removed",
                "Kubernetes deletes all objects in the namespace",
                code="data-loss",
            ),
            Risk(
                SERVICE,
                "the selector matched pods before, and now matches nothing",
                "<b>requests</b> fail | `now`",
                "spec.selector",
                "no-match",
            ),
        ),
        undecided=(
            Undecided(
                "head.yaml:12 (document 2, Rollout/web)",
                "the reference to ConfigMap/other is ambiguous, because only one of the two "
                "objects has a namespace",
                "Set the release namespace with --namespace",
            ),
        ),
        graph=Graph(
            (
                GraphNode(identity=ROLLOUT, role="workload", change=CHANGED, effect=ROLLS),
                GraphNode(identity=BEHIND, role="workload", change=CHANGED, effect=NO_PODS),
                GraphNode(identity=WORKER, role="workload", change=CHANGED, effect=ROLLS),
                GraphNode(identity=AGENT, role="workload", change=UNCHANGED, effect=STAYS),
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
                Edge(source=1, target=5, label="envFrom", change=REMOVED),
                Edge(1, 8, "env"),
                Edge(source=2, target=6, label="envFrom", change=ADDED),
                Edge(3, 7, "volume"),
                Edge(source=9, target=4, label="resourceNames", change=ADDED),
            ),
        ),
    )


def _lines(sign: str, *texts: str) -> Hunk:
    """Return a hunk of lines that are all added or all removed."""
    is_new = sign == "+"
    numbered = enumerate(texts, 1)
    lines = [
        Line(sign=sign, old=0 if is_new else at, new=at if is_new else 0, text=text)
        for at, text in numbered
    ]
    counts = (0, 0, 1, len(lines)) if is_new else (1, len(lines), 0, 0)
    return Hunk(*counts, tuple(lines))
