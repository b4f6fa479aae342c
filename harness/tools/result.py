"""Define the one result that every tool call ends with."""

from __future__ import annotations

from typing import Any

import attrs

from harness.llm import ContentBlock, Message, TextBlock
from harness.tools.content import as_content
from harness.tools.describe import describe_error, error_code
from harness.wire import as_tuple


@attrs.frozen
class ErrorInfo:
    """Identify a failure for programs: the class of the error and its stable code."""

    name: str
    code: str

    def to_json(self) -> dict[str, str]:
        """Return the form that `tool/result` keeps."""
        return {"name": self.name, "code": self.code}


@attrs.frozen
class ToolFailure:
    """Say why a call failed; `info` is absent for failures without a code."""

    message: str
    info: ErrorInfo | None = None


@attrs.frozen(kw_only=True)
class ToolExecutionResult:
    """Hold the outcome of one call, deeply frozen.

    `content` is what the model reads. `value` is the tool's JSON value, for callers inside the
    process only; `meta` is bounded JSON for cards, kept in the log. An error has neither.
    `additional_contexts` are messages to append after the results of the step.
    """

    content: tuple[ContentBlock, ...] = attrs.field(converter=as_content)
    is_error: bool = False
    value: Any = None  # a frozen JSON value
    meta: Any = None  # a frozen JSON value; None means there is none
    error: ToolFailure | None = None
    additional_contexts: tuple[Message, ...] = attrs.field(default=(), converter=as_tuple)
    concludes_turn: bool = False

    @property
    def code(self) -> str | None:
        """Return the code of the failure, or `None`."""
        info = self.error.info if self.error is not None else None
        return None if info is None else info.code


def error_result(
    failure: BaseException | str,
    *,
    info: ErrorInfo | None = None,
    additional_contexts: tuple[Message, ...] = (),
) -> ToolExecutionResult:
    """Make the error result of an exception, or of a message with its `info`.

    The content is `Error: ` and the message, never a traceback.
    """
    if isinstance(failure, str):
        message = failure
    else:
        message = describe_error(failure)
        code = error_code(failure)
        if info is None and code is not None:
            info = ErrorInfo(type(failure).__name__, code)
    return ToolExecutionResult(
        is_error=True,
        content=(TextBlock(f"Error: {message}"),),
        error=ToolFailure(message, info),
        additional_contexts=additional_contexts,
    )
