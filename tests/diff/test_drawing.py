"""The reference graph as a drawing: labels, Mermaid, and the graph of `explain`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given

from postrender.config.settings import AttacherSettings, Settings, StrategyRule
from postrender.diff.formats.mermaid import MAX_CHARACTERS, MAX_EDGES, MermaidReporter
from postrender.diff.model import ADDED, CHANGED, ROLLS, UNCHANGED, Edge, Graph, GraphNode, Preview
from postrender.diff.usages import label_of
from postrender.diff.values import Terminal
from postrender.explain.build import explain
from postrender.inventory.build import take_inventory
from postrender.kubernetes.hashing import CONTENT_HASH_LENGTH, HASH_SUFFIX
from postrender.kubernetes.kinds import Identity
from postrender.output import render
from postrender.plan.build import make_plan
from postrender.references.rule import Rule
from postrender.yaml.paths import Path as ObjectPath
from postrender.yaml.paths import parse_pattern
from postrender.yaml.stream import read_stream
from tests.diff.any_previews import ANY, graphs
from tests.diff.previews import sample

POD = ("spec", "template", "spec")
CONTAINER = (*POD, "containers", 0)
SETTINGS = Settings(with_secrets=True, attacher=AttacherSettings(is_enabled=False))


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ((*POD, "volumes", 0, "configMap", "name"), "volume"),
        ((*POD, "volumes", 3, "projected", "sources", 1, "secret", "name"), "projected"),
        ((*CONTAINER, "envFrom", 0, "configMapRef", "name"), "envFrom"),
        ((*CONTAINER, "env", 12, "valueFrom", "secretKeyRef", "name"), "env"),
        ((*POD, "initContainers", 0, "env", 0, "valueFrom", "configMapKeyRef", "name"), "env"),
        ((*POD, "imagePullSecrets", 0, "name"), "imagePullSecrets"),
        ((*POD, "volumes", 0, "csi", "nodePublishSecretRef", "name"), "volume"),
        (("items", 2, *POD, "volumes", 0, "secret", "secretName"), "volume"),
        (("volumes", 0, "configMap", "name"), "volume"),
        (("rules", 0, "resourceNames", 2), "resourceNames"),
        (("spec", "tls", 0, "secretName"), "tls"),
        (("metadata", "annotations", "nginx.ingress.kubernetes.io/auth-secret"), "auth-secret"),
        (("spec", "sources", 0, "configMap", "name"), "configMap"),
        (("spec", "env", "name"), "env"),
        (("data", "app.yaml"), "app.yaml"),
        (("name",), "name"),
        (("spec", "name", "name"), "spec"),
        ((), ""),
    ],
)
def test_the_label_of_a_reference_is_its_field(path: ObjectPath, label: str) -> None:
    assert label_of(path) == label


# --- drawings ------------------------------------------------------------------------------------


def mermaid(graph: Graph) -> str:
    return MermaidReporter().render(SimpleNamespace(graph=graph), Terminal())


def line_of(text: str, start: str) -> str:
    [line] = [line.strip() for line in text.splitlines() if line.strip().startswith(start)]
    return line


def config(name: str, change: str = UNCHANGED, namespace: str | None = None) -> GraphNode:
    return GraphNode(Identity("", "ConfigMap", namespace, name), "config", change)


def workload(name: str, change: str = UNCHANGED, effect: str = "") -> GraphNode:
    return GraphNode(Identity("apps", "Deployment", None, name), "workload", change, effect)


def test_changes_have_words_and_colours() -> None:
    text = mermaid(sample().graph)
    assert line_of(text, 'n_Rollout_web["') == (
        'n_Rollout_web["Rollout<br/>web<br/>changed, rolls"]:::changed'
    )
    assert line_of(text, "n_ConfigMap_flags(").endswith('<br/>flags<br/>removed"):::removed')
    assert line_of(text, "n_DaemonSet_kube_system_agent[").endswith('["DaemonSet<br/>agent"]')
    removed = 'n_Deployment_web_template -.->|"envFrom (removed)"| n_ConfigMap_flags'
    arrows = [line.strip() for line in text.splitlines() if re.search("[-=.]>", line)]
    assert removed in arrows
    assert line_of(text, f"linkStyle {arrows.index(removed)} ").endswith("stroke:#cf222e")


def test_an_unchanged_workload_that_rolls_is_marked() -> None:
    text = mermaid(Graph((workload("web", UNCHANGED, ROLLS),)))
    assert line_of(text, "n_").endswith('web<br/>rolls"]:::changed')


def test_several_namespaces_are_drawn_as_frames() -> None:
    one = Graph((config("a", namespace="shop"), config("b", namespace="shop")))
    two = Graph((*one.nodes, config("c", namespace="prod"), config("d")))
    assert "namespace shop" not in mermaid(one)
    text = mermaid(two)
    assert "namespace shop" in text
    assert "namespace prod" in text
    assert text.count("subgraph ") == 2


def test_a_new_object_does_not_change_the_ids_of_others() -> None:
    before = set(mermaid(Graph((config("b"), config("c")))).splitlines())
    after = set(mermaid(Graph((config("a"), config("b"), config("c")))).splitlines())
    assert before < after


def test_objects_with_the_same_slug_have_different_ids() -> None:
    graph = Graph((config("a.b"), config("a-b"), config("a_b")), (Edge(0, 2, "x"),))
    assert line_of(mermaid(graph), "n_ConfigMap_a_b -->").endswith(" n_ConfigMap_a_b__3")


def test_several_references_to_one_object_are_one_arrow() -> None:
    edges = (Edge(0, 1, "env"), Edge(0, 1, "volume"), Edge(0, 1, "env"), Edge(0, 1, "env", ADDED))
    graph = Graph((workload("web"), config("a")), edges)
    text = mermaid(graph)
    assert text.count("env, volume") == 1
    assert text.count("env (added)") == 1


def test_an_empty_graph_has_a_notice() -> None:
    assert "There is nothing to draw." in mermaid(Graph())


# --- limits --------------------------------------------------------------------------------------


def star(arrows: int, size: int = 10) -> Graph:
    """Return a workload that references so many ConfigMaps; the last one changes."""
    last = config("last", CHANGED)
    others = (config(f"{'x' * size}-{number}") for number in range(arrows - 1))
    edges = (Edge(0, number, "volume") for number in range(1, arrows + 1))
    return Graph((workload("web"), *others, last), tuple(edges))


def test_a_graph_at_the_limit_of_mermaid_is_complete() -> None:
    text = mermaid(star(MAX_EDGES, 1))
    assert text.count(" -->|") == MAX_EDGES
    assert len(text) > MAX_CHARACTERS - 5_000
    assert "not drawn" not in text


@pytest.mark.parametrize(("arrows", "size"), [(501, 1), (3_000, 1), (400, 150), (20, 9_000)])
def test_a_larger_graph_is_truncated_with_a_notice(arrows: int, size: int) -> None:
    graph = star(arrows, size)
    text = mermaid(graph)
    assert text == mermaid(graph)
    assert text.count(" -->|") <= MAX_EDGES
    assert len(text) <= MAX_CHARACTERS
    assert len(text) > MAX_CHARACTERS * 0.7 or text.count(" -->|") == MAX_EDGES
    [left, total] = map(int, re.findall(r"(\d+) of (\d+) objects are not drawn", text)[0])
    assert (total, left) == (
        len(graph.nodes),
        total - len(re.findall(r"^  n_\w+[\[(]", text, re.M)),
    )
    assert "n_ConfigMap_last(" in text


def test_a_truncated_graph_keeps_both_ends_of_a_changed_arrow() -> None:
    others = [config(str(number)) for number in range(3_000)]
    graph = Graph((*others, workload("web"), config("last")), (Edge(3_000, 3_001, "env", ADDED),))
    text = mermaid(graph)
    assert "not drawn" in text
    assert "env (added)" in text


def test_a_graph_with_one_very_long_name_is_truncated() -> None:
    assert len(mermaid(Graph((config("\u2192" * MAX_CHARACTERS),)))) <= MAX_CHARACTERS


def test_characters_are_counted_in_utf_16_units() -> None:
    letters = "\U0001d54b" * 24
    nodes = tuple(config(f"{letters * 2}-{number}") for number in range(400))
    assert len(mermaid(Graph(nodes)).encode("utf-16-le")) // 2 <= MAX_CHARACTERS


# --- names are data ------------------------------------------------------------------------------

_LABEL = r'"(?:[^\W_]|[ /.,()-]|#\d+;|<br/>)*"'
_ID = r"(?:n|in)_\w*"
_MERMAID_LINE = re.compile(
    rf"flowchart LR|  notice\[{_LABEL}\]|"
    rf" +{_ID}(?:\[{_LABEL}\]|\({_LABEL}\)|\{{\{{{_LABEL}\}}\}})(?::::(?:added|removed|changed))?|"
    rf"  {_ID} (?:-->|==>|-\.->)(?:\|{_LABEL}\|)? {_ID}|"
    rf"  subgraph {_ID}\[{_LABEL}\]|  end|  class {_ID} namespace|"
    r"  classDef [a-z]+ [a-z0-9:#,]+|  linkStyle [\d,]+ stroke:#\w{6}"
)


def named(texts: Sequence[str]) -> Graph:
    """Return a graph in which each text is a kind, a namespace, a name, a note and a label."""
    nodes = tuple(
        GraphNode(Identity("", text, text or None, text), "workload", CHANGED, ROLLS, text)
        for text in texts
    )
    edges = tuple(Edge(0, number, text, ADDED, True) for number, text in enumerate(texts))
    return Graph(nodes, edges)


@ANY
@given(graphs())
def test_a_name_never_becomes_mermaid_syntax(graph: Graph) -> None:
    for line in mermaid(graph).splitlines():
        assert _MERMAID_LINE.fullmatch(line), line


def test_a_list_marker_at_the_start_of_a_line_is_escaped() -> None:
    text = mermaid(Graph((config("1. one"), config("- two"), config("3three"))))
    assert "#49;. one" in text
    assert "#45; two" in text
    assert "3three" in text


def test_a_name_that_looks_like_an_icon_is_escaped() -> None:
    assert "fa#58;#8288;fa-ban" in mermaid(Graph((config("fa:fa-ban"),)))


# --- explain -------------------------------------------------------------------------------------

STREAM = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: app}
data: {key: value}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: unused}
data: {key: value}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: sums, annotations: {postrender/strategy: checksum}}
data: {key: value}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: mounted
  annotations: {postrender/mount-path: /etc/app, postrender/mount-in: Deployment/web}
data: {key: value}
---
apiVersion: v1
kind: Secret
metadata: {name: database}
stringData: {password: planted}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: points}
data: {secret: database}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      containers:
      - name: app
        envFrom: [{configMapRef: {name: app}}, {configMapRef: {name: points}}]
        env:
        - {name: A, valueFrom: {configMapKeyRef: {name: sums, key: key}}}
        - {name: B, valueFrom: {secretKeyRef: {name: database, key: password}}}
      volumes: [{name: v, configMap: {name: app}}]
---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: canary}
spec: {workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: migrate}
spec: {template: {spec: {volumes: [{name: v, configMap: {name: app}}]}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [configmaps], resourceNames: [app], verbs: [get]}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: other}
spec: {template: {spec: {containers: [{name: app, image: app}]}}}
"""
POINTS = Rule(None, "ConfigMap", parse_pattern("data.secret"), ("", "Secret"))


def plan_of(text: str, **changes: Any) -> Any:
    settings_ = SETTINGS._replace(references=(POINTS,), **changes)
    stream = read_stream(text.encode(), "in.yaml")
    return make_plan(take_inventory(stream, settings_), settings_)


@pytest.fixture(name="explained")
def explained_() -> Graph:
    return explain(plan_of(STREAM)).graph


def test_every_reference_to_a_configmap_is_an_edge(explained: Graph) -> None:
    names = [str(node.identity) for node in explained.nodes]
    edges = {
        (names[edge.source], names[edge.target], edge.label, edge.keeps_base_name)
        for edge in explained.edges
    }
    assert edges == {
        ("Deployment/web", "ConfigMap/app", "envFrom", False),
        ("Deployment/web", "ConfigMap/app", "volume", False),
        ("Deployment/web", "ConfigMap/points", "envFrom", False),
        ("Deployment/web", "ConfigMap/sums", "env", False),
        ("Deployment/web", "Secret/database", "env", False),
        ("Deployment/web", "ConfigMap/mounted", "auto-mount", False),
        ("ConfigMap/points", "Secret/database", "secret", False),
        ("Rollout/canary", "Deployment/web", "workloadRef", False),
        ("Job/migrate", "ConfigMap/app", "volume", True),
        ("Role/reader", "ConfigMap/app", "resourceNames", False),
    }
    assert "Deployment/other" not in names


def test_the_note_of_a_configmap_is_its_decision(explained: Graph) -> None:
    notes = {node.identity.name: node.note for node in explained.nodes if node.role == "config"}
    assert re.fullmatch(rf"becomes app{HASH_SUFFIX}, original kept", notes["app"])
    assert notes["unused"] == "not renamed: workloads do not reference the ConfigMap"
    assert notes["sums"] == "checksum: the annotation postrender/strategy sets the strategy"
    assert notes["database"] == "becomes a revision, original kept"


def test_a_drawing_never_contains_the_hash_of_a_secret() -> None:
    plan = plan_of(STREAM)
    redacted = {
        name
        for key, name in plan.context.names.items()
        if plan.context.decisions[key].item.identity.name in ("database", "points")
    }
    assert len(redacted) == 2
    again = plan_of("".join(render(plan)))
    for explanation in (explain(plan), explain(again)):
        drawn = re.sub(r"<br/>|#\d+;", "", MermaidReporter().render(explanation, Terminal()))
        assert "database" in drawn
        assert not [
            name for name in redacted if name in drawn or name[-CONTENT_HASH_LENGTH:] in drawn
        ]


def test_a_secret_named_by_another_tool_is_drawn_without_its_hash() -> None:
    # `kubectl create secret --append-hash` makes such a name; its hash covers the name too.
    text = "apiVersion: v1\nkind: Secret\nmetadata: {name: token-7f89tk7g74}\nstringData: {a: b}\n"
    [node] = explain(plan_of(text)).graph.nodes
    assert node.identity.name == "token"


def test_a_revision_is_drawn_under_its_base_name() -> None:
    graph = explain(plan_of("".join(render(plan_of(STREAM))))).graph
    [node] = [node for node in graph.nodes if node.note.startswith("is already app-")]
    assert node.identity.name == "app"
    assert [node.note for node in graph.nodes if node.identity.name == "database"] == [
        "not renamed: workloads do not reference the Secret",
        "is already a revision",
    ]


def test_a_stream_without_configmaps_has_an_empty_graph() -> None:
    assert "nothing to draw" in MermaidReporter().render(explain(plan_of("a: b\n")), Terminal())


def test_the_note_of_a_configmap_has_the_rule() -> None:
    graph = explain(plan_of(STREAM, rules=(StrategyRule("ignore"),))).graph
    [app] = [node for node in graph.nodes if node.identity.name == "app"]
    assert app.note == "not renamed: rules[0] of the configuration sets the strategy"


def test_a_preview_draws_only_objects_with_a_reference() -> None:
    graph = Graph((workload("web"), workload("alone"), config("a")), (Edge(0, 2, "volume", ADDED),))
    text = MermaidReporter().render(Preview("", "", graph=graph), Terminal())
    assert ("web" in text, "alone" in text) == (True, False)


def test_a_preview_of_labels_has_no_graph() -> None:
    graph = Graph((workload("web"), config("a")), (Edge(0, 1, "volume"),))
    assert "nothing to draw" in MermaidReporter().render(Preview("", "", graph=graph), Terminal())
