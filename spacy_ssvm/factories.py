"""The factories of the components: their settings, and the defaults.

spaCy imports this file in every process that creates a pipeline, even one without components of
this package. Therefore it imports only spaCy, and the components inside the functions.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from spacy.language import Language

if TYPE_CHECKING:
    from spacy_ssvm.align.component import WordAligner
    from spacy_ssvm.components.chunker import Chunker
    from spacy_ssvm.components.lemmatizer import Lemmatizer
    from spacy_ssvm.components.morphologizer import Morphologizer
    from spacy_ssvm.components.ner import EntityRecognizer
    from spacy_ssvm.components.parser import DependencyParser
    from spacy_ssvm.components.senter import SentenceRecognizer
    from spacy_ssvm.components.settings import Selection, Solver
    from spacy_ssvm.components.tagger import TagPipe
    from spacy_ssvm.sentences.component import SentenceLabeler
else:  # spaCy evaluates the types of arguments when it reads a config
    Selection = Solver = Any

DEFAULT_SOLVER = {"@misc": "spacy_ssvm.DualCoordinateDescent.v1"}

#: Settings of the training of tags, sentence boundaries and spans.
DEFAULT_TRAINING = {
    "min_count": 1,
    "hash_bits": None,
    "costs": {},
    "solver": DEFAULT_SOLVER,
    "selection": None,
    "memory": None,
}


@Language.factory(
    "ssvm_tagger",
    assigns=["token.tag"],
    default_config={
        "attribute": "TAG",
        "whole_docs": False,
        "templates": ["tagger"],
        "candidates": False,
        **DEFAULT_TRAINING,
        "overwrite": False,
        "scorer": {"@scorers": "spacy_ssvm.tagger_scorer.v1"},
    },
    default_score_weights={"tag_acc": 1.0, "pos_acc": None},
)
def make_tagger(
    nlp: Language,
    name: str,
    attribute: str,
    whole_docs: bool,
    templates: list[str],
    candidates: bool,
    min_count: int,
    hash_bits: int | None,
    costs: dict[str, dict[str, float]],
    solver: Solver,
    selection: Selection | None,
    memory: int | None,
    overwrite: bool,
    scorer: Callable[..., Any] | None,
) -> "TagPipe[Any, Any]":
    """Make a part-of-speech tagger.

    attribute: the attribute to write: "TAG" (fine-grained tags) or "POS" (universal ones).
    whole_docs: whether to treat a Doc as one sequence even if it has sentence boundaries: for a
        tagger that precedes the component that sets them.
    templates: feature templates and families, see docs/features.md.
    candidates: whether words have only the tags that the training corpus suggests, by what each
        word, similar words and words with the same ending were seen with: for hundreds of tags,
        all of which take long to compare. Wrong tags then cost 1 each.
    min_count: rarer features are left out.
    hash_bits: None for an exact feature dictionary, else the features share 2**hash_bits
        rows, which bounds memory and allows collisions.
    costs: the cost of a wrong label, {gold: {predicted: cost}}; 1 where not given.
    solver: learns the weights, see docs/solvers.md.
    selection: of templates before training, see docs/selection.md; None keeps all.
    memory: None for all examples, else as many MB of them as training may keep, see
        docs/training.md.
    overwrite: whether to replace the tags that a Doc already has.
    scorer: the scoring function for ``spacy evaluate``.
    """
    from spacy_ssvm.components.tagger import build_tagger

    return build_tagger(
        nlp.vocab,
        name,
        attribute=attribute,
        whole_docs=whole_docs,
        templates=templates,
        candidates=candidates,
        min_count=min_count,
        hash_bits=hash_bits,
        costs=costs,
        solver=solver,
        selection=selection,
        memory=memory,
        overwrite=overwrite,
        scorer=scorer,
    )


@Language.factory(
    "ssvm_morphologizer",
    assigns=["token.pos", "token.morph"],
    default_config={
        "whole_docs": False,
        "templates": ["tagger"],
        "min_count": 1,
        "hash_bits": None,
        "candidates": True,
        "solver": {"@misc": "spacy_ssvm.DualCoordinateDescent.v1", "C": 0.05},
        "selection": None,
        "memory": None,
        "overwrite": True,
        "extend": False,
        "scorer": {"@scorers": "spacy.morphologizer_scorer.v1"},
    },
    default_score_weights={"pos_acc": 0.5, "morph_acc": 0.5, "morph_per_feat": None},
)
def make_morphologizer(
    nlp: Language,
    name: str,
    whole_docs: bool,
    templates: list[str],
    min_count: int,
    hash_bits: int | None,
    candidates: bool,
    solver: Solver,
    selection: Selection | None,
    memory: int | None,
    overwrite: bool,
    extend: bool,
    scorer: Callable[..., Any] | None,
) -> "Morphologizer":
    """Make a morphologizer. Settings not named here are those of ``ssvm_tagger``.

    candidates: whether words have only the labels that the training corpus suggests, by what each
        word, similar words and words with the same ending were seen with. Otherwise all labels
        are compared at every word, which takes far longer.
    overwrite: whether to replace the parts of speech and features that a Doc already has.
    extend: whether to keep the features that a token has, and add others.
    """
    from spacy_ssvm.components.morphologizer import build_morphologizer

    return build_morphologizer(
        nlp.vocab,
        name,
        whole_docs=whole_docs,
        templates=templates,
        min_count=min_count,
        hash_bits=hash_bits,
        candidates=candidates,
        solver=solver,
        selection=selection,
        memory=memory,
        overwrite=overwrite,
        extend=extend,
        scorer=scorer,
    )


@Language.factory(
    "ssvm_lemmatizer",
    assigns=["token.lemma"],
    default_config={
        "templates": ["lemmatizer"],
        "min_count": 1,
        "hash_bits": None,
        "candidates": True,
        "min_freq": 1,
        "solver": {"@misc": "spacy_ssvm.DualCoordinateDescent.v1", "C": 0.05},
        "selection": None,
        "memory": None,
        "overwrite": False,
        "backoff": "orth",
        "scorer": {"@scorers": "spacy.lemmatizer_scorer.v1"},
    },
    default_score_weights={"lemma_acc": 1.0},
)
def make_lemmatizer(
    nlp: Language,
    name: str,
    templates: list[str],
    min_count: int,
    hash_bits: int | None,
    candidates: bool,
    min_freq: int,
    solver: Solver,
    selection: Selection | None,
    memory: int | None,
    overwrite: bool,
    backoff: str | None,
    scorer: Callable[..., Any] | None,
) -> "Lemmatizer":
    """Make a lemmatizer. Settings not named here are those of ``ssvm_tagger``.

    candidates: whether words have only the edit scripts that the training corpus suggests, by what
        each word, and words with the same ending and tags, were seen with. Otherwise all scripts
        are compared at every word, which takes far longer.
    min_freq: edit scripts that fewer tokens of the training corpus have are left out.
    overwrite: whether to replace the lemmas that a Doc already has.
    backoff: what words get that are too short for their edit script: "orth", the word itself,
        "lower", the word in small letters, or null for no lemma.
    """
    from spacy_ssvm.components.lemmatizer import build_lemmatizer

    return build_lemmatizer(
        nlp.vocab,
        name,
        templates=templates,
        min_count=min_count,
        hash_bits=hash_bits,
        candidates=candidates,
        min_freq=min_freq,
        solver=solver,
        selection=selection,
        memory=memory,
        overwrite=overwrite,
        backoff=backoff,
        scorer=scorer,
    )


@Language.factory(
    "ssvm_senter",
    assigns=["token.is_sent_start"],
    default_config={
        "templates": ["senter"],
        **DEFAULT_TRAINING,
        "overwrite": False,
        "scorer": {"@scorers": "spacy.senter_scorer.v1"},
    },
    default_score_weights={"sents_f": 1.0, "sents_p": 0.0, "sents_r": 0.0},
)
def make_senter(
    nlp: Language,
    name: str,
    templates: list[str],
    min_count: int,
    hash_bits: int | None,
    costs: dict[str, dict[str, float]],
    solver: Solver,
    selection: Selection | None,
    memory: int | None,
    overwrite: bool,
    scorer: Callable[..., Any] | None,
) -> "SentenceRecognizer":
    """Make a sentence recognizer. Settings not named here are those of ``ssvm_tagger``.

    costs: by "start" and "inside": {"start": {"inside": 2.0}} makes a missed start cost 2.
    overwrite: whether to replace the sentence boundaries that a Doc already has.
    """
    from spacy_ssvm.components.senter import SentenceRecognizer
    from spacy_ssvm.components.settings import build_chain_pipe

    return build_chain_pipe(
        SentenceRecognizer,
        nlp.vocab,
        name,
        whole_docs=True,
        templates=templates,
        min_count=min_count,
        hash_bits=hash_bits,
        costs=costs,
        solver=solver,
        selection=selection,
        memory=memory,
        overwrite=overwrite,
        scorer=scorer,
    )


@Language.factory(
    "ssvm_ner",
    assigns=["doc.ents", "token.ent_iob", "token.ent_type"],
    default_config={
        "scheme": "biluo",
        "templates": ["ner"],
        **DEFAULT_TRAINING,
        "document": False,
        "overwrite": False,
        "threshold": 0.0,
        "scorer": {"@scorers": "spacy.ner_scorer.v1"},
    },
    default_score_weights={"ents_f": 1.0, "ents_p": 0.0, "ents_r": 0.0, "ents_per_type": None},
)
def make_ner(
    nlp: Language,
    name: str,
    scheme: str,
    templates: list[str],
    min_count: int,
    hash_bits: int | None,
    costs: dict[str, dict[str, float]],
    solver: Solver,
    selection: Selection | None,
    memory: int | None,
    document: bool,
    overwrite: bool,
    threshold: float,
    scorer: Callable[..., Any] | None,
) -> "EntityRecognizer":
    """Make a named entity recognizer. Settings not named here are those of ``ssvm_tagger``.

    scheme: "biluo", "iob2" or "io": how entities become label sequences.
    costs: by type, "O" for outside and "*" for all: {"*": {"O": 2.0}} makes a missed token
        of an entity cost 2, which raises recall.
    document: whether to read each Doc twice: the second time with the templates "document", which
        see what the first pass has found elsewhere in the Doc. The first pass is learned from all
        examples at initialize.
    threshold: entities with a lower score are discarded; from 0 to 1.
    overwrite: whether to replace the entities that a Doc already has.
    """
    from spacy_ssvm.components.ner import build_recognizer

    return build_recognizer(
        nlp.vocab,
        name,
        document=document,
        scheme=scheme,
        templates=templates,
        min_count=min_count,
        hash_bits=hash_bits,
        costs=costs,
        solver=solver,
        selection=selection,
        memory=memory,
        overwrite=overwrite,
        threshold=threshold,
        scorer=scorer,
    )


@Language.factory(
    "ssvm_chunker",
    assigns=["doc.spans"],
    requires=["token.tag"],
    default_config={
        "spans_key": "chunks",
        "scheme": "biluo",
        "templates": ["chunker"],
        **DEFAULT_TRAINING,
        "threshold": 0.0,
        "scorer": {"@scorers": "spacy.spancat_scorer.v1"},
    },
    default_score_weights={"spans_chunks_f": 1.0, "spans_chunks_p": 0.0, "spans_chunks_r": 0.0},
)
def make_chunker(
    nlp: Language,
    name: str,
    spans_key: str,
    scheme: str,
    templates: list[str],
    min_count: int,
    hash_bits: int | None,
    costs: dict[str, dict[str, float]],
    solver: Solver,
    selection: Selection | None,
    memory: int | None,
    threshold: float,
    scorer: Callable[..., Any] | None,
) -> "Chunker":
    """Make a chunker. Settings not named here are those of ``ssvm_ner``.

    scheme: "biluo", "iob2" or "io": how spans become label sequences.
    costs: by type, "O" for outside and "*" for all, as of ``ssvm_ner``.
    spans_key: the key of ``doc.spans`` to learn from and to write.
    threshold: spans with a lower score are discarded; from 0 to 1.
    """
    from spacy_ssvm.components.chunker import Chunker
    from spacy_ssvm.components.spans import build_span_pipe

    return build_span_pipe(
        Chunker,
        nlp.vocab,
        name,
        spans_key=spans_key,
        scheme=scheme,
        templates=templates,
        min_count=min_count,
        hash_bits=hash_bits,
        costs=costs,
        solver=solver,
        selection=selection,
        memory=memory,
        threshold=threshold,
        scorer=scorer,
    )


@Language.factory(
    "ssvm_aligner",
    assigns=["doc._.alignment"],
    default_config={
        "templates": ["aligner"],
        "min_count": 2,
        "source_fertility": 1,
        "target_fertility": 1,
        "costs": {"missing": 2.0, "wrong": 1.0},
        "solver": {**DEFAULT_SOLVER, "C": 0.01},
        "selection": None,
        "memory": None,
        "overwrite": False,
        "scorer": {"@scorers": "spacy_ssvm.aligner_scorer.v1"},
    },
    default_score_weights={"align_f": 1.0, "align_aer": None, "align_p": 0.0, "align_r": 0.0},
)
def make_aligner(
    nlp: Language,
    name: str,
    templates: list[str],
    min_count: int,
    source_fertility: int,
    target_fertility: int,
    costs: dict[str, float],
    solver: Solver,
    selection: Selection | None,
    memory: int | None,
    overwrite: bool,
    scorer: Callable[..., Any] | None,
) -> "WordAligner":
    """Make an aligner of the words of parallel texts.

    templates: templates of links and families, see docs/aligner.md.
    min_count: rarer features are left out.
    source_fertility, target_fertility: how many links a word of each side can have.
    costs: of a gold link that is missing, and of a wrong one: {"missing": ..., "wrong": ...}.
    solver: learns the weights, see docs/solvers.md.
    selection: of templates before training, see docs/selection.md; None keeps all.
    memory: None for all examples, else as many MB of them as training may keep, see
        docs/training.md.
    overwrite: whether to replace the links that a Doc already has; otherwise they are kept.
    scorer: the scoring function for ``spacy evaluate``.
    """
    from spacy_ssvm.align.component import build_aligner

    return build_aligner(
        nlp.vocab,
        name,
        templates=templates,
        min_count=min_count,
        source_fertility=source_fertility,
        target_fertility=target_fertility,
        costs=costs,
        solver=solver,
        selection=selection,
        memory=memory,
        overwrite=overwrite,
        scorer=scorer,
    )


@Language.factory(
    "ssvm_parser",
    assigns=["token.dep", "token.head", "doc.sents"],
    requires=["token.is_sent_start", "token.tag"],
    default_config={
        "order": 2,
        "projective": True,
        "templates": ["parser"],
        "label_templates": ["labels"],
        "pruner_templates": ["pruner"],
        "pruning": 6.0,
        "hash_bits": 22,
        "min_count": 2,
        "max_length": 250,
        "solver": {**DEFAULT_SOLVER, "C": 0.02},
        "label_solver": DEFAULT_SOLVER,
        "selection": None,
        "memory": None,
        "overwrite": False,
        "scorer": {"@scorers": "spacy_ssvm.parser_scorer.v1"},
    },
    default_score_weights={
        "dep_uas": 0.5,
        "dep_las": 0.5,
        "dep_las_per_type": None,
        "sents_p": None,
        "sents_r": None,
        "sents_f": 0.0,
    },
)
def make_parser(
    nlp: Language,
    name: str,
    order: int,
    projective: bool,
    templates: list[str],
    label_templates: list[str],
    pruner_templates: list[str],
    pruning: float | None,
    hash_bits: int,
    min_count: int,
    max_length: int,
    solver: Solver,
    label_solver: Solver,
    selection: Selection | None,
    memory: int | None,
    overwrite: bool,
    scorer: Callable[..., Any] | None,
) -> "DependencyParser":
    """Make a dependency parser.

    order: 1 scores each arc by itself; 2 also scores pairs of arcs, of adjacent siblings or with
        a grandparent, which is more accurate and takes longer. Without such templates, 2 equals 1.
    projective: whether no two arcs cross. With False and order 2, the best tree is searched for
        step by step.
    templates: of arcs and pairs of arcs, see docs/features.md; with order 1, those of pairs
        are left out. ["parser", "grandparents"] is the most accurate choice.
    label_templates: of labels, which are found on the finished tree.
    pruner_templates: of the pruner, a logistic regression that discards unlikely arcs.
    pruning: a head is discarded if its log-probability is more than this below that of the most
        probable head of the same word, by the pruner; None keeps all arcs.
    hash_bits: the features of arcs share 2**hash_bits rows.
    min_count: rarer features of labels are left out.
    max_length: longer sentences are split into pieces of this many words.
    solver, label_solver: learn the weights of arcs and of labels, see docs/solvers.md.
    selection: of templates of arcs before training, see docs/selection.md; None
        keeps all. Templates of pairs of arcs are always kept.
    memory: as of ``ssvm_tagger``.
    overwrite: whether to replace the arcs that a Doc already has.
    scorer: the scoring function for ``spacy evaluate``.
    """
    from spacy_ssvm.components.parser import ModelSettings, build_parser

    settings = ModelSettings(
        order=order,
        projective=projective,
        templates=templates,
        label_templates=label_templates,
        pruner_templates=pruner_templates,
        pruning=pruning,
        hash_bits=hash_bits,
        max_length=max_length,
    )
    return build_parser(
        nlp.vocab,
        name,
        settings,
        solver=solver,
        label_solver=label_solver,
        min_count=min_count,
        selection=selection,
        memory=memory,
        overwrite=overwrite,
        scorer=scorer,
    )


@Language.factory(
    "ssvm_sentence_labeler",
    assigns=["doc.spans"],
    requires=["token.is_sent_start"],
    default_config={
        "units": "sentences",
        "spans_key": "sentence_labels",
        "templates": ["sentences"],
        "decoder": "chain",
        "edges": ["neighbor", "similar(lower)"],
        **DEFAULT_TRAINING,
        "solver": {**DEFAULT_SOLVER, "C": 0.001},
        "overwrite": False,
        "scorer": {"@scorers": "spacy_ssvm.sentence_labels_scorer.v1"},
    },
    default_score_weights={
        "sentence_labels_acc": 1.0,
        "sentence_labels_macro_f": 0.0,
        "spans_sentence_labels_f": None,
        "spans_sentence_labels_p": None,
        "spans_sentence_labels_r": None,
        "spans_sentence_labels_per_type": None,
    },
)
def make_sentence_labeler(
    nlp: Language,
    name: str,
    units: str | dict[str, str],
    spans_key: str,
    templates: list[str],
    decoder: str,
    edges: list[str],
    min_count: int,
    hash_bits: int | None,
    costs: dict[str, dict[str, float]],
    solver: Solver,
    selection: Selection | None,
    memory: int | None,
    overwrite: bool,
    scorer: Callable[..., Any] | None,
) -> "SentenceLabeler":
    """Make a labeler of sentences. Settings not named here are those of ``ssvm_tagger``.

    units: what gets labels: "sentences", "lines", "paragraphs", or {"spans": KEY} for the spans
        of a key of ``doc.spans``.
    spans_key: the key of ``doc.spans`` to learn from and to write.
    templates: feature templates and families, see docs/sentences.md.
    decoder: how the labels of a Doc are found: "chain", as a sequence, or "cut", as labels of a
        graph of units, whose edges favour equal labels.
    edges: the edges of this graph with their features, see docs/sentences.md.
    overwrite: whether to replace the spans that a Doc already has under ``spans_key``.
    """
    from spacy_ssvm.sentences.component import build_sentence_labeler

    return build_sentence_labeler(
        nlp.vocab,
        name,
        units=units,
        spans_key=spans_key,
        templates=templates,
        decoder=decoder,
        edges=edges,
        min_count=min_count,
        hash_bits=hash_bits,
        costs=costs,
        solver=solver,
        selection=selection,
        memory=memory,
        overwrite=overwrite,
        scorer=scorer,
    )
