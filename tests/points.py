"""What the tests of points share."""

from spacy_ssvm.lab.search import Point

POINTS = [
    Point("all", None, ["a[0]", "b[0]", "<c>[0]"], 3000, 0.95, 0.0, 0.0, 4.0, 1e5, []),
    Point("lasso", 2, ["a[0]", "b[0]"], 500, 0.949, 2.0, 9.0, 3.0, 2e5, [(1000, 90), (2000, 60)]),
    Point("lasso", 1, ["b[0]"], 100, 0.90, 1.0, 9.0, 2.0, 3e5, [(1000, 40), (2000, 20)]),
]
