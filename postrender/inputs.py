"""Where the input comes from."""

from __future__ import annotations

import sys

from postrender.errors import Place, UserError

STDIN = "<stdin>"


def read_input(name: str) -> tuple[bytes, str]:
    """Return the bytes of a file, or of stdin for `-`, and what to call them in messages.

    Raises UserError for what cannot be read.
    """
    source = STDIN if name == "-" else name
    try:
        if name != "-":
            with open(name, "rb") as file:
                return file.read(), source
        if sys.stdin is None:
            raise UserError("stdin is closed", "pipe the rendered manifests in", Place(source))
        return sys.stdin.buffer.read(), source
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UserError(
            f"cannot read it: {reason}", "check the file and its permissions", Place(source)
        ) from None
