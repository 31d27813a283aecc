"""Imports go one way: who may import what, read from the sources."""

import ast
from pathlib import Path

import pytest

import spacy_ssvm

PACKAGE = Path(spacy_ssvm.__file__).parent
MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
ENTRANCES = {"factories.py", "cli.py"}


def tree(module: str) -> ast.Module:
    return ast.parse((PACKAGE / module).read_text(encoding="utf8"))


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


@pytest.mark.parametrize("module", MODULES)
def test_every_module_has_a_docstring(module):
    assert ast.get_docstring(tree(module))


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_one_way(module):
    room = module.split("/")[0]
    if module not in {"_jit.py", "_kernel_cache.py"}:
        assert not imports_any(module, "numba")
    if module != "features/attributes.py" and room not in {"components", *ENTRANCES}:
        assert not imports_any(module, "spacy")
    if room not in {"components", *ENTRANCES}:
        assert not imports_any(module, "spacy_ssvm.components")
    if room == "decoders":
        allowed = imports_any(module, "spacy_ssvm._jit", "spacy_ssvm.decoders")
        assert imports_any(module, "spacy_ssvm") == allowed
    if room == "solvers":
        rooms = ("chains", "decoders", "components", "features", "trees")
        assert not imports_any(module, *(f"spacy_ssvm.{name}" for name in rooms))


def test_the_rules_are_about_modules_that_exist():
    rooms = {module.split("/")[0] for module in MODULES}
    assert {
        "chains",
        "trees",
        "decoders",
        "solvers",
        "features",
        "components",
        "factories.py",
    } <= rooms
