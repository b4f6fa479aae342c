"""Read the event stream of one answer, and say who is to blame when it breaks."""

from anyio import move_on_after

from harness.http import (
    HttpError,
    HttpInvalidRequestError,
    HttpStream,
    HttpTimeoutError,
    redact_url,
)
from harness.llm import LlmError
from harness.wire import SseDecoder, SseEventTooLargeError
from vendor_shims.cordis import AbortSignal

_DONE = b"[DONE]"
_DRAIN_S = 0.05


class PayloadReader:
    """Turn the pieces of a body into the data of its events, up to the end marker.

    Invariant: once `is_done`, nothing more is handed out.
    """

    def __init__(self) -> None:
        self.is_done = False
        self._is_empty = True
        self._decode = SseDecoder().feed_data

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the data of the events that these bytes complete, without the end marker."""
        payloads = self._decode(piece)
        if piece:
            self._is_empty = False
        if _DONE in payloads:
            self.is_done = True
            del payloads[payloads.index(_DONE) :]
        return payloads

    def cut(self) -> LlmError:
        """Return the error of a body that ended before its end marker."""
        if self._is_empty:
            return LlmError("the provider answered without a body", "EMPTY_RESPONSE")
        return LlmError("the provider ended the stream before its end marker", "STREAM_CLOSED")


async def drain(response: HttpStream) -> None:
    """Read what follows the end marker for a moment, and ignore it.

    A body that was read to its end lets its connection be used again.
    """
    with move_on_after(_DRAIN_S):
        try:
            async for _ in response:
                pass
        except HttpError:
            return  # the answer is complete; how its connection ends no longer matters


def blame(error: Exception, signal: AbortSignal | None, base_url: str) -> Exception:
    """Return the failure that an exception of one exchange stands for.

    In order: the idle limit, the caller's abort, an `LlmError` as it is, the transport. Anything
    else is a defect and comes back unchanged.
    """
    if isinstance(error, HttpTimeoutError) and error.kind != "connect":
        return LlmError(str(error), "TIMEOUT")
    if signal is not None and signal.aborted:
        return LlmError("request aborted by caller", "ABORTED")
    if isinstance(error, SseEventTooLargeError):
        return LlmError(str(error), "MALFORMED_RESPONSE")
    if isinstance(error, HttpInvalidRequestError):
        return LlmError(str(error), "INVALID_REQUEST")
    if isinstance(error, HttpError):
        return LlmError(f"the connection to {redact_url(base_url)} failed: {error}", "TRANSPORT")
    return error
