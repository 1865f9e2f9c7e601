"""Content hashes and render IDs are a contract: these values never change."""

from __future__ import annotations

from typing import cast

import pytest

from postrender.kubernetes.hashing import (
    MAX_NAME_LENGTH,
    encode_hash,
    fits_content,
    hashed_content,
    render_id,
    revision_name,
    without_hash,
)
from postrender.kubernetes.kinds import CONFIG_MAP, SECRET, GroupKind
from postrender.yaml.paths import Json

VECTORS: list[tuple[GroupKind, dict[str, Json], str]] = [
    (CONFIG_MAP, {}, "6ct58987ht"),
    (CONFIG_MAP, {"data": None}, "6ct58987ht"),
    (CONFIG_MAP, {"data": {}}, "6ct58987ht"),
    (CONFIG_MAP, {"data": {"one": ""}}, "9g67k2htb6"),
    (CONFIG_MAP, {"data": {"one": None}}, "9g67k2htb6"),
    (CONFIG_MAP, {"binaryData": {"one": ""}}, "6mtk2m274t"),
    (CONFIG_MAP, {"binaryData": {"one": "aGVsbG8="}}, "b2b57m2mfc"),
    (
        CONFIG_MAP,
        {"data": {"year": "2020", "fruit": "Indian Gooseberry", "crisis": "true"}},
        "79t79mt227",
    ),
    (CONFIG_MAP, {"data": {"a": "<b>&'\""}}, "8cd7tc6dk6"),
    (SECRET, {"type": "my-type"}, "5gmgkf8578"),
    (SECRET, {"type": "my-type", "data": {"one": ""}}, "74bd68bm66"),
]


@pytest.mark.parametrize(("kind", "content", "expected"), VECTORS)
def test_a_content_hash_never_changes(
    kind: GroupKind, content: dict[str, Json], expected: str
) -> None:
    assert revision_name("name", hashed_content(kind, content, True)) == f"name-{expected}"


def test_the_hash_ignores_metadata_and_immutable_true() -> None:
    content: dict[str, Json] = {"data": {"a": "1"}}
    immutable = {**content, "metadata": {"labels": {"a": "b"}}, "immutable": True}
    assert hashed_content(CONFIG_MAP, immutable, True) == hashed_content(CONFIG_MAP, content, True)


def test_a_mutable_object_has_another_hash() -> None:
    content: dict[str, Json] = {"data": {"a": "1"}}
    assert hashed_content(CONFIG_MAP, content, False) != hashed_content(CONFIG_MAP, content, True)


@pytest.mark.parametrize("text", ["aGVs\nbG8=\n", "aGVs\r\nbG8=", "aGVsbG9="])
def test_the_hash_covers_binary_data_as_the_api_server_returns_it(text: str) -> None:
    """The API server decodes base64 and encodes it again, so the hash of a live object matches."""
    content: dict[str, Json] = {"binaryData": {"one": text}}
    assert revision_name("a", hashed_content(CONFIG_MAP, content, True)) == "a-b2b57m2mfc"
    assert fits_content("a-b2b57m2mfc", "a", CONFIG_MAP, content)


@pytest.mark.parametrize("text", ["aGVs bG8=", "aGVsbG8=!", "aGVsbG8", "é", 5])
def test_the_hash_covers_a_value_that_is_not_base64_as_it_is(text: Json) -> None:
    texts = (text, "aGVsbG8=")
    contents: list[dict[str, Json]] = [{"binaryData": {"one": value}} for value in texts]
    first, second = (
        revision_name("a", hashed_content(CONFIG_MAP, content, True)) for content in contents
    )
    assert first != second


def test_a_name_of_kustomize_fits_binary_data_with_line_breaks() -> None:
    """kustomize wraps long binary data, and hashes the text with the line breaks."""
    content: dict[str, Json] = {"binaryData": {"one": "aGVs\nbG8=\n"}}
    text = '{"binaryData":{"one":"aGVs\\nbG8=\\n"},"data":"","kind":"ConfigMap","name":""}'
    assert fits_content(f"a-{encode_hash(text, 10)}", "a", CONFIG_MAP, content)


@pytest.mark.parametrize("is_immutable", [True, False])
@pytest.mark.parametrize("number", [0, 7])
def test_a_name_fits_its_content(is_immutable: bool, number: int) -> None:
    content: dict[str, Json] = {"data": {"a": "1"}, "immutable": is_immutable}
    hashed = hashed_content(CONFIG_MAP, content, is_immutable)
    name = revision_name("a", hashed, number)
    assert fits_content(name, "a", CONFIG_MAP, content)
    assert fits_content(name, "a", CONFIG_MAP, {**content, "immutable": False})
    assert fits_content(name, "a", CONFIG_MAP, {**content, "immutable": True}) is is_immutable
    assert not fits_content(name, "a", CONFIG_MAP, {**content, "data": {"a": "2"}})
    assert not fits_content(name, "b", CONFIG_MAP, content)


def test_two_contents_of_one_author_can_have_one_name() -> None:
    """The limit in the threat model: this pair took half a second. A longer hash would end it."""
    names = {
        revision_name("web", hashed_content(CONFIG_MAP, {"data": {"greeting": text}}, True))
        for text in ("hello 72323", "EVIL 288868")
    }
    assert names == {"web-f5969586t4"}


@pytest.mark.parametrize("number", [0, 7])
def test_long_names_are_truncated_and_distinct(number: int) -> None:
    names = [
        revision_name("a" * 241 + suffix, hashed_content(CONFIG_MAP, {}, True), number)
        for suffix in ("", "b", "bc", ".-x", ".-y", "b" * 20, "b" * 21)
    ]
    assert len(set(names)) == len(names)
    for name in names:
        assert len(name) <= MAX_NAME_LENGTH
        assert name[-12].isalnum()
        assert without_hash(name)
        assert "-v7-" in name or not number


def test_a_suffix_with_other_characters_is_not_a_hash() -> None:
    assert without_hash("app-6ct58987ht") == "app"
    assert without_hash("app-config") == ""
    assert without_hash("app-0123456789") == ""


TEMPLATE: Json = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {
        "containers": [{"name": "web", "image": "web:1", "env": [{"name": "A", "value": "<"}]}]
    },
}


def _render_id(templates: list[Json], is_list: bool) -> str:
    return render_id(templates, is_list)


def test_a_render_id_never_changes() -> None:
    assert _render_id([TEMPLATE], is_list=False) == "2d29985975"
    assert _render_id([TEMPLATE], is_list=True) == "e4dad7d456"
    assert _render_id([TEMPLATE, TEMPLATE], is_list=True) == "51e898dfa1"
    assert _render_id([{}], is_list=False) == "44136fa355"


def test_the_render_id_ignores_the_annotation_of_helm() -> None:
    bare: Json = {"spec": {"containers": []}}
    for metadata in cast(
        "tuple[Json, ...]",
        (
            None,
            {},
            {"annotations": None},
            {"annotations": {}},
            {"annotations": {"postrenderer.helm.sh/postrender-filename": "a.yaml"}},
        ),
    ):
        template: Json = {"metadata": metadata, "spec": {"containers": []}}
        assert _render_id([template], is_list=False) == _render_id([bare], is_list=False)
    annotated: Json = {"metadata": {"annotations": {"a": "b"}}, "spec": {"containers": []}}
    assert _render_id([annotated], is_list=False) != _render_id([bare], is_list=False)
