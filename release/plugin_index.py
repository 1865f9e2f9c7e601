"""Print the index of the plugin's archives: python release/plugin_index.py ARCHIVE URL.

The index has the format of a Helm chart repository. Helm 4 installs a plugin from the address of
its archive, and does not read an index. The index is for programs that look for new versions.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

INDEX = """\
apiVersion: v1
entries:
  postrender:
    - name: postrender
      version: {version}
      description: Helm post-renderer that gives each version of a ConfigMap its own name
      type: postrenderer/v1
      digest: {digest}
      urls:
        - {url}/{name}
      provenance: {url}/{name}.prov
      keyring: {url}/postrender-plugin-key.gpg
"""


def index(archive: Path, url: str) -> str:
    """Return the index for an archive that will be at a URL."""
    version = archive.name.removeprefix("postrender-").removesuffix(".tgz")
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    return INDEX.format(version=version, digest=digest, url=url.rstrip("/"), name=archive.name)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: plugin_index.py ARCHIVE URL")
    print(index(Path(sys.argv[1]), sys.argv[2]), end="")
