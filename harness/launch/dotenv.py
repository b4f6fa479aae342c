"""Read `.env` files, and refuse what they must not decide."""

import re
from pathlib import Path

from harness.launch.errors import DotenvError

_MAX_BYTES = 1024 * 1024
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"', "$": "$", "`": "`", "'": "'"}
_FORBIDDEN = re.compile(
    r"(?:DSH_|PYTHON|LD_|DYLD_|BASH_FUNC_|XDG_).*|PATH|HOME|SHELL|BROWSER|EDITOR", re.IGNORECASE
)


def read_dotenv(path: Path) -> dict[str, str]:
    r"""Return the variables of a `.env` file; empty when there is no such file.

    One `NAME=value` a line, `export` before it allowed. Values may stand in single quotes (taken
    as they are) or double quotes (with `\n`, `\"` and the like), both over several lines; other
    values end at ` #` or the line's end. Nothing is expanded or run. The last line of a name wins.

    Raises:
        DotenvError: the file cannot be read, is no UTF-8 or too large, a line is malformed, or a
            name is one that only the real environment may set.
    """
    if not path.is_file():
        return {}
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise DotenvError(path, 0, f"cannot be read: {error.strerror}") from error
    if len(data) > _MAX_BYTES:
        raise DotenvError(path, 0, f"is larger than {_MAX_BYTES} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DotenvError(path, line, "is not UTF-8") from error
    return _parse(path, text.replace("\r\n", "\n"))


def _parse(path: Path, text: str) -> dict[str, str]:
    values: dict[str, str] = {}
    at, line, begin = 0, 1, 0
    while at < len(text):
        line, begin = line + text.count("\n", begin, at), at
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        entry = text[at:end].strip()
        if not entry or entry.startswith("#"):
            at = end + 1
            continue
        name_part, equals, _ = text[at:end].partition("=")
        name = name_part.strip().removeprefix("export ").strip()
        if not equals or _NAME.fullmatch(name) is None:
            raise DotenvError(path, line, "expected NAME=value")
        if _FORBIDDEN.fullmatch(name):
            raise DotenvError(
                path, line, f"{name} may not be set here; set it in the environment itself"
            )
        values[name], at = _value(path, line, text, at + len(name_part) + 1)
        if "\0" in values[name]:
            raise DotenvError(path, line, f"the value of {name} holds a NUL")
    return values


def _value(path: Path, line: int, text: str, start: int) -> tuple[str, int]:
    """Return the value that begins here, and where the next line begins."""
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    start = next((at for at in range(start, end) if text[at] not in " \t"), end)
    quote = text[start : start + 1]
    if quote not in ("'", '"') or start == end:
        plain = re.split(r"(?:^|\s)#", text[start:end], maxsplit=1)[0]
        return plain.strip(), end + 1
    close = start + 1
    while close < len(text) and text[close] != quote:
        close += 2 if quote == '"' and text[close] == "\\" else 1
    if close >= len(text):
        raise DotenvError(path, line, f"the quote {quote} is never closed")
    value = text[start + 1 : close]
    if quote == '"':
        value = _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[0]), value)
    end = text.find("\n", close)
    end = len(text) if end < 0 else end
    rest = text[close + 1 : end].strip()
    if rest and not rest.startswith("#"):
        raise DotenvError(path, line, "expected the line to end after the closing quote")
    return value, end + 1
