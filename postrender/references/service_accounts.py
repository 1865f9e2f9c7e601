"""References of a ServiceAccount to Secrets (Kubernetes API v1 ServiceAccount).

The names in `imagePullSecrets` and `secrets` are references:

    kind: ServiceAccount
    imagePullSecrets:
      - name: registry
    secrets:
      - name: web-token
"""

from __future__ import annotations

from postrender.kubernetes.kinds import SECRET
from postrender.references.rule import Rule
from postrender.yaml.paths import parse_pattern

SERVICE_ACCOUNT_RULES = tuple(
    Rule(group="", kind="ServiceAccount", pattern=parse_pattern(pattern), target=SECRET)
    for pattern in ("imagePullSecrets[].name", "secrets[].name")
)
