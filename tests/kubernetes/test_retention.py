"""Annotations that keep revisions, next to other options of the user."""

from __future__ import annotations

import pytest

from postrender.kubernetes.annotations import keep_annotations, without_keep

OPTIONS = "argocd.argoproj.io/sync-options"


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("Prune=false", {}),
        ("Prune=false,", {}),
        (" Prune=false , Replace=true", {OPTIONS: "Replace=true"}),
        ("Replace=true", {OPTIONS: "Replace=true"}),
        ("", {OPTIONS: ""}),
    ],
)
def test_only_the_options_of_retention_are_removed(text: str, rest: dict[str, str]) -> None:
    assert without_keep({OPTIONS: text}) == rest
    assert without_keep(keep_annotations()) == {}
