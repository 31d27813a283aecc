"""Fixtures that several files of tests share."""

import pytest
import spacy


@pytest.fixture
def nlp():
    return spacy.blank("en")
