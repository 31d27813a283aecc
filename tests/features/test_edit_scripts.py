"""Edit scripts: how lemmas are made of words, and the texts that show it."""

import os
from pathlib import Path
from time import perf_counter

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from spacy_ssvm.features.edit_scripts import CASES, SAME, EditScript, edit_script, read_script

thorough = settings(max_examples=300)

#: Any letters but halves of them, and those that scripts, JSON or changes of case treat specially.
LETTERS = st.one_of(
    st.sampled_from(
        "aAbBsS'\"+,\\ \n\t\r\x1f\x7f\x85\xa0\u20280189²٣-İıßẞſσςΣ\u0301\u0307Dždžﬁ😀🇩🏽\u200d"
    ),
    st.characters(exclude_categories=["Cs"]),
)
TEXTS = st.text(LETTERS, min_size=1, max_size=12)

#: Words and lemmas of few letters, which share much.
ALIKE = st.text("aAbBcC", min_size=1, max_size=9)

EXAMPLES = [
    ("dogs'", "dogs'", "lower"),
    ("Dogs'", "dogs'", "lower"),
    ("THE", "the", "lower"),
    ("7", "7", "lower"),
    ("。", "。", "lower"),
    ("cities", "city", "lower, suffix -3 +y"),
    ("Cities", "city", "lower, suffix -3 +y"),
    ("CITIES", "city", "lower, suffix -3 +y"),
    ("Dogs", "dog", "lower, suffix -1"),
    ("Smith's", "Smith", "keep, suffix -2"),
    ("USA", "USA", "keep"),
    ("McDonalds", "McDonald", "keep, suffix -1"),
    ("google", "Google", "title"),
    ("GOOGLE", "Google", "title"),
    ("nasa", "NASA", "upper"),
    ("gesagt", "sagen", "lower, prefix -2, suffix -1 +en"),
    ("went", "go", "lower, whole +go"),
    ("Went", "go", "lower, whole +go"),
    ("'s", "be", "lower, whole +be"),
    ("iphones", "iPhone", "keep, whole +iPhone"),
    ("dr", "doctor", "lower, suffix -1 +octor"),
    ("2", "two", "lower, whole +two"),
    ("two", "2", "lower, whole +2"),
    ("B", "B2", "title, whole +b2"),
    ("am", "a+m", 'lower, suffix -1 +"+m"'),
    ("ain't", "ain not", 'lower, suffix -2 +"\\u0020not"'),
    ("Zürich", "Zü,rich", 'title, prefix -2 +"z\\u00fc,"'),
    ("naïve", "naif", "lower, suffix -3 +if"),
    ("i", "iİ", "keep, suffix -0 +İ"),  # two letters, were it small
    ("ΟΔΟΣ", "οδος", "lower"),  # the last letter depends on its place
]

#: A word and its lemma, and what their script makes of another word.
TRANSFERS = [
    ("cities", "city", "Parties", "party"),
    ("Cities", "city", "parties", "party"),
    ("walked", "walk", "TALKED", "talk"),
    ("Smith's", "Smith", "IBM's", "IBM"),
    ("gesagt", "sagen", "gemacht", "machen"),
    ("google", "Google", "ibm", "Ibm"),
    ("nasa", "NASA", "Esa", "ESA"),
    ("went", "go", "wandered", "go"),
    ("cities", "city", "ies", ""),
    ("cities", "city", "es", ""),
    ("gesagt", "sagen", "get", ""),
    ("gesagt", "sagen", "gest", "sen"),
]

#: Texts that look like scripts: all of them, what follows the case, and what is put on.
DAMAGED = [
    *("", " ", "LOWER", "Lower", "small", "lower ", " lower", "lower,", "lower, ", "lower\n"),
    *("lower\x00", "\ud83d", "None", "null", "{}", "[]", "lower|suffix -1", "suffix -1"),
    *("lower suffix -1", "lower,suffix -1", "lower,  suffix -1", "lower;suffix -1"),
    *(
        f"lower, {end}"
        for end in (
            *("lower", "infix -1", "cut -1", "Suffix -1", "all +go", "suffix", "suffix -"),
            *("suffix 1", "suffix +1", "suffix 0", "suffix --1", "suffix -1.0", "suffix -1e3"),
            *("suffix -1_0", "suffix -0", "prefix -0", "prefix -0, suffix -1", "suffix -00 +s"),
            *("suffix -03", "prefix -0001", "suffix -1000000", "prefix -1000000"),
            *("suffix -" + "9" * 5000, "prefix -" + "0" * 5000),
            *("suffix -٣", "suffix -²", "suffix -１"),  # noqa: RUF001
            *("suffix -1, prefix -1", "suffix -1, suffix -1", "prefix -1, prefix -1"),
            *("whole", "whole +", "whole go", 'whole +""', "whole -1", "whole +go +go"),
            *("whole +go, suffix -1", "suffix -1, whole +go", "prefix -1 +a,suffix -1"),
            *("suffix -3 ", "suffix -3 y", "suffix -3+y", "suffix -3  +y"),
        )
    ),
    *(
        f"lower, suffix -3 +{added}"
        for added in (
            *("", '""', " y", "y ", "y z", '"y z"', "y\n", "+", "a+b", ",", "\\", '"', '"y', 'y"'),
            *('"""', '"y"', r'"\u0079"', '"é,"', r'"\u00E9,"', r'"\u000a"', r'"\/,"', r'"\q"'),
            *(r'"\u12"', '"+" "+"', r'"\ud83d"', r'"\ude00\ud83d"', "\ud83d", '"\ud83d,"'),
            *("a\u2028b", "\xa0", '"\u2028"', "\x1f", '"\x1f"', '"\n"'),
        )
    ),
]  # fmt: skip

#: Texts with which a careless expression might take long.
LONG = [
    '"' * 5000,
    "lower, " * 5000,
    "lower, suffix -1 +" + '"' * 5000,
    "lower, suffix -1 +" + "\\" * 5000,
    'lower, whole +"' + "\\" * 5001 + '"',
    'lower, whole +"' + '"' * 5000 + " ",
    'lower, prefix -1 +"' + '"' * 5000 + ', suffix -1 +"' + '"' * 5000 + " ",
    "lower, prefix -1 +" + "a" * 5000 + ", suffix -1 +" + "a" * 5000 + ",",
    'lower, prefix -1 +"' + ', suffix -1 +"' * 5000,
    "lower, suffix -" + "1" * 5000,
]


def shared(word: str, lemma: str) -> int:
    """The length of the longest part of a word that a lemma has, too."""
    parts = (word[i:j] for i in range(len(word)) for j in range(i + 1, len(word) + 1))
    return max((len(part) for part in parts if part in lemma), default=0)


@st.composite
def scripts(draw: st.DrawFn) -> EditScript:
    """Scripts that need not be those of a word and its lemma."""
    case = draw(st.sampled_from(CASES))
    if draw(st.booleans()):
        return EditScript(case, before=draw(TEXTS), is_whole=True)
    cuts = st.integers(0, 12) | st.integers(0, 999_999)
    added = st.just("") | TEXTS
    return EditScript(case, draw(cuts), draw(added), draw(cuts), draw(added))


@st.composite
def damaged_texts(draw: st.DrawFn) -> str:
    """Texts of scripts in which something was put in, left out or repeated."""
    text = str(draw(scripts()))
    pieces = st.sampled_from(
        [*'"\\+-, 019a', "\n", "\ud83d", '""', "\\u0020", "\\n", *CASES, ", whole", ", suffix -1"]
    )
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 4)))
        new = draw(pieces | st.just("") | st.just(2 * text[start:end]))
        text = text[:start] + new + text[end:]
    return text


# --- From words and lemmas to scripts -----------------------------------------------------


@pytest.mark.parametrize(("word", "lemma", "text"), EXAMPLES)
def test_examples(word: str, lemma: str, text: str) -> None:
    script = edit_script(word, lemma)
    assert str(script) == text
    assert script.apply(word) == lemma
    assert read_script(text) == script


def test_the_script_of_words_that_are_their_own_lemma() -> None:
    assert edit_script("dog", "dog") == edit_script("DOG", "dog") == SAME
    assert str(SAME) == "lower"
    assert read_script("lower") == SAME


@thorough
@given(TEXTS, TEXTS)
@example("ΟΔΟΣ", "οδος")
@example("İ", "i̇")
@example("ı", "I")  # noqa: RUF001
@example("STRASSE", "straße")
@example("ß", "SS")
@example("Ab", "Dž")
@example("dž", "Dž")
@example("ﬁsh", "FISH")
@example("a\u0301", "á")
@example("👨\u200d👩", "👩")
@example("a", '", suffix -1 +"')
@example("a", "a\n")
def test_scripts_make_the_lemma_of_the_word(word: str, lemma: str) -> None:
    script = edit_script(word, lemma)
    assert script.apply(word) == lemma
    assert len(word) >= script.min_length
    assert read_script(str(script)) == script


@thorough
@given(ALIKE, ALIKE)
def test_scripts_of_words_that_share_much(word: str, lemma: str) -> None:
    script = edit_script(word, lemma)
    assert script.apply(word) == lemma
    assert read_script(str(script)) == script


@thorough
@given(st.text("abc", min_size=1, max_size=9), st.text("abc", min_size=1, max_size=9))
@example("aaabbb", "aaa")
@example("abcabca", "ab")
@example("abcabc", "ab")
def test_the_longest_shared_part_is_kept_if_it_is_a_third_of_the_word(
    word: str, lemma: str
) -> None:
    script, longest = edit_script(word, lemma), shared(word, lemma)
    assert script.is_whole == (3 * longest < len(word))
    if not script.is_whole:
        kept = word[script.prefix : len(word) - script.suffix]
        assert len(kept) == longest
        assert script.before + kept + script.after == lemma


@thorough
@given(TEXTS | ALIKE, TEXTS | ALIKE)
def test_scripts_that_keep_little_are_whole(word: str, lemma: str) -> None:
    script = edit_script(word, lemma)
    if script.is_whole:
        assert (script.prefix, script.suffix, script.after) == (0, 0, "")
        assert script.before
    else:
        kept = len(word) - script.prefix - script.suffix
        assert 3 * kept >= len(word)
        assert kept >= 1


@thorough
@given(st.text("ab019²٣", min_size=1, max_size=6), st.text("ab019²٣", min_size=1, max_size=6))
@example("a1", "a12")
@example("1a", "21a")
@example("1990s", "1990")
def test_digits_are_put_on_by_whole_scripts_alone(word: str, lemma: str) -> None:
    script = edit_script(word, lemma)
    if not script.is_whole:
        assert not any(c.isdigit() for c in script.before + script.after)
    elif 3 * shared(word, lemma) >= len(word):
        assert any(c.isdigit() for c in lemma), "nothing but digits forbids to keep a part"


def test_digits_that_are_there_are_kept() -> None:
    assert edit_script("1990s", "1990").apply("2020s") == "2020"


@thorough
@given(ALIKE | TEXTS, ALIKE | TEXTS)
@example("gOOGLE", "Google")
def test_the_case_is_the_first_that_fits(word: str, lemma: str) -> None:
    script = edit_script(word, lemma)
    for case in CASES[: CASES.index(script.case)]:
        assert script._replace(case=case).apply(word) != lemma


@thorough
@given(st.text("abcdeéß", min_size=1, max_size=8), st.text("abcdeéß", min_size=1, max_size=8))
@example("cities", "city")
@example("went", "go")
def test_words_at_the_beginning_of_a_sentence_have_the_same_script(word: str, lemma: str) -> None:
    capitalized = word[0].upper() + word[1:]
    assume(len(capitalized) == len(word))
    assert edit_script(capitalized, lemma) == edit_script(word, lemma)


@pytest.mark.parametrize(("word", "lemma"), [("x" * 400, "x" * 399), ("ab" * 300, "ba" * 300)])
def test_long_words(word: str, lemma: str) -> None:
    """Letters that are frequent in the word are no less part of it."""
    script = edit_script(word, lemma)
    assert script.apply(word) == lemma
    assert not script.is_whole
    assert script.prefix + script.suffix == 1


def test_the_lemma_is_one_word_for_each_case() -> None:
    """All of the lemma, where nothing is shared, in the first case that gives it."""
    found = [str(edit_script("xyz", lemma)) for lemma in ("go", "Go", "GO", "gO")]
    assert found == ["lower, whole +go", "title, whole +go", "upper, whole +go", "keep, whole +gO"]


# --- From scripts to lemmas ---------------------------------------------------------------


@pytest.mark.parametrize(("word", "lemma", "other", "expected"), TRANSFERS)
def test_scripts_make_lemmas_of_other_words(
    word: str, lemma: str, other: str, expected: str
) -> None:
    assert edit_script(word, lemma).apply(other) == expected


@pytest.mark.parametrize(
    ("case", "lemma"),
    [("lower", "xabcdey"), ("keep", "XabCDEy"), ("title", "Xabcdey"), ("upper", "XABCDEY")],
)
def test_cases_are_those_of_the_whole_lemma(case: str, lemma: str) -> None:
    assert EditScript(case, 1, "X", 1, "y").apply("_abCDE_") == lemma
    assert EditScript(case, before="XabCDEy", is_whole=True).apply("_") == lemma


@thorough
@given(scripts(), TEXTS)
@example(EditScript("lower", 1, "", 1, ""), "ab")
@example(EditScript("lower", 3, "a", 0, ""), "ab")
@example(EditScript("upper", 0, "", 999_999, "a"), "ab")
@example(EditScript("title", 0, "", 2, "a"), "ab")
def test_words_that_are_too_short_have_no_lemma(script: EditScript, word: str) -> None:
    assert (script.apply(word) == "") == (len(word) < script.min_length)


@thorough
@given(scripts())
def test_words_without_letters_have_no_lemma(script: EditScript) -> None:
    assert script.is_whole or script.apply("") == ""


# --- Texts of scripts ---------------------------------------------------------------------


@thorough
@given(scripts())
@example(EditScript("lower", 0, "a", 0, ""))
@example(EditScript("keep", 999_999, "", 999_999, '", suffix -1 +"'))
@example(EditScript("title", 0, "\\ ", 0, " "))
@example(EditScript("upper", before="\\u0020", is_whole=True))
@example(EditScript("upper", before="\x00", is_whole=True))
def test_texts_of_scripts_are_read(script: EditScript) -> None:
    text = str(script)
    assert read_script(text) == script
    assert text.isprintable() or any(not c.isprintable() for c in script.before + script.after)
    assert len(text.split(" ")) <= 7, "spaces are between the parts alone"
    assert len(text.splitlines()) == 1


@pytest.mark.parametrize("text", DAMAGED)
def test_damaged_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no edit script") as caught:
        read_script(text)
    message = str(caught.value)
    assert message.startswith(f"'{text[:57]}")
    assert "one of lower, keep, title, upper" in message
    assert "such as lower, suffix -3 +y" in message
    assert len(message) < 250


@settings(max_examples=1000)
@given(damaged_texts() | st.text(LETTERS | st.characters(categories=["Cs"]), max_size=20))
def test_texts_are_read_as_they_are_written_or_refused(text: str) -> None:
    try:
        script = read_script(text)
    except ValueError:
        return
    assert str(script) == text
    assert script.case in CASES
    assert min(script.prefix, script.suffix) >= 0
    assert script.before or not script.is_whole
    assert (script.before + script.after).encode().decode() == script.before + script.after


@pytest.mark.parametrize("text", LONG, ids=range(len(LONG)))
def test_long_texts_are_refused_at_once(text: str) -> None:
    start = perf_counter()
    with pytest.raises(ValueError, match="is no edit script") as caught:
        read_script(text)
    assert perf_counter() - start < 1
    assert len(str(caught.value)) < 250


def test_a_long_text_is_read_at_once() -> None:
    start = perf_counter()
    for added in ('"' * 5000, "a" * 5000, "\\" * 5000, " " * 5000, "😀," * 5000):
        script = EditScript("lower", 1, added, 2, added)
        assert read_script(str(script)) == script
    assert perf_counter() - start < 1


# --- Treebanks ----------------------------------------------------------------------------


def lemmas_of(file: Path) -> set[tuple[str, str]]:
    """The words of a CoNLL-U file with their lemmas."""
    rows = (line.split("\t") for line in file.read_text(encoding="utf8").splitlines())
    words = ((row[1], row[2]) for row in rows if len(row) == 10 and row[0].isdecimal())
    return {(word, lemma) for word, lemma in words if lemma != "_" or word == "_"}


@pytest.mark.parametrize("folder", ["ud_en_ewt", "ud_pt_bosque", "ud_nl_lassysmall"])
def test_lemmas_of_treebanks(folder: str) -> None:
    data = os.environ.get("SPACY_SSVM_DATA")
    if data is None:
        pytest.skip("needs treebanks in the folder SPACY_SSVM_DATA")
    files = sorted(Path(data, folder).glob("*.conllu"))
    pairs = set[tuple[str, str]]().union(*map(lemmas_of, files))
    assert len(pairs) > 10_000
    texts = set()
    for word, lemma in pairs:
        script = edit_script(word, lemma)
        assert script.apply(word) == lemma
        texts.add(str(script))
    assert all(str(read_script(text)) == text for text in texts)
    assert len(texts) < len(pairs) / 10, "words share scripts"


@pytest.mark.parametrize("letters", ["a", "ab", "abc "])
def test_long_words_take_little_time(letters: str) -> None:
    """Time that grows with the square of the length would be minutes."""
    word = (letters * 100_000)[:100_000]
    for lemma in (word, word[:-1], "x" + word, word[1:] + "y", word.upper()):
        start = perf_counter()
        assert edit_script(word, lemma).apply(word) == lemma
        assert perf_counter() - start < 5
    assert str(edit_script("a" * 2000 + "s", "a" * 2000)) == "lower, suffix -1"
