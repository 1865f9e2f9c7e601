"""Tests of the reference implementation with handwritten cases, and of the random streams."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from tests.reference import (
    InputError,
    Obj,
    annotation,
    args_of,
    comparable,
    content_hash,
    dump,
    flatten,
    go_json,
    is_attacher,
    kind_of,
    label,
    load,
    name_of,
    normalise,
    reference_render,
    revision_name,
    sub,
    templates_of,
    typed,
)
from tests.streams import Stream, styled_streams

# Hash of {"data":{"one":""},"kind":"ConfigMap","name":""}, which kustomize publishes.
ONE = "9g67k2htb6"


def config(name: str = "app", **extra: Any) -> Obj:
    """Return a ConfigMap whose hash is ONE."""
    metadata = {"name": name, **extra}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"one": ""}}


def template(*names: str) -> Obj:
    """Return a pod template that references ConfigMaps."""
    sources = [{"configMapRef": {"name": name}} for name in names]
    return {"spec": {"containers": [{"name": "main", "image": "app", "envFrom": sources}]}}


def workload(kind: str, name: str, *names: str, version: str = "apps/v1", **extra: Any) -> Obj:
    metadata = {"name": name, **extra}
    spec = {"template": template(*names)}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def render(*objects: Obj, **options: Any) -> list[Obj]:
    return reference_render(dump(list(objects)), **options)


def named(objects: list[Obj]) -> list[str]:
    return [f"{kind_of(obj)}/{name_of(obj)}" for obj in objects]


def sources(obj: Obj, index: int = 0) -> list[str]:
    """Return the names in the first container's envFrom."""
    container = templates_of(obj)[index]["spec"]["containers"][0]
    return [entry["configMapRef"]["name"] for entry in container["envFrom"]]


def template_annotations(obj: Obj, index: int = 0) -> Obj:
    return sub(templates_of(obj)[index], "metadata", "annotations")


def expected_id(canonical: str) -> str:
    return hashlib.sha256(canonical.encode()).hexdigest()[:10]


def jobs(objects: list[Obj]) -> list[Obj]:
    return [obj for obj in objects if is_attacher(obj) and kind_of(obj) == "Job"]


# ------------------------------------------------------------------------------------------- hashes


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({}, "6ct58987ht"),
        ({"data": None}, "6ct58987ht"),
        ({"data": {}}, "6ct58987ht"),
        ({"data": {"one": ""}}, ONE),
        ({"data": {"one": None}}, ONE),
        ({"binaryData": {"one": ""}}, "6mtk2m274t"),
        ({"data": {"crisis": "true", "fruit": "Indian Gooseberry", "year": "2020"}}, "79t79mt227"),
        ({"data": {"a": "<b>&'\""}}, "8cd7tc6dk6"),
        ({"data": {"a": "\b\f"}}, "22cd972k42"),
    ],
)
def test_hash_of_configmap(content: Obj, expected: str) -> None:
    assert content_hash({"kind": "ConfigMap", **content}) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"type": "my-type"}, "5gmgkf8578"),
        ({"type": "my-type", "data": {"one": ""}}, "74bd68bm66"),
        ({"stringData": {"a": "b"}}, "86kg747449"),
    ],
)
def test_hash_of_secret(content: Obj, expected: str) -> None:
    assert content_hash({"kind": "Secret", **content}) == expected


KUSTOMIZE_VALUES = {
    "text": "key=value\nother: <a href='x'>&amp;</a>\n",
    "unicode": "äöü 🙂 \u2028\u2029",
    "quotes": "\\ \" ' / \t",
    "empty": "",
    "spaces": "  lead\ttab  \n\n",
}


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs kubectl")
def test_hashes_equal_those_of_kustomize(tmp_path: Path) -> None:
    """The generator has a ConfigMap for each value, and one with all values."""
    for key, value in KUSTOMIZE_VALUES.items():
        (tmp_path / key).write_bytes(value.encode())
    groups = {key: [key] for key in KUSTOMIZE_VALUES} | {"all": list(KUSTOMIZE_VALUES)}
    generators = [{"name": f"cm-{name}", "files": files} for name, files in groups.items()]
    (tmp_path / "kustomization.yaml").write_text(json.dumps({"configMapGenerator": generators}))
    output = kubectl_kustomize(tmp_path)
    for name, files in groups.items():
        data = {file: KUSTOMIZE_VALUES[file] for file in files}
        obj = {"kind": "ConfigMap", "metadata": {"name": f"cm-{name}"}, "data": data}
        assert f"ConfigMap/{revision_name(obj)}" in named(output)
    # The printed objects have the content that was hashed.
    for obj in output:
        assert name_of(obj).endswith("-" + content_hash(obj))


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs kubectl")
def test_hashes_of_bytes_and_secrets_equal_those_of_kustomize(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\x00\xfe")
    generator = [{"name": "one", "files": ["bytes"], "literals": ["a=b"]}]
    generators = {"configMapGenerator": generator, "secretGenerator": generator}
    (tmp_path / "kustomization.yaml").write_text(json.dumps(generators))
    output = kubectl_kustomize(tmp_path)
    assert sorted(map(kind_of, output)) == ["ConfigMap", "Secret"]
    for obj in output:
        assert name_of(obj) == f"one-{content_hash(obj)}"


def kubectl_kustomize(folder: Path) -> list[Obj]:
    command = ["kubectl", "kustomize", str(folder)]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    return normalise(done.stdout.decode())


def test_mutable_content_has_another_hash() -> None:
    obj = config()
    assert content_hash(obj, immutable=False) == hash_of(
        '{"data":{"one":""},"immutable":false,"kind":"ConfigMap","name":""}'
    )


def hash_of(text: str) -> str:
    digits = hashlib.sha256(text.encode()).hexdigest()[:10]
    return digits.translate(str.maketrans("013ae", "ghkmt"))


@pytest.mark.parametrize("length", [241, 242, 243, 253])
def test_long_base_name(length: int) -> None:
    """Above 242 characters the name is truncated, and the hash covers the whole base name."""
    obj = config("a" * (length - 1) + "b")
    result = revision_name(obj)
    assert len(result) <= 253
    if length <= 242:
        assert result == f"{name_of(obj)}-{ONE}"
    else:
        text = f'{{"data":{{"one":""}},"kind":"ConfigMap","name":"{name_of(obj)}"}}'
        assert result == "a" * 242 + "-" + hash_of(text)


def test_a_truncated_name_ends_in_a_letter_or_digit() -> None:
    result = revision_name(config("a" * 240 + ".-" + "b" * 11))
    assert result[:241] == "a" * 240 + "-"
    assert len(result) == 251


# ------------------------------------------------------------------------------------------ scalars


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("yes", "true"),
        ("y", "true"),
        ("Off", "false"),
        ("~", "null"),
        ("", "null"),
        ("0777", "511"),
        ("0o7", "7"),
        ("0x1F", "31"),
        ("0b11", "3"),
        ("08", "8"),
        ("1_000", "1000"),
        ("+5", "5"),
        ("1e3", "1000"),
        (".5", "0.5"),
        ("1.50", "1.5"),
        ("1e21", "1e+21"),
        ("1e-7", "1e-7"),
        ("18446744073709551615", "18446744073709551615"),
        ("1e400", '"1e400"'),
        ("=", '"="'),
        ("1:30", '"1:30"'),
        ("2001-01-01", '"2001-01-01"'),
        ("0o9", '"0o9"'),
        ("'1'", '"1"'),
        ("!!str 1", '"1"'),
        ("!!int '1'", "1"),
        ('"<\\u2028>"', '"\\u003c\\u2028\\u003e"'),
    ],
)
def test_scalars_are_resolved_as_kubernetes_does(text: str, expected: str) -> None:
    assert go_json(load(f"a: {text}\n")[0]["a"]) == expected


def test_keys_and_merges() -> None:
    text = "base: &b {x: 1, y1: 2}\nuse:\n  <<: *b\n  x: 3\non: a\n1: b\n"
    assert load(text)[0] == {
        "base": {"x": 1, "y1": 2},
        "use": {"x": 3, "y1": 2},
        "true": "a",
        "1": "b",
    }


@pytest.mark.parametrize("text", ["a: .nan\n", "a: *b\n", "a: ["])
def test_unreadable_input_is_an_error(text: str) -> None:
    with pytest.raises(InputError):
        load(text)


def test_documents_and_lists() -> None:
    text = (
        "\ufeff# c\n---\n--- # c\nkind: List\nitems:\n- {kind: A}\n- kind: ConfigMapList\n"
        "  items: [{metadata: {name: b}}]\n...\n---\n# only this\n"
    )
    item = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}
    assert normalise(text) == [{"kind": "A"}, item]
    assert normalise('{"kind": "A"}\n{"kind": "B"}') == [{"kind": "A"}, {"kind": "B"}]


# ------------------------------------------------------------------------------------------- rename


def test_rename() -> None:
    text = """
apiVersion: v1
kind: ConfigMap
metadata: {name: app, annotations: {argocd.argoproj.io/sync-options: Replace=false}}
data: {one: ""}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {runAsUser: 0o17, volumes: [{configMap: {name: app}}]}}}
"""
    canonical = f'{{"spec":{{"runAsUser":15,"volumes":[{{"configMap":{{"name":"app-{ONE}"}}}}]}}}}'
    revision, deployment, *attacher = reference_render(text)
    assert revision == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": f"app-{ONE}",
            "labels": {"postrender/attach-group": "web-deployment-attach"},
            "annotations": {
                "postrender/base-name": "app",
                "helm-diff/base-name": "app",
                "helm.sh/resource-policy": "keep",
                "argocd.argoproj.io/sync-options": "Replace=false,Prune=false",
                "argocd.argoproj.io/compare-options": "IgnoreExtraneous",
                "kustomize.toolkit.fluxcd.io/prune": "disabled",
            },
        },
        "data": {"one": ""},
        "immutable": True,
    }
    spec = {"runAsUser": 15, "volumes": [{"configMap": {"name": f"app-{ONE}"}}]}
    annotations = {"postrender/render-id": expected_id(canonical)}
    assert deployment["spec"]["template"] == {
        "metadata": {"annotations": annotations},
        "spec": spec,
    }
    assert named(attacher) == [
        "ServiceAccount/web-deployment-attach",
        "Role/web-deployment-attach",
        "RoleBinding/web-deployment-attach",
        "Job/web-deployment-attach-HASH",
    ]
    assert args_of(attacher[-1]) == [
        *("attach", "--group", "web-deployment-attach"),
        *("--workload", f"Deployment/web@{expected_id(canonical)}=configmap/app-{ONE}"),
        *("--release-owner", "ServiceAccount/web-deployment-attach"),
        *("--timeout", "90s", "--on-failure", "report"),
    ]
    assert annotation(attacher[-1], "helm.sh/hook") == "post-install,post-upgrade,post-rollback"


def test_without_attacher() -> None:
    revision, _ = render(config(), workload("Deployment", "web", "app"), attacher=False)
    assert revision["metadata"]["annotations"] == {
        "postrender/base-name": "app",
        "helm-diff/base-name": "app",
    }


def test_a_stream_without_objects_to_rename() -> None:
    """Without a rewritable reference, and for hooks, the stream is left unchanged."""
    hook = config("hook", annotations={"helm.sh/hook": "pre-install"})
    job = workload("Job", "one", "only-job", version="batch/v1")
    objects = [config("unused"), config("only-job"), job, hook, workload("Deployment", "w", "hook")]
    assert render(*objects) == objects


def test_original_is_kept_for_a_hook() -> None:
    hook = workload("Deployment", "hook", "app", annotations={"argocd.argoproj.io/hook": "PreSync"})
    result = render(config(), hook, workload("Rollout", "web", "app", version="argoproj.io/v1"))
    assert result[0] == config()
    assert name_of(result[1]) == f"app-{ONE}"
    assert result[2] == hook
    assert sources(result[3]) == [f"app-{ONE}"]
    # The hook runs before the sync, so the attacher is an ordinary Job.
    (job,) = jobs(result)
    assert annotation(job, "argocd.argoproj.io/sync-options") == "Prune=false"
    assert args_of(job)[-1] == "--delete-finished-jobs"


@pytest.mark.parametrize("how", ["annotation", "option", "config", "rule"])
def test_original_is_kept_on_request(how: str) -> None:
    annotations = {"postrender/keep-original": "true"} if how == "annotation" else {}
    rules = [{"match": {"name": "a*"}, "strategy": "rename", "keepOriginal": True}]
    by_config: dict[str, Obj] = {"config": {"keepOriginal": True}, "rule": {"rules": rules}}
    objects = config(annotations=annotations), workload("Deployment", "web", "app")
    result = render(
        *objects, keep_original=True if how == "option" else None, config=by_config.get(how)
    )
    assert named(result)[:2] == ["ConfigMap/app", f"ConfigMap/app-{ONE}"]


def test_strategies() -> None:
    ignored = config("ignored", annotations={"postrender/strategy": "ignore"})
    summed = config("summed", annotations={"postrender/strategy": "checksum"})
    by_rule = config("by-rule")
    rules = [{"match": {"name": "*-rule", "referenced": True}, "strategy": "checksum"}]
    both = workload("Deployment", "web", "ignored", "summed", "by-rule")
    job = workload("Job", "job", "summed", version="batch/v1")
    result = render(ignored, summed, by_rule, both, job, config={"rules": rules})
    assert [*result[:3], result[4]] == [ignored, summed, by_rule, job]
    lines = f"by-rule={ONE}\nsummed={ONE}\n"
    digest = hashlib.sha256(lines.encode()).hexdigest()
    assert template_annotations(result[3]) == {"postrender/checksum": digest}
    assert len(result) == 5


def test_existing_revisions_are_left_unchanged() -> None:
    """A name with kustomize's hash is not hashed again, and a second run changes nothing."""
    hashed = config(f"app-{ONE}")
    deployment = workload("Deployment", "web", f"app-{ONE}")
    assert render(hashed, deployment) == [hashed, deployment]
    first = render(config(), workload("Deployment", "web", "app"))
    assert comparable(render(*first)) == comparable(first)


def test_a_revision_name_without_a_render_id_gets_none() -> None:
    """A person wrote the name; the second run finds the revision, and changes nothing."""
    mine = workload("Deployment", "mine", f"app-{ONE}")
    first = render(config(), mine, workload("Deployment", "web", "app"))
    assert mine in first
    assert comparable(render(*first)) == comparable(first)


def test_immutable() -> None:
    mutable = {**config("mutable"), "immutable": False}
    immutable = {**config("immutable"), "immutable": True}
    deployment = workload("Deployment", "web", "mutable", "immutable", "app")
    objects = render(mutable, immutable, config(), deployment, immutable=False)
    assert [obj["immutable"] for obj in objects[:3]] == [False, True, False]
    hashes = [name_of(obj).split("-")[1] for obj in objects[:3]]
    assert hashes[1] == ONE
    assert hashes[0] == hashes[2] != ONE


# ----------------------------------------------------------------------------- namespaces and kinds


def test_namespaces() -> None:
    """Each workload uses the ConfigMap of its namespace, and each namespace has an attacher."""
    blue, green = config(namespace="blue"), {**config(namespace="green"), "data": {"a": "b"}}
    first = workload("Deployment", "web", "app", namespace="blue")
    second = workload("Deployment", "web", "app", namespace="green")
    result = render(blue, green, second, first)
    assert sources(result[2]) == [name_of(result[1])] != [f"app-{ONE}"]
    assert sources(result[3]) == [f"app-{ONE}"]
    assert [obj["metadata"]["namespace"] for obj in jobs(result)] == ["blue", "green"]
    assert args_of(jobs(result)[0])[3:5] == ["--namespace", "blue"]


@pytest.mark.parametrize(
    ("explicit", "option", "is_found"),
    [("blue", None, True), ("blue", "blue", True), ("blue", "green", False)],
)
def test_absent_namespace(explicit: str, option: str | None, is_found: bool) -> None:
    deployment = workload("Deployment", "web", "app")
    result = render(config(namespace=explicit), deployment, namespace=option)
    assert (sources(result[1]) == [f"app-{ONE}"]) is is_found


def test_absent_namespace_among_two() -> None:
    other = workload("Deployment", "other", namespace="green")
    objects = [config(namespace="blue"), workload("Deployment", "web", "app"), other]
    assert render(*objects) == objects


def test_roles_get_the_names_of_revisions() -> None:
    names = ["x", "app", "y"]
    matching = {"resources": ["pods", "configmaps"], "resourceNames": names, "verbs": ["get"]}
    other = {"resources": ["secrets"], "resourceNames": names, "verbs": ["get"]}
    version = "rbac.authorization.k8s.io/v1"
    role: Obj = {"apiVersion": version, "kind": "Role", "metadata": {"name": "r"}}
    role["rules"] = [matching, other]
    assert render(config(), role) == [config(), role]
    declined = config(annotations={"postrender/keep-original": "false"})
    result = render(declined, role, workload("Deployment", "web", "app"))
    assert result[1]["rules"][0]["resourceNames"] == ["x", "app", f"app-{ONE}", "y"]
    assert result[1]["rules"][1] == other


def test_rollout_with_workload_ref() -> None:
    rollout: Obj = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Rollout",
        "metadata": {"name": "r"},
    }
    rollout["spec"] = {"workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}
    result = render(rollout, workload("Deployment", "d", "app"), config())
    (job,) = jobs(result)
    identifier = template_annotations(result[1])["postrender/render-id"]
    assert args_of(job)[1:7] == [
        *("--group", "d-deployment-attach"),
        *("--workload", f"Rollout/r@{identifier}=configmap/app-{ONE}"),
        *("--workload", f"Deployment/d@{identifier}=configmap/app-{ONE}"),
    ]
    assert result[0] == rollout


def test_several_templates() -> None:
    """The render ID covers all templates; only those that reference a revision get it."""
    experiment: Obj = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Experiment"}
    experiment["metadata"] = {"name": "e"}
    parts = [{"template": template("other")}, {"template": template("app")}]
    experiment["spec"] = {"templates": parts}
    result = render(config(), experiment)[1]
    assert template_annotations(result, 0) == {}
    canonical = go_json([template("other"), template(f"app-{ONE}")])
    assert template_annotations(result, 1) == {"postrender/render-id": expected_id(canonical)}


def test_waves() -> None:
    """Each wave has a Job, which also gets the revisions of the other waves."""
    wave = {"argocd.argoproj.io/sync-wave": "-2"}
    early = workload("Deployment", "early", "a", annotations=wave)
    result = render(workload("Deployment", "web", "b"), early, config("a"), config("b"))
    first, second = jobs(result)
    assert [annotation(job, "argocd.argoproj.io/sync-wave") for job in (first, second)] == [
        "-2",
        None,
    ]
    assert args_of(first)[args_of(first).index("--emitted") + 1] == f"configmap/b-{ONE}"
    assert args_of(second)[args_of(second).index("--emitted") + 1] == f"configmap/a-{ONE}"
    assert annotation(result[4], "argocd.argoproj.io/sync-wave") == "-2"
    assert {label(obj, "postrender/attach-group") for obj in result[2:]} == {
        "early-deployment-attach"
    }


def test_secrets() -> None:
    secret: Obj = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s"},
        "type": "my-type",
    }
    secret["data"] = {"one": ""}
    account: Obj = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "sa"}}
    account["secrets"] = [{"name": "s"}]
    deployment = workload("Deployment", "web")
    deployment["spec"]["template"]["spec"]["imagePullSecrets"] = [{"name": "s"}]
    assert render(secret, account, deployment) == [secret, account, deployment]
    result = render(secret, account, deployment, secrets=True, keep_original=False)
    assert name_of(result[0]) == "s-74bd68bm66"
    assert result[1]["secrets"] == [{"name": "s-74bd68bm66"}]
    # attach does not read the ServiceAccount.
    assert annotation(result[0], "postrender/sweep") == "false"
    assert "=secret/s-74bd68bm66" in " ".join(args_of(result[-1]))


# --------------------------------------------------------------------------------- rules and mounts


def test_path_rules() -> None:
    widget: Obj = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    widget["spec"] = {"a.b": [{"c": "app"}, {"c": "apps"}], "text": "app, app-config and app."}
    rules = [
        {"kind": "Widget", "path": 'spec["a.b"][].c'},
        {"kind": "Widget", "path": "spec.text", "match": "word"},
    ]
    result = render(config(), widget, config={"references": rules})
    assert result[1]["spec"]["a.b"] == [{"c": f"app-{ONE}"}, {"c": "apps"}]
    assert result[1]["spec"]["text"] == f"app-{ONE}, app-config and app."
    assert annotation(result[0], "postrender/sweep") == "false"


def test_a_hash_covers_revision_names_in_data() -> None:
    outer = {**config("outer"), "data": {"inner": "app"}}
    rule = {"kind": "ConfigMap", "name": "outer", "path": "data.inner"}
    deployment = workload("Deployment", "web", "outer")
    result = render(outer, config(), deployment, config={"references": [rule]})
    assert result[0]["data"] == {"inner": f"app-{ONE}"}
    assert sources(result[2]) == [name_of(result[0])] == [f"outer-{content_hash(result[0])}"]
    both = [rule, {"kind": "ConfigMap", "name": "app", "path": "data.one"}]
    cyclic = {**config(), "data": {"one": "outer"}}
    with pytest.raises(InputError, match="cycle"):
        render(outer, cyclic, deployment, config={"references": both})


def test_auto_mount() -> None:
    annotations = {"postrender/mount-path": "/etc/app", "postrender/env-from": "true"}
    objects = [config(annotations=annotations), workload("Deployment", "web")]
    result = render(*objects)
    spec = templates_of(result[1])[0]["spec"]
    (volume,) = spec["volumes"]
    assert volume == {"name": volume["name"], "configMap": {"name": f"app-{ONE}"}}
    mount = {"name": volume["name"], "mountPath": "/etc/app", "readOnly": True}
    assert spec["containers"][0]["volumeMounts"] == [mount]
    assert sources(result[1]) == [f"app-{ONE}"]
    kept = render(*objects, keep_original=True)
    assert comparable(render(*kept, keep_original=True)) == comparable(kept)
    with pytest.raises(InputError, match="2 workloads"):
        render(*objects, workload("StatefulSet", "db"))


def test_mount_in() -> None:
    annotations = {"postrender/mount-path": "/a", "postrender/mount-in": "Rollout/r"}
    rollout: Obj = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Rollout",
        "metadata": {"name": "r"},
    }
    rollout["spec"] = {"workloadRef": {"kind": "Deployment", "name": "d"}}
    deployment, other = workload("Deployment", "d"), workload("Deployment", "other")
    result = render(config(annotations=annotations), rollout, deployment, other)
    assert len(templates_of(result[2])[0]["spec"]["volumes"]) == 1
    assert result[3] == other


# ------------------------------------------------------------------------------------------- errors


def test_duplicates() -> None:
    deployment = workload("Deployment", "web", "app")
    assert named(render(config(), deployment, config()))[:3] == [
        f"ConfigMap/app-{ONE}",
        "Deployment/web",
        "ServiceAccount/web-deployment-attach",
    ]
    with pytest.raises(InputError, match="two different"):
        render(config(), deployment, {**config(), "data": {}})


def test_data_must_be_strings() -> None:
    numbers = {**config(), "data": {"port": 8080}}
    with pytest.raises(InputError, match="not a string"):
        render(numbers, workload("Deployment", "web", "app"))
    assert render(numbers) == [numbers]


# ------------------------------------------------------------------------------------------ streams

RELAXED = settings(phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck))


def safe_load(text: str, pure: bool) -> list[Obj]:
    documents = YAML(typ="safe", pure=pure).load_all(text)
    return [obj for document in documents for obj in flatten(document)]


@RELAXED
@given(styled_streams())
def test_streams_contain_their_objects(stream: Stream) -> None:
    assert typed(normalise(stream.text)) == typed(stream.objects)


@RELAXED
@given(styled_streams(odd=False), st.booleans())
def test_all_parsers_read_a_plain_stream_in_the_same_way(stream: Stream, pure: bool) -> None:
    assert typed(safe_load(stream.text, pure)) == typed(stream.objects)


@RELAXED
@given(
    styled_streams(layouts=("absent", "one", "two", "mixed")),
    st.fixed_dictionaries(
        {
            "secrets": st.booleans(),
            "keep_original": st.booleans(),
            "attacher": st.booleans(),
            "immutable": st.booleans(),
            "namespace": st.sampled_from([None, "blue"]),
        }
    ),
)
def test_a_second_rendering_does_not_change_the_output(stream: Stream, options: Obj) -> None:
    once = reference_render(stream.text, **options)
    twice = reference_render(dump(once), **options)
    assert comparable(twice) == comparable(once)
