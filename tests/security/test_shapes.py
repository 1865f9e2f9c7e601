"""Nothing takes more than n log n time or memory, and what is a product by design has a limit."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from postrender.errors import Location, UserError
from postrender.yaml.document import parse_document
from tests import work
from tests.effort import IS_FUZZ
from tests.forked import run_fork
from tests.security.attack import CONFIG_MAP, WORKLOAD, Attack

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.random_inputs
def test_no_shape_takes_more_than_n_log_n() -> None:
    sizes = ("30", "200", str(Random().getrandbits(32))) if IS_FUZZ else ("13", "8", "7")
    arguments = [sys.executable, "-m", "tests.security.shapes", *sizes]
    done = subprocess.run(arguments, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


# What the count must see, in a function of a number.
QUADRATIC = {
    "loops": "for _ in range(n):\n  for _ in range(n): pass",
    "comprehensions": "[0 for _ in range(n) for _ in range(n)]",
    "copies": "items = [0] * n\nfor _ in range(n): list(items)",
    "slices": "items = [0] * n\nfor _ in range(n): items[1:]",
    "sums": "items = []\nfor _ in range(n): items = items + [0]",
    "displays": "items = [0] * n\nfor _ in range(n): (*items, 1)",
    "in a list": "items = [0] * n\nfor _ in range(n): 1 in items",
    "in a text": "text = 'a' * n\nfor _ in range(n): 'b' in text",
    "splits": "text = 'a ' * n\nfor _ in range(n): text.split()",
    "joins": "items = ['a'] * n\nfor _ in range(n): ''.join(items)",
    "sets": "items = [0] * n\nfor _ in range(n): set(items)",
    "searches": "text = 'a' * n\nfor _ in range(n): text.find('b')",
    "patterns": "import re\ntext = 'a' * n\nfor _ in range(n): re.search('b', text)",
}


@pytest.mark.parametrize("name", QUADRATIC)
def test_the_count_sees(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for function in work.FUNCTIONS:
        monkeypatch.setattr(f"builtins.{function.__name__}", function, raising=False)
    body = QUADRATIC[name].replace("\n", "\n  ")
    variables: dict[str, Any] = {}
    exec(compile(work.counted(ast.parse(f"def run(n):\n  {body}")), name, "exec"), variables)
    counts = []
    for size in (100, 200, 400):
        monkeypatch.setattr(work, "work", 0)
        variables["run"](size)
        counts.append(work.work)
    assert counts[2] - counts[1] > 3.5 * (counts[1] - counts[0])


def alias_list(count: int) -> str:
    """The output of the template `{{ range until 3000 }}- *e{{ end }}`."""
    entries = "        - *e\n" * count
    first = "        - &e {configMapRef: {name: web-config}}\n"
    workload = WORKLOAD.partition("      containers")[0]
    return f"{workload}      containers:\n      - name: web\n        envFrom:\n{first}{entries}"


def alias_containers(count: int) -> str:
    first = "      - &c {name: c, envFrom: [{configMapRef: {name: web-config}}]}\n"
    workload = WORKLOAD.partition("      containers")[0]
    return f"{workload}      containers:\n{first}" + "      - *c\n" * count


def merged_containers(count: int) -> str:
    merge = f"      - {{<<: [{', '.join(['*c'] * count)}]}}\n"
    return alias_containers(0) + merge


def nested_aliases(count: int) -> str:
    levels = (f"  x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 10)}]\n" for n in range(1, count))
    widget = "apiVersion: x.io/v1\nkind: Widget\nmetadata: {name: w}\nspec:\n"
    return f"{WORKLOAD}---\n{widget}  x0: &x0 [web-config, web-config]\n{''.join(levels)}"


def aliases_of_a_text(count: int) -> str:
    workload = alias_list(0).rpartition("        - &e")[0]
    text = f"        env:\n        - {{name: V, value: &x {'x' * 50 * count}}}\n"
    variables = "".join(f"        - {{name: V{number}, value: *x}}\n" for number in range(count))
    references = "        - configMapRef: {name: web-config}\n"
    return f"{workload}{references}{text}{variables}"


BYTES = 60 << 20
# Runs a command, and prints its exit code, memory in KiB and time. A process with the memory
# of pytest could not do this, because a new process begins with the peak of the one that starts it.
MEASURED = """
import os, sys
output = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[output])
_, status, usage = os.wait4(process, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss, usage.ru_utime)
"""


@pytest.mark.parametrize("command", ["render", "explain", "check", "diff"])
@pytest.mark.parametrize(
    ("build", "count", "problem"),
    [
        (alias_list, 3000, ""),
        (alias_containers, 3000, ""),
        (merged_containers, 3000, ""),
        (aliases_of_a_text, 3000, "the YAML aliases expand to more than"),
        (nested_aliases, 6, "the YAML aliases expand to more than 1"),
        (nested_aliases, 60, "the YAML aliases expand to more than 1"),
    ],
)
def test_a_short_text_with_many_aliases_needs_little_memory(
    build: Callable[[int], str], count: int, problem: str, command: str, tmp_path: Path
) -> None:
    (tmp_path / "input.yaml").write_text(f"{CONFIG_MAP}---\n{build(count)}")
    (tmp_path / "old.yaml").write_text(CONFIG_MAP)
    inputs = ["old.yaml", "input.yaml"] if command == "diff" else ["input.yaml"]
    done = measured(command, inputs, tmp_path)
    code, memory, seconds = map(float, done.stdout.split())
    # check finds containers that have one name.
    assert code in ([2] if problem else [0, command == "check"]), done.stderr
    assert problem in done.stderr
    assert memory * 1024 < BYTES
    assert seconds < 10


@pytest.mark.parametrize("command", ["render", "explain", "check", "diff"])
def test_a_long_name_or_key_is_not_multiplied(command: str, tmp_path: Path) -> None:
    """Each message and each changed field has the name of its object and its path."""
    long = "k" * 50_000
    containers = "".join(f"        - {{name: c{number}, image: 1}}\n" for number in range(500))
    items = "".join("  - {a: b}\n" for _ in range(500))
    (tmp_path / "old.yaml").write_text(CONFIG_MAP)
    (tmp_path / "input.yaml").write_text(
        f"{CONFIG_MAP}---\n{WORKLOAD.replace('{name: web}', f'{{name: {long}}}', 1)}{containers}"
        f"---\napiVersion: x.io/v1\nkind: Widget\nmetadata: {{name: w}}\nspec:\n  {long}:\n{items}"
    )
    inputs = ["old.yaml", "input.yaml"] if command == "diff" else ["input.yaml"]
    code, out, err = run_fork(
        [command, *inputs], b"", {**os.environ, "POSTRENDER_ATTACHER_IMAGE": "x:1"}, tmp_path
    )
    assert code in (0, 1), err
    assert len(out) + len(err) < 2_000_000


def test_directives_have_a_limit() -> None:
    text = "".join(f"%TAG !e{number}! tag:x,{number}:\n" for number in range(2000))
    with pytest.raises(UserError, match="more than 1,000 directives %TAG"):
        parse_document(f"{text}---\n{CONFIG_MAP}", Location("x"))


def measured(command: str, inputs: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-m", "postrender", command]
    arguments = [sys.executable, "-I", "-S", "-c", MEASURED, *program]
    environment = {**os.environ, "POSTRENDER_ATTACHER_IMAGE": "x:1", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [*arguments, *inputs],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        check=True,
    )


@pytest.mark.parametrize(
    "data",
    [
        "{a: " + "x" * 1_000_000 + "}",
        "\n  a: '" + "x" * 1_000_000 + "'",
        "\n  a: '{" + '"a": "b", ' * 100_000 + "}'",
        '\n  a: "' + "x" * 1_000_000 + 'é"',
        "\n  a: " + "a" * 1_000_000 + ": b",
        "\n  a: |\n    x\n" + "\n" * 1_000_000 + "    x",
    ],
    ids=["flow", "quoted", "json", "double-quoted", "word", "empty lines"],
)
def test_a_long_line_needs_little_memory(data: str, tmp_path: Path) -> None:
    text = CONFIG_MAP.replace("{greeting: hello}", data)
    assert len(text) > 1_000_000
    (tmp_path / "input.yaml").write_text(f"{text}---\n{WORKLOAD}")
    done = measured("render", ["input.yaml"], tmp_path)
    code, memory, _ = map(float, done.stdout.split())
    assert code in (0, 2), done.stderr
    assert memory * 1024 < BYTES


MANY = 1001


def many_maps(count: int, annotations: str) -> str:
    return "---\n".join(
        CONFIG_MAP.replace("{name: web-config}", f"{{name: m{number}, {annotations % number}}}")
        for number in range(count)
    )


def test_mounts_have_a_limit(attack: Attack) -> None:
    mounts = many_maps(150, "annotations: {postrender/mount-path: /etc/m%d}")
    containers = "\n".join(f"        - {{name: c{number}}}" for number in range(150))
    workload = f"{WORKLOAD.partition('        - {name')[0]}{containers}\n"
    done = attack.run("render", stdin=f"{mounts}---\n{workload}")
    assert (done.code, done.out) == (2, "")
    assert "150 ConfigMaps and Secrets request an auto-mount in Deployment/web" in done.err
    assert "more than 20,000" in done.err
    done = attack.run("render", stdin=f"{mounts}---\n{WORKLOAD}")
    assert done.code == 0, done.err


def test_names_without_a_namespace_have_a_limit(attack: Attack) -> None:
    maps = "---\n".join(
        CONFIG_MAP.replace("{name: web-config}", f"{{name: web-config, namespace: n{number}}}")
        for number in range(400)
    )
    body = "envFrom: [{configMapRef: {name: web-config}}]"
    job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j%d}\nspec: {template: {spec: "
    jobs = "---\n".join(
        job % number + f"{{containers: [{{name: c, {body}}}]}}}}}}\n" for number in range(400)
    )
    done = attack.run("render", stdin=f"{maps}---\n{jobs}")
    assert (done.code, done.out) == (2, "")
    assert "can mean more than 100,000 of these objects" in done.err


@pytest.mark.parametrize("untrusted", [(), ("--untrusted",)])
def test_a_chain_of_configurations_has_a_limit(attack: Attack, untrusted: tuple[str, ...]) -> None:
    for number in range(60):
        name = f"c{number}.yaml" if number else "postrender.yaml"
        attack.write(name, f"extends: c{number + 1}.yaml\n")
    done = attack.run("render", "--no-attacher", *untrusted)
    assert (done.code, done.out) == (2, "")
    assert "more than 50 files in a chain of `extends`" in done.err


@pytest.mark.parametrize(
    ("key", "config"),
    [
        ("rules", "rules:\n" + "- {match: {name: a*}, strategy: ignore}\n" * MANY),
        ("references", "references:\n" + "- {kind: A, path: spec.a}\n" * MANY),
        ("leftovers.ignore", "leftovers:\n  ignore:\n" + "  - {name: a*}\n" * MANY),
    ],
)
def test_a_list_of_conditions_has_a_limit(attack: Attack, key: str, config: str) -> None:
    attack.write("postrender.yaml", config)
    done = attack.run("render", "--no-attacher")
    assert (done.code, done.out) == (2, "")
    assert f"the configuration has 1,001 entries in {key}, expected at most 1,000" in done.err


def test_too_little_memory_is_a_message(tmp_path: Path) -> None:
    (tmp_path / "in.yaml").write_text(many_maps(20_000, "labels: {a: b%d}"))
    limited = (
        "import resource, sys\n"
        "from postrender.__main__ import main\n"
        "import postrender.cli.render\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + (30 << 20),) * 2)\n"
        "sys.argv = ['postrender', 'render', 'in.yaml', '--no-attacher']\n"
        "main()\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", limited],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: the input is too large for the memory that postrender may use. Raise the memory "
        "limit of the container or process, or split the input.\n"
    )


NESTINGS = {
    "lists": ("[", "]"),
    "mappings": ("{a: ", "}"),
    "both": ("[{a: ", "}]"),
}
INPUTS = (
    ("render", "deep.yaml"),
    ("explain", "deep.yaml"),
    ("explain", "--output=json", "deep.yaml"),
    ("check", "deep.yaml"),
    ("diff", "old.yaml", "deep.yaml"),
    ("diff", "other.yaml", "deep.yaml"),
    ("diff", "--format=html", "other.yaml", "deep.yaml"),
    ("diff", "--format=json", "other.yaml", "deep.yaml"),
    ("diff", "--format=markdown", "other.yaml", "deep.yaml"),
    ("render", "--previous=deep.yaml", "old.yaml"),
    ("render", "--config=deep.yaml", "old.yaml"),
)


@pytest.mark.parametrize("levels", [180, 100_000])
@pytest.mark.parametrize("nesting", NESTINGS)
def test_deep_nesting_works_or_is_a_message(attack: Attack, nesting: str, levels: int) -> None:
    """Of a document that is read, and of one with far too many levels."""
    start, end = NESTINGS[nesting]
    depth = levels // start.count("a") // 2 if nesting == "both" else levels
    objects = f"{CONFIG_MAP}---\n{WORKLOAD}"
    for name, leaf in (("deep", "web-config"), ("other", "other")):
        value = start * depth + leaf + end * depth
        deep = f"---\napiVersion: x.io/v1\nkind: W\nmetadata: {{name: w}}\nspec: {value}\n"
        attack.write(f"{name}.yaml", f"{objects}  x: {value}\n{deep}")
    attack.write("old.yaml", objects)
    for arguments in INPUTS:
        done = attack.run(*arguments)
        assert done.code in (0, 1, 2), (arguments, done.err[-3000:])
        if done.code and "--config=deep.yaml" not in arguments and arguments[0] != "check":
            assert levels > 200
            assert "more than 200 nested levels" in done.err


SMALL = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n"


@pytest.mark.parametrize("levels", [180, 300, 600, 900, 950, 990, 20_000])
def test_a_deep_text_of_a_config_map_is_compared(attack: Attack, levels: int) -> None:
    """The JSON parser of Python reads more levels than a comparison of the values."""
    for name, leaf in (("old", "1"), ("new", "2")):
        text = '{"a":' * levels + leaf + "}" * levels
        attack.write(f"{name}.yaml", f"{SMALL}data: {{app.json: '{text}'}}\n")
    for form in ("text", "html", "json", "markdown"):
        done = attack.run("diff", f"--format={form}", "--exit-code", "old.yaml", "new.yaml")
        assert done.code == 4, done.err[-3000:]
