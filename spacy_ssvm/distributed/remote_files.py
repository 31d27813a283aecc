"""Files of other file systems, such as s3://bucket/corpus, which fsspec reads.

Readers of corpora open files of this machine. Those of a URL are copied into a folder of the user's
cache, each when it is first needed, and whole or not at all. The folder is that of the files as
they are now: where one has changed, there is another folder.
"""

import hashlib
import json
import os
import posixpath
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from glob import has_magic
from pathlib import Path, PurePosixPath
from typing import Any

from thinc.config import Config
from tqdm import tqdm

from spacy_ssvm.files import replacing

#: Where a value stands in a config: its sections and its key.
Place = tuple[str, ...]


def is_url(value: object) -> bool:
    """Whether the value of a path is that of another file system."""
    return isinstance(value, str) and "://" in value


class RemoteFiles:
    """The files of a URL.

    url: of a file, a folder, or a pattern such as s3://bucket/corpus/part-*.spacy. Files whose
        names begin with a dot are left out.
    Raises ValueError, naming the URL, where there are no files, or they cannot be reached.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        with self._named():
            import fsspec

            self._system, root = fsspec.url_to_fs(url)
            find = self._system.glob if has_magic(root) else self._system.find
            found = {path: info for path, info in find(root, detail=True).items() if _is_file(info)}
            if not found:
                raise FileNotFoundError("no files")
            for path, info in found.items():
                if info.get("size") is None:  # a web server says more when it is asked
                    info.update(self._system.info(path))
        state = json.dumps(sorted(found.items()), default=str)
        folder = _cache() / hashlib.sha256(state.encode()).hexdigest()[:32]
        base = PurePosixPath(posixpath.commonpath(map(posixpath.dirname, found)))
        #: The paths of this machine, in their order, and those of the other file system.
        self.files: dict[Path, str] = {
            folder / self._name(PurePosixPath(path).relative_to(base)): path
            for path in sorted(found, key=PurePosixPath)
        }
        is_file = list(found) == [root]
        self.path = next(iter(self.files)) if is_file else folder  #: of this machine

    def _name(self, path: PurePosixPath) -> PurePosixPath:
        """The name of a copy in its folder."""
        if ".." in path.parts:
            raise ValueError(f"{self.url}: '{path}' is not the name of a file")
        return path

    @property
    def urls(self) -> list[str]:
        """The URL of each file."""
        return [self._system.unstrip_protocol(path) for path in self.files.values()]

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


def _is_file(info: Mapping[str, Any]) -> bool:
    return info["type"] == "file" and not PurePosixPath(info["name"]).name.startswith(".")


def _cache() -> Path:
    """The folder of all copies."""
    home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(home) if home else Path.home() / ".cache") / "spacy_ssvm" / "corpora"


def find_urls(config: Config) -> dict[Place, str]:
    """The URLs in [paths] and in the corpora of a config, by where they stand."""
    sections: dict[Place, Any] = {("paths",): config.get("paths", {})}
    sections |= {("corpora", name): block for name, block in config.get("corpora", {}).items()}
    return {
        (*place, key): value
        for place, section in sections.items()
        for key, value in section.items()
        if is_url(value)
    }


def with_values(config: Config, values: Mapping[Place, str]) -> Config:
    """A copy of the config with other values."""
    changed = config.copy()
    for (*sections, key), value in values.items():
        block = changed
        for section in sections:
            block = block[section]
        block[key] = value
    return changed


def with_local_files(config: Config) -> Config:
    """A copy of the config with copies of the files of its URLs. Raises ValueError, see there."""
    urls = find_urls(config)
    paths = {url: str(RemoteFiles(url).fetch_all()) for url in dict.fromkeys(urls.values())}
    return with_values(config, {place: paths[url] for place, url in urls.items()})
