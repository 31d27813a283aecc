"""Components whose model has weights for pairs of a feature and a label."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from spacy.vocab import Vocab

from spacy_ssvm.components.costs import Costs, read_costs
from spacy_ssvm.components.pipe import Batch, Pipe
from spacy_ssvm.kernels.types import Floats
from spacy_ssvm.labelings.linear_model import LinearModel, TemplateShare
from spacy_ssvm.labelings.training import split_rows

if TYPE_CHECKING:
    pass

LinearModelT = TypeVar("LinearModelT", bound=LinearModel)


class LinearPipe(Pipe[LinearModelT, Batch]):
    """A component whose model gives labels to tokens, or to other units of a Doc.

    vocab, model, name, settings: see ``Pipe``.
    min_count: see ``FeatureIndex``. hash_bits: see ``split_rows``.
    costs: the cost of predicting a label where another is right, {gold: {predicted:
        cost}}; "*" matches every label, later pairs override earlier ones, and pairs not named
        cost 1.
    """

    def __init__(
        self,
        vocab: Vocab,
        model: LinearModelT,
        name: str,
        *,
        min_count: int,
        hash_bits: int | None,
        costs: Costs,
        **settings: Any,
    ) -> None:
        super().__init__(vocab, model, name, **settings)
        self.min_count = min_count
        self.hash_bits = hash_bits
        self.costs = costs

    def cost_classes(self) -> Sequence[str]:
        """The name in ``costs`` of each label of the model."""
        return self.model.labels

    def label_costs(self) -> Floats:
        """The configured costs as float64 [K, K], by label of the model.

        Raises ConfigValidationError for labels that do not exist, and invalid costs.
        """
        return read_costs(self.name, self.costs, self.cost_classes())

    def check_settings(self) -> None:
        """Raise ConfigValidationError for costs that do not fit the labels."""
        self.label_costs()

    @property
    def rows_per_template(self) -> int:
        """The hashed rows of each template; 0 for no hashing."""
        return split_rows(self.hash_bits, len(self.model.templates))

    def templates_report(self) -> tuple[TemplateShare, ...]:
        """The weights of each template of the trained model, the largest share first."""
        self._sync()
        return self.model.template_shares()
