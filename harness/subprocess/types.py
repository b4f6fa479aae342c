"""Define the records that describe a process to start and what it did."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

import attrs

from vendor_shims.cordis import AbortSignal


def _frozen_env(env: Mapping[str, str | None]) -> Mapping[str, str | None]:
    return MappingProxyType(dict(env))


def _arguments(argv: Sequence[str]) -> tuple[str, ...]:
    if isinstance(argv, str):
        raise TypeError(f"argv must be a list of arguments, got the text {argv!r}")
    return tuple(argv)


def _check_count(_: object, attribute: attrs.Attribute[int], value: int) -> None:
    if type(value) is not int or value < 0:
        raise ValueError(f"{attribute.name} must be an integer of 0 or more, got {value!r}")


def check_seconds(_: object, attribute: attrs.Attribute[float], value: float) -> None:
    """Reject a duration that is not a finite number above zero."""
    if isinstance(value, bool) or not math.isfinite(value) or value <= 0:
        raise ValueError(f"{attribute.name} must be a finite number above 0, got {value!r}")


def _check_size(_: object, attribute: attrs.Attribute[int], value: int) -> None:
    if type(value) is not int or not 0 < value < 65_536:
        raise ValueError(f"{attribute.name} must be an integer from 1 to 65535, got {value!r}")


@attrs.frozen
class Data:
    """Feed these bytes (or this text, as UTF-8) to standard input, then end of file."""

    content: bytes | str = attrs.field(repr=False)

    def to_bytes(self) -> bytes:
        """Return the content as bytes; unpaired surrogates become replacement characters."""
        if isinstance(self.content, bytes):
            return self.content
        return self.content.encode("utf-8", "replace")


@attrs.frozen(kw_only=True)
class Spill:
    """Keep the complete stream in a private file once it outgrows memory.

    A stream longer than `max_bytes` loses its file: it is deleted and never advertised again.
    """

    max_bytes: int = attrs.field(validator=_check_count)


@attrs.frozen(kw_only=True)
class Collect:
    """Keep the first `head_bytes` and the last `max_bytes` bytes of a stream in memory.

    A stream of up to `head_bytes + max_bytes` bytes is kept whole.
    """

    max_bytes: int = attrs.field(validator=_check_count)
    spill: Spill | None
    head_bytes: int = attrs.field(default=0, validator=_check_count)


Stdin = Literal["ignore", "pipe"] | Data
Output = Literal["pipe", "inherit"] | Collect


@attrs.frozen(kw_only=True)
class SpawnSpec:
    """Describe one process completely; no field but `env` has a default on purpose.

    argv: program and arguments; no shell is involved. A program without a separator is
        searched on the child's own PATH.
    cwd: absolute path of an existing directory.
    grace_s: delay between TERM and KILL, and the longest wait for output after the exit.
    signal: aborting it terminates the tree; already aborted means nothing is started.
    env: applied on top of the scrubbed inherited environment; None deletes a name.
    """

    argv: Sequence[str] = attrs.field(converter=_arguments)
    cwd: str
    stdin: Stdin
    stdout: Output
    stderr: Output
    grace_s: float = attrs.field(validator=check_seconds)
    signal: AbortSignal | None
    env: Mapping[str, str | None] = attrs.field(
        factory=dict[str, str | None], converter=_frozen_env, repr=False
    )


@attrs.frozen(kw_only=True)
class TerminalSpec:
    """Describe one process that runs on a terminal of its own."""

    argv: Sequence[str] = attrs.field(converter=_arguments)
    cwd: str
    rows: int = attrs.field(validator=_check_size)
    cols: int = attrs.field(validator=_check_size)
    grace_s: float = attrs.field(validator=check_seconds)
    signal: AbortSignal | None
    env: Mapping[str, str | None] = attrs.field(
        factory=dict[str, str | None], converter=_frozen_env, repr=False
    )


@attrs.frozen
class ProcessExit:
    """Tell how a process ended: by exit code, or by the name of a signal such as `SIGKILL`.

    Both are None when the kernel could not end the process, or its status was lost.
    """

    exit_code: int | None
    signal: str | None


@attrs.frozen(kw_only=True)
class StreamRead:
    """Hold what one reader got from a collected stream.

    next_offset: where the following read starts, in bytes from the start of the stream.
    lossy: bytes between the requested offset and the start of `text` are gone from memory.
    spill_path: file with the complete stream so far, or None.
    """

    text: str
    next_offset: int
    lossy: bool
    spill_path: str | None


@attrs.frozen(kw_only=True)
class Retained:
    """Hold everything a collector still has: both ends of the stream and what lies between.

    tail is the whole stream when `omitted_bytes` is 0; head is then empty. total_bytes counts
    every byte that the process wrote.
    """

    head: str
    tail: str
    omitted_bytes: int
    total_bytes: int
    spill_path: str | None


@attrs.frozen
class Foreground:
    """Name a terminal's foreground process group.

    input_waiting: True or False when proven, None when the platform cannot tell.
    """

    process_group_id: int
    input_waiting: bool | None
