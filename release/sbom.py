"""Write the SBOMs (CycloneDX) of the wheel and of the image: python release/sbom.py FOLDER.

The components are the Python packages of a lock file, with their hashes. For the image, the base
image is another component. Its packages are in the SBOM that `docker buildx build --sbom` adds.
"""

import json
import re
import subprocess
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOOL = "cyclonedx-bom>=7,<8"
LOCK_FILES = {
    "postrender": "plugin/requirements.txt",
    "postrender-image": "docker/requirements.txt",
}


def cyclonedx() -> Path:
    """Return the installed tool, which writes an SBOM.

    It has an environment of its own: its libraries make each import of jsonschema last a second.
    """
    environment = ROOT / ".cache" / "sbom"
    tool = environment / "bin" / "cyclonedx-py"
    if not tool.exists():
        subprocess.run([sys.executable, "-I", "-m", "venv", "--clear", environment], check=True)
        pip = [environment / "bin" / "python", "-I", "-m", "pip", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", "--quiet", TOOL], check=True)
    return tool


def bill(name: str, lock: str) -> dict:
    """Return the SBOM of one artifact."""
    command = [cyclonedx(), "requirements", ROOT / lock]
    options = ["--pyproject", ROOT / "pyproject.toml", "--output-reproducible", "--sv", "1.6"]
    done = subprocess.run([*command, *options], check=True, capture_output=True, text=True)
    data = json.loads(done.stdout)
    components = data["components"]
    if name.endswith("-image"):
        base, tag = re.search(
            r"^ARG BASE=([^:\s]+):(\S+)$", (ROOT / "Dockerfile").read_text(), re.M
        ).groups()
        reference = f"{base}:{tag}"
        components.append({"bom-ref": reference, "name": base, "version": tag, "type": "container"})
    main = data["metadata"]["component"]
    main["version"] = re.search(
        r'^__version__ = "(.*)"', (ROOT / "postrender/__init__.py").read_text(), re.M
    )[1]
    root = {"ref": main["bom-ref"], "dependsOn": sorted(item["bom-ref"] for item in components)}
    others = [item for item in data.get("dependencies", []) if item["ref"] != root["ref"]]
    data["dependencies"] = [root, *others]
    return data


def main(folder: Path) -> None:
    """Write all SBOMs into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, lock in LOCK_FILES.items():
        data = bill(name, lock)
        file = folder / f"{name}.cdx.json"
        file.write_text(json.dumps(data, indent=2) + "\n")
        print(f"{file}: {len(data['components'])} components")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1]))
