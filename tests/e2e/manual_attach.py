"""The test chart applied without its attacher Job; the test runs the attacher."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tests.e2e.api import Api, Json
from tests.e2e.attach_processes import Run, Runner, arguments_of, parse
from tests.e2e.queries import ATTACHER, wait_for_phase
from tests.e2e.releases import Release
from tests.e2e.rollouts import promote
from tests.e2e.rollouts_cache import wait_for_cache

# The steps of a Rollout that moves to its new template without a pause.
AT_ONCE = [{"setWeight": 100}]


class App:
    """The chart in a namespace, applied without the attacher Job.

    The app has one or more Rollouts, each with its own ConfigMap. `values` are used by every apply;
    `applied` is the rendered text of the last apply.
    """

    def __init__(
        self, manifests: Release, api: Api, rollouts: Sequence[str] = ("app",), **values: Any
    ) -> None:
        self.manifests, self.api, self.rollouts, self.values = manifests, api, rollouts, values
        self.applied = ""
        self._runner = Runner(manifests.plane, api.namespace, manifests.folder / "runs")

    def render(self, greeting: str = "hello", **values: Any) -> str:
        """Return the output of postrender for the chart with this configuration."""
        config_maps = {name: f"{name}-config" for name in self.rollouts}
        default = {
            "configMaps": {name: {"greeting": greeting} for name in config_maps.values()},
            "workloads": [
                {"name": name, "kind": "Rollout", "volume": [config_map]}
                for name, config_map in config_maps.items()
            ],
        }
        return self.manifests.render(self.manifests.template({**default, **self.values, **values}))

    def apply(self, greeting: str = "hello", **values: Any) -> None:
        """Apply the chart with this configuration, without the attacher Job."""
        self.apply_text(self.render(greeting, **values))

    def apply_text(self, text: str, *kinds: str) -> None:
        """Apply rendered manifests, or only some kinds of them, without the attacher Job."""
        self.applied = text
        documents = [
            document
            for document in text.split("---\n")
            if not _is_attacher(document) and (not kinds or _kind(document) in kinds)
        ]
        self.manifests.apply_text("---\n".join(documents))

    def start(self, text: str = "", url: str = "", **changed: str) -> Run:
        """Start the attacher of a rendered text, or of the last apply.

        url: the address of the API server.
        changed: options of the attacher.
        """
        return self._runner.start(arguments_of(parse(text or self.applied), **changed), url)

    def attach(self) -> None:
        """Run the attacher of the last apply, which must succeed."""
        assert_attached(self.start())

    def release(self, greeting: str = "hello", *, is_attached: bool = True, **values: Any) -> None:
        """Apply, run the attacher if `is_attached`, and promote the canary to the end."""
        self.apply(greeting, **values)
        if is_attached:
            self.attach()
        self.promote()

    def promote(self) -> None:
        """Wait until the Rollouts are healthy or paused, and promote the paused ones to the end."""
        for name in self.rollouts:
            if wait_until_settled(self.api, name)["status"]["phase"] == "Paused":
                promote(self.api, name)
        for name in self.rollouts:
            wait_for_phase(self.api, "Healthy", name)


def assert_attached(run: Run) -> None:
    """Wait for the end of a run, and fail unless it attached everything."""
    assert run.code == 0, run.log
    assert not run.errors(), run.log


def wait_until_settled(api: Api, name: str = "app") -> Json:
    """Wait until a Rollout is healthy or paused, with the template that it was given last."""

    def settled_rollout() -> Json | None:
        rollout = api.get("Rollout", name)
        status = rollout["status"]
        is_current = status.get("observedGeneration") == str(rollout["metadata"]["generation"])
        return rollout if is_current and status.get("phase") in ("Healthy", "Paused") else None

    rollout = api.wait_for(settled_rollout, f"Rollout/{name} is healthy or paused")
    wait_for_cache()
    return rollout


def _is_attacher(document: str) -> bool:
    return _kind(document) == "Job" and ATTACHER.replace("=", ": ") in document


def _kind(document: str) -> str:
    match = re.search(r"^kind: (\w+)$", document, re.MULTILINE)
    return match[1] if match else ""
