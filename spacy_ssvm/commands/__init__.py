"""The commands of ``python -m spacy ssvm``."""
