"""`postrender config show`: the configuration in effect."""

from __future__ import annotations

from postrender.cli.options import SETTINGS, Command
from postrender.cli.pipes import write
from postrender.cli.registry import DONE
from postrender.cli.values import effective_values
from postrender.config.load import defaults, merge_values
from postrender.yaml.emit import block_text

COMMAND = Command(
    "config show", "Print the values in effect as YAML, defaults included.", options=SETTINGS
)


def run(config: str | None, **given: object) -> int:
    """Run the command and return its exit code."""
    values, source = effective_values(config, given)
    head = f"# {source or 'no postrender.yaml found'}\n"
    write([head, block_text(merge_values(defaults(), values)), "\n"])
    return DONE
