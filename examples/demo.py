"""The output of `make demo`: the problem, a preview, and what the pods of a canary read.

Every value is computed from examples/rendered. No cluster runs: `make story` starts real pods.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parent.parent
OLD, NEW = "examples/rendered/v1.yaml", "examples/rendered/v2.yaml"
WORKLOAD = ("Rollout", "demo-web")
SETTING = ("checkout", "payment", "timeout")

PROBLEM = """\
1. The problem

A release changes the ConfigMap demo-web-config. The canary runs for hours, and old pods
run next to new pods. Then a node dies, and an old pod restarts. The ConfigMap already
has the new content, so the old pod reads a configuration that nobody has tested with it.
postrender gives each content its own name, so the old pod still finds the old content."""
FACT = """\
3. The payment timeout that the pods of Rollout/demo-web read during the canary"""

Objects = dict[tuple[str, str], dict[str, Any]]


def postrender(*arguments: str) -> str:
    """Run postrender and return its output."""
    command = [sys.executable, "-m", "postrender", *arguments]
    environment = {name: text for name, text in os.environ.items() if "POSTRENDER" not in name}
    environment["POSTRENDER_ATTACHER_IMAGE"] = "registry.example.com/postrender:demo"
    done = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, encoding="utf-8", check=True
    )
    return done.stdout


def objects(text: str) -> Objects:
    """Return the objects of a stream, by kind and name."""
    documents = YAML(typ="safe").load_all(io.StringIO(text))
    return {(data["kind"], data["metadata"]["name"]): data for data in documents if data}


def config_maps(release: Objects) -> Iterator[str]:
    """Yield the names of the ConfigMaps that the pods of the workload mount."""
    for volume in release[WORKLOAD]["spec"]["template"]["spec"]["volumes"]:
        sources = volume.get("projected", {}).get("sources", [volume])
        yield from (source["configMap"]["name"] for source in sources if "configMap" in source)


def reading(pods: Objects, cluster: Objects) -> str:
    """Return the value that pods read in a cluster, and the name of the ConfigMap."""
    for name in config_maps(pods):
        data = cluster["ConfigMap", name].get("data", {})
        if "application.yaml" in data:
            value = YAML(typ="safe").load(data["application.yaml"])
            for key in SETTING:
                value = value[key]
            return f"{value} ({name})"
    raise LookupError(WORKLOAD)


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of cells as aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return "\n".join(f"  {line}" for line in lines)


def readings() -> str:
    """Return the values that old and new pods read, without and with postrender."""
    plain = [objects((ROOT / file).read_text("utf-8")) for file in (OLD, NEW)]
    revised = [objects(postrender("render", file)) for file in (OLD, NEW)]
    # An apply replaces a ConfigMap of the same name, and adds one with another name.
    rows = [["", "without postrender", "with postrender"]]
    for title, release, applied in (
        ("old pod, before the release", 0, 1),
        ("new pod, the canary", 1, 2),
        ("old pod, after a restart", 0, 2),
    ):
        row = [title]
        for releases in (plain, revised):
            cluster = {key: data for part in releases[:applied] for key, data in part.items()}
            row.append(reading(releases[release], cluster))
        rows.append(row)
    return table(rows)


def main(page: str) -> None:
    """Print the demo and write the preview as a page."""
    sections = ("--only=workloads", "--only=configmaps", "--unified=1")
    preview = postrender("diff", *sections, OLD, NEW)
    Path(page).write_text(postrender("diff", "--output=html", OLD, NEW), "utf-8")
    print(PROBLEM)
    print("\n2. The preview of the release: postrender diff v1.yaml v2.yaml\n")
    print("\n".join(f"  {line}".rstrip() for line in preview.splitlines()))
    print(f"\n{FACT}\n")
    print(readings())
    print(f"\nThe whole preview as a page: {Path(page).absolute()}")
    print("Your own chart: postrender try ./chart")


if __name__ == "__main__":
    main(sys.argv[1])
