"""Base phrases of trees, on sentences whose phrases are written out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.vocab import Vocab

from benchmarks.papers.phrases import find_phrases, write_phrases

#: Words with their parts of speech, heads (counted from 1, 0 for the root) and relations.
SENTENCES = {
    "[NP the very big house] [VP was sold]": [
        ("the", "DET", 4, "det"),
        ("very", "ADV", 3, "advmod"),
        ("big", "ADJ", 4, "amod"),
        ("house", "NOUN", 6, "nsubj:pass"),
        ("was", "AUX", 6, "aux:pass"),
        ("sold", "VERB", 0, "root"),
    ],
    "[NP John 's mother] [ADVP never] [VP would have] , [NP she] [VP has never seen] [NP it]": [
        ("John", "PROPN", 3, "nmod:poss"),
        ("'s", "PART", 1, "case"),
        ("mother", "NOUN", 6, "nsubj"),
        ("never", "ADV", 6, "advmod"),
        ("would", "AUX", 6, "aux"),
        ("have", "VERB", 0, "root"),
        (",", "PUNCT", 11, "punct"),
        ("she", "PRON", 11, "nsubj"),
        ("has", "AUX", 11, "aux"),
        ("never", "ADV", 11, "advmod"),
        ("seen", "VERB", 6, "parataxis"),
        ("it", "PRON", 11, "obj"),
    ],
    "[NP it] [VP would be] [ADJP too late] [VP to go] [PRT out]": [
        ("it", "PRON", 5, "nsubj"),
        ("would", "AUX", 5, "aux"),
        ("be", "AUX", 5, "cop"),
        ("too", "ADV", 5, "advmod"),
        ("late", "ADJ", 0, "root"),
        ("to", "PART", 7, "mark"),
        ("go", "VERB", 5, "advcl"),
        ("out", "ADP", 7, "compound:prt"),
    ],
    "[NP I] [VP say] [SBAR that] [VP going] [PP because of] [NP Ann Lee] and [NP him] [VP helps]": [
        ("I", "PRON", 2, "nsubj"),
        ("say", "VERB", 0, "root"),
        ("that", "SCONJ", 4, "mark"),
        ("going", "VERB", 11, "csubj"),
        ("because", "ADP", 7, "case"),
        ("of", "ADP", 5, "fixed"),
        ("Ann", "PROPN", 4, "obl"),
        ("Lee", "PROPN", 7, "flat"),
        ("and", "CCONJ", 10, "cc"),
        ("him", "PRON", 7, "conj"),
        ("helps", "VERB", 2, "ccomp"),
    ],
    "[INTJ oh] [SBAR for] [NP them] [VP to win] [PP in] [NP 3 of] x": [
        ("oh", "INTJ", 5, "discourse"),
        ("for", "ADP", 5, "mark"),
        ("them", "PRON", 5, "nsubj"),
        ("to", "PART", 5, "mark"),
        ("win", "VERB", 0, "root"),
        ("in", "ADP", 7, "case"),
        ("3", "NUM", 5, "obl"),
        ("of", "ADP", 7, "fixed"),
        ("x", "X", 5, "dep"),
    ],
}
POS = ("NOUN", "PROPN", "VERB", "AUX", "ADJ", "ADV", "ADP", "PART", "SCONJ", "PUNCT", "X")
RELATIONS = ("det", "amod", "advmod", "aux", "mark", "case", "compound:prt", "flat", "fixed", "dep")


def make_doc(rows: list[tuple[str, str, int, str]]) -> Doc:
    words, pos, heads, deps = map(list, zip(*rows, strict=True))
    return Doc(
        Vocab(),
        words=words,
        pos=pos,
        heads=[i if head == 0 else head - 1 for i, head in enumerate(heads)],
        deps=["ROOT" if dep == "root" else dep for dep in deps],
    )


def written(doc: Doc) -> str:
    words = [token.text for token in doc]
    for phrase in reversed(find_phrases(doc)):
        text = " ".join(words[phrase.start : phrase.end])
        words[phrase.start : phrase.end] = [f"[{phrase.label} {text}]"]
    return " ".join(words)


@pytest.mark.parametrize("expected", SENTENCES)
def test_the_phrases_of_a_sentence(expected: str) -> None:
    assert written(make_doc(SENTENCES[expected])) == expected


@given(st.data())
def test_phrases_are_apart_and_in_order_whatever_the_tree(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 8))
    heads = [data.draw(st.integers(0, i)) for i in range(size)]  # of a word before, or the root
    doc = make_doc(
        [
            (
                f"w{i}",
                data.draw(st.sampled_from(POS)),
                heads[i],
                data.draw(st.sampled_from(RELATIONS)),
            )
            if heads[i]
            else (f"w{i}", data.draw(st.sampled_from(POS)), 0, "root")
            for i in range(size)
        ]
    )
    phrases = find_phrases(doc)
    ends = [0, *(phrase.end for phrase in phrases)]
    assert all(phrase.start < phrase.end for phrase in phrases)
    assert all(end <= phrase.start for end, phrase in zip(ends, phrases, strict=False))
    inside = {i for phrase in phrases for i in range(phrase.start, phrase.end)}
    nouns = {token.i for token in doc if token.pos_ in ("NOUN", "VERB", "ADJ")}
    assert nouns <= inside


def test_phrases_are_written_as_spans() -> None:
    doc = make_doc(next(iter(SENTENCES.values())))
    write_phrases(doc, "chunks")
    found = [(span.start, span.end, span.label_) for span in doc.spans["chunks"]]
    assert found == [(0, 4, "NP"), (4, 6, "VP")]
