"""A component of a config that is trained several times in one process."""

from pathlib import Path
from typing import Any

from spacy.schemas import ConfigSchemaTraining
from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.util import load_model_from_config, registry, resolve_dot_names
from thinc.api import Config

from spacy_ssvm.commands.jackknife import keep_components
from spacy_ssvm.commands.scores import weighted
from spacy_ssvm.components.annotated_corpus import corpus_block
from spacy_ssvm.components.initialization import annotate
from spacy_ssvm.components.pipe import Pipe

_FACTORY_PREFIX = "ssvm_"


class ComponentExperiment:
    """A component of a config, to be trained several times.

    config: as for ``spacy train``. Frozen components are kept before the component, and the
        others are left out.
    component: its name; None for the only one of this package in the pipeline.
    epochs: the number of epochs of each solver; None for the ``max_epochs`` of the config.

    ``config`` holds all settings that the results depend on, ``facts`` a summary for reports,
    ``left_out`` the names of the omitted components. Raises ValueError where the config has
    no such component, no corpora, or no epochs.
    """

    def __init__(
        self, config: Config, *, component: str | None = None, epochs: int | None = None
    ) -> None:
        self.config = config.interpolate()
        self.component = _choose(self.config, component)
        self.epochs = self.config["training"].get("max_epochs", 0) if epochs is None else epochs
        if self.epochs < 1:
            raise ValueError(f"{self.epochs} epochs: give --epochs, a number above 0")
        self.config["training"]["max_epochs"] = self.epochs
        self.facts = {
            "component": self.component,
            "training corpus": _corpus(self.config, "train_corpus"),
            "development corpus": _corpus(self.config, "dev_corpus"),
            "epochs": str(self.epochs),
        }
        weights = self.config["training"].get("score_weights", {})
        frozen = self.config["training"].get("frozen_components", [])
        kept = [*frozen, self.component]
        self.left_out = [name for name in self.config["nlp"]["pipeline"] if name not in kept]
        keep_components(self.config, kept)
        self.config["training"]["score_weights"] = weights
        filled = load_model_from_config(self.config, auto_fill=True).config.interpolate()
        block = filled["components"][self.component]
        self._score_weights = filled["training"]["score_weights"]
        self.facts["score"] = weighted(self._score_weights)
        self.facts["templates"] = ", ".join(block.get("templates", []))
        self.facts["solver"] = _show(block.get("solver", {}))

    def read(self) -> list[Example]:
        """Initialize the component and read the corpora; return the training examples.

        Raises ValueError where the component is not one of this package, or cannot be scored.
        """
        nlp = init_nlp(self.config)
        pipe = nlp.get_pipe(self.component)
        if not isinstance(pipe, Pipe):
            raise ValueError(f"the component '{self.component}' is not one of this package")
        self._pipe: Pipe[Any, Any] = pipe
        filled = nlp.config.interpolate()
        settings = registry.resolve(filled["training"], schema=ConfigSchemaTraining)
        names = [settings["train_corpus"], settings["dev_corpus"]]
        train, dev = (list(corpus(nlp)) for corpus in resolve_dot_names(filled, names))
        before = nlp.pipeline[: nlp.pipe_names.index(self.component)]
        for other, other_pipe in before:
            if other in settings["annotating_components"]:
                annotate(other_pipe, train)
            annotate(other_pipe, dev)
        self._texts: list[Doc] = [example.predicted for example in dev]
        self._references = [example.reference for example in dev]
        self._score()
        return train

    def _score(self) -> float:
        """The score of ``spacy train``, of this component alone."""
        docs = self._pipe.pipe((doc.copy() for doc in self._texts), batch_size=1000)
        scores = self._pipe.score(list(map(Example, docs, self._references)))
        weights = {
            name: weight
            for name, weight in self._score_weights.items()
            if weight and scores.get(name) is not None
        }
        if not weights:
            raise ValueError(
                f"the dev corpus has nothing by which '{self.component}' could be scored: see "
                "its annotation, and [training.score_weights]"
            )
        total = sum(weight * scores[name] for name, weight in weights.items())
        return float(total / sum(weights.values()))


def _choose(config: Config, name: str | None) -> str:
    """The name of the component to learn. Raises ValueError where it is missing or ambiguous."""
    pipeline = config["nlp"]["pipeline"]
    if name is not None:
        if name not in pipeline:
            raise ValueError(f"there is no component '{name}' among {', '.join(pipeline)}")
        if name in config["training"].get("frozen_components", []):
            raise ValueError(f"the component '{name}' is frozen: it does not learn")
        return name
    blocks = config["components"]
    ours = [n for n in pipeline if blocks.get(n, {}).get("factory", "").startswith(_FACTORY_PREFIX)]
    if len(ours) != 1:
        found = ", ".join(ours) or "none"
        raise ValueError(f"name one with --components; of this package there are: {found}")
    return str(ours[0])


def _show(solver: dict[str, Any]) -> str:
    """The name and the settings of a block of a config."""
    settings = [f"{name} = {value}" for name, value in solver.items() if name != "@misc"]
    return ", ".join([solver.get("@misc", ""), *settings])


def _corpus(config: Config, key: str) -> str:
    """The file of a corpus that training names, else its name there.

    Raises ValueError where there should be a file, and is none.
    """
    name, block = corpus_block(config, key)
    path = block.get("path")
    if not block or ("path" in block and (path is None or not Path(path).exists())):
        what = f"'{path}' does not exist" if path else "it is not set"
        raise ValueError(
            f"[{name}], the {key} of the config, needs a path of .spacy files, and {what}. Give "
            "it there, or on the command line, such as --paths.train train.spacy"
        )
    return str(path or name)
