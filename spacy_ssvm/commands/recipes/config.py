"""Complete configs for the components that a user names, with comments."""

import inspect
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import spacy
from spacy import util
from spacy.language import Language
from spacy.schemas import ConfigSchemaTraining
from spacy.util import CONFIG_SECTION_ORDER, registry
from thinc.api import Config, ConfigValidationError

from spacy_ssvm.commands.recipes.annotation import LEARNS, Annotation
from spacy_ssvm.files import replacing

#: The components that a config can have, and their factories.
FACTORIES = {name: f"ssvm_{name.removeprefix('pos_')}" for name in LEARNS}
#: Those whose families of templates read word clusters.
_READ_CLUSTERS = {"tagger", "pos_tagger", "morphologizer", "senter", "parser", "ner", "chunker"}
#: Those that a dictionary is for; the family of chunks reads one, too, but was not measured.
_READ_DICTIONARIES = {"tagger", "pos_tagger", "morphologizer", "lemmatizer"}
#: Languages for which the package spacy-lookups-data has clusters: their own, or those of a similar
#: language, and others that help entities, since names are the same in many languages.
_CLUSTERS = {"en": ("en", "de"), "de": ("de",), "es": ("es",), "pt": ("es", "en", "de")}

_CLUSTER_TABLE, _LEMMA_TABLE = "lexeme_cluster", "lemma_lookup"

EPOCHS = 20  #: the most of a training
TRAINING = {
    "max_epochs": EPOCHS,
    "max_steps": 0,
    "eval_frequency": 1,
    "patience": 5,
    "batcher": {
        "@batchers": "spacy.batch_by_sequence.v1",
        "size": 1_000_000_000,
        "get_length": None,
    },
    "logger": {"@loggers": "spacy_ssvm.TrainingLog.v1", "output_file": "${paths.log}"},
}

#: The components that cannot do without sentence boundaries.
READ_SENTENCES = {"parser", "sentence_labeler"}

#: A class, and what stands before it, in what thinc says of a value of a wrong type.
_CLASS = re.compile(r"^at root: |<class '(\w+)'>")

#: Of a jackknife: its folds, and the epochs of each model.
FOLDS, FOLD_EPOCHS = 5, 8

#: The tokenizer that learns from the examples, in the place of spaCy's rules.
TOKENIZER = {"@tokenizers": "spacy_ssvm.Tokenizer.v1"}

#: Comments before sections of a config.
_COMMENTS = {
    "nlp.tokenizer": "How text is cut into tokens: by rules, or as in the examples: "
    "docs/tokenizer.md",
    "components.tagger": "Fine-grained tags, token.tag_. Templates: docs/features.md",
    "components.pos_tagger": "Universal parts of speech, token.pos_",
    "components.morphologizer": "Parts of speech with features, token.pos_ and token.morph",
    "components.lemmatizer": "Lemmas, token.lemma, by edit scripts; reads the tags before it",
    "components.senter": "Sentence boundaries; a missed one costs twice as much as a false one",
    "components.parser": "Dependency trees. Settings and their cost: docs/parser.md",
    "components.ner": "Entities. document = true reads each Doc twice: docs/features.md",
    "components.chunker": "Spans that do not overlap, in doc.spans",
    "components.sentence_labeler": "Labels of sentences, decided together: docs/sentences.md",
    "components.tagger.solver": "C: a larger one fits the examples more closely. docs/training.md",
    "components.ner.solver": "C: a larger one fits the examples more closely. docs/training.md",
    "components.ner.costs": 'costs = {"*": {"O": 3.0}} finds more entities: a missed token costs 3',
    "corpora.train": "The examples",
    "corpora.dev": "Read once, not at each evaluation",
    "training": "Each step is an epoch; training ends after max_epochs, or where the score on the "
    "dev\n# corpus has not risen for so many epochs as patience says",
    "training.batcher": "The whole corpus in one batch",
    "training.score_weights": "The score by which the best epoch is chosen",
    "training.optimizer": "Not used by these components; spaCy wants it",
    "initialize.components": "What components read besides the examples: word clusters, lists of "
    "names,\n# dictionaries (docs/features.md)",
}


class Resources(NamedTuple):
    """What components read besides examples."""

    clusters: str | None = None  #: a file of word clusters
    lookups: bool = False  #: whether to read the clusters of spacy-lookups-data instead
    gazetteers: dict[str, str] | None = None  #: files with a name a line, by type
    dictionary: str | None = None  #: a file of words with lemmas
    lemma_lookups: bool = False  #: whether to read the lemmas of spacy-lookups-data instead


NO_RESOURCES = Resources()


def has_tokenizer_that_learns(nlp: Language) -> bool:
    """Whether the tokenizer of a pipeline is one that learns."""
    return bool(nlp.config["nlp"]["tokenizer"]["@tokenizers"] == TOKENIZER["@tokenizers"])


def has_lookups(lang: str) -> bool:
    """Whether clusters of spacy-lookups-data are installed for a language."""
    return lang in _CLUSTERS and {*_CLUSTERS[lang]} <= {*registry.lookups.get_all()}


def has_lemma_lookups(lang: str) -> bool:
    """Whether lemmas of spacy-lookups-data are installed for a language."""
    return _LEMMA_TABLE in registry.lookups.get_all().get(lang, {})


def lookups_block(lang: str, table: str) -> dict[str, Any]:
    """What loads a table of spacy-lookups-data."""
    return {"@misc": "spacy.LookupsDataLoader.v1", "lang": lang, "tables": [table]}


def clusters_of(name: str, lang: str, resources: Resources) -> Any:
    """The clusters of a component: a file, blocks by set, or None."""
    if not resources.lookups:
        return resources.clusters
    return {own: lookups_block(own, _CLUSTER_TABLE) for own in _cluster_sets(lang, [name])}


def _cluster_sets(lang: str, names: Collection[str]) -> tuple[str, ...]:
    """The languages whose clusters components read: other ones for entities alone."""
    return _CLUSTERS[lang] if "ner" in names else _CLUSTERS[lang][:1]


def notes_on_resources(lang: str, names: Collection[str], resources: Resources) -> list[str]:
    """What components read besides examples, and what would help them, in sentences."""
    notes = []
    readers = _READ_CLUSTERS & {*names}
    if resources.lookups and readers:
        found = ", ".join(_cluster_sets(lang, readers))
        notes.append(
            f"Reads word clusters of spacy-lookups-data: {found} (--clusters none: without)"
        )
    elif readers and resources.clusters is None and lang in _CLUSTERS and not has_lookups(lang):
        notes.append("With word clusters, fewer examples do: pip install spacy-lookups-data")
    if resources.lemma_lookups and _READ_DICTIONARIES & {*names}:
        notes.append("Reads lemmas of spacy-lookups-data (--dictionary none: without)")
    if "ner" in names and not resources.gazetteers:
        notes.append(
            "Lists of names help entities, most where examples are few: "
            f"python -m spacy ssvm resources gazetteers --output names --lang {lang}"
        )
    return notes


def check_components(names: Sequence[str], known: Collection[str] = FACTORIES) -> list[str]:
    """The names in the order of a pipeline. Raises ValueError for one that is not known."""
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(
            f"there is no component '{unknown[0]}' to learn: choose from {', '.join(known)}"
        )
    return [name for name in FACTORIES if name in names]


def with_senter(names: Sequence[str], annotation: Annotation) -> list[str]:
    """The components, with a senter before those that work sentence by sentence.

    Without one where the examples have nothing that it could learn from.
    """
    is_needed = READ_SENTENCES & {*names} and "senter" in annotation.components
    return check_components([*names, *(["senter"] if is_needed else [])])


def make_config(
    lang: str,
    components: Sequence[str],
    *,
    has_sentences: bool = False,
    has_tags: bool = False,
    has_spaces: bool = True,
    many_tags: Collection[str] = (),
    learns_tokens: bool = False,
    resources: Resources = NO_RESOURCES,
    train: Path | None = None,
    dev: Path | None = None,
) -> Config:
    """The config of a pipeline, with all settings.

    components: names of FACTORIES.
    has_sentences: whether other components of the pipeline find sentences.
    has_tags: whether others, before a senter, write tags.
    has_spaces: whether the examples tell where spaces are.
    many_tags: the taggers that learn so many tags that words get candidates.
    learns_tokens: whether the tokenizer learns from the examples, too.
    train, dev: .spacy files.

    Raises ValueError for lists of names that no component would read.
    """
    names = check_components(components)
    if resources.gazetteers and "ner" not in names:
        raise ValueError(
            f"lists of names are read by 'ner', which is not among the components: "
            f"{', '.join(names)}"
        )
    nlp = spacy.blank(lang, config={"nlp": {"tokenizer": TOKENIZER}} if learns_tokens else {})
    has_sentences = has_sentences or not {"senter", "parser"}.isdisjoint(names)
    has_tags = has_tags or not {"tagger", "pos_tagger", "morphologizer"}.isdisjoint(names)
    for name in names:
        settings = _settings_of(name, has_sentences, has_tags, has_spaces)
        if name in many_tags:
            settings["candidates"] = True
        nlp.add_pipe(FACTORIES[name], name=name, config=settings)
    config = Config(nlp.config).copy()
    config["paths"] = {
        "train": train and train.as_posix(),
        "dev": dev and dev.as_posix(),
        "log": None,
        **{key: config["paths"][key] for key in ("vectors", "init_tok2vec")},
    }
    read = annotations_read(names)
    if read:
        config["paths"]["annotated"] = None
        config["corpora"]["train"] |= annotated_reader(read)
    config["corpora"]["dev"]["@readers"] = "spacy_ssvm.CachedCorpus.v1"
    if learns_tokens:
        config["initialize"]["tokenizer"] = {"learn": True, "special_cases": None}
    config["training"] |= TRAINING
    config["training"]["score_weights"] = _score_weights(nlp)
    for name in names:
        for solver in ("solver", "label_solver"):
            if solver in config["components"][name]:
                config["components"][name][solver]["seed"] = "${system.seed}"
        config["initialize"]["components"][name] = initialize_of(nlp, name, resources)
    return config


def check_settings(config: Config, overrides: dict[str, Any]) -> None:
    """Raise ValueError, or ConfigValidationError, for settings that training would refuse.

    Also for those that a config, which has all settings, does not have: misspelled ones.
    """
    defaults = {}
    for key in overrides:
        section: Any = config
        *parents, name = key.split(".")
        for parent in parents:
            section = section.get(parent, {}) if isinstance(section, dict) else {}
        if isinstance(section, dict) and section and name not in section:
            known = ", ".join(section)
            raise ValueError(f"--{key}: [{'.'.join(parents)}] has no such setting, but {known}")
        defaults[key] = section.get(name) if isinstance(section, dict) else None
    try:
        _resolve(config, overrides)
    except ValueError:
        for key, value in overrides.items():
            try:
                _resolve(config, {key: value})
            except ConfigValidationError as error:
                reason = "; ".join(_CLASS.sub(r"\1", str(each["msg"])) for each in error.errors)
                default = f"; by default it is {defaults[key]!r}" if defaults[key] else ""
                raise ValueError(f"--{key} {value}: {reason}{default}") from error
        raise


def _resolve(config: Config, overrides: dict[str, Any]) -> None:
    """Make what a config names. Raises ConfigValidationError or ValueError where that fails."""
    whole = Config().from_str(config.to_str(), overrides=overrides)
    registry.resolve(whole["training"], schema=ConfigSchemaTraining)
    util.load_model_from_config(whole, validate=True)


def annotated_reader(annotations: Sequence[str]) -> dict[str, Any]:
    """What makes the block of a corpus one of an ``AnnotatedCorpus``."""
    return {
        "@readers": "spacy_ssvm.AnnotatedCorpus.v1",
        "annotations": list(annotations),
        "annotated_path": "${paths.annotated}",
    }


def _settings_of(
    name: str, has_sentences: bool, has_tags: bool, has_spaces: bool
) -> dict[str, Any]:
    """The settings of a component, in such a pipeline, that are not defaults."""
    spaces = ["spaces"] if has_spaces else []
    if name in ("tagger", "pos_tagger", "morphologizer"):
        settings = {"whole_docs": has_sentences, "templates": ["tagger", *spaces]}
        attribute = {"tagger": "TAG", "pos_tagger": "POS"}.get(name)
        return {**settings, **({"attribute": attribute} if attribute else {})}
    if name == "senter" and has_tags:
        return {
            "templates": ["senter", "senter_tags"],
            "costs": {"start": {"inside": 2.0}},
            "solver": {"@misc": "spacy_ssvm.DualCoordinateDescent.v1", "C": 0.01},
        }
    return {"templates": ["ner", *spaces]} if name == "ner" else {}


def _score_weights(nlp: Language) -> dict[str, float | None]:
    """The weights of scores: each component counts alike."""
    weights: dict[str, float | None] = {}
    for name in nlp.pipe_names:
        own = dict(nlp.get_pipe_meta(name).default_score_weights or {})
        if name == "pos_tagger":
            own = {"tag_acc": own["pos_acc"], "pos_acc": own["tag_acc"]}
        for key, weight in own.items():
            share = round(weight / len(nlp.pipe_names), 3) if weight else None
            weights[key] = share or weights.get(key)
    return weights


def initialize_of(nlp: Language, name: str, resources: Resources = NO_RESOURCES) -> dict[str, Any]:
    """The arguments of ``initialize`` of a component."""
    pipe: Any = nlp.get_pipe(name)
    parameters = inspect.signature(pipe.initialize).parameters
    arguments = {key: value.default for key, value in parameters.items()}
    for key in ("get_examples", "nlp"):
        arguments.pop(key)
    if name in _READ_CLUSTERS:
        arguments["clusters"] = clusters_of(name, str(nlp.lang), resources)
    if name == "ner":
        arguments["gazetteers"] = resources.gazetteers
    if name in _READ_DICTIONARIES:
        arguments["dictionary"] = resources.dictionary
        if resources.lemma_lookups:
            arguments["dictionary"] = lookups_block(str(nlp.lang), _LEMMA_TABLE)
    return arguments


def annotations_read(names: Sequence[str]) -> list[str]:
    """What later components learn from what earlier ones predict, see ``AnnotatedCorpus``."""
    return [
        annotation
        for annotation, writers in _WRITERS.items()
        if any(
            {*names[i + 1 :]} & READERS[annotation] - _LEARN_FROM_GOLD
            for i in map(names.index, writers & {*names})
        )
    ]


#: The components that write an annotation, and those that read it.
_WRITERS = {
    "SENT_START": {"senter"},
    "TAG": {"tagger"},
    "POS": {"pos_tagger", "morphologizer"},
    "MORPH": {"morphologizer"},
}
READERS = {
    "SENT_START": {"parser", "ner", "chunker"},
    "TAG": {"lemmatizer", "senter", "parser", "chunker"},
    "POS": {"lemmatizer", "senter", "parser", "chunker"},
    "MORPH": {"lemmatizer", "parser"},
}
#: Those which learn as much from gold annotation as from predictions of it.
_LEARN_FROM_GOLD = {"lemmatizer"}


def jackknife_rounds(names: Sequence[str]) -> list[list[str]]:
    """The components whose annotations others read: those of the first round, and of the next."""
    read = annotations_read(names)
    tags = [
        name
        for name in names
        if name != "senter" and any(name in _WRITERS[annotation] for annotation in read)
    ]
    return [own for own in (tags, ["senter"] if "SENT_START" in read else []) if own]


def next_commands(
    file: Path, names: Sequence[str], *, missing: Sequence[str] = (), folds: int = FOLDS
) -> list[str]:
    """The commands that train by a config.

    missing: the corpora that the config does not name, of "train" and "dev".
    """
    paths = "".join(f" --paths.{name} {name}.spacy" for name in missing)
    rounds = jackknife_rounds(names)
    commands, annotated = [], ""
    if rounds:
        annotated = " --paths.annotated annotated.spacy"
        options = ("--components", "--next")
        chosen = [f"{option} {','.join(own)}" for option, own in zip(options, rounds, strict=False)]
        commands.append(
            f"python -m spacy ssvm jackknife {file} --output annotated.spacy --folds {folds} "
            f"{' '.join(chosen)}{paths} --training.max_epochs {FOLD_EPOCHS}"
        )
    commands.append(f"python -m spacy train {file} --output training{paths}{annotated}")
    return commands


def describe(names: Sequence[str], commands: Sequence[str]) -> str:
    """What stands at the beginning of a config."""
    train = "\n".join(f"  {command}" for command in commands)
    return f"A pipeline of {', '.join(names)}. Train it with\n{train}"


def write_config(file: Path, config: Config, comment: str) -> None:
    """Write a config, section by section, with comments on some, and one at its beginning."""
    heading = "\n".join(f"# {line}".rstrip() for line in comment.split("\n"))
    sections = {}
    for block in config.to_str().strip().split("\n\n"):
        sections[block.split("\n")[0][1:-1]] = block
    text = [heading]
    for name, block in _nested(sections):
        text.append(f"# {_COMMENTS[name]}\n{block}" if name in _COMMENTS else block)
    with replacing(file) as beside:
        beside.write_text("\n\n".join(text) + "\n", encoding="utf8")


def _nested(sections: dict[str, str]) -> list[tuple[str, str]]:
    """Sections in spaCy's order, each before those inside it."""
    order = {name: i for i, name in enumerate(dict.fromkeys([*CONFIG_SECTION_ORDER, *sections]))}

    def position(section: tuple[str, str]) -> tuple[int, ...]:
        parts = section[0].split(".")
        return tuple(order[".".join(parts[:depth])] for depth in range(1, len(parts) + 1))

    return sorted(sections.items(), key=position)
