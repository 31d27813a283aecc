"""Pipelines as they are sent to other processes."""

from dataclasses import dataclass
from pathlib import Path

from spacy.cli._util import import_code
from spacy.language import Language
from spacy.util import load_model_from_config
from thinc.config import Config

from spacy_ssvm import __version__


@dataclass(frozen=True)
class Pipeline:
    """A pipeline that can be sent.

    code: a file to import first, which all machines have.
    """

    config: str
    data: bytes
    code: Path | None = None
    version: str = __version__

    @classmethod
    def of(cls, nlp: Language, code: Path | None = None) -> "Pipeline":
        """What is sent of a pipeline."""
        return cls(nlp.config.to_str(), nlp.to_bytes(), code)

    def load(self) -> Language:
        """The pipeline. Raises ValueError where another version of the package has sent it."""
        if self.version != __version__:
            raise ValueError(
                f"this machine has spacy_ssvm {__version__}, and the one that trains "
                f"{self.version}: install the same version on all"
            )
        import_code(self.code)
        config = Config().from_str(self.config)
        nlp = load_model_from_config(config, auto_fill=True)
        return nlp.from_bytes(self.data)
