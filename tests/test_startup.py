"""The imports of a run, and the helpers that keep its start short.

Most of the time that a user waits is start-up.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import site
import subprocess
import sys
import typing
from pathlib import Path

import pytest

from postrender.records import NamedTuple
from tests.cli.test_processes import GOOD

ROOT = Path(__file__).resolve().parents[1]
# The modules that take longer to import than a run of a small input.
LATE = (
    "click",
    "jsonschema",
    "yaml",
    "ruamel",
    "difflib",
    "html",
    "lightkube",
    "httpx2",
    *("decimal", "fractions", "ipaddress", "inspect"),
    *("contextlib", "postrender.kubernetes.validation"),
)
# Those that diff needs.
FOR_DIFF = ("contextlib", "postrender.kubernetes.validation")
CONFIGURATION = "namespace: prod\nattacher:\n  image: registry.example/attacher:1\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["render", "--attacher-image=postrender:test", "old.yaml"],
        ["render", "--config=settings.yaml", "old.yaml"],
        ["diff", "old.yaml", "old.yaml"],
    ],
    ids=lambda arguments: " ".join(arguments),
)
def test_a_run_of_plain_input_imports_no_large_module(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text(GOOD)
    (tmp_path / "settings.yaml").write_text(CONFIGURATION)
    late = [name for name in LATE if arguments[0] != "diff" or name not in FOR_DIFF]
    code = (
        "import sys; from postrender.cli.main import run; "
        f"code = run({arguments!r}); "
        f"print([name for name in {late!r} if name in sys.modules], file=sys.stderr); "
        "sys.exit(code)"
    )
    # A variable that postrender does not know would be compared with those that it knows.
    own = {name: value for name, value in os.environ.items() if not name.startswith("POSTRENDER_")}
    # With -S, no package of site-packages is imported before the run.
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        cwd=tmp_path,
        env={**own, "PYTHONPATH": os.pathsep.join([str(ROOT), *site.getsitepackages()])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, "[]"), done.stderr


class Ours(NamedTuple):
    """A record as the package defines it."""

    first: int
    second: str = "b"
    third: tuple[int, ...] = ()


class Theirs(typing.NamedTuple):
    """The same record with the standard library's NamedTuple."""

    first: int
    second: str = "b"
    third: tuple[int, ...] = ()


def test_records_are_named_tuples() -> None:
    for record in (Ours(1), Ours(1, "b"), Ours(1, "b", ()), Ours(first=1), Ours(1, third=())):
        assert tuple(record) == Theirs(1)
    record = Ours(1)._replace(second="c")
    assert (record, type(record)) == ((1, "c", ()), Ours)
    assert repr(record).partition("(")[2] == repr(Theirs(1, "c")).partition("(")[2]
    assert record._asdict() == {"first": 1, "second": "c", "third": ()}
    first, *_rest = record
    assert (first, record.first, record[0], hash(record)) == (1, 1, 1, hash((1, "c", ())))
    assert Ours._fields == Theirs._fields
    with pytest.raises(AttributeError):
        record.first = 2  # type: ignore[misc]
    with pytest.raises(AttributeError):
        record.other = 2  # type: ignore[attr-defined]


def test_records_reject_wrong_fields() -> None:
    class Record(NamedTuple):
        first: int
        second: int = 0

    calls: list[typing.Callable[[], object]] = [
        lambda: Record(),  # type: ignore[call-arg]
        lambda: Record(1, 2, 3),  # type: ignore[call-arg]
        lambda: Record(1, first=1),  # type: ignore[misc]
        lambda: Record(1, other=1),  # type: ignore[call-arg]
    ]
    for call in calls:
        with pytest.raises(TypeError):
            call()


def test_a_document_for_libyaml_does_not_import_ruamel() -> None:
    """Only the few documents that libyaml rejects pay for the import of the second parser."""
    code = (
        "import sys; from postrender.errors import Location; from postrender.yaml.nodes import "
        "compose; compose('a: &b {c: d}', Location('x')); sys.exit('ruamel.yaml' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_every_module_can_be_imported() -> None:
    for module in pkgutil.walk_packages([str(ROOT / "postrender")], "postrender."):
        if module.name != "postrender.__main__":
            importlib.import_module(module.name)
