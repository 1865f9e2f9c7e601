"""A change of many ConfigMaps and workloads, for what must not become slow."""

from __future__ import annotations

from postrender.diff.model import (
    CHANGED,
    CONFIG,
    IMAGE,
    NEW,
    REUSED,
    ROLLS,
    STAYS,
    SUPERSEDED,
    TEMPLATE,
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
    WorkloadChange,
)
from postrender.kubernetes.kinds import Identity
from tests.diff.previews import CHART


def large(number: int, lines: int = 60) -> Preview:
    """Return a preview of so many ConfigMaps, each with a diff of so many lines and a Rollout."""
    configs = [Identity("", "ConfigMap", None, f"service-{at:03}-config") for at in range(number)]
    rollouts = [
        Identity("argoproj.io", "Rollout", None, f"service-{at:03}") for at in range(number)
    ]
    key = KeyChange("application.yaml", CHANGED, (_hunk(lines),))
    nodes = [GraphNode(each, "workload", CHANGED, ROLLS) for each in rollouts]
    nodes += [GraphNode(each, "config", CHANGED) for each in configs]
    edges = [Edge(at, number + at, "volume") for at in range(number)]
    edges += [Edge(at, number, "env") for at in range(0, number, 10)]
    return Preview(
        "main",
        "head",
        contents=tuple(
            ContentChange(
                each,
                CHANGED,
                "rename",
                f"{each.name}-m567dfc6df",
                f"{each.name}-7f89tk7g74",
                (key,),
                (),
                (user,),
            )
            for each, user in zip(configs, rollouts, strict=True)
        ),
        workloads=tuple(
            WorkloadChange(
                each,
                CHANGED,
                ROLLS,
                (
                    Cause(CONFIG, config, what="its content changes", keys=("application.yaml",)),
                    Cause(IMAGE, container="app", old=f"shop/{each.name}:1", new="shop/app:2"),
                ),
            )
            for each, config in zip(rollouts, configs, strict=True)
        ),
        revisions=tuple(
            RevisionChange(each, f"{each.name}-{suffix}", change)
            for each in configs
            for suffix, change in (("7f89tk7g74", NEW), ("m567dfc6df", SUPERSEDED))
        ),
        graph=Graph(tuple(nodes), tuple(edges)),
    )


def labelled(number: int) -> Preview:
    """Return a preview of so many of each, which change in the label of a chart alone.

    Every other Rollout has it in its pod template too. The last of each changes in more.
    """
    preview = large(number, lines=6)
    cause = Cause(TEMPLATE, field=CHART._replace(path=f"spec.template.{CHART.path}"))
    *workloads, last = preview.workloads
    alike = [
        each._replace(causes=(cause,), fields=(CHART,))
        if at % 2
        else each._replace(effect=STAYS, causes=(), fields=(CHART,))
        for at, each in enumerate(workloads)
    ]
    *contents, last_content = preview.contents
    kept = [
        each._replace(keys=(), fields=(CHART,), new_revision=each.old_revision) for each in contents
    ]
    services = [Identity("", "Service", None, each.identity.name) for each in preview.workloads]
    objects = [ObjectChange(each, CHANGED, (CHART,)) for each in services]
    objects[-1] = objects[-1]._replace(
        fields=(FieldChange("spec.type", CHANGED, "ClusterIP", "NodePort"),)
    )
    revisions = [RevisionChange(each.identity, each.old_revision, REUSED) for each in kept]
    return preview._replace(
        workloads=(*alike, last),
        contents=(*kept, last_content),
        objects=tuple(objects),
        revisions=(*revisions, *preview.revisions[-2:]),
    )


def _hunk(lines: int) -> Hunk:
    """Return a hunk in which each third line changes."""
    found: list[Line] = []
    at = 0
    while len(found) < lines:
        at += 1
        text = f"  setting{at:02}: a value of some length, number {at}"
        if at % 3:
            found.append(Line(" ", at, at, text))
        else:
            found += [Line("-", at, 0, text), Line("+", 0, at, f"{text} and more")]
    return Hunk(1, at, 1, at, tuple(found))
