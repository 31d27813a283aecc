"""What the components share that give a label to each token: confidence and reasons."""

import numpy as np
from spacy.tokens import Doc, Token

from spacy_ssvm._jit import Floats
from spacy_ssvm.components.linear_pipe import LinearPipe
from spacy_ssvm.explanation import Explanation, explain_label
from spacy_ssvm.model import in_place
from spacy_ssvm.probabilities import label_probabilities


class TokenPipe(LinearPipe):
    """Labels tokens, and says how sure it is of each label, and why."""

    def scores(self, doc: Doc) -> Floats:
        """How sure the model is of the best label of each token: float64 [tokens].

        The probability of that label, where the model's loss knows probabilities (see
        ``marginals``). Else the margin between the best label sequence and the best one with
        another label at this token, in units of the model's scores: comparable within a
        model, not calibrated, infinite where there is but one label. 0 for whitespace. What
        the Doc has been given already is not taken into account.
        """
        self._require_trainable()
        self._sync()
        labels, tokens = self.model.predict([doc])
        if self.model.beta is not None:
            found = label_probabilities(self.model, tokens, self.model.beta)
            return in_place(found[np.arange(len(labels)), labels], tokens, fill=0.0)
        sentences = np.arange(len(tokens.sentence_starts) - 1)
        return in_place(self.model.margins(tokens, labels, sentences), tokens, fill=0.0)

    def explain(self, doc: Doc, token: int | Token) -> Explanation:
        """Why a token gets its label, and not the next best: a table that adds up.

        token: the token, or its index in the Doc.
        """
        self._require_trainable()
        self._sync()
        i = token.i if isinstance(token, Token) else range(len(doc))[token]
        return explain_label(self.model, doc, i)
