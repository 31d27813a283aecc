"""What all trainable components share: a model in a spaCy pipeline.

A subclass says what its labels are (``gold_labels``), how they are read and written
(``predict``, ``set_annotations``), and what belongs in its config.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np
from spacy.attrs import ORTH, SPACY
from spacy.errors import Errors
from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example, validate_examples
from spacy.util import check_lexeme_norms, logger
from spacy.vocab import Vocab

from spacy_ssvm import storage
from spacy_ssvm._jit import Flags, Floats, Ints, Keys
from spacy_ssvm.chains.model import MAX_LABELS, TemplateShare
from spacy_ssvm.chains.probabilities import label_probabilities
from spacy_ssvm.chains.problem import hamming_costs
from spacy_ssvm.chains.selection import chain_selector
from spacy_ssvm.chains.training import Training, objective
from spacy_ssvm.components.example_cache import ExampleCache, digest
from spacy_ssvm.components.settings import check_saved_settings, config_error, initialize_error
from spacy_ssvm.features.attributes import scatter_to_tokens, words_of
from spacy_ssvm.features.clusters import CLUSTER_ATTRIBUTES, read_clusters
from spacy_ssvm.features.gazetteers import is_gazetteer_attribute, read_gazetteers
from spacy_ssvm.features.resources import Resources
from spacy_ssvm.messages import shorten
from spacy_ssvm.objective import Objective
from spacy_ssvm.selection import Selected, Selection, Selector
from spacy_ssvm.solvers.prox_gradient import Step
from spacy_ssvm.solvers.run import Solver

Costs = dict[str, dict[str, float]]
Given = tuple[Ints | None, Flags | None]

WILDCARD = "*"  #: stands for every label in costs

#: More labels of a model than this are worth a warning.
MANY_LABELS = 500
_SECONDS_PER_TRANSITION = 1e-9  # measured: 0.3e-9 to 0.8e-9 to learn, 0.4e-9 to 2.5e-9 to annotate
_BYTES_PER_TRANSITION = 40  # five tables of float64: scores, legality, costs and copies


class LinearPipe(TrainablePipe):
    """A structural SVM as a pipeline component.

    vocab: the shared vocabulary.
    model: templates and weights.
    name: the component's name in the pipeline.
    solver: settings of the learner.
    selection: how to choose among the templates at initialize; None for all.
    min_count, hash_bits: see ``FeatureIndex``.
    costs: the cost of predicting a label where another is right, {gold: {predicted:
        cost}}; "*" stands for every label, later pairs go before earlier ones, and
        pairs not named cost 1.
    scorer: of ``spacy evaluate``.
    """

    def __init__(
        self,
        vocab: Vocab,
        model: Any,
        name: str,
        *,
        solver: Solver,
        min_count: int,
        hash_bits: int | None,
        costs: Costs,
        scorer: Callable[..., Any] | None,
        selection: Selection | None = None,
        **cfg: Any,
    ) -> None:
        self.vocab = vocab
        self.model = model
        self.name = name
        self.cfg = cfg
        self.scorer = scorer
        self.solver = solver
        self.min_count = min_count
        self.hash_bits = hash_bits
        self.costs = costs
        self.selection = selection
        self.selected: Selected | None = None  # what the selection came to, at initialize
        self._candidates = None if selection is None else model.templates
        self._labels: tuple[str, ...] = ()
        self._training: Any = None
        self._cache: ExampleCache | None = None

    # What a subclass adds

    kind: str  #: the name of the component's factory

    def gold_labels(self, examples: Sequence[Example]) -> list[Ints]:
        """The gold labels of the predicted tokens: int64 [tokens] each, -1 for none."""
        raise NotImplementedError

    def collect_labels(self, examples: Iterable[Example]) -> list[str]:
        """The labels of a corpus, sorted."""
        raise NotImplementedError

    def annotation(self) -> str:
        """What is learned from, for messages."""
        raise NotImplementedError

    def can_start_unannotated(self, *, has_corpus: bool) -> bool:
        """Whether initialize may go on where the examples have no annotation to learn from.

        has_corpus: whether there is more than the one Doc that ``nlp.initialize()`` passes.
        """
        return bool(self.labels)

    def check_label(self, label: str) -> None:
        """Raise ValueError where the component cannot write the label."""

    def check_gazetteers(self, labels: Sequence[str], resources: Resources) -> None:
        """Warn about gazetteers that cannot do what their types suggest."""

    def fewer_labels(self, labels: Sequence[str]) -> str:
        """Advice for a model that has too many labels, as a sentence."""
        return "Use a coarser set of labels, or divide it between several components"

    def chain_labels(self, labels: Sequence[str]) -> Sequence[str]:
        """The labels of the model, by the component's labels."""
        return labels

    def component_labels(self, chain_labels: Sequence[str]) -> Sequence[str]:
        """The component's labels, by the labels of the model."""
        return chain_labels

    def cost_classes(self) -> Sequence[str]:
        """What ``costs`` calls each label of the model."""
        labels: Sequence[str] = self.model.labels
        return labels

    def legality(self) -> Floats | None:
        """Which transitions between the model's labels are legal, see ``Problem``."""
        return None

    def given_labels(self, docs: Sequence[Doc], overwrite: bool) -> Given:
        """The labels that the analysis of Docs must have, as ``Model.predict`` takes them.

        overwrite: whether what the Docs have already is passed over.
        """
        return None, None

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
        """Add a label. Returns 1, or 0 where it is there already.

        Of a trained component, the other labels keep their weights, from which training goes
        on; examples that were seen before are forgotten.
        Raises ValueError where a trained component is not resizable.
        """
        if not isinstance(label, str):
            raise ValueError(f"{self.name}: a label must be a text, not {label!r}")
        if label in self.labels:
            return 0
        labels = (*self.labels, label)
        if self._training is None and self.model.summary is None:
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
        self.model.add_labels(self.chain_labels(labels)[known:], self.legality())
        self._stop_training()
        return 1

    @property
    def is_resizable(self) -> bool:
        """Whether labels can be added to a trained component."""
        return False

    def _define(
        self, labels: Sequence[str], resources: Resources, templates: Sequence[Any] | None = None
    ) -> None:
        self._check_labels(labels)
        self._labels = tuple(labels)
        self._add_strings(labels)
        if templates is None:
            templates = self.model.templates
        self.model.define(templates, self.chain_labels(labels), resources, self.legality())
        self._stop_training()

    def _check_labels(self, labels: Sequence[str]) -> None:
        """Raise ValueError for labels that the component cannot write, or too many of them."""
        for label in labels:
            self.check_label(label)
        K = len(self.chain_labels(labels))
        if K > MAX_LABELS:
            raise initialize_error(
                self.name,
                "labels",
                f"{self.name}: the model would have {K:,} labels, but {MAX_LABELS:,} are the most "
                f"that are possible. {self.fewer_labels(labels)}",
            )

    def _stop_training(self) -> None:
        self._training = None
        self._cache = None

    # Training

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: Iterable[str] | None = None,
        clusters: str | Path | None = None,
        gazetteers: dict[str, str] | None = None,
        gazetteer_attribute: str = "lower",
    ) -> None:
        """Set the labels and resources, and forget all weights.

        get_examples: returns examples; read for their labels, if none are given, and for the
            selection of templates, if there is one. Labels that were added before are kept,
            and suffice: ``nlp.initialize()`` passes one Doc without annotation.
        labels: all labels, as ``spacy init labels`` saves them.
        clusters: a file of word clusters (see ``features/clusters.py``), for templates
            such as cluster6[0]. It becomes part of the saved component.
        gazetteers: {type: file} of entries, one a line, for templates such as gazetteer[0];
            a .jsonl file holds patterns with types of their own. They become part of the
            saved component.
        gazetteer_attribute: "lower" or "orth", what entries are matched by.
        """
        check_lexeme_norms(self.vocab, self.name)  # type: ignore[no-untyped-call]
        was_trained = self.model.summary is not None
        if self._candidates is not None:
            self.model.define(self._candidates, self.model.labels, self.model.resources)
        resources = self._read_resources(clusters, gazetteers, gazetteer_attribute, nlp)
        if labels is None:
            labels = self._find_labels(get_examples) or self.labels
        labels = sorted(labels if was_trained else {*labels, *self.labels})
        self.check_gazetteers(labels, resources)
        self._warn_of_many_labels(labels, get_examples)
        self._define(labels, resources)
        self._label_costs()
        if self.selection is not None:
            self._select(list(_checked(get_examples, self.name)), nlp)

    def _find_labels(self, get_examples: Callable[[], Iterable[Example]]) -> list[str]:
        """The labels of a corpus. Raises ValueError where there are none to start from."""
        examples = _checked(get_examples, self.name)
        first = list(islice(examples, 2))
        labels = self.collect_labels(chain(first, examples))
        if not labels and not self.can_start_unannotated(has_corpus=len(first) > 1):
            standard = "" if self.labels else f" {Errors.E143.format(name=self.name)}"
            raise initialize_error(
                self.name,
                "labels",
                f"{self.name}: the examples have no {self.annotation()} annotation to learn "
                "from. Check the training corpus (an empty one has none either), or give the "
                f"labels to initialize.{standard}",
            )
        return labels

    def _warn_of_many_labels(
        self, labels: Sequence[str], get_examples: Callable[[], Iterable[Example]]
    ) -> None:
        """Warn where the model has so many labels that time and memory get out of hand.

        Decoding a token costs K^2 operations, and each feature has K weights while it learns.
        """
        K = len(self.chain_labels(labels))
        if K <= MANY_LABELS:
            return
        tokens = sum(len(example.predicted) for example in _checked(get_examples, self.name))
        duration = _duration(tokens * K**2 * _SECONDS_PER_TRANSITION)
        warnings.warn(
            f"{self.name}: the model has {K:,} labels, and time grows with the square of their "
            f"number. A pass over the {tokens:,} tokens of the examples will take about "
            f"{duration}, and training at least {K**2 * _BYTES_PER_TRANSITION / 1e9:.1f} GB of "
            f"memory for transitions and {K * 8e5 / 1e9:.1f} GB for every 100,000 features. "
            f"{self.fewer_labels(labels)}",
            stacklevel=3,
        )

    def _select(self, examples: list[Example], nlp: Language | None) -> None:
        """Keep the templates that the selection leaves, and put them into the config."""
        assert self.selection is not None
        if nlp is not None:
            _annotate_as_in_training(nlp, self, examples)
        try:
            selected = self.selector(examples).select(self.selection, report=self._log_step)
        except ValueError as error:
            raise config_error(self.name, "selection", f"{self.name}: {error}") from error
        found = len(selected.kept), len(selected.table), selected.seconds
        logger.info("%s: %s of %s templates selected in %.1f s", self.name, *found)
        self.use_templates(selected.templates)
        self.selected = selected
        if nlp is not None:
            for name in (name for name, pipe in nlp.components if pipe is self):
                nlp.get_pipe_config(name).update(templates=selected.texts, selection=None)

    def use_templates(self, templates: Sequence[Any]) -> None:
        """Start again from zero weights, with other templates, and the same labels."""
        self._define(self.labels, self.model.resources, templates)

    def selector(self, examples: Sequence[Example]) -> Selector:
        """What selects among the templates that the model has, for an initialized component."""
        return chain_selector(
            self.model,
            [example.predicted for example in examples],
            self.gold_labels(examples),
            costs=self._label_costs(),
            legality=self.legality(),
        )

    def _log_step(self, epoch: int, step: Step) -> None:
        message = "%s: selection, epoch %s: loss %.3f, %s templates, %s weights"
        logger.info(message, self.name, epoch, step.loss, step.templates, step.allocated)

    def _read_resources(
        self,
        clusters: str | Path | None,
        gazetteers: dict[str, str] | None,
        attribute: str,
        nlp: Language | None,
    ) -> Resources:
        for given, is_wanted, key, what, setting in (
            (
                clusters,
                CLUSTER_ATTRIBUTES.__contains__,
                "clusters",
                "word clusters",
                "clusters = PATH",
            ),
            (
                gazetteers,
                is_gazetteer_attribute,
                "gazetteers",
                "gazetteers",
                'gazetteers = {"TYPE": "PATH"}',
            ),
        ):
            named = self.model.templates_with(is_wanted)
            if named and not given:
                raise initialize_error(
                    self.name,
                    key,
                    f"{self.name}: the template '{named[0]}' needs {what}. Set {setting} in "
                    f"[initialize.components.{self.name}]",
                )
        lists = words = None
        if gazetteers:
            values = partial(words_of, nlp or Language(self.vocab), attribute)
            try:
                lists = read_gazetteers(gazetteers, values, attribute=attribute)
            except (OSError, ValueError) as error:
                raise initialize_error(self.name, "gazetteers", str(error)) from error
            self._check_gazetteer_types(lists.types)
        if clusters is not None:
            try:
                words = read_clusters(clusters)
            except (OSError, ValueError) as error:
                raise initialize_error(self.name, "clusters", str(error)) from error
        return Resources(words, lists)

    def _check_gazetteer_types(self, types: Sequence[str]) -> None:
        for name in self.model.reader.names:
            kind = name.partition(".")[2]
            if is_gazetteer_attribute(name) and kind and kind not in types:
                template = self.model.templates_with(name.__eq__)[0]
                raise initialize_error(
                    self.name,
                    "gazetteers",
                    f"{self.name}: the template '{template}' names a gazetteer of type "
                    f"'{kind}', but there are: {', '.join(types)}",
                )

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Any = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Improve the weights on a batch: one example, some, or the whole corpus.

        Examples that were seen before go on from where they were; a batch of the whole
        corpus is one epoch of the solver. drop and sgd are ignored. Adds to losses
        ``NAME``, the sum of the losses, and, where the learner has a dual, sets
        ``NAME_gap``, the relative duality gap as the passes so far saw it.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = list(examples)
        validate_examples(examples, f"{type(self).__name__}.update")
        training, numbers = self.compile(examples)
        losses[self.name] += training.epoch(numbers)
        gap = training.run.gap
        if gap is not None:
            losses[f"{self.name}_gap"] = gap
        return losses

    def compile(self, examples: list[Example]) -> tuple[Any, Ints]:
        """Make features of examples where they have none.

        Returns what learns from them, and their numbers in its problem.
        """
        self._require_trainable()
        if self._training is None or self._cache is None:
            self._cache = ExampleCache()
            self._training = self._new_training()
        return self._training, self._numbers(examples, self._training, self._cache)

    def _new_training(self) -> Any:
        """What the model has while it learns."""
        return Training(
            self.model,
            self.solver,
            min_count=self.min_count,
            hash_bits=self.hash_bits,
            costs=self._label_costs(),
            legality=self.legality(),
        )

    def rehearse(
        self,
        examples: Iterable[Example],
        *,
        sgd: Any = None,
        losses: dict[str, float] | None = None,
        **config: Any,
    ) -> dict[str, float]:
        """Leave the weights as they are: training a loaded model already keeps close to them.

        Further training penalizes the distance from the loaded weights.
        """
        validate_examples(examples, f"{type(self).__name__}.rehearse")
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        return losses

    def finish_update(self, sgd: Any) -> None:
        """Nothing to do: each update leaves the weights whole."""

    def use_params(self, params: dict[Any, Any]) -> Iterator[None]:
        """Nothing to exchange: there are no averages outside the model."""
        yield

    def templates_report(self) -> tuple[TemplateShare, ...]:
        """What the trained model makes of each of its templates, the largest share first."""
        self._sync()
        shares: tuple[TemplateShare, ...] = self.model.template_shares()
        return shares

    def objective(self, examples: Iterable[Example]) -> Objective:
        """Primal, dual and relative duality gap of the trained model, measured anew.

        examples: all that it was trained on. Works for a loaded model too.
        """
        examples = list(examples)
        self._sync()
        return objective(
            self.model,
            [example.predicted for example in examples],
            self.gold_labels(examples),
            costs=self._label_costs(),
            legality=self.legality(),
        )

    # Probabilities

    def marginals(self, doc: Doc, *, overwrite: bool | None = None) -> Floats:
        """The probability of each label at each token: float64 [tokens, K].

        K is the number of labels of the model, ``self.model.labels``; for spans, these are the
        labels of the scheme. Rows sum to 1; whitespace, which has no label, has zeros.
        overwrite: whether to ignore annotation that the Doc already has, by default the
            component's own setting. Otherwise that annotation is certain, even where the
            component itself has written it.
        Raises ValueError if the model was trained without probabilities.
        """
        self._require_trainable()
        self._sync()
        beta = self._require_beta()
        given = self.given_labels([doc], self._overwrites(overwrite))
        tokens = self.model.reader.read([doc])
        found = label_probabilities(self.model, tokens, beta, *given)
        return scatter_to_tokens(found, tokens, fill=0.0)

    def _overwrites(self, overwrite: bool | None) -> bool:
        return bool(self.cfg.get("overwrite", True) if overwrite is None else overwrite)

    def _require_beta(self) -> float:
        """The model's beta. Raises ValueError, naming solvers that have one, if it has none."""
        beta: float | None = self.model.beta
        if beta is None:
            raise ValueError(
                f"{self.name}: this model was trained with a margin loss and has no probabilities. "
                "Train it with a solver of finite beta, such as "
                '@misc = "spacy_ssvm.DualCoordinateAscent.v1" (a conditional random field) or '
                f'"spacy_ssvm.LBFGS.v1", in [components.{self.name}.solver], or use scores(doc), '
                "which are margins then"
            )
        return beta

    def _numbers(self, examples: list[Example], training: Training, cache: ExampleCache) -> Ints:
        """The numbers of the examples in the problem; new and changed ones are compiled."""
        # All that can fail comes before the first cached is claimed.
        columns = [self.model.reader.inputs(example.predicted) for example in examples]
        inputs = [digest(array.tobytes()) for array in columns]
        found = [cache.find(example.reference) for example in examples]
        unknown = [
            i for i, cached in enumerate(found) if cached is None or cached.inputs != inputs[i]
        ]
        gold = self.gold_labels([examples[i] for i in unknown])
        changed, docs, labels = [], [], []
        for i, gold_of_doc in zip(unknown, gold, strict=True):
            reference = examples[i].reference
            cached = cache.find(reference)
            if cached is None:
                words = columns[i][:, 0]
                cached = cache.claim(reference, digest(words.tobytes(), gold_of_doc.tobytes()))
            found[i] = cached
            if cached.inputs != inputs[i]:
                if cached.numbers:
                    training.remove(cached.numbers)
                cached.inputs = inputs[i]
                changed.append(cached)
                docs.append(examples[i].predicted)
                labels.append(gold_of_doc)
        for cached, numbers in zip(changed, training.add(docs, labels), strict=True):
            cached.numbers = numbers
        new_numbers = training.reclaim()
        if new_numbers is not None:
            cache.renumber(new_numbers)
        return np.array([i for cached in found if cached for i in cached.numbers], dtype=np.int64)

    def _label_costs(self) -> Floats:
        """The configured costs as float64 [K, K], by label of the model."""
        costs = hamming_costs(len(self.model.labels))
        classes = np.array(self.cost_classes(), dtype=object)
        wrong = ~np.eye(len(classes), dtype=bool)
        for gold, row in self.costs.items():
            for predicted, value in row.items():
                for label in (gold, predicted):
                    if label not in (*classes, WILDCARD):
                        raise config_error(
                            self.name,
                            "costs",
                            f"{self.name}: costs name the label '{label}', which does not "
                            f"exist. Labels: {', '.join(dict.fromkeys(classes))}; "
                            f"'{WILDCARD}' for all",
                        )
                cells = wrong & np.outer(
                    (classes == gold) | (gold == WILDCARD),
                    (classes == predicted) | (predicted == WILDCARD),
                )
                if not (np.isfinite(value) and value >= 0 and (cells.any() or value == 0)):
                    raise config_error(
                        self.name,
                        "costs",
                        f"{self.name}: the cost of predicting '{predicted}' for '{gold}' is "
                        f"{value}: costs are numbers, at least 0, and 0 for the right label",
                    )
                costs[cells] = value
        return costs

    def _require_trainable(self) -> None:
        if not self.model.labels:
            raise ValueError(
                f"{self.name}: there are no labels. Initialize the component on a corpus "
                "(nlp.initialize), or load a trained one"
            )

    def _sync(self) -> None:
        """Bring the weights that tag up to date with those that learn."""
        if self._training is not None:
            self._training.update_model()

    # Saving and loading

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        self._sync()  # a copy has the weights, but not what they were learned with
        state = {key: getattr(self, key) for key in ("vocab", "model", "name", "scorer")}
        settings = storage.to_bytes(self.kind, {"cfg": self.cfg}, {})
        return _copied, (type(self), state | vars(self), settings)

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """The component as bytes. exclude: 'cfg', 'vocab' or 'model'."""
        parts, arrays = self._saved(exclude)
        if "vocab" not in exclude:
            arrays["vocab"] = np.frombuffer(self.vocab.to_bytes(exclude=exclude), dtype=np.uint8)
        return storage.to_bytes(self.kind, parts, arrays)

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> "LinearPipe":
        """Load what ``to_bytes`` made.

        Raises ModelFileError where that fails; the component then stays as it was.
        """
        optional = {} if "vocab" in exclude else {"vocab": np.uint8}

        def build(saved: storage.Header, arrays: storage.Arrays) -> None:
            self._become(saved, arrays, exclude)
            if "vocab" in arrays:
                self.vocab.from_bytes(arrays["vocab"].tobytes(), exclude=exclude)

        storage.from_bytes(bytes_data, self.kind, *self._wanted(exclude), build, optional=optional)
        return self._loaded()

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save into a folder. exclude: 'cfg', 'vocab' or 'model'.

        The vocabulary apart, an interrupted write leaves what was saved there before.
        """
        storage.save(path, self.kind, *self._saved(exclude))
        if "vocab" not in exclude:
            self.vocab.to_disk(Path(path) / "vocab", exclude=exclude)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "LinearPipe":
        """Load from a folder.

        Raises ModelFileError, naming the file, where one is damaged or cannot be used; the
        component then stays as it was.
        """
        storage.load(
            path, self.kind, *self._wanted(exclude), partial(self._become, exclude=exclude)
        )
        if "vocab" not in exclude and (Path(path) / "vocab").exists():
            self.vocab.from_disk(Path(path) / "vocab", exclude=exclude)
        return self._loaded()

    def _saved(self, exclude: Iterable[str]) -> tuple[storage.Header, storage.Arrays]:
        """The parts and arrays to be saved."""
        self._sync()
        parts: storage.Header = {}
        arrays: storage.Arrays = {}
        if "cfg" not in exclude:
            parts["cfg"] = self.cfg
        if "model" not in exclude:
            parts["model"] = self.model.header()
            arrays |= self.model.arrays()
        return parts, arrays

    def _wanted(self, exclude: Iterable[str]) -> tuple[list[str], dict[str, type]]:
        """The names of the parts, and the types of the arrays, to be loaded."""
        parts = [part for part in ("cfg", "model") if part not in exclude]
        return parts, dict(self.model.types) if "model" in parts else {}

    def _become(
        self, parts: storage.Header, arrays: storage.Arrays, exclude: Iterable[str]
    ) -> None:
        """Take over saved parts, once all of them are known to fit each other."""
        cfg = self.cfg
        if "cfg" not in exclude:
            saved_cfg = dict(parts["cfg"])
            check_saved_settings(cfg, saved_cfg)
            self.cfg = cfg | saved_cfg
        try:
            if "model" not in exclude:
                model = self.model.read(parts["model"], arrays)
                self.check_model(model)
                self.model.become(model)
        except BaseException:
            self.cfg = cfg
            raise

    def check_model(self, saved: Any) -> None:
        """Raise ValueError where the labels of a saved model are not those of a component."""
        labels = self.component_labels(saved.labels)
        self._check_labels(labels)
        if saved.labels and tuple(self.chain_labels(labels)) != saved.labels:
            raise ValueError(
                f"its labels are not those of this component: {shorten(', '.join(saved.labels))}"
            )

    def _loaded(self) -> "LinearPipe":
        self._stop_training()
        self._labels = tuple(self.component_labels(self.model.labels))
        self._add_strings(self.labels)
        return self

    def _add_strings(self, labels: Iterable[str]) -> None:
        """Make the vocabulary know what the component writes."""
        for label in labels:
            self.vocab.strings.add(label)


def _copied(cls: type[LinearPipe], state: dict[str, Any], settings: bytes) -> LinearPipe:
    """The component that was pickled."""
    pipe = cls.__new__(cls)
    for key, value in state.items():
        setattr(pipe, key, value)
    storage.from_bytes(
        settings, cls.kind, ("cfg",), {}, lambda parts, _: setattr(pipe, "cfg", parts["cfg"])
    )
    return pipe


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:,.0f} h"


def reference_columns(example: Example, attributes: Sequence[int]) -> Keys | None:
    """The attributes of a reference that has the tokens of the predicted Doc, else None.

    uint64 [tokens, attributes].
    """
    predicted: Any = example.predicted.to_array([ORTH, SPACY])
    reference: Any = example.reference.to_array([ORTH, SPACY, *attributes])
    return reference[:, 2:] if np.array_equal(predicted, reference[:, :2]) else None


def _checked(get_examples: Any, name: str) -> Iterator[Example]:
    """The examples that a callback returns, each checked to be one.

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


def annotate(pipe: Any, examples: Sequence[Example]) -> None:
    """Let a component write into the predicted Docs of examples."""
    docs = pipe.pipe((example.predicted for example in examples), batch_size=1000)
    for example, doc in zip(examples, docs, strict=True):
        example.predicted = doc


def _annotate_as_in_training(nlp: Language, component: Any, examples: Sequence[Example]) -> None:
    """Let the components annotate that do in training, and are frozen: they have learned."""
    settings = nlp.config.interpolate()["training"]
    for name, pipe in nlp.components:
        if pipe is component:
            return
        if name in settings["annotating_components"] and name in settings["frozen_components"]:
            annotate(pipe, examples)
