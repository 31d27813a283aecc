"""The four ways to index a batch of Docs.

    tokens          all tokens of the Docs, one Doc after another, with whitespace
    words           the tokens that are not whitespace, in the same order
    nodes           for each sentence its root, its words, and its end: see ``trees/layout.py``
    piece nodes     the same for pieces of sentences, which the parser cuts at its max_length

``TokenTable.positions`` maps words to tokens, ``Nodes.words`` maps words to nodes. The types
below are int64 arrays with an entry for each of these. Signatures use them where arrays of
different kinds meet, so that type checkers tell them apart; kernels take any of them.
"""

from typing import NewType

from spacy_ssvm.kernels.types import Ints

ByToken = NewType("ByToken", Ints)
ByWord = NewType("ByWord", Ints)
ByNode = NewType("ByNode", Ints)
ByPieceNode = NewType("ByPieceNode", Ints)
