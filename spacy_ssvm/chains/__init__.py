"""Chains: label sequences over sentences, as problems for the solvers."""
