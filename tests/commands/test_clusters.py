"""The command ``clusters``: words of raw text, or with vectors, in a tree of clusters."""

import gzip
import random
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
import spacy
from click.testing import Result
from spacy.vectors import Vectors
from typer.testing import CliRunner

from spacy_ssvm.cli import ssvm
from spacy_ssvm.features.clusters import _MAX_BITS, read_clusters, show_bits

pytest.importorskip("floret", reason='needs pip install "spacy-ssvm[clusters]"')
pytest.importorskip("sklearn", reason='needs pip install "spacy-ssvm[clusters]"')

from spacy_ssvm.commands.clusters import (
    WordVectors,
    bisect,
    cluster_words,
    sample_clusters,
    write_clusters,
)

CITIES = [f"City{i}" for i in range(20)]
VERBS = [f"verb{i}" for i in range(20)]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(ssvm, ["resources", "clusters", "--output", *arguments])


def written(path: Path) -> dict[str, str]:
    """The bit string of each word."""
    lines = path.read_text(encoding="utf8").splitlines()
    return {word: bits for bits, word in (line.split("\t") for line in lines)}


def shared(first: str, second: str) -> int:
    """The length of the common prefix of two bit strings."""
    return next((i for i in range(len(first)) if first[: i + 1] != second[: i + 1]), len(first))


def groups(spread: float = 0.01) -> np.ndarray:
    """Two pairs of groups of five points each: the groups of a pair are nearer to each other."""
    centers = np.repeat([[0.0, 0.0], [0.0, 1.0], [9.0, 0.0], [9.0, 1.0]], 5, axis=0)
    return centers + spread * np.random.default_rng(0).normal(size=centers.shape)


def test_far_groups_are_split_before_near_ones() -> None:
    paths = bisect(groups(), 4)
    assert [len(set(paths[i : i + 5])) for i in range(0, 20, 5)] == [1, 1, 1, 1]
    first, second, third, fourth = paths[::5]
    assert shared(first, second) == shared(third, fourth) == 1
    assert shared(first, third) == 0


def test_bit_strings_are_those_of_leaves() -> None:
    points = np.random.default_rng(1).normal(size=(200, 3))
    paths = bisect(points, 30)
    assert len(set(paths)) == 30
    for first, second in combinations(set(paths), 2):
        assert not first.startswith(second)
        assert not second.startswith(first)
    assert sum(2.0 ** -len(path) for path in set(paths)) == 1.0
    assert bisect(points, 30) == paths


def test_the_most_scattered_cluster_is_split_next() -> None:
    points = np.array([[0.0], [0.1], [0.2], [50.0], [90.0]])
    paths = bisect(points, 3)
    assert len(set(paths[:3])) == 1
    assert len({paths[0], paths[3], paths[4]}) == 3


def test_equal_points_stay_together() -> None:
    assert bisect(np.full((7, 3), 0.1), 4) == ["0"] * 7  # whose mean is another float
    paths = bisect(np.repeat(np.eye(3), 4, axis=0), 50)
    assert len(set(paths)) == 3
    assert paths[0] == paths[3] != paths[4]


def test_paths_are_not_longer_than_models_can_store(tmp_path: Path) -> None:
    halving = np.array([[2.0**-k] for k in range(100)])  # each split takes one point off
    paths = bisect(halving, 1000)
    assert max(map(len, paths)) == _MAX_BITS
    words = [f"word{i}" for i in range(100)]
    write_clusters(tmp_path / "clusters.txt", zip(paths, words, strict=True))
    found = read_clusters(tmp_path / "clusters.txt").find(words)
    assert [show_bits(int(bits)) for bits in found] == paths


def test_words_are_clustered_by_direction_and_those_without_vectors_left_out() -> None:
    vectors = np.array([[1.0, 0.1], [0.0, 0.0], [100.0, 9.0], [0.1, 1.0], [0.0, 0.02]])
    clusters = cluster_words(WordVectors(["a", "nothing", "b", "c", "d"], vectors), 2)
    paths = {word: bits for bits, word in clusters}
    assert paths.keys() == {"a", "b", "c", "d"}
    assert paths["a"] == paths["b"] != paths["c"] == paths["d"]
    with pytest.raises(ValueError, match="none of the words has a vector"):
        cluster_words(WordVectors(["nothing"], np.zeros((1, 2))), 2)


def test_samples_are_from_all_over_the_tree() -> None:
    clusters = [(f"{i:04b}", f"word{i}{letter}") for letter in "abc" for i in range(16)]
    samples = sample_clusters(clusters, number=4, words=2)
    assert [path for path, _, _ in samples] == ["0000", "0100", "1000", "1100"]
    assert samples[1] == ("0100", 3, ["word4a", "word4b"])
    assert len(sample_clusters(clusters[:3])) == 3


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lines in which cities and verbs have neighbours of different kinds."""
    draw = random.Random(0)

    def phrase(before: str, words: list[str], after: str) -> str:
        return (
            f"{before}{draw.randrange(20)} {draw.choice(words)} \u00a0 {after}{draw.randrange(20)}"
        )

    lines = [f"{phrase('a', CITIES, 'b')} and\t{phrase('c', VERBS, 'd')}.\n" for _ in range(4000)]
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("".join([*lines, "A hapax, once.\n"]), encoding="utf8")
    return path


def test_words_of_texts_with_the_same_neighbours_share_a_cluster(
    text: Path, tmp_path: Path
) -> None:
    output = tmp_path / "new" / "clusters.txt"
    arguments = ("--text", str(text), "--number", "8", "--dimensions", "20", "--epochs", "60")
    result = run(str(output), *arguments)
    assert result.exit_code == 0, result.output
    paths = written(output)
    assert {".", *CITIES, *VERBS} <= paths.keys()
    assert not {"hapax", "</s>", "\u00a0"} & paths.keys()
    lines = output.read_text(encoding="utf8").splitlines()
    assert len(lines) == len(paths)
    assert [line.split("\t")[0] for line in lines] == sorted(paths.values())
    assert not {paths[city] for city in CITIES} & {paths[verb] for verb in VERBS}
    assert f'clusters = "{output.as_posix()}"' in result.output
    assert f"{len(paths)} words in {len(set(paths.values()))} clusters" in result.output
    read_clusters(output)


def test_texts_are_read_together_and_each_run_writes_the_same(text: Path, tmp_path: Path) -> None:
    halves = [tmp_path / "a.txt", tmp_path / "b.txt.gz"]
    lines = text.read_text(encoding="utf8").splitlines(keepends=True)
    halves[0].write_text("".join(lines[:1000]), encoding="utf8")
    halves[1].write_bytes(gzip.compress("".join(lines[1000:]).encode()))
    settings = ["--dimensions", "8", "--epochs", "1"]
    files = [tmp_path / f"{i}.txt" for i in range(3)]
    for file, texts in zip(files, ([text], halves, halves), strict=True):
        options = [option for path in texts for option in ("--text", str(path))]
        assert run(str(file), *options, *settings).exit_code == 0
    for first, second in pairwise(files):
        assert first.read_bytes() == second.read_bytes()


def test_vectors_of_a_pipeline(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    rows = {"cat": [1.0, 0.0], "dog": [0.9, 0.1], "run": [0.0, 1.0], "none": [0.0, 0.0]}
    for word, vector in rows.items():
        nlp.vocab.set_vector(word, np.array(vector, dtype=np.float32))
    nlp.vocab.vectors.resize((8, 2))
    nlp.vocab.vectors.add(12345, row=0)  # a word of which the pipeline has no string
    nlp.vocab.vectors.add(nlp.vocab.strings.add("cats"), row=nlp.vocab.vectors.find(key="cat"))
    nlp.to_disk(tmp_path / "pipeline")
    output = tmp_path / "clusters.txt"
    result = run(str(output), "--vectors", str(tmp_path / "pipeline"), "--number", "3")
    assert result.exit_code == 0, result.output
    paths = written(output)
    assert paths.keys() == {"cat", "cats", "dog", "run"}
    assert paths["cat"] == paths["cats"] != paths["dog"]
    assert paths["cat"][0] == paths["dog"][0] != paths["run"][0]
    run(str(output), "--vectors", str(tmp_path / "pipeline"), "--number", "2")
    assert [word for word in written(output) if word != "run"] == ["cat", "cats", "dog"]  # by rows
    words = tmp_path / "words.txt"
    words.write_text("run\n\nunknown\r\ncat\nrun\nin two\n", encoding="utf8")
    some = ("--vectors", str(tmp_path / "pipeline"), "--only", str(words))
    assert run(str(output), *some).exit_code == 0
    assert written(output).keys() == {"cat", "run"}
    assert len(output.read_text(encoding="utf8").splitlines()) == 2


def test_floret_vectors_need_a_list_of_words(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    nlp.vocab.vectors = Vectors(
        strings=nlp.vocab.strings,
        data=np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32),
        mode="floret",
        minn=2,
        maxn=3,
        hash_count=1,
    )
    nlp.to_disk(tmp_path / "pipeline")
    output, words = tmp_path / "clusters.txt", tmp_path / "words.txt"
    arguments = (str(output), "--vectors", str(tmp_path / "pipeline"))
    assert "which list no words: name a file by --only" in run(*arguments).output
    words.write_text("cat\ndog\nhouse\n", encoding="utf8")
    assert run(*arguments, "--only", str(words)).exit_code == 0
    assert written(output).keys() == {"cat", "dog", "house"}


def test_wrong_arguments_are_one_message(text: Path, tmp_path: Path) -> None:
    output = tmp_path / "clusters.txt"
    spacy.blank("en").to_disk(tmp_path / "pipeline")
    damaged = tmp_path / "damaged.txt"
    damaged.write_bytes(b"fine\n\xff\xfe\n")
    rare, empty = tmp_path / "rare.txt", tmp_path / "empty.txt"
    rare.write_text("".join(f"word{i}\n" for i in range(30)), encoding="utf8")
    empty.write_text("\n", encoding="utf8")
    nlp = spacy.blank("en")
    nlp.vocab.set_vector("cat", np.ones(3, dtype=np.float32))
    nlp.to_disk(tmp_path / "cat")
    cases = (
        (["--text", str(rare)], "no word occurs 10 times"),
        (["--text", str(empty)], "no word occurs 10 times"),
        (["--vectors", str(tmp_path / "cat"), "--only", str(empty)], "none of the words has"),
        (["--vectors", str(tmp_path / "cat"), "--only", str(rare)], "none of the words has"),
        ([], "choose either --text or --vectors"),
        (["--text", str(text), "--vectors", "x"], "choose either --text or --vectors"),
        (["--text", str(text), "--lang", "qq"], "'qq' is not the code of a language"),
        (["--text", str(text), "--min-count", "100000"], "no word occurs 100000 times"),
        (["--text", str(damaged)], "cannot be read as text in UTF-8"),
        (["--vectors", str(tmp_path / "pipeline")], "has no vectors"),
        (["--vectors", str(tmp_path / "nowhere")], "nowhere"),
    )
    for arguments, message in cases:
        result = run(str(output), *arguments)
        assert result.exit_code == 1, arguments
        assert message in " ".join(result.output.split()), (arguments, result.output)
        assert not isinstance(result.exception, (ValueError, OSError)), arguments
        assert not output.exists()
    assert "another ending than .gz" in run(f"{output}.gz", "--text", str(text)).output
