"""The whole reports of `postrender explain` and `postrender try` for some of the golden cases.

`pytest --update-golden` rewrites the files reports.*. For `try`, helm is a fake that prints the
input of the case.
"""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from postrender.cli import main
from postrender.explain.first_look import preview_lines
from tests.golden_cases import FIXTURES, Case
from tests.sources.test_helm import Helm
from tests.update_golden import CheckFile

FOLDER = Path(__file__).resolve().parent
REPORTS = {
    "text": [
        "attacher-disabled-by-config",
        "attacher-job-mode-because-of-a-pre-upgrade-hook",
        "attacher-job-mode-because-of-waves",
        "attacher-mode-hook-by-config",
        "attacher-same-workload-in-two-namespaces",
        "attacher-wave-shared-by-all",
        "by-name-copied-to-other-namespaces",
        "by-name-in-a-flag-of-a-writer",
        "by-name-in-an-env-value",
        "by-name-of-a-spring-application",
        "by-name-role-with-update",
        "catalogue-certificates-of-gateways",
        "catalogue-kept-because-a-change-has-effects",
        "custom-path-rule-by-name-and-any-key",
        "embedded-pod-spec-off-by-default",
        "empty-configmap-is-ignored",
        "filled-by-another-program",
        "fixed-bare-pod",
        "fixed-job-only",
        "generate-name",
        "history-configmap-is-removed-from-the-chart",
        "history-keep-by-revision-history-limit",
        "history-of-a-secret",
        "history-one-object-with-and-without-namespace",
        "history-original-is-replaced",
        "history-original-of-the-last-output",
        "input-helm-4",
        "input-invalid-objects-without-references",
        "keep-original-by-annotation",
        "keep-original-by-rule",
        "mount-in-another-namespace-as-written",
        "mount-with-checksum-strategy",
        "opt-out-of-a-workload",
        "revision-of-kustomize-is-not-hashed-again",
        "secret-encrypted-by-sops",
        "secret-that-a-tool-finds-by-name",
        "secret-with-a-keyed-hash",
        "secret-without-the-option",
        "strategy-by-namespace-and-label",
        "strategy-checksum-next-to-rename",
        "unreferenced",
        "well-known-name-in-a-chart",
        "well-known-name-is-ignored",
    ],
    "json": [
        "attacher-same-workload-in-two-namespaces",
        "history-original-is-replaced",
        "mount-in-another-namespace-as-written",
        "secret-with-a-keyed-hash",
        "strategy-checksum-next-to-rename",
    ],
    "mermaid": [
        "generate-name",
        "kind-rollout-with-workload-ref",
        "mount-in-another-namespace-as-written",
        "revision-of-kustomize-is-not-hashed-again",
        "secret-with-a-keyed-hash",
        "strategy-by-namespace-and-label",
        "strategy-checksum-next-to-rename",
    ],
}
# A case and the options of `postrender try`. With --set, the ConfigMaps change.
TRIALS = [
    ("attacher-more-than-a-hundred-names", ""),
    ("attacher-more-than-a-hundred-names", "--set=level=debug"),
    ("catalogue-certificates-of-gateways", "--secrets"),
    ("kind-rollout-with-workload-ref", "--set=level=debug"),
    ("opt-out-of-a-workload", ""),
    ("secret-with-a-keyed-hash", ""),
    ("secret-without-the-option", ""),
    ("several-references-in-one-workload", "--set=level=debug"),
    ("strategy-ignore-by-annotation", ""),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()  # the program looks for postrender.yaml up to this folder
    for name in [name for name in os.environ if name.startswith("POSTRENDER_")]:
        monkeypatch.delenv(name)
    return tmp_path


@pytest.mark.golden
@pytest.mark.parametrize("form", REPORTS)
def test_reports_of_explain(
    form: str,
    golden_file: CheckFile,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    text = ""
    for case in map(case_of, REPORTS[form]):
        monkeypatch.chdir(case.path if case.needs_files else folder)
        stdin = SimpleNamespace(buffer=io.BytesIO(case.input), isatty=lambda: False)
        monkeypatch.setattr(sys, "stdin", stdin)
        assert main.run(["explain", f"--output={form}", *case.options]) == 0
        report = capfdbinary.readouterr().out.decode()
        text += f"#### {case.name}\n{report}\n"
    golden_file(FOLDER / f"reports.{form}", text)


@pytest.mark.parametrize(
    ("keep", "reason"), [(1, "not the newest revision"), (2, "not one of the 2 newest revisions")]
)
def test_the_reason_why_a_revision_is_not_retained(
    keep: int, reason: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    case = case_of("history-keep-lowered").path
    config = folder / "postrender.yaml"
    config.write_text(f"history: {{keep: {keep}}}\n")
    previous = f"--previous={case / 'previous.yaml'}"
    assert main.run(["explain", f"--config={config}", previous, str(case / "input.yaml")]) == 0
    assert reason in capfd.readouterr().out


@pytest.mark.golden
def test_reports_of_try(
    golden_file: CheckFile,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("postrender.cli.trial._wait_for_the_second_after", lambda _: None)
    (folder / "shop").mkdir()
    (folder / "shop" / "Chart.yaml").write_text("apiVersion: v2\nname: shop\nversion: 1.0.0\n")
    text = ""
    for name, options in TRIALS:
        helm = Helm(folder)
        monkeypatch.setenv("HELM_BIN", str(helm.program))
        manifests = case_of(name).input.decode()
        helm.print("version", "v4.3.1")
        helm.print("template --set=", manifests.replace("info", "debug").replace("'part", "'new"))
        helm.print("template", manifests)
        assert main.run(["try", "shop", "--page=page.html", *options.split()]) == 0
        report = capfdbinary.readouterr().out.decode().replace(str(folder), "")
        text += f"#### {name} {options}\n{report}\n"
    golden_file(FOLDER / "reports.try", text)


@pytest.mark.parametrize(
    ("lines", "other_lines", "shown", "left_out"),
    [
        (16, 100, 16, ""),
        (17, 100, 15, "  … 2 more lines on the page"),
        (30, 16, 30, ""),
        (31, 16, 29, "  … 2 more lines on the page"),
    ],
)
def test_a_long_preview_is_cut_to_the_height_of_a_screen(
    lines: int, other_lines: int, shown: int, left_out: str
) -> None:
    """One line is never replaced with a line about it. At least 15 lines are shown."""
    text = "".join(f"line {number}\n" for number in range(lines))
    expected = [f"  line {number}" for number in range(shown)]
    assert preview_lines(text, other_lines) == [*expected, *filter(None, [left_out])]


def case_of(name: str) -> Case:
    file = FIXTURES / f"{name}.yaml"
    return Case(file if file.exists() else FIXTURES / name)
