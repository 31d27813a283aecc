"""What ``ssvm_parser`` does with Docs, boundaries, whitespace, gold trees and settings."""

import shutil
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from corpora import parsed_doc, parsing_examples
from growth import growth
from marks import compiled_only
from parses import (
    GRANDPARENTS,
    LINES,
    NAME,
    blank_doc,
    example_of,
    learned,
    parser_of,
    sentences_of,
)
from pipelines import PARSER, arc_of_each_token, copy_of
from probable_structures import ASCENT
from saving import FILE, header_of
from spacy.attrs import DEP, HEAD
from spacy.language import Language
from spacy.pipeline._parser_internals.nonproj import contains_cycle, is_nonproj_tree
from spacy.tokens import Doc
from spacy.training import Example
from thinc.config import ConfigValidationError

from spacy_ssvm.storage import ModelFileError
from spacy_ssvm.trees.keys import fill_arc_rows, hash_endpoints
from spacy_ssvm.trees.pruner import MAX_HEADS, MAX_HEADS_IF_SLOW, score_arcs
from spacy_ssvm.trees.templates import compile_arc_templates
from spacy_ssvm.weights.quantized import exact, no_weights, quantize

pytestmark = pytest.mark.filterwarnings("ignore:.* has no sentence boundaries")


@pytest.fixture(scope="module")
def trained() -> Language:
    """A trained pipeline. Tests share it: they must not change it."""
    return PARSER.trained()


def heads(doc: Doc) -> list[int]:
    return [token.head.i for token in doc]


def roots(doc: Doc) -> list[int]:
    return [token.i for token in doc if token.head.i == token.i]


def check_trees(doc: Doc, *, projective: bool = True) -> None:
    """Each sentence is one tree over its tokens."""
    found = heads(doc)
    assert not contains_cycle(found)
    assert not (projective and is_nonproj_tree(found))
    for sentence in doc.sents:
        assert sum(found[i] == i for i in range(sentence.start, sentence.end)) == 1
        assert sentence.root.i in range(sentence.start, sentence.end)
        assert all(sentence.start <= found[t.i] < sentence.end for t in sentence)
    assert all(token.dep_ for token in doc)


def initialized(*lines: str, **config: Any) -> tuple[Language, list[Example]]:
    """A pipeline that knows the labels of some sentences."""
    nlp = PARSER.pipeline(**config)
    examples = [example_of(nlp, line) for line in lines]
    nlp.initialize(lambda: examples)
    return nlp, examples


def refusal(**config: Any) -> str:
    with pytest.raises(ConfigValidationError) as caught:
        PARSER.pipeline(**config)
    return str(caught.value)


def test_heads_and_labels(trained: Language) -> None:
    doc = trained("The old dog barks .")
    assert heads(doc) == [2, 2, 3, 3, 3]
    assert [token.dep_ for token in doc] == ["det", "amod", "nsubj", "ROOT", "punct"]
    assert doc.has_annotation("DEP", require_complete=True)
    assert [chunk.text for chunk in doc.noun_chunks] == []  # there are no tags


def test_boundaries_stay_as_they_are(trained: Language) -> None:
    doc = sentences_of(trained, "The dog barks .", "Dogs bark at cats .", "He can", "Home")
    before = [token.is_sent_start for token in doc]
    texts = [sentence.text for sentence in doc.sents]
    doc = trained(doc)
    assert [token.is_sent_start for token in doc] == before
    assert [sentence.text for sentence in doc.sents] == texts
    check_trees(doc)
    alone = [trained(sentences_of(trained, text)) for text in texts]
    assert [arc.split()[1] for arc in arc_of_each_token(doc)] == [
        arc.split()[1] for one in alone for arc in arc_of_each_token(one)
    ]
    offsets = [token.head.i - token.i for token in doc]
    assert offsets == [token.head.i - token.i for one in alone for token in one]


class Untrained:
    """Pipelines whose weights are random numbers: any tree may come out."""

    def __init__(self, **config: Any) -> None:
        lines = [" ".join(f"w{i}:{int(i > 0)}:l{i}" for i in range(6))]
        self.nlp, _ = initialized(*lines, **config)
        self.random = np.random.default_rng(0)
        parser = parser_of(self.nlp)
        model = parser.model
        arcs = self.random.normal(size=len(model.weights.codes))
        pruner = self.random.normal(size=len(model.pruner_weights.codes))
        arcs[-1] = pruner[-1] = 0.0
        model.set_weights(quantize(arcs), quantize(pruner), None)

    def doc(self) -> Doc:
        """A Doc of one to three sentences of one to twelve tokens, some of them whitespace."""
        lengths = self.random.integers(1, 13, size=self.random.integers(1, 4))
        words = [f"w{i}" if i < 30 else "\n" * (i - 29) for i in self.random.integers(0, 32, 36)]
        starts = np.cumsum([0, *lengths])[:-1].tolist()
        return blank_doc(self.nlp, words[: int(lengths.sum())], starts)


@pytest.mark.slow
@compiled_only
@pytest.mark.parametrize(
    "config",
    [
        {"order": 2},
        GRANDPARENTS,
        {"order": 1},
        {"order": 1, "projective": False},
        {"max_length": 4},
    ],
)
def test_ten_thousand_sentences_are_trees(config: dict[str, Any]) -> None:
    untrained = Untrained(**config)
    docs = [untrained.doc() for _ in range(1250)]
    before = [[token.is_sent_start for token in doc] for doc in docs]
    assert sum(len(list(doc.sents)) for doc in docs) > 2400
    crossing = 0
    for doc, starts in zip(untrained.nlp.pipe(docs), before, strict=True):
        check_trees(doc, projective=config.get("projective", True) and "max_length" not in config)
        assert [token.is_sent_start for token in doc] == starts
        crossing += is_nonproj_tree(heads(doc))
    assert (crossing > 100) == (config.get("projective") is False)


def test_heads_are_read_back_as_they_were_set() -> None:
    untrained = Untrained(order=1, projective=False)
    parser = parser_of(untrained.nlp)
    docs = [untrained.doc() for _ in range(100)]
    written = parser.predict(docs)
    parser.set_annotations(docs, written)
    for doc, columns in zip(docs, written, strict=True):
        offsets = columns[:, 0].astype(np.int64).tolist()
        assert heads(doc) == [i + offset for i, offset in enumerate(offsets)]
        assert [token.dep for token in doc] == columns[:, 1].tolist()


def test_whitespace_depends_on_the_word_before_it(trained: Language) -> None:
    words = ["\n", " ", "The", "dog", "\n\n", "barks", " ", "\n", "It", "\n", "\n", " "]
    doc = trained(blank_doc(trained, words, [0, 7, 10]))
    assert [heads(doc)[i] for i in (0, 1, 4, 6)] == [2, 2, 3, 5]
    assert [heads(doc)[i] for i in (7, 9)] == [8, 8]
    assert [heads(doc)[i] for i in (10, 11)] == [10, 10], "a sentence without words has a root too"
    assert [doc[i].dep_ for i in (0, 1, 4, 6, 7, 9, 11)] == ["dep"] * 7
    assert doc[10].dep_ == "ROOT"
    check_trees(doc)


@pytest.mark.parametrize("text", [" ", "\n\n", " \n ", "\n \n\n"])
def test_docs_of_whitespace_alone(trained: Language, text: str) -> None:
    doc = trained(text)
    check_trees(doc)
    assert roots(doc) == [0]
    assert doc[0].dep_ == "ROOT"


def test_whitespace_is_not_seen(trained: Language) -> None:
    doc = trained(Doc(trained.vocab, words=["The", "old", "\n", "dog", " ", "barks", "."]))
    assert heads(doc) == [3, 3, 1, 5, 3, 5, 5]


def test_no_boundaries_bring_one_warning_and_one_sentence(trained: Language) -> None:
    nlp = copy_of(trained)
    with pytest.warns(UserWarning, match="no sentence boundaries.*ssvm_senter") as caught:
        docs = [nlp(text) for text in ("The dog barks . Birds sang .", "Dogs bark .")]
    assert len(caught) == 1
    assert all(len(list(doc.sents)) == len(roots(doc)) == 1 for doc in docs)
    nlp = copy_of(trained)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nlp(sentences_of(nlp, "The dog barks ."))
        nlp("Dogs")
        nlp("")


def test_a_sentence_recognizer_before_it(trained: Language) -> None:
    nlp = copy_of(trained)
    nlp.add_pipe("sentencizer", first=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        doc = nlp("The dog barks. Birds sang.")
    assert [sentence.root.text for sentence in doc.sents] == ["barks", "sang"]


def test_long_sentences_are_parsed_in_pieces(trained: Language) -> None:
    words = ["The", "dog", "barks", ".", "Dogs", "bark", "at", "cats", "."] * 3
    whole = copy_of(trained)
    nlp = spacy.blank("en")
    nlp.add_pipe(NAME, config={**PARSER.config, "max_length": 4})
    nlp.from_bytes(whole.to_bytes())
    doc = nlp(blank_doc(nlp, words, [0]))
    check_trees(doc, projective=False)
    assert len(roots(doc)) == 1
    assert len(list(doc.sents)) == 1
    tops = {head for i, head in enumerate(heads(doc)) if head // 4 != i // 4}
    assert tops <= set(roots(doc)), "pieces depend on the root of the first"
    doc = nlp(blank_doc(nlp, words[:4], [0]))
    assert heads(doc) == heads(whole(blank_doc(whole, words[:4], [0])))


@compiled_only
@pytest.mark.parametrize(
    ("config", "most", "in_training"),
    [
        ({"order": 2}, MAX_HEADS, 250),
        ({"order": 2, "projective": False}, MAX_HEADS_IF_SLOW, MAX_HEADS_IF_SLOW),
        (GRANDPARENTS, MAX_HEADS_IF_SLOW, MAX_HEADS_IF_SLOW),
    ],
)
def test_equal_words_have_few_heads(config: dict[str, Any], most: int, in_training: int) -> None:
    """The pruner cannot choose among them: as many as are decoded fast remain."""
    untrained = Untrained(**config)
    parser = parser_of(untrained.nlp)
    model = parser.model
    weights = no_weights(len(model.weights.codes)), no_weights(len(model.pruner_weights.codes))
    model.set_weights(*weights, None)
    nodes = model.nodes([blank_doc(untrained.nlp, ["w"] * 250, [0])])
    pruner = model.training_pruner(model.scorer.pruner.weights)
    for scorer, limit in (
        (model.scorer, most),
        (model.scorer._replace(pruner=pruner), in_training),
    ):
        scores = score_arcs(scorer, nodes.attributes, 0, 252, np.full(251, -1))
        counts = set(np.isfinite(scores).sum(axis=0)[1:].tolist())
        assert counts <= {limit, limit + 1}, "the head in the best tree is one more"


@pytest.mark.slow
@compiled_only
@pytest.mark.parametrize("call", ["__call__", "scores"])
@pytest.mark.parametrize(
    "config",
    [{"order": 2}, {"order": 2, "projective": False}, {"order": 2, "solver": ASCENT}],
    ids=["projective", "crossing", "probable"],
)
def test_equal_words_without_boundaries_take_time_in_proportion(
    config: dict[str, Any], call: str
) -> None:
    """Pieces of ``max_length`` words bound the time of a word, however many there are."""
    nlp = PARSER.trained(epochs=1, max_length=50, **config)
    parser = parser_of(nlp)
    run = getattr(parser, call)
    assert len(roots(nlp(Doc(nlp.vocab, words=["dogs"] * 400)))) == 1
    found = growth(lambda n: run(Doc(nlp.vocab, words=["dogs"] * n)), 400, times=8, rounds=3)
    assert found < 24, "8 in proportion, 64 if quadratic"


def with_arcs(nlp: Language, text: str, arcs: dict[int, tuple[int, str]]) -> Doc:
    """A Doc of one sentence of which some tokens have an arc."""
    words = text.split()
    given = [arcs.get(i, (i, "")) for i in range(len(words))]
    return Doc(nlp.vocab, words=words, heads=[h for h, _ in given], deps=[d for _, d in given])


def test_arcs_that_are_there_are_kept(trained: Language) -> None:
    text = "The old dog barks ."
    assert heads(trained(text)) == [2, 2, 3, 3, 3]
    doc = trained(with_arcs(trained, text, {1: (3, "acomp")}))
    assert (heads(doc)[1], doc[1].dep_) == (3, "acomp")
    assert len(roots(doc)) == 1
    assert not contains_cycle(heads(doc))
    doc = trained(with_arcs(trained, text, {4: (3, "a label that is not known")}))
    assert (heads(doc)[4], doc[4].dep_) == (3, "a label that is not known")


def test_a_parsed_doc_is_left_alone_or_parsed_again(trained: Language) -> None:
    lines = ["The:0:ROOT old:1:x dog:1:y barks:3:z .:1:punct", "He:0:ROOT"]
    doc = parsed_doc(trained.vocab, *lines)
    before = arc_of_each_token(doc)
    assert arc_of_each_token(trained(doc)) == before
    nlp = copy_of(trained)
    parser_of(nlp).cfg["overwrite"] = True
    doc = nlp(parsed_doc(nlp.vocab, *lines))
    assert heads(doc) == [2, 2, 3, 3, 3, 5]
    assert [sentence.text for sentence in doc.sents] == ["The old dog barks.", "He"]


@pytest.mark.parametrize("arcs", [{0: (0, "x"), 3: (3, "x")}, {0: (2, "x"), 1: (3, "x")}])
def test_arcs_that_make_no_tree_do_no_harm(
    trained: Language, arcs: dict[int, tuple[int, str]]
) -> None:
    doc = with_arcs(trained, "The old dog barks .", arcs)
    doc = trained(doc)
    assert not contains_cycle(heads(doc))
    assert all(token.dep_ for token in doc)
    assert len(list(doc.sents)) == len(roots(doc))


def from_array(nlp: Language, text: str, arcs: dict[int, tuple[int, str]]) -> Doc:
    """The same as ``with_arcs``, made by ``Doc.from_array``."""
    given = [arcs.get(i, (i, "")) for i in range(len(text.split()))]
    columns = [[head - i, nlp.vocab.strings.add(label)] for i, (head, label) in enumerate(given)]
    array = np.array([[offset % 2**64, label] for offset, label in columns], dtype=np.uint64)
    return Doc(nlp.vocab, words=text.split()).from_array([HEAD, DEP], array)


def by_tokens(nlp: Language, text: str, arcs: dict[int, tuple[int, str]]) -> Doc:
    """The same as ``with_arcs``, made by setting ``Token.head``."""
    doc = Doc(nlp.vocab, words=text.split())
    for i, (head, label) in arcs.items():
        doc[i].head, doc[i].dep_ = doc[head], label
    return doc


@pytest.mark.parametrize("make", [with_arcs, from_array, by_tokens])
@pytest.mark.parametrize(
    ("arcs", "cycle"),
    [
        ({0: (1, "x"), 1: (0, "x")}, "0 'The', 1 'old'"),
        ({1: (4, "x"), 2: (1, "x"), 4: (2, "x"), 0: (1, "x")}, "1 'old', 2 'dog', 4 '.'"),
        (
            {0: (1, "x"), 1: (2, "x"), 2: (3, "x"), 3: (4, "x"), 4: (0, "x")},
            "0 'The', 1 'old', 2 'dog', 3 'barks', 4 '.'",
        ),
    ],
)
def test_arcs_that_form_a_cycle_are_refused(
    trained: Language, make: Any, arcs: dict[int, tuple[int, str]], cycle: str
) -> None:
    docs = [with_arcs(trained, "Birds sang", {0: (1, "x")}), trained.make_doc("")]
    docs.append(make(trained, "The old dog barks .", arcs))
    before = [arc_of_each_token(doc) for doc in docs]
    with pytest.raises(ValueError, match=r"the Doc 'The old dog barks \. ' already") as caught:
        parser_of(trained).predict(docs)
    assert f"form a cycle (tokens {cycle})." in str(caught.value)
    assert f"overwrite = true in [components.{NAME}]" in str(caught.value)
    with pytest.raises(ValueError, match="form a cycle"):
        trained(docs[2])
    assert [arc_of_each_token(doc) for doc in docs] == before
    nlp = copy_of(trained)
    parser_of(nlp).cfg["overwrite"] = True
    assert heads(nlp(make(nlp, "The old dog barks .", arcs))) == [2, 2, 3, 3, 3]


def test_cycles_through_whitespace_are_refused(trained: Language) -> None:
    doc = Doc(trained.vocab, words=["Birds", "\n", "sang"], heads=[1, 0, 2], deps=["x", "x", "x"])
    with pytest.raises(ValueError, match=r"form a cycle \(tokens 0 'Birds', 1 '\n'\)"):
        trained(doc)


def test_a_cycle_of_heads_without_labels_is_none(trained: Language) -> None:
    doc = by_tokens(trained, "The old dog barks .", {0: (1, ""), 1: (0, "")})
    assert heads(trained(doc)) == [2, 2, 3, 3, 3]


def gold(nlp: Language, example: Example) -> list[list[int]]:
    (tree,) = parser_of(nlp).gold_labels([example])
    return tree.tolist()


def test_gold_trees() -> None:
    nlp, (example,) = initialized(LINES[0])
    labels = parser_of(nlp).labels
    assert labels == ("ROOT", "det", "nsubj", "punct")
    assert gold(nlp, example) == [[1, 1, 1], [2, 2, 0], [2, 0, 0], [2, 3, 0]]


def test_gold_trees_of_other_tokens() -> None:
    """What is not one token on both endpoints has no arc, and none leads to it."""
    nlp, _ = initialized(*LINES)
    reference = parsed_doc(nlp.vocab, "can:3:nsubj not:3:det sing:0:ROOT loud:3:punct")
    words, spaces = ["can", "not", "sing", "lo", "ud"], [True, True, True, False, False]
    split = gold(nlp, Example(Doc(nlp.vocab, words=words, spaces=spaces), reference))
    assert [head for head, _, _ in split[:3]] == [2, 2, 2]
    reference = Doc(
        nlp.vocab,
        words=["can", "not", "sing"],
        spaces=[False, True, False],
        heads=[2, 0, 2],
        deps=["nsubj", "det", "ROOT"],
    )
    predicted = Doc(nlp.vocab, words=["cannot", "sing"], spaces=[True, False])
    assert gold(nlp, Example(predicted, reference)) == [[-1, -1, 1], [1, 0, 0]]


@pytest.mark.parametrize("words", [["ab", "c", "d"], ["a", "b", "c", "d"]])
def test_tokens_without_an_arc_have_none_whatever_the_tokens(words: list[str]) -> None:
    nlp, _ = initialized(*LINES)
    reference = Doc(
        nlp.vocab,
        words=["ab", "c", "d"],
        spaces=[True] * 3,
        heads=[1, 1, 2],
        deps=["nsubj", "ROOT", ""],
    )
    spaces = [word != "a" for word in words]
    tree = gold(nlp, Example(Doc(nlp.vocab, words=words, spaces=spaces), reference))
    assert tree[-1] == [-1, -1, 0]
    assert tree[-2] == [len(words) - 2, 0, 0]


def test_what_is_not_annotated_teaches_nothing() -> None:
    nlp, examples = initialized(*LINES)
    bare = Example(nlp.make_doc("It rained"), nlp.make_doc("It rained"))
    assert nlp.update([bare])[NAME] == 0.0
    assert nlp.update([bare, *examples])[NAME] > 0.0


def test_partial_trees_teach_what_they_say() -> None:
    nlp = PARSER.pipeline()
    examples = parsing_examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    partial = []
    for i, example in enumerate(examples):
        kept = [token.i % 3 != i % 3 for token in example.reference]
        deps = [t.dep_ if k else "" for t, k in zip(example.reference, kept, strict=True)]
        reference = Doc(
            nlp.vocab,
            words=[token.text for token in example.reference],
            spaces=[bool(token.whitespace_) for token in example.reference],
            heads=[t.head.i if k else t.i for t, k in zip(example.reference, kept, strict=True)],
            deps=deps,
        )
        partial.append(Example(example.predicted, reference))
    for _ in range(20):
        losses = nlp.update(partial)
    assert losses[f"{NAME}_gap"] < 0.1
    for example in partial:
        doc = nlp(example.predicted.copy())
        for token in example.reference:
            if token.dep:
                assert (doc[token.i].head.i, doc[token.i].dep) == (token.head.i, token.dep)
        assert len(roots(doc)) == 1


def test_gold_sentences_that_are_split_or_merged() -> None:
    nlp, _ = initialized(*LINES)
    split = example_of(nlp, LINES[1], starts=[0, 2])
    merged = example_of(nlp, LINES[0], LINES[2], starts=[0])
    shifted = example_of(nlp, LINES[0], LINES[1], starts=[0, 5])
    for _ in range(10):
        losses = nlp.update([split, merged, shifted])
    assert np.isfinite(losses[NAME])
    parser = parser_of(nlp)
    training = parser._trainer
    assert training.problem.number_of_examples == 5
    examples = training.problem.examples()
    found = [
        examples.heads[a + 1 : b - 1].tolist() for a, b in pairwise(examples.node_starts.tolist())
    ]
    # words whose head is in another sentence have none, and neither have several roots
    assert found[:2] == [[2, 0], [-1, 1, -1]]
    assert found[2] == [2, 3, -1, 3, 6, -1]
    assert found[3:] == [[2, 3, 0, 3, -1], [0, 1, 2, 1]]
    for example in (split, merged, shifted):
        doc = nlp(example.predicted.copy())
        check_trees(doc)
        assert [t.is_sent_start for t in doc] == [t.is_sent_start for t in example.predicted]


def test_boundaries_of_the_reference_where_tokens_differ() -> None:
    nlp, _ = initialized(*LINES)
    reference = parsed_doc(nlp.vocab, LINES[0], LINES[2], LINES[0])
    words = ["The", "dog", "barks", ".", "Shecan", "The", "d", "og", "barks."]
    spaces = [True, True, True, True, True, True, False, True, False]
    reference = Doc(
        nlp.vocab,
        words=[token.text for token in reference],
        spaces=[token.text != "She" for token in reference[:-2]] + [False, False],
        heads=[token.head.i for token in reference],
        deps=[token.dep_ for token in reference],
    )
    tree = gold(nlp, Example(Doc(nlp.vocab, words=words, spaces=spaces), reference))
    assert [i for i, (_, _, starts) in enumerate(tree) if starts] == [0, 4, 5]


def test_a_word_without_an_arc_makes_no_boundaries() -> None:
    nlp, _ = initialized(*LINES)
    example = example_of(nlp, *LINES, LINES[0])
    example.reference[5].dep_ = ""  # the root of the second sentence
    assert [i for i, (_, _, starts) in enumerate(gold(nlp, example)) if starts] == [0, 11]


def test_gold_trees_of_a_batch_are_those_of_each_example() -> None:
    nlp, _ = initialized(*LINES)
    loose, whole = example_of(nlp, *LINES), example_of(nlp, *LINES[:2])
    loose.reference[-1].dep_ = ""
    loose.reference[-1].head = loose.reference[-1]
    first, second, *rest = [token.text for token in whole.reference]
    other = Example(Doc(nlp.vocab, words=[first + second, *rest]), whole.reference)
    empty = Example(nlp.make_doc(""), nlp.make_doc(""))
    examples = [loose, whole, empty, other, empty, loose]
    together = parser_of(nlp).gold_labels(examples)
    assert [tree.tolist() for tree in together] == [gold(nlp, example) for example in examples]
    assert parser_of(nlp).gold_labels([]) == []


def test_boundaries_that_are_nowhere_bring_one_warning() -> None:
    nlp, _ = initialized(*LINES)
    words = ["Birds", "sang"]
    examples = [Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words)) for _ in "ab"]
    nlp.update(examples)  # nothing is learned, nothing is said
    for example in examples:
        example.reference[1].dep_ = "ROOT"
        assert not example.reference.has_annotation("SENT_START")
    with pytest.warns(UserWarning, match="neither in its predicted Doc nor") as caught:
        parser_of(nlp).gold_labels(examples)
    assert len(caught) == 1


def test_a_cycle_across_pieces_is_refused() -> None:
    nlp, _ = initialized(*LINES, max_length=2)
    deps = ["det", "det", "nsubj", "ROOT"]
    reference = Doc(nlp.vocab, words=["a", "b", "c", "d"], heads=[1, 2, 0, 3], deps=deps)
    with pytest.raises(ValueError, match="no tree: a cycle"):
        nlp.update([Example(Doc(nlp.vocab, words=["a", "b", "c", "d"]), reference)])


def test_a_cycle_is_refused_by_name_and_leaves_nothing_behind() -> None:
    nlp, examples = initialized(*LINES)
    words = ["We", "saw", "an", "odd", "bird"]
    deps = ["nsubj", "ROOT", "det", "det", "det"]
    reference = Doc(nlp.vocab, words=words, heads=[1, 1, 3, 4, 2], deps=deps)
    bad = Example(Doc(nlp.vocab, words=words), reference)
    for batch in ([bad], [*examples, bad]):
        with pytest.raises(ValueError, match="no tree: a cycle") as caught:
            nlp.update(batch)
        message = str(caught.value)
        assert message.startswith(NAME)
        assert "(tokens 2 'an', 3 'odd', 4 'bird') in 'We saw an odd bird" in message
    for _ in range(10):
        nlp.update(examples)
    assert PARSER.number_of_examples(nlp) == len(examples)
    assert [heads(nlp(e.predicted.copy())) for e in examples] == [
        heads(e.reference) for e in examples
    ]


def test_a_refused_update_leaves_what_was_learned() -> None:
    nlp, examples = initialized(*LINES)
    learned([*examples], nlp)
    parser = parser_of(nlp)
    before = parser.to_bytes(exclude=["vocab"])
    number = PARSER.number_of_examples(nlp)
    words = ["a", "b", "c"]
    reference = Doc(nlp.vocab, words=words, heads=[1, 0, 2], deps=["det", "det", "ROOT"])
    for example in examples:
        example.predicted[0].tag_ = "CHANGED"
    with pytest.raises(ValueError, match="no tree: a cycle"):
        nlp.update([*examples, Example(Doc(nlp.vocab, words=words), reference)])
    assert parser.to_bytes(exclude=["vocab"]) == before
    assert PARSER.number_of_examples(nlp) == number


def test_a_label_that_initialize_has_not_seen() -> None:
    nlp, examples = initialized(*LINES)
    odd = example_of(nlp, "Oh:2:intj yes:0:ROOT")
    with pytest.raises(ValueError, match=r"the label 'intj' of token 0 \('Oh'\)") as caught:
        nlp.update([*examples, odd])
    assert f"[initialize.components.{NAME}.labels]" in str(caught.value)
    for _ in range(10):
        nlp.update(examples)
    assert heads(nlp(examples[0].predicted.copy())) == heads(examples[0].reference)


def test_a_corpus_without_trees() -> None:
    nlp = PARSER.pipeline()
    doc = nlp.make_doc("no trees here")
    with pytest.raises(ValueError, match="no DEP annotation to learn from"):
        nlp.initialize(lambda: [Example(doc, doc.copy())])


@pytest.mark.parametrize("line", ["Go:0:ROOT", "Go:0:ROOT home:1:ROOT", LINES[1]])
def test_a_corpus_of_one_sentence(line: str) -> None:
    nlp, examples = initialized(line)
    for _ in range(30):
        losses = nlp.update(examples)
    assert np.isfinite(losses[NAME])
    doc = nlp(examples[0].predicted.copy())
    assert arc_of_each_token(doc) == arc_of_each_token(examples[0].reference)
    assert -1e-6 < parser_of(nlp).objective(examples).gap < 0.01


def crossing_examples(nlp: Language) -> list[Example]:
    lines = [
        "a:2:x b:0:ROOT c:1:y d:2:z",
        "b:0:ROOT a:4:x d:1:z c:1:y",
        "c:2:y a:3:x b:0:ROOT",
    ]
    return [example_of(nlp, line) for line in lines]


@compiled_only
@pytest.mark.parametrize("config", [{"order": 1}, {"order": 2}, GRANDPARENTS])
def test_trees_that_are_not_projective_need_the_setting(config: dict[str, Any]) -> None:
    for projective in (True, False):
        nlp = PARSER.pipeline(**config, projective=projective)
        examples = crossing_examples(nlp)
        nlp.initialize(lambda examples=examples: examples)
        PARSER.train(nlp, examples, 20)
        docs = [nlp(example.predicted.copy()) for example in examples]
        right = [heads(d) == heads(e.reference) for d, e in zip(docs, examples, strict=True)]
        assert all(right) == (not projective)
        assert any(is_nonproj_tree(heads(doc)) for doc in docs) == (not projective)
        assert 0 <= parser_of(nlp).objective(examples).gap <= 1


MIRA_5 = {"@misc": "spacy_ssvm.KBestMira.v1", "k": 5}


@pytest.mark.parametrize(
    ("config", "key", "problem"),
    [
        ({"order": 3}, "order", "3: choose 1 or 2"),
        ({"pruning": -0.5}, "pruning", "-0.5: must be at least 0, or null"),
        ({"max_length": 1}, "max_length", "1: must be at least 2"),
        ({"hash_bits": 7}, "hash_bits", "7: must lie between 8 and 28"),
        ({"hash_bits": None}, "hash_bits", ""),
        ({"templates": []}, "templates", "there are no templates"),
        (
            {"order": 1, "templates": ["sibling.tag"]},
            "templates",
            "only templates of pairs of arcs",
        ),
        ({"templates": ["head.colour"]}, "templates", "there is no attribute 'colour'"),
        ({"templates": ["lower[0]"]}, "templates", "cannot read 'lower[0]'"),
        ({"pruner_templates": ["sibling.tag"]}, "pruner_templates", "cannot read 'sibling.tag'"),
        ({"label_templates": ["between.tag"]}, "label_templates", "arcs alone"),
        ({"label_solver": {"@misc": "spacy_ssvm.DualCoordinateDescent.v1", "C": 0}}, "C", "is 0"),
        (GRANDPARENTS | {"solver": MIRA_5}, "solver", "choose another, or leave out"),
        (
            {"projective": False, "solver": MIRA_5},
            "solver",
            "choose another, or projective",
        ),
        ({"costs": {}}, "costs", ""),
        ({"projective": "perhaps"}, "projective", ""),
    ],
)
def test_bad_settings_name_the_key(config: dict[str, Any], key: str, problem: str) -> None:
    message = refusal(**config)
    assert key in message
    assert problem in message


def test_attributes_of_gazetteers(tmp_path: Path) -> None:
    path = tmp_path / "animals.txt"
    path.write_text("dog\nbirds\n", encoding="utf8")
    nlp = PARSER.pipeline(templates=["head.lower+dependent.gazetteer.ANIMAL"])
    examples = parsing_examples(nlp.vocab)
    nlp.config["initialize"]["components"][NAME] = {"gazetteers": {"ANIMAL": str(path)}}
    nlp.initialize(lambda: examples)
    PARSER.train(nlp, examples, 3)
    assert PARSER.annotate(copy_of(nlp)) == PARSER.annotate(nlp)
    nlp = PARSER.pipeline(templates=["head.lower+dependent.gazetteer.PLANT"])
    nlp.config["initialize"]["components"][NAME] = {"gazetteers": {"ANIMAL": str(path)}}
    with pytest.raises(ValueError, match=r"dependent.gazetteer.PLANT' names .* 'PLANT'.*ANIMAL"):
        nlp.initialize(lambda: examples)


def test_templates_that_need_resources() -> None:
    nlp = PARSER.pipeline(label_templates=["dependent.cluster4"])
    with pytest.raises(ValueError, match=r"the template 'dependent\.cluster4' needs word clusters"):
        nlp.initialize(lambda: parsing_examples(nlp.vocab))


def test_reasons_add_up_to_the_margins_that_scores_tell(trained: Language) -> None:
    parser = parser_of(trained)
    doc = sentences_of(trained, "The old dog barks .", "He boxes \n well .")
    scores = parser.scores(doc)
    assert scores.shape == (len(doc),)
    parsed = trained(doc.copy())
    for token in parsed:
        if token.is_space:
            assert scores[token.i] == 0.0
            with pytest.raises(ValueError, match="is whitespace: it has no head"):
                parser.explain(doc, token.i)
            continue
        explanation = parser.explain(doc, token.i)
        assert explanation.margin == pytest.approx(scores[token.i], abs=1e-5)
        assert scores[token.i] > 0
        total = sum(reason.weight - reason.runner_up_weight for reason in explanation.reasons)
        assert total == pytest.approx(explanation.margin, abs=1e-5)
        is_root = token.head.i == token.i
        assert explanation.label == ("<root>" if is_root else token.head.text)
        assert explanation.runner_up != explanation.label
        assert str(explanation)
    assert parser.explain(doc, doc[0]) == parser.explain(doc, 0) == parser.explain(doc, -len(doc))


def test_reasons_and_scores_of_sentences_in_pieces(trained: Language) -> None:
    nlp = spacy.blank("en")
    parser: Any = nlp.add_pipe(NAME, config={**PARSER.config, "max_length": 4})
    nlp.from_bytes(copy_of(trained).to_bytes())
    doc = blank_doc(nlp, ["The", "dog", "barks", ".", "Dogs", "bark", "at", "cats", "."], [0])
    margins = [parser.explain(doc, i).margin for i in range(8)]
    assert parser.scores(doc)[:8].tolist() == pytest.approx(margins, abs=1e-5)
    assert parser.scores(doc)[8] == np.inf, "a piece of one word"


def test_scores_of_a_single_word_are_infinite(trained: Language) -> None:
    parser = parser_of(trained)
    doc = sentences_of(trained, "Dogs")
    assert parser.scores(doc).tolist() == [np.inf]
    with pytest.raises(ValueError, match="token 0 has only one possible head"):
        parser.explain(doc, 0)


def test_scores_of_empty_docs(trained: Language) -> None:
    assert parser_of(trained).scores(trained.make_doc("")).tolist() == []
    assert parser_of(trained).scores(trained.make_doc(" \n")).tolist() == [0.0]


def test_scores_and_weights(trained: Language) -> None:
    meta = trained.get_pipe_meta(NAME)
    assert meta.assigns == ["token.dep", "token.head", "doc.sents"]
    scores = trained.evaluate(parsing_examples(trained.vocab))
    assert scores["dep_uas"] == scores["dep_las"] == scores["sents_f"] == 1.0


def test_training_goes_on_from_a_loaded_model(trained: Language) -> None:
    loaded = copy_of(trained)
    parser = parser_of(loaded)
    examples = parsing_examples(loaded.vocab)
    before = parser.objective(examples)
    assert before == pytest.approx(parser_of(trained).objective(parsing_examples(trained.vocab)))
    assert 0 <= before.gap < 0.1
    for _ in range(3):
        loaded.update(examples[:5])
    assert PARSER.accuracy(loaded) == 1.0
    assert PARSER.number_of_examples(loaded) == 5
    weights = exact(parser_of(trained).model.weights)
    parser._sync()
    changes = exact(parser.model.weights) - weights
    assert 0 < np.abs(changes).max() < np.abs(weights).max()
    assert parser.model.summary is not None
    assert parser.model.summary.regularizer == pytest.approx(changes @ changes / 2)


def test_the_pruner_is_saved_with_the_model(trained: Language) -> None:
    nlp = PARSER.trained(pruning=0.0)
    assert PARSER.annotate(copy_of(nlp)) == PARSER.annotate(nlp)
    unpruned = PARSER.trained(pruning=None)
    assert PARSER.annotate(unpruned) == PARSER.gold()


def test_damaged_arrays_of_arcs_are_named(trained: Language, tmp_path: Path) -> None:
    trained.to_disk(tmp_path / "whole")
    for name in ("arc_weights", "pruner_weights", "scales", "labels.rows"):
        folder = tmp_path / name
        shutil.copytree(tmp_path / "whole", folder)
        file = folder / NAME / FILE
        data = bytearray(file.read_bytes())
        header, arrays = header_of(bytes(data))
        data[len(data) - len(arrays) + header[name]["data_offsets"][1] - 1] ^= 1
        file.write_bytes(bytes(data))
        message = f"the checksum of the array '{name}' has changed"
        with pytest.raises(ModelFileError, match=message) as caught:
            spacy.load(folder)
        assert str(file) in str(caught.value)
        file.unlink()
        with pytest.raises(ModelFileError, match="No such file"):
            spacy.load(folder)


@pytest.mark.parametrize("pruning", [3.0, 0.0, None])
def test_training_keeps_the_arcs_that_annotation_keeps(pruning: float | None) -> None:
    nlp, examples = initialized(*LINES, pruning=pruning)
    pipe: Any = nlp.get_pipe(NAME)
    trainer, _ = pipe.featurize(examples)
    threshold = np.inf if pruning is None else pruning
    assert trainer.problem.pruner.threshold == threshold
    assert pipe.selector(examples) is not None
    nlp.update(examples)
    pipe._sync()
    assert pipe.model.scorer.pruner.threshold == threshold
    words = np.ones((1, len(pipe.model.reader.names)), dtype=np.uint64)
    assert pipe.model.scorer_of(words).pruner.threshold == threshold


def test_absent_attributes_change_no_tree() -> None:
    """Templates that cannot fire are left out, as the Docs come."""
    nlp, examples = initialized(
        *LINES, templates=["head.tag+dependent.lower+distance", "dependent.morph+head.lower"]
    )
    for _ in range(3):
        nlp.update(examples)
    pipe: Any = nlp.get_pipe(NAME)

    def parse(morph: str) -> list[list[int]]:
        docs = [example.predicted.copy() for example in examples]
        for doc in docs:
            doc[0].set_morph(morph)
        return [heads(doc) for doc in pipe.pipe(docs)]

    def templates() -> int:
        return pipe.model._reduced[1].features.arcs.codes.shape[1]

    without, with_morph = parse(""), parse("Case=Nom")
    assert templates() == 2
    assert parse("") == without
    assert templates() == 1
    assert parse("Case=Nom") == with_morph
    pipe.model.scorer_of = lambda words: pipe.model.scorer
    assert parse("") == without
    assert parse("Case=Nom") == with_morph


@compiled_only
@pytest.mark.parametrize("projective", [True, False])
def test_rounded_weights_change_few_heads(projective: bool) -> None:
    """Of random sentences, which are harder than those that were learned."""
    nlp = PARSER.trained(order=2, projective=projective)
    parser_of(nlp)._sync()
    model, random = parser_of(nlp).model, np.random.default_rng(0)
    words = sorted({token.text for e in parsing_examples(nlp.vocab) for token in e.reference})
    docs = [blank_doc(nlp, random.choice(words, 12).tolist(), [0]) for _ in range(200)]
    nodes, scorer = model.nodes(docs), model.scorer
    trainer: Any = parser_of(nlp)._trainer
    weights, of_pruner = trainer.run.w, trainer.pruner.w
    floats = scorer._replace(weights=weights, pruner=scorer.pruner._replace(weights=of_pruner))
    both = [
        model.find_trees(each, nodes.attributes, nodes.starts)[nodes.words]
        for each in (scorer, floats)
    ]
    assert np.mean(both[0] != both[1]) < 0.02


def test_arcs_are_scored_and_explained_with_rounded_weights() -> None:
    """In first order, an explanation names all that arcs of templates without pairs add up."""
    nlp, examples = initialized(
        *LINES, order=1, templates=["head.lower+dependent.lower", "dependent.lower+distance"]
    )
    nlp.update(examples)
    pipe: Any = nlp.get_pipe(NAME)
    doc = next(pipe.pipe([examples[0].predicted.copy()]))
    model, trainer = pipe.model, pipe._trainer
    trained = trainer.run.w, trainer.pruner.w
    for _ in range(2):
        of_arcs, of_pruner = map(quantize, trained)
        for found, weights in (
            (model.scorer.weights, of_arcs),
            (model.scorer.pruner.weights, of_pruner),
        ):
            assert found.codes.tolist() == weights.codes.tolist()
            assert found.scale == weights.scale > 0
        rows = compile_arc_templates(model.templates, model.reader.names)
        nodes = model.nodes([doc])
        endpoints = hash_endpoints(rows, nodes.attributes, 0, len(nodes.attributes))
        of_arc = np.empty(len(model.templates), dtype=np.int32)
        explanation = pipe.explain(doc, 1)
        m, size = int(nodes.words[1]), model.features.size
        h = int(model.parse(nodes)[0][m])
        fill_arc_rows(rows, endpoints, size, h, m, of_arc)
        total = exact(model.scorer.weights)[of_arc].sum()
        assert sum(r.weight for r in explanation.reasons[:-1]) == pytest.approx(total, rel=1e-9)
        trained = 3 * trained[0], trained[1] / 2
        model.set_weights(*map(quantize, trained), model.summary)


def test_labels_from_cached_sums_are_those_without(trained: Language) -> None:
    nlp = copy_of(trained)
    pipe: Any = nlp.get_pipe(NAME)
    model = pipe.model.label_model
    assert PARSER.annotate(nlp) == PARSER.gold()
    cache = model._prepared.cache
    assert 0 < len(cache.uncached.templates.seeds) < len(model.templates)
    assert cache._size > 0
    model._prepared = model._prepared._replace(cache=None)
    assert PARSER.annotate(nlp) == PARSER.gold()


def test_pruning_may_be_a_whole_number() -> None:
    assert PARSER.annotate(PARSER.trained(pruning=3)) == PARSER.annotate(
        PARSER.trained(pruning=3.0)
    )


def test_another_pruning_applies_to_the_next_docs(trained: Language) -> None:
    nlp = copy_of(trained)
    pipe: Any = nlp.get_pipe(NAME)
    words = np.ones((1, len(pipe.model.reader.names)), dtype=np.uint64)
    for pruning in (3.0, 0.5, 3.0):
        pipe.model.pruning = pruning
        assert pipe.model.scorer_of(words).pruner.threshold == pruning
