"""The interfaces between models and components: what a component needs of a model and a trainer.

``docs/adding-a-structure.md`` adds a structure step by step.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from spacy_ssvm.features.attributes import Reader
from spacy_ssvm.features.resources import Resources
from spacy_ssvm.kernels.types import Ints
from spacy_ssvm.solvers.run import Run, Solver
from spacy_ssvm.solvers.summary import TrainingSummary
from spacy_ssvm.storage import Arrays, Header
from spacy_ssvm.structure import Problem

TemplateT = TypeVar("TemplateT")
SavedT = TypeVar("SavedT")
BatchT = TypeVar("BatchT", contravariant=True)


class Model(Protocol[TemplateT, SavedT]):
    """A model, as components need it: its definition, its weights, saving and loading.

    ``chains.model.ChainModel`` and ``trees.model.ParserModel`` are models.
    """

    @property
    def templates(self) -> tuple[TemplateT, ...]:
        """The feature templates; ``str`` gives them as a config lists them."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the labels; none before ``define``."""

    @property
    def max_labels(self) -> int:
        """The largest number of labels that it can have."""

    @property
    def resources(self) -> Resources:
        """The clusters and gazetteers that templates read."""

    @property
    def reader(self) -> Reader:
        """The reader of the attributes that the templates name."""

    @property
    def summary(self) -> TrainingSummary | None:
        """How it was trained; None for a model that was not."""

    @property
    def beta(self) -> float | None:
        """The scale of scores in exp(beta score); None for a model without probabilities."""

    @property
    def number_of_rows(self) -> int:
        """The number of rows with weights."""

    def define(
        self, templates: Iterable[TemplateT], labels: Iterable[str], resources: Resources
    ) -> None:
        """Set templates, labels and resources, and start from zero weights."""

    def add_labels(self, labels: Sequence[str]) -> None:
        """Append labels with zero weights; all other weights stay."""

    def templates_with(self, is_wanted: Callable[[str], bool]) -> list[str]:
        """The templates that name an attribute of some kind."""

    @property
    def types(self) -> Mapping[str, type]:
        """The saved arrays with their types."""

    def header(self) -> Header:
        """The saved settings, in JSON types."""

    def arrays(self) -> Arrays:
        """The saved arrays, by the names of ``types``."""

    def read(self, header: Header, arrays: Arrays) -> SavedT:
        """The saved model, with its ``labels``, checked to be safe for kernels.

        Raises ValueError, naming the flaw.
        """

    def become(self, saved: SavedT) -> None:
        """Become the model that was saved, as ``read`` returned it."""


class Trainer(Protocol[BatchT]):
    """The training of a model on batches of Docs that were read with their gold labels.

    Where the model has weights, training continues from them. ``chains.training.ChainTrainer`` and
    ``trees.training.TreeTrainer`` are trainers.
    """

    @property
    def problem(self) -> Problem:
        """The examples."""

    @property
    def run(self) -> Run:
        """What improves the weights."""

    def restart(self, solver: Solver) -> None:
        """Start again from the weights of the model, with another solver."""

    def add(self, batch: BatchT) -> list[range]:
        """Make examples of Docs; return the numbers of those of each Doc."""

    def remove(self, numbers: range) -> None:
        """Remove examples from the problem, and their contribution from the weights."""

    def reclaim(self) -> Ints | None:
        """Free the memory of removed examples, once they are the larger part.

        Returns None, or the new number of each example (int64 [examples before]).
        """

    def absorb(self, removed: Sequence[range], most: int) -> Ints:
        """Remove examples whose contribution to the weights stays, and free their memory.

        It becomes part of the prior. Features that no example has any more are forgotten: those
        without weight, and then those with small weights, until weights take at most so many bytes.
        Returns the new number of each example (int64 [examples before]).
        """

    def epoch(self, numbers: Ints) -> float:
        """One pass of the solver over these examples; returns the sum of their losses."""

    def update_model(self) -> None:
        """Copy the current weights to the model."""

    def memory(self) -> dict[str, int]:
        """The bytes of what it keeps: weights, features and, with a dual, constraints."""
