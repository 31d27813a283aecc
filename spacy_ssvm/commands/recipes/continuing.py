"""Trained components that learn on from new examples, with new labels where there are any."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Corpus, Example
from thinc.api import Config

from spacy_ssvm.commands.jackknife import annotate
from spacy_ssvm.commands.recipes.annotation import Annotation
from spacy_ssvm.commands.recipes.config import FACTORIES, annotations_read, make_config
from spacy_ssvm.commands.recipes.swap import swapped_config
from spacy_ssvm.commands.recipes.training import Corpus as TrainingCorpus
from spacy_ssvm.commands.scores import name_of, percent, shown_with_arcs
from spacy_ssvm.components.spans import SpanPipe
from spacy_ssvm.files import shorten

#: The settings by which components of one factory, or with other annotation, are told apart.
_TELLING = {
    "tagger": {"attribute": "TAG"},
    "pos_tagger": {"attribute": "POS"},
    "chunker": {"spans_key": "chunks"},
    "sentence_labeler": {"spans_key": "sentence_labels"},
}
_PER_TYPE = "_per_type"


def kind_of(nlp: Language, name: str) -> str | None:
    """Which of FACTORIES a component of a pipeline is; None for one of another kind."""
    factory, settings = nlp.get_pipe_meta(name).factory, nlp.get_pipe_config(name)
    return next(
        (
            kind
            for kind, own in FACTORIES.items()
            if own == factory and _TELLING.get(kind, {}).items() <= settings.items()
        ),
        None,
    )


def components_to_continue(
    nlp: Language, names: Sequence[str] | None, annotation: Annotation
) -> dict[str, str]:
    """The kind of each component that learns on, in the order of the pipeline.

    names: of components of the pipeline; None for all that can learn from the examples.
    Raises ValueError where one cannot be trained, or there is none that can learn from them.
    """
    kinds = {name: kind for name in nlp.pipe_names if (kind := kind_of(nlp, name)) is not None}
    there = ", ".join(kinds) or "none"
    unknown = [name for name in names or () if name not in kinds]
    if unknown:
        raise ValueError(
            f"the pipeline has no component '{unknown[0]}' that can be trained further here; of "
            f"this package, it has: {there}"
        )
    if names is not None:
        annotation.require([kinds[name] for name in names])
    chosen = {
        name: kind
        for name, kind in kinds.items()
        if name in (names or kinds) and kind in annotation.components
    }
    if not chosen:
        raise ValueError(
            "no component of the pipeline can learn from the examples. Of this package, it has: "
            f"{there}; the examples have what {', '.join(annotation.components) or 'none'} needs"
        )
    return chosen


def add_labels(nlp: Language, names: Sequence[str], docs: Sequence[Doc]) -> dict[str, list[str]]:
    """Add the labels of Docs to components, and return those that are new, by component.

    Raises ValueError for a component that takes no new ones.
    """
    added = {}
    for name in names:
        pipe: Any = nlp.get_pipe(name)
        new = [label for label in labels_of(pipe, docs) if label not in pipe.labels]
        if new and not pipe.is_resizable:
            raise ValueError(
                f"'{name}' does not have these labels of the examples: {shorten(', '.join(new))}. "
                "A trained component of this kind takes no new labels: map them to those that it "
                "has, leave it out (--components), or train it anew, without --from, on its old "
                "examples and these"
            )
        for label in new:
            pipe.add_label(label)
        if new:
            added[name] = new
    return added


def labels_of(pipe: Any, docs: Sequence[Doc]) -> list[str]:
    """The labels of a component in gold Docs, sorted."""
    found: list[str] = pipe.collect_labels(Example(doc, doc) for doc in docs)
    return found


class Completed(NamedTuple):
    """A corpus, after the pipeline has annotated what its files do not."""

    corpus: TrainingCorpus
    found: list[str]  #: the types of spans that the pipeline was asked for
    scored: list[str]  #: those of them that it was asked for in dev
    lacking: dict[str, int]  #: texts to learn from of files without a new type, by new type


def complete(nlp: Language, names: Sequence[str], corpus: TrainingCorpus) -> Completed:
    """Let a pipeline annotate the types of spans that it knows, and a file never annotates.

    Files of which only new types are annotated would else teach that all others are outside. Spans
    of the file stay, and others are added where these leave room. Files without any span of a
    component stay as they are: they say that there is none.
    """
    made: dict[int, Doc] = {}
    found: set[str] = set()
    scored: set[str] = set()
    lacking: Counter[str] = Counter()
    for name in names:
        pipe = nlp.get_pipe(name)
        if not isinstance(pipe, SpanPipe):
            continue
        listed = [labels_of(pipe, file.docs) for file in corpus.converted]
        new = {label for labels in listed for label in labels} - {*pipe.labels}
        for file, labels in zip(corpus.converted, listed, strict=True):
            learned = {*map(id, file.docs)} & {*map(id, corpus.train)}
            lacking.update(dict.fromkeys(new - {*labels}, len(learned)))
            types = {*pipe.labels} - {*labels}
            if types and labels:
                found |= types
                if not {*map(id, file.docs)}.isdisjoint(map(id, corpus.dev)):
                    scored |= types
                key = pipe.cfg.get("spans_key")
                others = annotate(nlp, file.docs, by_sentence=False)
                for doc, other in zip(file.docs, others, strict=True):
                    made[id(doc)] = _with_found(made.get(id(doc), doc), other, types, key)
    train, dev = ([made.get(id(doc), doc) for doc in part] for part in (corpus.train, corpus.dev))
    completed = TrainingCorpus(train, dev, corpus.converted)
    return Completed(completed, sorted(found), sorted(scored), dict(+lacking))


def _with_found(doc: Doc, other: Doc, types: Collection[str], key: Any) -> Doc:
    """A gold Doc with further spans of some types. key: of ``doc.spans``; None for entities."""
    if key is not None and key not in doc.spans:
        return doc
    gold = doc.copy()
    own = list(gold.ents if key is None else gold.spans[key])
    taken = {token.i for span in own for token in span}
    added = [
        Span(gold, span.start, span.end, span.label_)
        for span in (other.ents if key is None else other.spans[key])
        if span.label_ in types and taken.isdisjoint(range(span.start, span.end))
    ]
    if key is None:
        gold.set_ents([*own, *added], default="unmodified")
    else:
        gold.spans[key] = [*own, *added]
    return gold


def annotate_for(nlp: Language, kinds: Mapping[str, str], docs: Sequence[Doc]) -> Sequence[Doc]:
    """Examples with what components that learn on read of others that do; empty for nothing.

    As the pipeline annotates them before it has learned from them.
    """
    if not annotations_read([*kinds.values()]):
        return ()
    with nlp.select_pipes(enable=_before_last(nlp, kinds)):
        return annotate(nlp, docs, by_sentence=False)


def continued_config(
    nlp: Language, source: str, kinds: Mapping[str, str], *, train: Path, dev: Path
) -> Config:
    """A config whose components are those of a pipeline, some of which are trained.

    source: the package or folder of the pipeline.
    kinds: of those to train; the others are frozen, and annotate for them.
    """
    config = make_config(str(nlp.lang), [*kinds.values()], train=train, dev=dev)
    config["components"], config["initialize"]["components"] = {}, {}
    read = annotations_read([*kinds.values()])
    config = swapped_config(config, nlp, source, [], read)
    frozen = [name for name in nlp.component_names if name not in kinds]
    config["training"]["frozen_components"] = frozen
    before = [name for name in _before_last(nlp, kinds) if name in frozen]
    config["training"]["annotating_components"] = before
    return config


def _before_last(nlp: Language, kinds: Mapping[str, str]) -> list[str]:
    """The components before the last of those that learn on."""
    return nlp.pipe_names[: max(map(nlp.pipe_names.index, kinds))]


def compare(
    before: Language, after: Language, dev: Path, notes: Mapping[str, str]
) -> list[tuple[str, str, str]]:
    """Scores of two pipelines, in total and by type of span, and of arc where it is new.

    notes: what to say about labels, by label.
    """
    found = [nlp.evaluate(list(Corpus(dev)(nlp))) for nlp in (before, after)]
    rows = [
        (name_of(score), percent(found[0].get(score)), percent(found[1][score]))
        for score in shown_with_arcs(found[1])
    ]
    for score, by_type in _scores_by_type(found[1]):
        others = found[0].get(score) or {}
        for label in sorted(by_type):
            if label in notes or not score.startswith("dep_"):
                old, new = ((one.get(label) or {}).get("f") for one in (others, by_type))
                rows.append((f"F1 of {label}{notes.get(label, '')}", percent(old), percent(new)))
    return rows


def _scores_by_type(scores: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Those of spans and labelled arcs."""
    for score, value in scores.items():
        if score.endswith(_PER_TYPE) and value and score != "sents_per_type":
            yield score, value
