"""N ConfigMaps, N Services and N Rollouts, in the order in which Helm sorts kinds."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from benchmarks.text import document, indent, sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

LABELS = """\
app.kubernetes.io/name: {name}
app.kubernetes.io/instance: fleet
app.kubernetes.io/managed-by: Helm
helm.sh/chart: fleet-1.4.0"""

_SERVICE = """\
apiVersion: v1
kind: Service
metadata:
  name: {name}
  labels:
{labels}
spec:
  ports:
    - name: http
      port: {port}
      targetPort: http
  selector:
    app.kubernetes.io/name: {name}"""

_ROLLOUT = """\
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata:
  name: {name}
  labels:
{labels}
spec:
  replicas: 2
  revisionHistoryLimit: 3
  selector:
    matchLabels:
      app.kubernetes.io/name: {name}
  strategy:
    canary:
      steps:
        - setWeight: 20
        - pause: {{}}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: {name}
    spec:
      containers:
        - name: app
          image: "registry.example.org/{name}:1.{number}.{patch}"
          envFrom:
            - configMapRef:
                name: {name}-config
          ports:
            - name: http
              containerPort: 8080
          volumeMounts:
            - name: config
              mountPath: /etc/app
      volumes:
        - name: config
          configMap:
            name: {name}-config"""


def many(count: int, services: bool = True, changed: int = 0) -> Iterator[str]:
    """Yield the documents; each Rollout uses its ConfigMap as a volume and in envFrom.

    count: the number of applications
    services: whether each application has a Service
    changed: change every Nth application, or none if 0. A changed application has another value in
    its ConfigMap, another port in its Service and another image in its Rollout
    """
    numbers = [(number, bool(changed) and number % changed == 0) for number in range(count)]
    for number, is_changed in numbers:
        yield document("fleet/templates/configmap.yaml", config_map(number, is_changed))
    for number, is_changed in numbers if services else ():
        yield document("fleet/templates/service.yaml", _fill(_SERVICE, number, is_changed))
    for number, is_changed in numbers:
        yield document("fleet/templates/rollout.yaml", rollout(number, is_changed))


def rollout(number: int, is_changed: bool = False) -> str:
    """Return the Rollout of an application."""
    return _fill(_ROLLOUT, number, is_changed)


def config_map(number: int, is_changed: bool = False) -> str:
    """Return the ConfigMap of an application."""
    name = app_name(number)
    head = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}-config\n  labels:\n"
    data = config_data(number) | ({"LOG_LEVEL": "trace"} if is_changed else {})
    entries = "".join(_entry(key, value) for key, value in data.items())
    return f"{head}{indent(LABELS.format(name=name), 4)}\ndata:\n{indent(entries, 2)}"


def app_name(number: int) -> str:
    """Return the name of an application."""
    return f"app-{number:05d}"


def config_data(number: int) -> dict[str, str]:
    """Return the data of a ConfigMap, which is a few settings and a file."""
    rng = random.Random(number)
    return {
        "LOG_LEVEL": rng.choice(("debug", "info", "warning")),
        "CACHE_TTL_SECONDS": str(rng.randrange(30, 3600)),
        "UPSTREAM": f"http://{app_name(rng.randrange(100))}.example.org:8080/api",
        "application.yaml": _settings(rng),
    }


def _settings(rng: random.Random) -> str:
    lines = [f"# {sentence(rng, 12)}", "server:", "  port: 8080"]
    for section in ("database", "queue"):
        lines += [f"{section}:", f"  poolSize: {rng.randrange(2, 50)}"]
        lines += [f"  timeout: {rng.randrange(100, 9000)}ms", f"  comment: {sentence(rng, 5)}"]
    return "\n".join(lines) + "\n"


def _entry(key: str, value: str) -> str:
    return f"{key}: |\n{indent(value, 2)}" if "\n" in value else f'{key}: "{value}"\n'


def _fill(template: str, number: int, is_changed: bool) -> str:
    name = app_name(number)
    labels = indent(LABELS.format(name=name), 4)
    patch, port = (1, 81) if is_changed else (0, 80)
    return template.format(name=name, number=number, labels=labels, patch=patch, port=port)
