"""Strimzi (Kafka), Elastic Cloud on Kubernetes, CloudNativePG, postgres-operator and RabbitMQ.

postrender rewrites the names in key selectors (mappings with `name` and `key`), in pod templates
and in the settings of pods. If a reference changes, the operator of a database or queue updates the
pods of the object one after the other:

    kind: Kafka
    spec:
      kafka:
        metricsConfig:
          valueFrom: {configMapKeyRef: {name: kafka-metrics, key: config.yaml}}
    ---
    kind: Elasticsearch
    spec:
      nodeSets:
        - podTemplate:
            spec:
              volumes: [{name: synonyms, configMap: {name: search-synonyms}}]
    ---
    kind: Cluster
    spec:
      env:
        - name: LOG_LEVEL
          valueFrom: {configMapKeyRef: {name: db-config, key: level}}
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
    volume,
    written,
)

_STRIMZI = "strimzi/strimzi-kafka-operator 8541da1, v1 and v1beta2"
_WRITTEN = "the operator writes to the ConfigMap"
_BY_HAND = "a person writes the offsets to the ConfigMap"

_ELASTIC = "elastic/cloud-on-k8s 7b93383"
_SECURE_SETTINGS = secret("spec.secureSettings[].secretName")
_CERTIFICATE = secret("spec.http.tls.certificate.secretName")

_CNPG = "cloudnative-pg/cloudnative-pg a95a534, v1"
_ZALANDO = "zalando/postgres-operator a7aaad0, v1"

_BOOTSTRAP = "the operator reads the object only when the operator creates the cluster"
_OPERATOR = "the operator applies the setting to every database cluster"


def _pods(*paths: str) -> tuple[Use, ...]:
    """The pod templates of Strimzi at these paths."""
    fields = ("volumes[]", "templatedVolumes[]")
    return (
        *(volume(f"{path}.{field}") for path in paths for field in fields),
        *(secret(f"{path}.imagePullSecrets[].name") for path in paths),
    )


def _offsets(path: str) -> tuple[Use, ...]:
    """The ConfigMaps with the offsets of a connector, in `listOffsets` and `alterOffsets`."""
    return (
        written(everything(f"{path}.listOffsets", _WRITTEN)),
        everything(f"{path}.alterOffsets", _BY_HAND),
    )


ENTRIES = (
    # Strimzi
    Entry(
        group="kafka.strimzi.io",
        kind="Kafka",
        source=_STRIMZI,
        uses=(
            key_selectors("spec"),
            *_pods(
                "spec.kafka.template.pod",
                "spec.entityOperator.template.pod",
                "spec.cruiseControl.template.pod",
                "spec.kafkaExporter.template.pod",
            ),
        ),
    ),
    Entry(
        group="kafka.strimzi.io",
        kind="KafkaConnect",
        source=_STRIMZI,
        uses=(
            key_selectors("spec"),
            *_pods("spec.template.pod", "spec.template.buildPod"),
            # Only v1beta2 has `externalConfiguration`.
            environment("spec.externalConfiguration.env[]"),
            volume("spec.externalConfiguration.volumes[]"),
        ),
    ),
    Entry(
        group="kafka.strimzi.io",
        kind="KafkaMirrorMaker2",
        source=_STRIMZI,
        uses=(
            *(
                use
                for connector in ("sourceConnector", "checkpointConnector")
                for use in _offsets(f"spec.mirrors[].{connector}")
            ),
            key_selectors("spec"),
            *_pods("spec.template.pod", "spec.template.buildPod"),
        ),
    ),
    *(
        Entry(
            group="kafka.strimzi.io",
            kind=kind,
            source=_STRIMZI,
            uses=(key_selectors("spec"), *_pods("spec.template.pod")),
        )
        for kind in ("KafkaBridge", "KafkaNodePool")
    ),
    Entry(
        group="kafka.strimzi.io",
        kind="KafkaConnector",
        source=_STRIMZI,
        uses=_offsets("spec"),
    ),
    # Elastic Cloud on Kubernetes
    Entry(
        group="elasticsearch.k8s.elastic.co",
        kind="Elasticsearch",
        source=f"{_ELASTIC}, v1",
        uses=(
            pod_spec("spec.nodeSets[].podTemplate.spec"),
            _SECURE_SETTINGS,
            _CERTIFICATE,
            secret("spec.auth.fileRealm[].secretName"),
            secret("spec.auth.roles[].secretName"),
            config_map("spec.transport.tls.certificateAuthorities.configMapName"),
        ),
    ),
    *(
        Entry(
            group=group,
            kind=kind,
            source=f"{_ELASTIC}, v1",
            uses=(pod_spec("spec.podTemplate.spec"), _SECURE_SETTINGS, _CERTIFICATE),
        )
        for group, kind in (
            ("kibana.k8s.elastic.co", "Kibana"),
            ("apm.k8s.elastic.co", "ApmServer"),
        )
    ),
    Entry(
        group="enterprisesearch.k8s.elastic.co",
        kind="EnterpriseSearch",
        source=f"{_ELASTIC}, v1",
        uses=(
            pod_spec("spec.podTemplate.spec"),
            _CERTIFICATE,
            secret("spec.configRef.secretName"),
        ),
    ),
    Entry(
        group="logstash.k8s.elastic.co",
        kind="Logstash",
        source=f"{_ELASTIC}, v1alpha1",
        uses=(
            pod_spec("spec.podTemplate.spec"),
            _SECURE_SETTINGS,
            secret("spec.configRef.secretName"),
            secret("spec.pipelinesRef.secretName"),
            config_map("spec.pipelinesRef.configMapName"),
        ),
    ),
    *(
        Entry(
            group=group,
            kind=kind,
            source=f"{_ELASTIC}, {version}",
            uses=(
                *(pod_spec(f"spec.{controller}.podTemplate.spec") for controller in controllers),
                _SECURE_SETTINGS,
                secret("spec.configRef.secretName"),
            ),
        )
        for group, kind, version, controllers in (
            ("beat.k8s.elastic.co", "Beat", "v1beta1", ("daemonSet", "deployment")),
            (
                "agent.k8s.elastic.co",
                "Agent",
                "v1alpha1",
                ("daemonSet", "deployment", "statefulSet"),
            ),
        )
    ),
    # Databases and queues
    Entry(
        group="postgresql.cnpg.io",
        kind="Cluster",
        source=_CNPG,
        uses=(
            everything("spec.bootstrap", _BOOTSTRAP),
            container("spec"),
            config_map("spec.projectedVolumeTemplate.sources[].configMap.name"),
            secret("spec.projectedVolumeTemplate.sources[].secret.name"),
            config_map("spec.monitoring.customQueriesConfigMap[].name"),
            secret("spec.monitoring.customQueriesSecret[].name"),
            secret("spec.imagePullSecrets[].name"),
        ),
    ),
    Entry(
        group="postgresql.cnpg.io",
        kind="Pooler",
        source=_CNPG,
        uses=(pod_spec("spec.template.spec"),),
    ),
    Entry(
        group="acid.zalan.do",
        kind="postgresql",
        source=_ZALANDO,
        uses=(
            container("spec"),
            container("spec.initContainers[]"),
            container("spec.sidecars[]"),
            volume("spec.additionalVolumes[].volumeSource"),
        ),
    ),
    Entry(
        group="acid.zalan.do",
        kind="OperatorConfiguration",
        source=_ZALANDO,
        uses=(everything("configuration", _OPERATOR),),
    ),
    Entry(
        group="rabbitmq.com",
        kind="RabbitmqCluster",
        source="rabbitmq/cluster-operator 06cda8e, v1beta1",
        uses=(
            pod_spec("spec.override.statefulSet.spec.template.spec"),
            secret("spec.imagePullSecrets[].name"),
        ),
    ),
)
