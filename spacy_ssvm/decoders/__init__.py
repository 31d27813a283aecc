"""Decoders: from score tables to structures. They know no features and no spaCy."""
