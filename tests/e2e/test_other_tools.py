"""Tools that are not run here, by what they send: Flux; and the examples for them."""

from __future__ import annotations

import json
import re

import pytest

from tests.e2e.again import adopt, end_canary, restart_pods_with
from tests.e2e.api import Api, Json
from tests.e2e.cluster import ControlPlane
from tests.e2e.looks import apply_attached, contents, named_by, wait_for_phase
from tests.e2e.losses import NothingIsLost, wait_until_owned
from tests.e2e.programs import ROOT
from tests.e2e.releases import Release, Values
from tests.e2e.rollouts import promote
from tests.e2e.runs import parse

EXAMPLES = ROOT / "examples"
PAGE = ROOT / "docs" / "other-tools.md"
HELLO: Values = {}
BYE: Values = {"configMaps": {"app-config": {"greeting": "bye"}}}
CIAO: Values = {"configMaps": {"app-config": {"greeting": "ciao"}}, "revisionHistoryLimit": 0}


class Flux:
    """What kustomize-controller 1.9.4 does with a folder of manifests.

    It builds it with kustomize, applies each object on the server's side and by force, and then
    deletes what it applied before and does not now, unless the live object says that pruning is
    `disabled` (fluxcd/pkg ssa 0.77, manager_delete.go).
    """

    def __init__(self, manifests: Release, api: Api) -> None:
        self._manifests, self._api = manifests, api
        self._inventory: set[tuple[str, str]] = set()

    def build(self, text: str) -> list[Json]:
        """Return the objects that kustomize makes of manifests."""
        folder = self._manifests.folder / "artifact"
        folder.mkdir(exist_ok=True)
        (folder / "app.yaml").write_text(text)
        kustomization = f"resources: [app.yaml]\nnamespace: {self._api.namespace}\n"
        (folder / "kustomization.yaml").write_text(kustomization)
        return parse(self._manifests.kubectl("kustomize", str(folder)).stdout)

    def reconcile(self, text: str) -> None:
        """Apply manifests, and prune."""
        objects = self.build(text)
        for obj in objects:
            self._apply(obj)
        wanted = {(obj["kind"], obj["metadata"]["name"]) for obj in objects}
        for kind, name in self._inventory - wanted:
            self._prune(kind, name)
        self._inventory = wanted

    def _apply(self, obj: Json) -> None:
        path = self._api.path(obj["kind"], obj["metadata"]["name"])
        query = "fieldManager=kustomize-controller&force=true"
        text = json.dumps(obj)
        self._api.request("PATCH", f"{path}?{query}", text, "application/apply-patch+yaml")

    def _prune(self, kind: str, name: str) -> None:
        live = self._api.find(kind, name)
        marks = {**live["metadata"].get("annotations", {})} if live else {}
        if live and marks.get("kustomize.toolkit.fluxcd.io/prune") != "disabled":
            self._api.delete(kind, name)


def test_flux_applies_what_ci_has_rendered(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    """The first release with revisions, and one that follows; Flux's requests are the test's."""
    flux = Flux(manifests, api)
    manifests.config["attacher"]["mode"] = "job"

    def rendered(values: Values) -> str:
        return manifests.render(manifests.template(values))

    flux.reconcile(manifests.template(HELLO))
    wait_for_phase(api, "Healthy")
    with NothingIsLost(api):
        kept = adopt(plane, api, rendered(BYE))
        assert "ConfigMap/app-config: adopted" in kept.stdout
        apply_attached(api, lambda: flux.reconcile(rendered(BYE)))
        wait_for_phase(api, "Paused")
        restart_pods_with(api, "hello")
        api.wait_for(lambda: contents(api) == ["bye", "hello"], "the old pod is back")
        wait_until_owned(api)
        promote(api)
        wait_for_phase(api, "Healthy")
        attacher = apply_attached(api, lambda: flux.reconcile(rendered(CIAO)))
        wait_for_phase(api, "Paused")
        restart_pods_with(api, "bye")
        api.wait_for(lambda: contents(api) == ["bye", "ciao"], "the old pod is back")
        wait_until_owned(api)
        # The next interval: the same again.
        before = api.list("ConfigMap")
        flux.reconcile(rendered(CIAO))
        assert api.list("ConfigMap") == before
        end_canary(plane, api, attacher)
    greetings = [one["data"].get("greeting") for one in api.list("ConfigMap")]
    assert sorted(filter(None, greetings)) == ["ciao"]


def test_kustomize_leaves_revisions_and_what_names_them_as_they_are(
    manifests: Release, api: Api
) -> None:
    text = manifests.render((EXAMPLES / "rendered" / "v2.yaml").read_text())
    before, after = parse(text), Flux(manifests, api).build(text)
    assert _config_maps(after) == _config_maps(before)
    assert _named(after) == _named(before)


def _config_maps(objects: list[Json]) -> dict[str, Json]:
    return {
        obj["metadata"]["name"]: obj.get("data", {})
        for obj in objects
        if obj["kind"] == "ConfigMap"
    }


def _named(objects: list[Json]) -> set[str]:
    return set().union(*(named_by(obj) for obj in objects))


@pytest.mark.parametrize("example", ["flux/demo.yaml", "helmfile/helmfile.yaml"])
def test_the_page_shows_the_example(example: str) -> None:
    shown = re.findall(r"^```yaml\n# examples/(\S+)\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    assert dict(shown)[example] == (EXAMPLES / example).read_text()


def test_the_helmfile_names_a_chart_and_values_that_are_there() -> None:
    folder = EXAMPLES / "helmfile"
    [helmfile] = parse((folder / "helmfile.yaml").read_text())
    [release] = helmfile["releases"]
    assert (folder / release["chart"] / "Chart.yaml").exists()
    assert all((folder / file).exists() for file in release["values"])


def test_flux_finds_what_it_applies() -> None:
    source, kustomization = parse((EXAMPLES / "flux" / "demo.yaml").read_text())
    reference = kustomization["spec"]["sourceRef"]
    assert (reference["kind"], reference["name"]) == (source["kind"], source["metadata"]["name"])
    assert kustomization["spec"]["prune"]
    # Nothing that would change a content after its name was made.
    assert "postBuild" not in kustomization["spec"]
