"""Solvers: from a problem and its oracle to weights. None knows a structure or spaCy."""
