"""The standard families of templates of arcs, pairs of arcs, and labels.

After McDonald, Crammer & Pereira 2005 (unigrams, bigrams, surrounding and in-between parts of
speech), McDonald & Pereira 2006 (siblings), Koo, Carreras & Collins 2008 (word clusters) and
Martins et al. 2011 (morphology, lemmas).
"""

_ROLES = {
    "h": "head",
    "d": "dependent",
    "s": "sibling",
    "b": "between",
    "g": "grandparent",
    "l": "leftmost",
    "r": "rightmost",
}


def _written(text: str, **attributes: str) -> str:
    """Expand a short form: h.A+d.A[1] with A = tag is head.tag+dependent.tag[1]."""
    parts = []
    for part in text.split("+"):
        role, dot, rest = part.partition(".")
        name, bracket, offset = rest.partition("[")
        name = attributes.get(name, name)
        parts.append(f"{_ROLES[role]}.{name}{bracket}{offset}" if dot else part)
    return "+".join(parts)


def _with_distance(texts: list[str]) -> list[str]:
    """Each template without and with the distance."""
    return [f"{text}{geometry}" for text in texts for geometry in ("", "+distance")]


_UNIGRAMS = [
    *("h.lower+distance", "h.tag+distance", "h.pos+distance", "h.lower+h.tag+distance"),
    *("d.lower+distance", "d.tag+distance", "d.pos+distance", "d.lower+d.tag+distance"),
]
_BIGRAMS = [
    *("h.lower+h.tag+d.lower+d.tag", "h.tag+d.lower+d.tag", "h.lower+d.lower+d.tag"),
    *("h.lower+h.tag+d.tag", "h.lower+h.tag+d.lower", "h.lower+d.lower", "h.tag+d.tag"),
    *("h.pos+d.pos", "h.pos+d.tag", "h.tag+d.pos", "h.tag+d.lower", "h.lower+d.tag"),
    *("h.pos+d.lower", "h.lower+d.pos"),
    *("h.morph+d.morph", "h.tag+d.morph", "h.morph+d.tag", "h.lower+d.morph", "h.morph+d.lower"),
    *("h.lemma+d.lemma", "h.lemma+d.pos", "h.pos+d.lemma"),
]
_WORD_FORMS = [
    *("h.suffix3+d.suffix3", "h.suffix2+d.suffix2+distance", "h.shape+d.shape"),
    *("h.suffix3+d.lower", "h.lower+d.suffix3", "h.suffix3+d.tag", "h.tag+d.suffix3"),
    *("h.tag+d.tag+d.suffix3", "h.tag+h.suffix3+d.tag"),
]
_SURROUNDING = [
    *("h.A+h.A[1]+d.A[-1]+d.A", "h.A[-1]+h.A+d.A[-1]+d.A", "h.A+h.A[1]+d.A+d.A[1]"),
    *("h.A[-1]+h.A+d.A+d.A[1]", "h.A+h.A[1]+d.A", "h.A[-1]+h.A+d.A", "h.A+d.A+d.A[1]"),
    "h.A+d.A[-1]+d.A",
]
_FARTHER = [
    *("h.pos+d.pos+d.pos[1]+d.pos[2]", "h.pos+d.pos[-2]+d.pos[-1]+d.pos"),
    *("h.pos+h.pos[1]+h.pos[2]+d.pos", "h.pos[-2]+h.pos[-1]+h.pos+d.pos"),
    *("h.pos+d.pos+d.lower[-1]", "h.pos+d.pos+d.lower[1]", "h.pos+h.lower[1]+d.pos"),
    "h.lower[-1]+h.pos+d.pos",
]
# The templates of words and tags that a group lasso keeps of those above, for English-EWT, without
# those that it then keeps least often in treebanks of three languages (``benchmarks/families.py``),
# and some of words, with which a small corpus can be learned by heart.
_SELECTED = [
    "d.lower+distance",
    *("h.lower+distance", "h.pos+distance", "h.lower+h.tag+distance"),
    *("d.tag+distance", "d.pos+distance", "h.pos+d.pos", "h.suffix3+d.tag"),
    *("h.tag+h.suffix3+d.tag", "h.tag[-1]+h.tag+d.tag[-1]+d.tag", "h.tag[-1]+h.tag+d.tag+d.tag[1]"),
    *("h.tag[-1]+h.tag+d.tag+distance", "h.pos[-1]+h.pos+d.pos+d.pos[1]"),
    *("h.pos+d.pos+d.pos[1]+d.pos[2]+distance", "h.pos+d.pos[-2]+d.pos[-1]+d.pos+distance"),
    "h.lower[-1]+h.pos+d.pos",
]
_SELECTED_WITH_DISTANCE = [
    *("h.lower+d.lower", "h.lower+h.tag+d.tag", "h.lower+d.tag", "h.lower+d.pos"),
    *("h.tag+h.tag[1]+d.tag+d.tag[1]", "h.pos[-1]+h.pos+d.pos[-1]+d.pos"),
    *("h.pos+h.pos[1]+d.pos+d.pos[1]", "h.pos+h.pos[1]+h.pos[2]+d.pos"),
    *("h.pos[-2]+h.pos[-1]+h.pos+d.pos", "h.pos+h.lower[1]+d.pos"),
]
# These fire where an earlier component annotates morphology or lemmas.
_MORPHOLOGY = ["h.morph+d.morph", "h.tag+d.morph", "h.lower+d.morph", "h.lemma+d.lemma"]
# These are used where there are word clusters, once for each set.
_CLUSTERS = [
    *("h.cluster4.*+d.cluster4.*+distance", "h.cluster6.*+d.cluster6.*+distance"),
    *("h.cluster.*+d.cluster.*", "h.cluster.*+d.lower", "h.lower+d.cluster.*"),
    *("h.cluster.*+d.tag", "h.tag+d.cluster.*"),
    *("h.cluster.*+d.pos+distance", "h.pos+d.cluster.*+distance"),
]
# These are used once for each morphological feature of the corpus.
_FEATURES = [
    *("h.morph.*+d.morph.*", "h.morph.*+d.morph.*+distance"),
    *("h.pos+d.morph.*+distance", "h.lower+d.morph.*"),
    *("h.morph.*+d.pos+distance", "h.morph.*+d.lower"),
]
_FEATURE_LABELS = [
    *("d.morph.*", "h.pos+d.morph.*+direction", "h.lower+d.morph.*", "h.tag+d.pos+d.morph.*"),
    *("h.morph.*+d.morph.*", "h.morph.*+d.pos+direction"),
]
_BETWEEN = [
    *("h.pos+b.pos+d.pos+direction", "h.tag+b.tag+d.tag+direction"),
    *("h.pos+b.lower+d.pos+direction", "h.lower+b.pos+direction", "b.pos+d.lower+direction"),
]
_SIBLINGS = [
    *("s.pos+d.pos", "s.tag+d.tag", "h.pos+s.pos+d.pos", "h.tag+s.tag+d.tag"),
    *("s.lower+d.lower", "s.lower+d.pos", "s.pos+d.lower", "s.lower+d.tag", "s.tag+d.lower"),
    *("h.lower+s.pos+d.pos", "h.pos+s.lower+d.pos", "h.pos+s.pos+d.lower"),
]
_GRANDPARENTS = [
    *("g.pos+d.pos", "g.tag+d.tag", "g.pos+h.pos+d.pos", "g.tag+h.tag+d.tag"),
    *("g.lower+d.lower", "g.lower+d.pos", "g.pos+d.lower", "g.lower+d.tag", "g.tag+d.lower"),
    *("g.pos+h.lower+d.pos", "g.lower+h.pos+d.pos", "g.pos+h.pos+d.lower"),
]
# Templates of labels that a group lasso keeps on treebanks of three languages, of these and eight
# more (``benchmarks/families.py``), and those of tags alone, whose sums are cached.
_LABELS = [
    *("d.lower", "d.tag", "d.pos", "d.morph", "d.lemma", "d.suffix3", "d.lower+d.tag"),
    *("h.lower", "h.tag", "h.pos", "h.lower+direction", "h.tag+direction", "distance"),
    *("d.lower+direction", "d.tag+direction", "h.pos+d.pos+distance"),
    *("h.tag+d.tag", "h.tag+d.tag+direction", "h.pos+d.pos+direction", "h.lower+d.lower"),
    *("h.lower+d.tag+direction", "h.tag+d.lower+direction", "h.lemma+d.pos+direction"),
    *("h.morph+d.pos+direction", "h.morph+d.tag", "h.lemma+d.lemma"),
    *("d.tag[-1]+d.tag", "d.tag+d.tag[1]", "d.tag[-1]+d.tag+d.tag[1]", "d.lower[-1]+d.pos"),
    *("h.pos+h.pos[1]+d.pos+direction", "h.pos[-1]+h.pos+d.pos+direction"),
    *("l.lower+d.pos", "l.pos+d.pos+h.pos+direction", "l.lower+h.lower", "l.lower+d.lower"),
    *("r.pos+d.pos+h.pos+direction", "r.lower+d.pos", "s.lower+d.pos", "s.tag+d.tag"),
    "g.lower+h.pos+d.pos",
]
_CLUSTER_LABELS = [
    *("d.cluster4.*", "d.cluster6.*", "d.cluster.*", "h.cluster.*"),
    *("h.cluster6.*+d.cluster.*", "h.cluster.*+d.cluster6.*", "l.cluster.*+d.pos"),
    *("h.cluster.*+d.tag+direction", "h.tag+d.cluster.*+direction"),
]


def _martins() -> list[str]:
    """684 templates of words, shapes, lemmas, parts of speech and their contexts.

    The paper names these ingredients and the count, not the conjunctions: here 18 forms of
    the head, times 18 of the dependent or none, times direction or distance.
    """
    words = ["{0}.lower", "{0}.shape", "{0}.lemma", "{0}.pos"]
    words += ["{0}.lower+{0}.pos", "{0}.lemma+{0}.pos"]
    forms = [word + context for word in words for context in ("", "+{0}.pos[-1]", "+{0}.pos[1]")]
    return [
        "+".join(filter(None, (head.format("h"), dependent.format("d"), geometry)))
        for head in forms
        for dependent in ("", *forms)
        for geometry in ("direction", "distance")
    ]


#: Families by name.
ARC_FAMILIES: dict[str, tuple[str, ...]] = {
    "parser": (
        *map(_written, _SELECTED),
        *map(_written, _with_distance(_SELECTED_WITH_DISTANCE)),
        *map(_written, _with_distance(_MORPHOLOGY)),
        *map(_written, _CLUSTERS),
        *map(_written, _BETWEEN),
        *(_written(f"{text}+direction") for text in _SIBLINGS),
    ),
    "parser114": (
        *map(_written, _UNIGRAMS),
        *map(_written, _with_distance(_BIGRAMS)),
        *map(_written, _WORD_FORMS),
        *(
            _written(text, A=attribute)
            for attribute in ("tag", "pos")
            for text in _with_distance(_SURROUNDING)
        ),
        *map(_written, _with_distance(_FARTHER)),
        *map(_written, _BETWEEN),
        *(_written(f"{text}+direction") for text in _SIBLINGS),
    ),
    "morphology": tuple(map(_written, _FEATURES)),
    "grandparents": tuple(_written(f"{text}+direction") for text in _GRANDPARENTS),
    "parser684": tuple(map(_written, _martins())),
    "pruner": tuple(
        map(
            _written,
            (
                *("h.tag+d.tag+distance", "h.pos+d.pos+distance", "h.lower+distance"),
                *("d.lower+distance", "h.lower+d.tag+direction", "h.tag+d.lower+direction"),
                *("h.tag[-1]+h.tag+d.tag+direction", "h.tag+h.tag[1]+d.tag+direction"),
                *("h.tag+d.tag[-1]+d.tag+direction", "h.tag+d.tag+d.tag[1]+direction"),
                *("h.pos+d.pos+d.pos[1]+distance", "h.pos+d.pos[-1]+d.pos+distance"),
                "h.pos+h.pos[1]+d.pos[-1]+d.pos+direction",
                "h.pos[-1]+h.pos+d.pos+d.pos[1]+direction",
                "h.pos+b.pos+d.pos+direction",
            ),
        )
    ),
    "labels": tuple(map(_written, [*_LABELS, *_CLUSTER_LABELS])),
    "label_morphology": tuple(map(_written, _FEATURE_LABELS)),
}
