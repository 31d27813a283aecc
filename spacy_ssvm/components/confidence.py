"""Common checks of components that report confidence and explain their decisions."""

from typing import Any

from spacy.tokens import Doc, Token

from spacy_ssvm.models import Model


def require_beta(name: str, model: Model[Any, Any]) -> float:
    """The model's beta. Raises ValueError, naming solvers that have one, if it has none.

    name: of the component.
    """
    if model.beta is None:
        raise ValueError(
            f"{name}: this model was trained with a margin loss and has no probabilities. "
            "Train it with a solver of finite beta, such as "
            '@misc = "spacy_ssvm.DualCoordinateAscent.v1" (a conditional random field) or '
            f'"spacy_ssvm.LBFGS.v1", in [components.{name}.solver], or use scores(doc), '
            "which are margins then"
        )
    return model.beta


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
