"""The search for the configuration file, in a folder and in the folders above.

The search ends at the first folder that contains .git, or else at the root folder. Anybody can
create a file in a shared folder such as /tmp. Therefore, postrender rejects a file that does not
belong to root or to the user. For the same reason, git rejects repositories of other users
(CVE-2022-24765).

The key `extends` of a configuration file: the checks of the path, and the merge of the files.

A configuration file from --config or POSTRENDER_CONFIG may extend any file. A discovered file may
extend only a YAML file in the same repository. This YAML file must belong to root or to the user.
The extended file has the trust of the file that extends it (see the module `trust`).

The trust in each source of settings, and the settings that need trust.

The author of a chart, a repository or an input can be a stranger. A stranger's settings may change
the output. These settings must not choose a cluster, write files, read files outside the
repository, or start programs. git is the only exception, because postrender prevents git from
starting programs of the repository, such as hooks. RESTRICTED_SETTINGS lists every setting with an
effect outside the output. A test checks that the list is complete.
"""

from __future__ import annotations

import os

from postrender.errors import Finding, Location, UserError
from postrender.records import NamedTuple
from postrender.yaml.edits import merge_by_name
from postrender.yaml.paths import Path, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from postrender.errors import Location
    from postrender.yaml.paths import Json, Path


FILE_NAME = "postrender.yaml"

# The user ID of root.
_ROOT = 0


def find_config(start: str, *, is_untrusted: bool) -> tuple[Source | None, tuple[Finding, ...]]:
    """Return the nearest postrender.yaml in a folder or above, and a finding about an ignored file.

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
            _check_link(path)
            continue
        repository = folder if number is None else inside[-1]
        _check_source(path, repository)
        return discovered_file(path, repository, is_untrusted=is_untrusted), ()
    return None, _findings_above(folders[len(inside) :], inside)


def folders_upward(start: str) -> list[str]:
    """Return a folder and then the folders above, up to the root folder. Return [] for "".

    start: the absolute path of the folder.
    """
    folders: list[str] = []
    folder = start
    while folder and folder not in folders:
        folders.append(folder)
        folder = os.path.dirname(folder)
    return folders


def has_git(folder: str) -> bool:
    """Return whether a folder contains .git, like the root folder of a git repository."""
    return os.path.exists(os.path.join(folder, ".git"))


def _check_link(path: str) -> None:
    """Raise UserError if a path that is not a file is a link."""
    if os.path.islink(path):
        raise UserError(
            "the path is a link that does not lead to a file",
            f"Fix or remove the link, or pass --config {os.devnull} to ignore the link",
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
    """Return whether a file belongs to root or to the user who runs postrender.

    If the path is a link, the function also checks the owner of the target. If postrender runs as
    root through sudo, the function also accepts the user who started sudo. On Windows, the result
    is always True.
    """
    if not hasattr(os, "geteuid"):  # Windows
        return True
    user = os.geteuid()
    trusted = {_ROOT, user}
    sudo_user = os.environ.get("SUDO_UID", "")
    if user == _ROOT and sudo_user.isdecimal():
        trusted.add(int(sudo_user))
    return os.lstat(path).st_uid in trusted and os.stat(path).st_uid in trusted


def is_inside(path: str, folder: str) -> bool:
    """Return whether a path, after the resolution of links, is below `folder` or is `folder`.

    False for a path with a NUL.
    """
    try:
        root, resolved = os.path.realpath(folder), os.path.realpath(path)
    except ValueError:  # the path contains a NUL
        return False
    return resolved == root or resolved.startswith(os.path.join(root, ""))


def _findings_above(folders: list[str], inside: list[str]) -> tuple[Finding, ...]:
    """Return the finding about the nearest postrender.yaml above a repository, or ().

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


_ENDINGS = (".yaml", ".yml")
_POD_TEMPLATE = ("attacher", "podTemplate")


def extended_file(
    value: str, file: str, earlier: Sequence[str], source: Source, location: Location
) -> str:
    """Return the path of the file that `file` extends.

    value: the value of `extends` in `file`.
    earlier: the configuration files that postrender has read, in order. The last file is `file`.
    source: the source of the first file.
    location: the location of the value.
    Raises UserError if the path is not a file, or if `earlier` contains the file. If the trust of
    the source is below FULL, also raises UserError if _is_permitted or is_owner_trusted rejects the
    path.
    """
    path = os.path.normpath(os.path.join(os.path.dirname(file), value))
    if source.trust < FULL and not _is_permitted(path, source):
        raise UserError(
            f"the extended file is {path}, expected a YAML file in the repository "
            f"{source.repository}",
            f"Fix the path. If you trust both files, pass --config {source.file}",
            location,
        )
    if not os.path.isfile(path):
        raise UserError(
            f"the extended file {path} is a folder"
            if os.path.isdir(path)
            else f"the extended file {path} does not exist",
            f"Fix the path, which is relative to the folder of {file}",
            location,
        )
    if source.trust < FULL and not is_owner_trusted(path):
        raise UserError(
            f"the extended file {path} belongs to another user",
            f"If you trust both files, pass --config {source.file}. Otherwise delete `extends`",
            location,
        )
    if any(os.path.samefile(path, other) for other in earlier):
        chain = " -> ".join([*earlier, path])
        raise UserError(
            f"the key `extends` leads back to an earlier file ({chain})",
            "Delete the key `extends` from one of these files",
            location,
        )
    return path


def _is_permitted(path: str, source: Source) -> bool:
    """Return whether a discovered file may extend the file at a path. The file can be missing.

    The target is the path after the resolution of links. The path and the target must both end in
    .yaml or .yml. The target must be in the repository, and outside of every folder `.git`.
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
    """Return a value of a file, merged with the value of the extended file.

    base: the value of the extended file.
    own: the value of the file that has the key `extends`.
    path: the path of both values in the configuration.

    The function merges mappings by key. In `attacher.podTemplate`, the function merges lists by the
    names of their items, if every item has a name. Outside of `attacher.podTemplate`, the function
    appends to a list in `own` the items that only `base` has. The items of `own` must be first,
    because postrender applies the first matching rule. In every other case, `own` replaces `base`.
    """
    if isinstance(base, dict) and isinstance(own, dict):
        merged = dict(base)
        for key, value in own.items():
            merged[key] = merge_extended(base[key], value, (*path, key)) if key in base else value
        return merged
    if not (isinstance(base, list) and isinstance(own, list)):
        return own
    if path[: len(_POD_TEMPLATE)] != _POD_TEMPLATE:
        return [*own, *(item for item in base if item not in own)]
    merged_items = merge_by_name(base, own, lambda item, other: merge_extended(item, other, path))
    return own if merged_items is None else merged_items


# The levels of trust. OUTPUT_ONLY permits only effects on the output, and `extends` in a discovered
# file. REPOSITORY also permits the use of git, and reads of files in the repository. FULL permits
# everything.
OUTPUT_ONLY, REPOSITORY, FULL = 0, 1, 2


class Source(NamedTuple):
    """A source of settings.

    name: the source as the subject of a message.
    trust: one of the levels of trust.
    label: the trust in words, for `config show`.
    repository: the folder of the repository, "" if the source is not a discovered file.
    file: the path of the file, "" for a functionConfig.
    """

    name: str
    trust: int
    label: str
    repository: str = ""
    file: str = ""


def explicit_file(file: str) -> Source:
    """Return the source for a file in --config or POSTRENDER_CONFIG."""
    label = "the file can set every key"
    return Source(name="the file", trust=FULL, label=label, file=file)


def discovered_file(file: str, repository: str, *, is_untrusted: bool) -> Source:
    """Return the source for a file that postrender found without --config or POSTRENDER_CONFIG.

    is_untrusted: whether --untrusted is set.
    """
    source = Source(
        name="a postrender.yaml without --config",
        trust=REPOSITORY,
        label="the file can change the output and read the repository",
        repository=repository,
        file=file,
    )
    if not is_untrusted:
        return source
    return source._replace(
        name="with --untrusted, a postrender.yaml without --config",
        trust=OUTPUT_ONLY,
        label="the file can change only the output",
    )


FUNCTION_CONFIG = Source(
    name="a functionConfig",
    trust=OUTPUT_ONLY,
    label="the functionConfig can change only the output",
)


class _Need(NamedTuple):
    """The trust that a value needs, and the effect of the value as a verb phrase."""

    trust: int
    effect: str


def _any_value(effect: str) -> Callable[[str, str], _Need]:
    """Return a function for RestrictedSetting.need that always requires full trust."""
    return lambda _value, _repository: _Need(FULL, effect)


def _path_need(value: str, repository: str) -> _Need:
    if (
        repository
        and is_inside(value, repository)
        and all(is_inside(link, repository) for link in _links_below(value))
    ):
        return _Need(REPOSITORY, "read files")
    return _Need(FULL, "read files outside the repository" if repository else "read files")


def _extension_need(_value: str, repository: str) -> _Need:
    # The module `extension` checks the path, because the path is relative to the folder of the
    # configuration file.
    return _Need(OUTPUT_ONLY if repository else FULL, "extend a file")


def _links_below(folder: str) -> Iterator[str]:
    """Return the links to files below a folder. postrender does not follow links to folders."""
    for location, _, files in os.walk(folder):
        paths = (os.path.join(location, file) for file in files)
        yield from (path for path in paths if os.path.islink(path))


def _manifests_need(value: str, repository: str) -> _Need:
    """Return the need of a path, of `git:REF:PATH`, or of `helm:NAMESPACE/RELEASE`."""
    if value.startswith("helm:"):
        return _Need(FULL, "run helm")
    if value.startswith("git:"):
        return _Need(REPOSITORY, "run git")
    return _path_need(value, repository)


class RestrictedSetting(NamedTuple):
    """A setting with an effect outside the output.

    path: the path of the key.
    option: the option that an error suggests instead of the key.
    need: a function that returns the need of a value. The parameters are the value and the
        repository of the source.
    """

    path: Path
    option: str
    need: Callable[[str, str], _Need]


RESTRICTED_SETTINGS = (
    RestrictedSetting(("extends",), "config", _extension_need),
    RestrictedSetting(("logFile",), "log-file", _any_value("write files")),
    RestrictedSetting(("history", "previous"), "previous", _manifests_need),
    RestrictedSetting(("history", "kubeContext"), "kube-context", _any_value("choose a cluster")),
    RestrictedSetting(
        ("history", "kubeconfig"),
        "kubeconfig",
        _any_value("choose a kubeconfig, which can start programs"),
    ),
    RestrictedSetting(("secretsHashKeyFile",), "secrets-hash-key-file", _path_need),
)


def check_trust(
    values: Mapping[str, Any], source: Source, locate: Callable[[Path], Location]
) -> None:
    """Raise UserError for the first value that needs more trust than the source has.

    locate: a function that returns the location of the value at a path.
    """
    if source.trust == FULL:
        return
    for setting in RESTRICTED_SETTINGS:
        value = value_at(values, setting.path)
        if not value:
            continue
        need = setting.need(str(value), source.repository)
        if source.trust < need.trust:
            raise UserError(
                f"{source.name} must not {need.effect}",
                _fix(setting, source),
                locate(setting.path),
            )


def _fix(setting: RestrictedSetting, source: Source) -> str:
    variable = "POSTRENDER_" + setting.option.replace("-", "_").upper()
    if not source.file:
        return f"Delete the key, and pass --{setting.option} as an argument or set {variable}"
    return (
        f"Delete the key, and pass --{setting.option} or set {variable}. "
        f"If you trust the whole file, pass --config {source.file}"
    )
