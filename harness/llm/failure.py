"""Turn any exception of an adapter into the failure record that the log keeps."""

from harness.errors import HarnessError
from harness.llm.finish import LlmFailure
from vendor_shims.cordis import AbortError

UNKNOWN = "UNKNOWN"
_FALLBACK = "LLM adapter failed"


def normalize_llm_failure(error: BaseException) -> LlmFailure:
    """Return the failure that `error` stands for; never raises.

    An own failure record is used when it agrees with the error's code. Codes of foreign exceptions
    are never trusted: they become `UNKNOWN`.
    """
    if isinstance(error, (HarnessError, AbortError)):
        own = getattr(error, "failure", None)
        if isinstance(own, LlmFailure) and own.code == error.code:
            return own
        return LlmFailure(_render(error), error.code or UNKNOWN)
    return LlmFailure(_render(error), UNKNOWN)


def _render(error: BaseException) -> str:
    try:
        return str(error) or _FALLBACK
    except Exception:  # noqa: BLE001 - a foreign __str__ may raise anything; this is only text
        return _FALLBACK
