"""Objects of somebody else under the name of a revision."""

from __future__ import annotations

from tests.attach.cluster import Json, name_of, owner_of, time_ago


def squats(true: Json) -> dict[str, tuple[Json, str]]:
    """What somebody else can create under the name of a revision, and the start of the report.

    "" stands for no report: a content that fits the name proves itself.
    """
    name = name_of(true)
    key = f"ConfigMap/{name}"
    other, metadata = {"data": {"value": "x"}}, true["metadata"]
    plain = {**true, "metadata": {"name": name, "uid": "plain"}}
    moved = {**metadata, "labels": {"postrender/attach-group": "another"}}
    owners = [owner_of("Deployment/app")]
    waiting = {**metadata, "deletionTimestamp": time_ago(1), "finalizers": ["example.com/keep"]}
    stuck = f"{key} is being deleted, but waits for the finalizer example.com/keep"
    content, field = "the content of", "the field immutable of"
    return {
        "without a label": ({**plain, **other}, content),
        "of another attach group": ({**true, **other, "metadata": moved}, content),
        "with all marks": ({**true, **other}, content),
        "with the owner of a run": (
            {**true, **other, "metadata": {**metadata, "ownerReferences": owners}},
            "changed the content of",
        ),
        "binary data": ({**plain, "binaryData": {"x": "AA=="}}, content),
        "right, but mutable": ({**plain, "immutable": False}, field),
        "right": (plain, ""),
        "right, of another group": ({**true, "metadata": moved}, ""),
        "being deleted": ({**true, "metadata": waiting}, stuck),
        "being deleted, without a label": (
            {**plain, "metadata": {**waiting, "labels": {}}},
            stuck,
        ),
        "being deleted, with other data": ({**true, **other, "metadata": waiting}, content),
    }
