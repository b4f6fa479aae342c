"""Put what a stream left behind into one text."""

from __future__ import annotations

from typing import cast

from harness.bash import BashOutput
from harness.retention import Exact, describe_omitted
from harness.subprocess import Collect, CollectedStream, ProcessHandle, Spill


def collect_limits(max_bytes: int, *, max_spill_bytes: int) -> Collect:
    """Return limits that keep the first quarter and the last three quarters of `max_bytes`."""
    head_bytes = max_bytes // 4
    return Collect(
        head_bytes=head_bytes,
        max_bytes=max_bytes - head_bytes,
        spill=Spill(max_bytes=max_spill_bytes),
    )


def both_streams(handle: ProcessHandle) -> tuple[CollectedStream, CollectedStream]:
    """Return what a process started by us writes; both streams are always collected."""
    return (
        cast("CollectedStream", handle.collected_stdout),
        cast("CollectedStream", handle.collected_stderr),
    )


def read_output(stream: CollectedStream) -> BashOutput:
    """Return the whole stream, or both of its ends around a line that counts what is missing."""
    kept = stream.retained()
    if kept.omitted_bytes == 0:
        return BashOutput(text=kept.tail, truncated=False, spill_path=kept.spill_path)
    gap = f"[… {describe_omitted(Exact(kept.omitted_bytes), 'bytes')} …]"
    return BashOutput(
        text=f"{_ended(kept.head)}{gap}\n{kept.tail}", truncated=True, spill_path=kept.spill_path
    )


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"
