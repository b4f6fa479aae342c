"""Define the error tree of the model layer.

HarnessError
├── LlmError              a model call, an adapter or its wiring failed; carries an `LlmFailure`
└── InvariantError        a stream broke the chunk grammar (code `INVARIANT`): an adapter's defect

Codes that policy routes on:

- transient: `RATE_LIMIT`, `SERVER`, `TIMEOUT`, `TRANSPORT`, `EMPTY_RESPONSE`
- protocol: `STREAM_CLOSED`, `MALFORMED_RESPONSE`
- account: `AUTH`, `QUOTA`, `MISSING_CREDENTIAL`, `INVALID_CREDENTIAL`
- size: `CONTEXT_WINDOW_EXCEEDED`
- caller: `INVALID_REQUEST`, `UNSUPPORTED_CONTENT`, `UNSUPPORTED_OPTION`,
  `UNSUPPORTED_REASONING_EFFORT`, `UNKNOWN_MODEL`
- cancellation: `ABORTED`
- wiring: `NO_ADAPTER`, `INVALID_ADAPTER`, `DUPLICATE_ADAPTER`, `REGISTRATION_DISPOSED`,
  `INVALID_PREPARED_CALL`, `INVALID_CATALOG`, `INVALID_MODEL_*`, `*_DIRECTORY`, `*_DISCOVERY`
- anything else: `HTTP_<status>`, an upper-cased stop reason, `UNKNOWN`
"""

from harness.errors import HarnessError
from harness.llm.finish import LlmFailure


class LlmError(HarnessError):
    """Report a failed model call or a wiring mistake as a frozen `LlmFailure`.

    `failure.code == code` always holds. Facts outside their documented range raise `ValueError`
    at construction.
    """

    code: str = "UNKNOWN"

    def __init__(
        self,
        message: str,
        code: str,
        *,
        cause: BaseException | None = None,
        status: int | None = None,
        provider_retry_after_ms: float | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message, code=code)
        self.failure: LlmFailure = LlmFailure(
            message=message,
            code=code,
            status=status,
            provider_retry_after_ms=provider_retry_after_ms,
            request_id=request_id,
        )
        if cause is not None:
            self.__cause__ = cause


class InvariantError(HarnessError):
    """Report a stream that broke the chunk grammar; never turned into a finish chunk."""

    code: str = "INVARIANT"
