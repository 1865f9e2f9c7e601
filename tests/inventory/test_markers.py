"""Two objects in one document, because `---` or the line break after it is missing."""

from __future__ import annotations

import re

import pytest
from hypothesis import given

from postrender.config.settings import Settings
from postrender.errors import UserError
from postrender.inventory.build import take_inventory
from postrender.yaml.stream import read_stream
from tests.streams import streams

# A marker above the first line of an object. A comment or a directive may stand there too.
MARKER = re.compile(r"^---\n(?=[^\s#%-])", re.M)
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n"
KIND_FIRST = "kind: Service\napiVersion: v1\nmetadata: {name: web}\n"


@given(streams())
def test_a_lost_line_break_after_a_marker_is_an_error(text: str) -> None:
    for marker in MARKER.finditer(text):
        glued = f"{text[: marker.start()]}---{text[marker.end() :]}"
        with pytest.raises(UserError):
            take_inventory(read_stream(glued.encode(), "glued"), Settings())


@pytest.mark.parametrize("separator", ["", "\n", "# a comment\n"])
@pytest.mark.parametrize("start", ["", "---\n", "# a comment\n"])
@pytest.mark.parametrize("service", [SERVICE, KIND_FIRST])
def test_a_lost_marker_is_a_strict_finding_without_any_configmap(
    service: str, start: str, separator: str
) -> None:
    text = f"{start}{service}{separator}{service.replace('web', 'api')}"
    inventory = take_inventory(read_stream(text.encode(), "lost"), Settings())
    [finding] = [finding for finding in inventory.findings if finding.strict]
    assert finding.code == "duplicate-key"
    assert "second object" in finding.problem


def test_a_kind_in_a_text_is_not_a_second_object() -> None:
    text = f"{SERVICE}data:\n  a: |\n    kind: Service\n    ---kind: Service\n"
    assert take_inventory(read_stream(text.encode(), "text"), Settings()).findings == ()
