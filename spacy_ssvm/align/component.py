"""``ssvm_aligner``: links between the words of parallel texts."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_ssvm.align.initialization import read_association, read_lexical_table
from spacy_ssvm.align.matchings.explanation import explain_link
from spacy_ssvm.align.matchings.layout import POSSIBLE as IS_POSSIBLE
from spacy_ssvm.align.matchings.layout import SURE as IS_SURE
from spacy_ssvm.align.matchings.layout import WRONG as IS_WRONG
from spacy_ssvm.align.matchings.model import LABELS, MatchingModel
from spacy_ssvm.align.matchings.pairs import Pairs
from spacy_ssvm.align.matchings.saved_model import MAX_FERTILITY
from spacy_ssvm.align.matchings.selection import matching_selector
from spacy_ssvm.align.matchings.templates import parse_link_templates
from spacy_ssvm.align.matchings.training import GoldPairs, MatchingTrainer
from spacy_ssvm.align.text_pairs import (
    ALIGNMENT,
    POSSIBLE,
    aligned_links,
    has_sides,
    read_links,
    sides,
    write_links,
)
from spacy_ssvm.components.costs import MAX_COST
from spacy_ssvm.components.example_cache import GoldDoc
from spacy_ssvm.components.initialization import WordSource
from spacy_ssvm.components.page import Decision, ExplainablePipe
from spacy_ssvm.components.pipe import Pipe
from spacy_ssvm.components.settings import (
    check_rows,
    check_selection,
    config_error,
    read_templates,
)
from spacy_ssvm.explanation import Explanation, numbered
from spacy_ssvm.kernels.types import Flags, Floats, Ints
from spacy_ssvm.selection import Selection, Selector
from spacy_ssvm.solvers.run import Solver


class Links(NamedTuple):
    """The links of a word of the source."""

    targets: tuple[int, ...]  #: tokens, as indices in the target
    text: str  #: for readers

    def __str__(self) -> str:
        return self.text


class WordAligner(Pipe[MatchingModel, GoldPairs], ExplainablePipe[Links]):
    """Writes ``doc._.alignment``, the links between the words of a pair; see ``text_pairs.py``.

    Without ``overwrite``, links that a Doc has already are kept, and the best others beside them
    are found. Whitespace has no links.

    min_count: see ``FeatureIndex``.
    costs: of a sure link that is missing, and of a wrong link.

    >>> import numpy as np
    >>> import spacy
    >>> from spacy.training import Example
    >>> from spacy_ssvm.align.text_pairs import make_pair
    >>> nlp = spacy.blank("xx")
    >>> component = nlp.add_pipe("ssvm_aligner", config={"min_count": 1})
    >>> words = ["the", "house"], ["das", "Haus"]
    >>> reference = make_pair(nlp.vocab, *words, links=np.array([[0, 0], [1, 1]]))
    >>> examples = [Example(make_pair(nlp.vocab, *words), reference)]
    >>> nlp.initialize(lambda: examples)  # doctest: +ELLIPSIS
    <...>
    >>> for epoch in range(10):
    ...     losses = nlp.update(examples)
    >>> nlp(make_pair(nlp.vocab, *words))._.alignment
    [(0, 2), (1, 3)]
    """

    kind = "ssvm_aligner"
    reads_pairs = True

    def __init__(
        self,
        vocab: Vocab,
        model: MatchingModel,
        name: str,
        *,
        min_count: int,
        costs: tuple[float, float],
        **settings: Any,
    ) -> None:
        super().__init__(vocab, model, name, **settings)
        self.min_count = min_count
        self.costs = costs

    # Labels

    @property
    def labels(self) -> tuple[str, ...]:
        """The one label, of all links."""
        return LABELS

    @property
    def label_data(self) -> None:
        """Nothing for ``spacy init labels`` to save."""

    @property
    def hide_labels(self) -> bool:
        """Whether ``nlp.meta`` leaves out the label, which is always the same."""
        return True

    def add_label(self, label: str) -> int:
        """Raises NotImplementedError: links have no labels."""
        raise NotImplementedError(f"{self.name}: links have no labels")

    def model_labels(self, labels: Sequence[str]) -> Sequence[str]:  # noqa: ARG002
        """The one label, whatever the examples have."""
        return LABELS

    def can_start_unannotated(self, *, has_corpus: bool) -> bool:
        return not has_corpus

    def annotation(self) -> str:
        return f"word alignment (doc._.{ALIGNMENT})"

    def collect_labels(self, examples: Iterable[Example]) -> list[str]:
        """The one label; none where no Doc has an alignment."""
        found = any(read_links(example.reference) is not None for example in examples)
        return list(LABELS) if found else []

    # Initialization and training

    def initialize(  # type: ignore[override]  # there are no labels to be given
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        bitext: dict[str, str | None] | None = None,
        lexicon: str | Path | None = None,
        clusters: WordSource | dict[str, WordSource] | None = None,
        gazetteers: dict[str, str] | None = None,
        gazetteer_attribute: str = "lower",
        dictionary: WordSource | None = None,
    ) -> None:
        """Learn the association of words, read the files, and forget all weights.

        bitext: further parallel texts, {"source": file, "target": file}, a sentence on each line,
            which may be compressed (.gz); None for no file. The association is learned from them
            and from the texts of the examples, where a template needs it.
        lexicon: a file of word pairs, for templates that read the number ``lexicon``: see
            ``bitext.lexicon.read_lexicon``.
        For the other arguments, see ``Pipe.initialize``.
        """
        words = read_lexical_table(self.name, self.model, lexicon)
        self.model.associate(None, words)
        first = next(iter(get_examples()), None)  # nlp.initialize() alone passes one without sides
        has_pairs = first is not None and (has_sides(first.predicted) or has_sides(first.reference))
        if has_pairs and any(template.needs_association for template in self._configured):
            nlp = nlp or Language(self.vocab)
            association = read_association(self.name, nlp, get_examples(), bitext)
            self.model.associate(association, words)
        super().initialize(
            get_examples,
            nlp=nlp,
            clusters=clusters,
            gazetteers=gazetteers,
            gazetteer_attribute=gazetteer_attribute,
            dictionary=dictionary,
        )

    def texts_of(self, doc: Doc) -> list[Doc]:
        """The Docs of the source and the target, which may be one."""
        if not has_sides(doc):
            return [doc]
        source, target = (side.doc for side in sides(doc))
        return [source] if source is target else [source, target]

    def gold_labels(self, examples: Sequence[Example]) -> list[Ints]:
        """What is known of each link: int64 [source tokens, target tokens] each.

        SURE, POSSIBLE or WRONG, as in ``matchings/layout.py``; POSSIBLE where nothing is known.
        """
        return [_gold_links(example) for example in examples]

    def read_batch(self, docs: Sequence[GoldDoc]) -> GoldPairs:
        pairs = self.model.reader.read([d.doc for d in docs], inputs=[d.inputs for d in docs])
        gold = [
            links[np.ix_(*pairs.tokens(i))].ravel() for i, links in enumerate(d.gold for d in docs)
        ]
        return GoldPairs(pairs, np.concatenate([*gold, np.zeros(0)]).astype(np.int32))

    def make_trainer(self, solver: Solver) -> MatchingTrainer:
        return MatchingTrainer(self.model, solver, min_count=self.min_count, costs=self.costs)

    def selector(self, examples: Sequence[Example]) -> Selector:
        return matching_selector(
            self.model, self.read_batch(self.gold_docs(examples)), costs=self.costs
        )

    # Annotation

    def predict(self, docs: Iterable[Doc]) -> list[Ints]:
        """The links of each Doc: int64 [links, 2], of tokens of its source and its target."""
        docs = list(docs)
        if not docs:
            return []
        self._require_labels()
        self._sync()
        pairs = self.model.reader.read(docs)
        links = self.model.align(pairs, self._kept_links(docs, pairs, self.cfg["overwrite"]))
        return [_tokens_of(pairs, links, i) for i in range(len(docs))]

    def _kept_links(self, docs: Sequence[Doc], pairs: Pairs, overwrite: Any) -> Flags | None:
        """The links that Docs have already: bool [links]; None where they are overwritten."""
        if overwrite:
            return None
        kept = np.zeros(len(pairs.evidence), dtype=bool)
        for i, doc in enumerate(docs):
            links = read_links(doc)
            if links is not None and len(links):
                table = np.zeros([len(side) for side in sides(doc)], dtype=bool)
                table[tuple(links.T)] = True
                first, last = pairs.link_starts[i : i + 2]
                kept[first:last] = table[np.ix_(*pairs.tokens(i))].ravel()
        return kept

    def set_annotations(self, docs: Iterable[Doc], predictions: Iterable[Ints]) -> None:
        """Write what ``predict`` returned into the Docs."""
        for doc, links in zip(docs, predictions, strict=True):
            write_links(doc, links)

    # Confidence and explanations

    def scores(self, doc: Doc) -> Floats:
        """The margin of each link: float64 [source tokens, target tokens].

        By how much the best matching with the link is better than the best one without it, in
        units of the model's scores: above 0 for the links of the best matching. Annotation that
        the Doc already has is ignored. Whitespace has minus infinity.
        """
        self._require_labels()
        self._sync()
        pairs = self.model.reader.read([doc])
        margins = np.full([len(side) for side in sides(doc)], -np.inf)
        margins[np.ix_(*pairs.tokens(0))] = self.model.margins(pairs, 0)
        return margins

    def explain(self, doc: Doc, source: int, target: int, *, top: int | None = None) -> Explanation:
        """Explain why two words are linked or not.

        source, target: the tokens, as indices in their sides, as in ``scores``.
        top: the number of features to show, the others summed in one row; None for all.
        Raises IndexError for tokens that do not exist, and ValueError for whitespace.
        """
        self._require_labels()
        self._sync()
        return explain_link(self.model, doc, source, target, top=top)

    def decisions(self, doc: Doc, reference: Doc | None = None) -> list[Decision[Links]]:
        """The best links of each word of the source of a pair, beside the gold ones.

        The confidence is the margin: by how much the best matching is better than the best one
        in which the word has other links. Links that the Doc already has are ignored. Possible
        gold links are right whether they are found or not.
        """
        source, target = sides(doc)
        names = numbered([token.text for token in target])
        margins = self.scores(doc)
        gold = np.full(margins.shape, IS_POSSIBLE)
        if reference is not None:
            gold = _gold_links(Example(doc, reference))
        is_right = np.where(gold == IS_POSSIBLE, margins > 0, gold == IS_SURE)
        is_known = np.any(gold != IS_POSSIBLE, axis=1)
        return [
            Decision(
                token.i,
                token.i + 1,
                _links(margins[j] > 0, names),
                _links(is_right[j], names) if is_known[j] else None,
                float(np.abs(margins[j]).min(initial=np.inf)),
            )
            for j, token in enumerate(source)
            if not token.is_space
        ]

    def lines(self, doc: Doc) -> list[Span]:
        """See ``ExplainablePipe``. The source and the target."""
        return list(sides(doc))

    def explain_against(
        self, doc: Doc, decision: Decision[Links], against: Links | None, *, top: int | None
    ) -> Explanation:
        """See ``ExplainablePipe``. Of several links that differ, the least sure is explained."""
        source = decision.start - sides(doc).source.start
        margins = np.abs(self.scores(doc)[source])
        if against is not None:
            others = set(decision.label.targets) ^ set(against.targets)
            margins[[k for k in range(len(margins)) if k not in others]] = np.inf
        if not np.isfinite(margins).any():
            raise ValueError(f"token {decision.start} has no words to be linked with")
        return self.explain(doc, source, int(margins.argmin()), top=top)


def _links(is_linked: Flags, names: Sequence[str]) -> Links:
    """The links of a word. is_linked: bool [target tokens]; names: of these tokens."""
    targets = np.flatnonzero(is_linked).tolist()
    return Links(tuple(targets), ", ".join(names[k] for k in targets) or "-")


def _gold_links(example: Example) -> Ints:
    """See ``WordAligner.gold_labels``."""
    sizes = [len(side) for side in sides(example.predicted)]
    kinds = np.full(sizes, IS_POSSIBLE, dtype=np.int64)
    sure, possible = aligned_links(example, ALIGNMENT), aligned_links(example, POSSIBLE)
    if sure is None:
        return kinds
    kinds[np.ix_(sure.source_known, sure.target_known)] = IS_WRONG
    if possible is not None:
        kinds[tuple(possible.links.T)] = IS_POSSIBLE
    kinds[tuple(sure.links.T)] = IS_SURE
    return kinds


def _tokens_of(pairs: Pairs, links: Flags, i: int) -> Ints:
    """The links of pair i, of tokens of its sides: int64 [links, 2]."""
    first, last = pairs.link_starts[i : i + 2]
    source, target = pairs.tokens(i)
    j, k = np.nonzero(links[first:last].reshape(len(source), len(target)))
    return np.column_stack([source[j], target[k]]).astype(np.int64)


def build_aligner(
    vocab: Vocab,
    name: str,
    *,
    templates: list[str],
    min_count: int,
    source_fertility: int,
    target_fertility: int,
    costs: dict[str, float],
    solver: Solver,
    selection: Selection | None,
    memory: int | None,
    overwrite: bool,
    scorer: Callable[..., Any] | None,
) -> WordAligner:
    """Make a word aligner; see ``factories.make_aligner``."""
    parsed = read_templates(name, templates, parse_link_templates)
    check_rows(name, min_count, None)
    check_selection(name, selection, len(parsed))
    fertilities = {"source_fertility": source_fertility, "target_fertility": target_fertility}
    for key, value in fertilities.items():
        if not 1 <= value <= MAX_FERTILITY:
            raise config_error(name, key, f"{value}: must lie between 1 and {MAX_FERTILITY}")
    if set(costs) - {"missing", "wrong"} or not all(0 <= c <= MAX_COST for c in costs.values()):
        raise config_error(
            name,
            "costs",
            f"{costs}: give numbers, at least 0 and at most {MAX_COST:g}, for 'missing' (a gold "
            "link that is not found) and 'wrong' (a link that is not gold)",
        )
    model = MatchingModel(parsed, sides, fertilities=(source_fertility, target_fertility))
    return WordAligner(
        vocab,
        model,
        name,
        solver=solver,
        scorer=scorer,
        min_count=min_count,
        costs=(costs.get("missing", 1.0), costs.get("wrong", 1.0)),
        selection=selection,
        memory=memory,
        overwrite=overwrite,
    )
