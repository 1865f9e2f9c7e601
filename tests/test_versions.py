"""The version matrix of the end-to-end tests: its data, its build files and its results."""

from __future__ import annotations

import re
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.e2e import matrix, programs
from tests.e2e.build import SOURCES, module_file
from tests.e2e.matrix import Result, record, results, summary
from tests.e2e.versions import Cell, cells, defaults, selected

ROOT = Path(__file__).resolve().parents[1]
REPORT = """
<testsuites><testsuite name="pytest" errors="1" failures="2" skipped="3" tests="10"/></testsuites>
"""


def name_of(cell: Cell) -> str:
    return cell.name


def test_names_are_unique_and_ci_runs_one_version() -> None:
    names = [cell.name for cell in cells()]
    assert len(names) == len(set(names))
    for title in {cell.title for cell in cells()}:
        versions = [cell for cell in cells() if cell.title == title]
        assert len([cell for cell in versions if cell.is_default]) == 1
        assert versions == sorted(versions, key=lambda cell: cell.numbers, reverse=True)


@pytest.mark.parametrize(
    "cell", [cell for cell in cells() if cell.folder not in ("", "pod")], ids=name_of
)
def test_the_build_file_of_a_version_requires_this_version(cell: Cell) -> None:
    [option] = module_file(cell)
    text = (SOURCES / cell.folder / option.removeprefix("-modfile=")).read_text("utf-8")
    assert re.search(rf"^(require|\t)\s*\S+ v{re.escape(cell.version)}$", text, re.M)


def test_each_build_file_belongs_to_a_version() -> None:
    files = {f"{file.parent.name}/{file.stem}" for file in SOURCES.glob("*/[0-9]*.mod")}
    known = {f"{cell.folder}/{cell.version}" for cell in cells() if cell.folder}
    assert files <= known


@pytest.mark.parametrize("cell", [cell for cell in cells() if cell.tests], ids=name_of)
def test_the_tests_of_a_cell_exist(cell: Cell) -> None:
    paths = [word for word in cell.tests if word.startswith("tests/")]
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_a_prefix_selects_cells_by_whole_numbers() -> None:
    assert [cell.version for cell in selected("helm-4.1")] == ["4.1.4"]
    assert {cell.title for cell in selected("helm")} == {"Helm 3", "Helm 4"}
    assert [cell.version for cell in selected("python-3.1")] == []
    assert [cell.version for cell in selected("argo-cd-3.2.1")] == []


def test_ci_builds_one_version_and_the_versions_with_a_second_name() -> None:
    names = [cell.also or cell.program for cell in defaults()]
    assert len(names) == len(set(names))
    assert {"helm3", "helm3.21", "helm4", "kubernetes", "argocd"} <= set(names)


def test_a_cell_replaces_the_version_of_ci(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POSTRENDER_E2E_HELM3", raising=False)
    monkeypatch.setenv("POSTRENDER_E2E", str(tmp_path))
    monkeypatch.setenv("POSTRENDER_E2E_CELL", "helm-3.21.4")
    own = tmp_path / "versions" / "helm-3.21.4" / "bin" / "helm3"
    own.parent.mkdir(parents=True)
    own.touch()
    assert programs.program("helm3") == str(own)
    assert programs.version("helm3") == (3, 21, 4)
    assert programs.program("helm4") == str(tmp_path / "bin" / "helm4")
    assert programs.version("helm4") == selected("helm-4")[0].numbers


def test_the_version_of_a_second_name() -> None:
    assert programs.version("helm3.21") == (3, 21, 4)
    assert programs.version("helm3") >= (3, 22)


def test_a_result_is_recorded_in_the_order_of_the_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix, "RESULTS", tmp_path / "results.yaml")
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    first, *_, last = [cell for cell in cells() if cell.program]
    result = summary(first, report, 12)
    assert (result.passed, result.failed, result.skipped, result.seconds) == (4, 3, 3, 12)
    assert result.word == "failed"
    passed = result._replace(failed=0)
    for cell in (last, first, last):
        record(cell.name, passed)
    assert list(results().items()) == [(first.name, passed), (last.name, passed)]
    assert passed.word == "passed"


def test_recorded_results_belong_to_cells() -> None:
    assert set(results()) <= {cell.name for cell in cells() if cell.tests}
    assert all(isinstance(result, Result) for result in results().values())


def test_all_cells_include_the_long_variants(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []

    def run(command: list[str], env: dict[str, str], **_: object) -> CompletedProcess[str]:
        assert env["POSTRENDER_E2E_CELL"] == "", "the programs of CI"
        commands.append(command)
        return CompletedProcess(command, returncode=1)

    monkeypatch.setattr("subprocess.run", run)
    monkeypatch.setattr(matrix, "build_defaults", lambda: None)
    monkeypatch.setattr(matrix, "cells", tuple)
    assert [matrix.main([]), matrix.main(["variants"]), matrix.main(["helm-9"])] == [1, 1, 1]
    assert [command[-3:] for command in commands] == 2 * [["-m", "in_matrix", "tests/e2e"]]
