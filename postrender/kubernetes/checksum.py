"""The checksum strategy: an annotation of a pod template has a hash of the ConfigMaps.

The hash covers the ConfigMaps and Secrets that the template references, and these objects keep
their names. A workload rolls when one of these objects changes, as with a hand-written checksum
annotation in the chart, or with Reloader.
"""

from __future__ import annotations

from collections.abc import Mapping

from postrender.startup.digest import sha256


def checksum(hashes: Mapping[str, str]) -> str:
    """Return the SHA-256 of `name=hash` lines, sorted by name, as 64 hex digits.

    hashes: the content hashes by name; the name of a Secret begins with `secret/`.
    """
    lines = "".join(f"{name}={content_hash}\n" for name, content_hash in sorted(hashes.items()))
    return sha256(lines.encode()).hexdigest()
