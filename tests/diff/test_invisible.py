"""A character that a reader would not see is visible in every format, wherever a string is."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

from tests.diff.change_cases import run
from tests.diff.reporters import COMPLETE

# A place of each kind: `<name>` becomes the name and, on the newer side, the character.
MANIFESTS = r"""
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {note: "<annotation>", script: "a\n<script>\nb"}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: app
        image: "app:<image>"
        args: ["<argument>", "LONG <long-argument>", "a\n<script-argument>\nb"]
        env: [{name: FIRST, value: "<variable>"}, {name: SECOND, value: "a\n<lines>\nb"}]
      volumes: [{name: config, configMap: {name: settings}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data:
  line: "<line>"
  long-line: "LONG <long-line>"
  lines: "a\n<text>\nb\n"
  json: '{"a": "<json>"}'
---
apiVersion: v1
kind: Service
metadata: {name: web, labels: {a: "<label>", b: "<other-label>"}}
spec: {externalName: "<host>"}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [secrets], resourceNames: ["<resource>"], verbs: [get]}]
"""
# Objects, keys and variables that only the newer side has.
ADDED = r"""---
apiVersion: v1
kind: ConfigMap
metadata: {name: added}
data: {"<key>": a, line: "<added-line>", lines: "a\n<added-text>\nb\n"}
---
apiVersion: v1
kind: Service
metadata: {name: added}
spec: {externalName: "<added-host>"}
---
apiVersion: v1
kind: Service
metadata: {name: "<object>"}
"""
CHARACTERS = {
    "blank": " ",
    "tab": "\t",
    "carriage return": "\r",
    "non-breaking space": "\xa0",
    "soft hyphen": "\xad",
    "zero-width space": "\u200b",
    "right-to-left override": "\u202e",
    "ideographic space": "\u3000",
    "byte order mark": "\ufeff",
    "variation selector": "\ufe0f",
}


def side(character: str, added: str) -> str:
    text = re.sub("<([a-z-]+)>", lambda match: match[1] + character, MANIFESTS + added)
    return text.replace("LONG", "word " * 200)


@pytest.mark.parametrize("form", COMPLETE)
@pytest.mark.parametrize("name", CHARACTERS)
def test_an_invisible_character_is_visible(name: str, form: str, tmp_path: Path) -> None:
    character = CHARACTERS[name]
    written = json.dumps(character)[1:-1]  # as in YAML with double quotes
    (tmp_path / ".git").mkdir()
    (tmp_path / "postrender.yaml").touch()
    (tmp_path / "old.yaml").write_text(side("", ""), "utf-8")
    (tmp_path / "new.yaml").write_text(side(written, ADDED), "utf-8")
    shown = run(["diff", "--format", form, "old.yaml", "new.yaml"], tmp_path).stdout
    if form == "html":
        shown = html.unescape(re.sub(r"<(style|script).*?</\1>|<[^>]*>", "", shown, flags=re.S))
    if character not in " \t":
        assert character not in shown
    escape = written if form == "json" else character.encode("unicode_escape").decode()
    forms = {escape, written, "·", f'{character}"'} if character == " " else {escape, written, "→"}
    for place in re.findall("<([a-z-]+)>", MANIFESTS + ADDED):
        assert any(place + one in shown for one in forms), place
