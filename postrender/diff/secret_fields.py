"""Fields of other kinds whose values become the content of a Secret.

Programs create Secrets from these objects, and people write values in plain text there. Encrypted
values and references, such as `encryptedData` or a SecretProviderClass, are not secret.
"""

from __future__ import annotations

import re

from postrender.diff.redact import Redacted
from postrender.kubernetes.hashing import canonical_json
from postrender.yaml.paths import EVERY_ITEM, EVERY_KEY, Json, PatternTree, parse_pattern

_TEMPLATE = "template.data.*"
_TRANSFORMATION = "spec.destination.transformation.templates.*.text"
_LITERALS = "secretGenerator[].literals[]"
_HELM = ("helm.parameters", "helm.valuesObject", "plugin.env")
_SOURCES = tuple(f"spec.{source}.{field}" for source in ("source", "sources[]") for field in _HELM)

# By kind, the paths of the fields whose every value is secret.
_FIELDS = {
    # Templates of the Secret that a controller creates; the text around placeholders is content.
    "SealedSecret": (f"spec.{_TEMPLATE}",),
    "ExternalSecret": (f"spec.target.{_TEMPLATE}",),
    "ClusterExternalSecret": (f"spec.externalSecretSpec.target.{_TEMPLATE}",),
    "PushSecret": (f"spec.{_TEMPLATE}",),
    "InfisicalSecret": (
        f"spec.managedSecretReference.{_TEMPLATE}",
        f"spec.managedKubeSecretReferences[].{_TEMPLATE}",
    ),
    "HCPVaultSecretsApp": (_TRANSFORMATION,),
    "VaultDynamicSecret": (_TRANSFORMATION,),
    "VaultPKISecret": (_TRANSFORMATION,),
    "VaultStaticSecret": (_TRANSFORMATION,),
    "SecretTransformation": ("spec.templates.*.text", "spec.sourceTemplates[].text"),
    # What an operator or kustomize writes to a Secret as it is.
    "Vault": ("spec.externalConfig.startupSecrets[].data",),
    "Kustomization": (_LITERALS,),
    "Component": (_LITERALS,),
    "SecretGenerator": ("literals[]",),
    "Certificate": ("spec.keystores.*.password",),
    "GrafanaDatasource": ("spec.datasource.secureJsonData.*",),
}
# By kind, the paths of the values of a chart, of which the name says whether a value is secret.
_CHART_VALUES = {
    "HelmRelease": ("spec.values",),
    "HelmChart": ("spec.set",),
    "Release": ("spec.forProvider.values", "spec.forProvider.set"),
    "Bundle": ("spec.helm.values",),
    "Application": _SOURCES,
    "ApplicationSet": tuple(f"spec.template.{path}" for path in _SOURCES),
}
# The end of the name of a password, but not of its place: `existingSecret`, `passwordKey`.
_SECRET_NAME = re.compile(
    r"(?:passw(?:or)?d|passphrase|token|(?:api|private|secret)[-_]?key|client[-_]?secret)\Z",
    re.IGNORECASE,
)


def _trees() -> dict[str, PatternTree]:
    trees: dict[str, PatternTree] = {}
    for table, is_chart in ((_FIELDS, False), (_CHART_VALUES, True)):
        for kind, patterns in table.items():
            tree = trees[kind] = PatternTree()
            for pattern in patterns:
                tree.add(parse_pattern(pattern), is_chart)
    return trees


_TREES = _trees()


def mark_fields(data: dict[str, Json]) -> dict[str, Json]:
    """An object, with the values that become the content of a Secret as Redacted text."""
    kind = data.get("kind")
    tree = _TREES.get(kind) if isinstance(kind, str) else None
    marked = _marked(data, tree) if tree else data
    return marked if isinstance(marked, dict) else data


def _marked(value: Json, tree: PatternTree) -> Json:
    if tree.payloads:
        return _with_marked_names(value, "") if tree.payloads[0] else _redacted(value)
    if isinstance(value, dict):
        inner = ((key, tree.children.get(key) or tree.children.get(EVERY_KEY)) for key in value)
        return {**value, **{key: _marked(value[key], part) for key, part in inner if part}}
    items = tree.children.get(EVERY_ITEM)
    return [_marked(item, items) for item in value] if isinstance(value, list) and items else value


def _with_marked_names(value: Json, name: str) -> Json:
    """A value of a chart, in which the values with a secret name are Redacted text.

    name: the key of the value, or the `name` next to a `value`, as in parameters of Argo CD.
    """
    if isinstance(value, dict):
        own = str(value.get("name", ""))
        return {
            key: _with_marked_names(inner, own if key == "value" else key)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_with_marked_names(item, name) for item in value]
    is_text = isinstance(value, (str, int, float)) and not isinstance(value, bool)
    return _redacted(value) if is_text and _SECRET_NAME.search(name) else value


def _redacted(value: Json) -> Json:
    return value if value in (None, "") else Redacted(canonical_json(value))
