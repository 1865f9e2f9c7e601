"""An Argo CD Application with its own git repository, which holds the test chart."""

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
from tests.e2e.lifecycle_checks import wait_until_owned
from tests.e2e.queries import wait_for_phase
from tests.e2e.releases import CHART
from tests.e2e.rollouts import promote
from tests.repositories import git

T = TypeVar("T")
# Rendering alone takes seconds on a busy machine.
SYNC_SECONDS = 180
REFRESH = "argocd.argoproj.io/refresh"
WITHOUT_SCHEMAS = "Validate=false"


def example(name: str) -> Json:
    """Return the object in a file of examples/argocd."""
    obj: Json = YAML(typ="safe").load((EXAMPLES / name).read_text("utf-8"))
    return obj


class Repository:
    """A git repository on this machine; Argo CD reads its branch main.

    The chart is in the folder `chart`, with its values in `values.json`. If `has_config` is true,
    the chart has a postrender.yaml with the content of `config`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.chart = folder, folder / "chart"
        self.config: Json = {}
        self.has_config = True
        shutil.copytree(CHART, self.chart)
        self._git("init", "--quiet", "--initial-branch=main")

    @property
    def url(self) -> str:
        """The URL of the repository in an Application."""
        return self.folder.as_uri()

    def commit(
        self, values: Mapping[str, Any] | None = None, files: Mapping[str, str | None] = {}
    ) -> str:
        """Commit the chart with these values (None: unchanged) and files; return the commit's id.

        files: path in the chart to text, or to None to delete the file.
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
        """Run `git revert` for the last commit; return the id of the new commit."""
        self._git("revert", "--no-edit", "HEAD")
        return self.head()

    def head(self) -> str:
        """Return the id of the last commit."""
        return self._git("rev-parse", "HEAD").strip()

    def file(self, revision: str, path: str) -> str:
        """Return the text of a file in a commit or branch."""
        return self._git("show", f"{revision}:{path}")

    def _git(self, *arguments: str) -> str:
        return git(self.folder, *arguments)


class Application:
    """The Application of examples/argocd, with its own repository, for a test's namespace.

    `spec` is the spec at creation; a test may change it before `create`. Without `validates`, Argo
    CD does not load the API server's schemas for each object, which is a third of its work.
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
        self.validates = True
        self._since = ""
        self._object = example("application.yaml")
        self._object["metadata"] |= {"name": self.name, "namespace": inside}
        self.spec: Json = self._object["spec"]
        self.spec["source"] |= {"repoURL": self.repository.url}
        self.spec["destination"]["namespace"] = api.namespace
        self.parameters(("release-name", "app"), ("values-files", ["values.json"]))

    def parameters(self, *pairs: tuple[str, str | list[str] | dict[str, str]]) -> None:
        """Set the plugin's parameters."""
        kinds = {str: "string", list: "array", dict: "map"}
        entries = [{"name": name, kinds[type(value)]: value} for name, value in pairs]
        self.spec["source"]["plugin"]["parameters"] = entries

    def generate_paths(self, paths: str) -> None:
        """Set the paths that Argo CD sends to the plugin, before the Application is created."""
        annotation = {"argocd.argoproj.io/manifest-generate-paths": paths}
        self._object["metadata"]["annotations"] = annotation

    def sync_options(self, *options: str) -> None:
        """Set the sync options, before or after the Application is created."""
        self.spec["syncPolicy"]["syncOptions"] = [*options, *self._without_schemas]
        if self.argocd.find("Application", self.name):
            change = {"spec": {"syncPolicy": {"syncOptions": [*options, *self._without_schemas]}}}
            self.argocd.patch("Application", self.name, change)

    @property
    def _without_schemas(self) -> list[str]:
        return [] if self.validates else [WITHOUT_SCHEMAS]

    # Actions of a user

    def create(self) -> None:
        """Create the Application in the cluster."""
        self._since = self._since or self._now()
        options = self.spec["syncPolicy"]["syncOptions"]
        options += [option for option in self._without_schemas if option not in options]
        self.argocd.create(self._object)

    def install(self, greeting: str = "old", **values: Any) -> None:
        """Push this configuration, create the Application, and wait for health and owners."""
        self.push(greeting, **values)
        self.create()
        self.wait_until_synced()
        self.wait_until("Synced", "Healthy")
        wait_until_owned(self.api)

    def release(self, greeting: str, **values: Any) -> str:
        """Push another configuration; return its commit once Argo CD has synced it."""
        commit = self.push(greeting, **values)
        self.wait_until_synced(commit)
        return commit

    def push(self, greeting: str, **values: Any) -> str:
        """Push another configuration, and make Argo CD refresh; return the commit."""
        self._since = self._now()
        default = {"configMaps": {"app-config": {"greeting": greeting}}}
        commit = self.repository.commit({**default, **values})
        self.refresh()
        return commit

    def revert(self) -> str:
        """Revert the last commit, and make Argo CD refresh; return the new commit."""
        commit = self.repository.revert()
        self.refresh()
        return commit

    def refresh(self, how: str = "normal") -> None:
        """Make Argo CD read the repository, with its cache (`normal`) or without (`hard`).

        The end of a refresh removes the annotation, also a request that was written meanwhile.
        """
        if self.argocd.find("Application", self.name):
            self.wait_for(lambda: REFRESH not in self.annotations(), "the last refresh has ended")
            self._annotate(REFRESH, how)

    def sync(self, *resources: Json, **options: Any) -> None:
        """Sync by hand, as `argocd app sync` does: everything, or only some resources.

        The end of an operation removes the field `operation`, also a request that was just written.
        """
        self.wait_for(lambda: "operation" not in self.get(), "the last operation has ended")
        sync_options = self.get()["spec"]["syncPolicy"]["syncOptions"]
        sync = {
            "prune": True,
            "revision": self.repository.head(),
            "syncOptions": sync_options,
            **options,
        }
        sync |= {"resources": list(resources)} if resources else {}
        operation = {"initiatedBy": {"username": "e2e"}, "sync": sync}
        # A new operation does not start while the state of the last operation is present.
        change = {"operation": operation, "status": {"operationState": None}}
        self.argocd.patch("Application", self.name, change)

    def sync_by_hand(self) -> None:
        """Switch automated syncs off."""
        change = {"spec": {"syncPolicy": {"automated": None}}}
        self.argocd.patch("Application", self.name, change)

    def terminate(self) -> None:
        """Terminate the sync, as `argocd app terminate-op` does, and wait for its end.

        Argo CD may overwrite the requested phase with its own status. The request is then repeated.
        """
        change = {"status": {"operationState": {"phase": "Terminating"}}}
        started = self.operation()["startedAt"]

        def has_ended() -> bool:
            operation = self.operation()
            if operation["startedAt"] != started:
                return True
            if operation["phase"] == "Running":
                self.argocd.patch("Application", self.name, change)
            return operation["phase"] not in ("Running", "Terminating")

        self.wait_for(has_ended, "the sync is terminated")

    def delete(self) -> None:
        """Delete the Application and everything it created, and wait until it is deleted."""
        self.argocd.delete("Application", self.name)
        self.argocd.wait_for(
            lambda: not self.argocd.find("Application", self.name), self.describe("is deleted"), 60
        )

    def forget(self) -> None:
        """Delete the Application, if it exists, and keep the objects that it created."""
        if self.argocd.find("Application", self.name):
            without = {"metadata": {"finalizers": None}, "spec": {"syncPolicy": None}}
            self.argocd.patch("Application", self.name, without)
            self.argocd.delete("Application", self.name)

    # State in Argo CD

    def get(self) -> Json:
        """Return the live object."""
        return self.argocd.get("Application", self.name)

    def annotations(self) -> dict[str, str]:
        """Return the live object's annotations."""
        annotations: dict[str, str] = self.get()["metadata"].get("annotations", {})
        return annotations

    def wait_until_synced(self, commit: str = "", phase: str = "Succeeded") -> Json:
        """Wait until a commit (by default the last) was synced with this result; return status."""
        commit = commit or self.repository.head()

        def synced_status() -> Json | None:
            status: Json = self.get()["status"]
            operation = status["operationState"]
            is_over = operation["syncResult"]["revision"] == commit and operation["phase"] == phase
            return status if is_over and status["sync"]["revision"] == commit else None

        return self.wait_for(synced_status, f"{commit[:8]} is synced: {phase}")

    def wait_until(self, sync: str, health: str) -> Json:
        """Wait until the last commit has this sync and health status; return the status."""
        commit = self.repository.head()

        def matching_status() -> Json | None:
            status: Json = self.get()["status"]
            state = (status["sync"]["status"], status["health"]["status"])
            is_so = state == (sync, health) and status["sync"]["revision"] == commit
            return status if is_so else None

        return self.wait_for(matching_status, f"{sync}, {health}")

    def wait_until_out_of_sync(self, kind: str) -> list[str]:
        """Wait until objects of a kind differ from the last commit; return their names."""
        commit = self.repository.head()

        def names() -> list[str]:
            status: Json = self.get()["status"]
            return [
                resource["name"]
                for resource in status["resources"]
                if status["sync"]["revision"] == commit
                and (resource["kind"], resource.get("status")) == (kind, "OutOfSync")
            ]

        return self.wait_for(names, f"{kind} out of sync")

    def wait_for_message(self, *words: str) -> str:
        """Wait until Argo CD shows an error that contains all these words; return its message."""

        def matching_message() -> str | None:
            conditions = self.get()["status"].get("conditions", [])
            messages = [condition["message"] for condition in conditions]
            matching = [text for text in messages if all(word in text for word in words)]
            return matching[0] if matching else None

        return self.wait_for(matching_message, f"an error with {words}")

    def wait_for(self, predicate: Callable[[], T | None], message: str) -> T:
        """Wait for a condition; on a timeout, show the state in Argo CD."""
        try:
            return self.api.wait_for(predicate, message, SYNC_SECONDS)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.status_text()}") from None

    def status_text(self) -> str:
        """Return the Application's status in Argo CD, for the message of a failed test."""
        status = self.get().get("status", {})
        keys = ("sync", "health", "conditions", "operationState")
        text = json.dumps({key: status.get(key) for key in keys}, indent=1)
        return f"{text}\nlogs of Argo CD are in {self._logs}"

    def resource(self, kind: str, name: str) -> Json | None:
        """Return Argo CD's entry for one of the resources, or None."""
        matching = [
            resource
            for resource in self.get()["status"].get("resources", [])
            if (resource["kind"], resource["name"]) == (kind, name)
        ]
        return matching[0] if matching else None

    def operation(self) -> Json:
        """Return the state of the running or the last operation."""
        operation: Json = self.get()["status"]["operationState"]
        return operation

    def hooks(self) -> list[Json]:
        """Return the hooks that ran in the last operation."""
        # An operation that has just started has no result.
        return hooks_of(self.wait_for(lambda: self.operation().get("syncResult"), "has a result"))

    def first_sync(self) -> Json:
        """Return the result of the first finished operation that synced the last commit.

        A second, partial operation may follow at once. Argo CD considers an object out of sync
        until its cache has the applied version.
        """
        commit = self.repository.head()
        path = self.argocd.path("Application")
        for event in self.argocd.watch(path, self._since):
            application = event["object"]
            operation = application.get("status", {}).get("operationState", {})
            result: Json = operation.get("syncResult", {})
            is_over = operation.get("phase") == "Succeeded" and result.get("revision") == commit
            if is_over and application["metadata"]["name"] == self.name:
                return result
        raise AssertionError(self.describe(f"did not sync {commit[:8]}"))

    def _now(self) -> str:
        applications = self.argocd.request("GET", self.argocd.path("Application"))
        return str(applications["metadata"]["resourceVersion"])

    def describe(self, state: str) -> str:
        """Return a message about the Application."""
        return f"Application/{self.name} {state}"

    def promote(self) -> None:
        """Promote the canary to the end, and wait until Argo CD reports everything healthy."""
        wait_for_phase(self.api, "Paused")
        promote(self.api)
        wait_for_phase(self.api, "Healthy")
        self.wait_until("Synced", "Healthy")

    def _annotate(self, name: str, value: str | None) -> None:
        self.argocd.patch("Application", self.name, {"metadata": {"annotations": {name: value}}})


def hooks_of(result: Json) -> list[Json]:
    """Return the hooks that ran in an operation, from its result."""
    return [resource for resource in result.get("resources", []) if resource.get("hookType")]
