"""What the tests of refusals share."""

from collections.abc import Callable
from typing import Any

import pytest
from corpora import tagging_examples
from pipelines import TAGGER
from spacy.language import Language
from thinc.config import ConfigValidationError

NAME = TAGGER.name


def refusal(action: Callable[[], Any], kind: type[Exception] = ValueError) -> str:
    """The message of the error that an action raises."""
    with pytest.raises(kind) as caught:
        action()
    return str(caught.value)


def refused_config(**config: Any) -> str:
    return refusal(lambda: TAGGER.pipeline(**config), ConfigValidationError)


def initialize(nlp: Language) -> None:
    nlp.initialize(lambda: tagging_examples(nlp.vocab))
