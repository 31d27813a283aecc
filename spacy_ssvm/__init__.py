"""Linear structured prediction for spaCy: structural SVMs over template features."""

__version__ = "0.1.0"
