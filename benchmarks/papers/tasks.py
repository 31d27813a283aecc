"""What the experiments learn: a component on a corpus, trained again and again.

The features are made once, and each run starts from zero weights. Only learning is timed, on the
processor. Tokens, sentences, and the tags, lemmas and links of other aligners that templates read
are gold.
"""

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import spacy
from spacy.training import Example
from spacy.util import registry

from benchmarks.papers.corpora import Corpus
from benchmarks.papers.kinds import KINDS, Kind, Tags, kind_of, read_parts
from benchmarks.papers.resources import resources_of
from spacy_ssvm.components.pipe import Pipe
from spacy_ssvm.lab.compare import SOLVERS, known_value, learn_timed, make_solver
from spacy_ssvm.lab.search import METHODS
from spacy_ssvm.selection import Selection

#: Learners that compare does not have, by the same blocks of a config.
LEARNERS: dict[str, dict[str, Any]] = {
    **SOLVERS,
    "softmax-margin-beta-3": {**SOLVERS["softmax-margin"], "beta": 3.0},
    "softmax-margin-beta-5": {**SOLVERS["softmax-margin"], "beta": 5.0},
    "extragradient": {**SOLVERS["extragradient"], "projection": "euclidean", "tolerance": 0.0},
}
DETERMINISTIC = frozenset({"lbfgs", "extragradient"})  #: learners that do not depend on seeds
LASSO = "lasso"  #: over single weights; the setting is C, 1 / (lambda m) [MSAF11, section 5]
UNREGULARIZED = 1e30  #: the C of a solver without regularization

#: Methods of selection, each with the settings that differ. The setting of a run is the budget.
SELECTIONS: dict[str, dict[str, Any]] = {
    "group-lasso, features": {**METHODS["group-lasso"], "refit": "features"},
    **{name: METHODS[name] for name in ("group-lasso", "coarse-to-fine", "information-gain")},
    "lasso by template": METHODS["lasso"],
}
#: Examples between proximal steps [MSAF11, section 5], whose epochs have nine of them.
_PROX_PERIOD, _PROX_STEPS = 1000, 9
SELECTING_EPOCHS = 5


class Run(NamedTuple):
    """What is learned once."""

    task: str  #: a kind and the name of a corpus
    learner: str
    setting: float | None  #: C, or the number of templates; None where there is neither
    seed: int
    epochs: int
    chooses_step: bool = False  #: whether the first step of SGD is the best on dev [MGS10, 5]
    rows_every: int = 0  #: epochs between rows with the objective; 0 for one after the last epoch


class Row(NamedTuple):
    """The state of a run after an epoch. Values that it does not have are None.

    A run has rows of all epochs, or of the last one alone.
    """

    run: Run
    epoch: int  #: from 1; those of selecting are counted, but have no rows
    seconds: float  #: of learning, on the processor, since it started
    dev: float  #: between 0 and 1, higher is better: 1 - AER for links
    test: float
    primal: float | None
    weights: int  #: that are not zero
    templates: list[str]  #: those selected; none without a selection
    steps: list[tuple[int, int]]  #: of the selection: examples seen, weights


def make_row(run: Sequence[Any], **values: Any) -> Row:
    """A row from what a file has of it."""
    return Row(Run(*run), **values)


#: First steps of SGD to choose from [MGS10, section 5], by the corpus of a kind.
STEPS: dict[str, tuple[float, ...]] = {
    "entities": (0.001, 0.01, 0.1, 1.0, 10.0, 100.0),
    "treebank": (0.001, 0.01, 0.1, 1.0),
}


def templates_of(kind: Kind) -> list[str]:
    """All templates of the component that is learned."""
    pipe: Any = spacy.blank("xx").add_pipe(kind.factory, config=kind.config)
    return [str(template) for template in pipe.model.templates]


class Task:
    """A component on a corpus, with features made.

    name: "KIND: CORPUS", see ``KINDS``.
    corpus: what is learned from.
    tags: see ``read_parts``.
    sentences: at most as many for training; None for all.
    """

    def __init__(
        self,
        name: str,
        corpus: Corpus,
        *,
        tags: Tags,
        sentences: int | None = None,
    ) -> None:
        kind = KINDS[kind_of(name)]
        self.name = name
        self.kind, self.corpus = kind, corpus
        nlp = spacy.blank("xx")
        pipe = nlp.add_pipe(kind.factory, config=kind.config)
        assert isinstance(pipe, Pipe)
        self._pipe: Pipe[Any, Any] = pipe
        self._solver: Any = pipe.solver
        parts = read_parts(nlp, kind, corpus, tags)
        limits = [limit for limit in (sentences, kind.sentences) if limit is not None]
        self._train = parts.train[: min(limits, default=None)]
        self._dev, self._test = parts.dev, parts.test
        self.sizes = tuple(map(len, (self._train, self._dev, self._test)))
        with tempfile.TemporaryDirectory() as folder:
            if "resources" in kind.reads:
                given = resources_of(corpus.language, Path(folder))
                nlp.config["initialize"]["components"][pipe.name] = given
            nlp.initialize(lambda: self._train)
        self._templates = (*pipe.model.templates,)
        self._featurize()

    @property
    def _prox_period(self) -> int:
        """As in the paper; shorter for fewer examples, so that epochs have as many steps."""
        return max(1, min(_PROX_PERIOD, len(self._train) // _PROX_STEPS))

    def _featurize(self) -> None:
        self._trainer, self._numbers = self._pipe.featurize(self._train)

    def run(self, run: Run) -> Iterator[Row]:
        """Learn from zero weights; yield rows."""
        if run.learner in SELECTIONS:
            yield from self._select(run)
            return
        if len(self._pipe.model.templates) != len(self._templates):
            self._pipe.use_templates(self._templates)
            self._featurize()
        yield from self._learn(run, self._solver_of(run))

    def _solver_of(self, run: Run) -> Any:
        """The solver of a run."""
        if run.learner == LASSO:
            assert run.setting is not None
            block = {
                "@misc": "spacy_ssvm.ProxGradient.v1",
                "groups": "weight",
                "strength": 1 / (run.setting * len(self._train)),
                "prox_period": self._prox_period,
                "seed": run.seed,
            }
            return registry.resolve({"solver": block})["solver"]
        like = self._solver
        if run.setting is not None:
            like = replace(like, C=run.setting)
        solver = make_solver(LEARNERS[run.learner], run.seed, like)
        if not run.chooses_step:
            return solver
        steps = [replace(solver, eta0=eta) for eta in STEPS[self.kind.corpus]]
        first = [
            next(self._learn(run._replace(epochs=1, rows_every=0), other)).dev for other in steps
        ]
        return steps[first.index(max(first))]

    def _learn(
        self, run: Run, solver: Any, *, before: int = 0, seconds: float = 0.0
    ) -> Iterator[Row]:
        """Rows of a solver.

        before, seconds: epochs that have passed, and the time that they took.
        """
        trainer = self._trainer
        times = learn_timed(trainer, self._numbers, solver, run.epochs - before)
        for epoch, learning in enumerate(times, start=before + 1):
            if epoch < run.epochs and (not run.rows_every or epoch % run.rows_every):
                continue
            primal = trainer.run.objective().primal if run.rows_every else None
            dev = self._score(self._dev)
            test = self._score(self._test)
            yield Row(
                run,
                epoch=epoch,
                seconds=seconds + learning,
                dev=dev,
                test=test,
                primal=known_value(primal),
                weights=int(np.count_nonzero(trainer.run.w)),
                templates=[],
                steps=[],
            )

    def _select(self, run: Run) -> Iterator[Row]:
        """Select templates, and refit with MIRA, which is not regularized [MSAF11, section 4].

        The paper refits the features with weights, "group-lasso, features".
        """
        assert run.setting is not None
        self._pipe.use_templates(self._templates)
        settings = Selection(
            budget=int(run.setting),
            prox_period=self._prox_period,
            epochs=SELECTING_EPOCHS,
            seed=run.seed,
            **SELECTIONS[run.learner],
        )
        start = time.process_time()
        selected = self._pipe.selector(self._train).select(settings)
        seconds = time.process_time() - start
        self._pipe.use_templates(selected.templates, selected.support)
        self._featurize()
        solver = make_solver(LEARNERS["mira"], run.seed, replace(self._solver, C=UNREGULARIZED))
        steps = [
            (step.examples, size)
            for step in selected.history
            for size in (step.allocated_before, step.allocated)
        ]
        for row in self._learn(run, solver, before=SELECTING_EPOCHS, seconds=seconds):
            yield row._replace(templates=selected.texts, steps=steps)

    def _score(self, examples: Sequence[Example]) -> float:
        docs = self._pipe.pipe((example.predicted.copy() for example in examples), batch_size=1000)
        references = [example.reference for example in examples]
        score = self._pipe.score(list(map(Example, docs, references)))[self.kind.score]
        if score is None:
            raise ValueError(f"{self.corpus.name}: its dev or test part has nothing to score")
        return 1 - float(score) if self.kind.is_error else float(score)
