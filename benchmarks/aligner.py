"""Word alignment of English and Czech: ssvm_aligner, our Model 1 and HMM, and eflomal.

    python benchmarks/aligner.py --data FOLDER [--skip SYSTEM ...] [--output FOLDER]

FOLDER contains align_en_cs, with {train,valid}.{src,tgt,align}, and multi30k_en_cs, with
train.{en,cs}.gz. Tokens are gold in the first; captions, the second, are tokenized by spaCy. Scores
are those of the sure links of valid, in %; there are no possible ones.

    dcd, perceptron, mira, extragradient
                            ssvm_aligner with its default templates, by solver. The association of
                            words is learned from captions and the texts of train
    dcd, valid texts        the same, with the texts of valid in the bitext, without their links
    model1, hmm             without links to learn from: both directions of our models, intersected
                            and grown. Captions and the texts of train and valid are the bitext
    eflomal                 the same for eflomal 2.0, where it is installed (`pip install eflomal`)
    dcd, eflomal            ssvm_aligner with the links of eflomal as evidence

Each system runs in a separate process on one thread, with precompiled kernels. Times are CPU times;
those of the association are not part of learning. Then follow the speed of the decoder, and the
growth of times with the number of words, with the model of dcd on pairs joined from valid.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

import numpy as np
import peers
import spacy
import srsly
from spacy.tokens import Doc
from spacy.training import Example
from wasabi import msg

from spacy_ssvm.align.bitext.reading import read_pharaoh
from spacy_ssvm.align.component import WordAligner
from spacy_ssvm.align.hmm_links import SYMMETRIZED, directed_links
from spacy_ssvm.align.initialization import read_association
from spacy_ssvm.align.matchings.decoder import best_matching
from spacy_ssvm.align.matchings.pairs import ASSOCIATION_ATTRIBUTE
from spacy_ssvm.align.reader import ParallelCorpus
from spacy_ssvm.align.text_pairs import make_pair, sides
from spacy_ssvm.features.attributes import type_values
from spacy_ssvm.kernels.compile import kernel
from spacy_ssvm.kernels.types import Flags, Floats
from spacy_ssvm.lab.compare import SOLVERS as BLOCKS

NAME = "ssvm_aligner"
EPOCHS = 6
FEW = 50  # pairs to compile kernels with
SPEED_ROUNDS = 5

#: Solvers as settings of the component; {} is its default.
SOLVERS: dict[str, dict] = {
    "dcd": {},
    "perceptron": {"solver": BLOCKS["perceptron"]},
    "mira": {"solver": BLOCKS["mira"]},
    "extragradient": {"solver": BLOCKS["extragradient"]},
}

#: How templates use the links of another aligner, which were found in both directions.
EFLOMAL = ("eflomal", "eflomal_back")
EFLOMAL_TEMPLATES = [
    *("_.eflomal", "_.eflomal_back", "bin._.eflomal+bin._.eflomal_back"),
    *("_.eflomal[-1]", "_.eflomal[1]", "_.eflomal_back[-1]", "_.eflomal_back[1]"),
    "bin._.eflomal+bin._.eflomal[1]",
    "bin._.eflomal+bin._.eflomal[-1]",
]

LENGTHS = (5, 10, 20, 40, 80, 160)
GROWTH_LINKS = 200_000  # for each length
DECODED = 20  # words of each side, for the speed of the decoder
TABLES = 2000

HEADER = ("system", "AER", "precision", "recall", "association s", "learning s", "pairs/s", "MB")


def captions(data: Path) -> dict[str, str]:
    """The files of further parallel texts."""
    folder = data / "multi30k_en_cs"
    return {"source": str(folder / "train.en.gz"), "target": str(folder / "train.cs.gz")}


def read(nlp: spacy.Language, data: Path, part: str) -> list[Example]:
    """The pairs of train or valid, with their links."""
    files = (data / "align_en_cs" / f"{part}.{end}" for end in ("src", "tgt", "align"))
    return list(ParallelCorpus(*files)(nlp))


def without_links(example: Example) -> Example:
    """The texts of a pair."""
    doc = example.predicted
    return Example(doc.copy(), doc.copy())


def scores_of(found: dict[str, float | None]) -> dict[str, float]:
    """The scores of an evaluation in %."""
    return {key: 100 * (found[f"align_{key}"] or 0.0) for key in ("aer", "p", "r")}


def fresh(examples: Iterable[Example]) -> list[Doc]:
    """Pairs to be aligned, with what is known of them before."""
    return [example.predicted.copy() for example in examples]


def aligning_speed(pipe: WordAligner, examples: Sequence[Example]) -> float:
    """Pairs per second from tokenized to aligned Docs, as the median of several rounds."""
    rates = []
    for _ in range(SPEED_ROUNDS):
        docs = fresh(examples)
        start = time.process_time()
        for _ in pipe.pipe(docs, batch_size=1000):
            pass
        rates.append(len(docs) / (time.process_time() - start))
    return sorted(rates)[SPEED_ROUNDS // 2]


def learn(
    nlp: spacy.Language,
    data: Path,
    examples: list[Example],
    texts: Sequence[Example] = (),
    **settings: object,
) -> tuple[WordAligner, dict[str, float]]:
    """A trained aligner, and the seconds that it took.

    texts: further pairs of the bitext.
    """
    aligner = nlp.add_pipe(NAME, config=settings)
    start = time.process_time()
    aligner.initialize(lambda: [*examples, *texts], nlp=nlp, bitext=captions(data))
    middle = time.process_time()
    for _ in range(EPOCHS):
        aligner.update(examples)
    seconds = {"association": middle - start, "learning": time.process_time() - middle}
    return aligner, seconds


def run_ssvm(data: Path, *, valid_texts: bool = False, **settings: object) -> dict:
    """Train and score ssvm_aligner."""
    nlp = spacy.blank("xx")
    train, valid = read(nlp, data, "train"), read(nlp, data, "valid")
    texts = [without_links(example) for example in valid] if valid_texts else []
    aligner, seconds = learn(nlp, data, train, texts, **settings)
    return {
        "": scores_of(nlp.evaluate(valid)),
        **seconds,
        "speed": aligning_speed(aligner, valid),
        **peers.saved(nlp, NAME),
    }


# Models that learn without links


def score_links(examples: Sequence[Example], links: Iterable[Flags]) -> dict[str, float]:
    """The scores of links, bool [m, n] of each pair."""
    nlp = spacy.blank("xx")
    aligner = nlp.add_pipe(NAME)
    found = []
    for example, table in zip(examples, links, strict=True):
        words = [[token.text for token in side] for side in sides(example.reference)]
        predicted = make_pair(example.reference.vocab, *words, np.argwhere(table))
        found.append(Example(predicted, example.reference))
    return scores_of(aligner.score(found))


def symmetrized(
    examples: Sequence[Example], both: Sequence[tuple[Flags, Flags]]
) -> dict[str, dict[str, float]]:
    """The scores of two directed alignments, by the method that makes them one."""
    return {
        name: score_links(examples, [method(*pair) for pair in both])
        for name, method in SYMMETRIZED.items()
    }


def run_unsupervised(data: Path, model: str) -> dict:
    """Score our models in both directions."""
    nlp = spacy.blank("xx")
    train, valid = read(nlp, data, "train"), read(nlp, data, "valid")
    start = time.process_time()
    association = read_association(NAME, nlp, [*train, *valid], captions(data))
    middle = time.process_time()
    both = []
    for example in valid:
        source, target = (
            type_values(ASSOCIATION_ATTRIBUTE, [token.text for token in side])
            for side in sides(example.predicted)
        )
        both.append(directed_links(association, source, target, model))
    seconds = time.process_time() - middle
    return {
        **symmetrized(valid, both),
        "association": middle - start,
        "speed": len(valid) / seconds,
    }


def words_of(nlp: spacy.Language, data: Path, parts: Sequence[str]) -> list[tuple[str, str]]:
    """The texts of parts and all captions in lower case, their words separated by spaces."""
    pairs = [
        tuple(" ".join(token.text for token in side) for side in sides(example.predicted))
        for part in parts
        for example in read(nlp, data, part)
    ]
    files = captions(data)
    for example in ParallelCorpus(files["source"], files["target"])(nlp):
        texts = (" ".join(token.text for token in side) for side in sides(example.predicted))
        pairs.append(tuple(" ".join(t.text for t in nlp.make_doc(text)) for text in texts))
    return [(source.lower(), target.lower()) for source, target in pairs]


def eflomal_links(nlp: spacy.Language, data: Path) -> tuple[list[list[np.ndarray]], float]:
    """The links of train and valid in both directions, int64 [links, 2] each, and the seconds."""
    import eflomal

    pairs = words_of(nlp, data, ("train", "valid"))
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("forward", "backward")]
        start, before = time.process_time(), getrusage(RUSAGE_CHILDREN)
        eflomal.Aligner().align(
            (source + "\n" for source, _ in pairs),
            (target + "\n" for _, target in pairs),
            links_filename_fwd=str(files[0]),
            links_filename_rev=str(files[1]),
        )
        after = getrusage(RUSAGE_CHILDREN)
        seconds = time.process_time() - start + after.ru_utime - before.ru_utime
        return [[links[:, :2] for links in read_pharaoh(file)] for file in files], seconds


def run_eflomal(data: Path) -> dict:
    """Score eflomal in both directions, and ssvm_aligner with its links as evidence."""
    for name in EFLOMAL:
        Doc.set_extension(name, default=None)
    nlp = spacy.blank("xx")
    train, valid = read(nlp, data, "train"), read(nlp, data, "valid")
    directions, seconds = eflomal_links(nlp, data)
    examples = [*train, *valid]
    for name, links in zip(EFLOMAL, directions, strict=True):
        for example, of_pair in zip(examples, links, strict=False):  # captions are last
            starts = [side.start for side in sides(example.predicted)]
            example.predicted._.set(name, (of_pair + starts).tolist())
    both = []
    for i, example in enumerate(valid, start=len(train)):
        tables = [np.zeros([len(side) for side in sides(example.predicted)], bool) for _ in EFLOMAL]
        for table, links in zip(tables, directions, strict=True):
            table[tuple(links[i].T)] = True
        both.append((tables[0], tables[1]))
    found = {**symmetrized(valid, both), "association": seconds}
    aligner, ours = learn(nlp, data, train, templates=["aligner", *EFLOMAL_TEMPLATES])
    found["dcd, eflomal"] = {
        "": scores_of(nlp.evaluate(valid)),
        **ours,
        "speed": aligning_speed(aligner, valid),
    }
    return found


# Speed


@kernel
def decode_all(tables: Floats, steps: Floats, links: Flags) -> None:
    """The best matchings of tables: float64 [tables, words, words]."""
    for i in range(len(tables)):
        best_matching(tables[i], steps, steps, links)


def decoding_speed(tables: Floats) -> float:
    """Matchings per second, the median of several rounds."""
    words = tables.shape[1]
    steps, links = np.zeros((words, 1)), np.zeros((words, words), dtype=bool)
    rates = []
    decode_all(tables[:1], steps, links)
    for _ in range(SPEED_ROUNDS):
        start = time.process_time()
        decode_all(tables, steps, links)
        rates.append(len(tables) / (time.process_time() - start))
    return sorted(rates)[SPEED_ROUNDS // 2]


def joined(examples: Sequence[Example], length: int, number: int) -> list[Example]:
    """Pairs of the given number of words on each side, joined from consecutive ones and cut."""
    pairs: list[Example] = []
    words: tuple[list[str], list[str]] = ([], [])
    vocab = examples[0].predicted.vocab
    while len(pairs) < number:
        for example in examples:
            for of_side, side in zip(words, sides(example.predicted), strict=True):
                of_side += [token.text for token in side]
            if min(map(len, words)) >= length:
                doc = make_pair(vocab, words[0][:length], words[1][:length])
                pairs.append(Example(doc, doc.copy()))
                words = ([], [])
    return pairs[:number]


def run_growth(data: Path) -> dict:
    """Milliseconds per pair by the number of words of each side."""
    nlp = spacy.blank("xx")
    train, valid = read(nlp, data, "train"), read(nlp, data, "valid")
    aligner, _ = learn(nlp, data, train)
    rng = np.random.default_rng(0)
    rows: dict[str, list[float]] = {"aligning": [], "decoding": [], "decoding, random scores": []}
    for length in LENGTHS:
        number = max(3, GROWTH_LINKS // length**2)
        examples = joined(valid, length, number)
        rows["aligning"].append(1000 / aligning_speed(aligner, examples))
        pairs = aligner.model.reader.read(fresh(examples))
        tables = np.stack([aligner.model.link_scores(pairs, i) for i in range(number)])
        rows["decoding"].append(1000 / decoding_speed(tables))
        random = rng.normal(size=tables.shape)
        rows["decoding, random scores"].append(1000 / decoding_speed(random))
    number = TABLES
    pairs = aligner.model.reader.read(fresh(joined(valid, DECODED, number)))
    tables = np.stack([aligner.model.link_scores(pairs, i) for i in range(number)])
    return {
        "growth": rows,
        "decoder": decoding_speed(tables),
        "decoder, random": decoding_speed(rng.normal(size=tables.shape)),
    }


SYSTEMS: dict[str, Callable[[Path], dict]] = {
    **{
        name: lambda data, settings=settings: run_ssvm(data, **settings)
        for name, settings in SOLVERS.items()
    },
    "dcd, valid texts": lambda data: run_ssvm(data, valid_texts=True),
    "model1": lambda data: run_unsupervised(data, "model1"),
    "hmm": lambda data: run_unsupervised(data, "hmm"),
    "eflomal": run_eflomal,
    "growth": run_growth,
}


def rows_of(system: str, result: dict) -> list[tuple[str, ...]]:
    """The lines of the table for a system: one for each set of links that it finds."""
    rows = []
    for name, found in result.items():
        if name in ("", *SYMMETRIZED):
            label = ", ".join(filter(None, (system, name)))
            seconds = (result.get(key) for key in ("association", "learning", "speed", "MB"))
            figures = ("" if x is None else f"{x:,.0f}" for x in seconds)
            rows.append((label, *(f"{found[key]:.2f}" for key in ("aer", "p", "r")), *figures))
    return rows


def show_growth(result: dict) -> None:
    """Print the table of times by length, and the speed of the decoder."""
    msg.divider("milliseconds per pair, by the number of words of each side")
    rows = [(name, *(f"{x:.3f}" for x in times)) for name, times in result["growth"].items()]
    header = ("", *map(str, LENGTHS))
    msg.table(rows, header=header, aligns=("l", *"r" * len(LENGTHS)), divider=True)
    msg.info(
        f"decoder, {DECODED} x {DECODED} words: {result['decoder']:,.0f} matchings/s with scores "
        f"of the model, {result['decoder, random']:,.0f} with normal ones"
    )


def compile_kernels(data: Path) -> None:
    """Fill the kernel cache with what all systems need."""
    nlp = spacy.blank("xx")
    few = read(nlp, data, "train")[:FEW]
    for settings in SOLVERS.values():
        aligner = nlp.create_pipe(NAME, config=settings)
        aligner.initialize(lambda: few, nlp=nlp)
        for _ in range(EPOCHS):
            aligner.update(few)
        list(aligner.pipe(fresh(few)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of both corpora")
    parser.add_argument("--skip", nargs="*", default=[], choices=[*SYSTEMS], metavar="SYSTEM")
    parser.add_argument("--output", type=Path, help="folder for the results, as JSON")
    parser.add_argument("--only", choices=[*SYSTEMS], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        peers.print_result(SYSTEMS[options.only](options.data))
        return
    compile_kernels(options.data)
    results: dict[str, dict] = {}
    for system in SYSTEMS:
        if system == "eflomal" and find_spec("eflomal") is None:
            msg.warn("eflomal is not installed: skipped")
        elif system not in options.skip:
            msg.info(system)
            arguments = ["--data", str(options.data), "--only", system]
            results[system] = peers.in_process(__file__, arguments)
    if "dcd, eflomal" in results.get("eflomal", {}):
        results["dcd, eflomal"] = results["eflomal"].pop("dcd, eflomal")
    msg.divider("valid: gold tokens, 250 pairs")
    rows = [row for system, result in results.items() for row in rows_of(system, result)]
    msg.table(rows, header=HEADER, aligns=("l", *"r" * len(HEADER[1:])), divider=True)
    if "growth" in results:
        show_growth(results["growth"])
    if options.output:
        options.output.mkdir(parents=True, exist_ok=True)
        srsly.write_json(options.output / "aligner.json", results)


if __name__ == "__main__":
    main()
