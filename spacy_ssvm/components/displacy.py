"""Confidence in displaCy: arguments of ``displacy.render``.

    displacy.render(**entities(doc))
    displacy.render(**labels(doc, nlp.get_pipe("tagger")))
    displacy.render(**trees(doc, nlp.get_pipe("parser")))

displaCy colours entities and spans, but draws all arcs and tags of a tree in one colour: there, the
confidence is a number behind the label. Colours go from orange for 0 to blue for 1 and above.
Between, they tell probabilities apart, and margins below what training asks for.
"""

from collections.abc import Iterable
from typing import Any

from spacy import displacy
from spacy.tokens import Doc

from spacy_ssvm.components.ner import SCORE
from spacy_ssvm.components.page import ExplainablePipe
from spacy_ssvm.components.parser import DependencyParser

_UNSURE, _SURE = (244, 165, 130), (146, 197, 222)  # red, green and blue, with black text on them


def entities(docs: Doc | Iterable[Doc]) -> dict[str, Any]:
    """Entities in the colour of ``ent._.ssvm_score``, or of displaCy where they have none."""
    shown = []
    for doc in _all(docs):
        parsed = displacy.parse_ents(doc)
        for ent, entry in zip(doc.ents, parsed["ents"], strict=True):
            score = ent._.get(SCORE)
            if score is not None:
                label = _with_number(ent.label_, score)
                entry["params"] = {"label": label, "bg": _colour(score)}
        shown.append(parsed)
    return {"docs": shown, "style": "ent", "manual": True}


def labels(docs: Doc | Iterable[Doc], pipe: ExplainablePipe[Any]) -> dict[str, Any]:
    """What a component decides about words or sentences, in the colour of its confidence.

    docs: as the pipeline has annotated them.
    """
    shown, colours = [], {}
    for doc in _all(docs):
        spans = []
        for decision in pipe.decisions(doc):
            label = _with_number(str(decision.label), decision.score)
            colours[label] = _colour(decision.score)
            place = {"start_token": decision.start, "end_token": decision.end}
            spans.append({**place, "label": label})
        tokens = [token.text for token in doc]
        settings = displacy.get_doc_settings(doc)
        shown.append({"text": doc.text, "tokens": tokens, "spans": spans, "settings": settings})
    return {"docs": shown, "style": "span", "manual": True, "options": {"colors": colours}}


def trees(
    docs: Doc | Iterable[Doc], parser: DependencyParser, tagger: ExplainablePipe[Any] | None = None
) -> dict[str, Any]:
    """Trees with the confidence in each arc; roots, which have no arc, are without.

    docs: as the pipeline has annotated them. tagger: whose tags are shown, with confidence.
    """
    shown = []
    for doc in _all(docs):
        parsed = displacy.parse_deps(doc, {"collapse_punct": False, "fine_grained": True})
        scores = parser.scores(doc)
        for arc in parsed["arcs"]:
            dependent = arc["start"] if arc["dir"] == "left" else arc["end"]
            arc["label"] = _with_number(arc["label"], scores[dependent])
        for decision in tagger.decisions(doc) if tagger is not None else []:
            word = parsed["words"][decision.start]
            word["tag"] = _with_number(str(decision.label), decision.score)
        shown.append(parsed)
    return {"docs": shown, "style": "dep", "manual": True}


def _all(docs: Doc | Iterable[Doc]) -> Iterable[Doc]:
    return [docs] if isinstance(docs, Doc) else docs


def _with_number(label: str, score: float) -> str:
    return f"{label} {score:.2f}"


def _colour(confidence: float) -> str:
    """The colour of a confidence, at least 0."""
    share = min(confidence, 1.0)
    mixed = (round(a + share * (b - a)) for a, b in zip(_UNSURE, _SURE, strict=True))
    return "#{:02x}{:02x}{:02x}".format(*mixed)
