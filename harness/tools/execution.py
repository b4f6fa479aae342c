"""Define the identity of one call, from what the caller asks to what the tool body sees."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs

from harness.llm import Message
from harness.tools.errors import ToolError
from vendor_shims.cordis import AbortSignal

if TYPE_CHECKING:
    from harness.agent import Agent
    from harness.tools.run import CallRun


class ExecutionToken:
    """Identify one execution by identity; opaque, and safe to hand to anybody."""

    __slots__ = ("__weakref__",)


@attrs.frozen(kw_only=True)
class ToolExecutionInput:
    """Ask for one tool call.

    `arguments` is any JSON value (see `parse_arguments` for the text of a model); it is copied
    before anybody sees it. `parent` is the token of an enclosing call that transports this one, and
    `root_call_id` the id of the outermost call, by default this one's.
    """

    call_id: str
    name: str
    arguments: Any
    signal: AbortSignal = attrs.field(factory=AbortSignal.never)
    agent: Agent | None = None
    parent: ExecutionToken | None = None
    root_call_id: str | None = None


class ToolExecution:
    """Show one running call to its tool and to the listeners of the pipeline.

    Invariants: everything is read-only, except that a `tools/execute` wrapper may replace `signal`
    and must restore it; nothing changes once `tools/result` observers saw the call. `arguments` is
    frozen JSON.
    """

    __slots__ = (
        "_run",
        "agent",
        "arguments",
        "call_id",
        "name",
        "parent",
        "root_call_id",
        "signal",
        "token",
    )

    agent: Agent | None
    arguments: Any
    call_id: str
    name: str
    parent: ExecutionToken | None
    root_call_id: str
    signal: AbortSignal
    token: ExecutionToken
    _run: CallRun

    def __init__(self, request: ToolExecutionInput, arguments: object, run: CallRun) -> None:
        """Take the identity from `request`; only the registry makes executions."""
        write = _WRITERS
        write["agent"](self, request.agent)
        write["arguments"](self, arguments)
        write["call_id"](self, request.call_id)
        write["name"](self, request.name)
        write["parent"](self, request.parent)
        write["root_call_id"](self, request.root_call_id or request.call_id)
        write["signal"](self, request.signal)
        write["token"](self, ExecutionToken())
        write["_run"](self, run)

    def __setattr__(self, name: str, value: object) -> None:
        if name != "signal":
            raise AttributeError(f"a tool execution is read-only; {name!r} cannot be assigned")
        if self._run.is_frozen:
            raise AttributeError("this tool call has ended; its signal cannot be replaced")
        _WRITERS["signal"](self, value)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a tool execution is read-only; {name!r} cannot be deleted")

    def __repr__(self) -> str:
        return f"ToolExecution({self.name!r}, call_id={self.call_id!r})"

    @property
    def is_frozen(self) -> bool:
        """Return whether the call has its final result."""
        return self._run.is_frozen

    def defer_context(self, message: Message) -> None:
        """Append a message after the results of this step; call it from the tool body.

        Raises:
            TypeError: that is no message.
            ToolError: the call has ended.
        """
        self._require_open()
        if not isinstance(message, Message):  # pyright: ignore[reportUnnecessaryIsInstance]  # tools may be untyped
            raise TypeError(f"expected a message to defer, got {type(message).__name__}")
        self._run.contexts.append(message)

    def conclude_turn(self) -> None:
        """End the turn after this step, if the call ends in success; call it from the tool body.

        Raises:
            ToolError: the call has ended.
        """
        self._require_open()
        self._run.concludes_turn = True

    def _require_open(self) -> None:
        if self._run.is_frozen:
            raise ToolError(f"the call {self.call_id!r} of tool {self.name!r} has ended")


_WRITERS: dict[str, Callable[[ToolExecution, Any], None]] = {
    name: vars(ToolExecution)[name].__set__ for name in ToolExecution.__slots__
}
"""Slot setters that bypass the read-only rule, for the constructor and the signal."""


def run_of(execution: ToolExecution) -> CallRun:
    """Return the mutable side of a call; for the pipeline only."""
    return execution._run  # pyright: ignore[reportPrivateUsage]  # the other half of the call


def assign_signal(execution: ToolExecution, signal: AbortSignal) -> None:
    """Set the signal of a call even after its end, as a body that outlived its deadline needs."""
    _WRITERS["signal"](execution, signal)
