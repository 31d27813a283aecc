"""What else ``train`` does: pipelines that are trained further, and word aligners."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wasabi import msg

from spacy_ssvm.align import recipe as aligning
from spacy_ssvm.cli.common import show_errors, split_names
from spacy_ssvm.cli.training import show_annotation, show_corpus, use_new_pipeline
from spacy_ssvm.commands.conversion.files import Settings
from spacy_ssvm.commands.pipelines import load_pipeline
from spacy_ssvm.commands.recipes import continuing, training
from spacy_ssvm.commands.recipes.annotation import find_annotation
from spacy_ssvm.commands.recipes.config import (
    check_settings,
    has_tokenizer_that_learns,
    write_config,
)
from spacy_ssvm.commands.recipes.swap import keep_meta
from spacy_ssvm.commands.report import measure

#: How settings of components begin, which are part of the pipeline that is trained further.
_OF_COMPONENTS = "components."


def train_further(
    model: str,
    folder: training.TrainingFolder,
    files: Sequence[Path],
    overrides: dict[str, Any],
    settings: Settings,
    *,
    dev: Sequence[Path],
    share: float,
    seed: int,
    components: str | None,
    has_tokenizer: bool,
    has_resources: bool,
    strict: bool,
) -> None:
    """Train components of a pipeline further, and print scores of before and after.

    has_tokenizer: whether a tokenizer was asked for, which is that of the pipeline. has_resources:
    whether files were given that components read besides examples.
    """
    start = time.perf_counter()
    with show_errors("Cannot train"):
        if has_tokenizer:
            raise ValueError(
                f"--tokenizer: with --from, that of {model} stays; 'python -m spacy ssvm swap "
                "--tokenizer' puts another one into a pipeline"
            )
        _check_settings_of_model(model, overrides, has_resources)
        of_components = {k: v for k, v in overrides.items() if k.startswith(_OF_COMPONENTS)}
        of_training = {k: v for k, v in overrides.items() if k not in of_components}
        nlp = load_pipeline(model, settings=of_components)
        lang = str(nlp.lang)
        if has_tokenizer_that_learns(nlp):
            settings = settings._replace(divides_all=True)
        corpus = training.read_corpus(files, dev, lang, settings, share=share, seed=seed)
        show_corpus(corpus, folder.left_out, strict=strict)
        annotation = find_annotation(corpus.train)
        kinds = continuing.components_to_continue(nlp, split_names(components), annotation)
        show_annotation(annotation, kinds.values())
        corpus, found, scored, lacking = continuing.complete(nlp, [*kinds], corpus)
        _show_completed(model, found, lacking)
        annotated = continuing.annotate_for(nlp, kinds, corpus.train)
        files_of = {"train": folder.train, "dev": folder.dev}
        check_settings(continuing.continued_config(nlp, model, kinds, **files_of), of_training)
        added = continuing.add_labels(nlp, [*kinds], corpus.train)
        for name, new in added.items():
            msg.info(f"New labels of {name}: {', '.join(new)}")
        source = str(folder.start) if added or of_components else model
        config = continuing.continued_config(nlp, source, kinds, **files_of)
        with folder.cleared_on_error():
            folder.write(corpus)
            if added or of_components:
                nlp.to_disk(folder.start)
            write_config(folder.config, config, f"The pipeline {model}, trained further")
            folder.write_annotated(annotated)
            training.train(folder, of_training)
        for saved in (folder.best, folder.last):
            keep_meta(saved, nlp)
        pipelines = load_pipeline(model), load_pipeline(str(folder.best))
        notes = dict.fromkeys(scored, ", as found before")
        notes |= {label: ", new" for new in added.values() for label in new}
        rows = continuing.compare(*pipelines, folder.dev, notes)
        use_new_pipeline(pipelines[1], corpus)
    msg.table(
        rows, header=("", model, str(folder.best)), aligns=("l", "r", "r"), divider=True, max_col=60
    )
    trained = ", ".join(kinds)
    msg.good(f"Trained {trained} further in {time.perf_counter() - start:.0f} s", str(folder.best))


def _check_settings_of_model(model: str, overrides: dict[str, Any], has_resources: bool) -> None:
    """Raise ValueError for settings that come with a trained pipeline."""
    for key in overrides:
        if key.split(".")[0] in ("initialize", "nlp"):
            raise ValueError(f"--{key}: with --from, this is taken over from {model}")
    if has_resources:
        raise ValueError(
            f"with --from, clusters, dictionaries and lists of names are those of {model}"
        )


def _show_completed(model: str, found: Sequence[str], lacking: Mapping[str, int]) -> None:
    """Say what the pipeline has annotated, and which files lack a new type."""
    if found:
        msg.info(
            f"Files never annotate {', '.join(found)}: there, what {model} finds of these counts "
            "as right, so that it is not unlearned"
        )
    for label, texts in lacking.items():
        msg.warn(
            f"{texts} texts to learn from are in files that never annotate {label}: there, no word "
            "counts as one. Annotate it there, too, if there is any"
        )


def train_aligner(
    folder: training.TrainingFolder,
    files: Sequence[Path],
    overrides: dict[str, Any],
    *,
    dev: Sequence[Path],
    share: float,
    seed: int,
) -> None:
    """Train a word aligner on a source, a target and links, and print its scores."""
    start = time.perf_counter()
    with show_errors("Cannot train"):
        corpus = aligning.read_pairs_with_links(files, dev, share=share, seed=seed)
        show_corpus(corpus)
        by_error_rate = aligning.has_possible_links(corpus.dev)
        msg.info(
            f"{len(corpus.train)} pairs to learn from, {len(corpus.dev)} to choose the best epoch "
            f"by, which is that of the {'lowest error rate' if by_error_rate else 'highest F1'}"
        )
        config = aligning.make_aligner_config(folder, by_error_rate=by_error_rate)
        check_settings(config, overrides)
        with folder.cleared_on_error():
            aligning.write_corpus(folder, corpus)
            title = f"A word aligner. Train it with\n  python -m spacy train {folder.config}"
            write_config(folder.config, config, f"{title} --output training")
            training.train(folder, overrides)
        source, target, links = folder.pairs("dev")
        measured = measure(str(folder.best), source, target=target, alignment=links)
    msg.table(measured.rows, divider=False)
    msg.good(f"Trained in {time.perf_counter() - start:.0f} s", str(folder.best))
    msg.info("Next: see what it gets wrong, and why")
    texts = f"{source} --target {target} --alignment {links}"
    print(f"python -m spacy ssvm show {folder.best} {texts} --errors --html errors.html")
