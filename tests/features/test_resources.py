"""Tests of ``spacy_ssvm/features/resources.py``."""

import naive
import pytest
from feature_strategies import column
from spacy.tokens import Doc

from spacy_ssvm.features.attributes import (
    AttributeReader,
)
from spacy_ssvm.features.clusters import read_clusters
from spacy_ssvm.features.resources import Resources

pytestmark = pytest.mark.uncompiled


def test_clusters_are_attributes(nlp, tmp_path):
    path = tmp_path / "paths"
    path.write_text("001100\tcat\n001111\tdog\n001111\tmat\n", encoding="utf8")
    reader = AttributeReader(["cluster4", "cluster6"], Resources({"": read_clusters(path)}))
    doc = Doc(nlp.vocab, words=["cat", "Dog", "mat", "bird"])
    table = reader.read([doc])
    four, six = column(table, reader, "cluster4"), column(table, reader, "cluster6")
    assert naive.same_classes(four, ["0011", "0011", "0011", None])
    assert naive.same_classes(six, ["001100", "001111", "001111", None])
    assert four[3] == six[3] == 0
    assert [reader.text_value("cluster6", doc, i) for i in (1, 3)] == ["001111", None]
