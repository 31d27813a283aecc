"""Confidence and explanations of the components whose model labels the tokens of a sequence."""

import numpy as np
from spacy.tokens import Doc, Token

from spacy_ssvm._jit import Floats
from spacy_ssvm.chains.explanation import explain_label
from spacy_ssvm.chains.probabilities import label_probabilities
from spacy_ssvm.components.linear_pipe import LinearPipe
from spacy_ssvm.explanation import Explanation
from spacy_ssvm.features.attributes import scatter_to_tokens


class TokenPipe(LinearPipe):
    """A component whose model gives one label to each token, be it a tag or part of a span."""

    def scores(self, doc: Doc) -> Floats:
        """The confidence in the best label of each token: float64 [tokens].

        The labels are those of the model: for spans, the labels of the scheme.

        If the model has probabilities (see ``marginals``), the score is the probability of the
        best label. Otherwise it is the margin between the best label sequence and the best one
        with another label at this token, in units of the model's scores: comparable within a
        model, not calibrated, infinite where no other label is possible. Whitespace has 0.
        Annotation that the Doc already has is ignored; a sentence always starts at its first
        token.
        """
        self._require_trainable()
        self._sync()
        given = self.given_labels([doc], overwrite=True)
        labels, tokens = self.model.predict([doc], *given)
        if self.model.beta is not None:
            found = label_probabilities(self.model, tokens, self.model.beta, *given)
            return scatter_to_tokens(found[np.arange(len(labels)), labels], tokens, fill=0.0)
        sentences = np.arange(len(tokens.sentence_starts) - 1)
        return scatter_to_tokens(
            self.model.margins(tokens, labels, sentences, *given), tokens, fill=0.0
        )

    def explain(self, doc: Doc, token: int | Token, *, top: int | None = None) -> Explanation:
        """Explain why a token gets its label and not the runner-up.

        token: the token, or its index in the Doc; negative indices count from the end.
        top: how many features to show, the others added up in one row; None for all.
        Raises IndexError or ValueError for a token that is not in the Doc, and ValueError for
        whitespace, which has no label, and where only one label is possible.
        """
        self._require_trainable()
        self._sync()
        i = token_index(doc, token)
        return explain_label(self.model, doc, i, *self.given_labels([doc], overwrite=True), top=top)


def token_index(doc: Doc, token: int | Token) -> int:
    """The index of a token in its Doc, at least 0.

    Raises IndexError for an index out of range, ValueError for a token of another Doc.
    """
    if isinstance(token, Token):
        if token.doc is not doc:
            raise ValueError(f"the token '{token.text}' belongs to another Doc")
        return token.i
    if not -len(doc) <= token < len(doc):
        raise IndexError(f"there is no token {token}: the Doc has {len(doc)} tokens")
    return int(token) % len(doc)
