"""`postrender check`: which files belong together, exit codes, and formats for programs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from postrender.cli import main
from postrender.diff.risks import misspelt
from postrender.kubernetes.hashing import canonical_json
from postrender.text import packaged_text

Check = Callable[..., tuple[int, str, str]]
CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: app}
data: {key: MQ==}
"""
WORKER = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: worker}
spec:
  selector: {matchLabels: {app: w}}
  template:
    metadata: {labels: {app: w}}
    spec:
      containers:
      - name: c
        image: x
        env: [{name: A, valueFrom: {configMapKeyRef: {name: app, key: KEY}}}]
"""
GOOD, BAD = WORKER.replace("KEY", "key"), WORKER.replace("KEY", "nope")
TEMPLATE = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ .Release.Name }}\n"


@pytest.fixture
def check(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> Check:
    """Return a function that writes files, runs `check` and returns code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()

    def call(*arguments: str, **files: str) -> tuple[int, str, str]:
        for name, text in files.items():
            path = tmp_path / (name.replace("__", "/") + ".yaml")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        code = main.run(["check", *arguments])
        return code, *capfd.readouterr()

    return call


def places(err: str) -> list[tuple[str, str]]:
    return re.findall(r"^(?:error|warning): ([^:\s]+).*\[([a-z-]+)\]$", err, re.M)


@pytest.mark.parametrize("names", [["app"], ["app/a.yaml", "app/b.yaml"], ["app/b.yaml", "app"]])
def test_references_across_files_are_checked(check: Check, names: list[str]) -> None:
    files = {"app__a": CONFIG, "app__b": BAD}
    code, out, err = check(*names, **files)
    assert (code, out) == (1, "")
    assert places(err) == [("app/b.yaml", "broken-reference")]
    assert check(*names, app__b=GOOD) == (0, "", "")


def test_the_same_object_in_two_folders_means_two_applications(check: Check) -> None:
    other = CONFIG.replace("key:", "nope:")
    files = {"dev__a": CONFIG, "dev__b": BAD, "prod__a": other, "prod__b": BAD}
    code, _, err = check(".", **files)
    assert (code, places(err)) == (1, [("./dev/b.yaml", "broken-reference")])


def test_the_same_object_in_two_files_of_a_folder_means_two_applications(check: Check) -> None:
    files = {"dev": f"{CONFIG}---\n{GOOD}", "prod": f"{CONFIG}---\n{BAD}"}
    code, _, err = check("dev.yaml", "prod.yaml", **files)
    assert (code, places(err)) == (1, [("prod.yaml", "broken-reference")])


@pytest.mark.parametrize(
    "unreadable",
    [
        *("kind: [", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: \0}"),
        *(TEMPLATE, TEMPLATE.replace("{{ .Release.Name }}", '"{{ .Release.Name }}-web"')),
        "{{- if .Values.web }}\napiVersion: apps/v1\nkind: Deployment\n{{- end }}\n",
    ],
)
@pytest.mark.parametrize("other", [GOOD, BAD])
def test_an_unreadable_file_has_its_own_exit_code(
    check: Check, unreadable: str, other: str
) -> None:
    code, _, err = check("a.yaml", "b.yaml", "c.yaml", a=CONFIG, b=unreadable, c=other)
    assert code == 2
    assert places(err) == ([("c.yaml", "broken-reference")] if other == BAD else [])
    assert err.count("error: b.yaml:") == 1
    if "{{" in unreadable:
        assert "looks like a Helm template that helm has not rendered" in err


def test_every_document_is_read(check: Check) -> None:
    """`render` parses only what it may change, but the API server reads a Service too."""
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: a\nspec: {}\n"
    code, _, err = check("a.yaml", a=CONFIG + "---\n" + service)
    assert code == 2
    assert "error: a.yaml:9 (document 2): the document is not valid YAML (a { is not" in err


def test_other_errors_have_the_same_exit_code(check: Check) -> None:
    assert check("missing.yaml")[0] == 2
    assert check("--config=missing.yaml", "a.yaml", a=GOOD)[0] == 2
    code, _, err = check("chart", chart__Chart="name: a\n", chart__templates__a=TEMPLATE)
    assert code == 2
    assert "helm template NAME chart | postrender check" in err


def test_a_chart_in_a_folder_has_its_own_path(check: Check) -> None:
    files = {"web__Chart": "name: a\n", "web__templates__a": TEMPLATE, "rendered__a": CONFIG}
    code, _, err = check(".", **files)
    assert code == 2
    assert err.startswith("error: ./web is a chart folder, expected rendered manifests. Render")


def test_a_template_in_data_is_not_an_unrendered_template(check: Check) -> None:
    data = 'data:\n  key: "{{ .Release.Name }}"\n  rules: |\n    {{ range . }}\n'
    assert check("a.yaml", a=CONFIG.partition("data:\n")[0] + data)[0] == 0


def test_a_values_file_is_told_apart(check: Check) -> None:
    code, _, err = check("a.yaml", "values.yaml", a=CONFIG, values="replicaCount: 3\n")
    assert code == 0
    assert places(err) == [("values.yaml", "no-objects")]


EMPTY = {"a": "", "b": "# a comment\n---\n", "c": "\n---\n---\n"}


@pytest.mark.parametrize("names", [["a.yaml"], ["b.yaml"], ["c.yaml"], ["."], ["empty"], [*"ab."]])
def test_an_input_without_content_is_an_error(
    check: Check, tmp_path: Path, names: list[str]
) -> None:
    (tmp_path / "empty").mkdir()
    names = [f"{name}.yaml" if name in "ab" else name for name in names]
    code, _, err = check(*names, **EMPTY)
    place = f"{names[0]}: " if len(names) == 1 else ""
    assert (code, err) == (
        2,
        f"error: {place}the input is empty. Check the command that wrote the files, or pass "
        "--allow-empty.\n",
    )
    assert check("--allow-empty", *names) == (0, "", "")
    (tmp_path / "empty" / "app.yaml").write_text(CONFIG)
    assert check("empty", *names)[0] == 0


@pytest.mark.parametrize("text", ["replicaCount: 3\n", "hello world\n", "- a\n", "3\n"])
def test_an_input_without_objects_is_an_error(check: Check, text: str) -> None:
    code, _, err = check("values.yaml", "b.yaml", values=text, b="")
    assert (code, places(err)) == (1, [("values.yaml", "no-objects")])
    assert check("--allow-empty", "values.yaml")[0] == 0


@pytest.mark.parametrize("strategy", ["rename", "checksum", "ignore"])
def test_a_strategy_of_a_secret_needs_the_setting(check: Check, strategy: str) -> None:
    annotations = f"annotations: {{postrender/strategy: {strategy}}}"
    secret = CONFIG.replace("ConfigMap", "Secret").replace("\ndata:", "\nstringData:")
    secret = secret.replace("{name: app}", f"{{name: app, {annotations}}}")
    code, _, err = check("a.yaml", a=f"{CONFIG}---\n{secret}")
    expected = [] if strategy == "ignore" else [("a.yaml", "misplaced-annotation")]
    assert (code, places(err)) == (len(expected), expected)
    assert ("a.yaml:8 " in err) == bool(expected)
    assert check("--secrets", "a.yaml")[2].count("misplaced-annotation") == 0


INGRESS = """\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec:
  rules:
  - host: a
    http:
      paths:
      - path: /
        pathType: Prefix
        backend: {service: {name: web, port: {number: 81}}}
"""
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n"


@pytest.mark.parametrize(
    ("text", "line", "path"),
    [
        (BAD, 12, "spec.template.spec.containers[0].env[0]"),
        (
            f"apiVersion: v1\nkind: List\nitems:\n- {BAD.replace(chr(10), chr(10) + '  ').strip()}",
            15,
            "spec.template.spec.containers[0].env[0]",
        ),
        (f"{SERVICE}---\n{INGRESS}", 14, "spec.rules[0].http.paths[0]"),
    ],
)
def test_a_broken_reference_has_its_place(check: Check, text: str, line: int, path: str) -> None:
    code, out, _ = check("-o", "json", "a.yaml", "b.yaml", a=CONFIG, b=text)
    [found] = [one for one in json.loads(out)["findings"] if one["code"] == "broken-reference"]
    assert (code, found["path"], found["line"]) == (1, path, line)


MISSPELT = GOOD.replace("{name: app, key: key}", "{name: NAME, key: key}")


@pytest.mark.parametrize(
    ("unused", "name"),
    [
        *[("web-config", name) for name in ("web-confg", "web-ocnfig", "web-configg", "webconfig")],
        *[("web-config", name) for name in ("wab.config", "veb-config", "web-conf")],
        # Words that differ in a letter, or in a plural, are words of their own.
        *[("tenanta", "tenantb"), ("app-north", "app-forth"), ("kafka-reader", "kafka-header")],
        *[("shop-faster", "shop-master"), ("web-config-blue", "web-config-blues")],
        *[("web-configs", "web-config"), ("web-config", "web-configs"), ("config-a", "configs-a")],
        *[("web-prod", "web-prof"), ("app-eu", "app-us"), ("web-1", "web-2"), ("web-a", "web-b")],
        *[("web-config1", "web-config2"), ("web-config", "web-config1"), ("logging", "login")],
    ],
)
def test_a_name_that_is_most_likely_misspelt_is_a_warning(
    check: Check, unused: str, name: str
) -> None:
    is_misspelt = name in ("web-confg", "web-ocnfig", "web-configg", "webconfig")
    config, worker = CONFIG.replace("app", unused), MISSPELT.replace("NAME", name)
    code, _, err = check("a.yaml", "b.yaml", a=config, b=worker)
    assert code == 0
    assert places(err) == ([("b.yaml", "broken-reference")] if is_misspelt else [])
    assert ("b.yaml:12 " in err) == is_misspelt
    assert (
        f"no ConfigMap/{name}, and nothing uses ConfigMap/{unused}, which" in err
    ) == is_misspelt


@pytest.mark.parametrize(
    ("unused", "worker", "more"),
    [
        # The ConfigMap may be missing, has a user, or is of another namespace or kind.
        (CONFIG, MISSPELT.replace("key: key", "key: key, optional: true"), ""),
        (CONFIG, MISSPELT, GOOD.replace("{name: app, key: key}", "{name: web-config, key: key}")),
        (CONFIG, MISSPELT, "kind: Other\napiVersion: a/v1\nspec: {a: [cm/web-config]}"),
        (CONFIG.replace("app", "app, namespace: a"), MISSPELT, ""),
        (CONFIG.replace("kind: ConfigMap", "kind: Secret"), MISSPELT, ""),
        (CONFIG, MISSPELT, CONFIG.replace("app", "web-confg")),
    ],
)
def test_a_name_that_can_be_right_is_no_warning(
    check: Check, unused: str, worker: str, more: str
) -> None:
    unused, worker = (
        unused.replace("{name: app", "{name: web-config"),
        worker.replace("NAME", "web-confg"),
    )
    if "namespace" in unused:
        worker = worker.replace("{name: worker}", "{name: worker, namespace: b}")
    assert check("a.yaml", a=f"{unused}---\n{worker}---\n{more}")[::2] == (0, "")
    items = "".join(
        f"- {text.strip()}\n".replace("\n", "\n  ").rstrip() + "\n"
        for text in (unused, worker, more)
        if text
    )
    assert check("b.yaml", b=f"apiVersion: v1\nkind: List\nitems:\n{items}")[::2] == (0, "")


def test_many_names_cost_little(check: Check) -> None:
    letters = [chr(97 + n // 676) + chr(97 + n // 26 % 26) + chr(97 + n % 26) for n in range(400)]
    texts = [CONFIG.replace("app", f"web-{one}config") for one in letters]
    texts += [MISSPELT.replace("NAME", f"app-{one}config") for one in letters]
    assert check("a.yaml", a="---\n".join(texts))[0] == 0


def test_similar_names_are_searched_once(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    searches: list[object] = []
    replaced: list[object] = []

    class Text(str):
        __slots__ = ()

        def __contains__(self, name: object) -> bool:
            searches.append(name)
            return super().__contains__(str(name))

        def replace(self, *names: Any) -> str:
            replaced.append(names)
            return super().replace(*names)

    monkeypatch.setattr(misspelt, "canonical_json", lambda data: Text(canonical_json(data)))
    names = [f"settings{letter}" for letter in "abcdefghijklmnopqrtuvwxyz"]
    texts = [CONFIG.replace("app", "settings"), *(MISSPELT.replace("NAME", name) for name in names)]
    texts.append("kind: Other\napiVersion: a/v1\nspec: {a: settings}")
    # The names contain the name of the ConfigMap, so the texts can need another search.
    assert check("a.yaml", a="---\n".join(texts))[::2] == (0, "")
    assert len(searches) == len(texts)
    assert len(replaced) == 20 * len(texts)
    assert misspelt.is_typo("settings", "settingsx")
    assert not misspelt.is_typo("settings", "settings\u4e00")


def test_the_json_conforms_to_the_schema(check: Check) -> None:
    code, out, err = check("-o", "json", ".", a=CONFIG, b=BAD, c=TEMPLATE, values="a: 1\n")
    assert (code, err) == (2, "")
    document: Any = json.loads(out)
    jsonschema.validate(document, json.loads(packaged_text("cli/check.schema.json")))
    found = [(one["file"], one["severity"], one["code"]) for one in document["findings"]]
    assert found == [
        ("./b.yaml", "error", "broken-reference"),
        ("./c.yaml", "error", "unreadable"),
        ("./values.yaml", "warning", "no-objects"),
    ]
    assert json.loads(check("-o", "json", "a.yaml", a=CONFIG)[1])["findings"] == []


def test_the_sarif_log_has_what_code_scanning_needs(check: Check) -> None:
    code, out, _ = check("-o", "sarif", "a.yaml", "b c.yaml", a=CONFIG, **{"b c": BAD})
    assert code == 1
    document: Any = json.loads(out)
    [run] = document["runs"]
    [result] = run["results"]
    assert document["version"] == "2.1.0"
    assert run["tool"]["driver"]["name"] == "postrender"
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == {result["ruleId"]}
    [location] = result["locations"]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "b%20c.yaml"
    assert location["physicalLocation"]["region"]["startLine"] > 0
    assert result["message"]["text"].endswith(".")


def test_the_sarif_log_has_a_rule_for_an_unreadable_input(check: Check) -> None:
    _, out, _ = check("-o", "sarif", "a.yaml", a="{{ if .Values.web }}\nkind: ConfigMap\n")
    [run] = json.loads(out)["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["unreadable"]
    assert [result["ruleId"] for result in run["results"]] == ["unreadable"]


def test_the_log_file_has_the_findings_of_every_format(check: Check, tmp_path: Path) -> None:
    for form in ("text", "json"):
        check("-o", form, "--log-file", f"{form}.log", "a.yaml", a=f"{CONFIG}---\n{BAD}")
        assert "[broken-reference]" in (tmp_path / f"{form}.log").read_text()


def test_a_rule_that_matches_no_object_of_any_input_is_a_note(check: Check) -> None:
    config = (
        "rules: [{match: {name: app}, strategy: ignore}, {match: {name: b}, strategy: ignore}]\n"
    )
    files = {"dev__a": CONFIG, "prod__a": CONFIG}
    code, _, err = check(".", **files, postrender=config)
    assert (code, re.findall(r"^note: .*(rules\[\d\]) does not match", err, re.M)) == (
        0,
        ["rules[1]"],
    )
    other = CONFIG.replace("name: app", "name: b")
    assert "idle-rule" not in check(".", **files, prod__b=f"---\n{other}")[2]
