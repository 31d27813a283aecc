"""Trees: the heads of the words of sentences, as problems for the solvers."""
