"""`extends`: one central file of defaults, and a file with additions next to each chart."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from postrender.config.find import Source, discovered_file, explicit_file, merge_extended
from postrender.config.load import load_config
from postrender.errors import UserError
from tests.cli.test_processes import environment
from tests.forked import run_fork

DEFAULTS = """\
attacher:
  image: registry.example.com/postrender:1
  timeout: 120
  podTemplate:
    spec:
      containers: [{name: attach, resources: {limits: {memory: 64Mi}}}]
      tolerations: [{key: spot}]
keepOriginal: true
rules:
  - match: {annotations: {example.com/config-revisions: "true"}}
    strategy: rename
  - strategy: ignore
"""
CHART = """\
extends: ../../defaults.yaml
strict: true
keepOriginal: null
attacher:
  timeout: 90
  podTemplate:
    spec:
      containers: [{name: attach, image: other}, {name: log}]
      tolerations: []
rules:
  - match: {name: web-env}
    strategy: checksum
  - strategy: ignore
"""


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    """Return the configuration of a chart in a repository with a file of defaults."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "defaults.yaml").write_text(DEFAULTS)
    (tmp_path / "charts" / "web").mkdir(parents=True)
    file = tmp_path / "charts" / "web" / "postrender.yaml"
    file.write_text(CHART)
    return file


def discovered(file: Path, *, is_untrusted: bool = False) -> Source:
    repository = str(file.parents[2])
    return discovered_file(str(file), repository, is_untrusted=is_untrusted)


def refused(source: Source) -> str:
    with pytest.raises(UserError) as raised:
        load_config(source)
    return str(raised.value)


EVERY_TRUST = ("explicit", "discovered", "untrusted")


def source_of(file: Path, trust: str) -> Source:
    if trust == "explicit":
        return explicit_file(str(file))
    return discovered(file, is_untrusted=trust == "untrusted")


@pytest.mark.parametrize("trust", EVERY_TRUST)
def test_values_are_merged(chart: Path, trust: str) -> None:
    values = load_config(source_of(chart, trust))
    assert values["strict"] is True
    assert values["keepOriginal"] is None
    assert values["attacher"]["image"] == "registry.example.com/postrender:1"
    assert values["attacher"]["timeout"] == 90
    assert [rule["strategy"] for rule in values["rules"]] == ["checksum", "ignore", "rename"]
    assert values["attacher"]["podTemplate"]["spec"] == {
        "containers": [
            {"name": "attach", "resources": {"limits": {"memory": "64Mi"}}, "image": "other"},
            {"name": "log"},
        ],
        "tolerations": [],
    }


@pytest.mark.parametrize("name", ["[a]", "{a: b}", "1", "null"])
def test_items_without_a_text_as_name_are_not_merged(chart: Path, name: str) -> None:
    template = "attacher: {podTemplate: {spec: {volumes: [{name: %s}]}}}\n"
    (chart.parents[2] / "defaults.yaml").write_text(template % name)
    chart.write_text(f"extends: ../../defaults.yaml\n{template % 'tmp'}")
    spec = load_config(discovered(chart))["attacher"]["podTemplate"]["spec"]
    assert spec["volumes"] == [{"name": "tmp"}]


def test_a_file_may_extend_a_file_that_extends_another(chart: Path) -> None:
    (chart.parents[2] / "company.yaml").write_text("namespace: prod\nstrict: false\n")
    (chart.parents[2] / "defaults.yaml").write_text("extends: company.yaml\nallowEmpty: true\n")
    values = load_config(discovered(chart))
    assert (values["namespace"], values["strict"], values["allowEmpty"]) == ("prod", True, True)


def test_both_files_may_be_objects(chart: Path) -> None:
    head = "apiVersion: postrender/v1alpha1\nkind: Postrender\nspec:\n"
    chart.write_text(f"{head}  extends: ../../defaults.yaml\n")
    (chart.parents[2] / "defaults.yaml").write_text(f"{head}  strict: true\n")
    assert load_config(discovered(chart))["strict"] is True


MISTAKES = {
    "extends: ../../absent.yaml": "/charts/web/postrender.yaml:1 extends: the extended file ",
    "extends: ../../absent": "/absent does not exist. Fix the path, which is relative",
    "extends: ../../": " is a folder. Fix the path, which is relative",
    "strict: true\nextends: ../../folder.yaml": "postrender.yaml:2 extends: the extended file ",
    "extends: postrender.yaml": "postrender.yaml:1 extends: the key `extends` leads back to",
    "extends: [a]": "expected a string",
    "extends: ../../broken.yaml": '/broken.yaml:2 stric: the key is unknown. Use "strict" instead',
    'extends: "../../\\0.yaml"': "/charts/web/postrender.yaml:1 extends: the extended file ",
    "extends: ../../cycle.yaml": "/cycle.yaml:2 extends: the key `extends` leads back to an",
}


@pytest.mark.parametrize("text", MISTAKES)
@pytest.mark.parametrize("trust", EVERY_TRUST)
def test_a_mistake_has_a_line(chart: Path, text: str, trust: str) -> None:
    root = chart.parents[2]
    (root / "folder.yaml").mkdir()
    (root / "broken.yaml").write_text("secrets: true\nstric: true\n")
    (root / "cycle.yaml").write_text("secrets: true\nextends: ./charts/web/postrender.yaml\n")
    chart.write_text(text)
    message = refused(source_of(chart, trust))
    assert MISTAKES[text] in message
    if "cycle.yaml" in text:
        assert f"({chart} -> {root}/cycle.yaml -> {chart})" in message


def test_an_explicit_file_may_extend_any_file(chart: Path, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside.conf"
    outside.write_text("logFile: log\n")
    chart.write_text(f"extends: {outside}\n")
    assert load_config(explicit_file(str(chart)))["logFile"] == "log"


# Properties of the merge


def test_the_merge_keeps_its_arguments() -> None:
    base: dict[str, Any] = {"rules": [1], "attacher": {"image": "a"}}
    own: dict[str, Any] = {"rules": [2], "attacher": {"mode": "job"}}
    merged = merge_extended(base, own)
    assert merged == {"rules": [2, 1], "attacher": {"image": "a", "mode": "job"}}
    assert (base["rules"], own["rules"], base["attacher"]) == ([1], [2], {"image": "a"})


@pytest.mark.parametrize(("base", "own"), [([1], None), ([1], {"a": 1}), ({"a": 1}, [1])])
def test_a_value_of_another_type_replaces_the_value(base: Any, own: Any) -> None:
    assert merge_extended({"rules": base}, {"rules": own}) == {"rules": own}


def test_an_item_of_both_files_is_in_the_list_once() -> None:
    assert merge_extended({"rules": [1, 2]}, {"rules": [2, 3]}) == {"rules": [2, 3, 1]}


# config show


def show(chart: Path, *arguments: str) -> list[str]:
    variables = environment(POSTRENDER_ATTACHER_IMAGE="", POSTRENDER_GROUP="")
    code, out, err = run_fork(["config", "show", *arguments], b"", variables, chart.parent)
    assert (code, err) == (0, b"")
    return out.decode().splitlines()


def test_the_source_of_each_value_is_shown(chart: Path) -> None:
    defaults = f"{chart.parents[2]}/defaults.yaml"
    lines = show(chart)
    assert lines[1] == f"# extends {defaults}"
    assert f"strict: true  # {chart}:2" in lines
    assert f"  image: registry.example.com/postrender:1  # {defaults}:2" in lines
    assert f"  timeout: 90  # {chart}:5" in lines
    assert f"rules:  # {chart}:11, {defaults}:10" in lines
    assert f"  podTemplate:  # {chart}:7, {defaults}:5" in lines
    assert 'namespace: ""  # default' in lines
    assert "strict: false  # --no-strict" in show(chart, "--no-strict")


def test_an_absolute_path_in_the_repository_may_be_extended(chart: Path) -> None:
    chart.write_text(f"extends: {chart.parents[2]}/defaults.yaml\n")
    assert load_config(discovered(chart))["attacher"]["timeout"] == 120


def test_the_documented_files_are_valid(tmp_path: Path) -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "company.md"
    blocks = re.findall(r"^```yaml\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)
    chart, defaults, *recipes, _workload, opt_out = blocks
    (tmp_path / "charts" / "shop").mkdir(parents=True)
    (tmp_path / "postrender-defaults.yaml").write_text(defaults)
    file = tmp_path / "charts" / "shop" / "postrender.yaml"
    file.write_text(chart)
    values = load_config(explicit_file(str(file)))
    assert [sorted(rule["match"]) for rule in values["rules"]] == [["name"], ["labels"]]
    for recipe in recipes:
        file.write_text(recipe)
        assert load_config(explicit_file(str(file)))["rules"][-1]["strategy"] == "ignore"
    file.write_text(opt_out)
    assert load_config(explicit_file(str(file)))["rules"][0]["rewriteReferences"] is False


def test_an_extended_file_that_cannot_be_read_is_corrected_in_extends(chart: Path) -> None:
    (chart.parents[2] / "defaults.yaml").write_bytes(b"\xff")
    message = refused(explicit_file(str(chart)))
    assert (
        "defaults.yaml: postrender cannot read the configuration (the file is not UTF-8)."
        in message
    )
    assert f"Check the file, or fix `extends` in {chart}." in message
    assert "--config" not in message
