"""The scorer ``spacy_ssvm.parser_scorer.v1``: spaCy's, where some tokens of Docs have no label.

``spacy.parser_scorer.v1`` (spaCy 3.8) leaves out what is predicted for tokens without a gold label,
such as line breaks, at the same places of all later Docs, too. The scores of right trees of
documents with paragraphs are then far too low.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from spacy.scorer import PRFScore, Scorer
from spacy.tokens import Doc, Token
from spacy.training import Example

#: Labels that spaCy leaves out, in lower case.
PUNCTUATION = ("punct", "p")

_Arc = tuple[int, int, str]  # a token and its head, in the gold Doc, and the label


def score_dependencies(
    examples: Iterable[Example], ignored: Collection[str] = (), *, lower: bool = False
) -> dict[str, Any]:
    """dep_uas, dep_las and dep_las_per_type, as ``Scorer.score_deps`` defines them.

    ignored: labels that are left out. lower: whether labels count in lower case.

    The scores are None where no gold token has a label. Examples without any are left out.
    """
    unlabelled, labelled = PRFScore(), PRFScore()
    per_label: dict[str, PRFScore] = defaultdict(PRFScore)
    for example in examples:
        if not any(token.dep for token in example.reference):
            continue
        gold = {
            (token.i, token.head.i, label)
            for token, label in _labels(example.reference, lower)
            if label and label not in ignored
        }
        found, lost = _found(example, ignored, lower)
        labelled.score_set(found, gold)
        unlabelled.score_set({arc[:2] for arc in found}, {arc[:2] for arc in gold})
        for score in (labelled, unlabelled):
            score.fp += lost
        for *_, label in found & gold:
            per_label[label].tp += 1
        for *_, label in found - gold:
            per_label[label].fp += 1
        for *_, label in gold - found:
            per_label[label].fn += 1
    is_known = len(unlabelled) > 0
    return {
        "dep_uas": unlabelled.fscore if is_known else None,
        "dep_las": labelled.fscore if is_known else None,
        "dep_las_per_type": (
            {label: per_label[label].to_dict() for label in sorted(per_label)} if is_known else None
        ),
    }


def _labels(doc: Doc, lower: bool) -> Iterator[tuple[Token, str]]:
    for token in doc:
        yield token, token.dep_.lower() if lower else token.dep_


def _found(example: Example, ignored: Collection[str], lower: bool) -> tuple[set[_Arc], int]:
    """The predicted arcs between tokens of the gold Doc, and the number of all others."""
    aligned = example.alignment.x2y
    ends = iter(aligned.data.tolist())
    places = [[next(ends) for _ in range(length)] for length in aligned.lengths.tolist()]
    missing = {token.i for token in example.reference if not token.dep}
    found, lost = set[_Arc](), 0
    for token, label in _labels(example.predicted, lower):
        place, head = places[token.i], places[token.head.i]
        is_missing = len(place) == 1 and place[0] in missing
        if token.is_space or is_missing or label in ignored:
            continue
        if len(place) == len(head) == 1:
            found.add((place[0], head[0], label))
        else:
            lost += 1
    return found, lost


def parser_score(examples: Iterable[Example], **settings: Any) -> dict[str, Any]:
    """The scores of sentences and arcs, without those of punctuation."""
    examples = list(examples)
    sentences = Scorer.score_spans(
        examples, "sents", has_annotation=lambda doc: doc.has_annotation("SENT_START"), **settings
    )
    del sentences["sents_per_type"]
    return {**sentences, **score_dependencies(examples, PUNCTUATION, lower=True)}


def make_parser_scorer() -> Callable[..., dict[str, Any]]:
    """Make the scorer ``spacy_ssvm.parser_scorer.v1``."""
    return parser_score
