"""What docs/deployment.md shows works as it stands there."""

import re
from pathlib import Path
from typing import Any

import pytest
import spacy
from marks import compiled_only
from pipelines import PARSER, RECOGNIZER, Component
from processes import TESTS
from spacy.cli.evaluate import evaluate
from spacy.language import Language
from spacy.tokens import DocBin

DOCS = TESTS.parent / "docs"


def rendering() -> str:
    """The lines that draw Docs."""
    (block,) = re.findall(
        r"\*\*Rendering\.\*\*.*?```python\n(.*?)```",
        (DOCS / "deployment.md").read_text(encoding="utf8"),
        flags=re.DOTALL,
    )
    return str(block)


@pytest.fixture(scope="module", params=[PARSER, RECOGNIZER], ids=["parser", "ner"])
def nlp(request: pytest.FixtureRequest) -> Language:
    component: Component = request.param
    return component.trained(epochs=4)


@compiled_only
@pytest.mark.filterwarnings(PARSER.warning)
def test_docs_are_drawn(nlp: Language, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    texts = ["Mary Smith lives in London", "Smith works for Acme Steel"]
    docs = list(nlp.pipe(texts))
    code, mark = rendering(), '<g class="displacy-arrow">'
    drawn = sum(token.head.i != token.i for doc in docs for token in doc)
    if nlp.pipe_names == [RECOGNIZER.name]:
        code, mark = code.replace('style="dep"', 'style="ent"'), '<mark class="entity"'
        drawn = sum(len(doc.ents) for doc in docs)
    names: dict[str, Any] = {"nlp": nlp, "texts": texts}
    exec(code, names)
    (file,) = tmp_path.iterdir()
    assert drawn > 0
    assert file.read_text(encoding="utf8").count(mark) == drawn


@compiled_only
@pytest.mark.filterwarnings(PARSER.warning)
def test_spacy_draws_nothing_itself(nlp: Language, tmp_path: Path) -> None:
    """If it does one day, docs/deployment.md need not say otherwise."""
    (tmp_path / "drawn").mkdir()
    nlp.to_disk(tmp_path / "pipeline")
    DocBin(docs=[spacy.blank("en")("Mary Smith lives .")]).to_disk(tmp_path / "dev.spacy")
    evaluate(str(tmp_path / "pipeline"), tmp_path / "dev.spacy", displacy_path=tmp_path / "drawn")
    assert list((tmp_path / "drawn").iterdir()) == []
