"""References of Argo Rollouts' analysis objects to Secrets (argo-rollouts v1.10, Argument).

The value of `secretKeyRef.name` is the reference:

    kind: AnalysisTemplate
    spec:
      args:
        - name: token
          valueFrom: {secretKeyRef: {name: web-token, key: token}}

The Jobs in these objects have pod templates. The module `pods` has the rules for pod templates.
"""

from __future__ import annotations

from postrender.kubernetes.kinds import SECRET
from postrender.references.rule import Rule
from postrender.yaml.paths import parse_pattern

_ARGUMENT = parse_pattern("spec.args[].valueFrom.secretKeyRef.name")

ANALYSIS_RULES = tuple(
    Rule(group="argoproj.io", kind=kind, pattern=_ARGUMENT, target=SECRET)
    for kind in ("AnalysisTemplate", "ClusterAnalysisTemplate", "AnalysisRun")
)
