"""A mistake in the configuration is reported with its line and with what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from postrender.config.find import explicit_file
from postrender.config.load import load_config
from postrender.config.settings import settings_from
from postrender.errors import UserError

MISTAKES = {
    "kind: Deployment": ":1 kind: the key is unknown.",
    "image: x": ":1 image: the key is unknown. Write attacher.image instead.",
    "strct: true": ':1 strct: the key is unknown. Use "strict" instead, or remove the key.',
    "rules: [{name: a, strategy: ignore}]": "Write rules[].match.name instead.",
    "attacher: false": (
        "attacher: the value is false, expected a mapping. Write attacher.enabled: false."
    ),
    "attacher:\nimage: a": (
        ":1 attacher: the value is null, expected a mapping. Indent the keys of attacher, or "
        "remove attacher."
    ),
    "attacher: {enabled: maybe}": 'attacher.enabled: the value is "maybe", expected true or false.',
    "rules: [{strategy: skip}]": (
        'rules[0].strategy: the value is "skip", expected one of "rename", "checksum", "ignore".'
    ),
    "rules: [{match: {}}]": (
        ":1 rules[0]: the rule has neither of the keys strategy and rewriteReferences. Add strategy"
    ),
    "rules: [{match: {name: a}, keepOriginal: true}]": (
        "rules[0]: the rule sets keepOriginal, which is for revisions, without a strategy. Add "
        "strategy: rename."
    ),
    "rules: [{immutable: false}]": "rules[0]: the rule sets immutable, which is for revisions",
    "attacher.image: a": ':1 ["attacher.image"]: the key is unknown. Write image as a key in the '
    "mapping attacher.",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}": (
        "kind: the file is a ConfigMap, expected a configuration. Pass the file "
    ),
    "rules: [{match: {kind: Configmap}, strategy: ignore}]": (
        'rules[0]: a strategy is for ConfigMaps and Secrets, and match.kind is "Configmap". '
        "Write ConfigMap."
    ),
    "rules: [{match: {kind: Deployment}, strategy: ignore}]": "or use the key rewriteReferences.",
    "rules: [{rewriteReferences: false, strategy: ignore}]": (
        "rewriteReferences and strategy are for different kinds of objects. Write two rules."
    ),
    "rules: [{match: {kind: Secret}, rewriteReferences: false}]": (
        "rewriteReferences is for the objects that contain references"
    ),
    "rules: [{match: {referenced: true}, rewriteReferences: false}]": "no key referenced.",
    'attacher: {group: "a b"}': (
        'attacher.group: the value is "a b", expected letters, digits, "-", "_" and ".", with a '
        "letter or digit at both ends. Change the value."
    ),
    'attacher: {image: "bad image"}': (
        ':1 attacher.image: the value is "bad image", expected the name of an image, such as '
        "registry.example.com/postrender:0.1.0. Correct the name."
    ),
    "attacher: {retiredSecrets: [A]}": 'expected lower-case letters, digits, "-" and ".", with',
    f"attacher: {{group: {'a' * 254}}}": "the value has 254 characters, expected at most 253. ",
    "references: [{kind: A}]": '[0]: the required key "path" is missing. Add the key "path".',
    "rules: [{strategy: renam}]": 'expected one of "rename", "checksum", "ignore". Write "rename".',
    "strict: true\nstrict: false": ':2: the key "strict" is also on line 1. Remove one of',
    "rules: rename": (
        'rules: the value is "rename", expected a list. '
        "Write a list. The possible keys of each item are match, strategy, rewriteReferences, "
        "immutable, keepOriginal."
    ),
    "references: {kind: A, path: a}": (
        "references: the value is a mapping, expected a list. "
        "Write a list. The possible keys of each item are kind, group, name, path, target, "
        "kindKey, match."
    ),
    "attacher: {podTemplate: {spec: {containers: app}}}": 'the value is "app", expected a list.',
    "attacher: {retiredSecrets: app}": 'Write the value as a list: ["app"].',
    "attacher: {retiredSecrets: 3}": "the value is 3, expected a list. Write a list.",
    "namespace: 12": "namespace: the value is 12, expected a string. Put the value in quotes.",
    'history: {keep: "3"}': 'history.keep: the value is "3", expected a whole number or null.',
    "keepOriginal: x": 'keepOriginal: the value is "x", expected true or false or null.',
    "history: {keep: 0}": "history.keep: the value is 0, expected 1 or more.",
    "attacher: {ttlSecondsAfterFinished: 2147483648}": "attacher.ttlSecondsAfterFinished: the "
    "value is 2147483648, expected 2147483647 or less.",
    "attacher: {timeout: 10000000000}": "attacher.timeout: the value is "
    "10000000000, expected 2147483647 or less.",
    "references:\n- kind: A\n  path: .spec.maps[*]": (
        ':3 references[0].path: ".spec.maps[*]" is not a path. '
        'Write "spec.maps[]" instead of ".spec.maps[*]".'
    ),
    'references: [{kind: A, path: "$.spec[0].x"}]': '"$.spec[0].x" is not a path. Write a',
    "references: [{kind: A, path: 'a[]b'}]": '"a[]b" is not a path. Write a path such as',
    "leftovers:\n  ignore:\n  - path: a..b": ':3 leftovers.ignore[0].path: "a..b" is not a path.',
    "apiVersion: postrender/v1alpha1\nkind: Postrender\nstrict: true": (
        ":3 strict: the key is unknown. Write spec.strict instead."
    ),
    'strict: "true"': 'strict: the value is "true", expected true or false. Remove the quotes',
    "kind: Postrender\nspec: {}": "the apiVersion is missing, expected postrender/v1alpha1. ",
    "apiVersion: postrender/v1\nkind: Postrender": 'the apiVersion is "postrender/v1", expected ',
    "strict: " + 38 * "a": 'the value is "' + 38 * "a" + '", expected',
    "strict: " + 39 * "a": 'the value is "' + 38 * "a" + "…, expected",
    "xyz: 1": "xyz: the key is unknown. Write one of the keys extends, namespace,",
    "- a": "the configuration is a list, expected a mapping.",
    "attacher:\n\n  timeout: soon": ':3 attacher.timeout: the value is "soon", expected a',
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_is_explained(text: str, tmp_path: Path) -> None:
    file = tmp_path / "postrender.yaml"
    file.write_text(text)
    with pytest.raises(UserError) as raised:
        load_config(explicit_file(str(file)))
    assert MISTAKES[text] in str(raised.value)
    assert "<class" not in str(raised.value)


def test_every_mistake_of_a_file_is_reported_at_once(tmp_path: Path) -> None:
    file = tmp_path / "postrender.yaml"
    file.write_text(
        "strict: maybe\n"
        "rules:\n"
        "- match: {kind: Configmap}\n"
        "  strategy: ignore\n"
        "- strategi: ignore\n"
        "references:\n"
        "- {kind: A, path: 'a['}\n"
        "- {kind: A, path: 3}\n"
        "attacher: {first: 1, second: 2}\n"
    )
    with pytest.raises(UserError) as error:
        load_config(explicit_file(str(file)))
    mistakes = [str(mistake) for mistake in (error.value, *error.value.others)]
    found = [mistake.partition("postrender.yaml:")[2].partition(":")[0] for mistake in mistakes]
    assert found == [
        *("1 strict", "3 rules[0]", "5 rules[1].strategi", "7 references[0].path"),
        *("8 references[1].path", "9 attacher.first", "9 attacher.second"),
    ]


def test_every_repeated_key_is_reported_at_once(tmp_path: Path) -> None:
    file = tmp_path / "postrender.yaml"
    file.write_text("strict: true\nsecrets: true\nstrict: true\nsecrets: true\n")
    with pytest.raises(UserError) as error:
        load_config(explicit_file(str(file)))
    assert "strict" in error.value.problem
    assert ["secrets" in other.problem for other in error.value.others] == [True]


@pytest.mark.parametrize("name", ["-web", "web-", "Web", "web.shop", "a b", "a" * 64])
def test_a_name_that_no_namespace_can_have(name: str) -> None:
    with pytest.raises(UserError, match="expected at most 63 lower-case"):
        settings_from({"namespace": name})


@pytest.mark.parametrize("name", ["", "w", "1", "web-1", "a" * 63, "<path:secrets#namespace>"])
def test_a_name_that_a_namespace_can_have(name: str) -> None:
    assert settings_from({"namespace": name}).namespace == name


@pytest.mark.parametrize("name", ["-web", "web-", "a b", "é"])
def test_a_name_that_no_attach_group_can_have(name: str) -> None:
    with pytest.raises(UserError, match="the attach group is"):
        settings_from({"attacher": {"group": name}})


@pytest.mark.parametrize(
    "image",
    ["bad image", " a:1", "a:1\n", "Registry/App:1", "a//b", "a:", "é:1", "a/:1", "a b/c:1"],
)
def test_a_name_that_no_image_can_have(image: str) -> None:
    with pytest.raises(UserError, match="expected the name of an image"):
        settings_from({"attacher": {"image": image}})


@pytest.mark.parametrize(
    "image",
    [
        *("", "postrender", "postrender:0.1.0", "localhost:5000/a_b/c-d:V1_x", "[::1]:5000/a"),
        *("Registry.example.com/a", f"r.example.com/tools/postrender@sha256:{'a' * 64}"),
        *("<path:images#attacher>", "ref+vault://images/attacher"),
    ],
)
def test_a_name_that_an_image_can_have(image: str) -> None:
    assert settings_from({"attacher": {"image": image}}).attacher.image == image


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(f"key{number}: 1" for number in range(5000)),
        "rules:\n" + "- {immutable: true}\n" * 5000,
        "rules:\n" + "- {strategi: rename}\n" * 5000,
        "references:\n" + '- {kind: A, path: "a..b"}\n' * 5000,
    ],
)
def test_of_many_mistakes_the_first_hundred_are_reported(tmp_path: Path, text: str) -> None:
    file = tmp_path / "postrender.yaml"
    file.write_text(text)
    with pytest.raises(UserError) as caught:
        load_config(explicit_file(str(file)))
    assert len(caught.value.others) == 99
