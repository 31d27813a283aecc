"""A hook of mkdocs: the pages of reference, and links to files that are not on the site.

    mkdocs build --strict

The pages are made of the factories, the entry points, the commands and the docstrings of the
package. They exist only while the site is built.
"""

import contextlib
import inspect
import io
import json
import posixpath
import re
import tempfile
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import spacy
import typer
from markdown.extensions.toc import slugify
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from spacy.cli import project_document
from spacy.pipeline import TrainablePipe

from spacy_ssvm.cli import ssvm

#: What users call of a component, in the order of the page.
METHODS = ("initialize", "scores", "marginals", "explain", "show", "objective", "templates_report",
           "top_features", "add_label")  # fmt: skip

_ENTRY = re.compile(r"(\w+(?:, \w+)*): (.*)")  # of a docstring: "name, other: text"
_OTHERS = re.compile(r"Settings not named here are those of ``(\w+)``\.")
_FLAG = re.compile(r"  # doctest: .*")
_SEE = re.compile(r"see ``(\w+)``\.?")
ROOT = Path(__file__).parents[1]
_LINK = re.compile(r"\[([^\]]*)\]\(([^)#:]+)[^)]*\)")

# Hooks


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for name, make in PAGES.items():
        files.append(File.generated(config, f"reference/{name}.md", content=make()))
    return files


def on_page_markdown(markdown: str, page: Page, **_kwargs: object) -> str:
    """Make links of this site of those of the repository.

    Files outside of ``docs/`` are not on the site: their paths stand there instead. Names of pages
    as texts of links become their titles.
    """

    def replace(link: re.Match[str]) -> str:
        text = link[1]
        path = posixpath.normpath(posixpath.join("docs", page.file.src_uri, "..", link[2]))
        if path.startswith("docs/"):
            is_name = text == posixpath.basename(path) and (ROOT / path).is_file()
            return link[0].replace(f"[{text}]", f"[{title_of(path)}]", 1) if is_name else link[0]
        return f"`{path}`" if text.strip("`/") == path else f"{text} (`{path}`)"

    return _LINK.sub(replace, markdown)


def title_of(path: str) -> str:
    """The title of a page, from the root of the repository: its first line."""
    return (ROOT / path).read_text(encoding="utf8").partition("\n")[0].lstrip("# ")


# Docstrings


def split_entries(text: str) -> Iterator[tuple[str, str]]:
    """The entries "name, other: text" of a docstring, and ("", text) for the prose between."""
    names, texts = "", [""]
    for line in text.splitlines():
        found = _ENTRY.fullmatch(line)
        if found or (names and not line.startswith("    ")):
            yield names, " ".join(texts)
            names, texts = (found[1], [found[2]]) if found else ("", [line])
        else:
            texts.append(line.strip())
    yield names, " ".join(texts)


def read_entries(documented: Any) -> dict[str, str]:
    """The texts of the names that a docstring describes.

    Where one is only "see ``X``", it is the text of X in the same module.
    """
    texts = {}
    for names, text in split_entries(inspect.getdoc(documented) or ""):
        for name in filter(None, names.split(", ")):
            other = _SEE.fullmatch(text)
            source = vars(inspect.getmodule(documented)).get(other[1]) if other else None
            texts[name] = read_entries(source)[name] if source else text
    return texts


def summary(docstring: str | None) -> str:
    """The first sentence of a docstring."""
    block = " ".join(inspect.cleandoc(docstring or "").split("\n\n")[0].split())
    return inline(re.split(r"(?<=\.) (?=[A-Z])|(?<=\.) \w+: ", block)[0])


def inline(text: str) -> str:
    """Text of a docstring as Markdown, with its ``code``, and links to pages that it names."""
    parts = text.split("``")
    for i, part in enumerate(parts):
        escaped = re.sub(r"([\\`*_{}\[\]#|])", r"\\\1", part).replace("<", "&lt;")
        linked = re.sub(r"docs/([\w-]+\.md)", r"[\1](../\1)", escaped)
        parts[i] = f"`{part}`" if i % 2 else linked
    return "".join(parts)


def as_markdown(docstring: str, *, with_entries: bool = True) -> str:
    r"""A docstring as Markdown: prose, lists of its entries, formulas and examples.

    Blocks that begin with \b, as click wants it, are a line of prose and an example.
    with_entries: whether to keep what is said of arguments.
    """
    blocks = []
    for block in inspect.cleandoc(docstring).split("\n\n"):
        if block.startswith("\b"):
            _, title, code = block.split("\n", maxsplit=2)
            language = "shell" if title.startswith("Example") else "text"
            blocks += [inline(title), fenced(textwrap.dedent(code), language)]
        elif block.startswith(">>>"):
            blocks.append(fenced(_FLAG.sub("", block), "pycon"))
        elif block.startswith("    "):
            blocks.append(fenced(textwrap.dedent(block)))
        else:
            for names, text in split_entries(block):
                code = names.replace(", ", "``, ``")
                if with_entries or not (names or text.strip().startswith("For the arguments")):
                    blocks.append(inline(f"- ``{code}``: {text}" if names else text.strip()))
    return "\n\n".join(filter(None, blocks))


def fenced(code: str, language: str = "text") -> str:
    """A block of code."""
    return f"```{language}\n{code.rstrip()}\n```"


def table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table; nothing where it has no rows."""
    found = [*rows]
    lines = [header, ("---",) * len(header), *found] if found else []
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# Values and types


def default(value: Any) -> str:
    """A default as in a config; of a registered function its name, with its other settings."""
    if value is inspect.Parameter.empty:
        return ""
    if not isinstance(value, dict) or not value.keys() & {"@misc", "@scorers"}:
        return f"`{json.dumps(value)}`"
    (registry, name), *settings = value.items()
    page = {"@misc": "solvers", "@scorers": "readers"}[registry]
    is_ours = name.startswith("spacy_ssvm.")
    shown = f"[`{name}`]({page}.md#{slugify(name, '-')})" if is_ours else f"`{name}`"
    return ", ".join([shown, *(f"`{key} = {json.dumps(of)}`" for key, of in settings)])


def short(annotated: object) -> str:
    """A type, or a signature, without the modules of its types."""
    text = re.sub(r"\b(?:[a-z_]\w*\.)+(?=[a-zA-Z_])", "", str(annotated))
    return re.sub(r"ndarray\[tuple\[Any, \.\.\.\], dtype\[\w+\]\]", "ndarray", text)


def call(name: str, method: Callable[..., Any]) -> str:
    """How a method is called, on one line or with a line for each argument."""
    line = name + short(inspect.signature(method)).replace("(self, ", "(").replace("(self)", "()")
    if len(line) <= 80:
        return line
    start, arguments, end = re.fullmatch(r"([\w.]+\()(.*)(\) -> .*)", line).groups()
    return f"{start}\n    " + re.sub(r", (?=\*|\w+: )", ",\n    ", arguments) + f",\n{end}"


def settings_table(documented: Callable[..., Any], texts: Mapping[str, str] | None = None,
                   defaults: Mapping[str, Any] | None = None) -> str:  # fmt: skip
    """The arguments of a factory with their defaults, else of a callable also with their types.

    Raises ValueError for one without a description.
    """
    parameters = inspect.signature(documented).parameters
    texts = read_entries(documented) if texts is None else texts
    values = {name: p.default for name, p in parameters.items()} if defaults is None else defaults
    rows = []
    for name, value in values.items():
        if name not in texts:
            raise ValueError(f"the docstring of {documented.__qualname__} leaves out '{name}'")
        kind = short(inspect.formatannotation(parameters[name].annotation))
        rows.append((f"`{name}`", f"`{kind}`", default(value), inline(texts[name])))
    if defaults is None:
        return table(("Setting", "Type", "Default", "Description"), rows)
    return table(("Setting", "Default", "Description"), [(row[0], *row[2:]) for row in rows])


# Pages


def entries(group: str) -> dict[str, Any]:
    """What the package registers in a group, by name."""
    found = sorted(entry_points(group=f"spacy_{group}"))
    return {e.name: e.load() for e in found if e.module.startswith("spacy_ssvm.")}


def factories() -> dict[str, Any]:
    """The factories by name, in the order of their file."""
    found = entries("factories").items()
    return dict(sorted(found, key=lambda item: item[1].__code__.co_firstlineno))


def factory_texts(factory: Callable[..., Any]) -> dict[str, str]:
    """The texts of the settings of a factory, and of the one whose settings it shares."""
    found = _OTHERS.search(factory.__doc__ or "")
    return {**(factory_texts(factories()[found[1]]) if found else {}), **read_entries(factory)}


def is_documented(owner: type, name: str) -> bool:
    """Whether a class of the package has a public method with a docstring of its own."""
    method = vars(owner).get(name)
    ours = inspect.isfunction(method) and method.__module__.startswith("spacy_ssvm.")
    return ours and name[0] != "_" and not (method.__doc__ or "See ``").startswith("See ``")


def components() -> str:
    """The components: their settings, and what users call.

    A method that several components inherit is described with the first of them.
    """
    links: dict[str, str] = {}  # to methods, by what docstrings call them
    inner: dict[str, Any] = {}  # methods that users do not call
    blocks = ["# Components", "Where a text says None, write `null` in a config."]
    for name, factory in factories().items():
        nlp = spacy.blank("en")
        component, meta = type(nlp.add_pipe(name)), nlp.get_factory_meta(name)
        methods, elsewhere = [], []
        for method in METHODS:
            title = f"{component.__name__}.{method}"
            owners = [owner for owner in component.__mro__ if is_documented(owner, method)]
            if not owners:
                continue
            found = getattr(owners[0], method)
            if f"`{found.__qualname__}`" in links:
                elsewhere.append(links[f"`{found.__qualname__}`"])
                continue
            links[f"`{found.__qualname__}`"] = f"[`{method}`](#{slugify(title, '-')})"
            methods += [f"### {title}", fenced(call(title, found), "python")]
            methods.append(as_markdown(found.__doc__))
        assigns = ", ".join(f"`{what}`" for what in meta.assigns)
        blocks += [f"## {name}", f"{summary(factory.__doc__)} It assigns {assigns}."]
        blocks.append(as_markdown(component.__doc__, with_entries=False))
        blocks.append(settings_table(factory, factory_texts(factory), meta.default_config))
        if elsewhere:
            blocks.append(f"Methods that it shares with components above: {', '.join(elsewhere)}.")
        blocks += methods
        for owner in reversed(component.__mro__):
            for method in vars(owner):
                is_known = method in METHODS or hasattr(TrainablePipe, method)
                if is_documented(owner, method) and not is_known:
                    inner.setdefault(method, getattr(owner, method))
    rows = sorted((f"`{m.__qualname__}`", summary(m.__doc__)) for m in inner.values())
    blocks += ["## Methods for subclasses", "Commands call them too."]
    text = "\n\n".join([*blocks, table(("Method", "Description"), rows)])
    for reference, link in links.items():
        text = text.replace(reference, link)
    return text


def solvers() -> str:
    """The solvers, and the selection of templates."""
    pages = "[solvers](../solvers.md) and [selecting templates](../selection.md)"
    blocks = ["# Solvers and selection", f"What they do, and the papers: see {pages}."]
    for name, settings in entries("misc").items():
        title = summary(inspect.getmodule(settings).__doc__)
        example = [part for part in inspect.getdoc(settings).split("\n\n") if part[:3] == ">>>"]
        blocks += [f"## {name}", title, settings_table(settings), *map(as_markdown, example)]
    return "\n\n".join(blocks)


def readers() -> str:
    """The readers of corpora, the scorers and the loggers."""
    blocks = ["# Readers, scorers and loggers"]
    for group in ("readers", "scorers", "loggers"):
        blocks.append(f"## {group.capitalize()}")
        for name, made in entries(group).items():
            documented = made() if group == "scorers" else made
            text = as_markdown(documented.__doc__, with_entries=False)
            blocks += [f"### {name}", text, settings_table(made)]
    return "\n\n".join(blocks)


def commands() -> str:
    """The commands, with what their help shows."""
    blocks = ["# Commands"]
    for name, command in typer.main.get_command(ssvm).commands.items():
        context = command.make_context(f"python -m spacy ssvm {name}", [], resilient_parsing=True)
        usage = " ".join(command.get_usage(context).split()).removeprefix("Usage: ")
        title, _, text = command.help.partition("\n\n")
        blocks += [f"## {name}", inline(title), fenced(usage, "shell"), as_markdown(text)]
        for kind in ("argument", "option"):
            found = [p for p in command.params if p.param_type_name == kind]
            rows = [parameter_row(*p.get_help_record(context)) for p in found]
            blocks.append(table((kind.capitalize(), "Default, range", "Description"), rows))
    return "\n\n".join(blocks)


def parameter_row(name: str, text: str) -> tuple[str, ...]:
    """The row of a parameter of a command, such as ("--seed", "Of it  [default: 0; x>=0]").

    Raises ValueError where it has no description.
    """
    text, facts = re.fullmatch(r"(.*?)(?: *\\?\[([^\]]*)\])?", text).groups(default="")
    if not text:
        raise ValueError(f"{name} has no help")
    shown = re.sub(r"<list\[(\w+)\]>", lambda kind: f"<{kind[1].lower()}>", name)
    return f"`{shown}`", inline(facts.replace("default: ", "")), inline(text)


def project() -> str:
    """The workflows of ``project.yml``, as ``spacy project document`` describes them."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "project.md"
        with contextlib.redirect_stdout(io.StringIO()):
            project_document(ROOT, file, no_emoji=True)
        text = file.read_text(encoding="utf8")
    text = re.sub("^# .*", "# Workflows", text, flags=re.MULTILINE)
    return text.replace("](project.yml)", "](../../project.yml)").replace(
        "`weasel ", "`spacy project "
    )


PAGES = {
    "components": components,
    "solvers": solvers,
    "readers": readers,
    "commands": commands,
    "project": project,
}
