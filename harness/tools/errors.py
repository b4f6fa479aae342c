"""Define what can go wrong with tools, and the codes that error results carry.

HarnessError
└── ToolError                    TOOL_ERROR           anything this package refuses
    ├── JsonSchemaError          UNSUPPORTED_SCHEMA   a schema outside the subset (ValueError)
    ├── ToolRegistrationError    TOOL_REGISTRATION    a name is taken or reserved (ValueError)
    ├── ToolRestrictionError     TOOL_RESTRICTION     a restriction that cannot hold (ValueError)
    ├── ToolArgsError            INVALID_ARGS         arguments that break the parameters
    ├── ToolNotFoundError        UNKNOWN_TOOL         no such tool is visible to the caller
    ├── ToolOutputError          INVALID_TOOL_OUTPUT  a tool broke its own output contract
    ├── ToolAbortedError         ABORTED, ABORTED_BEFORE_DISPATCH
    └── ToolDecisionError        TOOL_DECISION        a listener returned no valid decision

Messages of the last five reach the model: they say what was wrong and what to do next.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from harness.errors import HarnessError

ABORTED: Final = "ABORTED"
"""The call was aborted after its body started; a success that arrived anyway is not reported."""

ABORTED_BEFORE_DISPATCH: Final = "ABORTED_BEFORE_DISPATCH"
"""The call was aborted before its body started; nothing happened."""

DUPLICATE_CALL_ID: Final = "DUPLICATE_CALL_ID"
"""An earlier call of the same message has this id; written by the loop."""

TRUNCATED_RESPONSE: Final = "TRUNCATED_RESPONSE"
"""The message was cut by the output ceiling, so its calls are not run; written by the loop."""

_MAX_LISTED = 20


class ToolError(HarnessError):
    """Report a failure of this package; catch it to treat every kind alike."""

    code: str = "TOOL_ERROR"


class JsonSchemaError(ToolError, ValueError):
    """Report a schema outside the supported subset; `violations` lists every problem."""

    code: str = "UNSUPPORTED_SCHEMA"

    def __init__(self, violations: Sequence[str]) -> None:
        """Join the violations, each of which names its path."""
        super().__init__(f"unsupported schema: {join_violations(violations)}")
        self.violations: tuple[str, ...] = tuple(violations)


class ToolRegistrationError(ToolError, ValueError):
    """Report a tool name that is reserved or taken in its layer."""

    code: str = "TOOL_REGISTRATION"


class ToolRestrictionError(ToolError, ValueError):
    """Report a restriction outside a scope, without a filter, or of unknown names."""

    code: str = "TOOL_RESTRICTION"


class ToolArgsError(ToolError, ValueError):
    """Report arguments that break the parameters of a tool; `violations` lists every problem."""

    code: str = "INVALID_ARGS"

    def __init__(self, violations: Sequence[str], *, hint: str = "") -> None:
        """Join the violations; `hint` says more about the cause."""
        super().__init__(f"invalid arguments: {join_violations(violations)}{hint}")
        self.violations: tuple[str, ...] = tuple(violations)


class ToolNotFoundError(ToolError, LookupError):
    """Report a call of a tool that is not visible to its caller."""

    code: str = "UNKNOWN_TOOL"

    def __init__(self, name: str, known: Iterable[str] = ()) -> None:
        """Name the tool, shortened when very long, and those of the `known` ones it resembles."""
        from difflib import get_close_matches

        asked = _shorten(name)
        near = " or ".join(f'"{one}"' for one in get_close_matches(asked, list(known)))
        super().__init__(f'unknown tool "{asked}"{near and f"; did you mean {near}?"}')


class ToolOutputError(ToolError):
    """Report a tool whose value, rendering or metadata breaks its output contract."""

    code: str = "INVALID_TOOL_OUTPUT"


class ToolAbortedError(ToolError):
    """Report an aborted call; `code` tells whether its body had started."""

    code: str = ABORTED


class ToolDecisionError(ToolError, TypeError):
    """Report a listener that returned something other than one of the decisions it may return."""

    code: str = "TOOL_DECISION"


def join_violations(violations: Sequence[str]) -> str:
    """Join violations by `; `, counting those beyond the first twenty."""
    more = len(violations) - _MAX_LISTED
    listed = "; ".join(violations[:_MAX_LISTED])
    return f"{listed}; and {more} more" if more > 0 else listed


def _shorten(name: str) -> str:
    return name if len(name) <= 100 else f"{name[:100]}…"
