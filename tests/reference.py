"""A naive second implementation of `render`, to test the real one on random streams.

Plain dictionaries go in, and plain dictionaries come out. The module shares no code with the
program, and learns nothing of the catalogue of kinds. It knows the streams of tests/streams.py:
no readers by name, rules of the configuration, auto-mounts, history or ambiguous namespaces. Golden
cases cover these. Bytes and findings are left out, and attacher objects are reduced to the parts
that depend on the input.
"""

from __future__ import annotations

import copy
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.manifests import (
    Obj,
    annotation,
    go_json,
    is_hook,
    kind_of,
    label,
    name_of,
    namespace_of,
    sub,
)

# The pod template of each kind; the other kinds of WORKLOADS have `spec template`.
TEMPLATES = {
    "Pod": "",
    "PodTemplate": "template",
    "CronJob": "spec jobTemplate spec template",
    "Experiment": "spec templates [] template",
    "AnalysisTemplate": "spec metrics [] provider job spec template",
}
WORKLOADS = {
    *("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController"),
    *("Rollout", "Job"),
    *TEMPLATES,
}
CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
# The references in a pod spec, with the kind of the referenced object.
POD_REFERENCES = {
    "volumes [] configMap name": "ConfigMap",
    "volumes [] projected sources [] configMap name": "ConfigMap",
    "volumes [] secret secretName": "Secret",
    "volumes [] projected sources [] secret name": "Secret",
    "volumes [] csi nodePublishSecretRef name": "Secret",
    "imagePullSecrets [] name": "Secret",
    **{f"{key} [] env [] valueFrom configMapKeyRef name": "ConfigMap" for key in CONTAINERS},
    **{f"{key} [] env [] valueFrom secretKeyRef name": "Secret" for key in CONTAINERS},
    **{f"{key} [] envFrom [] configMapRef name": "ConfigMap" for key in CONTAINERS},
    **{f"{key} [] envFrom [] secretRef name": "Secret" for key in CONTAINERS},
}
# Other references, by the kind that has them. A Widget is a kind that postrender does not know.
OTHER_REFERENCES = {
    "Ingress": {
        "spec tls [] secretName": "Secret",
        "metadata annotations nginx.ingress.kubernetes.io/auth-secret": "Secret",
        "metadata annotations nginx.ingress.kubernetes.io/custom-headers": "ConfigMap",
    },
    "ServiceAccount": {"imagePullSecrets [] name": "Secret", "secrets [] name": "Secret"},
    "Widget": {"spec configMap": "ConfigMap"},
}
RESOURCES = {"ConfigMap": "configmaps", "Secret": "secrets"}
# The lengths of the hashes in names and in render IDs.
CONTENT_HASH = RENDER_ID = JOB_HASH = 10
GROUP = "postrender/attach-group"
WAVE = "argocd.argoproj.io/sync-wave"


@dataclass
class Config:
    """A ConfigMap or Secret that may get a revision."""

    obj: Obj
    base_name: str
    original: Obj
    strategy: str = "ignore"
    is_kept: bool = False
    references: list[Reference] = field(default_factory=list)

    @property
    def is_renamed(self) -> bool:
        return self.strategy == "rename"

    @property
    def member(self) -> str:
        """Its current name, as the attacher has it."""
        return f"{kind_of(self.obj).lower()}/{name_of(self.obj)}"


@dataclass
class Reference:
    """A field with the name of a ConfigMap or Secret: holder[key]."""

    owner: Obj
    holder: Obj
    key: str
    kind: str
    template: Obj | None = None

    @property
    def prefix(self) -> str:
        """The namespace in front of the name, as in `blue/web-users`."""
        value = self.holder[self.key]
        return value[: value.find("/") + 1] if isinstance(value, str) else ""

    @property
    def is_rewritten(self) -> bool:
        return not is_frozen(self.owner) and kind_of(self.owner) != "Widget"

    @property
    def causes_rename(self) -> bool:
        # An Ingress alone is a reason to revise a Secret, but not a ConfigMap.
        return self.is_rewritten and (self.kind == "Secret" or kind_of(self.owner) != "Ingress")


@dataclass
class Run:
    """The options and the objects of one rendering."""

    namespace: str
    keep_original: bool | None
    attacher: bool
    objects: list[Obj]
    configs: list[Config]

    def home(self, obj: Obj) -> str:
        return namespace_of(obj) or self.namespace


def reference_render(
    objects: list[Obj],
    *,
    namespace: str = "",
    secrets: bool = False,
    keep_original: bool | None = None,
    attacher: bool = True,
) -> list[Obj]:
    """Return the objects that the rendered stream must contain, in order."""
    objects = copy.deepcopy(objects)
    configs = [
        Config(obj, name_of(obj), copy.deepcopy(obj))
        for obj in objects
        if name_of(obj) and kind_of(obj) in (("ConfigMap", "Secret") if secrets else ("ConfigMap",))
    ]
    run = Run(namespace, keep_original, attacher, objects, configs)
    for obj in objects:
        for reference in references_of(obj):
            resolve(run, reference)
    for config in configs:
        decide(run, config)
    for config in configs:
        if config.is_renamed:
            config.obj["metadata"]["name"] = revision_name(config.obj)
    for config in configs:
        rewrite_references(config)
    for obj in objects:
        add_resource_names(run, obj)
        annotate_templates(run, obj)
    groups = find_groups(run)
    for config in configs:
        if config.is_renamed:
            mark_revision(run, config, groups)
    originals = {id(config.obj): config.original for config in configs if config.is_kept}
    result = [item for obj in objects for item in (originals.get(id(obj)), obj) if item]
    if attacher:
        result += [obj for group in groups for obj in attacher_objects(run, group)]
    return result


# --------------------------------------------------------------------------------------- references


def reached(value: Any, path: str) -> Iterator[tuple[Any, str]]:
    """Yield the holder and the key of everything that a path reaches."""
    step, _, rest = path.partition(" ")
    if step == "[]":
        for item in value if isinstance(value, list) else []:
            yield from reached(item, rest)
    elif isinstance(value, dict) and step in value:
        if rest:
            yield from reached(value[step], rest)
        else:
            yield value, step


def templates_of(obj: Obj) -> list[Obj]:
    """Return the pod templates of a workload, in order; a Pod is its own template."""
    if kind_of(obj) not in WORKLOADS:
        return []
    path = TEMPLATES.get(kind_of(obj), "spec template")
    return [holder[key] for holder, key in reached(obj, path)] if path else [obj]


def references_of(obj: Obj) -> Iterator[Reference]:
    for template in templates_of(obj):
        for path, kind in POD_REFERENCES.items():
            for holder, key in reached(template, f"spec {path}"):
                yield Reference(obj, holder, key, kind, template)
    for path, kind in OTHER_REFERENCES.get(kind_of(obj), {}).items():
        for holder, key in reached(obj, path):
            yield Reference(obj, holder, key, kind)


def resolve(run: Run, reference: Reference) -> None:
    home = reference.prefix[:-1] or run.home(reference.owner)
    for config in run.configs:
        name = reference.prefix + config.base_name
        is_meant = (kind_of(config.obj), run.home(config.obj)) == (reference.kind, home)
        if is_meant and reference.holder[reference.key] == name:
            config.references.append(reference)


def is_frozen(obj: Obj) -> bool:
    """Return whether references keep base names: Jobs, Pods, hooks, no name, opted out."""
    has_opted_out = annotation(obj, "postrender/rewrite-references") == "false"
    return kind_of(obj) in ("Job", "Pod") or is_hook(obj) or not name_of(obj) or has_opted_out


def rewrite_references(config: Config) -> None:
    for reference in config.references:
        if config.is_renamed and reference.is_rewritten:
            name = reference.prefix + name_of(config.obj)
            reference.holder[reference.key] = name


def rules_of(role: Obj) -> list[Obj]:
    return role["rules"] if kind_of(role) in ("Role", "ClusterRole") else []


def names_config(run: Run, role: Obj, rule: Obj, config: Config) -> bool:
    """Return whether a rule names a ConfigMap or Secret. A ClusterRole names it everywhere."""
    is_near = kind_of(role) == "ClusterRole" or run.home(role) == run.home(config.obj)
    is_about = RESOURCES[kind_of(config.obj)] in rule["resources"]
    return is_near and is_about and config.base_name in rule.get("resourceNames", [])


def add_resource_names(run: Run, role: Obj) -> None:
    """Add the names of revisions after the base names in a role; no name is removed."""
    for rule in rules_of(role):
        configs = [config for config in run.configs if names_config(run, role, rule, config)]
        configs = [config for config in configs if config.is_renamed]
        for config in sorted(configs, key=lambda config: kind_of(config.obj), reverse=True):
            names = rule["resourceNames"]
            names.insert(names.index(config.base_name) + 1, name_of(config.obj))


# ------------------------------------------------------------------------------------- the strategy


def decide(run: Run, config: Config) -> None:
    """Set the strategy, and whether the original stays next to its revision."""
    obj = config.obj
    requested = annotation(obj, "postrender/strategy")
    is_used = any(
        reference.is_rewritten if requested == "rename" else reference.causes_rename
        for reference in config.references
    )
    if not is_used or is_hook(obj) or name_of(obj).endswith("-" + content_hash(obj)):
        return
    if not requested and not any(obj.get(key) for key in ("data", "binaryData", "stringData")):
        return
    rules = [
        rule
        for role in run.objects
        for rule in rules_of(role)
        if names_config(run, role, rule, config)
    ]
    decided = annotation(obj, "postrender/keep-original")
    is_written = any({"update", "patch", "*"} & set(rule["verbs"]) for rule in rules)
    if is_written and not requested and not decided:
        return
    config.strategy = requested or "rename"
    is_kept = run.keep_original if run.keep_original is not None else kind_of(obj) == "Secret"
    is_kept = decided == "true" if decided else is_kept or bool(rules)
    is_pinned = any(not reference.is_rewritten for reference in config.references)
    config.is_kept = config.is_renamed and (is_kept or is_pinned)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def content_hash(obj: Obj) -> str:
    """Return the content hash that kustomize computes; a null value is an empty text.

    Binary data counts as the API server returns it, without line breaks.
    """
    content: Obj = {"kind": obj["kind"], "name": "", "data": ""}
    for key in ("data", "binaryData", "stringData"):
        if values := obj.get(key):
            content[key] = {name: value or "" for name, value in values.items()}
    if "binaryData" in content:
        content["binaryData"] = {
            name: re.sub("[\r\n]", "", value) for name, value in content["binaryData"].items()
        }
    if obj["kind"] == "Secret":
        content["type"] = obj.get("type", "")
    # A mutable revision must not share its name with an immutable one of the same content.
    if obj.get("immutable") is False:
        content["immutable"] = False
    return sha256(go_json(content))[:CONTENT_HASH].translate(str.maketrans("013ae", "ghkmt"))


def revision_name(obj: Obj) -> str:
    return f"{name_of(obj)}-{content_hash(obj)}"


# ------------------------------------------------------------------------------------ pod templates


def targets_of(run: Run, obj: Obj, template: Obj | None = None) -> list[Config]:
    """Return the objects that pod templates reference, sorted by their current names."""
    found = [
        config
        for config in run.configs
        for reference in config.references
        if reference.owner is obj and reference.template is not None
        if template is None or reference.template is template
    ]
    return sorted({id(config): config for config in found}.values(), key=lambda item: item.member)


def annotate_templates(run: Run, obj: Obj) -> None:
    """Add the checksum and the render ID to the pod templates of a workload."""
    templates = templates_of(obj) if not is_frozen(obj) else []
    for template in templates:
        # Sorted by name: `app` precedes `app-config`, although `app=` does not.
        hashes = sorted(
            (config.member.removeprefix("configmap/"), content_hash(config.obj))
            for config in targets_of(run, obj, template)
            if config.strategy == "checksum"
        )
        if hashes:
            lines = "".join(f"{name}={digest}\n" for name, digest in hashes)
            make(template, "metadata", "annotations")["postrender/checksum"] = sha256(lines)
    cleaned = [clean_template(template) for template in templates]
    has_list = "[]" in TEMPLATES.get(kind_of(obj), "")
    if templates and any(config.is_renamed for config in targets_of(run, obj)):
        render_id = sha256(go_json(cleaned if has_list else cleaned[0]))[:RENDER_ID]
        make(obj, "metadata", "annotations")["postrender/render-id"] = render_id


def clean_template(template: Obj) -> Obj:
    """Return a copy of a template without emptied mappings."""
    metadata = dict(sub(template, "metadata"))
    if not metadata.get("annotations"):
        metadata.pop("annotations", None)
    rest = {key: copy.deepcopy(child) for key, child in template.items() if key != "metadata"}
    return {"metadata": copy.deepcopy(metadata), **rest} if metadata else rest


def make(value: Obj, *keys: str) -> Obj:
    """Return the mapping below some keys, which is created if absent or null."""
    for key in keys:
        if not isinstance(value.get(key), dict):
            value[key] = {}
        value = value[key]
    return value


# ------------------------------------------------------------------------------------- the attacher


@dataclass
class Group:
    """The attacher of one namespace."""

    name: str
    namespace: str
    home: str
    workloads: list[Obj]


def order(obj: Obj) -> tuple[bool, str, str, str]:
    """Return the sort key of an object, with Rollouts first."""
    kind = kind_of(obj)
    return kind != "Rollout", kind, name_of(obj), namespace_of(obj)


def group_name(objects: list[Obj]) -> str:
    """Return `<release>-attach` or `<workload>-<kind>-attach`."""
    releases = {label(obj, "app.kubernetes.io/instance") for obj in objects}
    first = min(objects, key=order)
    release = releases.pop() if len(releases) == 1 else ""
    return f"{release or f'{name_of(first)}-{kind_of(first).lower()}'}-attach"


def find_groups(run: Run) -> list[Group]:
    """Return a group for each namespace with a workload that references a revision.

    Without any such workload, return a group if it would be the only one.
    """
    homes: dict[str, list[Obj]] = {}
    for obj in sorted(run.objects, key=order):
        if not is_frozen(obj) and any(config.is_renamed for config in targets_of(run, obj)):
            homes.setdefault(run.home(obj), []).append(obj)
    groups = [
        Group(group_name(workloads), namespace_of(workloads[0]), home, workloads)
        for home, workloads in homes.items()
    ]
    renamed = [config for config in run.configs if config.is_renamed]
    if renamed and not groups:
        names = {(group_of(run, config, []), run.home(config.obj)) for config in renamed}
        if len(names) == 1:
            [(name, home)] = names
            return [Group(name, namespace_of(renamed[0].obj), home, [])]
    return groups


def group_of(run: Run, config: Config, groups: list[Group]) -> str:
    """Return the group of a revision's namespace, else one after the objects that reference it."""
    for group in groups:
        if group.home == run.home(config.obj):
            return group.name
    users = [ref.owner for ref in config.references if ref.causes_rename]
    metadata = {**config.obj["metadata"], "name": config.base_name}
    return group_name(users or [{**config.obj, "metadata": metadata}])


def mark_revision(run: Run, config: Config, groups: list[Group]) -> None:
    config.obj.setdefault("immutable", True)
    # The API server stores a null as an empty string, which a later apply of the null would remove.
    for name in ("data", "binaryData", "stringData"):
        values = config.obj.get(name) or {}
        values.update({key: "" for key, value in values.items() if value is None})
    make(config.obj, "metadata", "labels")[GROUP] = group_of(run, config, groups)
    annotations = make(config.obj, "metadata", "annotations")
    annotations["postrender/base-name"] = config.base_name
    annotations["helm-diff/base-name"] = config.base_name
    annotations["postrender/applied"] = "true"
    annotations["helm.sh/resource-policy"] = "keep"
    annotations["kustomize.toolkit.fluxcd.io/prune"] = "disabled"
    add_option(annotations, "argocd.argoproj.io/sync-options", "Prune=false")
    add_option(annotations, "argocd.argoproj.io/compare-options", "IgnoreExtraneous")
    # attach does not see these references in the cluster.
    if any(ref.is_rewritten and ref.template is None for ref in config.references):
        annotations["postrender/sweep"] = "false"


def add_option(annotations: Obj, key: str, option: str) -> None:
    """Append an option to a comma-separated value that does not have it yet."""
    options = annotations.get(key, "").split(",")
    if option not in options:
        annotations[key] = ",".join(filter(None, [*options, option]))


def wave_of(obj: Obj) -> int:
    return int(annotation(obj, WAVE) or 0)


def job_mode(run: Run) -> bool:
    """Return whether the attacher is an ordinary Job, because a hook would block a sync."""
    early = {"pre-install", "pre-upgrade", "PreSync", "Sync"}
    hooks = [
        set(annotation(obj, key).split(","))
        for obj in run.objects
        for key in ("helm.sh/hook", "argocd.argoproj.io/hook")
    ]
    waves = {wave_of(obj) for obj in run.objects if not is_hook(obj)}
    return len(waves) > 1 or any(early & hook for hook in hooks)


def attacher_objects(run: Run, group: Group) -> Iterator[Obj]:
    """Yield ServiceAccount, Role and RoleBinding, and a Job for each sync wave, all reduced."""
    entries = [(obj, obj) for obj in group.workloads] + [
        (rollout, obj)
        for rollout in run.objects
        for obj in group.workloads
        if sub(rollout, "spec", "workloadRef").get("name") == name_of(obj)
        and kind_of(obj) == "Deployment"
        and run.home(rollout) == group.home
    ]
    waves = sorted({wave_of(obj) for obj, _ in entries}) or [0]
    for kind in ("ServiceAccount", "Role", "RoleBinding"):
        yield reduced(kind, group.name, group.namespace, group.name, waves[0], [])
    for wave in waves:
        members = [config for config in run.configs if is_member(run, config, group)]
        emitted = {config.member for config in members}
        emitted |= {
            f"{kind_of(config.obj).lower()}/{config.base_name}"
            for config in members
            if config.is_kept
        }
        args = [f"attach --group {group.name}", "--timeout 90s", "--on-failure report"]
        args += [f"--namespace {group.namespace}"] if group.namespace else []
        args += [f"--release-owner ServiceAccount/{group.name}"]
        args += ["--delete-finished-jobs"] if job_mode(run) else []
        for obj, referred in entries:
            if wave_of(obj) == wave:
                names = [item.member for item in targets_of(run, referred) if item.is_renamed]
                workload = (
                    f"{kind_of(obj)}/{name_of(obj)}@{annotation(referred, 'postrender/render-id')}"
                )
                args.append(f"--workload {workload}={','.join(names)}")
                emitted -= set(names)
        args += [f"--emitted {','.join(sorted(emitted))}"] if emitted else []
        yield reduced("Job", f"{group.name}-HASH", group.namespace, group.name, wave, args)


def is_member(run: Run, config: Config, group: Group) -> bool:
    return config.is_renamed and run.home(config.obj) == group.home


# ---------------------------------------------------------------------------------------- comparing


def reduced(kind: str, name: str, namespace: str, group: str, wave: int, args: list[str]) -> Obj:
    """Return the parts of an attacher object that are compared."""
    metadata = {"name": name, "namespace": namespace, "labels": {GROUP: group}}
    return {"kind": kind, "metadata": metadata, "wave": wave, "args": sorted(args)}


def comparable(objects: list[Obj]) -> list[str]:
    """Return objects in a form to compare with ==, with attacher objects reduced."""
    result = []
    for obj in objects:
        group = label(obj, GROUP)
        if group and kind_of(obj) not in RESOURCES and "apiVersion" in obj:
            name = re.sub(
                rf"^({re.escape(group)})-[0-9a-z]{{{JOB_HASH}}}$", r"\1-HASH", name_of(obj)
            )
            args: list[str] = []
            for holder, key in reached(obj, "spec template spec containers [] args"):
                args = " ".join(holder[key]).replace(" --", "\n--").split("\n")
                args[:2] = [" ".join(args[:2])]
            namespace, wave = namespace_of(obj), wave_of(obj)
            obj = reduced(kind_of(obj), name, namespace, group, wave, args)
        result.append(go_json(obj))
    return result
