"""Kinds of databases and queues: CloudNativePG, Zalando's postgres operator and RabbitMQ.

postrender rewrites references in the settings of pods. If a reference changes, the operator
updates the pods of the object one after the other:

    kind: Cluster
    spec:
      env:
        - name: LOG_LEVEL
          valueFrom: {configMapKeyRef: {name: db-config, key: level}}
"""

from __future__ import annotations

from postrender.references.catalogue.model import (
    Entry,
    config_map,
    container,
    everything,
    pod_spec,
    secret,
    volume,
)

_CNPG = "cloudnative-pg/cloudnative-pg a95a534, v1"
_ZALANDO = "zalando/postgres-operator a7aaad0, v1"

_BOOTSTRAP = "the operator reads the object only when the operator creates the cluster"
_OPERATOR = "the operator applies the setting to every database cluster"

ENTRIES = (
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
