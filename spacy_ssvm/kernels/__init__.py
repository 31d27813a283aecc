"""Kernels: their types, how they are compiled, and where compiled ones are kept."""

try:
    import numba  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"spacy_ssvm compiles its kernels with numba, which cannot be imported: {error}. Install "
        "it by 'pip install numba'",
        name="numba",
    ) from error
