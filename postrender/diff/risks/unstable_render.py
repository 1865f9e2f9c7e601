"""Two renders of a chart differ, so each release starts new pods.

Only `try` finds this risk: a password from `randAlphaNum`, a certificate from
`genSignedCert`, a time from `now`.

- `helm upgrade` makes a new value in each release, unless the chart keeps the first one with
  `lookup`, which `try` does not see.
- Argo CD does so with each commit, and daily, and the Application is `OutOfSync`.

Set such a value in a values file, or in a Secret of your own.
"""

from __future__ import annotations

from collections.abc import Iterator

from postrender.diff.model import CONFIG, ROLLS, UNCHANGED, Preview, Risk
from postrender.kubernetes.kinds import Identity

CODE = "unstable-render"
_VALUES = (
    "two equal renders of the chart differ here",
    "A value is random, or contains the time. Each helm upgrade changes the value, except if the "
    "chart keeps the value with lookup. Argo CD changes the value each time it renders the chart",
)
_TEMPLATES = (
    "two equal renders of the chart have different pod templates",
    "Each helm upgrade, and each render of Argo CD, then starts new pods",
)


def find_unstable(preview: Preview) -> Iterator[Risk]:
    """preview: of the difference between two renders of one chart with the same values."""
    for identity in _changed(preview):
        yield Risk(identity, *_VALUES, code=CODE)
    for change in preview.workloads:
        if change.effect == ROLLS:
            yield Risk(change.identity, *_TEMPLATES, code=CODE)


def _changed(preview: Preview) -> Iterator[Identity]:
    """The objects that differ themselves, and not only in the name of a revision."""
    for content in preview.contents:
        if content.change != UNCHANGED:
            yield content.identity
    for workload in preview.workloads:
        if workload.fields or any(cause.kind != CONFIG for cause in workload.causes):
            yield workload.identity
    yield from (change.identity for change in preview.objects)
