"""Tools that are not run but imitated by their requests (Flux), and the examples for them."""

from __future__ import annotations

import json
import re

import pytest

from tests.e2e.api import Api, Json
from tests.e2e.attach_processes import parse
from tests.e2e.cluster import ControlPlane
from tests.e2e.commands import adopt, end_canary, restart_pods_with
from tests.e2e.lifecycle_checks import NothingIsLost, wait_until_owned
from tests.e2e.programs import ROOT
from tests.e2e.queries import apply_attached, contents, referenced_config_maps, wait_for_phase
from tests.e2e.releases import Release, Values
from tests.e2e.rollouts import promote

EXAMPLES = ROOT / "examples"
PAGE = ROOT / "docs" / "how-to" / "other-tools.md"
HELLO: Values = {}
BYE: Values = {"configMaps": {"app-config": {"greeting": "bye"}}}
CIAO: Values = {"configMaps": {"app-config": {"greeting": "ciao"}}, "revisionHistoryLimit": 0}


class Flux:
    """The effects of Flux's kustomize-controller 1.9.4 on a folder of manifests.

    The controller builds the folder with kustomize, and applies each object with forced server-side
    apply. Then it deletes previously applied objects that are missing now. Live objects whose prune
    annotation is `disabled` are kept (fluxcd/pkg ssa 0.77, manager_delete.go).
    """

    def __init__(self, manifests: Release, api: Api) -> None:
        self._manifests, self._api = manifests, api
        self._inventory: set[tuple[str, str]] = set()

    def build(self, text: str) -> list[Json]:
        """Return the objects that kustomize builds from manifests."""
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
        applied = {(obj["kind"], obj["metadata"]["name"]) for obj in objects}
        for kind, name in self._inventory - applied:
            self._prune(kind, name)
        self._inventory = applied

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


def test_flux_applies_manifests_that_ci_has_rendered(
    manifests: Release, api: Api, plane: ControlPlane
) -> None:
    """The first release with revisions, and the next one; the test sends Flux's requests."""
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
        # The next reconciliation applies the same manifests again.
        before = api.list("ConfigMap")
        flux.reconcile(rendered(CIAO))
        assert api.list("ConfigMap") == before
        end_canary(plane, api, attacher)
    greetings = [config_map["data"].get("greeting") for config_map in api.list("ConfigMap")]
    assert sorted(filter(None, greetings)) == ["ciao"]


def test_kustomize_leaves_revisions_and_their_references_unchanged(
    manifests: Release, api: Api
) -> None:
    text = manifests.render((EXAMPLES / "rendered" / "v2.yaml").read_text())
    before, after = parse(text), Flux(manifests, api).build(text)
    assert _config_maps(after) == _config_maps(before)
    assert _referenced_config_maps(after) == _referenced_config_maps(before)


def _config_maps(objects: list[Json]) -> dict[str, Json]:
    return {
        obj["metadata"]["name"]: obj.get("data", {})
        for obj in objects
        if obj["kind"] == "ConfigMap"
    }


def _referenced_config_maps(objects: list[Json]) -> set[str]:
    return set().union(*(referenced_config_maps(obj) for obj in objects))


@pytest.mark.parametrize("example", ["flux/demo.yaml", "helmfile/helmfile.yaml"])
def test_the_page_shows_the_example(example: str) -> None:
    shown = re.findall(r"^```yaml\n# examples/(\S+)\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    assert dict(shown)[example] == (EXAMPLES / example).read_text()


def test_the_helmfile_references_an_existing_chart_and_values() -> None:
    folder = EXAMPLES / "helmfile"
    [helmfile] = parse((folder / "helmfile.yaml").read_text())
    [release] = helmfile["releases"]
    assert (folder / release["chart"] / "Chart.yaml").exists()
    assert all((folder / file).exists() for file in release["values"])


def test_flux_finds_the_source_of_its_manifests() -> None:
    source, kustomization = parse((EXAMPLES / "flux" / "demo.yaml").read_text())
    reference = kustomization["spec"]["sourceRef"]
    assert (reference["kind"], reference["name"]) == (source["kind"], source["metadata"]["name"])
    assert kustomization["spec"]["prune"]
    # Content must not change after its name was computed.
    assert "postBuild" not in kustomization["spec"]
