"""Pipelines that are saved in one step: whenever that ends, the folder holds one of them, whole."""

import errno
import json
import os
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import spacy
from pipelines import TAGGER
from processes import ScriptRunner, contents
from spacy.language import Language

from spacy_ssvm import files
from spacy_ssvm.files import beside, locked, remove_folder, replace_folder, replacing
from spacy_ssvm.storage import save_pipeline


@pytest.fixture(scope="module")
def early() -> Language:
    return TAGGER.trained(epochs=1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "models" / "pipeline"


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_a_pipeline_takes_the_place_of_another(
    trained_tagger: Language, early: Language, path: Path
) -> None:
    save_pipeline(early, path)
    (path / "README.md").write_text("about", encoding="utf8")
    (path / "figures").mkdir()
    reader = spacy.load(path)
    save_pipeline(trained_tagger, path)
    assert TAGGER.annotate(spacy.load(path)) == TAGGER.gold()
    assert TAGGER.annotate(reader) == TAGGER.annotate(early) != TAGGER.gold()
    assert (path / "README.md").read_text(encoding="utf8") == "about"
    assert (path / "figures").is_dir()
    assert names(path.parent) == ["pipeline"]
    trained_tagger.to_disk(path.with_name("other"))
    assert (path.stat().st_mode, set(contents(path))) == (
        path.with_name("other").stat().st_mode,
        {*contents(path.with_name("other")), "README.md"},
    )


def test_what_a_link_names_is_replaced(trained_tagger: Language, path: Path) -> None:
    save_pipeline(trained_tagger, path)
    link = path.with_name("link")
    link.symlink_to(path)
    save_pipeline(trained_tagger, link, exclude=["vocab"])
    assert link.is_symlink()
    assert "vocab" in names(path), "kept, as with to_disk"


def test_a_folder_of_other_things_is_not_replaced(trained_tagger: Language, path: Path) -> None:
    path.mkdir(parents=True)
    (path / "thesis.tex").touch()
    with pytest.raises(ValueError, match=r"holds no pipeline, but thesis\.tex: choose another"):
        save_pipeline(trained_tagger, path)
    assert names(path) == ["thesis.tex"]


KILL = """
import os, random, signal, sys, time, warnings
from pathlib import Path
import spacy
from pipelines import TAGGER
from spacy_ssvm.storage import save_pipeline

warnings.simplefilter("ignore")
path = Path(sys.argv[1])
nlps = [spacy.load(folder) for folder in sys.argv[2:]]
known = [(nlp.meta["name"], TAGGER.annotate(nlp)) for nlp in nlps]
save_pipeline(nlps[0], path)
draw = random.Random(0)
for _ in range(30):
    child = os.fork()
    if child == 0:
        while True:
            for nlp in nlps:
                save_pipeline(nlp, path)
    time.sleep(draw.uniform(0.01, 0.3))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    found = spacy.load(path)
    assert (found.meta["name"], TAGGER.annotate(found)) in known
save_pipeline(nlps[1], path)
assert TAGGER.annotate(spacy.load(path)) == known[1][1]
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_thirty_kills_leave_a_pipeline_that_loads(
    trained_tagger: Language, early: Language, path: Path, tmp_path: Path, run_script: ScriptRunner
) -> None:
    folders = []
    for name, nlp in (("early", early), ("late", trained_tagger)):
        folders.append(tmp_path / name)
        nlp.to_disk(folders[-1])
        meta = json.loads((folders[-1] / "meta.json").read_text(encoding="utf8"))
        text = json.dumps({**meta, "name": name})
        (folders[-1] / "meta.json").write_text(text, encoding="utf8")
    run_script(KILL, path, *folders)
    assert names(path.parent) == ["pipeline"], "what killed processes have left is gone"


@pytest.mark.parametrize(("function", "step"), [("fsync", 9), ("replace", 1), ("rename", 1)])
def test_whichever_call_fails_the_old_pipeline_is_left(
    trained_tagger: Language,
    early: Language,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    function: str,
    step: int,
) -> None:
    """Where folders cannot be exchanged, there are more of them."""
    monkeypatch.setattr(files, "_exchange", lambda *_: False)
    save_pipeline(early, path)
    expected, original = TAGGER.annotate(early), getattr(os, function)
    for calls_before_failure in count(step=step):
        calls = count()

        def fail(*args: Any, **kwargs: Any) -> Any:
            if next(calls) == calls_before_failure:  # noqa: B023
                raise OSError(errno.ENOSPC, "No space left on device")
            return original(*args, **kwargs)

        with monkeypatch.context() as patch:
            patch.setattr(os, function, fail)
            try:
                save_pipeline(trained_tagger, path)
                break
            except OSError as error:
                assert error.errno == errno.ENOSPC  # noqa: PT017
        assert TAGGER.annotate(spacy.load(path)) == expected
        assert names(path.parent) == ["pipeline"]
    assert calls_before_failure > 0
    assert TAGGER.annotate(spacy.load(path)) == TAGGER.gold()


@pytest.mark.parametrize("size", [0, 50, 2000, 30_000])
def test_on_a_full_disk_the_old_pipeline_is_left(
    trained_tagger: Language, early: Language, path: Path, size: int
) -> None:
    """Files that exceed a size cannot be written: whoever writes, the system refuses it."""
    resource = pytest.importorskip("resource")
    save_pipeline(early, path)
    before = contents(path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        with pytest.raises(OSError, match=r"\S"):
            save_pipeline(trained_tagger, path)
        with pytest.raises(OSError, match=r"\S"):
            trained_tagger.get_pipe(TAGGER.name).to_disk(path / TAGGER.name, exclude=["vocab"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert contents(path) == before
    assert names(path.parent) == ["pipeline"]


DIE_BETWEEN_TWO_STEPS = """
import os, sys
from pathlib import Path
from spacy_ssvm import files

path = Path(sys.argv[1])
steps = iter([os.rename])
files._exchange = lambda *_: False
os.rename = lambda old, new: next(steps, lambda *_: os._exit(0))(old, new)
with files.beside(path) as folder:
    (folder / path.name).mkdir()
    (folder / path.name / "new").touch()
    files.replace_folder(folder / path.name, path)
"""


def test_what_a_process_took_away_that_died_between_two_steps_comes_back(
    path: Path, run_script: ScriptRunner
) -> None:
    path.mkdir(parents=True)
    (path / "old").touch()
    run_script(DIE_BETWEEN_TWO_STEPS, path)
    assert not path.exists()
    with beside(path) as folder:
        assert names(path) == ["old"]
        assert names(path.parent) == [folder.name, "pipeline"]
    assert names(path.parent) == ["pipeline"]


def test_a_folder_is_removed_with_what_a_process_that_died_took_away(
    path: Path, run_script: ScriptRunner
) -> None:
    path.mkdir(parents=True)
    (path / "old").touch()
    run_script(DIE_BETWEEN_TWO_STEPS, path)
    assert len(names(path.parent)) == 1
    remove_folder(path)
    assert names(path.parent) == []
    remove_folder(path)
    remove_folder(path / "nowhere")
    assert names(path.parent) == []


def test_folders_that_cannot_be_exchanged_are_replaced_in_two_steps(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_exchange", lambda *_: False)
    for name in ("one", "two"):
        with beside(path) as folder:
            (folder / "new" / name).mkdir(parents=True)
            replace_folder(folder / "new", path)
        assert names(path) == [name]
        assert names(path.parent) == ["pipeline"]


def test_what_another_process_is_writing_is_not_removed(path: Path) -> None:
    with beside(path) as one, beside(path) as two:
        assert one.is_dir()
        assert two.is_dir()
    assert names(path.parent) == []


@pytest.mark.parametrize(
    "act",
    [
        lambda nlp, path: save_pipeline(nlp, path),
        lambda nlp, path: nlp.get_pipe(TAGGER.name).to_disk(path.parent, exclude=["vocab"]),
    ],
    ids=["pipeline", "component"],
)
def test_a_folder_that_stays_locked_is_an_error(
    trained_tagger: Language,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    act: Callable[[Language, Path], None],
) -> None:
    pytest.importorskip("fcntl")
    monkeypatch.setattr(files, "PATIENCE", 0.1)
    path.parent.mkdir()
    with locked(path.parent, 0):
        start = time.monotonic()
        with pytest.raises(TimeoutError, match=f"{path.parent}: locked by another process for 0.1"):
            act(trained_tagger, path)
        assert time.monotonic() - start < 10
    assert names(path.parent) == []


def test_links_of_the_names_of_earlier_versions_do_no_harm(
    trained_tagger: Language, path: Path
) -> None:
    component: Any = trained_tagger.get_pipe(TAGGER.name)
    path.mkdir(parents=True)
    file = path.with_name("page.html")
    for link in (path / ".writing", file.with_name(".page.html.writing")):
        link.symlink_to(path.with_name("elsewhere"))
    component.to_disk(path)
    with replacing(file) as new:
        new.write_text("page", encoding="utf8")
    assert file.read_text(encoding="utf8") == "page"
    assert not path.with_name("elsewhere").exists()
    assert not file.is_symlink()


@pytest.mark.parametrize("function", ["fsync", "replace", "mkdir"])
def test_a_file_is_the_old_one_until_it_is_replaced(
    path: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    path.parent.mkdir()
    path.write_text("old", encoding="utf8")

    def fail(*args: Any, **kwargs: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, function, fail)
    with pytest.raises(OSError, match="No space left"), replacing(path) as new:
        new.write_text("new", encoding="utf8")
    assert path.read_text(encoding="utf8") == "old"
    assert names(path.parent) == ["pipeline"]
