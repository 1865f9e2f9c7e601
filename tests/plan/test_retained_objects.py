"""An object in the output for the last time: the next apply of Helm must delete the live object."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from postrender.plan.edits import _retained_object
from postrender.plan.history import LiveState
from postrender.plan.model import LAST_TIME, RETAIN

POLICY = "helm.sh/resource-policy"


@pytest.mark.parametrize(
    ("live_state", "is_tracked", "policy"),
    [
        (LiveState.ABSENT, False, None),
        (LiveState.WITHOUT_KEEP, False, None),
        (LiveState.WITH_KEEP, True, None),  # Helm removes the annotation
        (LiveState.WITH_KEEP, False, "delete"),  # Helm would keep the annotation
    ],
)
def test_the_last_output_of_an_original(
    live_state: int, is_tracked: bool, policy: str | None
) -> None:
    kept = {POLICY: "keep", "a": "b"}
    revision = Mock(
        content={"kind": "ConfigMap", "metadata": {"name": "web"}},
        item=Mock(annotations=kept),
        is_original=True,
        live_state=live_state,
        is_tracked=is_tracked,
    )
    last = _retained_object(Mock(), Mock(revision=revision, decision=LAST_TIME), "")
    assert last["metadata"] == {
        "name": "web",
        "annotations": {"a": "b"} | ({POLICY: policy} if policy else {}),
    }
    retained = _retained_object(Mock(), Mock(revision=revision, decision=RETAIN), "")
    assert retained["metadata"] == {"name": "web", "annotations": kept}
