"""The code of documents and notebooks runs as it stands there, and their configs can be read."""

import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import spacy
from pages import NEEDS, PAGES, ROOT, Page
from processes import TESTS
from servers import Client
from spacy.util import registry
from thinc.config import Config

import spacy_ssvm
from spacy_ssvm.components.page import Page as HtmlPage
from spacy_ssvm.explanation import Explanation

#: Pages that show parts of a file that is run by itself.
EXCERPTS = {"docs/adding-a-structure.md": TESTS / "test_adding_a_structure.py"}

#: Pages with figures of accuracy, speed and memory: all of them, and those of one table.
MEASURED = {"docs/benchmarks.md", "README.md"}

WITH_CODE = [page for page in PAGES if page.blocks("python")]
WITH_CONFIGS = [page for page in PAGES if page.blocks("ini")]


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Annotate in one thread afterwards, whatever pages set."""
    yield
    spacy_ssvm.set_threads(1)


def run(page: Page, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Run the code of a page from its beginning to its end; return its names."""
    names: dict[str, Any] = NEEDS[page.name](folder) if page.name in NEEDS else {}
    module = ModuleType("page")
    vars(module).update(names)
    monkeypatch.setitem(sys.modules, "page", module)  # where classes look for their names
    monkeypatch.chdir(folder)
    for block in page.blocks("python"):
        source = "\n" * (block.line - 1) + block.content  # errors have the line of the page
        exec(compile(source, str(ROOT / page.name), "exec"), vars(module))
    return vars(module)


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.name)
def test_snippets(
    page: Page,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if page.name in EXCERPTS:
        source = EXCERPTS[page.name].read_text(encoding="utf8")
        assert [b.line for b in page.blocks("python") if b.content not in source] == []
        return
    names = run(page, tmp_path, monkeypatch)
    if page.name in PROMISES:
        PROMISES[page.name](page, names, capsys.readouterr().out)


def services_answer(page: Page, names: dict[str, Any], printed: str) -> None:
    """The application, the handler, and the script for many files."""
    texts = ["Mary Smith lives in London .", "", "We sang ."]
    client = Client(names["app"])
    try:
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: client.ask("/entities", {"texts": texts}), range(32)))
        too_many = client.ask("/entities", {"texts": [""] * 1001})
        health = client.ask("/health")
        refused = [
            client.send("/entities", b" " * 300_001),
            client.ask("/entities", {"texts": ["(" * 201]}),
            client.send("/health", Host="evil.example"),
            client.ask("/docs"),
        ]
    finally:
        client.stop()
    assert len(set(answers)) == 1
    status, answer = answers[0]
    assert status == 200
    found, *others = json.loads(answer)
    assert [(ent["text"], ent["label"], ent["start"]) for ent in found] == [
        ("Mary Smith", "PER", 0),
        ("London", "LOC", 20),
    ]
    assert all(0 < ent["score"] < 1 for ent in found)
    assert others == [[], []]
    assert too_many[0] == 422
    assert [answer[0] for answer in refused] == [413, 422, 400, 404]
    assert json.loads(health[1]) == {"pipeline": ["sentencizer", "ner"]}
    handled = names["handler"]({"texts": texts}, None)
    assert handled == [[["Mary Smith", "PER"], ["London", "LOC"]], [], []]
    files = {file.stem: json.loads(file.read_text()) for file in names["target"].iterdir()}
    assert files.keys() == {file.stem for file in names["source"].iterdir()}
    assert any(files.values())


#: By page: what holds after its code has run, besides that it runs.
PROMISES: dict[str, Callable[[Page, dict[str, Any], str], None]] = {
    "docs/deployment.md": services_answer,
}


def test_every_block_has_a_language() -> None:
    """A block without one would not be tested."""
    tested = {"python", "ini", "json"}
    shown = {"shell", "text", "yaml", "dockerfile"}  # these are not
    blocks = [(page.name, block) for page in PAGES for block in page.blocks()]
    assert [(n, b.line) for n, b in blocks if b.language not in tested | shown] == []
    fences = sum(len(re.findall(r"^[ \t]*```", page.text, re.MULTILINE)) for page in PAGES)
    assert fences == 2 * len(blocks)


def measured(text: str) -> list[str]:
    """Lines with figures: rows of tables with two decimals, and speeds. Code does not count."""
    text = re.sub(r"^([ \t]*)```.*?^\1```$|`[^`]*`", "", text, flags=re.DOTALL | re.MULTILINE)
    speed = re.compile(r"\d (?:words|tokens|pairs|requests)(?:/s| (?:a|per) second)")
    return [
        line
        for line in text.splitlines()
        if speed.search(line) or (line.startswith("|") and len(re.findall(r"\d\.\d", line)) > 1)
    ]


@pytest.mark.parametrize("page", [p for p in PAGES if p.name not in MEASURED], ids=lambda p: p.name)
def test_figures_stand_in_one_place(page: Page) -> None:
    """What was measured is in the benchmarks, where its command is; other pages link to it."""
    assert measured(page.text) == []


def test_measured_figures_are_found() -> None:
    assert measured("| ner | 67.7, 70.7 |") == ["| ner | 67.7, 70.7 |"]
    assert measured("It tags 692,000 tokens/s.\n1 a second") == ["It tags 692,000 tokens/s."]
    assert not measured("| `C = 0.1` | 0.5 |\n```text\n| 0.1 | 0.2 |\n```")
    assert len(measured(Page("docs/benchmarks.md").text)) > 100


def test_tables_name_pages_with_code() -> None:
    assert NEEDS.keys() | PROMISES.keys() | EXCERPTS.keys() <= {page.name for page in WITH_CODE}


@pytest.mark.parametrize("page", WITH_CONFIGS, ids=lambda page: page.name)
def test_configs(page: Page) -> None:
    """Blocks are parts of configs, with settings that components, solvers and readers have."""
    nlp = spacy.blank("en")
    for block in page.blocks("ini"):
        config = read_config(block.content)
        for name, settings in config.get("components", {}).items():
            if "factory" in settings:
                own = {key: value for key, value in settings.items() if key != "factory"}
                spacy.blank("en").add_pipe(settings["factory"], name, config=own)
            elif "source" not in settings:
                known = nlp.get_factory_meta(f"ssvm_{name}").default_config
                assert settings.keys() <= known.keys(), block
        for name, settings in config.get("initialize", {}).get("components", {}).items():
            pipe = spacy.blank("en").add_pipe(f"ssvm_{name}")
            assert settings.keys() <= inspect.signature(pipe.initialize).parameters.keys(), block
        for own in registered(config):
            registry.fill({"own": own})


def read_config(text: str) -> Config:
    """Some sections of a config, whose parents may be missing."""
    sections = re.findall(r"^\[([\w.]+)\]", text, re.MULTILINE)
    parts = [name.split(".") for name in sections]
    parents = {".".join(own[:length]) for own in parts for length in range(1, len(own))}
    missing = "".join(f"[{name}]\n" for name in sorted(parents - {*sections}))
    return Config().from_str(missing + text, interpolate=False)


def registered(config: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The sections that name something that this package registers."""
    for value in config.values():
        if isinstance(value, dict):
            own = (str(value[key]) for key in value if key.startswith("@"))
            if any(name.startswith("spacy_ssvm.") for name in own):
                yield value
            yield from registered(value)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_are_registered(page: Page) -> None:
    groups = ("misc", "scorers", "readers", "loggers", "tokenizers")
    known = {point.name for group in groups for point in entry_points(group=f"spacy_{group}")}
    assert set(re.findall(r"spacy_ssvm\.\w+\.v\d+", page.text)) <= known


@pytest.mark.parametrize("page", [p for p in PAGES if p.blocks("json")], ids=lambda page: page.name)
def test_json(page: Page) -> None:
    """Blocks of JSON are lines of records."""
    for block in page.blocks("json"):
        assert [json.loads(line) for line in block.content.splitlines() if line]


def test_the_entry_of_the_spacy_universe(capsys: pytest.CaptureFixture[str]) -> None:
    entry = json.loads((ROOT / "assets" / "universe.json").read_text(encoding="utf8"))
    assert entry["pip"] == entry["id"] == "spacy-ssvm"
    names: dict[str, Any] = {}
    exec(compile("\n".join(entry["code_example"]), "universe.json", "exec"), names)
    assert [entity.text for entity in names["doc"].ents] == ["Ann", "Oslo"]
    assert "Oslo" in capsys.readouterr().out


def test_the_tour(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last line of a cell is what a notebook shows."""
    folder = ROOT / "examples"
    monkeypatch.chdir(folder)
    cells = json.loads(Path("tour.ipynb").read_text(encoding="utf8"))["cells"]
    names: dict[str, Any] = {}
    shown = []
    for cell in cells:
        if cell["cell_type"] != "code":
            continue
        assert not cell["outputs"], "outputs are not kept"
        lines = "".join(cell["source"]).splitlines()
        start = len(lines) - 1
        try:
            compile(lines[start], "tour", "eval")
        except SyntaxError:
            exec(compile("\n".join(lines), "tour", "exec"), names)
            continue
        exec(compile("\n".join(lines[:start]), "tour", "exec"), names)
        shown.append(eval(lines[start], names))
    assert {HtmlPage, Explanation, dict, list} <= {type(value) for value in shown}
    scores = next(value for value in shown if isinstance(value, dict) and "ents_f" in value)
    assert scores["ents_f"] > 0.5
    found = {entity.label_ for entity in names["doc"].ents}
    assert found
