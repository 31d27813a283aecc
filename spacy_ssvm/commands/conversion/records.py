"""JSON records with character offsets, as annotation tools export them.

A file of JSON lines, or one JSON list, also as {"rasa_nlu_data": {"common_examples": [...]}}. A
record is one of

    {"text": "Ann sleeps", "entities": [[0, 3, "PER"]]}                          plain, doccano
    {"text": "Ann sleeps", "label": [[0, 3, "PER"]]}                             doccano
    {"text": "Ann sleeps", "spans": [{"start": 0, "end": 3, "label": "PER"}]}    Prodigy
    ["Ann sleeps", {"entities": [[0, 3, "PER"]]}]                                spaCy 2
    {"text": "Ann sleeps", "entities": [{"start": 0, "end": 3, "entity": "PER"}]}  Rasa
    {"data": {"text": "Ann sleeps"}, "annotations": [{"result": [...]}]}         Label Studio

Keys that are not named here are ignored.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from spacy_ssvm.commands.conversion.offsets import AnnotatedText, Offsets
from spacy_ssvm.storage import read_text, shorten

_KEYS = ("entities", "spans", "label", "labels")
_EXPECTED = (
    'expected a record such as {"text": "Ann sleeps", "entities": [[0, 3, "PER"]]}, or one that '
    "Prodigy, doccano or Label Studio export"
)


def read_records(path: Path, encoding: str = "utf8") -> Iterator[tuple[str, Any]]:
    """The records of a file, plain or gzip, each after the place where it stands.

    Raises ValueError naming file and line where the file is not JSON.
    """
    text = read_text(path, encoding)
    if ending_of(path) == ".json":
        records = _parse(text, str(path))
        if isinstance(records, dict) and isinstance(records.get("rasa_nlu_data"), dict):
            records = records["rasa_nlu_data"].get("common_examples")
        if not isinstance(records, list):
            raise ValueError(f"{path}: expected a list of records, found {_shown(records)}")
        for number, record in enumerate(records, start=1):
            yield f"{path}, record {number}", record
    else:
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                place = f"{path}, line {number}"
                yield place, _parse(line, place)


def ending_of(path: Path) -> str:
    """The ending of a file in small letters, before ``.gz`` of one that is compressed."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _parse(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{place}: this is not JSON: {error}") from error


def parse_record(record: Any, place: str) -> AnnotatedText | None:
    """The text and spans of a record; None where it was rejected, or not annotated.

    Raises ValueError, naming the place, for what is no such record.
    """
    if isinstance(record, list) and len(record) == 2 and isinstance(record[1], dict):
        record = {"text": record[0], **record[1]}
    if not isinstance(record, dict):
        raise ValueError(f"{place}: {_EXPECTED}; found {_shown(record)}")
    if record.get("answer", "accept") != "accept":
        return None
    text = _text_of(record, place)
    if isinstance(record.get("annotations"), list):
        results = _results_of(record["annotations"], place)
        if results is None:
            return None
        found = [value for value in results if value is not None]
    else:
        found = _list_of_spans(record, place)
    return AnnotatedText(place, text, tuple(_span_of(span, place) for span in found))


def _text_of(record: dict[str, Any], place: str) -> str:
    text = record.get("text", record.get("data"))
    if isinstance(text, dict):
        texts = [value for value in text.values() if isinstance(value, str)]
        text = text.get("text", texts[0] if len(texts) == 1 else None)
    if not isinstance(text, str):
        raise ValueError(f"{place}: there is no text among {_shown(list(record))}: {_EXPECTED}")
    return _checked(text, place)


def _checked(text: str, place: str) -> str:
    """A text, unless it has halves of characters."""
    try:
        text.encode("utf8")
    except UnicodeError as error:
        raise ValueError(f"{place}: a text is not valid Unicode: {error}") from error
    return text


def _list_of_spans(record: dict[str, Any], place: str) -> list[Any]:
    key = next((key for key in _KEYS if key in record), None)
    if key is None and "answer" in record:  # Prodigy leaves the key out where there are none
        return []
    if key is None:
        raise ValueError(
            f"{place}: there is no key {', '.join(_KEYS[:-1])} or {_KEYS[-1]} with the spans of "
            'the text; where it has none, write "entities": []'
        )
    spans = record[key]
    if not isinstance(spans, list):
        raise ValueError(f"{place}: expected a list under '{key}', found {_shown(spans)}")
    return spans


def _results_of(annotations: list[Any], place: str) -> list[Any] | None:
    """What the first annotator of Label Studio marked, or the one whose work is ground truth."""
    done = [one for one in annotations if isinstance(one, dict) and not one.get("was_cancelled")]
    done.sort(key=lambda one: not one.get("ground_truth"))
    if not done:
        return None
    results = done[0].get("result")
    if not isinstance(results, list):
        raise ValueError(f"{place}: expected a list under 'result', found {_shown(results)}")
    return [
        result["value"]
        for result in results
        if isinstance(result, dict) and result.get("type") in ("labels", "hypertextlabels")
        if "value" in result
    ]


def _span_of(span: Any, place: str) -> Offsets:
    values: list[Any]
    if isinstance(span, dict):
        labels, label = span.get("labels"), span.get("label", span.get("entity"))
        label = labels[0] if isinstance(labels, list) and labels else label
        values = [
            span.get("start", span.get("start_offset")),
            span.get("end", span.get("end_offset")),
            label,
        ]
    else:
        values = list(span[:3]) if isinstance(span, list) else []
    if (
        len(values) != 3
        or not all(type(value) is int for value in values[:2])
        or not isinstance(values[2], str)
        or not values[2].strip()
    ):
        raise ValueError(
            f"{place}: {_shown(span)} is no span: expected [start, end, label], or an object with "
            "the keys start, end and label"
        )
    return Offsets(values[0], values[1], _checked(values[2], place))


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return shorten(text.encode("utf8", "backslashreplace").decode("utf8"))
