"""`postrender config validate`: check a configuration file."""

from __future__ import annotations

from postrender.cli.options import Argument, Command, settings_options
from postrender.cli.report import DONE, write
from postrender.cli.settings import config_source, report_ignored
from postrender.errors import UserError

COMMAND = Command(
    "config validate",
    "Check a configuration file.",
    details=(
        "Without a FILE, postrender checks the file in --config, or else the nearest "
        "postrender.yaml in this folder or a folder above."
    ),
    example="postrender config validate chart/postrender.yaml",
    arguments=(Argument("file", "[FILE]", default=""),),
    options=settings_options("config"),
)


def run(file: str, config: str | None) -> int:
    """Return DONE if the configuration file is valid.

    file: the path, "" for the file in --config or the nearest postrender.yaml.
    Raises UserError if the file is missing or invalid.
    """
    from postrender.config.load import load_config

    source, findings = config_source(file or config)
    report_ignored(findings)
    if source is None:
        raise UserError(
            "postrender did not find a postrender.yaml in this folder or a folder above, up to the "
            "root of the git repository",
            "Pass a file, or create a file with: postrender config init",
        )
    load_config(source)
    write([f"{source.file} is valid\n"])
    return DONE
