"""The checksum strategy: names stay, and a pod template says what contents it was rendered with.

So a workload rolls when a ConfigMap that it names changes, as with a checksum annotation written
by hand in the chart, or with Reloader.
"""

from __future__ import annotations

from collections.abc import Mapping

from postrender.startup.digest import sha256


def checksum(hashes: Mapping[str, str]) -> str:
    """Return the sha256 over name=hash lines, sorted by name: 64 hex digits.

    hashes: content hash by name, with `secret/` before the name of a Secret.
    """
    lines = "".join(f"{name}={hash_}\n" for name, hash_ in sorted(hashes.items()))
    return sha256(lines.encode()).hexdigest()
