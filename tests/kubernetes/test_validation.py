"""What the API server accepts and rejects; each object was applied to Kubernetes 1.36."""

from __future__ import annotations

import pytest
from ruamel.yaml import YAML

from postrender.kubernetes.kinds import GroupKind
from postrender.kubernetes.validation import find_invalid, find_rejections
from postrender.kubernetes.validation.checks import ROLLOUTS
from postrender.kubernetes.validation.schemas import (
    find_rejected_schemas,
    find_unlike,
    pattern,
)
from postrender.kubernetes.validation.updates import find_rejected_changes
from postrender.yaml.paths import format_path
from tests.manifests import Obj

POD = '{containers: [{name: app, image: "a:1"%s}]%s}'
KINDS = {
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "Job": "batch/v1",
    "Ingress": "networking.k8s.io/v1",
    "CronJob": "batch/v1",
    "HorizontalPodAutoscaler": "autoscaling/v2",
    "PriorityClass": "scheduling.k8s.io/v1",
    "Role": "rbac.authorization.k8s.io/v1",
    "Rollout": "argoproj.io/v1alpha1",
}


def problems(kind: str, body: str, name: str = "web") -> list[str]:
    """Return the paths of the problems of an object, with the fields of `body`."""
    head = f"{{apiVersion: {KINDS.get(kind, 'v1')}, kind: {kind}, metadata: {{name: '{name}'}}}}"
    yaml = YAML(typ="safe")
    found = find_invalid(yaml.load(head) | (yaml.load(body) or {}))
    return [format_path(path) for path, _ in found]


def workload(container: str = "", pod: str = "", spec: str = "") -> str:
    labels = "{app: web}"
    template = f"{{metadata: {{labels: {labels}}}, spec: {POD % (container, pod)}}}"
    return f"{{spec: {{selector: {{matchLabels: {labels}}}, template: {template}{spec}}}}}"


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(("ConfigMap", name) for name in ("a.b", "a" * 253, "1a")),
        *(("Deployment", name) for name in ("d" * 64, "d.e")),
        *(("Role", name) for name in ("system:x", "A_b")),
        ("Service", "1web"),
    ],
)
def test_a_name_is_valid(kind: str, name: str) -> None:
    bodies = {"Deployment": workload(), "Service": "{spec: {ports: [{port: 80}]}}"}
    assert not problems(kind, bodies.get(kind, "{}"), name)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(("ConfigMap", name) for name in ("A", "a" * 254, "-a", "a-", "a..b", "a_b")),
        *(("Service", name) for name in ("a.b", "a" * 64, "a_b")),
        *(("Namespace", name) for name in ("a.b", "a" * 64)),
        *(("Role", name) for name in ("a/b", "..", "%a")),
        ("StatefulSet", "a.b"),
        ("Job", "a" * 64),
        ("PriorityClass", "system-x"),
    ],
)
def test_a_name_is_not_valid(kind: str, name: str) -> None:
    assert "metadata.name" in problems(kind, "{}", name)


ACCEPTED = [
    workload(", env: [{name: A, value: x}, {name: A, value: y}, {name: B, value: null}]"),
    workload(", ports: [{containerPort: 80}, {containerPort: 80}]"),
    workload(", resources: {limits: {memory: 1000000000, cpu: 0.5}, requests: {cpu: 500m}}"),
    workload(", livenessProbe: {httpGet: {port: http}}"),
    workload("", ", volumes: [{name: data}], priorityClassName: nope"),
    workload(spec=", replicas: 3, strategy: {rollingUpdate: {maxSurge: 150%, maxUnavailable: 0}}"),
    workload(spec=", replicas: '${REPLICAS}'"),
]
REJECTED = {
    "spec.template.spec.containers[0]": workload().replace(', image: "a:1"', ""),
    "spec.template.spec.containers[0].args[0]": workload(", args: [1]"),
    "spec.template.spec.containers[0].env[0]": workload(", env: [{name: A=B, value: x}]"),
    "spec.template.spec.containers[0].env[0].value": workload(", env: [{name: A, value: 1}]"),
    "spec.template.spec.containers[0].imagePullPolicy": workload(", imagePullPolicy: always"),
    "spec.template.spec.containers[0].ports": workload(
        ", ports: [{name: a, containerPort: 1}, {name: a, containerPort: 2}]"
    ),
    "spec.template.spec.containers[0].ports[0].containerPort": workload(
        ", ports: [{containerPort: 70000}]"
    ),
    "spec.template.spec.containers[0].ports[0].name": workload(
        ", ports: [{name: Http, containerPort: 1}]"
    ),
    "spec.template.spec.containers[0].readinessProbe": workload(
        ", readinessProbe: {periodSeconds: 5}"
    ),
    "spec.template.spec.containers[0].resources": workload(
        ", resources: {requests: {cpu: 2}, limits: {cpu: 1}}"
    ),
    "spec.template.spec.containers[0].resources.limits.memory": workload(
        ", resources: {limits: {memory: 1Gib}}"
    ),
    "spec.template.spec.containers[0].volumeMounts": workload(
        ", volumeMounts: [{name: a, mountPath: /a}]"
    ),
    "spec.template.spec.restartPolicy": workload("", ", restartPolicy: Never"),
    "spec.template.spec.hostNetwork": workload("", ", hostNetwork: 'true'"),
    "spec.template.spec.volumes": workload("", ", volumes: [{name: a}, {name: a}]"),
    "spec.replicas": workload(spec=", replicas: '3'"),
    "spec.strategy": workload(spec=", strategy: {type: Recreate, rollingUpdate: {maxSurge: 1}}"),
    "spec.strategy.rollingUpdate.maxUnavailable": workload(
        spec=", strategy: {rollingUpdate: {maxUnavailable: 101%}}"
    ),
    "spec.selector": workload().replace("matchLabels: {app: web}", "matchLabels: {app: x}"),
}


# Each was compared with the sources of Kubernetes 1.36.
PODS = {
    "containers[0].readinessProbe.terminationGracePeriodSeconds": (
        ", readinessProbe: {exec: {command: [a]}, terminationGracePeriodSeconds: 1}",
        "",
    ),
    "containers[0].livenessProbe.httpGet.httpHeaders[0].name": (
        ", livenessProbe: {httpGet: {port: 1, httpHeaders: [{name: a b, value: c}]}}",
        "",
    ),
    "containers[0].lifecycle.preStop": (
        ", lifecycle: {preStop: {exec: {command: [a]}, sleep: {}}}",
        "",
    ),
    "containers[0].resizePolicy[0].restartPolicy": (
        ", resizePolicy: [{resourceName: cpu, restartPolicy: No}]",
        "",
    ),
    "containers[0].env[0].valueFrom.fieldRef.fieldPath": (
        ", env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.labels}}}]",
        "",
    ),
    "containers[0].volumeMounts[0]": (
        ", volumeMounts: [{name: a, mountPath: /a, recursiveReadOnly: Enabled}]",
        ", volumes: [{name: a}]",
    ),
    "resources": ("", ", resources: {limits: {storage: 1}}"),
    "securityContext.sysctls[0].name": ("", ", securityContext: {sysctls: [{name: a b}]}"),
    "": ("", ", hostNetwork: true, securityContext: {sysctls: [{name: net.core.x}]}"),
    "ephemeralContainers": ("", ", ephemeralContainers: [{name: a}]"),
    "dnsConfig.nameservers[0]": ("", ", dnsConfig: {nameservers: [a]}"),
    "subdomain": ("", ", subdomain: a.b"),
    "readinessGates[0].conditionType": ("", ", readinessGates: [{conditionType: a b}]"),
    "os.name": ("", ", os: {name: macos}"),
    "volumes[0].hostPath.path": ("", ", volumes: [{name: a, hostPath: {path: /a/../b}}]"),
    "volumes[0].downwardAPI.items[0].fieldRef.fieldPath": (
        "",
        ", volumes: [{name: a, downwardAPI: {items: [{path: b, "
        "fieldRef: {fieldPath: spec.nodeName}}]}}]",
    ),
    "volumes[0].downwardAPI.items[0].resourceFieldRef": (
        "",
        ", volumes: [{name: a, downwardAPI: {items: [{resourceFieldRef: "
        "{resource: limits.cpu}, path: b}]}}]",
    ),
}
OTHERS = [
    ("Ingress", "spec.defaultBackend", "{spec: {defaultBackend: {}, rules: [{host: a}]}}"),
    ("Service", "spec", "{spec: {ports: [{port: 1, nodePort: 30001}]}}"),
    ("Service", "spec", "{spec: {ports: [{port: 1}], loadBalancerSourceRanges: [10.0.0.0/8]}}"),
    ("Service", "spec.externalName", "{spec: {type: ExternalName, externalName: a_b}}"),
    ("Service", "spec.trafficDistribution", "{spec: {ports: [{port: 1}], trafficDistribution: a}}"),
    ("Service", "spec.ports[0].appProtocol", "{spec: {ports: [{port: 1, appProtocol: a b}]}}"),
    ("Role", "rules[0].nonResourceURLs", "{rules: [{nonResourceURLs: [/a], verbs: [get]}]}"),
    *(
        ("Job", "spec", f"{{spec: {{template: {{spec: {POD % ('', never)}}}, {field}}}}}")
        for never in (", restartPolicy: Never",)
        for field in (
            "backoffLimitPerIndex: 1",
            "successPolicy: {rules: [{succeededCount: 1}]}",
            "completionMode: Indexed",
            "podFailurePolicy: {rules: []}, podReplacementPolicy: TerminatingOrFailed",
        )
    ),
]
VALID_SERVICES = [
    "{type: ExternalName, externalName: a.example.com.}",
    "{type: LoadBalancer, loadBalancerSourceRanges: [' 10.0.0.0/8'], ports: [{port: 1}]}",
    "{ports: [{port: 1, appProtocol: kubernetes.io/h2c, nodePort: 0}]}",
]


@pytest.mark.parametrize("path", PODS)
def test_a_pod_is_not_valid(path: str) -> None:
    expected = f"spec.template.spec.{path}".rstrip(".")
    assert problems("Deployment", workload(*PODS[path])) == [expected]


@pytest.mark.parametrize(("kind", "path", "body"), OTHERS)
def test_another_object_is_not_valid(kind: str, path: str, body: str) -> None:
    assert problems(kind, body) == [path]


@pytest.mark.parametrize(
    ("code", "is_valid"),
    [("", True), ("containerName: app, ", True), ("containerName: x, ", False)],
)
def test_a_rule_about_exit_codes_names_a_container(code: str, is_valid: bool) -> None:
    rule = f"{{action: Ignore, onExitCodes: {{{code}operator: In, values: [1]}}}}"
    template = f"{{spec: {POD % ('', ', restartPolicy: Never')}}}"
    body = f"{{spec: {{podFailurePolicy: {{rules: [{rule}]}}, template: {template}}}}}"
    assert (problems("Job", body) == []) == is_valid


@pytest.mark.parametrize(("number", "is_valid"), [(100_000, True), (100_001, False)])
def test_the_most_pods_of_an_indexed_job(number: int, is_valid: bool) -> None:
    template = f"{{spec: {POD % ('', ', restartPolicy: Never')}}}"
    counts = f"completions: {number}, parallelism: {number}, maxFailedIndexes: 1"
    body = f"{{spec: {{completionMode: Indexed, {counts}, template: {template}, "
    body += "backoffLimitPerIndex: 1}}"
    assert (problems("Job", body) == []) == is_valid


@pytest.mark.parametrize("spec", VALID_SERVICES)
def test_a_service_is_valid(spec: str) -> None:
    assert not problems("Service", f"{{spec: {spec}}}")


@pytest.mark.parametrize("body", ACCEPTED)
def test_a_deployment_is_valid(body: str) -> None:
    assert not problems("Deployment", body)


@pytest.mark.parametrize("path", REJECTED)
def test_a_deployment_is_not_valid(path: str) -> None:
    assert problems("Deployment", REJECTED[path]) == [path]


def test_a_rollout_has_the_rules_of_its_definition() -> None:
    assert not problems("Rollout", workload(", ports: [{containerPort: 70000}]"))
    assert problems("Rollout", workload(", env: [{name: A, value: x}, {name: A, value: y}]"))
    assert problems("Rollout", workload(spec=", replicas: '3'")) == ["spec.replicas"]


PAIR = "canaryService: a, stableService: b"
PING_PONG = "pingPong: {pingService: a, pongService: b}"
ROUTER = "istio: {virtualService: {name: v}}"
ISTIO = f"{PAIR}, trafficRouting: {{{ROUTER}, managedRoutes: [{{name: r}}]}}"
HEADER = "steps: [{setHeaderRoute: {name: r, match: [{headerName: a, headerValue: {%s}}]}}]"
VALID_CANARIES = [
    "",
    "steps: [{setWeight: 0}, {pause: {}}, {setWeight: 5, plugin: {name: p}}]",
    "maxSurge: 0",
    PING_PONG,
    f"{ISTIO}, {HEADER % 'exact: x'}",
    f"{ISTIO}, steps: [{{setWeight: 5, setCanaryScale: {{weight: 5}}}}]",
    "trafficRouting: {istio: {virtualService: {name: v}, destinationRule: {name: d}}}",
    f"trafficRouting: {{alb: {{ingress: i, rootService: c}}}}, {PING_PONG}",
    f"{PAIR}, trafficRouting: {{nginx: {{stableIngress: i}}, maxTrafficWeight: 1000}}",
    f"{PAIR}, trafficRouting: {{smi: {{}}}}, scaleDownDelaySeconds: 0",
    f"{ISTIO}, {HEADER % 'prefix: x'}".replace(ROUTER, f"{ROUTER}, alb: null"),
    "steps: [{pause: {duration: 1h30m}}, {pause: {duration: '60'}}]",
]
INVALID_CANARIES = {
    "maxSurge: 0, maxUnavailable: 0%": "maxSurge and maxUnavailable are both 0",
    "canaryService: a, stableService: a": "canaryService and stableService are the same",
    "pingPong: {pingService: a, pongService: a}": "pingService and pongService are the same",
    "steps: [{}]": "is missing",
    "steps: [{pause: {duration: -1m}}]": "is not a duration",
    "steps: [{setWeight: 5, pause: {}}]": "setWeight and pause are both set",
    "steps: [{setCanaryScale: {weight: 5}}]": "the step setCanaryScale needs trafficRouting",
    f"{ISTIO}, {HEADER % ''}": "one of the fields exact, regex, prefix is missing",
    f"{ISTIO}, {HEADER % 'exact: x'}".replace("name: r, m", "name: s, m"): "needs s in",
    f"{PAIR}, trafficRouting: {{nginx: {{stableIngress: i}}}}, {HEADER % 'exact: x'}": (
        "setHeaderRoute needs istio, alb, apisix or plugins in trafficRouting"
    ),
    f"{ISTIO}, {HEADER % 'prefix: x'}".replace(ROUTER, "alb: {}"): (
        "with alb, the step setHeaderRoute needs headerValue.exact"
    ),
    f"{ISTIO}, steps: [{{setMirrorRoute: {{name: r, match: [{{path: {{}}}}]}}}}]": "exact, regex",
    f"{PAIR}, trafficRouting: {{smi: {{}}, maxTrafficWeight: 9}}": "needs nginx or plugins",
    f"trafficRouting: {{{ROUTER}}}": "needs a canaryService and a stable",
    f"{PAIR}, trafficRouting: {{istio: {{}}}}": "virtualService, virtualServices is missing",
    f"trafficRouting: {{smi: {{}}}}, {PING_PONG}": "pingPong needs alb",
    f"trafficRouting: {{alb: {{ingress: i}}}}, {PING_PONG}": "rootService",
    f"{PAIR}, trafficRouting: {{alb: {{ingress: i, ingresses: [j]}}}}": "ingresses are both set",
    f"{ISTIO}, scaleDownDelaySeconds: 9, dynamicStableScale: true": "are both set",
    "scaleDownDelaySeconds: 0": "scaleDownDelaySeconds needs trafficRouting",
    "steps: [{experiment: {templates: [{name: a, weight: 5}]}}]": "the weight of an experiment",
    "antiAffinity: {}": "is missing",
}


def canary_clauses(canary: str) -> list[str]:
    body = workload(spec=f", strategy: {{canary: {{{canary}}}}}")
    root = YAML(typ="safe").load(body) | {"apiVersion": KINDS["Rollout"], "kind": "Rollout"}
    return [text for judge, _, text in find_rejections(root) if judge == ROLLOUTS]


@pytest.mark.parametrize("canary", VALID_CANARIES)
def test_a_canary_is_valid(canary: str) -> None:
    assert not canary_clauses(canary)


@pytest.mark.parametrize("canary", INVALID_CANARIES)
def test_a_canary_is_not_valid(canary: str) -> None:
    found = canary_clauses(canary)
    assert any(INVALID_CANARIES[canary] in text for text in found), found


@pytest.mark.parametrize(
    ("template", "is_valid"),
    [
        ("{spec: {containers: [{name: a, image: a:1}]}}", True),
        ("{metadata: {annotations: {a: b}}}", False),
    ],
)
def test_a_template_besides_a_workload(template: str, is_valid: bool) -> None:
    reference = "workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}"
    spec = f"{{{reference}, strategy: {{canary: {{}}}}, template: {template}}}"
    root = YAML(typ="safe").load(f"{{spec: {spec}}}")
    root |= {"apiVersion": KINDS["Rollout"], "kind": "Rollout"}
    found = [text for judge, _, text in find_rejections(root) if judge == ROLLOUTS]
    assert ("template and workloadRef are both set" in found) is not is_valid


@pytest.mark.parametrize(
    ("metric", "clause"),
    [
        ("count: 3, interval: 1m, failureLimit: 2, consecutiveSuccessLimit: 1", ""),
        ("failureLimit: -1, consecutiveSuccessLimit: 2", ""),
        ("count: '{{args.count}}', failureLimit: 9", ""),
        ("count: 2, interval: 1m, failureLimit: '3'", "failureLimit (3) is above the count (2)"),
        ("count: 3, interval: 1m, failureLimit: 2, consecutiveSuccessLimit: 2", "(4) is above"),
        ("count: 3, interval: 1m, consecutiveSuccessLimit: 4", "consecutiveSuccessLimit (4) is"),
        ("count: 3, interval: 1m, inconclusiveLimit: 4", "inconclusiveLimit (4) is above"),
        ("failureLimit: -1", "the metric needs a consecutiveSuccessLimit"),
        ("failureLimit: -2", "failureLimit (-2) is below -1"),
        ("interval: 1h30m, initialDelay: +5m", ""),
        (f"interval: 1m, count: '{'9' * 5000}'", ""),
        ("interval: '60'", 'the value "60" is not a duration'),
        ("consecutiveErrorLimit: -1", "consecutiveErrorLimit (-1) is below 0"),
    ],
)
def test_the_limits_of_a_metric(metric: str, clause: str) -> None:
    head = "{apiVersion: argoproj.io/v1alpha1, kind: AnalysisTemplate, metadata: {name: t}, spec: "
    body = f"{head}{{metrics: [{{name: m, provider: {{web: {{url: x}}}}, {metric}}}]}}}}"
    found = [text for _, _, text in find_rejections(YAML(typ="safe").load(body))]
    assert found == [] if not clause else any(clause in text for text in found), found


@pytest.mark.parametrize(
    ("schedule", "is_valid"),
    [
        ("*/5 * * * *", True),
        ("60 * * * *", False),
        ("* * * *", False),
        ("@daily", True),
        ("@every 5m", True),
        ("@often", False),
    ],
)
def test_a_schedule(schedule: str, is_valid: bool) -> None:
    found = problems("CronJob", f"{{spec: {{schedule: '{schedule}'}}}}")
    assert ("spec.schedule" not in found) == is_valid


@pytest.mark.parametrize(("count", "is_valid"), [(3, True), (4, False)])
def test_a_pod_has_at_most_three_name_servers(count: int, is_valid: bool) -> None:
    servers = ", ".join(f"10.0.0.{number}" for number in range(count))
    pod = f", dnsConfig: {{nameservers: [{servers}]}}"
    assert (problems("Deployment", workload(pod=pod)) == []) == is_valid


CPU = "{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}"
QUEUE = "{type: External, external: {metric: {name: q}, target: {type: Value, value: 1}}}"


@pytest.mark.parametrize(
    ("spec", "is_valid"),
    [
        (f"maxReplicas: 3, metrics: [{CPU}]", True),
        ("minReplicas: 3, maxReplicas: 3", True),
        ("minReplicas: 4, maxReplicas: 3", False),
        (f"minReplicas: 0, maxReplicas: 3, metrics: [{CPU}]", False),
        (f"minReplicas: 0, maxReplicas: 3, metrics: [{CPU}, {QUEUE}]", True),
    ],
)
def test_the_bounds_of_an_autoscaler(spec: str, is_valid: bool) -> None:
    target = "scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}"
    found = problems("HorizontalPodAutoscaler", f"{{spec: {{{target}, {spec}}}}}")
    assert found == [] if is_valid else found == ["spec"]


JOB = ("batch", "Job")
CLAIM = ("", "PersistentVolumeClaim")


@pytest.mark.parametrize(
    ("kind", "old", "new", "is_rejected"),
    [
        (JOB, {"completions": 1}, {"completions": 2}, True),
        (JOB, {}, {"completions": 2}, True),
        (JOB, {}, {"completions": 1}, False),  # the default
        (JOB, {"completions": 1}, {}, False),
        (JOB, {}, {}, False),
        (CLAIM, {"volumeName": "a"}, {"volumeName": "b"}, True),
        (CLAIM, {}, {"volumeName": "b"}, False),
        (CLAIM, {"volumeName": "a"}, {}, False),  # the controller has set the field
    ],
)
def test_a_field_that_cannot_change(kind: GroupKind, old: Obj, new: Obj, is_rejected: bool) -> None:
    changes = find_rejected_changes(kind, {"spec": old}, {"spec": new}, None)
    assert bool(list(changes)) == is_rejected


@pytest.mark.parametrize(("length", "is_shown"), [(60, True), (61, False)])
def test_a_long_value_that_cannot_change_is_not_shown(length: int, is_shown: bool) -> None:
    old, new = "a", "b" * length
    [(_, text)] = find_rejected_changes(
        CLAIM, {"spec": {"volumeName": old}}, {"spec": {"volumeName": new}}, None
    )
    assert (f" from {old} to {new}" in text) == is_shown


def test_the_text_about_a_secret_names_no_key() -> None:
    data: Obj = {"my key": "%", "b": 1, "c": "ENC[x]"}
    secret: Obj = {"apiVersion": "v1", "kind": "Secret", "data": data}
    texts = [text for _, text in find_invalid(secret)]
    assert len(texts) == 3
    assert not any("my key" in text or "%" in text for text in texts)


@pytest.mark.parametrize(
    ("text", "is_valid"),
    [
        *(
            (text, True)
            for text in (r"\p{L}+?", "[]a]", "[^]]", "a{,5}", "(?i)a|", r"\Q(\E*", "^*")
        ),
        *(
            (text, True)
            for text in ("[[:alpha:](]", r"[\d-z]", r"\12", r"\x{1F600}", "a{01}", "(?<n>a)")
        ),
        *((text, False) for text in ("[a-z", "[]", "[^]", "(a", "a)", "(?=a)", "(?<!a)", "(?>a)")),
        *(
            (text, False)
            for text in (r"(a)\1", r"a\Z", r"\h", "a++", "a**", "*a", "(|+)", "a{1001}")
        ),
        *((text, False) for text in ("a{2,1}", "a\\", r"\u0041")),
    ],
)
def test_the_pattern_of_a_schema_is_one_of_go(text: str, is_valid: bool) -> None:
    assert (not list(pattern(text))) == is_valid


@pytest.mark.parametrize(
    ("value", "expression", "is_valid"),
    [
        ("abc", "^[a-z]+$", True),
        ("abc\n", "^[a-z]+$", False),  # in Python, $ matches before the last line break
        ("ABC", "^[a-z]+$", False),
        ("10s", r"^\d+(ms|s|m)?$", True),
        ("10h", r"^\d+(ms|s|m)?$", False),
        ("b", "^(a|c)", False),
        ("\u0661", r"^\d$", False),
        # Unknown: a group that repeats, too much work, a token of Go, a long text.
        *(("b", unknown, True) for unknown in ("^(a+)+$", "^a*a*a*c$", r"^\pN$", "^[[:digit:]]$")),
        ("b", "a?a?a?a?.*.*c", True),
        ("b" * 254, "^a", True),
    ],
)
def test_the_pattern_of_a_schema_matches(value: str, expression: str, is_valid: bool) -> None:
    assert (not list(find_unlike(value, {"type": "string", "pattern": expression}))) == is_valid


def test_the_items_of_a_set_and_of_a_list_with_keys() -> None:
    fields: Obj = {"properties": {"port": {}, "protocol": {"default": "TCP"}}}
    schema: Obj = {
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port", "protocol"],
        "items": fields,
    }
    same: Obj = {"port": 1, "protocol": "TCP"}
    others: Obj = {"port": 1, "protocol": "UDP"}
    assert [text for _, text in find_unlike([{"port": 1}, same], schema)] == [
        '2 items have the key 1, "TCP"'
    ]
    alike: list[Obj] = [{"port": "a/b", "protocol": "c"}, {"port": "a", "protocol": "b/c"}]
    assert not list(find_unlike([*alike], schema))
    assert not list(find_unlike([{"port": 1}, others], schema))
    assert not list(find_unlike([{"port": 1}, same], schema, is_default=True))
    values: Obj = {"x-kubernetes-list-type": "set"}
    assert [text for _, text in find_unlike(["a", "b", "a"], values)] == [
        '2 items have the value "a"'
    ]
    assert not list(find_unlike([{"a": 1}, {"a": 2}], values))


@pytest.mark.parametrize(
    ("rule", "is_valid"),
    [
        ("self.size > 1 && has(self.size) || self.metadata.name == ')'", True),
        ("self.size >= 1 // (", True),
        ("self.items.all(self, self.x != '=')", True),
        ("self.size >= 1 // self.sise\n&& self.`a-b` == 1", True),
        (r"self.size in [1, 2] && 'a\'(' != r'\(' && '''it's [''' != '='", True),
        ("self.items.all(x, x != '=') && self.size.string() <= '1' && !(self.a__b)", True),
        ("[1].exists(one, one == self.size) ? {'a': 1}.a == 1 : true", True),
        ("self . size > 1", True),
        ("", False),
        (" ", False),
        ("self.size = 1", False),
        ("self.size > 1 & true", False),
        ("(self.size > 1", False),
        ("self.size > 1)", False),
        ("self.size == 'a", False),
        ("self.sise > 1", False),
        ("oldSelf.sise.startsWith('a')", False),
    ],
)
def test_the_rule_of_a_schema(rule: str, is_valid: bool) -> None:
    fields: Obj = {one: {"type": "integer"} for one in ("size", "items")}
    schema: Obj = {"type": "object", "x-kubernetes-validations": [{"rule": rule}]}
    assert (not list(find_rejected_schemas({**schema, "properties": fields}))) == is_valid
    is_closed = "sise" not in rule
    free = {**schema, "x-kubernetes-preserve-unknown-fields": True, "properties": fields}
    assert (not list(find_rejected_schemas(free))) == (is_valid or not is_closed)


@pytest.mark.parametrize(
    ("group_kind", "old", "new", "is_accepted"),
    [
        (("", "ResourceQuota"), {"scopeSelector": {"a": 1}}, {"scopeSelector": {"a": 2}}, True),
        (("", "ResourceQuota"), {"scopes": ["BestEffort"]}, {}, False),
        (("", "ResourceQuota"), {"scopes": {"a": 1}}, {}, True),
        (CLAIM, {"dataSource": {"name": "a"}}, {}, True),
        (CLAIM, {"dataSource": {"name": "a"}}, {"dataSource": {"name": "b"}}, False),
        (("", "Service"), {"ipFamilies": ["IPv4"]}, {"ipFamilies": []}, True),
        (("resource.k8s.io", "ResourceClaimTemplate"), {"spec": 1}, {"spec": 2}, False),
    ],
)
def test_what_a_live_object_accepts(
    group_kind: tuple[str, str], old: Obj, new: Obj, is_accepted: bool
) -> None:
    found = find_rejected_changes(group_kind, {"spec": old}, {"spec": new}, None)
    assert (not list(found)) == is_accepted


def test_a_claim_of_devices_in_another_version_of_the_api() -> None:
    kind = ("resource.k8s.io", "ResourceClaim")
    old: Obj = {"spec": {"devices": {"requests": [{"name": "a", "deviceClassName": "b"}]}}}
    request: Obj = {"name": "a", "exactly": {"deviceClassName": "b"}}
    new: Obj = {"apiVersion": "resource.k8s.io/v1", "spec": {"devices": {"requests": [request]}}}
    assert not list(find_rejected_changes(kind, old, new, None))
