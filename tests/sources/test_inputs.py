"""The inputs of a command: files, folders, and commits in real git repositories."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postrender.config.settings import Settings
from postrender.errors import UserError
from postrender.inventory.build import Inventory, take_inventory
from postrender.kubernetes.kinds import CONFIG_MAP
from postrender.plan.build import make_plan
from postrender.sources.inputs import read_input, read_inputs
from postrender.yaml.stream import Source, read_stream, read_streams
from tests.cli.test_processes import (
    COMMAND,
    DEPLOYMENT,
    GOOD,
    NAMELESS,
    Run,
    assert_refused,
    run,
    run_in_shell,
)
from tests.cli.test_processes import CONFIG_MAP as CONFIG
from tests.output.test_properties import EXAMPLES
from tests.repositories import commit, git, new_repository, nobody
from tests.streams import streams

OLD = GOOD.replace("välue", "old")
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n"


def names(name: str, **options: bool) -> list[str]:
    return [source.name for source in read_inputs(name, **options)]


def text_of(name: str) -> str:
    """Return the text that read_input reads."""
    return "".join(read_input(name).texts)


def refusal(name: str, **options: bool) -> str:
    with pytest.raises(UserError) as caught:
        read_inputs(name, **options)
    return str(caught.value)


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run the test in a repository with rendered manifests and other files on `main`."""
    for name, value in nobody().items():
        monkeypatch.setenv(name, value)
    folder = new_repository(
        tmp_path / "repository",
        {
            "rendered/prod.yaml": OLD,
            "rendered/b/two.yml": "b: 2\n",
            "rendered/b/.hidden/three.yaml": "no\n",
            "rendered/.four.yaml": "no\n",
            "rendered/a.json": '{"a": 1}',
            "rendered/notes.txt": "no\n",
            "spaces and ünicode/x y.yaml": "c: 3\n",
            "other/one.yaml": "d: 4\n",
        },
    )
    monkeypatch.chdir(folder)
    return folder


# --- folders -------------------------------------------------------------------------------------

READ = ["a.json", "b/two.yml", "prod.yaml"]


def test_the_manifests_of_a_folder_are_in_the_order_of_their_paths() -> None:
    assert names("rendered") == [f"rendered/{path}" for path in READ]
    assert names("rendered/") == [f"rendered/{path}" for path in READ]
    assert [source.data for source in read_inputs("rendered")][:2] == [b'{"a": 1}', b"b: 2\n"]


def test_a_folder_without_manifests_is_an_error_without_allow_empty(repository: Path) -> None:
    (repository / "none" / "below").mkdir(parents=True)
    (repository / "none" / "notes.txt").write_text("no")
    assert refusal("none") == (
        "none: the folder does not contain a file that ends in .yaml or .yml or .json. "
        "Check the path, or pass --allow-empty."
    )
    assert names("none", allow_empty=True) == []


def test_a_missing_path_is_always_an_error() -> None:
    for options in ({}, {"allow_empty": True}):
        assert refusal("rednered", **options).startswith(
            "rednered: postrender cannot read the file (No such file"
        )


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("rednered", "Check the path, or write git:REF:PATH for a path in git"),
        ("main:rendered", "Check the path, or write git:main:rendered for a path in git"),
        ("helm:prod/shop", "Pipe in the output of helm get manifest, and pass -"),
    ],
)
def test_the_error_for_a_missing_path_suggests_other_inputs(name: str, fix: str) -> None:
    assert (
        refusal(name)
        == f"{name}: postrender cannot read the file (No such file or directory). {fix}."
    )


def test_links_to_files_are_followed_and_links_to_folders_are_not(repository: Path) -> None:
    (repository / "links").mkdir()
    (repository / "links" / "file.yaml").symlink_to("../rendered/prod.yaml")
    (repository / "links" / "folder.yaml").symlink_to("../rendered")
    (repository / "links" / "folder").symlink_to("../rendered")
    expected = [Source("links/file.yaml", OLD.encode())]
    assert list(read_inputs("links")) == expected
    commit(repository, {})
    assert list(read_inputs("git:HEAD:links")) == [
        Source(f"git:HEAD:{source.name}", source.data) for source in expected
    ]


def test_an_input_folder_may_be_a_link(repository: Path) -> None:
    (repository / "link").symlink_to("rendered")
    commit(repository, {})
    assert names("link") == [f"link/{path}" for path in READ]
    assert names("git:main:link") == [f"git:main:link/{path}" for path in READ]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX's")
def test_a_named_pipe_in_a_folder_is_an_error(repository: Path) -> None:
    os.mkfifo(repository / "rendered" / "pipe.yaml")
    assert refusal("rendered").startswith(
        "rendered/pipe.yaml: the path is a pipe, a socket or a device, expected a file. "
    )


def test_a_folder_is_not_one_file() -> None:
    for name in ("rendered", "git:main:rendered"):
        with pytest.raises(UserError) as caught:
            read_input(name)
        assert str(caught.value).startswith(
            f"{name}: the path is a folder, expected a file. Pass a file in the folder"
        )


def test_a_kustomization_is_not_one_file(repository: Path) -> None:
    (repository / "rendered" / "kustomization.yaml").write_text("resources: [prod.yaml]\n")
    with pytest.raises(UserError) as caught:
        read_input("rendered", "explain")
    assert str(caught.value) == (
        "rendered: the folder is a kustomization, expected rendered manifests. "
        "Build the folder first: kustomize build rendered | postrender explain."
    )


# --- one stream of several files -----------------------------------------------------------------

BOM = b"\xef\xbb\xbf"


@pytest.mark.parametrize(
    "first",
    [
        CONFIG.encode(),
        CONFIG.rstrip("\n").encode(),
        CONFIG.replace("välue", "|\n    no end").rstrip("\n").encode(),
        CONFIG.replace("\n", "\r\n").encode(),
        BOM + CONFIG.encode(),
        CONFIG.encode() + b"---\n",
        CONFIG.encode() + b"...\n",
        CONFIG.encode() + b"# a comment",
        b'{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "app"}}',
        b"",
    ],
)
def test_a_file_never_continues_in_the_next_file(first: bytes) -> None:
    second = CONFIG.replace("app", "other").encode()
    for later in (
        second,
        BOM + second,
        second.replace(b"\n", b"\r\n"),
        b"%YAML 1.2\n---\n" + second,
    ):
        sources = [Source("one.yaml", first), Source("two.yaml", later)]
        inventory = take_inventory(read_streams(sources, "both"), Settings())
        items = {item.identity.name: item for item in inventory.items}
        assert set(items) == ({"app", "other"} if first else {"other"})
        alone = taken([Source("two.yaml", later)])
        assert items["other"].content == alone.items[0].content
        assert inventory.location_of(items["other"]) == alone.location_of(alone.items[0])


@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize(
    ("cut", "message"),
    [
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a",
            "two.yaml:3 (document 1): the document is not valid YAML",
        ),
        ("---\napiVersion: v1\nkind: Config", "two.yaml:1 (document 1): the input ends in the"),
        (
            '{"apiVersion": "v1", "kind": "ConfigMap",',
            "two.yaml:1 (document 1): the document is not valid YAML",
        ),
    ],
)
def test_a_pipe_that_was_cut_off_is_an_error_in_any_position(
    cut: str, message: str, position: int
) -> None:
    sources = [Source("one.yaml", CONFIG.encode())]
    sources.insert(position, Source("two.yaml", cut.encode(), is_pipe=True))
    with pytest.raises(UserError) as caught:
        taken(sources)
    assert str(caught.value).startswith(message)


# A complete object of kustomize, without metadata and without a newline at the end.
WITHOUT_NEWLINE = """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [app.yaml]"""


def test_a_complete_file_needs_no_newline_at_its_end(repository: Path) -> None:
    (repository / "end").mkdir()
    (repository / "end" / "app.yaml").write_text(GOOD)
    file = repository / "end" / "kustomization.yaml"
    file.write_text(WITHOUT_NEWLINE)
    assert run("", "check", str(file)).code == 0
    assert run("", "render", str(file)).out == WITHOUT_NEWLINE.encode()
    commit(repository, {})
    for old in ("end", "git:HEAD:end"):
        assert changed(postrender("diff", "--format=json", old, "end")) == []


def test_only_the_end_of_a_pipe_can_be_missing() -> None:
    end = "ends in the middle of an object"
    assert_refused(run(WITHOUT_NEWLINE, "check"), "<stdin>:1", end)
    pipe = ("sh", "-c", 'cat | "$@"', "sh", *COMMAND)
    done = run(WITHOUT_NEWLINE, "check", "/dev/stdin", command=pipe)
    assert_refused(done, "/dev/stdin:1", end)


def test_a_location_has_the_file_and_the_line_in_the_file() -> None:
    first, second = CONFIG.encode(), b"# head\n---\n" + CONFIG.replace("välue", "x").encode()
    stream = read_streams([Source("one.yaml", first), Source("two.yaml", second)], "both")
    assert stream.source == "both"
    locations = [str(stream.location_of(index)) for index in range(len(stream.texts))]
    assert locations == ["one.yaml:1 (document 1)", "two.yaml:1", "two.yaml:2 (document 1)"]
    with pytest.raises(UserError) as caught:
        read_streams([Source("one.yaml", b"a: 1\n"), Source("two.yaml", b"a: 1\n\xff")], "both")
    assert str(caught.value).startswith("two.yaml:2 (document 1): ")


def test_an_empty_list_of_sources_is_an_empty_stream() -> None:
    assert not read_streams([], "none").texts


def taken(sources: Sequence[Source]) -> Inventory:
    return take_inventory(read_streams(sources, "all"), Settings())


def contents(inventory: Inventory) -> list[object]:
    """Return the ConfigMaps of an inventory with their locations."""
    return [
        (item.identity, item.content, inventory.location_of(item))
        for item in inventory.items
        if item.identity.group_kind == CONFIG_MAP
    ]


def outcome(sources: Sequence[Source]) -> list[object] | str:
    """Return the ConfigMaps of the sources, or the message of the error."""
    try:
        return contents(taken(sources))
    except UserError as error:
        return str(error)


def merged(outcomes: list[list[object] | str]) -> list[object] | str:
    """Return the first message, or all ConfigMaps in order."""
    messages = [result for result in outcomes if isinstance(result, str)]
    return messages[0] if messages else [entry for result in outcomes for entry in result]


@EXAMPLES
@given(texts=st.lists(streams(), min_size=2, max_size=3))
def test_a_folder_is_the_concatenation_of_its_files(texts: list[str]) -> None:
    marks = ("", "\ufeff", "")  # a byte order mark belongs to its file, not to the output
    sources = [
        Source(f"{number}.yaml", f"{mark}{text}".encode())
        for number, (mark, text) in enumerate(zip(marks, texts, strict=False))
    ]
    alone = [read_stream(source.data, source.name) for source in sources]
    together = read_streams(sources, "all")
    assert list(together.texts) == [text for stream in alone for text in stream.texts]
    assert not together.has_bom
    assert outcome(sources) == merged([outcome([source]) for source in sources])


# --- git -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("rendered", [f"/{path}" for path in READ]),
        ("rendered/", READ),
        ("rendered/b", ["/two.yml"]),
        ("rendered/prod.yaml", [""]),
        ("./rendered/prod.yaml", [""]),
        ("./rendered/b", ["/two.yml"]),
        ("spaces and ünicode", ["/x y.yaml"]),
        ("spaces and ünicode/x y.yaml", [""]),
    ],
)
def test_a_path_in_git_has_the_same_content_as_on_disk(path: str, expected: list[str]) -> None:
    name = f"git:main:{path}"
    assert names(name) == [name + suffix for suffix in expected]
    in_git = [source.data for source in read_inputs(name)]
    assert in_git == [source.data for source in read_inputs(path)]


@pytest.mark.parametrize("path", ["", ".", "./"])
def test_the_root_of_a_repository(path: str) -> None:
    paths = [
        "other/one.yaml",
        *(f"rendered/{path}" for path in READ),
        "spaces and ünicode/x y.yaml",
    ]
    prefix = f"git:main:{path}{'/' if path == '.' else ''}"
    assert names(f"git:main:{path}") == [prefix + path for path in paths]


def test_git_accepts_every_form_of_a_ref(repository: Path) -> None:
    first = git(repository, "rev-parse", "HEAD").strip()
    commit(repository, {"rendered/prod.yaml": "new: 1\n"})
    git(repository, "tag", "--annotate", "v1", "--message", "v1", first)
    git(repository, "branch", "feature/x", first)
    git(repository, "update-ref", "refs/remotes/origin/main", first)
    tree = git(repository, "rev-parse", f"{first}^{{tree}}").strip()
    refs = (first, first[:8], "HEAD~1", "HEAD^", "v1", "feature/x", "origin/main", "@{1}")
    for ref in (*refs, tree):
        assert text_of(f"git:{ref}:rendered/prod.yaml") == OLD
    assert text_of("git:HEAD:rendered/prod.yaml") == "new: 1\n"


def test_uncommitted_changes_are_not_read(repository: Path) -> None:
    (repository / "rendered" / "prod.yaml").write_text("not: yet\n")
    assert text_of("git:HEAD:rendered/prod.yaml") == OLD


def test_a_path_may_be_relative_to_the_working_directory(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository / "rendered")
    for name in (
        "git:main:./prod.yaml",
        "git:main:rendered/prod.yaml",
        "git:main:../rendered/prod.yaml",
    ):
        assert text_of(name) == OLD
    assert names("git:main:.") == [f"git:main:./{path}" for path in READ]
    assert "the Git ref main has no path prod.yaml. Write git:main:./prod.yaml, because" in refusal(
        "git:main:prod.yaml"
    )


def test_a_file_name_may_begin_with_the_git_prefix(repository: Path) -> None:
    (repository / "git:main:x.yaml").write_text("here: 1\n")
    assert text_of("./git:main:x.yaml") == "here: 1\n"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("git:nope:rendered", "git does not know the ref nope. Check the name, or run git fetch."),
        ("git:main:nope", "the Git ref main has no path nope. Check the path, which is relative"),
        ("git:main:rendered/prod.yaml/x", "a part of the path is a file, expected a folder"),
        ("git:main", "git:main is not a path in git, expected git:REF:PATH. Write git:REF:PATH"),
        ("git:", "is not a path in git"),
        ("git::rendered", "is not a path in git"),
        ("git:main:a\nb", "is not a path in git"),
        ("git:main:a\0b", "is not a path in git"),
        ("git:main:other/notes", "the Git ref main has no path other/notes"),
        ("git:-h:rendered", "git does not know the ref -h"),
        ("git:--output=x:rendered", "git does not know the ref --output=x"),
        ("git:main:--help", "the Git ref main has no path --help"),
        ("git:main..main:rendered", "git does not know the ref main..main"),
    ],
)
def test_a_missing_ref_or_path_in_git_is_an_error(
    repository: Path, name: str, message: str
) -> None:
    before = sorted(repository.rglob("*"))
    error = refusal(name)
    assert message in error
    assert "\n" not in error
    assert sorted(repository.rglob("*")) == before


def test_refs_and_paths_that_look_like_options_are_not_options(repository: Path) -> None:
    commit(repository, {"--help/-rf.yaml": "a: 1\n"})
    git(repository, "update-ref", "refs/heads/--output=x", "HEAD")
    assert names("git:--output=x:--help") == ["git:--output=x:--help/-rf.yaml"]


def test_a_folder_that_does_not_exist_yet_in_git_needs_allow_empty() -> None:
    assert refusal("git:main:new").endswith("If the path does not exist yet, pass --allow-empty.")
    assert read_inputs("git:main:new", allow_empty=True) == ()
    # A misspelt ref is always an error.
    assert "git does not know the ref mian" in refusal("git:mian:new", allow_empty=True)


def test_a_folder_in_git_without_manifests_needs_allow_empty(repository: Path) -> None:
    commit(repository, {"none/notes.txt": "no"})
    assert refusal("git:HEAD:none").startswith(
        "git:HEAD:none: the folder does not contain a file that ends in .yaml"
    )
    assert read_inputs("git:HEAD:none", allow_empty=True) == ()


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("/etc/hosts", "the path is a link to a file outside the repository"),
        ("../../../x.yaml", "the path is a link to a file outside the repository"),
        ("nothing.yaml", "the path is a link to a file that is not in the commit"),
        ("loop.yaml", "the links at the path form a loop"),
        ("prod.yaml/x", "a part of the path is a file, expected a folder"),
    ],
)
def test_a_broken_link_in_git_is_an_error(repository: Path, target: str, problem: str) -> None:
    (repository / "rendered" / "loop.yaml").symlink_to(target)
    commit(repository, {})
    assert refusal("git:HEAD:rendered").startswith(f"git:HEAD:rendered/loop.yaml: {problem}. ")


def test_a_submodule_is_an_error(repository: Path, tmp_path: Path) -> None:
    new_repository(tmp_path / "library", {"a.yaml": "a: 1\n"})
    source = str(tmp_path / "library")
    allowed = ("-c", "protocol.file.allow=always")
    git(repository, *allowed, "submodule", "--quiet", "add", source, "rendered/library")
    commit(repository, {})
    error = "the path is in a git submodule, but postrender reads only the main repository. Run git"
    assert refusal("git:HEAD:rendered").startswith(f"git:HEAD:rendered/library: {error}")
    for name in ("git:HEAD:rendered/library", "git:HEAD:./rendered/library/a.yaml"):
        assert refusal(name, allow_empty=True).startswith(f"{name}: {error}")
    assert names("rendered/library") == ["rendered/library/a.yaml"]


def test_a_git_lfs_pointer_is_an_error(repository: Path) -> None:
    commit(repository, {"big/a.yaml": POINTER})
    for name in ("git:HEAD:big", "git:HEAD:big/a.yaml", "big", "big/a.yaml"):
        prefix = name.removesuffix("/a.yaml")
        assert refusal(name).startswith(f"{prefix}/a.yaml: the file is a Git LFS pointer")


def test_a_file_name_that_is_not_utf_8_can_be_printed(repository: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("other systems have no such names")
    (repository / "odd").mkdir()
    odd = os.fsencode(repository / "odd")
    for name, data in ((b"\xff.yaml", b"a: 1\n"), (b"line\nbreak.yaml", b"b: 2\n")):
        Path(os.fsdecode(os.path.join(odd, name))).write_bytes(data)
    commit(repository, {})
    for folder in ("odd", "git:HEAD:odd"):
        sources = read_inputs(folder)
        assert [source.data for source in sources] == [b"b: 2\n", b"a: 1\n"]
        assert "".join(source.name for source in sources).encode("utf-8")


def test_the_error_in_a_shallow_clone_suggests_git_fetch(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(repository, {"rendered/prod.yaml": "new: 1\n"})
    source = repository.as_uri()
    git(tmp_path, "clone", "--quiet", "--depth=1", "--branch=main", source, "shallow")
    monkeypatch.chdir(tmp_path / "shallow")
    assert refusal("git:HEAD~1:rendered").endswith(
        "git does not know the ref HEAD~1. Run git fetch --unshallow "
        "(in actions/checkout, set fetch-depth: 0)."
    )


def test_the_error_for_a_branch_of_the_remote_suggests_its_name(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(repository, "branch", "prod")
    git(tmp_path, "clone", "--quiet", str(repository), "clone")
    monkeypatch.chdir(tmp_path / "clone")
    assert refusal("git:prod:rendered").endswith(
        "git does not know the ref prod. Write git:origin/prod:rendered."
    )
    assert names("git:origin/prod:rendered/b") == ["git:origin/prod:rendered/b/two.yml"]


def test_a_folder_outside_a_repository_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    monkeypatch.chdir(elsewhere)
    assert refusal("git:main:rendered") == (
        "git:main:rendered: git failed: not a git repository (or any of the parent directories): "
        ".git. Run postrender in a folder of the git repository."
    )


def test_a_repository_without_commits_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fresh").mkdir()
    git(tmp_path / "fresh", "init", "--quiet")
    monkeypatch.chdir(tmp_path / "fresh")
    assert "git does not know the ref HEAD" in refusal("git:HEAD:rendered")


def test_the_repository_of_another_user_is_an_error(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The tests of git use this variable to simulate another user.
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    error = refusal("git:main:rendered")
    assert f"git failed: detected dubious ownership in repository at '{repository}'" in error
    assert f"git config --global --add safe.directory {repository}" in error


def test_a_missing_git_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refusal("git:main:rendered").endswith("git is not on PATH. Install git, or pass a file.")
    (tmp_path / "git").write_text("not a program")
    (tmp_path / "git").chmod(0o755)
    assert "postrender cannot start git (Exec format error)" in refusal("git:main:rendered")


def test_git_does_not_run_programs_on_the_files(repository: Path) -> None:
    trap = repository / "trap"
    git(repository, "config", "filter.trap.smudge", f"touch {trap}; cat")
    git(repository, "config", "diff.trap.textconv", f"touch {trap}; cat")
    git(repository, "config", "core.fsmonitor", f"touch {trap}; false")
    commit(repository, {".gitattributes": "*.yaml filter=trap diff=trap\n"})
    trap.unlink(missing_ok=True)
    assert len(names("git:main:rendered")) == len(READ)
    assert not trap.exists()


# --- the program ---------------------------------------------------------------------------------


def postrender(*arguments: str) -> Run:
    return run("", *arguments, variables=nobody())


def test_render_explain_and_check_read_a_path_in_git() -> None:
    rendered = postrender("render", "--no-attacher", "git:main:rendered/prod.yaml")
    assert rendered.code == 0, rendered.err
    assert rendered.out == run(OLD, "--no-attacher").out
    explained = postrender("explain", "git:main:rendered/prod.yaml")
    assert explained.code == 0, explained.err
    assert explained.out == run(OLD, "explain").out
    assert postrender("check", "git:main:rendered/prod.yaml").code == 0


def test_a_message_about_a_file_in_git_has_its_location(repository: Path) -> None:
    commit(repository, {"rendered/prod.yaml": f"{OLD}---\nkind: ConfigMap\nmetadata: [\n"})
    done = postrender("render", "git:HEAD:rendered/prod.yaml")
    assert_refused(done, "git:HEAD:rendered/prod.yaml:", "(document 3)", "not valid YAML")
    assert_refused(postrender("render", "git:HEAD~1:nope"), "the Git ref HEAD~1 has no path nope")


def test_the_last_output_in_git_may_be_overwritten(repository: Path) -> None:
    """The last output is read from the commit, so stdout may be the same file on disk."""
    first = run(OLD, "--no-attacher", "--previous", os.devnull)
    commit(repository, {"rendered/prod.yaml": first.out})
    options = ("--no-attacher", "--previous=git:HEAD:rendered/prod.yaml")
    assert run_in_shell("> rendered/prod.yaml", GOOD, *options).code == 0
    second = (repository / "rendered" / "prod.yaml").read_bytes()
    (repository / "first.yaml").write_bytes(first.out)
    assert second == run(GOOD, "--no-attacher", "--previous=first.yaml").out
    assert b"old" in second
    assert "välue".encode() in second


def test_a_history_may_be_in_several_files(repository: Path) -> None:
    first = run(OLD, "--no-attacher", "--previous", os.devnull)
    config, _, workload = first.out.partition(b"---\napiVersion: apps/v1")
    files = {"out/config.yaml": config, "out/web.yaml": b"apiVersion: apps/v1" + workload}
    commit(repository, files)
    (repository / "first.yaml").write_bytes(first.out)
    expected = run(GOOD, "--no-attacher", "--previous=first.yaml")
    assert b"old" in expected.out
    for name in ("out", "git:HEAD:out", "git:HEAD:out/config.yaml"):
        assert run(GOOD, "--no-attacher", f"--previous={name}").out == expected.out


@pytest.mark.parametrize("name", ["git:main:nope", "git:main:none", "none"])
def test_a_missing_history_is_an_error(repository: Path, name: str) -> None:
    (repository / "none").mkdir()
    commit(repository, {"none/notes.txt": "no"})
    assert_refused(
        run(GOOD, f"--previous={name}"),
        f"--previous={name} does not contain manifests",
        "an empty file",
    )


def test_stdout_may_not_be_a_file_of_the_previous_folder(repository: Path) -> None:
    shutil.copy(repository / "rendered" / "prod.yaml", repository / "other" / "prod.yaml")
    done = run_in_shell("> other/prod.yaml", GOOD, "--previous=other")
    assert_refused(done, "other/prod.yaml: ", "the shell can have emptied the file")


def test_an_object_in_two_files_is_an_error() -> None:
    data = f"{CONFIG}---\n{DEPLOYMENT}".encode()
    second = NAMELESS.encode()
    stream = read_streams([Source("one.yaml", data), Source("two.yaml", second)], "both")
    with pytest.raises(UserError) as caught:
        make_plan(take_inventory(stream, Settings()), Settings())
    assert "two.yaml:1 (document 1, ConfigMap/app)" in str(caught.value)
    assert "The first object is at one.yaml:1 (document 1, ConfigMap/app)" in str(caught.value)


def changed(done: Run) -> list[tuple[str, str]]:
    """Return the change and the name of each ConfigMap and Secret in a preview."""
    assert done.code == 0, done.err
    contents = json.loads(done.out)["contents"]
    return [(content["change"], content["object"]["name"]) for content in contents]


def test_diff_compares_with_a_branch(repository: Path) -> None:
    (repository / "rendered" / "prod.yaml").write_text(GOOD)
    (repository / "rendered" / "more.yaml").write_text(CONFIG.replace("app", "more"))
    done = postrender("diff", "--format=json", "git:main:rendered", "rendered")
    assert changed(done) == [("changed", "app"), ("added", "more")]
    assert json.loads(done.out)["old"] == "git:main:rendered"


def test_diff_compares_with_a_branch_without_the_folder(repository: Path) -> None:
    (repository / "new").mkdir()
    (repository / "new" / "prod.yaml").write_text(GOOD)
    refused = postrender("diff", "--format=json", "git:main:new", "new")
    assert_refused(
        refused, "git:main:new: the Git ref main has no path new. Check", "--allow-empty"
    )
    done = postrender("diff", "--format=json", "--allow-empty", "git:main:new", "new")
    assert changed(done) == [("added", "app")]


def test_an_error_of_diff_has_the_file_of_a_folder_and_the_line(repository: Path) -> None:
    (repository / "rendered" / "two.yaml").write_text(
        f"{CONFIG}---\nkind: ConfigMap\nmetadata: [\n"
    )
    done = postrender("diff", "--format=json", "git:main:rendered", "rendered")
    assert_refused(done, "rendered/two.yaml:9 (document 2): the document is not valid YAML")


@pytest.mark.parametrize("values", ["image: {tag: v2}\n", "# of a chart\n---\n- a\n- b\n"])
def test_diff_of_a_file_without_objects_is_an_error(repository: Path, values: str) -> None:
    (repository / "values.yaml").write_text(values)
    for sides in (("values.yaml", "git:main:rendered"), ("git:main:rendered", "values.yaml")):
        done = postrender("diff", *sides)
        problem = "values.yaml: the input does not contain Kubernetes objects. "
        assert_refused(done, problem, "helm template")
    # Next to an object, the file is only mentioned.
    (repository / "rendered" / "more.yaml").write_text(values)
    done = postrender("diff", "git:main:rendered", "rendered")
    assert done.code == 0
    assert (
        b"the content is not a Kubernetes object, so diff does not compare the content"
        in b" ".join(done.out.split())
    )


def test_diff_does_not_wait_for_input_from_a_terminal() -> None:
    ours, theirs = os.openpty()
    try:
        command = [sys.executable, "-m", "postrender", "diff", "-", "rendered"]
        done = subprocess.run(command, stdin=theirs, capture_output=True, timeout=300, check=False)
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 2
    assert b"stdin is a terminal" in done.stderr


@pytest.mark.parametrize(
    ("option", "variables"),
    [((), {}), (("--previous=applied.yaml",), {}), ((), {"POSTRENDER_PREVIOUS": "helm:prod/any"})],
)
def test_diff_retains_the_same_revisions_as_render(
    tmp_path: Path,
    option: tuple[str, ...],
    variables: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    applied, chart = tmp_path / "applied.yaml", tmp_path / "chart.yaml"
    applied.write_bytes(run(OLD, "--attacher-image=example.com/postrender:1").out)
    chart.write_text(GOOD)
    sides = (str(applied), str(chart))
    done = run("", "diff", "--format=json", *option, *sides, variables=variables)
    assert done.code == 0, done.err
    revisions = json.loads(done.out)["revisions"]
    retained = [revision["change"] for revision in revisions if revision["isRetained"]]
    assert retained == (["superseded"] if option or variables else [])
    # The input of the previous render gives the same preview as its output.
    before = tmp_path / "before.yaml"
    before.write_text(OLD)
    again = run("", "diff", "--format=json", *option, str(before), str(chart), variables=variables)
    from_input, from_output = (json.loads(result.out) for result in (again, done))
    assert {**from_input, "old": ""} == {**from_output, "old": ""}


def test_diff_numbers_revisions_after_a_chart_without_revisions(tmp_path: Path) -> None:
    config = tmp_path / "postrender.yaml"
    config.write_text("naming: sequence\nhistory: {previous: applied.yaml}\n")
    before, chart = tmp_path / "before.yaml", tmp_path / "chart.yaml"
    before.write_text(OLD)
    chart.write_text(GOOD)
    done = run("", "diff", "--format=json", f"--config={config}", str(before), str(chart))
    (content,) = json.loads(done.out)["contents"]
    names = [content[side].rpartition("-")[0] for side in ("oldRevision", "newRevision")]
    assert names == ["app-v1", "app-v2"]
