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


@pytest.mark.slow
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


VERSIONS = """
import json
from numba.core import event
from spacy_ssvm.kernels.compile import kernel

compiled = []

class Listener(event.Listener):
    def on_start(self, started):
        dispatcher = started.data["dispatcher"]
        is_linked = dispatcher.targetoptions.get("no_cpython_wrapper", False)
        compiled.append([dispatcher.py_func.__name__, is_linked])

    def on_end(self, ended):
        pass

@kernel
def double(x):
    return 2 * x

@kernel
def four_times(x):
    return double(double(x))

@kernel
def twice_and_one(x):
    return double(x) + 1

event.register("numba:compile", Listener())
results = [four_times(3), double(3), twice_and_one(3)]
print(json.dumps([results, compiled]))
"""


def test_kernels_link_a_version_that_python_cannot_call_unless_it_has(
    run_script: ScriptRunner, tmp_path: Path
) -> None:
    output = run_script(VERSIONS, NUMBA_CACHE_DIR=str(tmp_path), NUMBA_DISABLE_JIT=None)
    assert json.loads(output) == [
        [12, 6, 7],
        [["four_times", False], ["double", True], ["double", False], ["twice_and_one", False]],
    ]


OUTLINED = """
import json
import numpy as np
from numba.core import event
from spacy_ssvm.kernels.compile import kernel, outlined_kernel
from spacy_ssvm.kernels.types import Float, Floats, Floats1, Int

compiled = []

class Listener(event.Listener):
    def on_start(self, started):
        function = started.data["dispatcher"].py_func
        if function.__module__ == __name__:
            compiled.append(function.__name__)

    def on_end(self, ended):
        pass

@outlined_kernel(Floats1(Floats1, Int))
def shifted(values: Floats, places: int) -> Floats:
    if places > len(values):
        raise ValueError("too far")
    found = np.zeros(len(values))
    found[places:] = values[: len(values) - places]
    return found

@kernel
def twice(values: Floats, places: int) -> Floats:
    return shifted(shifted(values, places), places)

@kernel
def last(values: Floats, places: int) -> float:
    return shifted(values, places)[-1]

def error(function, *arguments):
    try:
        function(*arguments)
    except Exception as found:
        return f"{type(found).__name__}: {found}".partition("\\n")[0]

event.register("numba:compile", Listener())
values = np.arange(1.0, 5.0)
results = [twice(values, 1).tolist(), last(values, 2), shifted(values, 3).tolist()]
errors = [error(last, values, 5), error(shifted, values, 5)]
wrong = error(last, values.astype(np.float32), 1)
print(json.dumps([results, errors, wrong, compiled]))
"""


@pytest.mark.slow
def test_kernels_call_one_version_of_an_outlined_kernel(
    run_script: ScriptRunner, tmp_path: Path
) -> None:
    script = tmp_path / "outlined.py"  # what cannot be read from a file is not kept
    script.write_text(OUTLINED)
    source = f"import runpy; runpy.run_path({str(script)!r}, run_name='outlined')"
    results = [[0, 0, 1, 2], 2, [0, 0, 0, 1]]
    errors = ["ValueError: too far", "ValueError: too far"]
    cache = str(tmp_path / "kernels")
    for compiled in (["twice", "shifted", "last", "shifted", "last"], ["last"]):
        found = json.loads(run_script(source, NUMBA_CACHE_DIR=cache, NUMBA_DISABLE_JIT=None))
        assert found[:2] == [results, errors]
        assert found[2].startswith("TypingError")
        assert found[3] == compiled


WITH_OTHER_NUMBA = """
import functools, logging, sys
from numba.core import caching

logging.basicConfig(format="%(name)s: %(message)s", stream=sys.stdout)
exec(sys.argv[1])

import spacy
from pipelines import TAGGER
from spacy_ssvm.kernels import compile

nlp = TAGGER.trained(epochs=2)
nlp.to_disk("pipeline")
loaded = spacy.load("pipeline")
assert compile.linking is None
print(TAGGER.annotate(nlp) == TAGGER.annotate(loaded), TAGGER.annotate(nlp))
"""


@pytest.mark.slow
@compiled_only
@pytest.mark.parametrize(
    ("change", "error"),
    [
        ("del caching.CompileResultCacheImpl", "cannot import name"),
        (
            "caching.FunctionCache = functools.partial(caching.FunctionCache)",
            "must be callable",
        ),
    ],
)
def test_runs_where_internals_of_numba_have_changed(
    run_script: ScriptRunner, tmp_path: Path, change: str, error: str
) -> None:
    """With numba's own cache, and one warning."""
    known = TAGGER.annotate(TAGGER.trained(epochs=2))
    for _ in range(2):  # numba's cache is empty, and then it is not
        output = run_script(WITH_OTHER_NUMBA, change, NUMBA_CACHE_DIR=str(tmp_path / "kernels"))
        warning, found = output.strip().split("\n")
        assert "spacy_ssvm does not know numba" in warning
        assert error in warning
        assert found == f"True {known}"
    assert list((tmp_path / "kernels").rglob("*.nbi"))
