"""Commands that are killed at random moments leave what was there, or what they make, whole."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import spacy
from comparisons import CONFIG
from corpora import SENTENCES
from marks import compiled_only
from processes import ScriptRunner
from spacy.tokens import DocBin

KILLS = 6

#: Runs a command to its end, which takes T seconds, then kills it again and again within T, and
#: runs it to its end. Whatever there is in between must be what the first run has made.
KILL = """
import json, os, random, shutil, signal, sys, time, warnings
from pathlib import Path

import spacy
from spacy.tokens import DocBin
from spacy.vocab import Vocab
from typer.testing import CliRunner

from spacy_ssvm.cli import ssvm

warnings.simplefilter("ignore")
output, kills, kept, (first, again) = Path(sys.argv[1]), *map(json.loads, sys.argv[2:])


def start(arguments):
    child = os.fork()
    if child == 0:
        result = CliRunner().invoke(ssvm, arguments)
        print(result.output, file=sys.stderr)
        os._exit(result.exit_code)
    return child


def finish(arguments):
    _, status = os.waitpid(start(arguments), 0)
    assert status == 0, arguments


def found():
    if (output / "model-best").exists():
        nlp = spacy.load(output / "model-best")
        return [[token.tag_ for token in nlp("The dog barks .")]]
    if (output / "compare.jsonl").exists():
        *lines, _ = (output / "compare.jsonl").read_bytes().split(b"\\n")
        return [{**json.loads(line), "seconds": 0} for line in lines]
    files = sorted(output.glob("*.spacy"))
    return [[doc.to_json() for doc in DocBin().from_disk(f).get_docs(Vocab())] for f in files]


begin = time.monotonic()
finish(first)
seconds, whole = time.monotonic() - begin, found()
assert whole
if not kept:
    shutil.rmtree(output)
draw = random.Random(0)
for number in range(kills):
    child = start(again if kept or (output / "compare.jsonl").exists() else first)
    time.sleep(draw.uniform(0, seconds))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    there = found()
    assert there == whole[: None if kept else len(there)]
finish(again if output.exists() else first)
assert found() == whole
assert not list(output.rglob(".*")), "what killed processes have left is gone"
"""


@pytest.fixture
def data(corpus: Path, tmp_path: Path) -> Path:
    """A folder of examples, with a config."""
    folder = tmp_path / "data"
    folder.mkdir()
    for part in ("train", "dev"):
        (folder / f"{part}.spacy").write_bytes(corpus.read_bytes())
    (folder / "config.cfg").write_text(CONFIG, encoding="utf8")
    docs = DocBin().from_disk(corpus).get_docs(spacy.blank("en").vocab)
    lines = [json.dumps({"text": doc.text, "entities": [[0, 3, "X"]]}) for doc in docs]
    (folder / "texts.jsonl").write_text("\n".join(lines), encoding="utf8")
    assert len(lines) == len(SENTENCES.strip().splitlines())
    return folder


PATHS = ("--paths.train", "train.spacy", "--paths.dev", "dev.spacy")
TRAIN = ("train", ".", "--components", "tagger", "--clusters", "none", "--training.max_epochs", "3")
COMPARE = ("lab", "compare", "config.cfg", "--solvers", "dcd-light", "--seeds", "3", *PATHS)


@compiled_only
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
@pytest.mark.parametrize(
    ("command", "again", "kept"),
    [
        (TRAIN, "--overwrite", True),
        (("convert", "texts.jsonl"), None, True),
        (("jackknife", "config.cfg", "--folds", "3", *PATHS), "--overwrite", True),
        (COMPARE, "--resume", False),
    ],
    ids=["train", "convert", "jackknife", "compare"],
)
def test_a_command_that_is_killed(
    data: Path,
    tmp_path: Path,
    run_script: ScriptRunner,
    command: Sequence[str],
    again: str | None,
    kept: bool,
) -> None:
    output = tmp_path / "output"
    target = output / "found.spacy" if command[0] == "jackknife" else output
    in_data = [str(data / part) if (data / part).exists() else part for part in command]
    first = [*in_data, "--output", str(target)]
    arguments: list[Any] = [first, [*first, again] if again else first]
    run_script(KILL, output, KILLS, json.dumps(kept), json.dumps(arguments))
