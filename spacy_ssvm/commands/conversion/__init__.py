"""Annotated files of other tools to Docs: what ``python -m spacy ssvm convert`` reads."""
