"""The manifests and configurations of the how-to pages have the effects that the pages describe."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from postrender.cli import main
from tests.pages import ROOT, blocks_of

HOW_TO = ROOT / "docs" / "how-to"

Obj = dict[str, Any]
Render = Callable[..., dict[str, Obj]]


def yaml_of(page: str, start: str) -> str:
    """Return the only YAML block of a page that begins with a text."""
    blocks = [block.text for block in blocks_of(HOW_TO / page) if block.language == "yaml"]
    [found] = [text for text in blocks if text.startswith(start)]
    return found


def parse(text: str) -> list[Obj]:
    return [obj for obj in YAML(typ="safe").load_all(text) if obj]


@pytest.fixture
def render(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> Render:
    """Return a function that renders objects; the result has the objects by `Kind/name`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()

    def call(*objects: Obj, configuration: str = "", options: tuple[str, ...] = ()) -> Any:
        (tmp_path / "postrender.yaml").write_text(configuration)
        (tmp_path / "input.yaml").write_text("\n---\n".join(map(json.dumps, objects)))
        image = "--attacher-image=registry.example.com/postrender:1"
        code = main.run(["render", "-q", image, "--group=web", *options, "input.yaml"])
        out, err = capfd.readouterr()
        assert code == 0, err
        return {f"{obj['kind']}/{obj['metadata']['name']}": obj for obj in parse(out)}

    return call


def deployment(*sources: Obj) -> Obj:
    """Return a Deployment whose container reads ConfigMaps or Secrets."""
    pod = {"containers": [{"name": "web", "image": "web:1", "envFrom": list(sources)}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": pod},
        },
    }


def reads_secret(name: str) -> Obj:
    return {"secretRef": {"name": name}}


def secret(name: str, value: str) -> Obj:
    metadata = {"name": name}
    data = {"password": value}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}


def sources_of(objects: dict[str, Obj]) -> list[Obj]:
    """Return the sources of the variables of the Deployment."""
    pod = objects["Deployment/web"]["spec"]["template"]["spec"]
    sources: list[Obj] = pod["containers"][0]["envFrom"]
    return sources


# secrets.md


def test_an_external_secret_and_its_secret_keep_their_names(render: Render) -> None:
    [external] = parse(yaml_of("secrets.md", "apiVersion: external-secrets.io"))
    workload = deployment(reads_secret("web-db-v7"))
    made = render(external, workload, options=("--secrets",))
    assert made == {"ExternalSecret/web-db-v7": external, "Deployment/web": workload}


def test_a_sealed_secret_and_its_secret_keep_their_names(render: Render) -> None:
    sealed = {
        "apiVersion": "bitnami.com/v1alpha1",
        "kind": "SealedSecret",
        "metadata": {"name": "web-db-v7"},
        "spec": {"encryptedData": {"password": "AgBy"}},
    }
    workload = deployment(reads_secret("web-db-v7"))
    made = render(sealed, workload, options=("--secrets",))
    assert made == {"SealedSecret/web-db-v7": sealed, "Deployment/web": workload}


def test_a_secret_that_sops_encrypts_is_unchanged(render: Render) -> None:
    encrypted = secret("web-encrypted", "ENC[AES256_GCM,data:a]") | {"sops": {"mac": "ENC[b]"}}
    workload = deployment(reads_secret("web-encrypted"), reads_secret("web-token"))
    made = render(encrypted, secret("web-token", "t"), workload, configuration="secrets: true\n")
    assert made["Secret/web-encrypted"] == encrypted
    kept, revised = (source["secretRef"]["name"] for source in sources_of(made))
    assert kept == "web-encrypted"
    assert revised.startswith("web-token-")


# autoscaling.md


def test_autoscalers_keep_their_target_and_the_deployment_its_replicas(render: Render) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    autoscaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": {"scaleTargetRef": target, "maxReplicas": 3},
    }
    scaled = keda("ScaledObject", "web", {"scaleTargetRef": {"name": "web"}, "triggers": []})
    workload = deployment({"configMapRef": {"name": "web-config"}})
    workload["spec"]["replicas"] = 0
    made = render(CONFIG, workload, autoscaler, scaled)
    assert made["HorizontalPodAutoscaler/web"] == autoscaler
    assert made["ScaledObject/web"] == scaled
    assert made["Deployment/web"]["spec"]["replicas"] == 0
    assert sources_of(made) != workload["spec"]["template"]["spec"]["containers"][0]["envFrom"]


CONFIG = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "web-config"},
    "data": {"a": "b"},
}


def keda(kind: str, name: str, spec: Obj) -> Obj:
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }


@pytest.mark.parametrize("kind", ["TriggerAuthentication", "ClusterTriggerAuthentication"])
def test_the_authentication_of_a_trigger_is_unchanged(kind: str, render: Render) -> None:
    reference = {"parameter": "host", "name": "web", "key": "password"}
    authentication = keda(kind, "web", {"secretTargetRef": [reference]})
    options = ("--secrets", "--no-keep-original")
    workload = deployment(reads_secret("web"))
    made = render(secret("web", "swordfish"), workload, authentication, options=options)
    assert made[f"{kind}/web"] == authentication
    assert sources_of(made) != [reads_secret("web")]
    assert "Secret/web" in made


def test_a_scaled_job_is_rewritten_only_with_a_gradual_rollout(render: Render) -> None:
    source = {"configMapRef": {"name": "web-config"}}
    pod = {"containers": [{"name": "web", "image": "web:1", "envFrom": [source]}]}
    spec = {"jobTargetRef": {"template": {"spec": pod}}}
    plain = keda("ScaledJob", "plain", spec)
    gradual = keda("ScaledJob", "gradual", spec | {"rollout": {"strategy": "gradual"}})
    made = render(CONFIG, deployment(source), plain, gradual)
    assert made["ScaledJob/plain"] == plain
    assert made["ScaledJob/gradual"] != gradual
    assert "ConfigMap/web-config" in made


# sizing.md


def attacher_resources(objects: dict[str, Obj]) -> Obj:
    [job] = [obj for obj in objects.values() if obj["kind"] == "Job"]
    resources: Obj = job["spec"]["template"]["spec"]["containers"][0]["resources"]
    return resources


def test_the_page_has_the_resources_of_the_attacher(render: Render) -> None:
    made = render(CONFIG, deployment({"configMapRef": {"name": "web-config"}}))
    resources = attacher_resources(made)
    cpu, memory = ([resources[part][name] for part in ("requests", "limits")] for name in NAMES)
    page = (HOW_TO / "sizing.md").read_text("utf-8")
    assert f"| CPU | {' | '.join(cpu)} |" in page
    assert f"| memory | {' | '.join(memory).replace('Mi', ' MiB')} |" in page


NAMES = ("cpu", "memory")


def test_the_example_changes_only_the_memory_limit(render: Render) -> None:
    workload = deployment({"configMapRef": {"name": "web-config"}})
    before = attacher_resources(render(CONFIG, workload))
    example = yaml_of("sizing.md", "# postrender.yaml\nattacher:\n  podTemplate:")
    after = attacher_resources(render(CONFIG, workload, configuration=example))
    assert after == before | {"limits": before["limits"] | {"memory": "512Mi"}}
