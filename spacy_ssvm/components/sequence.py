"""Components whose model labels the tokens of a sequence: with tags, or with parts of spans."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from spacy.tokens import Doc, Token
from spacy.training import Example

from spacy_ssvm.chains.explanation import explain_label
from spacy_ssvm.chains.inference import LabelConstraints
from spacy_ssvm.chains.model import ChainModel
from spacy_ssvm.chains.probabilities import label_probabilities
from spacy_ssvm.chains.training import (
    ChainTrainer,
    LabelledTokens,
    read_labelled,
)
from spacy_ssvm.components.doc_arrays import token_index
from spacy_ssvm.components.example_cache import GoldDoc
from spacy_ssvm.components.linear import TokenPipe
from spacy_ssvm.components.settings import require_beta
from spacy_ssvm.explanation import Explanation
from spacy_ssvm.features.attributes import ByWord, TokenTable, scatter_to_tokens
from spacy_ssvm.features.resources import Resources
from spacy_ssvm.kernels.types import Floats
from spacy_ssvm.solvers.run import Solver

if TYPE_CHECKING:
    from spacy_ssvm.selection import Selector


def read_batch_of(model: ChainModel, docs: Sequence[GoldDoc]) -> LabelledTokens:
    """The sequences of Docs with their gold labels, read for a model."""
    return read_labelled(model, *map(list, zip(*docs, strict=True)))


class SequencePipe(TokenPipe[ChainModel, LabelledTokens]):
    """A component whose model gives one label to each token, be it a tag or part of a span."""

    # Overridden by subclasses

    def legality(self) -> Floats | None:
        """Which transitions between the model's labels are legal, see ``ChainProblem``."""
        return None

    def label_constraints(self, docs: Sequence[Doc], overwrite: bool) -> LabelConstraints | None:  # noqa: ARG002
        """The labels that the tokens of Docs may have; None for no constraints.

        overwrite: whether annotation that the Docs already have is ignored.
        """
        return None

    # Labels and training

    def define_model(
        self, templates: Iterable[Any], labels: Sequence[str], resources: Resources
    ) -> None:
        """See ``Pipe``. Sets the legal transitions too."""
        self.model.define(templates, labels, resources, self.legality())

    def extend_model(self, labels: Sequence[str]) -> None:
        """See ``Pipe``. Sets the legal transitions too."""
        self.model.add_labels(labels, self.legality())

    def read_batch(self, docs: Sequence[GoldDoc]) -> LabelledTokens:
        """The sequences of Docs with their gold labels."""
        return read_batch_of(self.model, docs)

    def make_trainer(self, solver: Solver) -> ChainTrainer:
        """A trainer of label sequences, without examples."""
        return ChainTrainer(self.model, solver, **self.trainer_settings())

    def trainer_of(self, model: ChainModel) -> ChainTrainer:
        """The same for another model with the same labels."""
        return ChainTrainer(model, self.solver, **self.trainer_settings())

    def trainer_settings(self) -> dict[str, Any]:
        """The settings of ``ChainTrainer``."""
        return {
            "min_count": self.min_count,
            "rows_per_template": self.rows_per_template,
            "costs": self.label_costs(),
            "legality": self.legality(),
        }

    def selector(self, examples: Sequence[Example]) -> "Selector":
        from spacy_ssvm.chains.selection import chain_selector  # which taggers rarely need

        batch = self.read_batch(self.gold_docs(examples))
        return chain_selector(self.model, batch, costs=self.label_costs(), legality=self.legality())

    # Confidence and explanations

    def marginals(self, doc: Doc, *, overwrite: bool | None = None) -> Floats:
        """The probability of each label at each token: float64 [tokens, K].

        K is the number of labels of the model, ``self.model.labels``; for spans, these are the
        labels of the scheme. Rows sum to 1; whitespace, which has no label, has zeros.
        overwrite: whether to ignore annotation that the Doc already has, by default the
            component's own setting. Otherwise that annotation is certain, even where the
            component itself has written it.
        Raises ValueError if the model was trained without probabilities.
        """
        self._require_labels()
        self._sync()
        beta = require_beta(self.name, self.model)
        constraints = self.label_constraints([doc], self._overwrites(overwrite))
        tokens = self.model.reader.read([doc])
        found = label_probabilities(self.model, tokens, beta, constraints)
        return scatter_to_tokens(found, tokens, fill=0.0)

    def _best_labels(self, doc: Doc) -> tuple[ByWord, TokenTable, Floats]:
        """See ``TokenPipe``."""
        self._require_labels()
        self._sync()
        constraints = self.label_constraints([doc], overwrite=True)
        labels, tokens = self.model.predict([doc], constraints)
        if self.model.beta is not None:
            found = label_probabilities(self.model, tokens, self.model.beta, constraints)
            return labels, tokens, found[np.arange(len(labels)), labels]
        sentences = np.arange(len(tokens.sentence_starts) - 1)
        return labels, tokens, self.model.margins(tokens, labels, sentences, constraints)

    def explain(
        self, doc: Doc, token: int | Token, *, top: int | None = None, against: str | None = None
    ) -> Explanation:
        """Explain why a token gets its label and not another one.

        token: the token, or its index in the Doc; negative indices count from the end.
        top: the number of features to show, the others summed in one row; None for all.
        against: the other label, such as the gold one; None for the runner-up.
        Raises IndexError or ValueError for a token that is not in the Doc, and ValueError for
        whitespace, which has no label, where only one label is possible, and where the token has
        the other label, or cannot have it.
        """
        self._require_labels()
        self._sync()
        i = token_index(doc, token)
        constraints = self.label_constraints([doc], overwrite=True)
        return explain_label(self.model, doc, i, constraints, top=top, against=against)

    def gold_names(self, example: Example) -> list[str]:
        """See ``TokenPipe``."""
        names = [*self.model.labels, ""]
        return [names[label] for label in self.gold_labels([example])[0].tolist()]
