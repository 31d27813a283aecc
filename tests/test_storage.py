"""What is read from a damaged or forged file is refused, or does no harm."""

import json
import random
import shutil
import signal
import subprocess
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from marks import compiled_only
from pipelines import TAGGER
from processes import ScriptRunner, contents
from refusals import NAME, refusal
from saving import ALIGNMENT, FILE, KIND, TYPES, header_of, save, with_header
from spacy.language import Language
from spacy.vocab import Vocab

from spacy_ssvm import storage
from spacy_ssvm.components.columns import make_doc as make_column_doc
from spacy_ssvm.components.columns import read_sentences
from spacy_ssvm.features.clusters import read_clusters
from spacy_ssvm.features.gazetteers import read_gazetteers
from spacy_ssvm.features.templates import parse_templates
from spacy_ssvm.files import shorten
from spacy_ssvm.storage import ModelFileError
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


def refused(data: Any) -> str:
    """The message where these are the bytes of a component."""
    message = refusal(lambda: load_small(data), ModelFileError)
    assert "the bytes of 'test'" in message
    assert len(message) < 500
    return message


def test_an_undamaged_copy_loads(folder: Path) -> None:
    nlp = spacy.load(folder.parent)
    assert TAGGER.annotate(nlp) == TAGGER.gold()


def small() -> storage.Arrays:
    return {
        "flags": np.array([True, False, True]),
        "values": np.arange(6, dtype=np.float32).reshape(2, 3),
        "rows": np.arange(3),
        "none": np.zeros((0, 4), dtype=np.uint16),
        "number": np.array(7, dtype=np.int8),
    }


SMALL_TYPES = {name: array.dtype.type for name, array in small().items()}


def small_bytes() -> bytes:
    return storage.to_bytes(KIND, {"cfg": {"number": 1}, "model": ["ü"]}, small())


def load_small(data: bytes) -> storage.Arrays:
    found: storage.Arrays = {}
    storage.from_bytes(
        data, KIND, ("cfg", "model"), SMALL_TYPES, lambda _, arrays: found.update(arrays)
    )
    return found


def same(one: storage.Arrays, other: storage.Arrays) -> bool:
    return one.keys() == other.keys() and all(
        one[name].dtype == other[name].dtype
        and one[name].shape == other[name].shape
        and one[name].tobytes() == other[name].tobytes()
        for name in one
    )


EVERY_TYPE: storage.Arrays = {
    str(dtype): np.arange(5).astype(dtype).reshape(shape)
    for dtype, shape in zip(
        ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"],
        [(5,), (1, 5), (5, 1), (5, 1, 1)] * 3,
        strict=True,
    )
}


@pytest.mark.parametrize("mapped", [True, False], ids=["mapped", "read"])
@pytest.mark.parametrize("arrays", [small(), EVERY_TYPE, {}], ids=["small", "types", "none"])
def test_arrays_are_what_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arrays: storage.Arrays, mapped: bool
) -> None:
    monkeypatch.setattr(storage, "_CAN_MAP", mapped)
    parts = {"cfg": {}, "model": [float("inf"), "ü", None]}
    types = {name: array.dtype.type for name, array in arrays.items()}
    storage.save(tmp_path, KIND, parts, arrays)
    data = (tmp_path / FILE).read_bytes()
    assert data == storage.to_bytes(KIND, parts, arrays)
    assert (len(data) - len(header_of(data)[1])) % ALIGNMENT == 0
    found: list[tuple[Any, storage.Arrays]] = []
    storage.load(tmp_path, KIND, ("cfg",), types, lambda *parts: found.append(parts))
    storage.from_bytes(data, KIND, ("cfg",), types, lambda *parts: found.append(parts))
    for found_parts, found_arrays in found:
        assert found_parts == parts
        assert same(found_arrays, arrays)
        for array in found_arrays.values():
            assert type(array) is np.ndarray
            flags = array.flags
            assert flags.c_contiguous and flags.aligned and flags.writeable  # noqa: PT018
            array[...] = 1
    assert (tmp_path / FILE).read_bytes() == data, "what is written to arrays is not saved"


def test_arrays_in_another_order_are_saved_in_c_order() -> None:
    arrays = {"values": np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))}
    assert same(
        load_small(storage.to_bytes(KIND, {"cfg": 0, "model": 0}, small() | arrays)), small()
    )


@pytest.mark.parametrize("array", [np.array([{"any": "object"}]), np.zeros(1, dtype=">f4")])
def test_arrays_that_are_no_plain_numbers_are_not_saved(tmp_path: Path, array: np.ndarray) -> None:
    with pytest.raises((KeyError, TypeError)):
        storage.save(tmp_path, KIND, {}, {"values": array})
    assert list(tmp_path.iterdir()) == []


def test_safetensors_reads_saved_components(folder: Path, tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors")
    read = pytest.importorskip("safetensors.numpy")
    assert same(read.load(small_bytes()), small())
    storage.save(tmp_path, KIND, {}, EVERY_TYPE)
    assert same(read.load_file(tmp_path / FILE), EVERY_TYPE)
    tagger: Any = spacy.load(folder.parent).get_pipe(NAME)
    assert same(read.load_file(folder / FILE), tagger.model.arrays())
    with safetensors.safe_open(folder / FILE, "numpy") as opened:
        assert opened.metadata()["component"] == tagger.kind


def test_truncated_files_and_bytes(folder: Path) -> None:
    file = folder / FILE
    data = file.read_bytes()
    header, arrays = header_of(data)
    start = len(data) - len(arrays)
    ends = {
        start + end for name in header if name[0] != "_" for end in header[name]["data_offsets"]
    }
    tagger: Any = TAGGER.pipeline().get_pipe(NAME)
    for place in {0, 1, 7, 8, 9, 30, 55, 100, start // 2, *ends, *(end - 1 for end in ends)}:
        if place < len(data):
            file.write_bytes(data[:place])
            assert str(file) in refused_load(folder)
            refusal(lambda place=place: tagger.from_bytes(data[:place]), ModelFileError)
    for more in (b"\0", b" ", arrays):
        file.write_bytes(data + more)
        assert "does not end after its last array" in refused_load(folder)
    file.write_bytes(data)
    assert TAGGER.annotate(spacy.load(folder.parent)) == TAGGER.gold()


def test_a_changed_bit_anywhere() -> None:
    data = bytearray(small_bytes())
    assert b"  " in data, "there is padding"
    for place in range(len(data)):
        for bit in range(8):
            data[place] ^= 1 << bit
            refused(bytes(data))
            data[place] ^= 1 << bit
    assert same(load_small(bytes(data)), small())


def test_a_changed_bit_in_each_array_of_a_file(folder: Path) -> None:
    file = folder / FILE
    data = bytearray(file.read_bytes())
    header, arrays = header_of(bytes(data))
    header.pop("__metadata__")
    for name, described in header.items():
        begin, end = (len(data) - len(arrays) + place for place in described["data_offsets"])
        for place in {begin, (begin + end) // 2, end - 1} if begin < end else ():
            data[place] ^= 1
            file.write_bytes(bytes(data))
            message = refused_load(folder)
            assert str(file) in message
            assert f"the checksum of the array '{name}' has changed" in message
            data[place] ^= 1


def test_a_missing_or_empty_file(folder: Path) -> None:
    file = folder / FILE
    file.unlink()
    message = refused_load(folder)
    assert str(file) in message
    assert "No such file" in message
    file.write_bytes(b"")
    assert str(file) in refused_load(folder)
    file.unlink()
    file.mkdir()
    assert str(file) in refused_load(folder)


DEEP = "[" * 200_000


def forged(**changes: Any) -> bytes:
    """The small component with other descriptions of arrays or metadata, None for what to omit."""
    header, arrays = header_of(small_bytes())
    for name, change in changes.items():
        described = header.setdefault(name.replace("metadata", "__metadata__"), {})
        if isinstance(change, dict):
            described.update(change)
            for key in [key for key, value in described.items() if value is None]:
                del described[key]
        elif change is None:
            del header[name]
        else:
            header[name.replace("metadata", "__metadata__")] = change
    return with_header(header, arrays)


def test_forged_descriptions_of_arrays() -> None:
    assert same(load_small(forged()), small())
    header, arrays = header_of(small_bytes())
    begin, end = header["values"]["data_offsets"]
    size = end - begin
    assert size == 24
    for change, message in [
        ({"dtype": "F64"}, "is in no such place"),
        ({"dtype": "I32"}, "lacks 'values' of type float32"),
        ({"dtype": "F32 "}, "KeyError"),
        ({"dtype": "F8_E5M2"}, "KeyError"),
        ({"dtype": 3}, "KeyError"),
        ({"dtype": []}, "TypeError"),
        ({"dtype": None}, "KeyError"),
        ({"shape": None}, "KeyError"),
        ({"shape": [5]}, "no such place"),
        ({"shape": [7]}, "no such place"),
        ({"shape": [-2, -3]}, "no such shape"),
        ({"shape": [2.0, 3.0]}, "no such shape"),
        ({"shape": [True, 6]}, "no such shape"),
        ({"shape": ["6"]}, "no such shape"),
        ({"shape": "6"}, "no such shape"),
        ({"shape": {}}, "no such place"),
        ({"shape": 6}, "TypeError"),
        ({"shape": [2**62, 4]}, "no such place"),
        ({"shape": [2**64 + 6]}, "no such place"),
        ({"shape": [0, 2**70], "data_offsets": [begin, begin]}, ""),
        ({"shape": [1] * 33 + [6]}, "no such shape"),
        ({"shape": [2**60] * 100_000}, "no such shape"),
        ({"data_offsets": None}, "KeyError"),
        ({"data_offsets": [begin]}, "no such place"),
        ({"data_offsets": "text"}, "no such place"),
        ({"data_offsets": [begin - 8, end - 8]}, "no such place"),  # overlapping
        ({"data_offsets": [begin + 4, end + 4]}, "no such place"),  # with a hole
        ({"data_offsets": [begin, end + 4]}, "no such place"),
        ({"data_offsets": [begin + 2**63, end + 2**63]}, "no such place"),
        ({"data_offsets": [-size, 0]}, "no such place"),
        ("text", "TypeError"),
        ([], "TypeError"),
    ]:
        assert message in refused(forged(values=change)), change
    last = {"dtype": "U8", "shape": [2**40], "data_offsets": [len(arrays), len(arrays) + 2**40]}
    assert "no such place" in refused(forged(more=last)), "out of bounds"
    last = {"dtype": "U8", "shape": [0], "data_offsets": [len(arrays), len(arrays)]}
    assert "KeyError" in refused(forged(more=last)), "no checksum"
    assert "no such place" in refused(forged(rows=None))
    assert "does not end after its last array" in refused(forged(number=None))
    assert "lacks 'none' of type uint16" in refused(forged(none=None))


def test_an_array_that_is_not_aligned() -> None:
    contents = b"\1" + bytes(8)
    checksums = {"one": zlib.crc32(b"\1"), "rows": zlib.crc32(bytes(8))}
    header, _ = header_of(small_bytes())
    header = {
        "__metadata__": header["__metadata__"] | {"crc32": json.dumps(checksums)},
        "one": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
        "rows": {"dtype": "I64", "shape": [1], "data_offsets": [1, 9]},
    }
    assert "'rows' is in no such place" in refused(with_header(header, contents))


def test_truth_values_are_0_or_1() -> None:
    header, arrays = header_of(small_bytes())
    begin, end = header["flags"]["data_offsets"]
    contents = bytes([1, 7, 0])
    checksums = json.loads(header["__metadata__"]["crc32"]) | {"flags": zlib.crc32(contents)}
    header["__metadata__"]["crc32"] = json.dumps(checksums)
    message = refused(with_header(header, arrays[:begin] + contents + arrays[end:]))
    assert "'flags' holds other things than True and False" in message


def test_forged_metadata() -> None:
    checksums = header_of(small_bytes())[0]["__metadata__"]["crc32"]
    for change, message in [
        ({"component": "tent"}, "holds 'tent', not 'test'"),
        ({"component": ["x" * 1000]}, "holds '['xxx"),
        ({"component": None}, "KeyError"),
        ({"parts": None}, "KeyError"),
        ({"parts": {}}, "TypeError"),
        ({"parts": "[]"}, "its parts have no names"),
        ({"parts": "{"}, "Expecting"),
        ({"parts": DEEP}, "RecursionError"),
        ({"parts": '{"cfg": 0}'}, "saved without its model; load it with exclude=['model']"),
        ({"crc32": None}, "KeyError"),
        ({"crc32": "{}"}, "KeyError"),
        ({"crc32": "[]"}, "TypeError"),
        ({"crc32": checksums.replace(": ", ': "')[:-1] + '"}'}, ""),
        ({"crc32": DEEP}, "RecursionError"),
    ]:
        assert message in refused(forged(metadata=change)), change
    refused(forged(metadata={"checksum": None}))
    refused(forged(metadata={"format": None}))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"not json",
        b'"text"',
        b"[]",
        b"{}",
        b"null",
        b"3",
        b"\xff\xfe\0{}",
        DEEP.encode(),
    ],
)
def test_a_header_that_is_none(tmp_path: Path, text: bytes) -> None:
    begin = storage._BEGINNING.encode() + b"00000000"
    for header in (text, begin + text, begin + b'"}' + text):
        assert "damaged" in refused(len(header).to_bytes(8, "little") + header)
        message = refused(with_header(header))
        (tmp_path / FILE).write_bytes(with_header(header))
        assert str(tmp_path / FILE) in refusal(lambda: load(tmp_path), ModelFileError)
        assert message


def test_the_length_of_the_header(monkeypatch: pytest.MonkeyPatch) -> None:
    data = small_bytes()
    length = int.from_bytes(data[:8], "little")
    for wrong in (0, 1, length - 1, length + 1, length + 64, 10**8 + 1, 2**62, 2**63, 2**64 - 1):
        refused(wrong.to_bytes(8, "little") + data[8:])
    monkeypatch.setattr(storage, "_MAX_HEADER", length - 1)
    assert "its header is cut off" in refused(data)
    with pytest.raises(ValueError, match="the settings and labels of 'test' are too large to save"):
        small_bytes()


def test_a_newer_format_may_look_quite_different(folder: Path) -> None:
    file = folder / FILE
    data = file.read_bytes()
    file.write_bytes(data.replace(b'"format":"10"', b'"format":"99"'))
    message = refused_load(folder)
    assert str(file) in message
    assert "saved in format 99, but this spacy_ssvm reads format 10" in message
    assert "install a newer spacy_ssvm" in message
    file.write_bytes(data[:8] + b'{"__metadata__":{"format":"99"')
    assert "install a newer spacy_ssvm" in refused_load(folder)


OLDER = "saved in format {}, but this spacy_ssvm reads format 10: train it again, or install the"


def write_older(folder: Path, version: int = 4) -> None:
    """What is left of a component of an older format."""
    (folder / "arrays-0123abcd").mkdir(parents=True)
    (folder / "arrays-0123abcd" / "weights.npy").touch()
    header = {"format": version, "component": KIND, "parts": {}, "arrays": {}}
    (folder / "model.json").write_text(json.dumps(header, indent=1), encoding="utf8")


@pytest.mark.parametrize("version", [3, 4])
def test_older_folders_are_refused(tmp_path: Path, version: int) -> None:
    write_older(tmp_path, version)
    message = refusal(lambda: load(tmp_path), ModelFileError)
    assert f"{tmp_path / 'model.json'}: {OLDER.format(version)}" in message
    (tmp_path / "model.json").write_text("", encoding="utf8")
    assert str(tmp_path / "model.json") in refusal(lambda: load(tmp_path), ModelFileError)


def test_older_bytes_are_refused() -> None:
    assert OLDER.format(4) in refused(b"spacy_ssvm component\n1234\x82\xa6header")


def test_an_older_folder_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_older(tmp_path)
    with pytest.raises(ModelFileError, match="not saved: wrong"):
        storage.save(tmp_path, KIND, {}, {}, lambda *_: storage.require(False, "wrong"))
    assert OLDER.format(4) in refusal(lambda: load(tmp_path), ModelFileError)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", interrupt)
        with pytest.raises(KeyboardInterrupt):
            save(tmp_path, 0)
    assert load(tmp_path) == 0, "the new one is there before the old one goes"
    save(tmp_path, 1)
    assert list(contents(tmp_path)) == [FILE]
    assert load(tmp_path) == 1


def interrupt(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


def test_a_damaged_model_leaves_the_component_as_it_was(
    trained_tagger: Language, folder: Path
) -> None:
    file = folder / FILE
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


def test_a_component_that_is_replaced_while_it_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path, 0)
    decode = storage._decode

    def decode_late(data: np.ndarray) -> Any:
        monkeypatch.setattr(storage, "_decode", decode)
        save(tmp_path, 1)
        return decode(data)

    monkeypatch.setattr(storage, "_decode", decode_late)
    assert load(tmp_path) == 0
    assert load(tmp_path) == 1


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


def test_a_damaged_component_is_replaced(tmp_path: Path) -> None:
    save(tmp_path, 1)
    (tmp_path / FILE).write_bytes(b"")
    save(tmp_path, 1)
    assert load(tmp_path) == 1
