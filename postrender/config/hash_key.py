"""The hash key for the names of Secrets, from a file or from an environment variable.

postrender never writes the key to an output, a message or a log.
"""

from __future__ import annotations

import os

from postrender.errors import Location, UserError
from postrender.kubernetes.hashing import HashKey

VARIABLE = "POSTRENDER_SECRETS_HASH_KEY"

_MIN_BYTES, _MAX_BYTES = 16, 4096
_LINE_BREAK = b"\r\n"


def read_hash_key(option: str, configured: str) -> HashKey | None:
    """Return the hash key, or None if no hash key is set.

    option: the path in --secrets-hash-key-file or POSTRENDER_SECRETS_HASH_KEY_FILE, "" for none.
    configured: `option`, or else the path in the setting `secretsHashKeyFile`. "" for none.
    A path in `option` overrides VARIABLE. VARIABLE overrides a path in `secretsHashKeyFile`.
    Raises UserError for a file that cannot be read, and for a key that is too short or too long.
    """
    variable = os.environ.get(VARIABLE, "")
    if variable and not option:
        return _key(os.fsencode(variable), Location(VARIABLE))
    if not configured:
        return None
    fix = f"Fix the path in secretsHashKeyFile, or set {VARIABLE}"
    if option:
        fix = f"Fix the path in --secrets-hash-key-file, or remove the option and set {VARIABLE}"
    return _key(_read_key_file(configured, fix), Location(configured))


def _read_key_file(file: str, fix: str) -> bytes:
    try:
        with open(file, "rb") as key_file:
            # Read one byte more than the longest key with its line break, to detect a longer key.
            return key_file.read(_MAX_BYTES + len(_LINE_BREAK) + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = error.strerror if isinstance(error, OSError) else str(error)
        problem = f"postrender cannot read the hash key ({reason})"
        raise UserError(problem, fix, Location(file)) from None


def _key(content: bytes, location: Location) -> HashKey:
    """Return the key without final line breaks. Raises UserError if the key has a wrong length."""
    is_cut = len(content) > _MAX_BYTES + len(_LINE_BREAK)
    key = content if is_cut else content.rstrip(_LINE_BREAK)
    if not _MIN_BYTES <= len(key) <= _MAX_BYTES:
        raise UserError(
            f"the hash key has {len(key)} bytes, expected {_MIN_BYTES} to {_MAX_BYTES}"
            if len(key) <= _MAX_BYTES
            else f"the hash key has more than {_MAX_BYTES} bytes",
            "Create a key with `openssl rand -hex 32`",
            location,
        )
    return HashKey(key)
