"""Examples whose predicted Docs carry annotations of the gold corpus, or of another one."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Corpus, Example
from spacy.training.augment import create_lower_casing_augmenter
from spacy.util import registry

from spacy_ssvm.components.annotated_corpus import ANNOTATIONS, AnnotatedCorpus


def doc_of(nlp: Language, text: str, **annotations: Any) -> Doc:
    return Doc(nlp.vocab, words=text.split(), **annotations)


def write(path: Path, docs: Iterable[Doc]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    DocBin(docs=docs).to_disk(path)
    return path


def gold_docs(nlp: Language) -> list[Doc]:
    """Two Docs with all annotations, the first of two sentences."""
    first = doc_of(
        nlp,
        "Anna sings . Bob Ray left",
        tags=["NNP", "VBZ", ".", "NNP", "NNP", "VBD"],
        pos=["PROPN", "VERB", "PUNCT", "PROPN", "PROPN", "VERB"],
        morphs=["Number=Sing", "", "", "Number=Sing", "", "Tense=Past"],
        lemmas=["Anna", "sing", ".", "Bob", "Ray", "leave"],
        sent_starts=[True, False, False, True, False, False],
        ents=["B-PER", "O", "O", "B-PER", "I-PER", "O"],
    )
    second = doc_of(nlp, "Fish swim", tags=["NNS", "VBP"], sent_starts=[True, False])
    return [first, second]


def other_tags(nlp: Language) -> list[Doc]:
    """The same Docs as another model has annotated them."""
    return [
        doc_of(nlp, "Anna sings . Bob Ray left", tags=["A", "B", "C", "D", "E", "F"]),
        doc_of(nlp, "Fish swim", tags=["G", "H"]),
    ]


@pytest.fixture
def nlp() -> Language:
    return spacy.blank("en")


@pytest.fixture
def gold(nlp: Language, tmp_path: Path) -> Path:
    return write(tmp_path / "gold.spacy", gold_docs(nlp))


@pytest.fixture
def annotated(nlp: Language, tmp_path: Path) -> Path:
    return write(tmp_path / "annotated.spacy", other_tags(nlp))


def values(doc: Doc, name: str) -> list[Any]:
    """What a Doc holds of an annotation."""
    return {
        "TAG": lambda: [token.tag_ for token in doc],
        "POS": lambda: [token.pos_ for token in doc],
        "MORPH": lambda: [str(token.morph) for token in doc],
        "LEMMA": lambda: [token.lemma_ for token in doc],
        "SENT_START": lambda: [token.is_sent_start for token in doc],
        "ENTS": lambda: [token.ent_iob_ + token.ent_type_ for token in doc],
    }[name]()


def predicted_tags(corpus: AnnotatedCorpus, nlp: Language) -> list[list[str]]:
    return [values(example.predicted, "TAG") for example in corpus(nlp)]


@pytest.mark.parametrize("name", ANNOTATIONS)
def test_annotations_of_the_gold_corpus(nlp: Language, gold: Path, name: str) -> None:
    for example in AnnotatedCorpus(gold, [name])(nlp):
        assert values(example.predicted, name) == values(example.reference, name)
        for other in set(ANNOTATIONS) - {name, "SENT_START"}:
            assert not any(values(example.predicted, other))


@pytest.mark.parametrize("gold_preproc", [False, True])
def test_all_annotations_together(nlp: Language, gold: Path, gold_preproc: bool) -> None:
    examples = list(AnnotatedCorpus(gold, [*ANNOTATIONS], gold_preproc=gold_preproc)(nlp))
    assert len(examples) == 2 + gold_preproc
    for example in examples:
        for name in ANNOTATIONS:
            assert values(example.predicted, name) == values(example.reference, name)


def test_annotations_of_another_corpus(nlp: Language, gold: Path, annotated: Path) -> None:
    corpus = AnnotatedCorpus(gold, ["TAG"], annotated_path=annotated)
    assert predicted_tags(corpus, nlp) == [["A", "B", "C", "D", "E", "F"], ["G", "H"]]
    for example, doc in zip(corpus(nlp), gold_docs(nlp), strict=True):
        assert values(example.reference, "TAG") == values(doc, "TAG")
        assert example.predicted is not example.reference


def test_gold_sentences_of_another_corpus(nlp: Language, gold: Path, annotated: Path) -> None:
    corpus = AnnotatedCorpus(gold, ["TAG"], annotated_path=annotated, gold_preproc=True)
    assert predicted_tags(corpus, nlp) == [["A", "B", "C"], ["D", "E", "F"], ["G", "H"]]


@pytest.mark.parametrize("settings", [
    {}, {"gold_preproc": True}, {"max_length": 4}, {"max_length": 3}, {"limit": 1},
    {"limit": 2, "max_length": 4}, {"max_length": 100, "gold_preproc": True},
])  # fmt: skip
def test_the_examples_are_those_of_the_plain_corpus(
    nlp: Language, gold: Path, settings: dict[str, Any]
) -> None:
    plain = [example.to_dict() for example in Corpus(gold, **settings)(nlp)]
    assert [e.to_dict() for e in AnnotatedCorpus(gold, ["TAG"], **settings)(nlp)] == plain


def test_corpora_in_folders(nlp: Language, tmp_path: Path) -> None:
    for i, doc in enumerate(gold_docs(nlp)):
        write(tmp_path / "gold" / f"{i}.spacy", [Doc(nlp.vocab), doc])
    annotated = write(tmp_path / "annotated.spacy", other_tags(nlp))
    corpus = AnnotatedCorpus(tmp_path / "gold", ["TAG"], annotated_path=annotated)
    assert predicted_tags(corpus, nlp) == [["A", "B", "C", "D", "E", "F"], ["G", "H"]]


def test_tokens_of_the_predicted_doc(nlp: Language, tmp_path: Path) -> None:
    words = ["Do", "n't", "go", "New-York", "!"]
    reference = Doc(
        nlp.vocab,
        words=words,
        spaces=[False, True, True, False, False],
        tags=["A", "B", "C", "D", "E"],
        sent_starts=[True, False, False, True, False],
        ents=["O", "O", "O", "B-LOC", "O"],
    )
    path = write(tmp_path / "gold.spacy", [reference])
    (example,) = AnnotatedCorpus(path, ["TAG", "SENT_START", "ENTS"])(nlp)
    predicted = example.predicted
    assert [t.text for t in predicted] == ["Do", "n't", "go", "New", "-", "York", "!"]
    assert values(predicted, "TAG") == ["A", "B", "C", "D", "D", "D", "E"]
    assert [t.i for t in predicted if t.is_sent_start] == [0, 3]
    assert [entity.text for entity in predicted.ents] == ["New-York"]


def test_an_entity_over_a_gold_boundary(nlp: Language, gold: Path, tmp_path: Path) -> None:
    docs = other_tags(nlp)
    docs[0].set_ents([Span(docs[0], 2, 5, "ORG")])
    annotated = write(tmp_path / "annotated.spacy", docs)
    corpus = AnnotatedCorpus(gold, ["ENTS"], annotated_path=annotated, gold_preproc=True)
    texts = [[entity.text for entity in example.predicted.ents] for example in corpus(nlp)]
    assert texts == [["."], ["Bob Ray"], []]


def shout(nlp: Language, example: Example) -> Iterator[Example]:
    """Another text of as many tokens."""
    for mark in "!?":
        words = [token.text + mark for token in example.reference]
        reference = example.reference.from_docs([example.reference])
        assert reference is not None
        other = Doc(nlp.vocab, words=words, tags=[token.tag_ for token in reference])
        yield Example(Doc(nlp.vocab, words=words), other)


def split(nlp: Language, example: Example) -> Iterator[Example]:
    """Other tokens."""
    words = [letter for token in example.reference for letter in token.text]
    yield Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words))


def test_augmented_examples_are_annotated_too(nlp: Language, gold: Path, annotated: Path) -> None:
    def corpus(augmenter: Callable[..., Any]) -> AnnotatedCorpus:
        return AnnotatedCorpus(gold, ["TAG"], annotated_path=annotated, augmenter=augmenter)

    lower = list(corpus(create_lower_casing_augmenter(1.0))(nlp))
    assert lower[0].predicted.text.startswith("anna sings")
    assert values(lower[0].predicted, "TAG") == ["A", "B", "C", "D", "E", "F"]
    shouted = list(corpus(shout)(nlp))
    assert [e.predicted[0].text for e in shouted] == ["Anna!", "Anna?", "Fish!", "Fish?"]
    assert all(values(e.predicted, "TAG") == ["A", "B", "C", "D", "E", "F"] for e in shouted[:2])
    with pytest.raises(ValueError, match="the augmenter has changed the number of tokens"):
        list(corpus(split)(nlp))


@pytest.mark.parametrize(("names", "said"), [(["TAG", "HEADS"], "HEADS"), ([], "nothing")])
def test_annotations_that_do_not_exist(gold: Path, names: list[str], said: str) -> None:
    with pytest.raises(ValueError, match=f"{said}.* cannot be carried over.*from TAG, POS"):
        AnnotatedCorpus(gold, names)


def with_docs(change: Callable[[list[str]], Sequence[str]]) -> Callable[[Language], list[Doc]]:
    texts = ["Anna sings . Bob Ray left", "Fish swim"]
    return lambda nlp: [doc_of(nlp, text) for text in change(texts)]


@pytest.mark.parametrize(("docs", "message"), [
    (with_docs(lambda texts: texts[::-1]),
     r"annotated\.spacy, Doc 1 has other tokens than .*gold\.spacy, Doc 1, 'Fish swim"),
    (with_docs(lambda texts: [texts[0], "Fish swim ."]),
     r"annotated\.spacy, Doc 2 has other tokens than .*gold\.spacy, Doc 2"),
    (with_docs(lambda texts: texts[:1]), r"annotated\.spacy ends before .*gold\.spacy, Doc 2"),
    (with_docs(lambda texts: [*texts, "More"]),
     r"gold\.spacy ends before .*annotated\.spacy, Doc 3"),
])  # fmt: skip
def test_corpora_of_other_docs(
    nlp: Language, gold: Path, tmp_path: Path, docs: Callable[[Language], list[Doc]], message: str
) -> None:
    annotated = write(tmp_path / "annotated.spacy", docs(nlp))
    with pytest.raises(ValueError, match=message):
        list(AnnotatedCorpus(gold, ["TAG"], annotated_path=annotated)(nlp))


def test_a_reader_without_a_path() -> None:
    block = {"@readers": "spacy_ssvm.AnnotatedCorpus.v1", "path": None, "annotations": ["TAG"]}
    with pytest.raises(ValueError, match="E913"):
        registry.resolve({"reader": block})


def test_the_reader_of_a_config(nlp: Language, gold: Path, annotated: Path) -> None:
    block = {
        "@readers": "spacy_ssvm.AnnotatedCorpus.v1",
        "path": str(gold),
        "annotated_path": str(annotated),
        "annotations": ["TAG"],
    }
    corpus = registry.resolve({"reader": block})["reader"]
    assert predicted_tags(corpus, nlp) == [["A", "B", "C", "D", "E", "F"], ["G", "H"]]
