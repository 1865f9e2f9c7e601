"""Print a Homebrew formula for an sdist: `python homebrew/formula.py SDIST URL < pylock.toml`.

The formula has the hash of the sdist, and the Python packages of the lock file (PEP 751).
`make formula` writes the lock file, because only the package index knows the address of a package.
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FORMULA = """\
class Postrender < Formula
  include Language::Python::Virtualenv

  desc "Give each version of a ConfigMap its own name, for canaries"
  homepage "{homepage}"
  url "{url}"
  sha256 "{digest}"
  license "Apache-2.0"

  depends_on "rust" => :build # for rpds-py
  depends_on "libyaml"
  depends_on "python@3.13"

{resources}
  def install
    virtualenv_install_with_resources
    generate_completions_from_executable(bin/"postrender", shell_parameter_format: :click)
  end

  test do
    (testpath/"app.yaml").write <<~YAML
      apiVersion: v1
      kind: ConfigMap
      metadata: {{name: app}}
      data: {{key: value}}
    YAML
    assert_match "rename 0 of 1 ConfigMap", shell_output("#{{bin}}/postrender explain app.yaml")
  end
end
"""


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


def formula(sdist: Path, url: str, lock: str) -> str:
    """Return the formula for an sdist that will be at a URL. lock: the text of the lock file."""
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    homepage = re.search(r'^Homepage = "(.*)"$', project, re.M)
    digest = hashlib.sha256(sdist.read_bytes()).hexdigest()
    return FORMULA.format(
        homepage=homepage[1] if homepage else "", url=url, digest=digest, resources=resources(lock)
    )


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: formula.py SDIST URL < pylock.toml")
    print(formula(Path(sys.argv[1]), sys.argv[2], sys.stdin.read()), end="")
