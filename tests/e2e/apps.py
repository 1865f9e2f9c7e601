"""The test chart applied without its attacher Job, and the attacher run when a test says so."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tests.e2e.api import Api, Json
from tests.e2e.looks import ATTACHER, wait_for_phase
from tests.e2e.releases import Release
from tests.e2e.rollouts import promote
from tests.e2e.runs import Run, Runner, arguments_of, parse

# The steps of a Rollout that goes to its new template without a stop.
AT_ONCE = [{"setWeight": 100}]


class App:
    """The chart in a namespace: the attacher of each `apply` is missed until `attach`.

    It has some Rollouts, each with a ConfigMap of its own; what is said of one goes for all.
    `values` are those of every apply; `applied` is the rendered text of the last.
    """

    def __init__(
        self, manifests: Release, api: Api, rollouts: Sequence[str] = ("app",), **values: Any
    ) -> None:
        self.manifests, self.api, self.rollouts, self.values = manifests, api, rollouts, values
        self.applied = ""
        self._runner = Runner(manifests.plane, api.namespace, manifests.folder / "runs")

    def render(self, greeting: str = "hello", **values: Any) -> str:
        """Return what postrender makes of the chart with this configuration."""
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
        """Apply rendered manifests, or those of some kinds, without the attacher Job."""
        self.applied = text
        chosen = [
            document
            for document in text.split("---\n")
            if not _is_attacher(document) and (not kinds or _kind(document) in kinds)
        ]
        command = ("apply", "--openapi-patch=false", "-f", "-")
        self.manifests.kubectl(*command, stdin="---\n".join(chosen))

    def start(self, text: str = "", url: str = "", **changed: str) -> Run:
        """Start the attacher of a rendered text, or of the last apply.

        url: of the API server; changed: the attacher's options.
        """
        return self._runner.start(arguments_of(parse(text or self.applied), **changed), url)

    def attach(self) -> None:
        """Run the attacher of the last apply, which has to succeed."""
        assert_attached(self.start())

    def release(self, greeting: str = "hello", *, is_attached: bool = True, **values: Any) -> None:
        """Apply, attach unless that is missed, and promote the canary to the end."""
        self.apply(greeting, **values)
        if is_attached:
            self.attach()
        self.promote()

    def promote(self) -> None:
        """Wait until the Rollouts stand still; where one is in a canary, promote it to the end."""
        for name in self.rollouts:
            if wait_until_still(self.api, name)["status"]["phase"] == "Paused":
                promote(self.api, name)
        for name in self.rollouts:
            wait_for_phase(self.api, "Healthy", name)


def assert_attached(run: Run) -> None:
    """Wait for the end of a run, and fail unless it attached all."""
    assert run.code == 0, run.log
    assert not run.errors(), run.log


def wait_until_still(api: Api, name: str = "app") -> Json:
    """Wait until a Rollout is healthy or paused, with the template that it was given last."""

    def found() -> Json | None:
        rollout = api.get("Rollout", name)
        status = rollout["status"]
        is_current = status.get("observedGeneration") == str(rollout["metadata"]["generation"])
        return rollout if is_current and status.get("phase") in ("Healthy", "Paused") else None

    return api.wait_for(found, f"Rollout/{name} is healthy or paused")


def _is_attacher(document: str) -> bool:
    return _kind(document) == "Job" and ATTACHER.replace("=", ": ") in document


def _kind(document: str) -> str:
    found = re.search(r"^kind: (\w+)$", document, re.MULTILINE)
    return found[1] if found else ""
