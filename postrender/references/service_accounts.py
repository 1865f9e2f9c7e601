"""The Secrets that a ServiceAccount names (Kubernetes API v1 ServiceAccount)."""

from __future__ import annotations

from postrender.objects import SECRET
from postrender.paths import parse_pattern
from postrender.references.rule import Rule

RULES = tuple(
    Rule("", "ServiceAccount", parse_pattern(pattern), SECRET)
    for pattern in ("imagePullSecrets[].name", "secrets[].name")
)
