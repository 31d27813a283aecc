"""The measures of the CoNLL 2018 shared task: raw text to words, tags, lemmas and trees.

    python benchmarks/conll18.py GOLD SYSTEM

GOLD and SYSTEM are treebanks in CoNLL-U of the same text; only white space may differ. Printed are,
in %, precision, recall and F1 of what the system found, and how many of the words that are in both
are right.

    Tokens      pieces of the text, as spans of its characters; "das" (de + as) is one
    Sentences   likewise
    Words       syntactic words, aligned as below
    UPOS, XPOS  aligned words with the tag
    UFeats      those with the universal features, in any order; other features do not count
    AllTags     those for which all three are right
    Lemmas      those with the lemma; a gold lemma "_" is always right
    UAS, LAS    those whose head is aligned with the gold head, or both are roots; in LAS the
                relation is the same, too, without its subtype (nmod:poss)

Words are aligned that have the same characters of the text. Tokens of several words are joined with
those that they overlap, in gold or system, as long as there are any. The gold words in such a
region are aligned with those of the system by a longest common subsequence of their forms in lower
case. Definition: https://universaldependencies.org/conll18/evaluation.html
"""

import argparse
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from wasabi import msg

from spacy_ssvm.files import shorten

#: Measures of spans of characters, and of aligned words.
SPANS = ("Tokens", "Sentences")
WORDS = ("Words", "UPOS", "XPOS", "UFeats", "AllTags", "Lemmas", "UAS", "LAS")

#: Names of features that are compared; those of later versions of UD are not.
UNIVERSAL = frozenset(
    (
        *("PronType", "NumType", "Poss", "Reflex", "Foreign", "Abbr"),
        *("Gender", "Animacy", "Number", "Case", "Definite", "Degree"),
        *("VerbForm", "Mood", "Tense", "Aspect", "Voice", "Evident", "Polarity"),
        *("Person", "Polite"),
    )
)

_COLUMNS = 10
_EMPTY_NODE = re.compile(r"[0-9]+\.[0-9]+")
_RANGE = re.compile(r"([1-9][0-9]{0,6})-([1-9][0-9]{0,6})")
_SPACES = re.compile("[ \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")  # category Zs
_ROOT = -1
_SHOWN = 20  # characters where texts differ

_Span = tuple[int, int]  # the first character, and that after the last one


class Score(NamedTuple):
    """How much of something is right, as fractions; 0 where there is nothing."""

    precision: float  #: of what the system has
    recall: float  #: of what gold has
    f1: float
    aligned_accuracy: float  #: of what is in both: for spans and words 1, where there are any


class _Row(NamedTuple):
    """A line with columns."""

    place: str
    columns: list[str]

    @property
    def number(self) -> str:
        return self.columns[0]

    @property
    def form(self) -> str:
        return self.columns[1]

    def error(self, message: str) -> ValueError:
        return ValueError(f"{self.place}: {message}")


class _Token(NamedTuple):
    """A piece of the text of a sentence."""

    row: _Row
    words: list[_Row]
    has_range: bool  #: whether it is written as one of several words


class _Word(NamedTuple):
    """A syntactic word."""

    span: _Span  #: of its token
    is_part: bool  #: of a token of several words
    form: str  #: in lower case
    lemma: str
    upos: str
    xpos: str
    features: tuple[str, ...]  #: universal ones, sorted
    head: int  #: number in the treebank, or ``_ROOT``
    relation: str  #: without subtype


class _Treebank(NamedTuple):
    """What is compared."""

    name: str
    text: str  #: all characters but spaces
    tokens: list[_Span]
    places: list[str]  #: of the tokens
    sentences: list[_Span]
    words: list[_Word]


def evaluate(gold: str, system: str) -> dict[str, Score]:
    """The scores of a system by measure, from two texts in CoNLL-U.

    Raises ValueError naming the line for a malformed one, and the first place where what they
    annotate differs in other characters than spaces.
    """
    truth, found = _read_both(gold, system)
    spans = (truth.tokens, found.tokens), (truth.sentences, found.sentences)
    scores = {name: _score_spans(*both) for name, both in zip(SPANS, spans, strict=True)}
    aligned = _align(truth.words, found.words)
    right = _count_right(truth.words, found.words, aligned)
    sizes = len(truth.words), len(found.words), len(aligned)
    return scores | {name: _score(right[name], *sizes) for name in WORDS}


def evaluate_ends(gold: str, system: str) -> Score:
    """The score of the ends of sentences, wherever these begin: a measure of sentence splitters.

    Raises ValueError as ``evaluate`` does.
    """
    truth, found = ({end for _, end in one.sentences} for one in _read_both(gold, system))
    right = len(truth & found)
    return _score(right, len(truth), len(found), right)


def _read_both(gold: str, system: str) -> tuple[_Treebank, _Treebank]:
    truth, found = _read(gold, "gold"), _read(system, "system")
    if truth.text != found.text:
        raise ValueError(_difference(truth, found))
    return truth, found


def _score_spans(gold: Sequence[_Span], system: Sequence[_Span]) -> Score:
    right = len({*gold} & {*system})
    return _score(right, len(gold), len(system), right)


def _score(right: int, gold: int, system: int, aligned: int) -> Score:
    """The fractions of what is right, and in gold, in the system's output, and in both."""
    totals = (system, right), (gold, right), (gold + system, 2 * right), (aligned, right)
    return Score(*(part / total if total else 0.0 for total, part in totals))


# Reading


def _read(text: str, name: str) -> _Treebank:
    """A treebank, whose name is in errors."""
    treebank = _Treebank(name, "", [], [], [], [])
    forms: list[str] = []
    size = 0
    for rows in _sentences(text, name):
        start = size
        tokens = _tokens(rows)
        heads = _heads(len(treebank.words), tokens)
        for token in tokens:
            form = _without_spaces(token.row)
            span = size, size + len(form)
            forms.append(form)
            treebank.tokens.append(span)
            treebank.places.append(token.row.place)
            treebank.words.extend(_word(row, token, span, form, heads) for row in token.words)
            size = span[1]
        treebank.sentences.append((start, size))
    return treebank._replace(text="".join(forms))


def _sentences(text: str, name: str) -> Iterator[list[_Row]]:
    """The lines of each sentence, without comments and empty nodes."""
    rows: list[_Row] = []
    is_inside = False
    place = ""
    for number, line in enumerate(StringIO(text), 1):  # other ends of lines can be in forms
        line = line.rstrip("\r\n")
        place = f"{name}, line {number}"
        if line and (is_inside or not line.startswith("#")):
            is_inside = True
            row = _row(line, place)
            if not _EMPTY_NODE.fullmatch(row.number):
                rows.append(row)
        elif rows and not line:
            yield rows
            rows, is_inside = [], False
        elif not line:
            raise ValueError(f"{place}: ends a sentence without words")
    if is_inside:
        raise ValueError(f"{place}: no empty line after the last sentence")


def _row(line: str, place: str) -> _Row:
    row = _Row(place, line.split("\t"))
    if len(row.columns) != _COLUMNS:
        raise row.error(f"{len(row.columns)} columns instead of {_COLUMNS}: {shorten(line)!r}")
    if not row.form:
        raise row.error("an empty form")
    return row


def _without_spaces(row: _Row) -> str:
    """The form without spaces of any width, which tokens can contain."""
    form = _SPACES.sub("", row.form)
    if not form:
        raise row.error("a form of spaces only")
    return form


def _tokens(rows: Iterable[_Row]) -> list[_Token]:
    """The tokens of a sentence, with their words."""
    tokens: list[_Token] = []
    number = last = 0  # of the words read, and of the last word of the token
    for row in rows:
        if found := _RANGE.fullmatch(row.number):
            first, end = int(found[1]), int(found[2])
            if number < last or first != number + 1 or end < first:
                raise row.error(f"the range {row.number} after word {number}")
            last = end
            tokens.append(_Token(row, [], True))
            continue
        if row.number != str(number + 1):
            raise row.error(f"the number {shorten(row.number)!r} after word {number}")
        if number >= last:
            tokens.append(_Token(row, [], False))
        tokens[-1].words.append(row)
        number += 1
    if number < last:
        raise tokens[-1].row.error(f"the range goes to {last}, the sentence to {number}")
    return tokens


def _heads(before: int, tokens: Iterable[_Token]) -> dict[str, int]:
    """The numbers in the treebank of what a head in a sentence can be.

    before: the number of words in earlier sentences.
    """
    rows = (row for token in tokens for row in token.words)
    return {"0": _ROOT} | {row.number: i for i, row in enumerate(rows, before)}


def _word(row: _Row, token: _Token, span: _Span, text: str, heads: Mapping[str, int]) -> _Word:
    """A word of a token.

    text: the token without spaces, which is the form of its word where it has no range.
    """
    _, form, lemma, upos, xpos, features, head, relation, _, _ = row.columns
    if head not in heads:
        raise row.error(f"the head {shorten(head)!r} in a sentence of {len(heads) - 1} words")
    return _Word(
        span,
        token.has_range,
        (form if token.has_range else text).lower(),
        lemma,
        upos,
        xpos,
        _universal(features),
        heads[head],
        relation.partition(":")[0],
    )


@cache
def _universal(features: str) -> tuple[str, ...]:
    """The universal ones of the features in a column, sorted."""
    names = ((one.partition("=")[0], one) for one in features.split("|"))
    return tuple(sorted(one for name, one in names if name in UNIVERSAL))


def _difference(gold: _Treebank, system: _Treebank) -> str:
    """Where two texts begin to differ, and how."""
    shorter = min(len(gold.text), len(system.text))
    pairs = enumerate(zip(gold.text, system.text, strict=False))
    at = next((i for i, (one, other) in pairs if one != other), shorter)
    return f"the texts differ: {_quote(gold, at)}; {_quote(system, at)}"


def _quote(treebank: _Treebank, at: int) -> str:
    """What a text has from a character on, and in which line."""
    if at == len(treebank.text):
        return f"{treebank.name} ends"
    place = treebank.places[bisect_right(treebank.tokens, at, key=lambda span: span[0]) - 1]
    return f"{place}: {treebank.text[at : at + _SHOWN]!r}"


# Alignment


def _align(gold: Sequence[_Word], system: Sequence[_Word]) -> dict[int, int]:
    """The numbers of the system's words that are in gold, with those of the gold words."""
    regions = _join(word.span for word in (*gold, *system) if word.is_part)
    gold_inside, gold_of = _divide(gold, regions)
    system_inside, system_of = _divide(system, regions)
    aligned = {word: gold_of[span] for span, word in system_of.items() if span in gold_of}
    for golds, systems in zip(gold_inside, system_inside, strict=True):
        pairs = _common([gold[i].form for i in golds], [system[i].form for i in systems])
        aligned.update((systems[j], golds[i]) for i, j in pairs)
    return aligned


def _join(spans: Iterable[_Span]) -> list[_Span]:
    """The spans in order, with those joined that have characters in common."""
    joined: list[_Span] = []
    for start, end in sorted({*spans}):
        if joined and start < joined[-1][1]:
            start, before = joined.pop()
            end = max(before, end)
        joined.append((start, end))
    return joined


def _divide(
    words: Sequence[_Word], regions: Sequence[_Span]
) -> tuple[list[list[int]], dict[_Span, int]]:
    """The numbers of the words that are whole in each region, and of the others by their spans."""
    inside: list[list[int]] = [[] for _ in regions]
    others = {}
    ends = [end for _, end in regions]
    for i, word in enumerate(words):
        start, end = word.span
        at = bisect_left(ends, end)
        if at < len(regions) and regions[at][0] <= start:
            inside[at].append(i)
        else:
            others[word.span] = i
    return inside, others


def _common(gold: Sequence[str], system: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The positions of a longest common subsequence in both.

    Of several it is the one found from the beginning: positions that are equal are in it, and else
    that of gold is left out, if that loses nothing.
    """
    lengths = [[0] * (len(system) + 1) for _ in range(len(gold) + 1)]  # of those that begin here
    for i in reversed(range(len(gold))):
        for j in reversed(range(len(system))):
            if gold[i] == system[j]:
                lengths[i][j] = lengths[i + 1][j + 1] + 1
            else:
                lengths[i][j] = max(lengths[i + 1][j], lengths[i][j + 1])
    i = j = 0
    while i < len(gold) and j < len(system):
        if gold[i] == system[j]:
            yield i, j
            i, j = i + 1, j + 1
        elif lengths[i + 1][j] == lengths[i][j]:
            i += 1
        else:
            j += 1


def _count_right(
    gold: Sequence[_Word], system: Sequence[_Word], aligned: Mapping[int, int]
) -> dict[str, int]:
    """The numbers of aligned words that are right, by measure."""
    gold_heads = {_ROOT: _ROOT, **aligned}
    rows = [_is_right(gold[j], system[i], gold_heads) for i, j in aligned.items()]
    return {name: sum(row[k] for row in rows) for k, name in enumerate(WORDS)}


def _is_right(gold: _Word, system: _Word, gold_heads: Mapping[int, int]) -> tuple[bool, ...]:
    """Whether a word is right, for each of ``WORDS``."""
    tags = (
        system.upos == gold.upos,
        system.xpos == gold.xpos,
        system.features == gold.features,
    )
    has_lemma = gold.lemma in ("_", system.lemma)
    has_head = gold_heads.get(system.head) == gold.head
    has_relation = system.relation == gold.relation
    return True, *tags, all(tags), has_lemma, has_head, has_head and has_relation


def _cells(name: str, score: Score) -> list[str]:
    """A row of the table, without the accuracy of what is right wherever it is in both."""
    cells = [f"{100 * part:.2f}" for part in score]
    return [name, *cells[:-1], "" if name in (*SPANS, "Words") else cells[-1]]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("gold", type=Path, metavar="GOLD")
    parser.add_argument("system", type=Path, metavar="SYSTEM")
    options = parser.parse_args()
    try:
        texts = [path.read_bytes().decode("utf-8-sig") for path in (options.gold, options.system)]
        scores = evaluate(*texts)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    rows = [_cells(name, score) for name, score in scores.items()]
    header = ("measure", "precision", "recall", "F1", "aligned accuracy")
    msg.table(rows, header=header, divider=True, aligns=("l", *"rrrr"))


if __name__ == "__main__":
    main()
