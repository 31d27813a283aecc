"""The base of all trainable components: a model in a spaCy pipeline.

It handles labels, initialize and update. A subclass reads gold annotation
(``gold_labels``, ``read_batch``), trains (``make_trainer``) and annotates (``predict``,
``set_annotations``).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, validate_examples
from spacy.util import check_lexeme_norms, logger, minibatch
from spacy.vocab import Vocab

from spacy_ssvm.components.example_cache import (
    ExampleCache,
    GoldDoc,
    find_examples,
    read_in_batches,
)
from spacy_ssvm.components.initialization import (
    WordSource,
    annotate_as_in_training,
    annotated_as_in_training,
    check_examples,
    find_features,
    is_each_feature,
    no_annotation_error,
    out_of_memory,
    read_resources,
    warn_of_many_labels,
    warn_of_no_features,
    warn_of_unread,
)
from spacy_ssvm.components.serialization import ModelT, SerializedPipe
from spacy_ssvm.components.settings import (
    check_number,
    check_solver,
    config_error,
    initialize_error,
)
from spacy_ssvm.features.attributes import MORPHOLOGY
from spacy_ssvm.features.resources import Resources, names_of
from spacy_ssvm.features.wildcards import NO_NAMES, Names, expand_wildcards
from spacy_ssvm.files import shorten
from spacy_ssvm.kernels.threads import map_in_threads, number_of_threads
from spacy_ssvm.kernels.types import Ints, Keys
from spacy_ssvm.models import Trainer
from spacy_ssvm.objective import Objective
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent
from spacy_ssvm.solvers.run import Solver

if TYPE_CHECKING:
    from spacy_ssvm.selection import Selected, Selection, Selector
    from spacy_ssvm.solvers.prox_gradient import Step

_PARTS = 2  # of a batch for each of several threads: one that is early takes another

Batch = TypeVar("Batch")


class Pipe(SerializedPipe[ModelT], Generic[ModelT, Batch]):
    """A linear model as a pipeline component.

    vocab: the shared vocabulary.
    model: templates and weights.
    name: the component's name in the pipeline.
    solver: settings of the solver that learns the weights.
    scorer: of ``spacy evaluate``.
    selection: how to choose among the templates at initialize; None to keep all.
    memory: as many MB may training keep, see ``update``; None for all that it needs.
    cfg: further settings, saved with the component.
    """

    #: Whether the Docs that it annotates need sentence boundaries of other components.
    needs_sentences = False

    def __init__(
        self,
        vocab: Vocab,
        model: ModelT,
        name: str,
        *,
        solver: Solver,
        scorer: Callable[..., Any] | None,
        selection: "Selection | None" = None,
        memory: int | None = None,
        **cfg: object,
    ) -> None:
        self.vocab = vocab
        self.model = model
        self.name = name
        self.cfg = cfg
        self.scorer = scorer
        self.solver = solver
        self.selection = selection
        check_solver(name, "solver", solver)
        if memory is not None:
            check_number(name, "memory", memory, 1)
        self.memory = memory
        self.selected: Selected | None = None  # the result of the selection, at initialize
        self._support: object = None  # the only features to learn, see ``Selected``
        self._configured = model.templates
        self._labels: tuple[str, ...] = ()
        self._trainer: Trainer[Batch] | None = None
        self._cache = ExampleCache()

    # Implemented or overridden by subclasses

    def gold_labels(self, examples: Sequence[Example]) -> list[Ints]:
        """The gold labels of the predicted tokens: int64 [tokens, ...] each, -1 for none."""
        raise NotImplementedError

    def read_batch(self, docs: Sequence[GoldDoc]) -> Batch:
        """Docs with their gold labels, as the trainer takes them.

        Raises ValueError for gold labels that do not form a structure.
        """
        raise NotImplementedError

    def make_trainer(self, solver: Solver) -> Trainer[Batch]:
        """A trainer of the model, without examples."""
        raise NotImplementedError

    def collect_labels(self, examples: Iterable[Example]) -> list[str]:
        """The labels of a corpus, sorted."""
        raise NotImplementedError

    def annotation(self) -> str:
        """The name of the annotation that is learned, for messages."""
        raise NotImplementedError

    def selector(self, examples: Sequence[Example]) -> "Selector":
        """A selector among the templates of the model, for an initialized component."""
        raise NotImplementedError

    def objective(self, examples: Iterable[Example]) -> Objective:
        """Primal, dual and relative duality gap of the trained model.

        examples: all that it was trained on. Works for a loaded model too: it takes weights and
        examples alone.
        Raises ValueError for a model that was not trained.
        """
        self._sync()
        summary = self.model.summary
        if summary is None:
            raise ValueError("the model has not been trained: there is no objective to measure")
        trainer = self.make_trainer(DualCoordinateDescent(C=summary.C))
        for batch in self.read_batches(self.gold_docs(examples)):
            trainer.add(batch)
        return summary.objective(trainer.problem, trainer.run.w)

    def can_start_unannotated(self, *, has_corpus: bool) -> bool:  # noqa: ARG002
        """Whether initialize may continue where the examples have no annotation to learn from.

        has_corpus: whether there is more than the one Doc that ``nlp.initialize()`` passes.
        """
        return bool(self.labels)

    def check_label(self, label: str) -> None:
        """Raise ValueError where the component cannot write the label."""

    @property
    def compares_all_labels(self) -> bool:
        """Whether all pairs of labels are compared at each unit."""
        return True

    def read_labels(self, labels: Iterable[str]) -> list[str]:
        """Labels that a user gives, as the component writes them.

        Raises ValueError for what is no label.
        """
        return list(labels)

    def check_settings(self) -> None:
        """Raise ValueError where settings do not fit the labels that initialize has set."""

    def check_gazetteers(self, labels: Sequence[str], resources: Resources) -> None:
        """Warn about gazetteers whose types are not labels."""

    def learn_first_pass(
        self, get_examples: Callable[[], Iterable[Example]], nlp: Language | None
    ) -> None:
        """Learn what must be known before the first update, at the end of ``initialize``."""

    def read_inputs(self, example: Example) -> Keys:
        """The inputs of the features of a predicted Doc in training."""
        return self.model.reader.inputs(example.predicted)

    def fewer_labels(self, labels: Sequence[str]) -> str:  # noqa: ARG002
        """Advice for a model that has too many labels, as a sentence."""
        return "Use a coarser set of labels, or divide it between several components"

    def model_labels(self, labels: Sequence[str]) -> Sequence[str]:
        """The labels of the model, by the component's labels."""
        return labels

    def component_labels(self, model_labels: Sequence[str]) -> Sequence[str]:
        """The component's labels, by the labels of the model."""
        return model_labels

    def define_model(
        self, templates: Iterable[Any], labels: Sequence[str], resources: Resources
    ) -> None:
        """Define the model; labels are those of the model."""
        self.model.define(templates, labels, resources)

    def extend_model(self, labels: Sequence[str]) -> None:
        """Append labels to those of the model."""
        self.model.add_labels(labels)

    # Labels

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the labels."""
        return self._labels

    @property
    def label_data(self) -> tuple[str, ...] | None:
        """The labels as ``spacy init labels`` saves them, None for nothing to save."""
        return self.labels

    def add_label(self, label: str) -> int:
        """Add a label. Returns 1, or 0 where it already exists.

        Of a trained component, the other labels keep their weights, from which training goes
        on; examples that were seen before are forgotten.
        Raises ValueError where a trained component is not resizable.
        """
        if not isinstance(label, str):
            raise ValueError(f"{self.name}: a label must be a text, not {label!r}")
        (label,) = self.read_labels([label])
        if label in self.labels:
            return 0
        labels = (*self.labels, label)
        if self._trainer is None and self.model.summary is None:
            self._define(labels, self.model.resources)
            return 1
        if not self.is_resizable:
            raise ValueError(
                f"{self.name}: cannot add the label '{label}' to a trained model. Give all "
                "labels to initialize(labels=...), or to [initialize.components."
                f"{self.name}.labels] in the config, and train again"
            )
        self._check_labels(labels)
        self._sync()
        self._labels = labels
        self._add_strings(labels)
        known = len(self.model.labels)
        self.extend_model(self.model_labels(labels)[known:])
        self._stop_training()
        return 1

    @property
    def is_resizable(self) -> bool:
        """Whether labels can be added to a trained component."""
        return False

    def unknown_label_error(self, label: str, where: str = "") -> ValueError:
        """An error for a gold label that the component does not have.

        where: whose label it is, such as " of token 3 ('fish') in 'We fish'".
        """
        further = (
            f"train further with it after nlp.get_pipe('{self.name}').add_label('{shorten(label)}')"
            if self.is_resizable
            else "train anew: a trained component of this kind takes no new labels"
        )
        return ValueError(
            f"{self.name}: the label '{shorten(label)}'{where} was not among the labels at "
            "initialize. Initialize on the whole corpus, list all labels in "
            f"[initialize.components.{self.name}.labels], or {further}"
        )

    def _define(
        self, labels: Sequence[str], resources: Resources, templates: Sequence[Any] | None = None
    ) -> None:
        self._check_labels(labels)
        self._labels = tuple(labels)
        self._add_strings(labels)
        if templates is None:
            templates = self.model.templates
        self.define_model(templates, self.model_labels(labels), resources)
        self._support = None
        self._stop_training()

    def _check_labels(self, labels: Sequence[str]) -> None:
        """Raise ValueError for labels that the component cannot write, or too many of them."""
        for label in labels:
            self.check_label(label)
        number, most = len(self.model_labels(labels)), self.model.max_labels
        if number > most:
            raise initialize_error(
                self.name,
                "labels",
                f"{self.name}: the model would have {number:,} labels, but at most {most:,} are "
                f"possible. {self.fewer_labels(labels)}",
            )

    def _stop_training(self) -> None:
        self._trainer = None
        self._cache = ExampleCache()

    def _add_strings(self, labels: Iterable[str]) -> None:
        """See ``SerializedPipe``: they are added to the vocabulary."""
        for label in labels:
            self.vocab.strings.add(label)

    # Initialization

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: Iterable[str] | None = None,
        clusters: WordSource | dict[str, WordSource] | None = None,
        gazetteers: dict[str, str] | None = None,
        gazetteer_attribute: str = "lower",
        dictionary: WordSource | None = None,
    ) -> None:
        """Set the labels and resources, and forget all weights.

        get_examples: returns examples; read for their labels, if none are given, and for the
            selection of templates, if there is one. Labels that were added before are kept,
            and suffice: ``nlp.initialize()`` passes one Doc without annotation.
        labels: all labels, as ``spacy init labels`` saves them.
        clusters: a file of word clusters (see ``features/clusters.py``), or spaCy's lookups with
            the table lexeme_cluster, for templates such as cluster6[0]; or several by name, for
            templates such as cluster6.name[0]. They become part of the saved component.
        gazetteers: {type: file} of entries, one on each line, for templates such as
            gazetteer[0]; a .jsonl file holds patterns with types of their own. They become part
            of the saved component.
        gazetteer_attribute: "lower", "orth", "norm" or "lemma", the attribute of tokens by which
            entries are matched.
        dictionary: a file of words with lemmas and features (see ``features/dictionaries.py``), or
            spaCy's lookups with the table lemma_lookup, for templates such as
            dictionary.lemmas[0]. It becomes part of the saved component.
        """
        check_lexeme_norms(self.vocab, self.name)  # type: ignore[no-untyped-call]
        was_trained = self.model.summary is not None
        templates = self.restore_templates()
        self.model.define(templates, self.model.labels, self.model.resources)
        resources = read_resources(
            self.name,
            self.model,
            nlp,
            self.vocab,
            clusters=clusters,
            gazetteers=gazetteers,
            gazetteer_attribute=gazetteer_attribute,
            dictionary=dictionary,
        )
        if labels is None:
            labels = self._find_labels(get_examples) or self.labels
        else:
            labels = self.read_labels(labels)
        labels = sorted(labels if was_trained else {*labels, *self.labels})
        self.check_gazetteers(labels, resources)
        examples = check_examples(get_examples, self.name)
        number = len(self.model_labels(labels))
        advice = self.fewer_labels(labels)
        if self.compares_all_labels:
            warn_of_many_labels(self.name, number, examples, self.solver, advice)
        names = dict(names_of(resources))
        if self.model.templates_with(is_each_feature):
            names[MORPHOLOGY] = self._find_features(get_examples, nlp)
        templates = self.restore_templates(names)
        if not templates:
            raise initialize_error(
                self.name,
                "clusters",
                f"{self.name}: all templates read clusters, gazetteers, a dictionary or "
                "morphological features, but there are none. Set one of them in "
                f"[initialize.components.{self.name}]",
            )
        self._define(labels, resources, templates)
        warn_of_unread(self.name, self.model, resources)
        self.check_settings()
        if self.selection is not None:
            examples = check_examples(get_examples, self.name)
            self.select_templates(list(examples), self.selection, nlp)
        self.learn_first_pass(partial(check_examples, get_examples, self.name), nlp)

    def _find_features(
        self, get_examples: Callable[[], Iterable[Example]], nlp: Language | None
    ) -> list[str]:
        """What ``morph.*`` stands for; where the corpus has no features, what is annotated."""
        found = find_features(check_examples(get_examples, self.name), self.texts_of)
        if not found and nlp is not None:
            examples = check_examples(get_examples, self.name)
            found = find_features(annotated_as_in_training(nlp, self, examples), self.texts_of)
        if not found:
            warn_of_no_features(self.name, self.model)
        return found

    def texts_of(self, doc: Doc) -> Iterable[Doc]:
        """The Docs that the component reads where it is given one."""
        return (doc,)

    def _find_labels(self, get_examples: Callable[[], Iterable[Example]]) -> list[str]:
        """The labels of a corpus. Raises ValueError where there are none to start from."""
        examples = check_examples(get_examples, self.name)
        first = list(islice(examples, 2))
        labels = self.collect_labels(chain(first, examples))
        if not labels and not self.can_start_unannotated(has_corpus=len(first) > 1):
            raise no_annotation_error(self.name, self.annotation(), bool(self.labels))
        return labels

    def restore_templates(self, names: Names = NO_NAMES) -> Sequence[Any]:
        """The templates of the config, for ``define_model``; sets those that it does not take.

        names: what wildcards stand for, see ``expand_wildcards``.
        """
        return expand_wildcards(self._configured, names, type(self._configured[0]).parse)

    def select_templates(
        self, examples: list[Example], selection: "Selection", nlp: Language | None
    ) -> None:
        """Keep the selected templates, and write them into the config."""
        self.check_selection(selection)
        if nlp is not None:
            annotate_as_in_training(nlp, self, examples)
        self.prepare_selection(examples, nlp)
        try:
            selected = self.selector(examples).select(selection, report=self._log_step)
        except ValueError as error:
            raise config_error(self.name, "selection", f"{self.name}: {error}") from error
        counts = len(selected.kept), len(selected.table), selected.seconds
        logger.info("%s: %s of %s templates selected in %.1f s", self.name, *counts)
        self.use_templates(selected.templates, selected.support)
        self.selected = selected
        if nlp is not None:
            for name in (name for name, pipe in nlp.components if pipe is self):
                nlp.get_pipe_config(name).update(templates=selected.texts, selection=None)

    def check_selection(self, selection: "Selection") -> None:
        """Raise ConfigValidationError for a selection that does not suit the component."""
        if selection.refit == "features":
            raise self._no_refit("only components that label tokens have it")

    def _no_refit(self, reason: str) -> ValueError:
        message = f"{self.name}: 'features' is not possible: {reason}. Set it to 'templates'"
        return config_error(self.name, "selection.refit", message)

    def prepare_selection(self, examples: list[Example], nlp: Language | None) -> None:
        """Learn what a selection of templates needs besides them; nothing by default."""

    def use_templates(self, templates: Sequence[Any], support: object = None) -> None:
        """Start again from zero weights, with other templates, and the same labels.

        support: the only features to learn, as a selection has found them; None for all.
        """
        self._define(self.labels, self.model.resources, templates)
        self._support = support

    def _log_step(self, epoch: int, step: "Step") -> None:
        message = "%s: selection, epoch %s: loss %.3f, %s templates, %s weights"
        logger.info(message, self.name, epoch, step.loss, step.templates, step.allocated)

    # Training

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,  # noqa: ARG002
        sgd: object = None,  # noqa: ARG002
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Improve the weights on a batch: one example, some, or the whole corpus.

        Examples that were seen before continue from their dual variables; a batch of the whole
        corpus is one epoch of the solver. drop and sgd are ignored. Adds to losses
        ``NAME``, the sum of the losses, and, where the solver has a dual, sets
        ``NAME_gap``, the relative duality gap as measured during the passes so far.
        Where ``memory`` is set and does not suffice, examples that have not been seen for longest
        are forgotten, if their reference Docs no longer exist; what has been learned from them
        stays.
        Raises MemoryError, with what to change, where memory does not suffice. The component then
        has the weights that it was last used or saved with, and no state of training.
        """
        from spacy_ssvm.components.training_log import progress_bar  # annotation needs none

        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = list(examples)
        validate_examples(examples, f"{type(self).__name__}.update")
        try:
            trainer, numbers = self.featurize(examples)
            words = sum(len(example.predicted) for example in examples)
            if trainer.problem.structure.is_remote:  # then they stand for all examples
                words = cast(Any, trainer.problem).words
            with progress_bar(self.name, trainer.run, len(numbers), words):
                losses[self.name] += trainer.epoch(numbers)
        except MemoryError as error:
            message = out_of_memory(self)
            self._stop_training()  # which frees memory, and drops what is half done
            raise MemoryError(message) from error
        gap = trainer.run.gap
        if gap is not None:
            losses[f"{self.name}_gap"] = gap
        return losses

    def featurize(self, examples: Sequence[Example]) -> tuple[Trainer[Batch], Ints]:
        """Make features of examples that are new, or whose predicted Docs have changed.

        Returns the trainer, and the numbers of the examples in its problem (int64).
        """
        self._require_labels()
        if self._trainer is None:
            self._trainer = self.start_trainer()
        numbers = find_examples(
            examples,
            self._cache,
            self._trainer,
            read_inputs=self.read_inputs,
            gold_labels=self.gold_labels,
            read_batch=self.read_batch,
            memory=None if self.memory is None else self.memory * 1_000_000,
        )
        return self._trainer, numbers

    def start_trainer(self) -> Trainer[Batch]:
        """A trainer that learns the weights of the model, without examples."""
        return self.make_trainer(self.solver)

    def gold_docs(self, examples: Iterable[Example]) -> list[GoldDoc]:
        """The predicted Docs of examples with their gold labels."""
        examples = list(examples)
        docs = [example.predicted for example in examples]
        inputs = map(self.read_inputs, examples)
        return list(map(GoldDoc, docs, self.gold_labels(examples), inputs))

    def read_batches(self, docs: Sequence[GoldDoc]) -> list[Batch]:
        """Docs with their gold labels, as the trainer takes them, in batches."""
        return read_in_batches(docs, self.read_batch)

    def rehearse(
        self,
        examples: Iterable[Example],
        *,
        sgd: object = None,  # noqa: ARG002
        losses: dict[str, float] | None = None,
        **config: object,  # noqa: ARG002
    ) -> dict[str, float]:
        """Leave the weights as they are: training a loaded model already keeps close to them.

        Further training penalizes the distance from the loaded weights.
        """
        validate_examples(examples, f"{type(self).__name__}.rehearse")
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        return losses

    def training_memory(self) -> dict[str, int]:
        """The bytes that training keeps: of weights, of features and, with a dual, of constraints.

        Nothing before the first update, and after ``end_training``.
        """
        if self._trainer is None:
            return {}
        found = self._trainer.memory()
        return found | {"features": found["features"] + self._cache.memory}

    def end_training(self) -> None:
        """Free the memory of training: examples, their features, and the state of the solver.

        The component keeps its weights. Further updates continue from them, see the solver's
        w_0: examples that were seen before are new ones then.
        """
        self._sync()
        self._stop_training()

    def finish_update(self, sgd: object) -> None:
        """Nothing to do: each update is complete by itself."""

    def use_params(self, params: dict[Any, Any]) -> Iterator[None]:  # noqa: ARG002
        """Nothing to exchange: there are no averages outside the model."""
        yield

    # Use of the model

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Annotate a stream of Docs, batch by batch, in the threads of ``set_threads``.

        batch_size: in Docs, divided among the threads. A batch that raises an error goes to the
            error handler, and its Docs are left out, as in all components of spaCy.
        """
        handle_error = self.get_error_handler()
        self._sync()  # once, before there are several threads
        threads = number_of_threads()
        parts = 1 if threads == 1 else _PARTS * threads
        batches = minibatch(stream, -(-batch_size // parts))  # type: ignore[no-untyped-call]
        for docs, error in map_in_threads(self._annotate, batches):
            if error is None:
                yield from docs
            else:
                handle_error(self.name, self, docs, error)

    def _annotate(self, docs: list[Doc]) -> tuple[list[Doc], Exception | None]:
        """Annotate Docs; return them, and what was raised."""
        try:
            self.set_annotations(docs, self.predict(docs))
        except Exception as error:
            return docs, error
        return docs, None

    def _require_labels(self) -> None:
        if not self.model.labels:
            raise ValueError(
                f"{self.name}: there are no labels. Initialize the component on a corpus "
                "(nlp.initialize), or load a trained one"
            )

    def _sync(self) -> None:
        if self._trainer is not None:
            self._trainer.update_model()

    def _overwrites(self, overwrite: bool | None) -> bool:
        """Whether to ignore annotation of Docs; None for the component's own setting."""
        return bool(self.cfg.get("overwrite", True) if overwrite is None else overwrite)

    def check_model(self, saved: Any) -> None:
        """Raise ValueError where a saved model has labels that the component cannot have."""
        labels = self.component_labels(saved.labels)
        self._check_labels(labels)
        if saved.labels and tuple(self.model_labels(labels)) != saved.labels:
            raise ValueError(
                f"its labels are not those of this component: {shorten(', '.join(saved.labels))}"
            )

    def _follow_model(self) -> None:
        self._support = None
        self._stop_training()
        self._labels = tuple(self.component_labels(self.model.labels))
        self._add_strings(self.labels)
