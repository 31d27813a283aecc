"""The storage of weights: hash tables, rows of features, lazy and compact weights."""
