"""Write the generated parts of the documents: `make docs`.

A generated part is between `<!-- generated: NAME -->` and `<!-- end -->`. With --check nothing is
written, and the exit code is 1 if a part is out of date.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from postrender.cli.options import FLAG, SWITCH, Command, Option
from postrender.cli.registry import COMMANDS, load
from postrender.config.load import schema_text
from postrender.config.settings import AttacherSettings
from postrender.errors import CODES, NOTE, NOTES, WARNING
from postrender.kubernetes.kinds import Identity
from postrender.plan.attacher_job import HOOK, AttachedWorkload, AttachGroup, attacher_objects

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = ("README.md", "docs/attach.md", "docs/preview.md")

_PART = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.S)

Schema = Mapping[str, Any]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; a bar in a cell is escaped."""
    lines = [head, ["---"] * len(head), *rows]
    cells = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def prose(text: str) -> str:
    """Return plain text as Markdown that shows the same text."""
    return re.sub(r"[*<]", r"\\\g<0>", text)


def declared(name: str) -> Command:
    """Return the declaration of a command."""
    command: Command = load(COMMANDS[name]).COMMAND
    return command


def commands() -> str:
    """Return a table of the commands, as their help describes them."""
    rows = []
    for name in sorted(COMMANDS):
        command = declared(name)
        usage = ["postrender", name, *(argument.metavar for argument in command.arguments)]
        rows.append((f"`{' '.join(usage)}`", prose(f"{command.summary} {command.details}".strip())))
    return table(("command", "purpose"), rows)


def options() -> str:
    """Return a table of the options of render and explain."""
    shared = declared("render").all_options
    rows = [
        (
            _spellings(option),
            f"`{option.variable}`" if option.variable else "",
            f"`{'.'.join(option.key)}`" if option.key else "",
            _help(option) if option in shared else f"Only for `explain`: {_help(option)}",
        )
        for option in declared("explain").all_options
    ]
    return table(("option", "variable", "key in postrender.yaml", "purpose"), rows)


def options_of(name: str) -> str:
    """Return a table of the options of one command."""
    rows = [(_spellings(option), _help(option)) for option in declared(name).all_options]
    return table((f"option of `postrender {name}`", "purpose"), rows)


def _spellings(option: Option) -> str:
    value = "" if option.form in (FLAG, SWITCH) else f" {option.metavar or 'VALUE'}"
    negative = (f"--no-{option.name}",) if option.form == FLAG else ()
    shorts = (f"-{option.short}",) if option.short else ()
    names = (*shorts, *(f"--{name}" for name in option.long_names), *negative)
    return " ".join(f"`{name}{value if name == names[-1] else ''}`" for name in names)


def _help(option: Option) -> str:
    text = prose(option.help)
    if option.choices:
        text += f" One of {', '.join(f'`{choice}`' for choice in option.choices)}."
    default = option.default_text or ("" if option.form == SWITCH else option.default or "")
    return f"{text} Default: {prose(str(default))}." if default else text


def permissions() -> str:
    """Return a table of the permissions in the rendered Role, for ConfigMaps and the hook form."""
    workload = AttachedWorkload(Identity("apps", "Deployment", None, "app"), "", (), 0)
    group = AttachGroup("app", None, (workload,), ())
    objects = attacher_objects(group, HOOK, AttacherSettings(), ())
    [role] = [data for data in objects if data["kind"] == "Role"]
    rules: Any = role["rules"]
    rows = [
        (rule["apiGroups"][0] or "core", ", ".join(rule["resources"]), ", ".join(rule["verbs"]))
        for rule in rules
    ]
    return table(("group", "resources", "verbs"), rows)


def findings() -> str:
    """Return a table of the codes of findings."""
    return table(
        ("code", "severity", "meaning"),
        (
            (f"`{code}`", NOTE if code in NOTES else WARNING, prose(text))
            for code, text in CODES.items()
        ),
    )


def configuration() -> str:
    """Return a table of every key of postrender.yaml, from its schema."""
    rows = _keys(json.loads(schema_text()), "")
    return table(("key", "value", "default", "meaning"), rows)


def _keys(schema: Schema, prefix: str) -> Iterator[tuple[str, str, str, str]]:
    required = schema.get("required", ())
    for name, part in schema["properties"].items():
        key = prefix + name
        meaning = prose(part["description"])
        if name in required:
            meaning += " Required."
        for example in part.get("examples", ())[:1]:
            meaning += f" Example: `{json.dumps(example, ensure_ascii=False)}`."
        yield f"`{key}`", _value(part), _default(part), meaning
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
    return f"{kind}, at least {part['minimum']}" if "minimum" in part else kind


def _default(part: Schema) -> str:
    if "default" not in part or "properties" in part:
        return ""
    value = part["default"]
    return f"`{value}`" if value and isinstance(value, str) else f"`{json.dumps(value)}`"


PARTS: Mapping[str, Callable[[], str]] = {
    "commands": commands,
    "options": options,
    "findings": findings,
    "configuration": configuration,
    "attach": lambda: options_of("attach"),
    "adopt": lambda: options_of("adopt"),
    "diff": lambda: options_of("diff"),
    "permissions": permissions,
}


def updated(text: str) -> str:
    """Return a text with its generated parts up to date."""
    return _PART.sub(lambda match: f"{match[1]}\n{PARTS[match[2]]()}\n{match[3]}", text)


def main(arguments: Sequence[str]) -> int:
    """Write the documents; with --check only report whether they are current."""
    code = 0
    for name in DOCUMENTS:
        before = (ROOT / name).read_text("utf-8")
        after = updated(before)
        if after != before and "--check" in arguments:
            print(f"{name} is out of date: run `make docs`", file=sys.stderr)
            code = 1
        elif after != before:
            (ROOT / name).write_text(after, "utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
