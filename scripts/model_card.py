"""Write the meta data of a package: what is known of the data, and what is measured.

    python scripts/model_card.py MODEL CORPUS KNOWN OUTPUT [--gold-preproc]

MODEL is a trained pipeline, CORPUS a .spacy file that it has not seen, KNOWN a JSON file with name,
version, description, author, license and sources. Scores, speed and size are added as notes, which
`spacy package --meta-path OUTPUT` writes into the README of the package.
"""

import argparse
from pathlib import Path

import srsly
import wasabi

from spacy_ssvm.commands.report import measure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", type=Path, help="folder of a trained pipeline")
    parser.add_argument("corpus", type=Path, help=".spacy file to measure on")
    parser.add_argument("known", type=Path, help="JSON file of what is known")
    parser.add_argument("output", type=Path, help="JSON file to write")
    parser.add_argument("--gold-preproc", action="store_true", help="use gold tokens and sentences")
    options = parser.parse_args()
    measured = measure(str(options.model), options.corpus, gold_preproc=options.gold_preproc)
    lines = ["### Measured", "", "| figure | value |", "| --- | --- |"]
    lines += [f"| {name} | {value} |" for name, value in measured.rows]
    lines += [
        "",
        "Speed is that of the machine that made the package. The accuracies above are those",
        "on the corpus by which the best epoch was chosen.",
    ]
    meta = {**srsly.read_json(options.model / "meta.json"), **srsly.read_json(options.known)}
    nlp = measured.nlp
    own = {key for name in nlp.pipe_names for key in nlp.get_pipe_meta(name).default_score_weights}
    meta["performance"] = {key: value for key, value in meta["performance"].items() if key in own}
    meta["notes"] = "\n".join(lines)
    srsly.write_json(options.output, {key: value for key, value in meta.items() if value != ""})
    wasabi.msg.good(f"Wrote {options.output}")


if __name__ == "__main__":
    main()
