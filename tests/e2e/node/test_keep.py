"""The cluster of `make cluster`: the printed line, helm and kubectl, and the end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.node.keep import main
from tests.e2e.programs import ROOT
from tests.rings import in_matrix

LIMIT_SECONDS = 300
USE = "kubectl wait node --all --for=condition=Ready --timeout=120s && helm list --output json"


@in_matrix
def test_the_printed_line_leads_to_the_cluster(images: list[Path], tmp_path: Path) -> None:
    assert images
    cluster = subprocess.Popen(
        [sys.executable, "-m", "tests.e2e.node.keep"],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert cluster.stdout
        found = (re.match(r" +(export KUBECONFIG=.*)\n", line) for line in cluster.stdout)
        line = next((match[1] for match in found if match), "")
        assert line, "the cluster did not start"
        done = subprocess.run(["sh", "-ec", f"{line}; {USE}"], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "condition met" in done.stdout
        assert done.stdout.endswith("[]\n")
    finally:
        cluster.send_signal(signal.SIGINT)
    assert cluster.wait(LIMIT_SECONDS) == 0
    assert list(tmp_path.iterdir()) == []


def test_an_archive_that_is_missing_is_an_error(
    images: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert images
    assert main(["missing.tar"]) == 1
    assert capsys.readouterr().err == (
        "make cluster: missing.tar is not a file. Pass the archives of images: "
        "make cluster IMAGES=…\n"
    )
