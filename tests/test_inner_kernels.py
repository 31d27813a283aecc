"""Kernels that do not count references: they must get no arrays of their own, read from sources."""

import ast
from functools import cache
from pathlib import Path

import spacy_ssvm

PACKAGE = Path(spacy_ssvm.__file__).parent
INNER = {"inlined_kernel", "inner_kernel", "sum_kernel"}
KERNELS = {*INNER, "kernel", "outlined_kernel", "oracle_kernel"}
#: What returns no array.
SCALARS = {"abs", "bool", "float", "int", "len", "max", "min", "range"}
SCALARS |= {f"np.{name}" for name in ("exp", "int32", "int64", "int8", "float32", "float64")}
SCALARS |= {f"np.{name}" for name in ("log", "log1p", "rint", "sqrt", "uint32", "uint64")}


def kernels_of(path: Path) -> dict[str, tuple[str, ast.FunctionDef]]:
    """The kernels of a module by name: the decorator and the function."""
    found = {}
    for node in ast.parse(path.read_text(encoding="utf8")).body:
        if isinstance(node, ast.FunctionDef) and node.decorator_list:
            decorator = ast.unparse(node.decorator_list[0]).split("(")[0]
            if decorator in KERNELS:
                found[node.name] = decorator, node
    return found


@cache
def imports_of(path: Path) -> dict[str, tuple[str, str]]:
    """The module of this package, and the name there, of each name that a module imports."""
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.parse(path.read_text(encoding="utf8")).body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
        if node.module.startswith(PACKAGE.name)
    }


MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path
    for path in PACKAGE.rglob("*.py")
}
BY_MODULE = {module: kernels_of(path) for module, path in MODULES.items()}
CALLERS = [
    (module, name)
    for module, kernels in BY_MODULE.items()
    for name, (decorator, _) in kernels.items()
    if decorator in INNER
]


def is_safe(module: str, name: str) -> bool:
    """Whether a name that a module calls is known to return no array that is new."""
    if name in SCALARS:
        return True
    module, name = imports_of(MODULES[module]).get(name, (module, name))
    decorator, _ = BY_MODULE.get(module, {}).get(name, ("", None))
    # ``dequantize`` chooses among expressions of numbers.
    return decorator in INNER or (module, name) == ("spacy_ssvm.weights.quantized", "dequantize")


def unsafe_calls(module: str, name: str) -> list[str]:
    """What a kernel calls that may make arrays."""
    _, function = BY_MODULE[module][name]
    called = {ast.unparse(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}
    return sorted(name for name in called if not is_safe(module, name))


def test_inner_kernels_call_no_kernel_that_makes_arrays() -> None:
    found = {caller: calls for caller in CALLERS if (calls := unsafe_calls(*caller))}
    assert not found


def test_there_are_inner_kernels() -> None:
    names = {name for _, name in CALLERS}
    assert {"fill_keys", "add_rows", "find_token_rows", "_sum_arc"} <= names


def test_other_kernels_are_not_safe_to_call() -> None:
    assert not is_safe("spacy_ssvm.trees.inference", "score_arcs")
    assert not is_safe("spacy_ssvm.trees.scores", "short_sides")
    assert not is_safe("spacy_ssvm.trees.scores", "np.empty")
