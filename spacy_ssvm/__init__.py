"""Linear structured prediction for spaCy: structural SVMs over template features."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spacy_ssvm.kernels.threads import set_threads as set_threads

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import what the package offers when it is asked for: importing the package costs nothing."""
    if name == "set_threads":
        from spacy_ssvm.kernels.threads import set_threads

        return set_threads
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
