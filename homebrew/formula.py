"""Print a Homebrew formula for an sdist: `python homebrew/formula.py SDIST URL`.

The formula has the hash of the sdist, and the Python packages in resources.rb.
`make image-requirements` writes resources.rb.
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
    assert_match "0 of 1 renamed", shell_output("#{{bin}}/postrender explain app.yaml")
  end
end
"""


def formula(sdist: Path, url: str) -> str:
    """Return the formula for an sdist that will be at a URL."""
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    homepage = re.search(r'^Homepage = "(.*)"$', project, re.M)
    digest = hashlib.sha256(sdist.read_bytes()).hexdigest()
    resources = (ROOT / "homebrew" / "resources.rb").read_text("utf-8")
    return FORMULA.format(
        homepage=homepage[1] if homepage else "", url=url, digest=digest, resources=resources
    )


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: formula.py SDIST URL")
    print(formula(Path(sys.argv[1]), sys.argv[2]), end="")
