"""A ConfigMap that a program finds by a label keeps its name."""

from __future__ import annotations

import json

import pytest

from postrender.config.settings import Settings
from postrender.inventory.build import take_inventory
from postrender.plan.build import build_context
from postrender.yaml.stream import read_stream

APPLICATION = """\
apiVersion: v1
kind: ConfigMap
metadata: {{name: app, labels: {{{label}: "1", app.kubernetes.io/name: web, tier: conf}}}}
data: {{a: b}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  template:
    spec: {{containers: [{{name: web, envFrom: [{{configMapRef: {{name: app}}}}]}}]}}
---
"""
SIDECAR = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: reader}}
spec: {{template: {{spec: {{containers: [{{name: reader, {container}}}]}}}}}}
"""
SCRIPT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: scripts}}\ndata: {{a: {script!r}}}\n"
OPERATOR = "apiVersion: acme.io/v1\nkind: Board\nmetadata: {{name: reader}}\nspec: {{{spec}}}\n"


def reason(label: str, reader: str = "") -> str:
    return decided(APPLICATION.format(label=label) + reader)


def decided(text: str) -> str:
    inventory = take_inventory(read_stream(text.encode(), "input"), Settings())
    context = build_context(inventory, Settings())
    assert context
    reasons = {item.item.identity.name: item.reason for item in context.decisions.values()}
    return reasons["app"]


@pytest.mark.parametrize(
    ("label", "reader", "finder"),
    [
        ("grafana_dashboard", "", "Grafana"),
        ("board", SIDECAR.format(container="env: [{name: LABEL, value: board}]"), "Deployment"),
        (
            "acme.io/board",
            SIDECAR.format(container="args: [--label=acme.io/board=1]"),
            "Deployment",
        ),
        ("board", SIDECAR.format(container="args: [--labels, 'x,board']"), "Deployment"),
        (
            "board",
            SIDECAR.format(container="env: [{name: SELECTOR, value: board=1}]"),
            "Deployment",
        ),
        (
            "acme.io/board",
            SIDECAR.format(container="command: [kubectl, get, cm, -l, acme.io/board=1]"),
            "Deployment",
        ),
        ("board", SCRIPT.format(script="kubectl get configmap -l board=1"), "ConfigMap"),
        ("board", SCRIPT.format(script="list_config_map(label_selector='board=1')"), "ConfigMap"),
        ("board", OPERATOR.format(spec="configMapSelector: {matchLabels: {board: x}}"), "Board"),
        ("board", OPERATOR.format(spec="configMapSelector: board=x"), "Board"),
        (
            "board",
            OPERATOR.format(spec="configMapSelector: {matchExpressions: [{key: board}]}"),
            "Board",
        ),
        (
            "board",
            OPERATOR.format(spec="from: {kind: ConfigMap, selector: {board: x}}"),
            "Board",
        ),
    ],
)
def test_a_label_that_a_program_uses_keeps_the_name(label: str, reader: str, finder: str) -> None:
    text = reason(label, reader)
    assert text.startswith(finder)
    assert text.endswith(f"may find each ConfigMap with the label {label}, also old revisions")


@pytest.mark.parametrize(
    ("label", "reader"),
    [
        ("board", ""),
        (
            "app.kubernetes.io/part-of",
            SIDECAR.format(container="args: [--label=app.kubernetes.io/name]"),
        ),
        ("board", SIDECAR.format(container="env: [{name: MODE, value: board}]")),
        ("board", SCRIPT.format(script="kubectl get configmap board")),
        ("board", SCRIPT.format(script="kubectl get pods -l board=1")),
        ("board", OPERATOR.format(spec="podSelector: {matchLabels: {board: x}}")),
        ("board", OPERATOR.format(spec="volumes: [{configMap: {name: board}}]")),
        ("board", "kind: Board\nlabels: [board\n---\n"),
    ],
)
def test_other_labels_do_not(label: str, reader: str) -> None:
    assert reason(label, reader) == "referenced by Deployment/web"


def operator(**spec: object) -> str:
    return OPERATOR.format(spec=json.dumps(spec)[1:-1])


BINDING = (
    "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\n"
    "metadata: {{name: reader}}\nspec: {{policyName: p, paramRef: {{selector: {selector}}}}}\n"
)
# Labels that most charts set count if the text or field is about ConfigMaps.
COMMON = {
    "a policy": BINDING.format(selector="{matchLabels: {tier: conf}}"),
    "a policy for all": BINDING.format(selector="{}"),
    "a selector": operator(configMapSelector={"matchLabels": {"tier": "conf"}}),
    "two labels": operator(
        configMapSelector={"matchLabels": {"tier": "conf", "app.kubernetes.io/name": "web"}}
    ),
    "expressions": operator(
        configMaps={"matchExpressions": [{"key": "tier", "operator": "In", "values": ["conf"]}]}
    ),
    "a selector below the kind": operator(
        source={"kind": "ConfigMap", "selector": {"tier": "conf"}}
    ),
    "kinds": operator(
        cloneList={"kinds": ["v1/ConfigMap"], "selector": {"matchLabels": {"tier": "conf"}}}
    ),
    "a selector as text": operator(configMapLabelSelector="tier=conf"),
    "kubectl": SIDECAR.format(container="command: [sh, -c, 'kubectl get cm -l tier=conf -o name']"),
    "words": SIDECAR.format(container="command: [kubectl, get, cm, --selector=tier=conf]"),
    "a set": SCRIPT.format(script='kubectl get cm --selector "tier in (a, conf)" -o yaml'),
    "a variable": SCRIPT.format(script='kubectl get configmaps -l "tier=$TIER"'),
    "a key": SCRIPT.format(script="kubectl get cm -A -l tier"),
    "other lines": SCRIPT.replace("{script!r}", "{script}").format(
        script=json.dumps("kubectl get pods -l a=b\nkubectl get \\\n  cm -l tier=conf")
    ),
    "Python": SCRIPT.format(
        script="list_namespaced_config_map(\n  ns, label_selector='tier=conf')"
    ),
    "an f-string": SCRIPT.format(
        script="list_namespaced_config_map(ns, label_selector=f'tier={a}')"
    ),
    "Go": SCRIPT.format(script='ConfigMaps(ns).List(ctx, ListOptions{LabelSelector: "tier=conf"})'),
    "Go with a map": SCRIPT.format(
        script='List(ctx, &corev1.ConfigMapList{}, client.MatchingLabels{"tier": "conf"})'
    ),
    "Java": SCRIPT.format(script='client.configMaps().withLabel("tier", "conf").list()'),
    "a URL": SCRIPT.format(script="curl $API/configmaps?labelSelector=tier%3Dconf"),
    "a sidecar": SIDECAR.format(
        container="image: kiwigrid/k8s-sidecar:1, env: [{name: LABEL, value: tier}]"
    ),
    "a resource": SIDECAR.format(
        container="image: a, args: [--resource=configmap, --label-selector=tier=conf]"
    ),
    "a variable of a command": SIDECAR.format(
        container="image: a, command: [sh, -c, 'kubectl get cm -l $S'], "
        "env: [{name: SELECTOR, value: tier=conf}]"
    ),
}


@pytest.mark.parametrize("name", COMMON)
def test_a_common_label_keeps_the_name(name: str) -> None:
    assert "may find each ConfigMap" in reason("board", COMMON[name])


@pytest.mark.parametrize(
    "reader",
    [
        BINDING.format(selector="{matchLabels: {tier: other}}"),
        operator(configMapSelector={"matchLabels": {"tier": "conf", "app": "other"}}),
        operator(configMapSelector={"matchLabels": {"tier": "other"}}),
        operator(podSelector={"matchLabels": {"tier": "conf"}}, configMap={"name": "other"}),
        operator(configMap={"namespaceSelector": {}}),
        operator(configMap={"labels": {"tier": "conf"}}),
        operator(configMapKeySelector={"name": "other", "key": "a"}),
        SCRIPT.format(script="kubectl get cm other\nkubectl get pods -l tier=conf"),
        SCRIPT.format(script="kubectl get cm other; kubectl get pods -l tier=conf"),
        SCRIPT.format(script="kubectl get cm -l tier=other"),
        SCRIPT.format(script="kubectl get cm -l $SELECTOR"),
        SIDECAR.format(container="image: a, args: [--configmap=x, --pod-selector=tier=conf]"),
        SIDECAR.format(container="image: a, args: [--label=tier]"),
    ],
)
def test_other_selectors_do_not(reader: str) -> None:
    assert reason("board", reader) == "referenced by Deployment/web"


VERSIONED = 'annotations: {kapp.k14s.io/versioned: ""}'


def test_kapp_versions_a_config_map_itself() -> None:
    text = APPLICATION.format(label="board").replace(
        "{name: app, ", f"{{name: app, {VERSIONED}, ", 1
    )
    assert decided(text) == (
        "kapp versions the ConfigMap, because of the annotation kapp.k14s.io/versioned"
    )


def test_a_version_of_kapp_in_the_cluster_can_become_a_revision() -> None:
    text = APPLICATION.format(label="kapp.k14s.io/app")
    text = text.replace("{name: app, ", f"{{name: app, {VERSIONED}, ", 1)
    assert decided(text) == "referenced by Deployment/web"
