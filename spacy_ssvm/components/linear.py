"""Components whose model has weights for pairs of a feature and a label."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_ssvm.chains.explanation import TokenModel, strongest_features
from spacy_ssvm.components.costs import Costs, read_costs
from spacy_ssvm.components.page import Decision, ExplainablePipe
from spacy_ssvm.components.pipe import Batch, Pipe
from spacy_ssvm.explanation import Explanation, Features, label_number
from spacy_ssvm.features.attributes import ByWord, TokenTable, scatter_to_tokens
from spacy_ssvm.kernels.types import Floats
from spacy_ssvm.labelings.linear_model import LinearModel, TemplateShare
from spacy_ssvm.labelings.training import split_rows
from spacy_ssvm.models import Trainer

if TYPE_CHECKING:
    from spacy_ssvm.selection import Selection

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


class TokenPipe(LinearPipe[LinearModelT, Batch], ExplainablePipe[str]):
    """A component whose model gives one label to each token."""

    def check_selection(self, selection: "Selection") -> None:
        """See ``Pipe``: 'features' need weights of their own, allocated on first use."""
        if selection.refit == "templates":
            return
        if self.hash_bits is not None:
            problem = "where hash_bits is set, features share weights"
        elif not self.solver.allocates:
            problem = f"{type(self.solver).__name__} needs weights for all labels"
        else:
            return
        raise self._no_refit(problem)

    def start_trainer(self) -> Trainer[Batch]:
        """See ``Pipe``. Weights that are to be refitted are the only ones."""
        trainer: Any = super().start_trainer()
        if self._support is not None and self.model.summary is None:
            trainer.restrict(self._support)
        return cast(Trainer[Batch], trainer)

    # Implemented or overridden by subclasses

    def _best_labels(self, doc: Doc) -> tuple[ByWord, TokenTable, Floats]:
        """The best label of each word, the words, and the confidence: see ``scores``."""
        raise NotImplementedError

    def gold_names(self, example: Example) -> list[str]:
        """The gold label of each predicted token, also where the model has no such label.

        "" where it is not known.
        """
        raise NotImplementedError

    def explain(
        self, doc: Doc, token: int, *, top: int | None = None, against: str | None = None
    ) -> Explanation:
        """Explain why a token gets its label and not another one, the runner-up by default."""
        raise NotImplementedError

    def columns_of_label(self, label: str) -> list[int]:
        """What has weights for a label. Raises ValueError for one that the model does not have."""
        return [label_number(self.model.labels, label)]

    # Confidence and explanations

    def scores(self, doc: Doc) -> Floats:
        """The confidence in the best label of each token: float64 [tokens].

        If the model has probabilities (see ``marginals``), the score is the probability of the
        best label. Otherwise it is the margin between the best labels of the sentence and the best
        ones with another label at this token, in units of the model's scores: comparable within a
        model, not calibrated, infinite where no other label is possible. Whitespace has 0.
        Annotation that the Doc already has is ignored; a sentence always starts at its first
        token.
        """
        _, tokens, scores = self._best_labels(doc)
        return scatter_to_tokens(scores, tokens, fill=0.0)

    def top_features(self, label: str, docs: Iterable[Doc], *, top: int = 20) -> Features:
        """The features that speak most for or against a label, of those that Docs have.

        label: one of ``self.model.labels``; of a component whose labels have parts, such as
            Case=Acc, also a part; of a component that finds spans, also a type, such as PER.
        docs: texts whose features are looked at, such as some of the training corpus, as earlier
            components have annotated them.
        top: how many features to return.
        Raises ValueError for a label that the model does not have.
        """
        self._require_labels()
        self._sync()
        model = cast(TokenModel, self.model)
        return strongest_features(model, list(docs), label, self.columns_of_label(label), top)

    def explain_against(
        self, doc: Doc, decision: Decision[str], against: str | None, *, top: int | None
    ) -> Explanation:
        return self.explain(doc, decision.start, top=top, against=against)

    def decisions(self, doc: Doc, reference: Doc | None = None) -> list[Decision[str]]:
        """The best label of each word, one of ``self.model.labels``, beside the gold one.

        Annotation that the Doc already has is ignored, as in ``scores`` and ``explain``.
        """
        labels, tokens, scores = self._best_labels(doc)
        gold = [""] * len(doc)
        if reference is not None and len(doc):
            gold = self.gold_names(Example(doc, reference))
        words = tokens.positions.tolist(), labels.tolist(), scores.tolist()
        return [
            Decision(i, i + 1, self.model.labels[label], gold[i] or None, score)
            for i, label, score in zip(*words, strict=True)
        ]
