"""After a warmup, nothing that shipped configs use is compiled."""

import subprocess
import sys

import pytest
from marks import compiled_only
from pipelines import COMPONENTS
from processes import environment
from typer.testing import CliRunner

from spacy_ssvm.commands import warmup
from spacy_ssvm.commands.cli import ssvm

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


def test_all_components_are_warmed_up() -> None:
    names = {"ssvm_aligner"} | {component.name for component in COMPONENTS}
    assert {use.factory for use in warmup.USES} == names
