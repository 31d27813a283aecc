"""Quotations of file contents in messages."""

_MAX_LENGTH = 60


def shorten(text: str) -> str:
    """The text, or its beginning and "..." where it has more than 60 characters."""
    return text if len(text) <= _MAX_LENGTH else f"{text[: _MAX_LENGTH - 3]}..."
