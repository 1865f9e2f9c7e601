"""Write the parts of the documents that the program itself knows: `make docs`.

Each stands between `<!-- generated: NAME -->` and `<!-- end -->`. With --check nothing is written;
the exit code is 1 if a part is out of date.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from postrender.cli.click_app import app
from postrender.cli.options import CONFIG_KEYS
from postrender.config.load import schema_text
from postrender.config.settings import AttacherSettings
from postrender.errors import CODES
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
    """Return plain text as Markdown that shows it as it is."""
    return re.sub(r"[*<]", r"\\\g<0>", text)


def commands() -> str:
    """Return a table of the commands, as their help describes them."""
    return table(("command", "what it does"), _commands(app(), "postrender"))


def _commands(group: click.Group, prefix: str) -> Iterator[tuple[str, str]]:
    for name, command in sorted(group.commands.items()):
        if isinstance(command, click.Group):
            yield from _commands(command, f"{prefix} {name}")
        else:
            arguments = [each for each in command.params if isinstance(each, click.Argument)]
            usage = [prefix, name, *(str(each.metavar) for each in arguments)]
            yield f"`{' '.join(usage)}`", prose(" ".join((command.help or "").split()))


def options() -> str:
    """Return a table of the options of render and explain."""
    shared = {option.name for option in app().commands["render"].params}
    rows = [
        (
            " ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts)),
            f"`{option.envvar}`" if option.envvar else "",
            f"`{'.'.join(CONFIG_KEYS[option.name])}`" if option.name in CONFIG_KEYS else "",
            _help(option) if option.name in shared else f"Only of `explain`: {_help(option)}",
        )
        for option in app().commands["explain"].params
        if isinstance(option, click.Option)
    ]
    return table(("option", "variable", "key in postrender.yaml", "what it does"), rows)


def options_of(name: str) -> str:
    """Return a table of the options of one command."""
    command = app().commands[name]
    rows = [
        (f"`{option.opts[0]}{_argument(option)}`", _help(option))
        for option in command.params
        if isinstance(option, click.Option)
    ]
    return table((f"of `postrender {command.name}`", "what it does"), rows)


def _argument(option: click.Option) -> str:
    if option.is_flag:
        return ""
    return f" {option.metavar or option.opts[0].lstrip('-').upper()}"


def permissions() -> str:
    """Return a table of what the rendered Role grants for ConfigMaps, in the hook form."""
    workload = AttachedWorkload(Identity("apps", "Deployment", None, "app"), "", (), 0)
    attach_set = AttachGroup("app", None, (workload,), ())
    objects = attacher_objects(attach_set, HOOK, AttacherSettings(), ())
    [role] = [data for data in objects if data["kind"] == "Role"]
    rules: Any = role["rules"]
    rows = [
        (rule["apiGroups"][0] or "core", ", ".join(rule["resources"]), ", ".join(rule["verbs"]))
        for rule in rules
    ]
    return table(("group", "resources", "verbs"), rows)


def _help(option: click.Option) -> str:
    text = prose(option.help or "").rstrip(".")
    if isinstance(option.type, click.Choice):
        choices = sorted(option.type.choices, key=lambda each: each != option.default)
        named = (f"`{each}`" + " (default)" * (each == option.default) for each in choices)
        text = ", ".join(named) + (f". {text}" if text else "")
    # click's own mark of a default, in words
    return re.sub(r" *\[default: (.*)\]", r"; if not given, \1", text)


def findings() -> str:
    """Return a table of the codes of findings."""
    return table(
        ("code", "what it means"), ((f"`{code}`", prose(text)) for code, text in CODES.items())
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
    kind = str(part["type"])
    kind = {"array": "list", "object": "mapping"}.get(kind, kind)
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
    """Return a text with its generated parts as they are now."""
    return _PART.sub(lambda match: f"{match[1]}\n{PARTS[match[2]]()}\n{match[3]}", text)


def main(arguments: Sequence[str]) -> int:
    """Write the documents anew, or only tell whether they are current."""
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
