"""What ``ssvm_aligner`` does with pairs: learning, links that are there already, partial gold."""

import copy
import pickle
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from growth import growth
from hypothesis import given
from hypothesis import strategies as st
from leaving import let_all_leave
from marks import compiled_only
from planted_pairs import EAGER, planted_doc, planted_examples, planted_words, two_docs
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from spacy.util import load_model, load_model_from_config
from thinc.config import Config, ConfigValidationError
from tree_tables import checked

from spacy_ssvm.align.matchings.layout import POSSIBLE as IS_POSSIBLE
from spacy_ssvm.align.matchings.layout import SURE, WRONG
from spacy_ssvm.align.text_pairs import ALIGNMENT, POSSIBLE, make_pair, read_links, write_links
from spacy_ssvm.storage import ModelFileError

NAME = "ssvm_aligner"
SMALL = {
    "templates": ["source.lower+target.lower", "source.lower", "distance", "dice", "hmm",
                  "position"],
    "min_count": 1,
    "solver": EAGER,
}  # fmt: skip


def pipeline(**config: Any) -> Language:
    nlp = spacy.blank("xx")
    nlp.add_pipe(NAME, config={**SMALL, **config})
    return nlp


def learned(
    *, epochs: int = 12, doubled: bool = False, **config: Any
) -> tuple[Language, list[Example]]:
    nlp = pipeline(**config)
    examples = planted_examples(nlp.vocab, doubled=doubled)
    nlp.initialize(lambda: examples)
    for _ in range(epochs):
        nlp.update(examples)
    return nlp, examples


@pytest.fixture(scope="module")
def trained() -> Language:
    """A trained pipeline. Tests share it: they must not change it."""
    return learned()[0]


@pytest.fixture(scope="module")
def twofold() -> Language:
    """The same, where source words may have two links."""
    return learned(doubled=True, source_fertility=2)[0]


def aligner_of(nlp: Language) -> Any:
    return nlp.get_pipe(NAME)


def links(doc: Doc) -> list[tuple[int, int]] | None:
    """The links of a Doc, by the indices in its sides."""
    found = read_links(doc)
    return None if found is None else [(j, k) for j, k in found.tolist()]


def unlinked(nlp: Language, seeds: Any = range(30), *, doubled: bool = False) -> list[Doc]:
    return [planted_doc(nlp.vocab, seed, links=False, doubled=doubled) for seed in seeds]


def gold(seeds: Any = range(30), *, doubled: bool = False) -> list[list[tuple[int, int]]]:
    return [planted_words(seed, doubled=doubled)[2] for seed in seeds]


def message_of(action: Any, kind: type[Exception] = ValueError) -> str:
    with pytest.raises(kind) as caught:
        action()
    return str(caught.value)


def test_planted_links_are_learned() -> None:
    nlp, examples = learned()
    scores = nlp.evaluate(examples)
    assert (scores["align_aer"], scores["align_f"]) == (0.0, 1.0)
    new = range(100, 130)
    assert [links(doc) for doc in nlp.pipe(unlinked(nlp, new))] == gold(new)
    aligner = aligner_of(nlp)
    assert aligner.objective(examples).gap < 0.2
    losses = nlp.update(examples)
    assert losses[NAME] >= 0.0
    assert losses[f"{NAME}_gap"] < 0.5


@compiled_only
def test_time_grows_with_the_pairs_and_at_most_with_the_cube_of_their_words(
    trained: Language,
) -> None:
    """Equal words, all of whose links score the same but for their distance."""
    aligner = aligner_of(trained)

    def pair(n: int) -> Doc:
        return make_pair(trained.vocab, ["s1"] * n, ["T1"] * n)

    found = growth(lambda n: aligner.predict([pair(20) for _ in range(n)]), 50, times=8, rounds=3)
    assert found < 24, "8 in proportion, 64 if quadratic"
    for call in (aligner, aligner.scores):
        assert growth(lambda n, call=call: call(pair(n)), 150, rounds=3) < 12, "8 if cubic"


def test_a_lexicon_alone_links_words(tmp_path: Path) -> None:
    """Of words that were not in the examples, too."""
    file = tmp_path / "words.tsv"
    file.write_text("".join(f"s{n}\tT{n}\n" for n in range(9)), encoding="utf8")
    nlp = pipeline(templates=["lexicon"])
    examples = planted_examples(nlp.vocab, range(3))
    of = aligner_of(nlp)
    of.initialize(lambda: examples, nlp=nlp, lexicon=file)
    for _ in range(3):
        nlp.update(examples)
    assert [links(doc) for doc in nlp.pipe(unlinked(nlp))] == gold()
    reloaded = pipeline(templates=["lexicon"]).from_bytes(nlp.to_bytes())
    assert [links(doc) for doc in reloaded.pipe(unlinked(reloaded))] == gold()


def test_a_lexicon_that_is_needed_or_cannot_be_read(tmp_path: Path) -> None:
    nlp = pipeline(templates=["bin.lexicon", "lexicon[1]"])
    examples = planted_examples(nlp.vocab, range(3))
    file = tmp_path / "words.tsv"
    file.write_text("s1 t1\n", encoding="utf8")
    for lexicon, problem in (
        (None, "the template 'bin.lexicon' needs a lexicon. Set lexicon = PATH"),
        (file, f"{file}, line 1: expected a word, a tab and a word"),
        (tmp_path / "none.tsv", "none.tsv"),
    ):
        action = partial(aligner_of(nlp).initialize, lambda: examples, nlp=nlp, lexicon=lexicon)
        message = message_of(action, ConfigValidationError)
        assert problem in message
        assert "lexicon" in message


def test_several_links_of_a_word_are_learned(twofold: Language) -> None:
    docs = list(twofold.pipe(unlinked(twofold, doubled=True)))
    assert [links(doc) for doc in docs] == gold(doubled=True)
    most = max(np.bincount([j for j, _ in links(doc) or [(0, 0)]]).max() for doc in docs)
    assert most == 2


def test_two_docs(trained: Language) -> None:
    source, target, expected = planted_words(3)
    doc = trained(two_docs(trained.vocab, source, target))
    assert links(doc) == expected
    one = trained(planted_doc(trained.vocab, 3, links=False))
    assert one._.alignment == [(j, k + len(source)) for j, k in expected]
    assert doc._.alignment == expected


def test_links_that_are_there_are_kept(trained: Language, twofold: Language) -> None:
    """Wrong ones too; the others are the best beside them."""
    source, target, expected = planted_words(1)
    wrong = next((0, k) for k in range(len(target)) if (0, k) not in expected)
    doc = make_pair(trained.vocab, source, target, np.array([wrong]))
    beside = [(j, k) for j, k in expected if j != wrong[0] and k != wrong[1]]
    assert {wrong, *beside} <= set(links(trained(doc)) or [])
    source, target, expected = planted_words(0, doubled=True)
    everything = np.argwhere(np.ones((len(source), len(target))))
    full = make_pair(twofold.vocab, source, target, everything)
    assert links(twofold(full)) == [tuple(link) for link in everything.tolist()]


def test_a_kept_link_leaves_room_for_one_more(twofold: Language) -> None:
    seed = next(s for s in range(99) if len(set(planted_words(s, doubled=True)[0]) & {"s0", "s1"}))
    source, target, expected = planted_words(seed, doubled=True)
    double = next(j for j, word in enumerate(source) if word in {"s0", "s1"})
    first, second = (link for link in expected if link[0] == double)
    for kept in (first, second):
        doc = make_pair(twofold.vocab, source, target, np.array([kept]))
        assert links(twofold(doc)) == expected


def test_overwrite() -> None:
    nlp, _ = learned(overwrite=True)
    source, target, expected = planted_words(1)
    everything = np.argwhere(np.ones((len(source), len(target))))
    assert links(nlp(make_pair(nlp.vocab, source, target, everything))) == expected


@checked
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=6), st.integers(0, 50))
def test_the_best_links_beside_those_that_are_kept(given_links: Any, seed: int) -> None:
    """Against a solver of assignment problems."""
    from scipy.optimize import linear_sum_assignment

    nlp = _shared()
    aligner = aligner_of(nlp)
    source, target, _ = planted_words(seed)
    m, n = len(source), len(target)
    kept = sorted({(j, k) for j, k in given_links if j < m and k < n})
    doc = make_pair(nlp.vocab, source, target, np.array(kept, dtype=np.int64).reshape(-1, 2))
    pairs = aligner.model.reader.read([doc])
    scores = np.maximum(aligner.model.link_scores(pairs, 0), 0.0)
    for j, k in kept:
        scores[j] = scores[:, k] = 0.0
    best = scores[linear_sum_assignment(scores, maximize=True)].sum()
    found = links(nlp(doc))
    assert found is not None
    assert set(kept) <= set(found)
    others = set(found) - set(kept)
    assert sum(scores[j, k] for j, k in others) == pytest.approx(best)
    words = [j for j, _ in others], [k for _, k in others]
    assert all(len(set(side)) == len(side) for side in words)


_SHARED: list[Language] = []


def _shared() -> Language:
    if not _SHARED:
        _SHARED.append(learned()[0])
    return _SHARED[0]


def gold_of(predicted: Doc, reference: Doc) -> list[list[str]]:
    """What is known of each link, readable."""
    (kinds,) = aligner_of(pipeline()).gold_labels([Example(predicted, reference)])
    names = {SURE: "S", WRONG: "-", IS_POSSIBLE: "?"}
    return [[names[kind] for kind in row] for row in kinds.tolist()]


def test_gold_links() -> None:
    nlp = pipeline()
    words = ["a", "b"], ["x", "y", "z"]
    bare = make_pair(nlp.vocab, *words)
    assert gold_of(bare, bare.copy()) == [["?"] * 3] * 2
    empty = make_pair(nlp.vocab, *words, np.zeros((0, 2)))
    assert gold_of(bare, empty) == [["-"] * 3] * 2
    sure, possible = np.array([[0, 1], [1, 2]]), np.array([[0, 1], [0, 0]])
    some = make_pair(nlp.vocab, *words, sure, possible)
    assert gold_of(bare, some) == [["?", "S", "-"], ["-", "-", "S"]]
    some = make_pair(nlp.vocab, *words, None, possible)
    assert gold_of(bare, some) == [["?"] * 3] * 2, "possible links alone say nothing"


def test_gold_links_of_other_tokens() -> None:
    nlp = pipeline()
    reference = make_pair(nlp.vocab, ["ab", "c"], ["x", "y"], np.array([[0, 0], [1, 1]]))
    predicted = make_pair(nlp.vocab, ["a", "b", "c"], ["x", "y"])
    assert gold_of(predicted, reference) == [["?", "?"], ["?", "?"], ["-", "S"]]


def test_partial_gold_is_completed() -> None:
    """Possible links alone teach nothing; with sure ones, others are free."""
    nlp = pipeline()
    examples = planted_examples(nlp.vocab)
    bare = [Example(e.predicted, planted_doc(nlp.vocab, 5, links=False)) for e in examples[5:6]]
    nlp.initialize(lambda: examples)
    assert aligner_of(nlp).update(bare)[NAME] == 0.0
    for example in examples[::2]:
        write_links(example.reference, read_links(example.reference)[:1])  # type: ignore[index]
        size = [len(example.reference.spans[key][0]) for key in ("source", "target")]
        write_links(example.reference, np.argwhere(np.ones(size)), POSSIBLE)
    for _ in range(12):
        losses = nlp.update([*examples, *bare])
    assert losses[NAME] < 5.0
    assert [links(doc) for doc in nlp.pipe(unlinked(nlp))] == gold()


def test_docs_without_sides(trained: Language) -> None:
    message = message_of(lambda: trained("some text"))
    assert "neither spans 'source' and 'target' nor doc._.translation" in message
    nlp = pipeline()
    example = Example(nlp.make_doc("a b"), nlp.make_doc("a b"))
    message = message_of(lambda: nlp.initialize(lambda: [example, example]))
    assert "no word alignment (doc._.alignment)" in " ".join(message.split())
    doc = nlp.make_doc("a")
    doc._.translation = "b"
    assert "is not a Doc" in message_of(lambda: trained(doc))


def test_links_out_of_their_sides(trained: Language) -> None:
    doc = planted_doc(trained.vocab, 0, links=False)
    doc._.alignment = [(0, 0)]
    assert "of the token 0 in the target" in message_of(lambda: trained(doc))


@pytest.mark.parametrize(
    "words", [([], []), (["s1"], []), ([], ["t1"]), ([" "], ["t1"]), (["\n"], [" "])]
)
def test_sides_without_words(trained: Language, twofold: Language, words: Any) -> None:
    for nlp in (trained, twofold):
        docs = [make_pair(nlp.vocab, *words), planted_doc(nlp.vocab, 0, links=False)]
        assert links(next(nlp.pipe(docs))) == []
        scores = aligner_of(nlp).scores(docs[0])
        assert scores.shape == tuple(map(len, words))
        assert np.all(scores == -np.inf)
        assert aligner_of(nlp).predict([]) == []


def test_empty_pairs_in_training() -> None:
    nlp = pipeline()
    examples = planted_examples(nlp.vocab, range(6))
    for words in [([], []), ([" "], ["x"]), ([], ["x"]), (["x"], [])]:
        reference = make_pair(nlp.vocab, *words, np.zeros((0, 2)))
        examples.append(Example(make_pair(nlp.vocab, *words), reference))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nlp.initialize(lambda: examples)
        for _ in range(10):
            nlp.update(examples)
        assert nlp.evaluate(examples)["align_f"] == 1.0
        assert aligner_of(nlp).objective(examples).primal > 0


def test_whitespace_has_no_links(trained: Language) -> None:
    source, target, expected = planted_words(2)
    doc = trained(make_pair(trained.vocab, [" ", *source], ["\n", *target, "  "]))
    assert links(doc) == [(j + 1, k + 1) for j, k in expected]
    scores = aligner_of(trained).scores(doc)
    assert np.all(scores[0] == -np.inf)
    assert np.all(scores[:, [0, -1]] == -np.inf)
    assert np.all(np.isfinite(scores[1:, 1:-1]))


def test_scores_are_above_zero_for_links(trained: Language, twofold: Language) -> None:
    for nlp, doubled in [(trained, False), (twofold, True)]:
        for doc in nlp.pipe(unlinked(nlp, range(8), doubled=doubled)):
            scores = aligner_of(nlp).scores(doc)
            assert [tuple(link) for link in np.argwhere(scores > 0).tolist()] == links(doc)


@pytest.mark.parametrize("top", [None, 2])
def test_reasons_add_up_to_the_margin(trained: Language, twofold: Language, top: Any) -> None:
    for nlp, doubled in [(trained, False), (twofold, True)]:
        aligner = aligner_of(nlp)
        doc = nlp(planted_doc(nlp.vocab, 4, links=False, doubled=doubled))
        scores = aligner.scores(doc)
        for j, k in np.ndindex(scores.shape):
            explanation = aligner.explain(doc, j, k, top=top)
            is_linked = scores[j, k] > 0
            assert explanation.label == ("linked" if is_linked else "apart")
            assert explanation.runner_up == ("apart" if is_linked else "linked")
            assert explanation.margin == pytest.approx(abs(scores[j, k]), abs=1e-6)
            total = sum(reason.difference for reason in explanation.reasons)
            assert total == pytest.approx(explanation.margin, abs=1e-9)
            assert str(explanation)
        with pytest.raises(IndexError, match="there is no token 99: the side has"):
            aligner.explain(doc, 0, 99)
        with pytest.raises(IndexError, match="there is no token -1"):
            aligner.explain(doc, -1, 0)


def test_whitespace_cannot_be_explained(trained: Language) -> None:
    doc = make_pair(trained.vocab, ["s1", " "], ["\n", "t1"])
    aligner = aligner_of(trained)
    for link in ((1, 1), (0, 0)):
        with pytest.raises(ValueError, match="is whitespace: it has no links"):
            aligner.explain(doc, *link)
    assert aligner.explain(doc, 0, 1).token == "s1 - t1"


def test_labels(trained: Language) -> None:
    aligner = aligner_of(trained)
    assert aligner.labels == ("link",)
    assert aligner.label_data is None
    assert NAME not in trained.pipe_labels
    with pytest.raises(NotImplementedError, match=f"{NAME}: links have no labels"):
        aligner.add_label("link")


def test_scores_and_attributes(trained: Language) -> None:
    meta = trained.get_pipe_meta(NAME)
    assert meta.assigns == ["doc._.alignment"]
    assert meta.default_score_weights["align_f"] == 1.0
    assert meta.default_score_weights["align_aer"] is None


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"templates": ["hm"]}, "there is no number 'hm'"),
        ({"templates": []}, "such as 'aligner'"),
        ({"source_fertility": 0}, "source_fertility.*must lie between 1 and 16"),
        ({"target_fertility": 17}, "target_fertility.*must lie between 1 and 16"),
        ({"costs": {"missing": -1.0}}, "costs.*give numbers, at least 0"),
        ({"costs": {"missing": 1e45}}, r"costs.*at least 0 and at most 1e\+06"),
        ({"costs": {"wrong": "much"}}, "costs"),
        ({"costs": {"other": 1.0}}, "costs.*give numbers, at least 0"),
        ({"min_count": 0}, "min_count"),
        ({"selection": {"@misc": "spacy_ssvm.Selection.v1", "budget": 9}}, "only 6 templates"),
    ],
)
def test_settings_that_are_refused(config: Any, message: str) -> None:
    with pytest.raises(ConfigValidationError, match=f"(?s){message}"):
        pipeline(**config)


def test_solvers_that_cannot_keep_signs_refuse() -> None:
    solver = {"@misc": "spacy_ssvm.FrankWolfe.v1"}
    nlp = pipeline(solver=solver, source_fertility=2)
    examples = planted_examples(nlp.vocab, range(3))
    nlp.initialize(lambda: examples)
    with pytest.raises(ValueError, match="does not keep weights from being negative"):
        nlp.update(examples)


def test_costs_of_missing_links_buy_recall() -> None:
    def number(missing: float) -> int:
        nlp = pipeline(templates=["distance"], costs={"missing": missing, "wrong": 1.0})
        examples = planted_examples(nlp.vocab)
        nlp.initialize(lambda: examples)
        for _ in range(10):
            nlp.update(examples)
        return sum(len(links(doc) or []) for doc in nlp.pipe(unlinked(nlp)))

    assert number(0.1) < number(20.0)


def test_an_initialized_pipeline_without_examples() -> None:
    nlp = pipeline(templates=["source.lower+target.lower", "distance"])
    nlp.initialize()
    assert links(nlp(planted_doc(nlp.vocab, 0, links=False))) == []
    examples = planted_examples(nlp.vocab)
    for _ in range(12):
        nlp.update(examples)
    assert nlp.evaluate(examples)["align_f"] > 0.9
    nlp = pipeline()  # reads the association of words: without texts, there is none
    nlp.initialize()
    assert links(nlp(planted_doc(nlp.vocab, 0, links=False))) == []


def test_initialize_without_annotation() -> None:
    nlp = pipeline()
    examples = [Example(doc, doc.copy()) for doc in unlinked(nlp, range(3))]
    message = message_of(lambda: nlp.initialize(lambda: examples))
    assert "no word alignment (doc._.alignment) annotation to learn from" in message
    with pytest.raises(ValueError, match="there are no labels"):
        pipeline()(planted_doc(nlp.vocab, 0, links=False))


def test_initialize_forgets_all_weights() -> None:
    nlp, examples = learned(epochs=3)
    before = aligner_of(nlp).to_bytes()
    nlp.initialize(lambda: examples)
    assert not len(aligner_of(nlp).model.weights)
    for _ in range(3):
        nlp.update(examples)
    assert aligner_of(nlp).to_bytes() == before, "the same seed gives the same bytes"


def test_selection_writes_the_templates_into_the_config() -> None:
    settings = {"@misc": "spacy_ssvm.Selection.v1", "budget": 1, "prox_period": 10}
    templates = ["source.lower+position", "source.lower+target.lower", "position"]
    nlp, examples = learned(templates=templates, selection=settings)
    config = nlp.config["components"][NAME]
    assert config["templates"] == ["source.lower+target.lower"]
    assert [str(t) for t in aligner_of(nlp).model.templates] == config["templates"]
    assert config["selection"] is None
    assert nlp.evaluate(examples)["align_f"] == 1.0


WAYS = {
    "bytes": lambda nlp, _: spacy.blank("xx").from_config(nlp.config).from_bytes(nlp.to_bytes()),
    "disk": lambda nlp, path: (nlp.to_disk(path), spacy.load(path))[1],
    "pickle": lambda nlp, _: pickle.loads(pickle.dumps(nlp)),
    "deepcopy": lambda nlp, _: copy.deepcopy(nlp),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_copy_aligns_and_learns_on(twofold: Language, tmp_path: Path, way: Any) -> None:
    before = aligner_of(twofold).to_bytes()
    other = way(twofold, tmp_path)
    docs = unlinked(other, doubled=True)
    assert [links(doc) for doc in other.pipe(docs)] == gold(doubled=True)
    aligner = aligner_of(other)
    assert (aligner.min_count, aligner.costs) == (1, (2.0, 1.0))
    assert aligner.model.penalties.tolist() == aligner_of(twofold).model.penalties.tolist()
    examples = planted_examples(other.vocab, doubled=True)
    primals = [aligner_of(nlp).objective(examples).primal for nlp in (twofold, other)]
    assert primals[0] == pytest.approx(primals[1])
    other.update(examples)
    assert other.evaluate(examples)["align_f"] == 1.0
    assert aligner_of(twofold).to_bytes() == before


def test_a_model_of_another_component_is_refused(trained: Language) -> None:
    tagger = spacy.blank("xx").add_pipe("ssvm_tagger")
    with pytest.raises(ModelFileError, match=f"'{NAME}', not 'ssvm_tagger'"):
        tagger.from_bytes(aligner_of(trained).to_bytes())  # type: ignore[attr-defined]


def test_several_processes(trained: Language) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        docs = list(trained.pipe(unlinked(trained), n_process=2, batch_size=7))
    assert [links(doc) for doc in docs] == gold()


def test_a_memory_zone(trained: Language) -> None:
    nlp = pickle.loads(pickle.dumps(trained))
    strings = len(nlp.vocab.strings)
    for round_number in range(3):
        with nlp.memory_zone():
            words = [f"new{round_number}-{i}" for i in range(5)]
            found = nlp(make_pair(nlp.vocab, ["s1", *words], [*words, "t1"]))
            assert (0, 5) in (links(found) or [])
        assert len(nlp.vocab.strings) == strings
    assert [links(doc) for doc in nlp.pipe(unlinked(nlp))] == gold()


def test_long_sentences(trained: Language) -> None:
    random = np.random.default_rng(0)
    numbers = random.integers(0, 9, size=(2, 300)).tolist()
    sides = [f"s{i}" for i in numbers[0]], [f"t{i}" for i in numbers[1]]
    doc = trained(make_pair(trained.vocab, *sides))
    found = np.array(links(doc))
    assert len(found) > 100
    assert len(np.unique(found[:, 0])) == len(np.unique(found[:, 1])) == len(found)


def test_the_standard_templates() -> None:
    nlp, examples = learned(epochs=6, templates=["aligner"])
    assert nlp.evaluate(examples)["align_f"] == 1.0


def test_extension_attributes_are_evidence() -> None:
    Doc.set_extension("votes", default=None)
    try:
        nlp = pipeline(templates=["_.votes", "distance"])
        examples = planted_examples(nlp.vocab)
        for example in examples:
            example.predicted._.votes = example.reference._.alignment
        nlp.initialize(lambda: examples)
        for _ in range(8):
            nlp.update(examples)
        doc = planted_doc(nlp.vocab, 77, links=False)
        doc._.votes = planted_doc(nlp.vocab, 77)._.alignment[:1]
        assert links(nlp(doc)) == gold([77])[0][:1]
        copied = planted_doc(nlp.vocab, 77, links=False)
        assert links(nlp(copied)) == []
    finally:
        Doc.remove_extension("votes")


def test_examples_whose_docs_change_are_read_again() -> None:
    """An example is known by its reference; what its predicted Doc says is read at each update."""
    nlp = pipeline(templates=["source.tag+target.tag", "distance"])
    examples = planted_examples(nlp.vocab, range(4))
    nlp.initialize(lambda: examples)
    nlp.update(examples)
    trainer = aligner_of(nlp)._trainer
    assert trainer.problem.number_of_examples == 4
    nlp.update(examples)
    assert trainer.problem.number_of_examples == 4
    rows = trainer.number_of_rows
    for example in examples:
        for token in example.predicted:
            token.tag_ = token.text
    nlp.update(examples)
    assert trainer.number_of_rows > rows


CONFIG = """
[system]
seed = 0

[nlp]
lang = "xx"
pipeline = ["aligner"]

[components]

[components.aligner]
factory = "ssvm_aligner"
min_count = 1
source_fertility = 2

[components.aligner.solver]
@misc = "spacy_ssvm.DualCoordinateDescent.v1"
C = 1.0

[corpora]

[corpora.train]
@readers = "spacy_ssvm.ParallelCorpus.v1"
source = "{0}/source"
target = "{0}/target"
alignment = "{0}/alignment"

[corpora.dev]
@readers = "spacy_ssvm.ParallelCorpus.v1"
source = "{0}/source"
target = "{0}/target"
alignment = "{0}/alignment"

[training]
train_corpus = "corpora.train"
dev_corpus = "corpora.dev"
max_epochs = 4
max_steps = 0
eval_frequency = 1
patience = 0

[training.score_weights]
align_f = 1.0
align_aer = null

[initialize]

[initialize.components]

[initialize.components.aligner]

[initialize.components.aligner.bitext]
source = "{0}/more.source"
target = "{0}/more.target"
"""


def test_spacy_train(tmp_path: Path) -> None:
    pairs = [planted_words(seed, doubled=True) for seed in range(20)]
    more = [planted_words(seed, doubled=True) for seed in range(50, 90)]
    for name, column, rows in [("source", 0, pairs), ("target", 1, pairs),
                               ("more.source", 0, more), ("more.target", 1, more)]:  # fmt: skip
        lines = [" ".join(row[column]) for row in rows]  # type: ignore[arg-type]
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf8")
    lines = [" ".join(f"{j}-{k}" for j, k in row[2]) for row in pairs]
    (tmp_path / "alignment").write_text("\n".join(lines) + "\n", encoding="utf8")
    config = Config().from_str(CONFIG.format(tmp_path))
    train(init_nlp(load_model_from_config(config, auto_fill=True).config), tmp_path)
    best = load_model(tmp_path / "model-best")
    assert best.meta["performance"]["align_f"] == 1.0
    docs = unlinked(best, range(50, 60), doubled=True)
    assert [links(doc) for doc in best.pipe(docs)] == gold(range(50, 60), doubled=True)
    assert ALIGNMENT == "alignment"


def test_what_pairs_taught_stays_when_they_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where each leaves after its update, this is learning online; features leave, too."""
    let_all_leave(monkeypatch)
    nlp = pipeline(source_fertility=2, memory=100)
    nlp.initialize(lambda: planted_examples(nlp.vocab, doubled=True))
    trainer: Any = None
    for seed in [*range(30), *range(30)]:
        nlp.update(planted_examples(nlp.vocab, [seed], doubled=True))
        trainer = aligner_of(nlp)._trainer
        assert trainer.problem.number_of_examples == 1
    unseen = planted_examples(nlp.vocab, range(100, 130), doubled=True)
    assert nlp.evaluate(unseen)["align_f"] > 0.9
    rows = trainer.number_of_rows
    trainer.absorb([], 0)  # no room for features that the last pair does not have
    assert 0 < trainer.number_of_rows < rows
    assert nlp.evaluate(planted_examples(nlp.vocab, [29], doubled=True))["align_f"] > 0.9
