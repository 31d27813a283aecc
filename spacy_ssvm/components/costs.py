"""The costs of wrong labels, as configs give them."""

from collections.abc import Sequence

import numpy as np

from spacy_ssvm.chains.problem import hamming_costs
from spacy_ssvm.components.settings import config_error
from spacy_ssvm.kernels.types import Flags, Floats

Costs = dict[str, dict[str, float]]

MAX_COST = 1e6  #: weights grow with costs, and are kept in float32
WILDCARD = "*"  #: matches every label in costs


def read_costs(name: str, costs: Costs, labels: Sequence[str]) -> Floats:
    """The configured costs as float64 [K, K], by gold and predicted label.

    name: of the component. labels: the name in ``costs`` of each label of the model.
    Raises ConfigValidationError for labels that do not exist, and invalid costs.
    """
    found = hamming_costs(len(labels))
    classes = np.array(labels, dtype=object)
    wrong = ~np.eye(len(classes), dtype=bool)
    for gold, row in costs.items():
        for predicted, value in row.items():
            cells = wrong & np.outer(
                _matching(name, classes, gold), _matching(name, classes, predicted)
            )
            if not (0 <= value <= MAX_COST and (cells.any() or value == 0)):
                raise config_error(
                    name,
                    "costs",
                    f"{name}: the cost of predicting '{predicted}' for '{gold}' is "
                    f"{value}: costs are numbers, at least 0 and at most {MAX_COST:g}, and 0 for "
                    "the right label",
                )
            found[cells] = value
    return found


def _matching(name: str, classes: np.ndarray, label: str) -> Flags:
    """Which labels of the model a name in ``costs`` matches: bool [K]."""
    if label not in (*classes, WILDCARD):
        raise config_error(
            name,
            "costs",
            f"{name}: costs name the label '{label}', which does not exist. Labels: "
            f"{', '.join(dict.fromkeys(classes))}; '{WILDCARD}' for all",
        )
    return np.asarray((classes == label) | (label == WILDCARD))
