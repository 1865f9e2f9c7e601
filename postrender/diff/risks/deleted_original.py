"""The first release with postrender deletes the originals that old pods still use.

The new manifests have a revision in place of the original, so Helm, Argo CD with pruning and Flux
delete the original. An old pod that restarts during the rollout cannot start. `postrender adopt`,
before the release, marks the live originals, so that these tools keep them. Then diff still reports
this risk, except if the older manifests have the mark, because they were read from the cluster.

Source: `postrender/cli/adopt.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from postrender.diff.kinds import template_path
from postrender.diff.model import Risk
from postrender.diff.risks.data_loss import is_kept
from postrender.diff.risks.facts import Facts, Object

_CONSEQUENCE = (
    "Tools such as Helm delete the original, although old pods still use it. An old pod that "
    "restarts cannot start. Before the apply, run postrender adopt"
)


def find(facts: Facts) -> Iterator[Risk]:
    kept = {facts.resolver.key_of(item.identity, item.name) for item in facts.new.objects}
    before = {pair.identity: pair.old.data for pair in facts.pairs if pair.old}
    for pair in facts.pairs:
        if pair.both is None:
            continue
        old, new = pair.both
        content = facts.contents.get(pair.identity)
        users = content.users if content and new.is_revised and not old.is_revised else ()
        # Without the name in the older manifests, the reference is new, and no old pod has it.
        has_pods = any(
            template_path(user.group_kind) is not None
            and f'"{old.name}"' in json.dumps(before.get(user), default=str)
            for user in users
        )
        is_left = facts.resolver.key_of(pair.identity) in kept
        if has_pods and not is_left and not is_kept(Object(pair.identity, old.data)):
            yield Risk(pair.identity, "a revision replaces the original", _CONSEQUENCE)
