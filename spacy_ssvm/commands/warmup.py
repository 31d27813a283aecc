"""Compiles kernels in advance: of all components, as for containers, or of a new pipeline."""

import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_ssvm.commands.pipelines import annotate_in_stages
from spacy_ssvm.commands.render import choose, words_of
from spacy_ssvm.components.doc_arrays import SOURCE, TARGET
from spacy_ssvm.components.page import Decision
from spacy_ssvm.components.parser import Arc

_WORDS = ["the", "dog", "barks", ".", "a", "cat", "sleeps"]
_TAGS = ["DET", "NOUN", "VERB", "PUNCT", "DET", "NOUN", "VERB"]
_MORPHS = [f"Type={tag}" for tag in _TAGS]
_LEMMAS = ["the", "dog", "bark", ".", "a", "cat", "sleep"]
_HEADS = [1, 2, 2, 2, 5, 6, 6]
_ENTS = ["O", "B-NOUN", "O", "O", "O", "B-NOUN", "O"]
_STARTS = [True, False, False, False, True, False, False]

_LINKS = [(0, 4), (1, 5), (2, 6)]

#: In the place of a factory: what is trained is the tokenizer of the pipeline.
TOKENIZER = "tokenizer"

_ALIGNER = {"templates": ["aligner", "lexicon"], "min_count": 1}
_PROBABLE = {"@misc": "spacy_ssvm.DualCoordinateAscent.v1"}


def use_once(nlp: Language, golds: Sequence[Doc]) -> None:
    """Have a loaded pipeline do what commands ask of it, so that none of them compiles.

    golds: some Docs of its dev corpus. Aligners, which annotate pairs of texts, are left out.
    """
    texts = words_of(nlp, golds)
    for pipe, docs in annotate_in_stages(nlp, texts, choose(nlp, None)):
        for doc in docs:
            decisions = pipe.decisions(doc)
            for decision in decisions[:1]:
                for wrong in (None, *_others(decision, decisions)):
                    pipe.explain_decision(doc, replace(decision, gold=wrong), top=1)
            pipe.scores(doc)
            if pipe.model.beta is not None:
                pipe.marginals(doc)
        list(pipe.pipe(docs))  # what is annotated stays


def _others(decision: Decision[Any], decisions: Sequence[Decision[Any]]) -> set[Any]:
    """What might have been decided instead: what other units are; of an arc, also its label."""
    found = {other.label for other in decisions}
    if isinstance(decision.label, Arc):
        found |= {decision.label._replace(label=other.label) for other in found}
    return found


class Use(NamedTuple):
    """A component with settings that make a difference to its kernels, or to their arguments."""

    name: str  #: shown as progress
    factory: str
    config: dict[str, Any]
    explained: tuple[int, ...] = (1,)  #: what to explain in a Doc


#: All that the shipped configs need, and probabilities.
USES = (
    Use("tokenizer", TOKENIZER, {}),
    Use("tagger", "ssvm_tagger", {"templates": ["tagger", "cluster4[0]"]}),
    Use("tagger with hashed features", "ssvm_tagger", {"hash_bits": 10}),
    Use("morphologizer", "ssvm_morphologizer", {}),
    Use("lemmatizer", "ssvm_lemmatizer", {"candidates": False}),
    Use("sentence recognizer", "ssvm_senter", {}),
    Use("entity recognizer", "ssvm_ner", {"templates": ["ner", "gazetteer[0]"]}),
    Use("chunker", "ssvm_chunker", {}),
    Use("sentence labeler", "ssvm_sentence_labeler", {}),
    Use("sentence labeler with hashed features", "ssvm_sentence_labeler", {"hash_bits": 10}),
    Use("word aligner", "ssvm_aligner", _ALIGNER, (1, 1)),
    Use("labels of sentences by cuts", "ssvm_sentence_labeler", {"decoder": "cut"}),
    Use("parser, first order", "ssvm_parser", {"order": 1, "hash_bits": 10}),
    Use("parser, second order", "ssvm_parser", {"order": 2, "hash_bits": 10, "max_length": 3}),
    Use(
        "parser, not projective",
        "ssvm_parser",
        {"order": 1, "projective": False, "hash_bits": 10},
    ),
    Use("probabilities of labels", "ssvm_ner", {"solver": _PROBABLE}),
    Use("probabilities of features", "ssvm_morphologizer", {"solver": _PROBABLE}),
    Use("probabilities of sentences", "ssvm_sentence_labeler", {"solver": _PROBABLE}),
    Use(
        "probabilities of arcs",
        "ssvm_parser",
        {"order": 1, "hash_bits": 10, "solver": _PROBABLE},
    ),
)


def compile_kernels() -> None:
    """Compile what ``USES`` needs, or find it in the cache."""
    for use in USES:
        compile_for(use)


def compile_for(use: Use) -> None:
    """Train and use a tiny pipeline, which fills the kernel cache."""
    with warnings.catch_warnings():  # of sentences whose boundaries change below
        warnings.filterwarnings("ignore", message=".* are not units of the predicted Docs")
        if use.factory == TOKENIZER:
            _train_and_use_tokenizer()
        else:
            _train_and_use(use)


def _train_and_use_tokenizer() -> None:
    nlp = spacy.blank(
        "xx", config={"nlp": {"tokenizer": {"@tokenizers": "spacy_ssvm.Tokenizer.v1"}}}
    )
    tokenizer: Any = nlp.tokenizer
    tokenizer("not trained yet")
    words, spaces = ["Dogs", "d", "o", ".", "Cats", "?"], [True, False, False, True, False, False]
    gold = Doc(nlp.vocab, words=words, spaces=spaces, sent_starts=[True, *[False] * 3, True, False])
    gold[1].norm_ = "de"
    tokenizer.initialize(lambda: [Example(nlp.make_doc(gold.text), gold)], nlp=nlp)
    tokenizer.explain("Cats do. Dogs!")
    tokenizer.explain_character("Cats do. Dogs!", 13)


def _train_and_use(use: Use) -> None:
    nlp = spacy.blank("xx")
    pipe: Any = nlp.add_pipe(use.factory, config=use.config)
    examples = [_example(nlp), _partial_example(nlp)]
    with tempfile.TemporaryDirectory() as folder:
        pipe.initialize(partial(iter, examples), nlp=nlp, **_resources(use, Path(folder)))
    for _ in range(40):  # until the gap is closed: partial gold is then completed again
        nlp.update(examples)
    for example in examples:  # as if another component had changed its annotation
        example.predicted[4].is_sent_start = False
    nlp.update(examples)
    doc = nlp(_doc(nlp))
    nlp(_partial_example(nlp).reference)  # what is annotated already is kept
    pipe.scores(doc)
    pipe.explain(doc, *use.explained)
    if pipe.model.beta is not None:
        pipe.marginals(doc)
        pipe.marginals(doc, overwrite=True)
    pipe.objective(examples)
    reloaded = spacy.blank("xx")
    reloaded.add_pipe(use.factory, config=use.config)
    reloaded.from_bytes(nlp.to_bytes())
    reloaded.update(examples)


def _resources(use: Use, folder: Path) -> dict[str, Any]:
    """The resources that the templates name."""
    templates = " ".join(use.config.get("templates", ()))
    resources: dict[str, Any] = {}
    if "cluster" in templates:
        resources["clusters"] = folder / "clusters.tsv"
        resources["clusters"].write_text("01\tdog\n", encoding="utf8")
    if "gazetteer" in templates:
        resources["gazetteers"] = {"NOUN": folder / "nouns.txt"}
        resources["gazetteers"]["NOUN"].write_text("dog\n", encoding="utf8")
    if "lexicon" in templates:
        resources["lexicon"] = folder / "lexicon.tsv"
        resources["lexicon"].write_text("the\ta\n", encoding="utf8")
    return resources


def _doc(nlp: Language) -> Doc:
    return _with_sides(Doc(nlp.vocab, words=_WORDS, sent_starts=list(_STARTS)))


def _with_sides(doc: Doc) -> Doc:
    """The Doc, whose first four words are a source, and the others its translation."""
    doc.spans[SOURCE], doc.spans[TARGET] = [doc[:4]], [doc[4:]]
    return doc


def _link(doc: Doc, **links: Any) -> None:
    """Set the links of a Doc where there is an aligner, which registers their attributes."""
    for name, value in links.items():
        if Doc.has_extension(name):
            doc._.set(name, value)


def _example(nlp: Language) -> Example:
    tags: Any = {"tags": _TAGS, "pos": _TAGS, "morphs": _MORPHS, "lemmas": _LEMMAS}
    gold = Doc(nlp.vocab, words=_WORDS, **tags, heads=_HEADS, deps=_TAGS, ents=_ENTS)
    _link(gold, alignment=_LINKS)
    _with_sides(gold)
    gold.spans["chunks"] = list(gold.ents)
    gold.spans["sentence_labels"] = [Span(gold, 0, 4, "first"), Span(gold, 4, 7, "last")]
    return Example(_doc(nlp), gold)


def _partial_example(nlp: Language) -> Example:
    """An example that is annotated in part."""
    tags, ents = [*_TAGS[:4], "", "", ""], [*_ENTS[:4], "", "", ""]
    starts: list[bool | int | None] = [*_STARTS[:5], None, None]
    gold = Doc(nlp.vocab, words=_WORDS, tags=tags, pos=tags, ents=ents, sent_starts=starts)
    for i in range(3):
        gold[i].head, gold[i].dep_ = gold[_HEADS[i]], _TAGS[i]
    _link(gold, alignment=_LINKS[:1], possible_alignment=_LINKS[1:])
    _with_sides(gold)
    return Example(_doc(nlp), gold)
