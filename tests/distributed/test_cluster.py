"""Workers on a Ray cluster of this machine, and the command that trains on them."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from corpora import tagging_examples
from processes import TESTS, ScriptRunner, environment, plain
from spacy.language import Language
from spacy.tokens import DocBin
from spacy.util import load_config
from spacy.vocab import Vocab

pytest.importorskip("ray", reason="Ray is not installed")

CONFIG = TESTS.parent / "configs" / "tagger.cfg"

KILLED = """
import io, os, signal, sys, threading, time
from pathlib import Path
import ray
from spacy.training.initialize import init_nlp
from spacy.util import load_config
from spacy_ssvm.distributed.cluster import RayWorkers, start_ray
from spacy_ssvm.distributed.output import Output
from spacy_ssvm.distributed.pipelines import Pipeline
from spacy_ssvm.distributed.training import plan, train

def main(config, corpus, output):
    overrides = {"paths.train": corpus, "paths.dev": corpus, "training.max_epochs": 6}
    nlp = init_nlp(load_config(config, overrides=overrides, interpolate=False))
    said = []
    with start_ray(ray, None, 2):
        workers = RayWorkers(ray, Pipeline.of(nlp), 2, said.append)
        kills = 0
        call = workers.call

        def calling(worker, method, *arguments):
            nonlocal kills
            found = call(worker, method, *arguments)
            if method in ("read", "rows", "decode") and kills < 3 and worker == kills % 2:
                try:
                    actor = workers._actors[worker]
                    process = ray.get(actor.__ray_call__.remote(lambda self: os.getpid()))
                except ray.exceptions.RayActorError:  # killed before, and not missed yet
                    return found
                os.kill(process, signal.SIGKILL)
                kills += 1
            return found

        workers.call = calling
        train(nlp, workers, plan(nlp, 2, 4), Output(Path(output), every=300), stdout=io.StringIO())
    print(kills, len(said))

main(*sys.argv[1:])
"""


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    docs = [example.reference for example in tagging_examples(Vocab())]
    DocBin(docs=docs).to_disk(tmp_path / "corpus.spacy")
    return tmp_path / "corpus.spacy"


def command(corpus: Path, output: Path, *arguments: str) -> list[str]:
    files = ["--output", str(output), "--paths.train", str(corpus), "--paths.dev", str(corpus)]
    settings = ["--training.max_epochs", "6", "--block", "4", *arguments]
    return [sys.executable, "-m", "spacy", "ssvm", "train-ray", str(CONFIG), *files, *settings]


def train_ray(corpus: Path, output: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return run(command(corpus, output, *arguments))


def run(command: "list[str | Path]") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command,
        env=environment(COLUMNS="200"),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def model(output: Path) -> dict[str, bytes]:
    """The files of the component, by name."""
    files = (output / "model-last" / "tagger").iterdir()
    return {file.name: file.read_bytes() for file in files}


def test_processes_that_are_killed_change_nothing(
    corpus: Path, tmp_path: Path, run_script: ScriptRunner
) -> None:
    whole = train_ray(corpus, tmp_path / "whole", "--workers", "3")
    assert whole.returncode == 0, whole.stdout + whole.stderr
    said = plain(whole.stdout)
    assert "3 workers on this machine" in said
    assert "MB sent to each" in said
    killed = run_script.start(KILLED, CONFIG, corpus, tmp_path / "killed")
    assert run_script.output(killed).split()[-2:] == ["3", "6"]
    assert model(tmp_path / "whole") == model(tmp_path / "killed")


def test_a_corpus_may_be_elsewhere(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    here = train_ray(corpus, tmp_path / "here")
    url = f"file://{corpus.parent}/c*.spacy"
    output = tmp_path / "elsewhere"
    elsewhere = train_ray(corpus, output, "--paths.train", url, "--paths.dev", f"file://{corpus}")
    assert (here.returncode, elsewhere.returncode) == (0, 0), here.stdout + elsewhere.stdout
    assert model(tmp_path / "here") == model(output)
    config = load_config(output / "model-last" / "config.cfg")
    assert config["paths"]["train"] == url
    (copy,) = {file.read_bytes() for file in (tmp_path / "cache").rglob("*.spacy")}
    assert copy == corpus.read_bytes()
    nowhere = train_ray(corpus, tmp_path / "nowhere", "--paths.train", "file:///nowhere")
    assert nowhere.returncode == 1
    assert "file:///nowhere: no files" in plain(nowhere.stdout)
    assert not (tmp_path / "nowhere").exists()


CLUSTER = """
import sys
import ray

context = ray.init(num_cpus=1, log_to_driver=False)
print(context.address_info["gcs_address"], flush=True)
sys.stdin.read()
"""


def test_workers_share_processors_where_there_are_few(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0123456789abcdef" * 2)
    with subprocess.Popen(
        [sys.executable, "-c", CLUSTER],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as cluster:
        assert cluster.stdout is not None
        address = cluster.stdout.readline().strip()
        where = "--address", address, "--min-workers", "1"
        few = train_ray(corpus, tmp_path / "few", "--workers", "3", *where)
        monkeypatch.setenv("RAY_AUTH_TOKEN", "another" * 5)
        other = train_ray(corpus, tmp_path / "other", *where)
        cluster.communicate("")
    assert other.returncode == 1
    assert "demands a token, set RAY_AUTH_MODE=token" in plain(other.stdout)
    assert "Traceback" not in other.stderr
    assert few.returncode == 0, few.stdout + few.stderr
    assert "The cluster has 1 processors: workers share them" in plain(few.stdout)
    assert train_ray(corpus, tmp_path / "own").returncode == 0
    assert model(tmp_path / "few") == model(tmp_path / "own")


STORED = """
import sys
import ray, spacy

nlp = spacy.load(sys.argv[1])
texts = ["The dog barks", "", "A cat sleeps here"]

def annotate(nlp):
    return [doc.to_json() for doc in nlp.pipe(texts)]

expected = annotate(nlp)
ray.init(num_cpus=1, log_to_driver=False)
print(ray.get(ray.remote(annotate).remote(ray.put(nlp))) == expected)
"""


def test_a_pipeline_may_be_put_into_the_store(
    trained: Language, tmp_path: Path, run_script: ScriptRunner
) -> None:
    """Its arrays cannot be written there."""
    trained.to_disk(tmp_path)
    assert run_script(STORED, tmp_path).split() == ["True"]


def test_a_training_that_is_killed_goes_on(corpus: Path, tmp_path: Path) -> None:
    epochs = "--training.max_epochs", "40"
    whole = train_ray(corpus, tmp_path / "whole", *epochs)
    assert whole.returncode == 0, whole.stdout + whole.stderr
    output = tmp_path / "killed"
    arguments = command(corpus, output, *epochs, "--checkpoint-every", "0")
    state = output / "checkpoint" / "state.json"
    with subprocess.Popen(
        arguments, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as killed:
        while not state.exists():
            assert killed.poll() is None
            time.sleep(0.01)
        killed.kill()
    anew = train_ray(corpus, output, *epochs)
    assert anew.returncode == 1
    assert "checkpoint exists: give --resume to go on from it" in plain(anew.stdout)
    other = train_ray(corpus, output, *epochs, "--resume", "--components.tagger.solver.C", "0.2")
    assert other.returncode == 1
    assert "another value of components.tagger.solver.C" in plain(other.stdout)
    assert "Traceback" not in other.stderr
    resumed = train_ray(corpus, output, *epochs, "--resume", "--workers", "3")
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert model(output) == model(tmp_path / "whole")
    assert sorted(path.name for path in output.iterdir()) == ["model-best", "model-last"]


def test_a_finished_training_is_replaced_where_it_may_be(corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "output"
    assert train_ray(corpus, output).returncode == 0
    again = train_ray(corpus, output)
    assert again.returncode == 1
    assert "exists: give --overwrite to replace it" in plain(again.stdout)
    assert train_ray(corpus, output, "--overwrite").returncode == 0


def test_folds_are_annotated_by_workers(corpus: Path, tmp_path: Path) -> None:
    found = []
    for name, options in (("here", []), ("there", ["--workers", "2"])):
        output = tmp_path / f"{name}.spacy"
        files = ["--output", output, "--paths.train", corpus, "--paths.dev", corpus]
        settings = ["--folds", "3", "--training.max_epochs", "2", *options]
        ran = run([sys.executable, "-m", "spacy", "ssvm", "jackknife", CONFIG, *files, *settings])
        assert ran.returncode == 0, ran.stdout + ran.stderr
        docs = DocBin().from_disk(output).get_docs(Vocab())
        found.append(([doc.to_json() for doc in docs], plain(ran.stdout).split("fold ")[1]))
    assert found[0][0] == found[1][0]
    assert found[0][1].replace("here", "there") == found[1][1]


CALLS = """
import os, signal
import ray
from spacy_ssvm.distributed.cluster import map_by_ray

def square(number):
    if number == 3:
        raise ValueError("not three")
    if number == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return number**2

ray.init(num_cpus=2, log_to_driver=False)
print("found", *map_by_ray(ray, 2, None, square, range(3)))
for number in (3, 5):
    try:
        list(map_by_ray(ray, 2, None, square, [number]))
    except (ConnectionError, ValueError) as error:
        print("found", type(error).__name__, str(error)[:42])
"""


def test_what_a_call_raises_is_raised(run_script: ScriptRunner) -> None:
    lines = run_script(CALLS).splitlines()  # some of which are Ray's
    assert [line for line in lines if line.startswith("found ")] == [
        "found 0 1 4",
        "found ValueError not three",
        "found ConnectionError a process of Ray has died again and again:",
    ]


def test_invalid_input_is_named_before_anything_is_written(corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "output"
    found = {
        arguments: train_ray(corpus, output, *arguments)
        for arguments in (
            ("--workers", "1000"),
            ("--address", "127.0.0.1:1"),
            ("--address", "nowhere"),
            ("--components.tagger.solver.@misc", "spacy_ssvm.Perceptron.v1"),
            ("--training.frozen_components", '["tagger"]'),
        )
    }
    for arguments, run in found.items():
        assert run.returncode == 1, (arguments, run.stdout, run.stderr)
        assert "Traceback" not in run.stderr, arguments
    many, nobody, no_port, *_, frozen = (plain(run.stdout) for run in found.values())
    assert "at most as many workers have any" in many
    assert "no Ray cluster at 127.0.0.1:1" in nobody
    assert "has the form host:port, or is auto" in no_port
    assert "no component learns" in frozen
    assert not list(output.glob("*"))
