"""Commands for pipelines in use, and for texts without one: align, resources links, warmup."""

import sys
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from spacy_ssvm.cli.common import (
    Code,
    Model,
    Shown,
    load_pipeline,
    read_names,
    show_errors,
)


class LinkMethods(str, Enum):
    """How links of both directions make one alignment."""

    sure_and_possible = "sure-and-possible"
    intersection = "intersection"
    grow_diag = "grow-diag"
    grow_diag_final_and = "grow-diag-final-and"


def align(
    model: Model,
    source: Annotated[Path, typer.Argument(help="Text, a sentence a line", exists=True)],
    target: Annotated[Path, typer.Argument(help="Its translation, line by line", exists=True)],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file to write; - for the screen")
    ] = Path("-"),
    batch_size: Annotated[
        int | None, typer.Option(help="Pairs in a batch; by default as in the pipeline", min=1)
    ] = None,
    component: Annotated[
        str | None,
        typer.Option("--components", help="Run only this component, not the whole pipeline"),
    ] = None,
    evidence: Annotated[
        list[str] | None,
        typer.Option(help="NAME=FILE: links of another aligner, for templates that read _.NAME"),
    ] = None,
    code: Code = None,
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
    import time
    from contextlib import redirect_stdout

    from tqdm import tqdm

    from spacy_ssvm.align.command import (
        aligned_lines,
        check_evidence,
        opened,
        read_evidence,
    )

    file = None if output == Path("-") else output
    screen = sys.stdout
    with redirect_stdout(sys.stderr):
        with show_errors("Cannot align"):
            if file is not None and file.resolve() in (source.resolve(), target.resolve()):
                raise ValueError(f"the output, {file}, would replace a text")
            others = read_evidence(evidence or [])
            nlp = load_pipeline(model, code, component)
            unused = check_evidence(nlp, others)
            if unused:
                msg.warn(f"No template reads {', '.join(f'_.{name}' for name in unused)}")
            start, pairs = time.perf_counter(), 0
            with opened(file, screen) as lines:
                found = aligned_lines(nlp, source, target, batch_size, others)
                for line in tqdm(found, unit="pair", disable=None):
                    print(line, file=lines)
                    pairs += 1
            speed = pairs / (time.perf_counter() - start)
        msg.good(f"Aligned {pairs} pairs: {speed:.0f} pairs/s", str(file or ""))


def warmup(components: Shown = None) -> None:
    """Compile the kernels of all components into the cache, so that the first use does not wait.

    Run it once after installation, for example in the build of a container image: it takes about
    four minutes of one core for all components, half a minute for the tagger or ner alone
    (--components tagger,ner), and two for the parser. A pipeline that train or swap has made on the
    same machine needs no more. Solvers that no shipped config names, and selections of templates,
    compile their kernels when first used. The cache lies in NUMBA_CACHE_DIR where that is set, else
    beside the package, else in the user's cache folder; other users find it there, also where they
    can only read.
    """
    import logging
    import time

    from tqdm import tqdm

    from spacy_ssvm.commands.warmup import USES, compile_for
    from spacy_ssvm.kernels.folders import writable_root

    logging.getLogger("spacy_ssvm").setLevel(logging.ERROR)  # there is a progress bar
    prefix = "ssvm_"
    known = [*dict.fromkeys(use.factory.removeprefix(prefix) for use in USES)]
    with show_errors("Cannot compile"):
        chosen = read_names("component", components, known)
    uses = [use for use in USES if use.factory.removeprefix(prefix) in chosen]
    start, processor = time.perf_counter(), time.process_time()
    msg.info(
        "Compiling kernels: about four minutes of one core for all components, where none are in "
        "the cache"
    )
    shown = "{l_bar}{bar}| {n}/{total} [{elapsed}]"
    with tqdm(total=len(uses), bar_format=shown, disable=None) as progress:
        for use in uses:
            progress.set_description(use.name)
            compile_for(use)
            progress.update()
    seconds = time.perf_counter() - start
    taken = f"Compiled in {seconds:.1f} s ({time.process_time() - processor:.1f} s of a processor)"
    directory = writable_root()
    if directory is None:
        msg.warn(
            f"{taken}, but no folder for the cache can be written: set "
            "NUMBA_CACHE_DIR to one that can"
        )
    else:
        msg.good(taken, str(directory))


def links(
    source: Annotated[Path, typer.Argument(help="Text, a sentence a line", exists=True)],
    target: Annotated[Path, typer.Argument(help="Its translation, line by line", exists=True)],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file of links to write")],
    bitext_source: Annotated[
        Path | None, typer.Option(help="Further text to learn from", exists=True)
    ] = None,
    bitext_target: Annotated[
        Path | None, typer.Option(help="The translation of --bitext-source", exists=True)
    ] = None,
    method: Annotated[
        LinkMethods, typer.Option(help="How the links of both directions make one alignment")
    ] = LinkMethods.sure_and_possible,
) -> None:
    """Link the words of parallel texts, by what the texts alone tell.

    The texts hold a sentence a line, with spaces between the words; those that end in .gz are
    compressed. HMM alignment models in both directions learn from these texts, and from further
    ones. Links of both models are written as sure, "0-0", and those of one as possible, "1?2",
    from which an aligner learns as from links made by hand, and finds better ones: some thousand
    pairs suffice. The other methods write one alignment: their links of both, or with those that
    grow from them.

    \b
    Examples:
      python -m spacy ssvm resources links train.en train.cs --output train.align
      python -m spacy ssvm train train.en train.cs train.align --output training
      python -m spacy ssvm resources links a.en a.cs -o a.align --method grow-diag-final-and
    """
    from tqdm import tqdm

    from spacy_ssvm.align.command import opened
    from spacy_ssvm.align.hmm_links import linked_lines

    with show_errors("Cannot link words"):
        texts = filter(None, (source, target, bitext_source, bitext_target))
        if output.resolve() in {file.resolve() for file in texts}:
            raise ValueError(f"the output, {output}, would replace a text")
        if (bitext_source is None) != (bitext_target is None):
            raise ValueError("give both --bitext-source and --bitext-target, or neither")
        more = (bitext_source, bitext_target) if bitext_source and bitext_target else None
        with tqdm(unit="pass", disable=None) as progress, opened(output, sys.stdout) as file:

            def report(done: int, total: int) -> None:
                progress.total = total
                progress.update(done - progress.n)

            number = 0
            for line in linked_lines(
                (source, target), more=more, method=method.value, report=report
            ):
                print(line, file=file)
                number += 1
    msg.good(f"Linked the words of {number:,} pairs", str(output))
    paths = f" --paths.bitext_source {more[0]} --paths.bitext_target {more[1]}" if more else ""
    print(f"python -m spacy ssvm train {source} {target} {output} --output training{paths}")
