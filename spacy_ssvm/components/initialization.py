"""Helpers of initialize: examples, annotation, resources, an estimate of costs."""

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from spacy.attrs import MORPH
from spacy.errors import Errors
from spacy.language import Language
from spacy.lookups import Lookups
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch
from spacy.vocab import Vocab
from thinc.config import ConfigValidationError

from spacy_ssvm.components.example_cache import DOCS_AT_A_TIME
from spacy_ssvm.components.settings import initialize_error
from spacy_ssvm.features.attributes import MORPHOLOGY, features_of, words_of
from spacy_ssvm.features.clusters import (
    Clusters,
    ClusterSets,
    clusters_of_numbers,
    is_set_name,
    needs_clusters,
    read_clusters,
    set_of,
)
from spacy_ssvm.features.dictionaries import (
    Dictionary,
    Entry,
    column_of,
    make_dictionary,
    needs_dictionary,
    read_dictionary,
)
from spacy_ssvm.features.documents import DOC_MAJORITY
from spacy_ssvm.features.gazetteers import needs_gazetteers, read_gazetteers
from spacy_ssvm.features.resources import Resources
from spacy_ssvm.features.templates import LAYER, VECTOR
from spacy_ssvm.features.wildcards import EACH
from spacy_ssvm.files import show_sizes
from spacy_ssvm.models import Model
from spacy_ssvm.solvers.run import Solver

#: What clusters and dictionaries are read from: a file, or spaCy's lookups.
WordSource = str | Path | Lookups

_CLUSTER_TABLE, _LEMMA_TABLE = "lexeme_cluster", "lemma_lookup"
_TOKEN_ANNOTATION = ("tag", "pos", "morph", "lemma", "dep")

#: Models with more labels than this get a warning.
MANY_LABELS = 500
_SECONDS_PER_TRANSITION = 0.5e-9  # measured: 0.3e-9 to 0.8e-9 to learn; of tags, 0.1e-9
_BYTES_PER_TRANSITION = 40  # five tables of float64: scores, legality, costs and copies


def check_examples(get_examples: Callable[[], Iterable[Example]], name: str) -> Iterator[Example]:
    """The examples that a callback returns; raises TypeError where one is something else.

    Unlike spaCy's ``validate_get_examples``, this reads the corpus only once.
    """
    examples = get_examples() if callable(get_examples) else get_examples
    if not callable(get_examples) or not examples:
        raise TypeError(Errors.E930.format(method=f"{name}.initialize", obj=examples))
    for example in examples:
        if not isinstance(example, Example):
            raise TypeError(
                f"{name}: initialize needs Example objects, but get_examples() returned "
                f"{type(example).__name__}"
            )
        yield example


def no_annotation_error(name: str, annotation: str, has_labels: bool) -> ConfigValidationError:
    """An error for examples without annotation to learn from."""
    standard = "" if has_labels else f" {Errors.E143.format(name=name)}"
    return initialize_error(
        name,
        "labels",
        f"{name}: the examples have no {annotation} annotation to learn from. Check the training "
        f"corpus (an empty one has none either), or give the labels to initialize.{standard}",
    )


def annotate(pipe: Any, examples: Sequence[Example]) -> None:
    """Let a component write into the predicted Docs of examples."""
    docs = pipe.pipe((example.predicted for example in examples), batch_size=1000)
    for example, doc in zip(examples, docs, strict=True):
        example.predicted = doc


def annotate_as_in_training(nlp: Language, component: object, examples: Sequence[Example]) -> None:
    """Let frozen components before this one annotate the examples, as in training."""
    settings = nlp.config.interpolate()["training"]
    for name, pipe in nlp.components:
        if pipe is component:
            return
        if name in settings["annotating_components"] and name in settings["frozen_components"]:
            annotate(pipe, examples)


def annotated_as_in_training(
    nlp: Language, component: object, examples: Iterable[Example]
) -> Iterator[Example]:
    """The examples, some at a time, see ``annotate_as_in_training``."""
    for batch in minibatch(examples, DOCS_AT_A_TIME):  # type: ignore[no-untyped-call]
        annotate_as_in_training(nlp, component, batch)
        yield from batch


def annotation_before(nlp: Language, component: object) -> set[str]:
    """The annotation of tokens that components before this one may write, such as tag.

    Those that do not say what they write, such as the ``attribute_ruler``, may write all of it.
    """
    found: set[str] = set()
    for name, pipe in nlp.pipeline:
        if pipe is component:
            break
        assigns = nlp.get_pipe_meta(name).assigns
        attribute = nlp.get_pipe_config(name).get("attribute")
        if attribute in ("TAG", "POS"):
            assigns = [f"token.{attribute.lower()}"]
        found |= {name.removeprefix("token.") for name in assigns or _TOKEN_ANNOTATION}
    return found


def read_resources(
    name: str,
    model: Model[Any, Any],
    nlp: Language | None,
    vocab: Vocab,
    *,
    clusters: WordSource | dict[str, WordSource] | None,
    gazetteers: dict[str, str] | None,
    gazetteer_attribute: str,
    dictionary: WordSource | None,
) -> Resources:
    """The resources of a component, as ``Pipe.initialize`` takes them.

    Raises ConfigValidationError where one cannot be read, or a template has none to read.
    """
    check_resource(name, model, CLUSTERS, clusters)
    check_resource(name, model, GAZETTEERS, gazetteers)
    check_resource(name, model, DICTIONARY, dictionary)
    _check_vectors(name, model, vocab)
    lists = None
    if gazetteers:
        values = partial(words_of, nlp or Language(vocab), gazetteer_attribute)
        try:
            lists = read_gazetteers(gazetteers, values, attribute=gazetteer_attribute)
        except (OSError, ValueError) as error:
            raise initialize_error(name, "gazetteers", str(error)) from error
        _check_gazetteer_types(name, model, lists.types)
    sets = _read_cluster_sets(name, clusters)
    _check_cluster_sets(name, model, sets)
    return Resources(sets, lists, _read_dictionary(name, model, dictionary))


class Resource(NamedTuple):
    """A file that templates read: an argument of ``initialize``."""

    key: str  #: the name of the argument
    needs: Callable[[str], bool]  #: whether an attribute reads it
    what: str  #: its name in messages
    setting: str  #: an example, as in a config


CLUSTERS = Resource("clusters", needs_clusters, "word clusters", "clusters = PATH")
GAZETTEERS = Resource("gazetteers", needs_gazetteers, "gazetteers", 'gazetteers = {"TYPE": "PATH"}')
DICTIONARY = Resource("dictionary", needs_dictionary, "a dictionary", "dictionary = PATH")


def is_each_feature(name: str) -> bool:
    """Whether an attribute in a template stands for each morphological feature."""
    return name.removeprefix(DOC_MAJORITY) == f"{MORPHOLOGY}.{EACH}"


def find_features(
    examples: Iterable[Example], texts: Callable[[Doc], Iterable[Doc]] = lambda doc: (doc,)
) -> list[str]:
    """The morphological features that templates stand for with ``morph.*``, sorted.

    Those that at least one in a thousand tokens has, of the references or of the predicted Docs.

    texts: the Docs that a component reads where it is given one.
    """
    counts: tuple[Counter[str], Counter[str]] = Counter(), Counter()
    tokens = [0, 0]
    for example in examples:
        for i, of_example in enumerate((example.reference, example.predicted)):
            for doc in texts(of_example):
                tokens[i] += len(doc)
                counts[i].update(_count_features(doc))
    frequent = {
        feature
        for number_of, total in zip(counts, tokens, strict=True)
        for feature, number in number_of.items()
        if 1000 * number >= total
    }
    return sorted(feature for feature in frequent if re.fullmatch(rf"\w+(?:{LAYER})?", feature))


def _count_features(doc: Doc) -> Counter[str]:
    """How many tokens have each morphological feature."""
    counts: Counter[str] = Counter()
    values, numbers = np.unique(doc.to_array([MORPH]), return_counts=True)
    for value, number in zip(values.tolist(), numbers.tolist(), strict=True):
        for feature in features_of(doc.vocab.strings[value] if value else ""):
            counts[feature] += number
    return counts


def warn_of_no_features(name: str, model: Model[Any, Any]) -> None:
    """Warn that templates with ``morph.*`` stand for nothing."""
    warnings.warn(
        f"{name}: the template '{model.templates_with(is_each_feature)[0]}' is used for each "
        "morphological feature, but the examples of initialize have none, so it is left out. Train "
        "with a corpus that has MORPH, or put a trained component that writes it before this one, "
        "in frozen_components and annotating_components of [training]",
        stacklevel=4,
    )


def check_resource(name: str, model: Model[Any, Any], resource: Resource, value: object) -> None:
    """Raise ConfigValidationError where a template needs a resource, and there is no value."""
    templates = model.templates_with(resource.needs)
    if templates and not value:
        raise initialize_error(
            name,
            resource.key,
            f"{name}: the template '{templates[0]}' needs {resource.what}. Set {resource.setting} "
            f"in [initialize.components.{name}]",
        )


def _check_vectors(name: str, model: Model[Any, Any], vocab: Vocab) -> None:
    templates = model.templates_with(VECTOR.__eq__)
    if templates and not vocab.vectors_length:
        raise initialize_error(
            name,
            "vectors",
            f"{name}: the template '{templates[0]}' needs word vectors. Set vectors in "
            "[initialize], to a pipeline that has some",
        )


def _read_cluster_sets(
    name: str, sources: WordSource | dict[str, WordSource] | None
) -> ClusterSets:
    if sources is None:
        return {}
    if not isinstance(sources, dict):
        sources = {"": sources}
    elif wrong := [key for key in sources if not is_set_name(key)]:
        raise initialize_error(
            name,
            "clusters",
            f"{name}: '{wrong[0]}' cannot be the name of word clusters: use letters, digits and "
            "'_'",
        )
    try:
        return {key: _read_clusters(source) for key, source in sources.items()}
    except (OSError, ValueError) as error:
        raise initialize_error(name, "clusters", str(error)) from error


def _read_clusters(source: WordSource) -> Clusters:
    if not isinstance(source, Lookups):
        return read_clusters(source)
    table = _table_of(source, _CLUSTER_TABLE)
    words, numbers = (np.array(list(part), np.uint64) for part in (table.keys(), table.values()))
    return clusters_of_numbers(words, numbers)


def _check_cluster_sets(name: str, model: Model[Any, Any], sets: ClusterSets) -> None:
    for attribute in model.reader.names:
        if not needs_clusters(attribute) or set_of(attribute) in sets:
            continue
        template = model.templates_with(attribute.__eq__)[0]
        example = attribute.partition(".")[0]
        if set_of(attribute):
            need = f"word clusters named '{set_of(attribute)}'"
        else:
            need = f"a name of word clusters, such as {example}.{next(iter(sets))}[0]"
        names = ", ".join(filter(None, sets)) or "one set without a name"
        raise initialize_error(
            name,
            "clusters",
            f"{name}: the template '{template}' needs {need}. There are: {names}. "
            f"{example}.*[0] reads all of them",
        )


def _read_dictionary(
    name: str, model: Model[Any, Any], source: WordSource | None
) -> Dictionary | None:
    if source is None:
        return None
    try:
        found = _dictionary_of(source)
    except (OSError, ValueError) as error:
        raise initialize_error(name, DICTIONARY.key, str(error)) from error
    for attribute in model.reader.names:
        if needs_dictionary(attribute) and column_of(attribute) not in found.columns:
            template = model.templates_with(attribute.__eq__)[0]
            raise initialize_error(
                name,
                DICTIONARY.key,
                f"{name}: the template '{template}' needs a dictionary with "
                f"{column_of(attribute)}, but this one has: {', '.join(found.columns)}",
            )
    return found


def _dictionary_of(source: WordSource) -> Dictionary:
    if not isinstance(source, Lookups):
        return read_dictionary(source)
    table = _table_of(source, _LEMMA_TABLE)
    return make_dictionary(
        Entry(word, lemma)
        for word, found in table.items()
        for lemma in ([found] if isinstance(found, str) else found)
    )


def _table_of(lookups: Lookups, name: str) -> Any:
    """A table of lookups. Raises ValueError where they have none of the name."""
    if not lookups.has_table(name):
        tables = ", ".join(lookups.tables) or "none"
        raise ValueError(f"the lookups have no table '{name}'. Their tables: {tables}")
    return lookups.get_table(name)


def _check_gazetteer_types(name: str, model: Model[Any, Any], types: Sequence[str]) -> None:
    for attribute in model.reader.names:
        kind = attribute.partition(".")[2]
        if needs_gazetteers(attribute) and kind and kind not in types:
            template = model.templates_with(attribute.__eq__)[0]
            raise initialize_error(
                name,
                "gazetteers",
                f"{name}: the template '{template}' names a gazetteer of type "
                f"'{kind}', but there are: {', '.join(types)}",
            )


def warn_of_unread(name: str, model: Model[Any, Any], resources: Resources) -> None:
    """Warn of what is given, and no template reads."""
    for resource, is_given, attribute in (
        (CLUSTERS, resources.clusters, "cluster6.*"),
        (GAZETTEERS, resources.gazetteers, "gazetteer.*"),
        (DICTIONARY, resources.dictionary, "dictionary.*"),
    ):
        if is_given and not model.templates_with(resource.needs):
            warnings.warn(
                f"{name}: [initialize.components.{name}] gives {resource.what}, which no template "
                f"reads. Add one that has an attribute such as {attribute}",
                stacklevel=3,
            )


def warn_of_many_labels(
    name: str, number_of_labels: int, examples: Iterable[Example], solver: Solver, advice: str
) -> None:
    """Warn where a model has so many labels that it needs much time and memory.

    Decoding a token takes K^2 operations, and each feature has K weights in training, unless the
    solver allocates them on first use.
    examples: read only where there are too many labels.
    advice: a sentence on reducing the number of labels.
    """
    K = number_of_labels
    if K <= MANY_LABELS:
        return
    tokens = sum(len(example.predicted) for example in examples)
    duration = show_duration(tokens * K**2 * _SECONDS_PER_TRANSITION)
    features = "" if solver.allocates else f" and {K * 8e5 / 1e9:.1f} GB for every 100,000 features"
    warnings.warn(
        f"{name}: the model has {K:,} labels, and time grows with the square of their "
        f"number. A pass over the {tokens:,} tokens of the examples will take up to "
        f"{duration}, and training at least {K**2 * _BYTES_PER_TRANSITION / 1e9:.1f} GB of "
        f"memory for transitions{features}. {advice}",
        stacklevel=3,
    )


def out_of_memory(pipe: Any) -> str:
    """What to do where the training of a ``Pipe`` needs more memory than there is."""
    ways = {"min_count": "raise min_count", "hash_bits": "set hash_bits to a small number"}
    known = {*vars(pipe), *vars(pipe.model)}
    fewer = " or ".join(way for setting, way in ways.items() if setting in known)
    return (
        f"{pipe.name}: there is not enough memory for training, which took "
        f"{show_sizes(pipe.training_memory())} so far. In [components.{pipe.name}], "
        f"{fewer} for fewer features and weights, set memory where the corpus is streamed, "
        'or use a solver that stores no constraints, such as {"@misc": "spacy_ssvm.Perceptron.v1"}'
    )


def show_duration(seconds: float) -> str:
    """A duration as text: in seconds below two minutes, in minutes below two hours."""
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:,.0f} h"
