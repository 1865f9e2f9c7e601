"""A mistake in the configuration is reported with its line and with what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from postrender.config.find import explicit_file
from postrender.config.load import load_config
from postrender.errors import UserError

MISTAKES = {
    "image: x": ":1 image: the key is unknown. Write attacher.image instead.",
    "strct: true": ':1 strct: the key is unknown. Use "strict" instead, or remove the key.',
    "rules: [{name: a, strategy: ignore}]": "Write rules[].match.name instead.",
    "attacher: false": (
        "attacher: the value is false, expected a mapping. Write attacher.enabled: false."
    ),
    "attacher: {enabled: maybe}": 'attacher.enabled: the value is "maybe", expected true or false.',
    "rules: [{strategy: skip}]": (
        'rules[0].strategy: the value is "skip", expected one of "rename", "checksum", "ignore".'
    ),
    "rules: [{match: {}}]": (
        ":1 rules[0]: the rule has neither of the keys strategy and rewriteReferences. Add strategy"
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
