"""JSON records of annotation tools are understood, or refused by file and line."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_ssvm.commands.conversion.offsets import AnnotatedText, Offsets
from spacy_ssvm.commands.conversion.records import parse_record
from spacy_ssvm.components.json_records import read_records

TEXT = "Ann sleeps"
SPAN = {"start": 0, "end": 3, "label": "PER"}
RASA = {"start": 0, "end": 3, "entity": "PER", "value": "Ann"}
OFFSETS = {"id": 7, "start_offset": 0, "end_offset": 3, "label": "PER"}
VALUE = {"start": 0, "end": 3, "text": "Ann", "labels": ["PER"]}
RESULT = {"type": "labels", "value": VALUE}
NO_SPAN = {"type": "choices", "value": {"choices": ["news"]}}
OTHER = {"type": "labels", "value": {**VALUE, "labels": ["LOC"]}}


def studio(*annotations: dict[str, Any], **data: Any) -> dict[str, Any]:
    return {"id": 1, "data": data or {"text": TEXT}, "annotations": list(annotations)}


@pytest.mark.parametrize("record", [
    {"text": TEXT, "entities": [[0, 3, "PER"]], "id": 3, "meta": {"label": 5}},
    {"text": TEXT, "label": [[0, 3, "PER"]]}, {"text": TEXT, "labels": [[0, 3, "PER"]]},
    {"text": TEXT, "entities": [RASA]}, {"text": TEXT, "entities": [[0, 3, " PER "]]},
    {"text": TEXT, "entities": [OFFSETS], "relations": []}, {"data": TEXT, "entities": [OFFSETS]},
    {"data": TEXT, "label": [[0, 3, "PER"]]}, {"text": TEXT, "spans": [SPAN], "answer": "accept"},
    {"text": TEXT, "spans": [SPAN]}, [TEXT, {"entities": [[0, 3, "PER"]]}],
    {"text": TEXT, "label": [VALUE], "id": 1}, studio({"result": [RESULT]}, title="a", text=TEXT),
    studio({"result": [NO_SPAN, RESULT, {"type": "relation", "from_id": "a"}]}),
    studio({"result": [RESULT]}, {"result": [OTHER]}), studio({"result": [RESULT]}, a=TEXT, b=3),
    studio({"result": [OTHER]}, {"result": [RESULT], "ground_truth": True}),
    studio({"result": [OTHER], "was_cancelled": True, "ground_truth": True}, {"result": [RESULT]}),
])  # fmt: skip
def test_formats(record: Any) -> None:
    assert parse_record(record, "here") == AnnotatedText("here", TEXT, (Offsets(0, 3, "PER"),))


def test_a_whole_file_of_rasa(tmp_path: Path) -> None:
    path, example = tmp_path / "nlu.json", {"text": TEXT, "intent": "a", "entities": [RASA]}
    path.write_text(json.dumps({"rasa_nlu_data": {"common_examples": [example]}}), encoding="utf8")
    assert [*read_records(path)] == [(f"{path}, record 1", example)]
    path.write_text('{"rasa_nlu_data": {}}', encoding="utf8")
    with pytest.raises(ValueError, match="expected a list of records, found null"):
        next(read_records(path))


def test_texts_without_spans() -> None:
    none = [{"text": TEXT, "entities": []}, {"text": TEXT, "answer": "accept"},
            studio({"result": []}), studio({"result": [NO_SPAN]})]  # fmt: skip
    assert {parse_record(record, "here") for record in none} == {AnnotatedText("here", TEXT, ())}


def test_what_was_rejected_or_not_annotated() -> None:
    none = [{"text": TEXT, "spans": [SPAN], "answer": "ignore"}, {"text": TEXT, "answer": "reject"},
            studio(), studio({"result": [RESULT], "was_cancelled": True})]  # fmt: skip
    assert {parse_record(record, "here") for record in none} == {None}


@pytest.mark.parametrize("record", [
    None, 3, True, TEXT, [], [TEXT], [TEXT, []], [3, {"entities": []}], [TEXT, {}], {},
    {"entities": []}, {"text": 3, "entities": []}, {"text": TEXT}, {"text": TEXT, "entities": None},
    {"text": TEXT, "entities": {}}, {"text": TEXT, "label": "PER"}, {"text": TEXT, "spans": 0},
    studio({"result": []}, title="a", body="b"), studio({"result": []}, number=3), studio({}),
    studio({"result": [RESULT, {"type": "labels", "value": {**VALUE, "labels": []}}]}),
    studio({"result": [RESULT, {"type": "labels", "value": {**VALUE, "start": "0"}}]}),
])  # fmt: skip
def test_records_that_are_refused(record: Any) -> None:
    with pytest.raises(ValueError, match=r"^here\b"):
        parse_record(record, "here")


@pytest.mark.parametrize("span", [
    [0, 3], [], None, 3, "PER", {}, [0, 3, ""], [0, 3, None], [0, 3, 5], [0, 3, ["PER"]],
    ["0", 3, "PER"], [0, 3.0, "PER"], [False, 3, "PER"], [0, True, "PER"], [0, None, "PER"],
    {"start": 0, "end": 3}, {"end": 3, "label": "PER"}, {**SPAN, "label": ""},
    {**SPAN, "start": False}, {**SPAN, "end": "3"}, {**OFFSETS, "end_offset": 0.5},
    {**VALUE, "labels": []}, {**VALUE, "labels": [""]}, {**VALUE, "labels": [3]},
])  # fmt: skip
def test_spans_that_are_refused(span: Any) -> None:
    with pytest.raises(ValueError, match=r"^here\b"):
        parse_record({"text": TEXT, "label": [[0, 3, "PER"], span]}, "here")


keys = st.sampled_from(["text", "data", "label", "labels", "annotations", "result", "start"])
leaves = st.sampled_from(["Ann", "PER", "", "accept", "labels", 0, 3, True, False, None, 1.5])
values = st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(keys, inner))


@given(values | st.dictionaries(keys, values).map(lambda record: {"text": "Ann", **record}))
def test_any_record_is_read_or_refused(record: Any) -> None:
    try:
        read = parse_record(record, "here")
    except ValueError as error:
        assert str(error).startswith("here")  # noqa: PT017
    else:
        assert read is None or all(list(map(type, s)) == [int, int, str] for s in read.spans)


def test_several_wrong_spans_and_deep_ones() -> None:
    spans: list[Any] = [[0, 3, "PER"], [0], ["0"], []]
    with pytest.raises(ValueError, match=r"^here: \[0\] is no span \(one of 3\)"):
        parse_record({"text": TEXT, "label": spans}, "here")
    deep: Any = []
    for _ in range(5_000):
        deep = [deep]
    with pytest.raises(ValueError, match=r"^here: what is nested too deeply is no span"):
        parse_record({"text": TEXT, "label": [deep]}, "here")


@pytest.mark.parametrize(("text", "problem"), [(42, "42 is no text"), (None, "there is no text")])
def test_a_text_of_another_type(text: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=f"a.jsonl, line 1: {problem} among"):
        parse_record({"text": text, "entities": []}, "a.jsonl, line 1")
