"""Settings of components, checked when a config is read."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from spacy.vocab import Vocab
from thinc.config import ConfigValidationError

from spacy_ssvm.chains.model import ChainModel
from spacy_ssvm.chains.schemes import SCHEMES
from spacy_ssvm.features.attributes import ATTRIBUTES, is_attribute
from spacy_ssvm.features.templates import Template, TemplateError, parse_templates
from spacy_ssvm.models import Model
from spacy_ssvm.solvers.run import Solver as Solver

if TYPE_CHECKING:
    from spacy_ssvm.selection import Selection as Selection

_MAX_NUMBER = 2**31 - 1

Component = TypeVar("Component")
TemplateT = TypeVar("TemplateT")


def config_error(name: str, key: str, message: str) -> ConfigValidationError:
    """An error that names the component and the key of its settings.

    ``spacy train`` prints it without a traceback. It is a ValueError.
    """
    return section_error(f"[components.{name}]", key, message)


def initialize_error(name: str, key: str, message: str) -> ConfigValidationError:
    """An error that names the component and the argument of its ``initialize``."""
    return section_error(f"[initialize.components.{name}]", key, message)


def section_error(title: str, key: str, message: str) -> ConfigValidationError:
    """An error that names a section of a config, such as [nlp.tokenizer], and a key of it."""
    errors = [{"loc": [key], "msg": message}]
    return ConfigValidationError(title=title, desc="Invalid setting.", errors=errors)


def read_templates(
    name: str,
    items: Iterable[str],
    parse: Callable[..., tuple[TemplateT, ...]],
    *,
    key: str = "templates",
    **options: Any,
) -> tuple[TemplateT, ...]:
    """Parse the templates of a component's config; ConfigValidationError for an invalid one.

    parse: the parser of their language, such as ``parse_templates``.
    key: the setting that they stand in. options: further arguments of the parser.
    """
    try:
        return parse(items, is_attribute=is_attribute, attributes=ATTRIBUTES, **options)
    except TemplateError as error:
        raise config_error(name, key, str(error)) from error


def read_token_templates(name: str, items: Iterable[str]) -> tuple[Template, ...]:
    """The templates of label sequences; ConfigValidationError for an invalid one."""
    return read_templates(name, items, parse_templates)


def check_number(name: str, key: str, value: int, least: int) -> None:
    """Raise ConfigValidationError for a number that is too small, or too large for kernels."""
    if value < least:
        raise config_error(name, key, f"{value}: must be at least {least}")
    if value > _MAX_NUMBER:
        raise config_error(name, key, f"{value}: must be at most {_MAX_NUMBER}")


def check_rows(name: str, min_count: int, hash_bits: int | None) -> None:
    """Raise ConfigValidationError for invalid settings of the features' rows."""
    check_number(name, "min_count", min_count, 1)
    if hash_bits is not None and not 8 <= hash_bits <= 28:
        raise config_error(name, "hash_bits", f"{hash_bits}: must lie between 8 and 28")
    if hash_bits is not None and min_count > 1:
        raise config_error(name, "min_count", "features are not counted where hash_bits is set")


def check_solver(name: str, key: str, solver: object) -> None:
    """Raise ConfigValidationError for what is no solver, such as a selection."""
    if not hasattr(solver, "start"):
        message = 'must be the block of a solver: @misc = "spacy_ssvm.DualCoordinateDescent.v1"'
        raise config_error(name, key, f"{message}, or another one of docs/solvers.md")


def check_selection(name: str, selection: object, templates: int) -> None:
    """Raise ConfigValidationError for a selection that does not fit the number of templates.

    selection: None for no selection.
    """
    if selection is None:
        return
    from spacy_ssvm.selection import Selection as Selection

    if not isinstance(selection, Selection):
        message = 'must be null, or a block with @misc = "spacy_ssvm.Selection.v1"'
        raise config_error(name, "selection", message)
    try:
        selection.check_templates(templates)
    except ValueError as error:
        raise config_error(name, "selection.budget", str(error)) from error


def build_chain_pipe(
    component: Callable[..., Component],
    vocab: Vocab,
    name: str,
    *,
    templates: Sequence[str],
    min_count: int,
    hash_bits: int | None,
    selection: "Selection | None",
    whole_docs: bool = False,
    model_class: type[ChainModel] = ChainModel,
    **settings: Any,
) -> Component:
    """A component of label sequences, by its class and the settings of its factory.

    whole_docs: whether a Doc is one sequence, not each of its sentences.
    Raises ConfigValidationError where a setting is invalid.
    """
    check_rows(name, min_count, hash_bits)
    model = model_class(read_token_templates(name, templates), whole_docs=whole_docs)
    check_selection(name, selection, len(model.templates))
    return component(
        vocab,
        model,
        name,
        min_count=min_count,
        hash_bits=hash_bits,
        selection=selection,
        **settings,
    )


#: Whether a saved setting is valid.
_SAVED_SETTINGS: dict[str, Callable[[Any], bool]] = {
    "attribute": lambda value: value in ("TAG", "POS"),
    "backoff": lambda value: value in ("orth", "lower", None),
    "extend": lambda value: isinstance(value, bool),
    "document": lambda value: isinstance(value, bool),
    "min_freq": lambda value: type(value) is int and value >= 1,
    "overwrite": lambda value: isinstance(value, bool),
    "scheme": lambda value: value in SCHEMES,
    "spans_key": lambda value: isinstance(value, str),
    "threshold": lambda value: type(value) in (int, float) and 0 <= value <= 1,
}


def check_saved_settings(settings: dict[str, Any], saved: dict[str, Any]) -> None:
    """Raise ValueError where a component with these settings cannot have the saved ones."""
    for key in settings:
        if key in _SAVED_SETTINGS and not (key in saved and _SAVED_SETTINGS[key](saved[key])):
            raise ValueError(f"the setting {key} cannot be {saved.get(key)!r:.60}")


def require_beta(name: str, model: Model[Any, Any]) -> float:
    """The model's beta. Raises ValueError, naming solvers that have one, if it has none.

    name: of the component.
    """
    if model.beta is None:
        raise ValueError(
            f"{name}: this model was trained with a margin loss and has no probabilities. "
            "Train it with a solver of finite beta, such as "
            '@misc = "spacy_ssvm.DualCoordinateAscent.v1" (a conditional random field) or '
            f'"spacy_ssvm.LBFGS.v1", in [components.{name}.solver], or use scores(doc), '
            "which are margins then"
        )
    return model.beta
