"""The predicted changes in tests/predictions, and what a preview tells of each.

A file is a list of changes of one kind. The fields of a change:

- `name`
- `change`: both sides; a line begins with `- ` if only OLD has it, with `+ ` if only NEW has it
- `postrender`: the configuration, and `postrender_old` for the older side, if it differs
- `server_side: true`: kubectl applies both sides on the server, as Helm 4 does
- `effects`: what is observed on a workload or another object, as `Kind/name: effect`
- `rejected`: objects that the API server rejects, with a pattern of its message
- `facts`: each a list of patterns that occur together in one entry of the preview
- `never`: the same for what would be false
- `no_cluster: true`: the cluster of the tests does not have the kinds
- `untold: true`: `diff` does not tell all of this yet

    python -m tests.diff.predictions
"""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from tests.diff.change_cases import one_comparison, run
from tests.manifests import load

PREDICTIONS = Path(__file__).resolve().parents[1] / "predictions"
# Patterns that many facts share, so that no fact depends on one wording.
PATTERNS = {
    "$missing": (
        r"not (exist|contain|have|start|found)|no longer|missing|without the|lacks|"
        r"cannot (start|be created)|removed, but"
    ),
    "$unstartable": r"(do|does|can|will) ?not start|cannot start|CreateContainerConfigError",
    "$rejected": r"reject|refuse|immutable|not valid|invalid",
    "$unmatched": (
        r"(selects|matches|targets) (no|nothing)|no (pod|workload)|no longer|not (exist|match)"
    ),
    "$down": r"down|outage|before|at the same time|at once|all (old )?pods|no pod|unavailable",
}
# The effects in the JSON format that agree with an observed effect; "" is a workload without one.
AGREEING = {
    "rolls": {"rolls"},
    "stays": {"stays", "nextPods", "nextRun", "noPods", ""},
    "scales": {"stays", ""},
    "next pods": {"nextPods"},
    "next run": {"nextRun"},
    "refused": {"refused"},
    "starts": {"starts"},
    "ends": {"ends"},
    "hook": {"hook"},
}
LARGE = 1_048_577
NOTHING: Mapping[str, Any] = MappingProxyType({})


class Prediction(NamedTuple):
    """A change with its expected facts and effects; see the module for the fields."""

    kind: str
    name: str
    change: str
    postrender: Mapping[str, Any] = NOTHING
    postrender_old: Mapping[str, Any] | None = None
    server_side: bool = False
    effects: Mapping[str, str] = NOTHING
    rejected: Mapping[str, str] = NOTHING
    facts: Sequence[Sequence[str]] = ()
    never: Sequence[Sequence[str]] = ()
    no_cluster: bool = False
    untold: bool = False

    def side(self, sign: str) -> str:
        """Return the manifests of OLD ("-") or NEW ("+")."""
        lines = self.change.splitlines()
        text = "\n".join(line[2:] for line in lines if line[:1] in (" ", "", sign))
        return re.sub(r"\bLARGE\b", "x" * LARGE, text) + "\n"


class Told(NamedTuple):
    """What a preview says about a prediction: by expectation, whether it is told."""

    effects: dict[str, bool]
    facts: dict[str, bool]
    false: list[str]

    @property
    def is_complete(self) -> bool:
        """Whether everything expected is told, and nothing false."""
        return all(self.effects.values()) and all(self.facts.values()) and not self.false


@cache
def predictions() -> list[Prediction]:
    return [
        Prediction(kind=file.stem, **fields)
        for file in sorted(PREDICTIONS.glob("*.yaml"))
        for fields in load(file.read_text("utf-8"))[0]
    ]


def write_sides(prediction: Prediction, folder: Path) -> list[str]:
    """Write the sides and their configurations; return the options of `diff`."""
    (folder / ".git").mkdir(exist_ok=True)  # stops the search for postrender.yaml
    (folder / "old.yaml").write_text(prediction.side("-"), "utf-8")
    (folder / "new.yaml").write_text(prediction.side("+"), "utf-8")
    (folder / "postrender.yaml").write_text(json.dumps(dict(prediction.postrender)))
    if prediction.postrender_old is None:
        return []
    (folder / "before.yaml").write_text(json.dumps(dict(prediction.postrender_old)))
    return ["--old-config", "before.yaml"]


def told(prediction: Prediction) -> Told:
    """Compare the expectations of a prediction with the output of `diff`."""
    with tempfile.TemporaryDirectory() as name, one_comparison():
        options = write_sides(prediction, Path(name))
        command = ["diff", *options, "old.yaml", "new.yaml"]
        text, data = (run([*command, "--format", kind], Path(name)) for kind in ("text", "json"))
    workloads = json.loads(data.stdout)["workloads"] if data.stdout else []
    effects = {
        f"{workload['object']['kind']}/{workload['object']['name']}": workload["effect"]
        for workload in workloads
    }
    found = entries(text.stdout + text.stderr)
    return Told(
        {
            f"{name}: {effect}": effects.get(name, "") in AGREEING[kind]
            for name, effect in prediction.effects.items()
            if (kind := kind_of_effect(effect)) in AGREEING
        },
        {" ".join(map(str, fact)): is_told(fact, found) for fact in prediction.facts},
        [" ".join(map(str, fact)) for fact in prediction.never if is_told(fact, found)],
    )


def kind_of_effect(effect: str) -> str:
    """Return `rolls` for `rolls db-2`, and `scales` for `scales 2 to 3`."""
    return effect.split()[0] if effect.startswith(("rolls ", "scales ")) else effect


def entries(text: str) -> list[str]:
    """Return the entries of a preview in the text format, each on one line.

    An entry is a line without indentation and the indented lines below. A wrapped word is joined.
    """
    found: list[str] = []
    for line in text.splitlines():
        if line.startswith(" ") and found:
            found[-1] += f" {line.strip()}"
        elif line.strip():
            found.append(line.strip())
    return found


def is_told(fact: Sequence[str], found: Sequence[str]) -> bool:
    """Whether all patterns of a fact occur in one entry."""
    patterns = [PATTERNS.get(str(word), str(word)) for word in fact]
    return any(all(re.search(one, entry, re.I) for one in patterns) for entry in found)


def table() -> str:
    """Return what is told of every prediction, with counts."""
    lines, counts = [], Counter[str]()
    for prediction in predictions():
        result = told(prediction)
        counts["complete changes"] += result.is_complete
        for title, expected in (("effects", result.effects), ("facts", result.facts)):
            counts[f"{title} told"] += sum(expected.values())
            counts[title] += len(expected)
        if prediction.rejected:
            counts["changes with a rejection"] += 1
            counts["rejections told"] += result.is_complete
        counts["false"] += len(result.false)
        lines.append(f"{'told  ' if result.is_complete else 'UNTOLD'} {prediction.name}")
        missing = [*result.effects.items(), *result.facts.items()]
        lines += [f"         not told: {what}" for what, is_there in missing if not is_there]
        lines += [f"         false: {what}" for what in result.false]
    total = [f"{title}: {count}" for title, count in counts.items()]
    return "\n".join([*lines, "", f"changes: {len(predictions())}", *total])


if __name__ == "__main__":
    print(table())
