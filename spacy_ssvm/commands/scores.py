"""The scores of a pipeline: their names, which of them count, and those of each label."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain
from typing import Any, NamedTuple

from spacy.language import Language
from spacy.scorer import Scorer
from spacy.tokens import Doc
from spacy.training import Example

from spacy_ssvm.components.dependency_scorer import score_dependencies
from spacy_ssvm.components.spans import Place, kind_of_error

#: Scores as ``spacy evaluate`` names them, and as tables do.
_SCORES = {
    "tag_acc": "TAG accuracy",
    "pos_acc": "POS accuracy",
    "morph_acc": "MORPH accuracy",
    "lemma_acc": "LEMMA accuracy",
    "sents_f": "sentence F1",
    "ents_p": "entity precision",
    "ents_r": "entity recall",
    "ents_f": "entity F1",
    "align_p": "link precision",
    "align_r": "link recall",
    "align_f": "link F1",
    "align_aer": "alignment error rate",
}
#: The same, of spans by their key and of other attributes of words.
_OTHER_SCORES = {
    r"spans_(.+)_p": "{}: precision",
    r"spans_(.+)_r": "{}: recall",
    r"spans_(.+)_f": "{}: F1",
    r"(.+)_macro_f": "{}: macro F1",
    r"(?!token)(.+)_acc": "{}: accuracy",
}
ARC_SCORES = {"dep_uas": "UAS without punctuation", "dep_las": "LAS without punctuation"}
_TAGS = {"tag_acc": "TAG", "pos_acc": "POS"}
_SPANS, _PER_TYPE = "spans_", "_per_type"

_MOST_LABELS = 20
_MOST_CONFUSIONS = 10


class LabelTable(NamedTuple):
    """A table with a row for each label, or for each pair of labels that are confused."""

    title: str
    note: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]]


def name_of(score: str) -> str:
    """What a score is called on a page."""
    return {**_SCORES, **ARC_SCORES}.get(score) or _name_of_other(score) or score


def _name_of_other(score: str) -> str:
    """The same for one of ``_OTHER_SCORES``; "" for others."""
    for pattern, name in _OTHER_SCORES.items():
        found = re.fullmatch(pattern, score)
        if found:
            return name.format(found[1].replace("_", " "))
    return ""


def shown_scores(scores: Mapping[str, Any]) -> list[str]:
    """The scores of a table that have a value; those of arcs have rows of their own."""
    others = [score for score in scores if score not in _SCORES and _name_of_other(score)]
    return [score for score in [*_SCORES, *others] if scores.get(score) is not None]


def shown_with_arcs(scores: Mapping[str, Any]) -> list[str]:
    """The same, with those of arcs at the end."""
    return [*shown_scores(scores), *(name for name in ARC_SCORES if scores.get(name) is not None)]


def percent(score: float | None) -> str:
    """A score as tables show it; "-" for none."""
    return "-" if score is None else f"{100 * score:.2f} %"


def annotate_and_score(nlp: Language, examples: Sequence[Example]) -> dict[str, Any]:
    """Annotate the predicted Docs. Returns their scores, as ``spacy evaluate`` does."""
    for example, doc in zip(examples, nlp.pipe(e.predicted for e in examples), strict=True):
        example.predicted = doc
    scores: dict[str, Any] = Scorer(nlp=nlp).score(examples)
    return scores


def weighted(weights: Mapping[str, float | None]) -> str:
    """The sum of scores by which training chooses the best epoch, as text.

    weights: those of ``[training.score_weights]``.
    """
    judged = {name: weight for name, weight in weights.items() if weight}
    return " + ".join(
        name if len(judged) == 1 else f"{weight:g} {name}" for name, weight in judged.items()
    )


def arc_scores(examples: Sequence[Example], without: Sequence[str] = ()) -> dict[str, Any]:
    """The scores of arcs, as spaCy's scorer names them.

    without: labels to leave out, in capitals or not: punct also stands for PUNCT, as in spaCy.
    """
    ignored = {label.lower() for label in without}
    return score_dependencies(examples, ignored, lower=bool(ignored))


def label_tables(examples: Sequence[Example], scores: Mapping[str, Any]) -> list[LabelTable]:
    """Precision, recall and F1 of tags, types of entities and spans, and labels of arcs.

    examples: with annotated predicted Docs. scores: as ``spacy evaluate`` returns them; only what
    has a score has a table.
    """
    tables: list[LabelTable] = []
    for score, attribute in _TAGS.items():
        if scores.get(score) is not None:
            tables += _tables_of_tags(examples, attribute)
    if scores.get("dep_las") is not None:
        gold = (token.dep_ for example in examples for token in example.reference)
        tables.append(_table("Arcs", arc_scores(examples)["dep_las_per_type"], gold))
    if scores.get("ents_per_type"):
        gold = (ent.label_ for example in examples for ent in example.reference.ents)
        tables.append(_table("Entities", scores["ents_per_type"], gold))
        tables += _table_of_errors(examples)
    for score, value in scores.items():
        key = score.removeprefix(_SPANS).removesuffix(_PER_TYPE)
        if score == f"{_SPANS}{key}{_PER_TYPE}" and value:
            spans = chain.from_iterable(e.reference.spans.get(key, ()) for e in examples)
            tables.append(_table(f"Spans: {key}", value, (span.label_ for span in spans)))
    return tables


def _tables_of_tags(examples: Sequence[Example], attribute: str) -> Iterator[LabelTable]:
    """Scores of tags, counted as spaCy's scorer counts them, and which are confused."""
    gold: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    for example in examples:
        aligned = example.alignment.x2y
        tags = [getattr(token, f"{attribute.lower()}_") for token in example.reference]
        gold.update(tags)
        pairs.update(
            (tags[i], found)
            for i, found in {
                (int(aligned[token.i][0]), getattr(token, f"{attribute.lower()}_"))
                for token in example.predicted
                if not token.is_space and aligned.lengths[token.i] == 1
            }
            if tags[i]
        )
    found = Counter[str]()
    for (_, tag), number in pairs.items():
        found[tag] += number
    values = {}
    for tag in (gold.keys() | found.keys()) - {""}:
        right = pairs[tag, tag]
        values[tag] = {
            "p": right / (found[tag] or 1),
            "r": right / (gold[tag] or 1),
            "f": 2 * right / (found[tag] + gold[tag]),
        }
    yield _table(attribute, values, gold.elements())
    wrong = Counter({pair: number for pair, number in pairs.items() if len({*pair}) > 1})
    if wrong:
        ranked = sorted(wrong.items(), key=lambda item: (-item[1], item[0]))
        shown = ranked[:_MOST_CONFUSIONS]
        yield LabelTable(
            f"{attribute}: what is confused",
            _number_of(len(shown), len(wrong), "pairs of labels"),
            ("gold", "predicted", "words"),
            [(*pair, f"{number:,}") for pair, number in shown],
        )


def _table_of_errors(examples: Sequence[Example]) -> Iterator[LabelTable]:
    """In what way entities are wrong; those that overlap with each other count once."""
    kinds: Counter[str] = Counter()
    for example in examples:
        ents = [(place, 0) for place in _places(example.reference)]
        ents += [(place, 1) for place in _places(example.predicted)]
        end = -1
        groups: list[tuple[list[Place], list[Place]]] = []  # of gold and found ones
        for place, side in sorted(ents):
            if place[0] >= end:
                groups.append(([], []))
            groups[-1][side].append(place)
            end = max(end, place[1])
        kinds.update(kind_of_error(gold, found) for gold, found in groups if gold != found)
    if kinds:
        rows: list[tuple[str, ...]] = [(kind, f"{n:,}") for kind, n in kinds.most_common()]
        note = "Those that overlap with each other count once."
        yield LabelTable("Entities: what is wrong", note, ("error", "entities"), rows)


def _places(doc: Doc) -> list[Place]:
    """The entities of a Doc, in characters that are not whitespace, which all its forms share."""
    before = list(accumulate((not character.isspace() for character in doc.text), initial=0))
    return [(before[ent.start_char], before[ent.end_char], ent.label_) for ent in doc.ents]


def _table(
    title: str, values: Mapping[str, Mapping[str, float]], gold: Iterable[str]
) -> LabelTable:
    """values: precision, recall and F1, "p", "r" and "f", of each label. gold: all gold labels."""
    counts = Counter(gold)
    labels = sorted(values, key=lambda label: (-counts[label], label))
    shown = labels[:_MOST_LABELS]
    rows = [
        (
            label,
            *(f"{100 * values[label][score]:.1f}" for score in ("p", "r", "f")),
            f"{counts[label]:,}",
        )
        for label in shown
    ]
    header = ("label", "precision", "recall", "F1", "gold")
    note = f"In percent. {_number_of(len(shown), len(labels), 'labels')}"
    return LabelTable(title, note, header, rows)


def _number_of(shown: int, number: int, what: str) -> str:
    return f"The {shown} most frequent {what} of {number}." if shown < number else f"All {what}."
