"""The steps of a release check. Each step returns the text of its line, or raises an error."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from packaging.markers import Marker

from release.bench import (
    CACHE,
    PYTHONS,
    Bench,
    CheckError,
    SkipError,
    environment,
    helm,
    need,
    run,
    tool,
)
from release.jobs import Machine, Service, component, plain_environment, run_action, run_job
from tests.e2e.matrix import MatrixError, debian_python, interpreter

ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"
# The later address of the files of a release.
ADDRESS = "https://github.com/OWNER/postrender/releases/download/v{version}"
# A version of postrender on a page, in an example or in a manifest.
VERSION = r"(\d+\.\d+\.\d+)"
STATED = (
    rf"\bpostrender[:-]{VERSION}",
    rf"\bpostrender(?:/comment|/preview)?@v{VERSION}",
    rf"^\s*rev: v{VERSION} ",
    rf"^name: postrender\nversion: {VERSION}$",
    rf"^ARG VERSION={VERSION}$",
    rf"postrender\n\s+default: v{VERSION}$",
)
# These files may mention other versions of postrender.
OTHERS = ("CHANGELOG.md", "RELEASING.md", "tests/")
MARKER = "<!-- postrender diff -->"
# Files of the package that are not code, and folders that stay in a checkout.
DATA = ("postrender/plan/well_known_names.txt", "postrender/config/config.schema.json")
LOCAL = (".ci/", ".cache/", ".venv/")
# The lock file of each SBOM.
LOCK_FILES = {"postrender": "plugin", "postrender-image": "docker"}


# The sources


def versions(bench: Bench) -> str:
    """Check that no file mentions another version, and that CHANGELOG.md has the version."""
    files = run("git", "ls-files", cwd=bench.source).splitlines()
    stated = {
        name: stated_versions((bench.source / name).read_text("utf-8", "replace"))
        for name in files
        if not name.startswith(OTHERS)
    }
    wrong = [name for name, numbers in stated.items() if numbers - {bench.version}]
    if wrong:
        raise CheckError(f"{', '.join(wrong)}: another version than {bench.version}. Replace it")
    released = released_versions((bench.source / "CHANGELOG.md").read_text("utf-8"))
    if bench.version not in released[:1]:
        raise CheckError(f"CHANGELOG.md: the first section is not {bench.version}. Add the section")
    count = sum(map(bool, stated.values()))
    return f"{bench.version} in {count} files and in CHANGELOG.md"


def stated_versions(text: str) -> set[str]:
    """Return the versions of postrender that a file mentions."""
    return {version for pattern in STATED for version in re.findall(pattern, text, re.M)}


def released_versions(changelog: str) -> list[str]:
    """Return the versions that have a section, the newest first."""
    return re.findall(rf"^## {VERSION}\b", changelog, re.M)


def workflows(bench: Bench) -> str:
    """Check the workflows with actionlint."""
    if shutil.which("actionlint"):
        command = ["actionlint"]
    else:
        go = need("go", "Install Go or actionlint")
        command = [go, "run", ACTIONLINT]
    run(*command, "-no-color", cwd=bench.source)
    files = list((bench.source / ".github" / "workflows").glob("*.yml"))
    return f"actionlint finds no problem in {len(files)} files"


# The packages


def packages(bench: Bench) -> str:
    """Check that two builds, and the build of the sdist, are equal and contain only our files."""
    again = bench.build(bench.clone("again"), bench.work / "packages-again")
    unpacked = bench.work / "unpacked"
    with tarfile.open(bench.sdist) as archive:
        archive.extractall(unpacked, filter="data")
    [folder] = unpacked.iterdir()
    from_sdist = bench.build(folder, bench.work / "packages-sdist", "--target", "wheel")
    same(bench.wheel, again / bench.wheel.name, from_sdist / bench.wheel.name)
    same(bench.sdist, again / bench.sdist.name)
    check_contents(bench)
    return f"two builds are equal: {bench.wheel.name} {digest(bench.wheel)[:12]}"


def check_contents(bench: Bench) -> None:
    """Check that the wheel has the package only, and that the sdist has its tests but no caches."""
    with zipfile.ZipFile(bench.wheel) as wheel:
        names = wheel.namelist()
    if {re.split("[/-]", name)[0] for name in names} != {"postrender"}:
        raise CheckError(f"{bench.wheel.name} contains more than the package")
    if missing := [name for name in DATA if name not in names]:
        raise CheckError(f"{bench.wheel.name} does not contain {', '.join(missing)}")
    with tarfile.open(bench.sdist) as sdist:
        names = [name.partition("/")[2] for name in sdist.getnames()]
    if "tests/test_golden.py" not in names or any(name.startswith(LOCAL) for name in names):
        raise CheckError(f"{bench.sdist.name} lacks the tests, or contains local files")


def digest(file: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def same(*files: Path) -> None:
    """Check that files are equal."""
    if len({digest(file) for file in files}) > 1:
        raise CheckError(f"{files[0].name}: two builds differ. Compare them with diffoscope")


def metadata(bench: Bench) -> str:
    """Check the metadata and the README with twine."""
    run(tool("twine"), "check", "--strict", bench.wheel, bench.sdist)
    return "twine check --strict finds no problem"


def installation(version: str) -> Callable[[Bench], str]:
    """Return the step that installs the wheel with a version of Python."""

    def step(bench: Bench) -> str:
        python = find_python(version)
        installed = bench.new_environment(f"python-{version}", python, [bench.wheel])
        program = installed.with_name("postrender")
        folder = bench.work / f"run-{version}"
        folder.mkdir()
        if bench.version not in run(program, "version", cwd=folder):
            raise CheckError(f"postrender version does not print {bench.version}")
        run(program, "try", "--help", cwd=folder)
        example = bench.source / "examples" / "rendered" / "v1.yaml"
        image = f"--attacher-image=postrender:{bench.version}"
        output = run(program, "render", image, example, cwd=folder)
        if "postrender/base-name:" not in output:
            raise CheckError(f"{example.name} is rendered without a revision")
        # Every version of Python must write the same output.
        expected = bench.work / "rendered.yaml"
        if not expected.exists():
            expected.write_text(output, "utf-8")
        if output != expected.read_text("utf-8"):
            raise CheckError(f"Python {version} renders another output than the Python before")
        full = run(installed, "-c", "import platform; print(platform.python_version())")
        return f"Python {full.strip()} installs the wheel and renders an example"

    return step


def find_python(version: str) -> str:
    """Return the path of an interpreter, or skip the step."""
    path = interpreter(version)
    if path is None:
        path = str(CACHE / f"python-{version}" / "usr" / "bin" / f"python{version}")
    try:
        if not Path(path).exists():
            path = debian_python(version, CACHE / f"python-{version}")
    except MatrixError:
        path = ""
    if not path:
        raise SkipError(f"Python {version} is not installed. Run pyenv install {version}")
    return path


def windows(bench: Bench) -> str:
    """Check that every locked package has a wheel for Windows."""
    uv = tool("uv")
    options = ["--quiet", "--python-platform", "x86_64-pc-windows-msvc"]
    for version in PYTHONS:
        target = ["--python-version", version, "--target", bench.work / f"windows-{version}"]
        for lock in ("requirements.txt", "build-requirements.txt"):
            run(uv, "pip", "install", *options, *target, *bench.locked(lock))
    return "every locked package has a wheel for Windows; nothing was run on Windows"


def sbom(bench: Bench) -> str:
    """Check that two runs write equal SBOMs with the version."""
    folders = [bench.work / name for name in ("sbom", "sbom-again")]
    for folder in folders:
        run(sys.executable, bench.source / "release" / "sbom.py", folder)
    counts = []
    for file in sorted(folders[0].iterdir()):
        same(file, folders[1] / file.name)
        bill = json.loads(file.read_text("utf-8"))
        if bill["metadata"]["component"]["version"] != bench.version:
            raise CheckError(f"{file.name} does not have the version {bench.version}")
        check_bill(bench, file.name.partition(".")[0], bill)
        counts.append(f"{file.name} lists {len(bill['components'])}")
    return f"{', '.join(counts)} components"


def check_bill(bench: Bench, name: str, bill: Any) -> None:
    """Check that an SBOM lists exactly the pinned packages, with hashes, and the base image."""
    packages = [item for item in bill["components"] if item["type"] == "library"]
    lock = (bench.source / LOCK_FILES[name] / "requirements.txt").read_text("utf-8")
    pins = re.findall(r"^([\w.-]+)==([\w.]+)", lock, re.M)
    if sorted((item["name"], item["version"]) for item in packages) != sorted(pins):
        raise CheckError(f"the SBOM {name} does not list the packages of the lock file")
    if not all("SHA-256" in json.dumps(item) for item in packages):
        raise CheckError(f"the SBOM {name} has a package without a hash")
    bases = [item for item in bill["components"] if item["type"] == "container"]
    stated = [f"ARG BASE={base['name']}:{base['version']}\n" for base in bases]
    text = (bench.source / "Dockerfile").read_text("utf-8")
    if len(bases) != name.endswith("-image") or any(line not in text for line in stated):
        raise CheckError(f"the SBOM {name} has another base image than the Dockerfile")


# The image


def image(bench: Bench) -> str:
    """Build the image twice for this machine, and run it."""
    need("buildah", "Run tests/e2e/node/install as root")
    storage = CACHE / "images"
    archives = [bench.work / f"image-{number}.tar" for number in (1, 2)]
    for archive in archives:
        run(bench.source / "tests" / "e2e" / "node" / "image", storage, archive)
    digests = [image_digest(archive) for archive in archives]
    if len(set(digests)) > 1:
        raise CheckError(f"two builds of the image differ: {digests}")
    check_image(bench, storage, f"localhost/postrender:{bench.version}")
    return f"{platform.machine()}: two builds are equal, {digests[0][:19]}"


def image_arm64(bench: Bench) -> str:
    """Build the image for arm64 in an emulation, and run it."""
    if platform.machine() == "aarch64":
        raise SkipError("this machine is an arm64. The step image built the image")
    need("buildah", "Run tests/e2e/node/install as root")
    if not Path("/proc/sys/fs/binfmt_misc/qemu-aarch64").exists():
        raise SkipError(
            "this machine does not run programs for arm64. Install qemu-user-static and "
            "binfmt-support. The release workflow builds arm64 with docker/setup-qemu-action"
        )
    storage = CACHE / "images"
    run(bench.source / "release" / "arm64-image", storage)
    check_image(bench, storage, "localhost/postrender:arm64")
    return "the image is built and runs in an emulation"


def image_digest(archive: Path) -> str:
    """Return the digest of the image in an OCI archive."""
    with tarfile.open(archive) as files:
        index = files.extractfile("index.json")
        assert index
        return str(json.load(index)["manifests"][0]["digest"])


def check_image(bench: Bench, storage: Path, name: str) -> None:
    """Run an image, and check its version."""
    buildah = ["buildah", "--root", storage / "vfs", "--runroot", storage / "run"]
    buildah += ["--storage-driver", "vfs"]
    container = run(*buildah, "from", "--pull-never", name).strip()
    try:
        program = ["--isolation", "chroot", container, "--", "/opt/postrender/bin/postrender"]
        if bench.version not in run(*buildah, "run", *program, "version"):
            raise CheckError(f"the image {name} does not run postrender {bench.version}")
        run(*buildah, "run", *program, "attach", "--help")
    finally:
        run(*buildah, "rm", container)


# The plugin and the formula


def plugin(bench: Bench) -> str:
    """Pack and sign the plugin with a new key, and install it from its address."""
    program = helm()
    need("gpg", "Install GnuPG")
    with tempfile.TemporaryDirectory() as home:
        key = new_key(Path(home))
    folder = bench.work / "plugin"
    with Service(folder).serve() as address:
        variables = environment(HELM=program, PLUGIN_KEY=key)
        run(bench.source / "release" / "plugin", folder, variables=variables)
        archive = folder / f"postrender-{bench.version}.tgz"
        return _install_plugin(bench, program, archive, f"{address}/{archive.name}")


def new_key(home: Path) -> str:
    """Return a new secret key, which is not stored."""
    variables = environment(GNUPGHOME=str(home))
    gpg = ["gpg", "--batch", "--quiet", "--passphrase", ""]
    user = "release check <check@example.com>"
    run(*gpg, "--quick-generate-key", user, "ed25519", "sign", "never", variables=variables)
    key = run(*gpg, "--armor", "--export-secret-keys", variables=variables)
    run("gpgconf", "--kill", "all", variables=variables)
    return key


def _install_plugin(bench: Bench, program: str, archive: Path, url: str) -> str:
    homes = {name: str(bench.work / "helm" / name) for name in ("cache", "config", "data")}
    variables = environment(**{f"HELM_{name.upper()}_HOME": path for name, path in homes.items()})
    keyring = ["--keyring", archive.parent / "postrender-plugin-key.gpg"]
    broken = bench.work / "broken"
    shutil.copytree(archive.parent, broken)
    with (broken / archive.name).open("ab") as file:
        file.write(b"x")
    try:
        run(program, "plugin", "verify", *keyring, broken / archive.name, variables=variables)
    except CheckError:
        pass
    else:
        raise CheckError("Helm accepts an archive that was changed after its signature")
    run(program, "plugin", "install", *keyring, url, variables=variables)
    chart = bench.source / "examples" / "chart"
    image = f"--post-renderer-args=--attacher-image=postrender:{bench.version}"
    command = ["template", "app", chart, "--post-renderer", "postrender", image]
    if "postrender/base-name:" not in run(program, *command, variables=variables):
        raise CheckError("the installed plugin does not render")
    version = run(program, "version", "--short").strip().partition("+")[0]
    return f"Helm {version} verifies, installs and runs the archive, and rejects a changed one"


def formula(bench: Bench) -> str:
    """Check the versions and hashes in the formula."""
    url = f"{ADDRESS.format(version=bench.version)}/{bench.sdist.name}"
    make = ["make", "--no-print-directory", "-C", bench.source, f"PYTHON={sys.executable}"]
    text = run(*make, "formula", f"SDIST={bench.sdist}", f"URL={url}")
    if f'  url "{url}"\n  sha256 "{digest(bench.sdist)}"\n' not in text:
        raise CheckError("the formula does not have the hash of the sdist")
    lock = (bench.source / "plugin" / "requirements.txt").read_text("utf-8")
    different = [*unlocked(text, lock), *missing(text, lock)]
    if different:
        packages = ", ".join(different)
        raise CheckError(f"formula and lock file differ in {packages}. Run make image-requirements")
    ruby = shutil.which("ruby")
    if ruby:
        file = bench.work / "postrender.rb"
        file.write_text(text, "utf-8")
        run(ruby, "-c", file)
    syntax = "Ruby reads the formula" if ruby else "Ruby is not installed, so nothing read it"
    return f"the sdist and {text.count('resource ')} packages have their hashes; {syntax}"


def unlocked(text: str, lock: str) -> list[str]:
    """Return the packages of a formula whose version or hash is not in a lock file."""
    found = re.findall(r'resource "(.+)" do\n +url "(.+)"\n +sha256 "(.+)"', text)
    pins = re.findall(r"^([\w.-]+)==([\w.]+)", lock, re.M)
    return [
        name
        for name, url, value in found
        if f"--hash=sha256:{value}" not in lock
        or not any(name == pin and f"-{version}.tar.gz" in url for pin, version in pins)
    ]


def missing(text: str, lock: str) -> list[str]:
    """Return the packages of a lock file that Python 3.13 needs and a formula does not have."""
    python = {"python_full_version": "3.13.0", "python_version": "3.13", "sys_platform": "darwin"}
    pins = re.findall(r"^([\w.-]+)==[\w.]+(?: ; (.*?))? \\$", lock, re.M)
    needed = {name for name, marker in pins if not marker or Marker(marker).evaluate(python)}
    return sorted(needed - set(re.findall(r'resource "(.+)" do', text)))


# The preview in a pull request


def github_action(bench: Bench) -> str:
    """Run both actions: the preview, and the comment with the preview."""
    base, head, machine = _job(bench, "github")
    event = {
        "pull_request": {"base": {"sha": base}, "head": {"sha": head}},
        "workflow_run": {
            "id": "1",
            "head_branch": "change",
            "head_sha": head,
            "head_repository": {"owner": {"login": "fork"}},
        },
    }
    contexts = {"github": {"event": event}, "runner": {"temp": machine.variables["RUNNER_TEMP"]}}
    given = {"chart": "chart", "release": "shop", "namespace": "prod"}
    given["options"] = "--values chart/values-prod.yaml"
    run_action(bench.source, given, contexts, machine)
    service = Service(bench.work, head)
    with service.serve() as address:
        (bench.work / "event.json").write_text(json.dumps(event))
        variables = {
            **machine.variables,
            "GITHUB_API_URL": address,
            "GITHUB_REPOSITORY": "o/r",
            "GITHUB_EVENT_PATH": str(bench.work / "event.json"),
        }
        empty = machine._replace(workspace=_empty(bench.work / "github-comment"))
        run_action(
            bench.source / "comment",
            {},
            {**contexts, "github": {"event": event, "token": "a token"}},
            empty._replace(variables=variables),
        )
    return _posted(service, machine)


def gitlab_component(bench: Bench) -> str:
    """Run both jobs of the component: the preview, and the comment with the preview."""
    base, head, machine = _job(bench, "gitlab")
    given = {"chart": "chart", "release": "shop", "namespace": "prod"}
    given["options"] = "--values chart/values-prod.yaml"
    given |= {"repository": str(bench.source), "revision": run_head(bench)}
    jobs = component(bench.source / "templates" / "preview.yml", given)
    service = Service(bench.work)
    with service.serve() as address:
        for name, job in jobs.items():
            is_comment = name == "postrender-comment"
            variables = {
                **machine.variables,
                "CHECKOUT": str(bench.work / name),
                "GITLAB_CI": "true",
                "CI_API_V4_URL": address,
                "CI_MERGE_REQUEST_PROJECT_ID": "9",
                "CI_MERGE_REQUEST_IID": "5",
                "CI_MERGE_REQUEST_DIFF_BASE_SHA": base,
                "CI_COMMIT_SHA": head,
                # The variable has an environment, so only the second job gets it.
                **({"GITLAB_TOKEN": "a token"} if is_comment else {}),
            }
            folder = _empty(bench.work / "gitlab-comment") if is_comment else machine.workspace
            run_job(name, job, machine._replace(workspace=folder, variables=variables))
    return _posted(service, machine)


def run_head(bench: Bench) -> str:
    """Return the commit of the clone."""
    return run("git", "rev-parse", "HEAD", cwd=bench.source).strip()


def _empty(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _job(bench: Bench, name: str) -> tuple[str, str, Machine]:
    """Return the two commits of a new pull request, and the machine of its job."""
    programs = _empty(bench.work / f"{name}-programs")
    (programs / "helm").symlink_to(helm())
    workspace = _empty(bench.work / f"{name}-workspace")
    who = dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "release check")
    who |= dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "check@example.com")
    variables = environment(**who)
    shutil.copytree(bench.source / "examples" / "chart", workspace / "chart")
    run("git", "init", "--quiet", cwd=workspace)
    commits = []
    for values in ("values-v1.yaml", "values-v2.yaml"):
        shutil.copy(workspace / "chart" / values, workspace / "chart" / "values-prod.yaml")
        run("git", "add", "--all", cwd=workspace)
        run("git", "commit", "--quiet", "--message", values, cwd=workspace, variables=variables)
        commits.append(run("git", "rev-parse", "HEAD", cwd=workspace).strip())
    temporary = _empty(bench.work / f"{name}-temporary")
    path = f"{programs}{os.pathsep}{variables['PATH']}"
    machine = Machine(
        workspace=workspace,
        artifacts=_empty(bench.work / f"{name}-artifacts"),
        variables=plain_environment(
            PATH=path,
            HOME=str(temporary),
            RUNNER_TEMP=str(temporary),
            GITHUB_STEP_SUMMARY=str(temporary / "summary.md"),
        ),
    )
    return commits[0], commits[1], machine


def _posted(service: Service, machine: Machine) -> str:
    """Check the comment, and return the text of the step's line."""
    preview = machine.workspace / "preview"
    expected = (preview / "preview.md").read_text("utf-8")
    if not (preview / "preview.html").is_file() or not expected.startswith(MARKER):
        raise CheckError("the preview is not complete")
    if service.comments != [expected]:
        raise CheckError("the comment is not the preview")
    return f"the preview has {len(expected.splitlines())} lines, and becomes a comment"
