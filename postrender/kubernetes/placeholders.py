"""Placeholders: values that another program replaces, perhaps after postrender.

A webhook replaces them in the request to the API server, other programs in the manifests:

    data:
      password: vault:secret/data/shop#password             # Bank-Vaults
      token: <path:kv/data/shop#token>                      # argocd-vault-plugin
      key: ref+vault://kv/shop/key                          # vals

Sources:
bank-vaults/secrets-webhook pkg/provider/vault/provider.go, pkg/provider/bao/provider.go
argoproj-labs/argocd-vault-plugin pkg/kube/util.go
helmfile/vals README.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from postrender.kubernetes.kinds import SECRET, GroupKind
from postrender.text import decoded
from postrender.yaml.paths import Json, mapping_at

_BANK_VAULTS = "the webhook of Bank-Vaults"
_PLUGIN = "argocd-vault-plugin"
# A part of each placeholder, for a quick search, with the pattern and the program.
_PLACEHOLDERS = (
    ("vault:", re.compile(r"(?:\A|\$\{)(?:>>)?vault:[^\s#]+#"), _BANK_VAULTS),
    ("bao:", re.compile(r"(?:\A|\$\{)(?:>>)?bao:[^\s#]+#"), _BANK_VAULTS),
    ("<path:", re.compile(r"<path:[^#>]+#[^>]+>"), _PLUGIN),
    ("ref+", re.compile(r"\bref\+[a-z0-9]+://\S"), "vals"),
    ("secretref+", re.compile(r"\bsecretref\+[a-z0-9]+://\S"), "vals"),
)
# With this annotation, argocd-vault-plugin also replaces `<key>`.
_PATH_ANNOTATION = "avp.kubernetes.io/path"
_GENERIC = ("<", re.compile(r"<[^<>\s]+>"), _PLUGIN)
_IGNORED_BY_PLUGIN = "avp.kubernetes.io/ignore"


def find_placeholder(
    kind: GroupKind, content: Mapping[str, Json], annotations: Mapping[str, str]
) -> tuple[str, str]:
    """The path of the first value with a placeholder, and the program. ("", "") without one."""
    candidates = (*_PLACEHOLDERS, _GENERIC) if _PATH_ANNOTATION in annotations else _PLACEHOLDERS
    is_ignored = annotations.get(_IGNORED_BY_PLUGIN) == "true"
    for path, value in _values(kind, content):
        for part, pattern, program in candidates:
            if part in value and pattern.search(value) and not (is_ignored and program == _PLUGIN):
                return path, program
    return "", ""


def _values(kind: GroupKind, content: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    for field in ("data", "stringData"):
        for key, value in mapping_at(content, (field,)).items():
            if isinstance(value, str):
                is_encoded = kind == SECRET and field == "data"
                yield f"{field}.{key}", decoded(value) if is_encoded else value
