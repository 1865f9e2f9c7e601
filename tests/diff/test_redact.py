"""Properties of redaction: no string of a model has a revision name or a value of a Secret."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postrender.config.settings import AttacherSettings, Settings
from postrender.diff.build import compare
from postrender.diff.marks import Redacted, mark_content
from postrender.diff.redact import NOT_SHOWN, _find_secret_names, _Revision, redact
from postrender.explain.build import explain
from postrender.inventory.build import take_inventory
from postrender.inventory.model import Item
from postrender.kubernetes.hashing import without_hash
from postrender.kubernetes.kinds import SECRET, Identity
from postrender.plan.build import Plan, make_plan
from tests.diff.change_cases import Case, cases
from tests.diff.test_compare import EXAMPLES, RUNS, compared, pairs, rendered, stream_of, text_of
from tests.diff.test_secrets_stay_secret import NEW, OLD, guessable, stream
from tests.manifests import Obj

WITH_SECRETS = Settings(with_secrets=True, attacher=AttacherSettings(image="image:1"))
# Shorter values may also be in other objects by chance.
MIN_LENGTH = 6


def strings_of(value: Any) -> Iterator[str]:
    """Yield every string in a model, at any depth, and the keys of mappings."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from strings_of(list(value.items()))
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from strings_of(item)
    else:
        assert value is None or isinstance(value, (int, float)), type(value)


def plan_of(text: str) -> Plan:
    return make_plan(take_inventory(stream_of(text), WITH_SECRETS), WITH_SECRETS)


def forbidden_in(*texts: str) -> set[str]:
    """Return the revision names and the values of the Secrets in manifests."""
    forbidden: set[str] = set()
    allowed: set[str] = set()
    for text in texts:
        plan = plan_of(text)
        names = plan.context.names if plan.context else {}
        for item in plan.inventory.items:
            if item.identity.group_kind == SECRET:
                name = item.identity.name
                forbidden |= {names.get(item.key, ""), name if without_hash(name) else ""}
                forbidden |= set(values_of(item))
            else:
                allowed |= {item.identity.name, *strings_of(item.content)}
    others = "\n".join(allowed)
    return {text for text in forbidden if len(text) >= MIN_LENGTH and text not in others}


def values_of(item: Item) -> Iterator[str]:
    """Yield the values of a Secret as they are written and decoded, and their digests."""
    for field in ("data", "stringData"):
        values = item.content.get(field)
        for value in values.values() if isinstance(values, dict) else ():
            written = str(value).encode("utf-8", "surrogatepass")
            decoded = base64.b64decode(written) if field == "data" else written
            for content in (written, decoded):
                yield content.decode("latin-1")
                yield hashlib.sha256(content).hexdigest()


def planted(item: Obj) -> Obj:
    """Return an object; a Secret gets values that no other object has."""
    if item.get("kind") != "Secret" or not isinstance(item.get("data"), dict):
        return item
    values = {
        key: base64.b64encode(f"planted-{value}".encode()).decode()
        for key, value in item["data"].items()
    }
    return {**item, "data": values}


def assert_redacted(model: object, forbidden: set[str]) -> None:
    leaks = [
        (secret, text)
        for secret in forbidden
        for text in strings_of(model)
        if re.search(rf"{re.escape(secret)}(?![A-Za-z0-9-])", text)
    ]
    assert not leaks


def secret_cases() -> list[Case]:
    kind = re.compile(r"""kind"?: ["']?Secret\b""")
    return [case for case in cases() if kind.search(case.expected(case.new))]


@pytest.mark.parametrize("with_secrets", [True, False], ids=["secrets", "no-secrets"])
@pytest.mark.parametrize("case", secret_cases(), ids=lambda case: case.name)
def test_strings_of_a_change_case_do_not_reveal_a_secret(case: Case, with_secrets: bool) -> None:
    run = WITH_SECRETS._replace(with_secrets=with_secrets)
    old, new = case.expected(case.old), case.expected(case.new)
    done = rendered(old, WITH_SECRETS), rendered(new, WITH_SECRETS)
    forbidden = forbidden_in(old, new, *done)
    assert forbidden
    for sides in ((old, new), (new, old), done, (old, done[1]), (done[0], new)):
        assert_redacted(compare(stream_of(sides[0]), stream_of(sides[1]), run), forbidden)
    for text in (old, new, *done):
        assert_redacted(explain(plan_of(text)), forbidden)


@EXAMPLES
@given(pair=pairs(), run=RUNS)
def test_strings_of_a_random_change_do_not_reveal_a_secret(
    pair: tuple[list[Obj], list[Obj]], run: Settings
) -> None:
    old, new = (text_of([planted(item) for item in objects]) for objects in pair)
    done = rendered(old, WITH_SECRETS), rendered(new, WITH_SECRETS)
    forbidden = forbidden_in(old, new, *done)
    for sides in ((old, new), done):
        assert_redacted(compared(*sides, run), forbidden)
    assert_redacted(explain(plan_of(new)), forbidden)


def test_strings_of_a_model_do_not_have_a_hash_that_covers_a_secret() -> None:
    old, new = stream(OLD), stream(NEW)
    done = rendered(old, WITH_SECRETS), rendered(new, WITH_SECRETS)
    hashes = guessable(done[0]) | guessable(done[1])
    assert hashes
    for sides in ((old, new), done, (old, done[1]), (done[0], new)):
        text = "\n".join(
            strings_of(compare(stream_of(sides[0]), stream_of(sides[1]), WITH_SECRETS))
        )
        assert not {value for value in hashes if value in text}


def test_a_revision_name_in_a_path_is_redacted() -> None:
    name = "web-database-4h2mbtbbt6"
    secret = (
        f"apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}}}\nstringData: {{key: '%s'}}\n"
    )
    pod = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {"
        f"containers: [{{name: app, envFrom: [{{secretRef: {{name: {name}}}}}]}}], "
        f"volumes: [{{name: {name}, emptyDir: {{}}}}]}}}}}}\n"
    )
    old, new = (f"{secret % value}---\n{pod}" for value in "ab")
    new = new.replace("emptyDir: {}", "emptyDir: {medium: Memory}")
    preview = compare(stream_of(old), stream_of(new), WITH_SECRETS)
    paths = [cause.field.path for cause in preview.workloads[0].causes if cause.field]
    assert "spec.template.spec.volumes[name=web-database].emptyDir.medium" in paths
    assert_redacted(preview, {name})


class NewRecord(NamedTuple):
    """A record that somebody may add to a model later."""

    text: str
    marked: str
    content: object
    nested: tuple[object, ...]


SECRET_NAMES = {"web-4h2mbtbbt6": "web", "other-web-4h2mbtbbt6": "other-web"}


def test_fields_that_are_added_later_are_redacted() -> None:
    record = NewRecord(
        text="see web-4h2mbtbbt6, x.web-4h2mbtbbt6.yaml, other-web-4h2mbtbbt6",
        marked=Redacted("value"),
        content=b"value",
        nested=({"web-4h2mbtbbt6": [Redacted("value"), 1, None, True]},),
    )
    assert redact(record, SECRET_NAMES) == NewRecord(
        text="see web, x.web.yaml, other-web",
        marked=NOT_SHOWN,
        content=NOT_SHOWN,
        nested=({"web": [NOT_SHOWN, 1, None, True]},),
    )


def test_the_name_of_another_object_is_left_unchanged() -> None:
    identities = tuple(
        Identity(group="", kind=kind, namespace=None, name="web-4h2mbtbbt6")
        for kind in ("ConfigMap", "Secret")
    )
    preview_names = [item.name for item in redact(identities, SECRET_NAMES, has_base_names=True)]
    assert preview_names == ["web-4h2mbtbbt6", "web"]
    assert [item.name for item in redact(identities, SECRET_NAMES)] == ["web", "web"]
    text = "web-4h2mbtbbt6-5h2mbtbbt6"
    assert redact(text, SECRET_NAMES) == text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@given(value=JSON)
def test_a_value_without_secrets_is_left_unchanged(value: object) -> None:
    assert redact((value,), SECRET_NAMES) == (value,)


def test_the_content_of_a_secret_inside_another_object_is_marked() -> None:
    marked = mark_content({"kind": "Secret", "data": {"password": "b2xk"}})
    assert redact(marked, {}) == {"kind": "Secret", "data": NOT_SHOWN}


@pytest.mark.parametrize(
    "text", ["web-db-hf678c7m2b", "a\nweb-db-hf678c7m2b\n", "é web-db-hf678c7m2b"]
)
def test_a_revision_that_contains_the_name_of_a_secret_is_redacted(text: str) -> None:
    secret = _Revision(
        name="web-db-hf678c7m2b", base_name="web-db", content={"data": {}}, is_secret=True
    )
    holder = _Revision(
        name="web-m567dfc6df", base_name="web", content={"data": {"a": text}}, is_secret=False
    )
    other = _Revision(
        name="api-m567dfc6df", base_name="api", content={"data": {"a": "web-db"}}, is_secret=False
    )
    names = _find_secret_names([holder, other, secret])
    assert names == {"web-db-hf678c7m2b": "web-db", "web-m567dfc6df": "web"}
