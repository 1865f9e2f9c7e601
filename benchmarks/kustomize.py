"""The ConfigMaps and Rollouts of `many` as a kustomization that generates the ConfigMaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.many import LABELS, app_name, config_data, rollout
from benchmarks.text import indent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# kustomize knows references of built-in kinds only, so the paths in a Rollout are listed here.
_REFERENCES = """\
nameReference:
  - kind: ConfigMap
    version: v1
    fieldSpecs:
      - kind: Rollout
        path: spec/template/spec/volumes/configMap/name
      - kind: Rollout
        path: spec/template/spec/containers/envFrom/configMapRef/name
"""

_HEAD = """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - rollouts.yaml
configurations:
  - references.yaml
configMapGenerator:
"""


def write_kustomization(count: int, folder: Path) -> None:
    """Write a folder from which kustomize builds the documents of `many` without Services."""
    (folder / "files").mkdir(parents=True)
    (folder / "references.yaml").write_text(_REFERENCES, encoding="utf-8")
    rollouts = "".join(f"---\n{rollout(number)}\n" for number in range(count))
    (folder / "rollouts.yaml").write_text(rollouts, encoding="utf-8")
    for number in range(count):
        for path, text in _files(number):
            (folder / path).write_text(text, encoding="utf-8")
    generators = "".join(_generator(number) for number in range(count))
    (folder / "kustomization.yaml").write_text(_HEAD + generators, encoding="utf-8")


def _files(number: int) -> Iterator[tuple[str, str]]:
    for key, value in config_data(number).items():
        if "\n" in value:
            yield f"files/{app_name(number)}-{key}", value


def _generator(number: int) -> str:
    name = app_name(number)
    literals = [f"{key}={value}" for key, value in config_data(number).items() if "\n" not in value]
    files = [f"{path.removeprefix(f'files/{name}-')}={path}" for path, _ in _files(number)]
    lines = [f"name: {name}-config", "literals:", *(f"  - {item}" for item in literals)]
    lines += ["files:", *(f"  - {item}" for item in files), "options:", "  labels:"]
    body = "\n".join([*lines, indent(LABELS.format(name=name), 4)])
    return f"  - {indent(body, 4).lstrip()}\n"
