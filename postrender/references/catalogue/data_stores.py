"""Kinds of Strimzi.

postrender never rewrites a reference to a ConfigMap that contains the offsets of a connector.
postrender rewrites the names in key selectors (mappings with `name` and `key`):

    kind: Kafka
    spec:
      kafka:
        metricsConfig:
          valueFrom: {configMapKeyRef: {name: kafka-metrics, key: config.yaml}}
"""

from __future__ import annotations

from postrender.references.catalogue.model import (
    Entry,
    Use,
    environment,
    everything,
    key_selectors,
    secret,
    volume,
    written,
)

_STRIMZI = "strimzi/strimzi-kafka-operator 8541da1, v1 and v1beta2"
_WRITTEN = "the operator writes to the ConfigMap"
_BY_HAND = "a person writes the offsets to the ConfigMap"


def _pods(*paths: str) -> tuple[Use, ...]:
    """Return the uses of pod templates of Strimzi. paths: the paths of the templates."""
    fields = ("volumes[]", "templatedVolumes[]")
    return (
        *(volume(f"{path}.{field}") for path in paths for field in fields),
        *(secret(f"{path}.imagePullSecrets[].name") for path in paths),
    )


def _offsets(path: str) -> tuple[Use, ...]:
    """Return the uses of ConfigMaps that contain the offsets of a connector.

    path: the path of the mapping with `listOffsets` and `alterOffsets`.
    """
    return (
        written(everything(f"{path}.listOffsets", _WRITTEN)),
        everything(f"{path}.alterOffsets", _BY_HAND),
    )


ENTRIES = (
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
)
