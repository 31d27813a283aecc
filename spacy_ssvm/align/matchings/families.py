"""The standard families of templates of links.

After the features of Taskar, Lacoste-Julien & Klein 2005 and Moore 2005: association, spelling,
relative position, neighbours; and the words themselves, which need links annotated by hand.
"""

_ASSOCIATION = [
    *("dice", "hmm", "hmm_back"),
    *("bin.dice", "bin.hmm+bin.hmm_back"),
    *("rank.hmm+rank.hmm_back", "rank.hmm+rank.hmm_back+bin.hmm"),
]

_SPELLING = [
    "bin.string_similarity",
    *("same.orth", "same.lower", "same.punctuation"),
    *("same.lower[-1]", "same.lower[1]"),
    "source.shape+target.shape",
]

_POSITION = [
    *("distance", "position"),
    *("source.lower+position", "target.lower+position"),
]

_WORDS = [
    *("source.lower+target.lower", "source.prefix4+target.prefix4"),
    *("source.lower", "target.lower"),
    *("source.suffix3+target.suffix3", "source.suffix2+target.suffix2"),
    "source.length_class+target.length_class",
    *("source.lower[-1]+target.lower[-1]", "source.lower[1]+target.lower[1]"),
]

#: Families by name.
FAMILIES: dict[str, tuple[str, ...]] = {
    "association": tuple(_ASSOCIATION),
    "spelling": tuple(_SPELLING),
    "positions": tuple(_POSITION),
    "words": tuple(_WORDS),
}
FAMILIES["aligner"] = tuple(text for family in FAMILIES.values() for text in family)
