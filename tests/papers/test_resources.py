"""What packages have for the language of a corpus."""

from pathlib import Path

import pytest

from benchmarks.papers import resources
from benchmarks.papers.resources import resources_of
from spacy_ssvm.commands import gazetteers
from spacy_ssvm.commands.gazetteers import NameList


@pytest.mark.parametrize("language", [None, "xx", "tr"])
def test_there_is_nothing_for_other_languages(tmp_path: Path, language: str | None) -> None:
    if language:
        pytest.importorskip("spacy_lookups_data", reason="needs spacy-lookups-data")
    assert resources_of(language, tmp_path) == {}
    assert not list(tmp_path.iterdir())


def test_clusters_and_lists_of_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("spacy_lookups_data", reason="needs spacy-lookups-data")
    lists = {"pt": [NameList("city", ["Lisboa", "Porto"], "an atlas")]}
    monkeypatch.setattr(gazetteers, "collect_names", lists.__getitem__)
    given = resources_of("pt", tmp_path)
    assert [*given["clusters"]] == ["es", "en", "de"]
    assert given["clusters"]["es"]["lang"] == "es"
    assert given["gazetteers"] == {"city": str(tmp_path / "city.txt")}
    assert (tmp_path / "city.txt").read_text(encoding="utf8") == "Lisboa\nPorto\n"


def test_missing_packages_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = {"pycountry", "spacy_lookups_data"}
    monkeypatch.setattr(resources, "find_spec", lambda name: None if name in missing else name)
    with pytest.raises(ValueError, match="spacy_lookups_data, pycountry must be installed: pip"):
        resources_of("en", tmp_path)
