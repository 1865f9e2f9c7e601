"""Kinds of Elastic Cloud on Kubernetes.

postrender rewrites the references in pod templates:

    kind: Elasticsearch
    spec:
      nodeSets:
        - podTemplate:
            spec:
              volumes: [{name: synonyms, configMap: {name: search-synonyms}}]
"""

from __future__ import annotations

from postrender.references.catalogue.model import Entry, config_map, pod_spec, secret

_ELASTIC = "elastic/cloud-on-k8s 7b93383"
_SECURE_SETTINGS = secret("spec.secureSettings[].secretName")
_CERTIFICATE = secret("spec.http.tls.certificate.secretName")

ENTRIES = (
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
)
