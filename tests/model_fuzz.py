"""Damages saved components in ways drawn from a seed, loads them, and tells what came of it.

Runs in a process of its own: what reads or writes out of bounds ends it.
"""

import copy
import json
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from pipelines import (
    CHUNKER,
    EAGER,
    LEMMATIZER,
    PARSER,
    RECOGNIZER,
    SENTER,
    TAGGER,
    Component,
)
from planted_pairs import planted_doc, planted_examples
from saving import FILE, header_of, with_header
from spacy.language import Language

from spacy_ssvm import storage
from spacy_ssvm.storage import ModelFileError


class PairComponent(Component):
    """A component that annotates pairs: what is instead of a text is the seed of a pair."""

    def texts(self) -> list[Any]:
        return list(range(6))

    def annotate(self, nlp: Language, texts: Any = None) -> list[list[str]]:
        docs = [planted_doc(nlp.vocab, seed, links=False) for seed in texts or self.texts()]
        return [self.annotations(doc) for doc in nlp.pipe(docs)]


ALIGNER = PairComponent(
    "ssvm_aligner",
    examples=lambda vocab: planted_examples(vocab, range(8)),
    annotations=lambda doc: list(map(str, doc._.alignment)),
    score="align_f",
    config={**EAGER, "min_count": 1},
)

#: (component, config, settings of initialize)
VARIANTS: list[tuple[Component, dict[str, Any], list[str]]] = [
    (TAGGER, {}, []),
    (TAGGER, {"hash_bits": 10, "templates": ["tagger", "cluster4[0]"]}, ["clusters"]),
    (TAGGER, {"templates": ["tagger", "vector[0]"]}, ["vectors"]),
    (SENTER, {}, []),
    (RECOGNIZER, {"templates": ["ner", "gazetteer[0]", "gazetteer.PER[0]"]}, ["gazetteers"]),
    (RECOGNIZER, {"document": True, "templates": ["ner", "dictionary.*[0]"]}, ["dictionary"]),
    (LEMMATIZER, {}, ["dictionary"]),
    (CHUNKER, {"scheme": "iob2"}, []),
    (PARSER, {"hash_bits": 12}, []),
    (PARSER, {"order": 1, "projective": False, "hash_bits": 12}, []),
    (ALIGNER, {"templates": ["association", "same.lower", "source.lower"]}, []),
    (ALIGNER, {"templates": ["source.lower+target.lower", "hmm"], "source_fertility": 3}, []),
]

STRANGE = [
    None, True, False, -1, 0, 1, 2, 7, 27, 2**16, 2**31, 2**40, -(2**63), 0.5, 1e300,
    float("nan"), float("inf"), "", "x", "O", "lower[0]", "I-PER", "[1]",
    [], [0], ["x"], {}, {"x": 1},
]  # fmt: skip


class Target:
    """A trained component, what it writes, and its saved forms."""

    def __init__(
        self, component: Component, config: dict[str, Any], resources: list[str], folder: Path
    ) -> None:
        self.component = component
        self.nlp = nlp = component.pipeline(**config)
        examples = component.examples(nlp.vocab)
        settings: dict[str, Any] = {}
        if "vectors" in resources:
            for i, word in enumerate(["The", "the", "dog", "old", "barks", "ship"]):
                nlp.vocab.set_vector(word, np.float32([i, i % 2, -1]))
        if "clusters" in resources:
            settings["clusters"] = folder / "clusters.tsv"
            settings["clusters"].write_text("0101\tthe\n0110\tdog\n10\told\n", encoding="utf8")
        if "gazetteers" in resources:
            settings["gazetteers"] = {"PER": folder / "people.txt", "LOC": folder / "places.txt"}
            settings["gazetteers"]["PER"].write_text("Mary Smith\nSmith\n", encoding="utf8")
            settings["gazetteers"]["LOC"].write_text("London\nNew York\n", encoding="utf8")
        if "dictionary" in resources:
            settings["dictionary"] = folder / "dictionary.tsv"
            settings["dictionary"].write_text("dogs\tdog\tN;PL\nSmith\t=\n", encoding="utf8")
        pipe: Any = nlp.get_pipe(component.name)
        pipe.initialize(lambda: examples, nlp=nlp, **settings)
        component.train(nlp, examples, 4)
        self.texts = component.texts()[:6]
        self.expected = component.annotate(nlp, self.texts)
        self.bytes = pipe.to_bytes(exclude=["vocab"])
        self.parts, self.arrays = pipe._saved(["vocab"])
        self.restore()

    def restore(self) -> None:
        """Make the component what it was, after another one has been loaded."""
        pipe: Any = self.nlp.get_pipe(self.component.name)
        pipe.from_bytes(self.bytes, exclude=["vocab"])

    def annotate(self) -> list[list[str]]:
        """What the component writes; nothing where it refuses the vectors of the pipeline."""
        try:
            return self.component.annotate(self.nlp, self.texts)
        except ValueError as error:
            if "but the model was trained on" in str(error):
                return []
            raise


def flip(data: bytes, random: Random) -> bytes:
    """The same bytes with one to three bits changed."""
    changed = bytearray(data)
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def truncate(data: bytes, random: Random) -> bytes:
    return data[: random.randrange(len(data))]


def spoil_parts(parts: Any, random: Random) -> None:
    """Put something strange somewhere into nested lists and dictionaries."""
    while True:
        keys = list(parts) if isinstance(parts, dict) else list(range(len(parts)))
        key = random.choice(keys)
        inner = parts[key]
        if isinstance(inner, list | dict) and inner and random.random() < 0.8:
            parts = inner
            continue
        action = random.randrange(4)
        if action == 0:
            del parts[key]
        elif action == 1 and isinstance(parts, list):
            parts.append(copy.deepcopy(random.choice(parts)))
        else:
            parts[key] = copy.deepcopy(random.choice(STRANGE))
        return


def spoil_array(array: np.ndarray, random: Random) -> np.ndarray:
    """An array of the same type, with other values or another shape."""
    array = array.copy()
    action = random.randrange(10)
    if action == 0:
        return array.ravel()
    if action == 1:
        return array[: random.randrange(len(array) + 1)]
    if action == 2:
        return np.concatenate([array, array])
    if action == 3:
        return array.reshape(1, *array.shape)
    if action == 4:
        return np.ascontiguousarray(array.T)
    if array.size:
        highest: Any = np.inf if array.dtype.kind == "f" else np.iinfo(array.dtype).max
        lowest: Any = -np.inf if array.dtype.kind == "f" else np.iinfo(array.dtype).min
        values = [0, 1, 2, min(len(array), highest), highest, lowest]
        if array.dtype.kind == "f":
            values.append(np.nan)
        if action == 5:
            array[...] = random.choice(values)
        else:
            place = random.choice([0, array.size - 1, random.randrange(array.size)])
            array.reshape(-1)[place] = random.choice(values)
    return array


def damage(target: Target, random: Random, folder: Path) -> tuple[bool, Any]:
    """Whether a component so damaged may write something else, and how it is loaded."""
    action = random.randrange(8)
    if action <= 1:
        data = (flip, truncate)[action](target.bytes, random)
        return False, lambda pipe: pipe.from_bytes(data, exclude=["vocab"])
    if action <= 3:
        data, rest = target.bytes, b""
        if random.random() < 0.5:  # in the header
            end = len(data) - len(header_of(data)[1])
            data, rest = data[:end], data[end:]
        damaged = (flip, truncate)[action - 2](data, random) + rest
        (folder / FILE).write_bytes(damaged)
        return False, lambda pipe: pipe.from_disk(folder, exclude=["vocab"])
    parts, arrays = copy.deepcopy(target.parts), dict(target.arrays)
    for _ in range(random.choice([1, 1, 2])):
        if action <= 5:
            spoil_parts(parts, random)
        else:
            name = random.choice(list(arrays))
            arrays[name] = spoil_array(arrays[name], random)
    kind = target.component.name
    if random.random() < 0.5:
        storage.save(folder, kind, parts, arrays)
        if random.random() < 0.2:
            header, rest = header_of((folder / FILE).read_bytes())
            spoil_parts(header, random)
            (folder / FILE).write_bytes(with_header(header, rest))
        return True, lambda pipe: pipe.from_disk(folder, exclude=["vocab"])
    message = storage.to_bytes(kind, parts, arrays)
    return True, lambda pipe: pipe.from_bytes(message, exclude=["vocab"])


def outcome(target: Target, random: Random, folder: Path) -> str:
    """What came of one damaged component: "refused", "same" or, where it may be, "other"."""
    may_differ, load = damage(target, random, folder)
    pipe: Any = target.nlp.get_pipe(target.component.name)
    try:
        load(pipe)
    except ModelFileError as error:
        message = str(error)
        if FILE not in message and "bytes of" not in message:
            raise AssertionError(f"names no file: {message}") from error
        if len(message) > 1000:
            raise AssertionError(f"a message of {len(message)} characters") from error
        if random.random() < 0.05 and target.annotate() != target.expected:
            raise AssertionError("a refused load has changed the component") from error
        return "refused"
    try:
        if not pipe.model.labels:
            if may_differ:  # a component that has not been initialized
                return "refused"
            raise AssertionError("holds nothing, and was not refused")
        found = target.annotate()
        pipe.to_bytes(exclude=["vocab"])
    finally:
        target.restore()
    if found == target.expected:
        return "same"
    if not may_differ:
        raise AssertionError(f"annotates something else: {found} {target.expected}")
    return "other"


def run(first: int, last: int) -> None:
    """Damage by the seeds from first to last; print how often what came of it."""
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        targets = [Target(*variant, Path(name)) for variant in VARIANTS]
        for seed in range(first, last):
            print(seed, file=sys.stderr, flush=True)  # the last one is to blame for a crash
            random = Random(seed)
            target = random.choice(targets)
            with tempfile.TemporaryDirectory(dir=name) as folder:
                counts[outcome(target, random, Path(folder))] += 1
    print(json.dumps(counts))


if __name__ == "__main__":
    run(int(sys.argv[1]), int(sys.argv[2]))
