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
    Use,
    config_map,
    container,
    environment,
    everything,
    key_selectors,
    kinds,
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
    *kinds(
        "kafka.strimzi.io: Kafka",
        _STRIMZI,
        key_selectors("spec"),
        *_pods(
            "spec.kafka.template.pod",
            "spec.entityOperator.template.pod",
            "spec.cruiseControl.template.pod",
            "spec.kafkaExporter.template.pod",
        ),
    ),
    *kinds(
        "kafka.strimzi.io: KafkaConnect",
        _STRIMZI,
        key_selectors("spec"),
        *_pods("spec.template.pod", "spec.template.buildPod"),
        # Only v1beta2 has `externalConfiguration`.
        environment("spec.externalConfiguration.env[]"),
        volume("spec.externalConfiguration.volumes[]"),
    ),
    *kinds(
        "kafka.strimzi.io: KafkaMirrorMaker2",
        _STRIMZI,
        *(
            use
            for connector in ("sourceConnector", "checkpointConnector")
            for use in _offsets(f"spec.mirrors[].{connector}")
        ),
        key_selectors("spec"),
        *_pods("spec.template.pod", "spec.template.buildPod"),
    ),
    *kinds(
        "kafka.strimzi.io: KafkaBridge KafkaNodePool",
        _STRIMZI,
        key_selectors("spec"),
        *_pods("spec.template.pod"),
    ),
    *kinds("kafka.strimzi.io: KafkaConnector", _STRIMZI, *_offsets("spec")),
    # Elastic Cloud on Kubernetes
    *kinds(
        "elasticsearch.k8s.elastic.co: Elasticsearch",
        f"{_ELASTIC}, v1",
        pod_spec("spec.nodeSets[].podTemplate.spec"),
        _SECURE_SETTINGS,
        _CERTIFICATE,
        secret("spec.auth.fileRealm[].secretName"),
        secret("spec.auth.roles[].secretName"),
        config_map("spec.transport.tls.certificateAuthorities.configMapName"),
    ),
    *(
        entry
        for group, kind in (
            ("kibana.k8s.elastic.co", "Kibana"),
            ("apm.k8s.elastic.co", "ApmServer"),
        )
        for entry in kinds(
            f"{group}: {kind}",
            f"{_ELASTIC}, v1",
            pod_spec("spec.podTemplate.spec"),
            _SECURE_SETTINGS,
            _CERTIFICATE,
        )
    ),
    *kinds(
        "enterprisesearch.k8s.elastic.co: EnterpriseSearch",
        f"{_ELASTIC}, v1",
        pod_spec("spec.podTemplate.spec"),
        _CERTIFICATE,
        secret("spec.configRef.secretName"),
    ),
    *kinds(
        "logstash.k8s.elastic.co: Logstash",
        f"{_ELASTIC}, v1alpha1",
        pod_spec("spec.podTemplate.spec"),
        _SECURE_SETTINGS,
        secret("spec.configRef.secretName"),
        secret("spec.pipelinesRef.secretName"),
        config_map("spec.pipelinesRef.configMapName"),
    ),
    *(
        entry
        for group, kind, version, controllers in (
            ("beat.k8s.elastic.co", "Beat", "v1beta1", ("daemonSet", "deployment")),
            (
                "agent.k8s.elastic.co",
                "Agent",
                "v1alpha1",
                ("daemonSet", "deployment", "statefulSet"),
            ),
        )
        for entry in kinds(
            f"{group}: {kind}",
            f"{_ELASTIC}, {version}",
            *(pod_spec(f"spec.{controller}.podTemplate.spec") for controller in controllers),
            _SECURE_SETTINGS,
            secret("spec.configRef.secretName"),
        )
    ),
    # Databases and queues
    *kinds(
        "postgresql.cnpg.io: Cluster",
        _CNPG,
        everything("spec.bootstrap", _BOOTSTRAP),
        container("spec"),
        config_map("spec.projectedVolumeTemplate.sources[].configMap.name"),
        secret("spec.projectedVolumeTemplate.sources[].secret.name"),
        config_map("spec.monitoring.customQueriesConfigMap[].name"),
        secret("spec.monitoring.customQueriesSecret[].name"),
        secret("spec.imagePullSecrets[].name"),
    ),
    *kinds("postgresql.cnpg.io: Pooler", _CNPG, pod_spec("spec.template.spec")),
    *kinds(
        "acid.zalan.do: postgresql",
        _ZALANDO,
        container("spec"),
        container("spec.initContainers[]"),
        container("spec.sidecars[]"),
        volume("spec.additionalVolumes[].volumeSource"),
    ),
    *kinds(
        "acid.zalan.do: OperatorConfiguration", _ZALANDO, everything("configuration", _OPERATOR)
    ),
    *kinds(
        "rabbitmq.com: RabbitmqCluster",
        "rabbitmq/cluster-operator 06cda8e, v1beta1",
        pod_spec("spec.override.statefulSet.spec.template.spec"),
        secret("spec.imagePullSecrets[].name"),
    ),
)
