"""JSON records with character offsets, as annotation tools export them.

A record is one of

    {"text": "Ann sleeps", "entities": [[0, 3, "PER"]]}                          plain, doccano
    {"text": "Ann sleeps", "label": [[0, 3, "PER"]]}                             doccano
    {"text": "Ann sleeps", "spans": [{"start": 0, "end": 3, "label": "PER"}]}    Prodigy
    ["Ann sleeps", {"entities": [[0, 3, "PER"]]}]                                spaCy 2
    {"text": "Ann sleeps", "entities": [{"start": 0, "end": 3, "entity": "PER"}]}  Rasa
    {"data": {"text": "Ann sleeps"}, "annotations": [{"result": [...]}]}         Label Studio

Keys that are not named here are ignored.
"""

from typing import Any

from spacy_ssvm.commands.conversion.offsets import AnnotatedText, Offsets
from spacy_ssvm.components.json_records import checked_text, shown

#: The keys of spans; the first of them that a record has counts.
KEYS = ("entities", "spans", "label", "labels")
_EXPECTED = (
    'expected a record such as {"text": "Ann sleeps", "entities": [[0, 3, "PER"]]}, or one that '
    "Prodigy, doccano or Label Studio export"
)


def parse_record(record: Any, place: str) -> AnnotatedText | None:
    """The text and spans of a record; None where it was rejected, or not annotated.

    Raises ValueError, naming the place, for what is no such record.
    """
    if isinstance(record, list) and len(record) == 2 and isinstance(record[1], dict):
        record = {"text": record[0], **record[1]}
    if not isinstance(record, dict):
        raise ValueError(f"{place}: {_EXPECTED}; found {shown(record)}")
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
    spans = [_span_of(span, place) for span in found]
    wrong = [given for given, span in zip(found, spans, strict=True) if span is None]
    if wrong:
        others = f" (one of {len(wrong)})" if len(wrong) > 1 else ""
        raise ValueError(
            f"{place}: {shown(wrong[0])} is no span{others}: expected [start, end, label], or an "
            "object with the keys start, end and label"
        )
    return AnnotatedText(place, text, tuple(span for span in spans if span is not None))


def _text_of(record: dict[str, Any], place: str) -> str:
    text = record.get("text", record.get("data"))
    if isinstance(text, dict):
        texts = [value for value in text.values() if isinstance(value, str)]
        text = text.get("text", texts[0] if len(texts) == 1 else None)
    if not isinstance(text, str):
        wrong = "there is no text" if text is None else f"{shown(text)} is no text"
        raise ValueError(f"{place}: {wrong} among {shown(list(record))}: {_EXPECTED}")
    return checked_text(text, place)


def _list_of_spans(record: dict[str, Any], place: str) -> list[Any]:
    key = next((key for key in KEYS if key in record), None)
    if key is None and "answer" in record:  # Prodigy leaves the key out where there are none
        return []
    if key is None:
        raise ValueError(
            f"{place}: there is no key {', '.join(KEYS[:-1])} or {KEYS[-1]} with the spans of "
            'the text; where it has none, write "entities": []'
        )
    spans = record[key]
    if not isinstance(spans, list):
        raise ValueError(f"{place}: expected a list under '{key}', found {shown(spans)}")
    return spans


def _results_of(annotations: list[Any], place: str) -> list[Any] | None:
    """What the first annotator of Label Studio marked, or the one whose work is ground truth."""
    done = [one for one in annotations if isinstance(one, dict) and not one.get("was_cancelled")]
    done.sort(key=lambda one: not one.get("ground_truth"))
    if not done:
        return None
    results = done[0].get("result")
    if not isinstance(results, list):
        raise ValueError(f"{place}: expected a list under 'result', found {shown(results)}")
    return [
        result["value"]
        for result in results
        if isinstance(result, dict) and result.get("type") in ("labels", "hypertextlabels")
        if "value" in result
    ]


def _span_of(span: Any, place: str) -> Offsets | None:
    """The offsets of a span; None for what is none."""
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
        return None
    return Offsets(values[0], values[1], checked_text(values[2].strip(), place))
