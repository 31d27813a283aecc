"""Every module of the package has a test file of its name."""

from pathlib import Path

import pytest
from processes import TESTS

import spacy_ssvm

PACKAGE = Path(spacy_ssvm.__file__).parent
MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))

#: Modules that others' tests cover: layouts, what has no behaviour of its own, and glue.
COVERED_ELSEWHERE = {
    "chains/layout.py": "chains/test_problem.py",
    "commands/cli/common.py": "commands/test_cli.py",
    "commands/cli/data.py": "commands/conversion/test_convert.py",
    "commands/cli/experiments.py": "commands/test_compare.py",
    "commands/cli/further.py": "commands/quickstart/test_continuing.py",
    "commands/cli/inspection.py": "commands/test_render.py",
    "commands/cli/production.py": "commands/test_align.py",
    "commands/cli/training.py": "commands/quickstart/test_training.py",
    "cuts/layout.py": "cuts/test_problem.py",
    "chains/linear_model.py": "chains/test_model.py",
    "components/costs.py": "components/test_sequence.py",
    "components/linear.py": "components/test_sequence.py",
    "matchings/families.py": "matchings/test_templates.py",
    "matchings/layout.py": "matchings/test_problem.py",
    "matchings/model.py": "matchings/test_inference.py",
    "components/training_log.py": "commands/test_report.py",
    "features/coordinates.py": "trees/test_nodes.py",
    "features/text_hash.py": "features/test_extraction.py",
    "solvers/training.py": "chains/test_training.py",
    "solvers/summary.py": "components/test_serialization.py",
    "components/confidence.py": "test_explanation.py",
    "components/alignment.py": "components/test_tagger.py",
    "trees/saved_model.py": "chains/test_saved_model.py",
    "weights/dense.py": "solvers/test_prox_gradient.py",
    "weights/groups.py": "solvers/test_prox_gradient.py",
    "structure.py": "solvers/test_run.py",
    "trees/layout.py": "trees/test_problem.py",
    "trees/model.py": "components/test_parser.py",
    "weights/growing.py": "chains/test_problem.py",
}


def file_of_tests(module: str) -> str:
    """The test file of a module, both as paths with slashes."""
    folder, _, name = module.rpartition("/")
    test = f"test_{name.lstrip('_')}"
    return f"{folder}/{test}" if folder else test


@pytest.mark.parametrize("module", [m for m in MODULES if not m.endswith("__init__.py")])
def test_a_module_has_tests(module: str) -> None:
    assert (TESTS / COVERED_ELSEWHERE.get(module, file_of_tests(module))).is_file()


def test_modules_that_are_covered_elsewhere_have_no_tests_of_their_own() -> None:
    assert set(COVERED_ELSEWHERE) <= set(MODULES)
    assert not [module for module in COVERED_ELSEWHERE if (TESTS / file_of_tests(module)).is_file()]
