"""Name the directories and files of stored sessions.

    <root>/--<project key>--/<session id>/session.v1000.jsonl     or _no-cwd instead of a project

Names are injective where identity depends on them and harmless everywhere: no text can leave its
directory.
"""

import re

from attrs import frozen

NO_CWD_DIR = "_no-cwd"
"""The project directory of sessions without a working directory."""

TEMP_SUFFIX = ".tmp"
FLAT_SUFFIX = ".jsonl"
_MAX_PROJECT_UNITS = 251  # with the four dashes around it, the longest name file systems take
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
_SEPARATORS = re.compile(r"[/\\:]+")
_GENERATION = re.compile(r"session(?:\.v([1-9][0-9]*))?\.jsonl(\.zstd)?")


@frozen(kw_only=True)
class Generation:
    """Describe one log file of a session directory by its name."""

    name: str
    version: int
    compressed: bool


def encode_segment(raw: str) -> str:
    """Return a file name for any text; different texts get different names.

    Works on UTF-16 units, so that text with lone surrogates has a name too.

    Raises:
        ValueError: the text is empty.
    """
    if not raw:
        raise ValueError("a session id must not be empty")
    if raw in (".", ".."):
        return "~002E" * len(raw)
    return _UNSAFE.sub(_escape, raw)


def project_key(cwd: str) -> str:
    """Return the directory name of a working directory; lossy, the header keeps the truth."""
    inner = _UNSAFE.sub(_escape, _SEPARATORS.sub("-", cwd)).lstrip("-") or "root"
    return f"--{inner[:_MAX_PROJECT_UNITS]}--"


def project_dir(cwd: str | None) -> str:
    """Return the name of the project directory for a header's `cwd`."""
    return NO_CWD_DIR if cwd is None else project_key(cwd)


def log_name(version: int) -> str:
    """Return the file name of one format version."""
    return f"session.v{version}.jsonl" if version else "session.jsonl"


def parse_generation(name: str) -> Generation | None:
    """Return what a log file's name says, or None for any other file."""
    match = _GENERATION.fullmatch(name)
    if match is None:
        return None
    return Generation(name=name, version=int(match[1] or 0), compressed=match[2] is not None)


def _escape(match: re.Match[str]) -> str:
    data = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"~{data[at] << 8 | data[at + 1]:04X}" for at in range(0, len(data), 2))
