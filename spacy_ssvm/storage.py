"""Saved models: a header and arrays, in a folder or as bytes.

A folder holds ``model.json`` (format version, what the model says of itself, and shape and
checksum of each array) and ``arrays-<checksum>/*.npy``, which open memory-mapped. The arrays
are written beside the old ones, and ``model.json`` is moved into place last: an interrupted
write leaves the old model whole.
"""

import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import srsly

FORMAT_VERSION = 1
_HEADER = "model.json"

Header = dict[str, Any]
Arrays = dict[str, np.ndarray]
Types = Mapping[str, type]

#: Makes a model of what was saved. May raise KeyError or TypeError for a broken header.
Build = Callable[[Header, Arrays], None]


class ModelFileError(ValueError):
    """A saved model that cannot be read."""


def save(path: str | Path, header: Header, arrays: Arrays) -> None:
    """Save into a folder, which is made where there is none."""
    path = Path(path)
    path.mkdir(parents=True, exist_ok=True)
    checksums = {name: zlib.crc32(array.tobytes()) for name, array in arrays.items()}
    folder = f"arrays-{zlib.crc32(srsly.json_dumps(checksums, sort_keys=True).encode()):08x}"
    header = header | {
        "format": FORMAT_VERSION,
        "folder": folder,
        "arrays": {
            name: {"shape": list(array.shape), "crc32": checksums[name]}
            for name, array in arrays.items()
        },
    }
    types = {name: array.dtype.type for name, array in arrays.items()}
    beside = Path(tempfile.mkdtemp(prefix=".writing-", dir=path))
    new_header = path / f"{beside.name}.json"
    try:
        for name, array in arrays.items():
            np.save(beside / f"{name}.npy", array, allow_pickle=False)
        (beside / _HEADER).write_text(srsly.json_dumps(header, indent=1), encoding="utf8")
        os.replace(beside / _HEADER, new_header)
        beside.chmod(0o755)
        if not _holds_arrays(path / folder, header, types):
            shutil.rmtree(path / folder, ignore_errors=True)
            os.replace(beside, path / folder)
        os.replace(new_header, path / _HEADER)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
        new_header.unlink(missing_ok=True)
    for old in path.glob("arrays-*"):
        if old.name != folder:
            shutil.rmtree(old, ignore_errors=True)


def load(path: str | Path, types: Types, build: Build) -> None:
    """Load from a folder. Raises ModelFileError, naming the file, where that fails.

    types: the arrays that the model has, with their types.
    """
    path = Path(path)
    file = path / _HEADER
    try:
        header = srsly.json_loads(file.read_text(encoding="utf8"))
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{file}: cannot be read as the header of a model") from error
    _check_version(header, str(file))
    try:
        build(header, _read_arrays(path / header["folder"], header, types))
    except (KeyError, TypeError) as error:
        raise ModelFileError(f"{file}: the header of the model is not whole: {error}") from error


def to_bytes(header: Header, arrays: Arrays) -> bytes:
    """The model as MessagePack."""
    shapes = {name: {"shape": list(array.shape)} for name, array in arrays.items()}
    header = header | {"format": FORMAT_VERSION, "arrays": shapes}
    raw = {name: array.tobytes() for name, array in arrays.items()}
    result: bytes = srsly.msgpack_dumps({"header": header, "arrays": raw})
    return result


def from_bytes(data: bytes, types: Types, build: Build) -> None:
    """Load what ``to_bytes`` made. Raises ModelFileError where that fails."""
    try:
        message = srsly.msgpack_loads(data)
        header, raw = message["header"], message["arrays"]
    except (ValueError, TypeError, KeyError) as error:
        raise ModelFileError("the bytes are not those of a model") from error
    _check_version(header, "the bytes of the model")
    try:
        arrays = {
            name: np.frombuffer(raw[name], dtype).reshape(header["arrays"][name]["shape"]).copy()
            for name, dtype in types.items()
        }
        build(header, arrays)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"the bytes are not those of a whole model: {error}") from error


def _check_version(header: Any, source: str) -> None:
    version = header.get("format") if isinstance(header, dict) else None
    if not isinstance(version, int):
        raise ModelFileError(f"{source}: not the header of a model")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{source}: saved in format {version}, but this spacy_ssvm reads formats up to "
            f"{FORMAT_VERSION}: install a newer spacy_ssvm"
        )


def _read_arrays(folder: Path, header: Header, types: Types) -> Arrays:
    arrays = {}
    for name, dtype in types.items():
        file = folder / f"{name}.npy"
        # Copy-on-write: mapped, but of the same type as arrays in memory. An empty array
        # cannot be mapped.
        mode: Any = None if 0 in header["arrays"][name]["shape"] else "c"
        try:
            array = np.asarray(np.load(file, mmap_mode=mode, allow_pickle=False))
        except (OSError, ValueError, EOFError) as error:
            raise ModelFileError(f"{file}: missing, truncated or damaged") from error
        arrays[name] = _checked(array, header["arrays"][name], dtype, str(file))
    return arrays


def _holds_arrays(folder: Path, header: Header, types: Types) -> bool:
    try:
        _read_arrays(folder, header, types)
    except ModelFileError:
        return False
    return True


def _checked(array: np.ndarray, expected: Header, dtype: type, source: str) -> np.ndarray:
    if array.dtype != dtype or list(array.shape) != expected["shape"]:
        raise ModelFileError(f"{source}: holds {array.dtype} {array.shape}, not what was saved")
    if zlib.crc32(array.data if array.size else b"") != expected["crc32"]:
        raise ModelFileError(f"{source}: damaged, its checksum has changed")
    return array
