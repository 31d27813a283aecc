"""Files of URLs are copied when they are needed, each whole."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from thinc.config import Config

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")

from spacy_ssvm.distributed.remote_files import (  # noqa: E402
    RemoteFiles,
    find_urls,
    is_url,
    with_local_files,
    with_urls_of,
)

FILES = {"b.spacy": b"of b", "a/c.spacy": b"of c", "a-d.txt": b"of d"}
HIDDEN = {".hidden": b"hidden", ".of/others/e.spacy": b"hidden"}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def memory() -> Iterator[Any]:
    """The file system memory://, with files in bucket/corpus."""
    system = fsspec.filesystem("memory")
    for name, content in (FILES | HIDDEN).items():
        system.pipe(f"/bucket/corpus/{name}", content)
    yield system
    system.store.clear()


def contents(files: RemoteFiles) -> dict[str, bytes]:
    folder = files.path if files.path.is_dir() else files.path.parent
    return {str(file.relative_to(folder)): file.read_bytes() for file in files.files}


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize(
    ("url", "names"),
    [
        ("memory://bucket/corpus", ["a/c.spacy", "a-d.txt", "b.spacy"]),
        ("memory://bucket/corpus/", ["a/c.spacy", "a-d.txt", "b.spacy"]),
        ("memory://bucket/corpus/**/*.spacy", ["a/c.spacy", "b.spacy"]),
        ("memory://bucket/corpus/*", ["a-d.txt", "b.spacy"]),
        ("memory://bucket/corpus/a", ["c.spacy"]),
        ("memory://bucket/corpus/.of", ["others/e.spacy"]),
        ("memory://bucket/corpus/[b]*", ["b.spacy"]),
    ],
)
def test_a_folder_or_a_pattern_has_files(url: str, names: list[str]) -> None:
    files = RemoteFiles(url)
    assert not files.path.exists()
    assert files.fetch_all() == files.path
    assert [str(file.relative_to(files.path)) for file in files.files] == names
    assert list(files.files) == sorted(files.files), "as readers of folders read them"
    everything = {**FILES, "c.spacy": b"of c", "others/e.spacy": b"hidden"}
    expected = {name: everything[name] for name in names}
    assert contents(files) == expected
    assert {str(f.relative_to(files.path)) for f in files.path.rglob("*") if f.is_file()} == {
        *names
    }


@pytest.mark.usefixtures("memory")
def test_a_file_is_a_file(cache: Path) -> None:
    path = RemoteFiles("memory://bucket/corpus/b.spacy").fetch_all()
    assert path.name == "b.spacy"
    assert path.read_bytes() == b"of b"
    assert path.is_relative_to(cache)


def test_files_are_copied_once(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    copied, get_file = [], memory.get_file

    def count(remote: str, local: str) -> None:
        copied.append(remote)
        get_file(remote, local)

    monkeypatch.setattr(type(memory), "get_file", lambda _, remote, local: count(remote, local))
    files = RemoteFiles("memory://bucket/corpus/**/*.spacy")
    first, second = files.files
    files.fetch(second)
    assert copied == ["/bucket/corpus/b.spacy"]
    assert not first.exists()
    RemoteFiles("memory://bucket/corpus/**/*.spacy").fetch_all()
    files.fetch_all()
    assert sorted(copied) == ["/bucket/corpus/a/c.spacy", "/bucket/corpus/b.spacy"]


def test_a_copy_is_whole_or_not_there(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_off(_: Any, remote: str, local: str) -> None:
        Path(local).write_bytes(b"o")
        raise ConnectionError("connection lost")

    files = RemoteFiles("memory://bucket/corpus/b.spacy")
    with monkeypatch.context() as patch:
        patch.setattr(type(memory), "get_file", break_off)
        with pytest.raises(ValueError, match=r"memory://bucket/corpus/b\.spacy: connection lost"):
            files.fetch_all()
    assert not list(files.path.parent.iterdir())
    assert files.fetch_all().read_bytes() == b"of b"


def test_other_files_have_another_folder(memory: Any) -> None:
    url = "memory://bucket/corpus/**/*.spacy"
    before = RemoteFiles(url)
    before.fetch_all()
    assert RemoteFiles(url).path == before.path
    memory.pipe("/bucket/corpus/b.spacy", b"now longer")
    changed = RemoteFiles(url)
    assert changed.path != before.path
    changed.fetch_all()
    assert contents(changed) == {"a/c.spacy": b"of c", "b.spacy": b"now longer"}
    memory.rm("/bucket/corpus/a/c.spacy")
    fewer = RemoteFiles(url)
    fewer.fetch_all()
    assert contents(fewer) == {"b.spacy": b"now longer"}


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("memory://bucket/nowhere", "no files"),
        ("memory://bucket/corpus/*.jsonl", "no files"),
        ("nothing://bucket/corpus", "Protocol not known"),
        ("file:///nowhere/at/all.spacy", "no files"),
    ],
)
def test_what_cannot_be_reached_is_named(url: str, error: str) -> None:
    with pytest.raises(ValueError, match=error) as raised:
        RemoteFiles(url)
    assert str(raised.value).startswith(f"{url}: ")


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(url: str) -> Any:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec, "url_to_fs", fail)
    with pytest.raises(ValueError, match=r"^s3://bucket/corpus: Install s3fs to access S3$"):
        RemoteFiles("s3://bucket/corpus")


def test_nothing_is_written_outside_of_the_folder(memory: Any, cache: Path) -> None:
    for name in ("../../../x.spacy", "../../x.spacy", "a/../../x.spacy", ".."):
        memory.store[f"/bucket/corpus/{name}"] = memory.store["/bucket/corpus/b.spacy"]
        with pytest.raises(ValueError, match="is not the name of a file"):
            RemoteFiles("memory://bucket/corpus")
        del memory.store[f"/bucket/corpus/{name}"]
    memory.store["/bucket/corpus/a/../b.spacy"] = memory.store["/bucket/corpus/b.spacy"]
    with pytest.raises(ValueError, match="the names of some files are the same"):
        RemoteFiles("memory://bucket/corpus")
    assert not cache.exists()


@pytest.mark.usefixtures("memory")
def test_hidden_files_may_be_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / ".hidden.spacy").write_bytes(b"hidden")
    with pytest.raises(ValueError, match="no files"):
        RemoteFiles(f"file://{tmp_path}/folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "folder" / ".." / "other"))
    assert RemoteFiles("memory://bucket/corpus/.hidden").fetch_all().read_bytes() == b"hidden"


def test_files_whose_size_is_not_listed_are_asked_for(
    memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tags = ["first", "second"]

    def find(_: Any, root: str, **settings: Any) -> dict[str, Any]:
        return {root: {}}  # as of a web server

    monkeypatch.setattr(type(memory), "find", find)
    info = {"size": 4, "type": "file"}
    monkeypatch.setattr(type(memory), "info", lambda *_: {**info, "ETag": tags[0]})
    url = "memory://bucket/corpus/b.spacy"
    before = RemoteFiles(url).path
    assert RemoteFiles(url).path == before
    tags.pop(0)
    assert RemoteFiles(url).path != before


def test_what_a_url_asks_for_is_no_part_of_a_name(
    memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "http://localhost/corpus/b.spacy?signature=a/b"
    monkeypatch.setattr(fsspec, "url_to_fs", lambda _: (memory, url))
    monkeypatch.setattr(type(memory), "find", lambda *_, **__: {url: {"size": 4, "type": "file"}})
    assert RemoteFiles(url).path.name == "b.spacy"


@pytest.mark.usefixtures("memory")
def test_a_config_gets_the_paths_of_copies() -> None:
    url = "memory://bucket/corpus/b.spacy"
    config = Config(
        {
            "paths": {"root": "memory://bucket", "train": "${paths.root}/corpus/b.spacy"},
            "corpora": {
                "some": {"train": {"path": "${paths.train}", "limit": 0}},
                "dev": {"path": url, "limit": 3},
                "other": {"path": "memory://nowhere"},
            },
            "training": {
                "train_corpus": "corpora.some.train",
                "dev_corpus": "corpora.dev",
                "logger": {"server": "https://logs.example.org"},
            },
        }
    )
    before = config.copy()
    assert find_urls(config) == {
        ("corpora", "some", "train", "path"): url,
        ("corpora", "dev", "path"): url,
    }
    local = with_local_files(config)
    path = str(RemoteFiles(url).path)
    assert Path(path).read_bytes() == b"of b"
    assert local["corpora"]["some"]["train"] == {"path": path, "limit": 0}
    assert local["corpora"]["dev"] == {"path": path, "limit": 3}
    for section in ("paths", "training"):
        assert local[section] == before[section]
    assert local["corpora"]["other"] == before["corpora"]["other"]
    assert config == before
    assert with_urls_of(local, config) == before


def test_other_configs_stay_as_they_are() -> None:
    training = {"train_corpus": "corpora.train", "dev_corpus": "corpora.dev"}
    one = Config({"corpora": {"@readers": "all.of.them"}, "training": training})
    local = {"train": {"path": "train.spacy"}, "dev": {"path": None}}
    other = Config({"corpora": local, "training": training, "paths": {"log": "https://x"}})
    for config in (one, other):
        assert find_urls(config) == {}
        assert with_local_files(config) == config


IS_URL: dict[object, bool] = {
    "s3://bucket/corpus": True,
    "corpus/train.spacy": False,
    "C:/corpus": False,
    None: False,
    7: False,
}


@pytest.mark.parametrize("value", IS_URL, ids=repr)
def test_urls_have_a_protocol(value: object) -> None:
    check: Callable[[object], bool] = is_url
    assert check(value) is IS_URL[value]
