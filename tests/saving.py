"""A component to save, for processes that are to start fast: it imports little."""

from pathlib import Path

import numpy as np

from spacy_ssvm import storage

KIND = "test"
TYPES = {"values": np.float32, "rows": np.int64}


def save(path: str | Path, number: int) -> None:
    """Save a component that holds a number in all its parts."""
    arrays = {
        "values": np.full(50_000, number, dtype=np.float32),
        "rows": np.full((3, 2), number, dtype=np.int64),
    }
    storage.save(path, KIND, {"cfg": {"number": number}, "model": [number]}, arrays)
