"""The risks of a change: what it can break or lose.

A rule is a function that reads Facts. Its docstring is its documentation for users, up to the
source of the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from postrender.diff.model import Risk
from postrender.diff.pairs import sort_key
from postrender.diff.risks import (
    connections,
    grants,
    limits,
    losses,
    rejected,
    running_pods,
)
from postrender.diff.risks.broken_reference import find_broken_reference
from postrender.diff.risks.facts import Facts

Rule = Callable[[Facts], Iterator[Risk]]

# The rules about objects or pods that something rejects. They run before the effects are known.
REJECTIONS: dict[str, Rule] = {
    "exceeded-limit": limits.find_exceeded_limit,
    "immutable-field": rejected.find_immutable_field,
    "invalid-custom-object": rejected.find_invalid_custom_object,
    "invalid-field": rejected.find_invalid_field,
    "invalid-rollout": rejected.find_invalid_rollout,
    "refused-pods": limits.find_refused_pods,
}
# The rules that read the effects on workloads.
OTHERS: dict[str, Rule] = {
    "blocked-eviction": running_pods.find_blocked_eviction,
    "broken-reference": find_broken_reference,
    "data-loss": losses.find_data_loss,
    "deleted-original": losses.find_deleted_original,
    "hook-boundary": losses.find_hook_boundary,
    "in-place": running_pods.find_in_place,
    "invalid-pod": rejected.find_invalid_pod,
    "lost-reload": running_pods.find_lost_reload,
    "missing-grant": grants.find_missing_grant,
    "missing-kind": rejected.find_missing_kind,
    "moved-object": losses.find_moved_object,
    "no-match": connections.find_no_match,
    "pods-stop": running_pods.find_pods_stop,
    "server-side": rejected.find_server_side,
    "shared-claim": running_pods.find_shared_claim,
    "two-autoscalers": running_pods.find_two_autoscalers,
}
# What hurts most comes first: lost data, and pods that stop or cannot restart.
_FIRST = ("data-loss", "pods-stop", "deleted-original", "moved-object")


def importance(risk: Risk) -> tuple[int, str]:
    """What sorts risks."""
    return (_FIRST.index(risk.code) if risk.code in _FIRST else len(_FIRST)), risk.code


def find_risks(facts: Facts, rules: dict[str, Rule]) -> tuple[Risk, ...]:
    """The risks that the rules find, in the order of the rules and of the objects."""
    return tuple(
        risk._replace(code=code)
        for code, find in rules.items()
        for risk in sorted(find(facts), key=lambda risk: sort_key(risk.identity))
    )
