"""The folder that a training writes to: models, and a checkpoint until it has ended."""

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.strings import StringStore
from spacy.training.loop import DIR_MODEL_BEST, DIR_MODEL_LAST, clean_output_dir

from spacy_ssvm.distributed.checkpoints import (
    Checkpoint,
    Evaluation,
    read_checkpoint,
    write_checkpoint,
)
from spacy_ssvm.distributed.learner import RemoteTrainer
from spacy_ssvm.files import remove_folder

CHECKPOINT = "checkpoint"


class Output:
    """The folder of a training.

    folder: None where nothing is written. every: seconds, after which the next pass is followed by
        a checkpoint.
    """

    def __init__(self, folder: Path | None, every: float) -> None:
        self._folder = folder
        self._every = every
        self._last = time.monotonic()

    def check_new(self, *, overwrite: bool) -> None:
        """Raise ValueError where there is something that may not be replaced."""
        if self._folder is None or overwrite:
            return
        for name in (CHECKPOINT, DIR_MODEL_BEST, DIR_MODEL_LAST):
            path = self._folder / name
            if path.exists():
                resume = "--resume to go on from it, " if name == CHECKPOINT else ""
                raise ValueError(
                    f"{path} exists: give {resume}--overwrite to replace it, or another folder"
                )

    def read_checkpoint(self, training: Mapping[str, Any]) -> Checkpoint:
        """See ``checkpoints.read_checkpoint``. Raises ValueError without a folder."""
        if self._folder is None:
            raise ValueError("--resume needs --output, the folder with the checkpoint")
        return read_checkpoint(self._folder / CHECKPOINT, training)

    def clear(self) -> None:
        """Remove what another training has left."""
        clean_output_dir(self._folder)
        self.remove_checkpoint()

    def save(self, nlp: Language, before_to_disk: Callable[[Language], Language]) -> None:
        """Write model-last."""
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            before_to_disk(nlp).to_disk(self._folder / DIR_MODEL_LAST)

    def keep(self) -> None:
        """Let model-last be model-best, too."""
        if self._folder is not None:
            best = self._folder / DIR_MODEL_BEST
            shutil.rmtree(best, ignore_errors=True)
            shutil.copytree(self._folder / DIR_MODEL_LAST, best)

    def write_checkpoint(
        self,
        trainers: Sequence[RemoteTrainer],
        evaluations: Sequence[Evaluation],
        training: Mapping[str, Any],
        strings: StringStore,
    ) -> None:
        """Write a checkpoint, if it is time to; see ``checkpoints.write_checkpoint``."""
        if self._folder is not None and time.monotonic() - self._last >= self._every:
            folder = self._folder / CHECKPOINT
            write_checkpoint(folder, trainers, evaluations, training, strings)
            self._last = time.monotonic()

    def remove_checkpoint(self) -> None:
        """Remove the checkpoint, if there is one."""
        if self._folder is not None:
            remove_folder(self._folder / CHECKPOINT)
