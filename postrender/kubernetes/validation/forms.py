"""The fields that must be there, and the forms of names, keys and selectors, as tables.

Each clause was tried with an API server of Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.kubernetes.kinds import RBAC_GROUP, GroupKind
from postrender.kubernetes.validation.checks import (
    PORT,
    QUALIFIED,
    Check,
    expression,
    is_content_key,
    label,
    labels,
    matching,
    needs,
    one_of,
    port_name,
    selected,
    selector,
    some_of,
    subdomain,
)
from postrender.yaml.paths import Json

_TYPES = ("Container", "Pod", "PersistentVolumeClaim")


def _cel(value: Json) -> Iterator[str]:
    from postrender.kubernetes.validation.schemas import cel  # rarely needed

    return cel(value)


_CHECKS: dict[str, Check] = {
    "cel": _cel,
    "label": label,
    "name": subdomain,
    "qualified": QUALIFIED,
    "label-value": selected,
    "labels": labels,
    "selector": selector,
    "content-key": matching(is_content_key, "the key of a ConfigMap or Secret"),
    "node-expression": expression("Gt", "Lt"),
    "port-name": port_name,
    "port": PORT,
    "absolute": matching(lambda text: text.startswith("/"), "a path that begins with /"),
    "in-spec": matching(lambda text: text.startswith(".spec."), "a path in .spec"),
    "in-status": matching(lambda text: text.startswith(".status."), "a path in .status"),
    "kind": matching(lambda text: not any(label(text.lower())), "the name of a kind"),
    "limited": matching(lambda text: "/" in text or text in _TYPES, f"one of {', '.join(_TYPES)}"),
}
_MAKERS = {"needs": needs, "some-of": some_of, "one-of": one_of}

# A table has a check and paths in each line. `needs A B` checks that a mapping has the fields A and
# B, and `{A,B}` in a path is A or B.
_CLAIM = """
needs accessModes resources: SPEC
needs requests: SPEC.resources
needs storage: SPEC.resources.requests
name: SPEC.storageClassName
selector: SPEC.selector
"""
_JOB = """
needs action: SPEC.podFailurePolicy.rules[]
needs type: SPEC.podFailurePolicy.rules[].onPodConditions[]
qualified: SPEC.podFailurePolicy.rules[].onPodConditions[].type
one-of True False Unknown: SPEC.podFailurePolicy.rules[].onPodConditions[].status
some-of succeededIndexes succeededCount: SPEC.successPolicy.rules[]
"""
_APPS = "selector: spec.selector"
_WEBHOOKS = """
needs name: webhooks[]
selector: webhooks[].{namespace,object}Selector
qualified: webhooks[].matchConditions[].name
cel: webhooks[].matchConditions[].expression
"""
_BINDING = "needs kind name: roleRef subjects[]"
KIND_FORMS: dict[GroupKind, str] = {
    **{("apps", kind): _APPS for kind in ("Deployment", "DaemonSet", "ReplicaSet")},
    ("apps", "StatefulSet"): f"""{_APPS}
{_CLAIM.replace("SPEC", "spec.volumeClaimTemplates[].spec")}
""",
    ("batch", "Job"): _JOB.replace("SPEC", "spec"),
    ("batch", "CronJob"): f"""
needs schedule jobTemplate: spec
{_JOB.replace("SPEC", "spec.jobTemplate.spec")}
""",
    ("policy", "PodDisruptionBudget"): _APPS,
    ("autoscaling", "HorizontalPodAutoscaler"): """
needs scaleTargetRef: spec
needs type: spec.metrics[]
needs type: spec.metrics[].{resource,containerResource,pods,object,external}.target
one-of Utilization Value AverageValue: spec.metrics[].{resource,pods,object,external}.target.type
needs metric target: spec.metrics[].{pods,object,external}
needs name: spec.metrics[].{pods,object,external}.metric
needs name target: spec.metrics[].{resource,containerResource}
needs container: spec.metrics[].containerResource
needs describedObject: spec.metrics[].object
needs kind name: spec.metrics[].object.describedObject
needs type value periodSeconds: spec.behavior.{scaleUp,scaleDown}.policies[]
""",
    ("", "Service"): """
needs port: spec.ports[]
labels: spec.selector
qualified: spec.loadBalancerClass
""",
    ("networking.k8s.io", "Ingress"): """
needs paths: spec.rules[].http
needs backend: spec.rules[].http.paths[]
needs name: spec.{defaultBackend,rules[].http.paths[].backend}.service
needs kind name: spec.{defaultBackend,rules[].http.paths[].backend}.resource
label: spec.{defaultBackend,rules[].http.paths[].backend}.service.name
port-name: spec.{defaultBackend,rules[].http.paths[].backend}.service.port.name
name: spec.ingressClassName
""",
    ("networking.k8s.io", "IngressClass"): """
needs controller: spec
label: spec.parameters.namespace
""",
    ("networking.k8s.io", "NetworkPolicy"): """
selector: spec.podSelector spec.{ingress[].from,egress[].to}[].podSelector
selector: spec.{ingress[].from,egress[].to}[].namespaceSelector
needs cidr: spec.{ingress[].from,egress[].to}[].ipBlock
port: spec.{ingress,egress}[].ports[].endPort
""",
    ("discovery.k8s.io", "EndpointSlice"): """
needs addressType:
label: endpoints[].hostname
name: endpoints[].nodeName
qualified: ports[].appProtocol
""",
    ("", "PersistentVolumeClaim"): _CLAIM.replace("SPEC", "spec"),
    ("", "PersistentVolume"): """
needs storage: spec.capacity
needs path: spec.local
needs driver volumeHandle: spec.csi
needs required: spec.nodeAffinity
needs nodeSelectorTerms: spec.nodeAffinity.required
node-expression: spec.nodeAffinity.required.nodeSelectorTerms[].matchExpressions[]
""",
    ("storage.k8s.io", "StorageClass"): "needs key values: "
    "allowedTopologies[].matchLabelExpressions[]",
    (RBAC_GROUP, "ClusterRole"): "selector: aggregationRule.clusterRoleSelectors[]",
    (RBAC_GROUP, "RoleBinding"): _BINDING,
    (RBAC_GROUP, "ClusterRoleBinding"): _BINDING,
    ("", "ResourceQuota"): "needs scopeName operator: spec.scopeSelector.matchExpressions[]",
    ("", "LimitRange"): """
needs type: spec.limits[]
limited: spec.limits[].type
""",
    ("node.k8s.io", "RuntimeClass"): """
needs handler:
label: handler
labels: scheduling.nodeSelector
""",
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): _WEBHOOKS,
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): _WEBHOOKS,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): """
needs apiVersion kind: spec.paramKind
one-of Unauthorized Forbidden Invalid RequestEntityTooLarge: spec.validations[].reason
needs name expression: spec.{variables,matchConditions}[]
needs key valueExpression: spec.auditAnnotations[]
cel: spec.{validations,variables,matchConditions}[].expression
cel: spec.validations[].messageExpression spec.auditAnnotations[].valueExpression
selector: spec.matchConstraints.{namespace,object}Selector
""",
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): """
name: spec.policyName
some-of name selector: spec.paramRef
needs parameterNotFoundAction: spec.paramRef
one-of Allow Deny: spec.paramRef.parameterNotFoundAction
selector: spec.matchResources.{namespace,object}Selector
""",
    ("apiextensions.k8s.io", "CustomResourceDefinition"): """
needs group names scope versions: spec
needs plural kind: spec.names
needs strategy: spec.conversion
needs name: spec.versions[]
needs jsonPath: spec.versions[].selectableFields[]
kind: spec.names.{kind,listKind}
label: spec.names.categories[] spec.versions[].name
in-spec: spec.versions[].subresources.scale.specReplicasPath
in-status: spec.versions[].subresources.scale.statusReplicasPath
""",
    ("apiregistration.k8s.io", "APIService"): """
needs version: spec
needs name namespace: spec.service
port: spec.service.port
""",
}
# The same for the spec of a pod.
POD_FORMS = """
name: priorityClassName runtimeClassName nodeName
name: CONTAINER.env[].valueFrom.{configMap,secret}KeyRef.name
name: CONTAINER.envFrom[].{configMap,secret}Ref.name
needs name: CONTAINER.env[].valueFrom.{configMap,secret}KeyRef
needs name: CONTAINER.envFrom[].{configMap,secret}Ref
needs fieldPath: CONTAINER.env[].valueFrom.fieldRef
needs fieldPath: volumes[].{,projected.sources[].}downwardAPI.items[].fieldRef
needs resource: CONTAINER.env[].valueFrom.resourceFieldRef
content-key: CONTAINER.env[].valueFrom.{configMap,secret}KeyRef.key
needs name: CONTAINER.{liveness,readiness,startup}Probe.httpGet.httpHeaders[]
needs containerPort: CONTAINER.ports[]
needs resourceName restartPolicy: CONTAINER.resizePolicy[]
needs type: {,CONTAINER.}securityContext.{seccomp,appArmor}Profile
needs name: securityContext.sysctls[]
needs ip: hostAliases[]
needs conditionType: readinessGates[]
label-value: tolerations[].value
labels: nodeSelector volumes[].ephemeral.volumeClaimTemplate.metadata.labels
name: volumes[].csi.nodePublishSecretRef.name
qualified: topologySpreadConstraints[].matchLabelKeys[]
selector: topologySpreadConstraints[].labelSelector
needs weight: affinity.{node,pod,podAnti}Affinity.PREFERRED[]
needs podAffinityTerm: affinity.{pod,podAnti}Affinity.PREFERRED[]
selector: affinity.{pod,podAnti}Affinity.{REQUIRED[],PREFERRED[].podAffinityTerm}.labelSelector
needs name: volumes[].projected.sources[].{configMap,secret} volumes[].csi.nodePublishSecretRef
needs key path: volumes[].{,projected.sources[].}{configMap,secret}.items[]
absolute: volumes[].nfs.path
needs targetPortal iqn: volumes[].iscsi
needs secretName shareName: volumes[].azureFile
needs monitors image: volumes[].rbd
needs monitors: volumes[].cephfs
needs volumeClaimTemplate: volumes[].ephemeral
needs spec: volumes[].ephemeral.volumeClaimTemplate
""" + _CLAIM.replace("SPEC", "volumes[].ephemeral.volumeClaimTemplate.spec")
for _short, _long in (
    ("{,CONTAINER.}", "{,initContainers[].,containers[].}"),
    ("CONTAINER", "{initContainers,containers}[]"),
    ("REQUIRED", "requiredDuringSchedulingIgnoredDuringExecution"),
    ("PREFERRED", "preferredDuringSchedulingIgnoredDuringExecution"),
):
    POD_FORMS = POD_FORMS.replace(_short, _long)


def form_rows(table: str) -> Iterator[tuple[str, Check]]:
    """The rows of a table."""
    for line in filter(None, table.splitlines()):
        text, _, paths = line.partition(":")
        word, *fields = text.split()
        check = _MAKERS[word](*fields) if fields else _CHECKS[word]
        for path in paths.split() or [""]:
            yield from ((one, check) for one in _expanded(path))


def _expanded(path: str) -> list[str]:
    start, brace, rest = path.partition("{")
    if not brace:
        return [path]
    listed, _, end = rest.partition("}")
    return [one for part in listed.split(",") for one in _expanded(f"{start}{part}{end}")]
