"""Convert ``assets/entities.jsonl`` to .spacy files, one for each part of its split.

    python scripts/convert_entities.py assets/entities.jsonl corpus/entities

Each line is {"text": ..., "entities": [[start, end, label], ...], "part": "train", ...}, with
character offsets. The text is tokenized with spaCy's English tokenizer.
"""

import argparse
from collections import defaultdict
from pathlib import Path

import spacy
import srsly
import wasabi
from spacy.tokens import Doc, DocBin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=Path, help="JSONL file of the corpus")
    parser.add_argument("folder", type=Path, help="output folder")
    options = parser.parse_args()
    nlp = spacy.blank("en")
    parts: defaultdict[str, list[Doc]] = defaultdict(list)
    for number, line in enumerate(srsly.read_jsonl(options.file), start=1):
        doc = nlp.make_doc(line["text"])
        spans = [doc.char_span(start, end, label=label) for start, end, label in line["entities"]]
        if None in spans:
            wasabi.msg.fail(
                f"{options.file}, line {number}: an entity does not match token boundaries",
                line["text"],
                exits=1,
            )
        doc.set_ents(spans)
        parts[line["part"]].append(doc)
    options.folder.mkdir(parents=True, exist_ok=True)
    for part, docs in parts.items():
        DocBin(docs=docs).to_disk(options.folder / f"{part}.spacy")
    wasabi.msg.good(f"Wrote the entity corpus to {options.folder}")
    wasabi.msg.table(
        [
            (part, len(docs), sum(map(len, docs)), sum(len(doc.ents) for doc in docs))
            for part, docs in parts.items()
        ],
        header=("part", "sentences", "tokens", "entities"),
        aligns=("l", "r", "r", "r"),
        divider=True,
    )


if __name__ == "__main__":
    main()
