"""Real-valued attributes of words: word vectors, tensors and numbers of extension attributes.

    vector[0]           the word's vector in the vocabulary of the pipeline
    tensor[0]           the token's row of ``doc.tensor``, which a component such as tok2vec writes
    real._.NAME[0]      an extension attribute of tokens: a number, or a list of numbers

A template has one real-valued feature for each dimension. All are multiplied by one factor, chosen
at the first batch of training so that the mean squared norm is ``MEAN_SQUARE``, and kept with the
model. Beyond the ends of a sentence, and for words without a value, all are 0.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from spacy.tokens import Doc, Token
from spacy.vectors import Mode
from thinc.api import NumpyOps

from spacy_ssvm.features.templates import REAL, TENSOR, VECTOR, Template
from spacy_ssvm.features.text_hash import hash_text
from spacy_ssvm.files import shorten
from spacy_ssvm.kernels.types import Floats, Ints, Keys, Rows, Weights

#: The mean squared norm of the features of a template; that of any other template is at most 1.
MEAN_SQUARE = 1.0

MAX_WIDTH = 2**14  #: the largest number of dimensions of an attribute


class Scale(NamedTuple):
    """How a model reads a real-valued attribute."""

    width: int  #: the number of dimensions
    factor: float  #: of all values


#: By attribute.
Scales = Mapping[str, Scale]
NO_SCALES: Scales = MappingProxyType({})


class RealKeys(NamedTuple):
    """The features of real-valued templates, one after another: one for each dimension."""

    keys: Keys  #: uint64 [F]
    templates: Rows  #: int32 [F]: the number of the template of each


NO_REALS = RealKeys(np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int32))


def read_reals(name: str, doc: Doc) -> Weights:
    """The values of an attribute: float32 [tokens, width]; width 0 where no token has any.

    Raises ValueError, naming the Doc, where they are missing or cannot be used.
    """
    if name == VECTOR:
        found = _vectors(doc)
    elif name == TENSOR:
        found = doc.tensor
        if len(found) != len(doc):
            raise ValueError(
                f"{_start(doc)} has no tensor for its tokens, which the template attribute "
                "'tensor' needs: put a component that sets one, such as tok2vec, before this one, "
                "and name it in [training] annotating_components"
            )
    else:
        found = _extension_values(name[len(f"{REAL}._.") :], doc)
    values: Weights = np.ascontiguousarray(NumpyOps().asarray(found), dtype=np.float32)
    if values.ndim != 2 or values.shape[1] > MAX_WIDTH:
        raise ValueError(
            f"{_start(doc)}: '{name}' has the shape {values.shape}, but one row for each token is "
            f"needed, of at most {MAX_WIDTH:,} numbers"
        )
    if not np.isfinite(values).all():
        token = doc[int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])]
        raise ValueError(
            f"{_start(doc)}: '{name}' is not finite at token {token.i}, '{shorten(token.text)}'"
        )
    return values


def _vectors(doc: Doc) -> Any:
    vectors: Any = doc.vocab.vectors
    if not vectors.shape[1] or getattr(vectors, "n_keys", -1) == 0:
        raise ValueError(
            "the template attribute 'vector' needs word vectors, but the pipeline has none: use "
            "those that it was trained with"
        )
    keys, words = np.unique(doc.to_array([vectors.attr]), return_inverse=True)
    if getattr(vectors, "mode", None) != Mode.default:  # floret, or a class of the user
        return vectors.get_batch(keys.tolist())[words]
    rows = vectors.find(keys=keys.tolist())
    found = vectors.data[rows]
    found[rows < 0] = 0  # of words without a vector
    return found[words]


def _extension_values(name: str, doc: Doc) -> Weights:
    rows: list[Floats | None] = []
    for token in doc:
        value = read_extension(token, name, f"{REAL}._.{name}")
        try:
            row = None if value is None else np.asarray(value, dtype=np.float64).reshape(-1)
        except (TypeError, ValueError):
            raise ValueError(
                f"{_start(doc)}: '_.{name}' of token {token.i}, '{shorten(token.text)}', is "
                f"{shorten(repr(value))}, not a number or a list of numbers"
            ) from None
        rows.append(row)
    widths = {len(row) for row in rows if row is not None}
    if len(widths) > 1:
        raise ValueError(
            f"{_start(doc)}: '_.{name}' has {min(widths)} numbers for one token and {max(widths)} "
            "for another"
        )
    nothing = np.zeros(widths.pop() if widths else 0)
    return np.array([nothing if row is None else row for row in rows], dtype=np.float32).reshape(
        len(doc), len(nothing)
    )


def read_extension(token: Token, name: str, attribute: str) -> Any:
    """The value of an extension attribute of a token.

    Raises ValueError, naming the attribute of templates that reads it, where it does not exist.
    """
    if not token.has_extension(name):
        raise ValueError(
            f"template attribute '{attribute}': tokens have no extension of that name. "
            f"Register it before the pipeline runs: Token.set_extension('{name}', ...)"
        )
    return token._.get(name)


def _start(doc: Doc) -> str:
    """A Doc, by its first words."""
    return f"the Doc '{shorten(doc[:8].text)}'"


def read_all_reals(name: str, docs: Sequence[Doc]) -> Weights:
    """The values of an attribute of all tokens of Docs: float32 [tokens, width].

    Raises ValueError as ``read_reals`` does, and where Docs differ in width.
    """
    found = [read_reals(name, doc) for doc in docs if len(doc)]
    width = max((values.shape[1] for values in found), default=0)
    for values, doc in zip(found, (doc for doc in docs if len(doc)), strict=True):
        if values.shape[1] not in (0, width):
            raise ValueError(
                f"{_start(doc)}: '{name}' has {values.shape[1]} dimensions, that of another Doc "
                f"{width}"
            )
    padded = [
        values if values.shape[1] else np.zeros((len(values), width), dtype=np.float32)
        for values in found
    ]
    return np.concatenate([np.zeros((0, width), dtype=np.float32), *padded])


def fingerprint(names: Sequence[str], doc: Doc) -> int:
    """A number that tells Docs with other values apart. Vectors depend on the words alone."""
    digest = hashlib.blake2b(digest_size=8)
    for name in names:
        if name != VECTOR and len(doc):
            digest.update(read_reals(name, doc).tobytes())
    return int.from_bytes(digest.digest(), "little")


def measure_scales(reals: Mapping[str, Weights]) -> dict[str, Scale]:
    """The scales of attributes, by their values in the first batch: float32 [words, width] each.

    Raises ValueError for an attribute that no word has.
    """
    scales = {}
    for name, values in reals.items():
        squares = (values.astype(np.float64) ** 2).sum(axis=1)
        if not squares.any():
            raise ValueError(f"no word of the examples has a value of '{name}', or all are 0")
        mean = squares[squares > 0].mean()
        scales[name] = Scale(values.shape[1], float(math.sqrt(MEAN_SQUARE / mean)))
    return scales


def real_keys(templates: Sequence[Template], first: int, scales: Scales) -> RealKeys:
    """The features of real-valued templates.

    first: the number of the first template.
    """
    widths = [scales[_attribute(template)].width for template in templates]
    texts = [
        f"{template} {d}"
        for template, width in zip(templates, widths, strict=True)
        for d in range(width)
    ]
    numbers = np.repeat(np.arange(first, first + len(templates), dtype=np.int32), widths)
    return RealKeys(np.array([hash_text(text) for text in texts], dtype=np.uint64), numbers)


def real_features(
    templates: Sequence[Template], scales: Scales, reals: Mapping[str, Weights], starts: Ints
) -> Weights:
    """The values of the features of real-valued templates: float32 [words, F].

    reals: float32 [words, width], by attribute; a width of 0 where no word has a value.
    starts: int64 [sentences + 1], the first word of each sentence.
    Raises ValueError where a width is not that of the scales.
    """
    words = int(starts[-1])
    sentences = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    columns = [np.zeros((words, 0), dtype=np.float32)]
    for template in templates:
        (part,) = template.parts
        width, factor = scales[part.attribute]
        values = reals[part.attribute]
        if values.shape[1] not in (0, width):
            raise ValueError(
                f"'{part.attribute}' has {values.shape[1]} dimensions, but the model was trained "
                f"on {width}: use the vectors or the component that it was trained with"
            )
        shifted = np.zeros((words, width), dtype=np.float32)
        if values.shape[1]:
            sources = np.arange(words) + part.offset
            inside = (sources >= 0) & (sources < words)
            inside[inside] = sentences[sources[inside]] == sentences[inside]
            shifted[inside] = values[sources[inside]] * np.float32(factor)
        if not np.isfinite(shifted).all():
            raise ValueError(f"values of '{part.attribute}' are too large")
        columns.append(shifted)
    return np.ascontiguousarray(np.hstack(columns))


def _attribute(template: Template) -> str:
    return template.parts[0].attribute


def header_of(scales: Scales) -> dict[str, list[float]]:
    """The scales as a saved model has them."""
    return {name: [scale.width, scale.factor] for name, scale in scales.items()}


def read_scales(saved: Any) -> dict[str, Scale]:
    """The scales of a saved model. Raises ValueError where they are not such."""
    if not isinstance(saved, dict):
        raise ValueError("the scales are not a table")
    scales = {}
    for name, pair in saved.items():
        is_pair = isinstance(pair, list) and [type(value) for value in pair] == [int, float]
        if not is_pair or not 1 <= pair[0] <= MAX_WIDTH or not 0 < pair[1] < math.inf:
            raise ValueError(f"the scale of '{shorten(str(name))}' is not a width and a factor")
        scales[name] = Scale(*pair)
    return scales
