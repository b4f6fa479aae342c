"""Keep the mutable side of one running call, out of reach of listeners."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import attrs

from harness.llm import Message
from vendor_shims.cordis import AbortSignal

if TYPE_CHECKING:
    from harness.tools.definition import Rendering
    from harness.tools.execution import ToolExecution
    from harness.tools.result import ToolExecutionResult
    from harness.tools.visibility import RegisteredTool


@attrs.define(eq=False)
class CallRun:
    """Hold what the pipeline knows about one call besides its identity.

    Invariants: `finalizer` is that of the tool the caller saw when the call started; `tool` is the
    one that ran last; `made` are the results that the body of this call returned; `contexts` and
    `concludes_turn` come from the last attempt alone; nothing changes once `is_frozen`.
    """

    caller_signal: AbortSignal
    tool: RegisteredTool | None
    finalizer: Callable[[ToolExecution, ToolExecutionResult], Rendering | None] | None
    contexts: list[Message] = attrs.field(factory=list)
    concludes_turn: bool = False
    made: list[ToolExecutionResult] = attrs.field(factory=list)
    has_started: bool = False
    is_frozen: bool = False

    def begin(self, tool: RegisteredTool) -> None:
        """Start an attempt of the body, forgetting what an earlier attempt left."""
        self.tool = tool
        self.contexts = []
        self.concludes_turn = False
        self.has_started = True
