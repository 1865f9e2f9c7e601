"""Look up the locked packages in a vulnerability database: python release/audit.py.

Exit code 1: a package has a known vulnerability. Exit code 2: the audit is not complete, because a
service cannot be reached. A missing answer must not look like an answer.
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK_FILES = (
    "docker/requirements.txt",
    "docker/build-requirements.txt",
    "plugin/requirements.txt",
    "plugin/build-requirements.txt",
)
VULNERABLE, INCOMPLETE = 1, 2


def judge(report: dict, lock: str) -> tuple[int, list[str]]:
    """Return the exit code for the report of a lock file, and the lines to print."""
    packages = report["dependencies"]
    skipped = [item["name"] for item in packages if "skip_reason" in item]
    errors = [
        f"error: {lock}: {item['name']} {item['version']} has {entry['id']}. "
        f"Fixed in: {', '.join(entry['fix_versions']) or 'no version'}."
        for item in packages
        for entry in item.get("vulns", ())
    ]
    if errors:
        return VULNERABLE, errors
    if skipped:
        return INCOMPLETE, [unreachable(lock, f"{len(skipped)} of {len(packages)} packages")]
    return 0, [f"{lock}: {len(packages)} packages without a known vulnerability"]


def unreachable(lock: str, missing: str) -> str:
    """Return the line for packages without an answer from the service."""
    return (
        f"error: {lock}: the vulnerability service of PyPI has no answer for {missing}. "
        "Give pip-audit access to PyPI."
    )


def audit(lock: str) -> tuple[int, list[str]]:
    """Run pip-audit on a lock file."""
    command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--progress-spinner=off"]
    done = subprocess.run(
        [*command, "--format=json", "--requirement", ROOT / lock],
        capture_output=True,
        text=True,
    )
    try:
        return judge(json.loads(done.stdout), lock)
    except ValueError:
        return INCOMPLETE, [unreachable(lock, "all packages")]


def main() -> int:
    """Audit every lock file; return the exit code."""
    results = [audit(lock) for lock in LOCK_FILES]
    codes = {code for code, _ in results}
    if codes == {INCOMPLETE}:
        print(unreachable("all lock files", "any package"), file=sys.stderr)
    else:
        print("\n".join(line for _, lines in results for line in lines))
    return VULNERABLE if VULNERABLE in codes else max(codes)


if __name__ == "__main__":
    sys.exit(main())
