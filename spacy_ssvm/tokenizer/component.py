"""``spacy_ssvm.Tokenizer.v1``: a tokenizer that is learned from a corpus."""

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from spacy.attrs import IDX, IS_SPACE, NORM, ORTH, SENT_START, intify_attrs
from spacy.errors import Errors
from spacy.language import Language
from spacy.scorer import Scorer
from spacy.tokens import Doc
from spacy.training import Example, validate_examples
from spacy.util import logger, registry
from spacy.vocab import Vocab
from thinc.config import ConfigValidationError

from spacy_ssvm import storage
from spacy_ssvm.components.doc_arrays import (
    IS_INSIDE,
    IS_START,
    are_joined,
    columns_of,
    marks_of,
    sentence_marks,
    write_columns,
)
from spacy_ssvm.components.settings import section_error
from spacy_ssvm.explanation import Explanation
from spacy_ssvm.features.templates import TemplateError
from spacy_ssvm.solvers.dual_coordinate_descent import DualCoordinateDescent
from spacy_ssvm.tokenizer import training
from spacy_ssvm.tokenizer.explanation import explain_character
from spacy_ssvm.tokenizer.model import TokenizerModel
from spacy_ssvm.tokenizer.norms import Pieces, learn_norms, make_norms
from spacy_ssvm.tokenizer.special_cases import SpecialCase, make_special_case
from spacy_ssvm.tokenizer.templates import parse_character_templates
from spacy_ssvm.tokenizer.training import GoldText

_MAX_LENGTH = 2**30  # characters, as in spaCy
_COMPARED = 100  # examples whose tokens are compared with its own
_MARKS = 20  # fewer say nothing of a corpus

#: Where a token comes from: what ``Tokenizer.explain`` tells.
SPECIAL, KNOWN, LEARNED, WHITESPACE = "special case", "known chunk", "model", "whitespace"


class ExplainedToken(NamedTuple):
    """A token of a text and where it comes from."""

    source: str  #: SPECIAL, KNOWN, LEARNED or WHITESPACE
    text: str
    start: int  #: its first character
    begins_sentence: bool


class Tokenizer:
    """Cuts texts into tokens as the corpus does that it was initialized with.

    vocab: the vocabulary of the Docs.
    model: where tokens and sentences begin. What is learned has its templates, also after a model
        with others was loaded.
    solver: learns the weights.
    epochs: passes over the corpus.
    sentences: whether Docs get ``token.is_sent_start``, too.

    Tokens never reach across whitespace. Whitespace other than one blank between two tokens is a
    token, as with spaCy's rules. Before it is initialized, it cuts at whitespace alone.

    >>> import spacy
    >>> config = {"nlp": {"tokenizer": {"@tokenizers": "spacy_ssvm.Tokenizer.v1"}}}
    >>> nlp = spacy.blank("en", config=config)
    >>> words = ["Do", "n't", "bark", "!", "Purr", "!"]
    >>> gold = Doc(nlp.vocab, words=words, spaces=[False, True, False, True, False, False])
    >>> nlp.tokenizer.initialize(lambda: [Example(nlp.make_doc(gold.text), gold)], nlp=nlp)
    >>> [token.text for token in nlp("Purr! Don't bark!")]
    ['Purr', '!', 'Do', "n't", 'bark', '!']
    """

    kind = "spacy_ssvm.Tokenizer"

    def __init__(
        self,
        vocab: Vocab,
        model: TokenizerModel,
        *,
        solver: DualCoordinateDescent,
        epochs: int,
        sentences: bool,
    ) -> None:
        self.vocab = vocab
        self.model = model
        self.templates = model.templates
        self.solver = solver
        self.epochs = epochs
        self.sentences = sentences

    # Annotation

    def __call__(self, string: str) -> Doc:
        """The Doc of a text. Raises ValueError for one of 2**30 characters or more."""
        if len(string) >= _MAX_LENGTH:
            raise ValueError(Errors.E025.format(length=len(string)))
        tokens, norms = self.model.segment([string])
        starts, ends = tokens.starts.tolist(), tokens.ends.tolist()
        words = [string[start:end] for start, end in zip(starts, ends, strict=True)]
        doc = Doc(self.vocab, words=words, spaces=tokens.has_space.tolist())
        for i, word in norms.items():
            doc[i].norm_ = word
        if self.sentences:
            marks = np.where(tokens.is_sentence, IS_START, IS_INSIDE)
            write_columns(doc, [SENT_START], marks.astype(np.uint64)[:, np.newaxis])
        return doc

    def pipe(self, texts: Iterable[str], batch_size: int = 1000) -> Iterator[Doc]:  # noqa: ARG002
        """The Docs of texts. batch_size: has no effect, as in spaCy."""
        return map(self, texts)

    def score(self, examples: Iterable[Example], **settings: Any) -> dict[str, Any]:  # noqa: ARG002
        """token_acc, token_p, token_r and token_f, as of spaCy's tokenizer.

        With ``sentences``, sents_p, sents_r and sents_f as well.
        """
        examples = list(examples)
        validate_examples(examples, "Tokenizer.score")
        scores = Scorer.score_tokenization(examples)
        if self.sentences:
            scores |= registry.scorers.get("spacy.senter_scorer.v1")()(examples)
        return scores

    def explain(self, text: str) -> list[ExplainedToken]:
        """The tokens of a text, and where each of them comes from.

        "special case": what stands between whitespace is one. "known chunk": it occurs twice or
        more in the corpus, always cut like this. "model": decided here; ``explain_character`` tells
        why.
        """
        tokens, _ = self.model.segment([text])
        read = self.model.read_texts([text])
        bounds = zip(read.chunks.starts.tolist(), read.chunks.ends.tolist(), strict=True)
        is_special = [text[start:end] in self.model.special_cases for start, end in bounds]
        columns = tokens.starts, tokens.ends, tokens.is_sentence
        found = []
        for start, end, begins in zip(*map(np.ndarray.tolist, columns), strict=True):
            chunk = int(np.searchsorted(read.chunks.starts, start, side="right")) - 1
            if text[start:end].isspace():
                source = WHITESPACE
            elif is_special[chunk]:
                source = SPECIAL
            else:
                source = KNOWN if read.nodes.patterns[chunk] >= 0 else LEARNED
            found.append(ExplainedToken(source, text[start:end], start, begins))
        return found

    def explain_character(
        self, text: str, i: int, *, top: int | None = None, against: str | None = None
    ) -> Explanation:
        """Explain why a sentence, a token, or neither begins at a character of a text.

        top: the number of features to show, the others summed in one row; None for all.
        against: the other label, "inside", "token" or "sentence"; None for the runner-up. Where the
            tokenizer writes no sentences, that is one that cuts the text in another way.
        Raises ValueError for whitespace, and where nothing was to decide.
        """
        return explain_character(
            self.model, text, i, top=top, against=against, sentences=self.sentences
        )

    # Special cases

    def add_special_case(self, string: str, substrings: Iterable[Mapping[Any, Any]]) -> None:
        """Cut a chunk, which stands between whitespace, in the same way wherever it occurs.

        substrings: attributes of its tokens: ORTH, and NORM where one stands for another word.
        Raises ValueError where they are not the tokens of the chunk, or have other attributes.
        """
        attributes = []
        for one in map(dict, substrings):
            known = intify_attrs(one)  # without names that it does not know
            if len(known) < len(one) or {*known} - {ORTH, NORM}:
                raise ValueError(
                    f"the special case {string!r:.60}: tokens can have ORTH and NORM alone"
                )
            attributes.append(known)
        tokens = [one.get(ORTH, "") for one in attributes]
        words = [one.get(NORM, token) for one, token in zip(attributes, tokens, strict=True)]
        self.model.add_special_cases({string: make_special_case(string, tokens, words)})

    # Training

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        learn: bool = True,
        special_cases: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """Learn from the references of examples; what was learned before is forgotten.

        Those of which it is not known where spaces are teach nothing. Where none does, as the Doc
        that ``nlp.initialize()`` passes, what was learned before stays.

        nlp: the pipeline, whose components are initialized next. If ``get_examples`` returns the
        same examples again, they have the tokens of before: there is a warning.
        learn: false keeps what was learned before, such as by the tokenizer of another pipeline.
        special_cases: the tokens of chunks that are cut in the same way wherever they occur, beside
            those that were added before.
        Raises ConfigValidationError for an invalid special case, where sentences are to be written,
        but none are annotated, or nothing is to be learned and nothing was; ValueError for texts
        without tokens.
        """
        cases = _read_special_cases(special_cases or {})
        if not learn:
            if self.model.summary is None:
                message = (
                    "false, but nothing has been learned: copy a tokenizer in "
                    "[initialize.before_init], see docs/tokenizer.md"
                )
                raise section_error("[initialize.tokenizer]", "learn", message)
            self.model.add_special_cases(cases)
            return
        gold, pairs, marks, sizes, first = _read_corpus(get_examples())
        cuts = any(map(_cuts_chunks, gold))
        has_corpus = cuts or sizes != [3]  # ``nlp.initialize()`` passes one Doc of three words
        has_sentences = any(one.sentences is not None for one in gold)
        if self.sentences and has_corpus and not has_sentences:
            message = "no sentences are annotated: set sentences = false in [nlp.tokenizer]"
            raise section_error("[nlp.tokenizer]", "sentences", message)
        if has_corpus:
            _warn_of_spaces(cuts, marks)
        cases = {**self.model.special_cases, **cases}
        if not (cuts or has_sentences):
            self.model.add_special_cases(cases)
            return
        model = TokenizerModel(self.templates)
        model.know(model.learned, model.certain, cases, make_norms(learn_norms(pairs)))
        training.learn(model, gold, self.solver, self.epochs)
        self.model = model
        known = len(self.model.learned.cut_starts) - 1
        logger.info(
            "Tokenizer: learned from %s tokens; %s chunks are always cut in the same way",
            f"{sum(len(one.starts) for one in gold):,}",
            f"{known:,}",
        )
        if nlp is not None and nlp.pipe_names and next(iter(get_examples()), None) is first[0]:
            self._warn_of_old_tokens(example.predicted for example in first)

    def _warn_of_old_tokens(self, docs: Iterable[Doc]) -> None:
        """Warn where Docs that components will learn from have other tokens than it writes."""
        if any([t.idx for t in doc] != [t.idx for t in self(doc.text)] for doc in docs):
            warnings.warn(
                "Tokenizer: components are going to learn from examples that were cut before the "
                "tokenizer has learned. Make them anew each time, 'nlp.initialize(lambda: "
                "[Example(nlp.make_doc(gold.text), gold) for gold in docs])', and for 'nlp.update' "
                "afterwards",
                stacklevel=3,
            )

    # Saving and loading

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:  # noqa: ARG002
        """Save into a folder. The vocabulary, which the pipeline saves, is not part of it.

        An interrupted write leaves what was saved there before.
        """
        is_file = Path(path).is_file()  # that of spaCy's tokenizer
        save = storage.save_instead_of_file if is_file else storage.save
        save(path, self.kind, *self._saved(), lambda *saved: self._read(*saved))

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "Tokenizer":  # noqa: ARG002
        """Load from a folder.

        Raises ModelFileError, naming the file, where it is damaged; the tokenizer then stays as it
        was.
        """
        if Path(path).is_file():
            raise storage.ModelFileError(
                f"{path}: saved by another tokenizer, such as spaCy's, than [nlp.tokenizer] of the "
                'config names. Name that one, such as @tokenizers = "spacy.Tokenizer.v1"'
            )
        storage.load(path, self.kind, ("model",), self.model.types, self._become)
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:  # noqa: ARG002
        """The tokenizer as bytes, without the vocabulary."""
        return storage.to_bytes(self.kind, *self._saved())

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> "Tokenizer":  # noqa: ARG002
        """Load what ``to_bytes`` made. Raises ModelFileError for anything else."""
        storage.from_bytes(bytes_data, self.kind, ("model",), self.model.types, self._become)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        settings = self.solver, self.epochs, self.sentences
        return _unpickle, (self.vocab, self.templates, *settings, self.to_bytes())

    def _saved(self) -> tuple[storage.Header, storage.Arrays]:
        return {"model": self.model.header()}, self.model.arrays()

    def _read(self, parts: storage.Header, arrays: storage.Arrays) -> Any:
        return self.model.read(parts["model"], arrays)

    def _become(self, parts: storage.Header, arrays: storage.Arrays) -> None:
        model = TokenizerModel(())
        model.become(self._read(parts, arrays))
        self.model = model  # in one step: wherever a load is interrupted, the tokenizer is whole


class _Corpus(NamedTuple):
    """What a tokenizer learns from."""

    texts: list[GoldText]
    pairs: Counter[tuple[Pieces, Pieces]]  #: see ``pairs_of``
    marks: Counter[bool]  #: see ``marks_of``
    sizes: list[int]  #: the number of tokens of each Doc
    first: list[Example]


def _read_corpus(examples: Iterable[Example]) -> _Corpus:
    """Raises ValueError where no Doc has tokens."""
    corpus = _Corpus([], Counter(), Counter(), [], [])
    for example in examples:
        gold = example.reference
        if len(corpus.first) < _COMPARED:
            corpus.first.append(example)
        corpus.sizes.append(len(gold))
        if not gold.has_unknown_spaces:
            corpus.texts.append(gold_text(gold))
            corpus.pairs.update(pairs_of(gold))
            corpus.marks.update(marks_of(gold))
    if not sum(corpus.sizes):
        raise ValueError("the tokenizer has no tokens to learn from: the examples are empty")
    return corpus


def _read_special_cases(given: Mapping[str, Sequence[str]]) -> dict[str, SpecialCase]:
    """The special cases of a config. Raises ConfigValidationError for an invalid one."""
    cases = {}
    for chunk, tokens in given.items():
        try:
            cases[chunk] = make_special_case(chunk, tokens)
        except ValueError as error:
            raise section_error("[initialize.tokenizer]", "special_cases", str(error)) from error
    return cases


def _unpickle(vocab: Vocab, *state: Any) -> Tokenizer:
    templates, solver, epochs, sentences, data = state
    settings = {"solver": solver, "epochs": epochs, "sentences": sentences}
    return Tokenizer(vocab, TokenizerModel(templates), **settings).from_bytes(data)


def gold_text(doc: Doc) -> GoldText:
    """The text of a Doc with its tokens and sentences."""
    columns, text = columns_of(doc, [IDX, IS_SPACE]).astype(np.int64), doc.text
    words = np.flatnonzero(columns[:, 1] == 0)
    firsts = columns[words, 0]
    for number, own in enumerate(doc[i].text for i in words.tolist()):
        firsts[number] += len(own) - len(own.lstrip())
    columns[words, 0] = firsts
    marks = sentence_marks(doc)
    if not marks[words[1:]].any():
        return GoldText(text, columns[:, 0], None)
    starts = np.searchsorted(words, np.flatnonzero(marks == IS_START))  # after whitespace
    starts = starts[starts < len(words)]
    is_unmarked = marks[words] == 0
    is_unmarked[np.append(0, starts)] = False
    return GoldText(text, columns[:, 0], firsts[starts], firsts[is_unmarked])


def pairs_of(doc: Doc) -> Iterator[tuple[Pieces, Pieces]]:
    """The pairs of tokens without whitespace between them, and the words that they stand for."""
    words = [t.norm_ if t.norm != t.lex.norm else t.text for t in doc]
    texts = [t.text for t in doc]
    for i in range(len(words) - 1):
        if not (doc[i].whitespace_ or doc[i].is_space or doc[i + 1].is_space):
            yield (texts[i], texts[i + 1]), (words[i], words[i + 1])


def _warn_of_spaces(cuts: bool, marks: Counter[bool]) -> None:
    """Warn of a corpus that does not tell how text is cut. cuts: whether it ever is."""
    if cuts and (are_joined(marks) or marks.total() < _MARKS):
        return
    what = (
        "nearly all punctuation of the examples stands between spaces: it would not be cut off "
        "from words"
        if cuts
        else "there is whitespace between all tokens of the examples: nothing can be learned of "
        "where to cut"
    )
    warnings.warn(
        f"Tokenizer: {what}. Train on texts as they are written, such as "
        "'python -m spacy ssvm convert' makes of CoNLL-U files with SpaceAfter=No",
        stacklevel=3,
    )


def _cuts_chunks(gold: GoldText) -> bool:
    """Whether a token begins where there is no whitespace before it."""
    text = gold.text
    starts = (i for i in gold.starts.tolist() if i)
    return any(not (text[i - 1].isspace() or text[i].isspace()) for i in starts)


def make_tokenizer(
    templates: list[str] = ["tokenizer"],  # noqa: B006  # a tuple is another config than a list
    C: float = 0.3,
    epochs: int = 12,
    sentences: bool = False,
    seed: int = 0,
) -> Callable[[Language], Tokenizer]:
    """Make a tokenizer that is learned when a pipeline is initialized, before its components.

    templates: feature templates and families, see docs/tokenizer.md.
    C: the weight of the losses, see docs/solvers.md.
    epochs: passes over the corpus.
    sentences: whether it sets sentence boundaries, which it decides together with the tokens; for
        pipelines without a component that does.
    seed: of the order of examples.
    Raises ConfigValidationError for an invalid setting.
    """
    if epochs < 1:
        raise section_error("[nlp.tokenizer]", "epochs", f"{epochs}: must be at least 1")
    try:
        parsed = parse_character_templates(templates)
    except TemplateError as error:
        raise section_error("[nlp.tokenizer]", "templates", str(error)) from error
    try:
        solver = DualCoordinateDescent(C=C, seed=seed)
    except ConfigValidationError as error:
        key, message = error.errors[0]["loc"][0], error.errors[0]["msg"]
        raise section_error("[nlp.tokenizer]", key, message) from error

    def make(nlp: Language) -> Tokenizer:
        model = TokenizerModel(parsed)
        return Tokenizer(nlp.vocab, model, solver=solver, epochs=epochs, sentences=sentences)

    return make
