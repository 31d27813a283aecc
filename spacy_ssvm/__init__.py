"""Linear structured prediction for spaCy: structural SVMs over template features."""

from spacy_ssvm.threads import set_threads as set_threads

__version__ = "0.1.0"
