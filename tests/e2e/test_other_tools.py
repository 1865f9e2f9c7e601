"""Flux, and the examples for other tools."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.api import Api, Json
from tests.e2e.attach_processes import parse
from tests.e2e.cluster import ControlPlane
from tests.e2e.commands import adopt, end_canary, greetings, restart_during_canary
from tests.e2e.flux import Flux
from tests.e2e.lifecycle_checks import NothingIsLost, wait_until_owned
from tests.e2e.programs import ROOT
from tests.e2e.queries import apply_attached, referenced_config_maps, wait_for_phase
from tests.e2e.releases import Release, Values
from tests.e2e.rollouts import promote

EXAMPLES = ROOT / "examples"
PAGE = ROOT / "docs" / "how-to" / "other-tools.md"
HELLO: Values = {}
BYE: Values = {"configMaps": {"app-config": {"greeting": "bye"}}}
CIAO: Values = {"configMaps": {"app-config": {"greeting": "ciao"}}, "revisionHistoryLimit": 0}


@pytest.fixture
def flux(plane: ControlPlane, api: Api, tmp_path: Path) -> Iterator[Flux]:
    """Yield Flux, with the example's Kustomization in the test's namespace."""
    with Flux(tmp_path / "flux", plane, api) as server:
        yield server


def test_flux_applies_manifests_that_ci_has_rendered(
    flux: Flux, manifests: Release, api: Api, plane: ControlPlane
) -> None:
    """The first release with revisions, the next release, and the end of the Kustomization."""
    manifests.config["attacher"]["mode"] = "job"

    def rendered(values: Values) -> str:
        return manifests.render(manifests.template(values))

    flux.publish(manifests.template(HELLO))
    wait_for_phase(api, "Healthy")
    with NothingIsLost(api):
        kept = adopt(plane, api, rendered(BYE))
        assert "adopt protects ConfigMap/app-config" in kept.stdout
        apply_attached(api, lambda: flux.publish(rendered(BYE)))
        restart_during_canary(api, "hello", "bye")
        wait_until_owned(api)
        promote(api)
        wait_for_phase(api, "Healthy")
        attacher = apply_attached(api, lambda: flux.publish(rendered(CIAO)))
        restart_during_canary(api, "bye", "ciao")
        wait_until_owned(api)
        # The next interval applies the same manifests again.
        before = api.list("ConfigMap")
        flux.reconcile("2026-01-02T00:00:00Z")
        assert api.list("ConfigMap") == before
        end_canary(plane, api, attacher)
    assert greetings(api) == ["ciao"]
    assert not api.find("ConfigMap", "app-config")
    flux.delete()
    api.wait_for(lambda: not api.list("Rollout"), "Flux deletes the workload")
    api.wait_for(lambda: not greetings(api), "Kubernetes deletes the revision")


def test_kustomize_leaves_revisions_and_their_references_unchanged(
    manifests: Release, api: Api
) -> None:
    text = manifests.render((EXAMPLES / "rendered" / "v2.yaml").read_text())
    folder = manifests.folder / "artifact"
    folder.mkdir()
    (folder / "app.yaml").write_text(text)
    kustomization = f"resources: [app.yaml]\nnamespace: {api.namespace}\n"
    (folder / "kustomization.yaml").write_text(kustomization)
    before, after = parse(text), parse(manifests.kubectl("kustomize", str(folder)).stdout)
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


def test_the_page_shows_the_helmfile() -> None:
    shown = re.findall(r"^```yaml\n# examples/(\S+)\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    assert shown == [
        ("helmfile/helmfile.yaml", (EXAMPLES / "helmfile" / "helmfile.yaml").read_text())
    ]


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
