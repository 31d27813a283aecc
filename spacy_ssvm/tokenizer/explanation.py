"""Why a token or a sentence begins at a character."""

from functools import partial

import numpy as np

from spacy_ssvm.chains.explanation import OTHER_TOKENS, contrast_labels, fired_features
from spacy_ssvm.explanation import Explanation, strongest
from spacy_ssvm.features.templates import Template
from spacy_ssvm.tokenizer.chunks import GAP, GAPS
from spacy_ssvm.tokenizer.columns import COLUMNS, WORD_KINDS
from spacy_ssvm.tokenizer.model import Texts, TokenizerModel
from spacy_ssvm.tokenizer.nodes import INNER, LABELS, STARTS, restrict


def explain_character(
    model: TokenizerModel,
    text: str,
    i: int,
    *,
    top: int | None,
    against: str | None,
    sentences: bool,
) -> Explanation:
    """Explain the label of a character; see ``Tokenizer.explain_character``.

    sentences: whether sentences are written. Where they are not, a token at their beginning is one
        like any other: a label is then compared with one that cuts the text in another way.
    """
    texts = model.read_texts([text])
    positions = texts.nodes.positions
    node = int(np.searchsorted(positions, i))
    if node == len(positions) or positions[node] != i:
        what = "is whitespace, or beyond the text"
        if i >= 0 and text[: i + 1].split() == [text[i : i + 1]]:
            what = "begins the text"
        elif 0 <= i < len(text) and not text[i].isspace():
            chunk = int(np.searchsorted(texts.chunks.starts, i, side="right")) - 1
            is_known = texts.nodes.patterns[chunk] >= 0
            what = (
                "is in a chunk that is always cut like this"
                if is_known
                else "is in a context where nothing ever begins"
            )
        raise ValueError(f"nothing is decided at character {i}: it {what}")
    if not sentences and restrict(texts.chunks, texts.nodes)[node] == STARTS:
        raise ValueError(
            f"nothing is decided at character {i}: a token begins there in any case, and the "
            "tokenizer writes no sentences"
        )
    table = texts.table
    emissions = model.emissions(table, 0, texts.constraints)
    arguments = emissions, model.label_pairs, node, model.labels, f"character {i}"
    contrast = contrast_labels(*arguments, against=against)
    if against is None and not sentences and LABELS[INNER] not in contrast.names:
        contrast = contrast_labels(*arguments, against=LABELS[INNER])
    values = [
        (str(template), partial(_shown, texts, text, node, template))
        for template in model.templates
    ]
    features = fired_features(model, table, 0, node, contrast.labels, values)
    return contrast.explain(text[i], strongest(features, top), OTHER_TOKENS)


def _shown(texts: Texts, text: str, node: int, template: Template) -> str:
    """The values of the parts of a template at a node."""
    return " + ".join(_value(texts, text, node, p.attribute, p.offset) for p in template.parts)


def _value(texts: Texts, text: str, node: int, attribute: str, offset: int) -> str:
    """The value of a part of a template, as text."""
    chunks, nodes = texts.chunks, texts.nodes
    own = int(np.searchsorted(nodes.chunk_nodes, node, side="right")) - 1
    i = int(nodes.positions[node])
    start, end = int(chunks.starts[own]), int(chunks.ends[own])
    outside = "<start>" if offset < 0 else "<end>"
    if attribute in ("char", "class"):
        return text[i + offset] if start <= i + offset < end else outside
    if attribute in ("left", "right"):
        return text[start:i] if attribute == "left" else text[i:end]
    if attribute in ("left_word", "right_word"):
        column = COLUMNS.index((attribute, 0))
        return WORD_KINDS[int(texts.table.attributes[node, column]) - 1]
    if attribute == "first":
        return "first" if i == start else "inner"
    if attribute == "space":
        return GAPS[int(chunks.fields[own, GAP]) - 1]
    if attribute == "link":
        return "in an address"
    if not 0 <= own + offset < len(chunks.starts):
        return outside
    chunk = text[chunks.starts[own + offset] : chunks.ends[own + offset]]
    if attribute.startswith("ending"):
        return chunk[-int(attribute[-1]) :] if attribute[-1].isdigit() else chunk[-2:]
    return chunk.lower() if attribute == "lower" else chunk
