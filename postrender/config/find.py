"""The search for the configuration file, the files that it extends, and the trust in settings.

The author of a chart, a repository or an input can be a stranger. A stranger's settings may change
the output. They must not choose a cluster, write files, read files outside the repository, or start
programs (except git, because postrender keeps it from starting programs of the repository, such as
hooks, and from reading another repository). RESTRICTED_SETTINGS lists every setting with an effect
outside the output, and a test checks that the list is complete.

The search ends at the first folder that contains .git, or else at the root folder. Anybody can
create a file in a shared folder such as /tmp, so postrender rejects a file that does not belong to
root or to the user, as git rejects repositories of other users (CVE-2022-24765).
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence

from postrender.config.repository import folders_upward, git_reads_only, has_git, is_inside
from postrender.errors import Finding, Location, UserError
from postrender.kubernetes.hashing import canonical_json
from postrender.records import NamedTuple
from postrender.yaml.edits import merge_by_name
from postrender.yaml.paths import Json, Path, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FILE_NAME = "postrender.yaml"

_ROOT = 0  # the user ID
_ENDINGS = (".yaml", ".yml")
_POD_TEMPLATE = ("attacher", "podTemplate")

# The levels of trust. OUTPUT_ONLY permits only effects on the output, and `extends` in a discovered
# file. REPOSITORY also permits the use of git, and reads of files in the repository. FULL permits
# everything.
OUTPUT_ONLY, REPOSITORY, FULL = 0, 1, 2


class Source(NamedTuple):
    """A source of settings.

    name: the subject of a message.
    trust: one of the levels of trust.
    label: the trust in words, for `config show`.
    repository: the folder of the repository, "" if the source is not a discovered file.
    file: the path of the file, "" for a functionConfig.
    commit: for a file in git, the start of `file`, such as `git:main:`. "" for a file on disk.
    read: for a file in git, the text of a file, None if the commit does not have the file.
    """

    name: str
    trust: int
    label: str
    repository: str = ""
    file: str = ""
    commit: str = ""
    read: Callable[[str], str | None] | None = None


FUNCTION_CONFIG = Source(
    name="a functionConfig",
    trust=OUTPUT_ONLY,
    label="the functionConfig can change only the output",
)


def explicit_file(file: str) -> Source:
    """The source for a file in --config or POSTRENDER_CONFIG."""
    return Source(name="the file", trust=FULL, label="the file can set every key", file=file)


def discovered_file(file: str, repository: str, *, is_untrusted: bool) -> Source:
    """The source for a file that the search found.

    is_untrusted: whether --untrusted is set.
    """
    name, trust = "a postrender.yaml without --config", REPOSITORY
    label = "the file can change the output and read the repository"
    if is_untrusted:
        name, trust = f"with --untrusted, {name}", OUTPUT_ONLY
        label = "the file can change only the output"
    return Source(name, trust, label, repository, file)


def shown_path(source: Source) -> str:
    """The path of a configuration file in reports, which people also read on other machines.

    The path of a discovered file is relative to the working directory or, if the file is in another
    git repository, to the root of the repository.
    """
    root = source.repository
    if source.commit:
        return source.file
    try:
        path = os.path.relpath(source.file)
        is_elsewhere = path.startswith(os.pardir) and not is_inside(os.getcwd(), root)
    except (OSError, ValueError):  # no working directory, or another drive of Windows
        return source.file
    if not root or (is_elsewhere and not has_git(root)):
        return source.file
    return (os.path.relpath(source.file, root) if is_elsewhere else path).replace(os.sep, "/")


def find_config(start: str, *, is_untrusted: bool) -> tuple[Source | None, tuple[Finding, ...]]:
    """The nearest postrender.yaml in a folder or above, and a finding about an ignored file.

    A file that another user owns, and a link that leads out of the repository, is an error. A
    warning would not be enough, because the file can change the output, and Helm hides the warnings
    of a post-renderer.
    start: the absolute path of the folder.
    is_untrusted: whether --untrusted is set.
    """
    folders = folders_upward(start)
    number = next((n for n, folder in enumerate(folders) if has_git(folder)), None)
    inside = folders if number is None else folders[: number + 1]
    for folder in inside:
        path = os.path.join(folder, FILE_NAME)
        if not os.path.isfile(path):
            _check_is_absent(path)
            continue
        repository = folder if number is None else inside[-1]
        _check_source(path, repository)
        return discovered_file(path, repository, is_untrusted=is_untrusted), ()
    return None, _findings_above(folders[len(inside) :], inside)


def _check_is_absent(path: str) -> None:
    """Refuse a path that is not a file. Docker creates a folder for a volume without a file."""
    if os.path.lexists(path):
        raise UserError(
            "the path is a link that does not lead to a file"
            if os.path.islink(path)
            else "the path is a folder or a pipe, expected a file",
            f"Fix or remove the path, or pass --config {os.devnull} to ignore the path",
            Location(path),
        )


def _check_source(path: str, repository: str) -> None:
    if not is_owner_trusted(path):
        problem = "the file belongs to another user"
    elif not is_inside(path, repository):
        problem = f"the path is a link to a file outside the repository {repository}"
    else:
        return
    raise UserError(
        problem,
        f"If you trust the file, pass --config {path}. "
        f"To ignore the file, pass --config {os.devnull}",
        Location(path),
    )


def is_owner_trusted(path: str) -> bool:
    """Whether a file, and the target of a link, belongs to root or to the user.

    With sudo, the user who started sudo may own the file too. On Windows, the result is True.
    """
    if not hasattr(os, "geteuid"):  # Windows
        return True
    user = os.geteuid()
    trusted = {_ROOT, user}
    sudo_user = os.environ.get("SUDO_UID", "")
    if user == _ROOT and sudo_user.isdecimal():
        trusted.add(int(sudo_user))
    return os.lstat(path).st_uid in trusted and os.stat(path).st_uid in trusted


def _findings_above(folders: list[str], inside: list[str]) -> tuple[Finding, ...]:
    """The finding about a postrender.yaml that the search did not reach, or ().

    folders: the folders above the repository, nearest first.
    inside: the searched folders, up to the repository.
    """
    for folder in folders:
        path = os.path.join(folder, FILE_NAME)
        if os.path.isfile(path):
            repository = inside[-1]
            problem = (
                f"the file is outside the repository {repository}, so postrender ignores the file"
            )
            fix = f"If you want to use the file, pass --config {path}"
            location = Location(path)
            return (Finding(code="config-above", problem=problem, fix=fix, location=location),)
    return ()


# The maximum length of a chain of `extends`.
_MAX_FILES = 50


def extended_file(
    value: str, file: str, earlier: Sequence[str], source: Source, location: Location
) -> str:
    """The path of the file that `file` extends.

    A discovered file may extend only a YAML file of a trusted owner in the same repository.
    value: the value of `extends` in `file`, at `location`.
    earlier: the configuration files that postrender has read, in order. The last one is `file`.
    source: the source of the first file.
    """
    if source.read:
        path = _path_in_commit(value, file, source)
        is_inner = not _leaves_commit(path, source)
        is_permitted = is_inner and path.endswith(_ENDINGS)
        is_file = is_inner and source.read(path) is not None
    else:
        path = path_next_to(file, value)
        is_trusted = source.trust >= FULL
        is_inner = is_trusted or (bool(source.repository) and is_inside(path, source.repository))
        is_permitted = is_trusted or _is_permitted(path, source)
        is_file = is_inner and os.path.isfile(path)
    if not is_permitted and (is_file or not is_inner):
        raise UserError(
            f"the extended file is {path}, expected a YAML file in the "
            + ("commit" if source.commit else f"repository {source.repository}"),
            "Fix the path"
            if source.commit
            else f"Fix the path. If you trust both files, pass --config {source.file}",
            location,
        )
    if not is_file:
        raise UserError(
            f"the extended file {path} is a folder"
            if os.path.isdir(path)
            else f"the extended file {path} does not exist",
            f"Fix the path, which is relative to the folder of {file}",
            location,
        )
    if source.trust < FULL and not source.read and not is_owner_trusted(path):
        raise UserError(
            f"the extended file {path} belongs to another user",
            f"If you trust both files, pass --config {source.file}. Otherwise delete `extends`",
            location,
        )
    if len(earlier) >= _MAX_FILES:
        raise UserError(
            f"the configuration has more than {_MAX_FILES} files in a chain of `extends`",
            "Merge some of these files",
            location,
        )
    if path in earlier or (
        not source.read and any(os.path.samefile(path, other) for other in earlier)
    ):
        chain = " -> ".join([*earlier, path])
        raise UserError(
            f"the key `extends` leads back to an earlier file ({chain})",
            "Delete the key `extends` from one of these files",
            location,
        )
    return path


def path_next_to(file: str, value: str) -> str:
    """A path in a configuration file, which is relative to the folder of the file."""
    return os.path.normpath(os.path.join(os.path.dirname(file), value))


def _path_in_commit(value: str, file: str, source: Source) -> str:
    """The path of an extended file in the commit of a file, with the start of Source.commit."""
    folder = posixpath.dirname(file[len(source.commit) :])
    return source.commit + posixpath.normpath(posixpath.join(folder, value))


def _leaves_commit(path: str, source: Source) -> bool:
    """Whether a normal path leads out of the commit. git refuses links that lead out."""
    inner = path[len(source.commit) :]
    return inner.startswith(("/", "../")) or "\n" in inner or "\0" in inner


def _is_permitted(path: str, source: Source) -> bool:
    """Whether a discovered file may extend the file at a path, which can be missing.

    A link must not lead to another kind of file, out of the repository or into a folder `.git`.
    """
    if "\0" in path:  # realpath would raise ValueError
        return False
    real = os.path.realpath(path)
    return (
        bool(source.repository)
        and path.endswith(_ENDINGS)
        and real.endswith(_ENDINGS)
        and is_inside(path, source.repository)
        and ".git" not in os.path.relpath(real, os.path.realpath(source.repository)).split(os.sep)
    )


def merge_extended(base: Json, own: Json, path: Path = ()) -> Json:
    """A value of a file, merged with the value of the file that it extends.

    Mappings are merged by key. The items of lists are those of `own`, then those that only `base`
    has, because the first matching rule applies. In `attacher.podTemplate`, lists are merged by the
    names of their items, if every item has a name. In every other case, `own` replaces `base`.
    base: the value in the extended file.
    own: the value in the file with the key `extends`.
    path: the path of both values.
    """
    if isinstance(base, dict) and isinstance(own, dict):
        merged = dict(base)
        for key, value in own.items():
            merged[key] = merge_extended(base[key], value, (*path, key)) if key in base else value
        return merged
    if not (isinstance(base, list) and isinstance(own, list)):
        return own
    if path[: len(_POD_TEMPLATE)] != _POD_TEMPLATE:
        known = set(map(canonical_json, own))
        return [*own, *(item for item in base if canonical_json(item) not in known)]
    merged_items = merge_by_name(base, own, lambda item, other: merge_extended(item, other, path))
    return own if merged_items is None else merged_items


# The trust that a value needs, and the effect of the value as a verb phrase.
_Need = tuple[int, str]


def _any_value(effect: str) -> Callable[[str, str], _Need]:
    return lambda _value, _repository: (FULL, effect)


def _path_need(value: str, repository: str) -> _Need:
    if (
        repository
        and is_inside(value, repository)
        and all(is_inside(link, repository) for link in _links_below(value))
    ):
        if os.path.exists(value) and not (os.path.isfile(value) or os.path.isdir(value)):
            return FULL, "read a pipe"  # which need not end
        return REPOSITORY, "read files"
    return FULL, "read files outside the repository" if repository else "read files"


def _extension_need(_value: str, repository: str) -> _Need:
    # extended_file checks the path, which is relative to the folder of the configuration file.
    return OUTPUT_ONLY if repository else FULL, "extend a file"


def _links_below(folder: str) -> Iterator[str]:
    """The links to files below a folder. postrender does not follow links to folders."""
    for location, _, files in os.walk(folder):
        paths = (os.path.join(location, file) for file in files)
        yield from (path for path in paths if os.path.islink(path))


def _manifests_need(value: str, repository: str) -> _Need:
    if value.startswith("helm:"):
        return FULL, "run helm"
    if value.startswith("git:"):
        if repository and git_reads_only(repository):
            return REPOSITORY, "run git"
        return FULL, "read another git repository" if repository else "run git"
    return _path_need(value, repository)


# The settings with an effect outside the output: the option that an error suggests instead of the
# key, and a function that returns the need of a value in a repository.
RESTRICTED_SETTINGS: dict[tuple[str, ...], tuple[str, Callable[[str, str], _Need]]] = {
    ("extends",): ("config", _extension_need),
    ("logFile",): ("log-file", _any_value("write files")),
    ("history", "previous"): ("previous", _manifests_need),
    ("history", "kubeContext"): ("kube-context", _any_value("choose a cluster")),
    ("history", "kubeconfig"): (
        "kubeconfig",
        _any_value("choose a kubeconfig, which can start programs"),
    ),
    ("secretsHashKeyFile",): ("secrets-hash-key-file", _path_need),
}


def check_trust(
    values: Mapping[str, Any], source: Source, locate: Callable[[Path], Location]
) -> None:
    """Raise UserError for a value that needs more trust than the source has."""
    if source.trust == FULL:
        return
    for path, (option, need) in RESTRICTED_SETTINGS.items():
        value = value_at(values, path)
        if not value:
            continue
        trust, effect = need(str(value), source.repository)
        if source.trust < trust:
            raise UserError(f"{source.name} must not {effect}", _fix(option, source), locate(path))


def _fix(option: str, source: Source) -> str:
    variable = "POSTRENDER_" + option.replace("-", "_").upper()
    if not source.file or source.commit:
        return f"Delete the key, and pass --{option} as an argument or set {variable}"
    return (
        f"Delete the key, and pass --{option} or set {variable}. "
        f"If you trust the whole file, pass --config {source.file}"
    )
