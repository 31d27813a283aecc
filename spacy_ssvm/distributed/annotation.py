"""Annotation of more texts than fit into memory, by several processes or machines, with Ray Data.

Rows are read in blocks, annotated by processes that have the pipeline, and written in the order in
which they were read, each once. Blocks wait where they are annotated faster than written.
"""

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast

from spacy.language import Language
from spacy.tokens import Doc, DocBin

from spacy_ssvm.files import replacing

#: The columns that are added: the Doc in spaCy's JSON, and what went wrong where there is none.
DOC, ERROR = "doc", "error"
_LINE = "line"  # of JSON, with all columns

_READERS = {".jsonl": "read_json", ".parquet": "read_parquet", ".txt": "read_text"}
_OUTPUTS = (".jsonl", ".parquet")
_ROWS = 512  # that a process annotates at a time
_CHARACTERS = 2**22  # of the texts whose words are kept, and of those of a memory zone

Load = Callable[[], Language]


class Annotator:
    """A process with a pipeline.

    load: returns it. column: of the texts. as_lines: whether rows become lines of JSON.
    """

    def __init__(self, load: Load, column: str, *, as_lines: bool) -> None:
        self._nlp, self._column, self._as_lines = load(), column, as_lines
        self._zone, self._characters = ExitStack(), 0

    def __call__(self, rows: Any) -> Any:
        """Rows, a table of pyarrow, with what the pipeline writes; errors of a text are in its row.

        Of lines, there is one column with them, beside that of errors.
        Raises ValueError where the rows have no column of texts, or have one that is added.
        """
        import pyarrow as pa

        names = rows.column_names
        if self._column not in names:
            raise ValueError(f"no column '{self._column}' but {', '.join(names)}: see --column")
        for name in {DOC, ERROR}.intersection(names):
            raise ValueError(f"the rows have a column '{name}' already: rename it")
        texts = rows.column(self._column).to_pylist()
        docs, errors = self._annotate(texts)
        added = {DOC: docs, ERROR: errors}
        if self._as_lines:
            lines = [
                _line(row, docs.get(i), errors.get(i)) for i, row in enumerate(rows.to_pylist())
            ]
            rows, added = pa.table({_LINE: lines}), {ERROR: errors}
        for name, found in added.items():
            values = [found.get(i) for i in range(len(texts))]
            rows = rows.append_column(name, pa.array(values, type=pa.string()))
        return rows

    def _annotate(self, texts: list[Any]) -> tuple[dict[int, str], dict[int, str]]:
        """The Docs of texts in JSON, and what went wrong, by the number of the text."""
        errors: dict[int, str] = {}
        for i, text in enumerate(texts):
            if not isinstance(text, str):
                errors[i] = f"not a text but {type(text).__name__}"
            elif len(text) > self._nlp.max_length:
                errors[i] = f"longer than {self._nlp.max_length:,} characters (nlp.max_length)"

        def fail(name: str, pipe: Any, docs: list[Doc], error: Exception) -> None:  # noqa: ARG001
            for doc in docs:
                errors[doc._context] = f"{name}: {error}"

        self._nlp.set_error_handler(cast(Any, fail))
        pairs = [(text, i) for i, text in enumerate(texts) if i not in errors]
        docs = {
            i: json.dumps(doc.to_json(), ensure_ascii=False)
            for doc, i in self._nlp.pipe(pairs, as_tuples=True)
        }
        self._bound_words(sum(len(text) for text, _ in pairs))
        return docs, errors

    def _bound_words(self, characters: int) -> None:
        """Forget words once texts of so many more characters have had enough new ones.

        The words of the first texts, which have the frequent ones, are kept: in a memory zone,
        spaCy's tokenizer takes several times as long for a word that is new there.
        """
        self._characters += characters
        if self._characters > _CHARACTERS:
            self._zone.close()
            self._zone.enter_context(self._nlp.memory_zone())
            self._characters = 0


def _line(row: dict[str, Any], doc: str | None, error: str | None) -> str:
    """A row as a line of JSON; the Doc is JSON already."""
    to_json = partial(json.dumps, ensure_ascii=False, default=str)
    columns = to_json(row).removesuffix("}")
    return f'{columns}, "{DOC}": {doc or "null"}, "{ERROR}": {to_json(error)}}}\n'


def read(data: Any, source: Path) -> tuple[Any, str]:
    """The rows of a file, or of all files of a folder in the order of their paths.

    data: the module ``ray.data``. Returns the dataset, and the usual column of the texts.
    Raises ValueError for no files, and for those that are not all of one known format.
    """
    files = [source]
    if source.is_dir():
        found = (path for path in source.rglob("*") if path.is_file())
        files = sorted(path for path in found if not path.name.startswith("."))
    endings = {path.suffix for path in files}
    known = (*_READERS, ".spacy")
    if len(endings) != 1 or not endings <= {*known}:
        has = "files that end in " + ", ".join(map(repr, sorted(endings))) if files else "no files"
        raise ValueError(f"{source}: {has}. Give one of {', '.join(known)}, or a folder of them")
    (ending,) = endings
    paths = [str(path.resolve()) for path in files]
    if ending == ".spacy":
        return data.from_items([{"path": path} for path in paths]).flat_map(_texts), "text"
    options = {"lines": True} if ending == ".jsonl" else {}
    return getattr(data, _READERS[ending])(paths, **options), "text"


def _texts(row: dict[str, str]) -> list[dict[str, str]]:
    """The texts of a .spacy file."""
    docs = DocBin().from_disk(row["path"]).get_docs(Language().vocab)
    return [{"text": doc.text} for doc in docs]


def annotate(
    data: Any, source: Path, output: Path, load: Load, *, column: str | None, workers: int
) -> Iterator[tuple[int, int]]:
    """Annotate the texts of a source; yields how many rows of a block have Docs, and how many none.

    data: the module ``ray.data``. column: of the texts; None for "text".
    The output, which ends in .jsonl or .parquet, is there once all is written.
    Raises ValueError for files of unknown formats.
    """
    if output.suffix not in _OUTPUTS:
        raise ValueError(f"the output, {output}, must end in {' or '.join(_OUTPUTS)}")
    context = data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    rows, usual = read(data, source)
    annotated = rows.map_batches(
        Annotator,
        fn_constructor_args=(load, column or usual),
        fn_constructor_kwargs={"as_lines": output.suffix == ".jsonl"},
        batch_size=_ROWS,
        batch_format="pyarrow",
        # Those that read need processors, too.
        compute=data.ActorPoolStrategy(min_size=1, max_size=workers),
        num_cpus=1,
    )
    with replacing(output) as file, _writer(file) as write:
        for table in annotated.iter_batches(batch_size=None, batch_format="pyarrow"):
            write(table)
            with_doc = table.column(ERROR).null_count
            yield with_doc, table.num_rows - with_doc


@contextmanager
def _writer(file: Path) -> Iterator[Callable[[Any], None]]:
    """What writes tables to a file, one after another."""
    if file.suffix == ".jsonl":
        with file.open("w", encoding="utf8") as lines:

            def write_lines(table: Any) -> None:
                lines.writelines(table.column(_LINE).to_pylist())

            yield write_lines
        return
    import pyarrow.parquet as pq

    opened: list[Any] = []
    try:

        def write_table(table: Any) -> None:
            if not opened:
                opened.append(pq.ParquetWriter(file, table.schema))
            opened[0].write_table(table.cast(opened[0].schema))

        yield write_table
    finally:
        for writer in opened:
            writer.close()
