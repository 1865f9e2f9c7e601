"""Without `history.keep`, a rollback that Kubernetes or Helm offers finds its revisions."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from postrender.plan.retained import _default_keep


@pytest.mark.parametrize(
    ("limits", "stored", "expected"),
    [
        ([], 0, 12),
        (
            [None],
            0,
            12,
        ),  # 10 old ReplicaSets, the current one and a canary
        ([3], 0, 5),
        ([0], 0, 2),
        ([3, 20], 0, 22),
        ([3, None], 0, 12),
        ([3], 5, 5),
        ([3], 30, 30),
    ],
)
def test_the_default_covers_every_history(
    limits: list[int | None], stored: int, expected: int
) -> None:
    workloads = [Mock(history_limit=limit) for limit in limits]
    assert _default_keep(workloads, Mock(stored=stored)) == expected
