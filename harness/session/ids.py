"""Mint session ids: sortable by time, unique across processes."""

import os
import time
from typing import NewType
from uuid import UUID

SessionId = NewType("SessionId", str)
"""The id of a session and of the agent that drives it; `session-<uuid7>` when minted here."""


def new_session_id() -> SessionId:
    """Return a fresh id `session-<uuid7>`. Source: RFC 9562 section 5.7."""
    milliseconds = time.time_ns() // 1_000_000
    value = (milliseconds & (2**48 - 1)) << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return SessionId(f"session-{UUID(int=value)}")
