"""Cutting a `!!js` source into words, literals and signs."""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple, TypeAlias

from .flaw import Flaw
from .scan import closing_brace

TokenKind: TypeAlias = Literal["number", "text", "template", "word", "sign", "end"]

QUOTES = "'\"`"
_SCANNED = re.compile(
    r"""(?P<space>\s+)
      | (?P<number>0[xX][0-9a-fA-F]+ | (?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)(?![\w$.])
      | (?P<word>[A-Za-z_$][\w$]*)
      | (?P<sign>===|!==|==|!=|\?\?=?|\?\.|&&|\|\||=>|\.\.\.|[-+*/%]=?|<=|>=
                |[?:()\[\]{}.,!<>=;~&|^])
    """,
    re.VERBOSE | re.ASCII,
)
_ESCAPE = re.compile(
    r"\\(?:u\{(?P<long>[0-9a-fA-F]{1,6})\}|u(?P<four>[0-9a-fA-F]{4})|x(?P<two>[0-9a-fA-F]{2})"
    r"|(?P<new_line>\r\n|[\n\r])|(?P<digit>[0-9])|(?P<bad>[ux])|(?P<other>.))",
    re.DOTALL,
)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v"}
_LAST_CHARACTER = 0x10FFFF


class Token(NamedTuple):
    """A piece of source: its kind, its text, where it starts, and the value of a literal.

    The value of a template is a list: literal texts, and `(start, end)` of each expression.
    """

    kind: TokenKind
    text: str
    start: int
    value: Any = None


def unsupported(what: str, offset: int, hint: str = "") -> Flaw:
    """Return the flaw for a form that the translator does not take."""
    advice = hint or (
        "use process.env.NAME ?? 'default', or write an !expr expression: env.NAME ?? \"default\""
    )
    return Flaw(f"unsupported !!js expression: {what}; {advice}", offset)


def tokens(source: str, start: int, end: int) -> list[Token]:
    """Return the tokens between two offsets, with one of kind `end` behind them.

    Raises:
        Flaw: a string does not end, or a character begins no token.
    """
    found: list[Token] = []
    index = start
    while index < end:
        if source[index] == "`":
            token = _template(source, index, end)
            index += len(token.text)
        elif source[index] in QUOTES:
            token = _string(source, index, end)
            index += len(token.text)
        else:
            match = _SCANNED.match(source, index, end)
            if match is None:
                raise unsupported(f"the character {source[index]!a}", index)
            index = match.end()
            if match.lastgroup == "space":
                continue
            token = _scanned(match)
        found.append(token)
    return [*found, Token("end", "", end)]


def _scanned(match: re.Match[str]) -> Token:
    text, start = match[0], match.start()
    if match.lastgroup == "number":
        return Token("number", text, start, _number(text, start))
    return Token("word" if match.lastgroup == "word" else "sign", text, start)


def _number(text: str, start: int) -> int | float:
    if text[:2] in {"0x", "0X"}:
        return int(text, 16)
    if len(text) > 1 and text.isdigit() and text.startswith("0"):
        raise unsupported("a number that begins with 0", start, "leave out the 0")
    if text.isdigit():
        return int(text)
    value = float(text)
    return int(value) if value.is_integer() else value


def _string(source: str, start: int, end: int) -> Token:
    quote, index = source[start], start + 1
    while index < end and source[index] not in {quote, "\n", "\r"}:
        index += 2 if source[index] == "\\" else 1
    if index >= end or source[index] != quote:
        raise Flaw("this string does not end", start)
    text = source[start : index + 1]
    return Token("text", text, start, _unescaped(text[1:-1], start + 1))


def _template(source: str, start: int, end: int) -> Token:
    parts: list[Any] = []
    index = literal = start + 1
    while index < end and source[index] != "`":
        if source.startswith("${", index):
            parts.append(_unescaped(source[literal:index], literal))
            closing = closing_brace(source[:end], index + 2, quotes=QUOTES)
            parts.append((index + 2, closing))
            index = literal = closing + 1
        else:
            index += 2 if source[index] == "\\" else 1
    if index >= end:
        raise Flaw("this string does not end", start)
    parts.append(_unescaped(source[literal:index], literal))
    return Token("template", source[start : index + 1], start, parts)


def _unescaped(text: str, start: int) -> str:
    """Return the text that a literal means; surrogates written in pairs become one character."""
    if "\\" not in text:
        return text

    def meaning(match: re.Match[str]) -> str:
        digits = match["long"] or match["four"] or match["two"]
        if digits:
            code = int(digits, 16)
            if code <= _LAST_CHARACTER:
                return chr(code)
        if match["new_line"]:
            return ""
        if match["digit"] == "0" and not text[match.end() : match.end() + 1].isdigit():
            return "\0"
        if match["other"]:
            return _LETTERS.get(match["other"], match["other"])
        raise unsupported("this escape in a string", start + match.start(), "write the character")

    made = _ESCAPE.sub(meaning, text)
    return made.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
