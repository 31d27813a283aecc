"""A component to save, for processes that are to start fast: it imports little."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from spacy_ssvm import storage

KIND = "test"
TYPES = {"values": np.float32, "rows": np.int64}
FILE = "model.safetensors"
ALIGNMENT = 64


def save(path: str | Path, number: int) -> None:
    """Save a component that holds a number in all its parts."""
    arrays = {
        "values": np.full(50_000, number, dtype=np.float32),
        "rows": np.full((3, 2), number, dtype=np.int64),
    }
    storage.save(path, KIND, {"cfg": {"number": number}, "model": [number]}, arrays)


def header_of(data: bytes) -> tuple[Any, bytes]:
    """The header of a saved component, and what comes after it."""
    end = 8 + int.from_bytes(data[:8], "little")
    return json.loads(data[8:end]), data[end:]


def with_header(header: Any, arrays: bytes = b"") -> bytes:
    """A saved component of this header, or of this text, with the checksum it should have."""
    if not isinstance(header, bytes):
        header = json.dumps(header, separators=(",", ":")).encode()
    header += b" " * (-(8 + len(header)) % ALIGNMENT)
    return storage._sealed(len(header).to_bytes(8, "little") + header) + arrays
