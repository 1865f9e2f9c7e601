"""Push the plugin to a registry: python release/push_plugin.py ARCHIVE REGISTRY/REPOSITORY.

Helm 4 installs this artifact with `helm plugin install oci://REGISTRY/REPOSITORY/postrender`. The
variables REGISTRY_USER and REGISTRY_TOKEN contain the login. A registry on 127.0.0.1 is for tests.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode, urljoin
from urllib.request import Request, urlopen

# pkg/registry/plugin.go of Helm 4.3: the type, and the titles NAME-VERSION.tgz and .tgz.prov.
ARTIFACT_TYPE = "application/vnd.helm.plugin.v1+json"
LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar+gzip"
MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
EMPTY = {"mediaType": "application/vnd.oci.empty.v1+json", "data": "e30="}


def push(archive: Path, address: str) -> str:
    """Push an archive and its signature, if there is one; return the reference of the artifact."""
    host, _, folder = address.partition("/")
    repository = f"{folder}/postrender"
    version = archive.name.removeprefix("postrender-").removesuffix(".tgz")
    scheme = "http" if host.startswith("127.0.0.1:") else "https"
    registry = _Registry(f"{scheme}://{host}", repository)
    layers = [
        {**registry.upload(file.read_bytes()), "mediaType": LAYER_TYPE, "annotations": _title(file)}
        for file in (archive, archive.with_name(f"{archive.name}.prov"))
        if file.exists()
    ]
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "artifactType": ARTIFACT_TYPE,
        "config": {**EMPTY, **registry.upload(b"{}")},
        "layers": layers,
    }
    url = f"/v2/{repository}/manifests/{version}"
    registry.send("PUT", url, json.dumps(manifest).encode(), MANIFEST_TYPE)
    return f"oci://{host}/{repository}:{version}"


def _title(file: Path) -> dict[str, str]:
    return {"org.opencontainers.image.title": file.name}


class _Registry:
    def __init__(self, url: str, repository: str) -> None:
        self.url = url
        self.repository = repository
        self.token = ""

    def upload(self, content: bytes) -> dict[str, str | int]:
        """Upload a blob; return its digest and size."""
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        place = self.send("POST", f"/v2/{self.repository}/blobs/uploads/")
        sign = "&" if "?" in place else "?"
        target = f"{place}{sign}{urlencode({'digest': digest})}"
        self.send("PUT", target, content, "application/octet-stream")
        return {"digest": digest, "size": len(content)}

    def send(self, method: str, url: str, body: bytes = b"", media_type: str = "") -> str:
        """Send a request, with a token if the registry asks for one; return the Location."""
        request = Request(urljoin(self.url, url), data=body, method=method)
        request.add_header("Content-Type", media_type or "application/octet-stream")
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        try:
            with urlopen(request, timeout=60) as answer:
                return str(answer.headers.get("Location", ""))
        except HTTPError as error:
            challenge = error.headers.get("WWW-Authenticate", "")
            if error.code != 401 or self.token or not challenge.startswith("Bearer "):
                raise SystemExit(f"error: {method} {url}: {error.code} {error.reason}") from None
            self.token = self._new_token(dict(re.findall(r'(\w+)="([^"]*)"', challenge)))
            return self.send(method, url, body, media_type)

    def _new_token(self, challenge: dict[str, str]) -> str:
        scope = f"repository:{self.repository}:pull,push"
        query = urlencode({"service": challenge.get("service", ""), "scope": scope})
        request = Request(f"{challenge['realm']}?{query}")
        login = f"{os.environ.get('REGISTRY_USER', '')}:{os.environ.get('REGISTRY_TOKEN', '')}"
        request.add_header("Authorization", f"Basic {base64.b64encode(login.encode()).decode()}")
        with urlopen(request, timeout=60) as answer:
            token = json.load(answer)
        return str(token.get("token") or token["access_token"])


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: push_plugin.py ARCHIVE REGISTRY/REPOSITORY")
    print(push(Path(sys.argv[1]), sys.argv[2]))
