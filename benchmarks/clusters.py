"""Word clusters from raw text, as bit strings, to measure the effect of cluster features.

Words are vectors of positive pointwise mutual information with the words to their left and
right (Church and Hanks 1990), reduced to their principal directions, and split recursively along
the first of them (principal direction divisive partitioning, Boley 1998).
"""

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import numpy as np

MIN_COUNT = 2  # occurrences of a word that gets a cluster
CONTEXTS = 1000  # frequent words that count as neighbours, on each side
DIRECTIONS = 50
BITS = 10


def write_clusters(sentences: Iterable[list[str]], path: Path) -> None:
    """Write the clusters of the words of the sentences, in lower case, as a cluster file."""
    lowered = [[word.lower() for word in words] for words in sentences]
    counts = Counter(word for words in lowered for word in words)
    frequent = [word for word, count in counts.most_common() if count >= MIN_COUNT]
    bits = bit_strings(word_vectors(lowered, frequent))
    lines = [f"{code}\t{word}\n" for code, word in zip(bits, frequent, strict=True)]
    path.write_text("".join(lines), encoding="utf8")


def word_vectors(sentences: list[list[str]], frequent: list[str]) -> np.ndarray:
    """Unit vectors of words sorted by frequency, float64 [words, DIRECTIONS]."""
    number = {word: i for i, word in enumerate(frequent)}
    pairs = np.zeros((len(frequent), 2 * CONTEXTS))
    for words in sentences:
        numbers = [number.get(word, len(frequent)) for word in words]
        for left, right in pairwise(numbers):
            if left < CONTEXTS and right < len(frequent):
                pairs[right, left] += 1
            if right < CONTEXTS and left < len(frequent):
                pairs[left, CONTEXTS + right] += 1
    expected = np.outer(pairs.sum(axis=1), pairs.sum(axis=0)) / pairs.sum()
    information = np.log(np.maximum(pairs, 1e-9) / np.maximum(expected, 1e-9))
    information = np.where(pairs > 0, np.maximum(information, 0), 0)
    _, directions = np.linalg.eigh(information.T @ information)
    vectors = information @ directions[:, -DIRECTIONS:]
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def bit_strings(vectors: np.ndarray) -> list[str]:
    """The path of each word through the recursive splits."""
    bits = [""] * len(vectors)
    groups = [np.arange(len(vectors))]
    for _ in range(BITS):
        halves = []
        for group in groups:
            centred = vectors[group] - vectors[group].mean(axis=0)
            _, directions = np.linalg.eigh(centred.T @ centred)
            above = centred @ directions[:, -1] > 0
            for word, side in zip(group.tolist(), above.tolist(), strict=True):
                bits[word] += "01"[side]
            halves += [half for half in (group[~above], group[above]) if len(half)]
        groups = halves
    return bits
