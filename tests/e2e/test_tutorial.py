"""The commands of docs/tutorial.md, run as written there.

The kubelet of the control plane is a stand-in without logs. So `kubectl logs` prints the greeting
that the Pod's container read when it started.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tests.e2e.cluster import ControlPlane
from tests.e2e.namespaces import make_namespace
from tests.e2e.plugins import link_plugin, new_machine, write_script
from tests.e2e.programs import ROOT, program
from tests.e2e.queries import all_owners, revisions
from tests.pages import blocks_of

PAGE = ROOT / "docs" / "tutorial.md"
RUN_BY = "tests/e2e/test_tutorial.py#test_the_commands_of_the_tutorial"


def test_the_commands_of_the_tutorial(plane: ControlPlane, tmp_path: Path) -> None:
    api = plane.api("default")
    names = {name: make_namespace(api, f"tutorial-{name}") for name in ("before", "after")}
    script = "".join(block.text for block in blocks_of(PAGE) if block.run_by == RUN_BY)
    for name, replacement in names.items():
        script = re.sub(rf"(?<=--namespace ){name}\b", replacement, script)
    script, uninstall = script.split("helm uninstall")

    machine = new_machine(tmp_path / "machine").with_postrender()
    link_plugin(machine.folder / "data")
    write_script(machine.folder / "bin" / "helm", f'exec {program("helm4")} "$@"')
    kubectl = f"{shlex.quote(program('kubernetes'))} kubectl"
    write_script(machine.folder / "bin" / "kubectl", _kubectl(kubectl))
    machine = machine.with_variables(KUBECONFIG=str(plane.kubeconfig))
    done = machine.run(["sh", "-e", "-c", script])
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.findall(r"^logs: (.*)$", done.stdout, re.M) == ["bye", "bye", "hello", "bye"]

    inside = api.within(names["after"])
    kept = revisions(inside)
    assert {revision["data"]["greeting"] for revision in kept} == {"hello", "bye"}
    assert all({"Rollout/web", "ServiceAccount/web-attach"} < {*all_owners(r)} for r in kept)
    done = machine.run(["sh", "-e", "-c", f"helm uninstall{uninstall}"])
    assert done.returncode == 0, done.stderr
    inside.wait_for(lambda: not revisions(inside), "the revisions are deleted with their owners")


def _kubectl(kubectl: str) -> str:
    """Return a script that runs kubectl, except for logs."""
    content = "{.items[0].metadata.annotations.stand-in/content}"
    read = f'{kubectl} get pod "$@" --output jsonpath={shlex.quote(content)}'
    greeting = 's/.*"greeting": *"([^"]*)".*/logs: \\1/'
    return (
        'case "$1 $*" in "logs "*) shift; set -- "$1" "$2" "$3" "$4"\n'
        f"{read} | sed -E {shlex.quote(greeting)}; echo;; *)\n"
        f'exec {kubectl} "$@";; esac'
    )
