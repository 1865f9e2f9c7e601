"""What Argo Rollouts' analysis objects name outside their Jobs (argo-rollouts v1.10, Argument)."""

from __future__ import annotations

from postrender.kubernetes.kinds import SECRET
from postrender.references.rule import Rule
from postrender.yaml.paths import parse_pattern

_ARGUMENT = parse_pattern("spec.args[].valueFrom.secretKeyRef.name")

RULES = tuple(
    Rule("argoproj.io", kind, _ARGUMENT, SECRET)
    for kind in ("AnalysisTemplate", "ClusterAnalysisTemplate", "AnalysisRun")
)
