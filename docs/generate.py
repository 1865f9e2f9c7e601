"""Write the generated parts of the documents: `make docs`.

A generated part is between `<!-- generated: NAME -->` and `<!-- end -->`. With --check, the script
writes nothing, and the exit code is 1 if a part is out of date.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from postrender.cli.options import COMMANDS, FLAG, SWITCH, Option, load
from postrender.config.settings import AttacherSettings
from postrender.errors import CODES
from postrender.explain.meanings import finding_section, introduction, risk_section, risk_texts
from postrender.kubernetes.kinds import Identity
from postrender.plan.attacher_job import AttachedWorkload, AttachGroup, attacher_objects
from postrender.plan.attacher_objects import HOOK
from postrender.references.catalogue import ENTRIES
from postrender.references.catalogue.model import EVERYTHING, KEY_SELECTORS, Use
from postrender.text import CONFIG_SCHEMA, packaged_text
from tests.e2e.matrix import PASSED, results
from tests.e2e.versions import Cell, cells, unavailable

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = tuple(
    str(page.relative_to(ROOT))
    for page in (*sorted((ROOT / "docs").rglob("*.md")), ROOT / "postrender/attach/README.md")
    if "<!-- generated: " in page.read_text("utf-8")
)

_PART = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.S)

Schema = Mapping[str, Any]
Rows = Iterator[tuple[str, ...]]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; a bar in a cell is escaped."""
    lines = [head, ["---"] * len(head), *rows]
    cells = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def prose(text: str) -> str:
    """Return plain text as Markdown that shows the same text."""
    return re.sub(r"[*<]", r"\\\g<0>", text)


def commands() -> str:
    """Return a table of the commands. Those with options of their own have a section instead."""
    rows = [(_title(name), _purpose(name)) for name in sorted(COMMANDS)]
    return table(("command", "purpose"), rows)


def _title(name: str) -> str:
    if name in ("render", "explain") or _own_options(name):
        return f"[`{name}`](#{_anchor(name)})"
    return f'<a id="{_anchor(name)}"></a>{_usage(name)}'


def _purpose(name: str) -> str:
    command = load(name)
    summary = prose(command.summary)
    if name in ("render", "explain") or _own_options(name):
        return summary.rstrip(".")
    texts = [summary, prose(command.details), _shared_options(name)]
    if name == "attach":
        texts[2] = "The Job passes [its options](../../postrender/attach/README.md#options)."
    return " ".join(filter(None, texts))


def _usage(name: str) -> str:
    arguments = (argument.metavar for argument in load(name).arguments)
    return f"`{' '.join((name, *arguments))}`"


def _anchor(name: str) -> str:
    return "render-and-explain" if name in ("render", "explain") else name.replace(" ", "-")


def _own_options(name: str) -> list[Option]:
    """Return the options that are not common options; those of attach are on another page."""
    common = [*load("render").options, *cluster_options()]
    return [option for option in load(name).options if option not in common and name != "attach"]


def _shared_options(name: str) -> str:
    """Return a sentence about the common options of a command, the shorter of two."""
    given = load(name).options
    cluster = [option for option in cluster_options() if option in given]
    shared = [option for option in load("render").options if option in given]
    missing = [option for option in load("render").options if option not in given]
    if len(missing) < len(shared):
        return f"Also the [common options](#common-options), except {_names(missing)}."
    if shared or cluster:
        return f"Also the [common options](#common-options) {_names([*shared, *cluster])}."
    return ""


def _names(options: Iterable[Option]) -> str:
    return ", ".join(f"`--{option.name}`" for option in options)


def options() -> str:
    """Return a table of the options of render and explain, and one of the options for a cluster."""
    shared = load("render").all_options
    rows = [
        (
            _spellings(option, f"--{option.name}"),
            _with_key(option)
            if option.key
            else _help(option)
            if option in shared
            else f"(Only `explain`.) {_help(option)}",
        )
        for option in load("explain").all_options
    ]
    cluster = [
        (_spellings(option, f"cluster--{option.name}"), _help(option))
        for option in cluster_options()
    ]
    first = table(("option", "purpose, and the key in postrender.yaml"), rows)
    second = table(("option", "purpose"), cluster)
    return f"{first}\nCommands that connect to a cluster:\n\n{second}"


def _with_key(option: Option) -> str:
    """Return the first sentence of an option's help, and a link to the key with the rest."""
    key = ".".join(option.key)
    anchor = key.lower().replace(".", "")
    first = prose(option.help).partition(". ")[0].rstrip(".")
    return f"{first}: [`{key}`](configuration.md#{anchor})"


def cluster_options() -> list[Option]:
    """Return the options of every command that connects to a cluster."""
    return [option for option in load("status").options if option in load("collect").options]


def other_options() -> str:
    """Return a section for each command with options of its own."""
    return "\n".join(map(_section, filter(_own_options, sorted({*COMMANDS} - {"explain"}))))


def attach_options() -> str:
    """Return a table of the options of attach, which the Job passes."""
    options = load("attach").options
    rows = [(_spellings(option, f"attach--{option.name}"), _help(option)) for option in options]
    return table(("option", "purpose"), rows)


def _section(name: str) -> str:
    command = load(name)
    rows = [
        (_spellings(option, f"{_anchor(name)}--{option.name}"), _help(option))
        for option in _own_options(name)
    ]
    text = prose(f"{command.summary} {command.details}".strip())
    return (
        f"## {name}\n\n{_usage(name)}\n\n{text}\n\n{table(('option', 'purpose'), rows)}\n"
        f"{_shared_options(name)}\n"
    )


def _spellings(option: Option, anchor: str = "") -> str:
    """Return the names of an option, after an anchor if it has one."""
    value = "" if option.form in (FLAG, SWITCH) else f" {option.metavar or 'VALUE'}"
    negative = (f"--no-{option.name}",) if option.form == FLAG else ()
    shorts = (f"-{option.short}",) if option.short else ()
    names = (*shorts, *(f"--{name}" for name in option.long_names), *negative)
    return f'<a id="{anchor}"></a>' * bool(anchor) + " ".join(
        f"`{name}{value if name == names[-1] else ''}`" for name in names
    )


def _help(option: Option) -> str:
    text = prose(option.help)
    if option.choices:
        text += f" One of {', '.join(f'`{choice}`' for choice in option.choices)}."
    default = prose(option.shown_default)
    return f"{text} Default: {default}." if default and default != "none" else text


def permissions() -> str:
    """Return a table of the permissions in the rendered Role, for ConfigMaps and a hook Job."""
    workload = AttachedWorkload(Identity("apps", "Deployment", None, "app"), "", (), 0)
    group = AttachGroup("app", None, (workload,), ())
    objects = attacher_objects(group, HOOK, AttacherSettings())
    [role] = [data for data in objects if data["kind"] == "Role"]
    rules: Any = role["rules"]
    rows = [
        (rule["apiGroups"][0] or "core", ", ".join(rule["resources"]), ", ".join(rule["verbs"]))
        for rule in rules
    ]
    return table(("group", "resources", "verbs"), rows)


def findings() -> str:
    """Return the introduction, and a section for each code of a finding."""
    return "\n".join([introduction(), *map(finding_section, CODES)])


def risks() -> str:
    """Return a section for each rule about risks, from its documentation."""
    return "\n".join(map(risk_section, risk_texts()))


def configuration() -> str:
    """Return a section for every key of postrender.yaml, from its schema."""
    return "\n".join(_keys(json.loads(packaged_text(CONFIG_SCHEMA)), ""))


def _keys(schema: Schema, prefix: str) -> Iterator[str]:
    required = schema.get("required", ())
    for name, part in schema["properties"].items():
        key = prefix + name
        meaning = prose(part["description"])
        if name in required:
            meaning += " Required."
        for example in part.get("examples", ())[:1]:
            meaning += f" Example: `{json.dumps(example, ensure_ascii=False)}`."
        default = f", default {_default(part)}" if _default(part) else ""
        value = _value(part)
        yield f"### {key}\n\n{value[:1].upper()}{value[1:]}{default}. {meaning}\n"
        if "properties" in part:
            yield from _keys(part, f"{key}.")
        elif "properties" in part.get("items", ()):
            yield from _keys(part["items"], f"{key}[].")


def _value(part: Schema) -> str:
    if "enum" in part:
        return ", ".join(
            f"`{json.dumps(value)}`" if not value else f"`{value}`" for value in part["enum"]
        )
    types = part["type"] if isinstance(part["type"], list) else [part["type"]]
    kind = " or ".join(
        {"array": "list", "object": "mapping"}.get(str(name), str(name)) for name in types
    )
    if "maximum" in part:
        return f"{kind}, from {part['minimum']} to {part['maximum']}"
    return f"{kind}, at least {part['minimum']}" if "minimum" in part else kind


def _default(part: Schema) -> str:
    value = part.get("default")
    if value in (None, "", []) or "properties" in part:
        return ""
    return f"`{value}`" if value and isinstance(value, str) else f"`{json.dumps(value)}`"


def kinds() -> Rows:
    """Yield a row for each kind of the catalogue."""
    yield "kind", "group", "rewritten", "added", "not rewritten, because", "source"
    for entry in sorted(ENTRIES, key=lambda entry: (entry.group, entry.kind)):
        yield (
            entry.kind,
            entry.group or "core",
            _uses(use for use in entry.uses if not (use.keep or use.selects) or use.keep_if),
            _uses(use for use in entry.uses if use.selects and not use.keep),
            "; ".join(
                f"{reason} ({_uses(use for use in entry.uses if use.keep == reason)})"
                for reason in dict.fromkeys(use.keep for use in entry.uses if use.keep)
            ),
            entry.source,
        )


def _uses(uses: Iterable[Use]) -> str:
    shapes = {KEY_SELECTORS: "key selectors below ", EVERYTHING: "all below "}
    paths = ((use.shape, ".".join(use.path).replace(".[]", "[]")) for use in uses)
    texts = (f"{shapes.get(shape, '')}{path}" for shape, path in paths)
    return "; ".join(dict.fromkeys(texts))


def matrix_cells() -> dict[str, list[Cell]]:
    """Return the cells of the version matrix, by the title of the tool."""
    by_title: dict[str, list[Cell]] = {}
    for cell in cells():
        if cell.tests:
            by_title.setdefault(cell.title, []).append(cell)
    return by_title


def versions() -> str:
    """Return a table of the versions that passed their tests, by tool."""
    passed = {name for name, result in results().items() if result.word == PASSED}
    rows = (
        (title, ", ".join(cell.version for cell in versions_of_tool if cell.name in passed))
        for title, versions_of_tool in matrix_cells().items()
    )
    return table(("tool", "tested versions"), rows)


def matrix() -> Rows:
    """Yield a row with the recorded result of each cell of the version matrix."""
    recorded = results()
    yield "tool", "version", "result", "tests", "Kubernetes", "time", "date", "note"
    for title, versions_of_tool in matrix_cells().items():
        for cell in versions_of_tool:
            result = recorded.get(cell.name)
            measured = (
                (
                    result.word,
                    f"{result.passed} passed, {result.failed} failed, {result.skipped} skipped",
                    result.kubernetes,
                    f"{result.seconds} s",
                    result.date,
                )
                if result
                else ("not run", "", "", "", "")
            )
            # CI runs the Python of its machine.
            role = "CI runs this version." if cell.is_default and cell.program else ""
            yield title, cell.version, *measured, " ".join(filter(None, (role, cell.note)))


def missing_versions() -> str:
    """Return a table of the versions that cannot be built or run."""
    rows = ((entry.title, entry.version, entry.reason) for entry in unavailable())
    return table(("tool", "version", "reason"), rows)


PARTS: Mapping[str, Callable[[], str]] = {
    "commands": commands,
    "options": options,
    "findings": findings,
    "risks": risks,
    "configuration": configuration,
    "other_options": other_options,
    "attach_options": attach_options,
    "permissions": permissions,
    "versions": versions,
    "missing_versions": missing_versions,
}


# Long tables are data, which GitHub shows as tables, and the site too (mkdocs_hooks.py).
DATA: Mapping[str, Callable[[], Rows]] = {
    "docs/data/kinds.csv": kinds,
    "docs/data/versions.csv": matrix,
}


def updated(text: str) -> str:
    """Return a text with its generated parts up to date."""
    return _PART.sub(lambda match: f"{match[1]}\n{PARTS[match[2]]()}\n{match[3]}", text)


def generated(name: str) -> str:
    """Return a page with its generated parts up to date, or a file of data."""
    if name not in DATA:
        return updated((ROOT / name).read_text("utf-8"))
    lines = io.StringIO()
    csv.writer(lines, lineterminator="\n").writerows(DATA[name]())
    return lines.getvalue()


def main(arguments: Sequence[str]) -> int:
    """Write the documents, or report outdated documents (--check); return the exit code."""
    code = 0
    for name in (*DOCUMENTS, *DATA):
        file = ROOT / name
        before = file.read_text("utf-8") if file.exists() else ""
        after = generated(name)
        if after != before and "--check" in arguments:
            print(f"{name} is out of date: run `make docs`", file=sys.stderr)
            code = 1
        elif after != before:
            file.write_text(after, "utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
