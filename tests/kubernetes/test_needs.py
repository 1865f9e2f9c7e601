"""What Argo Rollouts 1.10 validates in the objects that a Rollout names."""

from __future__ import annotations

import pytest
from ruamel.yaml import YAML

from postrender.kubernetes.needs import needs_differ, unmet_needs
from postrender.yaml.paths import Path
from tests.manifests import Obj

CANARY = ("spec", "strategy", "canary")
STEP, BACKGROUND = (*CANARY, "steps", 0, "analysis"), (*CANARY, "analysis")
SERVICES = "stableService: s, canaryService: c"


def loaded(text: str) -> Obj:
    data: Obj = YAML(typ="safe").load(text)
    return data


def unmet(canary: str, path: Path, target: str, *others: str | None) -> list[str]:
    labels = "{app: w, tier: a}"
    rollout = loaded(
        "{spec: {selector: {matchLabels: {app: w}}, "
        f"template: {{metadata: {{labels: {labels}}}}}, strategy: {{canary: {{{canary}}}}}}}}}"
    )
    templates = [None if other is None else loaded(other) for other in others]
    found = unmet_needs(rollout, [path], loaded(target), templates)
    return [fact.replace("{}", "it") for _, _, fact in found]


def analysis(canary: str, spec: str, *others: str | None, where: Path = STEP) -> list[str]:
    template = f"{{kind: AnalysisTemplate, spec: {spec}}}"
    path = (*where, "templates", 0, "templateName")
    return unmet(canary, path, template, *others)


GIVEN = "steps: [{analysis: {templates: [{templateName: t}], args: [{name: a}]}}]"
NOT_GIVEN = GIVEN.replace("name: a", "name: b")
OF_B = "{spec: {args: [{name: a%s}]}}"


@pytest.mark.parametrize(
    ("canary", "spec", "others", "facts"),
    [
        (GIVEN, "{args: [{name: a}]}", (), []),
        (NOT_GIVEN, "{args: [{name: a, value: x}]}", (), []),
        (NOT_GIVEN, "{args: [{name: a}]}", (), ["the argument a of it has no value"]),
        (NOT_GIVEN, "{args: [{name: a}]}", (OF_B % ", value: x",), []),
        (NOT_GIVEN, "{args: [{name: a}]}", (None,), []),  # unknown
        (NOT_GIVEN, "{args: [{name: a}]}", (OF_B % "",), ["the argument a of it has no value"]),
        (GIVEN, "{metrics: [{name: m}, {name: n, interval: 1m, count: '3'}]}", (), []),
        (GIVEN, f"{{metrics: [{{interval: 1m, count: '{'9' * 5000}'}}]}}", (), []),
        (GIVEN, "{metrics: [{name: m, interval: 1m, count: 0}]}", (), ["metric m of it has no"]),
        (
            GIVEN,
            "{args: [{name: n}], metrics: [{name: m, interval: 1m, count: '{{args.n}}'}]}",
            (None,),
            ["metric m of it has no"],
        ),
        (
            GIVEN,
            "{args: [{name: n, value: '2'}], metrics: [{interval: 1m, count: '{{args.n}}'}]}",
            (),
            [],
        ),
        (GIVEN, "{metrics: [{name: m, web: '{{ args.z }}'}]}", (), ["uses the argument z"]),
    ],
)
def test_an_analysis(
    canary: str, spec: str, others: tuple[str | None, ...], facts: list[str]
) -> None:
    found = analysis(canary, spec, *others)
    assert len(found) == len(facts)
    assert all(fact in text for fact, text in zip(facts, found, strict=True)), found


def test_the_rollout_does_not_wait_for_a_background_analysis() -> None:
    spec = "{args: [{name: a}], metrics: [{name: m, interval: 1m, x: '{{args.z}}'}]}"
    canary = "analysis: {templates: [{templateName: t}]}"
    found = analysis(canary, spec, OF_B % ", value: x", where=BACKGROUND)
    assert found == ["the argument a of it has no value"]


BOTH = "route: [{destination: {host: s}}, {destination: {host: c.ns.svc.cluster.local}}]"
ONE = "route: [{destination: {host: s}}]"
TLS = "{port: 1, sniHosts: [a]}"


@pytest.mark.parametrize(
    ("routes", "http", "facts"),
    [
        ("", f"[{{{BOTH}}}]", []),
        ("", f"[{{name: x, {BOTH}}}]", []),
        ("", f"[{{{ONE}}}]", ["it has no destination c"]),
        ("", f"[{{name: x, {ONE}}}, {{{BOTH}}}]", ["it has 2 routes, and the Rollout names none"]),
        ("", f"[{{name: managed, {ONE}}}, {{{BOTH}}}]", []),
        ("", "[]", []),
        ("x", "[]", []),  # the routes are of TLS or TCP
        ("x", f"[{{name: x, {BOTH}}}, {{name: y, {ONE}}}]", []),
        ("x", f"[{{name: y, {BOTH}}}]", ["the route x of it does not exist"]),
        ("x", f"[{{name: x, {ONE}}}]", ["the route x of it has no destination c"]),
        ("x", "[{name: [x], route: {a: 1}}]", ["the route x of it does not exist"]),
    ],
)
@pytest.mark.parametrize("where", [("virtualService",), ("virtualServices", 0)])
def test_the_routes_of_a_virtual_service(
    where: Path, routes: str, http: str, facts: list[str]
) -> None:
    named = f"{{name: v, routes: [{routes}]}}"
    service = f"virtualService: {named}" if where[1:] == () else f"virtualServices: [{named}]"
    managed = "managedRoutes: [{name: managed}]"
    canary = f"{SERVICES}, trafficRouting: {{{managed}, istio: {{{service}}}}}"
    path = (*CANARY, "trafficRouting", "istio", *where, *(("name",) if not where[1:] else ()))
    assert unmet(canary, path, f"{{kind: VirtualService, spec: {{http: {http}}}}}") == facts


@pytest.mark.parametrize(
    ("wanted", "spec", "facts"),
    [
        ("", f"{{tls: [{{match: [{{port: 443, sniHosts: [a]}}], {BOTH}}}]}}", []),
        ("", f"{{tcp: [{{{ONE}}}]}}", ["it has no destination c"]),
        ("", f"{{tcp: [{{{BOTH}}}, {{{BOTH}}}]}}", ["it has 2 TCP routes, and the Rollout names"]),
        (
            "tlsRoutes: [{port: 1, sniHosts: [b, a]}]",
            f"{{tls: [{{match: [{TLS}, {{sniHosts: [b], port: 1}}], {BOTH}}}]}}",
            [],
        ),
        (
            "tlsRoutes: [{sniHosts: [a]}]",
            f"{{tls: [{{match: [{{sniHosts: [a]}}], {ONE}}}]}}",
            ["the TLS route a of it has no destination c"],
        ),
        (
            "tcpRoutes: [{port: 80}]",
            f"{{tcp: [{{match: [{{port: 80}}, {{port: 81}}], {BOTH}}}]}}",
            ["the TCP route 80 of it does not exist"],
        ),
        ("tcpRoutes: [80]", f"{{tcp: [{{match: x, {BOTH}}}]}}", ["the TCP route 80 of it does"]),
        (
            "routes: [x]",
            f"{{http: [{{name: x, {BOTH}}}], tcp: [{{{ONE}}}]}}",
            ["it has no destination c"],
        ),
    ],
)
def test_the_routes_of_tls_and_tcp(wanted: str, spec: str, facts: list[str]) -> None:
    service = f"virtualService: {{name: v, {wanted}}}"
    canary = f"{SERVICES}, trafficRouting: {{istio: {{{service}}}}}"
    path = (*CANARY, "trafficRouting", "istio", "virtualService", "name")
    found = unmet(canary, path, f"{{kind: VirtualService, spec: {spec}}}")
    assert len(found) == len(facts)
    assert all(fact in text for fact, text in zip(facts, found, strict=True)), found


def test_the_subsets_of_a_destination_rule() -> None:
    rule = "destinationRule: {canarySubsetName: b, stableSubsetName: a}"
    canary = f"trafficRouting: {{istio: {{{rule}, virtualService: {{name: v}}}}}}"
    path = (*CANARY, "trafficRouting", "istio", "virtualService", "name")
    http = "[{route: [{destination: {host: x, subset: a}}]}]"
    found = unmet(canary, path, f"{{kind: VirtualService, spec: {{http: {http}}}}}")
    assert found == ["it has no destination with the subset b"]


@pytest.mark.parametrize(
    ("router", "backend", "facts"),
    [
        ("nginx: {stableIngress: i}", "{service: {name: s}}", []),
        ("nginx: {stableIngress: i}", "{serviceName: s}", []),
        ("nginx: {stableIngress: i}", "{service: {name: c}}", ["no path of it leads to Service/s"]),
        (
            "nginx: {stableIngress: i}",
            "{service: {name: [s]}}",
            ["no path of it leads to Service/s"],
        ),
        ("alb: {ingress: i, rootService: r}", "{service: {name: r}}", []),
        ("alb: {ingress: i, rootService: {a: b}}", "{service: {name: s}}", []),
    ],
)
def test_the_paths_of_an_ingress(router: str, backend: str, facts: list[str]) -> None:
    path = (*CANARY, "trafficRouting", router.partition(":")[0], "ingress")
    spec = f"{{rules: [{{http: {{paths: [{{backend: {backend}}}]}}}}]}}"
    canary = f"{SERVICES}, trafficRouting: {{{router}}}"
    assert unmet(canary, path, f"{{kind: Ingress, spec: {spec}}}") == facts


@pytest.mark.parametrize(
    ("selector", "facts"),
    [
        ("{app: w, rollouts-pod-template-hash: x}", []),
        ("{tier: b}", ["it selects the label tier: b, which the pods do not have"]),
        ("[a]", []),
    ],
)
def test_the_selector_of_a_service(selector: str, facts: list[str]) -> None:
    target = f"{{kind: Service, spec: {{selector: {selector}}}}}"
    assert unmet(SERVICES, (*CANARY, "stableService"), target) == facts


def test_what_rollouts_need_differs() -> None:
    old = loaded("{kind: Service, spec: {selector: {a: b}, ports: [{port: 1}]}}")
    assert not needs_differ(old, loaded("{kind: Service, spec: {selector: {a: b}}}"))
    assert needs_differ(old, loaded("{kind: Service, spec: {selector: {a: c}}}"))
    assert not needs_differ({}, loaded("{kind: Deployment, spec: {a: b}}"))
