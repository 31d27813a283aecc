"""Components whose model chooses a label with parts among the candidates of each token."""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc, Token
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_ssvm.components.doc_arrays import token_index
from spacy_ssvm.components.example_cache import DOCS_AT_A_TIME, GoldDoc
from spacy_ssvm.components.initialization import annotation_before
from spacy_ssvm.components.linear import TokenPipe
from spacy_ssvm.components.settings import (
    check_rows,
    check_selection,
    read_token_templates,
    require_beta,
)
from spacy_ssvm.explanation import Explanation, label_number
from spacy_ssvm.features.attributes import (
    ByWord,
    TokenTable,
    base_attribute,
    scatter_to_tokens,
)
from spacy_ssvm.kernels.types import Floats, Ints, Keys
from spacy_ssvm.lattices.explanation import explain_label
from spacy_ssvm.lattices.model import Annotation, LatticeModel, annotation_read
from spacy_ssvm.lattices.training import (
    AnnotatedTokens,
    LatticeTrainer,
    learn_candidates,
    read_annotated,
)
from spacy_ssvm.solvers.run import Solver

if TYPE_CHECKING:
    from spacy_ssvm.selection import Selection, Selector


class LatticePipe(TokenPipe[LatticeModel, AnnotatedTokens]):
    """A component whose model gives one label to each token, by the label's parts.

    candidates: whether words have only the labels that the corpus suggests for them.
    settings: see ``LinearPipe``.
    """

    def __init__(
        self, vocab: Vocab, model: LatticeModel, name: str, *, candidates: bool, **settings: Any
    ) -> None:
        super().__init__(vocab, model, name, costs={}, **settings)
        self.candidates = candidates

    # Implemented by subclasses

    def views(self) -> Ints:
        """What the labels mean for annotation: int64 [K, V], see ``Annotation``."""
        raise NotImplementedError

    # Training

    @property
    def compares_all_labels(self) -> bool:
        return not self.candidates

    def check_settings(self) -> None:
        """Nothing to check: each wrong label costs 1."""

    def inputs_of(self, example: Example, *, with_reals: bool) -> Keys:
        """The inputs of the features of a predicted Doc in training, see ``AttributeReader``."""
        return self.model.reader.inputs(example.predicted, with_reals=with_reals)

    def read_inputs(self, example: Example) -> Keys:
        """See ``Pipe``."""
        return self.inputs_of(example, with_reals=True)

    def read_batch(self, docs: Sequence[GoldDoc]) -> AnnotatedTokens:
        """The words of Docs with their gold annotation."""
        of_docs, gold, inputs = map(list, zip(*docs, strict=True))
        return read_annotated(self.model, of_docs, gold, inputs, self.views())

    def make_trainer(self, solver: Solver) -> LatticeTrainer:
        """A trainer of the model, without examples."""
        rows = self.rows_per_template
        return LatticeTrainer(self.model, solver, min_count=self.min_count, rows_per_template=rows)

    def learn_first_pass(
        self,
        get_examples: Callable[[], Iterable[Example]],
        nlp: Language | None,
    ) -> None:
        """Learn the candidates of words."""
        names = annotation_read(self.model.templates, self.model.scheme)
        if nlp is not None and names:
            before = annotation_before(nlp, self)
            names = [name for name in names if base_attribute(name) in before]
        self.model.given = tuple(names)  # may be taken from references, see ``read_inputs``
        if self.candidates:
            learn_candidates(self.model, self._annotated(get_examples()))

    def prepare_selection(self, examples: list[Example], nlp: Language | None) -> None:
        """Learn the candidates of words, which may change with the templates."""
        self.learn_first_pass(lambda: examples, nlp)

    def selector(self, examples: Sequence[Example]) -> "Selector":
        from spacy_ssvm.lattices.selection import lattice_selector  # which few configs ask for

        return lattice_selector(self.model, self.read_batch(self.gold_docs(examples)))

    def _annotated(self, examples: Iterable[Example]) -> Iterable[AnnotatedTokens]:
        """The words of examples without real values: candidates do not depend on them."""
        stream = iter(examples)
        while batch := list(islice(stream, DOCS_AT_A_TIME)):
            docs = [example.predicted for example in batch]
            inputs = [self.inputs_of(example, with_reals=False) for example in batch]
            gold, views = self.gold_labels(batch), self.views()
            yield read_annotated(self.model, docs, gold, inputs, views, with_reals=False)

    # Use

    def present(self, docs: Sequence[Doc]) -> Ints:
        """The annotation that the Docs already have: int64 [tokens, V], -1 for none."""
        raise NotImplementedError

    def kept(self, docs: Sequence[Doc], tokens: TokenTable, overwrite: bool) -> Annotation | None:
        """The annotation of words that labels must agree with; None for none.

        overwrite: whether annotation that the Docs already have is ignored.
        """
        if overwrite:
            return None
        values = self.present(docs)[tokens.positions]
        return Annotation(values, self.views()) if np.any(values != -1) else None

    def marginals(self, doc: Doc, *, overwrite: bool | None = None) -> Floats:
        """The probability of each label at each token: float64 [tokens, K].

        0 for labels that are no candidates of the token; rows sum to 1, but for whitespace, which
        has zeros.
        overwrite: whether to ignore annotation that the Doc already has, by default the
            component's own setting. Otherwise that annotation is certain.
        Raises ValueError if the model was trained without probabilities.
        """
        self._require_labels()
        self._sync()
        beta = require_beta(self.name, self.model)
        tokens = self.model.reader.read([doc])
        annotation = self.kept([doc], tokens, self._overwrites(overwrite))
        candidates, found = self.model.probabilities(tokens, beta, annotation)
        table = np.zeros((len(tokens.positions), len(self.model.labels)))
        words = np.repeat(np.arange(len(table)), np.diff(candidates.starts))
        table[words, candidates.labels] = found
        return scatter_to_tokens(table, tokens, fill=0.0)

    def _best_labels(self, doc: Doc) -> tuple[ByWord, TokenTable, Floats]:
        """See ``TokenPipe``."""
        self._require_labels()
        self._sync()
        tokens = self.model.reader.read([doc])
        labels = self.model.label(tokens, None)
        beta = self.model.beta
        if beta is None:
            candidates, found = self.model.best_scores(tokens)
        else:
            candidates, found = self.model.probabilities(tokens, beta)
        is_best = candidates.labels == np.repeat(labels, np.diff(candidates.starts))
        scores = found[is_best]
        if beta is None:
            others = np.where(is_best, -np.inf, found)
            if len(scores):
                scores = scores - np.maximum.reduceat(others, candidates.starts[:-1])
        return labels, tokens, scores

    def explain(
        self,
        doc: Doc,
        token: int | Token,
        *,
        top: int | None = None,
        against: str | None = None,
        by_part: bool = False,
    ) -> Explanation:
        """Explain why a token gets its label and not another one.

        token: the token, or its index in the Doc; negative indices count from the end.
        top: the number of rows to show, the others summed in one; None for all.
        against: the other label, such as the gold one; None for the runner-up.
        by_part: whether rows are the parts of the labels, such as Case=Acc, instead of features.
        Raises IndexError or ValueError for a token that is not in the Doc, and ValueError for
        whitespace, which has no label, where only one label is possible, and where the token has
        the other label, or cannot have it.
        """
        self._require_labels()
        self._sync()
        i = token_index(doc, token)
        return explain_label(self.model, doc, i, top=top, against=against, by_part=by_part)

    def columns_of_label(self, label: str) -> list[int]:
        """The parts of a label, or a part by its name: see ``TokenPipe``."""
        names = self.model.system.part_names
        if label in names and label not in self.model.labels:
            return [names.index(label)]
        return self.model.parts_of(label_number(self.model.labels, label))


def build_lattice_pipe(
    component: Callable[..., Any],
    vocab: Vocab,
    name: str,
    *,
    scheme: str,
    templates: Sequence[str],
    min_count: int,
    hash_bits: int | None,
    selection: "Selection | None",
    whole_docs: bool = False,
    **settings: Any,
) -> Any:
    """A component of labels with parts, by its class and the settings of its factory.

    Raises ConfigValidationError where a setting is invalid.
    """
    check_rows(name, min_count, hash_bits)
    parsed = read_token_templates(name, templates)
    model = LatticeModel(parsed, scheme=scheme, whole_docs=whole_docs)
    check_selection(name, selection, len(model.templates))
    rows = {"min_count": min_count, "hash_bits": hash_bits}
    return component(vocab, model, name, **rows, selection=selection, **settings)
