"""The commands of the pages for newcomers, run one after another as they stand there."""

import json
import re
import shlex
from pathlib import Path

import pytest
import spacy
from corpora import ENTITIES, spans_of, tagging_examples
from processes import TESTS
from typer.testing import CliRunner

from spacy_ssvm.cli import COMMANDS, ssvm
from spacy_ssvm.commands.conversion.files import Settings, convert_file
from spacy_ssvm.components.annotated_corpus import write_docs

DOCS = TESTS.parent / "docs"
PACKAGE = "en_core_web_sm"  # of the pages; a small pipeline stands in for it
PAGES = ["quickstart.md", "training.md#Active learning", "migrating.md", "sentences.md"]
#: Where they would take long.
SHORTER = ["--training.max_epochs", "2", "--clusters", "none"]
LABELLED = '{"sentences": ["We study chains.", "They work."], "labels": ["objective", "result"]}\n'
TREES = """\
1\tBirds\tbird\tNOUN\tNNS\t_\t2\tnsubj\t_\t_
2\tsing\tsing\tVERB\tVBP\t_\t0\troot\t_\tSpaceAfter=No
3\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_

1\tDogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_
2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\tSpaceAfter=No
3\t!\t!\tPUNCT\t.\t_\t2\tpunct\t_\t_

"""


def commands(page: str) -> list[list[str]]:
    """The arguments of the commands in the blocks of a page, or a section, in their order."""
    page, _, title = page.partition("#")
    text = (DOCS / page).read_text(encoding="utf8").replace("\\\n", " ")
    if title:
        _, text = text.split(f"\n## {title}\n")
        text = text.partition("\n## ")[0]
    lines = re.findall(r"^\s+python -m spacy ssvm (.*)$", text, re.MULTILINE)
    return [shlex.split(line) for line in lines]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with the files that the pages speak of."""
    monkeypatch.chdir(tmp_path)
    records = []
    for words, spans in map(spans_of, ENTITIES.strip().splitlines()):
        starts = [len(" ".join(words[:i])) + bool(i) for i in range(len(words))]
        entities = [[starts[a], starts[b - 1] + len(words[b - 1]), label] for a, b, label in spans]
        records.append({"text": " ".join(words), "entities": entities})
    columns = "\n".join("Ann NNP B-PER\nsleeps VBZ O\n" for _ in range(4))
    written = {
        "annotated.jsonl": "\n".join(map(json.dumps, records)),
        "corrected.jsonl": "\n".join(map(json.dumps, records[:3])),
        "examples.json": json.dumps(records),
        "train.jsonl": 4 * LABELLED,
        "dev.jsonl": LABELLED,
        "names.txt": "Mary Smith\n",
        "texts.txt": "\n".join(record["text"] for record in records),
        "template": "U00:%x[0,0]\nU01:%x[-1,1]\nB\n",
        "train.data": columns,
        "test.data": columns,
    }
    for name in ("train", "dev", "en_ewt-ud-train", "en_ewt-ud-dev", "own", "own-dev"):
        written[f"{name}.conllu"] = 10 * TREES
    for name, text in written.items():
        Path(name).write_text(text, encoding="utf8")
    for name in ("own", "own-dev"):
        docs = convert_file(Path(f"{name}.conllu"), spacy.blank("en"), Settings()).docs
        write_docs(Path(f"{name}.spacy"), docs)
    for name, label in (("new", "PRODUCT"), ("old", "PER")):
        text = written["annotated.jsonl"].replace("PER", label)
        Path(f"{name}.jsonl").write_text(text, encoding="utf8")
    nlp = spacy.blank("en")
    nlp.add_pipe("ssvm_tagger", name="tagger")
    examples = tagging_examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    nlp.update(examples)
    nlp.to_disk(PACKAGE)
    return tmp_path


@pytest.mark.parametrize("page", PAGES)
def test_commands_of_pages(page: str, folder: Path) -> None:
    given = commands(page)
    assert len(given) > 1
    for name, *arguments in given:
        if "--serve" in arguments:  # until it is stopped: tests/commands/test_demo.py
            continue
        parameters = COMMANDS[name].run.__annotations__
        arguments += ["--overwrite"] * ("overwrite" in parameters)
        arguments += SHORTER * COMMANDS[name].has_settings
        result = CliRunner().invoke(ssvm, [name, *arguments])
        assert result.exit_code == 0, f"{name} {arguments}\n{result.output}"
    assert (folder / "annotated.jsonl").exists()
