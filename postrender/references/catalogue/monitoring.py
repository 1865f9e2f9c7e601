"""Prometheus operator, VictoriaMetrics, Grafana operator and OpenTelemetry.

postrender rewrites the names in key selectors (mappings with `name` and `key`), but not those in
`configMaps` and `secrets`, because folders in the pod have these names:

    kind: Prometheus
    spec:
      configMaps: [web-rules]        # mounted at /etc/prometheus/configmaps/web-rules
      additionalScrapeConfigs: {name: web-scrape, key: scrape.yaml}
"""

from __future__ import annotations

from postrender.references.catalogue.model import (
    Use,
    config_map,
    container,
    environment,
    everything,
    key_selectors,
    kinds,
    pod_spec,
    secret,
)

_PROMETHEUS = "prometheus-operator/prometheus-operator 6adcebc"
_VICTORIA = "VictoriaMetrics/operator d0d258c, v1beta1"
_GRAFANA = "grafana/grafana-operator 60d3ebd, v1beta1"
_OPENTELEMETRY = "open-telemetry/opentelemetry-operator be89444"

_FOLDER = "the name is part of the path at which the object is mounted"
_INJECTED = "pods of any namespace can use the object"


def _server(*paths: str) -> tuple[Use, ...]:
    """Mappings that configure a program such as Prometheus.

    Each lists mounted objects, and has fields of a pod spec and key selectors.
    """
    return tuple(
        use
        for path in paths
        for use in (
            config_map(f"{path}.configMaps[]", _FOLDER),
            secret(f"{path}.secrets[]", _FOLDER),
            pod_spec(path),
            key_selectors(path),
        )
    )


def _credentials(path: str) -> tuple[Use, ...]:
    """A kind that sends credentials; path: of the mapping with `basicAuth` and `authorization`.

    `key_selectors` does not find the selectors in `username`, `password` and `credentials`, because
    the names of these fields do not contain `secret`.
    """
    return (
        key_selectors("spec"),
        secret(f"{path}.basicAuth.username.name"),
        secret(f"{path}.basicAuth.password.name"),
        secret(f"{path}.authorization.credentials.name"),
    )


_VALUES_FROM = (
    config_map("spec.valuesFrom[].valueFrom.configMapKeyRef.name"),
    secret("spec.valuesFrom[].valueFrom.secretKeyRef.name"),
    config_map("spec.receivers[].valuesFrom[].valueFrom.configMapKeyRef.name"),
    secret("spec.receivers[].valuesFrom[].valueFrom.secretKeyRef.name"),
)
_DASHBOARD = (
    config_map("spec.configMapRef.name"),
    config_map("spec.envFrom[].configMapKeyRef.name"),
    secret("spec.envFrom[].secretKeyRef.name"),
    environment("spec.envs[]"),
)

ENTRIES = (
    *kinds(
        "monitoring.coreos.com: Prometheus",
        f"{_PROMETHEUS}, v1",
        *_server("spec"),
        secret("spec.additionalScrapeConfigs.name"),
        secret("spec.additionalAlertManagerConfigs.name"),
        secret("spec.additionalAlertRelabelConfigs.name"),
    ),
    *kinds(
        "monitoring.coreos.com: PrometheusAgent",
        f"{_PROMETHEUS}, v1alpha1",
        *_server("spec"),
        secret("spec.additionalScrapeConfigs.name"),
    ),
    *kinds(
        "monitoring.coreos.com: Alertmanager",
        f"{_PROMETHEUS}, v1",
        *_server("spec"),
        secret("spec.configSecret"),
    ),
    *kinds(
        "monitoring.coreos.com: ThanosRuler",
        f"{_PROMETHEUS}, v1",
        pod_spec("spec"),
        key_selectors("spec"),
    ),
    *(
        entry
        for kind, version, path in (
            ("ServiceMonitor", "v1", "spec.endpoints[]"),
            ("PodMonitor", "v1", "spec.podMetricsEndpoints[]"),
            ("Probe", "v1", "spec"),
            ("ScrapeConfig", "v1alpha1", "spec"),
        )
        for entry in kinds(
            f"monitoring.coreos.com: {kind}", f"{_PROMETHEUS}, {version}", *_credentials(path)
        )
    ),
    *(
        entry
        for kind, paths in (
            ("VMAgent", ("spec",)),
            ("VMAlert", ("spec",)),
            ("VMAlertmanager", ("spec",)),
            ("VMAuth", ("spec",)),
            ("VMSingle", ("spec",)),
            ("VMCluster", ("spec.vmselect", "spec.vminsert", "spec.vmstorage")),
        )
        for entry in kinds(f"operator.victoriametrics.com: {kind}", _VICTORIA, *_server(*paths))
    ),
    *kinds(
        "grafana.integreatly.org: Grafana", _GRAFANA, pod_spec("spec.deployment.spec.template.spec")
    ),
    *kinds("grafana.integreatly.org: GrafanaDashboard GrafanaLibraryPanel", _GRAFANA, *_DASHBOARD),
    *kinds(
        "grafana.integreatly.org: GrafanaDatasource GrafanaContactPoint", _GRAFANA, *_VALUES_FROM
    ),
    *kinds(
        "opentelemetry.io: OpenTelemetryCollector",
        f"{_OPENTELEMETRY}, v1beta1, internal/manifests/collector/container.go",
        config_map("spec.configmaps[].name", _FOLDER),
        pod_spec("spec"),
        container("spec"),
        container("spec.additionalContainers[]"),
    ),
    *kinds(
        "opentelemetry.io: Instrumentation",
        f"{_OPENTELEMETRY}, v1alpha1",
        everything("spec", _INJECTED),
    ),
)
