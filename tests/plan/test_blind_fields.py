"""No field outside of pod templates is blind: a name there keeps the original of a ConfigMap."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from postrender.references.built_in import COVERED, UNRELATED
from tests.blind_fields import NAME, is_safe, open_fields
from tests.effort import examples

API_VERSIONS = {
    "argoproj.io": "argoproj.io/v1alpha1",
    "": "v1",
    "widgets.example.com": "widgets.example.com/v1",
}
KINDS = sorted(
    {*COVERED, *UNRELATED, ("", "Event"), ("policy", "Other"), ("widgets.example.com", "Widget")}
)
WORDS = """
    spec strategy canary steps analysis args plugin plugins config name kind value ref settings
    template templates metrics provider web job trafficRouting experiment tls service backend rules
    http paths selector labels dataSource volumeClaimTemplates resource claimRef data parameters
"""
KEYS = st.sampled_from(WORDS.split())
LEAVES = st.sampled_from([NAME, NAME, "other", "ConfigMap", "Service", "file", 5, None])
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=examples(800))
@given(
    kind=st.sampled_from(KINDS),
    body=st.dictionaries(
        st.sampled_from(["spec", "webhooks", "template", "rules"]), VALUES, min_size=1
    ),
)
@example(("argoproj.io", "Rollout"), {"spec": {"strategy": {"canary": {"steps": [{"a": NAME}]}}}})
@example(("", "Event"), {"spec": {"args": [NAME]}})
@example(("", "Endpoints"), {"spec": {"kind": "ConfigMap", "name": NAME}})
def test_a_name_in_any_field_keeps_the_original(kind: tuple[str, str], body: Any) -> None:
    version = API_VERSIONS.get(kind[0], f"{kind[0]}/v1")
    item = {"apiVersion": version, "kind": kind[1], "metadata": {"name": "reader"}, **body}
    fields = open_fields(item, NAME)
    if fields:
        assert is_safe(item), fields
