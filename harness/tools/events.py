"""Declare the events of the tool pipeline, in the order in which they happen."""

from harness.tools.decisions import PostToolDecision, PreToolDecision
from harness.tools.execution import ToolExecution
from harness.tools.result import ToolExecutionResult
from vendor_shims.cordis import Emit, Waterfall


def _agent_of(execution: ToolExecution, *_: object) -> object:
    return execution.agent


PRE_EXECUTE = Waterfall[[ToolExecution], PreToolDecision](
    "tools/pre-execute",
    is_async=True,
    scoped=_agent_of,
    doc=(
        "Decides whether a call may run, once per call and before its body; the default of `next()`"
        " is `Allow()`. A listener returns `Allow`, `Deny` or `Ask`; raising ends the call with an "
        "error result that skips `tools/post-execute`."
    ),
)

EXECUTE = Waterfall[[ToolExecution], ToolExecutionResult](
    "tools/execute",
    is_async=True,
    scoped=_agent_of,
    doc=(
        "Wraps the body of an allowed call. A listener may replace `execution.signal` around "
        "`next()`, call `next()` again to retry, or return a result of its own, whose value is "
        "validated and rendered again."
    ),
)

POST_EXECUTE = Waterfall[[ToolExecution, ToolExecutionResult], PostToolDecision](
    "tools/post-execute",
    is_async=True,
    scoped=_agent_of,
    doc=(
        "Decides what becomes of a result, denials included; the default of `next()` is "
        "`Accept()`. A listener returns `Accept` or `Block`; raising makes an error result."
    ),
)

RESULT = Emit[[ToolExecution, ToolExecutionResult]](
    "tools/result",
    contain=True,
    scoped=_agent_of,
    doc=(
        "Follows every call, exactly once, with the frozen execution and the result that the caller"
        " gets. Observers cannot change either; their failures are logged."
    ),
)

CHANGE = Emit[[]](
    "tools/change",
    doc=(
        "Follows every change of what tools are visible to somebody, before the call that made it "
        "returns. A listener that raises vetoes a registration, which is then rolled back."
    ),
)
