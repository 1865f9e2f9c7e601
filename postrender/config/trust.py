"""The trust in each source of settings, and the settings that need trust.

The author of a chart, a repository or an input can be a stranger. A stranger's settings may change
the output. These settings must not choose a cluster, write files, read files outside the
repository, or start programs. git is the only exception, because postrender prevents git from
starting programs of the repository, such as hooks. RESTRICTED_SETTINGS lists every setting with an
effect outside the output. A test checks that the list is complete.
"""

from __future__ import annotations

import os

from postrender.config.find import is_inside
from postrender.errors import UserError
from postrender.records import NamedTuple
from postrender.yaml.paths import Path, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from postrender.errors import Location

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
