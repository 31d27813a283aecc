"""Lattices: labels made of parts, chosen among candidates, as problems for the solvers."""
