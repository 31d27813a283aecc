"""Tests of ``spacy_ssvm/factories.py``."""

from importlib.metadata import entry_points

import pytest
import spacy
from processes import ScriptRunner

BLANK = """
import sys
import spacy

nlp = spacy.blank("en")
nlp("Some text.")
assert "spacy_ssvm.factories" in sys.modules, "spaCy loads the entry points of all packages"
assert nlp.has_factory("ssvm_tagger")
print("numba" in sys.modules)
"""


IMPORT = """
import sys, time
import spacy

before = time.perf_counter()
import spacy_ssvm.factories
print(time.perf_counter() - before)
assert "numba" not in sys.modules
"""


def test_a_blank_pipeline_does_not_import_numba(run_script: ScriptRunner) -> None:
    assert run_script(BLANK).strip() == "False"


def test_the_entry_points_import_in_under_10_milliseconds(run_script: ScriptRunner) -> None:
    assert min(float(run_script(IMPORT)) for _ in range(3)) < 0.010


WITHOUT_NUMBA = """
import sys

sys.modules["numba"] = None
import spacy
import spacy.cli  # which imports the commands of this package

nlp = spacy.blank("en")
nlp("Some text.")
for factory in sys.argv[1:]:
    try:
        nlp.add_pipe(factory)
    except ImportError as error:
        print(error)
"""


def test_without_numba_components_say_how_to_install_it(run_script: ScriptRunner) -> None:
    """And spaCy works."""
    factories = [entry.name for entry in entry_points(group="spacy_factories")]
    ours = [name for name in factories if name.startswith("ssvm_")]
    lines = run_script(WITHOUT_NUMBA, *ours).splitlines()
    assert len(lines) == len(ours) > 6
    assert all("pip install numba" in line for line in lines)


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("ssvm_parser", ["token.is_sent_start", "token.tag"]),
        ("ssvm_chunker", ["token.tag"]),
        ("ssvm_sentence_labeler", ["token.is_sent_start"]),
        ("ssvm_ner", []),
    ],
)
def test_an_analysis_of_the_pipeline_says_what_is_missing(name: str, missing: list[str]) -> None:
    """What the default templates and units read, by ``nlp.analyze_pipes()``."""
    nlp = spacy.blank("en")
    nlp.add_pipe(name)
    assert nlp.analyze_pipes()["problems"][name] == missing
    nlp.add_pipe("ssvm_tagger", first=True)
    nlp.add_pipe("ssvm_senter", first=True)
    assert not any(nlp.analyze_pipes()["problems"].values())
