"""Convert the Turkish Web Treebank of the package ``turkish-treebanks`` to .spacy files.

    python scripts/convert_turkish_treebank.py corpus/turkish

The treebank (Kayadelen et al. 2020, Apache-2.0) has no predefined split. Sentences are assigned by
the CRC-32 of their id modulo 10: 0 is test, 1 is dev, the rest is train. Each Doc has ten
sentences, with a space between them; those of one file are in no order.

Words are split into inflectional groups: spaCy's rules cut a third of the tokens otherwise, and a
tokenizer that learns finds most of them. The groups of a word are connected by arcs with the label
"ig", which are nearly a fifth of all arcs and easy to predict: score with and without them.
"""

import argparse
import zlib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import wasabi
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

FILES = ("data/web.conllu", "data/wiki.conllu")

SENTENCES = 10  # per Doc

#: Tags of the treebank that are not universal, with their universal equivalents.
UNIVERSAL = {"PRT": "PART", "CONJ": "CCONJ", "ONOM": "X", "AFFIX": "X"}


def split_of(sentence_id: str) -> str:
    """The part of the split to which a sentence is assigned."""
    return {0: "test", 1: "dev"}.get(zlib.crc32(sentence_id.encode()) % 10, "train")


def read_sentences(path: Path) -> Iterator[tuple[str, list[list[str]]]]:
    """The id and the columns of the token lines of each sentence of a CoNLL-U file."""
    for block in path.read_text(encoding="utf8").split("\n\n"):
        lines = block.strip().split("\n")
        ids = [line.split("=", 1)[1].strip() for line in lines if line.startswith("# sent_id")]
        tokens = [line.split("\t") for line in lines if line[:1].isdigit()]
        if tokens:
            yield ids[0], tokens


def make_doc(vocab: Vocab, sentences: list[list[list[str]]]) -> Doc:
    """A Doc of sentences with text, tags, universal tags, features, lemmas and trees."""
    words, spaces, tags, pos, morphs, lemmas, heads, deps = [], [], [], [], [], [], [], []
    for tokens in sentences:
        start = len(words)
        for i, columns in enumerate(tokens, start=start):
            head = int(columns[6])
            words.append(columns[1])
            spaces.append(columns[9] != "SpaceAfter=No" or i == start + len(tokens) - 1)
            tags.append(columns[4])
            pos.append(UNIVERSAL.get(columns[3], columns[3]))
            morphs.append(columns[5])
            lemmas.append("" if columns[2] == "_" != columns[1] else columns[2])
            heads.append(start + head - 1 if head else i)
            deps.append(columns[7] if head else "ROOT")
    annotation = {"tags": tags, "pos": pos, "morphs": morphs, "lemmas": lemmas}
    return Doc(vocab, words=words, spaces=spaces, heads=heads, deps=deps, **annotation)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="output folder")
    folder = parser.parse_args().folder
    try:
        package = distribution("turkish-treebanks")
    except PackageNotFoundError:
        wasabi.msg.fail(
            "The treebank is not installed",
            'Install it with: pip install -e ".[demo]"',
            exits=1,
        )
    parts: dict[str, list[list[list[str]]]] = {"train": [], "dev": [], "test": []}
    for file in FILES:
        for sentence_id, tokens in read_sentences(Path(str(package.locate_file(file)))):
            parts[split_of(sentence_id)].append(tokens)
    vocab = Vocab()
    folder.mkdir(parents=True, exist_ok=True)
    for part, sentences in parts.items():
        starts = range(0, len(sentences), SENTENCES)
        docs = [make_doc(vocab, sentences[start : start + SENTENCES]) for start in starts]
        DocBin(docs=docs).to_disk(folder / f"{part}.spacy")
    wasabi.msg.good(
        f"Wrote the Turkish Web Treebank, split by the CRC-32 of the sentence id, to {folder}"
    )
    wasabi.msg.table(
        [(part, len(s), sum(map(len, s))) for part, s in parts.items()],
        header=("part", "sentences", "words"),
        aligns=("l", "r", "r"),
        divider=True,
    )


if __name__ == "__main__":
    main()
