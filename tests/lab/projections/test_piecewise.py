"""Tests of ``spacy_ssvm/lab/projections/piecewise.py``."""

import pytest

from spacy_ssvm.lab.projections.piecewise import next_point

pytestmark = pytest.mark.uncompiled


def test_the_next_point_is_newtons_inside_the_interval():
    assert next_point(0.0, 4.0, 3.0, 2.0, 1.0) == 1.0
    assert next_point(0.0, 4.0, 3.0, -0.5, -1.0) == 2.5


@pytest.mark.parametrize(("value", "slope"), [(3.0, 1.0), (9.0, 1.0), (-5.0, 1.0), (1.0, 0.0)])
def test_the_next_point_is_the_middle_where_newtons_is_outside(value, slope):
    assert next_point(0.0, 4.0, 3.0, value, slope) == 2.0
