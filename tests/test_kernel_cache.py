"""Compiled kernels are found again wherever they can be read, and never when they are stale."""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from marks import compiled_only
from pipelines import TAGGER
from processes import ScriptRunner, bound_by_permissions, environment
from spacy.language import Language

from spacy_ssvm.files import locked
from spacy_ssvm.kernels import folders
from spacy_ssvm.kernels.folders import PACKAGE

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


KERNELS = """
from spacy_ssvm.kernels.compile import kernel

@kernel
def add(a, b):
    return a + b
"""


CALL = """
import json, kernels
result = kernels.add(1, 2)
stats = kernels.add.dispatcher.stats
print(json.dumps([result, sum(stats.cache_hits.values()), sum(stats.cache_misses.values())]))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a module of kernels, and a copy of the package whose cache is its own."""
    copy_package(tmp_path)
    (tmp_path / "kernels.py").write_text(KERNELS, encoding="utf8")
    return tmp_path


def copy_package(folder: Path) -> Path:
    """A copy of the package's sources below a folder."""
    ignored = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(PACKAGE, folder / PACKAGE.name, ignore=ignored))


def own_cache(folder: Path) -> Path:
    """The folder for kernels inside the copy of the package."""
    return folder / PACKAGE.name / "__pycache__" / "kernels"


def call(
    folder: Path, source: str = CALL, *, command: Iterable[str] = (), **changes: str | None
) -> tuple[Any, str]:
    """Call the kernel in a process; its result, hits and misses, and what it logged."""
    changes = {"NUMBA_CACHE_DIR": str(folder / "cache"), **changes}
    process = subprocess.run(
        [*command, sys.executable, "-c", source],
        env=environment(**changes),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout), process.stderr


def cached_files(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "cache").rglob("*") if path.is_file())


def make_read_only(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)


@compiled_only
def test_kernels_with_addresses_of_the_process_are_not_kept(folder: Path) -> None:
    """Without optimization, numba leaves those of the kernels that a kernel calls."""
    calling = (
        KERNELS.replace("def add", "def plain")
        + """
@kernel
def add(a, b):
    return plain(a, b)
"""
    )
    (folder / "kernels.py").write_text(calling, encoding="utf8")
    for _ in range(2):
        assert call(folder, NUMBA_OPT="0")[0] == [3, 0, 1]
    assert [call(folder)[0] for _ in range(2)] == [[3, 0, 1], [3, 1, 0]]


@compiled_only
def test_the_first_process_compiles_and_says_so_and_the_second_does_not(folder: Path) -> None:
    result, log = call(folder)
    assert result == [3, 0, 1]
    assert "compiling kernels for their first use" in log
    assert str(folder / "cache") in log
    assert "python -m spacy ssvm warmup" in log
    assert call(folder) == ([3, 1, 0], "")


@compiled_only
@pytest.mark.parametrize(
    "value",
    ["hash(str(a))", "len({a: b})", "len({a})", "np.linalg.det(x)", "np.dot(x, x)[0, 0]"],
    ids=["hash", "dict", "set", "linalg", "dot"],
)
def test_kernels_that_call_numbas_library_are_found_again(folder: Path, value: str) -> None:
    source = KERNELS.replace("a + b", f"a + b + 0 * {value}")
    source = source.replace("    return", "    x = np.ones((1, 1))\n    return")
    (folder / "kernels.py").write_text(f"import numpy as np\n{source}", encoding="utf8")
    for hits in (0, 1):
        assert call(folder)[0] == [3, hits, 1 - hits]


IMPORTED = """
import json, sys, kernels
kernels.add(1, 2)
print(json.dumps([name in sys.modules for name in ("numba.np.arrayobj", "scipy.linalg")]))
"""


@compiled_only
def test_kernels_that_call_functions_of_numpy_load_without_their_modules(folder: Path) -> None:
    source = KERNELS.replace("a + b", "a + b + 0 * int(np.ones(2).max())")
    (folder / "kernels.py").write_text(f"import numpy as np\n{source}", encoding="utf8")
    assert call(folder, IMPORTED)[0] == [True, True]
    assert call(folder, IMPORTED)[0] == [False, False]


CALLING = (
    KERNELS
    + """
@kernel
def add_twice(a, b):
    return add(add(a, b), b)
"""
)


@compiled_only
@pytest.mark.parametrize("calls", [["add"], ["add", "add_twice"]])
def test_kernels_link_what_was_loaded(folder: Path, calls: list[str]) -> None:
    """The second process has not compiled what the last kernel calls."""
    (folder / "kernels.py").write_text(CALLING, encoding="utf8")
    source = "import json, kernels\nprint(json.dumps([{}]))"
    for called in (calls, ["add", "add_twice"]):
        results = ", ".join(f"kernels.{name}(1, 2)" for name in called)
        assert call(folder, source.format(results))[0] == [3, 5][: len(called)]


@compiled_only
def test_errors_of_what_a_kernel_calls_keep_their_arguments(folder: Path) -> None:
    raising = KERNELS.replace("def add", "def plain").replace(
        "return a + b", "raise ValueError(a, b)"
    )
    raising += "\n@kernel\ndef add(a, b):\n    return plain(a, b)\n"
    (folder / "kernels.py").write_text(raising, encoding="utf8")
    source = """
import json, kernels
try:
    kernels.add(1, 2)
except ValueError as error:
    print(json.dumps(error.args))
"""
    for _ in range(2):
        assert call(folder, source)[0] == [1, 2]


@compiled_only
def test_sources_that_change_before_the_first_call_spoil_no_kernel(folder: Path) -> None:
    """As where a newer version is installed while a server runs."""
    called = folder / PACKAGE.name / "called.py"
    called.write_text(KERNELS.replace("def add", "def plain"), encoding="utf8")
    source = KERNELS.replace("a + b", "plain(a, b)")
    imports = "from spacy_ssvm.called import plain"
    (folder / "kernels.py").write_text(f"{imports}\n{source}", encoding="utf8")
    edit = """
import json, pathlib, kernels, spacy_ssvm.called
file = pathlib.Path(spacy_ssvm.called.__file__)
file.write_text(file.read_text().replace("a + b", "a - b  # edited"))
print(json.dumps(kernels.add(1, 2)))
"""
    assert call(folder, edit)[0] == 3
    assert call(folder)[0] == [-1, 0, 1]


@compiled_only
def test_kernels_are_loaded_without_the_library_of_numba(
    trained_tagger: Language, tmp_path: Path, run_script: ScriptRunner
) -> None:
    """It takes longer to set up than all else for the first text."""
    trained_tagger.to_disk(tmp_path / "tagger")
    source = f"{ANNOTATE}print('numba.np.polynomial.polynomial_functions' in sys.modules)"
    for needs_library in ("True", "False"):
        output = run_script(
            source,
            tmp_path / "tagger",
            NUMBA_CACHE_DIR=str(tmp_path),
            NUMBA_DISABLE_JIT=None,
            NUMBA_OPT="2",  # the folder of the package may hold kernels of the usual level
        )
        assert output.split()[-1] == needs_library


@compiled_only
def test_processes_that_save_at_once_lose_no_kernels(folder: Path) -> None:
    """Each compiles the same kernel for other types, so that all change one index."""
    values = [
        "1",
        "1.0",
        "1j",
        "True",
        "np.int32(1)",
        "np.float32(1)",
        "np.int8(1)",
        "np.uint16(1)",
    ]
    script = """
import sys, time, json
import numpy as np
import kernels
kernels.add(1, 2)
time.sleep(max(float(sys.argv[1]) - time.time(), 0))
for value in sys.argv[2:]:
    kernels.add(eval(value), eval(value))
print(json.dumps(sum(kernels.add.dispatcher.stats.cache_misses.values())))
"""
    environ = environment(NUMBA_CACHE_DIR=str(folder / "cache"))

    def start(at: float, values: list[str]) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", script, str(at), *values]
        return subprocess.Popen(command, env=environ, cwd=folder, stdout=subprocess.PIPE, text=True)

    start(0.0, []).communicate()
    at = time.time() + 4.0
    for process in [start(at, values[first::4]) for first in range(4)]:
        process.communicate()
        assert process.returncode == 0
    assert json.loads(start(0.0, values).communicate()[0]) == 0


LOG = "import logging; logging.basicConfig(level=logging.DEBUG)"

STRUCTURE = """
from typing import NamedTuple
import numpy as np
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Ints, Ints1, named_tuple
from spacy_ssvm.objective import HINGE, losses
from spacy_ssvm.structure import Structure

class Examples(NamedTuple):
    costs: Ints

@kernel
def decode(examples, i, w, gamma, complete):
    return np.zeros(1, dtype=np.int64), float(examples.costs[i]), False

@kernel
def difference(examples, i, y, indices, values):
    return 0

class Problem:
    structure = Structure(named_tuple(Examples, Ints1), decode, difference)
    max_entries = 1

    def examples(self):
        return Examples(np.arange(3))

print(losses(Problem(), np.zeros(1), np.arange(3), HINGE).tolist())
"""


def test_a_structure_of_another_module_leaves_kernels_readable(folder: Path) -> None:
    """Its types cannot be unpickled where the module is missing."""
    environ = environment(NUMBA_CACHE_DIR=str(folder / "cache"), PYTHONPATH=str(folder))
    compiled = []
    for module in ("one", "two", "one"):
        (folder / f"{module}.py").write_text(STRUCTURE, encoding="utf8")
        command = [sys.executable, "-c", f"{LOG}; import {module}"]
        process = subprocess.run(
            command, env=environ, cwd=folder, capture_output=True, text=True, check=True
        )
        assert process.stdout == "[0.0, 1.0, 2.0]\n"
        compiled.append("compiling _max_violations" in process.stderr)
        (folder / f"{module}.py").unlink()
    assert compiled == [True, True, False]


def test_a_cache_that_can_only_be_read_is_read(folder: Path) -> None:
    call(folder)
    files = cached_files(folder)
    make_read_only(folder / "cache")
    assert call(folder, command=bound_by_permissions()) == ([3, 1, 0], "")
    assert cached_files(folder) == files


@compiled_only
def test_without_a_folder_to_write_kernels_are_compiled(folder: Path) -> None:
    (folder / "cache").touch()  # no folder can be made of it
    own_cache(folder).mkdir(parents=True)
    own_cache(folder).chmod(0o555)
    result, log = call(folder, command=bound_by_permissions())
    assert result == [3, 0, 1]
    assert "set NUMBA_CACHE_DIR to one that can" in log


@compiled_only
@pytest.mark.parametrize("size", [0, 1, 0.5, 0.99])
def test_truncated_files_are_written_again(folder: Path, size: float) -> None:
    call(folder)
    for file in cached_files(folder):
        data = file.read_bytes()
        file.write_bytes(data[: int(size if size in (0, 1) else size * len(data))])
    assert call(folder)[0] == [3, 0, 1]
    assert call(folder)[0] == [3, 1, 0]


@compiled_only
def test_files_of_other_programs_are_written_again(folder: Path) -> None:
    call(folder)
    for file in cached_files(folder):
        file.write_bytes(b"(lp0\nno pickle at all")
    assert call(folder)[0] == [3, 0, 1]
    assert call(folder)[0] == [3, 1, 0]


KERNELS_AT_ONCE = 25

CALL_ALL = """
import json, kernels
found = [value for name, value in sorted(vars(kernels).items()) if name.startswith("add")]
results = {kernel(1, 2) for kernel in found}
misses = sum(sum(kernel.dispatcher.stats.cache_misses.values()) for kernel in found)
print(json.dumps([*results, len(found), misses]))
"""


def many_kernels(folder: Path) -> None:
    """Write a module of several kernels."""
    first, _, definition = KERNELS.partition("@kernel")
    copies = (definition.replace("add", f"add{n}") for n in range(KERNELS_AT_ONCE))
    source = first + "".join(f"\n@kernel{copy}" for copy in copies)
    (folder / "kernels.py").write_text(source, encoding="utf8")


@compiled_only
def test_of_a_hundred_changed_bits_none_is_run(folder: Path) -> None:
    """In machine code it would be a crash, in an index a version for other types."""
    many_kernels(folder)
    assert call(folder, CALL_ALL)[0] == [3, KERNELS_AT_ONCE, KERNELS_AT_ONCE]
    draw = random.Random(0)
    for _ in range(100 // KERNELS_AT_ONCE):
        for index in (folder / "cache").rglob("*.nbi"):
            (version,) = index.parent.glob(f"{index.stem}.*.nbc")
            file = draw.choice([index, version, version])
            data = bytearray(file.read_bytes())
            data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
            file.write_bytes(data)
        assert call(folder, CALL_ALL)[0] == [3, KERNELS_AT_ONCE, KERNELS_AT_ONCE]
    assert call(folder, CALL_ALL)[0] == [3, KERNELS_AT_ONCE, 0]


@compiled_only
def test_kills_while_kernels_are_compiled_leave_none_that_is_not_whole(folder: Path) -> None:
    """As of ``warmup``."""
    many_kernels(folder)
    draw = random.Random(0)
    for _ in range(4):
        process = subprocess.Popen(
            [sys.executable, "-c", f"{CALL_ALL}print(flush=True)\nimport time; time.sleep(60)"],
            env=environment(NUMBA_CACHE_DIR=str(folder / "cache")),
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        seen = len(cached_files(folder))
        wanted = seen + draw.randrange(1, 16)
        while process.poll() is None and seen < min(wanted, 2 * KERNELS_AT_ONCE):
            seen = len(cached_files(folder))
        process.kill()
        process.wait()
    (value, number, misses), _ = call(folder, CALL_ALL)
    assert (value, number) == (3, KERNELS_AT_ONCE)
    assert misses < KERNELS_AT_ONCE, "what was whole is used"
    assert call(folder, CALL_ALL)[0] == [3, KERNELS_AT_ONCE, 0]


@compiled_only
@pytest.mark.parametrize("own", [False, True], ids=["set", "own"])
def test_two_versions_of_numba_share_a_folder(folder: Path, own: bool) -> None:
    other = f"import numba\nnumba.__version__ = '0.1.0'\n{CALL}"
    changes = {"NUMBA_CACHE_DIR": None} if own else {}
    for hits in (0, 1):
        for source in (CALL, other):
            assert call(folder, source, **changes)[0] == [3, hits, 1 - hits]
    assert own_cache(folder).exists() == own


@compiled_only
def test_what_a_killed_process_has_left_goes(folder: Path) -> None:
    call(folder)
    (index,) = (folder / "cache").rglob("*.nbi")
    left = index.with_name(f"{index.name}.tmp.1a2b"), index.with_name(f"{index.stem}.5e6f.nbc")
    for file in left:
        file.touch()
    files = cached_files(folder)
    assert call(folder)[0] == [3, 1, 0]
    assert cached_files(folder) == files, "what is found is not written"
    index.unlink()
    assert call(folder)[0] == [3, 0, 1]
    assert len(cached_files(folder)) == 2


@compiled_only
def test_a_folder_that_stays_locked_keeps_no_kernels(folder: Path) -> None:
    impatient = f"from spacy_ssvm.kernels import cache\ncache._PATIENCE = 0.1\n{CALL}"
    call(folder)
    for file in cached_files(folder):
        file.unlink()
    (own,) = (folder / "cache" / "spacy_ssvm").iterdir()
    own_cache(folder).mkdir(parents=True)
    with locked(own, 0), locked(own_cache(folder), 0):
        assert call(folder, impatient)[0] == [3, 0, 1]
    assert cached_files(folder) == []


@compiled_only
def test_what_the_package_holds_is_copied_into_the_folder_that_is_set(folder: Path) -> None:
    home = str(folder / "home")
    result, _ = call(folder, NUMBA_CACHE_DIR=None, HOME=home, XDG_CACHE_HOME=None)
    assert result == [3, 0, 1]
    assert list(own_cache(folder).iterdir()), "the package's folder comes before the user's"
    assert call(folder)[0] == [3, 1, 0]
    shutil.rmtree(own_cache(folder))
    assert call(folder)[0] == [3, 1, 0]


@compiled_only
def test_a_change_of_the_source_is_noticed_and_old_kernels_go(folder: Path) -> None:
    call(folder)
    (old,) = (folder / "cache" / "spacy_ssvm").iterdir()
    long_ago = time.time() - 40 * 24 * 3600
    os.utime(old, (long_ago, long_ago))
    # Python reads its old bytecode if a source has the same second and length.
    edited = KERNELS.replace("a + b", "a - b  # edited")
    (folder / "kernels.py").write_text(edited, encoding="utf8")
    assert call(folder)[0] == [-1, 0, 1]
    (new,) = (folder / "cache" / "spacy_ssvm").iterdir()
    assert new != old
    (folder / "kernels.py").write_text(KERNELS, encoding="utf8")
    assert call(folder)[0] == [3, 0, 1]
    assert new.exists(), "another installation may use what is younger"


@compiled_only
def test_kernels_with_bounds_checks_are_kept_apart(folder: Path) -> None:
    assert call(folder)[0] == [3, 0, 1]
    assert call(folder, NUMBA_BOUNDSCHECK="1")[0] == [3, 0, 1]
    assert call(folder, NUMBA_BOUNDSCHECK="1")[0] == [3, 1, 0]
    assert call(folder)[0] == [3, 1, 0]


@pytest.fixture
def digest(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The digest of a module of a copy of the package, which is the fixture's folder."""
    with tempfile.TemporaryDirectory() as name:
        copy = copy_package(Path(name))
        monkeypatch.setattr(folders, "PACKAGE", copy)

        def of_module(module: str) -> str:
            folders.sources_digest.cache_clear()
            folders._source.cache_clear()
            return folders.sources_digest(str(copy / module))

        of_module.folder = copy  # type: ignore[attr-defined]
        yield of_module
    folders.sources_digest.cache_clear()
    folders._source.cache_clear()


@compiled_only
def test_an_edit_concerns_the_kernels_that_depend_on_it(digest: Any) -> None:
    modules = ["decoders/chain.py", "chains/oracle.py", "chains/inference.py", "decoders/tree.py"]
    before = [digest(module) for module in modules]
    for edited, changes in [
        ("cli/data.py", [False] * 4),
        ("components/tagger.py", [False] * 4),
        ("decoders/tree.py", [False, False, False, True]),
        ("decoders/chain.py", [True, True, True, False]),
        ("kernels/compile.py", [True] * 4),
        ("kernels/linking.py", [True] * 4),
    ]:
        file = digest.folder / edited
        source = file.read_text(encoding="utf8")
        file.write_text(f"{source}\n# edited\n", encoding="utf8")
        found = [digest(module) for module in modules]
        assert [a != b for a, b in zip(before, found, strict=True)] == changes, edited
        file.write_text(source, encoding="utf8")
    assert [digest(module) for module in modules] == before


@compiled_only
def test_a_digest_covers_all_that_a_module_has_imported(digest: Any) -> None:
    """Whatever the form of the import: seen from a process that runs it."""
    loaded = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, spacy_ssvm.trees.problem; print(*sys.modules, sep='\\n')",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    found, waiting = set(), [digest.folder / "trees/problem.py"]
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            waiting += map(Path, folders._source(str(file)).imported)
    names = {file.relative_to(digest.folder.parent).with_suffix("") for file in found}
    covered = {".".join(name.parts) for name in names}
    packages = {"spacy_ssvm", *(f"spacy_ssvm.{path.name}" for path in PACKAGE.iterdir())}
    imported = {name for name in loaded if name.startswith("spacy_ssvm.")} - packages
    assert imported <= covered
    assert len(imported) > 10
