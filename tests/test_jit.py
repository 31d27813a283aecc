"""What the package costs those who have it installed, and where it can run."""

import json
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pipelines import TAGGER
from processes import TESTS, ScriptRunner, bound_by_permissions, contents

import spacy_ssvm

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
