"""Tokens and sentences of raw text, by the measures of the CoNLL 2018 shared task.

    python benchmarks/raw_text.py --data FOLDER [--treebanks en pt] [--udpipe MODELS]

FOLDER contains ud_en_ewt and ud_pt_bosque, each with the CoNLL-U files of its treebank. A system
gets the text of each document, with an empty line between paragraphs. Words are syntactic words:
where a token stands for several, as Portuguese "do" (de + o), all have to be found. Systems:

    ssvm     spacy_ssvm.Tokenizer.v1 with its default settings and sentences = true
    rules    spaCy's tokenizer of the language, and its sentencizer
    udpipe   UDPipe 1 (ufal.udpipe), trained on the same files: MODELS/LANGUAGE.udpipe

With --train-udpipe LANGUAGE: trains that model first, the tokenizer alone, with UDPipe's own
default options, which takes 12 minutes. With --seeds 3, ssvm is trained three times: scores are
means, with half the distance between the lowest and the highest one.

Speed is that of documents one by one, in turn in one process: the median of five rounds, without
the first. Requires the extra `bench`; ufal.udpipe is installed separately.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

import peers
import spacy
from conll18 import evaluate
from spacy.tokens import Doc
from spacy.training import Example
from wasabi import msg

from spacy_ssvm.commands.conversion.files import Settings, convert_file
from spacy_ssvm.commands.warmup import USES, compile_for

FILES = {
    "en": "ud_en_ewt/en_ewt-ud-{}.conllu",
    "pt": "ud_pt_bosque/pt_bosque-ud-{}.conllu",
}
PARTS = ("dev", "test")
MEASURES = ("Tokens", "Words", "Sentences")
COSTS = ("seconds", "peak MB", "MB")
ROUNDS = 5


class Part(NamedTuple):
    """A part of a treebank."""

    docs: list[Doc]  #: a Doc of each document
    conllu: str  #: the file


class System(NamedTuple):
    """A system that is ready for use."""

    annotate: Callable[[str], str]  #: from the text of a document to its sentences in CoNLL-U
    cut: Callable[[str], Any]  #: does nothing but that
    costs: dict[str, float]  #: of its training
    kept: object = None  #: what must not be freed while it is in use


def read(data: Path, language: str, part: str) -> Part:
    path = data / FILES[language].format(part)
    settings = Settings(sentences=0, divides_all=True)
    docs = convert_file(path, spacy.blank(language), settings).docs
    return Part(docs, path.read_text("utf8"))


def rows(words: Sequence[str], linked: Sequence[bool], texts: Sequence[str]) -> Iterator[str]:
    """The lines of a sentence.

    linked: whether each word is a part of one token with the word before it.
    texts: of the pieces that the words stand for.
    """
    for i, word in enumerate(words):
        is_first = not linked[i] and i + 1 < len(words) and linked[i + 1]
        if is_first:
            end = next((j for j in range(i + 1, len(words)) if not linked[j]), len(words))
            yield f"{i + 1}-{end}\t{''.join(texts[i:end])}" + "\t_" * 8
        yield f"{i + 1}\t{word}\t_\t_\t_\t_\t{i}\t{'dep' if i else 'root'}\t_\t_"


def conllu_of(doc: Doc, *, has_norms: bool) -> str:
    """The sentences of a Doc. has_norms: whether NORM has the words that tokens stand for.

    A Doc does not say which of its tokens are parts of one. Those that stand for other words, and
    what is written together with them, are taken for such: words are aligned alike.
    """
    blocks = []
    for sentence in doc.sents:
        tokens = [token for token in sentence if not token.is_space]
        if not tokens:
            continue
        stand = [has_norms and token.norm != token.lex.norm for token in tokens]
        words = [t.norm_ if stands else t.text for t, stands in zip(tokens, stand, strict=True)]
        linked = [False]
        for i, (before, token) in enumerate(pairwise(tokens)):
            is_joined = before.idx + len(before) == token.idx
            linked.append(is_joined and any(stand[i : i + 2]))
        lines = rows(words, linked, [token.text for token in tokens])
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n\n"


def ssvm(train: Part, language: str, seed: int) -> System:
    settings = {"@tokenizers": "spacy_ssvm.Tokenizer.v1", "sentences": True, "seed": seed}
    nlp = spacy.blank(language, config={"nlp": {"tokenizer": settings}})
    start = time.process_time()
    nlp.tokenizer.initialize(lambda: [Example(nlp.make_doc(d.text), d) for d in train.docs])
    costs = {
        "seconds": time.process_time() - start,
        "peak MB": peers.peak_of_memory(),
        "MB": len(nlp.tokenizer.to_bytes()) / 1e6,
    }
    return System(lambda text: conllu_of(nlp(text), has_norms=True), nlp.tokenizer, costs)


def rules(language: str) -> System:
    nlp = spacy.blank(language)
    nlp.add_pipe("sentencizer")
    return System(lambda text: conllu_of(nlp(text), has_norms=False), nlp.tokenizer, {})


def udpipe(file: Path) -> System:
    import ufal.udpipe as udpipe

    model = udpipe.Model.load(str(file))
    none = udpipe.Pipeline.NONE
    pipeline = udpipe.Pipeline(model, "tokenize", none, none, "conllu")

    def annotate(text: str) -> str:
        return pipeline.process(text).replace("\t_\t_\t_\t_\t_\t_\t_", "\t_\t_\t_\t_\t0\t_\t_")

    return System(annotate, pipeline.process, {"MB": file.stat().st_size / 1e6}, model)


def train_udpipe(data: Path, language: str, file: Path) -> None:
    """Train UDPipe's tokenizer with its default options."""
    from ufal.udpipe import Trainer

    treebank = (data / FILES[language].format("train")).read_text("utf8")
    peers.train_udpipe(treebank, file, "", Trainer.NONE, Trainer.NONE)


def scores(system: System, part: Part) -> dict[str, float]:
    """F1 in %."""
    found = "".join(system.annotate(doc.text) for doc in part.docs)
    measured = evaluate(part.conllu, found)
    return {name: 100 * measured[name].f1 for name in MEASURES}


def speeds(systems: dict[str, System], part: Part) -> dict[str, float]:
    """Words of the treebank a second, of all documents one by one."""
    words = sum(len(doc) for doc in part.docs)
    laps: dict[str, list[float]] = {name: [] for name in systems}
    for _ in range(ROUNDS + 1):
        for name, system in systems.items():
            start = time.process_time()
            for doc in part.docs:
                system.cut(doc.text)
            laps[name].append(time.process_time() - start)
    return {name: words / median(own[1:]) for name, own in laps.items()}


def measure(data: Path, language: str, seeds: int, models: Path | None) -> None:
    """Train and score the systems on a treebank, and print a table."""
    parts = {part: read(data, language, part) for part in ("train", *PARTS)}
    runs = [ssvm(parts["train"], language, seed) for seed in range(seeds)]
    systems = {"ssvm": runs[0], "rules": rules(language)}
    if models is not None and (models / f"{language}.udpipe").exists():
        systems["udpipe"] = udpipe(models / f"{language}.udpipe")
    speed = speeds(systems, parts["test"])
    table = []
    for name, system in systems.items():
        each = [
            {(m, p): scores(run, parts[p])[m] for p in PARTS for m in MEASURES}
            for run in (runs if name == "ssvm" else [system])
        ]
        row = [name]
        for measured in MEASURES:
            for part in PARTS:
                values = [own[measured, part] for own in each]
                spread = f" ±{(max(values) - min(values)) / 2:.2f}" if len(values) > 1 else ""
                row.append(f"{fmean(values):.2f}{spread}")
        costs = [f"{system.costs[k]:.1f}" if k in system.costs else "-" for k in COSTS]
        table.append([*row, f"{speed[name]:,.0f}", *costs])
    header = ["system", *(f"{m} {p}" for m in MEASURES for p in PARTS), "words/s", *COSTS]
    msg.divider(language)
    msg.table(table, header=header, aligns=["l", *"r" * (len(header) - 1)], divider=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the treebanks")
    parser.add_argument("--treebanks", nargs="+", choices=[*FILES], default=[*FILES])
    parser.add_argument("--udpipe", type=Path, help="folder of UDPipe's models")
    parser.add_argument("--train-udpipe", choices=[*FILES], help="train a model into that folder")
    parser.add_argument("--seeds", type=int, default=1, help="trainings of ssvm")
    options = parser.parse_args()
    if file := peers.udpipe_to_train(parser, options):
        train_udpipe(options.data, options.train_udpipe, file)
        return
    compile_for(USES[0])
    for language in options.treebanks:
        measure(options.data, language, options.seeds, options.udpipe)


if __name__ == "__main__":
    main()
