"""Processes that import what the tests import, and the files they leave."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parent


def environment(**changes: str | None) -> dict[str, str]:
    """The variables of a process that can import this file; None takes a variable away."""
    paths = [str(TESTS), os.environ.get("PYTHONPATH", "")]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **changes}
    return {name: value for name, value in variables.items() if value is not None}


def bound_by_permissions() -> list[str]:
    """What to put in front of a command so that permissions bind it, even where it is root's."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root may write everywhere, and there is no setpriv to take that right away")
    return ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"]


def plain(output: str) -> str:
    """What a command printed, in one line, without boxes."""
    return " ".join(re.sub("[│╭╮╰╯─]", " ", output).split())


class ScriptRunner:
    """Runs Python source in processes of their own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def start(
        self, source: str, *arguments: Any, command: Iterable[str] = (), **changes: str | None
    ) -> "subprocess.Popen[str]":
        """Start a process. command: what to put in front, such as setpriv."""
        script = self._folder / f"script-{len(list(self._folder.glob('script-*')))}.py"
        script.write_text(source, encoding="utf8")
        return subprocess.Popen(
            [*command, sys.executable, str(script), *map(str, arguments)],
            env=environment(**changes),
            cwd=self._folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @staticmethod
    def output(process: "subprocess.Popen[str]") -> str:
        """What a process printed, once it has ended well."""
        output, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
        return output

    def __call__(self, source: str, *arguments: Any, **options: Any) -> str:
        return self.output(self.start(source, *arguments, **options))


def contents(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(files)}
