"""Workers read parts of a corpus, which together are the whole."""

import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
import srsly
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span

from spacy_ssvm.distributed import corpora
from spacy_ssvm.distributed.corpora import Shard, divide, measure, read_shard, train_corpus

SIZES = (4, 0, 1, 7, 3)  # Docs of the files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files with Docs, some of them empty; a Doc says which one it is."""
    nlp, number = spacy.blank("en"), 0
    for name, size in enumerate(SIZES):
        docs = []
        for i in range(size):
            doc = nlp.make_doc(" ".join(["word"] * (1 + number % 4)) + f" {number}")
            doc.cats = {"number": float(number)}
            doc.spans["all"] = [Span(doc, 0, len(doc), str(number))]
            doc.user_data["number"] = number
            docs += [doc, *[Doc(nlp.vocab)] * (i % 2)]
            number += 1
        DocBin(docs=docs, store_user_data=True).to_disk(tmp_path / "corpus" / f"{name}.spacy")
    return tmp_path / "corpus"


@pytest.fixture(autouse=True)
def make_folder(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()


def pipeline(folder: Path, **settings: Any) -> Language:
    nlp = spacy.blank("en")
    reader = {"@readers": "spacy.Corpus.v1", "path": str(folder), "gold_preproc": False}
    reader |= {"max_length": 0, "limit": 0, "augmenter": None} | settings
    nlp.config["corpora"] = {"train": reader, "dev": reader}
    return nlp


def known(examples: Any) -> list[Any]:
    """What identifies examples, and shows that nothing of them is lost."""
    return [
        (
            e.predicted.text,
            e.text,
            e.reference.cats,
            dict(e.reference.user_data),
            str(e.reference.spans),
        )
        for e in examples
    ]


@pytest.mark.parametrize("number", [1, 2, 3, 5, 15])
def test_parts_are_the_whole(number: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nlp = pipeline(folder)
    lengths, files = measure(nlp)
    assert files == list(SIZES)
    assert lengths == [len(example.reference) for example in train_corpus(nlp)]
    found, opened, read = [], list[Path](), corpora._read
    monkeypatch.setattr(corpora, "_read", lambda path: (opened.append(path), read(path))[1])
    for bounds in divide(lengths, number):
        opened.clear()
        part = known(read_shard(nlp, Shard(*bounds, files)))
        assert len(part) == bounds[1] - bounds[0]
        firsts = np.cumsum([0, *SIZES])
        own = [i for i in range(5) if firsts[i] < bounds[1] and firsts[i + 1] > bounds[0]]
        assert [int(path.stem) for path in opened] == [i for i in own if SIZES[i]]
        found += part
    assert found == known(train_corpus(nlp))


@pytest.mark.parametrize(
    "settings",
    [
        {"limit": 9},
        {"gold_preproc": True},
        {"max_length": 4},
        {"augmenter": {"@augmenters": "spacy.lower_case.v1", "level": 1.0}},
    ],
)
def test_other_corpora_are_read_from_their_beginning(settings: Any, folder: Path) -> None:
    nlp = pipeline(folder, **settings)
    lengths, files = measure(nlp)
    assert files is None
    whole = known(train_corpus(nlp))
    assert len(lengths) == len(whole)
    parts = [read_shard(nlp, Shard(*bounds, files)) for bounds in divide(lengths, 3)]
    assert [example for part in parts for example in known(part)] == whole


@pytest.mark.parametrize("is_plain", [True, False])
def test_of_a_url_workers_copy_their_files(
    is_plain: bool, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fsspec", reason="fsspec is not installed")
    (folder / "README.txt").write_text("not a part of it", encoding="utf8")
    (folder / ".before").mkdir()
    (folder / ".before" / "0.spacy").write_bytes((folder / "0.spacy").read_bytes())
    settings = {} if is_plain else {"limit": 14}
    local, nlp = pipeline(folder, **settings), pipeline(folder, **settings)
    corpus = nlp.config["corpora"]["train"]
    nlp.config["corpora"]["train"] = {**corpus, "path": f"file://{folder}"}
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "learner"))
    lengths, files = measure(nlp)
    assert (lengths, files) == measure(local)
    examples = []
    for worker, bounds in enumerate(divide(lengths, 3)):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / str(worker)))
        part = known(read_shard(nlp, Shard(*bounds, files)))
        assert part == known(read_shard(local, Shard(*bounds, files)))
        copies = sorted((tmp_path / str(worker)).rglob("*.spacy"))
        firsts = np.cumsum([0, *SIZES])
        own = [i for i in range(5) if firsts[i] < bounds[1] and firsts[i + 1] > bounds[0]]
        expected = [i for i in own if SIZES[i]] if is_plain else [*range(5)]
        assert [int(path.stem) for path in copies] == expected
        examples += part
    assert examples == known(train_corpus(local))
    if is_plain:
        (folder / "3.spacy").write_bytes(b"damaged")
        with pytest.raises(ValueError, match=rf"^{folder}/3\.spacy: cannot be read"):
            measure(nlp)


def test_all_machines_have_the_same_files(folder: Path) -> None:
    nlp = pipeline(folder)
    shard = Shard(0, 15, measure(nlp).files)
    (folder / "3.spacy").write_bytes((folder / "4.spacy").read_bytes())
    with pytest.raises(ValueError, match=r"3\.spacy: has 3 Docs on this machine, and 7 on the one"):
        list(read_shard(nlp, shard))
    (folder / "3.spacy").unlink()
    with pytest.raises(
        ValueError, match=r"has 4 files of the training corpus, and the one .* 5: all"
    ):
        list(read_shard(nlp, shard))


def test_a_file_that_cannot_be_read_is_named(folder: Path) -> None:
    nlp, file = pipeline(folder), folder / "3.spacy"
    whole = file.read_bytes()
    for damaged in (whole[:50], b"", b"text"):
        file.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"3\.spacy: cannot be read"):
            measure(nlp)
    content = srsly.msgpack_loads(zlib.decompress(whole))
    content["cats"] = content["cats"][1:]
    file.write_bytes(zlib.compress(srsly.msgpack_dumps(content)))
    with pytest.raises(ValueError, match=r"3\.spacy: damaged: not all Docs have all parts"):
        measure(nlp)


def test_a_corpus_has_examples(folder: Path) -> None:
    for name in range(5):
        (folder / f"{name}.spacy").write_bytes((folder / "1.spacy").read_bytes())
    with pytest.raises(ValueError, match=r"no examples: check \[corpora\.train\] path"):
        measure(pipeline(folder))


def test_shards_have_about_as_many_words_each() -> None:
    assert divide([5, 1, 1, 1, 1, 1], 2) == [(0, 1), (1, 6)]
    assert divide([1, 1, 1, 100], 4) == [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert divide([100, 1, 1, 1], 4) == [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert divide([0, 0, 0], 3) == [(0, 1), (1, 2), (2, 3)]
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 30, size=500).tolist()
    shards = divide(lengths, 7)
    assert [a for a, _ in shards] == [0, *(b for _, b in shards[:-1])]
    sizes = [sum(lengths[a:b]) for a, b in shards]
    assert max(sizes) - min(sizes) < 2 * max(lengths)


def test_shards_have_words_in_proportion_to_speeds() -> None:
    lengths = np.random.default_rng(0).integers(1, 30, size=500).tolist()
    sizes = [sum(lengths[a:b]) for a, b in divide(lengths, 3, [100.0, 400.0, 200.0])]
    expected = [sum(lengths) * share / 7 for share in (1, 4, 2)]
    assert np.allclose(sizes, expected, rtol=0, atol=30)
    assert divide([1, 1, 1], 3, [1000.0, 1.0, 1.0]) == [(0, 1), (1, 2), (2, 3)]
    assert divide(lengths, 7, [0.3] * 7) == divide(lengths, 7)


def test_there_are_no_more_shards_than_examples() -> None:
    with pytest.raises(ValueError, match="has 2 examples: at most as many workers"):
        divide([3, 4], 3)
