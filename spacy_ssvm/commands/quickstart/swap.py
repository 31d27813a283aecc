"""Components of a trained pipeline, replaced by those of this package."""

import time
from collections.abc import Sequence
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from thinc.api import Config

from spacy_ssvm.commands.jackknife import Predicted, annotate
from spacy_ssvm.commands.quickstart.annotation import Annotation
from spacy_ssvm.commands.quickstart.config import annotated_reader, check_components
from spacy_ssvm.components.annotated_corpus import annotations_of

#: Scores of the annotations of components, and how they are shown.
_SCORES = {
    "tagger": {"tag_acc": "TAG accuracy"},
    "pos_tagger": {"pos_acc": "POS accuracy"},
    "senter": {"sents_f": "sentence F1"},
    "parser": {"dep_uas": "UAS without punct", "dep_las": "LAS without punct"},
    "ner": {"ents_f": "entity F1"},
}
_FIND_SENTENCES = {"senter", "ssvm_senter", "sentencizer", "parser"}  # factories


def components_to_swap(nlp: Language, names: Sequence[str], annotation: Annotation) -> list[str]:
    """The components to train: those that are named, and a senter before a parser.

    A parser of this package reads sentence boundaries; one of spaCy writes them. A senter is added
    where nothing else of the pipeline finds them. Raises ValueError for names of no component that
    can be trained, and where the examples have nothing to learn from.
    """
    own = check_components(names)
    factories = {nlp.get_pipe_meta(name).factory for name in nlp.pipe_names if name not in own}
    if "parser" in own and not factories & _FIND_SENTENCES:
        own = check_components([*own, "senter"])
    unable = [name for name in own if name not in annotation.components]
    if unable:
        able = ", ".join(annotation.components) or "no component"
        raise ValueError(
            f"the examples have nothing that '{unable[0]}' could learn from; they have what {able} "
            "needs"
        )
    return own


def pipeline_with(nlp: Language, names: Sequence[str]) -> list[str]:
    """The names of a pipeline's components, with the new ones in their places.

    One that is replaced keeps its place. Others come before the first that reads them.
    """
    order = [name for name in nlp.component_names if name not in nlp.disabled or name not in names]
    for name in names:
        if name not in order:
            later = check_components(names)[check_components(names).index(name) + 1 :]
            places = [order.index(other) for other in later if other in order]
            order.insert(min(places, default=len(order)), name)
    return order


def swapped_config(
    config: Config, nlp: Language, source: str, names: Sequence[str], annotations: Sequence[str]
) -> Config:
    """A config whose other components are those of a pipeline, frozen.

    config: of the new components alone, as ``make_config`` makes it.
    source: the package or folder of the pipeline.
    annotations: what the examples are annotated with, as ``AnnotatedCorpus`` names it.
    """
    order = pipeline_with(nlp, names)
    others = [name for name in order if name not in names]
    swapped = config.copy()
    swapped["nlp"]["pipeline"] = order
    swapped["nlp"]["disabled"] = [name for name in nlp.disabled if name in others]
    swapped["nlp"]["tokenizer"] = nlp.config["nlp"]["tokenizer"]
    swapped["components"] |= {name: {"source": source} for name in others}
    swapped["training"]["frozen_components"] = others
    if annotations:
        swapped["paths"]["annotated"] = None
        swapped["corpora"]["train"] |= annotated_reader(annotations)
    swapped["initialize"]["before_init"] = {
        "@callbacks": "spacy.copy_from_base_model.v1",
        "tokenizer": source,
        "vocab": source,
    }
    weights: dict[str, Any] = swapped["training"]["score_weights"]
    for name in others:
        for score in nlp.get_pipe_meta(name).default_score_weights or ():
            weights.setdefault(score, None)
    return swapped


def annotate_by_others(
    nlp: Language, names: Sequence[str], train: Sequence[Doc], dev: Sequence[Doc]
) -> Predicted | None:
    """The words of examples, annotated by the components that come before the new ones.

    None where these annotate nothing that others read.
    """
    order = pipeline_with(nlp, names)
    first = min(order.index(name) for name in names)
    before = [name for name in order[:first] if name in nlp.pipe_names]
    with nlp.select_pipes(enable=before):
        found, found_in_dev = (annotate(nlp, docs, by_sentence=False) for docs in (train, dev))
    return Predicted(found, found_in_dev) if annotations_of(found) else None


def compare(
    pipelines: Sequence[Language], names: Sequence[str], dev: Sequence[Doc]
) -> list[tuple[str, ...]]:
    """Scores of the new components' annotations, and words per second, of each pipeline.

    dev: gold Docs.
    """
    texts = [doc.text for doc in dev]
    columns: list[dict[str, str]] = []
    for nlp in pipelines:
        start = time.perf_counter()
        words = sum(len(doc) for doc in nlp.pipe(texts))
        speed = words / (time.perf_counter() - start)
        shared = DocBin(docs=dev).get_docs(nlp.vocab)
        scores = nlp.evaluate([Example(nlp.make_doc(doc.text), doc) for doc in shared])
        shown = {
            label: scores.get(key) for name in names for key, label in _SCORES.get(name, {}).items()
        }
        columns.append(
            {
                **{
                    label: "-" if value is None else f"{100 * value:.2f} %"
                    for label, value in shown.items()
                },
                "words/s": f"{speed:,.0f}",
            }
        )
    return [(label, *(column[label] for column in columns)) for label in columns[0]]
