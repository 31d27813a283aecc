"""After a warmup, nothing that shipped configs use is compiled."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import spacy
from corpora import parsed_doc
from marks import compiled_only
from pipelines import COMPONENTS
from processes import ScriptRunner, environment
from spacy.tokens import DocBin, Span
from spacy.vocab import Vocab
from typer.testing import CliRunner

from spacy_ssvm.cli import ssvm
from spacy_ssvm.commands import warmup

USE = """
import logging, sys
from pathlib import Path
import spacy
from pipelines import COMPONENTS, PARSER, RECOGNIZER, TAGGER
from spacy.tokens import Doc
from spacy.training import Example

logging.basicConfig(level=logging.DEBUG)
people = Path(sys.argv[1]) / "people.txt"
people.write_text("Mary Smith\\n")
uses = [(component, {}, {}) for component in COMPONENTS]
uses += [
    (TAGGER, {"hash_bits": 12}, {}),
    (TAGGER, {"attribute": "POS", "min_count": 2, "whole_docs": True}, {}),
    (RECOGNIZER, {"scheme": "io", "templates": ["gazetteer[0]"]}, {"gazetteers": {"PER": people}}),
    (PARSER, {"order": 1}, {}),
    (PARSER, {"order": 1, "projective": False, "pruning": None}, {}),
    (PARSER, {"max_length": 4}, {}),
]
settings = {"@tokenizers": "spacy_ssvm.Tokenizer.v1", "sentences": True}
nlp = spacy.blank("en", config={"nlp": {"tokenizer": settings}})
assert [token.text for token in nlp("Not trained.")] == ["Not", "trained."]
golds = [component.examples(nlp.vocab)[0].reference for component in COMPONENTS[:3]]
spaces = [bool(token.i % 2) for token in golds[0]]
starts = [token.i % 3 == 0 for token in golds[0]]
words = [token.text for token in golds[0]]
golds[0] = Doc(nlp.vocab, words=words, spaces=spaces, sent_starts=starts)
golds[0][0].norm_ = "word"
nlp.tokenizer.initialize(lambda: [Example(nlp.make_doc(gold.text), gold) for gold in golds])
for component in COMPONENTS:
    for text in component.texts():
        nlp.tokenizer.explain(str(nlp(str(text)).text))
nlp.tokenizer.explain_character("Dogs bark. Cats", 11)
for component, config, resources in uses:
    nlp = component.pipeline(**config)
    pipe = nlp.get_pipe(component.name)
    examples = component.examples(nlp.vocab)
    for example in examples[::3]:  # partial gold
        for token in example.reference:
            if token.i % 2:
                token.tag_ = token.pos_ = ""
    partial = []
    for example in component.examples(nlp.vocab)[::4]:
        words = [token.text for token in example.reference]
        gold = Doc(nlp.vocab, words=words, ents=["O"] + [""] * (len(words) - 1))
        for token in example.reference:
            if token.dep and token.i % 2:
                gold[token.i].dep_ = token.dep_
                gold[token.i].head = gold[token.head.i]
        partial.append(Example(Doc(nlp.vocab, words=words), gold))
    if component.name in ("ssvm_ner", "ssvm_parser"):
        examples += partial
    pipe.initialize(lambda: examples, nlp=nlp, **resources)
    for epoch in range(25):
        nlp.update(examples)
    docs = list(nlp.pipe(component.texts()))
    for doc in docs[:3]:
        nlp(doc)  # annotated already
        pipe.scores(doc)
        pipe.explain(doc, 1)
    for example in examples:
        example.predicted[0].is_sent_start = True
        if len(example.predicted) > 1:
            example.predicted[1].is_sent_start = True
    nlp.update(examples)
    other = spacy.blank("en").from_config(nlp.config).from_bytes(nlp.to_bytes())
    list(other.pipe(component.texts()))
    other.update(examples)
    pipe.objective(examples)
"""


@compiled_only
@pytest.mark.filterwarnings("ignore:.* has no sentence boundaries")
def test_nothing_is_compiled_after_a_warmup(tmp_path) -> None:
    result = CliRunner().invoke(ssvm, ["warmup"])
    assert result.exit_code == 0, result.output
    assert "Compiled in" in result.output
    process = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", USE, tmp_path],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    compiled = [line[:200] for line in process.stderr.splitlines() if "compiling" in line]
    assert compiled == []


RECORD = """
import sys
from spacy_ssvm.kernels import cache

load, asked = cache.KernelCache.load_overload, set()

def record(self, types, context):
    asked.add(f"{self._py_func.__module__}.{self._py_func.__qualname__}{types}")
    return load(self, types, context)

cache.KernelCache.load_overload = record
from spacy_ssvm.cli import ssvm

try:
    ssvm(sys.argv[2:])
except SystemExit as ended:
    assert not ended.code
with open(sys.argv[1], "w", encoding="utf8") as file:
    file.write("\\n".join(sorted(asked)))
"""


@compiled_only
def test_what_is_trained_is_compiled(run_script: ScriptRunner, tmp_path: Path) -> None:
    """No later command asks for a kernel that the training has not asked for."""
    corpus, model, page = (tmp_path / name for name in ("corpus", "model", "page.html"))
    docs = []
    for i in range(12):
        lines = ("Birds:2:nsubj sing:3:ccomp well:0:ROOT", "Dogs:2:nsubj bark:0:ROOT")
        doc = parsed_doc(Vocab(), *lines[:: 1 if i % 2 else -1])
        for token in doc:
            token.tag_ = "NNS" if token.dep_ == "nsubj" else "VBP"
        subjects = [token.i for token in doc if token.dep_ == "nsubj"]
        doc.ents = [Span(doc, place, place + 1, doc[place].text) for place in subjects]
        docs.append(doc)
    corpus.mkdir()
    DocBin(docs=docs).to_disk(corpus / "train.spacy")
    DocBin(docs=docs[:2]).to_disk(corpus / "dev.spacy")
    docs[0][0].dep_ = "ccomp"  # a label that the pipeline then gets wrong
    DocBin(docs=docs[:2]).to_disk(tmp_path / "wrong.spacy")
    (tmp_path / "texts.txt").write_text("Cats sing.\nThey bark well.\n", encoding="utf8")

    def kernels(*arguments: Any) -> set[str]:
        file = tmp_path / "asked.txt"
        run_script(RECORD, file, *arguments)
        return {*file.read_text(encoding="utf8").split("\n")}

    few = ("--folds", 2, "--training.max_epochs", 2, "--clusters", "none")
    trained = kernels("train", corpus, "-o", model, *few)
    best = model / "model-best"
    assert spacy.load(best).pipe_names == ["tagger", "senter", "parser", "ner"]
    assert len(trained) > 40
    for command in (
        ("show", best, "Mary  barks at cats, who sing.\n\nDogs do not."),
        ("show", best, tmp_path / "wrong.spacy", "--html", page),
        ("rank", best, tmp_path / "texts.txt", "-o", tmp_path / "ranked.jsonl"),
        ("report", best, corpus / "dev.spacy"),
    ):
        assert kernels(*command) - trained == set(), command[0]


def test_all_components_are_warmed_up() -> None:
    names = {"tokenizer", "ssvm_aligner"} | {component.name for component in COMPONENTS}
    assert {use.factory for use in warmup.USES} == names


def test_some_components_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    monkeypatch.setattr(warmup, "compile_for", lambda use: compiled.append(use.factory))
    result = CliRunner().invoke(ssvm, ["warmup", "--components", "senter,ner"])
    assert result.exit_code == 0, result.output
    assert {*compiled} == {"ssvm_ner", "ssvm_senter"}
    result = CliRunner().invoke(ssvm, ["warmup", "--components", "spancat"])
    assert result.exit_code == 1
    assert (
        "no component 'spancat': choose one of tokenizer, tagger, morphologizer, lemmatizer"
        in " ".join(result.output.split())
    )


EXPLAIN = """
import warnings
from pipelines import PARSER
from spacy_ssvm.kernels import cache
from spacy_ssvm.commands.warmup import use_once

warnings.simplefilter("ignore")
nlp = PARSER.trained()
parser, golds = nlp.get_pipe(PARSER.name), [e.reference for e in PARSER.examples(nlp.vocab)]
use_once(nlp, golds[:3])
load, asked = cache.KernelCache.load_overload, []

def record(self, types, context):
    asked.append(self._py_func.__qualname__)
    return load(self, types, context)

cache.KernelCache.load_overload = record
for doc in nlp.pipe([gold.copy() for gold in golds]):
    for decision in parser.decisions(doc):
        arc = decision.label
        for label in parser.labels:
            try:
                parser.explain_against(doc, decision, arc._replace(label=label), top=1)
            except ValueError:  # the label that it has
                pass
print(asked)
"""


@compiled_only
def test_arcs_are_explained_by_kernels_of_a_parser_that_was_used_once(
    run_script: ScriptRunner,
) -> None:
    """Also where no tagger beside it has asked for them."""
    assert run_script(EXPLAIN).strip() == "[]"


def test_without_an_aligner_there_are_no_links(run_script: ScriptRunner) -> None:
    """Its extension attributes are not registered before it is imported."""
    run_script(
        "import spacy\n"
        "from spacy_ssvm.commands import warmup\n"
        "for make in (warmup._example, warmup._partial_example):\n"
        "    make(spacy.blank('xx'))\n"
    )
