"""No chart of an Application reads the files of another one: the Argo CD plugin with the real Helm.

Each trick is a chart. The canary is in the copy of another repository, and must never be printed.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import io
import json
import shutil
import subprocess
import tarfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.programs import program
from tests.rings import in_matrix
from tests.security.test_argocd_plugin import Sidecar

CANARY = "CANARY"
CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: %s}
data: {password: {{ .Values.password | toJson }}}
"""
OUT = "../../../victim"  # from the chart, apps/shop
# The image of the sidecar copies the Helm of Argo CD, which is Helm 4 since Argo CD 3.5.
HELMS = [*(pytest.param(name, marks=in_matrix) for name in ("helm3", "helm3.21")), "helm4"]


@pytest.fixture(params=HELMS)
def sidecar(request: pytest.FixtureRequest, tmp_path: Path) -> Sidecar:
    """Return a sidecar with a real Helm and the copies of two repositories."""
    sidecar = Sidecar(tmp_path)
    helm = tmp_path / "bin" / "helm"
    helm.unlink()
    helm.symlink_to(program(request.param))
    victim = victim_of(sidecar)
    write_chart(victim / "chart", "victim", CANARY)
    (victim / "values.json").write_text(json.dumps({"enum": [CANARY]}))
    package(victim / "chart", victim / "victim-1.0.0.tgz")
    write_chart(sidecar.repository / "apps" / "sub", "victim", "harmless")
    return sidecar


def victim_of(sidecar: Sidecar) -> Path:
    return sidecar.repository.parent / "victim"


def write_chart(folder: Path, name: str, password: str) -> None:
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text(f"apiVersion: v2\nname: {name}\nversion: 1.0.0\n")
    (folder / "values.yaml").write_text(f"password: {password}\n")
    (folder / "templates" / "config.yaml").write_text(CONFIG_MAP % name)


def package(folder: Path, file: Path) -> None:
    """Write a packed chart, as `helm package` does."""
    with tarfile.open(file, "w:gz") as archive:
        archive.add(folder, folder.name)


def chart(sidecar: Sidecar, lines: str, version: str = "v2") -> None:
    sidecar.write("Chart.yaml", f"apiVersion: {version}\nname: shop\nversion: 1.0.0\n{lines}")


def dependency(repository: str, name: str = "victim") -> dict[str, str]:
    return {"name": name, "version": "1.0.0", "repository": repository}


def dependencies(*entries: dict[str, str]) -> str:
    return f"dependencies: {json.dumps(entries)}\n"


def lock(wanted: list[dict[str, str]], locked: list[dict[str, str]]) -> str:
    """Return a lock file with a digest that Helm accepts."""
    text = json.dumps([wanted, locked], separators=(",", ":"))
    digest = f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
    return json.dumps(
        {"dependencies": locked, "digest": digest, "generated": "2026-01-01T00:00:00Z"}
    )


def run(sidecar: Sidecar, **variables: str) -> str:
    """Render the chart as Argo CD does, and return everything that the plugin printed."""
    fetched = sidecar.run("init", **variables)
    printed = fetched.stdout + fetched.stderr
    if fetched.returncode == 0:
        made = sidecar.run("generate", **variables)
        printed += made.stdout + made.stderr
    return printed


# Tricks: what the chart of an attacker looks like.

TRICKS: dict[str, Callable[[Sidecar], object]] = {}


def trick(name: str) -> Callable[[Callable[[Sidecar], object]], Callable[[Sidecar], object]]:
    def add(make: Callable[[Sidecar], object]) -> Callable[[Sidecar], object]:
        TRICKS[name] = make
        return make

    return add


def with_repository(repository: str) -> Callable[[Sidecar], object]:
    return lambda sidecar: chart(sidecar, dependencies(dependency(repository)))


TRICKS |= {
    "a path to another copy": with_repository(f"file://{OUT}/chart"),
    "a path that the printed table cuts": with_repository(f"file://x/../{'x/../' * 18}{OUT}/chart"),
    "the scheme in capitals": with_repository(f"FILE://{OUT}/chart"),
    "the scheme without slashes": with_repository(f"file:{OUT}/chart"),
    "the scheme with one slash": with_repository("file:/victim/chart"),
    "a percent-encoded path": with_repository(f"file://{OUT.replace('/', '%2f')}/chart"),
    "a host before the path": with_repository(f"file://localhost/../{OUT}/chart"),
    "no scheme": with_repository(f"{OUT}/chart"),
    "a space before the scheme": with_repository(f" file://{OUT}/chart"),
    "an invisible character in the scheme": with_repository(f"fi\u200ble://{OUT}/chart"),
    "an invisible character between dots": with_repository("file://.\u200b./../../victim/chart"),
    "a line break for a space": with_repository(f"file://\n/../{OUT}/chart"),
    "an alias of a repository": with_repository(f"alias:{OUT}/chart"),
    "the name of a repository": with_repository(f"@{OUT}/chart"),
    "an archive": with_repository(f"file://{OUT}/victim-1.0.0.tgz"),
    "a registry with dots": with_repository(f"oci://{OUT}/chart"),
}


@trick("an absolute path")
def _(sidecar: Sidecar) -> None:
    with_repository(f"file://{victim_of(sidecar)}/chart")(sidecar)


@trick("a host, then the absolute path")
def _(sidecar: Sidecar) -> None:
    with_repository(f"file://localhost{victim_of(sidecar)}/chart")(sidecar)


@trick("the lock file names another repository")
def _(sidecar: Sidecar) -> None:
    wanted, locked = [dependency("file://../sub")], [dependency(f"file://{OUT}/chart")]
    chart(sidecar, dependencies(*wanted))
    sidecar.write("Chart.lock", lock(wanted, locked))


@trick("the lock file has one more dependency")
def _(sidecar: Sidecar) -> None:
    wanted = [dependency("file://../sub")]
    locked = [dependency("file://../sub"), dependency(f"file://{OUT}/chart")]
    chart(sidecar, dependencies(*wanted))
    sidecar.write("Chart.lock", lock(wanted, locked))


@trick("the old lock file of a new chart")
def _(sidecar: Sidecar) -> None:
    wanted, locked = [dependency("file://../sub")], [dependency(f"file://{OUT}/chart")]
    chart(sidecar, dependencies(*wanted))
    sidecar.write("Chart.lock", lock(wanted, wanted))
    sidecar.write("requirements.lock", lock(wanted, locked))


@trick("both files of an old chart")
def _(sidecar: Sidecar) -> None:
    wanted, locked = [dependency("file://../sub")], [dependency(f"file://{OUT}/chart")]
    chart(sidecar, "", "v1")
    sidecar.write("requirements.yaml", dependencies(*wanted))
    sidecar.write("requirements.lock", lock(wanted, locked))


@trick("requirements.yaml replaces Chart.yaml")
def _(sidecar: Sidecar) -> None:
    chart(sidecar, dependencies(dependency("file://../sub")))
    sidecar.write("requirements.yaml", dependencies(dependency(f"file://{OUT}/chart")))


@trick("requirements.yaml completes Chart.yaml")
def _(sidecar: Sidecar) -> None:
    chart(sidecar, dependencies(dependency(f"file://{OUT}/chart")))
    sidecar.write("requirements.yaml", "dependencies: [{name: victim}]\n")


@trick("an unknown version of the chart format")
def _(sidecar: Sidecar) -> None:
    chart(sidecar, "", "v3")
    sidecar.write("requirements.yaml", dependencies(dependency(f"file://{OUT}/chart")))


@trick("a key in capitals")
def _(sidecar: Sidecar) -> None:
    entry = dependency("file://../sub") | {"Repository": f"file://{OUT}/chart"}
    chart(sidecar, dependencies(entry))


@trick("the list in capitals")
def _(sidecar: Sidecar) -> None:
    chart(sidecar, dependencies(dependency(f"file://{OUT}/chart")).capitalize())


YAML_TRICKS = {
    "a key twice": "dependencies:\n- name: victim\n  version: 1.0.0\n  repository: file://../sub\n"
    "  repository: file://OUT/chart\n",
    "the list twice": "dependencies: [{name: victim, version: 1.0.0, repository: file://../sub}]\n"
    "dependencies: [{name: victim, version: 1.0.0, repository: file://OUT/chart}]\n",
    "an anchor": "keywords: [&x file://OUT/chart]\n"
    "dependencies: [{name: victim, version: 1.0.0, repository: *x}]\n",
    "a merge key": "annotations: &x {name: victim, version: 1.0.0, repository: file://OUT/chart}\n"
    "dependencies: [{<<: *x}]\n",
    "a merge key after the key": "annotations: &x {repository: file://OUT/chart}\n"
    "dependencies: [{repository: file://../sub, name: victim, version: 1.0.0, <<: *x}]\n",
    "two documents": "---\ndependencies: [{name: victim, version: 1.0.0, "
    "repository: file://OUT/chart}]\n",
    "a binary tag": "dependencies: [{name: victim, version: 1.0.0, "
    "repository: !!binary ZmlsZTovLy4uLy4uLy4uL3ZpY3RpbS9jaGFydA==}]\n",
    "an unknown tag": "dependencies: [{name: victim, version: 1.0.0, "
    "repository: ! file://OUT/chart}]\n",
    "an escape": 'dependencies: [{name: victim, version: 1.0.0, "repository": '
    '"\\x66ile://OUT/chart"}]\n',
    "a folded text": "dependencies:\n- name: victim\n  version: 1.0.0\n  repository: >-\n"
    "    file://OUT/chart\n",
}


def with_lines(text: str) -> Callable[[Sidecar], object]:
    return lambda sidecar: chart(sidecar, text.replace("OUT", OUT))


TRICKS |= {name: with_lines(text) for name, text in YAML_TRICKS.items()}


@trick("a byte order mark")
def _(sidecar: Sidecar) -> None:
    entry = dependencies(dependency(f"file://{OUT}/chart"))
    sidecar.write("Chart.yaml", f"\ufeffapiVersion: v2\nname: shop\nversion: 1.0.0\n{entry}")


@trick("the name is a path")
def _(sidecar: Sidecar) -> None:
    chart(sidecar, dependencies(dependency("", f"../{OUT}/chart")))


@trick("a dependency of a dependency")
def _(sidecar: Sidecar) -> None:
    sub = sidecar.repository / "apps" / "sub"
    with (sub / "Chart.yaml").open("a") as file:
        file.write(dependencies(dependency(f"file://{OUT}/chart", "nested")))
    chart(sidecar, dependencies(dependency("file://../sub")))


@trick("the link that is a dependency")
def _(sidecar: Sidecar) -> None:
    (sidecar.repository / "apps" / "link").symlink_to(victim_of(sidecar) / "chart")
    chart(sidecar, dependencies(dependency("file://../link")))


@trick("a link in the path, then dots")
def _(sidecar: Sidecar) -> None:
    # Helm removes `link/..` before it follows links.
    deep = sidecar.repository / "a" / "b" / "c"
    write_chart(sidecar.repository / "victim" / "chart", "victim", "harmless")
    (deep / "d").mkdir(parents=True)
    (sidecar.chart / "link").symlink_to(deep / "d")
    chart(sidecar, dependencies(dependency(f"file://link/../{OUT}/chart")))


@trick("the link in a dependency")
def _(sidecar: Sidecar) -> None:
    values = sidecar.repository / "apps" / "sub" / "values.yaml"
    values.unlink()
    values.symlink_to(victim_of(sidecar) / "chart" / "values.yaml")
    chart(sidecar, dependencies(dependency("file://../sub")))


@trick("the link in a folder behind a link")
def _(sidecar: Sidecar) -> None:
    folder = sidecar.repository / "shared"
    folder.mkdir()
    (folder / "config.yaml").symlink_to(victim_of(sidecar) / "chart" / "values.yaml")
    (sidecar.chart / "templates").symlink_to(folder)


LINKS = {
    "the link charts": ("charts", "charts"),
    "the link to a chart in charts": ("charts/victim", "chart"),
    "the link to an archive in charts": ("charts/victim-1.0.0.tgz", "victim-1.0.0.tgz"),
    "the link templates": ("templates", "chart/templates-with-values"),
    "the link to a file of templates": ("templates/x.yaml", "chart/values.yaml"),
    "the link values.yaml": ("values.yaml", "chart/values.yaml"),
    "the link Chart.yaml": ("Chart.yaml", "Chart.yaml"),
    "the link Chart.lock": ("Chart.lock", "Chart.lock"),
    "the link requirements.yaml": ("requirements.yaml", "Chart.yaml"),
    "the link to another file": ("files/x", "chart/values.yaml"),
    "the link to a custom resource": ("crds/x.yaml", "chart/values.yaml"),
    "the link values.schema.json": ("values.schema.json", "values.json"),
    "the link .helmignore": (".helmignore", "bad-pattern"),
}


def with_link(name: str, target: str) -> Callable[[Sidecar], object]:
    def make(sidecar: Sidecar) -> None:
        victim = victim_of(sidecar)
        entry = dependencies(dependency(f"file://{OUT}/chart"))
        shutil.copytree(victim / "chart", victim / "charts" / "victim")
        (victim / "chart" / "templates-with-values").mkdir()
        shutil.copy(victim / "chart" / "values.yaml", victim / "chart" / "templates-with-values")
        (victim / "Chart.yaml").write_text(f"apiVersion: v2\nname: {CANARY}\nversion: 1.0.0\n")
        with (victim / "Chart.yaml").open("a") as file:
            file.write(entry)
        (victim / "Chart.lock").write_text(f"generated: {CANARY}\n")
        (victim / "bad-pattern").write_text(f"[{CANARY}\n")
        template = '{{ .Files.Get "files/x" }}\nname: {{ .Chart.Name }}-{{ .Values.password }}\n'
        sidecar.write("values.yaml", "password: harmless\nvictim: {password: null}\n")
        (sidecar.chart / "templates").mkdir()
        sidecar.write("templates/config.yaml", template)
        path = sidecar.chart / name
        path.parent.mkdir(exist_ok=True)
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        path.symlink_to(victim / target)

    return make


TRICKS |= {name: with_link(*link) for name, link in LINKS.items()}


@trick("the chart is behind a link")
def _(sidecar: Sidecar) -> None:
    # The kernel and Helm take `..` of the chart's folder for two different folders.
    deep = sidecar.repository / "a" / "b" / "c"
    shutil.move(sidecar.chart, deep / "shop")
    write_chart(deep.parents[1] / "victim" / "chart", "victim", "harmless")
    sidecar.chart.symlink_to(deep / "shop")
    chart(sidecar, dependencies(dependency(f"file://{OUT}/chart")))


# The schema of values: Helm reads the files and URLs in $ref, and prints parts of them.


def schema(path: Path) -> str:
    return json.dumps({"$ref": f"file://{path}/values.json"})


@trick("the schema refers to a file")
def _(sidecar: Sidecar) -> None:
    sidecar.write("values.schema.json", schema(victim_of(sidecar)))


@trick("the schema refers to a file without a scheme")
def _(sidecar: Sidecar) -> None:
    path = str(victim_of(sidecar) / "values.json")
    sidecar.write("values.schema.json", json.dumps({"allOf": [{"$ref": path.lstrip("/")}]}))


@trick("the schema refers to a file with escapes")
def _(sidecar: Sidecar) -> None:
    text = schema(victim_of(sidecar))
    sidecar.write("values.schema.json", text.replace("$ref", "\\u0024ref").replace("f", "\\u0066"))


@trick("the schema's own address is a folder")
def _(sidecar: Sidecar) -> None:
    content = {"$id": f"file://{victim_of(sidecar)}/x", "properties": {}, "$ref": "values.json"}
    sidecar.write("values.schema.json", json.dumps(content))


@trick("the schema of the schema is a file")
def _(sidecar: Sidecar) -> None:
    content = {"$schema": f"file://{victim_of(sidecar)}/values.json"}
    sidecar.write("values.schema.json", json.dumps(content))


@trick("the schema refers to a file by a dynamic reference")
def _(sidecar: Sidecar) -> None:
    content = {"$dynamicRef": f"file://{victim_of(sidecar)}/values.json#x"}
    sidecar.write("values.schema.json", json.dumps(content))


@trick("the schema of a chart in charts")
def _(sidecar: Sidecar) -> None:
    write_chart(sidecar.chart / "charts" / "sub", "sub", "harmless")
    sidecar.write("charts/sub/values.schema.json", schema(victim_of(sidecar)))
    sidecar.write("values.yaml", "sub: {a: b}\n")


@trick("the schema of an archive in charts")
def _(sidecar: Sidecar) -> None:
    sub = sidecar.repository / "apps" / "sub"
    (sub / "values.schema.json").write_text(schema(victim_of(sidecar)))
    (sidecar.chart / "charts").mkdir()
    package(sub, sidecar.chart / "charts" / "anything.tgz")
    sidecar.write("values.yaml", "victim: {a: b}\n")


@trick("the schema in an archive with names of Windows")
def _(sidecar: Sidecar) -> None:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name, text in {
            "sub\\Chart.yaml": "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
            "sub\\x\\..\\values.schema.json": schema(victim_of(sidecar)),
        }.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    (sidecar.chart / "charts").mkdir()
    (sidecar.chart / "charts" / "x.tgz").write_bytes(gzip.compress(data.getvalue()))
    sidecar.write("values.yaml", "sub: {a: b}\n")


@trick("the schema of a dependency")
def _(sidecar: Sidecar) -> None:
    sub = sidecar.repository / "apps" / "sub"
    (sub / "values.schema.json").write_text(schema(victim_of(sidecar)))
    chart(sidecar, dependencies(dependency("file://../sub")))
    sidecar.write("values.yaml", "victim: {a: b}\n")


@pytest.mark.parametrize(
    "name",
    # The plugin refuses each link before Helm starts: tests/security/test_argocd_plugin.py.
    [pytest.param(name, marks=in_matrix if name in LINKS else ()) for name in TRICKS],
)
def test_a_chart_cannot_read_another_repository(sidecar: Sidecar, name: str) -> None:
    TRICKS[name](sidecar)
    assert CANARY not in run(sidecar, PWD=str(sidecar.chart))


class _Hostile(BaseHTTPRequestHandler):
    """A chart repository, and a server of schemas, that sends Helm to local files."""

    target = ""

    def do_GET(self) -> None:
        if self.path.endswith("redirect/index.yaml"):
            self.send_response(302)
            self.send_header("Location", f"file://{self.target}/index.yaml")
            self.end_headers()
            return
        entry = {**dependency(""), "apiVersion": "v2", "urls": [f"file://{self.target}"]}
        index = {"apiVersion": "v1", "entries": {"victim": [entry]}}
        ref = {"$ref": f"file://{Path(self.target).parent}/values.json"}
        body = json.dumps(ref if self.path.endswith("schema.json") else index).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def served(handler: Any) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("folder", ["charts", "redirect", "schema"])
def test_a_server_cannot_send_helm_to_another_repository(sidecar: Sidecar, folder: str) -> None:
    _Hostile.target = str(victim_of(sidecar) / "victim-1.0.0.tgz")
    with served(_Hostile) as url:
        if folder == "schema":
            content = {"$ref": f"{url}/schema.json"}
            sidecar.write("values.schema.json", json.dumps(content))
        else:
            chart(sidecar, dependencies(dependency(f"{url}/{folder}")))
        assert CANARY not in run(sidecar, PWD=str(sidecar.chart))


# Charts of honest people


def rendered(sidecar: Sidecar) -> str:
    """Return the output of a chart that must render, and must stay as it is."""
    before = files_of(sidecar.chart)
    fetched = sidecar.run("init")
    assert fetched.returncode == 0, fetched.stderr
    assert {
        name: text for name, text in files_of(sidecar.chart).items() if name in before
    } == before
    made = sidecar.run("generate")
    assert made.returncode == 0, made.stderr
    return made.stdout


def files_of(folder: Path) -> dict[str, str]:
    names = ("Chart.yaml", "requirements.yaml", "Chart.lock", "requirements.lock")
    return {name: (folder / name).read_text() for name in names if (folder / name).exists()}


@pytest.mark.parametrize("is_locked", [True, False])
@pytest.mark.parametrize("folder", ["../sub", "./sub", "subcharts/sub", "link", "../my sub"])
def test_a_local_dependency_is_rendered(sidecar: Sidecar, folder: str, is_locked: bool) -> None:
    (sidecar.chart / "link").symlink_to("../sub")
    path = sidecar.chart / folder
    if not path.exists():
        write_chart(path, "victim", "harmless")
    entry = {**dependency(f"file://{folder}"), "version": "~1"}
    chart(sidecar, dependencies(entry))
    if is_locked:
        sidecar.write("Chart.lock", lock([entry], [dependency(f"file://{folder}")]))
    assert 'password: "harmless"' in rendered(sidecar)


def test_a_dependency_without_quotes_is_rendered(sidecar: Sidecar) -> None:
    text = "dependencies: [{name: victim, version: 1.0.0, repository: file://../sub}]\n"
    chart(sidecar, text)
    assert 'password: "harmless"' in rendered(sidecar)


def test_the_dependencies_of_an_old_chart_are_rendered(sidecar: Sidecar) -> None:
    entry = dependency("file://../sub")
    chart(sidecar, "", "v1")
    sidecar.write("requirements.yaml", dependencies(entry))
    sidecar.write("requirements.lock", lock([entry], [entry]))
    assert 'password: "harmless"' in rendered(sidecar)


def test_all_fields_of_a_dependency_are_in_the_digest(sidecar: Sidecar) -> None:
    sidecar.write(
        "Chart.yaml",
        "apiVersion: v2\nname: shop\nversion: 1.0.0\ndependencies:\n"
        "- {name: victim, version: 1, repository: 'file://../sub', condition: a.enabled,\n"
        "   alias: other, tags: [web, db], import-values: [{child: a, parent: b}, data]}\n",
    )
    assert helm(sidecar, "dependency", "update", ".") == 0
    shutil.rmtree(sidecar.chart / "charts")
    assert 'password: "harmless"' in rendered(sidecar)


def helm(sidecar: Sidecar, *arguments: str) -> int:
    command = [str(sidecar.folder / "bin" / "helm"), *arguments]
    return subprocess.run(command, cwd=sidecar.chart, check=False).returncode


def test_a_lock_file_that_is_out_of_date_is_an_error(sidecar: Sidecar) -> None:
    entry = dependency("file://../sub")
    chart(sidecar, dependencies({**entry, "version": "~1"}))
    sidecar.write("Chart.lock", lock([entry], [entry]))
    done = sidecar.run("init")
    assert done.returncode == 1
    assert "the lock file (Chart.lock) is out of sync" in done.stderr
    assert "sub" in (sidecar.chart / "Chart.yaml").read_text()


def test_a_dependency_in_charts_stays(sidecar: Sidecar) -> None:
    chart(sidecar, dependencies(dependency("file://../sub"), dependency("", "own")))
    write_chart(sidecar.chart / "charts" / "own", "own", "mine")
    made = rendered(sidecar)
    assert 'password: "harmless"' in made
    assert 'password: "mine"' in made


@pytest.mark.parametrize("is_locked", [True, False])
def test_a_repository_can_have_a_long_address(sidecar: Sidecar, is_locked: bool) -> None:
    served_folder = sidecar.folder / "served"
    long_folder = served_folder / "charts" / ("long-" * 20)
    long_folder.mkdir(parents=True)
    package(sidecar.repository / "apps" / "sub", long_folder / "victim-1.0.0.tgz")
    assert helm(sidecar, "repo", "index", str(long_folder)) == 0
    with served(functools.partial(SimpleHTTPRequestHandler, directory=str(served_folder))) as url:
        entry = dependency(f"{url}/charts/{'long-' * 20}")
        chart(sidecar, dependencies(entry))
        if is_locked:
            sidecar.write("Chart.lock", lock([entry], [entry]))
        assert 'password: "harmless"' in rendered(sidecar)


LIMITS = {"type": "object", "properties": {"replicas": {"$ref": "#/$defs/number"}}}
NUMBER = {"$defs": {"number": {"type": "integer"}}}


@pytest.mark.parametrize("folder", ["", "charts/victim/"])
def test_values_are_checked_with_the_schema(sidecar: Sidecar, folder: str) -> None:
    shutil.copytree(sidecar.repository / "apps" / "sub", sidecar.chart / "charts" / "victim")
    address = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://x.org/x"}
    sidecar.write(f"{folder}values.schema.json", json.dumps(LIMITS | NUMBER | address))
    for value, code in (("1", 0), ("one", 1)):
        sidecar.write("values.yaml", f"replicas: {value}\nvictim: {{replicas: {value}}}\n")
        done = sidecar.run("generate")
        assert done.returncode == code, done.stderr
        assert "note: " not in done.stderr


def test_a_schema_that_loads_another_is_not_used(sidecar: Sidecar) -> None:
    (sidecar.chart / "templates").mkdir()
    sidecar.write("templates/config.yaml", CONFIG_MAP % "shop")
    sidecar.write("values.schema.json", json.dumps({"$ref": "https://127.0.0.1:1/schema.json"}))
    done = sidecar.run("generate")
    assert done.returncode == 0, done.stderr
    assert "note: values.schema.json: the schema is too large, or refers to" in done.stderr
