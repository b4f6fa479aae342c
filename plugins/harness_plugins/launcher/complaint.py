"""Say in one line, and with one exit code, why a command did not do what it was asked to."""

from typing import Final, NamedTuple

EXIT_CODES: Final = {
    "USAGE": 2,
    "BOOT": 3,
    "PROFILE_UNKNOWN": 3,
    "PATCH_INVALID": 3,
    "PATCH_UNMATCHED": 3,
    "PLUGIN_NOT_FOUND": 3,
    "CONFIG_INVALID": 3,
    "MISSING_CREDENTIAL": 4,
    "INVALID_CREDENTIAL": 4,
    "AUTH": 4,
    "QUOTA": 5,
    "RATE_LIMIT": 5,
    "MAX_TOKENS": 6,
    "SESSION_NOT_FOUND": 7,
    "SESSION_LOCKED": 7,
    "SESSION_CORRUPT": 7,
    "SESSION_FORMAT_UNSUPPORTED": 7,
    "SESSION_CWD": 7,
}
"""The exit code of each code that does not end with 1."""

MAX_HINTS = 2
_MAX_CHARS = 2_000


class Complaint(NamedTuple):
    """Tell the user what went wrong and what to do next.

    Attributes:
        code: stable name for programs, of the error catalogue or of a provider's failure.
        sentence: what went wrong, naming the values at fault.
        hints: at most two things to do next, most useful last.
        status: the exit code, where the code alone does not decide it.
        details: a table that belongs to the sentence.
    """

    code: str
    sentence: str
    hints: tuple[str, ...] = ()
    status: int | None = None
    details: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """Return what the process ends with; never 0."""
        return EXIT_CODES.get(self.code, 1) if self.status is None else self.status

    def with_hint(self, hint: str) -> "Complaint":
        """Return the complaint with `hint` last, in the place of the last one when it is full."""
        return self._replace(hints=(*self.hints[: MAX_HINTS - 1], hint))

    def render(self) -> str:
        """Return the lines for stderr: one sentence, then details and hints, indented."""
        lines = [f"dsh: {self.code}: {_one_line(self.sentence)}"]
        lines.extend(f"  {_printable(row)}" for row in self.details)
        lines.extend(f"  {_one_line(hint)}" for hint in self.hints[:MAX_HINTS])
        return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    """Return text without line ends and control characters; it may quote a server or a model."""
    return _printable(" ".join(text.split()))


def _printable(text: str) -> str:
    shown = "".join(character if character.isprintable() else "\ufffd" for character in text)
    return shown if len(shown) <= _MAX_CHARS else shown[:_MAX_CHARS] + "…"
