"""postrender with kustomize: behind it in a pipe, and as a function that kustomize runs."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from tests.e2e.api import Api, Json
from tests.e2e.attach_processes import parse
from tests.e2e.cluster import ControlPlane
from tests.e2e.kustomize_shell import FUNCTION, Shell
from tests.e2e.programs import ROOT
from tests.e2e.queries import (
    GROUP_LABEL,
    age_marks,
    apply_attached,
    assert_nothing_is_missing,
    owners,
    referenced_config_maps,
    revision_with,
    revisions,
    wait_for_phase,
    wait_until_pruned,
)
from tests.e2e.rollouts import promote

EXAMPLE = ROOT / "examples" / "kustomize"
BASE_NAME = "postrender/base-name"


def config_map(name: str, value: str = "hello") -> str:
    return f"""\
apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}}}
data: {{greeting: {value}}}
"""


def workload(kind: str, name: str, config_maps: Iterable[str], version: str = "apps/v1") -> str:
    sources = ", ".join(f"{{configMapRef: {{name: {name_of_map}}}}}" for name_of_map in config_maps)
    selector = "" if kind == "Job" else f"selector: {{matchLabels: {{app: {name}}}}}"
    return f"""\
apiVersion: {version}
kind: {kind}
metadata: {{name: {name}}}
spec:
  {selector}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      restartPolicy: {"Never" if kind == "Job" else "Always"}
      containers:
      - {{name: app, image: "app:1", envFrom: [{sources}]}}
"""


ROLLOUT = "argoproj.io/v1alpha1"
BOTH = ("plain", "made")
MADE = "configMapGenerator: [{name: made, literals: [A=1]}]\n"
ALL = "\n---\n".join(
    [
        config_map("plain"),
        workload("Deployment", "app", BOTH),
        workload("Rollout", "web", BOTH, ROLLOUT),
    ]
)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path / "shell")


def by_kind(text: str) -> dict[str, list[Json]]:
    grouped: dict[str, list[Json]] = {}
    for obj in parse(text):
        grouped.setdefault(obj["kind"], []).append(obj)
    return grouped


def names(objects: Iterable[Json]) -> set[str]:
    return {obj["metadata"]["name"] for obj in objects}


def bases(objects: Iterable[Json]) -> set[str]:
    """Return the base names of the revisions among the objects."""
    annotations = [obj["metadata"].get("annotations", {}) for obj in objects]
    return {annotation[BASE_NAME] for annotation in annotations if BASE_NAME in annotation}


def arguments(job: Json) -> str:
    return " ".join(job["spec"]["template"]["spec"]["containers"][0]["args"])


def kustomization(shell: Shell, fields: str = "", files: Mapping[str, str] = {}) -> None:
    """Write a Kustomization with all objects and the function."""
    shell.write(
        {
            "kustomization.yaml": f"resources: [all.yaml]\ntransformers: [function.yaml]\n{fields}",
            "all.yaml": ALL,
            "function.yaml": FUNCTION,
            **files,
        }
    )


# Postrender as a function of kustomize


@pytest.mark.parametrize(
    "fields",
    [
        "",
        "namespace: shop\n",
        "namePrefix: prod-\n",
        "namePrefix: prod-\nnameSuffix: -blue\nnamespace: shop\n"
        "labels: [{pairs: {team: web}, includeTemplates: true}]\n"
        "commonAnnotations: {note: plain}\n",
    ],
    ids=["alone", "namespace", "prefix", "all"],
)
def test_a_transformer_follows_every_name_that_kustomize_changes(shell: Shell, fields: str) -> None:
    kustomization(shell, MADE + fields)
    objects = by_kind(shell.build().stdout)
    prefix, suffix = "prod-" * ("Prefix" in fields), "-blue" * ("Suffix" in fields)
    config_maps = objects["ConfigMap"]
    assert bases(config_maps) == {f"{prefix}plain{suffix}", f"{prefix}made{suffix}"}
    assert all(config_map["immutable"] is True for config_map in config_maps)
    for obj in (*objects["Deployment"], *objects["Rollout"]):
        assert referenced_config_maps(obj) == names(config_maps)
    [job] = objects["Job"]
    for kind in ("Deployment", "Rollout"):
        [obj] = objects[kind]
        assert f"{kind}/{obj['metadata']['name']}@" in arguments(job)
    assert set(re.findall(r"configmap/([^,\s]+)", arguments(job))) == names(config_maps)
    assert job["metadata"].get("namespace") == ("shop" if "shop" in fields else None)


def test_a_generated_configmap_has_the_name_that_kustomize_would_give_it(shell: Shell) -> None:
    kustomization(shell, MADE + "namePrefix: prod-\n")
    [ours] = [name for name in names(by_kind(shell.build().stdout)["ConfigMap"]) if "made" in name]
    plain = shell.run("sed -i /transformers/d kustomization.yaml && kustomize build .").stdout
    assert ours in names(by_kind(plain)["ConfigMap"])


def test_an_unreferenced_generated_configmap_keeps_kustomizes_hash(shell: Shell) -> None:
    kustomization(shell, MADE.replace("[{", "[{name: other, literals: [B=1]}, {"))
    config_maps = by_kind(shell.build().stdout)["ConfigMap"]
    [other] = [
        config_map
        for config_map in config_maps
        if config_map["metadata"]["name"].startswith("other")
    ]
    assert re.fullmatch(r"other-[a-z0-9]{10}", other["metadata"]["name"])
    assert bases([other]) == set()


def test_a_job_still_references_originals_that_kustomize_prefixes(shell: Shell) -> None:
    everything = f"{ALL}\n---\n{workload('Job', 'migrate', BOTH, 'batch/v1')}"
    kustomization(shell, MADE + "namePrefix: prod-\n", {"all.yaml": everything})
    objects = by_kind(shell.build().stdout)
    [job] = [obj for obj in objects["Job"] if obj["metadata"]["name"] == "prod-migrate"]
    assert referenced_config_maps(job) == {"prod-plain", "prod-made"}
    assert names(objects["ConfigMap"]) >= referenced_config_maps(job) | referenced_config_maps(
        objects["Deployment"][0]
    )
    assert len(objects["ConfigMap"]) == 4


def test_two_bases_with_one_name_are_distinguished_by_their_prefix(shell: Shell) -> None:
    base = f"{workload('Deployment', 'app', ['config'])}\n---\n{config_map('config')}"
    shell.write(
        {
            "function.yaml": FUNCTION,
            "kustomization.yaml": "resources: [a, b]\ntransformers: [function.yaml]\n",
            "base/kustomization.yaml": "resources: [all.yaml]\n",
            "base/all.yaml": base,
            "a/kustomization.yaml": "resources: [../base]\nnamePrefix: a-\n",
            "b/kustomization.yaml": "resources: [../base]\nnamePrefix: b-\n"
            "patches: [{path: bye.yaml}]\n",
            "b/bye.yaml": config_map("config", "bye"),
        }
    )
    objects = by_kind(shell.build().stdout)
    for obj in objects["Deployment"]:
        [name] = referenced_config_maps(obj)
        assert name.startswith(obj["metadata"]["name"].replace("app", "config-"))
        assert name in names(objects["ConfigMap"])


def test_annotations_of_kustomize_for_functions_are_removed(shell: Shell) -> None:
    kustomization(shell, MADE + "namePrefix: prod-\n")
    text = shell.build().stdout
    assert "config.kubernetes.io" not in text
    assert "config.k8s.io" not in text


def test_a_second_build_does_not_change_the_output(shell: Shell) -> None:
    kustomization(shell, MADE + "namePrefix: prod-\n")
    first = shell.build().stdout
    again = {"kustomization.yaml": "resources: [all.yaml]\ntransformers: [function.yaml]\n"}
    shell.write({**again, "all.yaml": first})
    assert parse(shell.build().stdout) == parse(first)


def test_an_error_stops_the_build_and_is_shown(shell: Shell) -> None:
    bad = ALL.replace("greeting: hello", "port: 8080")
    kustomization(shell, "", {"all.yaml": bad})
    done = shell.build(check=False)
    assert (done.returncode, done.stdout) == (1, "")
    first, last = done.stderr.strip().splitlines()
    assert re.match(r"error: <stdin>:\d+ \(document 1, ConfigMap/plain\) data\.port: ", first)
    assert last.startswith("Error: couldn't execute function: exit status 2")


def test_a_finding_is_shown_and_the_build_continues(shell: Shell) -> None:
    held = ALL.replace('image: "app:1"', 'image: "app:1", args: [--config=plain]')
    kustomization(shell, MADE, {"all.yaml": held})
    done = shell.build()
    assert done.stderr.count("[by-name]") == 1
    assert parse(done.stdout)


def test_strict_in_the_function_config_stops_the_build(shell: Shell) -> None:
    held = ALL.replace('image: "app:1"', 'image: "app:1", args: [--config=plain]')
    strict = FUNCTION.replace("spec:\n", "spec:\n  strict: true\n")
    kustomization(shell, MADE, {"all.yaml": held, "function.yaml": strict})
    done = shell.build(check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.search(r"1 finding \(line \d+\) is an error, because strict is true", done.stderr)


def test_a_mistake_in_the_function_config_is_found(shell: Shell) -> None:
    kustomization(shell, "", {"function.yaml": FUNCTION.replace("attacher:", "atacher:")})
    done = shell.build(check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "functionConfig.spec.atacher: the key is unknown. " in done.stderr
    assert 'unknown. Use "attacher" instead, or remove the key.' in done.stderr


def test_the_function_config_may_have_the_file_name_of_the_configuration(shell: Shell) -> None:
    kustomization(shell, MADE)
    before = shell.build().stdout
    rename = "mv function.yaml postrender.yaml && sed -i s/function/postrender/ kustomization.yaml"
    shell.run(rename)
    assert shell.build().stdout == before


# Known limitations, as in docs/how-to/kustomize.md. These tests fail when a limitation disappears.


def test_without_the_exec_flag_kustomize_skips_the_function(shell: Shell) -> None:
    kustomization(shell, MADE)
    done = shell.run("kustomize build --enable-alpha-plugins .")
    assert done.stderr == ""
    assert bases(by_kind(done.stdout)["ConfigMap"]) == set()
    refused = shell.run("kustomize build .", check=False)
    assert "external plugins disabled" in refused.stderr


def test_kubectl_cannot_run_a_program_as_a_function(shell: Shell) -> None:
    kustomization(shell, MADE)
    done = shell.run("kubectl kustomize --enable-alpha-plugins .")
    assert bases(by_kind(done.stdout)["ConfigMap"]) == set()
    assert "--enable-exec" not in shell.run("kubectl kustomize --help").stdout
    for command in ("kubectl kustomize .", "kubectl apply --dry-run=client -k ."):
        refused = shell.run(command, check=False)
        assert refused.returncode != 0
        assert "external plugins disabled" in refused.stderr


def test_labels_reach_the_attacher_only_from_a_kustomization_above(shell: Shell) -> None:
    labels = "labels: [{pairs: {team: web}}]\n"
    kustomization(shell, labels)
    objects = by_kind(shell.build().stdout)
    assert "team" not in objects["Job"][0]["metadata"]["labels"]
    assert "team" in objects["ConfigMap"][0]["metadata"]["labels"]
    shell.run("mkdir app && mv kustomization.yaml all.yaml function.yaml app")
    shell.write({"kustomization.yaml": f"resources: [app]\n{labels}"})
    objects = by_kind(shell.build().stdout)
    assert all("team" in obj["metadata"]["labels"] for group in objects.values() for obj in group)


def test_the_attacher_does_not_know_a_prefix_above_the_function(shell: Shell) -> None:
    kustomization(shell, MADE)
    shell.run("mkdir app && mv kustomization.yaml all.yaml function.yaml app")
    shell.write({"over/kustomization.yaml": "resources: [../app]\nnamePrefix: prod-\n"})
    objects = by_kind(shell.build("over").stdout)
    assert referenced_config_maps(objects["Deployment"][0]) == names(objects["ConfigMap"])
    assert all(name.startswith("prod-") for name in names(objects["ConfigMap"]))
    assert "Deployment/app@" in arguments(objects["Job"][0])


# Postrender in a pipe


def test_behind_kustomize_its_configmaps_keep_their_names(shell: Shell) -> None:
    kustomization(shell, MADE)
    shell.run("sed -i /transformers/d kustomization.yaml")
    objects = by_kind(shell.run("kustomize build . | postrender --attacher-image a/b:1").stdout)
    assert bases(objects["ConfigMap"]) == {"plain", "made"}
    plain = by_kind(shell.run("kustomize build .").stdout)["ConfigMap"]
    [made] = [name for name in names(plain) if name.startswith("made")]
    assert made in names(objects["ConfigMap"])
    assert made in referenced_config_maps(objects["Deployment"][0])
    # kustomize does not know the references of a Rollout.
    assert "made" in referenced_config_maps(objects["Rollout"][0])


# Applying to the cluster


def commands() -> list[str]:
    """Return the commands of the example's README, separated by their comments."""
    block = "\n".join(re.findall(r"^    (.*)$", (EXAMPLE / "README.md").read_text("utf-8"), re.M))
    return [part for part in re.split(r"^# .*\n", block, flags=re.M) if part.strip()]


@pytest.fixture
def example(plane: ControlPlane, tmp_path: Path) -> Shell:
    """Return a shell in a copy of the example."""
    shell = Shell(tmp_path / "shell", plane)
    shutil.copytree(EXAMPLE, shell.folder, dirs_exist_ok=True)
    return shell


@pytest.mark.parametrize("command", commands(), ids=["pipe", "function"])
def test_the_example_runs_as_written(example: Shell, api: Api, command: str) -> None:
    script = command.replace("--namespace prod", f"--namespace {api.namespace}")
    apply_attached(api, lambda: example.run(script))
    wait_for_phase(api, "Healthy", "prod-greeter")
    assert bases(revisions(api)) == {"prod-greeter-pages", "prod-greeter-settings"}
    (example.folder / "base" / "settings.env").write_text("GREETING=good morning\n")
    apply_attached(api, lambda: example.run(script))
    wait_for_phase(api, "Paused", "prod-greeter")
    settings = [revision for revision in revisions(api) if "GREETING" in revision["data"]]
    assert {setting["data"]["GREETING"] for setting in settings} == {"hello", "good morning"}
    assert all("Rollout/prod-greeter" in owners(setting) for setting in settings)
    assert_nothing_is_missing(api)
    promote(api, "prod-greeter")
    wait_for_phase(api, "Healthy", "prod-greeter")
    assert_nothing_is_missing(api)


def test_a_failed_build_does_not_apply_objects(example: Shell, api: Api) -> None:
    [pipe, _] = commands()
    script = pipe.replace("--namespace prod", f"--namespace {api.namespace}")
    (example.folder / "base" / "greeter.yaml").write_text("kind: [")
    done = example.run(script, check=False)
    assert done.returncode != 0
    assert "the input is empty" in done.stderr
    assert "no objects passed to apply" in done.stderr
    assert not api.list("Rollout")


@pytest.fixture
def applied(plane: ControlPlane, tmp_path: Path) -> Shell:
    return Shell(tmp_path / "shell", plane)


def test_a_generated_configmap_is_deleted_after_its_last_pod(applied: Shell, api: Api) -> None:
    """It never becomes immutable, so that an apply without postrender still works."""
    app = workload("Deployment", "app", ["made"])
    files = {"app.yaml": app.replace("spec:\n", "spec:\n  revisionHistoryLimit: 1\n", 1)}
    options = "--group app --attacher-image registry.example.com/postrender:1"
    pipe, apply = f"postrender {options}", f"kubectl apply --namespace {api.namespace} -f -"

    def release(number: int) -> None:
        made = f"configMapGenerator: [{{name: made, literals: [A={number}]}}]\n"
        applied.write({**files, "kustomization.yaml": f"resources: [app.yaml]\n{made}"})
        apply_attached(
            api, lambda: applied.run(f"set -o pipefail; kustomize build . | {pipe} | {apply}")
        )
        wait_until_pruned(api, min(number, 2))

    release(1)
    first = revision_with(api, A="1")
    assert "Deployment/app" in owners(first)
    assert "immutable" not in first
    release(2)
    assert any(owner.startswith("ReplicaSet/") for owner in owners(revision_with(api, A="1")))
    release(3)
    release(4)
    assert age_marks(api)
    release(5)
    assert "1" not in {revision["data"]["A"] for revision in revisions(api)}
    assert_nothing_is_missing(api)
    applied.run(f"set -o pipefail; kustomize build . | {apply}")
    current = [item for item in api.list("ConfigMap") if item.get("data") == {"A": "5"}]
    assert bases(current) == set()


PRUNE = "kubectl apply --prune -l team=web"
APPLY_SET = "KUBECTL_APPLYSET=true kubectl apply --prune --applyset=configmaps/set"
BUILD = "set -o pipefail; kustomize build --enable-alpha-plugins --enable-exec"


def release(shell: Shell, api: Api, apply: str, greeting: str) -> str:
    """Apply everything with a greeting and a label; return the name of its revision."""
    # The label is in a Kustomization above the function's, so that the attacher's objects get it
    # too.
    above = "resources: [app]\nlabels: [{pairs: {team: web}}]\n"
    below = "resources: [all.yaml]\ntransformers: [function.yaml]\n"
    files = {"kustomization.yaml": below, "all.yaml": prunable(greeting), "function.yaml": FUNCTION}
    inside = {f"app/{name}": text for name, text in files.items()}
    shell.write({"kustomization.yaml": above, **inside})
    shell.run(f"{BUILD} . | {apply} --namespace {api.namespace} -f -")
    matching = [revision for revision in revisions(api) if revision["data"]["greeting"] == greeting]
    return str(matching[0]["metadata"]["name"])


def prunable(greeting: str) -> str:
    rollout = workload("Rollout", "app", ["plain"], ROLLOUT).replace(
        "spec:\n", "spec:\n  strategy: {canary: {steps: [{setWeight: 50}, {pause: {}}]}}\n", 1
    )
    return f"{config_map('plain', greeting)}---\n{rollout}"


def in_mid_canary(shell: Shell, api: Api, apply: str) -> set[str]:
    """Apply a change of the configuration; return the greetings of the revisions during the canary.

    By then the old revision is owned by its Rollout.
    """
    old = ""

    def first() -> None:
        nonlocal old
        old = release(shell, api, apply, "old")

    apply_attached(api, first)
    wait_for_phase(api, "Healthy")
    assert "Rollout/app" in owners(api.get("ConfigMap", old))
    apply_attached(api, lambda: release(shell, api, apply, "new"))
    wait_for_phase(api, "Paused")
    return {revision["data"]["greeting"] for revision in revisions(api)}


@pytest.mark.parametrize("how", ["", " --server-side"], ids=["client", "server"])
def test_an_apply_keeps_revisions_that_old_pods_still_use(
    applied: Shell, api: Api, how: str
) -> None:
    assert in_mid_canary(applied, api, f"kubectl apply{how}") == {"old", "new"}
    for revision in revisions(api):
        assert "Rollout/app" in owners(revision)
    assert_nothing_is_missing(api)


def test_kubectl_prune_deletes_revisions_that_old_pods_still_use(applied: Shell, api: Api) -> None:
    assert in_mid_canary(applied, api, PRUNE) == {"new"}


def test_kubectl_prune_of_other_kinds_keeps_revisions(applied: Shell, api: Api) -> None:
    kinds = ("apps/v1/Deployment", "batch/v1/Job", "core/v1/Service")
    listed = " ".join(f"--prune-allowlist={kind}" for kind in kinds)
    assert in_mid_canary(applied, api, f"{PRUNE} {listed}") == {"old", "new"}
    assert_nothing_is_missing(api)


def test_an_apply_set_deletes_revisions_that_old_pods_still_use(applied: Shell, api: Api) -> None:
    assert in_mid_canary(applied, api, APPLY_SET) == {"new"}


def test_revisions_are_found_by_their_label(applied: Shell, api: Api) -> None:
    apply_attached(api, lambda: release(applied, api, "kubectl apply", "old"))
    text = applied.run(
        f"kubectl --namespace {api.namespace} get configmaps -l {GROUP_LABEL} -o name"
    )
    assert text.stdout.startswith("configmap/plain-")
