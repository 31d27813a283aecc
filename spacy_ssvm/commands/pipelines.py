"""Trained pipelines, as commands load them, and name them on pages."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from spacy import util
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.loop import DIR_MODEL_BEST, DIR_MODEL_LAST

from spacy_ssvm.components.doc_arrays import SOURCE, TARGET


def annotate_in_stages(
    nlp: Language, docs: Iterable[Doc], names: Collection[str]
) -> Iterator[tuple[Any, list[Doc]]]:
    """Annotate Docs, component by component, and stop after each that is named.

    Yields it with the Docs as it leaves them: one that is asked for its decisions decides again,
    and must not see what later ones write. Threads can share the pipeline.
    """
    annotated = list(docs)
    for name, pipe in nlp.pipeline:
        own: Any = pipe
        if hasattr(own, "pipe"):
            annotated = list(own.pipe(annotated, batch_size=nlp.batch_size))
        else:
            annotated = list(map(own, annotated))
        if name in names:
            yield own, annotated


def without_annotation(doc: Doc) -> Doc:
    """The words of a Doc, and the spaces between them where they are known.

    Also which of them are the source and the target, in a pair of texts.
    """
    spaces = None if doc.has_unknown_spaces else [bool(token.whitespace_) for token in doc]
    words = Doc(doc.vocab, words=[token.text for token in doc], spaces=spaces)
    for key in {SOURCE, TARGET} & set(doc.spans):
        words.spans[key] = [words[span.start : span.end] for span in doc.spans[key]]
    return words


def read_pairs(nlp: Language, source: Path, target: Path, alignment: Path | None) -> list[Example]:
    """The pairs of lines of two files, with the links of a third one where it is given.

    Raises ValueError where the files do not fit together.
    """
    make_reader = util.registry.readers.get("spacy_ssvm.ParallelCorpus.v1")
    return list(make_reader(source, target, alignment)(nlp))


def finds_sentences(nlp: Language, name: str) -> bool:
    """Whether a component writes sentence boundaries, by its meta data."""
    return "token.is_sent_start" in nlp.get_pipe_meta(name).assigns


def title_of(model: str) -> str:
    """A short name of a pipeline: of its package, or of the folder that training wrote it to."""
    folder = Path(model).resolve()
    return folder.parent.name if folder.name in (DIR_MODEL_BEST, DIR_MODEL_LAST) else folder.name


def load_pipeline(
    model: str, component: str | None = None, settings: Mapping[str, Any] | None = None
) -> Language:
    """A trained pipeline.

    model: its folder, or the name of its package. component: the one to run; None for all.
    settings: of its config to replace, such as {"components.ner.solver.C": 0.01}.

    Raises ValueError where there is no such pipeline or component, or it is damaged.
    """
    try:
        nlp = util.load_model(model, config=dict(settings or {}))
    except Exception as error:  # a damaged folder can raise any
        best = Path(model) / DIR_MODEL_BEST
        hint = f" Did you mean {best}?" if best.is_dir() else ""
        reason = str(error).rstrip(".")
        raise ValueError(f"{model} cannot be loaded as a pipeline: {reason}.{hint}") from error
    if component is None:
        return nlp
    if component not in nlp.component_names:
        raise ValueError(
            f"there is no component '{component}' in {model}: choose one of "
            f"{', '.join(nlp.component_names)}"
        )
    for name in nlp.pipe_names:
        nlp.disable_pipe(name)
    nlp.enable_pipe(component)
    return nlp


def made() -> str:
    """When, and by which versions of packages, a page was made."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("spacy-ssvm", "spacy", "numba"))
    return f"{date.today().isoformat()} with {versions}"
