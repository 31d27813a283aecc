"""``ssvm_sentence_labeler`` with ``decoder = "cut"``."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import spacy
from corpora import labelled_examples
from leaving import let_all_leave
from pipelines import EAGER, LABELER, copy_of
from sentence_labelers import lines_of
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from thinc.config import ConfigValidationError

from spacy_ssvm.sentences.cuts.decoder import labeling_score
from spacy_ssvm.sentences.cuts.inference import Graphs
from spacy_ssvm.storage import ModelFileError
from spacy_ssvm.weights.compact import entries_of

NAME = "ssvm_sentence_labeler"
EDGES = ["neighbor", "neighbor(2)", "paragraph", "similar(lower, 2)"]
CUT: dict[str, Any] = {"decoder": "cut", "edges": EDGES, "templates": ["bag(lower)", "position"]}


@pytest.fixture(scope="module")
def nlp() -> Language:
    """A trained pipeline of four labels. Tests share it: they must not change it."""
    return with_weights(LABELER.trained(**CUT))


def with_weights(nlp: Language) -> Language:
    """The same pipeline with edges that matter."""
    labeler: Any = nlp.get_pipe(NAME)
    labeler._sync()
    labeler._trainer = None
    labeler.model.label_pairs = np.array([0.25, 0.125, 0.5, 1.0])
    return nlp


def of(nlp: Language) -> Any:
    return nlp.get_pipe(NAME)


def runs(nlp: Language, number: int) -> list[Example]:
    """Docs of lines of one of two labels, of which the first one alone shows which."""
    examples = []
    for i in range(number):
        label, word = [("even", "two"), ("odd", "one")][i % 2]
        doc = Doc(nlp.vocab, words=f"{word} \n and \n so \n on".split(" "))
        gold = doc.copy()
        gold.spans["sentence_labels"] = [Span(gold, t, t + 1, label) for t in (0, 2, 4, 6)]
        examples.append(Example(doc, gold))
    return examples


def written(doc: Doc) -> list[str]:
    return [span.label_ for span in doc.spans["sentence_labels"]]


@pytest.mark.parametrize(
    "solver",
    [
        {"@misc": "spacy_ssvm.DualCoordinateDescent.v1", "C": 1.0},
        {"@misc": "spacy_ssvm.Extragradient.v1", "C": 1.0, "projection": "euclidean"},
    ],
    ids=["descent", "extragradient"],
)
def test_labels_spread_along_edges(solver: dict[str, Any]) -> None:
    """The words of most lines do not show their label: edges alone make them agree."""
    config = {**EAGER, "units": "lines", **CUT, "templates": ["bag(lower)"], "solver": solver}
    for edges in (["neighbor"], []):
        nlp = spacy.blank("en")
        nlp.add_pipe(NAME, config={**config, "edges": edges})
        examples = runs(nlp, 6)
        nlp.initialize(lambda examples=examples: examples)
        LABELER.train(nlp, examples, 40)
        odd, even = (written(nlp(f"{word}\nand\nso\non")) for word in ("one", "two"))
        if edges:
            assert (odd, even) == (["odd"] * 4, ["even"] * 4)
        else:
            assert odd[1:] == even[1:]
        model = of(nlp).model
        assert (model.label_pairs >= 0).all()
        assert model.label_pairs.any() == bool(edges)


def test_labels_are_those_of_the_cut_of_the_doc(nlp: Language) -> None:
    doc = nlp(lines_of(nlp, ["we sing", "old trees fall .", "we fall", "trees"]))
    labeler = of(nlp)
    table = labeler.model.reader.read([doc]).table
    emissions, graphs = labeler.model.emissions(table), labeler.model.graphs(table)
    assert isinstance(graphs, Graphs)
    y = np.array([labeler.labels.index(label) for label in written(doc)])
    score = labeling_score(emissions, graphs.edges, graphs.penalties, y)
    for t in range(4):
        for k in range(4):
            near = y.copy()
            near[t] = k
            assert labeling_score(emissions, graphs.edges, graphs.penalties, near) <= score
    features = labeler.model.find_edges(table).features
    assert graphs.penalties == pytest.approx(features @ [0.25, 0.125, 0.5, 1.0])
    assert len(graphs.penalties) == 5


def test_a_doc_gets_the_same_labels_in_a_batch(nlp: Language) -> None:
    texts = ["we sing\nold trees fall .", "", "\n\n", "birds\nsing\nin old trees", "we"]
    batch = [written(doc) for doc in nlp.pipe(texts)]
    assert batch == [written(nlp(text)) for text in texts]
    assert [len(labels) for labels in batch] == [2, 0, 0, 3, 1]


def test_present_labels_are_kept_and_spread(nlp: Language) -> None:
    strong = copy_of(nlp)
    of(strong).model.label_pairs = np.array([100.0, 0, 0, 0])
    for label in of(strong).labels:
        doc = lines_of(strong, ["we sing", "old trees fall .", "we fall"])
        doc.spans["sentence_labels"] = [Span(doc, 3, 7, label)]
        assert written(strong(doc)) == [label] * 3
        assert doc.spans["sentence_labels"].attrs["scores"][1] == 1


def test_margins_of_two_labels_are_exact() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe(NAME, config={**EAGER, "units": "lines", **CUT})
    examples = runs(nlp, 6)
    nlp.initialize(lambda: examples)
    LABELER.train(nlp, examples, 3)
    labeler = of(with_weights(nlp))
    doc = nlp("one\nand two\nso\non")
    scores = labeler.scores(doc)
    assert doc.spans["sentence_labels"].attrs["scores"] == pytest.approx(1 - np.exp(-scores))
    for t in range(4):
        explained = labeler.explain(doc, t)
        assert explained.margin == pytest.approx(scores[t])
        assert explained.label == written(doc)[t]


def test_an_explanation_names_the_edges(nlp: Language) -> None:
    doc = lines_of(nlp, ["we sing", "old trees fall .", "we fall"])
    explained = of(nlp).explain(doc, 1, top=2)
    assert [r.template for r in explained.reasons[-5:]] == [*EDGES, "labels of other units"]
    assert [r.value for r in explained.reasons[-5:-2]] == ["2 edges", "0 edges", "2 edges"]
    assert sum(r.difference for r in explained.reasons) == pytest.approx(explained.margin)


def test_there_are_no_probabilities(nlp: Language) -> None:
    with pytest.raises(ValueError, match=r'no probabilities\. Use scores.*decoder = "chain"'):
        of(nlp).marginals(lines_of(nlp, ["we sing"]))


def test_the_objective_and_its_gap() -> None:
    nlp = LABELER.trained(**CUT, epochs=30)
    labeler = of(nlp)
    examples = labelled_examples(nlp.vocab)
    found = labeler.objective(examples)
    assert 0 <= found.dual <= found.primal
    assert found.gap < 0.05


# Saving, loading, going on


def test_a_copy_is_the_same(nlp: Language) -> None:
    doc = lines_of(nlp, ["we sing", "old trees fall .", "we fall"])
    model = of(nlp).model
    table = model.reader.read([doc]).table
    y = model.label(table, model.emissions(table))
    expected = model.margins(table, model.emissions(table), y)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), of(copy_of(nlp)).model):
        assert other.edges == model.edges
        assert other.label_pairs.tolist() == model.label_pairs.tolist()
        y = other.label(table, other.emissions(table))
        np.testing.assert_array_equal(other.margins(table, other.emissions(table), y), expected)


def replaced(model: Any, **changes: Any) -> Any:
    """Read the model with other saved contents."""
    header = model.header() | changes.pop("header", {})
    return model.read(header, model.arrays() | changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"edge_weights": np.array([1, -1, 1, 1], dtype=np.float32)},
            "are negative, or not finite",
        ),
        ({"edge_weights": np.array([1, np.nan, 1, 1], dtype=np.float32)}, "or not finite"),
        ({"edge_weights": np.array([1, np.inf, 1, 1], dtype=np.float32)}, "or not finite"),
        ({"edge_weights": np.ones(3, dtype=np.float32)}, "do not fit their features"),
        ({"edge_weights": np.ones((4, 1), dtype=np.float32)}, "do not fit their features"),
        ({"header": {"edges": ["neighbor"]}}, "its edges are others: neighbor"),
        ({"header": {"edges": [*EDGES[:3], "friend"]}}, "its edges are others: .*friend"),
        ({"header": {"edges": []}}, "its edges are others: none"),
        ({"header": {"edges": 3}}, "edges"),
    ],
)
def test_damaged_models_are_refused(nlp: Language, changes: Any, message: str) -> None:
    model = of(nlp).model
    assert replaced(model).label_pairs.tolist() == model.label_pairs.tolist()
    with pytest.raises(ValueError, match=message):
        replaced(model, **changes)


def test_models_of_the_other_decoder_are_refused(nlp: Language) -> None:
    chain = LABELER.trained(epochs=1)
    with pytest.raises(ModelFileError, match="lacks 'transitions'"):
        copy_of(chain).from_bytes(nlp.to_bytes())
    with pytest.raises(ModelFileError, match="lacks 'edge_weights'"):
        copy_of(nlp).from_bytes(chain.to_bytes())


def test_training_goes_on_from_saved_weights(nlp: Language) -> None:
    other = copy_of(nlp)
    labeler = of(other)
    trainer, _ = labeler.featurize(labelled_examples(other.vocab))
    assert trainer.run.w[:4] == pytest.approx([0.25, 0.125, 0.5, 1.0])
    weights = np.abs(entries_of(labeler.model.weights, len(labeler.labels)).weights).sum()
    assert np.abs(trainer.run.w[4:]).sum() == pytest.approx(weights)
    labeler.add_label("new")
    assert labeler.model.label_pairs.tolist() == [0.25, 0.125, 0.5, 1.0]
    other.update(labelled_examples(other.vocab))
    assert len(written(other("we sing\nold trees"))) == 2


def test_docs_without_units_are_examples_of_nothing() -> None:
    nlp = LABELER.pipeline(**CUT)
    examples = labelled_examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    empty = Example(Doc(nlp.vocab, words=["\n"]), Doc(nlp.vocab, words=["\n"]))
    mixed = [empty, examples[0], empty, *examples[1:], empty]
    trainer, _ = of(nlp).featurize(mixed)
    found = trainer.problem.examples()
    of(nlp)._stop_training()
    expected = of(nlp).featurize(examples)[0].problem.examples()
    np.testing.assert_array_equal(found.edge_starts, expected.edge_starts)
    np.testing.assert_array_equal(found.edges, expected.edges)
    np.testing.assert_array_equal(found.nodes.token_starts, expected.nodes.token_starts)


# Settings


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"decoder": "graph"}, '\'graph\': choose "chain" or "cut"'),
        ({"edges": ["friend"]}, "edge 'friend': write neighbor"),
        ({"edges": ["similar(sound)"], "decoder": "cut"}, "no attribute 'sound'"),
        (
            {"decoder": "cut", "solver": {"@misc": "spacy_ssvm.DualCoordinateAscent.v1"}},
            "needs probabilities of structures",
        ),
        (
            {"decoder": "cut", "solver": {"@misc": "spacy_ssvm.FrankWolfe.v1"}},
            "does not keep weights from being negative",
        ),
        (
            {"decoder": "cut", "selection": {"@misc": "spacy_ssvm.Selection.v1", "budget": 1}},
            "cannot be selected with decoder",
        ),
    ],
)
def test_invalid_settings_are_errors_of_the_config(config: Any, message: str) -> None:
    with pytest.raises(ConfigValidationError, match=message):
        spacy.blank("en").add_pipe(NAME, config=config)


def test_a_solver_that_is_for_two_labels_is_refused_for_more() -> None:
    solver = {"@misc": "spacy_ssvm.Extragradient.v1", "projection": "euclidean"}
    nlp = LABELER.pipeline(**CUT, solver=solver)
    with pytest.raises(ConfigValidationError, match="solver"):
        nlp.initialize(lambda: labelled_examples(nlp.vocab))


def test_clusters_that_edges_name_are_needed(tmp_path: Any) -> None:
    nlp = LABELER.pipeline(**CUT | {"edges": ["similar(cluster4)"]})
    with pytest.raises(ConfigValidationError, match=r"similar\(cluster4\)"):
        nlp.initialize(lambda: labelled_examples(nlp.vocab))
    path = tmp_path / "clusters.tsv"
    path.write_text("01\tsing\n", encoding="utf8")
    examples = labelled_examples(nlp.vocab)
    of(nlp).initialize(lambda: examples, nlp=nlp, clusters=path)
    nlp.update(examples)
    assert len(written(nlp("we sing\nold trees"))) == 2


def test_what_graphs_taught_stays_when_they_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where each leaves after its update, this is learning online; features leave, too."""
    let_all_leave(monkeypatch)
    nlp = spacy.blank("en")
    config = {**EAGER, "units": "lines", **CUT, "templates": ["bag(lower)"], "memory": 100}
    nlp.add_pipe(NAME, config={**config, "edges": ["neighbor"]})
    nlp.initialize(lambda: runs(nlp, 6))
    for _ in range(40):
        examples = runs(nlp, 6)
        while examples:
            nlp.update([examples.pop()])
            assert of(nlp)._trainer.problem.number_of_examples == 1
    odd, even = (written(nlp(f"{word}\nand\nso\non")) for word in ("one", "two"))
    assert (odd, even) == (["odd"] * 4, ["even"] * 4)
    trainer = of(nlp)._trainer
    rows = trainer.number_of_rows
    trainer.absorb([], 0)  # no room for features that the last Doc does not have
    assert 0 < trainer.number_of_rows < rows
    assert written(nlp("two\nand\nso\non")) == ["even"] * 4  # which was the last one
