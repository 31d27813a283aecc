"""Corpora on other file systems, such as s3://bucket/corpus, which fsspec reads.

Readers of corpora open files of this machine. Those of a URL are copied into a folder of the user's
cache, each when it is first needed, and whole or not at all. The folder is that of the files as
they are now: where one has changed, there is another folder.
"""

import hashlib
import json
import os
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from glob import has_magic
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from thinc.config import Config
from tqdm import tqdm

from spacy_ssvm.components.annotated_corpus import corpus_block
from spacy_ssvm.files import replacing

#: Where a value stands in a config: its sections and its key.
Place = tuple[str, ...]


def is_url(value: object) -> bool:
    """Whether the value of a path is that of another file system."""
    return isinstance(value, str) and "://" in value


class RemoteFiles:
    """The files of a URL.

    url: of a file, a folder, or a pattern such as s3://bucket/corpus/part-*.spacy. Of a folder,
        what is hidden by a dot before its name is left out.
    Raises ValueError, naming the URL, where there are no files, or they cannot be reached.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        with self._named():
            import fsspec

            self._system, root = fsspec.url_to_fs(url)
            is_pattern = has_magic(root)
            find = self._system.glob if is_pattern else self._system.find
            found: dict[str, Any] = find(root, detail=True)
            for path, info in found.items():
                if info.get("size") is None:  # a web server says more when it is asked
                    found[path] = {**info, **self._system.info(path)}
        found = {path: info for path, info in found.items() if info["type"] == "file"}
        paths = {path: _without_query(path) for path in found}
        is_file = [*found] == [root]
        is_folder = not (is_file or is_pattern)
        base = _without_query(root) if is_folder else _common_folder([*paths.values()])
        names = {path: PurePosixPath(plain).relative_to(base) for path, plain in paths.items()}
        if not is_file:
            names = {path: name for path, name in names.items() if not _is_hidden(name)}
        if not names:
            raise ValueError(f"{url}: no files, or they cannot be reached")
        state = json.dumps([(path, found[path]) for path in sorted(names)], default=str)
        folder = _cache() / hashlib.sha256(state.encode()).hexdigest()[:32]
        #: The paths of this machine, in their order, and those of the other file system.
        self.files = dict(sorted((self._copy(folder, name), path) for path, name in names.items()))
        if len(self.files) < len(names):
            raise ValueError(f"{url}: the names of some files are the same on this machine")
        self.path = next(iter(self.files)) if is_file else folder  #: of this machine

    def _copy(self, folder: Path, name: PurePosixPath) -> Path:
        """The path of a copy, which is in its folder whatever the name is."""
        copy = Path(os.path.normpath(folder / name))
        if not copy.is_relative_to(folder) or copy == folder:
            raise ValueError(f"{self.url}: '{name}' is not the name of a file")
        return copy

    def fetch(self, file: Path) -> None:
        """Copy one of the files, unless it is there."""
        if file.exists():
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        with self._named(), replacing(file) as beside:
            self._system.get_file(self.files[file], str(beside))

    def fetch_all(self) -> Path:
        """Copy all files that are not there; return the path of this machine."""
        missing = [file for file in self.files if not file.exists()]
        for file in tqdm(missing, desc=f"Copying {self.url}", unit=" files", disable=None):
            self.fetch(file)
        return self.path

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Name the URL in errors: each file system has its own."""
        try:
            yield
        except Exception as error:
            raise ValueError(f"{self.url}: {str(error) or type(error).__name__}") from error


def _without_query(path: str) -> str:
    """The path, without what a URL says behind it."""
    return urlsplit(path).path if is_url(path) else path


def _common_folder(paths: Sequence[str]) -> str:
    """The folder that all files are in, at whatever depth."""
    return posixpath.commonpath(map(posixpath.dirname, paths)) if paths else ""


def _is_hidden(name: PurePosixPath) -> bool:
    return any(part.startswith(".") and part != ".." for part in name.parts)


def _cache() -> Path:
    """The folder of all copies."""
    home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    folder = Path(home) if home else Path.home() / ".cache"
    return Path(os.path.abspath(folder / "spacy_ssvm" / "corpora"))


def find_urls(config: Config) -> dict[Place, str]:
    """The URLs in the corpora that training names, by where they stand."""
    config, urls = config.interpolate(), dict[Place, str]()
    for key in ("train_corpus", "dev_corpus"):
        name, block = corpus_block(config, key)
        sections = name.split(".")
        urls |= {(*sections, key): value for key, value in block.items() if is_url(value)}
    return urls


def with_local_files(config: Config) -> Config:
    """A copy of the config with copies of the files of its URLs. Raises ValueError, see there."""
    urls = find_urls(config)
    paths = {url: str(RemoteFiles(url).fetch_all()) for url in dict.fromkeys(urls.values())}
    return _with_values(config, {place: paths[url] for place, url in urls.items()})


def with_urls_of(config: Config, other: Config) -> Config:
    """A copy of the config with what another one has where that has URLs."""
    return _with_values(
        config, {place: _block_at(other, place)[place[-1]] for place in find_urls(other)}
    )


def _with_values(config: Config, values: Mapping[Place, str]) -> Config:
    """A copy of the config with other values."""
    changed = config.copy()
    for place, value in values.items():
        _block_at(changed, place)[place[-1]] = value
    return changed


def _block_at(config: Config, place: Place) -> Any:
    """The section that a value stands in."""
    block: Any = config
    for section in place[:-1]:
        block = block[section]
    return block
