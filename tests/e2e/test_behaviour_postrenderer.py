"""The input that both Helms give to a post-renderer, and their use of its output.

See tests/e2e/BEHAVIOUR.md.
"""

from __future__ import annotations

import json

import pytest

from tests.e2e.api import Api, Json
from tests.e2e.handmade import (
    KEEP,
    chart_of,
    config,
    config_maps,
    job,
    list_of,
    post_renderer,
    post_renderer_folder,
    workload,
    write_chart,
)
from tests.e2e.programs import program
from tests.e2e.releases import Done, Release

# Two files: a.yaml is first by name, and its Service is last by kind.
TEXTS = {
    "a": """
apiVersion: v1
kind: Service
metadata: {name: service}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: one}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: two}}
""",
    "b": """
# above
apiVersion: v1
kind: ConfigMap
metadata:
  name: three # beside
""",
}
FOLDED = """
apiVersion: v1
kind: ConfigMap
metadata: {name: config-1}
data:
  folded: >
    one
      two
    three
  literal: |
    one
      two
"""


def upgrade(helm: Release, script: str, *objects: Json, check: bool = True) -> Done:
    """Run `helm upgrade --install` of these objects through a shell script."""
    through = post_renderer(helm, script)
    return helm.upgrade(chart_of(*objects), *through, check=check)


def upgrade_texts(helm: Release, script: str, **texts: str) -> str:
    """Run `helm upgrade --install` of a chart of texts; return the script's input."""
    chart = write_chart(helm, **texts)
    through = post_renderer(helm, "tee seen", script)
    helm.helm("upgrade", "--install", helm.name, chart, *through)
    return read(helm, "seen")


def read(helm: Release, name: str) -> str:
    """Return a file that a post-renderer wrote."""
    return (post_renderer_folder(helm) / name).read_text()


# The input


def test_only_helm_4_passes_hooks(helm: Release) -> None:
    upgrade(helm, "tee seen", config(1), job(1, "hook", "post-upgrade"))
    seen = read(helm, "seen")
    assert "name: config-1" in seen
    assert ("helm.sh/hook: post-upgrade" in seen) == (helm.tool == "helm4")


def test_the_stream_that_a_post_renderer_receives(helm: Release) -> None:
    seen = upgrade_texts(helm, "true", **TEXTS)
    names = ["service", "one", "two", "three"]
    by_place = sorted(names, key=lambda name: seen.index(f"name: {name}"))
    if helm.tool == "helm3":
        assert by_place == ["three", "service", "one", "two"]
        assert "kind: List" in seen
        assert "# Source: texts/templates/b.yaml" in seen
    else:
        assert by_place == names
        assert ("kind: List" in seen) != helm.splits_lists
        assert "# Source:" not in seen
        assert "postrenderer.helm.sh/postrender-filename: 'texts/templates/b.yaml'" in seen
    assert "# above" in seen
    assert "name: three # beside" in seen


def test_the_output_as_stored_in_the_release(helm: Release) -> None:
    upgrade_texts(helm, "echo '# at the end'", **TEXTS)
    stored = helm.manifest()
    assert "postrenderer.helm.sh" not in stored
    assert "# Source: texts/templates/b.yaml" in stored
    names = ["one", "two", "three", "service"]
    by_place = sorted(names, key=lambda name: stored.index(f"name: {name}"))
    # A List is sorted after the other kinds.
    assert by_place == (names if helm.splits_lists else ["three", "service", "one", "two"])
    if helm.tool == "helm3":
        assert stored.strip() == f"{read(helm, 'seen')}# at the end".strip()


def test_folded_text_grows_in_helm_4(helm: Release, api: Api) -> None:
    as_written = {"folded": "one\n  two\nthree\n", "literal": "one\n  two\n"}
    upgrade_texts(helm, "true", text=FOLDED)
    shown = "    one\n\n      two\n" if helm.tool == "helm4" else "    one\n      two\n"
    assert f"folded: >\n{shown}" in read(helm, "seen")
    grown = as_written | {"folded": "one\n\n\n  two\nthree\n"}
    live = api.get("ConfigMap", "config-1")["data"]
    assert live == (as_written if helm.tool == "helm3" else grown)
    helm.helm("upgrade", helm.name, write_chart(helm, text=FOLDED))
    assert api.get("ConfigMap", "config-1")["data"] == as_written


@pytest.mark.parametrize("end", ["", "\n"], ids=["without-line-break", "with-line-break"])
def test_the_end_of_a_file_that_ends_with_a_block(helm: Release, api: Api, end: str) -> None:
    """Helm 4 reads a block without a line break at its end as `|-`, but only if it post-renders."""
    head = FOLDED.partition("\ndata:")[0]
    chart = write_chart(helm, text=f"{head}\ndata:\n  a: |\n    one\n  z: |\n    two{end}")
    helm.helm("install", helm.name, chart)
    assert api.get("ConfigMap", "config-1")["data"] == {"a": "one\n", "z": "two\n"}
    helm.helm("upgrade", helm.name, chart, *post_renderer(helm, "cat"))
    is_cut = helm.tool == "helm4" and not end
    expected = {"a": "one\n", "z": "two" if is_cut else "two\n"}
    assert api.get("ConfigMap", "config-1")["data"] == expected


def test_duplicate_keys_and_merge_keys(helm: Release, api: Api) -> None:
    """The last entry wins, merged or not, with and without a post-renderer."""
    head = FOLDED.partition("\ndata:")[0]
    text = (
        f"{head}\ndata:\n  a: one\n  a: two\n  b: own\n  <<: {{b: merged, c: merged}}\n  c: own\n"
    )
    chart = write_chart(helm, text=text)
    expected = {"a": "two", "b": "merged", "c": "own"}
    helm.helm("install", helm.name, chart)
    assert api.get("ConfigMap", "config-1")["data"] == expected
    helm.helm("upgrade", helm.name, chart, *post_renderer(helm, "tee seen"))
    assert api.get("ConfigMap", "config-1")["data"] == expected
    assert "a: one\n  a: two\n  b: own" in read(helm, "seen")


def test_a_block_scalar_that_begins_with_a_tab(helm: Release, api: Api) -> None:
    """The block is valid by its indentation indicator, but Helm 4 drops the indicator."""
    text = FOLDED.partition("\ndata:")[0] + "\ndata:\n  tab: |2\n    \tone\n"
    chart = write_chart(helm, text=text)
    through = post_renderer(helm, "cat")
    done = helm.helm("install", helm.name, chart, *through, check=False)
    if helm.tool == "helm3":
        assert api.get("ConfigMap", "config-1")["data"] == {"tab": "\tone\n"}
    else:
        assert "error while parsing post rendered output" in done.stderr
        assert "found a tab character where an indentation space is expected" in done.stderr
        helm.helm("install", helm.name, chart)


def test_a_post_renderer_receives_neither_release_nor_namespace(helm: Release) -> None:
    upgrade(helm, 'env > env; echo "$@" > arguments; tee seen', config(1))
    environment = "\n".join(
        line for line in read(helm, "env").splitlines() if str(helm.folder) not in line
    )
    for text in (environment, read(helm, "arguments"), read(helm, "seen")):
        assert helm.namespace not in text
    lines = [line for line in environment.splitlines() if line.startswith("HELM_NAMESPACE=")]
    assert lines in ([], ["HELM_NAMESPACE=default"])
    assert ("HELM_PLUGIN_NAME=by-hand" in environment) == (helm.tool == "helm4")


def test_helm_within_a_post_renderer_reads_another_namespace(helm: Release) -> None:
    """Helm uses the namespace of the environment.

    With the namespace of the release, Helm reads the previous manifest.
    """
    helm.install(chart_of(config(1)))
    command = f"{program(helm.tool)} get manifest {helm.name}"
    script = f"{command} > unnamed 2>&1; {command} --namespace {helm.namespace} > named; cat"
    upgrade(helm, script, config(2))
    assert "Error: release: not found" in read(helm, "unnamed")
    assert "name: config-1" in read(helm, "named")


def test_the_commands_that_call_a_post_renderer(helm: Release) -> None:
    through = post_renderer(helm, "echo called >> calls; cat")
    called = []

    def count() -> None:
        called.append(len(read(helm, "calls").splitlines()))

    helm.install(chart_of(config(1)), *through)
    count()
    helm.upgrade(chart_of(config(2)), "--dry-run=client", *through)
    count()
    helm.helm("template", helm.name, write_chart(helm, text=FOLDED), *through)
    count()
    helm.rollback(1)
    helm.upgrade(chart_of(config(2)))
    helm.uninstall()
    count()
    assert called == [1, 2, 3, 3]


def test_helm_4_requires_a_plugin_as_post_renderer(helm: Release) -> None:
    done = helm.install(chart_of(config(1)), "--post-renderer", "/bin/cat", check=False)
    if helm.tool == "helm3":
        assert done.returncode == 0
    else:
        assert "plugin: {Name:/bin/cat Type:postrenderer/v1} not found" in done.stderr


def test_helm_3_cannot_load_a_plugin_of_helm_4(helm: Release) -> None:
    post_renderer(helm, "cat")
    stderr = helm.install(chart_of(config(1))).stderr
    assert ("failed to load plugins" in stderr) == (helm.tool == "helm3")


# The output


def test_a_hook_that_a_post_renderer_appends(helm: Release, api: Api) -> None:
    hook = json.dumps(job(1, "appended", "post-install,post-upgrade"))
    script = f"cat; echo; echo ---; echo '{hook}'"
    upgrade(helm, script, config(1))
    uid = api.get("Job", "appended")["metadata"]["uid"]
    is_ordinary = helm.tool == "helm3"
    assert ("appended" in helm.manifest()) == is_ordinary
    assert ("appended" in helm.helm("get", "hooks", helm.name).stdout) != is_ordinary
    upgrade(helm, script, config(1))
    assert (api.get("Job", "appended")["metadata"]["uid"] == uid) == is_ordinary


NOTHING = {"nothing at all": "true", "a comment": "echo '# nothing'"}


@pytest.mark.parametrize(
    "script", NOTHING.values(), ids=[text.replace(" ", "-") for text in NOTHING]
)
def test_an_empty_output(helm: Release, api: Api, script: str) -> None:
    helm.install(chart_of(config(1), config(2, keep=True)))
    done = upgrade(helm, script, config(1), config(2), check=False)
    if helm.tool == "helm4" and script == "true":
        assert 'post-renderer "by-hand" produced empty output' in done.stderr
        assert config_maps(api) == ["config-1", "config-2"]
    else:
        assert done.returncode == 0
        assert config_maps(api) == ["config-2"]


def test_a_truncated_output_is_treated_as_complete(helm: Release, api: Api) -> None:
    helm.install(chart_of(config(1), config(2)))
    upgrade(helm, f"echo '{json.dumps(config(1))}'", config(1), config(2))
    assert config_maps(api) == ["config-1"]


def test_only_helm_3_shows_stderr_and_only_after_a_failure(helm: Release, api: Api) -> None:
    done = upgrade(helm, "cat; echo talk >&2", config(1))
    assert "talk" not in done.stdout + done.stderr
    failed = upgrade(helm, "cat; echo talk >&2; exit 3", config(2), check=False)
    assert failed.returncode == 1
    assert ("talk" in failed.stderr) == (helm.tool == "helm3")
    assert config_maps(api) == ["config-1"]
    revisions = json.loads(helm.helm("history", helm.name, "--output", "json").stdout)
    assert len(revisions) == 1


def test_keep_on_items_that_helm_4_has_split(helm: Release, api: Api) -> None:
    both = [list_of(config(1, keep=True)), list_of(config(2), annotations=KEEP)]
    upgrade(helm, "cat", *both, workload("Deployment", 1, replicas=0))
    helm.uninstall()
    assert config_maps(api) == (["config-1"] if helm.splits_lists else ["config-2"])
