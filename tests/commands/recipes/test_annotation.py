"""What a corpus annotates, and what can learn from it."""

from typing import Any

import pytest
import spacy
from corpora import make_doc
from spacy.tokens import Doc, Span
from spacy.util import get_words_and_spaces
from spacy.vocab import Vocab

from spacy_ssvm.commands.recipes.annotation import (
    LEARNS,
    find_annotation,
    is_as_written,
    share_cut_otherwise,
)


def doc(**annotations: Any) -> Doc:
    return make_doc(Vocab(), ["Ann", "sleeps", "Bob", "sings"], **annotations)


def with_spans(key: str) -> Doc:
    made = doc()
    made.spans[key] = [Span(made, 0, 2, label="NP")]
    return made


@pytest.mark.parametrize(
    ("made", "components"),
    [
        (doc(), []),
        (doc(tags=["NNP", "VBZ", "NNP", "VBZ"]), ["tagger"]),
        (doc(pos=["PROPN", "VERB", "PROPN", "VERB"]), ["pos_tagger"]),
        (doc(morphs=["Number=Sing", "", "", ""]), ["morphologizer"]),
        (doc(morphs=["", "", "", ""]), []),
        (doc(lemmas=["Ann", "sing", "", ""]), ["lemmatizer"]),
        (doc(tags=["PROPN", "", "", ""], pos=["PROPN", "VERB", "", ""]), ["tagger", "pos_tagger"]),
        (doc(tags=["PROPN", "VERB", "", ""], pos=["PROPN", "VERB", "", ""]), ["pos_tagger"]),
        (doc(sent_starts=[True, False, True, False]), ["senter"]),
        (doc(sent_starts=[True, False, False, False]), []),
        (doc(heads=[1, 1, 1, 1], deps=["a", "ROOT", "b", "c"]), ["parser"]),
        (doc(heads=[1, 1, 3, 3], deps=["a", "ROOT", "a", "ROOT"]), ["senter", "parser"]),
        (doc(ents=["B-PER", "O", "O", "O"]), ["ner"]),
        (doc(ents=["O", "O", "O", "O"]), []),
        (with_spans("chunks"), ["chunker"]),
        (with_spans("sentence_labels"), ["sentence_labeler"]),
        (with_spans("other"), []),
    ],
)
def test_the_components_that_can_learn(made: Doc, components: list[str]) -> None:
    found = find_annotation([made, doc()])
    assert found.components == components
    assert [row[0] for row in found.rows()] == components
    assert (found.docs, found.tokens) == (2, 8)


def test_components_come_in_the_order_of_a_pipeline() -> None:
    made = doc(
        tags=["NNP", "VBZ", "NNP", "VBZ"],
        pos=["PROPN", "VERB", "PROPN", "VERB"],
        morphs=["Number=Sing", "", "Number=Sing", ""],
        lemmas=["Ann", "sing", "Bob", "dance"],
        heads=[1, 1, 3, 3],
        deps=["a", "ROOT", "a", "ROOT"],
        ents=["B-PER", "O", "B-PER", "O"],
    )
    for key in ("chunks", "sentence_labels"):
        made.spans[key] = [Span(made, 0, 2, label="NP")]
    found = find_annotation([made])
    assert found.components == [*LEARNS]
    rows = {name: amount for name, _, amount in found.rows()}
    assert rows["tagger"] == "4 of NNP, VBZ"
    assert rows["morphologizer"] == "2 of Number=Sing"
    assert found.suggested == [name for name in LEARNS if name != "pos_tagger"]
    assert find_annotation([doc(pos=["X", "X", "", ""])]).suggested == ["pos_tagger"]
    assert rows["senter"] == "2 sentences"
    assert rows["ner"] == "2 of PER"


def test_whether_spaces_are_known() -> None:
    unknown = Doc(Vocab(), words=["a", "b"])
    known = Doc(Vocab(), words=["a", "b"], spaces=[True, False])
    assert not find_annotation([unknown]).has_spaces
    assert find_annotation([unknown, known]).has_spaces


def cut(text: str, *tokens: str) -> Doc:
    words, spaces = get_words_and_spaces(tokens, text)
    return Doc(Vocab(), words=words, spaces=spaces)


def test_texts_as_they_were_written() -> None:
    written = cut("Ann sleeps, Bob sings.", "Ann", "sleeps", ",", "Bob", "sings", ".")
    spaced = cut("Ann sleeps , Bob sings .", "Ann", "sleeps", ",", "Bob", "sings", ".")
    assert is_as_written([written])
    assert not is_as_written([spaced])
    assert is_as_written([written, spaced])
    assert not is_as_written([written, *[spaced] * 5])
    assert not is_as_written([cut("Ann sleeps", "Ann", "sleeps")])
    unknown = Doc(Vocab(), words=["Ann", "."])  # where spaces are is not known
    assert not is_as_written([unknown])
    assert is_as_written([written, *[unknown] * 50])
    assert not is_as_written([cut("Ann \n.", "Ann", "\n", ".")])
    assert not is_as_written([])


def test_where_a_tokenizer_cuts_otherwise() -> None:
    nlp = spacy.blank("en")
    alike = cut("Ann doesn't sleep.", "Ann", "does", "n't", "sleep", ".")
    other = cut("Ann doesn't sleep.", "Ann", "doesn't", "sleep", ".")
    assert share_cut_otherwise(nlp, [alike] * 3) == 0
    assert share_cut_otherwise(nlp, [other]) == 0.2
    assert 0 < share_cut_otherwise(nlp, [other, alike]) < share_cut_otherwise(nlp, [other])
    assert 0 < share_cut_otherwise(nlp, [other, *[alike] * 200]) < 0.005
    assert share_cut_otherwise(nlp, [Doc(nlp.vocab, words=["doesn't"]), alike]) == 0
    assert share_cut_otherwise(nlp, []) == 0
