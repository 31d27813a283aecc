"""The entry points of the package, for spaCy's registries.

spaCy imports this file in every process that makes a pipeline, whether it uses us or
not: it imports nothing but spaCy's own modules, and the rest inside the functions.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from spacy.language import Language

DEFAULT_SOLVER = {"@misc": "spacy_ssvm.DualCoordinateDescent.v1"}


@Language.factory(
    "ssvm_tagger",
    assigns=["token.tag"],
    default_config={
        "attribute": "TAG",
        "whole_docs": False,
        "templates": ["tagger"],
        "min_count": 1,
        "hash_bits": None,
        "costs": {},
        "solver": DEFAULT_SOLVER,
        "selection": None,
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
    min_count: int,
    hash_bits: int | None,
    costs: dict[str, dict[str, float]],
    solver: Any,
    selection: Any,
    overwrite: bool,
    scorer: Callable[..., Any] | None,
) -> Any:
    """Make a part-of-speech tagger.

    attribute: "TAG" (fine-grained tags) or "POS" (universal ones): what is written.
    whole_docs: whether a Doc is one sequence, whatever sentence boundaries it has: for a tagger
        that comes before the component that finds them.
    templates: feature templates and families, see docs/templates.md.
    min_count: features that occur less often are left out.
    hash_bits: None for an exact feature dictionary, else the features share 2**hash_bits
        rows: bounded memory, at the price of collisions.
    costs: the cost of a wrong label, {gold: {predicted: cost}}; 1 where not given.
    solver: the learner.
    selection: how to choose among the templates before it learns, see docs/selection.md; None
        to keep all.
    overwrite: whether to replace tags that a Doc has already.
    scorer: how ``spacy evaluate`` scores the component.
    """
    from spacy_ssvm.chains.model import Model
    from spacy_ssvm.components.settings import (
        check_rows,
        check_selection,
        config_error,
        read_templates,
    )
    from spacy_ssvm.components.tagger import ATTRIBUTES, Tagger

    if attribute not in ATTRIBUTES:
        raise config_error(name, "attribute", f"'{attribute}': choose {' or '.join(ATTRIBUTES)}")
    check_rows(name, min_count, hash_bits)
    model = Model(read_templates(name, templates), whole_docs=whole_docs)
    check_selection(name, selection, len(model.templates))
    return Tagger(
        nlp.vocab,
        model,
        name,
        solver=solver,
        selection=selection,
        min_count=min_count,
        hash_bits=hash_bits,
        costs=costs,
        scorer=scorer,
        attribute=attribute,
        overwrite=overwrite,
    )


@Language.factory(
    "ssvm_senter",
    assigns=["token.is_sent_start"],
    default_config={
        "templates": ["senter"],
        "min_count": 1,
        "hash_bits": None,
        "costs": {},
        "solver": DEFAULT_SOLVER,
        "selection": None,
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
    solver: Any,
    selection: Any,
    overwrite: bool,
    scorer: Callable[..., Any] | None,
) -> Any:
    """Make a sentence recognizer. Settings not named here are those of ``ssvm_tagger``.

    costs: by "start" and "inside": {"start": {"inside": 2.0}} makes a missed start cost 2.
    overwrite: whether to replace sentence boundaries that a Doc has already.
    """
    from spacy_ssvm.chains.model import Model
    from spacy_ssvm.components.senter import SentenceRecognizer
    from spacy_ssvm.components.settings import check_rows, check_selection, read_templates

    check_rows(name, min_count, hash_bits)
    model = Model(read_templates(name, templates), whole_docs=True)
    check_selection(name, selection, len(model.templates))
    return SentenceRecognizer(
        nlp.vocab,
        model,
        name,
        solver=solver,
        selection=selection,
        min_count=min_count,
        hash_bits=hash_bits,
        costs=costs,
        scorer=scorer,
        overwrite=overwrite,
    )


@Language.factory(
    "ssvm_ner",
    assigns=["doc.ents", "token.ent_iob", "token.ent_type"],
    default_config={
        "scheme": "biluo",
        "templates": ["ner"],
        "min_count": 1,
        "hash_bits": None,
        "costs": {},
        "solver": DEFAULT_SOLVER,
        "selection": None,
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
    solver: Any,
    selection: Any,
    overwrite: bool,
    threshold: float,
    scorer: Callable[..., Any] | None,
) -> Any:
    """Make a named entity recognizer. Settings not named here are those of ``ssvm_tagger``.

    scheme: "biluo", "iob2" or "io": how entities become label sequences.
    costs: by type, "O" for outside and "*" for all: {"*": {"O": 2.0}} makes a missed token
        of an entity cost 2, and so buys recall.
    threshold: entities with a lower score are left out; from 0 to 1.
    """
    from spacy_ssvm.components.ner import EntityRecognizer

    return _make_span_pipe(
        EntityRecognizer,
        nlp,
        name,
        templates,
        scheme=scheme,
        min_count=min_count,
        hash_bits=hash_bits,
        costs=costs,
        solver=solver,
        selection=selection,
        overwrite=overwrite,
        threshold=threshold,
        scorer=scorer,
    )


@Language.factory(
    "ssvm_chunker",
    assigns=["doc.spans"],
    default_config={
        "spans_key": "chunks",
        "scheme": "biluo",
        "templates": ["chunker"],
        "min_count": 1,
        "hash_bits": None,
        "costs": {},
        "solver": DEFAULT_SOLVER,
        "selection": None,
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
    solver: Any,
    selection: Any,
    threshold: float,
    scorer: Callable[..., Any] | None,
) -> Any:
    """Make a chunker. Settings not named here are those of ``ssvm_ner``.

    spans_key: the key of ``doc.spans`` that is learned from and written.
    """
    from spacy_ssvm.components.chunker import Chunker

    return _make_span_pipe(
        Chunker,
        nlp,
        name,
        templates,
        spans_key=spans_key,
        scheme=scheme,
        min_count=min_count,
        hash_bits=hash_bits,
        costs=costs,
        solver=solver,
        selection=selection,
        threshold=threshold,
        scorer=scorer,
    )


@Language.factory(
    "ssvm_parser",
    assigns=["token.dep", "token.head", "doc.sents"],
    default_config={
        "order": 2,
        "projective": True,
        "templates": ["parser"],
        "label_templates": ["labels"],
        "pruner_templates": ["pruner"],
        "pruning": 4.0,
        "hash_bits": 23,
        "min_count": 2,
        "max_length": 500,
        "solver": {**DEFAULT_SOLVER, "C": 0.02},
        "label_solver": DEFAULT_SOLVER,
        "selection": None,
        "overwrite": False,
        "scorer": {"@scorers": "spacy.parser_scorer.v1"},
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
    solver: Any,
    label_solver: Any,
    selection: Any,
    overwrite: bool,
    scorer: Callable[..., Any] | None,
) -> Any:
    """Make a dependency parser.

    order: 1 scores arcs by themselves; 2 together with the adjacent sibling, which is more
        accurate and takes about twice the time. Without templates of siblings, 2 is 1.
    projective: whether no two arcs cross. False needs order 1.
    templates: of arcs and siblings, see docs/templates.md; with order 1, those of siblings
        are left out.
    label_templates: of labels, which are found on the finished tree.
    pruner_templates: of the model that says which arcs are worth a look.
    pruning: how much worse than the best tree one with an arc may be to the pruner, in wrong
        heads, if the arc is to be looked at; None for all arcs.
    hash_bits: the features of arcs share 2**hash_bits rows.
    min_count: features of labels that occur less often are left out.
    max_length: longer sentences are learned and parsed in pieces of so many words.
    solver, label_solver: the learners of arcs and of labels.
    selection: how to choose among the templates of arcs before they learn, see
        docs/selection.md; None to keep all. Those of siblings stay.
    overwrite: whether to replace arcs that a Doc has already.
    scorer: how ``spacy evaluate`` scores the component.
    """
    from spacy_ssvm.components.parser import DependencyParser
    from spacy_ssvm.components.settings import (
        check_rows,
        check_selection,
        config_error,
        read_arc_templates,
    )
    from spacy_ssvm.trees.labels import LABEL_ROLES
    from spacy_ssvm.trees.model import ParserModel
    from spacy_ssvm.trees.templates import ARC_ROLES

    if order not in (1, 2):
        raise config_error(name, "order", f"{order}: choose 1 or 2")
    if order == 2 and not projective:
        raise config_error(name, "order", "2 needs projective trees: set order = 1")
    if pruning is not None and not pruning >= 0:
        raise config_error(name, "pruning", f"{pruning}: must be at least 0, or null")
    if max_length < 2:
        raise config_error(name, "max_length", f"{max_length}: must be at least 2")
    if order == 2 and "expected_gradient" in solver.oracles:
        raise config_error(name, "solver", "needs the probabilities of trees: set order = 1")
    if "k_best_decode" in solver.oracles:
        raise config_error(name, "solver", "needs the k best trees: set k = 1 in it")
    check_rows(name, 1, hash_bits)
    check_rows(name, min_count, None)
    arcs = read_arc_templates(name, "templates", templates, ARC_ROLES)
    if order == 1:
        arcs = tuple(template for template in arcs if not template.of_siblings)
        if not arcs:
            message = "only templates of siblings: add some of arcs, or set order = 2"
            raise config_error(name, "templates", message)
    check_selection(name, selection, sum(not template.of_siblings for template in arcs))
    model = ParserModel(
        arcs,
        read_arc_templates(name, "pruner_templates", pruner_templates, ARC_ROLES[:2]),
        read_arc_templates(name, "label_templates", label_templates, LABEL_ROLES),
        projective=projective,
        hash_bits=hash_bits,
        pruning=pruning,
        max_length=max_length,
    )
    return DependencyParser(
        nlp.vocab,
        model,
        name,
        solver=solver,
        label_solver=label_solver,
        selection=selection,
        min_count=min_count,
        hash_bits=hash_bits,
        costs={},
        scorer=scorer,
        overwrite=overwrite,
    )


def _make_span_pipe(
    cls: type, nlp: Language, name: str, templates: list[str], **settings: Any
) -> Any:
    from spacy_ssvm.chains.model import Model
    from spacy_ssvm.chains.schemes import SCHEMES
    from spacy_ssvm.components.settings import (
        check_rows,
        check_selection,
        config_error,
        read_templates,
    )

    if settings["scheme"] not in SCHEMES:
        message = f"'{settings['scheme']}': choose one of {', '.join(SCHEMES)}"
        raise config_error(name, "scheme", message)
    if not 0 <= settings["threshold"] <= 1:
        raise config_error(name, "threshold", f"{settings['threshold']}: must lie in 0 to 1")
    check_rows(name, settings["min_count"], settings["hash_bits"])
    model = Model(read_templates(name, templates))
    check_selection(name, settings["selection"], len(model.templates))
    return cls(nlp.vocab, model, name, **settings)


def make_tagger_scorer() -> Callable[..., dict[str, Any]]:
    """Make the scorer ``spacy_ssvm.tagger_scorer.v1``: tag_acc or pos_acc."""
    from spacy_ssvm.components.tagger import tagger_score

    return tagger_score


def make_training_log(output_file: str | None = None) -> Callable[..., Any]:
    """Make the logger ``spacy_ssvm.TrainingLog.v1``.

    output_file: where to write the rows as JSON lines; None for no file.
    """
    from spacy_ssvm.components.training_log import make_training_log

    return make_training_log(output_file)


def make_annotated_corpus(
    path: Path | None,
    annotations: list[str],
    annotated_path: Path | None = None,
    gold_preproc: bool = False,
    max_length: int = 0,
    limit: int = 0,
    augmenter: Callable[..., Any] | None = None,
) -> Callable[[Language], Iterable[Any]]:
    """Make the reader ``spacy_ssvm.AnnotatedCorpus.v1``: see its settings."""
    from spacy.errors import Errors

    from spacy_ssvm.components.annotated_corpus import AnnotatedCorpus

    if path is None:
        raise ValueError(Errors.E913)
    return AnnotatedCorpus(
        path,
        annotations,
        annotated_path=annotated_path,
        gold_preproc=gold_preproc,
        max_length=max_length,
        limit=limit,
        augmenter=augmenter,
    )
