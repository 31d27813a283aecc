"""Clusters of words, from the vectors of a pipeline or from raw text."""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from heapq import heappop, heappush
from pathlib import Path
from typing import Any, NamedTuple

import floret
import numpy as np
import spacy
from sklearn.cluster import KMeans
from spacy.language import Language
from spacy.util import minibatch
from spacy.vectors import Mode
from tqdm import tqdm

from spacy_ssvm.commands.pipelines import load_pipeline
from spacy_ssvm.files import open_text, replacing

_BATCH = 1000  # lines
_MAX_BITS = 63  # that models can store of a word


class WordVectors(NamedTuple):
    """Words, the most frequent ones first, with their vectors: float [words, dimensions]."""

    words: list[str]
    vectors: np.ndarray


def vectors_of_text(
    files: Sequence[Path], lang: str, *, dimensions: int, epochs: int, min_count: int
) -> WordVectors:
    """Learn vectors of the words of texts: skip-grams with negative sampling, by floret.

    files: plain or ``.gz``, in UTF-8. lang: the language of the tokenizer, one of spaCy's.
    min_count: the occurrences of a word below which it has no vector.
    Raises ImportError for an unknown language, and ValueError naming the file where one cannot be
    read, and where no word is left.
    """
    nlp = spacy.blank(lang)
    with tempfile.TemporaryDirectory() as folder:
        tokenized = Path(folder) / "text.txt"
        with tokenized.open("w", encoding="utf8") as output:
            for path in files:
                for line in _tokenized(path, nlp):
                    print(" ".join(line), file=output)
        words: list[str] = []
        with suppress(ValueError):  # no line has a word that is frequent enough
            # One thread: several would learn other vectors in each run. A small window: words with
            # the same neighbours are of the same kind, not only of the same topic.
            model = floret.train_unsupervised(
                str(tokenized), model="skipgram", mode="fasttext", minn=0, maxn=0, thread=1,
                dim=dimensions, ws=2, epoch=epochs, minCount=min_count,
            )  # fmt: skip
            words = [word for word in model.get_words() if word != "</s>"]
    if not words:
        raise ValueError(
            f"no word occurs {min_count} times in the texts: lower --min-count, or add texts"
        )
    return WordVectors(words, np.array([model.get_word_vector(word) for word in words]))


def _tokenized(path: Path, nlp: Language) -> Iterator[list[str]]:
    """The words of each line."""
    tokenizer: Any = nlp.tokenizer
    try:
        with open_text(path) as file:
            lines = tqdm(file, path.name, unit=" lines", disable=None)
            for batch in minibatch(lines, _BATCH):  # type: ignore[no-untyped-call]
                with nlp.memory_zone():
                    docs = tokenizer.pipe(batch)
                    yield from [[t.text for t in doc if not t.is_space] for doc in docs]
    except (EOFError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: cannot be read as text in UTF-8: {error}") from error


def vectors_of_pipeline(name: str, words: Path | None = None) -> WordVectors:
    """The vectors of the words of a pipeline.

    name: of a package or a folder. words: a file with a word a line; None for all that the table
    of vectors lists.
    Raises ValueError where there is no such pipeline, it has no vectors, or lists no words.
    """
    vocab = load_pipeline(name).vocab
    table = vocab.vectors
    if table.shape[0] == 0:
        raise ValueError(f"{name} has no vectors")
    if words is not None:
        chosen = words.read_text(encoding="utf8").split("\n")
    elif table.mode == Mode.floret:
        raise ValueError(f"{name} has floret vectors, which list no words: name a file by --only")
    else:
        rows = sorted(table.key2row.items(), key=lambda item: item[1])
        chosen = [vocab.strings[key] for key, _ in rows if key in vocab.strings]
    chosen = [word for word in dict.fromkeys(map(str.strip, chosen)) if len(word.split()) == 1]
    vectors = np.array([vocab.get_vector(word) for word in chosen])
    return WordVectors(chosen, vectors.reshape(len(chosen), table.shape[1]))


def cluster_words(found: WordVectors, number: int, *, seed: int = 0) -> list[tuple[str, str]]:
    """The bit string and the word of each word with a vector that is not 0.

    Clusters are those of ``bisect`` for the directions of the vectors. Raises ValueError where no
    word has a vector.
    """
    lengths = np.linalg.norm(found.vectors, axis=1)
    known = np.flatnonzero(lengths > 0)
    if len(known) == 0:
        raise ValueError("none of the words has a vector")
    directions = found.vectors[known] / lengths[known, None]
    bits = bisect(directions, number, seed=seed)
    return [(path, found.words[i]) for path, i in zip(bits, known.tolist(), strict=True)]


def bisect(points: np.ndarray, number: int, *, seed: int = 0) -> list[str]:
    """The path to each point in a binary tree of clusters, as a bit string.

    The cluster with the largest sum of squared distances from its mean is split in two by k-means
    until there are as many as wanted (bisecting k-means, Steinbach, Karypis & Kumar 2000).
    points: float [n, dimensions], n >= 1. number: the clusters, fewer where points are equal.
    """
    leaves = [(-_scatter(points), "", np.arange(len(points)))]
    while len(leaves) < number and leaves[0][0] < 0:
        _, path, members = heappop(leaves)
        halves = KMeans(2, n_init=1, random_state=seed).fit_predict(points[members])
        for half in (0, 1):
            inside = members[halves == half]
            scatter = _scatter(points[inside]) if len(path) < _MAX_BITS - 1 else 0.0
            heappush(leaves, (-scatter, f"{path}{half}", inside))
    paths = np.empty(len(points), dtype=object)
    for _, path, members in leaves:
        paths[members] = path or "0"
    return list(paths)


def _scatter(points: np.ndarray) -> float:
    """The sum of squared distances from the mean, exactly 0 where all points are equal."""
    return float(((points - points.mean(axis=0)) ** 2).sum()) * bool(np.any(points != points[0]))


def sample_clusters(
    clusters: Iterable[tuple[str, str]], *, number: int = 12, words: int = 8
) -> list[tuple[str, int, list[str]]]:
    """Clusters from all over the tree: their bit strings, sizes, and first words."""
    members: dict[str, list[str]] = {}
    for bits, word in clusters:
        members.setdefault(bits, []).append(word)
    paths = sorted(members)
    chosen = paths[:: max(1, len(paths) // number)][:number]
    return [(path, len(members[path]), members[path][:words]) for path in chosen]


def write_clusters(path: Path, clusters: Iterable[tuple[str, str]]) -> None:
    """Write a line for each word, a bit string, a tab and the word, cluster by cluster."""
    with replacing(path) as file, file.open("w", encoding="utf8") as output:
        for bits, word in sorted(clusters, key=lambda cluster: cluster[0]):
            print(bits, word, sep="\t", file=output)
