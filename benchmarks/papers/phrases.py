"""Base phrases from trees of Universal Dependencies, in the manner of the CoNLL-2000 chunks.

A phrase grows from a word, its head, whose part of speech gives the label. It takes the words
to the left one after another, as long as each depends on a word of the phrase by a relation that
stays inside base phrases of this label, and in the same way those to the right. Heads come before
their dependents, so that a word is taken by the phrase of its head before it can make its own; of
words at one depth the last comes first, so that "be" takes "would" in "would be late".

    NP     NOUN, PROPN, PRON, NUM, DET, SYM     with determiners, adjectives, numbers, compounds,
                                                possessors (and their 's), parts of names
    VP     VERB, AUX, and to before a verb      with auxiliaries, negations, adverbs between them
    ADJP   ADJ                                  with adverbs
    ADVP   ADV                                  with adverbs
    PP     ADP                                  the preposition alone, as in CoNLL-2000
    PRT    ADP or ADV, as compound:prt
    SBAR   SCONJ, or ADP as mark
    INTJ   INTJ

Punctuation, conjunctions and all other words are outside. The adverbs with which a VP would begin
make phrases of their own.
"""

from typing import NamedTuple

from spacy.tokens import Doc, Span, Token

_LABELS = {
    **dict.fromkeys(("NOUN", "PROPN", "PRON", "NUM", "DET", "SYM"), "NP"),
    **dict.fromkeys(("VERB", "AUX"), "VP"),
    "ADJ": "ADJP",
    "ADV": "ADVP",
    "ADP": "PP",
    "SCONJ": "SBAR",
    "INTJ": "INTJ",
}

#: The relations by which words to the left belong to a phrase, with their subtypes.
_LEFT = {
    "NP": {"det", "amod", "nummod", "compound", "flat", "nmod:poss", "advmod", "goeswith"},
    "VP": {"aux", "mark", "advmod"},
    "ADJP": {"advmod", "compound"},
    "ADVP": {"advmod", "compound"},
}
_RIGHT = {"flat", "fixed", "goeswith"}
_ADVERB = "advmod"


class Phrase(NamedTuple):
    """A phrase: its first token, the one after its last, and its label."""

    start: int
    end: int
    label: str


def find_phrases(doc: Doc) -> list[Phrase]:
    """The phrases of a Doc with parts of speech and trees, in order."""
    phrases: list[Phrase] = []
    taken = [False] * len(doc)
    for token in sorted(doc, key=lambda token: (_depth(token), -token.i)):
        label = _label(token)
        if taken[token.i] or label is None:
            continue
        start, end = token.i, token.i + 1
        while start > 0 and not taken[start - 1] and _precedes(doc[start - 1], token, start, label):
            start -= 1
        while label == "VP" and doc[start].dep_ == _ADVERB and doc[start].pos_ == "ADV":
            start += 1
        while end < len(doc) and not taken[end] and _follows(doc[end], start, end):
            end += 1
        taken[start:end] = [True] * (end - start)
        phrases.append(Phrase(start, end, label))
    return sorted(phrases)


def write_phrases(doc: Doc, spans_key: str) -> None:
    """Write the phrases to ``doc.spans``."""
    phrases = find_phrases(doc)
    doc.spans[spans_key] = [Span(doc, start, end, label=label) for start, end, label in phrases]


def _depth(token: Token) -> int:
    return sum(1 for _ in token.ancestors)


def _label(token: Token) -> str | None:
    """The label of the phrase that a token heads; None for none."""
    if token.dep_ == "compound:prt":
        return "PRT"
    if token.dep_ == "mark" and token.pos_ == "PART":
        return "VP"
    if token.dep_ == "mark" and token.pos_ == "ADP":
        return "SBAR"
    return _LABELS.get(token.pos_)


def _precedes(token: Token, head: Token, start: int, label: str) -> bool:
    """Whether the phrase of a head, which begins at ``start``, takes the token before it."""
    if token.dep_ == "case" and token.pos_ == "PART":  # of a possessor
        token = token.head
    is_inside = start <= token.head.i <= head.i
    is_beside = head.pos_ == "AUX" and token.head == head.head  # would be, to be
    if token.dep_ == "mark" and token.pos_ != "PART":  # that, if
        return False
    relations = {token.dep_, token.dep_.partition(":")[0]}
    return (is_inside or is_beside) and not relations.isdisjoint(_LEFT.get(label, ()))


def _follows(token: Token, start: int, end: int) -> bool:
    """Whether a phrase takes the token after it."""
    return start <= token.head.i < end and token.dep_.partition(":")[0] in _RIGHT
