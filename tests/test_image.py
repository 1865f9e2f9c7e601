"""The text of the Dockerfile. tests/e2e/test_image_replay.py runs its build stage."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import cache
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from postrender import __version__
from postrender.config.settings import AttacherSettings
from postrender.kubernetes.kinds import Identity
from postrender.plan.attacher_job import AttachedWorkload, AttachGroup, attacher_objects
from postrender.plan.attacher_objects import HOOK, default_image

ROOT = Path(__file__).resolve().parents[1]
LOCK_FILES = ("docker/requirements.txt", "docker/build-requirements.txt")
VENV = "/opt/postrender"
# The step that collects the files of the final stage needs the base image.
COLLECT = "python docker/collect.py"
PINNED_SLIM = re.compile(r"python:3\.\d+-slim-[a-z]+@sha256:[0-9a-f]{64}")


# Reading the Dockerfile


@dataclass(frozen=True)
class Stage:
    """A stage, from one FROM to the next.

    steps: (instruction, argument) in their order
    """

    base: str
    steps: tuple[tuple[str, str], ...]

    def all(self, instruction: str) -> list[str]:
        """Return the argument of each occurrence of an instruction."""
        return [argument for name, argument in self.steps if name == instruction]

    def pairs(self, instruction: str) -> dict[str, str]:
        """Return the variables or labels that an instruction (ENV, ARG, LABEL) sets."""
        words = [word for text in self.all(instruction) for word in shlex.split(text)]
        return dict(word.split("=", 1) for word in words)


@cache
def stages() -> tuple[Stage, ...]:
    """Return the stages, with global arguments replaced in FROM."""
    text = re.sub(r"^\s*#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    lines = text.replace("\\\n", "").splitlines()
    arguments: dict[str, str] = {}
    result: list[Stage] = []
    for instruction, argument in (line.split(None, 1) for line in lines if line.strip()):
        if instruction == "FROM":
            base = argument.split()[0]
            for name, value in arguments.items():
                base = base.replace(f"${{{name}}}", value)
            result.append(Stage(base, ()))
        elif result:
            result[-1] = replace(result[-1], steps=(*result[-1].steps, (instruction, argument)))
        else:
            name, value = argument.split("=", 1)
            arguments[name] = value
    return tuple(result)


def copied(stage: Stage) -> list[str]:
    """Return the paths that a stage copies from the repository."""
    lines = [line for line in stage.all("COPY") if not line.startswith("--from=")]
    return [source for line in lines for source in line.split()[:-1]]


def is_ignored(path: str) -> bool:
    """Return whether .dockerignore excludes a path; the last matching line decides."""
    ignored = False
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        pattern = line.lstrip("!")
        if line.startswith("#") or not line:
            continue
        parents = ["/".join(path.split("/")[: n + 1]) for n in range(path.count("/") + 1)]
        if any(fnmatch(f"/{parent}", f"/{pattern}".replace("/**/", "*/")) for parent in parents):
            ignored = not line.startswith("!")
    return ignored


def pod_spec() -> Any:
    """Return the spec of the appended Job's Pod."""
    identity = Identity(group="argoproj.io", kind="Rollout", namespace=None, name="a")
    workload = AttachedWorkload(
        identity=identity, render_id="0123456789", names=(("configmap", "b"),), wave=0
    )
    attach_group = AttachGroup(name="a", namespace=None, workloads=(workload,), emitted=())
    job: Any = attacher_objects(attach_group, HOOK, AttacherSettings())[-1]
    return job["spec"]["template"]["spec"]


def pins(name: str) -> Iterator[tuple[str, str, int]]:
    """Yield the package, version and number of hashes of each pin in a lock file."""
    text = re.sub(r"^\s*#.*\n", "", (ROOT / name).read_text(), flags=re.MULTILINE)
    for line in text.replace("\\\n", "").splitlines():
        pin, *hashes = line.split()
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", text) for text in hashes), line
        package, version = pin.split("==")
        yield package, version, len(hashes)


# Rules


def test_the_build_uses_a_pinned_slim_python_and_the_image_is_from_scratch() -> None:
    build, final = stages()
    assert PINNED_SLIM.fullmatch(build.base)
    assert final.base == "scratch"


def test_the_sidecar_is_on_the_same_python() -> None:
    sidecar = (ROOT / "examples/argocd/Dockerfile").read_text()
    assert re.findall(r"^ARG BASE=(.*)$", sidecar, re.M) == [stages()[0].base]


@pytest.mark.parametrize("name", ["Dockerfile", "examples/argocd/Dockerfile"])
def test_every_base_image_can_have_a_digest(name: str) -> None:
    """A digest follows the tag, so the whole reference must be the value of an argument."""
    text = (ROOT / name).read_text()
    arguments = set(re.findall(r"^ARG (\w+)=\S+$", text.split("FROM ")[0], re.M))
    images = re.findall(r"^FROM (\S+)", text, re.M)
    assert images
    assert {image for image in images if image != "scratch"} == {f"${{{arg}}}" for arg in arguments}
    assert "@sha256:" in text


def test_the_user_is_the_user_of_the_pod() -> None:
    context = pod_spec()["securityContext"]
    assert stages()[-1].all("USER") == [f"{context['runAsUser']}:{context['runAsGroup']}"]
    assert context["runAsNonRoot"]
    assert context["runAsUser"] > 0


def test_the_pod_only_adds_arguments_to_the_entry_point() -> None:
    container = pod_spec()["containers"][0]
    assert "command" not in container
    assert container["args"][0] == "attach"
    assert entry_point() == [f"{VENV}/bin/postrender"]


def test_without_arguments_the_image_renders() -> None:
    assert stages()[-1].all("CMD") == ["[]"]


def entry_point() -> list[str]:
    (text,) = stages()[-1].all("ENTRYPOINT")
    words = json.loads(text)
    assert isinstance(words, list), (
        "the shell form would start a shell between the Pod and the process"
    )
    return words


def test_the_final_stage_does_not_install_packages() -> None:
    final = stages()[-1]
    assert not final.all("RUN")
    assert final.all("COPY") == ["--from=build /image /"]
    assert not final.all("ADD")
    assert stages()[0].all("RUN")[-1] == f"{COLLECT} /image {VENV}"


def test_only_the_copied_paths_are_sent_to_the_build() -> None:
    sources = copied(stages()[0])
    assert sources
    for source in sources:
        assert (ROOT / source).exists(), source
        assert not is_ignored(source), source
    for name in (".git/config", ".venv/bin/python", "tests/conftest.py", "examples/chart"):
        assert is_ignored(name), name
    assert is_ignored("postrender/__pycache__/cli.pyc")
    assert is_ignored("postrender/attach/__pycache__")
    assert not is_ignored("postrender/attach/run.py")


def test_the_version_is_the_version_of_the_package() -> None:
    version = stages()[-1].pairs("ARG")["VERSION"]
    assert version == __version__
    assert default_image() == f"postrender:{version}"
    assert f"--tag {default_image()} ." in (ROOT / "Dockerfile").read_text()


def test_the_labels_are_oci_labels() -> None:
    labels = stages()[-1].pairs("LABEL")
    prefix = "org.opencontainers.image."
    names = ("title", "description", "licenses", "version", "source")
    assert set(labels) == {prefix + name for name in names}
    assert labels[f"{prefix}licenses"] == "Apache-2.0"


@pytest.mark.parametrize("name", LOCK_FILES)
def test_every_pin_has_its_hashes(name: str) -> None:
    assert all(hashes for _, _, hashes in pins(name))
    assert "://" not in (ROOT / name).read_text()


def test_the_lock_file_satisfies_the_requirements_of_the_package() -> None:
    locked = {package: version for package, version, _ in pins(LOCK_FILES[0])}
    for requirement in map(Requirement, requires("postrender") or []):
        if requirement.marker is None or requirement.marker.evaluate({"extra": "attach"}):
            name = canonicalize_name(requirement.name)
            assert requirement.specifier.contains(locked[name]), (
                f"run make image-requirements: {requirement}"
            )
