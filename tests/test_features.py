"""From Docs to feature rows: templates, keys, rows, cluster files and the reader of Docs."""

import gzip
import sys
from itertools import pairwise

import naive
import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from marks import PLAIN
from spacy.attrs import IDS
from spacy.tokens import Doc, Token

from spacy_ssvm.chains.training import split_rows
from spacy_ssvm.features import attributes as reading
from spacy_ssvm.features.attributes import (
    ATTRIBUTES,
    SPACES,
    TYPE_ATTRIBUTES,
    AttributeReader,
    is_attribute,
)
from spacy_ssvm.features.clusters import read_clusters
from spacy_ssvm.features.extraction import compile_templates, extract_keys
from spacy_ssvm.features.resources import Resources
from spacy_ssvm.features.templates import PRESETS, Part, Template, TemplateError, parse_templates
from spacy_ssvm.weights.feature_index import FeatureIndex, find_rows
from spacy_ssvm.weights.hash_table import (
    empty_slots,
    find_payloads,
    grow_slots,
    insert_all,
    rehash_in_place,
)

pytestmark = pytest.mark.uncompiled

checked = settings(deadline=None, max_examples=20 if PLAIN else 100)


# --- Templates --------------------------------------------------------------------------


def parse(*items):
    return parse_templates(items, is_attribute=is_attribute, attributes=ATTRIBUTES)


def texts(*items):
    return [str(template) for template in parse(*items)]


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("lower[0]", "lower[0]"),
        ("lower[0]+lower[-1]", "lower[-1]+lower[0]"),
        (" lower[1] +  suffix2[0]+ case[1]", "suffix2[0]+case[1]+lower[1]"),
        ("tag[-2]", "tag[-2]"),
        ("_.is_bold[0]+shape[0]", "_.is_bold[0]+shape[0]"),
        ("lower[0]+lower[0]", "lower[0]"),
        ("lower[-16]+lower[16]", "lower[-16]+lower[16]"),
        ("gazetteer.WORK OF ART[0]+shape[0]", "gazetteer.WORK OF ART[0]+shape[0]"),
        ("gazetteer.creative-work[1]", "gazetteer.creative-work[1]"),
    ],
)
def test_templates_are_printed_in_one_order(written, printed):
    assert texts(written) == [printed]
    assert Template.parse(printed) == Template.parse(written)
    assert str(Template.parse(printed)) == printed


part_texts = st.builds(
    "{}[{}]".format, st.sampled_from(["lower", "shape", "tag", "_.bold"]), st.integers(-3, 3)
)


@checked
@given(st.lists(part_texts, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_the_order_of_parts_does_not_matter(parts, random):
    template = Template.parse("+".join(parts))
    random.shuffle(parts)
    assert Template.parse("+".join(parts)) == template
    assert Template.parse(str(template)) == template
    assert {str(part) for part in template.parts} == set(parts)
    offsets = [part.offset for part in template.parts]
    assert offsets == sorted(offsets)


def test_ngrams_are_written_out():
    runs = ["lower[-1]", "lower[0]", "lower[1]", "lower[-1]+lower[0]", "lower[0]+lower[1]"]
    assert texts("ngrams(lower, 2, 1)") == runs
    assert texts("ngrams( _.bold,1 , 0 )") == ["_.bold[0]"]
    assert texts("ngrams(gazetteer.WORK OF ART, 1, 0)") == ["gazetteer.WORK OF ART[0]"]


@pytest.mark.parametrize("window", range(5))
def test_ngrams_are_all_runs_within_the_window(window):
    for n in range(1, 2 * window + 2):
        found = [template.parts for template in parse(f"ngrams(tag, {n}, {window})")]
        assert len(found) == sum(2 * window + 2 - length for length in range(1, n + 1))
        for parts in found:
            offsets = [part.offset for part in parts]
            assert offsets == list(range(offsets[0], offsets[0] + len(parts)))
            assert len(parts) <= n
            assert -window <= offsets[0]
            assert offsets[-1] <= window


def test_templates_of_several_items_are_merged_in_order():
    items = ["lower[1]", "ngrams(lower, 1, 1)", "shape[0]+lower[0]", "lower[0]+shape[0]"]
    assert texts(*items) == ["lower[1]", "lower[-1]", "lower[0]", "lower[0]+shape[0]"]


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_are_families_of_templates_that_exist(preset):
    expanded = texts(preset)
    assert expanded == texts(*PRESETS[preset])
    assert texts(preset, preset, expanded[3]) == expanded
    assert len(expanded) > 5


@pytest.mark.parametrize(("preset", "size"), [("chunking96", 96), ("ner452", 452)])
def test_the_families_of_martins_et_al_have_as_many_templates_as_theirs(preset, size):
    assert len(parse(preset)) == size


def test_the_runs_of_the_families_share_a_token_with_the_window_of_the_paper():
    found = {template.parts for template in parse("ner452")}
    windows = {"tag": (5, 5), "lower": (3, 3), "shape": (3, 3), "case_class": (5, 5)}
    windows |= {"punctuation": (5, 5), "digit_class": (5, 5)}
    windows |= {f"{affix}{n}": (3, 3) for affix in ("prefix", "suffix") for n in (1, 2, 3)}
    expected = {
        tuple(Part(offset, attribute) for offset in range(first, last + 1))
        for attribute, (n, window) in windows.items()
        for first in range(-16, 17)
        for last in range(first, first + n)
        if first <= window and last >= -window
    }
    assert found == expected
    assert {t.parts for t in parse("chunking96")} < found


@pytest.mark.parametrize(
    "item",
    [
        "",
        "lower",
        "lower[0",
        "lower[]",
        "lower[x]",
        "lower[1.5]",
        "lower[0]lower[1]",
        "lower[0]+",
        "+lower[0]",
        "0lower[0]",
        "lower[17]",
        "lower[0]+shape[-17]",
        "taggers",
        "ngrams(lower, 2)",
        "ngrams(lower, 0, 1)",
        "ngrams(lower, 4, 1)",
        "ngrams(lower, -1, 1)",
        "ngrams(lower, 1, 17)",
        "ngrams(lower, 1, 1)+shape[0]",
    ],
)
def test_malformed_items_are_refused_by_name(item):
    with pytest.raises(TemplateError) as refusal:
        parse("lower[0]", item)
    assert f"template '{item}'" in str(refusal.value)


def test_a_malformed_item_is_told_what_is_possible():
    with pytest.raises(TemplateError) as refusal:
        parse("taggers")
    for name in ("attribute[offset]", "ngrams(attribute, n, window)", *PRESETS):
        assert name in str(refusal.value)


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ("lowre[0]", "lowre"),
        ("lower[0]+sufix2[0]", "sufix2"),
        ("ngrams(word, 2, 1)", "word"),
        ("LOWER[0]", "LOWER"),
        ("prefix6[0]", "prefix6"),
        ("flag20[0]", "flag20"),
    ],
)
def test_unknown_attributes_are_refused_and_those_that_exist_listed(item, name):
    with pytest.raises(TemplateError) as refusal:
        parse(item)
    message = str(refusal.value)
    assert f"template '{item}'" in message
    assert f"'{name}'" in message
    for attribute in (*ATTRIBUTES, "tag", "_.name"):
        assert attribute in message


def test_at_least_one_template_is_needed():
    with pytest.raises(TemplateError, match="no templates"):
        parse()


# --- Keys -------------------------------------------------------------------------------

COLUMNS = ("lower", "shape", "tag")


@st.composite
def tokens_and_templates(draw):
    """Sentences of tokens with few values, some lacking, and templates over three columns."""
    lengths = draw(st.lists(st.integers(0, 5), max_size=4))
    table = draw(arrays(np.uint64, (sum(lengths), 3), elements=st.integers(0, 2)))
    parts = st.builds("{}[{}]".format, st.sampled_from(COLUMNS), st.integers(-3, 3))
    items = st.lists(parts, min_size=1, max_size=3).map("+".join)
    return lengths, table, parse(*draw(st.lists(items, min_size=1, max_size=4)))


def keys_of(templates, table, lengths):
    keys = np.full((len(table), len(templates)), 7, dtype=np.uint64)
    starts = np.array([0, *np.cumsum(lengths)], dtype=np.int64)
    extract_keys(compile_templates(templates, COLUMNS), table, starts, keys)
    return keys


def naive_values(templates, table, lengths):
    """What each template sees at each token."""
    values = []
    first = 0
    for length in lengths:
        sentence = table[first : first + length].tolist()
        values += [
            [
                naive.template_value(
                    [(part.offset, COLUMNS.index(part.attribute)) for part in template.parts],
                    sentence,
                    t,
                )
                for template in templates
            ]
            for t in range(length)
        ]
        first += length
    return values


@checked
@given(tokens_and_templates())
def test_keys_are_equal_exactly_where_templates_see_the_same(drawn):
    lengths, table, templates = drawn
    keys = keys_of(templates, table, lengths).ravel().tolist()
    values = [
        None if value is None else (template, value)
        for row in naive_values(templates, table, lengths)
        for template, value in zip(templates, row, strict=True)
    ]
    assert naive.same_classes(keys, values)
    assert [key == 0 for key in keys] == [value is None for value in values]


@checked
@given(tokens_and_templates(), st.data())
def test_keys_do_not_depend_on_the_place_of_a_template_or_column(drawn, data):
    lengths, table, templates = drawn
    keys = keys_of(templates, table, lengths)
    order = data.draw(st.permutations(range(len(templates))))
    permuted = keys_of([templates[m] for m in order], table, lengths)
    np.testing.assert_array_equal(permuted, keys[:, order])


def test_a_place_outside_the_sentence_is_a_value_of_its_own():
    """Told apart: before, behind, one or two tokens away, and any token's value."""
    table = np.array([[5, 0, 0], [5, 0, 0], [5, 0, 0]], dtype=np.uint64)
    templates = [Template.parse(f"lower[{offset}]") for offset in (-2, 2)]
    before, behind = keys_of(templates, table, [2, 1]).T.tolist()
    two_before, one_before, alone = before
    assert len({two_before, one_before}) == 2
    assert alone == two_before  # sentences do not see each other
    one_behind, two_behind, alone = behind
    assert len({one_behind, two_behind}) == 2
    assert alone == two_behind
    assert 0 not in before + behind


def test_an_attribute_that_a_token_lacks_does_not_fire():
    table = np.array([[5, 0, 1], [0, 0, 1]], dtype=np.uint64)
    templates = parse("lower[0]", "shape[0]", "lower[0]+tag[0]", "shape[0]+tag[0]", "lower[1]")
    fires = keys_of(templates, table, [2]) != 0
    assert fires.tolist() == [
        [True, False, True, False, False],
        [False, False, False, False, True],  # behind the sentence is a value
    ]


def test_keys_are_the_same_in_every_process_and_version():
    """The features of a saved model would no longer fire if these changed."""
    table = np.array([[1, 2, 3], [4, 5, 6]], dtype=np.uint64)
    keys = keys_of(parse("lower[0]", "lower[-1]+shape[0]", "tag[2]"), table, [2])
    assert keys.tolist() == [
        [3820754015150940065, 13603187507977299947, 14124634739243754760],
        [2157412140157832489, 5801261673910621600, 14759974796336614510],
    ]


# --- Rows -------------------------------------------------------------------------------


class NaiveIndex:
    """A dictionary of keys, and how often each was met."""

    def __init__(self, min_count):
        self.min_count = min_count
        self.counts = {}
        self.rows = {}
        self.templates = []

    def insert(self, keys):
        for token in keys:
            for m, key in enumerate(token):
                if key != 0:
                    self.counts[key] = self.counts.get(key, 0) + 1
                    if self.counts[key] == self.min_count:
                        self.rows[key] = len(self.rows)
                        self.templates.append(m)


def rows_of(index, keys):
    """The rows of each token, as lists."""
    starts = np.full(len(keys) + 1, -1, dtype=np.int64)
    rows = np.full(keys.size, -1, dtype=np.int32)
    size = find_rows(index.table, keys, starts, rows)
    assert starts[-1] == size
    return [rows[a:b].tolist() for a, b in pairwise(starts)]


# Keys that meet in the table: their high halves, which decide, are nearly all alike.
# The last ones begin at the last slot and go on at the first.
crowded = st.builds(
    lambda high, low: (high << 32) + low, st.sampled_from([0, 1, 2**32 - 1]), st.integers(0, 6)
)
anywhere = st.integers(0, 2**64 - 1)


@checked
@given(st.data(), st.integers(1, 3), st.integers(1, 3))
def test_an_exact_index_gives_each_key_its_row(data, T, min_count):
    index, expected = FeatureIndex(T, min_count=min_count), NaiveIndex(min_count)
    batches = data.draw(st.lists(st.integers(0, 8).map(lambda n: (n, T)), min_size=1, max_size=4))
    for shape in batches:
        keys = data.draw(arrays(np.uint64, shape, elements=st.one_of(crowded, anywhere)))
        index.insert(keys)
        expected.insert(keys.tolist())
        assert index.number_of_rows == len(expected.rows)
        assert index.row_keys.tolist() == list(expected.rows)
        assert index.row_templates.tolist() == expected.templates
        assert rows_of(index, keys) == [
            [expected.rows[key] for key in token if key in expected.rows] for token in keys.tolist()
        ]


def test_keys_of_three_templates_get_rows_in_the_order_they_are_met():
    index = FeatureIndex(3)
    index.insert(np.array([[11, 12, 0], [11, 13, 14]], dtype=np.uint64))
    assert index.row_keys.tolist() == [11, 12, 13, 14]
    assert index.row_templates.tolist() == [0, 1, 1, 2]
    unknown = np.array([[14, 99, 0], [0, 0, 0], [13, 13, 11]], dtype=np.uint64)
    assert rows_of(index, unknown) == [[3], [], [2, 2, 0]]


def test_a_key_below_the_minimum_count_has_no_row_yet():
    index = FeatureIndex(1, min_count=3)
    keys = np.array([[5], [5], [6]], dtype=np.uint64)
    index.insert(keys)
    assert index.number_of_rows == 0
    assert rows_of(index, keys) == [[], [], []]
    index.insert(keys)
    assert rows_of(index, keys) == [[0], [0], []]
    index.insert(keys)
    assert rows_of(index, keys) == [[0], [0], [1]]


@pytest.mark.parametrize("min_count", [1, 2])
def test_an_index_grows_over_many_keys(min_count):
    random = np.random.default_rng(0)
    size = 500 if PLAIN else 20_000
    keys = np.unique(random.integers(1, 2**64, size=size, dtype=np.uint64))
    random.shuffle(keys)
    index = FeatureIndex(1, min_count=min_count)
    for _ in range(min_count):
        for batch in np.array_split(keys, 17):
            index.insert(batch[:, None].copy())
    np.testing.assert_array_equal(index.row_keys, keys)
    assert rows_of(index, keys[:, None].copy()) == [[row] for row in range(len(keys))]


def test_a_loaded_index_goes_on_from_its_rows():
    index = FeatureIndex(2, min_count=2)
    index.load(np.array([8, 3, 5], dtype=np.uint64), np.array([0, 1, 1], dtype=np.int32))
    keys = np.array([[8, 5], [9, 3]], dtype=np.uint64)
    assert index.number_of_rows == 3
    assert rows_of(index, keys) == [[0, 2], [1]]
    index.insert(keys)
    assert rows_of(index, keys) == [[0, 2], [1]]
    index.insert(keys)
    assert rows_of(index, keys) == [[0, 2], [3, 1]]
    assert index.row_keys.tolist() == [8, 3, 5, 9]
    assert index.row_templates.tolist() == [0, 1, 1, 0]


@checked
@given(st.data(), st.integers(1, 5), st.integers(3, 12))
def test_a_hashed_index_gives_each_template_its_own_slice(data, T, hash_bits):
    index = FeatureIndex(T, rows_per_template=split_rows(hash_bits, T))
    keys = data.draw(arrays(np.uint64, (6, T), elements=st.one_of(st.just(0), anywhere)))
    rows = index.number_of_rows
    assert 2**hash_bits - T < rows <= 2**hash_bits
    width = rows // T
    assert index.row_templates.tolist() == [m for m in range(T) for _ in range(width)]
    found = rows_of(index, keys)
    for token, token_rows in zip(keys.tolist(), found, strict=True):
        templates = [m for m, key in enumerate(token) if key != 0]
        assert [row // width for row in token_rows] == templates
    index.insert(keys)
    assert index.number_of_rows == rows
    assert rows_of(index, keys) == found


@given(st.data(), st.sampled_from([8, 62]))
def test_keys_are_found_after_others_are_taken_out_and_where_slots_grow(data, bits):
    """With keys of few bits, all start at the first slot; the highest ones go round the end."""
    low = 1 if data.draw(st.booleans()) else 2**64 - 2**bits
    keys = data.draw(st.lists(st.integers(low, low + 2**bits - 1), min_size=1, unique=True))
    stay = {key for key in keys if data.draw(st.booleans())}
    slots = empty_slots(len(keys))
    payloads = np.arange(1, len(keys) + 1, dtype=np.uint64)
    insert_all(slots, np.array(keys, dtype=np.uint64), payloads)
    for slot in slots:
        if int(slot[0]) not in stay:
            slot[:] = 0
    expected = [number if key in stay else -1 for number, key in enumerate(keys, start=1)]
    found = np.empty(len(keys), dtype=np.int64)
    for change in (rehash_in_place, lambda slots: grow_slots(slots, 2 * len(keys) + 9)):
        change(slots)
        find_payloads(slots, np.array(keys, dtype=np.uint64), found)
        assert found.tolist() == expected
        assert not slots[slots[:, 0] == 0].any()
        assert np.count_nonzero(slots[:, 0]) == len(stay)


def test_a_hashed_index_uses_its_rows_evenly():
    keys = np.random.default_rng(0).integers(1, 2**64, size=(4000, 2), dtype=np.uint64)
    index = FeatureIndex(2, rows_per_template=8)
    counts = np.bincount(np.concatenate(rows_of(index, keys)), minlength=16)
    assert counts.min() > 400
    assert counts.max() < 600


# --- Cluster files ----------------------------------------------------------------------

CLUSTERS = "0010\tthe\t120\n001111\tThe\n\n1\tcat\t3\r\n0101010101010101010101010\tstraße\n"


@pytest.mark.parametrize("name", ["paths", "paths.txt", "paths.gz", "paths.txt.gz"])
def test_cluster_files_are_read_plain_or_compressed(tmp_path, name):
    path = tmp_path / name
    text = CLUSTERS.encode("utf8")
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    for clusters in (read_clusters(path), read_clusters(str(path))):
        assert clusters.prefix("the", 4) == "0010"
        assert clusters.prefix("the", 2) == "00"
        assert clusters.prefix("cat", 20) == "1"
        assert clusters.prefix("straße", 10) == "0101010101"
        assert clusters.prefix("dog", 4) is None


def test_a_word_is_looked_up_as_written_and_then_in_lower_case(tmp_path):
    path = tmp_path / "paths"
    path.write_text(CLUSTERS, encoding="utf8")
    clusters = read_clusters(path)
    assert clusters.prefix("The", 6) == "001111"
    assert clusters.prefix("THE", 6) == "0010"
    assert clusters.prefix("Cat", 6) == "1"
    assert clusters.prefix("STRASSE", 6) is None


@pytest.mark.parametrize(
    "line",
    ["0101", "0101 word", "0121\tword", "\tword", "0101\t", "word\t0101", "x", "1" * 64 + "\tword"],
)
def test_a_malformed_line_is_refused_by_file_and_number(tmp_path, line):
    path = tmp_path / "paths"
    path.write_text(f"0\ta\n\n{line}\n1\tb\n", encoding="utf8")
    with pytest.raises(ValueError, match=r"paths, line 3: ") as refusal:
        read_clusters(path)
    assert str(path) in str(refusal.value)


def test_the_longest_bit_string_is_kept_whole(tmp_path):
    path = tmp_path / "paths"
    bits = "0" * 62 + "1"
    path.write_text(f"{bits}\tword\n", encoding="utf8")
    assert read_clusters(path).prefix("word", 99) == bits


def test_a_cluster_file_has_words(tmp_path):
    path = tmp_path / "paths"
    path.write_text("\n\n", encoding="utf8")
    with pytest.raises(ValueError, match="no words") as refusal:
        read_clusters(path)
    assert str(path) in str(refusal.value)


# --- Attributes of word types -----------------------------------------------------------


@pytest.fixture
def nlp():
    return spacy.blank("en")


def column(table, reader, name):
    return table.attributes[:, reader.names.index(name)].tolist()


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("orth", {"Haus": "Haus", "haus": "haus"}),
        ("lower", {"Haus": "haus", "HAUS": "haus", "ÄÖ": "äö"}),
        ("prefix1", {"Haus": "h", "a": "a"}),
        ("prefix3", {"Haus": "hau", "HAU": "hau", "ab": None}),
        ("prefix5", {"Haus": None, "Hauses": "hause"}),
        ("suffix1", {"Haus": "s", "a": "a"}),
        ("suffix3", {"Haus": "aus", "AUS": "aus", "ab": None}),
        ("shape_full", {"McDonald-90s": "XxXxxxxx-ddx", "?!": "?!"}),
        ("shape", {"McDonald-90s": "XxXx-dx", "Ab1": "Xxd", "Abcd11": "Xxd", "...": "."}),
        ("case", {"ab": "lower", "AB": "upper", "Ab": "title", "aB": "mixed", "12": None}),
        ("case", {"كتاب": "uncased", "ספר": "uncased", "東京": "uncased", "東京2": "uncased"}),
        ("case", {"ال-USA": "upper", "東京a": "lower", "東京aB": "mixed", "...": None}),
        ("case", {"\u01c5": "title", "\u2163": "upper", "\u2172\u2163": "mixed", "\u00bd": None}),
        ("digits", {"12": "all", "1a": "some", "ab": None}),
        ("case_class", {"Anna": "title", "12": "none", "كتاب": "uncased"}),
        ("digit_class", {"12": "all", "1a": "some", "ab": "none"}),
        ("hyphen", {"a-b": "yes", "-a": None, "-": None, "ab": None}),
        ("punctuation", {"?!": "yes", "a.": "no", "1": "no"}),
        (
            "length_class",
            {"a": "1", "abcd": "4", "abcde": "5-6", "abcdefg": "7-9", "x" * 10: "10+"},
        ),
        ("like_num", {"12": "True", "ab": None}),
        ("space_before", {"first": None, "second": "space", "third": "space"}),
    ],
)
def test_the_attributes_of_words(nlp, name, values):
    """As text; and as numbers, which agree exactly where the texts do, and are 0 for none."""
    doc = Doc(nlp.vocab, words=list(values))
    reader = AttributeReader([name])
    expected = list(values.values())
    assert [reader.text_value(name, doc, i) for i in range(len(doc))] == expected
    numbers = column(reader.read([doc]), reader, name)
    assert naive.same_classes(numbers, expected)
    assert [number == 0 for number in numbers] == [value is None for value in expected]


LETTERS = "aZ\u00e9\u00c9\u0130\u01c5\u00aa\u2163\u24d0\u0645\u05d0\u6771\u3042\u0e01"
OTHERS = "19\u0663\u00b2\u00bd\u4e09.-\u3002\u0651 "
CODE_POINTS = [*range(0x3000), *range(0x3000, sys.maxunicode, 37)]


@pytest.mark.parametrize("name", ["case_class", "digit_class", "punctuation", "shape_full"])
def test_attributes_of_single_characters_follow_the_unicode_database(name):
    characters = map(chr, CODE_POINTS)
    naive_value = naive.TYPE_ATTRIBUTES[name]
    assert not [c for c in characters if TYPE_ATTRIBUTES[name](c) != naive_value(c)]


@given(text=st.text(st.sampled_from(LETTERS + OTHERS), max_size=6))
def test_attributes_of_words_follow_the_unicode_database(text):
    for name, naive_value in naive.TYPE_ATTRIBUTES.items():
        assert TYPE_ATTRIBUTES[name](text) == naive_value(text)


def test_all_attributes_that_templates_may_use_can_be_read(nlp):
    doc = Doc(nlp.vocab, words=["Hello", "10", "x"])
    names = {name.lower() for name in IDS if is_attribute(name.lower())} | set(ATTRIBUTES)
    assert {"tag", "pos", "lemma", "ent_type", "like_num", "dep", "cluster4"} <= names
    reader = AttributeReader(names)
    assert set(reader.names) == names
    assert reader.read([doc]).attributes.shape == (3, len(names))
    assert not is_attribute("")
    assert not is_attribute("Lower")


def test_clusters_are_attributes(nlp, tmp_path):
    path = tmp_path / "paths"
    path.write_text("001100\tcat\n001111\tdog\n001111\tmat\n", encoding="utf8")
    reader = AttributeReader(["cluster4", "cluster6"], Resources(clusters=read_clusters(path)))
    doc = Doc(nlp.vocab, words=["cat", "Dog", "mat", "bird"])
    table = reader.read([doc])
    four, six = column(table, reader, "cluster4"), column(table, reader, "cluster6")
    assert naive.same_classes(four, ["0011", "0011", "0011", None])
    assert naive.same_classes(six, ["001100", "001111", "001111", None])
    assert four[3] == six[3] == 0
    assert [reader.text_value("cluster6", doc, i) for i in (1, 3)] == ["001111", None]


def test_without_a_cluster_file_no_word_has_a_cluster(nlp):
    reader = AttributeReader(["cluster4"])
    assert reader.read([Doc(nlp.vocab, words=["cat"])]).attributes.tolist() == [[0]]


# --- Annotations and extensions ---------------------------------------------------------


def test_annotations_are_read_from_the_doc(nlp):
    words = ["cats", " ", "cat", "dogs"]
    doc = Doc(
        nlp.vocab, words=words, tags=["NNS", "_SP", "NN", "NNS"], lemmas=["cat", "", "cat", ""]
    )
    reader = AttributeReader(["tag", "lower", "lemma"])
    table = reader.read([doc])
    assert naive.same_classes(column(table, reader, "tag"), ["NNS", "NN", "NNS"])
    lemmas = column(table, reader, "lemma")
    assert lemmas[0] == lemmas[1] != 0
    assert lemmas[2] == 0
    assert column(table, reader, "tag")[0] == nlp.vocab.strings["NNS"]
    assert reader.text_value("tag", doc, 0) == "NNS"
    assert reader.text_value("lemma", doc, 3) is None


def test_annotations_are_not_remembered_with_the_word(nlp):
    reader = AttributeReader(["tag", "lower"])
    doc = Doc(nlp.vocab, words=["can", "can"], tags=["MD", "NN"])
    first = column(reader.read([doc]), reader, "tag")
    doc[0].tag_ = "NN"
    second = column(reader.read([doc]), reader, "tag")
    assert first[0] != first[1] == second[0] == second[1]


@pytest.fixture
def bold():
    Token.set_extension("is_bold_in_test", default=None)
    yield "_.is_bold_in_test"
    Token.remove_extension("is_bold_in_test")


def test_extensions_are_read_by_their_value(nlp, bold):
    doc = Doc(nlp.vocab, words=["a", "b", " ", "c", "d", "e"])
    values = [True, False, "in between", True, None, 3]
    for token, value in zip(doc, values, strict=True):
        token._.is_bold_in_test = value
    reader = AttributeReader(["lower", bold, "tag"])
    found = column(reader.read([doc]), reader, bold)
    assert naive.same_classes(found, [value for i, value in enumerate(values) if i != 2])
    assert [value == 0 for value in found] == [False, False, False, True, False]
    assert reader.text_value(bold, doc, 0) == "True"
    assert reader.text_value(bold, doc, 4) is None


def test_an_unknown_extension_is_an_error_that_says_what_to_do(nlp):
    reader = AttributeReader(["_.nobody_registered_this"])
    with pytest.raises(ValueError, match=r"_\.nobody_registered_this.*\s.*set_extension"):
        reader.read([Doc(nlp.vocab, words=["a"])])


# --- Docs, sentences and whitespace -----------------------------------------------------

VOCAB = spacy.blank("en").vocab
words = st.sampled_from(["the", "The", "cat", "10", "?", " ", "\n\n"])
starts = st.sampled_from([True, False, None])


@st.composite
def drawn_docs(draw):
    """A few Docs, some without tokens, with sentence starts anywhere or nowhere."""
    found = []
    for _ in range(draw(st.integers(1, 4))):
        tokens = draw(
            st.lists(
                st.tuples(words, starts, st.sampled_from(["A", "B", ""]), st.booleans()),
                max_size=6,
            )
        )
        doc = Doc(
            VOCAB,
            words=[word for word, _, _, _ in tokens],
            spaces=[space for _, _, _, space in tokens],
            tags=[tag for _, _, tag, _ in tokens],
        )
        for token, (_, start, _, _) in zip(doc, tokens, strict=True):
            token.is_sent_start = start
        found.append(doc)
    return found


def check_table(table, docs):
    """The sentences and places of a table, against the Docs themselves."""
    doc_starts = [0, *np.cumsum([len(doc) for doc in docs]).tolist()]
    assert table.doc_starts.tolist() == doc_starts
    sentences = [
        [doc_starts[d] + i for i in sentence]
        for d, doc in enumerate(docs)
        for sentence in naive.sentences(doc)
    ]
    bounds = table.sentence_starts.tolist()
    assert bounds == [0, *np.cumsum([len(sentence) for sentence in sentences]).tolist()]
    assert table.positions.tolist() == [place for sentence in sentences for place in sentence]
    numbers = [len(naive.sentences(doc)) for doc in docs]
    assert table.doc_sentences.tolist() == [0, *np.cumsum(numbers).tolist()]
    assert len(table.attributes) == bounds[-1]


@checked
@given(drawn_docs())
def test_sentences_are_the_words_between_starts(docs):
    reader = AttributeReader(["lower", "tag", "suffix2"])
    table = reader.read(docs)
    check_table(table, docs)
    tokens = [token for doc in docs for token in doc if not token.text.isspace()]
    for name, values in (
        ("lower", [token.text.lower() for token in tokens]),
        ("tag", [token.tag_ or None for token in tokens]),
        ("suffix2", [token.text[-2:].lower() if len(token) > 1 else None for token in tokens]),
    ):
        numbers = column(table, reader, name)
        assert naive.same_classes(numbers, values)
        assert [number == 0 for number in numbers] == [value is None for value in values]


@checked
@given(drawn_docs())
def test_docs_are_read_alike_alone_and_in_batches(docs):
    names = ["lower", "tag", "shape", "space_before"]
    together = AttributeReader(names).read(docs)
    for d, doc in enumerate(docs):
        alone = AttributeReader(names).read([doc])
        first, last = together.doc_sentences[d : d + 2]
        bounds = together.sentence_starts[first : last + 1]
        np.testing.assert_array_equal(alone.sentence_starts, bounds - bounds[0])
        np.testing.assert_array_equal(alone.attributes, together.attributes[bounds[0] : bounds[-1]])


@checked
@given(drawn_docs())
def test_whole_docs_are_one_sentence_each(docs):
    reader = AttributeReader(["lower"], whole_docs=True)
    table = reader.read(docs)
    words_of_docs = [[token for token in doc if not token.text.isspace()] for doc in docs]
    sizes = [len(tokens) for tokens in words_of_docs if tokens]
    assert table.sentence_starts.tolist() == [0, *np.cumsum(sizes).tolist()]
    for doc in docs:
        bare = Doc(VOCAB, words=[t.text for t in doc], spaces=[bool(t.whitespace_) for t in doc])
        np.testing.assert_array_equal(reader.inputs(doc), reader.inputs(bare))


@checked
@given(drawn_docs())
def test_what_lies_before_a_word(docs):
    def between(doc, i):
        start = i
        while start and doc[start - 1].text.isspace():
            start -= 1
        blanks = [token.text for token in doc[start:i]]
        if any("\n\n" in text for text in blanks):
            return "paragraph"
        if blanks:
            return "spaces"
        return None if i == 0 else "space" if doc[i - 1].whitespace_ else "none"

    reader = AttributeReader(["tag", "space_before"])
    places = [(doc, i) for doc in docs for i in range(len(doc)) if not doc[i].text.isspace()]
    expected = [between(doc, i) for doc, i in places]
    numbers = column(reader.read(docs), reader, "space_before")
    assert [SPACES[number] or None for number in numbers] == expected
    assert [reader.text_value("space_before", doc, i) for doc, i in places] == expected


@pytest.mark.parametrize(
    ("blank", "value"),
    [
        (" ", "spaces"), ("\t", "spaces"), ("\u00a0", "spaces"),
        ("\n", "line"), (" \r\n ", "line"), ("\u2028", "line"),
        ("\n\n", "paragraph"), ("\r\n \r\n", "paragraph"), ("\n\n\n", "paragraph"),
    ],
)  # fmt: skip
def test_kinds_of_whitespace(nlp, blank, value):
    reader = AttributeReader(["space_before"])
    assert reader.text_value("space_before", Doc(nlp.vocab, words=["a", blank, "b"]), 2) == value


def test_a_start_on_whitespace_moves_on_to_the_next_word(nlp):
    doc = Doc(nlp.vocab, words=["\n", "A", "b", " ", " ", "C"], sent_starts=[1, 0, 0, 1, 0, 0])
    table = AttributeReader(["lower"]).read([doc])
    assert table.sentence_starts.tolist() == [0, 2, 3]
    assert table.positions.tolist() == [1, 2, 5]


def test_a_doc_without_starts_is_one_sentence(nlp):
    table = AttributeReader(["lower"]).read([Doc(nlp.vocab, words=["A", ".", "B", "."])])
    assert table.sentence_starts.tolist() == [0, 4]


def test_docs_without_words_have_no_sentences(nlp):
    empty, blank = Doc(nlp.vocab), Doc(nlp.vocab, words=[" ", "\n"])
    docs = [empty, Doc(nlp.vocab, words=["A"]), blank, empty, Doc(nlp.vocab, words=["B"]), empty]
    for reader in (AttributeReader(["lower", "tag"]), AttributeReader(["tag"])):
        table = reader.read(docs)
        check_table(table, docs)
        assert table.doc_sentences.tolist() == [0, 0, 1, 1, 1, 2, 2]
        for none in ([empty], [blank], [empty, empty]):
            check_table(reader.read(none), none)


def test_docs_of_several_vocabularies_can_be_read_together():
    docs = [Doc(spacy.blank("en").vocab, words=[word, "same"]) for word in ("one", "two")]
    reader = AttributeReader(["lower"])
    assert naive.same_classes(
        column(reader.read(docs), reader, "lower"), ["one", "same", "two", "same"]
    )


# --- The cache --------------------------------------------------------------------------


def test_a_full_cache_changes_no_value_and_does_not_grow(nlp, monkeypatch):
    random = np.random.default_rng(0)
    batches = [
        [
            Doc(nlp.vocab, words=[f"word{number}" for number in random.integers(60, size=size)])
            for size in sizes
        ]
        for sizes in random.integers(1, 12, size=(60, 2))
    ]
    batches.append([Doc(nlp.vocab, words=[f"word{number}" for number in range(60)])])
    batches += batches[:20]
    names = ["lower", "suffix1", "digits"]
    unbounded = AttributeReader(names)
    expected = [unbounded.read(docs).attributes for docs in batches]
    monkeypatch.setattr(reading, "CACHED_TYPES", 8)
    reader = AttributeReader(names)
    most = 8  # or as many types as the largest batch has of its own
    for docs, values in zip(batches, expected, strict=True):
        np.testing.assert_array_equal(reader.read(docs).attributes, values)
        most = max(most, len({token.orth for doc in docs for token in doc}))
        assert reader._number_of_types <= most
        assert len(reader._values) <= 4 * most
        assert len(reader._slots) <= max(16, 2 * most)


def test_reading_adds_no_strings(nlp):
    doc = Doc(nlp.vocab, words=["Unheard-of", "WORDS", "12x", " "], tags=["A", "B", "C", "D"])
    before = len(nlp.vocab.strings)
    reader = AttributeReader([*ATTRIBUTES, "tag", "lemma"])
    reader.read([doc])
    for name in reader.names:
        reader.text_value(name, doc, 0)
    assert len(nlp.vocab.strings) == before


def test_the_cache_outlives_a_memory_zone(nlp):
    reader = AttributeReader(["lower", "suffix3", "tag"])
    seen = []
    for _ in range(3):
        with nlp.memory_zone():
            doc = nlp("Transient words that only this zone knows.")
            seen.append(reader.read([doc]).attributes.tolist())
    outside = Doc(nlp.vocab, words=["Transient", "words", "that"])
    assert seen[0] == seen[1] == seen[2]
    assert reader.read([outside]).attributes.tolist() == seen[0][:3]


# --- All together -----------------------------------------------------------------------


@checked
@given(drawn_docs())
def test_tokens_share_a_row_exactly_where_a_template_sees_the_same(docs):
    templates = parse("lower[0]", "lower[-1]+tag[0]", "suffix2[1]", "tag[-2]+shape[2]")
    names = sorted({part.attribute for template in templates for part in template.parts})
    reader = AttributeReader(names)
    table = reader.read(docs)
    keys = np.empty((len(table.attributes), len(templates)), dtype=np.uint64)
    extract_keys(
        compile_templates(templates, reader.names), table.attributes, table.sentence_starts, keys
    )
    index = FeatureIndex(len(templates))
    index.insert(keys)
    found = [row for rows in rows_of(index, keys) for row in rows]

    see = {
        "lower": lambda token: token.text.lower(),
        "tag": lambda token: token.tag_ or 0,
        "suffix2": lambda token: token.text.lower()[-2:] if len(token) > 1 else 0,
        "shape": lambda token: reader.text_value("shape", token.doc, token.i),
    }
    expected = []
    for doc in docs:
        for sentence in naive.sentences(doc):
            values = [[see[name](doc[i]) for name in names] for i in sentence]
            for t in range(len(sentence)):
                for template in templates:
                    parts = [(part.offset, names.index(part.attribute)) for part in template.parts]
                    value = naive.template_value(parts, values, t)
                    if value is not None:
                        expected.append((template, value))
    assert naive.same_classes(found, expected)
    for row, (template, _) in zip(found, expected, strict=True):
        assert templates[index.row_templates[row]] == template


def test_a_token_without_morphological_features_has_no_value():
    vocab = spacy.blank("en").vocab
    doc = Doc(vocab, words=["to", "dogs"], morphs=["", "Number=Plur"])
    reader = AttributeReader(["morph"])
    assert (reader.read([doc]).attributes[:, 0] != 0).tolist() == [False, True]
    assert [reader.text_value("morph", doc, i) for i in range(2)] == [None, "Number=Plur"]
