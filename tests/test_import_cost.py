"""What the package costs those who have it installed, and where it can run."""

import json
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from marks import compiled_only
from pipelines import TAGGER
from processes import TESTS, ScriptRunner, bound_by_permissions, contents
from spacy.language import Language

import spacy_ssvm

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

TRAIN = """
import json, sys
from pipelines import TAGGER
import numba
import spacy_ssvm

nlp = TAGGER.trained(epochs=2)
tagger = nlp.get_pipe("ssvm_tagger")
print(json.dumps({
    "package": spacy_ssvm.__file__,
    "compiled": not numba.config.DISABLE_JIT,
    "tags": TAGGER.annotate(nlp),
    "margins": list(tagger.scores(nlp("The old dog barks."))),
    "primal": tagger.objective(TAGGER.examples(nlp.vocab)).primal,
}))
"""

ANNOTATE = """
import json, sys
from pipelines import TAGGER
import numba
import spacy

nlp = spacy.load(sys.argv[1])
print(json.dumps({
    "compiled": not numba.config.DISABLE_JIT,
    "tags": TAGGER.annotate(nlp),
    "margins": list(nlp.get_pipe("ssvm_tagger").scores(nlp("The old dog barks."))),
}))
"""


def test_a_blank_pipeline_does_not_import_numba(run_script: ScriptRunner) -> None:
    assert run_script(BLANK).strip() == "False"


def test_the_entry_points_import_in_under_10_milliseconds(run_script: ScriptRunner) -> None:
    assert min(float(run_script(IMPORT)) for _ in range(3)) < 0.010


def test_runs_without_compilation(run_script: ScriptRunner) -> None:
    compiled = json.loads(run_script(TRAIN, NUMBA_DISABLE_JIT=None))
    plain = json.loads(run_script(TRAIN, NUMBA_DISABLE_JIT="1"))
    assert compiled["compiled"]
    assert not plain["compiled"]
    assert plain["tags"] == compiled["tags"]
    assert plain["margins"] == pytest.approx(compiled["margins"])
    assert plain["primal"] == pytest.approx(compiled["primal"])
    assert plain["tags"] == TAGGER.annotate(TAGGER.trained(epochs=2))


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users can read, which pytest's own are not."""
    folder = Path(tempfile.mkdtemp(prefix="spacy-ssvm-"))
    folder.chmod(0o755)
    yield folder
    for path in (folder, *folder.rglob("*")):
        path.chmod(path.stat().st_mode | stat.S_IWUSR)
    shutil.rmtree(folder)


def test_runs_from_a_read_only_folder_without_a_home(open_folder: Path) -> None:
    site = open_folder / "site"
    package = Path(spacy_ssvm.__file__).parent
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(package, site / package.name, ignore=ignored)
    for module in ("corpora.py", "pipelines.py"):
        shutil.copy(TESTS / module, site)
    files = contents(site)
    for path in (site, *site.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    scripts = open_folder / "scripts"
    scripts.mkdir(mode=0o755)

    output = ScriptRunner(scripts)(
        TRAIN,
        command=bound_by_permissions(),
        PYTHONPATH=str(site),
        HOME=None,
        XDG_CACHE_HOME=None,
        NUMBA_CACHE_DIR=None,
    )
    result = json.loads(output)
    assert Path(result["package"]) == site / package.name / "__init__.py"
    assert result["tags"] == TAGGER.annotate(TAGGER.trained(epochs=2))
    assert contents(site) == files


@compiled_only
def test_two_processes_fill_an_empty_cache_at_once(
    trained_tagger: Language, tmp_path: Path, run_script: ScriptRunner
) -> None:
    cache = tmp_path / "cache"
    trained_tagger.to_disk(tmp_path / "tagger")
    started = [
        run_script.start(
            ANNOTATE, tmp_path / "tagger", NUMBA_CACHE_DIR=str(cache), NUMBA_DISABLE_JIT=None
        )
        for _ in range(2)
    ]
    results = [json.loads(run_script.output(process)) for process in started]
    assert results[0] == results[1]
    assert results[0]["compiled"]
    assert results[0]["tags"] == TAGGER.annotate(trained_tagger)
    assert list(cache.rglob("*.nbi")), "what was compiled is there for the next process"
