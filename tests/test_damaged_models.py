"""What is read from a damaged or forged file is refused, or does no harm."""

import json
from collections import Counter

from conftest import ScriptRunner, compiled_only

RUN = "import sys; from model_fuzz import run; run(int(sys.argv[1]), int(sys.argv[2]))"
CASES, BATCH = 2000, 500


@compiled_only
def test_no_damage_crashes_hangs_or_changes_what_is_annotated(run_script: ScriptRunner) -> None:
    counts: Counter[str] = Counter()
    for first in range(0, CASES, BATCH):
        counts += Counter(json.loads(run_script(RUN, first, first + BATCH)))
    assert counts.total() == CASES
    assert counts["refused"] > 0.8 * CASES
    assert counts["same"] > 0
    assert counts["other"] > 0, "forged weights are weights: they are used"
