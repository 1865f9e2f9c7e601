"""The Secrets that a ServiceAccount names (Kubernetes API v1 ServiceAccount)."""

from __future__ import annotations

from postrender.kubernetes.kinds import SECRET
from postrender.references.rule import Rule
from postrender.yaml.paths import parse_pattern

RULES = tuple(
    Rule("", "ServiceAccount", parse_pattern(pattern), SECRET)
    for pattern in ("imagePullSecrets[].name", "secrets[].name")
)
