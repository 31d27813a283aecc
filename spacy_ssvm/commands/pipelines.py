"""Trained pipelines, as commands load them."""

from pathlib import Path

from spacy import util
from spacy.language import Language
from spacy.training.loop import DIR_MODEL_BEST


def load_pipeline(model: str, component: str | None = None) -> Language:
    """A trained pipeline.

    model: its folder, or the name of its package. component: the one to run; None for all.

    Raises ValueError where there is no such pipeline or component, or it is damaged.
    """
    try:
        nlp = util.load_model(model)
    except Exception as error:  # a damaged folder can raise any
        best = Path(model) / DIR_MODEL_BEST
        hint = f" Did you mean {best}?" if best.is_dir() else ""
        reason = str(error).rstrip(".")
        raise ValueError(f"{model} cannot be loaded as a pipeline: {reason}.{hint}") from error
    if component is None:
        return nlp
    if component not in nlp.component_names:
        raise ValueError(
            f"there is no component '{component}' in {model}: choose one of "
            f"{', '.join(nlp.component_names)}"
        )
    for name in nlp.pipe_names:
        nlp.disable_pipe(name)
    nlp.enable_pipe(component)
    return nlp
