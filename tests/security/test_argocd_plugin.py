"""Authors of an Application reach nothing else in the shared sidecar of Argo CD."""

from __future__ import annotations

import itertools
import json
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.effort import IS_FUZZ
from tests.security.attack import MANIFESTS, ROOT

SCRIPT = ROOT / "examples" / "argocd" / "postrender-argocd"
EXAMPLES = SCRIPT.parent
BASH = shutil.which("bash")
# With a list of dependencies, even an empty one, the plugin does not take its short way.
CHART = "apiVersion: v2\nname: shop\nversion: 1.0.0\ndependencies: []\n"
MEGABYTE = 1_000_000
# A helm that records its arguments, its HOME and the files with dependencies.
# tests/e2e/test_argocd_dependencies.py shows what the real Helm reads.
HELM = """\
#!/bin/sh
printf '%s\\n' "$@" "HOME=$HOME" >> {log}
case $1-$2 in
  dependency-list) echo 'other 1.0.0 file://../... missing' ;;
  dependency-build) tail -n +1 -v $(ls | grep -E '^(Chart|requirements)') >> {log} ;;
  template-*) cat {manifests} ;;
esac
"""
pytestmark = pytest.mark.skipif(BASH is None, reason="bash is not on PATH")


class Sidecar:
    """The sidecar, with the copy of one repository.

    memory: the limit of each process in bytes, 0 for no limit.
    """

    memory = 0

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.repository = folder / "_cmp_server" / "c0ffee"
        self.chart = self.repository / "apps" / "shop"
        self.temporary, self.log = folder / "tmp", folder / "helm.log"
        for path in (self.chart, self.temporary, folder / "bin", self.repository / ".git"):
            path.mkdir(parents=True)
        self.write("Chart.yaml", CHART)
        (folder / "manifests").write_text(MANIFESTS)
        python = shlex.quote(sys.executable)
        self.program("helm", HELM.format(log=self.log, manifests=folder / "manifests"))
        self.program("python", f'#!/bin/sh\nexec {python} "$@"\n')
        code = f'PYTHONPATH={shlex.quote(str(ROOT))} exec {python} -m postrender "$@"'
        self.program("postrender", f"#!/bin/sh\n{code}\n")

    def program(self, name: str, text: str) -> None:
        file = self.folder / "bin" / name
        file.write_text(text)
        file.chmod(0o755)

    def write(self, name: str, text: str) -> None:
        """Write a file of the chart."""
        (self.chart / name).write_text(text)

    def run(self, command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the plugin as Argo CD does."""
        process = self.start(command, **variables)
        out, errors = process.communicate(timeout=300)
        return subprocess.CompletedProcess(process.args, process.returncode, out, errors)

    def start(self, command: str, **variables: str) -> subprocess.Popen[str]:
        """Start a command of the plugin, in its own process group."""

        def limit() -> None:
            if self.memory:
                resource.setrlimit(resource.RLIMIT_AS, (self.memory, self.memory))

        environment = {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "TMPDIR": str(self.temporary),
            "ARGOCD_APP_NAME": "argocd_shop",
            "ARGOCD_APP_NAMESPACE": "shop",
            "ARGOCD_CMP_WORKDIR": str(self.folder),
            "KUBE_VERSION": "1.35",
            "KUBE_API_VERSIONS": "v1",
            "POSTRENDER_ATTACHER_IMAGE": "postrender:test",
            **variables,
        }
        return subprocess.Popen(
            [str(SCRIPT), command],
            cwd=self.chart,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=limit,
            start_new_session=True,
        )

    @property
    def values_files(self) -> list[str]:
        """The values files that helm received, except stdin."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        pairs = itertools.pairwise(lines)
        return [value for option, value in pairs if option == "--values" and value != "-"]


@pytest.fixture
def sidecar(tmp_path: Path) -> Sidecar:
    return Sidecar(tmp_path)


def files(*names: str) -> dict[str, str]:
    """Return the variables of the parameter values-files."""
    parameter = {"name": "values-files", "array": names}
    return {"ARGOCD_APP_PARAMETERS": json.dumps([parameter])}


# Values files


@pytest.mark.parametrize(
    ("name", "has_git"),
    [
        ("/../../manifests.yaml", True),
        ("/../../manifests.yaml", False),
        ("../../../../manifests.yaml", True),
        ("../../../other/values.yaml", True),
        ("../../../other/values.yaml", False),
        ("link.yaml", True),
        ("linked-folder/values.yaml", True),
    ],
)
def test_values_files_outside_the_repository_are_refused(
    sidecar: Sidecar, name: str, has_git: bool
) -> None:
    other = sidecar.repository.parent / "other"
    other.mkdir()
    (other / "values.yaml").write_text("password: canary\n")
    (sidecar.chart / "link.yaml").symlink_to(other / "values.yaml")
    (sidecar.chart / "linked-folder").symlink_to(other)
    if not has_git:
        (sidecar.repository / ".git").rmdir()
    done = sidecar.run("generate", **files(name))
    assert (done.returncode, done.stdout) == (1, "")
    assert f"values-files: {name} is outside the repository. Use a path in" in done.stderr
    assert not sidecar.log.exists()


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("/etc/passwd", "is not a YAML file"),
        (
            "/etc/passwd.yaml",
            "does not exist. Use a path relative to the chart, or one that begins",
        ),
        ("http://example.com/v.yaml", "is a URL, and the plugin downloads no values files"),
        ("secrets+age://v.yaml", "is a URL, and the plugin downloads no values files"),
        ("values-*.yaml", "is a pattern, and the plugin expands no patterns"),
        ("/apps/**", "is a pattern, and the plugin expands no patterns"),
        ("$ARGOCD_APP_NAMESPACE.yaml", "(shop.yaml) does not exist"),
    ],
)
def test_helm_gets_only_values_files_that_exist(sidecar: Sidecar, name: str, problem: str) -> None:
    sidecar.write("values-prod.yaml", "{}")
    done = sidecar.run("generate", **files(name))
    assert (done.returncode, done.stdout) == (1, "")
    assert f"error: values-files: {name} {problem}" in done.stderr
    assert not sidecar.log.exists()


def test_a_values_file_of_another_source_is_explained(sidecar: Sidecar) -> None:
    done = sidecar.run("generate", **files("$values/prod.yaml"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "error: values-files: $values/prod.yaml is in another source of the Application, and Argo "
        "CD does not resolve $values for plugins. Put the file into the chart's repository.\n"
    )


def test_values_files_are_yaml(sidecar: Sidecar) -> None:
    sidecar.write("id_rsa", "secret")
    done = sidecar.run("generate", **files("id_rsa"))
    assert done.returncode == 1
    assert "id_rsa is not a YAML file. Use a file that ends in .yaml, .yml, .json." in done.stderr


def test_helm_cannot_split_the_name_of_a_values_file(sidecar: Sidecar) -> None:
    folder = sidecar.chart / "a," / "etc"
    folder.mkdir(parents=True)
    (folder / "values.yaml").write_text("")
    done = sidecar.run("generate", **files("a,/etc/values.yaml"))
    assert done.returncode == 1
    assert "has a comma or a quote. Rename the file." in done.stderr


@pytest.mark.parametrize(
    "name",
    [
        "values.yml",
        "../../shared.yaml",
        "v.json",
        "inside.yaml",
        "/shared.yaml",
        "//apps/../shared.yaml",
    ],
)
def test_values_files_of_the_repository_are_used(sidecar: Sidecar, name: str) -> None:
    for path in ("apps/shop/values.yml", "shared.yaml", "apps/shop/v.json"):
        (sidecar.repository / path).write_text("{}")
    (sidecar.chart / "inside.yaml").symlink_to("../../shared.yaml")
    done = sidecar.run("generate", **files(name))
    assert done.returncode == 0, done.stderr
    folder = sidecar.repository if name.startswith("/") else sidecar.chart
    assert sidecar.values_files == [str((folder / name.lstrip("/")).resolve())]
    assert "name: web-config-" in done.stdout


# A failure of Helm


FAILING_HELM = """\
#!/bin/sh
cat >> {log}
head -n 9 {manifests}
echo 'Error: failed to parse -: line 1' >&2
exit 7
"""


def test_after_a_failure_of_helm_postrender_does_not_start(sidecar: Sidecar) -> None:
    text = FAILING_HELM.format(log=sidecar.log, manifests=sidecar.folder / "manifests")
    sidecar.program("helm", text)
    sidecar.program("postrender", f"#!{sys.executable}\nopen('started', 'w')")
    parameters = json.dumps([{"name": "values", "string": "a: [b"}])
    done = sidecar.run("generate", ARGOCD_APP_PARAMETERS=parameters)
    assert (done.returncode, done.stdout) == (7, "")
    assert done.stderr == "Error: source.plugin.parameters: values: line 1\n"
    assert sidecar.log.read_text() == "a: [b\n"
    assert not (sidecar.chart / "started").exists()


def test_a_render_leaves_no_file(sidecar: Sidecar) -> None:
    assert sidecar.run("generate").returncode == 0
    left = [path.name for path in sidecar.temporary.rglob("*") if path.is_file()]
    assert [name for name in left if not name.startswith(".slot.")] == []


@pytest.mark.parametrize("command", ["init", "generate"])
def test_a_folder_without_a_chart_is_refused(sidecar: Sidecar, command: str) -> None:
    (sidecar.chart / "Chart.yaml").rename(sidecar.chart / "kustomization.yaml")
    done = sidecar.run(command)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(
        "error: this folder has no Chart.yaml, and the plugin renders only"
    )


def test_a_variable_that_a_shell_lacks_is_named(sidecar: Sidecar) -> None:
    """Argo CD always sets it. Who tries the plugin in a shell can forget it."""
    shell = {"PATH": os.environ["PATH"], "ARGOCD_APP_NAME": "shop"}
    done = subprocess.run(
        [SCRIPT, "generate"], cwd=sidecar.chart, env=shell, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ARGOCD_APP_NAMESPACE is not set. Outside of Argo CD, ")


# HOME


def test_each_application_has_its_own_home(sidecar: Sidecar) -> None:
    homes = []
    for name in ("shop", "cart", "team_shop"):
        sidecar.log.unlink(missing_ok=True)
        assert sidecar.run("generate", ARGOCD_APP_NAME=name).returncode == 0
        [home] = {line for line in sidecar.log.read_text().splitlines() if line[:5] == "HOME="}
        homes.append(Path(home[5:]))
    assert len(set(homes)) == 3
    assert all(home.stat().st_mode & 0o777 == 0o700 for home in homes)


# Dependencies


def one(**fields: str) -> str:
    """Return a list with one dependency."""
    return f"dependencies: {json.dumps([{'name': 'other', 'version': '1.0.0', **fields}])}\n"


REFUSED_DEPENDENCIES = {
    "another copy": (one(repository="file://../../../other"), "is outside the repository"),
    "an absolute path": (one(repository="file:///etc"), "is outside the repository"),
    "a long path": (
        one(repository=f"file://{'x/../' * 30}../../../other"),
        "is outside the repository",
    ),
    "a link": (one(repository="file://link"), "is outside the repository"),
    "a link, then dots": (one(repository="file://inner/../../../.."), "is outside the repository"),
    "a file": (one(repository="file://Chart.yaml"), "is not a folder. Fix the path"),
    "no slashes": (one(repository="file:../../../other"), "repository is 'file:../../../other'"),
    "capitals": (one(repository="FILE://../../../other"), "repository is 'FILE://"),
    "an alias": (one(repository="@other"), "repository is '@other', expected ASCII text such as"),
    "an invisible character": (one(repository="file://.\u200b./x"), "'file://.\\u200b./x'"),
    "a line break": (one(repository="file://..\n/../x"), "'file://..\\n/../x'"),
    "a path as the name": (one(name="../../../other", repository=""), "name is '../../../other'"),
    "a name of nothing": ("dependencies: [{version: 1}]\n", "name is ''"),
    "no mapping": ("dependencies: [other]\n", "a dependency is not a mapping"),
    "a key twice": (f"{one(repository='')}{one(repository='')}", "Chart.yaml is not valid YAML"),
    "two documents": (f"{one(repository='')}---\na: b\n", "Chart.yaml is not valid YAML"),
    "a bomb": (f"dependencies: [{', '.join('1' * 20_000)}]\n", "more than 10000 values"),
}


# The plugin reads all files with the same function.
IN_EACH_FILE = ("another copy", "two documents")


@pytest.mark.parametrize(
    ("name", "file"),
    [
        (name, file)
        for name in REFUSED_DEPENDENCIES
        for file in ("Chart.yaml", "requirements.yaml", "Chart.lock")
        if file == "Chart.yaml" or name in IN_EACH_FILE or IS_FUZZ
    ],
)
def test_helm_does_not_get_a_dependency_that_is_not_accepted(
    sidecar: Sidecar, name: str, file: str
) -> None:
    (sidecar.repository.parent / "other").mkdir()
    (sidecar.repository / "inner").mkdir()
    (sidecar.chart / "inner").symlink_to("../../inner")
    text, message = REFUSED_DEPENDENCIES[name]
    if name == "a link":
        (sidecar.chart / "link").symlink_to(sidecar.repository.parent / "other")
    sidecar.write(file, text)
    done = sidecar.run("init")
    assert done.returncode == 1
    assert message.replace("Chart.yaml is not valid", f"{file} is not valid") in done.stderr
    assert "build" not in sidecar.log.read_text() if sidecar.log.exists() else True


def test_helm_gets_only_files_that_the_plugin_has_written(sidecar: Sidecar) -> None:
    (sidecar.repository / "apps" / "other").mkdir()
    hostile = one(repository="file://../../../other")
    texts = {
        "Chart.yaml": f"name: shop\nversion: 1.0.0\nother: x\n{hostile}",
        "Chart.lock": f"digest: x\n{hostile}",
        "requirements.yaml": one(repository="file://../other", Repository="file://../.."),
        "requirements.lock": f"digest: sha256:c0ffee\n{one(repository='file://../other')}",
    }
    for name, text in texts.items():
        sidecar.write(name, text)
    done = sidecar.run("init")
    assert done.returncode == 0, done.stderr
    entry = '[{"name": "other", "version": "1.0.0", "repository": "file://../other"}]'
    chart = f'{{"apiVersion": "v1", "name": "chart", "version": "1.0.0", "dependencies": {entry}}}'
    lock = f'{{"digest": "sha256:c0ffee", "dependencies": {entry}}}'
    expected = f"==> Chart.lock <==\n{lock}\n==> Chart.yaml <==\n{chart}"
    assert sidecar.log.read_text().endswith(expected)
    assert {name: (sidecar.chart / name).read_text() for name in texts} == texts


SPELLINGS = {
    "flow": "dependencies: [{name: other, version: 1.0.0, repository: https://example.com:8/x}]\n",
    "block": "dependencies:\n- name: other\n  version: 1.0.0\n  repository: https://example.com:8/x\n",
    "quotes": "dependencies: [{name: 'other', \"version\": '1.0.0', repository: \"https://example.com:8/x\"}]\n",
    "a start": "---\n# A comment\ndependencies:\n  - repository: &x https://example.com:8/x\n"
    "    name: other # A comment\n    version: 1.0.0\n",
    "a byte order mark": "\ufeffdependencies: [{name: other, version: 1.0.0, repository: https://example.com:8/x}]\n",
    "Windows": "dependencies:\r\n- name: other\r\n  version: 1.0.0\r\n  repository: https://example.com:8/x\r\n",
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_list_of_dependencies_can_have_any_form(sidecar: Sidecar, spelling: str) -> None:
    sidecar.write("Chart.yaml", SPELLINGS[spelling])
    done = sidecar.run("init")
    assert done.returncode == 0, done.stderr
    expected = '{"name": "other", "version": "1.0.0", "repository": "https://example.com:8/x"}'
    assert expected in sidecar.log.read_text()


def test_the_address_of_a_repository_is_not_cut(sidecar: Sidecar) -> None:
    urls = [f"https://example.com/{'long/' * 30}", "http://example.com/short"]
    sidecar.write("Chart.yaml", one(repository=urls[0]))
    sidecar.write("Chart.lock", one(repository=urls[1]))
    assert sidecar.run("init").returncode == 0
    lines = sidecar.log.read_text().splitlines()
    assert [line for line in lines if line.startswith("http")] == sorted(urls)


# Links

LINKS = ("values.yaml", "charts", "templates/x.yaml", ".helmignore")


@pytest.mark.parametrize(
    ("name", "command", "is_nested"),
    [
        *((name, "init", False) for name in LINKS),
        *((name, "generate", False) for name in LINKS),
        ("templates/x.yaml", "init", True),
        (".helmignore", "generate", True),
    ],
)
def test_a_chart_has_no_link_out_of_the_repository(
    sidecar: Sidecar, command: str, name: str, is_nested: bool
) -> None:
    folder = sidecar.repository / "shared" if is_nested else sidecar.chart
    if is_nested:
        folder.mkdir()
        (sidecar.chart / "files").symlink_to(folder)
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).symlink_to(sidecar.folder)
    done = sidecar.run(command)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{name} is outside the repository. Use a path in the repository." in done.stderr
    assert not sidecar.log.exists()


def test_a_device_is_not_read_as_a_list_of_dependencies(sidecar: Sidecar) -> None:
    sidecar.write("Chart.yaml", CHART.replace("dependencies: []\n", ""))
    (sidecar.chart / "requirements.yaml").symlink_to("/dev/zero")
    process = sidecar.start("init")
    try:
        assert process.wait(timeout=30) == 0
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert "requirements.yaml is outside the repository" in sidecar.run("generate").stderr


@pytest.mark.parametrize("command", ["init", "generate"])
def test_a_chart_can_have_links_in_the_repository(sidecar: Sidecar, command: str) -> None:
    for link, target in {"loop": ".", "up": "../..", "own": "own", "gone": "../x"}.items():
        (sidecar.chart / link).symlink_to(target)
    done = sidecar.run(command)
    assert done.returncode == 0, done.stderr


# The configuration

REFUSED = {
    "logFile: /tmp/log": "must not write files",
    "history: {previous: rendered.yaml}": "must not read files",
    "history: {previous: 'helm:shop/shop', kubeconfig: ./kc.yaml}": "must not run helm",
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_configuration_changes_only_the_output(sidecar: Sidecar, text: str) -> None:
    sidecar.write("postrender.yaml", text)
    sidecar.write("rendered.yaml", "")
    done = sidecar.run("generate")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"with --untrusted, a postrender.yaml without --config {REFUSED[text]}" in done.stderr
    assert "history" not in sidecar.log.read_text().splitlines()


def test_the_owner_of_the_sidecar_can_allow_more(sidecar: Sidecar) -> None:
    sidecar.write("postrender.yaml", "history: {previous: rendered.yaml}")
    sidecar.write("rendered.yaml", "")
    done = sidecar.run("generate", POSTRENDER_UNTRUSTED="false")
    assert done.returncode == 0, done.stderr


def test_a_chart_without_a_configuration_is_rendered(sidecar: Sidecar) -> None:
    done = sidecar.run("generate")
    assert done.returncode == 0, done.stderr
    assert "name: web-config-" in done.stdout


# Discovery


def test_argo_cd_sends_a_repository_only_once() -> None:
    plugin = YAML(typ="safe").load((EXAMPLES / "plugin.yaml").read_text("utf-8"))
    assert "discover" not in plugin["spec"]


@pytest.mark.parametrize("has_git", [True, False])
def test_the_search_for_a_configuration_ends_at_the_repository(
    sidecar: Sidecar, has_git: bool
) -> None:
    if not has_git:
        (sidecar.repository / ".git").rmdir()
    (sidecar.repository.parent / "postrender.yaml").write_text("")
    assert sidecar.run("discover").stdout == ""
    (sidecar.repository / "postrender.yaml").write_text("")
    assert sidecar.run("discover").stdout == f"{sidecar.repository}/postrender.yaml\n"


# The Parameters tab


def laughs(levels: int, merge: bool = False) -> str:
    """Return nested aliases that expand to ten to the power of `levels` values."""
    lines = ["a0: &a0 {lol: 1}" if merge else "a0: &a0 lol"]
    for level in range(1, levels + 1):
        aliases = ", ".join([f"*a{level - 1}"] * 10)
        value = f"{{<<: [{aliases}]}}" if merge else f"[{aliases}]"
        lines.append(f"a{level}: &a{level} {value}")
    return "\n".join(lines) + "\n"


BOMBS = {
    "nested aliases": (laughs(9), "more than 10000 values"),
    "nested merge keys": (laughs(9, merge=True), "more than 10000 values"),
    "an alias inside its anchor": ("a: &a [*a]\n", "more than 10000 values"),
    "depth": ("a: " + "[" * 100_000, "more than 50 levels"),
    "size": ("a: " + "x" * 2 * MEGABYTE, "more than 1000000 bytes"),
    "many": ("".join(f"k{number}: 1\n" for number in range(20_000)), "more than 10000 values"),
    "no yaml": ("a: [", "not valid YAML"),
    "an object": ("a: !!python/object/apply:os.system ['id']\n", "not valid YAML"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_the_parameters_tab_has_limits(sidecar: Sidecar, name: str) -> None:
    text, problem = BOMBS[name]
    sidecar.write("values.yaml", text)
    sidecar.memory = 400 * MEGABYTE
    done = sidecar.run("parameters")
    assert done.returncode == 0, done.stderr
    [announcement] = json.loads(done.stdout)
    assert announcement["map"] == {}
    assert "The list is empty, because values.yaml" in announcement["tooltip"]
    assert problem in announcement["tooltip"]


def test_the_parameters_tab_does_not_show_files_from_outside(sidecar: Sidecar) -> None:
    outside = sidecar.folder / "outside.yaml"
    outside.write_text("password: canary\n")
    (sidecar.chart / "values.yaml").symlink_to(outside)
    done = sidecar.run("parameters")
    assert (done.returncode, done.stdout) == (1, "")
    assert "is outside the repository" in done.stderr


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("{}", {}),
        ("a: &x {b: 1, c.d: t}\ne: *x\n", {"a.b": "1", "a.c\\.d": "t", "e.b": "1", "e.c\\.d": "t"}),
        ("a: {url: http://x.org}", {"a.url": "http://x.org"}),
        ("l: [1, [], {x: null}]\n", {"l[0]": "1", "l[1]": "[]", "l[2].x": "null"}),
    ],
)
def test_ordinary_values_are_shown(
    sidecar: Sidecar, text: str, expected: Mapping[str, Any]
) -> None:
    sidecar.write("values.yaml", text)
    [announcement] = json.loads(sidecar.run("parameters").stdout)
    assert announcement["map"] == expected


# The short way, and the slots


def test_a_chart_without_dependencies_links_and_parameters_starts_no_python(
    sidecar: Sidecar,
) -> None:
    sidecar.write("Chart.yaml", CHART.replace("dependencies: []\n", ""))
    sidecar.program("python", "#!/bin/sh\nexit 7\n")
    for variables in ({}, {"ARGOCD_APP_PARAMETERS": "[]"}, {"ARGOCD_APP_PARAMETERS": "null"}):
        assert sidecar.run("init", **variables).returncode == 0
        assert not sidecar.log.exists()
        done = sidecar.run("generate", **variables)
        assert done.returncode == 0, done.stderr
        sidecar.log.unlink()
    assert sidecar.run("generate", **files("values.yaml")).returncode == 7
    (sidecar.chart / "charts").mkdir()
    for name in ("values.schema.json", "charts/x.tgz"):
        (sidecar.chart / name).touch()
        assert sidecar.run("generate").returncode == 7
        (sidecar.chart / name).unlink()


# The interpreter. postrender needs ruamel.yaml, and the Python on PATH can be another one.


@pytest.mark.parametrize("layout", ["pipx", "pip"])
def test_the_plugin_runs_in_the_python_of_postrender(sidecar: Sidecar, layout: str) -> None:
    programs, other = sidecar.folder / "bin", sidecar.folder / "venv" / "bin"
    other.mkdir(parents=True)
    (programs / "python").rename(other / "python")
    for name in ("python", "python3"):
        sidecar.program(name, "#!/bin/sh\nexit 7\n")
    if layout == "pip":
        (other / "python").rename(other / "python3")
        sidecar.program("postrender", f"#!{other}/python3 -sE\n")
    else:
        (programs / "postrender").rename(other / "postrender")
        (programs / "postrender").symlink_to("../venv/bin/postrender")
    sidecar.write("values.yaml", "replicas: 2\n")
    done = sidecar.run("parameters")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0]["map"] == {"replicas": "2"}


def test_another_python_is_an_error(sidecar: Sidecar) -> None:
    bare = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -S "$@"\n'
    sidecar.program("python", bare)
    sidecar.write("values.yaml", "replicas: 2\n")
    done = sidecar.run("parameters")
    assert (done.returncode, done.stdout) == (1, "")
    assert "does not have the libraries of postrender. Put the folder with" in done.stderr
    assert done.stderr.count("\n") == 1


# A helm that counts how many of its kind run. It ends with the file `go`, or after a failed test.
BUSY_HELM = """\
#!/bin/sh
mkdir -p {folder}/running && touch {folder}/running/$$
until [ -f {folder}/go ] || [ $((turns += 1)) -gt 3000 ]; do sleep 0.05; done
rm -f {folder}/running/$$
cat {folder}/manifests
"""


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_the_number_of_renders_at_once_is_limited(sidecar: Sidecar) -> None:
    """A killed render frees its slot, and all others get one."""
    sidecar.program("helm", BUSY_HELM.format(folder=sidecar.folder))
    running = sidecar.folder / "running"
    started = [
        sidecar.start("generate", POSTRENDER_ARGOCD_RENDERS="3", ARGOCD_APP_NAME=f"argocd_app-{i}")
        for i in range(9)
    ]
    wait_for(lambda: running.exists() and len(list(running.iterdir())) == 3)
    time.sleep(0.5)
    helms = list(running.iterdir())
    assert len(helms) == 3
    # Argo CD kills the whole process group of a command at its deadline.
    [group] = {os.getpgid(int(helm.name)) for helm in helms[:1]}
    os.killpg(group, signal.SIGKILL)
    helms[0].unlink()
    wait_for(lambda: len(list(running.iterdir())) == 3)
    (sidecar.folder / "go").touch()
    codes = sorted(process.wait(300) for process in started)
    assert codes == [-signal.SIGKILL, *[0] * 8]


@pytest.mark.parametrize("number", ["0", "many", "-1", "8 8", "$(id)"])
def test_a_wrong_number_of_slots_is_an_error(sidecar: Sidecar, number: str) -> None:
    done = sidecar.run("generate", POSTRENDER_ARGOCD_RENDERS=number)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f'error: POSTRENDER_ARGOCD_RENDERS is "{number}", expected a number from 1 to 9999.\n'
    )
