"""Say which deadline has ended some work."""

import attrs

from vendor_shims.cordis import AbortSignal


@attrs.frozen
class TimeoutReason:
    """The abort reason that a deadline sets: its own code and the seconds it allowed."""

    code: str
    timeout_s: float


def timeout_of(signal: AbortSignal, code: str) -> TimeoutReason | None:
    """Return the reason if the signal was aborted by the deadline of this code, else None.

    A deadline with another code is an ordinary abort to the caller, so nested ones stay distinct.
    """
    reason = signal.reason
    return reason if isinstance(reason, TimeoutReason) and reason.code == code else None
