"""Cuts: labelings of graphs whose edges favour equal labels, as problems for the solvers."""
