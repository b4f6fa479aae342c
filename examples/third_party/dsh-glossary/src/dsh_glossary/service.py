"""Provide `ctx.glossary`: the words of a project and what they mean there."""

from pathlib import Path
from typing import Annotated

from anyio.to_thread import run_sync

from dsh_glossary.errors import GlossaryFileError, TermError
from dsh_glossary.events import DEFINED
from dsh_glossary.terms import Terms, read_terms, write_terms
from harness.durable_files import LockTimeoutError, file_lock
from vendor_shims.cordis import Context, Service
from vendor_shims.schema import Ge, config, field

MAX_TERM_CHARS = 80


@config
class GlossaryConfig:
    """Where the terms are, and how much one may say."""

    path: Path
    """The file, relative to the working directory; made with the first term."""
    max_meaning_chars: Annotated[int, Ge(1)] = field(
        default=500, doc="Length of a meaning; each look-up puts one into the conversation."
    )


class Glossary(Service):
    """Keep terms in a file that several processes may share.

    Invariants: `_terms` is what the file held at the last look; no write takes away what another
    process has written meanwhile.
    """

    key = "glossary"
    Config = GlossaryConfig

    def __init__(self, ctx: Context, config: GlossaryConfig) -> None:
        super().__init__(ctx)
        self.config = config
        self._path = config.path.absolute()
        self._terms: Terms = {}

    def start(self) -> None:
        """Read the file once; the service is not there before.

        Raises:
            GlossaryFileError: the file cannot be taken.
        """
        self._terms = read_terms(self._path)

    @property
    def terms(self) -> Terms:
        """All terms with their meanings, oldest first."""
        return self._terms

    def meaning(self, term: str) -> str | None:
        """Return what a term means, however its letters are written; None when it is not known."""
        wanted = term.strip().casefold()
        for known, meaning in self._terms.items():
            if known.casefold() == wanted:
                return meaning
        return None

    async def define(self, term: str, meaning: str) -> None:
        """Keep the meaning of a term, instead of an earlier one; `glossary/defined` follows.

        Raises:
            TermError: one of the two cannot be taken.
            GlossaryFileError: the disk refuses, or another process keeps the file for 2 s.
        """
        term, meaning = self._checked(term, meaning)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            async with file_lock(self._path):
                self._terms = await run_sync(_defined, self._path, term, meaning)
        except (OSError, LockTimeoutError) as error:
            raise GlossaryFileError(f"{self._path}: {error}") from error
        self.ctx.emit(DEFINED, term, meaning)

    def _checked(self, term: str, meaning: str) -> tuple[str, str]:
        term, meaning = " ".join(term.split()), meaning.strip()
        most = self.config.max_meaning_chars
        if not term or len(term) > MAX_TERM_CHARS:
            raise TermError(f"a term has 1 to {MAX_TERM_CHARS} characters, this has {len(term)}")
        if not meaning or len(meaning) > most:
            raise TermError(f"a meaning has 1 to {most} characters, this has {len(meaning)}")
        return term, meaning


def _defined(path: Path, term: str, meaning: str) -> Terms:
    """Add a term to what the file holds now, and return all of it."""
    kept = {
        known: text
        for known, text in read_terms(path).items()
        if known.casefold() != term.casefold()
    }
    terms = {**kept, term: meaning}
    write_terms(path, terms)
    return terms
