"""Symmetrization of alignments, by hand."""

import numpy as np
import pytest

from spacy_ssvm.align.bitext.symmetrization import grow_diag, grow_diag_final_and, intersect

pytestmark = pytest.mark.uncompiled


def alignment(*rows):
    return np.array([[mark == "x" for mark in row] for row in rows])


def test_the_intersection_has_the_links_of_both():
    found = intersect(alignment("xx.", "..x"), alignment(".x.", "x.x"))
    assert found.tolist() == alignment(".x.", "..x").tolist()


def test_links_grow_next_to_others_while_a_word_has_none():
    forward = alignment("x....", ".x...", "..x..", "....x", "x....")
    backward = alignment("x....", ".....", ".....", ".....", ".....")
    # (1, 1) and (2, 2) grow diagonally; (4, 0) and (3, 4) touch nothing.
    assert (
        grow_diag(forward, backward).tolist()
        == alignment("x....", ".x...", "..x..", ".....", ".....").tolist()
    )


def test_a_linked_word_can_get_a_second_link():
    forward = alignment("xx.", "...", "..x")
    backward = alignment("x..", "x..", "..x")
    assert grow_diag(forward, backward).tolist() == alignment("xx.", "x..", "..x").tolist()


def test_a_link_of_two_linked_words_does_not_grow():
    forward = alignment("xx", ".x")
    backward = alignment("x.", "xx")
    assert grow_diag(forward, backward).tolist() == alignment("x.", ".x").tolist()


@pytest.mark.parametrize("swapped", [False, True])
def test_growth_reaches_links_before_those_it_came_from(swapped):
    forward = alignment("..x", ".x.", "x..")
    backward = alignment("...", "...", "x..")
    if swapped:
        forward, backward = backward, forward
    expected = alignment("..x", ".x.", "x..")
    assert grow_diag(forward, backward).tolist() == expected.tolist()


def test_final_adds_links_of_two_words_without_any_forward_first():
    forward = alignment("x...", "...x", "....", "....")
    backward = alignment("x...", "..x.", "..x.", "x...")
    # (1, 3) comes before (1, 2), which then shares a word with it; (3, 0) shares one with (0, 0).
    expected = alignment("x...", "...x", "..x.", "....")
    assert grow_diag_final_and(forward, backward).tolist() == expected.tolist()
