"""A value of any other type, anywhere in a change, is no bug of `diff` or `render`."""

from __future__ import annotations

import json
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from postrender.config.settings import Settings
from postrender.diff.build import compare
from postrender.diff.formats import REPORTERS
from postrender.diff.values import Terminal
from postrender.errors import UserError
from postrender.inventory.build import take_inventory
from postrender.output import render
from postrender.plan.build import make_plan
from postrender.yaml.stream import Stream, read_stream
from tests.diff.predictions import Prediction, predictions
from tests.effort import examples
from tests.manifests import load
from tests.wrong_values import with_values


@pytest.mark.random_inputs
@pytest.mark.parametrize("seed", range(examples(16)))
def test_a_value_of_another_type_is_no_bug(seed: int) -> None:
    random = Random(seed)
    for prediction in random.sample(predictions(), 60):
        sides = [with_values(objects(prediction, sign), random) for sign in "-+"]
        with suppress(UserError):
            old, new = map(stream, sides)
            preview = compare(old, new, Settings())
            for form in REPORTERS:
                REPORTERS[form].render(preview, Terminal(100, False))
            inventory = take_inventory(new, Settings())
            list(render(make_plan(inventory, Settings())))


def objects(prediction: Prediction, sign: str) -> list[Any]:
    return load(prediction.side(sign))


def stream(data: list[Any]) -> Stream:
    text = "".join(f"---\n{json.dumps(one, default=str)}\n" for one in data)
    return read_stream(text.encode(), "manifests.yaml")
