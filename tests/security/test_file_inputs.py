"""Folders and documents that try to read other files or to exhaust the machine."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tarfile
import tracemalloc
from pathlib import Path
from time import thread_time

import pytest

from postrender.cli import main
from postrender.errors import Location, UserError
from postrender.sources import inputs
from postrender.sources.charts import chart_name, has_archived_configuration
from postrender.sources.inputs import read_inputs
from postrender.yaml.document import parse_document

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n"

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the tests create links")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    file = tmp_path / "outside.yaml"
    file.write_text(CONFIG)
    return file


def folder_with_link(parent: Path, target: Path | str) -> str:
    folder = parent / "rendered"
    folder.mkdir(parents=True)
    (folder / "web.yaml").symlink_to(target)
    return str(folder)


def test_a_link_that_leaves_the_folder_is_refused(tmp_path: Path, outside: Path) -> None:
    for number, target in enumerate((str(outside), "../../outside.yaml")):
        folder = folder_with_link(tmp_path / str(number), target)
        with pytest.raises(UserError, match="link to a file outside /"):
            read_inputs(folder)


def test_a_link_through_another_link_is_refused(tmp_path: Path, outside: Path) -> None:
    folder = Path(folder_with_link(tmp_path / "x", "inner"))
    (folder / "inner").symlink_to(outside)
    with pytest.raises(UserError, match="link to a file outside /"):
        read_inputs(str(folder))


def test_a_link_inside_the_repository_is_followed(tmp_path: Path, outside: Path) -> None:
    (tmp_path / ".git").mkdir()
    folder = folder_with_link(tmp_path, outside)
    assert [source.data for source in read_inputs(folder)] == [CONFIG.encode()]


def test_a_link_to_the_configuration_of_git_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("[remote]\n")
    with pytest.raises(UserError, match="link to a file outside /"):
        read_inputs(folder_with_link(tmp_path, "../.git/config"))


def test_the_links_of_a_mounted_config_map_are_followed(tmp_path: Path) -> None:
    folder = Path(folder_with_link(tmp_path, "..data/web.yaml"))
    (folder / "..2026").mkdir()
    (folder / "..2026" / "web.yaml").write_text(CONFIG)
    (folder / "..data").symlink_to("..2026")
    assert len(read_inputs(str(folder))) == 1


def chain(length: int) -> str:
    lines = [f"  a{number}: &a{number} {{x: *a{number - 1}}}\n" for number in range(1, length)]
    return f"{CONFIG}x:\n  a0: &a0 {{x: y}}\n{''.join(lines)}"


def laughs(depth: int) -> str:
    lines = [f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, depth)]
    return f"{CONFIG}x:\n  a0: &a0 [x]\n{''.join(lines)}"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (chain(900), "nested levels"),
        (chain(20_000), "nested levels"),
        (laughs(7), "expand to more"),
        (laughs(12), "expand to more"),
        (laughs(60), "expand to more"),
        (f"{CONFIG}x: &a [*a]\n", "an alias of the anchor itself"),
    ],
)
def test_aliases_are_bounded(text: str, problem: str) -> None:
    start = thread_time()
    with pytest.raises(UserError, match=problem):
        parse_document(text, Location("x")).data  # noqa: B018
    assert thread_time() - start < 20


def test_a_short_chain_of_aliases_is_read() -> None:
    assert parse_document(chain(100), Location("x")).data


@pytest.mark.parametrize("form", ["pipe", "/dev/zero", "/dev/stdin"])
def test_a_chart_without_a_regular_file_has_no_name(tmp_path: Path, form: str) -> None:
    """`check` and `diff` look for the charts of the templates that comments of helm name."""
    chart_file = tmp_path / "Chart.yaml"
    if form == "pipe":
        os.mkfifo(chart_file)
    else:
        chart_file.symlink_to(form)
    assert chart_name(str(tmp_path)) == ""


@pytest.mark.parametrize("is_stdin", [True, False])
def test_a_device_without_end_is_refused(
    monkeypatch: pytest.MonkeyPatch, *, is_stdin: bool
) -> None:
    monkeypatch.setattr(inputs, "MAX_OUTPUT", 1 << 20)
    with open("/dev/zero") as zero:
        monkeypatch.setattr("sys.stdin", zero)
        with pytest.raises(UserError, match="more than 1 MiB, and perhaps no end"):
            inputs.read_inputs("-" if is_stdin else "/dev/zero")


def test_a_large_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "MAX_OUTPUT", 1 << 20)
    file = tmp_path / "large.yaml"
    file.write_bytes(b"#" * (3 << 20))
    assert len(inputs.read_inputs(str(file))[0].data) == 3 << 20
    script = "from postrender.sources import inputs; inputs.MAX_OUTPUT = 9; "
    script += "print(len(inputs.read_inputs('-')[0].data))"
    with file.open() as stdin:
        done = subprocess.run(
            [sys.executable, "-c", script], stdin=stdin, capture_output=True, check=True
        )
    assert done.stdout.decode().strip() == str(3 << 20)


def test_a_large_chart_file_is_not_read_to_its_end(tmp_path: Path) -> None:
    text = "#" * (1 << 20) + "\nname: shop\n"
    (tmp_path / "Chart.yaml").write_text(text)
    assert chart_name(str(tmp_path)) == ""
    (tmp_path / "Chart.yaml").write_text(text[9000:])
    assert chart_name(str(tmp_path)) == "shop"


def test_an_archive_that_unpacks_to_much_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "large").write_bytes(bytes(2 << 20))
    (tmp_path / "postrender.yaml").write_text("strict: true\n")
    path = str(tmp_path / "shop.tgz")
    with tarfile.open(path, "w:gz") as archive:
        archive.add(tmp_path / "large", "shop/large")
        archive.add(tmp_path / "postrender.yaml", "shop/postrender.yaml")
    assert has_archived_configuration(path)
    monkeypatch.setattr("postrender.sources.charts._MOST_UNPACKED", 1 << 20)
    assert not has_archived_configuration(path)


def test_a_small_pipe_needs_little_memory() -> None:
    """A buffer of the largest pipe would fail where the memory of a process is limited."""
    script = (
        "import resource; from postrender.sources import inputs; "
        "resource.setrlimit(resource.RLIMIT_AS, (200 << 20,) * 2); "
        "print(len(inputs.read_inputs('-')[0].data))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], input=CONFIG.encode(), capture_output=True, check=True
    )
    assert int(done.stdout) == len(CONFIG)


def archive_of(path: Path, *members: tuple[str, bytes, int, bytes]) -> str:
    """Write a .tgz of members: the name, the type, the size in the header, and the content."""
    with gzip.open(path, "wb") as archive:
        for name, kind, size, content in members:
            member = tarfile.TarInfo(name)
            member.type, member.size = kind, size
            archive.write(member.tobuf(tarfile.GNU_FORMAT) + content)
    return str(path)


def test_a_long_header_of_an_archive_needs_little_memory(tmp_path: Path) -> None:
    size = 64 << 20
    header = ("shop/x", tarfile.GNUTYPE_LONGNAME, size, bytes(size))
    last = ("shop/postrender.yaml", tarfile.REGTYPE, 0, b"")
    path = archive_of(tmp_path / "shop.tgz", header, last)
    tracemalloc.start()
    try:
        assert has_archived_configuration(path)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("size", [-512, -1024, 1 << 40])
def test_an_archive_with_a_false_size_ends(tmp_path: Path, size: int) -> None:
    first = ("shop/a", tarfile.REGTYPE, 0, b"")
    path = archive_of(tmp_path / "shop.tgz", first, first, ("shop/b", tarfile.REGTYPE, size, b""))
    assert not has_archived_configuration(path)


def test_an_archive_with_a_negative_size_in_digits_ends(tmp_path: Path) -> None:
    header = bytearray(tarfile.TarInfo("shop/b").tobuf(tarfile.GNU_FORMAT))
    header[124:136] = b"-0000001000\0"
    path = tmp_path / "shop.tgz"
    path.write_bytes(gzip.compress(header))
    assert not has_archived_configuration(str(path))


def test_a_packaged_chart_with_a_long_name_has_its_configuration(tmp_path: Path) -> None:
    (tmp_path / "postrender.yaml").write_text("strict: true\n")
    path = str(tmp_path / "shop.tgz")
    with tarfile.open(path, "w:gz", format=tarfile.USTAR_FORMAT) as archive:
        archive.add(tmp_path / "postrender.yaml", f"{'s' * 99}/postrender.yaml")
    assert has_archived_configuration(path)


def run_with_little_memory(*command: str) -> str:
    """Run a program with at most 1 GiB, and return its stderr."""
    import resource  # Windows has no such module

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))

    done = subprocess.run(
        [sys.executable, *command], preexec_fn=limit, capture_output=True, text=True, timeout=60
    )
    assert done.returncode
    return done.stderr


def test_a_configuration_without_an_end_is_an_error() -> None:
    stderr = run_with_little_memory("-m", "postrender", "config", "validate", "/dev/zero")
    assert "/dev/zero:1: the document has 33,554,433 characters" in stderr


def test_a_comment_without_an_end_is_an_error() -> None:
    stderr = run_with_little_memory("examples/ci/comment", "/dev/zero")
    assert "/dev/zero is not the output of postrender diff" in stderr


def test_status_reads_the_output_of_a_program(capfd: pytest.CaptureFixture[str]) -> None:
    read, write = os.pipe()
    os.write(write, b"kind: [")
    os.close(write)
    assert main.run(["status", f"/dev/fd/{read}"]) == 2
    os.close(read)
    assert f"/dev/fd/{read}" in capfd.readouterr().err.replace("argument", "")
