"""An ordinary application chart of 150 objects: twelve components, three dashboards, one CRD."""

from __future__ import annotations

import json
import random
from string import Template
from typing import TYPE_CHECKING

from benchmarks.text import document, indent, prose, sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

COMPONENTS = (
    "api",
    "cart",
    "catalog",
    "checkout",
    "gateway",
    "inventory",
    "mailer",
    "orders",
    "payment",
    "search",
    "users",
    "web",
)
_EXTRAS = ("dashboard-sales", "dashboard-stock", "dashboard-traffic")

_META = """\
metadata:
  name: $name
  namespace: shop
  labels:
    app.kubernetes.io/name: $component
    app.kubernetes.io/instance: shop
    app.kubernetes.io/managed-by: Helm
    app.kubernetes.io/version: "5.2.0"
    helm.sh/chart: shop-2.7.1"""

_POD = """\
metadata:
  annotations:
    prometheus.io/scrape: "true"
  labels:
    app.kubernetes.io/name: $component
    app.kubernetes.io/instance: shop
spec:
  serviceAccountName: shop-$component
  securityContext:
    runAsNonRoot: true
    seccompProfile:
      type: RuntimeDefault
  initContainers:
    - name: wait
      image: "registry.example.org/shop/wait:1.3.0"
      env:
        - name: WAIT_FOR
          valueFrom:
            configMapKeyRef:
              name: shop-$component-config
              key: UPSTREAM
  containers:
    - name: $component
      image: "registry.example.org/shop/$component:5.2.0"
      args: ["--config", "/etc/$component/application.yaml"]
      envFrom:
        - configMapRef:
            name: shop-$component-config
        - secretRef:
            name: shop-$secret
            optional: true
      ports:
        - name: http
          containerPort: 8080
      livenessProbe:
        httpGet: {path: /healthz, port: http}
      resources:
        limits: {memory: 512Mi}
        requests: {cpu: 100m, memory: 256Mi}
      volumeMounts:
        - name: config
          mountPath: /etc/$component
          readOnly: true
        - name: scratch
          mountPath: /tmp
  volumes:
    - name: config
      projected:
        sources:
          - configMap:
              name: shop-$component-config
    - name: scratch
      emptyDir: {}"""

_WORKLOAD = """\
spec:
  replicas: 2
  revisionHistoryLimit: 3
  selector:
    matchLabels:
      app.kubernetes.io/name: $component
      app.kubernetes.io/instance: shop
"""

_SPECS = {
    "ServiceAccount": "automountServiceAccountToken: false",
    "Service": """\
spec:
  type: ClusterIP
  ports:
    - name: http
      port: 80
      targetPort: http
  selector:
    app.kubernetes.io/name: $component""",
    "HorizontalPodAutoscaler": """\
spec:
  minReplicas: 2
  maxReplicas: 8
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: shop-$component
  metrics:
    - type: Resource
      resource:
        name: cpu
        target: {type: Utilization, averageUtilization: 75}""",
    "PodDisruptionBudget": """\
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      app.kubernetes.io/name: $component""",
    "NetworkPolicy": """\
spec:
  podSelector:
    matchLabels:
      app.kubernetes.io/name: $component
  policyTypes: ["Ingress"]
  ingress:
    - from:
        - podSelector: {}
      ports:
        - port: 8080""",
    "Role": """\
rules:
  - apiGroups: [""]
    resources: ["configmaps"]
    resourceNames: ["shop-$component-config"]
    verbs: ["get", "watch"]
  - apiGroups: ["coordination.k8s.io"]
    resources: ["leases"]
    verbs: ["create", "get", "update"]""",
    "RoleBinding": """\
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: shop-$component
subjects:
  - kind: ServiceAccount
    name: shop-$component
    namespace: shop""",
    "ServiceMonitor": """\
spec:
  endpoints:
    - port: http
      path: /metrics
  selector:
    matchLabels:
      app.kubernetes.io/name: $component""",
    "Secret": 'type: Opaque\ndata:\n  PASSWORD: "Y2hhbmdlLW1l"\n  TOKEN: "bm90LWEtdG9rZW4="',
    "PersistentVolumeClaim": """\
spec:
  accessModes: ["ReadWriteOnce"]
  resources:
    requests:
      storage: 10Gi""",
    "Ingress": """\
spec:
  tls:
    - hosts: ["$component.example.org"]
      secretName: shop-$secret
  rules:
    - host: $component.example.org
      http:
        paths:
          - path: /
            pathType: Prefix
            backend:
              service:
                name: shop-$component
                port: {name: http}""",
    "ClusterRole": """\
rules:
  - apiGroups: [""]
    resources: ["namespaces", "nodes"]
    verbs: ["get", "list", "watch"]""",
    "ClusterRoleBinding": """\
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: shop-$component
subjects:
  - kind: ServiceAccount
    name: shop-$component
    namespace: shop""",
    "CustomResourceDefinition": """\
spec:
  group: shop.example.org
  names: {kind: Campaign, listKind: CampaignList, plural: campaigns, singular: campaign}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              description: Prices that a ConfigMap cannot hold.
              type: object
              x-kubernetes-preserve-unknown-fields: true""",
    "Deployment": f"{_WORKLOAD}  template:\n{indent(_POD, 4)}",
    "StatefulSet": f"{_WORKLOAD}  serviceName: shop-$component\n  template:\n{indent(_POD, 4)}",
    "CronJob": f"""\
spec:
  schedule: "15 3 * * *"
  jobTemplate:
    spec:
      template:
{indent(_POD, 8)}
          restartPolicy: Never""",
    "Job": f"spec:\n  template:\n{indent(_POD, 4)}\n      restartPolicy: Never",
    "Pod": """\
spec:
  restartPolicy: Never
  containers:
    - name: test
      image: "registry.example.org/shop/wait:1.3.0"
      args: ["http://shop-$component/healthz"]""",
}

_RBAC = "rbac.authorization.k8s.io/v1"
_VERSIONS = {
    "HorizontalPodAutoscaler": "autoscaling/v2",
    "PodDisruptionBudget": "policy/v1",
    "NetworkPolicy": "networking.k8s.io/v1",
    "Ingress": "networking.k8s.io/v1",
    "ServiceMonitor": "monitoring.coreos.com/v1",
    "CustomResourceDefinition": "apiextensions.k8s.io/v1",
    "CronJob": "batch/v1",
    "Job": "batch/v1",
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    **dict.fromkeys(("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"), _RBAC),
}

# The kinds in Helm's order, and the components that have an object of the kind.
_LAYOUT: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("NetworkPolicy", COMPONENTS),
    ("PodDisruptionBudget", COMPONENTS),
    ("ServiceAccount", COMPONENTS),
    ("Secret", COMPONENTS[:6]),
    ("ConfigMap", (*COMPONENTS, *_EXTRAS)),
    ("PersistentVolumeClaim", COMPONENTS[:4]),
    ("CustomResourceDefinition", ("campaigns",)),
    ("ClusterRole", COMPONENTS[:3]),
    ("ClusterRoleBinding", COMPONENTS[:3]),
    ("Role", COMPONENTS),
    ("RoleBinding", COMPONENTS),
    ("Service", COMPONENTS),
    ("Deployment", COMPONENTS),
    ("HorizontalPodAutoscaler", COMPONENTS),
    ("StatefulSet", ("inventory",)),
    ("CronJob", ("orders",)),
    ("Ingress", COMPONENTS[:4]),
    ("ServiceMonitor", COMPONENTS),
)
# Helm prints hooks last. The hook Jobs reference ConfigMaps of the release.
_HOOKS = (
    ("ConfigMap", "seed", "pre-install,pre-upgrade"),
    ("Job", "orders", "pre-upgrade"),
    ("Job", "search", "post-install"),
    ("Pod", "web", "test"),
)


def chart() -> Iterator[str]:
    """Yield the documents; postrender revises only the ConfigMap of each component."""
    for kind, components in _LAYOUT:
        for component in components:
            yield _document(kind, component)
    for kind, component, hook in _HOOKS:
        yield _document(kind, component, hook)


def _document(kind: str, component: str, hook: str = "") -> str:
    annotations = f'  annotations:\n    helm.sh/hook: "{hook}"\n' if hook else ""
    body = _config(component) if kind == "ConfigMap" else _SPECS[kind]
    head = f"apiVersion: {_VERSIONS.get(kind, 'v1')}\nkind: {kind}\n{_META}\n{annotations}"
    if kind in ("CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding"):
        head = head.replace("  namespace: shop\n", "")
    values = {"component": component, "name": _name(kind, component, hook)}
    filled = Template(head + body).substitute(values, secret=COMPONENTS[0])
    return document(f"shop/templates/{component}/{kind.lower()}.yaml", filled)


def _name(kind: str, component: str, hook: str) -> str:
    if kind == "CustomResourceDefinition":
        return f"{component}.shop.example.org"
    if kind == "ConfigMap" and component in COMPONENTS:
        return f"shop-{component}-config"
    return f"shop-{component}-{hook.split('-')[0]}" if hook else f"shop-{component}"


def _config(component: str) -> str:
    rng = random.Random(component)
    if component in _EXTRAS:
        return f"data:\n  {component}.json: |\n{indent(_dashboard(rng), 4)}"
    return "\n".join(
        (
            "data:",
            f'  LOG_LEVEL: "{rng.choice(("debug", "info", "warning"))}"',
            f'  UPSTREAM: "http://shop-{rng.choice(COMPONENTS)}:80"',
            f"  application.yaml: |\n{indent(_settings(rng), 4)}",
            f"  rules.conf: |\n{indent(_rules(rng), 4)}",
        )
    )


def _settings(rng: random.Random) -> str:
    lines = [f"# {prose(rng, 2)}"]
    for section in range(40):
        lines += [f"section{section}:", f"  # {sentence(rng, 10)}"]
        lines += [f"  limit: {rng.randrange(5000)}", f"  title: {sentence(rng, 4)}"]
    return "\n".join(lines)


def _rules(rng: random.Random) -> str:
    return "\n".join(f"rule {number} {sentence(rng, 6)}" for number in range(60))


def _dashboard(rng: random.Random) -> str:
    panels = [
        {
            "id": number,
            "title": sentence(rng, 4),
            "targets": [{"expr": f"sum(rate(requests_total[{rng.randrange(1, 9)}m]))"}],
            "gridPos": {"h": 8, "w": 12, "x": 12 * (number % 2), "y": 8 * (number // 2)},
        }
        for number in range(40)
    ]
    return json.dumps({"panels": panels, "refresh": "30s"}, indent=2)
