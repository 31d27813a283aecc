"""Examples from files of parallel texts; what does not fit is named by file and line."""

import gzip
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc, DocBin
from spacy.training import Corpus, Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import load_model, load_model_from_config, registry
from thinc.api import Config

from spacy_ssvm.align.reader import (
    ParallelCorpus,
    are_parallel,
    read_pairs,
    write_pairs,
)
from spacy_ssvm.align.scorer import aligner_score
from spacy_ssvm.align.text_pairs import (
    POSSIBLE,
    aligned_links,
    make_pair,
    read_links,
    sides,
    write_links,
)

SOURCE = "the house\n\nI go home\nempty target\nyes\n"
TARGET = "das Haus\nleer\nich gehe nach Hause\n\nja\n"
PHARAOH = "1-1 0-0\n\n2-3 0-0 2?2\n\n\n"
NAACL = "1 2 2\n1 1 1 S\n3 3 4\n3 1 1 S\n3 3 3 P\n"

WORDS = [
    [["the", "house"], ["das", "Haus"]],
    [["I", "go", "home"], ["ich", "gehe", "nach", "Hause"]],
    [["yes"], ["ja"]],
]
LINKS = [[[0, 0], [1, 1]], [[0, 0], [2, 3]], []]
FURTHER = [[], [[2, 2]], []]


@pytest.fixture
def nlp() -> Language:
    return spacy.blank("xx")


def write(path: Path, text: str) -> Path:
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def corpus_in(
    folder: Path,
    source: str = SOURCE,
    target: str = TARGET,
    alignment: str | None = PHARAOH,
    **settings: Any,
) -> ParallelCorpus:
    return ParallelCorpus(
        write(folder / "valid.src", source),
        write(folder / "valid.tgt", target),
        None if alignment is None else write(folder / "valid.align", alignment),
        **settings,
    )


def words(doc: Doc) -> list[list[str]]:
    return [[token.text for token in side] for side in sides(doc)]


def links(docs: Iterable[Doc], *attribute: str) -> list[list[list[int]] | None]:
    found = (read_links(doc, *attribute) for doc in docs)
    return [None if value is None else value.tolist() for value in found]


@pytest.mark.parametrize(("alignment", "settings"), [
    (PHARAOH, {}), (PHARAOH, {"format": "pharaoh"}), (NAACL, {"format": "naacl"}),
])  # fmt: skip
def test_examples(nlp: Language, tmp_path: Path, alignment: str, settings: Any) -> None:
    corpus = corpus_in(tmp_path, alignment=alignment, **settings)
    for _ in range(2):
        examples = list(corpus(nlp))
        references = [example.reference for example in examples]
        predicted = [example.predicted for example in examples]
        assert [words(doc) for doc in references] == WORDS
        assert [words(doc) for doc in predicted] == WORDS
        assert links(references) == LINKS
        assert links(references, POSSIBLE) == FURTHER
        assert links(predicted) == links(predicted, POSSIBLE) == [None] * 3
        assert all(doc.vocab is nlp.vocab for doc in references + predicted)


def test_without_alignments(nlp: Language, tmp_path: Path) -> None:
    references = [example.reference for example in corpus_in(tmp_path, alignment=None)(nlp)]
    assert [words(doc) for doc in references] == WORDS
    assert links(references) == links(references, POSSIBLE) == [None] * 3


def test_pairs_are_written_as_they_are_read(nlp: Language, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("source", "target", "links")]
    docs = [
        make_pair(nlp.vocab, ["a", "b"], ["x"], np.array([[1, 0]]), np.array([[0, 0]])),
        make_pair(nlp.vocab, ["č"], ["z", "y"]),
    ]
    write_pairs(files, docs)
    assert [file.read_text(encoding="utf8") for file in files] == [
        "a b\nč\n",
        "x\nz y\n",
        "1-0 0?0\n\n",
    ]
    found = [example.reference for example in ParallelCorpus(*files)(nlp)]
    assert [words(doc) for doc in found] == [words(doc) for doc in docs]
    assert links(found) == [[[1, 0]], []]
    assert links(found, POSSIBLE) == [[[0, 0]], []]
    assert are_parallel(files)
    assert not are_parallel(files[:2])
    with pytest.raises(ValueError, match=r"links holds links between words: .* in this order"):
        are_parallel(files[::-1])


@pytest.mark.parametrize(("limit", "expected"), [(0, 3), (1, 1), (2, 2), (9, 3)])
def test_limit(nlp: Language, tmp_path: Path, limit: int, expected: int) -> None:
    examples = list(corpus_in(tmp_path, limit=limit)(nlp))
    assert [words(example.reference) for example in examples] == WORDS[:expected]


def test_compressed_files(nlp: Language, tmp_path: Path) -> None:
    names = zip(("s.gz", "t.gz", "a.gz"), (SOURCE, TARGET, PHARAOH), strict=True)
    corpus = ParallelCorpus(*(write(tmp_path / name, text) for name, text in names))
    assert links(example.reference for example in corpus(nlp)) == LINKS


def test_all_pairs_without_links(nlp: Language, tmp_path: Path) -> None:
    corpus_in(tmp_path)
    docs = list(read_pairs(nlp.vocab, tmp_path / "valid.src", tmp_path / "valid.tgt"))
    assert words(docs[1]) == [[], ["leer"]]
    assert words(docs[3]) == [["empty", "target"], []]
    assert [words(docs[i]) for i in (0, 2, 4)] == WORDS
    assert links(docs) == [None] * 5


@pytest.fixture
def others(tmp_path: Path) -> Any:
    """A file of another aligner's links, with the attribute that it is written to."""
    yield {"other_in_test": write(tmp_path / "valid.other", "0-1\n\n2-3 0-0\n\n\n")}
    if Doc.has_extension("other_in_test"):
        Doc.remove_extension("other_in_test")


def test_links_of_another_aligner(nlp: Language, tmp_path: Path, others: Any) -> None:
    examples = list(corpus_in(tmp_path, evidence=others)(nlp))
    predicted = [example.predicted for example in examples]
    assert links(predicted, "other_in_test") == [[[0, 1]], [[0, 0], [2, 3]], []]
    assert links(predicted) == [None] * 3
    assert [example.reference._.other_in_test for example in examples] == [None] * 3
    files = tmp_path / "valid.src", tmp_path / "valid.tgt"
    docs = list(read_pairs(nlp.vocab, *files, others))
    assert links(docs, "other_in_test") == [[[0, 1]], [], [[0, 0], [2, 3]], [], []]


@pytest.mark.parametrize(("text", "problem"), [
    ("0-1\n\n3-3\n\n\n", "valid.other, line 3: link 3-3: the source has 3 words"),
    ("\n0-0\n\n\n\n", "valid.other, line 2: link 0-0: the source has 0 words"),
    ("\n\n", "valid.other ends before line 3 of {}/valid.src"),
    ("\n" * 6, "valid.other, line 6: {}/valid.src has only 5 lines"),
    ("0:0\n", "valid.other, line 1"),
])  # fmt: skip
def test_links_of_another_aligner_that_do_not_fit(
    nlp: Language, tmp_path: Path, others: Any, text: str, problem: str
) -> None:
    write(others["other_in_test"], text)
    corpus = corpus_in(tmp_path, evidence=others)
    files = tmp_path / "valid.src", tmp_path / "valid.tgt"
    for read in (lambda: list(corpus(nlp)), lambda: list(read_pairs(nlp.vocab, *files, others))):
        with pytest.raises(ValueError, match=re.escape(problem.format(tmp_path))):
            read()


def test_links_of_another_aligner_are_not_the_alignment(nlp: Language, tmp_path: Path) -> None:
    corpus = corpus_in(tmp_path, evidence={"alignment": tmp_path / "valid.align"})
    with pytest.raises(ValueError, match=r"evidence cannot be written to doc._.alignment"):
        list(corpus(nlp))


@pytest.mark.parametrize("missing", ["source", "target", "alignment", "evidence"])
def test_files_that_do_not_exist(tmp_path: Path, missing: str) -> None:
    """They are found before training begins, which may take long until it reads them."""
    corpus = corpus_in(tmp_path)
    files: dict[str, Any] = {key: vars(corpus)[key] for key in ("source", "target", "alignment")}
    files[missing] = tmp_path / "none"
    if missing == "evidence":
        files[missing] = {"other_in_test": tmp_path / "none"}
    with pytest.raises(ValueError, match=re.escape(f"{tmp_path / 'none'} does not exist")):
        ParallelCorpus(**files)


@pytest.mark.parametrize(("files", "problem"), [
    ({"alignment": "0-0\n\n17-2\n\n\n"}, "valid.align, line 3: link 17-2: the source has 3 words"),
    ({"alignment": "\n\n0-0 2-4\n\n"}, "valid.align, line 3: link 2-4: the target has 4 words"),
    ({"alignment": "\n0-0\n\n\n\n"}, "valid.align, line 2: link 0-0: the source has 0 words"),
    ({"alignment": "\n\n\n0?0\n\n"}, "valid.align, line 4: link 0-0: the target has 0 words"),
    (
        {"alignment": "1 1 3 P\n", "format": "naacl"},
        "valid.align, sentence 1: link 1-3: the target has 2 words",
    ),
    (
        {"alignment": "6 1 1\n", "format": "naacl"},
        "valid.align, sentence 6: {}/valid.src has only 5 lines",
    ),
    ({"alignment": PHARAOH + "\n"}, "valid.align, line 6: {}/valid.src has only 5 lines"),
    ({"alignment": "\n\n"}, "valid.align ends before line 3 of {}/valid.src: there must be a line"),
    ({"alignment": "0-0\n\n1:1\n\n\n"}, "valid.align, line 3"),
    ({"target": "a\nb\n", "alignment": None}, "valid.src has 5 lines, but {}/valid.tgt has 2"),
    ({"source": "a\nb\n", "alignment": "\n\n"}, "valid.src has 2 lines, but {}/valid.tgt has 5"),
    ({"source": "", "target": "", "alignment": None}, "valid.src and {}/valid.tgt hold no pairs"),
    ({"source": "\n\n", "target": "a\nb\n", "alignment": None}, "valid.src and {}/valid.tgt hold"),
])  # fmt: skip
def test_files_that_do_not_fit(
    nlp: Language, tmp_path: Path, files: dict[str, Any], problem: str
) -> None:
    message = f"{tmp_path}/{problem.format(tmp_path)}"
    with pytest.raises(ValueError, match=re.escape(message)):
        list(corpus_in(tmp_path, **files)(nlp))


def test_empty_files_have_no_pairs_to_align(nlp: Language, tmp_path: Path) -> None:
    source, target = write(tmp_path / "s", ""), write(tmp_path / "t", "")
    message = re.escape(f"{source} and {target} are empty")
    with pytest.raises(ValueError, match=message):
        list(read_pairs(nlp.vocab, source, target))


def test_settings_that_are_wrong(tmp_path: Path) -> None:
    for paths in ((None, tmp_path), (tmp_path, None)):
        with pytest.raises(ValueError, match="E913"):
            ParallelCorpus(*paths)
    with pytest.raises(ValueError, match="no format 'talp' of alignments: choose one of pharaoh,"):
        ParallelCorpus(tmp_path, tmp_path, format="talp")


def test_the_plain_corpus_makes_no_pairs(nlp: Language, tmp_path: Path) -> None:
    """If it does one day, docs/aligner.md need not say otherwise."""
    references = [example.reference for example in corpus_in(tmp_path)(nlp)]
    DocBin(docs=references, store_user_data=True).to_disk(tmp_path / "pairs.spacy")
    for example in Corpus(tmp_path / "pairs.spacy")(nlp):
        assert read_links(example.reference) is not None
        with pytest.raises(ValueError, match="has neither spans"):
            sides(example.predicted)


# Training


class LearnsOffset(TrainablePipe):
    """Links each word to the one at the most frequent gold offset."""

    def __init__(self, vocab: Any, name: str) -> None:
        self.vocab, self.name, self.model = vocab, name, None
        self.cfg: dict[str, Any] = {"offsets": []}
        self.scorer = aligner_score

    def initialize(self, get_examples: Any, *, nlp: Any = None) -> None:
        assert all(words(example.predicted) for example in get_examples())

    def update(
        self, examples: Any, *, drop: float = 0.0, sgd: Any = None, losses: Any = None
    ) -> Any:
        for example in examples:
            gold = aligned_links(example)
            self.cfg["offsets"] += np.diff(gold.links, axis=1).ravel().tolist()
        losses = {} if losses is None else losses
        losses[self.name] = float(len(examples))
        return losses

    def finish_update(self, sgd: Any) -> None:
        pass

    def predict(self, docs: Iterable[Doc]) -> list[np.ndarray]:
        offset = max(set(self.cfg["offsets"]), key=self.cfg["offsets"].count)
        found = []
        for doc in docs:
            source, target = map(len, sides(doc))
            pairs = [(i, i + offset) for i in range(source) if 0 <= i + offset < target]
            found.append(np.array(pairs, dtype=np.int64))
        return found

    def set_annotations(self, docs: Iterable[Doc], scores: list[np.ndarray]) -> None:
        for doc, pairs in zip(docs, scores, strict=True):
            write_links(doc, pairs)

    def to_disk(self, path: Path, *, exclude: Any = ()) -> None:
        path.write_text(" ".join(map(str, self.cfg["offsets"])))

    def from_disk(self, path: Path, *, exclude: Any = ()) -> "LearnsOffset":
        self.cfg["offsets"] = [int(offset) for offset in path.read_text().split()]
        return self


@Language.factory("learns_offset_in_test")
def make_pipe(nlp: Language, name: str) -> LearnsOffset:
    return LearnsOffset(nlp.vocab, name)


CONFIG = """
[nlp]
lang = "xx"
pipeline = ["aligner", "second"]

[components]

[components.aligner]
factory = "learns_offset_in_test"

[components.second]
factory = "learns_offset_in_test"

[corpora]

[corpora.train]
@readers = "spacy_ssvm.ParallelCorpus.v1"
source = "{0}/valid.src"
target = "{0}/valid.tgt"
alignment = "{0}/valid.align"
limit = 2

[corpora.dev]
@readers = "spacy_ssvm.ParallelCorpus.v1"
source = "{0}/valid.src"
target = "{0}/valid.tgt"
alignment = "{0}/naacl.align"
format = "naacl"

[training]
train_corpus = "corpora.train"
dev_corpus = "corpora.dev"
max_epochs = 2
eval_frequency = 1
annotating_components = ["aligner"]

[training.score_weights]
align_f = 1.0
align_aer = null

[initialize]
"""


def test_training_and_evaluation(tmp_path: Path) -> None:
    """Predicted Docs keep their sides in all that ``spacy train`` does with them."""
    corpus_in(tmp_path)
    write(tmp_path / "naacl.align", NAACL)
    config = Config().from_str(CONFIG.format(tmp_path))
    train(init_nlp(load_model_from_config(config, auto_fill=True).config), tmp_path)
    best = load_model(tmp_path / "model-best")
    assert best.meta["performance"]["align_f"] == pytest.approx(2 * 3 / (2 + 3 + 1 + 4))
    corpus = registry.get("readers", "spacy_ssvm.ParallelCorpus.v1")(
        tmp_path / "valid.src", tmp_path / "valid.tgt", tmp_path / "valid.align"
    )
    scores = best.evaluate(list(corpus(best)))
    # |A| = 6, |S| = 4, |A & S| = 3, |A & P| = 4
    assert scores["align_aer"] == pytest.approx(1 - 7 / 10)
    assert scores["align_p"] == pytest.approx(4 / 6)
    assert scores["align_r"] == pytest.approx(3 / 4)


def test_evaluation_leaves_the_examples_as_they_were(nlp: Language, tmp_path: Path) -> None:
    pipe = nlp.add_pipe("learns_offset_in_test")
    pipe.cfg["offsets"] = [0]
    examples: list[Example] = list(corpus_in(tmp_path)(nlp))
    first, second = nlp.evaluate(examples), nlp.evaluate(examples)
    assert first["align_r"] == second["align_r"] == pytest.approx(3 / 4)
    assert links(example.predicted for example in examples) == [None] * 3
