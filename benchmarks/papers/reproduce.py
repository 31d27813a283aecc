"""Runs the experiments of the papers on the corpora of a folder."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from thinc.api import Config

from benchmarks.papers import cy13, mgs10, msaf11, tlj05
from benchmarks.papers.corpora import Corpus, find_corpora
from benchmarks.papers.exhibits import Exhibit
from benchmarks.papers.experiment import Experiment, Limits
from benchmarks.papers.kinds import KINDS, Kind, Tags, corpus_of, kind_of, read_tags
from benchmarks.papers.results import Results
from benchmarks.papers.tasks import Run, Task

#: The experiments of each paper, in its order.
PAPERS: dict[str, tuple[Experiment, ...]] = {
    "CY13": cy13.EXPERIMENTS,
    "MGS10": mgs10.EXPERIMENTS,
    "MSAF11": msaf11.EXPERIMENTS,
    "TLJ05": tlj05.EXPERIMENTS,
}


class Reproduction:
    """The experiments of the papers, with their results so far in a folder.

    data: a folder with corpora, see ``find_corpora``.
    output: has a folder for each paper: ``runs.jsonl`` holds its results, and ``config.cfg`` all
        settings that they depend on, with checksums of the corpora.
    limits: seeds, and the largest number of epochs.
    sentences: at most as many examples of each corpus for training; None for all.
    most_corpora: of each kind in an experiment; None for as many as the paper has. Results stay
        valid for another number.
    only: a regular expression that is found in "EXHIBIT, KIND: CORPUS"; results stay valid
        for another one.
    resume: whether to go on from the results that are there.

    Raises ValueError where there are no corpora, ``only`` is no regular expression, and where
    results are there that are not to be resumed, depend on other settings, or are damaged.
    """

    def __init__(
        self,
        data: Path,
        output: Path,
        *,
        limits: Limits,
        sentences: int | None = None,
        most_corpora: int | None = None,
        only: str = "",
        resume: bool = False,
    ) -> None:
        self.corpora = find_corpora(data)
        self.limits = limits
        self.sentences = sentences
        self.most_corpora = most_corpora
        try:
            self._only = re.compile(only)
        except re.error as error:
            raise ValueError(f"{only!r} is no regular expression: {error}") from None
        self.output = output
        found = [f"{c.kind} {c.name} {c.checksum:08x}" for c in self.corpora]
        settings = {"sentences": sentences, **limits._asdict(), "corpora": found}
        self._config = Config({"reproduce": settings})
        self._resume = resume
        self._results: dict[str, Results] = {}
        self._tags: Tags | None = None
        self._task: Task | None = None

    def results(self, paper: str) -> Results:
        """The results of a paper."""
        if paper not in self._results:
            folder = self.output / paper.lower()
            folder.mkdir(parents=True, exist_ok=True)
            results = Results(folder / "runs.jsonl", self._config, resume=self._resume)
            self._results[paper] = results
        return self._results[paper]

    def tasks(self, experiment: Experiment) -> list[str]:
        """What an experiment learns, as "KIND: CORPUS"; nothing without such corpora."""
        tasks = (
            f"{kind}: {corpus.name}"
            for kind, number in experiment.kinds.items()
            for corpus in self._corpora_of(KINDS[kind])[:number][: self.most_corpora]
        )
        return [task for task in tasks if self._only.search(f"{experiment.name}, {task}")]

    def _corpora_of(self, kind: Kind) -> list[Corpus]:
        """The corpora from which a kind can be learned, the largest first."""
        found = [corpus for corpus in self.corpora if corpus.kind == kind.corpus]
        if not found and kind.corpus == "chunks":
            return [corpus for corpus in self.corpora if corpus.kind == "treebank"]
        return found

    def plan(self, papers: Sequence[str]) -> int:
        """The number of runs that are missing, if of runs that have not ended the first is best."""
        missing = set()
        for paper in papers:
            results = self.results(paper)

            def best(runs: Sequence[Run], results: Results = results) -> Run:
                return results.best(runs) if all(run in results for run in runs) else runs[0]

            for task, experiments in self._by_task(paper).items():
                for experiment in experiments:
                    runs = experiment.runs(task, self.limits, best)
                    missing |= {(paper, run) for run in runs if run not in results}
        return len(missing)

    def missing(self, paper: str) -> Iterator[Run]:
        """The runs of a paper that are missing, each once the one before has been made."""
        results = self.results(paper)
        for task, experiments in self._by_task(paper).items():
            for experiment in experiments:
                for run in experiment.runs(task, self.limits, results.best):
                    if run not in results:
                        yield run

    def make(self, paper: str, run: Run) -> None:
        """Make a run, and record its rows."""
        if self._task is None or self._task.name != run.task:
            self._task = None  # frees the memory before the next is made
            self._task = self._make_task(run.task)
        self.results(paper).record(run, self._task.run(run))

    def _by_task(self, paper: str) -> dict[str, list[Experiment]]:
        """The experiments of a paper by task, so that a task is prepared once for all of them."""
        found: dict[str, list[Experiment]] = {}
        for experiment in PAPERS[paper]:
            for task in self.tasks(experiment):
                found.setdefault(task, []).append(experiment)
        return found

    def _make_task(self, name: str) -> Task:
        kind, corpus_name = kind_of(name), corpus_of(name)
        corpora = {corpus.name: corpus for corpus in self._corpora_of(KINDS[kind])}
        if "tags" in KINDS[kind].reads and self._tags is None:
            self._tags = read_tags(self.corpora)
        return Task(name, corpora[corpus_name], tags=self._tags or {}, sentences=self.sentences)

    def exhibits(self, papers: Sequence[str]) -> list[Exhibit]:
        """The tables and figures of these papers, of the tasks whose runs have all ended."""
        exhibits = []
        for paper in papers:
            results = self.results(paper)
            for experiment in PAPERS[paper]:
                tasks = [
                    task
                    for task in self.tasks(experiment)
                    if self._has_ended(experiment, task, results)
                ]
                if tasks:
                    exhibits.append(experiment.show(tasks, self.limits, results))
        return exhibits

    def facts(self, papers: Sequence[str]) -> dict[str, str]:
        """Names and values that a report shows."""
        hours = sum(self.results(paper).seconds for paper in papers) / 3600
        corpora = ", ".join(f"{c.name} ({c.kind})" for c in self.corpora)
        if self.most_corpora is not None:
            corpora += f"; {self.most_corpora} at most of each kind in an experiment"
        kinds = dict.fromkeys(kind_of(task) for paper in papers for task in self._by_task(paper))
        return {
            "corpora": corpora,
            "scores": "; ".join(f"{kind}: {KINDS[kind].score}" for kind in kinds),
            "training": "all" if self.sentences is None else f"{self.sentences:,} at most of each",
            "seeds": str(self.limits.seeds),
            "epochs": "as in the papers"
            if self.limits.epochs is None
            else f"as in the papers, {self.limits.epochs} at most",
            "gold": "tokens, sentences, tags and lemmas",
            "learning": f"{hours:.1f} hours of processor time, without features and scoring",
        }

    def _has_ended(self, experiment: Experiment, task: str, results: Results) -> bool:
        """Whether all runs of an experiment on a task have ended.

        Runs are asked for one by one, so that only among those that have ended one is chosen.
        """
        return all(run in results for run in experiment.runs(task, self.limits, results.best))
