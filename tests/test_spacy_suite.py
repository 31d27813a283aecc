"""spaCy's own tests, with our components under the names of spaCy's."""

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import compiled_only, environment
from spacy_names import MODULES


@compiled_only
def test_spacy_s_own_tests_pass(tmp_path: Path) -> None:
    modules = [f"spacy.tests.{name}" for name in MODULES]
    options = ["-q", "-p", "spacy_names", "-p", "no:cacheprovider", "-W", "ignore"]
    result = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--pyargs", *modules],
        env=environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert result.returncode == pytest.ExitCode.OK, result.stdout + result.stderr
