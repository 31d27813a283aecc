"""The documentation: pages that ``scripts/site_pages.py`` makes, and the commands in the text."""

import importlib.util
import re
import shlex
from importlib.metadata import entry_points
from itertools import takewhile
from types import SimpleNamespace

import pytest
import srsly
import typer
from processes import TESTS

from spacy_ssvm.cli import ssvm

ROOT = TESTS.parent
COMMANDS = typer.main.get_command(ssvm).commands
CALL = r"python\s+-m\s+spacy\s+ssvm\s+"
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.fixture(scope="module")
def site():
    pytest.importorskip("mkdocs")
    spec = importlib.util.spec_from_file_location("site_pages", ROOT / "scripts" / "site_pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def two_settings(first: int, other: list[str] | None = None) -> None:
    """Take two. It is nothing.

    first: what ``it`` is,
        2**3 or more.
    other: see docs/training.md.
    """


def test_docstrings_are_read(site):
    """A text goes on in indented lines, and can be one of several names."""
    docstring = "A noun: no entry.\n\na, b: one\n    two: three\nRaises ValueError."
    assert [*site.split_entries(docstring)] == [
        ("", " A noun: no entry. "),
        ("a, b", "one two: three"),
        ("", "Raises ValueError."),
    ]
    assert site.summary(two_settings.__doc__) == "Take two."


def test_settings_of_others_are_found(site):
    """They come from the factory, or the class, that a docstring names."""
    texts = {name: site.factory_texts(factory) for name, factory in site.factories().items()}
    assert texts["ssvm_chunker"]["min_count"] == texts["ssvm_tagger"]["min_count"]
    assert texts["ssvm_senter"]["costs"] != texts["ssvm_tagger"]["costs"]
    selection = site.read_entries(site.entries("misc")["spacy_ssvm.Selection.v1"])
    assert selection["l2"].startswith("additional lambdas")


def test_tables_have_all_settings(site):
    """Tables escape what Markdown would read; a setting without a description is refused."""
    assert site.settings_table(two_settings).splitlines()[2:] == [
        "| `first` | `int` |  | what `it` is, 2\\*\\*3 or more. |",
        "| `other` | `list[str] | None` | `null` | see [training.md](../training.md). |",
    ]
    with pytest.raises(ValueError, match=r"two_settings leaves out 'third'"):
        site.settings_table(two_settings, site.read_entries(two_settings), {"third": 3})
    for name, factory in site.factories().items():
        assert site.read_entries(factory).keys() <= factory.__annotations__.keys(), name


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("[configs/ner.cfg](../configs/ner.cfg#x)", "`configs/ner.cfg`"),
        ("see [the config](../configs/ner.cfg).", "see the config (`configs/ner.cfg`)."),
        ("[training.md](training.md#costs)", "[Training](training.md#costs)"),
        ("[costs](training.md#costs)",) * 2,
        ("![curve](curve.svg) [spaCy](https://spacy.io/x)",) * 2,
    ],
)
def test_links_to_other_files(site, link, shown):
    """Only links out of the folder ``docs/`` become paths."""
    page = SimpleNamespace(file=SimpleNamespace(src_uri="features.md"))
    assert site.on_page_markdown(link, page=page, config=None, files=None) == shown


@pytest.mark.parametrize("group", ["factories", "misc", "readers", "scorers", "loggers"])
def test_pages_have_all_entry_points(site, group):
    text = site.PAGES[{"factories": "components", "misc": "solvers"}.get(group, "readers")]()
    for point in entry_points(group=f"spacy_{group}"):
        assert (f"# {point.name}\n" in text) == point.module.startswith("spacy_ssvm.")


def test_all_commands_have_a_section(site):
    sections = re.split("^## ", site.commands(), flags=re.MULTILINE)[1:]
    assert [section.split("\n")[0] for section in sections] == [*COMMANDS]
    for section, command in zip(sections, COMMANDS.values(), strict=True):
        names = {name.lower() for parameter in command.params for name in parameter.opts}
        assert not [name for name in names if name not in section.lower()]


def test_all_workflows_have_a_row(site):
    text = site.project()
    project = srsly.read_yaml(ROOT / "project.yml")
    for name in [*project["workflows"], *(command["name"] for command in project["commands"])]:
        assert f"| `{name}` |" in text
    assert "](project.yml)" not in text, "a link that leads nowhere from the site"


@pytest.mark.parametrize("path", DOCUMENTS, ids=[path.name for path in DOCUMENTS])
def test_documented_commands_exist(path):
    """Their options are ones of the command, or settings of a config where it takes these."""
    text = path.read_text(encoding="utf8").replace("\\\n", " ")
    blocks = re.findall(rf"(?:^[ \t]*|&& ){CALL}((?:'[^']*'|[^\n'])*)", text, re.MULTILINE)
    for call in [*blocks, *re.findall(rf"`{CALL}([^`]*)`", text)]:
        words = shlex.shlex(call, posix=True, punctuation_chars=True)  # also reads comments
        words.whitespace_split = True
        name, *arguments = takewhile(lambda word: word not in ("&&", "|", ";", ">"), words)
        command = COMMANDS[name]
        if hasattr(command, "commands"):  # a group
            command, arguments = command.commands[arguments[0]], arguments[1:]
        context = command.context_class(command, **command.context_settings)
        command.make_parser(context).parse_args([*arguments])  # raises NoSuchOption
        others = {word.split("=")[0] for word in arguments if word.startswith("--")}
        known = {option for parameter in command.params for option in parameter.opts}
        assert all("." in option for option in others - known), call
