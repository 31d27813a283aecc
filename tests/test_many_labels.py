"""What happens where a model has very many labels."""

import re
import warnings
from typing import Any

import pytest
from pipelines import CHUNKER, PARSER, RECOGNIZER, TAGGER, Component

from spacy_ssvm.components.initialization import MANY_LABELS, show_duration


def initialized(component: Component, labels: int, **config: Any) -> tuple[Any, list[str]]:
    """An initialized component with so many labels of its own, and its warnings."""
    nlp = component.pipeline(**config)
    examples = component.examples(nlp.vocab)
    pipe: Any = nlp.get_pipe(component.name)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pipe.initialize(lambda: examples, nlp=nlp, labels=[f"L{i}" for i in range(labels)])
    return pipe, [str(w.message) for w in caught if re.search(r"\d labels", str(w.message))]


@pytest.mark.parametrize(
    ("component", "labels", "config", "advice"),
    [
        (TAGGER, 500, {}, "Use a coarser set of labels"),
        (PARSER, 500, {}, "Use a coarser set of labels"),
        (
            RECOGNIZER,
            125,
            {},
            'Use fewer types of spans, or set scheme = "iob2" (251 labels) or scheme = "io" '
            "(126 labels)",
        ),
        (
            CHUNKER,
            250,
            {"scheme": "iob2"},
            'Use fewer types of spans, or set scheme = "io" (251 labels)',
        ),
        (RECOGNIZER, 500, {"scheme": "io"}, "Use fewer types of spans"),
    ],
)
def test_many_labels_are_warned_about_once(
    component: Component, labels: int, config: dict[str, Any], advice: str
) -> None:
    pipe, messages = initialized(component, labels + (component in (TAGGER, PARSER)), **config)
    assert len(pipe.model.labels) == 501
    (message,) = messages
    assert message.startswith(f"{component.name}: the model has 501 labels")
    assert advice in message
    assert message.count("scheme") == advice.count("scheme")
    pipe, messages = initialized(component, labels - (component not in (TAGGER, PARSER)), **config)
    assert len(pipe.model.labels) <= MANY_LABELS
    assert messages == []


def test_estimates_of_time_and_memory() -> None:
    """2,001 labels: 4 million pairs, 1 ns and 40 bytes each; 8 bytes for each feature and label."""
    _, (message,) = initialized(RECOGNIZER, 500)
    tokens = sum(
        len(example.predicted) for example in RECOGNIZER.examples(RECOGNIZER.pipeline().vocab)
    )
    assert f"the {tokens:,} tokens of the examples will take about" in message
    assert f"about {tokens * 2001**2 / 1e9:.1f} s, " in message
    assert (
        "at least 0.2 GB of memory for transitions and 1.6 GB for every 100,000 features" in message
    )


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (119.94, "119.9 s"), (180, "3 min"), (7199, "120 min"), (7200e3, "2,000 h")],
)
def test_durations(seconds: float, text: str) -> None:
    assert show_duration(seconds) == text


def test_more_labels_than_a_model_can_number_are_refused() -> None:
    nlp = RECOGNIZER.pipeline()
    recognizer: Any = nlp.get_pipe(RECOGNIZER.name)
    examples = RECOGNIZER.examples(nlp.vocab)
    labels = [f"L{i}" for i in range(16384)]
    with (
        pytest.warns(UserWarning, match="65,537 labels"),
        pytest.raises(
            ValueError, match=r"ssvm_ner: .* 65,537 labels, but at most 65,535 .*\"iob2\""
        ),
    ):
        recognizer.initialize(lambda: examples, nlp=nlp, labels=labels)
    assert recognizer.labels == ()


def test_more_labels_than_a_trained_model_can_number_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recognizer: Any = RECOGNIZER.trained(epochs=1).get_pipe(RECOGNIZER.name)
    monkeypatch.setattr(recognizer.model, "max_labels", len(recognizer.model.labels))
    labels = recognizer.labels
    with pytest.raises(ValueError, match=r"at most \d+ are possible"):
        recognizer.add_label("NEW")
    assert recognizer.labels == labels
