"""Inputs of a size, and the check that no input takes more than n log n work or memory.

SHAPES are inputs that took more, and inputs like them. `repeated` makes others from the golden and
change cases: it repeats any value, key, item, text or document. As a program, for the size of the
smallest inputs, the number of repeated cases and the seed, it prints each shape that grows faster.
With --whole, it runs every command of each shape, and also compares the memory:

    python -m tests.security.shapes 100 200 7 --whole
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from itertools import pairwise
from pathlib import Path as FilePath
from pkgutil import walk_packages
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import jsonschema  # noqa: F401
from click.testing import CliRunner

from tests import work

work.install()

import difflib  # noqa: E402, F401

import postrender  # noqa: E402
from postrender.cli import main as cli  # noqa: E402
from postrender.cli.report import BUG  # noqa: E402
from postrender.config.settings import NOTHING  # noqa: E402
from postrender.errors import UserError  # noqa: E402
from postrender.kubernetes.validation.field_types import type_of  # noqa: E402
from postrender.yaml import parser  # noqa: E402
from postrender.yaml.document import parse_in  # noqa: E402
from postrender.yaml.edits import copied  # noqa: E402
from postrender.yaml.paths import Json, Path, value_at  # noqa: E402
from postrender.yaml.scalars import block_text  # noqa: E402
from postrender.yaml.stream import read_stream  # noqa: E402
from tests.attach.cluster import name_of, obj  # noqa: E402
from tests.attach.cluster import workload as live_workload  # noqa: E402
from tests.golden_cases import cases as golden_cases  # noqa: E402
from tests.status import stories  # noqa: E402

# Each run is a fork, which would otherwise import and rewrite the modules that are imported late.
for _module in walk_packages(postrender.__path__, "postrender."):
    import_module(_module.name)
# Each run would load this table again: a fifth of all work, and the same for each size.
type_of("")
# Only texts with this indentation, or with many brackets, get a check of their depth. Without this
# line, the check would be a step between a small and a large input.
parser._DEEP_INDENT = ""

CHANGES = FilePath(__file__).resolve().parents[1] / "changes"
IMAGE = "--attacher-image=registry.example.com/postrender:1"


class Run(NamedTuple):
    """A command line, and the text on stdin and in files that it reads."""

    arguments: tuple[str, ...]
    stdin: str = ""
    files: Mapping[str, str] = NOTHING


Shape = Callable[[int], list[Run]]
SHAPES: dict[str, Shape] = {}


def of_stream(build: Callable[[int], str]) -> Callable[[int], str]:
    """Add a shape: every command reads the stream, and `diff` compares it with an empty one."""

    def runs(count: int) -> list[Run]:
        text = build(count)
        files = {"new.yaml": text, "old.yaml": config_map()}
        return [
            Run(("render", IMAGE), text),
            Run(("explain",), text),
            Run(("check",), text),
            Run(("diff", "old.yaml", "new.yaml"), "", files),
            Run(("diff", "new.yaml", "new.yaml"), "", files),
        ]

    SHAPES[build.__name__] = runs
    return build


def of_change(build: Callable[[int], tuple[str, str]]) -> Callable[[int], tuple[str, str]]:
    """Add a shape: `diff` compares two streams, in both directions."""

    def runs(count: int) -> list[Run]:
        old, new = build(count)
        files = {"old.yaml": old, "new.yaml": new}
        return [
            Run(("diff", "old.yaml", "new.yaml"), "", files),
            Run(("diff", "new.yaml", "old.yaml"), "", files),
            Run(("diff", "--format=html", "new.yaml", "old.yaml"), "", files),
        ]

    SHAPES[build.__name__] = runs
    return build


def of_run(build: Callable[[int], Run]) -> Callable[[int], Run]:
    """Add a shape with its own command line."""
    SHAPES[build.__name__] = lambda count: [build(count)]
    return build


def names(count: int, prefix: str = "n") -> list[str]:
    return [f"{prefix}{number:05}" for number in range(count)]


def config_map(name: str = "w", data: str = "k: v", more: str = "") -> str:
    metadata = f"{{name: {name}{more}}}"
    return f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {metadata}\ndata:\n  {data}\n"


def config_maps(count: int, more: str = "") -> str:
    return "".join(config_map(name, more=more) for name in names(count))


def workload(containers: str, volumes: str = "", name: str = "p", more: str = "") -> str:
    listed = f"      volumes:\n{volumes}" if volumes else ""
    return (
        f"---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec:\n{more}"
        f"  template:\n    spec:\n      containers:\n{containers}{listed}"
    )


def container(body: str = "", name: str = "c") -> str:
    return f"      - name: {name}\n{body}"


def lines(indent: int, texts: Iterable[str]) -> str:
    return "".join(" " * indent + text + "\n" for text in texts)


ENV_FROM = "        envFrom:\n"


@of_stream
def aliases_in_env_from(count: int) -> str:
    entries = ["- &e {configMapRef: {name: w}}", *["- *e"] * count]
    return config_map() + workload(container(ENV_FROM + lines(8, entries)))


@of_stream
def aliases_in_env(count: int) -> str:
    first = "- &e {name: A, valueFrom: {configMapKeyRef: {name: w, key: k}}}"
    return config_map() + workload(
        container("        env:\n" + lines(8, [first, *["- *e"] * count]))
    )


@of_stream
def containers_as_aliases(count: int) -> str:
    first = "- &c {name: c, image: w, envFrom: [{configMapRef: {name: w}}]}"
    return config_map() + workload(lines(6, [first, *["- *c"] * count]))


@of_stream
def volumes_as_aliases(count: int) -> str:
    first = "- &v {name: c, configMap: {name: w}}"
    return config_map() + workload(container(), lines(6, [first, *["- *v"] * count]))


@of_stream
def lists_as_aliases(count: int) -> str:
    text = lines(8, ["envFrom: &e", "- configMapRef: {name: w}"])
    others = "".join(container(lines(8, ["envFrom: *e"]), name) for name in names(count))
    return config_map() + workload(container(text) + others)


@of_stream
def merged_containers(count: int) -> str:
    first = "- &c {name: c, image: w, envFrom: [{configMapRef: {name: w}}]}"
    others = [f"- {{<<: *c, name: {name}}}" for name in names(count)]
    return config_map() + workload(lines(6, [first, *others]))


@of_stream
def merged_lists(count: int) -> str:
    first = "- &c {name: c, image: w, envFrom: [{configMapRef: {name: w}}]}"
    return config_map() + workload(lines(6, [first, f"- {{<<: [{', '.join(['*c'] * count)}]}}"]))


@of_stream
def aliases_in_data(count: int) -> str:
    return config_map(data="k: &v w\n" + lines(2, [f"{name}: *v" for name in names(count)]))


@of_stream
def anchors_without_aliases(count: int) -> str:
    return config_map(data="k: &v w\n" + lines(2, [f"{name}: &{name} w" for name in names(count)]))


@of_stream
def equal_anchors(count: int) -> str:
    return config_map(data="k: &v w\n" + lines(2, [f"{name}: &v w" for name in names(count)]))


@of_stream
def names_in_arguments(count: int) -> str:
    return config_map() + USED + workload(container("        args:\n" + lines(8, ["- w"] * count)))


@of_stream
def flags_in_arguments(count: int) -> str:
    flags = ["- --config-map", "- w"] * count
    return config_map() + USED + workload(container("        args:\n" + lines(8, flags)))


@of_stream
def different_names_in_arguments(count: int) -> str:
    entries = [f"- {name}" for name in names(count)]
    return (
        config_maps(count)
        + all_used(count)
        + workload(container("        args:\n" + lines(8, entries)))
    )


@of_stream
def names_in_one_argument(count: int) -> str:
    text = " ".join(names(count))
    return config_maps(count) + all_used(count) + workload(container(f"        args: ['{text}']\n"))


def role(entries: Iterable[str]) -> str:
    return (
        "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: r}\nrules:\n"
        "- apiGroups: ['']\n  resources: [configmaps]\n  verbs: [get]\n  resourceNames:\n"
        + lines(2, (f"- {entry}" for entry in entries))
    )


USED = workload(container(lines(8, ["envFrom: [{configMapRef: {name: w}}]"])))


@of_stream
def equal_resource_names(count: int) -> str:
    return config_map() + USED + role(["w"] * count)


@of_stream
def different_resource_names(count: int) -> str:
    return config_maps(count) + all_used(count) + role(names(count))


@of_stream
def resource_names_in_a_row(count: int) -> str:
    text = f"[{', '.join(names(count))}]"
    whole = role([]).replace("resourceNames:\n", f"resourceNames: {text}\n")
    return config_maps(count) + all_used(count) + whole


@of_stream
def rules_of_a_role(count: int) -> str:
    rule = "- {apiGroups: [''], resources: [configmaps], verbs: [get], resourceNames: [w]}\n"
    return config_map() + USED + role([]).partition("- api")[0] + rule * count


def all_used(count: int) -> str:
    entries = [f"- configMapRef: {{name: {name}}}" for name in names(count)]
    return workload(container(ENV_FROM + lines(8, entries)))


@of_stream
def names_in_a_text(count: int) -> str:
    text = "k: |\n" + lines(4, names(count))
    return config_maps(count) + all_used(count) + config_map("texts", text)


@of_stream
def names_in_a_line(count: int) -> str:
    return (
        config_maps(count) + all_used(count) + config_map("texts", f"k: {' '.join(names(count))}")
    )


@of_stream
def names_in_quotes(count: int) -> str:
    text = 'k: "' + "\\n".join(names(count)) + '"\n'
    return config_maps(count) + all_used(count) + config_map("texts", text)


@of_stream
def names_in_manifests_in_a_text(count: int) -> str:
    text = "k: |\n" + "".join(
        lines(4, ["kind: ConfigMap", "metadata:", f"  name: {name}"]) for name in names(count)
    )
    return config_maps(count) + all_used(count) + config_map("texts", text)


@of_stream
def spring_names_in_a_text(count: int) -> str:
    text = "k: |\n" + lines(4, (f"spring.application.name: {name}" for name in names(count)))
    everything = role([]).partition("  resourceNames")[0]
    return config_maps(count) + all_used(count) + config_map("texts", text) + everything


@of_stream
def names_below_headings_in_a_text(count: int) -> str:
    text = "k: |\n" + lines(4, (f"[configMap]\nname = {name}" for name in names(count)))
    text = text.replace("\nname", "\n    name")
    return config_maps(count) + all_used(count) + config_map("texts", text)


@of_stream
def names_of_settings_in_a_text(count: int) -> str:
    text = "k: |\n" + lines(4, ("kubernetes:", *(f"config: {name}" for name in names(count))))
    return config_maps(count) + all_used(count) + config_map("texts", text)


@of_stream
def names_below_deep_keys_in_a_text(count: int) -> str:
    text = "k: |\n    spring:\n" + lines(5, ["kubernetes:"] * count) + lines(6, names(count))
    return config_maps(count) + all_used(count) + config_map("texts", text)


@of_stream
def labels_in_flags(count: int) -> str:
    labelled = "".join(config_map(name, more=f", labels: {{l-{name}: a}}") for name in names(count))
    flags = container(
        "        args:\n" + lines(8, (f"- --label=l-{name}" for name in names(count)))
    )
    return labelled + all_used(count) + workload(flags, name="reader")


@of_stream
def labels_that_containers_read(count: int) -> str:
    entries = (
        f"- {{name: a, valueFrom: {{fieldRef: {{fieldPath: \"metadata.labels['{name}']\"}}}}}}"
        for name in names(count)
    )
    return (
        config_maps(count)
        + all_used(count)
        + workload(container("        env:\n" + lines(8, entries)), name="reader")
    )


@of_stream
def names_in_data_keys(count: int) -> str:
    text = lines(2, (f"{name}: w" for name in names(count)))
    return config_map() + USED + config_map("texts", text.strip())


@of_stream
def key_references_in_a_container(count: int) -> str:
    entries = (
        text
        for name in names(count)
        for text in (f"- name: {name}", "  valueFrom:", "    configMapKeyRef:", "      name: w")
    )
    return config_map() + workload(container("        env:\n" + lines(8, entries)))


@of_stream
def key_references_in_flow_style(count: int) -> str:
    entries = (
        f"- {{name: {name}, valueFrom: {{configMapKeyRef: {{name: w, key: k}}}}}}"
        for name in names(count)
    )
    return config_map() + workload(container("        env:\n" + lines(8, entries)))


@of_stream
def key_references_in_json(count: int) -> str:
    entries = ", ".join(
        f'{{"name": "{name}", "valueFrom": {{"configMapKeyRef": {{"name": "w", "key": "k"}}}}}}'
        for name in names(count)
    )
    return config_map() + workload(container(f"        env: [{entries}]\n"))


@of_stream
def references_in_an_object_to_write_again(count: int) -> str:
    # A quoted name that is split over lines has no place in the text.
    entries = [
        "- &e {configMapRef: {name: w}}",
        "- *e",
        *["- ? configMapRef\n          : {name: w}"] * count,
    ]
    return config_map() + workload(container(ENV_FROM + lines(8, entries)))


@of_stream
def mounts_in_one_container(count: int) -> str:
    mount = ", annotations: {postrender/mount-path: /etc/%s}"
    maps = "".join(config_map(name, more=mount % name) for name in names(count))
    return maps + workload(container())


@of_stream
def variables_in_one_container(count: int) -> str:
    more = ", annotations: {postrender/env-from: 'true'}"
    return config_maps(count, more) + workload(container())


@of_stream
def one_mount_in_many_containers(count: int) -> str:
    more = ", annotations: {postrender/mount-path: /etc/w, postrender/env-from: 'true'}"
    return config_map(more=more) + workload("".join(container(name=name) for name in names(count)))


@of_stream
def one_mount_in_named_containers(count: int) -> str:
    listed = ",".join(names(count))
    more = f", annotations: {{postrender/mount-path: /w, postrender/containers: '{listed}'}}"
    return config_map(more=more) + workload("".join(container(name=name) for name in names(count)))


@of_stream
def mounts_and_volumes(count: int) -> str:
    more = ", annotations: {postrender/mount-path: /etc/w}"
    volumes = (f"- {{name: {name}, configMap: {{name: {name}}}}}" for name in names(count))
    mounts = (f"- {{name: {name}, mountPath: /{name}}}" for name in names(count))
    body = "        volumeMounts:\n" + lines(8, mounts)
    return config_map(more=more) + workload(container(body), lines(6, volumes))


@of_stream
def role_bindings_and_names(count: int) -> str:
    rbac = "---\napiVersion: rbac.authorization.k8s.io/v1\n"
    rule = "rules: [{apiGroups: [''], resources: [configmaps], verbs: [update]}]\n"
    bindings = "".join(
        f"{rbac}kind: Role\nmetadata: {{name: {name}}}\n{rule}"
        f"{rbac}kind: RoleBinding\nmetadata: {{name: {name}}}\n"
        f"roleRef: {{kind: Role, name: {name}}}\nsubjects: [{{kind: ServiceAccount, name: x}}]\n"
        for name in names(count)
    )
    entries = [f"- --config-map={name}" for name in names(count)]
    body = "        args:\n" + lines(8, entries)
    return config_maps(count) + all_used(count) + workload(container(body), name="q") + bindings


@of_stream
def references_in_namespaces(count: int) -> str:
    maps = "".join(config_map(more=f", namespace: {name}") for name in names(count))
    entries = ["- configMapRef: {name: w}"] * count
    body = workload(container(ENV_FROM + lines(8, entries)))
    return maps + body.replace("{name: p}", "{name: p, namespace: n00000}")


@of_stream
def jobs_and_hooks(count: int) -> str:
    body = container(lines(8, ["envFrom: [{configMapRef: {name: w}}]"]))
    job = workload(body).replace("apps/v1", "batch/v1").replace("Deployment", "Job")
    return config_map() + "".join(job.replace("name: p", f"name: {name}") for name in names(count))


@of_stream
def mounts_in_many_workloads(count: int) -> str:
    maps = "".join(
        config_map(
            name,
            more=", annotations: {postrender/mount-path: /w, "
            f"postrender/mount-in: Deployment/{name}}}",
        )
        for name in names(count)
    )
    return maps + "".join(workload(container(), name=name) for name in names(count))


@of_stream
def equal_objects(count: int) -> str:
    return config_map() * count + USED * count


@of_stream
def objects_in_namespaces(count: int) -> str:
    return "".join(config_map(more=f", namespace: {name}") for name in names(count)) + USED


@of_stream
def equal_keys(count: int) -> str:
    return config_map(data="k: v\n" + lines(2, ["k: v"] * count)) + USED


@of_stream
def items_of_a_list(count: int) -> str:
    text = config_maps(count) + all_used(count)
    items = text.replace("\n", "\n  ").replace("---\n  ", "- ").replace("\n  - api", "\n- api")
    return f"apiVersion: v1\nkind: List\nitems:\n{items.rstrip()}\n"


JSON_ITEM = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "%s"}, "data": {}}'


@of_stream
def items_in_json(count: int) -> str:
    items = ", ".join(JSON_ITEM % name for name in names(count))
    return f'{{"apiVersion": "v1", "kind": "List", "items": [{items}]}}\n'


@of_stream
def objects_in_json_lines(count: int) -> str:
    return "".join(JSON_ITEM % name + "\n" for name in names(count))


@of_stream
def empty_documents(count: int) -> str:
    return config_map() + "---\n" * count + USED


@of_stream
def annotations_of_an_object(count: int) -> str:
    keys = ", ".join(f"{name}: w" for name in names(count))
    return config_map(more=f", annotations: {{{keys}}}") + USED


@of_stream
def words_of_a_name(count: int) -> str:
    return config_map("w" + "-w" * count) + USED


@of_stream
def a_chain_of_prefixes(count: int) -> str:
    # With longer names, the input would have n² characters.
    return "".join(map(config_map, [f"w{'-w' * (n % 2)}-{n:04}" for n in range(count)])) + USED


@of_stream
def custom_kinds(count: int) -> str:
    widget = "---\napiVersion: x.io/v1\nkind: Widget\nmetadata: {name: %s}\nspec: {a: [w, w]}\n"
    return config_map() + USED + "".join(widget % name for name in names(count))


@of_stream
def strings_of_a_custom_kind(count: int) -> str:
    widget = "---\napiVersion: x.io/v1\nkind: Widget\nmetadata: {name: x}\nspec:\n"
    return config_map() + USED + widget + lines(2, (f"{name}: w" for name in names(count)))


@of_stream
def scripts_in_a_text(count: int) -> str:
    command = 'kubectl get configmap "$NAME" -n w'
    text = "k: |\n" + lines(4, [command, "w"] * count)
    return config_map() + USED + config_map("texts", text)


@of_stream
def continued_lines(count: int) -> str:
    return config_map() + USED + config_map("texts", "k: |\n" + lines(4, ["w \\"] * count))


HASH_LETTERS = str.maketrans("0123456789", "bcdfghjklm")


def hashed(base_name: str, number: int = 0) -> str:
    """A name that ends like that of a revision."""
    return f"{base_name}-" + f"{number:010}".translate(HASH_LETTERS)


def chain(count: int) -> str:
    """Revisions of which each names the next, and the last names a Secret."""
    bases = [f"w{number:05}" for number in range(count)]
    following = [*map(hashed, bases[1:]), hashed("s")]
    return "".join(
        config_map(hashed(base), f"k: {after}", f", annotations: {{postrender/base-name: {base}}}")
        for base, after in zip(bases, following, strict=True)
    )


SECRET = (
    "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s-bbbbbbbbbb, annotations: "
    "{postrender/base-name: s}}\nimmutable: true\nstringData: {k: v}\n"
)


@of_change
def budgets_of_one_selector(count: int) -> tuple[str, str]:
    labels = "{matchLabels: {app: web}}"
    pod = "{metadata: {labels: {app: web}}, spec: {containers: [{name: a, image: a}]}}"
    objects = [
        f"---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {{name: {name}}}\n"
        f"spec: {{maxUnavailable: BUDGET, selector: {labels}}}\n"
        f"---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\n"
        f"spec: {{selector: {labels}, template: {pod}}}\n"
        for name in names(count)
    ]
    text = "".join(objects)
    return text.replace("BUDGET", "1"), text.replace("BUDGET", "0")


@of_change
def quotas_and_services(count: int) -> tuple[str, str]:
    hard = ", ".join(f"count/{name}.b: 0" for name in names(count))
    objects = [
        f"---\napiVersion: v1\nkind: ResourceQuota\nmetadata: {{name: q{name}, namespace: SPACE}}\n"
        f"spec: {{hard: {{services: 0, services.nodeports: 0HARD}}}}\n"
        f"---\napiVersion: v1\nkind: Service\nmetadata: {{name: {name}, namespace: SPACE}}\n"
        "spec: {type: KIND, ports: [{port: 80}]}\n"
        for name in names(count)
    ]
    shared = "".join(objects[: count // 2]).replace("SPACE", "one").replace("HARD", f", {hard}", 1)
    others = "".join(
        one.replace("SPACE", name)
        for one, name in zip(objects[count // 2 :], names(count), strict=False)
    )
    text = (shared + others).replace("HARD", "")
    return text.replace("KIND", "ClusterIP"), text.replace("KIND", "NodePort")


@of_change
def quotas_and_pods(count: int) -> tuple[str, str]:
    hard = ", ".join(f"requests.{name}/gpu: 0" for name in names(count))
    text = (
        f"apiVersion: v1\nkind: ResourceQuota\nmetadata: {{name: q}}\nspec: {{hard: {{{hard}}}}}\n"
    )
    for name in names(count):
        text += (
            f"---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\n"
            "spec: {template: {spec: {containers: [{name: a, image: a:1}]}}}\n"
        )
    return text, text.replace("a:1", "a:2")


@of_change
def a_chain_of_revisions(count: int) -> tuple[str, str]:
    text = SECRET + chain(count)
    return text, text.replace("k: v", "k: u")


@of_change
def secrets_with_equal_hashes(count: int) -> tuple[str, str]:
    secrets = "".join(SECRET.replace("s-bbbbbbbbbb", hashed(name)) for name in names(count))
    text = config_map(data="k: " + " ".join(map(hashed, names(count))))
    return secrets + text, secrets + text.replace("k:", "l:") + USED


@of_change
def anchors_at_the_end(count: int) -> tuple[str, str]:
    # Each line but the last occurs twice, until the text is split at the line after it.
    def text(side: str) -> str:
        parts = []
        for number in range(8 * count, 0, -1):
            parts += [f"u{number:05}", f"{side}{number}", f"u{number + 1:05}", f"{side}-{number}"]
        return config_map(data="k: |\n" + lines(4, [*parts, *[f"{side}x", side] * 300]))

    return text("a") + USED, text("b") + USED


@of_change
def items_between_equal_items(count: int) -> tuple[str, str]:
    widget = "{apiVersion: x.io/v1, kind: W, metadata: {name: w}, spec: {l: [%s]}}"
    first, second = (",".join(f"x,{prefix}{n:04}" for n in range(8 * count)) for prefix in "ab")
    return widget % first, widget % second


@of_change
def different_items(count: int) -> tuple[str, str]:
    widget = "{apiVersion: x.io/v1, kind: W, metadata: {name: w}, spec: {l: [%s]}}"
    first, second = (",".join(f"{prefix}{n:04}" for n in range(8 * count)) for prefix in "ab")
    return widget % first, widget % second


@of_change
def lists_of_objects(count: int) -> tuple[str, str]:
    widget = "{apiVersion: x.io/v1, kind: W, metadata: {name: w}, spec: {l: [%s]}}"
    first, second = (
        ",".join(f"{{a: 1}}, {{b: {prefix}{n:04}}}" for n in range(8 * count)) for prefix in "ab"
    )
    return widget % first, widget % second


@of_change
def lines_between_equal_lines(count: int) -> tuple[str, str]:
    first, second = (
        config_map(data="k: |\n" + lines(4, (f"x\n    {prefix}{n:04}" for n in range(8 * count))))
        for prefix in "ab"
    )
    return first + USED, second + USED


@of_change
def segments_between_unique_lines(count: int) -> tuple[str, str]:
    def text(prefix: str) -> str:
        parts = []
        for segment in range(4 * count):
            parts += [f"only {segment:05}", *(f"x\n    {prefix}{n:04}" for n in range(10))]
        return config_map(data="k: |\n" + lines(4, parts))

    return text("a") + USED, text("b") + USED


@of_change
def changed_keys(count: int) -> tuple[str, str]:
    first, second = (
        config_map(data=lines(2, (f"{name}: {value}" for name in names(count))).strip())
        for value in ("one", "two")
    )
    return first + USED, second + USED


@of_change
def renamed_objects(count: int) -> tuple[str, str]:
    return tuple(  # type: ignore[return-value]
        "".join(
            config_map(name)
            + workload(
                container(lines(8, [f"envFrom: [{{configMapRef: {{name: {name}}}}}]"])),
                name=f"p-{name}",
            )
            for name in names(count, prefix)
        )
        for prefix in "ab"
    )


@of_change
def reordered_items(count: int) -> tuple[str, str]:
    entries = [f"- {{name: {name}, value: w}}" for name in names(count)]
    return tuple(  # type: ignore[return-value]
        config_map() + workload(container("        env:\n" + lines(8, texts)))
        for texts in (entries, entries[::-1])
    )


@of_change
def changed_variables(count: int) -> tuple[str, str]:
    return tuple(  # type: ignore[return-value]
        config_map()
        + workload(
            container(
                "        env:\n" + lines(8, (f"- {{name: {n}, value: {v}}}" for n in names(count)))
            )
        )
        for v in "uv"
    )


@of_change
def many_namespaces(count: int) -> tuple[str, str]:
    return tuple(  # type: ignore[return-value]
        "".join(
            config_map(more=f", namespace: {name}", data=f"k: {v}")
            + USED.replace("{name: p}", f"{{name: p, namespace: {name}}}")
            for name in names(count)
        )
        for v in "uv"
    )


@of_change
def values_of_a_schema(count: int) -> tuple[str, str]:
    """Each of the objects breaks the schema, and has its own message."""
    schema = (
        "{openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: "
        f"{{a: {{type: string, enum: [{', '.join(names(count))}]}}}}}}}}}}}}"
    )
    version = f"{{name: v1, served: true, storage: true, schema: {schema}}}"
    definition = (
        "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
        "metadata: {name: foos.example.com}\n"
        "spec: {group: example.com, names: {kind: Foo, plural: foos}, scope: Namespaced, "
        f"versions: [{version}]}}\n"
    )
    foo = "---\napiVersion: example.com/v1\nkind: Foo\nmetadata: {{name: {}}}\nspec: {{a: {}}}\n"
    first, second = (
        definition + "".join(foo.format(name, f"{name}{v}") for name in names(count)) for v in "uv"
    )
    return first, second


@of_change
def metrics_of_an_autoscaler(count: int) -> tuple[str, str]:
    metric = "- {{type: Pods, pods: {{metric: {{name: {}}}, target: {{type: Value, value: {}}}}}}}"
    first, second = (
        "---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: h}\n"
        "spec:\n  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: p}\n"
        "  maxReplicas: 3\n  metrics:\n"
        + lines(2, (metric.format(name, value) for name in names(count)))
        for value in "12"
    )
    return first + USED, second + USED


@of_change
def long_names_in_a_text(count: int) -> tuple[str, str]:
    long = [f"{'a-b-' * 40}{name}" for name in names(count)]
    first, second = (
        "".join(config_map(name, f"k: {v}") for name in long)
        + config_map("w", f'k: "{" ".join(long)}"')
        + USED
        for v in "uv"
    )
    return first, second


@of_run
def a_chain_of_data(count: int) -> Run:
    config = "references: [{kind: ConfigMap, path: data.next, name: '*'}]\n"
    maps = "".join(
        config_map(name, f"next: {after}")
        for name, after in zip(names(count), [*names(count)[1:], "w"], strict=True)
    )
    text = config_map() + maps + all_used(1)
    return Run(("explain", "--config=c.yaml"), text, {"c.yaml": config})


@of_run
def retired_secrets(count: int) -> Run:
    rules = f"attacher:\n  retiredSecrets: [{', '.join(names(count))}]\n"
    return Run(
        ("render", IMAGE, "--config=c.yaml"),
        config_maps(count) + all_used(count),
        {"c.yaml": rules},
    )


@of_run
def an_earlier_output(count: int) -> Run:
    more = (
        ", annotations: {postrender/base-name: w, postrender/revision-number: '1'}, "
        "labels: {postrender/attach-group: p-attach}"
    )
    maps = "".join(
        config_map(
            f"w-{n:010}".replace("0", "b").replace("1", "c").replace("3", "d"), f"k: v{n:05}", more
        )
        for n in range(count)
    )
    return Run(("render", IMAGE, "--previous=old.yaml"), config_map() + USED, {"old.yaml": maps})


@of_run
def a_function_with_items(count: int) -> Run:
    text = config_maps(count) + all_used(count)
    items = text.replace("\n", "\n  ").replace("---\n  ", "- ").replace("\n  - api", "\n- api")
    head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
    return Run(("fn", "--no-attacher"), head + items.rstrip() + "\n")


# ------------------------------------------------------------------------------------- live objects


def of_objects(build: Callable[[int], list[Any]]) -> Callable[[int], list[Any]]:
    """Add a shape of live objects, of which `status` shows all, and the Deployment `web`."""

    def runs(count: int) -> list[Run]:
        text = stories.bundle(build(count))
        return [
            Run(("status", "-"), text),
            Run(("status", "-", "deploy/web", "--diff"), text),
            Run(("status", "-", "deploy/web", "-ojson"), text),
        ]

    SHAPES[build.__name__] = runs
    return build


@of_objects
def many_releases(count: int) -> list[Any]:
    return [
        item
        for name in ("web", *names(count))
        for item in stories.deployment(name, "a", "b", group=f"{name}-attach")
    ]


@of_objects
def releases_with_one_base_name(count: int) -> list[Any]:
    found = (stories.config(name, "x", 1, group=f"{name}-attach") for name in names(count))
    return [*stories.deployment("web", "a"), *found]


@of_objects
def long_history(count: int) -> list[Any]:
    return stories.deployment("web", *names(count))


@of_objects
def many_old_pods(count: int) -> list[Any]:
    return stories.deployment("web", *names(count), replicas=(1,) * count)


@of_objects
def many_pods(count: int) -> list[Any]:
    return stories.deployment("web", "a", "b", replicas=(count, count))


@of_objects
def many_users_of_a_revision(count: int) -> list[Any]:
    objects = stories.deployment("web", "a")
    name = next(item["metadata"]["name"] for item in objects if item["kind"] == "ConfigMap")
    users = (live_workload(f"CronJob/{user}", "x", name) for user in names(count))
    return [*objects, *users]


@of_objects
def many_revisions_of_a_workload(count: int) -> list[Any]:
    found = [stories.config("a", name, 1) for name in names(count)]
    used = [item["metadata"]["name"] for item in found]
    return [*found, live_workload("Deployment/web", "x", *used, *names(count, "missing-"))]


@of_objects
def many_unused_revisions(count: int) -> list[Any]:
    unused = [stories.config(name, "web-config", 1) for name in names(count)]
    return [*stories.deployment("web", "a"), *unused]


@of_objects
def many_jobs(count: int) -> list[Any]:
    jobs = [
        stories.attacher_job(f"--workload=Deployment/{name}@1=configmap/a") for name in names(count)
    ]
    for name, item in zip(names(count), jobs, strict=True):
        item["metadata"] |= {"name": name, "uid": name}
    return [*stories.deployment("web", "a"), *jobs]


@of_objects
def a_chain_of_controllers(count: int) -> list[Any]:
    """A tenant can name any ReplicaSet as the controller of another one."""
    objects = stories.deployment("web", "a")
    used = next(item["metadata"]["name"] for item in objects if item["kind"] == "ConfigMap")
    missing = name_of(stories.config("b", "web-config", 1))
    spec = {"template": stories.containers("x", used, missing)}
    chain = ["Deployment/web", *(f"ReplicaSet/{name}" for name in names(count))]
    pairs = pairwise(chain)
    links = (
        obj("ReplicaSet", one.partition("/")[2], owner=above, spec=spec) for above, one in pairs
    )
    return [*objects, *links]


@of_run
def mistakes_in_a_configuration(count: int) -> Run:
    count *= 8  # the first hundred mistakes are reported
    lines = ["rules:", *["- {immutable: true}"] * count, *(f"{name}: 1" for name in names(count))]
    return Run(("config", "validate"), "", {"postrender.yaml": "\n".join(lines)})


@of_run
def lists_of_two_configurations(count: int) -> Run:
    files = {
        f"{name}.yaml": f"{more}attacher: {{retiredSecrets: [{', '.join(names(count * 8, name))}]}}"
        for name, more in (("a", ""), ("b", "extends: a.yaml\n"))
    }
    return Run(("config", "validate", "b.yaml"), "", files)


@of_run
def a_function_with_findings(count: int) -> Run:
    results = "".join(f"- {{message: {name}, severity: info}}\n" for name in names(count))
    items = "".join(
        f"- {{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, "
        "annotations: {postrender/keep-orig: x}}, data: {a: b}}\n"
        for name in names(count)
    )
    head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
    return Run(("fn", "--no-attacher"), f"{head}results:\n{results}items:\n{items}")


# ------------------------------------------------------------------------------------- repetition


def repeated(random: Random) -> Shape:
    """A shape that repeats a part of a golden case or of a change case."""
    if random.randrange(3):
        case = random.choice([case for case in golden_cases() if case.command == "render"])
        part = Part(random, case.input)
        files = {name: text.decode() for name, text in case.files.items() if name in _CONFIGS}
        arguments = ("render", *case.options) if files else ("render", IMAGE, *case.options)

        def runs(count: int) -> list[Run]:
            text = part.text(count)
            return [Run(arguments, text, files), Run(("explain",), text), Run(("check",), text)]

        return runs
    folder = random.choice(sorted(CHANGES.iterdir()))
    sides = [path for side in ("old", "new") for path in folder.glob(f"{side}.*")]
    random.shuffle(sides)
    part = Part(random, sides[0].read_bytes())
    other = sides[1].read_text()

    def diffs(count: int) -> list[Run]:
        text = part.text(count)
        changed = text.replace("o", "0")
        return [
            Run(("diff", "a.yaml", "b.yaml"), "", {"a.yaml": text, "b.yaml": other}),
            Run(("diff", "a.yaml", "b.yaml"), "", {"a.yaml": text, "b.yaml": changed}),
        ]

    return diffs


_CONFIGS = ("postrender.yaml", "previous.yaml", "hash-key.txt")


class Part:
    """A part of an input, to be repeated: a document, an item, a key or a text.

    is_numbered: whether each repetition gets other names and texts.
    """

    def __init__(self, random: Random, data: bytes) -> None:
        self.documents: list[Json] = []
        with suppress(UserError):  # some inputs are not text
            stream = read_stream(data, "case")
            for index in range(len(stream.texts)):
                with suppress(UserError):
                    self.documents.append(parse_in(stream, index).data)
        self.documents = [data for data in self.documents if data is not None] or [{}]
        paths = list(_paths(self.documents, ()))
        self.path = random.choice(paths)
        self.is_numbered = bool(random.randrange(2))

    def text(self, count: int) -> str:
        """The input with `count` repetitions of the part."""
        documents: Any = copied(self.documents)
        parent = value_at(documents, self.path[:-1])
        key: Any = self.path[-1]
        value = parent[key]  # type: ignore[index]
        copies = [self._numbered(value, number) for number in range(count)]
        if isinstance(value, str):
            parent[key] = " ".join(copies) if "\n" not in value else "".join(copies)  # type: ignore[index]
        elif isinstance(parent, list):
            parent[key : key + 1] = copies
        elif isinstance(parent, dict):
            parent.update({f"{key}{number:05}": copy for number, copy in enumerate(copies)})
        return "".join(f"---\n{block_text(document)}\n" for document in documents)

    def _numbered(self, value: Any, number: int) -> Any:
        if not self.is_numbered:
            return copied(value)
        if isinstance(value, dict):
            return {key: self._numbered(item, number) for key, item in value.items()}
        if isinstance(value, list):
            return [self._numbered(item, number) for item in value]
        is_name = isinstance(value, str) and value.islower() and "/" not in value
        return f"{value}-{number:05}" if is_name else value


def _paths(data: Any, path: Path) -> Iterator[Path]:
    entries = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in entries:
        if isinstance(value, (dict, list, str)):
            yield (*path, key)
        if isinstance(value, (dict, list)):
            yield from _paths(value, (*path, key))


# ------------------------------------------------------------------------------------------- check

# If the work for n repetitions is a + b n + c n², then w(4n) - 3 w(2n) + 2 w(n) is 6 c n², whatever
# a and b are. For c n log n, it is 2 c n. Divided by n, it is at most this number, or this share of
# b, which also permits steps, such as the growth of lists and dicts.
MAX_BEND, MAX_SHARE = {"work": 250, "peak": 8000}, 0.05
MEASURES = ("work", "peak")


def warm(run: Run) -> None:
    """Run in this process, for what each fork would otherwise load and compile again."""
    with TemporaryDirectory() as folder, CliRunner().isolation(run.stdin):
        os.chdir(folder)
        for name, text in run.files.items():
            FilePath(name).write_text(text)
        cli.run(run.arguments)
        os.chdir(CHANGES)


def growths(shape: Shape, count: int, command: int | None = None) -> Iterator[str]:
    """A line for each run of a shape that grows faster than n log n.

    command: the only run to measure, and only its work, because the memory of small inputs varies.
    """
    measures = MEASURES[:1] if command is not None else MEASURES
    for number in range(len(shape(1))) if command is None else (command,):
        runs = [shape(size)[number] for size in (count, 2 * count, 4 * count)]
        results = [
            work.run(run.arguments, run.stdin, run.files, has_peak=measures == MEASURES)
            for run in runs
        ]
        if any(result.code == BUG for result in results):
            yield f"{runs[0].arguments}: bug: {results[-1].stderr[-2000:]}"
        for what in measures:
            first, second, third = (getattr(result, what) for result in results)
            limit = max(MAX_BEND[what] * count, MAX_SHARE * (second - first))
            if third - 3 * second + 2 * first > limit:
                yield f"{runs[0].arguments}: {what} {first:,} {second:,} {third:,}"


def slow(count: int, repetitions: int, seed: int, *, is_whole: bool) -> Iterator[str]:
    """A line for each run that grows too fast.

    is_whole: whether to run every command of a shape, and not only one.
    """
    random = Random(seed)
    for name in ("names_in_a_text", "changed_keys", "many_pods"):
        for run in SHAPES[name](1):
            warm(run)
    for number, (name, shape) in enumerate(SHAPES.items()):
        command = None if is_whole else number % max(1, len(shape(1)) - 1)
        yield from (f"{name} {line}" for line in growths(shape, count, command))
    for number in range(repetitions):
        state = random.getrandbits(32)
        shape = repeated(Random(state))
        command = None if is_whole else number % len(shape(1))
        yield from (f"repeated({state}) {line}" for line in growths(shape, count, command))


def main() -> int:
    """Print a line for each run that grows too fast."""
    count, repetitions, seed = map(int, sys.argv[1:4])
    code = 0
    for line in slow(count, repetitions, seed, is_whole="--whole" in sys.argv):
        print(line, flush=True)
        code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
