"""What is read from a damaged or forged file is refused, or does no harm."""

import json
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
import srsly
from marks import compiled_only
from pipelines import TAGGER
from processes import ScriptRunner, contents
from refusals import NAME, refusal
from saving import KIND, TYPES, save
from spacy.language import Language
from spacy.vocab import Vocab

from spacy_ssvm import storage
from spacy_ssvm.components.columns import make_doc as make_column_doc
from spacy_ssvm.components.columns import read_sentences
from spacy_ssvm.features.clusters import read_clusters
from spacy_ssvm.features.gazetteers import read_gazetteers
from spacy_ssvm.features.templates import parse_templates
from spacy_ssvm.storage import ModelFileError, _json_checksum, shorten
from spacy_ssvm.trees.families import ARC_FAMILIES
from spacy_ssvm.trees.templates import ARC_ROLES, parse_arc_templates


@pytest.fixture(scope="module")
def saved(trained_tagger: Language, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "pipeline"
    trained_tagger.to_disk(path)
    return path


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """The saved component, for the test to damage; the pipeline is its parent."""
    shutil.copytree(saved, tmp_path / "pipeline")
    return tmp_path / "pipeline" / NAME


def refused_load(folder: Path) -> str:
    return refusal(lambda: spacy.load(folder.parent), ModelFileError)


def write_header(folder: Path, header: dict[str, Any]) -> None:
    """Write a header with the checksum that it should have."""
    header = {name: value for name, value in header.items() if name != "checksum"}
    header["checksum"] = _json_checksum(header)
    (folder / "model.json").write_text(json.dumps(header), encoding="utf8")


def array_files(folder: Path) -> list[Path]:
    files = sorted(folder.glob("arrays-*/*.npy"))
    assert files
    return files


def array_file(folder: Path, name: str) -> Path:
    (file,) = folder.glob(f"arrays-*/{name}.npy")
    return file


def test_an_undamaged_copy_loads(folder: Path) -> None:
    nlp = spacy.load(folder.parent)
    assert TAGGER.annotate(nlp) == TAGGER.gold()


@pytest.mark.slow
@pytest.mark.parametrize("part", [0.0, 0.01, 0.5, 0.99])
def test_truncated_arrays(folder: Path, part: float) -> None:
    for file in array_files(folder):
        data = file.read_bytes()
        file.write_bytes(data[: int(part * len(data))])
        assert str(file) in refused_load(folder)
        file.write_bytes(data)


def test_missing_arrays(folder: Path) -> None:
    for file in array_files(folder):
        data = file.read_bytes()
        file.unlink()
        message = refused_load(folder)
        assert str(file) in message
        assert "missing, truncated or damaged" in message
        file.write_bytes(data)


def test_a_changed_bit_anywhere(folder: Path) -> None:
    for file in array_files(folder):
        data = bytearray(file.read_bytes())
        for place in (-1, len(data) // 2 if len(data) > 256 else -1):
            if len(data) > 128:  # an array with values behind its header
                data[place] ^= 1
                file.write_bytes(bytes(data))
                message = refused_load(folder)
                assert str(file) in message
                assert "damaged, its checksum has changed" in message
                data[place] ^= 1
        file.write_bytes(bytes(data))
    assert TAGGER.annotate(spacy.load(folder.parent)) == TAGGER.gold()


def test_bytes_that_are_no_array(folder: Path) -> None:
    file = array_file(folder, "weights")
    file.write_bytes(b"not what numpy writes")
    assert str(file) in refused_load(folder)


def test_an_array_of_another_type_or_shape(folder: Path) -> None:
    file = array_file(folder, "weights")
    weights = np.load(file)
    for other in (weights.astype(np.float64), weights[:-1]):
        np.save(file, other)
        message = refused_load(folder)
        assert str(file) in message
        assert "not what was saved" in message


def test_an_array_of_python_objects_is_not_unpickled(folder: Path) -> None:
    file = array_file(folder, "weights")
    np.save(file, np.array([{"any": "object"}], dtype=object), allow_pickle=True)
    assert str(file) in refused_load(folder)


@pytest.mark.parametrize("text", ["", "{", "not json", '"text"', "[]", "{}", "null", "3"])
def test_a_header_that_is_none(folder: Path, text: str) -> None:
    (folder / "model.json").write_text(text, encoding="utf8")
    message = refused_load(folder)
    assert str(folder / "model.json") in message
    assert "header of a model" in message


def test_a_header_with_bytes_that_are_no_text(folder: Path) -> None:
    (folder / "model.json").write_bytes(b"\xff\xfe\x00{}")
    assert str(folder / "model.json") in refused_load(folder)


def test_a_missing_header(folder: Path) -> None:
    (folder / "model.json").unlink()
    assert str(folder / "model.json") in refused_load(folder)


def test_a_header_that_lacks_a_part(folder: Path) -> None:
    file = folder / "model.json"
    header = json.loads(file.read_text(encoding="utf8"))
    for key in header:
        write_header(folder, {name: value for name, value in header.items() if name != key})
        if key == "checksum":
            assert TAGGER.annotate(spacy.load(folder.parent)) == TAGGER.gold()
        else:
            assert str(file) in refused_load(folder), key
    for key in header["arrays"]:
        less = {name: value for name, value in header["arrays"].items() if name != key}
        write_header(folder, {**header, "arrays": less})
        assert key in refused_load(folder), key


def test_a_model_of_a_newer_format(folder: Path) -> None:
    file = folder / "model.json"
    header = json.loads(file.read_text(encoding="utf8"))
    newer = header["format"] + 1
    file.write_text(json.dumps({**header, "format": newer}), encoding="utf8")
    message = refused_load(folder)
    assert str(file) in message
    assert f"saved in format {newer}" in message
    assert "install a newer spacy_ssvm" in message


def test_a_newer_format_may_look_quite_different(folder: Path) -> None:
    (folder / "model.json").write_text('{"format": 99}', encoding="utf8")
    assert "install a newer spacy_ssvm" in refused_load(folder)


def test_a_damaged_model_leaves_the_component_as_it_was(
    trained_tagger: Language, folder: Path
) -> None:
    file = array_file(folder, "weights")
    file.write_bytes(file.read_bytes()[:-4])
    tagger: Any = trained_tagger.get_pipe(NAME)
    nlp = TAGGER.pipeline()
    other: Any = nlp.get_pipe(NAME).from_bytes(tagger.to_bytes())
    refusal(lambda: other.from_disk(folder, exclude=["vocab"]), ModelFileError)
    assert TAGGER.annotate(nlp) == TAGGER.gold()


@pytest.mark.parametrize("data", [b"", b"nonsense", b"\x80", b"\x93\x01\x02\x03", b"\xa4text"])
def test_bytes_that_are_no_model(trained_tagger: Language, data: bytes) -> None:
    model: Any = TAGGER.pipeline().get_pipe(NAME).model
    message = refusal(lambda: model.from_bytes(data), ModelFileError)
    assert "the bytes" in message


def test_truncated_bytes_of_a_model(trained_tagger: Language) -> None:
    source: Any = trained_tagger.get_pipe(NAME)
    data = source.model.to_bytes()
    model: Any = TAGGER.pipeline().get_pipe(NAME).model
    for part in (0.1, 0.5, 0.99):
        refusal(lambda part=part: model.from_bytes(data[: int(part * len(data))]), ModelFileError)


RUN = "import sys; from model_fuzz import run; run(int(sys.argv[1]), int(sys.argv[2]))"


CASES, BATCH = 2000, 500


@pytest.mark.slow
@compiled_only
def test_no_damage_crashes_hangs_or_changes_what_is_annotated(run_script: ScriptRunner) -> None:
    counts: Counter[str] = Counter()
    for first in range(0, CASES, BATCH):
        counts += Counter(json.loads(run_script(RUN, first, first + BATCH)))
    assert counts.total() == CASES
    assert counts["refused"] > 0.8 * CASES
    assert counts["same"] > 0
    assert counts["other"] > 0, "forged weights are weights: they are used"


LONG = "x" * 2_000_000


@pytest.mark.parametrize("length", [0, 1, 59, 60])
def test_short_texts_stay_as_they_are(length: int) -> None:
    assert shorten("x" * length) == "x" * length


@pytest.mark.parametrize("length", [61, 1000])
def test_long_texts_end_in_dots(length: int) -> None:
    assert shorten("xy" * length) == ("xy" * 30)[:57] + "..."


def read_columns(file: Path, **columns: int) -> None:
    for sentence in read_sentences(file):
        make_column_doc(Vocab(), file, sentence, **{"word": 0, "span": -1, **columns})


def read_templates(file: Path) -> None:
    parse_templates([file.read_text("utf8")], is_attribute=lambda name: False, attributes=["a"])


def read_arc_templates(file: Path) -> None:
    parse_arc_templates(
        [file.read_text("utf8")],
        families=ARC_FAMILIES,
        roles=ARC_ROLES,
        is_attribute=lambda name: False,
        attributes=["a"],
    )


@pytest.mark.parametrize(("text", "read"), [
    (LONG, read_clusters),
    (f"word {LONG}", read_columns),
    (f"{LONG} O", lambda file: read_columns(file, word=7)),
    (f'{{"label": "{LONG}", "pattern": 3}}', lambda f: read_gazetteers({"X": f}, lambda _: [])),
    (LONG, lambda file: read_gazetteers({"X": file}, lambda _: [])),
    (LONG, read_templates),
    (f"{LONG}[0]", read_templates),
    (f"{LONG}[0]+lower[99]", read_templates),
    (f"ngrams({LONG}, 9, 1)", read_templates),
    (LONG, read_arc_templates),
    (f"head.{LONG}", read_arc_templates),
])  # fmt: skip
def test_messages_do_not_repeat_long_lines(
    tmp_path: Path, text: str, read: Callable[[Path], object]
) -> None:
    file = tmp_path / "file.jsonl"
    file.write_text(text, encoding="utf8")
    with pytest.raises(ValueError, match=r"x{20}|line 1") as caught:
        read(file)
    assert len(str(caught.value)) < 1000


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
    newer = storage.FORMAT_VERSION + 1
    message = f"the bytes of 'test': saved in format {newer}.*newer"
    with pytest.raises(ModelFileError, match=message):
        load_bytes({"header": header | {"format": newer}, "arrays": raw})
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
