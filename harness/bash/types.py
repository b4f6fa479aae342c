"""Define the records that go into and come out of a bash executor."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeVar

import attrs

from vendor_shims.cordis import AbortSignal, Context

Leftovers = Literal["keep", "terminate"]


T = TypeVar("T")


def _frozen_map(values: Mapping[str, T]) -> Mapping[str, T]:
    return MappingProxyType(dict(values))


@attrs.frozen(kw_only=True)
class BashRequest:
    """Ask for one command; everything left out gets the executor's default.

    command: bash source text, run as it is.
    workdir: absolute, or relative to the executor's own directory.
    timeout_s: clamped to the executor's maximum; ignored by background tasks.
    stdout_max_bytes: capture limit for trusted callers that need more than the default.
    signal: aborting it ends the command and everything it started.
    stdin: what the command reads; None means end of file at once.
    env, dsh_env: variables on top of the executor's defaults, in this order; None deletes.
    owner: context whose disposal ends processes that the command leaves running.
    """

    command: str
    workdir: str | None = None
    timeout_s: float | None = None
    stdout_max_bytes: int | None = None
    signal: AbortSignal | None = None
    stdin: bytes | str | None = attrs.field(default=None, repr=False)
    env: Mapping[str, str | None] = attrs.field(
        factory=dict[str, str | None], converter=_frozen_map, repr=False
    )
    dsh_env: Mapping[str, str] = attrs.field(
        factory=dict[str, str], converter=_frozen_map, repr=False
    )
    owner: Context | None = attrs.field(default=None, repr=False)


@attrs.frozen(kw_only=True)
class BashSpec:
    """Hold a request with defaults filled, limits clamped and environment merged.

    Execution reads nothing else, so a change of settings never reaches a running command.
    workdir is absolute and canonical. All sizes are per stream.
    """

    command: str
    workdir: str
    timeout_s: float
    stdout_max_bytes: int
    stderr_max_bytes: int
    max_spill_bytes: int
    grace_s: float
    leftovers: Leftovers
    signal: AbortSignal | None
    stdin: bytes | str | None = attrs.field(repr=False)
    env: Mapping[str, str | None] = attrs.field(converter=_frozen_map, repr=False)
    owner: Context | None = attrs.field(repr=False)


@attrs.frozen(kw_only=True)
class BashOutput:
    """Hold what one stream of a command said.

    text: the whole stream, or its beginning and end around a line that counts what is missing.
    truncated: bytes are missing from `text`.
    spill_path: owner-only file with the complete stream, when there is one.
    """

    text: str
    truncated: bool
    spill_path: str | None = None


@attrs.frozen(kw_only=True)
class BashRunResult:
    """Tell how a foreground command ended.

    exit_code, signal: at most one is set; both None means that its end was not observable.
    timed_out, aborted: at most one is true; the first cause wins.
    timeout_s: the limit that applied.
    workdir: where it ran, canonical.
    still_running: processes that the command started are alive.
    """

    exit_code: int | None
    signal: str | None
    timed_out: bool
    aborted: bool
    timeout_s: float
    workdir: str
    stdout: BashOutput
    stderr: BashOutput
    still_running: bool
