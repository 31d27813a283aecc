"""The code of documents and notebooks runs as it stands there, and their configs can be read."""

import inspect
import json
import re
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import spacy
from pages import NEEDS, PAGES, ROOT, Page
from processes import TESTS
from spacy.util import registry
from thinc.config import Config

from spacy_ssvm.components.page import Page as HtmlPage
from spacy_ssvm.explanation import Explanation

#: Pages that show parts of a file that is run by itself.
EXCERPTS = {"docs/adding-a-structure.md": TESTS / "test_adding_a_structure.py"}

WITH_CODE = [page for page in PAGES if page.blocks("python")]
WITH_CONFIGS = [page for page in PAGES if page.blocks("ini")]


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


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.name)
def test_snippets(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if page.name in EXCERPTS:
        source = EXCERPTS[page.name].read_text(encoding="utf8")
        assert [b.line for b in page.blocks("python") if b.content not in source] == []
    else:
        run(page, tmp_path, monkeypatch)


def test_every_block_has_a_language() -> None:
    """A block without one would not be tested."""
    tested = {"python", "ini", "json"}
    shown = {"shell", "text", "dockerfile"}  # these are not
    blocks = [(page.name, block) for page in PAGES for block in page.blocks()]
    assert [(n, b.line) for n, b in blocks if b.language not in tested | shown] == []
    fences = sum(len(re.findall(r"^[ \t]*```", page.text, re.MULTILINE)) for page in PAGES)
    assert fences == 2 * len(blocks)


def test_what_pages_need_is_needed() -> None:
    assert NEEDS.keys() <= {page.name for page in WITH_CODE} - EXCERPTS.keys()


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
    groups = ("misc", "scorers", "readers", "loggers")
    known = {point.name for group in groups for point in entry_points(group=f"spacy_{group}")}
    assert set(re.findall(r"spacy_ssvm\.\w+\.v\d+", page.text)) <= known


@pytest.mark.parametrize("page", [p for p in PAGES if p.blocks("json")], ids=lambda page: page.name)
def test_json(page: Page) -> None:
    """Blocks of JSON are lines of records."""
    for block in page.blocks("json"):
        assert [json.loads(line) for line in block.content.splitlines() if line]


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
