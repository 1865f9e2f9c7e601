"""The images of a node: postrender from the Dockerfile, and the tests' own program."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import json
import os
import platform
import shutil
import subprocess
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from postrender.plan.attacher_objects import default_image
from tests.e2e.programs import ROOT, folder, program

HERE = Path(__file__).resolve().parent
BUILD_SECONDS = 900
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"
ARCHITECTURES = {"aarch64": "arm64"}
# The image of the sidecar, in the storage of images.
SIDECAR = "localhost/sidecar:e2e"
# The images of the tests' own program, and the arguments that each passes to the program.
OWN = {"localhost/pause:1": ["pause"], "localhost/app:1": ["app"]}


class ImageError(Exception):
    """The image of postrender cannot be built; the message is the last line of the build."""


@contextlib.contextmanager
def locked_storage() -> Iterator[None]:
    """Let no other process build images meanwhile."""
    target = folder() / "images"
    target.mkdir(exist_ok=True)
    with (target / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def archives() -> list[Path]:
    """Return the archives that a node imports; build them if something has changed."""
    target = folder() / "images"
    with locked_storage():
        build(target / "postrender.tar")
        own = target / "own.tar"
        content = own_archive(Path(program("pod")).read_bytes())
        # Another node may read the archive.
        if not own.exists() or own.read_bytes() != content:
            draft = target / "own.draft"
            draft.write_bytes(content)
            os.replace(draft, own)
    return [own, target / "postrender.tar"]


def build(archive: Path) -> None:
    """Build the image of postrender, if the archive does not exist or the sources have changed."""
    done = subprocess.run(
        [str(HERE / "image"), str(folder() / "images"), str(archive)],
        capture_output=True,
        text=True,
        timeout=BUILD_SECONDS,
    )
    if done.returncode:
        raise ImageError((done.stderr.strip().splitlines() or ["no message"])[-1])


def buildah(*arguments: str | Path) -> str:
    """Run buildah with the storage of the image; return its output."""
    target = folder() / "images"
    storage = ["--root", target / "vfs", "--runroot", target / "run", "--storage-driver", "vfs"]
    done = subprocess.run(
        ["buildah", *map(str, [*storage, *arguments])], capture_output=True, text=True
    )
    assert not done.returncode, f"{arguments}: {done.stdout}{done.stderr}"
    return done.stdout


def build_sidecar(folder: Path) -> None:
    """Build the image of the Argo CD sidecar from examples/argocd; the caller locks the storage.

    An image with only Helm replaces Argo CD's own image. The folder must be empty.
    """
    shutil.copy(program("helm4"), folder / "helm")
    (folder / "Dockerfile").write_text("FROM scratch\nCOPY helm /usr/local/bin/\n")
    build_image = ["bud", "--isolation=chroot", "--layers=false", "--pull-never", "--quiet"]
    buildah(*build_image, "--tag=localhost/argocd:e2e", folder)
    used = {
        "POSTRENDER": f"localhost/{default_image()}",
        "ARGOCD": "localhost/argocd:e2e",
        "BASE": "localhost/python:3.12-slim-trixie",
    }
    variables = [f"--build-arg={name}={value}" for name, value in used.items()]
    sources = ROOT / "examples" / "argocd"
    buildah(*build_image, *variables, f"--tag={SIDECAR}", sources)


def own_archive(binary: bytes) -> bytes:
    """Return an OCI archive with the images of one static program."""
    layer = _tar({"pod": binary})
    blobs = [layer]
    manifests = []
    for name, arguments in OWN.items():
        config = _config(layer, ["/pod", *arguments])
        manifest = json.dumps(
            {
                "schemaVersion": 2,
                "mediaType": MANIFEST,
                "config": _reference(CONFIG, config),
                "layers": [_reference(LAYER, layer)],
            }
        ).encode()
        blobs += [config, manifest]
        annotations = {"io.containerd.image.name": name}
        manifests.append({**_reference(MANIFEST, manifest), "annotations": annotations})
    index = json.dumps({"schemaVersion": 2, "manifests": manifests}).encode()
    files = {f"blobs/sha256/{_digest(blob)}": blob for blob in blobs}
    layout = json.dumps({"imageLayoutVersion": "1.0.0"}).encode()
    return _tar({"oci-layout": layout, "index.json": index, **files})


def _config(layer: bytes, entry_point: Sequence[str]) -> bytes:
    return json.dumps(
        {
            "architecture": ARCHITECTURES.get(platform.machine(), "amd64"),
            "os": "linux",
            "config": {"User": "65532:65532", "Entrypoint": entry_point},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{_digest(layer)}"]},
        }
    ).encode()


def _reference(media_type: str, blob: bytes) -> dict[str, object]:
    return {"mediaType": media_type, "digest": f"sha256:{_digest(blob)}", "size": len(blob)}


def _digest(blob: bytes) -> str:
    return hashlib.sha256(blob).hexdigest()


def _tar(files: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o755
            archive.addfile(entry, io.BytesIO(content))
    return target.getvalue()
