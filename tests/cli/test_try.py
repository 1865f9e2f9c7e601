"""`postrender try` with a fake helm. The real Helm runs in tests/e2e/test_try.py."""

from __future__ import annotations

import os
import pty
import shlex
import subprocess
from pathlib import Path

import pytest

from postrender.cli import trial
from tests.cli.test_processes import (
    COMMAND,
    DEPLOYMENT,
    GOOD,
    TIMEOUT,
    Run,
    assert_refused,
    environment,
    run,
)
from tests.cli.test_processes import folder as folder  # no configuration of this machine's
from tests.sources.test_helm import Helm
from tests.sources.test_helm import helm as helm

WAIT = "_wait_for_the_second_after"
REAL_WAIT = getattr(trial, WAIT)
CHANGED = GOOD.replace("välue", "other")
MANY = "".join(
    f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: extra-{number}}}\ndata: {{a: b}}\n"
    for number in range(30)
)
SECRET = """\
---
apiVersion: v1
kind: Secret
metadata: {name: app}
stringData: {password: hunter2}
---
"""


@pytest.fixture
def chart(folder: Path) -> str:
    make_chart(folder / "shop", "web-shop")
    return "shop"


@pytest.fixture(autouse=True)
def no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fake helm knows no time, so the second render need not be in another second."""
    monkeypatch.setattr(trial, WAIT, lambda _: None)


def make_chart(folder: Path, name: str) -> None:
    folder.mkdir()
    (folder / "Chart.yaml").write_text(f"apiVersion: v2\nname: {name}\nversion: 1.0.0\n")


def attempt(helm: Helm, *arguments: str, **variables: str) -> Run:
    return run("", "try", *arguments, "--page=page.html", variables={**helm.variables, **variables})


FIRST_RELEASE = """
The first release with postrender
  rolls    Deployment/web
  adds     1 revision, and the attacher: a Job, a ServiceAccount, a Role and a RoleBinding
  deletes  ConfigMap/app. If the application already runs, first protect these objects:
           docs/how-to/first-release.md
  later    each change adds a revision, and restarted old pods read the old revision

"""


GROUP = "--post-renderer-args=--group=web-shop"
IMAGE = "--post-renderer-args=--attacher-image=IMAGE"


def test_one_chart_shows_names_and_next_steps(helm: Helm, chart: str) -> None:
    helm.print("template", GOOD)
    done = attempt(helm, chart)
    assert done.code == 0, done.err
    text = done.out.decode()
    assert "  app  -> app-" in text
    assert FIRST_RELEASE in text
    assert "postrender try shop --new-values FILE (or --set KEY=VALUE, or a second chart)" in text
    assert "helm upgrade --install web-shop shop --post-renderer postrender" in text
    assert text.splitlines()[-1] == f"Page: {Path('page.html').absolute()}"
    assert helm.calls == 2 * ["template -- web-shop shop"]
    assert done.err == ""
    page = Path("page.html").read_text("utf-8")
    assert "shop without postrender" in page
    assert "the name changes, but the content does not change" in page


def test_the_printed_preview_has_the_options_of_the_run(helm: Helm, chart: str) -> None:
    helm.print("template", GOOD)
    Path("prod.yaml").write_text("a: 1\n")
    given = ("--release=shop-prod", "--namespace=prod", "--values=prod.yaml", "--secrets")
    text = attempt(helm, chart, *given).out.decode()
    options = "--release=shop-prod --values=prod.yaml --namespace=prod --secrets"
    assert f"postrender try shop {options} --new-values FILE" in text


def test_the_first_release_shows_the_objects_that_stay(helm: Helm, chart: str) -> None:
    reader = DEPLOYMENT.replace("name: web", "name: report").replace(
        "apps/v1\nkind: Deployment", "batch/v1\nkind: Job"
    )
    rollout = DEPLOYMENT.replace("apps/v1\nkind: Deployment", "argoproj.io/v1alpha1\nkind: Rollout")
    Path("postrender.yaml").write_text("attacher: {rbac: {create: false}}\n")
    pod = "        - configMapRef:\n"
    with_secret = rollout.replace(pod, f"        - secretRef: {{name: app}}\n{pod}")
    assert with_secret != rollout
    config_map = GOOD.removesuffix(DEPLOYMENT)
    helm.print("template", f"{config_map}{reader}{SECRET}{with_secret}")
    text = attempt(helm, chart).out.decode()
    assert "  rolls    Rollout/web. A canary stops at its first pause\n" in text
    assert "  adds     1 revision, and the attacher: a Job and a ServiceAccount\n" in text
    assert "  keeps    ConfigMap/app: Job/report, which postrender never rewrites" in text
    assert "deletes" not in text
    assert "  leaves   Secrets unchanged, because --secrets is not set\n" in text


def test_a_program_that_reloads_its_file_is_named(helm: Helm, chart: str) -> None:
    volumes = "      volumes: [{name: c, configMap: {name: app}}]\n"
    sidecar = (
        "      - {name: reload, image: example.com/configmap-reload, "
        "volumeMounts: [{name: c, mountPath: /c}]}\n"
    )
    assert "      containers:\n" in GOOD
    helm.print(
        "template", GOOD.replace("      containers:\n", f"{volumes}      containers:\n{sidecar}")
    )
    text = " ".join(attempt(helm, chart).out.decode().split())
    assert "reloads Deployment/web reloads ConfigMap/app without a restart today." in text
    assert "set postrender/strategy: ignore: docs/faq.md" in text


def test_an_attacher_that_is_off_is_not_added(helm: Helm, chart: str) -> None:
    Path("postrender.yaml").write_text("attacher: {enabled: false}\n")
    helm.print("template", GOOD)
    text = attempt(helm, chart).out.decode()
    assert "  adds     1 revision\n  deletes  ConfigMap/app." in text


def test_new_values_are_previewed(helm: Helm, chart: str) -> None:
    Path("values.yaml").touch()
    Path("new.yaml").touch()
    helm.print("template --values=values.yaml --values=new.yaml", CHANGED)
    helm.print("template --values=values.yaml --", GOOD)
    done = attempt(helm, chart, "-f", "values.yaml", "--new-values=new.yaml")
    text = done.out.decode()
    assert done.code == 0, done.err
    assert "from shop without --new-values to shop with --new-values" in text
    assert "Deployment/web rolls" in text
    assert "helm upgrade --install web-shop shop --values=values.yaml --post-renderer" in text


def test_new_values_are_for_the_new_chart(helm: Helm, chart: str) -> None:
    make_chart(Path("next"), "next-shop")
    Path("new.yaml").touch()
    helm.print("template -- next-shop shop", GOOD)
    helm.print("template --values=new.yaml -- next-shop next", CHANGED)
    assert (
        "Deployment/web rolls" in attempt(helm, chart, "next", "--new-values=new.yaml").out.decode()
    )


def test_the_names_are_the_names_before_the_change(helm: Helm, chart: str) -> None:
    helm.print("template --set=", CHANGED)
    helm.print("template", GOOD)
    before = attempt(helm, chart).out.decode().splitlines()
    after = attempt(helm, chart, "--set=a=b").out.decode().splitlines()
    assert after[2] == before[2]
    assert after[2].startswith("  app  -> app-")


def test_the_effect_of_set_is_previewed(helm: Helm, chart: str) -> None:
    Path("values.yaml").touch()
    helm.print("template --values=values.yaml --set=", CHANGED)
    helm.print("template --values=values.yaml --", GOOD)
    done = attempt(helm, chart, "-f", "values.yaml", "--set", "a=hunter2", "--set-string=b=1")
    text = done.out.decode()
    assert done.code == 0, done.err
    new = "template --values=values.yaml --set=a=hunter2 --set-string=b=1 -- web-shop shop"
    assert helm.calls == [new, "template --values=values.yaml -- web-shop shop", new]
    assert "from shop without --set to shop with --set" in text
    assert "Deployment/web rolls" in text
    assert "helm upgrade --install web-shop shop --values=values.yaml" in text
    assert "KEY=VALUE" not in text
    assert "hunter2" not in text + Path("page.html").read_text("utf-8")


def test_the_report_shows_changed_lines_and_the_page_also_the_lines_around(
    helm: Helm, chart: str
) -> None:
    before = GOOD.replace("välue", "|\n    around\n    port 8080")
    helm.print("template --set=", before.replace("8080", "9090"))
    helm.print("template --", before)
    text = attempt(helm, chart, "--set=port=9090").out.decode()
    assert "-port 8080\n" in text
    assert "+port 9090\n" in text
    assert "around" not in text
    assert "around" in Path("page.html").read_text("utf-8")


def test_set_without_an_effect_shows_where_the_keys_are(helm: Helm, chart: str) -> None:
    helm.print("template", GOOD)
    text = attempt(helm, chart, "--set=typo=1").out.decode()
    assert "The manifests do not change with --set." in text
    assert "helm show values shop" in text
    assert "no changes" not in text


HOOK_NAME = "name: migrate\n  annotations: {helm.sh/hook: post-upgrade}\n"
HOOK = DEPLOYMENT.replace("name: web\n", HOOK_NAME).replace(
    "apps/v1\nkind: Deployment", "batch/v1\nkind: Job"
)


def with_hook(helm: Helm, version: str) -> None:
    """Make helm of a version render a chart with a hook."""
    helm.print("version", version)
    helm.print("template --set=a=b --no-hooks", CHANGED)
    helm.print("template --set=", f"{CHANGED}---\n{HOOK}")
    helm.print("template --no-hooks", GOOD)
    helm.print("template", f"{GOOD}---\n{HOOK}")


def test_the_printed_command_passes_the_options_to_postrender(helm: Helm, chart: str) -> None:
    helm.print("template", GOOD)
    Path("company file.yaml").write_text("strict: true\n")
    options = ("--secrets", "--no-keep-original", "--config=company file.yaml", "-n", "prod")
    text = attempt(helm, chart, *options).out.decode()
    assert arguments_of(text) == [
        "--group=web-shop",
        "--config=company file.yaml",
        "--namespace=prod",
        "--secrets",
        "--no-keep-original",
        "--attacher-image=IMAGE",
    ]


def test_the_printed_command_has_a_place_for_a_missing_image_only(helm: Helm, chart: str) -> None:
    helm.print("template", GOOD)
    assert IMAGE in attempt(helm, chart).out.decode()
    for attacher in ("{image: postrender:1}", "{enabled: false}"):
        Path("company.yaml").write_text(f"attacher: {attacher}\n")
        done = attempt(helm, chart, "--config=company.yaml")
        assert "--group=web-shop" in done.out.decode()
        assert "IMAGE" not in done.out.decode()


def test_helm_4_keeps_the_original_that_a_hook_reads(helm: Helm, chart: str) -> None:
    with_hook(helm, "v4.3.1")
    done = attempt(helm, chart, "--set=a=b")
    text = done.out.decode()
    assert "keeps    ConfigMap/app: the hook Job/migrate, which postrender never rewrites" in text
    assert "the original ConfigMap, referenced by Job/migrate, also changes" in text
    assert "Helm 3" not in done.err + Path("page.html").read_text("utf-8")
    assert f"--post-renderer postrender {GROUP} {IMAGE}\n" in text


def test_helm_3_keeps_the_original_that_a_hook_reads(helm: Helm, chart: str) -> None:
    with_hook(helm, "v3.22.0")
    done = attempt(helm, chart, "--set=a=b")
    text = done.out.decode()
    assert "keeps    ConfigMap/app: keepOriginal is true" in text
    assert "deletes" not in text
    assert "With Helm 3, the output therefore lacks the original" in done.err
    warning = "Helm 3 does not pass the hook Job/migrate to postrender, so the command below"
    assert f"  warning  {warning}" in " ".join(text.split("\n           "))
    last = "--post-renderer-args=--keep-original"
    assert f"--post-renderer postrender {GROUP} {IMAGE} {last}\n" in text
    assert "UNDECIDED PARTS" not in text
    assert "therefore lacks" not in Path("page.html").read_text("utf-8")
    helm.print("template --set=a=b --no-hooks", CHANGED)
    text = attempt(helm, chart, "--set=a=b", "--no-keep-original").out.decode()
    assert "deletes  ConfigMap/app." in text
    assert "  warning  Helm 3 does not pass the hook " in text
    assert "therefore lacks" in Path("page.html").read_text("utf-8")


def test_the_reason_of_a_hook_is_whole_although_its_name_has_a_full_stop(
    helm: Helm, chart: str
) -> None:
    with_hook(helm, "v3.22.0")
    helm.print("template", f"{GOOD}---\n{HOOK}".replace("name: migrate", "name: migrate. v2"))
    text = " ".join(attempt(helm, chart).out.decode().split())
    assert "the hook Job/migrate. v2 to postrender, so the command below keeps" in text


def test_two_charts_are_compared_under_one_release_name(helm: Helm, chart: str) -> None:
    make_chart(Path("next"), "next-shop")
    helm.print("template -- next-shop shop", GOOD)
    helm.print("template -- next-shop next", CHANGED)
    text = attempt(helm, chart, "next").out.decode()
    assert "from shop to next" in text
    assert "Deployment/web rolls" in text
    assert "helm upgrade --install next-shop next" in text


def test_two_charts_are_released_with_the_options_of_both(helm: Helm, chart: str) -> None:
    make_chart(Path("next"), "next-shop")
    helm.print("template --set=a.b=hunter2,c=d -- next-shop shop", GOOD)
    helm.print("template --set=a.b=hunter2,c=d -- next-shop next", CHANGED)
    text = attempt(helm, chart, "next", "--set=a.b=hunter2,c=d").out.decode()
    assert "helm upgrade --install next-shop next '--set=a.b=…' --post-renderer" in text
    assert "hunter2" not in text


def test_a_chart_that_needs_set_does_not_have_a_preview(helm: Helm, chart: str) -> None:
    helm.print("template --set=", GOOD)
    helm.answer("template", "echo 'Error: need it' >&2; exit 1")
    done = attempt(helm, chart, "--set=a=hunter2", "--set-string=c=hunter2")
    assert done.code == 0, done.err
    text = done.out.decode()
    assert "Without --set, helm fails or does not print manifests" in text
    assert "install web-shop shop '--set=a=…' '--set-string=c=…' --post-renderer" in text
    assert "hunter2" not in text + Path("page.html").read_text("utf-8")


@pytest.mark.parametrize("options", [(), ("--set=a=b",)])
def test_a_large_chart_fits_a_screen(helm: Helm, chart: str, options: tuple[str, ...]) -> None:
    helm.print("template --set=", CHANGED + MANY.replace("{a: b}", "{a: c}"))
    helm.print("template", GOOD + MANY)
    done = attempt(helm, chart, *options)
    lines = done.out.decode().splitlines()
    assert len(lines) <= 46
    assert "(see the output of postrender explain)" in done.out.decode()


def test_a_chart_without_config_maps_would_not_change(helm: Helm, chart: str) -> None:
    helm.print("template", "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n")
    done = attempt(helm, chart)
    assert (
        "shop does not contain a ConfigMap, so postrender would not change anything."
        in done.out.decode()
    )
    assert "Pass --secrets to include Secrets." in done.out.decode()


def test_a_chart_without_secrets_does_not_ask_for_the_passed_option(helm: Helm, chart: str) -> None:
    helm.print("template", "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n")
    text = attempt(helm, chart, "--secrets").out.decode()
    assert (
        "shop does not contain a ConfigMap or Secret, so postrender would not change anything."
        in text
    )
    assert "Pass --secrets" not in text


def test_secrets_are_redacted(helm: Helm, chart: str) -> None:
    helm.print("template", SECRET + DEPLOYMENT.replace("configMapRef", "secretRef"))
    done = attempt(helm, chart, "--secrets")
    text = done.out.decode()
    assert "Secret/app  -> a revision, and the original stays" in text
    assert "hunter2" not in text + Path("page.html").read_text("utf-8")


def test_names_cannot_write_escapes_to_the_terminal(helm: Helm, chart: str) -> None:
    helm.print("template", GOOD.replace("name: app", 'name: "app\\e[31m"'))
    assert b"\x1b" not in attempt(helm, chart).out


def test_earlier_manifests_and_the_attacher_are_not_used(helm: Helm, chart: str) -> None:
    Path("postrender.yaml").write_text(
        "naming: sequence\nstrict: true\nhistory: {previous: absent.yaml}\n"
    )
    helm.print("template", GOOD)
    done = attempt(helm, chart)
    assert done.code == 0, done.err
    assert "\nConfiguration: postrender.yaml\n" in done.out.decode()


IGNORE = "rules: [{match: {name: app}, strategy: ignore}]\n"


def arguments_of(text: str) -> list[str]:
    """The arguments of postrender in the command that try prints."""
    [line] = [line for line in text.splitlines() if line.startswith("  release  ")]
    words = shlex.split(line.removeprefix("  release  "))
    prefix = "--post-renderer-args="
    return [word.removeprefix(prefix) for word in words if word.startswith(prefix)]


def test_the_configuration_next_to_the_chart_is_used(helm: Helm, folder: Path) -> None:
    """The Argo CD plugin uses this file. helm, which starts in another folder, must be told."""
    make_chart(folder / "my shop", "web-shop")
    Path("my shop/postrender.yaml").write_text(IGNORE)
    helm.print("template", GOOD)
    done = attempt(helm, "my shop")
    assert (done.code, done.err) == (0, "")
    text = done.out.decode()
    assert "  app  keeps its name" in text
    assert "\nConfiguration: my shop/postrender.yaml\nPage: " in text
    assert "Configuration: my shop/postrender.yaml" in Path("page.html").read_text("utf-8")
    assert arguments_of(text) == ["--group=web-shop", "--config=my shop/postrender.yaml"]


def test_without_a_configuration_file_try_says_so(helm: Helm, chart: str) -> None:
    helm.print("template", GOOD)
    assert "\nNo configuration file\nPage: " in attempt(helm, chart).out.decode()


@pytest.mark.parametrize("where", ["charts/shop", "charts", "."])
def test_the_search_begins_in_the_folder_of_the_chart(helm: Helm, folder: Path, where: str) -> None:
    Path("charts").mkdir()
    make_chart(folder / "charts" / "shop", "web-shop")
    file = os.path.normpath(f"{where}/postrender.yaml")
    Path(file).write_text(IGNORE)
    helm.print("template", GOOD)
    text = attempt(helm, "charts/shop").out.decode()
    assert f"\nConfiguration: {file}\n" in text
    # helm in the working directory finds only the last of the three files.
    is_printed = f"--config={file}" in arguments_of(text)
    assert is_printed == (where != ".")


def test_a_chart_behind_a_link_has_the_configuration_of_its_folder(
    helm: Helm, folder: Path
) -> None:
    make_chart(folder / "real", "web-shop")
    Path("shop").symlink_to("real")
    Path("real/postrender.yaml").write_text(IGNORE)
    helm.print("template", GOOD)
    assert "\nConfiguration: real/postrender.yaml\n" in attempt(helm, "shop").out.decode()


def test_two_configurations_are_a_finding(helm: Helm, chart: str) -> None:
    Path("shop/postrender.yaml").write_text(IGNORE)
    Path("postrender.yaml").write_text("strict: true\n")
    helm.print("template", GOOD)
    done = attempt(helm, chart)
    text = done.out.decode()
    assert "  app  keeps its name" in text
    assert "--config=shop/postrender.yaml" in arguments_of(text)
    assert done.err.count("[config-unused]") == 1
    assert "postrender.yaml: try uses shop/postrender.yaml, which is nearer to Chart.yaml" in (
        done.err
    )
    explicit = attempt(helm, chart, "--config=postrender.yaml")
    assert explicit.err == ""
    assert "\nConfiguration: postrender.yaml\n" in explicit.out.decode()
    assert "--config=postrender.yaml" in arguments_of(explicit.out.decode())


def test_two_charts_with_two_configurations_are_a_finding(helm: Helm, chart: str) -> None:
    make_chart(Path("next"), "next-shop")
    Path("shop/postrender.yaml").write_text("strict: false\n")
    helm.print("template -- next-shop shop", GOOD)
    helm.print("template -- next-shop next", CHANGED)
    assert "[config-unused]" in attempt(helm, chart, "next").err
    Path("next/postrender.yaml").write_text("# the same\nstrict: false\n")
    assert attempt(helm, chart, "next").err == ""
    Path("next/postrender.yaml").write_text(IGNORE)
    done = attempt(helm, chart, "next")
    assert "shop has another configuration than next, and try uses" in done.err
    text = done.out.decode()
    assert "  app  keeps its name" in text
    assert "\nConfiguration: next/postrender.yaml\n" in text
    assert "shop has another configuration than next" in Path("page.html").read_text("utf-8")


def test_the_configuration_in_an_archive_is_a_finding(helm: Helm, chart: str) -> None:
    Path(chart, "postrender.yaml").write_text(IGNORE)
    subprocess.run(["tar", "czf", "shop.tgz", chart], check=True, timeout=TIMEOUT)
    helm.print("template", GOOD)
    done = attempt(helm, "shop.tgz")
    assert done.code == 0, done.err
    assert "shop.tgz: the archive contains postrender.yaml, but" in done.err
    assert "No configuration file" in done.out.decode()
    make_chart(Path("next"), "next-shop")
    assert "[config-unused]" in attempt(helm, "shop.tgz", "next").err


def test_the_first_findings_are_printed(helm: Helm, chart: str) -> None:
    notes = "".join(f"    postrender/unknown-{number}: x\n" for number in range(9))
    manifests = GOOD.replace("---\n", "---\n# Source: shop/templates/a.yaml\n")
    annotated = manifests.replace("  name: web\n", f"  name: web\n  annotations:\n{notes}")
    helm.print("template", annotated)
    lines = attempt(helm, chart, "--set", "a=b").err.splitlines()
    assert len(lines) == 6
    # The user does not see the output of helm, so a line in it would not help.
    assert lines[0].startswith("warning: shop with --set (shop/templates/a.yaml, Deployment/web) ")
    assert "try shows only 5 of 9 findings" in lines[-1]


BROKEN = {
    "a required value": (
        "Error: execution error at (shop/a.yaml:1:6): need it\n\nUse --debug flag",
        "shop: helm template failed: execution error at (shop/a.yaml:1:6): need it. Fix the chart",
    ),
    "a missing dependency": (
        "Error: You may need to run `helm dependency build` to fetch: common",
        "common. Run: helm dependency build shop.",
    ),
    "a bad release name": (
        'Error: release name "A": invalid release name',
        "Pass another name with --release.",
    ),
    "a values file that is not YAML": ("Error: failed to parse a.yaml: x", "Fix the values"),
    "a bad --set": ("Error: failed parsing --set data: EOF", "Write the option --set as"),
    "an unknown repository": ("Error: repo a not found", "Pass the path of the chart's folder"),
    "debug lines": (
        "helm.go:1: [debug] x\nError: two\nlines\nhelm.go:92: [debug] two",
        "helm template failed: two lines. Fix",
    ),
    "no message": ("", "helm template failed: exit code 1."),
    "another message": ("panic", "helm template failed: panic."),
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_message_of_helm_is_shown(helm: Helm, chart: str, name: str) -> None:
    message, expected = BROKEN[name]
    (helm.folder / "message").write_text(message)
    helm.answer("template", "cat message >&2; exit 1")
    assert_refused(attempt(helm, chart), expected)


def test_wrong_paths_of_charts(helm: Helm, chart: str) -> None:
    Path("values.yaml").touch()
    for name in "dcba":
        Path("charts", name).mkdir(parents=True)
        Path("charts", name, "Chart.yaml").touch()
    for path, expected in {
        "": "the path of the chart is empty. Pass the folder of a chart.",
        "charts": "does not contain Chart.yaml. Pass charts/a or charts/b or charts/c.",
        "absent": "absent: the path does not exist, expected a chart. Pass the",
        ".": "the folder does not contain Chart.yaml. Pass ./shop.",
        "shop/Chart.yaml": "expected a chart folder or a .tgz file. Pass the folder shop.",
        "values.yaml": "pass a values file with -f.",
        "./a/b": "./a/b: the path does not exist, expected a chart",
    }.items():
        assert_refused(attempt(helm, path), expected)
    assert_refused(attempt(helm, chart, "-f", "absent"), "absent: the values file does not exist")
    assert_refused(attempt(helm, chart, "--new-values=absent"), "the values file does not exist")
    assert_refused(attempt(helm, chart, "-f", "-"), "does not pass stdin to helm")
    assert_refused(attempt(helm, chart, "-f", "shop"), "shop: the values file is a folder")
    os.mkfifo("pipe")
    assert_refused(attempt(helm, chart, "-f", "pipe"), "pipe: the values file is a pipe")
    assert helm.calls == []


@pytest.mark.parametrize("path", ["oci://registry.example/shop", "repository/shop", "shop.tgz"])
def test_helm_finds_other_charts(helm: Helm, folder: Path, path: str) -> None:
    (folder / "shop.tgz").touch()
    helm.print("template", GOOD)
    assert attempt(helm, path).code == 0
    assert helm.calls == 2 * [f"template -- release {path}"]


def test_a_chart_without_manifests_is_an_error(helm: Helm, chart: str) -> None:
    helm.print("template", "---\n# Source: a\n")
    assert_refused(attempt(helm, chart), "shop: helm template does not print manifests")


def test_missing_helm_is_an_error(helm: Helm, chart: str) -> None:
    refused = attempt(helm, chart, HELM_BIN="", PATH=str(helm.folder / "empty"))
    assert_refused(refused, "postrender try needs helm, which is not on PATH. Install helm")
    refused = attempt(helm, chart, HELM_BIN="/absent/helm")
    assert_refused(refused, "postrender cannot start /absent/helm (No such file or directory)")


def test_an_unwritable_page_is_an_error(helm: Helm, chart: str) -> None:
    helm.print("template", GOOD)
    refused = run("", "try", chart, "--page=absent/page.html", variables=helm.variables)
    assert_refused(refused, "absent/page.html: postrender cannot write the page (No such file")


def test_only_an_earlier_page_is_overwritten(helm: Helm, chart: str) -> None:
    helm.print("template", GOOD)
    Path("values.yaml").write_text("color: red\n")
    refused = run("", "try", chart, "--page=values.yaml", variables=helm.variables)
    assert_refused(refused, "values.yaml: the file exists and is not an HTML page", "--page")
    assert Path("values.yaml").read_text() == "color: red\n"
    for _ in range(2):
        assert attempt(helm, chart).code == 0


def test_without_page_the_page_is_a_new_temporary_file(helm: Helm, chart: str) -> None:
    helm.print("template", GOOD)
    Path("tmp").mkdir()
    variables = {**helm.variables, "TMPDIR": str(Path("tmp").absolute())}
    done = run("", "try", chart, variables=variables)
    [page] = Path("tmp").absolute().iterdir()
    assert done.out.decode().endswith(f"Page: {page}\n")
    assert page.suffix == ".html"
    assert page.stat().st_mode & 0o077 == 0


BROWSER = '#!/bin/sh\necho "$1" > opened\n'


def test_open_needs_a_terminal(helm: Helm, chart: str) -> None:
    helm.print("template", GOOD)
    browser = Path("browser").absolute()
    browser.write_text(BROWSER)
    browser.chmod(0o755)
    done = attempt(helm, chart, "--open", BROWSER=str(browser))
    assert "postrender does not open the page, because stdout is not a terminal" in done.err
    assert not Path("opened").exists()
    ours, theirs = pty.openpty()
    subprocess.run(
        [*COMMAND, "try", chart, "--open", "--page=page.html"],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        env=environment(**helm.variables, BROWSER=str(browser)),
        timeout=TIMEOUT,
        check=True,
    )
    os.close(theirs)
    os.close(ours)
    assert Path("opened").read_text() == f"{Path('page.html').absolute().as_uri()}\n"


OTHER = """
---
apiVersion: v1
kind: ConfigMap
metadata: {name: session}
data: {key: "$(od -An -N8 -tx8 /dev/urandom)"}
---
apiVersion: v1
kind: Secret
metadata: {name: token}
stringData: {token: "$(date +%s)"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: worker}
spec:
  selector: {matchLabels: {app: worker}}
  template:
    metadata: {labels: {app: worker}, annotations: {started: "$(date +%s%N)"}}
    spec: {containers: [{name: w, image: w, envFrom: [{configMapRef: {name: session}}]}]}
"""
UNSTABLE = """
Risks
  unstable ConfigMap/session, Secret/token, Deployment/worker: two equal renders of the
           chart differ here. A value is random, or contains the time. Each helm upgrade
           changes the value, except if the chart keeps the value with lookup. Argo CD
           changes the value each time it renders the chart
  unstable Deployment/worker: two equal renders of the chart have different pod templates.
           Each helm upgrade, and each render of Argo CD, then starts new pods

"""


def test_values_that_differ_in_each_render_are_risks(
    helm: Helm, chart: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ConfigMap and a Secret differ, and a Deployment has another annotation in its template.

    The Secret contains the time in seconds, so try must wait before it renders again.
    """
    monkeypatch.setattr(trial, WAIT, REAL_WAIT)
    helm.answer("template", f"cat <<END\n{GOOD}{SECRET}{OTHER}END")
    text = attempt(helm, chart).out.decode()
    assert UNSTABLE in text
    page = Path("page.html").read_text("utf-8")
    assert "unstable-render" in page


def test_only_the_change_can_be_unstable(helm: Helm, chart: str) -> None:
    helm.answer("template --set=", f"cat <<END\n{GOOD.replace('välue', 'v$$')}END")
    helm.print("template", GOOD)
    text = attempt(helm, chart, "--set=a=b").out.decode()
    assert "  unstable ConfigMap/app: two equal renders" in text
    assert "unstable" not in attempt(helm, chart).out.decode()
