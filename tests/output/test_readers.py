"""The promise to readers by name: each finds an object of that name, with the data of the input."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from postrender.config.settings import AttacherSettings, Settings
from postrender.inventory.build import take_inventory
from postrender.output import render
from postrender.plan.build import make_plan
from postrender.yaml.stream import read_stream
from tests.effort import examples
from tests.manifests import annotation, normalise
from tests.streams import Stream, styled_streams

Obj = dict[str, Any]
SETTINGS = Settings(attacher=AttacherSettings(image="image:1"))


def manifest(api_version: str, kind: str, **fields: Any) -> Obj:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "reader"}, **fields}


def pod_template(**container: Any) -> Obj:
    return {"spec": {"containers": [{"name": "main", "image": "reader:1", **container}]}}


def job(**container: Any) -> Obj:
    return manifest("batch/v1", "Job", spec={"template": pod_template(**container)})


def deployment(**container: Any) -> Obj:
    return manifest("apps/v1", "Deployment", spec={"template": pod_template(**container)})


def opted_out(reader: Obj) -> Obj:
    reader["metadata"]["annotations"] = {"postrender/rewrite-references": "false"}
    return reader


def readers(name: str) -> list[Obj]:
    """Return one object for each way of reading a ConfigMap that postrender cannot rewrite."""
    role = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}
    template = {"volumes": [{"configMap": {"name": name}}]}
    env_from = [{"configMapRef": {"name": name}}]
    return [
        job(envFrom=env_from),
        job(command=["kubectl", "get", "configmap", name]),
        job(command=["oc", "extract", f"cm/{name}"]),
        job(command=["sh", "-c"], args=[f"NAME={name}\n$KUBECTL get cm -n prod $NAME"]),
        job(command=["sh", "-c"], args=[f'C="${{C:-{name}}}"\nkubectl get cm "$C"']),
        job(command=["sh", "-c"], args=[f"kubectl get pod,cm \\\n  {name}"]),
        deployment(args=[f"--config-map={name}"]),
        deployment(args=["serve", "--configmap", f"prod/{name}"]),
        deployment(env=[{"name": "APP_CONFIGMAP", "value": name}]),
        deployment(env=[{"name": "SPRING_APPLICATION_NAME", "value": name}]),
        manifest("v1", "ConfigMap", data={"pod.json": json.dumps({"spec": template})}),
        manifest("v1", "ConfigMap", data={"run.sh": f"kubectl get cm {name} -o yaml"}),
        manifest("v1", "ConfigMap", data={"pod": f"configMap:\n  name: {name}\n"}),
        manifest("example.com/v1", "Widget", spec={"configMapName": name}),
        manifest("example.com/v1", "Widget", spec={"source": {"configMap": {"name": name}}}),
        manifest("example.com/v1", "Widget", spec={"configMaps": {name: {"path": "/etc/web"}}}),
        manifest("example.com/v1", "Widget", spec={"kind": "ConfigMap", "from": {"name": name}}),
        manifest("example.com/v1", "Runner", spec={"template": pod_template(envFrom=env_from)}),
        manifest("argoproj.io/v1alpha1", "Workflow", spec={"templates": [template]}),
        opted_out(deployment(envFrom=env_from)),
        opted_out(manifest("example.com/v1", "Runner", spec={"template": template})),
        manifest("rbac.authorization.k8s.io/v1", "Role", rules=[{**role, "resourceNames": [name]}]),
    ]


READER_COUNT = len(readers(""))


def config_maps(objects: list[Obj]) -> dict[tuple[str | None, str], Obj]:
    return {
        (item["metadata"].get("namespace"), item["metadata"]["name"]): item
        for item in objects
        if item.get("kind") == "ConfigMap" and item["metadata"].get("name")
    }


@settings(
    max_examples=examples(200),
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(
    stream=styled_streams(),
    number=st.integers(0, READER_COUNT - 1),
    choice=st.integers(0, 9),
    has_namesake=st.booleans(),
)
def test_a_reader_by_name_finds_the_data_of_the_input(
    stream: Stream, number: int, choice: int, has_namesake: bool
) -> None:
    before = {
        key: item
        for key, item in config_maps(stream.objects).items()
        # The user has decided that no program reads these.
        if annotation(item, "postrender/keep-original") != "false"
    }
    assume(before)
    text = stream.text
    namespace, name = list(before)[choice % len(before)]
    reader = readers(name)[number]
    added = [reader]
    if has_namesake:
        # An object of another kind with the same name makes a bare name ambiguous.
        service = manifest("v1", "Service", spec={"selector": {"app": "web"}})
        service["metadata"]["name"] = name
        added.append(service)
    for item in added:
        if namespace:
            item["metadata"]["namespace"] = namespace
        text += f"\n---\n{json.dumps(item)}\n"
    source = read_stream(text.encode(), "stream")
    output = "".join(render(make_plan(take_inventory(source, SETTINGS), SETTINGS)))
    after = config_maps(normalise(output))
    assert after[namespace, name].get("data") == before[namespace, name].get("data")
