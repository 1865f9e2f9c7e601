"""`postrender diff` tells what tests/predictions expects of each change.

tests/e2e/test_behaviour_predictions.py compares the same expectations with a real API server.
"""

from __future__ import annotations

import pytest

from tests.diff.predictions import Prediction, predictions, told


@pytest.mark.parametrize("prediction", predictions(), ids=lambda prediction: prediction.name)
def test_a_preview_tells_the_expected_effects_and_facts(prediction: Prediction) -> None:
    result = told(prediction)
    if prediction.untold:
        assert not result.is_complete, "diff tells all of this now: remove `untold: true`"
    else:
        assert result.is_complete, result
    assert not result.false


def test_each_change_has_its_own_name() -> None:
    names = [prediction.name for prediction in predictions()]
    assert len(names) == len(set(names))
