"""Base64 in the data of Secrets, decoded for the search for names.

postrender never prints the decoded text.
"""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Iterator

from postrender.startup.patterns import pattern

# A base64 value of at least four characters, on one line or folded over several indented lines.
_VALUE = pattern(r"[A-Za-z0-9+/]{4,}(?:\n[ \t]+[A-Za-z0-9+/]+(?=[=\r\n]|\Z))*={0,2}")


def decoded(value: str) -> str:
    """Return the text of a base64 value, "" if the value has wrong padding or is not UTF-8 text.

    The function ignores characters that base64 does not use.
    """
    try:
        return a2b_base64(value).decode()
    except ValueError:
        return ""


def decoded_values(text: str) -> Iterator[str]:
    """Return the decoded text of each base64 value in the document of a Secret.

    The function skips values that decoded() cannot decode. Some words that are not base64 also look
    like base64 values, so the result can contain meaningless text.
    """
    if "data:" in text or '"data"' in text:
        yield from filter(None, map(decoded, _VALUE.findall(text)))
