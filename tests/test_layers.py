"""Imports go one way: who may import what, read from the sources."""

import ast
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import spacy_ssvm

PACKAGE = Path(spacy_ssvm.__file__).parent


MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


#: What each room, a folder or a file beside the folders, may import of the others.
ALLOWED = {
    "__init__.py": {"kernels"},
    "files.py": set(),
    "kernels": {"files.py"},
    "storage.py": {"files.py"},
    "explanation.py": {"files.py"},
    "penalties.py": {"kernels"},
    "decoders": {"kernels"},
    "weights": {"kernels"},
    "structure.py": {"kernels", "weights"},
    "features": {"kernels", "files.py", "storage.py", "weights"},
    "objective.py": {"kernels", "structure.py", "weights"},
    "solvers": {"kernels", "objective.py", "penalties.py", "structure.py", "weights"},
    "selection.py": {"kernels", "features", "solvers", "structure.py"},
    "models.py": {"features", "kernels", "solvers", "storage.py", "structure.py"},
    "labelings": {
        "kernels",
        "features",
        "solvers",
        "storage.py",
        "weights",
    },
    "chains": {
        "kernels",
        "decoders",
        "explanation.py",
        "features",
        "labelings",
        "selection.py",
        "solvers",
        "storage.py",
        "structure.py",
        "weights",
    },
    "trees": {
        "kernels",
        "chains",
        "decoders",
        "explanation.py",
        "features",
        "files.py",
        "labelings",
        "objective.py",
        "selection.py",
        "solvers",
        "storage.py",
        "structure.py",
        "weights",
    },
    "lattices": {
        "kernels",
        "chains",
        "decoders",
        "explanation.py",
        "features",
        "labelings",
        "selection.py",
        "storage.py",
        "structure.py",
        "weights",
    },
    "components": {
        "kernels",
        "chains",
        "explanation.py",
        "features",
        "files.py",
        "labelings",
        "lattices",
        "models.py",
        "objective.py",
        "selection.py",
        "solvers",
        "storage.py",
        "trees",
    },
    "commands": {
        "components",
        "explanation.py",
        "files.py",
    },
    "sentences": {
        "kernels",
        "chains",
        "components",
        "decoders",
        "explanation.py",
        "features",
        "files.py",
        "labelings",
        "selection.py",
        "solvers",
        "storage.py",
        "structure.py",
        "weights",
    },
    "tokenizer": {
        "kernels",
        "chains",
        "components",
        "decoders",
        "explanation.py",
        "features",
        "labelings",
        "solvers",
        "storage.py",
        "weights",
    },
    "align": {
        "kernels",
        "commands",
        "components",
        "explanation.py",
        "features",
        "files.py",
        "selection.py",
        "solvers",
        "storage.py",
        "structure.py",
        "weights",
    },
    "lab": {
        "kernels",
        "align",
        "chains",
        "commands",
        "components",
        "decoders",
        "files.py",
        "objective.py",
        "selection.py",
        "sentences",
        "solvers",
        "structure.py",
        "trees",
        "weights",
    },
    "distributed": {
        "kernels",
        "components",
        "features",
        "files.py",
        "labelings",
        "solvers",
        "structure.py",
        "trees",
        "weights",
    },
    "factories.py": {"align", "components", "sentences"},
    "cli": {
        "kernels",
        "align",
        "commands",
        "components",
        "distributed",
        "files.py",
        "lab",
    },
}
#: Rooms that the core does not import: they meet it through entry points, and in ROOTS.
SLICES = {"align", "distributed", "lab", "sentences", "tokenizer"}
ROOTS = {"cli", "factories.py"}
MAX_ARROWS = 84  #: between rooms of the core


#: What a tagger does without: it is not even imported.
NOT_FOR_TAGS = {"lattices", "selection.py", "trees", *SLICES}
MAX_MODULES_FOR_TAGS = 77

_IMPORT_TAGGER = """
import sys, spacy_ssvm.components.tagger
print(*(name for name in sys.modules if name.split(".")[0] == "spacy_ssvm"))
"""


@cache
def tree(module: str) -> ast.Module:
    return ast.parse((PACKAGE / module).read_text(encoding="utf8"))


@cache
def imports(module: str) -> set[str]:
    """The dotted names that a module imports, wherever in it, with what it takes from them."""
    names = set()
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} has a relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def imports_any(module: str, *packages: str) -> set[str]:
    """What a module imports of some packages."""
    return {
        name for name in imports(module) for p in packages if name == p or name.startswith(f"{p}.")
    }


def test_every_module_has_a_docstring():
    assert not [module for module in MODULES if not ast.get_docstring(tree(module))]


def test_progress_bars_are_for_terminals():
    """Not for files and pipes, where each of their lines stays."""
    bars = [
        (module, ast.unparse(node))
        for module in MODULES
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "tqdm"
    ]
    assert bars
    assert not [bar for bar in bars if "disable=None" not in bar[1]]


def room(module: str) -> str:
    """The room of a path inside the package."""
    return module.split("/")[0]


def rooms_imported(module: str) -> set[str]:
    """The other rooms that a module imports from."""
    found = set()
    for name in imports_any(module, "spacy_ssvm"):
        first = name.split(".")[1]
        found.add(first if (PACKAGE / first).is_dir() else f"{first}.py")
    return {name for name in found if name in ALLOWED} - {room(module)}


def test_a_module_imports_what_its_room_may():
    found = {module: rooms_imported(module) - ALLOWED[room(module)] for module in MODULES}
    assert not {module: rooms for module, rooms in found.items() if rooms}


def test_the_list_of_imports_names_no_more_than_there_are():
    found: dict[str, set[str]] = {name: set() for name in ALLOWED}
    for module in MODULES:
        found[room(module)] |= rooms_imported(module)
    assert found == ALLOWED
    core = ALLOWED.keys() - SLICES - ROOTS
    assert sum(len(ALLOWED[name]) for name in core) <= MAX_ARROWS


def test_rooms_import_each_other_in_one_direction():
    tuple(TopologicalSorter(ALLOWED).static_order())  # raises CycleError where there is a cycle


def test_the_core_knows_no_slice():
    knowing = {name for name, others in ALLOWED.items() if others & SLICES}
    assert knowing == {*ROOTS, "lab"}  # which compares what other slices have


def test_numba_and_spacy_stay_where_they_belong():
    with_spacy = {"features/attributes.py", "features/reals.py", "features/text_hash.py"}
    rooms_with_spacy = {"cli", "components", "commands", "factories.py", *SLICES}
    assert {room(module) for module in MODULES if imports_any(module, "numba")} == {"kernels"}
    found = {module for module in MODULES if imports_any(module, "spacy")}
    assert {module for module in found if room(module) not in rooms_with_spacy} == with_spacy


def test_a_tagger_imports_little():
    command = [sys.executable, "-c", _IMPORT_TAGGER]
    modules = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    rooms = {name.split(".")[1] for name in modules if "." in name}
    assert not {name for name in rooms if {name, f"{name}.py"} & NOT_FOR_TAGS}
    assert "components" in rooms
    assert len(modules) <= MAX_MODULES_FOR_TAGS
