"""A model of spans that reads what a first model has found in the same Doc.

The templates of the second model see as ``ent_type`` the type of the span that the first one
predicts at a word, whatever the Doc has. ``doc_majority.ent_type`` is then what most other
occurrences of a word were found to be (Krishnan & Manning 2006, An Effective Two-Stage Model for
Exploiting Non-Local Dependencies in Named Entity Recognition).
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from spacy_ssvm import storage
from spacy_ssvm.chains.model import ChainModel
from spacy_ssvm.features.attributes import AttributeReader, Doc
from spacy_ssvm.features.documents import base_of, is_document_attribute
from spacy_ssvm.features.resources import ARRAYS as RESOURCE_ARRAYS
from spacy_ssvm.features.resources import NO_RESOURCES, OPTIONAL_ARRAYS, Resources
from spacy_ssvm.features.templates import Template
from spacy_ssvm.features.text_hash import string_ids
from spacy_ssvm.kernels.types import Floats, Keys
from spacy_ssvm.labelings.saved_model import SavedModel
from spacy_ssvm.storage import require

_TYPE = "ent_type"
_PREFIX = "first."  # of the saved arrays of the first model


def predict_types(model: ChainModel, docs: Sequence[Doc]) -> list[Keys]:
    """The types of spans that a model predicts: uint64 [tokens] for each Doc, hashes, 0 outside.

    0 everywhere for a model that was not trained.
    """
    if model.summary is None:
        return [np.zeros(len(doc), dtype=np.uint64) for doc in docs]
    labels, tokens = model.predict(docs)
    types = np.zeros(int(tokens.doc_starts[-1]), dtype=np.uint64)
    types[tokens.positions] = string_ids(_types_of(model))[labels]
    return np.split(types, tokens.doc_starts[1:-1])


class PredictedTypes(AttributeReader):
    """Reads the types of spans as a first model predicts them."""

    def __init__(
        self, names: Iterable[str], resources: Resources, first: ChainModel, *, whole_docs: bool
    ) -> None:
        super().__init__(names, resources, whole_docs=whole_docs)
        self._first = first

    def inputs_with(self, doc: Doc, types: Keys) -> Keys:
        """The inputs of a Doc, with these types of spans: uint64 [tokens], 0 outside of them."""
        return self._with_fingerprint(doc, self._with_types(self._annotations_of(doc), types))

    def _annotations(self, docs: Sequence[Doc]) -> list[Keys]:
        columns, types = super()._annotations(docs), predict_types(self._first, docs)
        return [self._with_types(*pair) for pair in zip(columns, types, strict=True)]

    def _with_types(self, annotations: Keys, types: Keys) -> Keys:
        column = self.input_column(_TYPE)
        if column is not None:
            annotations[:, column] = types
        return annotations

    def with_names(self, names: Iterable[str]) -> AttributeReader:
        return PredictedTypes(names, NO_RESOURCES, self._first, whole_docs=self._whole_docs)

    def text_value(self, name: str, doc: Doc, i: int) -> str | None:
        if name == _TYPE:
            found = int(predict_types(self._first, [doc])[0][i])
            names = _types_of(self._first)
            return dict(zip(string_ids(names).tolist(), names, strict=True)).get(found) or None
        return super().text_value(name, doc, i)


class StackedModel(ChainModel):
    """Two models with the same labels: the second one reads what the first one predicts.

    The first one has all templates but those that read types of spans. It is trained by itself.
    """

    def __init__(self, templates: Sequence[Template], *, whole_docs: bool = False) -> None:
        self.first = ChainModel((), whole_docs=whole_docs)
        super().__init__(templates, whole_docs=whole_docs)

    def define(
        self, templates: Iterable[Template], labels: Iterable[str], *more: Any, **named: Any
    ) -> None:
        templates, labels = tuple(templates), tuple(labels)
        alone = [template for template in templates if not _reads_types(template)]
        self.first.define(alone, labels, *more, **named)
        super().define(templates, labels, *more, **named)

    def add_labels(self, labels: Sequence[str], legality: Floats | None = None) -> None:
        self.first.add_labels(labels, legality)
        super().add_labels(labels, legality)

    def new_first(self) -> ChainModel:
        """A model like the first one, without weights."""
        legality = np.where(np.isinf(self.first.label_pairs), self.first.label_pairs, 0.0)
        model = ChainModel((), whole_docs=self.whole_docs)
        model.define(self.first.templates, self.first.labels, self.resources, legality)
        return model

    def make_reader(self, names: Iterable[str], resources: Resources) -> PredictedTypes:
        return PredictedTypes(names, resources, self.first, whole_docs=self.whole_docs)

    # Saving and loading

    @property
    def types(self) -> storage.Types:
        """See ``LinearModel``. The resources of the first model are those of the second."""
        own = super().types
        first = {name: own[name] for name in own if name not in RESOURCE_ARRAYS}
        return {**own, **{_PREFIX + name: dtype for name, dtype in first.items()}}

    def header(self) -> storage.Header:
        return {**super().header(), "first": self.first.header()}

    def arrays(self) -> storage.Arrays:
        first = {
            _PREFIX + name: array
            for name, array in self.first.arrays().items()
            if name not in RESOURCE_ARRAYS and name not in OPTIONAL_ARRAYS
        }
        return {**super().arrays(), **first}

    def read(self, header: storage.Header, arrays: storage.Arrays) -> SavedModel:
        saved = super().read(header, arrays)
        of_first = {
            name: arrays[name if name in RESOURCE_ARRAYS else _PREFIX + name]
            for name in super().types
        }
        of_first |= {name: arrays[name] for name in OPTIONAL_ARRAYS if name in arrays}
        first = self.first.read(header["first"], of_first)
        require(first.labels == saved.labels, "the first pass has other labels")
        require(
            not any(map(_reads_types, first.templates)), "the first pass reads its own predictions"
        )
        return saved._replace(first=first._replace(resources=saved.resources))

    def become(self, saved: SavedModel) -> None:
        super().become(saved)
        assert saved.first is not None
        self.first.become(saved.first)

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_bytes, (self.whole_docs, self.to_bytes())


def _types_of(model: ChainModel) -> tuple[str, ...]:
    """The type of span of each label, "" for O."""
    return tuple(label[2:] for label in model.labels)


def _reads_types(template: Template) -> bool:
    """Whether a template reads what the first model predicts."""
    return any(
        (base_of(part.attribute) if is_document_attribute(part.attribute) else part.attribute)
        == _TYPE
        for part in template.parts
    )


def _from_bytes(whole_docs: bool, data: bytes) -> StackedModel:
    return StackedModel((), whole_docs=whole_docs).from_bytes(data)
