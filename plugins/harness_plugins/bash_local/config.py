"""Configure the local bash executor."""

from __future__ import annotations

from typing import Annotated

from harness.bash import Leftovers
from harness.deadline import MAX_TIMEOUT_MS
from vendor_shims.schema import Ge, Gt, Le, Volatile, config, field

TimeoutMs = Annotated[float, Gt(0), Le(MAX_TIMEOUT_MS)]


@config
class BashLocalConfig:
    """Settings of `bash_local`; sizes are per stream; changes hold from the next command on."""

    cwd: str | None = field(
        default=None,
        doc="Absolute directory for commands that name none; the launch directory by default.",
    )
    timeout_ms: Volatile[TimeoutMs] = field(
        default=120_000, role="ms", doc="Time limit for commands that ask for none."
    )
    max_timeout_ms: Volatile[TimeoutMs] = field(
        default=600_000, role="ms", doc="Longest time limit that a command gets."
    )
    max_output_bytes: Volatile[Annotated[int, Ge(0)]] = field(
        default=64_000, doc="Output kept in memory: the first quarter and the last three."
    )
    max_spill_bytes: Volatile[Annotated[int, Ge(0)]] = field(
        default=64 * 1024 * 1024, doc="Largest output that is kept in a file."
    )
    grace_ms: Volatile[TimeoutMs] = field(
        default=3_000, role="ms", doc="Time between TERM and KILL when a command must end."
    )
    leftovers: Volatile[Leftovers] = field(
        default="keep",
        doc="What happens to processes that a command leaves running: `keep` them until the "
        "session ends, or `terminate` them with the command.",
    )
