"""Saving, loading and pickling of components."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, Generic, SupportsIndex, TypeVar

import numpy as np
from spacy.pipeline import TrainablePipe
from spacy.vocab import Vocab

from spacy_ssvm import storage
from spacy_ssvm.components.settings import check_saved_settings
from spacy_ssvm.models import Model

ModelT = TypeVar("ModelT", bound=Model[Any, Any])
PipeT = TypeVar("PipeT", bound="SerializedPipe[Any]")


class SerializedPipe(TrainablePipe, Generic[ModelT]):
    """A component that is saved as its settings, its model and the vocabulary."""

    kind: str  #: the name of the component's factory
    vocab: Vocab
    model: ModelT
    cfg: dict[str, Any]

    def check_model(self, saved: Any) -> None:
        """Raise ValueError where a saved model is not one of this component."""

    def _sync(self) -> None:
        """Give the model the weights as they are now, before it is used or saved."""

    def _follow_model(self) -> None:
        """Take over the labels of a model that was loaded."""

    def _add_strings(self, labels: Iterable[str]) -> None:
        """Prepare for writing these labels."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        self._sync()  # a copy has the weights, but not the state of training
        state = {key: getattr(self, key) for key in ("vocab", "model", "name", "scorer")}
        settings = storage.to_bytes(self.kind, {"cfg": self.cfg}, {})
        return _unpickle, (type(self), state | vars(self), settings)

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """The component as bytes. exclude: 'cfg', 'vocab' or 'model'."""
        parts, arrays = self._saved(exclude)
        if "vocab" not in exclude:
            arrays["vocab"] = np.frombuffer(self.vocab.to_bytes(exclude=exclude), dtype=np.uint8)
        return storage.to_bytes(self.kind, parts, arrays)

    def from_bytes(self: PipeT, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> PipeT:
        """Load what ``to_bytes`` made.

        Raises ModelFileError where that fails; the component then stays as it was.
        """

        def build(saved: storage.Header, arrays: storage.Arrays) -> None:
            self._become(saved, arrays, exclude)
            if "vocab" in arrays and "vocab" not in exclude:
                self.vocab.from_bytes(arrays["vocab"].tobytes(), exclude=exclude)

        storage.from_bytes(bytes_data, self.kind, *self._wanted(exclude), build)
        self._follow_model()
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save into a folder. exclude: 'cfg', 'vocab' or 'model'.

        Except for the vocabulary, an interrupted write leaves what was saved there before, and so
        does a model that could not be loaded: ModelFileError.
        """

        def check(parts: storage.Header, arrays: storage.Arrays) -> None:
            if "model" not in exclude:
                self.check_model(self.model.read(parts["model"], arrays))

        storage.save(path, self.kind, *self._saved(exclude), check)
        if "vocab" not in exclude:
            self.vocab.to_disk(Path(path) / "vocab", exclude=exclude)

    def from_disk(self: PipeT, path: str | Path, *, exclude: Iterable[str] = ()) -> PipeT:
        """Load from a folder.

        Raises ModelFileError, naming the file, where one is damaged or cannot be used; the
        component then stays as it was.
        """
        storage.load(
            path, self.kind, *self._wanted(exclude), partial(self._become, exclude=exclude)
        )
        if "vocab" not in exclude and (Path(path) / "vocab").exists():
            self.vocab.from_disk(Path(path) / "vocab", exclude=exclude)
        self._follow_model()
        return self

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


def _unpickle(cls: type[PipeT], state: dict[str, Any], settings: bytes) -> PipeT:
    """The component that was pickled."""
    pipe = cls.__new__(cls)
    for key, value in state.items():
        setattr(pipe, key, value)
    storage.from_bytes(
        settings, cls.kind, ("cfg",), {}, lambda parts, _: setattr(pipe, "cfg", parts["cfg"])
    )
    pipe._add_strings(pipe.labels)
    return pipe
