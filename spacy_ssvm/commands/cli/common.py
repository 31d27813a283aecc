"""What the commands share: messages instead of tracebacks, and options of several of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from click import ClickException
from spacy.cli._util import import_code, parse_config_overrides
from spacy.util import get_lang_class
from thinc.config import Config, ConfigValidationError
from wasabi import msg

Code = Annotated[
    Path | None, typer.Option("--code", "-c", help="Python file to import first", exists=True)
]


Model = Annotated[str, typer.Argument(help="Trained pipeline: a folder, or a package's name")]
Shown = Annotated[str | None, typer.Option("--components", help="Comma-separated; by default all")]
Output = Annotated[Path, typer.Option("--output", "-o", help="Folder to write to", file_okay=False)]
Languages = Annotated[str, typer.Option(help="Language by whose rules texts are tokenized")]
AsWords = Annotated[
    bool,
    typer.Option(
        "--words", help="Take the syntactic words of CoNLL-U as tokens, for pre-tokenized texts"
    ),
]


MANY = 10  #: things that are shown one by one


@contextmanager
def show_errors(title: str) -> Iterator[None]:
    """End the command with a message instead of a traceback for invalid input."""
    try:
        yield
        return
    except ConfigValidationError as error:
        reason = error.from_error(error, show_config=False).text.strip()
    except ClickException as error:
        reason = error.format_message()
    except (OSError, ValueError) as error:
        reason = str(error)
    msg.fail(title, reason, exits=1)


@contextmanager
def need_extra(title: str, extra: str = "compare") -> Iterator[None]:
    """End the command with a message where an import needs an extra."""
    try:
        yield
        return
    except ImportError as error:
        reason = f'{error.name} is missing: pip install "spacy-ssvm[{extra}]"'
    msg.fail(title, reason, exits=1)


def load_config(file: Path, context: typer.Context, code: Path | None) -> Config:
    """The config of a training, with the settings of the command line, after importing code.

    Raises ValueError for a config without a pipeline, components or training.
    """
    from spacy.util import load_config

    import_code(code)
    config = load_config(file, overrides=parse_config_overrides(context.args))
    for section, key in (("nlp", "pipeline"), ("components", None), ("training", None)):
        if section not in config or (key and key not in config[section]):
            missing = f"[{section}]" if key is None else f"{key} in [{section}]"
            raise ValueError(f"{file} is not a config for 'spacy train': it has no {missing}")
    return config


def read_names(what: str, text: str | None, known: list[str]) -> list[str]:
    """Comma-separated names of solvers or methods, each once; all that are known for None.

    Case does not matter. Raises ValueError for a name that is not known.
    """
    if text is None:
        return known
    spellings = {name.lower(): name for name in known}
    names = []
    for given in text.split(","):
        name = spellings.get(given.strip().lower())
        if name is None:
            raise ValueError(f"there is no {what} '{given}': choose one of {', '.join(known)}")
        names.append(name)
    return [*dict.fromkeys(names)]


def split_names(names: str | None) -> list[str] | None:
    """Comma-separated names, each once."""
    return None if names is None else [*dict.fromkeys(map(str.strip, names.split(",")))]


def check_language(lang: str) -> None:
    """Raise ValueError for a code that is not one of spaCy's languages."""
    try:
        get_lang_class(lang)
    except ImportError as error:
        raise ValueError(f"'{lang}' is not the code of a language that spaCy has") from error


def check_tokenizer(lang: str) -> None:
    """Raise ValueError for a code of no language, and where what its tokenizer needs is missing."""
    check_language(lang)
    try:
        get_lang_class(lang)()
    except (ImportError, OSError) as error:
        raise ValueError(f"the tokenizer of '{lang}' cannot be loaded: {error}") from error


def check_new(file: str | Path, *, overwrite: bool) -> None:
    """Raise ValueError for a folder, and a file that is there already unless it may be replaced."""
    if Path(file).is_dir():
        raise ValueError(f"{file} is a folder: name a file")
    if Path(file).exists() and not overwrite:
        raise ValueError(f"{file} exists: give --overwrite to replace it, or another file")


def check_there(file: str | Path) -> None:
    """Raise ValueError for a file or folder that is not there."""
    if not Path(file).exists():
        raise ValueError(f"{file} does not exist")
