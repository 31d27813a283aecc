"""The scorer ``spacy_ssvm.aligner_scorer.v1``: how well words are aligned.

Och & Ney 2003, A Systematic Comparison of Various Statistical Alignment Models (CL 29), section 6.
"""

from collections.abc import Callable, Iterable
from typing import Any

from spacy.training import Example

from spacy_ssvm.align.text_pairs import POSSIBLE, aligned_links, read_links
from spacy_ssvm.kernels.types import Ints

_KEYS = ("align_aer", "align_p", "align_r", "align_f")


def aligner_score(examples: Iterable[Example], **_kwargs: object) -> dict[str, float | None]:
    """Alignment error rate, precision, recall and F1 of the links of all examples together.

    With predicted links A, sure gold links S, and P, which are S and the possible ones:
    align_aer = 1 - (|A & S| + |A & P|) / (|A| + |S|), lower is better; align_p = |A & P| / |A|;
    align_r = |A & S| / |S|; align_f = 2 |A & S| / (|A| + |S|), the F1 of sure links. A ratio of
    nothing to nothing is 0, as in spaCy's scorers; all are None where no reference is annotated.

    Where the tokens differ, only predicted links between words of the reference count, and gold
    links of other words are missed.
    """
    predicted = sure = hits = possible_hits = 0
    is_annotated = False
    for example in examples:
        gold = aligned_links(example)
        if gold is None:
            continue
        is_annotated = True
        further = aligned_links(example, POSSIBLE)
        right = _set(gold.links)
        allowed = right if further is None else right | _set(further.links)
        found = {
            (source, target)
            for source, target in _set(read_links(example.predicted))
            if gold.source_known[source] and gold.target_known[target]
        }
        predicted += len(found)
        sure += len(_set(read_links(example.reference)))
        hits += len(found & right)
        possible_hits += len(found & allowed)
    if not is_annotated:
        return dict.fromkeys(_KEYS)
    return {
        "align_aer": 1.0 - _ratio(hits + possible_hits, predicted + sure),
        "align_p": _ratio(possible_hits, predicted),
        "align_r": _ratio(hits, sure),
        "align_f": _ratio(2 * hits, predicted + sure),
    }


def _set(links: Ints | None) -> set[tuple[int, int]]:
    """Links as a set; an empty one where a Doc has no alignment."""
    return set() if links is None else set(zip(*links.T.tolist(), strict=True))


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def make_aligner_scorer() -> Callable[..., dict[str, Any]]:
    """Make the scorer ``spacy_ssvm.aligner_scorer.v1``."""
    return aligner_score
