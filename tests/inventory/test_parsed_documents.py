"""Which documents of a stream are parsed, and which are only searched as text."""

from __future__ import annotations

from base64 import b64encode

import pytest

from postrender.config.settings import Settings
from postrender.inventory import build
from postrender.inventory.build import take_full_inventory, take_inventory
from postrender.yaml.stream import read_stream

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-config}\ndata: {a: b}\n"
ENCODED = b64encode(b"--from=web-config").decode()


def parsed(text: str, *, with_secrets: bool = False) -> bool:
    stream = read_stream(f"{CONFIG_MAP}---\n{text}".encode(), "app.yaml")
    return 1 in take_inventory(stream, Settings(with_secrets=with_secrets)).parsed


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n",
        "kind: Service\napiVersion: v1\nmetadata: {name: web}\n",
        "kind:   Service  # a comment\napiVersion: v1\nmetadata: {name: web}\n",
        'apiVersion: v1\nkind: Service\nmetadata: {annotations: {a: "b\\tc"}}\n',
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n",
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {namespace: a, onfigMap: b}\n",
        "kind: CustomResourceDefinition\nmetadata: {name: web-config, labels: {b: postrender/}}\n",
        "apiVersion: v1\nkind: Service\nmetadata: {name: imagePullSecrets, labels: "
        f"{{a: {ENCODED}}}}}\n",
        "apiVersion: v1\nkind: Service\nmetadata: {name: my-web-configuration}\n",
    ],
)
def test_a_document_that_cannot_matter_is_not_parsed(text: str) -> None:
    assert not parsed(text)


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: Service\nmetadata: {name: web-config}\n",
        'apiVersion: v1\nkind: Service\nmetadata: {name: "web\\x2dconfig"}\n',
        "apiVersion: v1\n'kind': ConfigMap\nmetadata: {name: a}\n",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n",
        "apiVersion: v1\nkind: ConfigMapList\nitems: []\n",
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nkind: Service\n",
        "apiVersion: v1\nkind: Service\nmetadata: {annotations: {helm.sh/hook: test}}\n",
        "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nspec: {workloadRef: {name: a}}\n",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {namespace: web}\n",
        "apiVersion: batch/v1\nkind: Job\nspec: {command: 'kubectl get cm $RELEASE-config'}\n",
        f"apiVersion: v1\nkind: Secret\nmetadata: {{name: web}}\ndata: {{a: {ENCODED}}}\n",
        f"apiVersion: v1\nkind: List\nitems:\n- kind: Secret\n  data: {{a: {ENCODED}}}\n",
    ],
)
def test_a_document_that_can_matter_is_parsed(text: str) -> None:
    assert parsed(text)


def test_the_objects_have_the_order_of_the_text() -> None:
    """The ConfigMaps are parsed first, because their names decide which documents are parsed."""
    user = "apiVersion: v1\nkind: Pod\nmetadata: {name: web-config}\n"
    stream = read_stream(f"{user}---\n{CONFIG_MAP}---\n{user}".encode(), "app.yaml")
    items = take_inventory(stream, Settings()).items
    assert [item.identity.kind for item in items] == ["Pod", "ConfigMap", "Pod"]


def test_secrets_are_parsed_with_the_setting() -> None:
    text = "apiVersion: v1\nkind: Secret\nmetadata: {name: web}\ndata: {a: Yg==}\n"
    assert not parsed(text)
    assert parsed(text, with_secrets=True)


def test_the_parsed_form_of_a_large_stream_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "_MAX_KEPT", 2 * (len(f"---\n{CONFIG_MAP}") + build._EXTRA))
    stream = read_stream("---\n".join([CONFIG_MAP] * 3).encode(), "app.yaml")
    inventory = take_inventory(stream, Settings())
    assert list(inventory.parsed) == [0, 1]
    assert list(inventory.is_read) == [1, 1, 1]
    assert inventory.document(2).data == inventory.document(0).data
    inventory = take_full_inventory(stream, range(3), Settings())
    assert list(inventory.parsed) == [0, 1, 2]
