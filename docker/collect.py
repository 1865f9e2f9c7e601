"""Collect the files of the final stage: Python, postrender, and the libraries that both load.

    python docker/collect.py FOLDER TREE...

The image has no shell, no package manager and no setuid file, because this script copies only files
that Python loads. Every file gets the time in SOURCE_DATE_EPOCH, so that two builds are equal.
"""

from __future__ import annotations

import compileall
import os
import py_compile
import re
import shutil
import ssl
import stat
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

# Parts of the standard library for terminals, windows, databases and tests, which postrender does
# not load.
LEFT_OUT = ("ensurepip", "idlelib", "lib2to3", "pydoc_data", "site-packages", "test", "tests")
LEFT_OUT += ("tkinter", "turtledemo", "venv", "_tkinter*", "curses", "_curses*", "readline.*")
LEFT_OUT += ("dbm", "_dbm*", "_gdbm*", "sqlite3", "_sqlite3*", "config-*", "*.a", "__pycache__")
# The scripts of a virtual environment for shells.
ACTIVATION = ("activate*", "Activate.ps1")
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
# How the C library finds hosts and libraries, and the configuration of OpenSSL.
SETTINGS = ("/etc/nsswitch.conf", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ssl/openssl.cnf")
PACKAGES = Path("/var/lib/dpkg/status.d")


def main(target: Path, trees: list[Path]) -> None:
    """Write the root file system of the image to a folder."""
    for name in ("lib", "lib64"):
        link = Path("/", name)
        (target / "usr" / name).mkdir(parents=True)
        if link.is_symlink():
            (target / name).symlink_to(Path("usr", name))
    _copy_python(target)
    for tree in trees:
        ignored = shutil.ignore_patterns(*ACTIVATION)
        shutil.copytree(tree, _within(target, tree), symlinks=True, ignore=ignored)
    libraries = sorted(set(_libraries(_binaries(target))))
    for library in libraries:
        _copy(target, library)
    _copy_settings(target)
    _describe_packages(target, libraries)
    subprocess.run(["ldconfig", "-X", "-r", str(target)], check=True)
    shutil.rmtree(target / "var" / "cache", ignore_errors=True)
    (target / "tmp").mkdir()
    _settle(target, int(os.environ.get("SOURCE_DATE_EPOCH") or 0))


def _within(target: Path, path: Path) -> Path:
    return target / path.relative_to("/")


def _copy(target: Path, path: Path) -> None:
    """Copy a file to the location that its folder really has."""
    copied = _within(target, path.parent.resolve() / path.name)
    copied.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(path, copied)


def _copy_python(target: Path) -> None:
    """Copy the interpreter and its standard library, compiled.

    Python never compares this byte code with its source, because the root filesystem is read-only.
    """
    binary = Path(sys.base_prefix, "bin", f"python{sysconfig.get_python_version()}")
    _copy(target, binary)
    for name in ("python3", "python"):
        _within(target, binary).with_name(name).symlink_to(binary.name)
    library = Path(sysconfig.get_path("stdlib"))
    copied = _within(target, library)
    shutil.copytree(library, copied, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
    compiled = compileall.compile_dir(
        copied,
        maxlevels=20,
        quiet=1,
        stripdir=target,
        prependdir="/",
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
    if not compiled:
        raise SystemExit("the standard library cannot be compiled")


def _binaries(target: Path) -> Iterator[Path]:
    for path in sorted(target.rglob("*")):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                if file.read(4) == b"\x7fELF":
                    yield path


def _libraries(binaries: Iterable[Path]) -> Iterator[Path]:
    """Yield the shared libraries that binaries load, with the loader itself."""
    for binary in binaries:
        done = subprocess.run(["ldd", str(binary)], capture_output=True, text=True, check=False)
        if "not found" in done.stdout:
            raise SystemExit(f"{binary}: {done.stdout}")
        for path in re.findall(r"(/\S+) \(0x", done.stdout):
            yield Path(path)


def _copy_settings(target: Path) -> None:
    for path in map(Path, SETTINGS):
        for file in sorted(path.iterdir()) if path.is_dir() else [path]:
            if file.exists():
                _copy(target, file)
    if not CERTIFICATES.exists():
        return
    _copy(target, CERTIFICATES)
    default = _within(target, Path(ssl.get_default_verify_paths().openssl_cafile))
    if not default.exists():
        default.parent.mkdir(parents=True, exist_ok=True)
        default.symlink_to(CERTIFICATES)


def _describe_packages(target: Path, libraries: list[Path]) -> None:
    """Record the Debian packages of the libraries, for scanners, with their licenses."""
    patterns = [f"*/{library.name}" for library in libraries]
    done = subprocess.run(
        ["dpkg-query", "--search", *patterns], capture_output=True, text=True, check=False
    )
    lines = [line for line in done.stdout.splitlines() if not line.startswith("diversion ")]
    owners = {line.partition(":")[0] for line in lines}
    folder = _within(target, PACKAGES)
    folder.mkdir(parents=True)
    for owner in sorted(owners):
        status = subprocess.run(["dpkg-query", "--status", owner], capture_output=True, check=True)
        (folder / owner).write_bytes(status.stdout)
        license_file = Path("/usr/share/doc", owner, "copyright")
        if license_file.exists():
            _copy(target, license_file)


def _settle(target: Path, seconds: int) -> None:
    """Set the times and modes of all files, the innermost first."""
    for path in sorted(target.rglob("*"), reverse=True):
        if not path.is_symlink():
            is_executable = path.is_dir() or path.stat().st_mode & stat.S_IXUSR
            path.chmod(0o755 if is_executable else 0o644)
        os.utime(path, (seconds, seconds), follow_symlinks=False)
    (target / "tmp").chmod(0o1777)
    target.chmod(0o755)
    os.utime(target, (seconds, seconds))


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(tree) for tree in sys.argv[2:]])
