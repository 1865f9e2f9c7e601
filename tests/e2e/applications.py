"""An Application of Argo CD, with a git repository of its own that holds the test chart."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ruamel.yaml import YAML

from tests.e2e.api import Api, Json
from tests.e2e.argocd import EXAMPLES, NAMESPACE, ArgoCd
from tests.e2e.cluster import ControlPlane
from tests.e2e.looks import wait_for_phase
from tests.e2e.losses import wait_until_owned
from tests.e2e.releases import CHART
from tests.e2e.rollouts import promote
from tests.repositories import git

T = TypeVar("T")
# Rendering alone takes seconds where the machine is busy.
SYNC_SECONDS = 180
REFRESH = "argocd.argoproj.io/refresh"
FINALIZER = "resources-finalizer.argocd.argoproj.io"


def example(name: str) -> Json:
    """Return the object in a file of examples/argocd."""
    found: Json = YAML(typ="safe").load((EXAMPLES / name).read_text("utf-8"))
    return found


class Repository:
    """A git repository on this machine, whose branch main Argo CD reads.

    The chart is in the folder `chart`, with its values in `values.json` and with postrender.yaml,
    which says what `config` does, or is not there without `has_config`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.chart = folder, folder / "chart"
        self.config: Json = {}
        self.has_config = True
        shutil.copytree(CHART, self.chart)
        self._git("init", "--quiet", "--initial-branch=main")

    @property
    def url(self) -> str:
        """What an Application calls it."""
        return self.folder.as_uri()

    def commit(
        self, values: Mapping[str, Any] | None = None, files: Mapping[str, str | None] = {}
    ) -> str:
        """Commit the chart with these values (None: as they are) and files; return its id.

        files: path in the chart to text, or to None for one that goes.
        """
        if values is not None:
            (self.chart / "values.json").write_text(json.dumps(values))
        if self.has_config:
            (self.chart / "postrender.yaml").write_text(json.dumps(self.config))
        for path, text in files.items():
            if text is None:
                (self.chart / path).unlink()
            else:
                (self.chart / path).parent.mkdir(exist_ok=True)
                (self.chart / path).write_text(text)
        self._git("add", "--all")
        self._git("commit", "--quiet", "--allow-empty", "--message", "change")
        return self.head()

    def revert(self) -> str:
        """Run `git revert` for the last commit; return the id of the new one."""
        self._git("revert", "--no-edit", "HEAD")
        return self.head()

    def head(self) -> str:
        """Return the id of the last commit."""
        return self._git("rev-parse", "HEAD").strip()

    def _git(self, *arguments: str) -> str:
        return git(self.folder, *arguments)


class Application:
    """The Application of examples/argocd, for a repository of its own and a test's namespace.

    `spec` is what it is created with; change it before `create` as you like.
    """

    def __init__(
        self,
        argocd: ArgoCd,
        plane: ControlPlane,
        api: Api,
        folder: Path,
        inside: str = NAMESPACE,
    ) -> None:
        self.api, self.repository, self._logs = api, Repository(folder), argocd.folder
        self.argocd = plane.api(inside)
        self.name = api.namespace
        self._since = ""
        self._object = example("application.yaml")
        self._object["metadata"] |= {"name": self.name, "namespace": inside}
        self.spec: Json = self._object["spec"]
        self.spec["source"] |= {"repoURL": self.repository.url}
        self.spec["destination"]["namespace"] = api.namespace
        self.parameters(("release-name", "app"), ("values-files", ["values.json"]))

    def parameters(self, *named: tuple[str, str | list[str] | dict[str, str]]) -> None:
        """Give the plugin these parameters."""
        kinds = {str: "string", list: "array", dict: "map"}
        given = [{"name": name, kinds[type(value)]: value} for name, value in named]
        self.spec["source"]["plugin"]["parameters"] = given

    def sync_options(self, *options: str) -> None:
        """Give it these sync options, before or after it is created."""
        self.spec["syncPolicy"]["syncOptions"] = list(options)
        if self.argocd.find("Application", self.name):
            change = {"spec": {"syncPolicy": {"syncOptions": list(options)}}}
            self.argocd.patch("Application", self.name, change)

    # What a user does

    def create(self) -> None:
        """Create it in the cluster."""
        self._since = self._since or self._now()
        self.argocd.create(self._object)

    def install(self, greeting: str = "old", **values: Any) -> None:
        """Push this configuration, create it, and wait until it is healthy and attached."""
        self.push(greeting, **values)
        self.create()
        self.wait_until_synced()
        self.wait_until("Synced", "Healthy")
        wait_until_owned(self.api)

    def release(self, greeting: str, **values: Any) -> str:
        """Push another configuration, and return its commit when Argo CD has synced that."""
        commit = self.push(greeting, **values)
        self.wait_until_synced(commit)
        return commit

    def push(self, greeting: str, **values: Any) -> str:
        """Push another configuration, and have Argo CD look; return the commit."""
        self._since = self._now()
        default = {"configMaps": {"app-config": {"greeting": greeting}}}
        commit = self.repository.commit({**default, **values})
        self.refresh()
        return commit

    def revert(self) -> str:
        """Revert the last commit, and have Argo CD look; return the new one."""
        commit = self.repository.revert()
        self.refresh()
        return commit

    def refresh(self, how: str = "normal") -> None:
        """Have Argo CD look at the repository: `normal` as a webhook does, `hard` without cache."""
        if self.argocd.find("Application", self.name):
            self._annotate(REFRESH, how)

    def sync(self, *resources: Json, **options: Any) -> None:
        """Sync by hand, as `argocd app sync` does: all, or some resources only."""
        own = self.get()["spec"]["syncPolicy"]["syncOptions"]
        wanted = {"prune": True, "revision": self.repository.head(), "syncOptions": own, **options}
        wanted |= {"resources": list(resources)} if resources else {}
        operation = {"initiatedBy": {"username": "e2e"}, "sync": wanted}
        # Beside the state of the last operation a new one would not begin anew.
        change = {"operation": operation, "status": {"operationState": None}}
        self.argocd.patch("Application", self.name, change)

    def sync_by_hand(self) -> None:
        """Switch automated syncs off."""
        change = {"spec": {"syncPolicy": {"automated": None}}}
        self.argocd.patch("Application", self.name, change)

    def terminate(self) -> None:
        """Run `argocd app terminate-op`."""
        change = {"status": {"operationState": {"phase": "Terminating"}}}
        self.argocd.patch("Application", self.name, change)

    def delete(self) -> None:
        """Delete it with all that it made, and wait until it is gone."""
        self.argocd.delete("Application", self.name)
        self.argocd.wait_for(
            lambda: not self.argocd.find("Application", self.name), self.what("is gone"), 60
        )

    def forget(self) -> None:
        """Delete it, if it is there, without what it made."""
        if self.argocd.find("Application", self.name):
            without = {"metadata": {"finalizers": None}, "spec": {"syncPolicy": None}}
            self.argocd.patch("Application", self.name, without)
            self.argocd.delete("Application", self.name)

    # What Argo CD says

    def get(self) -> Json:
        """Return the live object."""
        return self.argocd.get("Application", self.name)

    def annotations(self) -> dict[str, str]:
        """Return the live object's annotations."""
        found: dict[str, str] = self.get()["metadata"].get("annotations", {})
        return found

    def wait_until_synced(self, commit: str = "", phase: str = "Succeeded") -> Json:
        """Wait until a commit (the last one) was synced with this result; return the status."""
        commit = commit or self.repository.head()

        def found() -> Json | None:
            status: Json = self.get()["status"]
            operation = status["operationState"]
            is_over = operation["syncResult"]["revision"] == commit and operation["phase"] == phase
            return status if is_over and status["sync"]["revision"] == commit else None

        return self.wait_for(found, f"{commit[:8]} is synced: {phase}")

    def wait_until(self, sync: str, health: str) -> Json:
        """Wait until Argo CD says so of the last commit; return the status."""
        commit = self.repository.head()

        def found() -> Json | None:
            status: Json = self.get()["status"]
            state = (status["sync"]["status"], status["health"]["status"])
            is_so = state == (sync, health) and status["sync"]["revision"] == commit
            return status if is_so else None

        return self.wait_for(found, f"{sync}, {health}")

    def wait_for_message(self, *words: str) -> str:
        """Wait for an error that Argo CD shows with all these words; return its message."""

        def found() -> str | None:
            conditions = self.get()["status"].get("conditions", [])
            messages = [one["message"] for one in conditions]
            said = [text for text in messages if all(word in text for word in words)]
            return said[0] if said else None

        return self.wait_for(found, f"an error with {words}")

    def wait_for(self, predicate: Callable[[], T | None], message: str) -> T:
        """Wait for something; if it does not come, tell what Argo CD says."""
        try:
            return self.api.wait_for(predicate, message, SYNC_SECONDS)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.told()}") from None

    def told(self) -> str:
        """Return all that Argo CD says of it, for the message of a test that failed."""
        status = self.get().get("status", {})
        keys = ("sync", "health", "conditions", "operationState")
        said = json.dumps({key: status.get(key) for key in keys}, indent=1)
        return f"{said}\nlogs of Argo CD are in {self._logs}"

    def resource(self, kind: str, name: str) -> Json | None:
        """Return what Argo CD says of one of its resources, if it is one."""
        found = [
            one
            for one in self.get()["status"].get("resources", [])
            if (one["kind"], one["name"]) == (kind, name)
        ]
        return found[0] if found else None

    def operation(self) -> Json:
        """Return the state of the last operation, or of the one that runs."""
        found: Json = self.get()["status"]["operationState"]
        return found

    def hooks(self) -> list[Json]:
        """Return the hooks that ran in the last operation."""
        return hooks_of(self.operation()["syncResult"])

    def first_sync(self) -> Json:
        """Return the result of the first operation that synced the last commit, when it is over.

        Another one may follow at once, of a part: Argo CD takes what it has just applied for out of
        sync until it sees it.
        """
        commit = self.repository.head()
        path = self.argocd.path("Application")
        for event in self.argocd.watch(path, self._since, seconds=60):
            found = event["object"]
            operation = found.get("status", {}).get("operationState", {})
            result: Json = operation.get("syncResult", {})
            is_over = operation.get("phase") == "Succeeded" and result.get("revision") == commit
            if is_over and found["metadata"]["name"] == self.name:
                return result
        raise AssertionError(self.what(f"did not sync {commit[:8]}"))

    def _now(self) -> str:
        found = self.argocd.request("GET", self.argocd.path("Application"))
        return str(found["metadata"]["resourceVersion"])

    def what(self, says: str) -> str:
        """Return a message about it."""
        return f"Application/{self.name} {says}"

    def promote(self) -> None:
        """Promote the canary to the end, and wait until Argo CD calls all healthy."""
        wait_for_phase(self.api, "Paused")
        promote(self.api)
        wait_for_phase(self.api, "Healthy")
        self.wait_until("Synced", "Healthy")

    def _annotate(self, name: str, value: str | None) -> None:
        self.argocd.patch("Application", self.name, {"metadata": {"annotations": {name: value}}})


def hooks_of(result: Json) -> list[Json]:
    """Return the hooks that ran in an operation, of its result."""
    return [one for one in result.get("resources", []) if one.get("hookType")]
