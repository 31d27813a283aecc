"""Components of a trained pipeline, replaced by those of this package."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import srsly
from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.scorer import Scorer
from spacy.tokens import Doc
from spacy.training import Corpus, Example
from thinc.api import Config

from spacy_ssvm.commands.jackknife import Predicted, annotate
from spacy_ssvm.commands.pipelines import finds_sentences
from spacy_ssvm.commands.recipes.annotation import Annotation
from spacy_ssvm.commands.recipes.config import (
    FACTORIES,
    READ_SENTENCES,
    READERS,
    annotated_reader,
    check_components,
    has_tokenizer_that_learns,
    make_config,
    with_senter,
)
from spacy_ssvm.commands.scores import annotate_and_score, name_of, percent, shown_with_arcs
from spacy_ssvm.components.annotated_corpus import annotations_of
from spacy_ssvm.files import replacing

#: The factories whose components do the work of each new one, and are replaced by it.
_ALIKE = {
    "tagger": {"tagger", "ssvm_tagger"},
    "pos_tagger": {"ssvm_tagger"},
    "morphologizer": {"morphologizer", "ssvm_morphologizer"},
    "lemmatizer": {"lemmatizer", "trainable_lemmatizer", "ssvm_lemmatizer"},
    "senter": {"senter", "sentencizer", "ssvm_senter"},
    "parser": {"parser", "beam_parser", "ssvm_parser"},
    "ner": {"ner", "beam_ner", "ssvm_ner"},
    "chunker": {"ssvm_chunker"},
    "sentence_labeler": {"ssvm_sentence_labeler"},
}
_WRITE_POS = {"pos_tagger", "morphologizer"}
#: What stays the same in the meta data of a pipeline.
_META = ("name", "description", "author", "email", "url", "license", "sources")

MOST_CHANGES = 3  #: of an attribute of words that are named


def components_to_swap(nlp: Language, names: Sequence[str], annotation: Annotation) -> list[str]:
    """The components to train: those that are named, and a senter where one is needed.

    A parser of this package reads sentence boundaries; one of spaCy writes them. A senter is added
    where nothing before the parser, or the labeler of sentences, finds them, if it can learn from
    the examples. Raises ValueError for names of no component that can be trained, where the
    examples have nothing to learn from, and where another kind of component has the name of a new
    one.
    """
    own = _known(nlp, names)
    annotation.require(own)
    order = pipeline_with(nlp, own)
    readers = [order.index(name) for name in own if name in READ_SENTENCES]
    before = _others(nlp, order[: min(readers, default=0)], own)
    if readers and not any(finds_sentences(nlp, name) for name in before):
        own = with_senter(own, annotation)
    pipeline_with(nlp, own)
    return own


def _known(nlp: Language, names: Sequence[str]) -> list[str]:
    """The same as ``check_components``, which says more of a component that the pipeline has."""
    try:
        return check_components(names)
    except ValueError as error:
        unknown = next(name for name in names if name not in FACTORIES)
        if unknown not in nlp.component_names:
            raise
        roles = [role for role in _ALIKE if _has_role(nlp, unknown, role)]
        hint = (
            f"'{unknown}' of the pipeline is replaced by a {roles[0]}"
            if roles
            else f"nothing of this package could replace '{unknown}': leave it out, and it stays"
        )
        raise ValueError(f"{error}; {hint}") from error


def _factory(nlp: Language, name: str) -> str:
    return nlp.get_pipe_meta(name).factory


def _has_role(nlp: Language, name: str, role: str) -> bool:
    """Whether a component of a pipeline does the work of a new one."""
    factory = _factory(nlp, name)
    if factory == "ssvm_tagger":
        attribute = nlp.get_pipe_config(name)["attribute"]
        return role == {"TAG": "tagger", "POS": "pos_tagger"}[attribute]
    return factory in _ALIKE[role]


def _replaced(nlp: Language, names: Sequence[str]) -> dict[str, str]:
    """The component that each new one replaces, where there is one that is not disabled."""
    replaced = {}
    for role in names:
        alike = [name for name in nlp.pipe_names if _has_role(nlp, name, role)]
        if role in nlp.component_names and not _has_role(nlp, role, role):
            raise ValueError(
                f"the pipeline has a component '{role}' of another kind, {_factory(nlp, role)}: "
                "rename it first, with nlp.rename_pipe"
            )
        if alike:
            replaced[role] = role if role in alike else alike[0]
    return replaced


def pipeline_with(nlp: Language, names: Sequence[str]) -> list[str]:
    """The names of a pipeline's components, with the new ones in their places.

    They take the places of those that they replace, in the order in which they read each other.
    Others come before the first new one that reads them, parts of speech else after what may
    replace them.
    """
    new_of = {old: new for new, old in _replaced(nlp, names).items()}
    new = iter(check_components([*new_of.values()]))
    order = [
        next(new) if name in new_of else name
        for name in nlp.component_names
        if name not in nlp.disabled or name not in names
    ]
    for name in check_components(names):
        if name in order:
            continue
        later = check_components(names)[check_components(names).index(name) + 1 :]
        places = [order.index(other) for other in later if other in order]
        if not places and name in _WRITE_POS:
            places = [order.index(other) + 1 for other in _write_pos(nlp, order)[-1:]]
        order.insert(min(places, default=len(order)), name)
    return order


def _write_pos(nlp: Language, order: Sequence[str]) -> list[str]:
    """The components that may write parts of speech, by rules or otherwise."""
    return [
        name
        for name in order
        if name in nlp.pipe_names
        if _factory(nlp, name) == "attribute_ruler"
        or "token.pos" in nlp.get_pipe_meta(name).assigns
    ]


def overwriting_components(nlp: Language, names: Sequence[str]) -> list[str]:
    """The components that may replace the parts of speech of a new one that writes them."""
    order = pipeline_with(nlp, names)
    places = [order.index(name) for name in names if name in _WRITE_POS]
    return _others(nlp, _write_pos(nlp, order[min(places) :]), names) if places else []


def config_of_new(
    nlp: Language, names: Sequence[str], annotation: Annotation, **settings: Any
) -> Config:
    """The config of the new components alone. settings: see ``make_config``.

    Tags that other components have written are replaced.
    """
    order = pipeline_with(nlp, names)
    others = _others(nlp, order, names)
    before = _others(nlp, order[: order.index("senter")] if "senter" in names else [], names)
    config = make_config(
        str(nlp.lang),
        names,
        has_sentences=any(finds_sentences(nlp, name) for name in others),
        has_tags=any("token.tag" in nlp.get_pipe_meta(name).assigns for name in before),
        has_spaces=annotation.has_spaces,
        many_tags=annotation.many_tags,
        **settings,
    )
    for name in {"tagger", "pos_tagger"} & {*names}:
        config["components"][name]["overwrite"] = True
    return config


def swapped_config(
    config: Config,
    nlp: Language,
    source: str,
    names: Sequence[str],
    annotations: Sequence[str],
    *,
    keeps_tokenizer: bool = True,
) -> Config:
    """A config whose other components are those of a pipeline, frozen.

    config: of the new components alone, as ``make_config`` makes it.
    source: the package or folder of the pipeline.
    annotations: what the examples are annotated with, as ``AnnotatedCorpus`` names it.
    keeps_tokenizer: whether its tokenizer stays, too; otherwise that of the config takes its place.
    """
    order = pipeline_with(nlp, names)
    others = [name for name in order if name not in names]
    swapped = config.copy()
    swapped["nlp"]["pipeline"] = order
    swapped["nlp"]["disabled"] = [name for name in nlp.disabled if name in others]
    if keeps_tokenizer:
        swapped["nlp"]["tokenizer"] = nlp.config["nlp"]["tokenizer"]
        if has_tokenizer_that_learns(nlp):
            swapped["initialize"]["tokenizer"] = {"learn": False, "special_cases": None}
    swapped["components"] |= {name: {"source": source} for name in others}
    swapped["training"]["frozen_components"] = others
    if annotations:
        swapped["paths"]["annotated"] = None
        swapped["corpora"]["train"] |= annotated_reader(annotations)
    swapped["initialize"]["before_init"] = {
        "@callbacks": "spacy.copy_from_base_model.v1",
        "tokenizer": source if keeps_tokenizer else None,
        "vocab": source,
    }
    weights: dict[str, Any] = swapped["training"]["score_weights"]
    for name in others:
        for score in nlp.get_pipe_meta(name).default_score_weights or ():
            weights.setdefault(score, None)
    return swapped


def annotate_before(
    nlp: Language, names: Sequence[str], train: Sequence[Doc], dev: Sequence[Doc]
) -> Predicted | None:
    """The words of examples, annotated by the components that come before the new ones.

    None where these annotate nothing that others read.
    """
    order = pipeline_with(nlp, names)
    with nlp.select_pipes(enable=_others(nlp, order[: min(map(order.index, names))], names)):
        found, found_in_dev = (annotate(nlp, docs, by_sentence=False) for docs in (train, dev))
    return Predicted(found, found_in_dev) if annotations_of(found) else None


def annotate_between(
    nlp: Language, names: Sequence[str], train: Sequence[Doc], found: Sequence[Doc] | None
) -> tuple[Sequence[Doc], list[str]]:
    """Examples annotated by the components between the new ones, too; and what may be read.

    found: the examples with annotations of what comes before, and of new components; None for
    none. What only components in between annotate is left out where a new one before them would
    read it: it is not there in use.
    """
    order = pipeline_with(nlp, names)
    places = [*map(order.index, names)]
    between = _others(nlp, order[min(places) : max(places)], names)
    early = annotations_of(found or ())
    if not between:
        return found or (), list(early)
    with nlp.select_pipes(enable=_others(nlp, order[: max(places)], names)):
        docs = annotate(nlp, train, by_sentence=False, sources=found)
    before = {name for name in names if order.index(name) < order.index(between[0])}
    late = [
        annotation
        for annotation in annotations_of(docs)
        if annotation in early or not READERS.get(annotation, before) & before
    ]
    return docs, late


def _others(nlp: Language, order: Sequence[str], names: Sequence[str]) -> list[str]:
    """The components that stay, and are not disabled."""
    return [name for name in order if name in nlp.pipe_names and name not in names]


def keep_meta(folder: Path, nlp: Language) -> None:
    """Give a saved pipeline the name, licence and authors of the one that it was made of."""
    file = folder / "meta.json"
    meta = srsly.read_json(file)
    meta.update({key: nlp.meta[key] for key in _META if nlp.meta.get(key)})
    with replacing(file) as beside:
        srsly.write_json(beside, meta)


def scores_of_new(nlp: Language, config: Config, names: Sequence[str]) -> dict[str, float | None]:
    """The scores of what the new components write, and how much each counts.

    config: of these alone, see ``config_of_new``. Scores that do not count belong to the others
    where some of these are judged by them; and of tags and parts of speech, a tagger writes one.
    """
    stay = {*_others(nlp, nlp.pipe_names, names)} - {*_replaced(nlp, names).values()}
    judged_by = {
        score
        for name in stay
        for score, weight in (nlp.get_pipe_meta(name).default_score_weights or {}).items()
        if weight
    }
    not_own = {"tag_acc", "pos_acc"} | judged_by
    weights = config["training"]["score_weights"]
    return {score: weight for score, weight in weights.items() if weight or score not in not_own}


def trained_on_other_tokens(nlp: Language, names: Sequence[str]) -> list[str]:
    """The components that stay and learned from the tokens of the tokenizer before."""
    others = _others(nlp, nlp.pipe_names, names)
    return [name for name in others if isinstance(nlp.get_pipe(name), TrainablePipe)]


def share_of_other_tokens(old: Language, new: Language, docs: Sequence[Doc]) -> float:
    """The share of the tokens of a new tokenizer that the old one does not find."""
    pairs = (Example(old.make_doc(doc.text), new.make_doc(doc.text)) for doc in docs)
    return 1 - float(Scorer.score_tokenization(pairs)["token_r"])


def idle_components(nlp: Language) -> list[str]:
    """The layers for several components, such as tok2vec, that none of the pipeline reads."""
    return [
        name for name, pipe in nlp.pipeline if getattr(pipe, "listening_components", None) == []
    ]


class Comparison(NamedTuple):
    """Two pipelines, measured on the same texts."""

    rows: list[tuple[str, str, str]]  #: scores, those of components that stay first; and speed
    fallen: list[str]  #: what components that stay do worse than before


def compare(old: Language, new: Language, own: Mapping[str, float | None], dev: Path) -> Comparison:
    """All scores, and words per second, of a pipeline before and after components were replaced.

    own: the scores of the new components, see ``scores_of_new``. dev: a .spacy file.
    """
    docs, found, speeds = zip(*(_measure(nlp, dev) for nlp in (old, new)), strict=True)
    values = {score: x for scores in found for score, x in scores.items() if x is not None}
    shown = shown_with_arcs(values)
    stay = [score for score in shown if score not in own]
    rows, fallen = [], []
    cut = [percent(scores.get("token_f")) for scores in found]
    if cut[0] != cut[1]:  # by another tokenizer
        rows.append(("token F1", cut[0], cut[1]))
    for score in (*stay, *(score for score in own if own[score] or score in shown)):
        before, after = (scores.get(score) for scores in found)
        cells = [percent(before), percent(after)]
        rows.append((name_of(score), cells[0], cells[1]))
        if (
            score in stay
            and None not in (before, after)
            and cells[0] != cells[1]
            and before > after
        ):
            changes = _changes(score, docs[0], docs[1])
            fallen.append(f"{name_of(score)} falls from {cells[0]} to {cells[1]}{changes}")
    rows.append(("words/s", f"{speeds[0]:,.0f}", f"{speeds[1]:,.0f}"))
    return Comparison(rows, fallen)


def _measure(nlp: Language, dev: Path) -> tuple[list[Doc], dict[str, Any], float]:
    """Annotated Docs, their scores as ``spacy evaluate`` names them, and words per second."""
    examples = list(Corpus(dev)(nlp))
    scores = annotate_and_score(nlp, examples)
    docs = [example.predicted for example in examples]
    texts = [doc.text for doc in docs]
    start = time.perf_counter()
    words = sum(len(doc) for doc in nlp.pipe(texts))
    return docs, scores, words / (time.perf_counter() - start)


def _changes(score: str, old: Sequence[Doc], new: Sequence[Doc]) -> str:
    """The most frequent changes of an attribute of words, where the score is one of its.

    Those of texts that both pipelines cut alike.
    """
    attribute = score.removesuffix("_acc")
    attribute += "" if attribute == "morph" else "_"
    if score not in {"tag_acc", "pos_acc", "morph_acc", "lemma_acc"}:
        return ""
    pairs = Counter(
        (str(getattr(before, attribute)), str(getattr(after, attribute)))
        for before_doc, after_doc in zip(old, new, strict=True)
        if [token.text for token in before_doc] == [token.text for token in after_doc]
        for before, after in zip(before_doc, after_doc, strict=True)
    )
    changed = Counter({pair: number for pair, number in pairs.items() if len({*pair}) > 1})
    most = [f"{a or '-'} -> {b or '-'} {n}" for (a, b), n in changed.most_common(MOST_CHANGES)]
    return f"; of {changed.total()} words that change: {', '.join(most)}"
