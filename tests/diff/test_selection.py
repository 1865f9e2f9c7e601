"""A comparison of the selected documents is the comparison of all documents."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postrender.config.settings import Settings
from postrender.diff import build
from postrender.diff.model import Preview
from postrender.diff.selection import Selection, select_all, select_documents
from postrender.errors import UserError
from postrender.inventory.build import take_inventory
from postrender.output import render
from postrender.plan.build import make_plan
from postrender.yaml.stream import Stream, read_stream
from tests.diff.change_cases import cases
from tests.effort import examples
from tests.golden_cases import FIXTURES, Case

INPUTS = [Case(path).input for path in sorted(FIXTURES.glob("*.yaml"))]
INPUTS += [path.read_bytes() for case in cases() for path in case.folder.glob("*.yaml")]


def documents(data: bytes) -> list[str]:
    texts = iter(read_stream(data, "input").texts)
    return [text if text.startswith("---") else f"---\n{text}" for text in texts]


def changed(text: str, random: Random, words: list[str]) -> str:
    """Return a document in which one value is another word of the stream."""
    lines = text.split("\n")
    numbers = [number for number, line in enumerate(lines) if re.search(r": \S", line)]
    for number in random.sample(numbers, min(1, len(numbers))):
        lines[number] = lines[number].partition(": ")[0] + f": {random.choice(words)}"
    return "\n".join(lines)


def mutated(texts: list[str], random: Random) -> list[str]:
    texts = list(texts)
    words = re.findall(r"[A-Za-z0-9.-]{2,}", " ".join(texts)) or ["web"]
    for _ in range(random.choice((1, 1, 2, 3))):
        number = random.randrange(len(texts)) if texts else 0
        match random.randrange(6 if texts else 1):
            case 0:
                texts.insert(number, random.choice(documents(random.choice(INPUTS)) or [""]))
            case 1:
                del texts[number]
            case 2:
                texts.insert(random.randrange(len(texts)), texts[number])
            case 3:
                texts.insert(random.randrange(len(texts)), changed(texts[number], random, words))
            case 4:
                random.shuffle(texts)
            case _:
                texts[number] = changed(texts[number], random, words)
    return texts


def pair(random: Random, options: Settings) -> tuple[Stream, Stream]:
    """Return two sides of several inputs, most of which have nothing in common."""
    texts = [text for _ in range(3) for text in documents(random.choice(INPUTS))]
    old = mutated(texts, random)
    new = mutated(random.choice((old, texts)), random)
    sides = [read_stream("".join(side).encode(), "side") for side in (old, new)]
    if random.random() < 0.2:
        plans = [make_plan(take_inventory(side, options), options) for side in sides]
        sides = [read_stream("".join(render(plan)).encode(), "side") for plan in plans]
    return sides[0], sides[1]


def compared(
    sides: tuple[Stream, Stream], options: Settings, monkeypatch: pytest.MonkeyPatch
) -> Preview:
    def every(old: Stream, new: Stream, _: str) -> Selection:
        return select_all(old, new)

    with monkeypatch.context() as context:
        context.setattr(build, "select_documents", every)
        return build.compare(*sides, options)


@settings(max_examples=examples(80), deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from(["", "", "prod"]), st.booleans())
def test_the_selected_documents_are_enough(
    random: Random, namespace: str, with_secrets: bool
) -> None:
    options = Settings(namespace=namespace, with_secrets=with_secrets)
    try:
        sides = pair(random, options)
        with pytest.MonkeyPatch.context() as monkeypatch:
            expected = compared(sides, options, monkeypatch)
    except (UserError, RecursionError):
        return
    assert build.compare(*sides, options) == expected


def configmap(name: str, value: str, more: str = "") -> str:
    return (
        f"---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n{more}"
        f"data:\n  key: {value}\n"
    )


def selected(old: list[str], new: list[str], **options: Any) -> tuple[list[int], list[int]]:
    sides = [read_stream("".join(side).encode(), "side") for side in (old, new)]
    in_old, in_new, _ = select_documents(
        sides[0], sides[1], options.pop("namespace", ""), **options
    )
    return list(in_old), list(in_new)


SERVICE = "---\napiVersion: v1\nkind: Service\nmetadata:\n  name: frontend\nspec: {}\n"
OTHERS = [configmap("web-config", "one"), SERVICE, configmap("other-config", "web-configuration")]


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("---\napiVersion: v1\nkind: Service\nmetadata: {name: frontend}\n", 1),
        ("---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: x\nspec: {a: other-config}\n", 2),
        ('---\napiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {a: "\\x6fther-config"}\n', 2),
        ("---\nkind: List\napiVersion: v1\nitems:\n- {a: other-config}\n", 2),
    ],
    ids=["the same object", "a mention", "a mention with an escape", "in a List"],
)
def test_what_belongs_to_a_new_document_is_read(text: str, index: int) -> None:
    assert selected(OTHERS, [*OTHERS, text]) == ([index], [index, 3])


def test_a_program_that_derives_the_name_of_a_configmap_is_read() -> None:
    """The program writes the ConfigMap, so postrender does not rename it."""
    writer = "apiVersion: app.terraform.io/v1alpha2\nkind: Workspace\nmetadata:\n  name: network\n"
    old, new = ([configmap("network-outputs", value), f"---\n{writer}"] for value in ("a", "b"))
    assert selected(old, new) == ([0, 1], [0, 1])


def test_equal_documents_are_left_out() -> None:
    assert selected(OTHERS, OTHERS) == ([], [])
    assert selected(OTHERS, [configmap("web-config", "two"), *OTHERS[1:]]) == ([0], [0])


DEPLOYMENT = """\
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      containers: [{name: web, envFrom: [{configMapRef: {name: web-config}}]}]
"""


def test_equal_documents_of_an_input_and_an_output_are_read() -> None:
    """The output has the ConfigMap under its name, and the input gives it another one."""
    equal = configmap("web-config", "one") + DEPLOYMENT
    label = "  labels: {postrender/attach-group: other}\n"
    old, new = (
        read_stream((equal + configmap("other", "one", more)).encode(), "side")
        for more in (label, "")
    )
    assert [item.identity.name for item in build.compare(old, new, Settings()).workloads] == ["web"]


def test_a_binding_can_change_every_decision() -> None:
    binding = "---\napiVersion: v1\nkind: RoleBinding\nmetadata:\n  name: x\n"
    assert selected(OTHERS, [*OTHERS, binding]) == ([0, 1, 2], [0, 1, 2, 3])


def test_all_documents_decide_what_an_absent_namespace_means() -> None:
    others = [*OTHERS, configmap("far-config", "x", "  namespace: far\n")]
    new = [configmap("web-config", "namespace"), *others[1:]]
    assert selected(others, new) == ([0, 1, 2, 3], [0, 1, 2, 3])
    assert selected(others, new, namespace="shop") == ([0], [0])
