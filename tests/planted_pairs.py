"""Pairs of a made-up language and its translation: which words translate which is known."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_ssvm.align.matchings.layout import SURE, WRONG
from spacy_ssvm.align.matchings.model import LABELS, MatchingModel
from spacy_ssvm.align.matchings.templates import parse_link_templates
from spacy_ssvm.align.matchings.training import GoldPairs
from spacy_ssvm.align.text_pairs import ALIGNMENT, TRANSLATION, make_pair, sides, write_links
from spacy_ssvm.features.attributes import ATTRIBUTES, is_attribute

VOCAB = Vocab()
EAGER = {"@misc": "spacy_ssvm.DualCoordinateDescent.v1", "C": 1.0}
#: Of the files of a bitext: source, target, links.
BITEXT_ENDINGS = ("en", "cs", "align")
WORDS = 9  #: of the language; the word "s3" is "t3"


def planted_words(
    seed: int, *, doubled: bool = False
) -> tuple[list[str], list[str], list[tuple[int, int]]]:
    """Words of a source and of a target in another order, and their links.

    doubled: whether the first two words are two words of the translation each.
    """
    random = np.random.default_rng(seed)
    numbers = random.permutation(WORDS)[: random.integers(2, 7)].tolist()
    translations = [(j, f"t{number}") for j, number in enumerate(numbers)]
    if doubled:
        translations += [(j, f"u{number}") for j, number in enumerate(numbers) if number < 2]
    translations = [translations[i] for i in random.permutation(len(translations))]
    links = sorted((j, k) for k, (j, _) in enumerate(translations))
    return [f"s{number}" for number in numbers], [word for _, word in translations], links


def write_bitext(
    folder: Path, name: str, seeds: Sequence[int], *, possible: bool = False
) -> list[Path]:
    """A source, a target and links of planted pairs. possible: whether the first of each is."""
    lines: list[list[str]] = [[], [], []]
    for seed in seeds:
        source, target, gold = planted_words(seed)
        links = [f"{j}-{k}" for j, k in gold]
        if possible:
            links[0] = links[0].replace("-", "?")
        for own, words in zip(lines, (source, target, links), strict=True):
            own.append(" ".join(words))
    files = [folder / f"{name}.{ending}" for ending in BITEXT_ENDINGS]
    for file, own in zip(files, lines, strict=True):
        file.write_text("".join(f"{line}\n" for line in own), encoding="utf8")
    return files


def planted_doc(vocab: Vocab, seed: int, *, links: bool = True, doubled: bool = False) -> Doc:
    source, target, gold = planted_words(seed, doubled=doubled)
    return make_pair(vocab, source, target, np.array(gold) if links else None)


def planted_examples(
    vocab: Vocab, seeds: Sequence[int] = range(30), *, doubled: bool = False
) -> list[Example]:
    return [
        Example(
            planted_doc(vocab, seed, links=False, doubled=doubled),
            planted_doc(vocab, seed, doubled=doubled),
        )
        for seed in seeds
    ]


def two_docs(vocab: Vocab, source: list[str], target: list[str], links: Any = None) -> Doc:
    """A pair as two Docs."""
    doc = Doc(vocab, words=source)
    doc._.set(TRANSLATION, Doc(vocab, words=target))
    if links is not None:
        write_links(doc, np.array(links).reshape(-1, 2), ALIGNMENT)
    return doc


def model_of(*texts: str, fertilities: tuple[int, int] = (1, 1)) -> MatchingModel:
    """A model without weights."""
    templates = parse_link_templates(texts, is_attribute=is_attribute, attributes=ATTRIBUTES)
    model = MatchingModel(templates, sides, fertilities=fertilities)
    model.define(model.templates, LABELS)
    return model


def batch_of(model: MatchingModel, seeds: Any = range(20), *, doubled: bool = False) -> GoldPairs:
    """Planted pairs with all of their links."""
    pairs = model.reader.read([planted_doc(VOCAB, seed, doubled=doubled) for seed in seeds])
    gold = []
    for i, seed in enumerate(seeds):
        table = np.full(pairs.shapes[i], WRONG, dtype=np.int32)
        table[tuple(np.array(planted_words(seed, doubled=doubled)[2]).T)] = SURE
        gold.append(table.ravel())
    return GoldPairs(pairs, np.concatenate(gold))
