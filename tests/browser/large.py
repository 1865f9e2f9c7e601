"""Previews of many ConfigMaps and workloads, for tests of speed and size."""

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
    services = [f"service-{index:03}" for index in range(number)]
    configs = [Identity("", "ConfigMap", None, f"{service}-config") for service in services]
    rollouts = [Identity("argoproj.io", "Rollout", None, service) for service in services]
    keys = [
        KeyChange("application.yaml", CHANGED, (_hunk(lines, index),)) for index in range(number)
    ]
    nodes = [GraphNode(rollout, "workload", CHANGED, ROLLS) for rollout in rollouts]
    nodes += [GraphNode(config, "config", CHANGED) for config in configs]
    edges = [Edge(index, number + index, "volume") for index in range(number)]
    edges += [Edge(index, number, "env") for index in range(0, number, 10)]
    return Preview(
        "main",
        "head",
        contents=tuple(
            ContentChange(
                identity=config,
                change=CHANGED,
                strategy="rename",
                old_revision=f"{config.name}-m567dfc6df",
                new_revision=f"{config.name}-7f89tk7g74",
                keys=(key,),
                fields=(),
                users=(rollout,),
            )
            for config, rollout, key in zip(configs, rollouts, keys, strict=True)
        ),
        workloads=tuple(
            WorkloadChange(
                rollout,
                CHANGED,
                ROLLS,
                (
                    Cause(CONFIG, config, reason="content changes", keys=("application.yaml",)),
                    Cause(
                        IMAGE, container="app", old=f"shop/{rollout.name}:1", new=f"shop/{index}"
                    ),
                ),
            )
            for index, (rollout, config) in enumerate(zip(rollouts, configs, strict=True))
        ),
        revisions=tuple(
            RevisionChange(config, f"{config.name}-{suffix}", change)
            for config in configs
            for suffix, change in (("7f89tk7g74", NEW), ("m567dfc6df", SUPERSEDED))
        ),
        graph=Graph(tuple(nodes), tuple(edges)),
    )


def labelled(number: int, *, is_shared: bool = False) -> Preview:
    """Return a preview of so many objects of each kind; only the label of the chart changes.

    Every second Rollout has the label in its pod template too. The last object of each kind has
    other changes.
    is_shared: whether all objects have the same label; otherwise, only those of each group.
    """
    preview = large(number, lines=6)
    rolls, stays, content_label, service_label = (
        CHART if is_shared else CHART._replace(old=f"shop-1.2.{patch}") for patch in range(4)
    )
    cause = Cause(TEMPLATE, field=rolls._replace(path=f"spec.template.{CHART.path}"))
    *workloads, last = preview.workloads
    alike = [
        workload._replace(causes=(cause,), fields=(rolls,))
        if index % 2
        else workload._replace(effect=STAYS, causes=(), fields=(stays,))
        for index, workload in enumerate(workloads)
    ]
    *contents, last_content = preview.contents
    metadata_only = [
        content._replace(keys=(), fields=(content_label,), new_revision=content.old_revision)
        for content in contents
    ]
    services = [Identity("", "Service", None, item.identity.name) for item in preview.workloads]
    objects = [ObjectChange(service, CHANGED, (service_label,)) for service in services]
    objects[-1] = objects[-1]._replace(
        fields=(FieldChange("spec.type", CHANGED, "ClusterIP", "NodePort"),)
    )
    revisions = [
        RevisionChange(content.identity, content.old_revision, REUSED) for content in metadata_only
    ]
    return preview._replace(
        workloads=(*alike, last),
        contents=(*metadata_only, last_content),
        objects=tuple(objects),
        revisions=(*revisions, *preview.revisions[-2:]),
    )


def _hunk(lines: int, index: int) -> Hunk:
    """Return a hunk in which each third line changes; another index gives another hunk."""
    hunk_lines: list[Line] = []
    number = 0
    while len(hunk_lines) < lines:
        number += 1
        text = f"  setting{number:02}: a value of some length, number {number + index}"
        if number % 3:
            hunk_lines.append(Line(" ", number, number, text))
        else:
            hunk_lines.append(Line("-", number, 0, text))
            hunk_lines.append(Line("+", 0, number, f"{text} and more"))
    return Hunk(1, number, 1, number, tuple(hunk_lines))
