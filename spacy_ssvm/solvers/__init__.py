"""Solvers: from a problem and its oracles to weights. None knows a structure or spaCy."""
