"""Print the Python packages of the formula: `python homebrew/resources.py < pylock.toml`.

`make image-requirements` runs this program, and writes homebrew/resources.rb.
"""

from __future__ import annotations

import re
import sys

PACKAGE = re.compile(
    r'^name = "(?P<name>[^"]+)"$'
    r'(?:(?!^name = ).)*?^sdist = \{ url = "(?P<url>[^"]+)"'
    r'[^\n]*? sha256 = "(?P<digest>[0-9a-f]{64})"',
    re.M | re.S,
)
RESOURCE = """\
  resource "{name}" do
    url "{url}"
    sha256 "{digest}"
  end
"""


def resources(lock: str) -> str:
    """Return the stanzas for the packages of a lock file in the format of PEP 751."""
    found = list(PACKAGE.finditer(lock))
    names = re.findall(r'^name = "([^"]+)"$', lock, re.M)
    without = sorted(set(names) - {package["name"] for package in found})
    if without or not found:
        raise SystemExit(f"error: {', '.join(without) or 'the lock file'} has no sdist")
    return "\n".join(RESOURCE.format(**package.groupdict()) for package in found)


if __name__ == "__main__":
    print(resources(sys.stdin.read()), end="")
