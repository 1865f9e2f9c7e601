"""A workload that reloads a file itself gets new pods.

An example is Prometheus with the sidecar `configmap-reload`. Keep the reload in the ConfigMap:

```yaml
metadata: { annotations: { postrender/strategy: ignore } }
```
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.diff.model import Risk
from postrender.diff.risks import Facts
from postrender.plan.reloads import find_reloads

_CONSEQUENCE = (
    "With a revision, each change restarts the pods. To keep the reload, set postrender/strategy: "
    "ignore"
)


def find(facts: Facts) -> Iterator[Risk]:
    replaced = {
        pair.identity
        for pair in facts.pairs
        if pair.both and pair.both[1].is_revised and not pair.both[0].is_revised
    }
    new = facts.both.new
    if not (replaced and new.context):
        return
    # The references of an output name the revisions.
    base = {
        revision.item.identity: revision.identity for revision in new.revisions if revision.item
    }
    for user, targets in find_reloads(new.context, new.context.decisions).items():
        for target in dict.fromkeys(base.get(target, target) for target in targets):
            if target in replaced:
                yield Risk(user, f"the workload reloads {target} without a restart", _CONSEQUENCE)
