"""Fields of other kinds whose values become the content of a Secret.

Programs create Secrets from these objects, and people write values in plain text there. Encrypted
values and references, such as `encryptedData` or a SecretProviderClass, are not secret. A value
that does not fit the path of such a field, such as a text in place of a list, is secret as a whole.
"""

from __future__ import annotations

import re

from postrender.diff.redact import MARKED_KEYS, Redacted, mark_content
from postrender.kubernetes.hashing import canonical_json
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
_HELM = ("helm.parameters[]", "helm.valuesObject", "plugin.env[]", "plugin.parameters[]")
_SOURCES = tuple(f"spec.{source}.{field}" for source in ("source", "sources[]") for field in _HELM)

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
# By kind, the paths of the values of a chart, of which the name says whether a value is secret.
_CHART_VALUES = {
    "HelmRelease": ("spec.values",),
    "HelmChart": ("spec.set",),
    "Release": ("spec.forProvider.values", "spec.forProvider.set[]"),
    "Bundle": ("spec.helm.values",),
    "Kustomization": ("helmCharts[].valuesInline", "spec.postBuild.substitute"),
    "Application": _SOURCES,
    "ApplicationSet": tuple(f"spec.template.{path}" for path in _SOURCES),
}
# The end of the name of a password, but not of its place: `existingSecret`, `passwordKey`.
_SECRET_NAME = re.compile(
    r"(?:passw(?:or)?d|passphrase|token|(?:api|private|secret)(?:[-_]?access)?[-_]?key"
    r"|client[-_]?secret)(?P<plural>s?)\Z",
    re.IGNORECASE,
)
# The end of the name of a place or setting of a secret: `password: {secretName: web, key: a}`.
_PLAIN_NAME = re.compile(
    r"(?:name|namespace|key|ref|from|secret|path|file|enabled|create|length|seconds|ttl)\Z",
    re.IGNORECASE,
)
# The keys next to `name` with what has the name: Argo CD, and env of containers.
_VALUES = ("value", "string", "map", "array")


def _trees() -> dict[str, PatternTree]:
    trees: dict[str, PatternTree] = {}
    for table, is_chart in ((_FIELDS, False), (_CHART_VALUES, True)):
        for kind, patterns in table.items():
            tree = trees.setdefault(kind, PatternTree())
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
    if tree.payloads and tree.payloads[0] and isinstance(value, dict):
        return _with_marked_names(value, "", is_secret=False)
    if isinstance(value, dict) and not tree.payloads and EVERY_ITEM not in tree.children:
        inner = ((key, tree.children.get(key) or tree.children.get(EVERY_KEY)) for key in value)
        return {**value, **{key: _marked(value[key], part) for key, part in inner if part}}
    items = tree.children.get(EVERY_ITEM)
    if isinstance(value, list) and items:
        return [_marked(item, items) for item in value]
    return _redacted(value)


def _with_marked_names(value: Json, name: str, *, is_secret: bool) -> Json:
    """A value of a chart, in which the values with a secret name, or below one, are Redacted text.

    name: the key of the value, or the `name` next to a `value`, as in parameters of Argo CD.
    is_secret: whether the value is below a secret name.
    """
    is_plain = isinstance(value, (int, float)) and not is_secret
    for part in name.split("."):
        found = _SECRET_NAME.search(part.partition("[")[0])
        if found:
            # A number at `maxTokens` is a limit.
            is_secret = not (is_plain and found["plural"])
        elif _PLAIN_NAME.search(part):
            is_secret = False
    if isinstance(value, dict):
        own = value.get("name")
        return {
            key: _with_marked_names(
                inner, own if key in _VALUES and isinstance(own, str) else key, is_secret=is_secret
            )
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_with_marked_names(item, "", is_secret=is_secret) for item in value]
    is_text = isinstance(value, (str, int, float)) and not isinstance(value, bool)
    return _redacted(value) if is_text and is_secret else value


def _redacted(value: Json) -> Json:
    return value if value in (None, "") else Redacted(canonical_json(value))
