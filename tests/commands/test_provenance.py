"""When, and by which versions, a page was made."""

from datetime import date

import spacy

import spacy_ssvm
from spacy_ssvm.commands.provenance import made


def test_what_a_page_says_of_itself() -> None:
    text = made()
    assert text.startswith(f"{date.today():%Y-%m-%d} with ")
    assert f"spacy-ssvm {spacy_ssvm.__version__}, spacy {spacy.__version__}, numba " in text
