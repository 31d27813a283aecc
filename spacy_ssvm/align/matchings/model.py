"""The model of matchings: templates of links, feature index and weights.

docs -> words and evidence -> keys of links -> rows -> scores of links -> decoder -> links
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from spacy_ssvm import storage
from spacy_ssvm.align.bitext.association import Association
from spacy_ssvm.align.bitext.lexicon import Lexicon
from spacy_ssvm.align.bitext.lexicon import arrays_of as lexicon_arrays
from spacy_ssvm.align.matchings.decoder import best_matching, matching_margins
from spacy_ssvm.align.matchings.inference import LinkScorer, align_pairs, score_pair
from spacy_ssvm.align.matchings.pairs import PairReader, Pairs, Sides
from spacy_ssvm.align.matchings.saved_model import (
    ARRAYS,
    SavedMatchingModel,
    association_arrays,
    read_matching_model,
)
from spacy_ssvm.align.matchings.scores import link_steps
from spacy_ssvm.align.matchings.templates import (
    LinkTemplate,
    compile_link_templates,
    parse_link_templates,
)
from spacy_ssvm.features.attributes import ATTRIBUTES, is_attribute
from spacy_ssvm.features.resources import NO_RESOURCES, Resources, arrays_of, header_of
from spacy_ssvm.kernels.types import Flags, Floats, Rows, Weights
from spacy_ssvm.solvers.summary import TrainingSummary
from spacy_ssvm.storage import checked_texts
from spacy_ssvm.weights.key_table import KeyTable, key_table, saved_keys

#: The one label of links.
LABELS = ("link",)


class MatchingModel(storage.StoredModel):
    """A linear model of matchings.

    templates: they define the features of links.
    sides: how a Doc holds a pair, see ``PairReader``.
    fertilities: the largest numbers of links of a source and of a target word.
    """

    kind = "matching model"
    max_labels = 1
    beta = None  #: a sum over matchings is intractable: there are no probabilities

    def __init__(
        self,
        templates: Sequence[LinkTemplate],
        sides: Sides,
        *,
        fertilities: tuple[int, int] = (1, 1),
    ) -> None:
        self.sides = sides
        self.fertilities = fertilities
        self.association: Association | None = None
        self.lexicon: Lexicon | None = None
        self.define(templates, (), NO_RESOURCES)

    def define(
        self,
        templates: Iterable[LinkTemplate],
        labels: Iterable[str],
        resources: Resources = NO_RESOURCES,
    ) -> None:
        """Set templates, labels and resources, and reset the weights to zero."""
        self.templates = tuple(templates)
        self.labels = tuple(labels)
        self.resources = resources
        self._compile()
        steps = sum(self.fertilities) - 2
        none = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32)
        self.set_weights(key_table(np.empty(0, dtype=np.uint64)), *none, np.zeros(steps), None)

    def associate(self, association: Association | None, lexicon: Lexicon | None = None) -> None:
        """Set the association of words and the lexicon, for evidence that needs them."""
        self.association = association
        self.lexicon = lexicon
        self._compile()

    def _compile(self) -> None:
        self.reader = PairReader(
            {name for template in self.templates for name in template.attributes},
            {name for template in self.templates for name in template.evidence},
            self.sides,
            resources=self.resources,
            association=self.association,
            lexicon=self.lexicon,
        )
        self.compiled = compile_link_templates(
            self.templates, self.reader.names, self.reader.evidence
        )

    def set_weights(
        self,
        table: KeyTable,
        row_templates: Rows,
        weights: Weights,
        penalties: Floats,
        summary: TrainingSummary | None,
    ) -> None:
        """Set the weights.

        table: the rows of features. row_templates: int32 [rows], the template of each row.
        weights: float32 [rows]. penalties: float64 [f + g - 2], see ``layout.py``.
        """
        self.table = table
        self.row_templates = row_templates
        self.weights = weights
        self.penalties = penalties
        self.summary = summary

    def add_labels(self, labels: Sequence[str]) -> None:
        """See ``Model``: there is one label."""
        self.labels = (*self.labels, *labels)

    @property
    def scorer(self) -> LinkScorer:
        """The templates, table and weights, for kernels that score links."""
        split = self.fertilities[0] - 1
        return LinkScorer(
            self.compiled,
            self.table,
            self.weights,
            self.penalties[:split],
            self.penalties[split:],
        )

    @property
    def extensions(self) -> tuple[str, ...]:
        """The extension attributes of Docs that templates read as evidence."""
        return self.reader.extensions

    @property
    def number_of_rows(self) -> int:
        """The number of rows with a weight."""
        return len(self.weights)

    def templates_with(self, is_wanted: Callable[[str], bool]) -> list[str]:
        """The templates with an attribute or a number for which ``is_wanted`` is true."""
        return [str(t) for t in self.templates if any(map(is_wanted, t.attributes | t.evidence))]

    def align(self, pairs: Pairs, kept: Flags | None = None) -> Flags:
        """The best matchings of pairs: bool [links].

        kept: bool [links], links that are part of the result; the others are the best beside them.
        """
        if kept is None:
            kept = np.zeros(len(pairs.evidence), dtype=bool)
        links = np.zeros(len(pairs.evidence), dtype=bool)
        align_pairs(self.scorer, pairs, kept, links)
        return links

    def link_scores(self, pairs: Pairs, i: int) -> Floats:
        """The scores of the links of pair i: float64 [m, n]."""
        scores = np.empty(pairs.shapes[i])
        if scores.size:
            words = pairs.words(i)
            score_pair(self.scorer, *words, pairs.evidence_of(i), scores)
        return scores

    def steps(self, m: int, n: int) -> tuple[Floats, Floats]:
        """The scores of the first and further links of m source and n target words."""
        scorer = self.scorer
        return link_steps(m, scorer.source_penalties), link_steps(n, scorer.target_penalties)

    def margins(self, pairs: Pairs, i: int) -> Floats:
        """The margins of the links of pair i, see ``decoder.py``: float64 [m, n]."""
        scores = self.link_scores(pairs, i)
        steps = self.steps(*scores.shape)
        links, margins = np.zeros(scores.shape, dtype=bool), np.empty(scores.shape)
        best_matching(scores, *steps, links)
        matching_margins(scores, *steps, links, margins)
        return margins

    # Saving and loading

    @property
    def types(self) -> storage.Types:
        """The saved arrays with their types."""
        return ARRAYS

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_bytes, (self.sides, self.to_bytes())

    def header(self) -> storage.Header:
        """The part of the saved model that is not an array."""
        return {
            "labels": list(self.labels),
            "templates": [str(template) for template in self.templates],
            "fertilities": list(self.fertilities),
            "has_association": self.association is not None,
            "has_lexicon": self.lexicon is not None,
            "summary": None if self.summary is None else self.summary._asdict(),
            **header_of(self.resources),
        }

    def arrays(self) -> storage.Arrays:
        """The saved arrays, by the names of ``ARRAYS``."""
        return {
            "keys": saved_keys(self.table),
            "row_templates": self.row_templates,
            "weights": self.weights,
            "penalties": self.penalties.astype(np.float32),
            **arrays_of(self.resources),
            **association_arrays(self.association),
            **lexicon_arrays(self.lexicon),
        }

    def read(self, header: storage.Header, arrays: storage.Arrays) -> SavedMatchingModel:
        """Check a saved model, so that kernels can use it safely; see ``become``.

        Raises ValueError, which describes the flaw, or an error that ``storage.Build`` names.
        """
        texts = checked_texts(header["templates"], "templates")
        templates = parse_link_templates(texts, is_attribute=is_attribute, attributes=ATTRIBUTES)
        return read_matching_model(header, arrays, templates)

    def become(self, saved: SavedMatchingModel) -> None:
        """Replace this model by a saved one."""
        self.fertilities = saved.fertilities
        self.association = saved.association
        self.lexicon = saved.lexicon
        self.define(saved.templates, saved.labels, saved.resources)
        weights = saved.table, saved.row_templates, saved.weights, saved.penalties
        self.set_weights(*weights, saved.summary)


def _from_bytes(sides: Sides, data: bytes) -> MatchingModel:
    return MatchingModel((), sides).from_bytes(data)
