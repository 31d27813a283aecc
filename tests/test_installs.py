"""What the package says about its dependencies is what spaCy says, and what is tried."""

import re
from importlib.metadata import requires

from packaging.requirements import Requirement
from processes import TESTS

PROJECT = (TESTS.parent / "pyproject.toml").read_text(encoding="utf8")
WORKFLOW = TESTS.parent / ".github" / "workflows" / "tests.yml"


def specifier(name: str) -> str:
    """The versions of a dependency that pyproject.toml allows."""
    (found,) = re.findall(rf'^    "{name}([<>=][^"]*)"', PROJECT, re.M)
    return str(Requirement(name + found).specifier)


def test_thinc_is_the_one_of_spacy() -> None:
    """pip would take a later one, which it has to build, on a Python without wheels of it."""
    needed = [Requirement(line) for line in requires("spacy") or ()]
    (thinc,) = [each for each in needed if each.name == "thinc"]
    assert specifier("thinc") == str(thinc.specifier)


def test_numba_ends_where_it_was_tried() -> None:
    """The kernel cache builds on what numba does not promise to keep."""
    assert "<" in specifier("numba")


def test_each_python_of_the_classifiers_is_installed_on() -> None:
    claimed = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', PROJECT)
    assert claimed
    workflow = WORKFLOW.read_text(encoding="utf8") if WORKFLOW.exists() else ""
    assert not workflow or str(claimed).replace("'", '"') in workflow
