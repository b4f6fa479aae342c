"""Turn suggested names into file names that stay inside their directory."""

from __future__ import annotations

import hashlib
import re
import struct

MAX_NAME_BYTES = 120
SESSION_DIRECTORY = re.compile(r"session-[0-9a-f]{12}")
_PLAIN = re.compile(r"[A-Za-z0-9._-]")


def session_directory(session_id: str) -> str:
    """Return the directory name of a session; says nothing about the id itself."""
    digest = hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"session-{digest[:12]}"


def encode_name(suggested_name: str) -> str:
    """Return a file name of at most 120 ASCII characters without separators.

    Letters, digits, `.`, `_` and `-` stay; every other UTF-16 unit becomes `~` and four hex
    digits. An empty name becomes `~`, and a name of dots only has its first dot escaped.
    """
    if not suggested_name:
        return "~"
    escape_first = not suggested_name.strip(".")
    encoded = ""
    for index, character in enumerate(suggested_name):
        plain = _PLAIN.fullmatch(character) and not (escape_first and index == 0)
        piece = character if plain else _escaped(character)
        if len(encoded) + len(piece) > MAX_NAME_BYTES:
            break
        encoded += piece
    return encoded


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"~{unit:04X}" for (unit,) in struct.iter_unpack(">H", units))
