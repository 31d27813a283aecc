"""Bad input ends in an error that says what is wrong, where, and what to do."""

import json
import math
import re
import shutil
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from corpora import make_doc, tagging_examples
from pipelines import TAGGER
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.config import ConfigValidationError

from spacy_ssvm.factories import make_tagger
from spacy_ssvm.features.clusters import read_clusters
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent
from spacy_ssvm.storage import ModelFileError, _json_checksum

NAME = TAGGER.name


def refusal(action: Callable[[], Any], kind: type[Exception] = ValueError) -> str:
    """The message of the error that an action raises."""
    with pytest.raises(kind) as caught:
        action()
    return str(caught.value)


def refused_config(**config: Any) -> str:
    return refusal(lambda: TAGGER.pipeline(**config), ConfigValidationError)


def solver(**settings: Any) -> dict[str, Any]:
    return {"@misc": "spacy_ssvm.DualCoordinateDescent.v1", **settings}


#: All solvers by their names in a config, with the settings that have no default.
SOLVERS = [
    pytest.param(entry.name, {"strength": 1.0} if "ProxGradient" in entry.name else {})
    for entry in metadata.entry_points(group="spacy_misc")
    if entry.module.startswith("spacy_ssvm.solvers.")
]


# Config


@pytest.mark.parametrize("template", ["colour[0]", "lower[0]+colour[1]", "ngrams(colour, 2, 1)"])
def test_unknown_attribute_of_a_template(template: str) -> None:
    message = refused_config(templates=["lower[0]", template])
    assert f"template '{template}': there is no attribute 'colour'" in message
    assert f"components.{NAME}" in message
    for name in ("orth", "lower", "shape", "suffix3", "prefix5", "cluster4", "_.name"):
        assert name in message


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("lower", "cannot read 'lower'"),
        ("lower[0", "cannot read 'lower[0'"),
        ("lower[x]", "cannot read 'lower[x]'"),
        ("lower[0]+", "cannot read ''"),
        ("lower[0] suffix1[0]", "cannot read 'lower[0] suffix1[0]'"),
        ("", "cannot read ''"),
        ("lower[99]", "offset 99 is over 16 tokens away"),
        ("taggger", "cannot read 'taggger'"),
        ("ngrams(lower, 4, 1)", "n is 4, but a window of 1 holds runs of 1 to 3 tokens"),
        ("ngrams(lower, 0, 1)", "n is 0"),
        ("ngrams(lower)", "cannot read 'ngrams(lower)'"),
    ],
)
def test_malformed_template(template: str, problem: str) -> None:
    message = refused_config(templates=[template])
    assert f"template '{template}': {problem}" in message


def test_no_templates() -> None:
    message = refused_config(templates=[])
    assert "there are no templates: give at least one, such as 'lower[0]'" in message


@pytest.mark.parametrize("C", [0.0, -1.0])
def test_C_that_is_not_above_zero(C: float) -> None:
    message = refusal(lambda: TAGGER.pipeline(solver=solver(C=C)))
    assert f"C is {C}: it must be a number above 0" in message


@pytest.mark.parametrize("C", [math.nan, math.inf])
def test_C_that_is_no_number(C: float) -> None:
    message = refusal(lambda: DualCoordinateDescent(C=C))
    assert f"C is {C}: it must be a number above 0" in message
    # spaCy itself refuses such values in a config, and shows them
    assert f"'C': {C}" in refusal(lambda: TAGGER.pipeline(solver=solver(C=C)))


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"variant": "fast"}, "variant is 'fast': choose 'ssvm', 'light' or 'cpd'"),
        ({"inner_passes": -1}, "inner_passes is -1: it must not be negative"),
        ({"delta": 0.0}, "delta is 0.0: it must be a number above 0"),
        ({"tolerance": -0.1}, "tolerance is -0.1: it must be a number, at least 0"),
    ],
)
def test_other_settings_of_the_solver(settings: dict[str, Any], problem: str) -> None:
    assert problem in refusal(lambda: TAGGER.pipeline(solver=solver(**settings)))


@pytest.mark.parametrize(("name", "given"), SOLVERS)
def test_every_solver_refuses_invalid_settings(name: str, given: dict[str, Any]) -> None:
    block = {"@misc": name, **given}
    for settings, problem in (
        ({"seed": -1}, "seed is -1: it must not be negative"),
        ({"seed": 0.5}, "0.5 is not <class 'int'>"),
        ({"sead": 1}, "unexpected argument: 'sead'"),
    ):
        message = refused_config(solver={**block, **settings})
        assert name in message
        assert problem in message


@pytest.mark.parametrize("hash_bits", [0, 7, 29, -3])
def test_hash_bits_out_of_range(hash_bits: int) -> None:
    message = refused_config(hash_bits=hash_bits)
    assert "hash_bits" in message
    assert f"{hash_bits}: must lie between 8 and 28" in message


def test_min_count_of_zero() -> None:
    message = refused_config(min_count=0)
    assert "min_count" in message
    assert "0: must be at least 1" in message


def test_min_count_with_hash_bits() -> None:
    message = refused_config(min_count=2, hash_bits=20)
    assert "features are not counted where hash_bits is set" in message


@pytest.mark.parametrize("attribute", ["LEMMA", "tag", ""])
def test_an_attribute_that_cannot_be_written(attribute: str) -> None:
    message = refused_config(attribute=attribute)
    assert f"'{attribute}': choose TAG or POS" in message


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"min_count": "many"}, "min_count"),
        ({"templates": 3}, "templates"),
        ({"overwrite": "perhaps"}, "overwrite"),
        ({"costs": {"NN": 1}}, "costs"),
        ({"solvent": 1}, "solvent"),
        ({"solver": solver(c=1)}, "solver"),
    ],
)
def test_config_of_the_wrong_type_or_name(config: dict[str, Any], key: str) -> None:
    assert key in refused_config(**config)


# Costs, checked when the labels are known


def initialize(nlp: Language) -> None:
    nlp.initialize(lambda: tagging_examples(nlp.vocab))


def test_a_negative_cost() -> None:
    nlp = TAGGER.pipeline(costs={"NN": {"VB": -1.0}})
    message = refusal(lambda: initialize(nlp))
    assert f"{NAME}: the cost of predicting 'VB' for 'NN' is -1.0" in message


@pytest.mark.parametrize("cost", [math.nan, math.inf])
def test_a_cost_that_is_no_number(cost: float) -> None:
    nlp = TAGGER.pipeline()
    tagger = make_tagger(
        nlp,
        "made",
        attribute="TAG",
        whole_docs=False,
        templates=["lower[0]"],
        min_count=1,
        hash_bits=None,
        costs={"NN": {"VB": cost}},
        solver=DualCoordinateDescent(),
        selection=None,
        overwrite=False,
        scorer=None,
    )
    message = refusal(lambda: tagger.initialize(lambda: tagging_examples(nlp.vocab)))
    assert f"made: the cost of predicting 'VB' for 'NN' is {cost}" in message
    # spaCy itself refuses such values in a config, and shows them
    assert f"'VB': {cost}" in refusal(lambda: TAGGER.pipeline(costs={"NN": {"VB": cost}}))


def test_a_cost_of_the_right_label() -> None:
    nlp = TAGGER.pipeline(costs={"NN": {"NN": 0.5}})
    assert "0 for the right label" in refusal(lambda: initialize(nlp))


@pytest.mark.parametrize("costs", [{"XY": {"NN": 2.0}}, {"NN": {"XY": 2.0}}])
def test_costs_of_an_unknown_label(costs: dict[str, dict[str, float]]) -> None:
    nlp = TAGGER.pipeline(costs=costs)
    message = refusal(lambda: initialize(nlp))
    assert f"{NAME}: costs name the label 'XY', which does not exist" in message
    assert "NN, NNP, NNS" in message


# Corpora


def test_an_empty_corpus() -> None:
    nlp = TAGGER.pipeline()
    message = refusal(lambda: nlp.initialize(lambda: iter(())))
    assert f"{NAME}: the examples have no TAG annotation to learn from" in message
    assert "an empty one has none either" in message


@pytest.mark.parametrize("get_examples", [list, lambda: None, []])
def test_what_returns_no_examples_is_refused_as_in_spacy(get_examples: Any) -> None:
    tagger: Any = TAGGER.pipeline().get_pipe(NAME)
    message = refusal(lambda: tagger.initialize(get_examples), TypeError)
    assert message.startswith("[E930]")
    assert f"{NAME}.initialize" in message


def test_a_corpus_without_tags() -> None:
    nlp = TAGGER.pipeline()
    docs = [nlp.make_doc("no tags here"), nlp.make_doc(" \n ")]
    message = refusal(lambda: nlp.initialize(lambda: [Example(doc, doc) for doc in docs]))
    assert f"{NAME}: the examples have no TAG annotation" in message
    message = refusal(lambda: nlp.initialize())
    assert "no TAG annotation" in message
    assert "[E143]" in message
    universal = TAGGER.pipeline(attribute="POS")
    message = refusal(lambda: universal.initialize(lambda: [Example(doc, doc) for doc in docs]))
    assert "no POS annotation" in message


def test_a_corpus_with_another_attribute_only() -> None:
    nlp = TAGGER.pipeline()
    doc = Doc(nlp.vocab, words=["dog"], pos=["NOUN"])
    message = refusal(lambda: nlp.initialize(lambda: [Example(doc, doc)]))
    assert "no TAG annotation" in message


def test_a_label_that_initialize_has_not_seen() -> None:
    nlp = TAGGER.pipeline()
    initialize(nlp)
    words = ["Oh", "my", "dog"]
    example = Example(
        make_doc(nlp.vocab, words), make_doc(nlp.vocab, words, tags=["UH", "PRP$", "NN"])
    )
    known = tagging_examples(nlp.vocab)
    message = refusal(lambda: nlp.update([known[0], example]))
    assert f"{NAME}: the label 'UH' of token 0 ('Oh') in 'Oh my dog'" in message
    assert f"[initialize.components.{NAME}.labels]" in message
    # the batch left nothing behind
    TAGGER.train(nlp, known, 8)
    assert TAGGER.annotate(nlp) == TAGGER.gold()
    assert TAGGER.number_of_examples(nlp) == len(known)


def test_a_label_that_initialize_has_not_seen_deep_in_a_batch() -> None:
    nlp = TAGGER.pipeline()
    nlp.get_pipe(NAME).initialize(list, labels=["DT", "JJ"])
    examples = tagging_examples(nlp.vocab, "The/DT old/JJ\nthe/DT cat/NN")
    message = refusal(lambda: nlp.update(examples))
    assert "the label 'NN' of token 1 ('cat') in 'the cat'" in message


@pytest.mark.parametrize("not_an_example", ["text", None, 3])
def test_what_is_no_example(not_an_example: Any) -> None:
    nlp = TAGGER.pipeline()
    message = refusal(lambda: nlp.initialize(lambda: [not_an_example]), TypeError)
    assert f"{NAME}: initialize needs Example objects" in message
    assert f"returned {type(not_an_example).__name__}" in message


def test_a_doc_is_no_example() -> None:
    nlp = TAGGER.pipeline()
    message = refusal(lambda: nlp.initialize(lambda: [nlp.make_doc("text")]), TypeError)
    assert "returned Doc" in message
    initialize(nlp)
    with pytest.raises(TypeError, match="Example"):
        nlp.get_pipe(NAME).update([nlp.make_doc("text")])


def test_a_universal_tag_that_does_not_exist() -> None:
    nlp = TAGGER.pipeline(attribute="POS")
    tagger: Any = nlp.get_pipe(NAME)
    for action in (
        lambda: tagger.add_label("NN"),
        lambda: tagger.initialize(list, labels=["NOUN", "NN"]),
    ):
        message = refusal(action)
        assert f"{NAME}: 'NN' is not a universal part-of-speech tag" in message
        assert "NOUN" in message


@pytest.mark.parametrize("label", [3, None, b"NN"])
def test_a_label_that_is_no_text(label: Any) -> None:
    tagger: Any = TAGGER.pipeline().get_pipe(NAME)
    assert "a label must be a text" in refusal(lambda: tagger.add_label(label))


# Components that are not ready


def test_a_component_that_was_not_initialized() -> None:
    nlp = TAGGER.pipeline()
    tagger: Any = nlp.get_pipe(NAME)
    doc = nlp.make_doc("some text")
    for action in (
        lambda: nlp("some text"),
        lambda: tagger.predict([doc]),
        lambda: tagger.scores(doc),
        lambda: tagger.explain(doc, 0),
        lambda: tagger.update(tagging_examples(nlp.vocab)),
    ):
        message = refusal(action)
        assert f"{NAME}: there are no labels. Initialize the component on a corpus" in message
    assert len(nlp("")) == 0, "there is nothing to tag"


def test_the_objective_of_a_component_that_was_not_trained() -> None:
    nlp = TAGGER.pipeline()
    tagger: Any = nlp.get_pipe(NAME)
    initialize(nlp)
    message = refusal(lambda: tagger.objective(tagging_examples(nlp.vocab)))
    assert "has not been trained" in message


def test_an_extension_that_is_not_registered() -> None:
    nlp = TAGGER.pipeline(templates=["lower[0]", "_.not_registered[0]"])
    initialize(nlp)
    for action in (
        lambda: nlp.update(tagging_examples(nlp.vocab)),
        lambda: nlp("some text"),
    ):
        message = refusal(action)
        assert "template attribute '_.not_registered'" in message
        assert "Token.set_extension('not_registered', ...)" in message


# Saved models


@pytest.fixture(scope="module")
def saved(trained_tagger: Language, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "pipeline"
    trained_tagger.to_disk(path)
    return path


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """The saved component, for the test to damage; the pipeline is its parent."""
    shutil.copytree(saved, tmp_path / "pipeline")
    return tmp_path / "pipeline" / NAME


def refused_load(folder: Path) -> str:
    return refusal(lambda: spacy.load(folder.parent), ModelFileError)


def write_header(folder: Path, header: dict[str, Any]) -> None:
    """Write a header with the checksum that it should have."""
    header = {name: value for name, value in header.items() if name != "checksum"}
    header["checksum"] = _json_checksum(header)
    (folder / "model.json").write_text(json.dumps(header), encoding="utf8")


def array_files(folder: Path) -> list[Path]:
    files = sorted(folder.glob("arrays-*/*.npy"))
    assert files
    return files


def array_file(folder: Path, name: str) -> Path:
    (file,) = folder.glob(f"arrays-*/{name}.npy")
    return file


def test_an_undamaged_copy_loads(folder: Path) -> None:
    nlp = spacy.load(folder.parent)
    assert TAGGER.annotate(nlp) == TAGGER.gold()


@pytest.mark.parametrize("part", [0.0, 0.01, 0.5, 0.99])
def test_truncated_arrays(folder: Path, part: float) -> None:
    for file in array_files(folder):
        data = file.read_bytes()
        file.write_bytes(data[: int(part * len(data))])
        assert str(file) in refused_load(folder)
        file.write_bytes(data)


def test_missing_arrays(folder: Path) -> None:
    for file in array_files(folder):
        data = file.read_bytes()
        file.unlink()
        message = refused_load(folder)
        assert str(file) in message
        assert "missing, truncated or damaged" in message
        file.write_bytes(data)


def test_a_changed_bit_anywhere(folder: Path) -> None:
    for file in array_files(folder):
        data = bytearray(file.read_bytes())
        for place in (-1, len(data) // 2 if len(data) > 256 else -1):
            if len(data) > 128:  # an array with values behind its header
                data[place] ^= 1
                file.write_bytes(bytes(data))
                message = refused_load(folder)
                assert str(file) in message
                assert "damaged, its checksum has changed" in message
                data[place] ^= 1
        file.write_bytes(bytes(data))
    assert TAGGER.annotate(spacy.load(folder.parent)) == TAGGER.gold()


def test_bytes_that_are_no_array(folder: Path) -> None:
    file = array_file(folder, "weights")
    file.write_bytes(b"not what numpy writes")
    assert str(file) in refused_load(folder)


def test_an_array_of_another_type_or_shape(folder: Path) -> None:
    file = array_file(folder, "weights")
    weights = np.load(file)
    for other in (weights.astype(np.float64), weights[:-1]):
        np.save(file, other)
        message = refused_load(folder)
        assert str(file) in message
        assert "not what was saved" in message


def test_an_array_of_python_objects_is_not_unpickled(folder: Path) -> None:
    file = array_file(folder, "weights")
    np.save(file, np.array([{"any": "object"}], dtype=object), allow_pickle=True)
    assert str(file) in refused_load(folder)


@pytest.mark.parametrize("text", ["", "{", "not json", '"text"', "[]", "{}", "null", "3"])
def test_a_header_that_is_none(folder: Path, text: str) -> None:
    (folder / "model.json").write_text(text, encoding="utf8")
    message = refused_load(folder)
    assert str(folder / "model.json") in message
    assert "header of a model" in message


def test_a_header_with_bytes_that_are_no_text(folder: Path) -> None:
    (folder / "model.json").write_bytes(b"\xff\xfe\x00{}")
    assert str(folder / "model.json") in refused_load(folder)


def test_a_missing_header(folder: Path) -> None:
    (folder / "model.json").unlink()
    assert str(folder / "model.json") in refused_load(folder)


def test_a_header_that_lacks_a_part(folder: Path) -> None:
    file = folder / "model.json"
    header = json.loads(file.read_text(encoding="utf8"))
    for key in header:
        write_header(folder, {name: value for name, value in header.items() if name != key})
        if key == "checksum":
            assert TAGGER.annotate(spacy.load(folder.parent)) == TAGGER.gold()
        else:
            assert str(file) in refused_load(folder), key
    for key in header["arrays"]:
        less = {name: value for name, value in header["arrays"].items() if name != key}
        write_header(folder, {**header, "arrays": less})
        assert key in refused_load(folder), key


def test_a_model_of_a_newer_format(folder: Path) -> None:
    file = folder / "model.json"
    header = json.loads(file.read_text(encoding="utf8"))
    newer = header["format"] + 1
    file.write_text(json.dumps({**header, "format": newer}), encoding="utf8")
    message = refused_load(folder)
    assert str(file) in message
    assert f"saved in format {newer}" in message
    assert "install a newer spacy_ssvm" in message


def test_a_newer_format_may_look_quite_different(folder: Path) -> None:
    (folder / "model.json").write_text('{"format": 99}', encoding="utf8")
    assert "install a newer spacy_ssvm" in refused_load(folder)


def test_a_damaged_model_leaves_the_component_as_it_was(
    trained_tagger: Language, folder: Path
) -> None:
    file = array_file(folder, "weights")
    file.write_bytes(file.read_bytes()[:-4])
    tagger: Any = trained_tagger.get_pipe(NAME)
    nlp = TAGGER.pipeline()
    other: Any = nlp.get_pipe(NAME).from_bytes(tagger.to_bytes())
    refusal(lambda: other.from_disk(folder, exclude=["vocab"]), ModelFileError)
    assert TAGGER.annotate(nlp) == TAGGER.gold()


@pytest.mark.parametrize("data", [b"", b"nonsense", b"\x80", b"\x93\x01\x02\x03", b"\xa4text"])
def test_bytes_that_are_no_model(trained_tagger: Language, data: bytes) -> None:
    model: Any = TAGGER.pipeline().get_pipe(NAME).model
    message = refusal(lambda: model.from_bytes(data), ModelFileError)
    assert "the bytes" in message


def test_truncated_bytes_of_a_model(trained_tagger: Language) -> None:
    source: Any = trained_tagger.get_pipe(NAME)
    data = source.model.to_bytes()
    model: Any = TAGGER.pipeline().get_pipe(NAME).model
    for part in (0.1, 0.5, 0.99):
        refusal(lambda part=part: model.from_bytes(data[: int(part * len(data))]), ModelFileError)


# Word clusters


def test_cluster_templates_without_clusters() -> None:
    nlp = TAGGER.pipeline(templates=["lower[0]", "cluster4[-1]+cluster6[0]"])
    message = refusal(lambda: initialize(nlp))
    assert f"{NAME}: the template 'cluster4[-1]+cluster6[0]' needs word clusters" in message
    assert f"clusters = PATH in [initialize.components.{NAME}]" in message


@pytest.mark.parametrize(
    "line", ["0110", "0110 dog", "01a0\tdog", "\tdog", "0110\t", "dog\t0110\t7"]
)
def test_a_malformed_line_of_a_cluster_file(tmp_path: Path, line: str) -> None:
    path = tmp_path / "clusters.tsv"
    path.write_text(f"0010\tcat\t4\n{line}\n", encoding="utf8")
    nlp = TAGGER.pipeline(templates=["cluster4[0]"])
    examples = tagging_examples(nlp.vocab)
    tagger: Any = nlp.get_pipe(NAME)
    message = refusal(lambda: tagger.initialize(lambda: examples, nlp=nlp, clusters=path))
    assert f"{path}, line 2: expected a bit string, a tab and a word" in message
    assert f"found {line.rstrip()!r}" in message


def test_a_bit_string_that_is_too_long(tmp_path: Path) -> None:
    path = tmp_path / "clusters.tsv"
    path.write_text("01" * 40 + "\tdog\n", encoding="utf8")
    assert f"{path}, line 1: a bit string of 80 bits" in refusal(lambda: read_clusters(path))


def test_an_empty_cluster_file(tmp_path: Path) -> None:
    path = tmp_path / "clusters.tsv"
    path.touch()
    assert f"{path}: the cluster file has no words" in refusal(lambda: read_clusters(path))


def test_a_missing_cluster_file(tmp_path: Path) -> None:
    path = tmp_path / "nowhere.tsv"
    assert str(path) in refusal(lambda: read_clusters(path), OSError)


@pytest.mark.parametrize(
    ("factory", "annotation"), [("ssvm_ner", "entity"), ("ssvm_chunker", "doc.spans['chunks']")]
)
def test_a_corpus_without_spans(factory: str, annotation: str) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe(factory)
    doc = nlp.make_doc("Ann sleeps")
    with pytest.raises(ValueError, match=re.escape(f"the examples have no {annotation} annot")):
        nlp.initialize(lambda: [Example(doc, doc.copy()), Example(doc.copy(), doc.copy())])
