"""Solvers: from a problem and a decoder to weights. None knows a structure or spaCy."""
