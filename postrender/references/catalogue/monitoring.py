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
    Entry,
    Use,
    config_map,
    container,
    environment,
    everything,
    key_selectors,
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
    Entry(
        group="monitoring.coreos.com",
        kind="Prometheus",
        source=f"{_PROMETHEUS}, v1",
        uses=(
            *_server("spec"),
            secret("spec.additionalScrapeConfigs.name"),
            secret("spec.additionalAlertManagerConfigs.name"),
            secret("spec.additionalAlertRelabelConfigs.name"),
        ),
    ),
    Entry(
        group="monitoring.coreos.com",
        kind="PrometheusAgent",
        source=f"{_PROMETHEUS}, v1alpha1",
        uses=(*_server("spec"), secret("spec.additionalScrapeConfigs.name")),
    ),
    Entry(
        group="monitoring.coreos.com",
        kind="Alertmanager",
        source=f"{_PROMETHEUS}, v1",
        uses=(*_server("spec"), secret("spec.configSecret")),
    ),
    Entry(
        group="monitoring.coreos.com",
        kind="ThanosRuler",
        source=f"{_PROMETHEUS}, v1",
        uses=(pod_spec("spec"), key_selectors("spec")),
    ),
    *(
        Entry(
            group="monitoring.coreos.com",
            kind=kind,
            source=f"{_PROMETHEUS}, {version}",
            uses=_credentials(path),
        )
        for kind, version, path in (
            ("ServiceMonitor", "v1", "spec.endpoints[]"),
            ("PodMonitor", "v1", "spec.podMetricsEndpoints[]"),
            ("Probe", "v1", "spec"),
            ("ScrapeConfig", "v1alpha1", "spec"),
        )
    ),
    *(
        Entry(
            group="operator.victoriametrics.com", kind=kind, source=_VICTORIA, uses=_server(*paths)
        )
        for kind, paths in (
            ("VMAgent", ("spec",)),
            ("VMAlert", ("spec",)),
            ("VMAlertmanager", ("spec",)),
            ("VMAuth", ("spec",)),
            ("VMSingle", ("spec",)),
            ("VMCluster", ("spec.vmselect", "spec.vminsert", "spec.vmstorage")),
        )
    ),
    Entry(
        group="grafana.integreatly.org",
        kind="Grafana",
        source=_GRAFANA,
        uses=(pod_spec("spec.deployment.spec.template.spec"),),
    ),
    *(
        Entry(group="grafana.integreatly.org", kind=kind, source=_GRAFANA, uses=_DASHBOARD)
        for kind in ("GrafanaDashboard", "GrafanaLibraryPanel")
    ),
    *(
        Entry(group="grafana.integreatly.org", kind=kind, source=_GRAFANA, uses=_VALUES_FROM)
        for kind in ("GrafanaDatasource", "GrafanaContactPoint")
    ),
    Entry(
        group="opentelemetry.io",
        kind="OpenTelemetryCollector",
        source=f"{_OPENTELEMETRY}, v1beta1, internal/manifests/collector/container.go",
        uses=(
            config_map("spec.configmaps[].name", _FOLDER),
            pod_spec("spec"),
            container("spec"),
            container("spec.additionalContainers[]"),
        ),
    ),
    Entry(
        group="opentelemetry.io",
        kind="Instrumentation",
        source=f"{_OPENTELEMETRY}, v1alpha1",
        uses=(everything("spec", _INJECTED),),
    ),
)
