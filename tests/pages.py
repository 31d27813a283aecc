"""The code on pages of documentation, and the files that pages say are there."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import spacy
import srsly
from pipelines import LABELER, PARSER, RECOGNIZER, TAGGER, Component
from processes import TESTS
from spacy.language import Language

from spacy_ssvm.align.reader import ParallelCorpus
from spacy_ssvm.sentences.reader import LabeledSentences

ROOT = TESTS.parent

_BLOCK = re.compile(r"^([ \t]*)```([\w+-]*)[^\n]*\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    line: int  #: of the first line within, from 1
    content: str


class Page(NamedTuple):
    """A page of documentation, by its path from the root of the repository."""

    name: str

    @property
    def text(self) -> str:
        return (ROOT / self.name).read_text(encoding="utf8")

    def blocks(self, language: str | None = None) -> list[Block]:
        """The blocks in a language, or all."""
        found = [
            Block(
                match[2],
                self.text[: match.start(3)].count("\n") + 1,
                re.sub(f"^{match[1]}", "", match[3], flags=re.MULTILINE),
            )
            for match in _BLOCK.finditer(self.text)
        ]
        return [block for block in found if language in (None, block.language)]


PAGES = [
    Page(path.relative_to(ROOT).as_posix())
    for path in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
]


def named(component: Component, name: str, **config: Any) -> Language:
    """A trained pipeline whose component is called as on pages, after what finds sentences."""
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe(component.factory, name, config={**component.config, **config})
    examples = component.examples(nlp.vocab)
    for example in examples:
        example.predicted = nlp.get_pipe("sentencizer")(example.predicted)
    nlp.initialize(lambda: examples)
    component.train(nlp, examples, epochs=4)
    return nlp


def save(nlp: Language, folder: Path) -> None:
    """Save a pipeline where ``spacy train`` would."""
    folder.mkdir()
    nlp.to_disk(folder / "model-best")


def with_recognizer(folder: Path) -> dict[str, Any]:
    """A recognizer of entities, as the first command of the quickstart leaves it, and texts."""
    save(named(RECOGNIZER, "ner"), folder / "model")
    (folder / "texts").mkdir()
    for number, text in enumerate(RECOGNIZER.texts()[:3]):
        (folder / "texts" / f"{number}.txt").write_text(text, encoding="utf8")
    return {}


def with_parser(folder: Path) -> dict[str, Any]:
    """A parser, as ``spacy train`` leaves it."""
    save(named(PARSER, "parser"), folder / "training")
    return {}


def with_trees_and_recognizer(folder: Path) -> dict[str, Any]:
    """A pipeline with a parser, and texts; and a saved recognizer."""
    with_recognizer(folder)
    return {"nlp": named(PARSER, "parser"), "texts": PARSER.texts()}


def with_all_that_displacy_shows(folder: Path) -> dict[str, Any]:
    """A pipeline with a tagger, a parser and a recognizer, and a Doc that it has annotated."""
    nlp = named(PARSER, "parser")
    nlp.add_pipe("tagger", source=named(TAGGER, "tagger"), first=True)
    nlp.add_pipe("ner", source=named(RECOGNIZER, "ner"))
    return {"nlp": nlp, "doc": nlp("Mary Smith sings .")}


def with_labeler(folder: Path) -> dict[str, Any]:
    """A labeler of sentences, and sentences with labels."""
    records = [
        {"sentences": ["We study birds.", "They sing in trees."], "labels": ["aim", "setting"]},
        {"sentences": ["We count songs.", "They sang often."], "labels": ["method", "result"]},
    ]
    srsly.write_jsonl(folder / "test.jsonl", records)
    nlp = spacy.blank("en")
    solver = LABELER.config["solver"]
    nlp.add_pipe("ssvm_sentence_labeler", "sentence_labeler", config={"solver": solver})
    examples = list(LabeledSentences(folder / "test.jsonl")(nlp))
    nlp.initialize(lambda: examples)
    nlp.update(examples)
    save(nlp, folder / "training")
    return {}


def with_aligner(folder: Path) -> dict[str, Any]:
    """An aligner, and texts with their translations and links."""
    corpus = folder / "corpus"
    corpus.mkdir()
    pairs = [("the house", "ten dům"), ("the garden", "ta zahrada"), ("a house", "dům")] * 4
    for side, ending in enumerate(("en", "cs")):
        lines = "".join(f"{pair[side]}\n" for pair in pairs)
        (corpus / f"test.{ending}").write_text(lines, encoding="utf8")
    (corpus / "test.align").write_text("0-0 1-1\n0-0 1-1\n1-0\n" * 4, encoding="utf8")
    nlp = spacy.blank("xx")
    nlp.add_pipe("ssvm_aligner", "aligner", config={"min_count": 1})
    files = (str(corpus / f"test.{ending}") for ending in ("en", "cs", "align"))
    examples = list(ParallelCorpus(*files)(nlp))
    nlp.initialize(lambda: examples)
    nlp.update(examples)
    save(nlp, folder / "training")
    return {}


def with_tagger(folder: Path) -> dict[str, Any]:
    """A tagger in training, and its examples."""
    nlp = spacy.blank("en")
    nlp.add_pipe("ssvm_tagger", "tagger", config=TAGGER.config)
    examples = TAGGER.examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    nlp.update(examples)
    return {"nlp": nlp, "examples": examples}


#: By page: writes the files that it says are there into a folder, and returns the names that it
#: says are known. Other pages need nothing.
NEEDS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "docs/aligner.md": with_aligner,
    "docs/deployment.md": with_trees_and_recognizer,
    "docs/faq.md": with_recognizer,
    "docs/parser.md": with_parser,
    "docs/quickstart.md": with_recognizer,
    "docs/selection.md": with_tagger,
    "docs/sentences.md": with_labeler,
    "docs/training.md": with_all_that_displacy_shows,
}
