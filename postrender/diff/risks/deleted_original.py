"""The first release with postrender deletes the originals that old pods still use.

The new manifests have a revision in place of the original, so Helm, Argo CD with pruning and Flux
delete the original. An old pod that restarts during the rollout cannot start. `postrender adopt`
marks the live originals, so that these tools keep them. Then diff still reports this risk, except
if the older manifests have the mark.

Source: `postrender/cli/adopt.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from postrender.diff.kinds import template_path
from postrender.diff.model import Risk
from postrender.diff.risks import Facts
from postrender.kubernetes.annotations import keeper_of

_CONSEQUENCE = (
    "Tools such as Helm delete the original, although old pods still use it. An old pod that "
    "restarts cannot start. Before the apply, run postrender adopt"
)


def find(facts: Facts) -> Iterator[Risk]:
    replaced = [
        (pair.both[0], content)
        for pair in facts.pairs
        if pair.both and pair.both[1].is_revised and not pair.both[0].is_revised
        for content in [facts.contents.get(pair.identity)]
        if content
    ]
    if not replaced:
        return
    kept = {facts.both.resolver.key_of(item.identity, item.name) for item in facts.both.new.objects}
    before = {pair.identity: pair.old.data for pair in facts.pairs if pair.old}
    for old, content in replaced:
        # Without the name in the older manifests, the reference is new, and no old pod has it.
        has_pods = any(
            template_path(user.group_kind) is not None
            and f'"{old.name}"' in json.dumps(before.get(user), default=str)
            for user in content.users
        )
        is_left = facts.both.resolver.key_of(content.identity) in kept
        if has_pods and not is_left and not keeper_of(old.data):
            yield Risk(content.identity, "a revision replaces the original", _CONSEQUENCE)
