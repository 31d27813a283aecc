"""Links from texts alone: of a made-up language, whose translation is known."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from marks import compiled_only
from planted_pairs import write_bitext
from typer.testing import CliRunner

from spacy_ssvm.align import hmm_links
from spacy_ssvm.align.bitext.link_scores import COLUMNS
from spacy_ssvm.align.bitext.reading import read_pharaoh
from spacy_ssvm.align.hmm_links import SURE_AND_POSSIBLE, SYMMETRIZED, directed_links, linked_lines
from spacy_ssvm.cli import ssvm
from spacy_ssvm.cli.production import LinkMethods

SEEDS = range(60)


def links_of(*arguments: object) -> Result:
    return CliRunner().invoke(ssvm, ["resources", "links", *map(str, arguments)])


@compiled_only
def test_words_that_always_occur_together_are_linked(tmp_path: Path) -> None:
    source, target, gold = write_bitext(tmp_path, "a", SEEDS)
    found = [{*line.split()} for line in linked_lines((source, target), method="intersection")]
    right = [{*line.split()} for line in gold.read_text(encoding="utf8").splitlines()]
    assert len(found) == len(right)
    shared = sum(len(a & b) for a, b in zip(found, right, strict=True))
    assert shared > 0.9 * sum(map(len, found))
    assert shared > 0.8 * sum(map(len, right))


@compiled_only
def test_links_of_one_direction_are_possible(tmp_path: Path) -> None:
    files = tuple(write_bitext(tmp_path, "a", SEEDS)[:2])
    lines = list(linked_lines((files[0], files[1])))
    sure = list(linked_lines((files[0], files[1]), method="intersection"))
    assert [" ".join(link for link in line.split() if "-" in link) for line in lines] == sure
    assert any("?" in line for line in lines)


@compiled_only
def test_further_texts_teach_and_are_not_linked(tmp_path: Path) -> None:
    few = tuple(write_bitext(tmp_path, "few", SEEDS[:2])[:2])
    more = tuple(write_bitext(tmp_path, "more", SEEDS)[:2])
    lines = list(linked_lines((few[0], few[1]), more=(more[0], more[1]), method="intersection"))
    alone = list(linked_lines((few[0], few[1]), method="intersection"))
    gold = (tmp_path / "few.align").read_text(encoding="utf8").splitlines()
    assert len(lines) == len(alone) == 2
    shared = [
        sum(len({*a.split()} & {*b.split()}) for a, b in zip(found, gold, strict=True))
        for found in (lines, alone)
    ]
    assert shared[0] > shared[1]


@compiled_only
def test_empty_sides_and_unknown_lengths_keep_their_lines(tmp_path: Path) -> None:
    source, target = tmp_path / "a.en", tmp_path / "a.cs"
    long = " ".join(f"w{i}" for i in range(300))  # models do not learn from it
    source.write_text(f"the house\n\n{long}\nhouse\nthe\n", encoding="utf8")
    target.write_text(f"das haus\nhaus\n{long}\nhaus\n\n", encoding="utf8")
    passes = []
    lines = linked_lines((source, target), report=lambda *step: passes.append(step))
    found = [line.split() for line in lines]
    assert [len(line) for line in found][1::3] == [0, 0]
    assert found[3] == ["0-0"]
    assert len(found) == 5
    assert passes[-1][0] == passes[-1][1] == len(passes)


@pytest.mark.uncompiled
def test_each_word_has_its_most_probable_link_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """By posteriors that are made up: what is left of 1 is the probability of no link."""
    posteriors = {
        "hmm": [[0.6, 0.2, 0.3], [0.1, 0.3, 0.3]],  # columns: words of the target
        "hmm_back": [[0.1, 0.2, 0.3], [0.5, 0.4, 0.0]],  # rows: words of the source
    }

    def write(association, sources, targets, leave_one_out, scores) -> None:
        assert not leave_one_out
        for name, table in posteriors.items():
            scores[:, :, COLUMNS.index(name)] = table

    monkeypatch.setattr(hmm_links, "link_scores", write)
    monkeypatch.setattr(hmm_links, "source_ids", lambda _, words: words)
    monkeypatch.setattr(hmm_links, "target_ids", lambda _, words: words)
    words = np.zeros(2, dtype=np.uint64), np.zeros(3, dtype=np.uint64)
    forward, backward = directed_links(None, *words)  # type: ignore[arg-type]
    assert forward.tolist() == [[True, False, False], [False, False, False]]
    assert backward.tolist() == [[False, False, False], [True, False, False]]
    assert hmm_links._line(forward, backward, SURE_AND_POSSIBLE) == "0?0 1?0"
    assert hmm_links._line(forward, forward | backward, SURE_AND_POSSIBLE) == "0-0 1?0"
    nothing = np.zeros(0, dtype=np.uint64)
    monkeypatch.setattr(hmm_links, "link_scores", lambda *arguments: None)
    for m, n in product((0, 2), (0, 3)):
        if m and n:
            continue
        sides = words[0] if m else nothing, words[1] if n else nothing
        assert [t.shape for t in directed_links(None, *sides)] == [(m, n)] * 2  # type: ignore[arg-type]


@compiled_only
@pytest.mark.parametrize("method", [method.value for method in LinkMethods])
def test_the_command_writes_links_that_readers_read(tmp_path: Path, method: str) -> None:
    source, target, _ = write_bitext(tmp_path, "a", SEEDS)
    output = tmp_path / "a.found"
    shown = links_of(source, target, "--output", output, "--method", method)
    assert shown.exit_code == 0, shown.output
    assert f"train {source} {target} {output} --output training" in shown.output
    expected = linked_lines((source, target), method=method)
    assert output.read_text(encoding="utf8").splitlines() == list(expected)
    kinds = {kind for links in read_pharaoh(output) for kind in links[:, 2].tolist()}
    assert len(kinds) == (2 if method == SURE_AND_POSSIBLE else 1)


@compiled_only
def test_further_texts_are_named_for_training_as_well(tmp_path: Path) -> None:
    source, target, _ = write_bitext(tmp_path, "a", SEEDS[:2])
    more = write_bitext(tmp_path, "more", SEEDS)
    options = ("--bitext-source", more[0], "--bitext-target", more[1])
    shown = links_of(source, target, "--output", tmp_path / "a.found", *options)
    assert f"--paths.bitext_source {more[0]} --paths.bitext_target {more[1]}" in shown.output


def test_all_methods_can_be_chosen() -> None:
    assert {method.value for method in LinkMethods} == {SURE_AND_POSSIBLE, *SYMMETRIZED}


def test_bad_files_are_refused_and_nothing_is_lost(tmp_path: Path) -> None:
    source, target, links = write_bitext(tmp_path, "a", SEEDS[:3])
    kept = links.read_bytes()
    target.write_text("one line\n", encoding="utf8")
    for arguments, problem in [
        ((source, target, "-o", links), "a.en has 3 lines, but"),
        ((source, target, "-o", source), "would replace a text"),
        ((source, source, "-o", links, "--bitext-source", source), "give both"),
        ((source, source, "-o", links, "--bitext-source", links), "would replace a text"),
    ]:
        shown = links_of(*arguments)
        assert shown.exit_code == 1
        assert problem in " ".join(shown.output.split())
        assert links.read_bytes() == kept
    for file in (source, target):
        file.write_text("\n\n", encoding="utf8")
    shown = links_of(source, target, "-o", links)
    assert "nothing can be learned" in " ".join(shown.output.split())
    assert links.read_bytes() == kept
