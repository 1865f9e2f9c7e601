"""The catalogue of kinds: every entry finds its references in an object of the kind."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from postrender.config.settings import AttacherSettings, Settings
from postrender.inventory.build import take_inventory
from postrender.kubernetes.kinds import CONFIG_MAP, SECRET, GroupKind, group_kind_of
from postrender.output import render
from postrender.plan.build import Plan, make_plan
from postrender.references.built_in import is_custom
from postrender.references.catalogue import ENTRIES, find_catalogued
from postrender.references.catalogue.model import EVERYTHING, KEY_SELECTORS, Entry
from postrender.references.rule import OUTSIDE, SELECTOR
from postrender.yaml.paths import Path as ObjectPath
from postrender.yaml.stream import read_stream
from tests.manifests import Obj, load, normalise

SAMPLES: list[Obj] = load((Path(__file__).parent / "kinds.yaml").read_text("utf-8"))
RESULTS = ("rewritten", "kept", "written", "selected", "unknown", "ignored")
TARGETS = (CONFIG_MAP, SECRET)


def kind_of_entry(entry: Entry) -> str:
    return f"{entry.kind}.{entry.group}"


def strings(data: Any, path: ObjectPath = ()) -> Iterator[tuple[ObjectPath, str]]:
    if isinstance(data, str):
        yield path, data
    pairs = data.items() if isinstance(data, dict) else []
    for key, value in enumerate(data) if isinstance(data, list) else pairs:
        yield from strings(value, (*path, key))


def results(sample: Obj) -> dict[ObjectPath, str]:
    """Return the result for each reference in an object, by path."""
    group_kind = group_kind_of(sample)
    assert group_kind is not None
    kept, others = find_catalogued(group_kind, TARGETS, sample)
    found: dict[ObjectPath, str] = {}
    for path, _, rule in (*kept, *others):
        if not rule.fits(path, sample):
            continue
        result = "rewritten"
        if rule.is_written:
            result = "written"
        elif rule.family == SELECTOR and not rule.keep_reason:
            result = "selected"
        elif rule.keep_reason:
            result = "unknown" if "does not know" in rule.keep_reason else "kept"
        found.setdefault(path, result)
    return found


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: str(sample["kind"]))
def test_every_reference_of_a_sample_has_the_expected_result(sample: Obj) -> None:
    expected = {path: text for path, text in strings(sample) if text in RESULTS}
    found = results(sample)
    assert expected
    assert {path: found.get(path, "ignored") for path in expected} == expected


def test_every_kind_has_one_entry_and_a_sample() -> None:
    kinds = Counter((entry.group, entry.kind) for entry in ENTRIES)
    assert set(kinds.values()) == {1}
    assert {group_kind_of(sample) for sample in SAMPLES} == set(kinds)


def test_a_condition_holds_for_one_sample_and_not_for_another() -> None:
    for entry in ENTRIES:
        samples = [item for item in SAMPLES if group_kind_of(item) == (entry.group, entry.kind)]
        for use in entry.uses:
            if use.keep_if:
                assert {use.keep_if(sample) for sample in samples} == {True, False}, entry.kind


@pytest.mark.parametrize("entry", ENTRIES, ids=kind_of_entry)
def test_an_entry_has_a_source_and_clauses_as_reasons(entry: Entry) -> None:
    assert re.fullmatch(r"[\w.-]+/[\w.-]+ [\w.]+( \(.*\))?, .*v\d\w*.*", entry.source)
    assert entry.uses
    assert is_custom((entry.group, entry.kind))
    for use in entry.uses:
        assert not use.keep.endswith(".")
        assert len(f"Kind/name references the ConfigMap, and {use.keep}".split()) <= 22
        # A search begins at a key.
        assert use.shape not in (EVERYTHING, KEY_SELECTORS) or use.path[-1] != "[]"


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: str(sample["kind"]))
def test_a_reference_is_outside_attach_and_does_not_cause_a_rename(sample: Obj) -> None:
    kept, others = find_catalogued(group_kind_of(sample) or ("", ""), TARGETS, sample)
    for _, _, rule in (*kept, *others):
        assert rule.family in (OUTSIDE, SELECTOR)
        assert not rule.triggers_rename


def test_a_program_writes_the_manifests_in_an_unknown_kind() -> None:
    manifest: Obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}}
    _, others = find_catalogued(
        ("example.com", "Bundle"), TARGETS, {"spec": {"manifests": [manifest]}}
    )
    path = ("spec", "manifests", 0, "metadata", "name")
    [rule] = [rule for found, _, rule in others if found == path]
    assert (rule.is_written, rule.is_guess) == (True, True)


@pytest.mark.parametrize(
    ("kind", "spec", "is_written", "family"),
    [
        ("Bundle", {"secretRef": {"name": "web", "generate": True}}, True, OUTSIDE),
        ("Bundle", {"a": {"secretRef": {"name": "web"}, "generate": True}}, False, OUTSIDE),
        ("WebCertificate", {"secretName": "web"}, True, OUTSIDE),
        ("WebCertificate", {"issuer": {"secretRef": {"name": "web"}}}, False, OUTSIDE),
        ("Bundle", {"selectors": [{"kind": "ConfigMap", "name": "web"}]}, False, SELECTOR),
        ("Bundle", {"selector": {"kind": "ConfigMap", "name": "web"}}, False, OUTSIDE),
        ("Bundle", {"selectors": [{"configMapName": "web"}]}, False, OUTSIDE),
    ],
)
def test_what_a_field_of_an_unknown_kind_does(
    kind: str, spec: Obj, is_written: bool, family: str
) -> None:
    _, others = find_catalogued(("example.com", kind), TARGETS, {"spec": spec})
    assert [(rule.is_written, rule.family) for _, _, rule in others] == [(is_written, family)]


def clone_set(name: str = "web-config") -> str:
    return f"""\
---
apiVersion: apps.kruise.io/v1alpha1
kind: CloneSet
metadata:
  name: clones
spec:
  template:
    spec:
      containers:
      - name: web
        envFrom:
        - configMapRef:
            name: {name}
"""


CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: web-config
data:
  level: info
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  template:
    spec:
      containers:
      - name: web
        envFrom:
        - configMapRef:
            name: web-config
"""
PROMETHEUS = """\
---
apiVersion: monitoring.coreos.com/v1
kind: Prometheus
metadata:
  name: main
spec:
  configMaps:
  - web-config
"""


def plan_of(text: str, **values: Any) -> Plan:
    settings = Settings(attacher=AttacherSettings(image="registry.example/attacher:1"), **values)
    return make_plan(take_inventory(read_stream(text.encode(), "<test>"), settings), settings)


def revision_annotations(plan: Plan) -> Obj:
    [revision] = [
        data
        for data in normalise("".join(render(plan)))
        if data["kind"] == "ConfigMap" and "labels" in data["metadata"]
    ]
    annotations: Obj = revision["metadata"]["annotations"]
    return annotations


def keep_reason(plan: Plan) -> str:
    assert plan.context is not None
    [decision] = plan.context.decisions.values()
    return decision.keep_reason


def test_a_revision_that_a_custom_kind_references_is_not_swept() -> None:
    assert revision_annotations(plan_of(CONFIG + clone_set()))["postrender/sweep"] == "false"
    assert "postrender/sweep" not in revision_annotations(plan_of(CONFIG))


def test_an_original_that_is_kept_does_not_stop_the_sweep() -> None:
    plan = plan_of(CONFIG + PROMETHEUS)
    assert "postrender/sweep" not in revision_annotations(plan)
    assert keep_reason(plan) == (
        "Prometheus/main references the ConfigMap, and the name is part of the path at which the "
        "object is mounted"
    )


def test_an_unknown_kind_keeps_the_original_with_a_reason() -> None:
    widget = clone_set().replace("apps.kruise.io", "example.com").replace("CloneSet", "Widget")
    assert keep_reason(plan_of(CONFIG + widget)) == (
        "Widget/clones references the ConfigMap, and postrender does not know the kind Widget"
    )
    # The configuration of the user overrides this.
    assert keep_reason(plan_of(CONFIG + widget, finds_pod_specs=True)) == ""


def test_a_rule_of_the_user_overrides_the_catalogue() -> None:
    from postrender.config.settings import settings_from

    values = {"references": [{"kind": "Prometheus", "path": "spec.configMaps[]"}]}
    rules = settings_from(values).references
    assert keep_reason(plan_of(CONFIG + PROMETHEUS, references=rules)) == ""


def test_a_run_keeps_its_original_even_if_pod_specs_are_rewritten() -> None:
    run = clone_set().replace("apps.kruise.io", "kubeflow.org").replace("CloneSet", "PyTorchJob")
    assert "does not read its template again" in keep_reason(
        plan_of(CONFIG + run, finds_pod_specs=True)
    )


def test_a_field_at_the_root_of_an_unknown_kind_keeps_the_original() -> None:
    widget = "---\napiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n"
    assert keep_reason(plan_of(f"{CONFIG}{widget}configMapName: web-config\n")) == (
        "Widget/w references the ConfigMap, and postrender does not know the kind Widget"
    )


def test_a_value_that_is_not_a_string_is_accepted() -> None:
    assert keep_reason(plan_of(CONFIG + clone_set("[web-config]"))) == (
        "CloneSet/clones has the name of the ConfigMap as the value of "
        "spec.template.spec.containers[0].envFrom[0].configMapRef.name[0]"
    )


def imported_modules(text: str) -> str:
    code = (
        "import sys; from postrender.cli.main import run; run(['render', '--no-attacher', '-']); "
        "print([name for name in sys.modules if 'catalogue' in name], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=text, capture_output=True, text=True, check=True
    )
    return done.stderr.splitlines()[-1]


def test_the_catalogue_is_imported_only_for_custom_kinds() -> None:
    assert imported_modules(CONFIG) == "[]"
    assert "catalogue.workloads" in imported_modules(CONFIG + clone_set())


KEPT: list[GroupKind] = [
    ("", "PersistentVolume"),
    ("storage.k8s.io", "StorageClass"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
]


def test_only_these_kinds_of_kubernetes_are_in_the_catalogue() -> None:
    assert all(is_custom(group_kind) for group_kind in KEPT)
    assert not is_custom(("", "Service"))
    assert not is_custom(("argoproj.io", "Rollout"))
    assert is_custom(("argoproj.io", "Workflow"))


@pytest.mark.parametrize(
    "sample",
    [sample for sample in SAMPLES if "selected" in results(sample).values()],
    ids=lambda sample: str(sample["kind"]),
)
def test_a_selector_gets_each_revision_in_addition(sample: Obj) -> None:
    objects = [
        json.dumps({"apiVersion": "v1", "kind": kind, "metadata": {"name": "selected"}, **data})
        for kind, data in (("ConfigMap", {"data": {"a": "b"}}), ("Secret", {"data": {"a": "Yg=="}}))
    ]
    text = "\n---\n".join([*objects, workload("selected"), json.dumps(sample)])
    options: dict[str, Any] = {"with_secrets": True, "keep_original": False}
    output = "".join(render(plan_of(text, **options)))
    [new] = [data for data in normalise(output) if data["kind"] == sample["kind"]]
    revisions = {
        data["metadata"]["name"]
        for data in normalise(output)
        if data["kind"] in ("ConfigMap", "Secret") and "labels" in data["metadata"]
    }
    assert len(revisions) == 2
    added = {text for _, text in strings(new)} - {text for _, text in strings(sample)}
    assert added
    assert added <= revisions
    # Without the added items, the selector is unchanged.
    for path, name in reversed(list(strings(new))):
        if name in added:
            parent: Any = new
            item = max(depth for depth, part in enumerate(path) if isinstance(part, int))
            for part in path[:item]:
                parent = parent[part]
            del parent[path[item]]
    assert new == sample
    # A second pass does not add the revisions again.
    assert "".join(render(plan_of(output, **options))) == output


def workload(name: str) -> str:
    sources = [{"configMapRef": {"name": name}}, {"secretRef": {"name": name}}]
    spec = {"containers": [{"name": "web", "envFrom": sources}]}
    return json.dumps(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "users"},
            "spec": {"template": {"spec": spec}},
        }
    )


@pytest.mark.parametrize("number", range(0, len(SAMPLES), 2))
def test_a_field_of_another_type_is_accepted(number: int) -> None:
    sample = json.loads(json.dumps(SAMPLES[number]))
    random = Random(number)
    paths = [path for path, _ in strings(sample) if path[0] not in ("apiVersion", "kind")]
    path = random.choice(paths)
    parent: Any = sample
    for part in path[:-1]:
        parent = parent[part]
    parent[path[-1]] = random.choice(
        [None, 1, ["written"], {"name": "written"}, [{"kind": "Secret", "name": "written"}]]
    )
    text = "\n---\n".join([CONFIG, json.dumps(sample)]).replace("web-config", "written")
    output = "".join(render(plan_of(text, with_secrets=True)))
    assert "".join(render(plan_of(output, with_secrets=True))) == output


BUNDLE = ("trust.cert-manager.io", "v1alpha1", "Bundle")
EXTERNAL = ("external-secrets.io", "v1", "ExternalSecret")
CLUSTER_EXTERNAL = ("external-secrets.io", "v1", "ClusterExternalSecret")


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        (BUNDLE, {"target": {"configMap": {"key": "a"}}}, [("ConfigMap", "own")]),
        (BUNDLE, {"target": {"secret": {"key": "a"}}}, [("Secret", "own")]),
        (EXTERNAL, {}, [("Secret", "own")]),
        (EXTERNAL, {"target": {"name": "b"}}, [("Secret", "b")]),
        (
            EXTERNAL,
            {"target": {"name": "b", "manifest": {"apiVersion": "v1", "kind": "ConfigMap"}}},
            [("ConfigMap", "b")],
        ),
        (EXTERNAL, {"target": {"manifest": {"apiVersion": "apps/v1", "kind": "Deployment"}}}, []),
        (CLUSTER_EXTERNAL, {"externalSecretName": "b"}, [("Secret", "b")]),
        (
            CLUSTER_EXTERNAL,
            {"externalSecretName": "b", "externalSecretSpec": {"target": {"name": "c"}}},
            [("Secret", "c")],
        ),
    ],
)
def test_the_kind_and_the_name_of_what_a_program_writes(
    kind: tuple[str, str, str], spec: Obj, expected: list[tuple[str, str]]
) -> None:
    group, version, name = kind
    sample: Obj = {
        "apiVersion": f"{group}/{version}",
        "kind": name,
        "metadata": {"name": "own"},
        "spec": spec,
    }
    kept, _ = find_catalogued((group, name), TARGETS, sample)
    assert [
        (rule.target[1], value)
        for path, value, rule in kept
        if rule.is_written and value and rule.fits(path, sample)
    ] == expected


@pytest.mark.parametrize(
    ("kind", "spec", "is_written"),
    [
        ("ClusterCertificate", {"secretName": "a"}, True),
        ("ClusterCertificate", {"secretRef": {"name": "a"}}, True),
        ("ClusterCertificate", {"issuer": {"secretName": "a"}}, False),
        ("Widget", {"secretName": "a"}, False),
        ("Widget", {"secretName": "a", "generate": True}, True),
        ("Widget", {"secretName": "a", "generate": "true"}, False),
        ("Widget", {"writeSecretTo": {"secretName": "a"}}, True),
        ("Widget", {"outputs": [{"secretName": "a"}]}, False),
    ],
)
def test_a_name_in_an_unknown_kind_that_a_program_can_write(
    kind: str, spec: Obj, is_written: bool
) -> None:
    sample: Obj = {"apiVersion": "example.com/v1", "kind": kind, "spec": spec}
    _, matches = find_catalogued(("example.com", kind), (SECRET,), sample)
    assert [(value, rule.is_written) for _, value, rule in matches] == [("a", is_written)]


@pytest.mark.parametrize(
    "sample",
    [sample for sample in SAMPLES if "written" in dict.fromkeys(results(sample).values())],
    ids=lambda sample: str(sample["kind"]),
)
def test_what_a_program_writes_stays_as_it_is(sample: Obj) -> None:
    kept, _ = find_catalogued(group_kind_of(sample) or ("", ""), TARGETS, sample)
    written = {
        (rule.target, value)
        for path, value, rule in kept
        if rule.is_written and rule.fits(path, sample)
    }
    assert written
    for target, name in written:
        data = {"data": {"a": "Yg=="}}
        objects = [
            json.dumps({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **data})
            for kind in ("ConfigMap", "Secret")
        ]
        text = "\n---\n".join([*objects, workload(str(name)), json.dumps(sample)])
        plan = plan_of(text, with_secrets=True)
        assert plan.context is not None
        [decision] = [
            decision
            for decision in plan.context.decisions.values()
            if decision.item.identity.group_kind == target
        ]
        writer = f"{sample['kind']}/{sample['metadata']['name']}"
        assert decision.reason == f"{writer} makes a program write to the {target[1]}"
        assert decision.strategy == "ignore"
