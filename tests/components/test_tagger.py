"""What ``ssvm_tagger`` does with Docs, tags, sentences and settings."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from corpora import UNIVERSAL, make_doc, tagged_sentences, tagging_examples
from pipelines import TAGGER, copy_of
from spacy.language import Language
from spacy.tokens import Doc, Token
from spacy.training import Example
from tiny_taggers import STARTS, TINY, TWO, example_of, tags, train

WITH_CANDIDATES = pytest.fixture(
    scope="module", params=[False, True], ids=["all tags", "candidates"]
)


@WITH_CANDIDATES
def trained_tagger(request: pytest.FixtureRequest) -> Language:
    return TAGGER.trained(candidates=request.param)


@WITH_CANDIDATES
def tiny(request: pytest.FixtureRequest) -> Language:
    nlp = TAGGER.pipeline(candidates=request.param)
    train(nlp, tagging_examples(nlp.vocab, TINY))
    return nlp


def has_candidates(nlp: Language) -> bool:
    return bool(nlp.get_pipe_config("ssvm_tagger")["candidates"])


def test_tags_by_default(trained_tagger: Language) -> None:
    doc = trained_tagger("The old dog barks.")
    assert tags(doc) == ["DT", "JJ", "NN", "VBZ", "."]
    assert all(token.pos == 0 for token in doc)
    assert doc.has_annotation("TAG", require_complete=True)


def test_universal_tags(trained_tagger: Language) -> None:
    nlp = TAGGER.pipeline(attribute="POS")
    examples = tagging_examples(nlp.vocab)
    tagger = train(nlp, examples)
    assert set(tagger.labels) == set(UNIVERSAL.values())
    doc = nlp("The old dog \n barks.")
    assert [token.pos_ for token in doc] == ["DET", "ADJ", "NOUN", "SPACE", "VERB", "PUNCT"]
    assert all(token.tag == 0 for token in doc)
    scores = nlp.evaluate(examples)
    assert scores["pos_acc"] == 1.0
    assert "tag_acc" not in scores
    other = copy_of(nlp)
    assert [token.pos_ for token in other("The old dog.")] == ["DET", "ADJ", "NOUN", "PUNCT"]


def test_score_of_tags(trained_tagger: Language) -> None:
    scores = trained_tagger.evaluate(tagging_examples(trained_tagger.vocab))
    assert scores["tag_acc"] == 1.0
    assert "pos_acc" not in scores


def test_score_weights_of_the_config() -> None:
    nlp = TAGGER.pipeline()
    assert nlp.get_pipe_meta("ssvm_tagger").default_score_weights["tag_acc"] == 1.0
    assert nlp.get_pipe_meta("ssvm_tagger").assigns == ["token.tag"]


def test_both_attributes_in_one_pipeline_with_tags_as_features() -> None:
    nlp = TAGGER.pipeline(overwrite=True)
    nlp.add_pipe(
        "ssvm_tagger", name="universal", config={"attribute": "POS", "templates": ["tag[0]"]}
    )
    examples = tagging_examples(nlp.vocab)
    nlp.initialize(lambda: examples)
    for _ in range(10):
        losses = nlp.update(examples, annotates=["ssvm_tagger"])
    assert set(losses) == {"ssvm_tagger", "ssvm_tagger_gap", "universal", "universal_gap"}
    scores = nlp.evaluate(examples)
    assert scores["tag_acc"] == 1.0
    assert scores["pos_acc"] == 1.0
    doc = nlp("Mary cuts bread.")
    assert [token.pos_ for token in doc] == [UNIVERSAL[tag] for tag in tags(doc)]


def test_whole_docs_are_learned_by_gold_sentences() -> None:
    nlp = TAGGER.pipeline(whole_docs=True, templates=["lower[0]", "lower[-1]"])
    tags = ["DT", "JJ", "NN", "VBZ", ".", "VB", "DT", "NN", "RB", "."]
    blank = Doc(nlp.vocab, words=["\n"], tags=["_SP"])
    marked = Doc(
        nlp.vocab,
        words=["\n", *TWO, "\n"],
        tags=["_SP", *tags, "_SP"],
        sent_starts=[False, *STARTS, False],
    )
    unmarked = Doc(nlp.vocab, words=TWO, tags=tags)
    empty = Doc(nlp.vocab)
    examples = [
        Example(Doc(nlp.vocab, words=[token.text for token in doc]), doc)
        for doc in (blank, marked, empty, unmarked)
    ]
    nlp.initialize(lambda: examples)
    tagger: Any = nlp.get_pipe("ssvm_tagger")
    trainer, numbers = tagger.featurize(examples)
    rows = trainer.problem.examples()
    gold = np.split(np.asarray(rows.gold), np.asarray(rows.token_starts)[1:-1])
    features = np.split(np.asarray(rows.features.rows), np.asarray(rows.features.starts)[1:-1])
    of_examples = np.split(np.arange(len(features)), np.asarray(rows.token_starts)[1:-1])
    # each sentence with a word of its neighbour
    learned = [[tagger.labels[label] for label in gold[number]] for number in numbers]
    assert learned == [[*tags[:5], "VB"], [".", *tags[5:]], tags]
    # features see the Doc
    seen = [[features[i].tolist() for i in of_examples[number]] for number in numbers]
    assert seen == [seen[2][:6], seen[2][4:], seen[2]]
    for _ in range(50):
        trainer.epoch(numbers)
    assert 0 <= tagger.objective(examples).gap < 0.01


def test_gold_labels(tiny: Language) -> None:
    tagger: Any = tiny.get_pipe("ssvm_tagger")
    DT, NN, VB = map(tagger.labels.index, ("DT", "NN", "VB"))
    whole = example_of(tiny, "the/DT dog/NN barks/VB")
    partly = example_of(tiny, "the/ dog/NN barks/")
    missing = example_of(tiny, "the/ dog/")
    empty = Example(Doc(tiny.vocab), Doc(tiny.vocab))
    # one token of the reference is two in the prediction
    cut = Example(
        Doc(tiny.vocab, words=["the", "watch", "dog"], spaces=[True, False, False]),
        Doc(tiny.vocab, words=["the", "watchdog"], tags=["DT", "NN"]),
    )
    # two of the reference are one in the prediction
    joined = Example(
        Doc(tiny.vocab, words=["the", "watchdog"]),
        Doc(
            tiny.vocab,
            words=["the", "watch", "dog"],
            spaces=[True, False, False],
            tags=["DT", "VB", "NN"],
        ),
    )
    gold = tagger.gold_labels([whole, partly, missing, empty, cut, joined])
    assert [list(labels) for labels in gold] == [
        [DT, NN, VB],
        [-1, NN, -1],
        [-1, -1],
        [],
        [DT, NN, NN],
        [DT, -1],
    ]
    assert tagger.gold_labels([]) == []


def test_whitespace_has_no_gold_label(tiny: Language) -> None:
    tagger: Any = tiny.get_pipe("ssvm_tagger")
    words, gold = ["the", "\n", "dog"], ["DT", "_SP", "NN"]
    reference = Doc(tiny.vocab, words=words, tags=gold)
    (labels,) = tagger.gold_labels([Example(Doc(tiny.vocab, words=words), reference)])
    assert labels[1] == -1
    assert [tagger.labels[k] for k in labels.ravel()[[0, 2]]] == ["DT", "NN"]


def test_whitespace_is_no_label() -> None:
    nlp = TAGGER.pipeline()
    words, gold = ["the", "\n", "dog"], ["DT", "_SP", "NN"]
    examples = [Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words, tags=gold))]
    assert train(nlp, examples).labels == ("DT", "NN")


def test_missing_gold_teaches_nothing() -> None:
    """Examples without tags change neither the weights nor the objective."""
    nlp = TAGGER.pipeline()
    tagger = train(nlp, tagging_examples(nlp.vocab, TINY), 5)
    mixed = TAGGER.pipeline()
    examples = tagging_examples(mixed.vocab, TINY)
    bare = [example_of(mixed, "an/ unknown/ word/"), example_of(mixed, "the/ dog/")]
    with_bare = train(mixed, [examples[0], bare[0], *examples[1:], bare[1]], 5)
    assert with_bare.labels == tagger.labels
    objective = with_bare.objective([*examples, *bare])
    assert objective == with_bare.objective(examples)
    assert objective.gap < 0.9
    assert [tags(doc) for doc in mixed.pipe(TINY.replace("/DT", "").splitlines())]


def test_partial_gold_is_never_worse_than_whole_gold(tiny: Language) -> None:
    tagger: Any = tiny.get_pipe("ssvm_tagger")
    values = [
        tagger.objective([example_of(tiny, text)]).primal
        for text in (
            "the/DT bark/DT falls/VB",
            "the/DT bark/ falls/VB",
            "the/ bark/ falls/VB",
            "the/ bark/ falls/",
        )
    ]
    assert values[0] > values[1] >= values[2] >= values[3]
    # what is left of the last is the norm of the weights alone
    assert values[3] == tagger.objective([]).primal


def test_learns_from_partial_gold() -> None:
    nlp = TAGGER.pipeline()
    text = (
        TINY.replace("bark/NN", "bark/")
        .replace("a/DT", "a/")
        .replace("sleeps/VB the", "sleeps/ the")
    )
    examples = [example_of(nlp, line) for line in text.strip().splitlines()]
    assert sum(token.tag == 0 for eg in examples for token in eg.reference) == 3
    tagger = train(nlp, examples)
    assert tagger.labels == ("DT", "NN", "VB")
    for words, gold in tagged_sentences(text):
        predicted = tags(nlp(make_doc(nlp.vocab, words)))
        assert all(predicted)
        assert [tag if known else "" for tag, known in zip(predicted, gold, strict=True)] == gold
    assert tagger.objective(examples).gap < 0.5


def test_learns_from_tokens_that_are_cut_in_another_way() -> None:
    nlp = TAGGER.pipeline()
    examples = tagging_examples(nlp.vocab, TINY)
    reference = Doc(nlp.vocab, words=["a", "watchdog", "barks"], tags=["DT", "NN", "VB"])
    predicted = Doc(
        nlp.vocab, words=["a", "watch", "dog", "barks"], spaces=[True, False, True, False]
    )
    train(nlp, [*examples, Example(predicted, reference)])
    assert tags(nlp(predicted.copy())) == ["DT", "NN", "NN", "VB"]
    assert nlp.evaluate([Example(predicted, reference)])["tag_acc"] is not None


def test_whitespace_tokens_are_not_part_of_the_sequence(trained_tagger: Language) -> None:
    tagger: Any = trained_tagger.get_pipe("ssvm_tagger")
    plain = trained_tagger("The old dog barks.")
    spaced = trained_tagger(" The  old \n\n dog\tbarks .\n")
    whitespace = np.array([token.is_space for token in spaced])
    assert whitespace.sum() >= 4
    assert {token.tag_ for token in spaced if token.is_space} == {"_SP"}
    assert [token.tag_ for token in spaced if not token.is_space] == tags(plain)
    margins = tagger.scores(spaced)
    assert (margins[whitespace] == 0).all()
    assert margins[~whitespace] == pytest.approx(tagger.scores(plain))


def test_nothing_but_whitespace(trained_tagger: Language) -> None:
    tagger: Any = trained_tagger.get_pipe("ssvm_tagger")
    doc = trained_tagger(" \n \n\n")
    assert len(doc) > 0
    assert set(tags(doc)) == {"_SP"}
    assert list(tagger.scores(doc)) == [0.0] * len(doc)
    with pytest.raises(ValueError, match="whitespace"):
        tagger.explain(doc, 0)


def test_whitespace_does_not_disturb_learning() -> None:
    def tagger_of(spaced: bool) -> Any:
        nlp = TAGGER.pipeline()
        examples = []
        for words, gold in tagged_sentences(TINY):
            if spaced:
                words, gold = [words[0], "\n", *words[1:]], [gold[0], "_SP", *gold[1:]]
            reference = Doc(nlp.vocab, words=words, tags=gold)
            examples.append(Example(Doc(nlp.vocab, words=words), reference))
        return train(nlp, examples)

    saved = [tagger_of(spaced).to_bytes(exclude=["vocab"]) for spaced in (False, True)]
    assert saved[0] == saved[1]


def test_sentences_are_tagged_each_by_itself(trained_tagger: Language) -> None:
    tagger: Any = trained_tagger.get_pipe("ssvm_tagger")
    both = trained_tagger(make_doc(trained_tagger.vocab, TWO, sent_starts=STARTS))
    parts = [make_doc(trained_tagger.vocab, words) for words in (TWO[:5], TWO[5:])]
    assert tags(both) == [tag for doc in parts for tag in tags(trained_tagger(doc))]
    margins = np.concatenate([tagger.scores(doc) for doc in parts])
    assert tagger.scores(both) == pytest.approx(margins)
    whole = make_doc(trained_tagger.vocab, TWO)
    assert tagger.scores(whole) != pytest.approx(margins)


def test_features_do_not_reach_over_the_end_of_a_sentence() -> None:
    nlp = TAGGER.trained()
    tagger: Any = nlp.get_pipe("ssvm_tagger")

    def seen(doc: Doc, i: int, template: str) -> str | None:
        reasons = {reason.template: reason.value for reason in tagger.explain(doc, i).reasons}
        return reasons.get(template)

    divided = make_doc(nlp.vocab, TWO, sent_starts=STARTS)
    whole = make_doc(nlp.vocab, TWO)
    assert seen(divided, 4, "lower[1]") == "<end>"
    assert seen(divided, 5, "lower[-1]") == "<start>"
    assert seen(divided, 0, "lower[-1]") == seen(whole, 0, "lower[-1]") == "<start>"
    # in the whole Doc the ends are not there, and the token beyond can be seen
    assert seen(whole, 4, "lower[1]") != "<end>"
    assert seen(whole, 5, "lower[-1]") != "<start>"
    assert seen(divided, 5, "suffix2[1]") == seen(whole, 5, "suffix2[1]") == "he"
    assert seen(divided, 4, "suffix2[1]") == "<end>"
    assert seen(whole, 5, "shape[0]") == "Xx"


def test_preset_tags_are_kept(trained_tagger: Language) -> None:
    doc = make_doc(trained_tagger.vocab, ["The", "old", "dog", "barks", "."])
    doc[1].tag_ = "NN"
    doc[3].tag_ = "unheard of"
    predicted = tags(trained_tagger(doc))
    assert predicted[1] == "NN"
    assert predicted[3] == "unheard of"
    assert predicted[0] == "DT"
    assert all(predicted)


def test_a_wholly_preset_doc_stays_as_it_is(trained_tagger: Language) -> None:
    words = ["The", "old", "dog", "barks"]
    preset = ["VB", "VB", "IN", "other"]
    doc = make_doc(trained_tagger.vocab, words, tags=preset)
    assert tags(trained_tagger(doc)) == preset


def test_overwrite_replaces_tags(trained_tagger: Language) -> None:
    nlp = TAGGER.pipeline(overwrite=True, candidates=has_candidates(trained_tagger))
    source: Any = trained_tagger.get_pipe("ssvm_tagger")
    tagger: Any = nlp.get_pipe("ssvm_tagger")
    tagger.from_bytes(source.to_bytes(), exclude=["cfg"])
    words = ["The", "old", "dog", "barks"]
    doc = nlp(make_doc(nlp.vocab, words, tags=["VB", "VB", "IN", "other"]))
    assert tags(doc) == ["DT", "JJ", "NN", "VBZ"]


def test_preset_tags_of_one_doc_leave_others_alone(trained_tagger: Language) -> None:
    plain, preset = (make_doc(trained_tagger.vocab, ["The", "old", "dog"]) for _ in range(2))
    preset[0].tag_ = "VB"
    docs = list(trained_tagger.pipe([plain, preset]))
    assert tags(docs[0]) == ["DT", "JJ", "NN"]
    assert tags(docs[1])[0] == "VB"


def test_labels_that_no_example_has(tiny: Language) -> None:
    nlp = TAGGER.pipeline()
    tagger: Any = nlp.get_pipe("ssvm_tagger")
    tagger.initialize(list, nlp=nlp, labels=["UH", "VB", "NN", "DT"])
    assert set(tagger.labels) == {"UH", "VB", "NN", "DT"}
    TAGGER.train(nlp, tagging_examples(nlp.vocab, TINY), 12)
    assert [tags(nlp(Doc(nlp.vocab, words=words))) for words, _ in tagged_sentences(TINY)] == [
        gold for _, gold in tagged_sentences(TINY)
    ]


def test_labels_are_strings_of_the_vocabulary(tiny: Language) -> None:
    tagger: Any = tiny.get_pipe("ssvm_tagger")
    other = spacy.blank("en")
    config = {"candidates": has_candidates(tiny)}
    loaded: Any = other.add_pipe("ssvm_tagger", config=config)
    loaded.from_bytes(tagger.to_bytes(exclude=["vocab"]))
    assert all(label in other.vocab.strings for label in (*tagger.labels, "_SP"))
    assert tags(other("the\n\ndog")) == ["DT", "_SP", "NN"]


def test_add_label_before_training() -> None:
    nlp = TAGGER.pipeline()
    tagger: Any = nlp.get_pipe("ssvm_tagger")
    assert tagger.add_label("UH") == 1
    assert tagger.add_label("UH") == 0
    assert tagger.labels == ("UH",)
    train(nlp, tagging_examples(nlp.vocab, TINY))
    assert set(tagger.labels) == {"DT", "NN", "UH", "VB"}
    assert tagger.add_label("DT") == 0


def test_add_label_between_initialize_and_update() -> None:
    nlp = TAGGER.pipeline()
    tagger: Any = nlp.get_pipe("ssvm_tagger")
    nlp.initialize(lambda: tagging_examples(nlp.vocab, TINY))
    assert tagger.add_label("UH") == 1
    assert set(tagger.labels) == {"DT", "NN", "UH", "VB"}
    example = example_of(nlp, "oh/UH the/DT dog/NN")
    TAGGER.train(nlp, [*tagging_examples(nlp.vocab, TINY), example], 12)
    assert tags(nlp(make_doc(nlp.vocab, ["oh", "the", "dog"]))) == ["UH", "DT", "NN"]


@pytest.mark.parametrize("loaded", [False, True], ids=["learning", "loaded"])
def test_add_label_after_training_explains_why_not(tiny: Language, loaded: bool) -> None:
    nlp = copy_of(tiny) if loaded else tiny
    tagger: Any = nlp.get_pipe("ssvm_tagger")
    with pytest.raises(ValueError, match="cannot add the label 'UH' to a trained model"):
        tagger.add_label("UH")
    assert tagger.labels == ("DT", "NN", "VB")
    assert tagger.add_label("NN") == 0


CLUSTERS = "0010\tdog\t10\n0010\thound\t3\n110100\tbarks\t5\n110100\tyelps\n0111\tthe\t9\n"


@pytest.fixture
def clusters(tmp_path: Path) -> Path:
    path = tmp_path / "clusters.tsv"
    path.write_text(CLUSTERS, encoding="utf8")
    return path


def test_clusters_help_with_unseen_words(clusters: Path, tmp_path: Path) -> None:
    text = "dog/NN\nbarks/VB\nthe/DT\n"

    def pipeline() -> Language:
        nlp = TAGGER.pipeline(templates=["lower[0]", "cluster4[0]", "cluster6[0]"])
        tagger: Any = nlp.get_pipe("ssvm_tagger")
        examples = [example_of(nlp, line) for line in text.split()]
        tagger.initialize(lambda: examples, nlp=nlp, clusters=clusters)
        TAGGER.train(nlp, examples, 10)
        return nlp

    nlp = pipeline()
    tagger: Any = nlp.get_pipe("ssvm_tagger")
    known, unknown = nlp("hound"), nlp("stone")
    assert tags(known) == ["NN"]
    assert tags(nlp("Yelps")) == ["VB"], "a word is looked up in lower case too"
    assert tagger.scores(known)[0] > tagger.scores(unknown)[0]
    reasons = {r.template: r.value for r in tagger.explain(known, 0).reasons}
    assert reasons["cluster4[0]"] == "0010"

    nlp.to_disk(tmp_path / "pipeline")
    data = tagger.to_bytes()
    clusters.unlink()
    other = TAGGER.pipeline(templates=["lower[0]"])
    other.get_pipe("ssvm_tagger").from_bytes(data)
    for loaded in (spacy.load(tmp_path / "pipeline"), other):
        assert tags(loaded("hound")) == ["NN"]
        assert tags(loaded("yelps")) == ["VB"]
        copied: Any = loaded.get_pipe("ssvm_tagger")
        assert copied.scores(loaded("hound")) == pytest.approx(tagger.scores(known))


def test_clusters_from_the_config(clusters: Path) -> None:
    nlp = TAGGER.pipeline(templates=["cluster4[0]"])
    nlp.config["initialize"]["components"]["ssvm_tagger"] = {"clusters": str(clusters)}
    train(nlp, [example_of(nlp, line) for line in ("dog/NN", "barks/VB")])
    assert tags(nlp("hound")) == ["NN"]
    assert tags(nlp("yelps")) == ["VB"]


@pytest.fixture
def is_bold() -> Iterator[None]:
    Token.set_extension("is_bold", default=None)
    yield
    Token.remove_extension("is_bold")


@pytest.mark.usefixtures("is_bold")
def test_extension_attributes_are_features() -> None:
    nlp = TAGGER.pipeline(templates=["_.is_bold[0]", "lower[0]+_.is_bold[1]"])
    examples = [example_of(nlp, "bark/NN"), example_of(nlp, "bark/VB")]
    examples[0].predicted[0]._.is_bold = True
    tagger = train(nlp, examples)
    bold, plain = nlp.make_doc("anything"), nlp.make_doc("bark")
    bold[0]._.is_bold = True
    explanation = tagger.explain(bold, 0)
    assert explanation.label == "NN"
    assert ("_.is_bold[0]", "True") in {(r.template, r.value) for r in explanation.reasons}
    assert tags(nlp(bold)) == ["NN"]
    assert tags(nlp(plain)) == ["VB"]
    lacking = {r.template for r in tagger.explain(plain, 0).reasons}
    assert "_.is_bold[0]" not in lacking, "an attribute that is not set fires nothing"


def test_token_attributes_are_features() -> None:
    nlp = TAGGER.pipeline(templates=["lemma[0]", "ent_type[0]", "like_num[0]"])
    examples = [example_of(nlp, "a/NN"), example_of(nlp, "a/VB")]
    for eg, lemma in zip(examples, ("one", "two"), strict=True):
        eg.predicted[0].lemma_ = lemma
    tagger = train(nlp, examples)
    docs = [Doc(nlp.vocab, words=["x"], lemmas=[lemma]) for lemma in ("one", "two")]
    assert [tags(doc) for doc in nlp.pipe(docs)] == [["NN"], ["VB"]]
    reasons = tagger.explain(docs[1], 0).reasons
    assert (reasons[0].template, reasons[0].value) == ("lemma[0]", "two")
