"""Fields of other kinds whose values become the content of a Secret.

Programs create Secrets from these objects, and people write values in plain text there. Encrypted
values and references, such as `encryptedData` or a SecretProviderClass, are not secret. A value
that does not fit the path of such a field, such as a text in place of a list, is secret as a whole.
"""

from __future__ import annotations

from postrender.diff.marks import MARKED_KEYS, Redacted, mark_content, redacted
from postrender.text import words_of
from postrender.yaml.paths import (
    EVERY_ITEM,
    EVERY_KEY,
    Json,
    Path,
    PatternTree,
    parse_pattern,
    value_at,
)

_TEMPLATE = "template.data.*"
_LITERAL = "template.templateFrom[].literal"
_TRANSFORMATION = "spec.destination.transformation.templates.*.text"
_LITERALS = "secretGenerator[].literals[]"
_FAKE_DATA = ("spec.provider.fake.data[].value", "spec.provider.fake.data[].valueMap.*")

# By kind, the paths of the fields whose every value is secret.
_FIELDS = {
    # Templates of the Secret that a controller creates; the text around placeholders is content.
    "SealedSecret": (f"spec.{_TEMPLATE}",),
    "ExternalSecret": (f"spec.target.{_TEMPLATE}", f"spec.target.{_LITERAL}"),
    "ClusterExternalSecret": (
        f"spec.externalSecretSpec.target.{_TEMPLATE}",
        f"spec.externalSecretSpec.target.{_LITERAL}",
    ),
    "PushSecret": (f"spec.{_TEMPLATE}", f"spec.{_LITERAL}"),
    "ClusterPushSecret": (f"spec.pushSecretSpec.{_TEMPLATE}", f"spec.pushSecretSpec.{_LITERAL}"),
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
    "Fake": ("spec.data.*",),
    "ClusterGenerator": ("spec.generator.fakeSpec.data.*",),
    "SecretStore": _FAKE_DATA,
    "ClusterSecretStore": _FAKE_DATA,
    "Vault": ("spec.externalConfig.startupSecrets[].data",),
    "Kustomization": (_LITERALS,),
    "Component": (_LITERALS,),
    "SecretGenerator": ("literals[]",),
    "Certificate": ("spec.keystores.*.password",),
    "GrafanaDatasource": ("spec.datasource.secureJsonData.*",),
}
# Kinds that write other objects, mostly from a chart. Names and forms say which values are secret.
_WRITERS = frozenset(
    words_of(
        "Addon AddOn App Application ApplicationSet Bundle ClusterConfig ClusterProfile Component"
        " GitRepo Workspace HelmApp HelmChart HelmChartConfig HelmChartProxy HelmRelease"
        " HelmReleaseProxy Kustomization ManifestWork Object PackageInstall Profile Release Stack"
        " Terraform"
    )
)


def _tree(patterns: tuple[str, ...]) -> PatternTree:
    return PatternTree((parse_pattern(pattern), None) for pattern in patterns)


_TREES = {kind: _tree(patterns) for kind, patterns in _FIELDS.items()}


def mark_fields(data: dict[str, Json]) -> dict[str, Json]:
    """An object, with the values that become the content of a Secret as Redacted text."""
    kind = data.get("kind")
    tree = _TREES.get(kind) if isinstance(kind, str) else None
    marked = _marked(data, tree) if tree else data
    if not isinstance(marked, dict) or not isinstance(kind, str) or kind not in _WRITERS:
        return marked if isinstance(marked, dict) else data
    from postrender.diff.secret_values import with_marked_names  # its patterns are rarely needed

    return {key: with_marked_names(value, key) for key, value in marked.items()}


def with_marks(data: Json) -> Json:
    """An object, with the content of each Secret in it as Redacted text."""
    if isinstance(data, dict):
        marked = data if MARKED_KEYS.isdisjoint(data) else mark_fields(mark_content(data))
        return {key: with_marks(value) for key, value in marked.items()}
    return [with_marks(value) for value in data] if isinstance(data, list) else data


def is_redacted(marked: Json, path: Path) -> bool:
    """Whether the value at a path of an object with marks is in Redacted text."""
    return any(isinstance(value_at(marked, path[:end]), Redacted) for end in range(len(path) + 1))


def _marked(value: Json, tree: PatternTree) -> Json:
    if isinstance(value, dict) and not tree.payloads and EVERY_ITEM not in tree.children:
        inner = ((key, tree.children.get(key) or tree.children.get(EVERY_KEY)) for key in value)
        return {**value, **{key: _marked(value[key], part) for key, part in inner if part}}
    items = tree.children.get(EVERY_ITEM)
    if isinstance(value, list) and items:
        return [_marked(item, items) for item in value]
    return redacted(value)
