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
# With this annotation, argocd-vault-plugin also replaces `<key>`.
_PATH_ANNOTATION = "avp.kubernetes.io/path"
_IGNORED_BY_PLUGIN = "avp.kubernetes.io/ignore"


def find_placeholder(
    kind: GroupKind, content: Mapping[str, Json], annotations: Mapping[str, str]
) -> tuple[str, str]:
    """The path of the first value with a placeholder, and the program. ("", "") without one."""
    is_generic = _PATH_ANNOTATION in annotations
    is_ignored = annotations.get(_IGNORED_BY_PLUGIN) == "true"
    for path, value in _values(kind, content):
        program = _program_for(value, is_generic=is_generic)
        if program and not (is_ignored and program == _PLUGIN):
            return path, program
    return "", ""


def _program_for(value: str, *, is_generic: bool) -> str:
    """The program that replaces a placeholder in a value, "" if there is none.

    is_generic: whether `<key>` is a placeholder.
    """
    is_of_a_vault = "vault:" in value or "bao:" in value
    if is_of_a_vault and re.search(r"(?:\A|\$\{)(?:>>)?(?:vault|bao):[^\s#]{1,300}#", value):
        return _BANK_VAULTS
    if "<path:" in value and re.search(r"<path:[^#<>]+#[^<>]+>", value):
        return _PLUGIN
    if is_generic and re.search(r"<[^<>\s]+>", value):
        return _PLUGIN
    is_of_vals = "ref+" in value and re.search(r"\b(?:secret)?ref\+[a-z0-9]+://\S", value)
    return "vals" if is_of_vals else ""


def _values(kind: GroupKind, content: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    for field in ("data", "stringData"):
        for key, value in mapping_at(content, (field,)).items():
            if isinstance(value, str):
                is_encoded = kind == SECRET and field == "data"
                yield f"{field}.{key}", decoded(value) if is_encoded else value
