"""Sentences of treebanks as Docs, whose text is what was written.

Words that are written as one are tokens of their own where their forms make up what is written,
and the tokenizer of the language divides it there, too: "don't" (do + n't). Otherwise, as in the
Portuguese "das" (de + as), they stay one token, since that is what a trained pipeline will read.
For pipelines with a tokenizer that is learned, all are divided that can be, "d" + "as", and the
NORM of the pieces are the words.
A token of several words has the part of speech, head and label of the word that its others depend
on (the one that is nearest to the root), the lemmas and tags of all, "de o" and "IN_DT", and all
their features.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import accumulate, groupby
from typing import Any, NamedTuple

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import iob_to_biluo, tags_to_entities
from spacy.util import filter_spans
from spacy.vocab import Vocab

from spacy_ssvm.commands.conversion.conllu import Sentence, Token, Word
from spacy_ssvm.commands.conversion.multiword import cut_token
from spacy_ssvm.files import shorten

_SPACES_AFTER = re.compile(r"(?:^|\|)SpacesAfter=([^|]*)")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|([sntrp\\]))")
_ESCAPED = {"s": " ", "n": "\n", "t": "\t", "r": "\r", "p": "|", "\\": "\\"}
_PARAGRAPH = "\n\n"


class Treebank(NamedTuple):
    """What became of the tokens and texts of a treebank."""

    divided: int  #: tokens of several words that were divided into them
    whole: Counter[str]  #: those that stay whole, such as "das (de + as)"
    different: list[str]  #: where sentences begin whose text is not that of "# text"


class _Piece(NamedTuple):
    """A token of a Doc."""

    text: str
    first: int  #: number of its first word in the sentence
    end: int  #: after that of its last word
    space: str  #: white space after it
    norm: str = ""  #: the word that it stands for, where this is not its text


class _Row(NamedTuple):
    """A token of a Doc with its annotation."""

    word: Word  #: its form is the token's text, its head a number in the Doc
    has_space: bool
    is_start: bool  #: of a sentence
    norm: str = ""  #: see ``_Piece``


def make_docs(
    nlp: Language,
    groups: Sequence[Sequence[Sentence]],
    *,
    as_words: bool = False,
    divides_all: bool = False,
) -> tuple[list[Doc], Treebank]:
    """A Doc of each group of sentences, or of each row of them that have trees, or have none.

    nlp: has the tokenizer of the language.
    as_words: whether each word is a token; it is not known then where spaces are.
    divides_all: whether all tokens of several words are divided where that is possible, and not
        only those that this tokenizer divides.

    White space at the ends of Docs is left out. Elsewhere it is that of ``# text``, between
    sentences a space unless there is ``SpaceAfter=No``, and between paragraphs an empty line;
    ``SpacesAfter`` comes first everywhere.
    """
    divide = _divider(None if divides_all else nlp)
    sentences = [sentence for group in groups for sentence in group]
    has_entities = any(word.entity for sentence in sentences for word in sentence.words)
    rows = [[*own] for group in groups for _, own in groupby(group, lambda one: one.has_tree)]
    docs = []
    for row in rows:
        pieces = [_words(one) if as_words else [*_pieces(one, divide)] for one in row]
        for before, sentence in zip(pieces, row[1:], strict=False):
            if sentence.begins_paragraph and "\n" not in before[-1].space:
                before[-1] = before[-1]._replace(space=_PARAGRAPH)
        pieces[-1][-1] = pieces[-1][-1]._replace(space="")
        docs.append(_make_doc(nlp.vocab, row, pieces, has_entities, as_words))
    if as_words:
        return docs, Treebank(0, Counter(), [])
    joined = [
        (token.text, _forms(one, token))
        for one in sentences
        for token in one.tokens
        if token.has_several
    ]
    whole = Counter(
        f"{shorten(text)} ({shorten(' + '.join(forms))})"
        for text, forms in joined
        if not divide(text, forms)
    )
    different = [one.place for one in sentences if one.text and _spaces_in_text(one) is None]
    return docs, Treebank(len(joined) - whole.total(), whole, different)


_Divide = Callable[[str, tuple[str, ...]], tuple[str, ...]]


def _divider(nlp: Language | None) -> _Divide:
    """How a text is divided into pieces, one for each of some words; () where it stays whole.

    nlp: whose tokenizer has to divide it like this; None for none.
    """

    @cache
    def divide(text: str, words: tuple[str, ...]) -> tuple[str, ...]:
        is_made_up = "".join(words) == text
        if nlp is None:
            return words if is_made_up else cut_token(text, words)
        ends = {*accumulate(map(len, words[:-1]))}
        divides = is_made_up and ends <= {token.idx for token in nlp.make_doc(text)}
        return words if divides else ()

    return divide


def _forms(sentence: Sentence, token: Token) -> tuple[str, ...]:
    return tuple(word.form for word in sentence.words[token.first : token.end])


def _words(sentence: Sentence) -> list[_Piece]:
    """Each word as a token."""
    return [_Piece(word.form, i, i + 1, " ") for i, word in enumerate(sentence.words)]


def _pieces(sentence: Sentence, divide: _Divide) -> Iterator[_Piece]:
    """The tokens of the text of a sentence."""
    in_text = _spaces_in_text(sentence) or [None] * len(sentence.tokens)
    for token, space in zip(sentence.tokens, in_text, strict=True):
        if found := _SPACES_AFTER.search(token.misc):
            space = _ESCAPE.sub(_unescape, found[1])
        elif space is None:
            space = "" if "SpaceAfter=No" in token.misc.split("|") else " "
        forms = _forms(sentence, token) if token.has_several else ()
        pieces = divide(token.text, forms) if forms else ()
        for i, (piece, form) in enumerate(zip(pieces, forms, strict=False), start=token.first):
            after = space if i == token.end - 1 else ""
            yield _Piece(piece, i, i + 1, after, form if form != piece else "")
        if not pieces:
            yield _Piece(token.text, token.first, token.end, space)


def _unescape(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if match[1] else _ESCAPED[match[2]]


def _spaces_in_text(sentence: Sentence) -> list[str | None] | None:
    """White space after each token but the last in "# text"; None where it has other tokens."""
    text, spaces = sentence.text or "", list[str | None]()
    for token in sentence.tokens:
        rest = text.lstrip()
        if not rest.startswith(token.text):
            return None
        spaces.append(text[: len(text) - len(rest)])
        text = rest[len(token.text) :]
    return None if text.strip() else [*spaces[1:], None]


def _make_doc(
    vocab: Vocab,
    sentences: Sequence[Sentence],
    pieces: Sequence[Sequence[_Piece]],
    has_entities: bool,
    as_words: bool,
) -> Doc:
    """A Doc of the tokens of sentences; white space of its own is a token without annotation."""
    rows, spans = list[_Row](), list[tuple[int, int, str]]()
    for sentence, own in zip(sentences, pieces, strict=True):
        places = _places(own, len(rows))
        spans += _entities(sentence.words, places)
        rows += _rows(sentence.words, own, places)
    words = [row.word for row in rows]
    tree: dict[str, Any] = {"sent_starts": [row.is_start for row in rows]}
    if sentences[0].has_tree:
        tree = {"heads": [word.head for word in words], "deps": [word.label for word in words]}
    doc = Doc(
        vocab,
        words=[word.form for word in words],
        spaces=None if as_words else [row.has_space for row in rows],
        tags=[word.tag for word in words],
        pos=[word.pos for word in words],
        morphs=[word.features for word in words],
        lemmas=[word.lemma for word in words],
        **tree,
    )
    for token, row in zip(doc, rows, strict=True):
        if row.norm:
            token.norm_ = row.norm
    if has_entities:
        doc.set_ents(filter_spans([Span(doc, a, b, label=label) for a, b, label in spans]))
    return doc


def _places(pieces: Sequence[_Piece], start: int) -> list[int]:
    """The token in the Doc of each word, where the first is at ``start``."""
    places = list[int]()
    for piece in pieces:
        places += [start] * (piece.end - piece.first)
        start += 2 if piece.space.removeprefix(" ") else 1
    return places


def _rows(words: Sequence[Word], pieces: Sequence[_Piece], places: Sequence[int]) -> Iterator[_Row]:
    """The tokens of a sentence. places: those of its words in the Doc."""
    depths = _depths(words) if len(pieces) < len(words) else ()
    for piece in pieces:
        own, place = words[piece.first : piece.end], places[piece.first]
        word = own[0] if len(own) == 1 else _joined(own, depths[piece.first : piece.end])
        word = word._replace(form=piece.text, head=places[word.head])
        yield _Row(word, piece.space.startswith(" "), place == places[0], piece.norm)
        if white := piece.space.removeprefix(" "):
            yield _Row(Word(white, "", "", "", "", place, "", ""), False, False)


def _joined(words: Sequence[Word], depths: Sequence[int]) -> Word:
    """What a token of several words is annotated with.

    depths: of the words in their tree. With the head of the one nearest to the root, trees stay
    trees: the heads of other tokens of several words are nearer to it each time.
    """
    upper = words[min(range(len(words)), key=depths.__getitem__)]
    values: dict[str, set[str]] = {}
    for feature in (feature for word in words for feature in word.features.split("|") if feature):
        name, _, own = feature.partition("=")
        values.setdefault(name, set()).update(own.split(","))
    has_tags = any(word.tag != word.pos for word in words)
    return upper._replace(
        lemma=" ".join(word.lemma for word in words if word.lemma),
        tag="_".join(word.tag for word in words) if has_tags else upper.pos,
        features="|".join(f"{name}={','.join(sorted(values[name]))}" for name in sorted(values)),
    )


def _depths(words: Sequence[Word]) -> list[int]:
    """How far each word is from its root; 0 for all without a tree."""
    depths = [0 if word.head in (i, -1) else -1 for i, word in enumerate(words)]
    for i in range(len(words)):
        path = []
        while depths[i] < 0:
            path.append(i)
            i = words[i].head
        for above, word in enumerate(reversed(path), start=depths[i] + 1):
            depths[word] = above
    return depths


def _entities(words: Sequence[Word], places: Sequence[int]) -> Iterator[tuple[int, int, str]]:
    """The first token of each entity, the one after its last, and its type.

    A token with other words besides belongs to it only where it has no token of its own.
    """
    tags = iob_to_biluo([word.entity or "O" for word in words])
    for label, first, last in tags_to_entities(tags) if any(word.entity for word in words) else ():
        own = {places[i] for i in range(first, last + 1)}
        shared = own & {places[i] for i in (*range(first), *range(last + 1, len(words)))}
        own = own - shared or own
        yield min(own), max(own) + 1, label
