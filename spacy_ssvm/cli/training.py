"""Commands from examples to a pipeline: train, init, swap, jackknife."""

import re
from collections.abc import Callable, Collection, Sequence
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from spacy.cli._util import import_code, parse_config_overrides
from wasabi import msg

from spacy_ssvm.cli.common import (
    Address,
    Code,
    ConfigFile,
    Languages,
    Model,
    Output,
    Overwrite,
    Shown,
    Strict,
    check_new,
    check_share,
    check_there,
    check_tokenizer,
    load_config,
    load_pipeline,
    reads_files,
    show_errors,
    show_thresholds,
    split_names,
)
from spacy_ssvm.cli.data import refuse_left_out, show_left_out, show_treebanks

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

    from spacy_ssvm.commands.conversion.files import Settings
    from spacy_ssvm.commands.jackknife import Predicted
    from spacy_ssvm.commands.recipes.annotation import Annotation
    from spacy_ssvm.commands.recipes.config import Resources
    from spacy_ssvm.commands.recipes.training import Corpus, TrainingFolder

_Gazetteers = Annotated[
    list[str] | None,
    typer.Option("--gazetteer", help="TYPE=FILE: a list of names for ner, one a line (repeatable)"),
]
_Data = Annotated[
    list[str],
    typer.Argument(help="Annotated files, as for convert; or a folder with train.spacy"),
]
_Dev = Annotated[
    list[str] | None,
    typer.Option(
        "--dev",
        help="Files by which the best epoch is chosen (repeatable), or a share; by default 0.1",
    ),
]
_Seed = Annotated[int, typer.Option(help="Seed of the share")]
_Folds = Annotated[
    int,
    typer.Option(help="Models that annotate examples where components learn from others", min=2),
]
_Clusters = Annotated[
    str | None,
    typer.Option(help="Word clusters: a file, or none; by default those of spacy-lookups-data"),
]
_Dictionary = Annotated[
    str | None,
    typer.Option(
        help="Lemmas of words, for tags and lemmas: a file, or none; by default those of "
        "spacy-lookups-data"
    ),
]


class Tokenizers(str, Enum):
    """How a new pipeline cuts text into tokens."""

    learned = "learned"
    rules = "rules"


_Tokenizer = Annotated[
    Tokenizers | None,
    typer.Option(
        help="Cut text as the examples do (learned), or by spaCy's rules; by default learned where "
        "train reads CoNLL-U, and where the rules cut other texts otherwise"
    ),
]
_NewTokenizer = Annotated[
    Tokenizers | None,
    typer.Option(
        help="Replace the tokenizer, too, by one that cuts text as the examples do (learned), or "
        "by spaCy's rules; by default it stays"
    ),
]
_Components = Annotated[
    str | None,
    typer.Option(help="Comma-separated, such as tagger,parser; by default all that can learn"),
]

_TRIED = 3  #: Docs that a new pipeline annotates once, for its kernels


@reads_files
def train(
    data: _Data,
    output: Output,
    settings: "Settings",
    dev: _Dev = None,
    components: _Components = None,
    lang: Languages = "en",
    gazetteer: _Gazetteers = None,
    clusters: _Clusters = None,
    dictionary: _Dictionary = None,
    tokenizer: _Tokenizer = None,
    folds: _Folds = 5,
    seed: _Seed = 0,
    source: Annotated[
        str | None,
        typer.Option(
            "--from", help="Trained pipeline of this package to train further: a folder, or a name"
        ),
    ] = None,
    overwrite: Overwrite = False,
    code: Code = None,
    strict: Strict = False,
) -> None:
    """Train a pipeline on annotated files in one go, and print its scores.

    Does what convert, init, jackknife, spacy train and report do one by one, and leaves what they
    write in the output folder: corpus/, config.cfg, model-best. Components that learn from others,
    such as a parser from tags, are trained on annotations of models that have not seen the same
    texts. A parser gets a senter before it, where the files have sentences. The tokenizer learns to
    cut text as treebanks do, and multiword tokens of CoNLL-U into their words (--tokenizer rules
    leaves them whole). Settings of the config can be overridden as for spacy train:
    --training.max_epochs 5.

    Three files, SOURCE TARGET LINKS, a sentence a line and its links such as 0-0 1-2, train a word
    aligner; --dev is then given three times. --paths.bitext_source and --paths.bitext_target name
    further parallel texts without links.

    With --from, the components of a trained pipeline that can learn from the files learn on, new
    labels included; the others, the tokenizer, and that pipeline itself, stay as they are.

    \b
    Examples:
      python -m spacy ssvm train annotated.jsonl --output model
      python -m spacy ssvm train train.conllu --dev dev.conllu --output model --lang de
      python -m spacy ssvm train corpus --components ner --gazetteer PER=people.txt -o model
      python -m spacy ssvm train text.en text.cs text.align --output aligner
      python -m spacy ssvm train new.jsonl --from model/model-best --output further
    """
    import time

    from spacy_ssvm.align.reader import are_parallel
    from spacy_ssvm.commands.recipes import training
    from spacy_ssvm.commands.recipes.annotation import find_annotation
    from spacy_ssvm.commands.recipes.config import (
        check_settings,
        describe,
        make_config,
        next_commands,
        with_senter,
        write_config,
    )
    from spacy_ssvm.commands.report import measure
    from spacy_ssvm.components.json_records import ending_of

    start = time.perf_counter()
    with show_errors("Cannot train"):
        files, overrides = _files_and_overrides(data)
        held_out, share = _dev_files(dev)
        import_code(code)
        folder = training.TrainingFolder(output)
        own = [Path(source)] if source is not None and Path(source).exists() else []
        folder.check([*files, *held_out, *own], overwrite=overwrite)
        if are_parallel(files):
            from spacy_ssvm.cli.further import train_aligner

            options = {
                "--from": source,
                "--components": components,
                "--gazetteer": gazetteer,
                "--tokenizer": tokenizer,
            }
            refused = [name for name, value in options.items() if value]
            if refused:
                raise ValueError(f"a word aligner, of SOURCE TARGET LINKS, takes no {refused[0]}")
            train_aligner(folder, files, overrides, dev=held_out, share=share, seed=seed)
            return
        if source is not None:
            from spacy_ssvm.cli.further import train_further

            train_further(
                source,
                folder,
                files,
                overrides,
                settings,
                dev=held_out,
                share=share,
                seed=seed,
                components=components,
                has_tokenizer=tokenizer is not None,
                has_resources=bool(gazetteer) or not {clusters, dictionary} <= {None, "none"},
                strict=strict,
            )
            return
        check_tokenizer(lang)
        resources = _resources(gazetteer, clusters, dictionary, lang)
        read = partial(training.read_corpus, files, held_out, lang, share=share, seed=seed)
        are_treebanks = not settings.as_words and {*map(ending_of, files)} == {".conllu"}
        may_learn = tokenizer is Tokenizers.learned or (tokenizer is None and are_treebanks)
        corpus = read(settings._replace(divides_all=True) if may_learn else settings)
        learns_tokens = _learns_tokens(tokenizer, lang, corpus.train, are_treebanks=are_treebanks)
        if may_learn and not learns_tokens:  # tokens are to be those of the rules
            corpus = read(settings)
        show_corpus(corpus, folder.left_out, strict=strict)
        annotation = find_annotation(corpus.train)
        names = with_senter(_names_of(components, annotation), annotation)
        show_annotation(annotation, names)
        show_resources(lang, names, resources)
        config = make_config(
            lang,
            names,
            has_spaces=annotation.has_spaces,
            many_tags=annotation.many_tags,
            learns_tokens=learns_tokens,
            resources=resources,
            train=folder.train,
            dev=folder.dev,
        )
        check_settings(config, overrides)
        training.check_corpus(names, corpus)
        _show_cost(names, corpus, overrides, folds, resources, learns_tokens=learns_tokens)
        with folder.cleared_on_error():
            folder.write(corpus)
            commands = next_commands(folder.config, names, folds=folds)
            write_config(folder.config, config, describe(names, commands))
            folder.write_annotated(_jackknife(folder, names, corpus, overrides, folds))
            training.train(folder, overrides)
        measured = measure(str(folder.best), folder.dev)
        use_new_pipeline(measured.nlp, corpus)
    msg.table(measured.rows, divider=False)
    show_thresholds(measured.thresholds)
    msg.good(f"Trained in {time.perf_counter() - start:.0f} s", str(folder.best))
    msg.info("Next: see what it gets wrong, and why")
    print(f"python -m spacy ssvm show {folder.best} {folder.dev} --errors --html errors.html")


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
    lang: Languages = "en",
    gazetteer: _Gazetteers = None,
    clusters: _Clusters = None,
    dictionary: _Dictionary = None,
    tokenizer: _Tokenizer = None,
    overwrite: Overwrite = False,
) -> None:
    """Write a complete config for spacy train, with comments, for what your examples annotate.

    There are these components: tagger (TAG), pos_tagger (POS), morphologizer (POS and MORPH),
    lemmatizer (LEMMA), senter, parser, ner, chunker and sentence_labeler. Prints the commands that
    come next.

    \b
    Examples:
      python -m spacy ssvm init
      python -m spacy ssvm init config.cfg --train corpus/train.spacy --dev corpus/dev.spacy
      python -m spacy ssvm init ner.cfg --components ner --lang de --gazetteer PER=people.txt
    """
    from spacy.vocab import Vocab

    from spacy_ssvm.commands.recipes.annotation import find_annotation
    from spacy_ssvm.commands.recipes.config import (
        describe,
        make_config,
        next_commands,
        write_config,
    )
    from spacy_ssvm.components.annotated_corpus import read_docs

    is_asked = output is None
    with show_errors("Cannot write a config"):
        if is_asked:
            train = Path(_ask("Examples to learn from, a .spacy file", None, _check_examples))
            dev = Path(
                _ask(
                    "Examples by which the best epoch is chosen, a .spacy file",
                    None,
                    _check_examples,
                )
            )
            lang = _ask("Language", lang, check_tokenizer)
        check_tokenizer(lang)
        annotation, docs = None, list["Doc"]()
        if train is not None:
            docs = [filed.doc for filed in read_docs(train, Vocab())]
            annotation = find_annotation(docs)
            show_annotation(annotation, annotation.suggested)
        if is_asked:
            found = ",".join(_names_of(None, annotation))
            components = _ask("Components", found, lambda text: _names_of(text, annotation))
            output = Path(
                _ask("Config to write", "config.cfg", partial(_check_config, overwrite=overwrite))
            )
        assert output is not None
        names = _names_of(components, annotation)
        _check_config(output, overwrite=overwrite)
        resources = _resources(gazetteer, clusters, dictionary, lang)
        show_resources(lang, names, resources)
        config = make_config(
            lang,
            names,
            has_spaces=annotation is None or annotation.has_spaces,
            many_tags=() if annotation is None else annotation.many_tags,
            learns_tokens=_learns_tokens(tokenizer, lang, docs),
            resources=resources,
            train=train,
            dev=dev,
        )
        given = {"train": train, "dev": dev}
        missing = [name for name, path in given.items() if path is None]
        commands = next_commands(output, names, missing=missing)
        write_config(output, config, describe(names, commands))
    msg.good("Wrote a config", str(output))
    print("\n".join(commands))


@reads_files
def swap(
    model: Model,
    data: _Data,
    components: Annotated[str, typer.Option(help="Comma-separated, such as parser,tagger")],
    output: Output,
    settings: "Settings",
    dev: _Dev = None,
    gazetteer: _Gazetteers = None,
    clusters: _Clusters = None,
    dictionary: _Dictionary = None,
    tokenizer: _NewTokenizer = None,
    folds: _Folds = 5,
    seed: _Seed = 0,
    overwrite: Overwrite = False,
    code: Code = None,
    strict: Strict = False,
) -> None:
    """Replace components of a trained pipeline by those of this package, trained on your data.

    The other components are taken over as they are, and the tokenizer, unless --tokenizer replaces
    it. A parser gets a senter before it where nothing else finds sentences. Prints scores and speed
    of both pipelines on the same texts; those of the old one mean little where it was trained on
    other labels. Settings of the new components can be overridden as for spacy train:
    --training.max_epochs 5.

    \b
    Example:
      python -m spacy ssvm swap en_core_web_sm train.conllu --dev dev.conllu \\
        --components parser --output model
    """
    import time

    from spacy_ssvm.commands.recipes import swap as swapping
    from spacy_ssvm.commands.recipes import training
    from spacy_ssvm.commands.recipes.annotation import find_annotation
    from spacy_ssvm.commands.recipes.config import (
        check_settings,
        has_tokenizer_that_learns,
        write_config,
    )

    start = time.perf_counter()
    with show_errors("Cannot swap components"):
        files, overrides = _files_and_overrides(data)
        held_out, share = _dev_files(dev)
        folder = training.TrainingFolder(output)
        own = [Path(model)] if Path(model).exists() else []
        folder.check([*files, *held_out, *own], overwrite=overwrite)
        nlp = load_pipeline(model, code)
        lang = str(nlp.lang)
        resources = _resources(gazetteer, clusters, dictionary, lang)
        keeps = tokenizer is None and has_tokenizer_that_learns(nlp)
        if keeps or tokenizer is Tokenizers.learned:
            settings = settings._replace(divides_all=True)
        corpus = training.read_corpus(files, held_out, lang, settings, share=share, seed=seed)
        learns_tokens = keeps
        if tokenizer is not None:
            learns_tokens = _learns_tokens(tokenizer, lang, corpus.train)
        show_corpus(corpus, folder.left_out, strict=strict)
        annotation = find_annotation(corpus.train)
        names = swapping.components_to_swap(nlp, split_names(components) or [], annotation)
        show_annotation(annotation, names)
        for other in swapping.overwriting_components(nlp, names):
            msg.warn(f"'{other}' may replace the parts of speech of the new components")
        config = swapping.config_of_new(
            nlp,
            names,
            annotation,
            learns_tokens=learns_tokens,
            resources=resources,
            train=folder.train,
            dev=folder.dev,
        )
        check_settings(config, overrides)
        training.check_corpus(names, corpus)
        _show_cost(names, corpus, overrides, folds, resources, nlp, learns_tokens=learns_tokens)
        own_scores = swapping.scores_of_new(nlp, config, names)
        title = f"The pipeline {model}, with new components: {', '.join(names)}"
        with folder.cleared_on_error():
            folder.write(corpus)
            write_config(folder.config, config, title)
            before = swapping.annotate_before(nlp, names, corpus.train, corpus.dev)
            found = _jackknife(folder, names, corpus, overrides, folds, before)
            annotated, annotations = swapping.annotate_between(nlp, names, corpus.train, found)
            folder.write_annotated(annotated)
            config = swapping.swapped_config(
                config, nlp, model, names, annotations, keeps_tokenizer=tokenizer is None
            )
            write_config(folder.config, config, title)
            training.train(folder, overrides)
        for saved in (folder.best, folder.last):
            swapping.keep_meta(saved, nlp)
        swapped = load_pipeline(str(folder.best), None)
        use_new_pipeline(swapped, corpus)
        rows, fallen = swapping.compare(nlp, swapped, own_scores, folder.dev)
    msg.table(rows, header=("", model, str(folder.best)), aligns=("l", "r", "r"), divider=True)
    for text in fallen:
        msg.warn(text)
    others = swapping.trained_on_other_tokens(swapped, names) if tokenizer else []
    if others:
        share = swapping.share_of_other_tokens(nlp, swapped, corpus.dev)
        msg.warn(
            f"{', '.join(others)} learned from the tokens of the old tokenizer, which cuts "
            f"{100 * share:.1f} % of the tokens otherwise"
        )
    if fallen:
        msg.info("Components that stay read what the new ones write: docs/migrating.md")
    for name in swapping.idle_components(swapped):
        msg.info(
            f"No component reads '{name}' any more: nlp.remove_pipe(\"{name}\") makes the pipeline "
            "faster, unless you use doc.tensor"
        )
    msg.good(f"Swapped {', '.join(names)} in {time.perf_counter() - start:.0f} s", str(folder.best))


def jackknife(
    context: typer.Context,
    config: ConfigFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="The .spacy file to write")],
    folds: Annotated[int, typer.Option(help="Number of folds, and of models to train")] = 10,
    components: Shown = None,
    following: Annotated[
        str | None,
        typer.Option("--next", help="Comma-separated: those that read what the others predict"),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            "-n",
            help="Folds that are trained at a time, by processes of Ray, which need the extra ray",
            min=1,
        ),
    ] = None,
    address: Address = None,
    overwrite: Overwrite = False,
    code: Code = None,
) -> None:
    """Annotate the training corpus by cross-validation: jackknifing.

    No text is annotated by a model that has seen it.

    Each model is trained on all folds but one, as spacy train does, and annotates that one. With
    --next, a second round of models learns from the predictions of the first, and adds its own.
    Writes the Docs of the training corpus in their order with predicted annotations, for the
    reader spacy_ssvm.AnnotatedCorpus.v1, and prints the scores of each fold. Settings can be
    overridden as for spacy train.

    \b
    Example:
      python -m spacy ssvm jackknife tagger.cfg --output corpus/tagged.spacy \\
        --paths.train corpus/train.spacy --paths.dev corpus/dev.spacy
    """
    from tqdm import tqdm

    from spacy_ssvm.cli.cluster import folds_at_a_time
    from spacy_ssvm.commands.jackknife import make_rounds
    from spacy_ssvm.components.annotated_corpus import write_docs

    tables = []
    with show_errors("Cannot jackknife"):
        if output.suffix != ".spacy" or output.is_dir():
            raise ValueError(f"the output, {output}, must be a file that ends in .spacy")
        check_new(output, overwrite=overwrite)
        settings = load_config(config, context, code)
        rounds = [split_names(components) or [], *filter(None, [split_names(following)])]
        jackknives = make_rounds(settings, folds, rounds)
        for path in (jackknives[0].path, jackknives[0].dev_path):
            if output.resolve().is_relative_to(path.resolve()):
                raise ValueError(f"the output, {output}, would become part of the corpus {path}")
        output.parent.mkdir(parents=True, exist_ok=True)
        with (
            folds_at_a_time(workers, address, code) as each,
            tqdm(total=folds * len(jackknives), unit="fold", disable=None) as progress,
        ):
            for jackknife in jackknives:
                rows = []
                for fold in jackknife.run(each):
                    scores = ("-" if x is None else f"{100 * x:.2f}" for x in fold.scores.values())
                    tokens = sum(map(len, fold.docs))
                    rows.append((fold.number + 1, len(fold.docs), tokens, *scores))
                    progress.update()
                tables.append((("fold", "Docs", "tokens", *fold.scores), rows))
        write_docs(output, jackknives[-1].found)
    for header, rows in tables:
        msg.table(rows, header=header, aligns=("r",) * len(header), divider=True)
    msg.good(f"Annotated {len(jackknives[-1].found)} Docs", str(output))


def _check_examples(file: str) -> None:
    """Raise ValueError for what is no .spacy file, nor a folder."""
    check_there(file)
    if Path(file).is_file() and Path(file).suffix != ".spacy":
        raise ValueError(
            f"{file} is no .spacy file: 'python -m spacy ssvm convert' makes one of it"
        )


def _check_config(file: str | Path, *, overwrite: bool) -> None:
    """Raise ValueError where a config cannot be written to a file."""
    if Path(file).suffix != ".cfg":
        raise ValueError(f"the config, {file}, must be a file that ends in .cfg")
    check_new(file, overwrite=overwrite)


def _ask(question: str, default: str | None, check: Callable[[str], object]) -> str:
    """An answer from the keyboard; asks again where the check raises ValueError."""

    def checked(answer: str) -> str:
        try:
            check(answer)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error
        return answer

    answer: str = typer.prompt(question, default=default, value_proc=checked)
    return answer


def _files_and_overrides(data: list[str]) -> tuple[list[Path], dict[str, Any]]:
    """The files, and the settings of a config, among arguments: --training.max_epochs 5."""
    files: list[Path] = []
    settings: list[str] = []
    rest = [*data]
    while rest:
        argument = rest.pop(0)
        if not argument.startswith("--"):
            files.append(Path(argument))
            continue
        settings.append(argument)
        if "=" not in argument and rest and not rest[0].startswith("--"):
            settings.append(rest.pop(0))
    for file in files:
        check_there(file)
    overrides = parse_config_overrides([*settings])
    for key in overrides:
        if key.startswith(("paths.train", "paths.dev", "paths.annotated")):
            raise ValueError(f"--{key}: name the files as arguments, and those of dev with --dev")
    if not files:
        hint = (
            f": {settings[1]} was read as the value of {settings[0]}" if len(settings) > 1 else ""
        )
        raise ValueError(f"name a file of annotated examples{hint}")
    return files, overrides


def _dev_files(dev: list[str] | None, share: float = 0.1) -> tuple[list[Path], float]:
    """The files of dev, and the share of the texts where there are none: --dev 0.2 names one."""
    given = dev or []
    if len(given) == 1 and re.fullmatch(r"\d*\.?\d+", given[0]) and not Path(given[0]).exists():
        return [], check_share(float(given[0])) or share
    for file in given:
        check_there(file)
    return [*map(Path, given)], share


def _resources(
    gazetteers: list[str] | None, clusters: str | None, dictionary: str | None, lang: str
) -> "Resources":
    """What components read besides examples. Raises ValueError for files that are not there."""
    from spacy_ssvm.commands.recipes.config import Resources, has_lemma_lookups, has_lookups

    lists: dict[str, str] = {}
    for given in gazetteers or []:
        kind, is_named, file = given.partition("=")
        if not kind or not is_named:
            raise ValueError(f"--gazetteer {given}: expected TYPE=FILE, such as PER=people.txt")
        lists[kind] = file
    own_clusters, own_dictionary = (
        None if file in (None, "none") else file for file in (clusters, dictionary)
    )
    for file in filter(None, (*lists.values(), own_clusters, own_dictionary)):
        if not Path(file).is_file():
            raise ValueError(f"{file} does not exist, or is not a file")
    return Resources(
        clusters=own_clusters,
        lookups=clusters is None and has_lookups(lang),
        gazetteers=lists or None,
        dictionary=own_dictionary,
        lemma_lookups=dictionary is None and has_lemma_lookups(lang),
    )


def _names_of(components: str | None, annotation: "Annotation | None") -> list[str]:
    """The components to learn, in the order of a pipeline."""
    from spacy_ssvm.commands.recipes.config import check_components

    chosen = split_names(components)
    if annotation is None:
        if chosen is None:
            raise ValueError("name the components with --components, or give examples with --train")
        return check_components(chosen)
    if chosen is None and not annotation.components:
        raise ValueError(
            "the examples have no annotation to learn from: no tags, trees, entities or spans, and "
            "no Doc with several sentences"
        )
    names = annotation.suggested if chosen is None else check_components(chosen)
    annotation.require(names)
    return names


def show_annotation(annotation: "Annotation", names: Collection[str]) -> None:
    """Show what components learn from."""
    header = ("component", "learns from", "examples")
    rows = [row for row in annotation.rows() if row[0] in names]
    msg.table(rows, header=header, divider=True, max_col=70)


def show_resources(lang: str, names: Collection[str], resources: "Resources") -> None:
    """Show what components read besides the examples, and what would help them."""
    from spacy_ssvm.commands.recipes.config import notes_on_resources

    for note in notes_on_resources(lang, names, resources):
        msg.info(note)


def show_corpus(corpus: "Corpus", left_out: Path | None = None, *, strict: bool = False) -> None:
    """Warn of what could not be used, and of what makes scores too good.

    left_out: the file that will list it. strict: raise ValueError for it.
    """
    if strict:
        refuse_left_out(corpus.converted)
    show_left_out(corpus.converted, left_out)
    show_treebanks(corpus.converted, left_out)
    if any(doc.has_unknown_spaces for doc in corpus.dev):
        msg.info("Scores are measured on gold tokens: it is not known where spaces are")
    if corpus.repeated:
        msg.warn(
            f"{corpus.repeated} of the {len(corpus.dev)} texts that scores are measured on are "
            "among those to learn from"
        )


def use_new_pipeline(nlp: "Language", corpus: "Corpus") -> None:
    """Leave nothing to compile to the commands that come next."""
    from spacy_ssvm.commands.warmup import use_once

    msg.info("Using all parts of the pipeline once, so that nothing is left to compile")
    use_once(nlp, corpus.dev[:_TRIED])


def _learns_tokens(
    wanted: Tokenizers | None,
    lang: str,
    docs: "Sequence[Doc]",
    *,
    are_treebanks: bool = False,
) -> bool:
    """Whether the tokenizer is to learn from the examples. Says so where nobody has asked for it.

    docs: the examples; empty where they are not known. Raises ValueError where it cannot learn.
    """
    import spacy

    from spacy_ssvm.commands.recipes.annotation import (
        CUT_OTHERWISE,
        is_as_written,
        share_cut_otherwise,
    )

    can_learn = is_as_written(docs)
    untold = (
        "the examples do not tell how text is cut, as nearly all of their punctuation stands "
        "between spaces"
    )
    if wanted is Tokenizers.learned and docs and not can_learn:
        raise ValueError(
            f"--tokenizer learned: {untold}. Name files with the texts as they were written, such "
            "as CoNLL-U with SpaceAfter=No, or use --tokenizer rules"
        )
    if wanted is not None:
        return wanted is Tokenizers.learned
    share = 0.0 if are_treebanks else share_cut_otherwise(spacy.blank(lang), docs)
    learns = can_learn and (are_treebanks or share > CUT_OTHERWISE)
    rules = "The tokenizer has spaCy's rules"
    if learns:
        msg.info("The tokenizer learns from the examples, too: --tokenizer rules for spaCy's rules")
    elif can_learn and share:
        msg.info(
            f"{rules}, which cut {share:.1%} of the tokens otherwise: --tokenizer learned to learn "
            "from the examples"
        )
    elif are_treebanks:
        msg.info(f"{rules}: {untold}")
    return learns


def _show_cost(
    names: list[str],
    corpus: "Corpus",
    overrides: dict[str, Any],
    folds: int,
    resources: "Resources",
    others: "Language | None" = None,
    *,
    learns_tokens: bool = False,
) -> None:
    """Say what the training will take, before it starts. others: run in each evaluation, too."""
    from spacy_ssvm.commands.recipes.training import cost_of

    reads_lookups = resources.lookups or resources.lemma_lookups
    cost = cost_of(
        names,
        corpus,
        overrides,
        folds,
        reads_lookups=reads_lookups,
        learns_tokens=learns_tokens,
        others=others,
    )
    first = (
        f"{cost.models} models of at most {cost.fold_epochs} epochs, which annotate the examples "
        "for components that learn from others (--folds 2: the fewest); then "
        if cost.models
        else ""
    )
    msg.info(
        f"To train: {first}{', '.join(names)}, at most {cost.epochs} epochs "
        "(--training.max_epochs 5: fewer)",
        f"All of it takes roughly {cost.seconds:.0f} s of processor time",
    )


def _jackknife(
    folder: "TrainingFolder",
    names: list[str],
    corpus: "Corpus",
    overrides: dict[str, Any],
    folds: int,
    predicted: "Predicted | None" = None,
) -> "Sequence[Doc] | None":
    """The examples annotated for components that learn from others, where there are some.

    predicted: annotations of other components, which the first models learn from.
    """
    from tqdm import tqdm

    from spacy_ssvm.commands.recipes import training

    jackknives = training.make_jackknives(folder, names, corpus, overrides, predicted, folds)
    models = sum(jackknife.folds for jackknife in jackknives)
    if models:
        msg.info("Annotating the examples by models that have not seen them")
    with tqdm(total=models, unit="model", disable=None if models else True) as progress:
        for jackknife in jackknives:
            for _ in jackknife.run():
                progress.update()
    last = jackknives[-1] if jackknives else predicted
    return last.found if last else None
