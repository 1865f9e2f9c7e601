"""The text of a preview shows every changed leaf of the objects."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.diff.change_cases import Case, cases
from tests.diff.leaves import text_of, untold_leaves

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "rendered"

# The cases in which a text says otherwise what changes.
OTHERWISE = {
    "an-export-of-the-cluster": "an apply leaves what only the cluster writes",
    "a-namespace-is-added": "an undecided part names the objects",
    "a-namespace-is-set-and-the-content-changes": "an undecided part names the objects",
    "a-namespace-on-one-side-only": "an undecided part names the objects",
    "an-object-is-duplicated": "an undecided part names the object",
    "generate-name": "an undecided part names the place of the object",
    "hostile-content": "the text escapes control characters",
    "scalars-without-quotes": "an undecided part names the place of the object",
    "only-a-part-of-a-secret-changes": "stringData and data have the same content",
    "another-namespace": "an object that moves has only what differs",
    "objects-leave-the-release-namespace": "without the option, an undecided part names them",
}


def plain_cases() -> list[Case]:
    """Return the cases whose sides are YAML, and not outputs of postrender."""
    return [
        case
        for case in cases()
        if case.name not in OTHERWISE
        and case.new.endswith(".yaml")
        and "attach-group" not in case.expected(case.old) + case.expected(case.new)
    ]


@pytest.mark.parametrize("case", plain_cases(), ids=lambda case: case.name)
def test_every_changed_leaf_of_a_case_is_shown(case: Case) -> None:
    old, new = case.expected(case.old), case.expected(case.new)
    for one, other in ((old, new), (new, old)):
        assert untold_leaves(one, other, text_of(one, other)) == []


def test_every_changed_leaf_of_the_example_is_shown() -> None:
    old, new = ((EXAMPLES / name).read_text("utf-8") for name in ("v1.yaml", "v2.yaml"))
    shown = text_of(old, new)
    assert untold_leaves(old, new, shown) == []
    # The check finds what a text lacks.
    missing = shown.replace("shop/backend:5.2.0", "x")
    assert {leaf.value for _, leaf in untold_leaves(old, new, missing)} == {"shop/backend:5.2.0"}
