"""The experiments of the papers, on corpora of the user: ``python -m spacy ssvm reproduce``."""
