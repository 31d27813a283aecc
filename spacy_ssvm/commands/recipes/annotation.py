"""What a corpus annotates, and which components can learn from it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from spacy.attrs import DEP, LEMMA, MORPH, POS, TAG
from spacy.language import Language
from spacy.tokens import Doc

from spacy_ssvm.components.doc_arrays import are_joined, marks_of
from spacy_ssvm.files import shorten

#: What each component learns from, in the order of a pipeline.
LEARNS = {
    "tagger": "tags (TAG)",
    "pos_tagger": "parts of speech (POS)",
    "morphologizer": "parts of speech with features (POS, MORPH)",
    "senter": "sentence boundaries",
    "parser": "dependency trees",
    "lemmatizer": "lemmas (LEMMA)",
    "ner": "entities",
    "chunker": 'doc.spans["chunks"]',
    "sentence_labeler": 'doc.spans["sentence_labels"]',
}
_ATTRIBUTES = {
    "tagger": TAG,
    "pos_tagger": POS,
    "morphologizer": MORPH,
    "lemmatizer": LEMMA,
    "parser": DEP,
}
#: Tags beyond which taggers learn and annotate faster where words have candidates.
MANY = 200
_SPANS = {"chunks": "chunker", "sentence_labels": "sentence_labeler"}


class Annotation(NamedTuple):
    """What the Docs of a corpus annotate."""

    docs: int
    tokens: int
    sentences: int  #: in Docs whose boundaries are annotated
    boundaries: int  #: between sentences of a Doc
    has_spaces: bool  #: whether it is known where spaces are
    labels: dict[str, Counter[str]]  #: by component that can learn them; without the senter

    @property
    def components(self) -> list[str]:
        """The components that can learn from the corpus, in the order of a pipeline."""
        can_learn = {*self.labels, *(["senter"] if self.boundaries else [])}
        return [name for name in LEARNS if name in can_learn]

    @property
    def suggested(self) -> list[str]:
        """Those without the ``pos_tagger`` where a ``morphologizer`` does its work."""
        left_out = {"pos_tagger"} if "morphologizer" in self.labels else set()
        return [name for name in self.components if name not in left_out]

    @property
    def many_tags(self) -> set[str]:
        """The taggers for which there are so many tags that words get candidates."""
        return {name for name in ("tagger", "pos_tagger") if len(self.labels.get(name, ())) > MANY}

    def require(self, names: Sequence[str]) -> None:
        """Raise ValueError for a component that has nothing to learn from."""
        for name in names:
            if name not in self.components:
                raise ValueError(
                    f"the examples have nothing that '{name}' could learn from, {LEARNS[name]}; "
                    f"they have what {', '.join(self.components) or 'no component'} needs"
                )

    def rows(self) -> list[tuple[str, str, str]]:
        """Component, what it learns from, and how much of it there is."""
        rows = []
        for name in self.components:
            labels = self.labels.get(name)
            if labels is None:
                rows.append((name, LEARNS[name], f"{self.sentences:,} sentences"))
            else:
                shown = shorten(", ".join(label for label, _ in labels.most_common()))
                rows.append((name, LEARNS[name], f"{labels.total():,} of {shown}"))
        return rows


def find_annotation(docs: Iterable[Doc]) -> Annotation:
    """What Docs annotate. Tags that are the parts of speech again do not count."""
    number = tokens = sentences = boundaries = 0
    has_spaces, same_tags = False, True
    labels: dict[str, Counter[str]] = {name: Counter() for name in LEARNS if name != "senter"}
    for doc in docs:
        number += 1
        tokens += len(doc)
        has_spaces |= not doc.has_unknown_spaces
        if doc.has_annotation("SENT_START"):
            own = sum(1 for _ in doc.sents)
            sentences += own
            boundaries += max(own - 1, 0)
        same_tags = same_tags and all(token.tag_ == token.pos_ for token in doc)
        for name, attribute in _ATTRIBUTES.items():
            for value, count in doc.count_by(attribute).items():
                labels[name][doc.vocab.strings[value]] += count
        labels["ner"].update(entity.label_ for entity in doc.ents)
        for key, name in _SPANS.items():
            labels[name].update(span.label_ for span in doc.spans.get(key, ()))
    for name in _ATTRIBUTES:
        del labels[name][""]
    del labels["morphologizer"]["_"]  # of words without features
    if same_tags:
        del labels["tagger"]
    found = {name: own for name, own in labels.items() if own}
    return Annotation(number, tokens, sentences, boundaries, has_spaces, found)


_COMPARED = 50_000  #: tokens on which rules are compared
CUT_OTHERWISE = 0.005  #: the share of them from which on a tokenizer learns unasked


def is_as_written(docs: Iterable[Doc]) -> bool:
    """Whether the texts of Docs are as they were written: without a space between all tokens."""
    return are_joined(Counter(chain.from_iterable(map(marks_of, docs))))


def share_cut_otherwise(nlp: Language, docs: Iterable[Doc]) -> float:
    """The share of the tokens of a corpus that a tokenizer does not find.

    Docs of which it is not known where spaces are say nothing.
    """
    found = total = 0
    for doc in docs:
        if not doc.has_unknown_spaces and total < _COMPARED:
            both = doc, nlp.make_doc(doc.text)
            own, others = ({t.idx for t in each if not t.text.isspace()} for each in both)
            found += len(own & others)
            total += max(len(own), len(others))
    return (total - found) / max(total, 1)
