"""Let agents know the words of a project: a service that keeps them, and tools that use it."""

from dsh_glossary.errors import GlossaryError, GlossaryFileError, TermError
from dsh_glossary.events import DEFINED
from dsh_glossary.service import Glossary, GlossaryConfig
from dsh_glossary.tools import GlossaryTools, GlossaryToolsConfig

__all__ = [
    "DEFINED",
    "Glossary",
    "GlossaryConfig",
    "GlossaryError",
    "GlossaryFileError",
    "GlossaryTools",
    "GlossaryToolsConfig",
    "TermError",
]
