"""The entry points of the package, for spaCy's registries.

spaCy imports this file in every process that makes a pipeline, whether it uses us or
not: it imports nothing but spaCy's own modules, and the rest inside the functions.
"""

from collections.abc import Callable
from typing import Any

from spacy.language import Language

DEFAULT_SOLVER = {"@misc": "spacy_ssvm.DualCoordinateDescent.v1"}


@Language.factory(
    "ssvm_tagger",
    assigns=["token.tag"],
    default_config={
        "attribute": "TAG",
        "templates": ["tagger"],
        "min_count": 1,
        "hash_bits": None,
        "costs": {},
        "solver": DEFAULT_SOLVER,
        "overwrite": False,
        "scorer": {"@scorers": "spacy_ssvm.tagger_scorer.v1"},
    },
    default_score_weights={"tag_acc": 1.0, "pos_acc": None},
)
def make_tagger(
    nlp: Language,
    name: str,
    attribute: str,
    templates: list[str],
    min_count: int,
    hash_bits: int | None,
    costs: dict[str, dict[str, float]],
    solver: Any,
    overwrite: bool,
    scorer: Callable[..., Any] | None,
) -> Any:
    """Make a part-of-speech tagger.

    attribute: "TAG" (fine-grained tags) or "POS" (universal ones): what is written.
    templates: feature templates and families, see docs/templates.md.
    min_count: features that occur less often are left out.
    hash_bits: None for an exact feature dictionary, else the features share 2**hash_bits
        rows: bounded memory, at the price of collisions.
    costs: the cost of a wrong label, {gold: {predicted: cost}}; 1 where not given.
    solver: the learner.
    overwrite: whether to replace tags that a Doc has already.
    scorer: how ``spacy evaluate`` scores the component.
    """
    from spacy_ssvm.components.settings import check_rows, config_error, read_templates
    from spacy_ssvm.components.tagger import ATTRIBUTES, Tagger
    from spacy_ssvm.decoders.chain import viterbi
    from spacy_ssvm.model import Model

    if attribute not in ATTRIBUTES:
        raise config_error(name, "attribute", f"'{attribute}': choose {' or '.join(ATTRIBUTES)}")
    check_rows(name, min_count, hash_bits)
    return Tagger(
        nlp.vocab,
        Model(read_templates(name, templates), decoder=viterbi),
        name,
        solver=solver,
        min_count=min_count,
        hash_bits=hash_bits,
        costs=costs,
        scorer=scorer,
        attribute=attribute,
        overwrite=overwrite,
    )


def make_dual_coordinate_descent(
    C: float = 0.1,
    variant: str = "ssvm",
    inner_passes: int = 5,
    delta: float = 1e-3,
    seed: int = 0,
    tolerance: float = 1e-3,
) -> Any:
    """Make the learner ``spacy_ssvm.DualCoordinateDescent.v1``: see its settings."""
    from spacy_ssvm.components.settings import solver_error
    from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent

    try:
        return DualCoordinateDescent(
            C=C,
            variant=variant,
            inner_passes=inner_passes,
            delta=delta,
            seed=seed,
            tolerance=tolerance,
        )
    except ValueError as error:
        raise solver_error("spacy_ssvm.DualCoordinateDescent.v1", str(error)) from error


def make_tagger_scorer() -> Callable[..., dict[str, Any]]:
    """Make the scorer ``spacy_ssvm.tagger_scorer.v1``: tag_acc or pos_acc."""
    from spacy_ssvm.components.tagger import tagger_score

    return tagger_score


def make_training_log(output_file: str | None = None) -> Callable[..., Any]:
    """Make the logger ``spacy_ssvm.TrainingLog.v1``.

    output_file: where to write the rows as JSON lines; None for no file.
    """
    from spacy_ssvm.components.training_log import make_training_log

    return make_training_log(output_file)
