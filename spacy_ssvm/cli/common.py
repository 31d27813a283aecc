"""What the commands share: messages instead of tracebacks, and options of several of them."""

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer
from click import ClickException
from spacy.cli._util import import_code, parse_config_overrides
from spacy.util import get_lang_class
from thinc.config import Config, ConfigValidationError
from wasabi import msg

if TYPE_CHECKING:
    from spacy.language import Language

    from spacy_ssvm.commands.conversion.files import Settings
    from spacy_ssvm.commands.thresholds import Thresholds


def check_share(share: float) -> float:
    """Raise ValueError for what is no share of the texts."""
    if not 0 <= share <= 0.9:
        percent = f": {share:g} % are {share / 100:g}" if 1 <= share <= 90 else ""
        raise ValueError(f"{share:g} is no share of the texts, from 0 to 0.9{percent}")
    return share


def given_share(share: float | None) -> float | None:
    """The share that an option names."""
    try:
        return None if share is None else check_share(share)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


Code = Annotated[
    Path | None, typer.Option("--code", "-c", help="Python file to import first", exists=True)
]
Address = Annotated[
    str | None,
    typer.Option(help="A cluster's address, or auto; by default Ray starts on this machine"),
]
ConfigFile = Annotated[Path, typer.Argument(help="Config file, as for spacy train", exists=True)]
Model = Annotated[str, typer.Argument(help="Trained pipeline: a folder, or a package's name")]
Shown = Annotated[str | None, typer.Option(help="Comma-separated; by default all")]
Output = Annotated[Path, typer.Option("--output", "-o", help="Folder to write to", file_okay=False)]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace what the output has, if there is any")
]
Target = Annotated[
    Path | None,
    typer.Option(help="The translation of the text, line by line, for a word aligner", exists=True),
]
Alignment = Annotated[
    Path | None, typer.Option(help="Gold links, such as 0-0 1-2, line by line", exists=True)
]
Languages = Annotated[str, typer.Option(help="Language by whose rules texts are tokenized")]
Encoding = Annotated[str, typer.Option(help="Encoding of the files: utf8, latin-1, ...")]


class Units(str, Enum):
    """What offsets count."""

    characters = "characters"
    utf16 = "utf-16"


def file_settings(
    word: Annotated[int, typer.Option(help="Column of the words, counted from 0")] = 0,
    span: Annotated[int, typer.Option(help="Column of the spans; -1 is the last")] = -1,
    tag: Annotated[int | None, typer.Option(help="Column of the part-of-speech tags")] = None,
    spans_key: Annotated[
        str | None, typer.Option(help="Write doc.spans under this key, not doc.ents")
    ] = None,
    sentences: Annotated[
        int | None,
        typer.Option(
            help="Sentences in a Doc of columns (1) or CoNLL-U (10); 0: documents as marked",
            min=0,
        ),
    ] = None,
    encoding: Encoding = "utf8",
    words: Annotated[
        bool,
        typer.Option(
            "--words", help="Take the syntactic words of CoNLL-U as tokens, for pre-tokenized texts"
        ),
    ] = False,
    split: Annotated[
        bool,
        typer.Option(
            "--split", help="Divide multiword tokens of CoNLL-U, for a tokenizer that is learned"
        ),
    ] = False,
    offsets: Annotated[
        Units, typer.Option(help="What offsets count; utf-16 for those of JavaScript")
    ] = Units.characters,
) -> "Settings":
    """How annotated files are read: the options of all commands that read them."""
    from spacy_ssvm.commands.conversion.files import Settings

    if words and split:
        raise typer.BadParameter("it does not go with --words", param_hint="--split")
    utf16 = offsets is Units.utf16
    return Settings(word, span, tag, spans_key, sentences, encoding, words, split, utf16)


#: The names of these options.
FILE_OPTIONS = (*inspect.signature(file_settings).parameters,)


def reads_files(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of ``file_settings``, in place of its parameter ``settings``."""
    options = inspect.signature(file_settings).parameters.values()
    own = inspect.signature(command).parameters.values()

    def run(**arguments: Any) -> None:
        given = {name: arguments.pop(name) for name in FILE_OPTIONS}
        command(settings=file_settings(**given), **arguments)

    return _replacing(command, run, [*(each for each in own if each.name != "settings"), *options])


def needing(option: str, *names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Refuse parameters of a command without an option, which their help texts then name."""

    def explained(parameter: inspect.Parameter) -> inspect.Parameter:
        if parameter.name not in names:
            return parameter
        kind, info = get_args(parameter.annotation)
        own = copy(info)
        own.help = f"With --{option}: {info.help[0].lower()}{info.help[1:]}"
        return parameter.replace(annotation=Annotated[kind, own])

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        def run(**arguments: Any) -> None:
            if not arguments[option]:
                refuse(arguments["context"], names, f"it needs --{option}")
            command(**arguments)

        return _replacing(
            command, run, map(explained, inspect.signature(command).parameters.values())
        )

    return decorate


def _replacing(
    command: Callable[..., None], run: Callable[..., None], parameters: Iterable[inspect.Parameter]
) -> Callable[..., None]:
    """A function in place of a command, with these parameters."""
    functools.update_wrapper(run, command)
    signature = inspect.Signature([*parameters])
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in signature.parameters.values()}
    return run


def refuse(context: typer.Context, names: Iterable[str], reason: str) -> None:
    """End the command where one of its parameters is given that would do nothing."""
    parameters: Any = context.command.params
    for each in parameters:
        source = context.get_parameter_source(each.name)
        is_given = source is not None and source.name == "COMMANDLINE"
        if each.name in names and is_given and context.params[each.name] not in ((), [], None):
            raise typer.BadParameter(reason, context, each)


Strict = Annotated[
    bool,
    typer.Option("--strict", help="Stop, with a list, where records or spans cannot be used"),
]


MANY = 10  #: things that are shown one by one


def load_pipeline(model: str, code: Path | None, component: str | None = None) -> "Language":
    """A trained pipeline, after importing code. Raises the errors of ``pipelines.load_pipeline``.

    Its factories, and what its templates read, may be those of the code.
    """
    from spacy_ssvm.commands import pipelines

    import_code(code)
    return pipelines.load_pipeline(model, component)


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
    first, *lines = reason.split("\n")
    msg.fail(title, first)
    print("\n".join(lines), end="\n" if lines else "")
    raise SystemExit(1)


@contextmanager
def need_extra(title: str, extra: str = "compare") -> Iterator[None]:
    """End the command with a message where an import needs an extra."""
    try:
        yield
        return
    except ImportError as error:
        reason = f'{error.name} is missing: pip install "spacy-ssvm[{extra}]"'
    msg.fail(title, reason, exits=1)


def show_thresholds(found: "Sequence[Thresholds]") -> None:
    """Print precision and recall by threshold, of components for spans."""
    from spacy_ssvm.commands.thresholds import HEADER

    for own in found:
        msg.table(own.table, header=HEADER, aligns=("l", "r", "r", "r", "r"), divider=True)
        print(own.note)


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


def check_page(file: Path) -> None:
    """Raise ValueError for what is no name of a page."""
    if file.suffix != ".html" or file.is_dir():
        raise ValueError(f"the page, {file}, must be a file that ends in .html")


def check_there(file: str | Path) -> None:
    """Raise ValueError for a file or folder that is not there."""
    if not Path(file).exists():
        raise ValueError(f"{file} does not exist")
