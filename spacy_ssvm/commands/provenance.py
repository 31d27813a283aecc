"""When, and by which versions, a page was made."""

from datetime import date
from importlib.metadata import version

_PACKAGES = ("spacy-ssvm", "spacy", "numba")


def made() -> str:
    """The date and the versions of packages, as text."""
    versions = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    return f"{date.today().isoformat()} with {versions}"
