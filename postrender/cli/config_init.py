"""`postrender config init`: create a configuration file with examples in comments."""

from __future__ import annotations

import os

from postrender.cli.options import Argument, Command
from postrender.cli.report import DONE, write
from postrender.config.find import FILE_NAME
from postrender.errors import Location, UserError
from postrender.sources.paths import printable

COMMAND = Command(
    "config init",
    "Create a configuration file.",
    details="The default of FILE is postrender.yaml in this folder. postrender never overwrites an "
    "existing file.",
    example="postrender config init chart/postrender.yaml",
    arguments=(Argument("file", "[FILE]", default=FILE_NAME),),
)

_TEXT = """\
# The configuration of postrender. `postrender config schema` describes every key, and
# `postrender config show` prints the values in effect.

# attacher:
#   image: registry.example.com/postrender:1   # the image that the attacher Job runs

# strict: true         # fail on findings that put pods at risk

# rules:               # the first rule that matches an object applies
# - match: {name: "*-feature-flags"}
#   strategy: ignore   # rename, checksum or ignore
"""


def run(file: str) -> int:
    """Return DONE after creating the file.

    Raises UserError if the file exists or cannot be written.
    """
    try:
        with open(file, "x", encoding="utf-8") as output:
            output.write(_TEXT)
    except FileExistsError:
        if os.path.isdir(file):
            problem, fix = (
                "the path is a folder, expected a new file",
                "Pass the path of a new file",
            )
        else:
            problem, fix = "the file already exists", "Edit the file, or pass another path"
        raise UserError(problem, fix, Location(file)) from None
    except FileNotFoundError:
        raise UserError(
            "the folder of the file does not exist",
            "Create the folder, or pass another path",
            Location(file),
        ) from None
    except OSError as error:
        raise UserError(
            f"postrender cannot write the file ({error.strerror})",
            "Pass another path",
            Location(file),
        ) from None
    write([f"postrender created {printable(file)}\n"])
    return DONE
