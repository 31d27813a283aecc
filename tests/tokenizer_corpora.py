"""Small corpora for the tokenizer: marked texts that tell where they are cut."""

import re
from collections.abc import Iterable, Iterator, Mapping
from random import Random
from typing import Any

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import get_words_and_spaces
from spacy.vocab import Vocab

Norms = Mapping[tuple[str, str], str]

CONTRACTIONS = [
    "Do|n't run|.",
    "I do|n't like cats|, dogs|, birds|.",
    "She did|n't sing|.",
    "They were|n't here|, she said|.",
    "You have|n't slept|.",
    "He would|n't eat|, e.g. now|.",
    "It was|, e.g. yesterday|, warm|.",
] * 2  # chunks that occur once are not known

SENTENCES = [
    "^She did|n't sing|. ^They were|n't here|. ^It rained|.",
    "^You left|, she said|. ^We stayed|, e.g. today|.",
    "^It was warm|. ^They slept|. ^He would|n't eat|.",
    "^We saw birds|. ^She ran|. ^You did|n't run|.",
]

PORTUGUESE = ["o gato d|o rei|.", "o fim d|o mês|.", "n|a casa d|a avó|.", "n|a rua|, d|o lado|."]
#: What the first of two tokens stands for.
PORTUGUESE_NORMS = {("d", "o"): "de", ("d", "a"): "de", ("n", "a"): "em"}


def pipeline(**settings: Any) -> Language:
    """A blank pipeline with the tokenizer, not initialized."""
    tokenizer = {"@tokenizers": "spacy_ssvm.Tokenizer.v1", **settings}
    return spacy.blank("en", config={"nlp": {"tokenizer": tokenizer}})


def cut_doc(vocab: Vocab, marked: str, norms: Norms | None = None) -> Doc:
    """A Doc of a text where "|" marks cuts within chunks, and "^" starts of sentences.

    norms: of the first of two tokens without whitespace between them.
    """
    marked_words = re.findall(r"[^\s|]+", marked)
    words = [word.lstrip("^") for word in marked_words]
    doc = Doc(vocab, *get_words_and_spaces(words, re.sub(r"[|^]", "", marked)))
    if "^" in marked:
        starts = iter(word.startswith("^") for word in marked_words)
        for token in doc:
            token.is_sent_start = not token.is_space and next(starts)
    for token in doc[:-1]:
        norm = (norms or {}).get((token.text, doc[token.i + 1].text))
        if norm is not None and not token.whitespace_:
            token.norm_ = norm
    return doc


def examples_of(docs: Iterable[Doc]) -> list[Example]:
    """Examples of which only the references know tokens."""
    return [Example(Doc(doc.vocab, words=[doc.text or " "]), doc) for doc in docs]


def cut_examples(vocab: Vocab, corpus: Iterable[str], norms: Norms | None = None) -> list[Example]:
    return examples_of(cut_doc(vocab, marked, norms) for marked in corpus)


def teach(nlp: Language, docs: Iterable[Doc]) -> None:
    """Initialize a pipeline with these Docs as references."""
    examples = examples_of(docs)
    nlp.initialize(lambda: examples)


def trained_on(corpus: Iterable[str], norms: Norms | None = None, **settings: Any) -> Language:
    """A pipeline whose tokenizer has learned a corpus of marked texts."""
    nlp = pipeline(**settings)
    teach(nlp, [cut_doc(nlp.vocab, marked, norms) for marked in corpus])
    return nlp


def random_doc(vocab: Vocab, random: Random, characters: str = "ab.,' \n") -> Doc:
    """A Doc of a random text, cut anywhere, with sentences that start at any token."""
    text = "a" + "".join(random.choices(characters, k=random.randrange(30)))
    often = random.random()
    marked = re.sub(r"(?<=\S)(?=\S)", lambda _: "|" * (random.random() < often), text)
    doc = cut_doc(vocab, marked)
    assert doc.text == text
    for token in doc:
        token.is_sent_start = token.i == 0 or random.random() < 0.3
    return doc


def chunks_of(doc: Doc) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What stands between whitespace, and how it is cut."""
    starts = {token.idx for token in doc}
    for chunk in re.finditer(r"\S+", doc.text):
        cuts = [i for i in range(*chunk.span()) if i in starts or i == chunk.start()]
        ends = [*cuts[1:], chunk.end()]
        yield chunk[0], tuple(doc.text[i:j] for i, j in zip(cuts, ends, strict=True))


def words_of(doc: Doc) -> list[str]:
    return [token.text for token in doc]


def tokens_of(doc: Doc) -> list[tuple[str, str, str, bool | None]]:
    """All that the tokenizer writes."""
    return [(t.text, t.whitespace_, t.norm_, t.is_sent_start) for t in doc]
