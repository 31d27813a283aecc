"""The experiments of the papers, on corpora of the user: ``python -m benchmarks.papers``."""
