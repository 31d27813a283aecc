"""Saving while processes are killed, or load what is being saved."""

import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import srsly
from processes import ScriptRunner, contents
from saving import KIND, TYPES, save

from spacy_ssvm import storage
from spacy_ssvm.storage import ModelFileError

Saving = tuple[Path, "subprocess.Popen[str]"]

SAVE = """
import sys
from saving import save

number = 0
while True:
    number += 1
    save(sys.argv[1], number % 2)
    if number == 2:
        print("saving", flush=True)
"""


def load(path: Path) -> int:
    """The number of the saved component. All its parts must agree."""
    found = []

    def build(parts: storage.Header, arrays: storage.Arrays) -> None:
        found.extend([parts["cfg"]["number"], *parts["model"]])
        found.extend(int(value) for array in arrays.values() for value in np.unique(array))

    storage.load(path, KIND, ("cfg", "model"), TYPES, build)
    assert len(set(found)) == 1, found
    return int(found[0])


@pytest.fixture
def saving(tmp_path: Path, run_script: ScriptRunner) -> Iterator[Saving]:
    """A folder, and a process that saves into it again and again, 0 and 1 in turn."""
    process = run_script.start(SAVE, tmp_path / "saved")
    assert process.stdout is not None
    assert process.stdout.readline() == "saving\n"
    yield tmp_path / "saved", process
    process.kill()
    process.communicate()


def test_a_killed_save_leaves_the_old_component_or_the_new_one(
    tmp_path: Path, run_script: ScriptRunner
) -> None:
    path = tmp_path / "saved"
    save(path, 0)
    files = set(contents(path))
    draw = random.Random(0)
    for _ in range(8):
        process = run_script.start(SAVE, path)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(draw.uniform(0, 0.02))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert load(path) in (0, 1)
    save(path, 0)
    assert load(path) == 0
    assert set(contents(path)) == files, "what killed processes have left is gone"


def test_loads_while_another_process_saves(saving: Saving) -> None:
    path, process = saving
    found = {load(path) for _ in range(300)}
    assert found == {0, 1}
    assert process.poll() is None


@pytest.mark.parametrize("last", [0, 1])
def test_a_component_that_is_replaced_while_it_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: int
) -> None:
    """By another one, and perhaps by the first one again: then the header is the same."""
    save(tmp_path, 0)
    read_arrays = storage._read_arrays

    def read_late(*arguments: Any) -> storage.Arrays:
        monkeypatch.setattr(storage, "_read_arrays", read_arrays)
        save(tmp_path, 1)
        return read_arrays(*arguments)

    monkeypatch.setattr(storage, "_read_arrays", read_late)
    monkeypatch.setattr(storage.time, "sleep", lambda _: save(tmp_path, last))
    assert load(tmp_path) == last


def packed(message: Any) -> bytes:
    """Bytes with the checksum that they should have."""
    data = srsly.msgpack_dumps(message)
    return storage._MAGIC + storage._checksum_bytes(data) + data


def test_forged_bytes() -> None:
    arrays = {"values": np.zeros(4, dtype=np.float32)}
    data = storage.to_bytes(KIND, {"cfg": {}}, arrays)
    message = srsly.msgpack_loads(data[len(storage._MAGIC) + 4 :])
    assert packed(message) == data
    header, raw = message["header"], message["arrays"]
    described = {"shape": [4], "crc32": 0}

    def load_bytes(message: Any) -> None:
        types = {"values": np.float32}
        storage.from_bytes(packed(message), KIND, ("cfg",), types, lambda *_: None)

    load_bytes(message)
    with pytest.raises(ModelFileError, match=r"the bytes of 'test': saved in format 4.*newer"):
        load_bytes({"header": header | {"format": 4}, "arrays": raw})
    for forged in (
        None,
        3,
        "text",
        [],
        {},
        {"header": header},
        {"header": [], "arrays": raw},
        {"header": header | {"arrays": None}, "arrays": raw},
        {"header": header | {"arrays": {"values": described | {"shape": [5]}}}, "arrays": raw},
        {
            "header": header | {"arrays": {"values": described | {"shape": [2**62, 4]}}},
            "arrays": raw,
        },
        {"header": header | {"folder": ".."}, "arrays": raw},
        {"header": header, "arrays": {}},
        {"header": header, "arrays": {"values": "text"}},
        {"header": header, "arrays": {"values": b"123"}},
    ):
        with pytest.raises(ModelFileError, match="the bytes of 'test'"):
            load_bytes(forged)


def test_a_changed_setting_is_noticed(tmp_path: Path) -> None:
    save(tmp_path, 1)
    file = tmp_path / "model.json"
    header = file.read_text(encoding="utf8")
    for old, new in [
        ('"number": 1', '"number": 0'),
        ('"component": "test"', '"component": "tent"'),
    ]:
        file.write_text(header.replace(old, new), encoding="utf8")
        with pytest.raises(ModelFileError, match=r"model\.json: damaged, its checksum has changed"):
            load(tmp_path)


def test_two_processes_save_into_one_folder(saving: Saving, run_script: ScriptRunner) -> None:
    path, process = saving
    other = run_script.start(SAVE, path)
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "saving\n"
        for _ in range(30):
            load(path)
        assert process.poll() is other.poll() is None
    finally:
        other.kill()
        other.communicate()


def test_lasting_damage_is_reported(tmp_path: Path) -> None:
    save(tmp_path, 1)
    (file,) = tmp_path.glob("arrays-*/rows.npy")
    file.unlink()
    with pytest.raises(ModelFileError, match=r"rows\.npy: missing, truncated or damaged"):
        load(tmp_path)


def test_a_damaged_array_is_written_anew(tmp_path: Path) -> None:
    save(tmp_path, 1)
    (file,) = tmp_path.glob("arrays-*/rows.npy")
    file.write_bytes(b"")
    save(tmp_path, 1)
    assert load(tmp_path) == 1


def test_arrays_that_are_there_are_not_written_again(tmp_path: Path) -> None:
    save(tmp_path, 1)
    (file,) = tmp_path.glob("arrays-*/rows.npy")
    written = file.stat().st_mtime_ns
    save(tmp_path, 1)
    assert file.stat().st_mtime_ns == written
