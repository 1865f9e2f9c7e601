"""Risks that depend on limits and permissions; what is accepted was tried with Kubernetes 1.36."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.diff.change_cases import run

QUOTA = "---\napiVersion: v1\nkind: {kind}\nmetadata: {{name: q}}\nspec: {spec}\n"
CLAIM = (
    "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: c}}\n"
    "spec: {{accessModes: [ReadWriteOnce], resources: {resources}}}\n"
)
ARGO = "---\napiVersion: argoproj.io/v1alpha1\nkind: {kind}\nmetadata: {metadata}\nspec: {spec}\n"
PERMITTED = "destinations: [{server: '*', namespace: '*'}]"


def told(folder: Path, old: str, new: str) -> str:
    """Return the risks in the text of a preview."""
    for name, text in (("old.yaml", old), ("new.yaml", new)):
        (folder / name).write_text(text)
    done = run(["diff", "old.yaml", "new.yaml"], folder)
    assert not done.stderr
    text = done.stdout
    return text.partition("RISKS\n")[2].partition("\n\nWORKLOADS")[0]


def claim_risks(folder: Path, resources: str) -> str:
    limits = QUOTA.format(
        kind="LimitRange",
        spec="{limits: [{type: PersistentVolumeClaim, max: {storage: 2Gi}}]}",
    )
    return told(folder, limits, limits + CLAIM.format(resources=resources))


def test_a_limit_range_reads_only_the_requests_of_a_claim(tmp_path: Path) -> None:
    assert "above the max 2Gi" in claim_risks(tmp_path, "{requests: {storage: 3Gi}}")
    accepted = "{requests: {storage: 1Gi}, limits: {storage: 5Gi}}"
    assert not claim_risks(tmp_path, accepted)


@pytest.mark.parametrize(("limit", "is_exceeded"), [(2, True), (3, False)])
def test_a_quota_counts_the_objects_that_do_not_change(
    tmp_path: Path, limit: int, is_exceeded: bool
) -> None:
    quota = QUOTA.format(
        kind="ResourceQuota", spec=f"{{hard: {{count/statefulsets.apps: {limit}}}}}"
    )
    old, new = (
        "".join(
            f"---\napiVersion: apps/v1\nkind: StatefulSet\nmetadata: {{name: {name}}}\nspec: {{}}\n"
            for name in names
        )
        for names in ("ab", "abc")
    )
    assert ("exceeded-limit" in told(tmp_path, quota + old, quota + new)) == is_exceeded


def application(url: str, *, namespace: str = "argocd", space: str = "n") -> str:
    spec = (
        f"{{project: p, source: {{repoURL: '{url}', path: c}}, "
        f"destination: {{server: 'https://x', namespace: '{space}'}}}}"
    )
    metadata = f"{{name: a, namespace: {namespace}}}"
    return ARGO.format(kind="Application", metadata=metadata, spec=spec)


def project(patterns: str, more: str = PERMITTED) -> str:
    metadata, spec = "{name: p, namespace: argocd}", f"{{sourceRepos: {patterns}, {more}}}"
    return ARGO.format(kind="AppProject", metadata=metadata, spec=spec)


REPOSITORY = "https://a.example.com/team/web.git"


@pytest.mark.parametrize(
    ("patterns", "is_permitted"),
    [
        ("['https://a.example.com/team/*']", True),
        ("['https://a.example.com/*/*b.git']", True),
        ("['https://A.example.com/team/web']", True),
        ("['https://a.example.com/**']", True),
        ("['!https://b.example.com/*']", True),
        ("['https://?.example.com/other']", True),  # not certain
        ("['https://a.example.com/*']", False),
        ("['https://a.example.com/team/web*x']", False),
        ("['*', '!https://a.example.com/team/*']", False),
        ("[]", False),
    ],
)
def test_the_repositories_of_a_project(tmp_path: Path, patterns: str, is_permitted: bool) -> None:
    other = application(REPOSITORY)
    risks = told(tmp_path, project("['*']") + other, project(patterns) + other)
    assert ("does not permit the repository" in risks) is not is_permitted


@pytest.mark.parametrize(
    "other", [application("${REPO}"), application(REPOSITORY, namespace="argocd-team")]
)
def test_a_project_of_another_namespace_and_a_placeholder_are_unknown(
    tmp_path: Path, other: str
) -> None:
    before, after = project("['*']"), project("['https://z.example.com/*']")
    assert "does not permit" not in told(tmp_path, before + other, after + other)


def test_a_destination_without_a_namespace(tmp_path: Path) -> None:
    other = application(REPOSITORY, space="")
    before = project("['*']")
    after = project("['*']", "destinations: [{server: '*', namespace: 'team-*'}]")
    risks = told(tmp_path, before + other, after + other)
    assert "does not permit the destination https://x without a namespace" in risks


def crd(schema: str) -> str:
    return (
        "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
        "metadata: {name: as.example.com}\n"
        "spec: {group: example.com, scope: Namespaced, names: {kind: A, plural: as}, versions: "
        "[{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, "
        f"properties: {{spec: {schema}}}}}}}}}]}}\n"
    )


@pytest.mark.parametrize(
    ("schema", "is_valid"),
    [
        ("{type: object, additionalProperties: {type: string, maxLength: 2, default: abc}}", True),
        ("{type: object, additionalProperties: {type: boolean, default: 'true'}}", True),
        ("{type: string, x-kubernetes-embedded-resource: false}", True),
        ("{type: string, anyOf: [{description: ''}, {default: null}, {type: ''}]}", True),
        ("{type: string, id: ''}", True),
        ("{type: string, minItems: 9, default: a}", True),
        ("{type: string, maxLength: 2, default: abc}", False),
        ("{type: array, items: {type: string, maxLength: 2, default: abc}}", False),
        ("{type: string, id: a}", False),
    ],
)
def test_the_schema_of_a_custom_kind(tmp_path: Path, schema: str, is_valid: bool) -> None:
    kept = CLAIM.format(resources="{}")
    risks = told(tmp_path, kept, kept + crd(schema))
    assert ("rejects" in risks) is not is_valid


KINDS = "[{group: apps, kind: '*'}]"


@pytest.mark.parametrize(
    ("old", "new", "risk"),
    [
        ("clusterResourceWhitelist: [{group: '*', kind: '*'}]", "", "covers all of */*"),
        ("", f"namespaceResourceWhitelist: {KINDS}", "covers all of */*"),
        ("", f"clusterResourceBlacklist: {KINDS}", "begins to deny apps/*"),
        (f"namespaceResourceWhitelist: {KINDS}", "", ""),
        ("", "namespaceResourceWhitelist: []", "covers all of */*"),
        ("namespaceResourceWhitelist: []", f"namespaceResourceWhitelist: {KINDS}", ""),
        ("", f"clusterResourceWhitelist: {KINDS}", ""),
        (
            f"namespaceResourceWhitelist: {KINDS}",
            "namespaceResourceWhitelist: [{group: apps, kind: Deployment}]",
            "covers all of apps/*",
        ),
        (
            "namespaceResourceWhitelist: [{group: '', kind: Pod}]",
            "namespaceResourceWhitelist: [{group: '', kind: Pod}, {group: apps, kind: '*'}]",
            "",
        ),
    ],
)
def test_the_kinds_that_a_project_permits(tmp_path: Path, old: str, new: str, risk: str) -> None:
    before, after = (project("['*']", text) for text in (old, new))
    risks = told(tmp_path, before, after)
    assert risk in risks
    assert ("missing-grant" in risks) == bool(risk)


MONITORED = """\
apiVersion: monitoring.coreos.com/v1
kind: Prometheus
metadata: {name: p}
spec: {serviceMonitorSelector: %s}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: m, labels: {release: %s}}
spec: {}
"""


@pytest.mark.parametrize(
    ("old", "new", "is_risk"),
    [
        (("{matchLabels: {release: a}}", "a"), ("{matchLabels: {release: a}}", "b"), True),
        (("{matchLabels: {release: a}}", "a"), ("{matchLabels: {release: b}}", "a"), True),
        (("{}", "a"), ("{}", "b"), False),
        (("{}", "a"), ("null", "a"), True),
        (("null", "a"), ("{matchLabels: {release: b}}", "a"), False),
    ],
)
def test_a_monitor_that_no_prometheus_selects(
    tmp_path: Path, old: tuple[str, str], new: tuple[str, str], is_risk: bool
) -> None:
    risks = told(tmp_path, MONITORED % old, MONITORED % new)
    assert ("no Prometheus" in risks) == is_risk
