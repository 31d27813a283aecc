"""What the tests of reports of reproductions share."""

from benchmarks.papers.exhibits import (
    FAILS,
    HOLDS,
    UNCLEAR,
    Claim,
    Exhibit,
    Plot,
    Table,
)

EXHIBITS = [
    Exhibit(
        "CY13, Table 1",
        "With <gold> tags.",
        [
            Claim("It is best", "tags: a", "90.0", HOLDS),
            Claim("It is best", "tags: b", "80.0", FAILS),
            Claim("It is fastest", "tags: b", "3 s", UNCLEAR),
        ],
        [Table("Scores", ("task", "dcd"), [("tags: a", "90.00 ± 0.10")])],
        [Plot("tags: a", ("seconds", "score"), {"dcd": [(1, 80.0), (2, 90.0)], "cpd": []})],
    ),
    Exhibit("TLJ05, Figure 2", "Links.", [], [], [Plot("links", ("x", "y"), {"a": [(1, 2.0)]})]),
]
