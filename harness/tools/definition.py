"""Define what a tool is: what the model sees of it, what it returns, and how it runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs

from harness.llm import ContentBlock
from harness.tools.cards import CallView, ResultView
from harness.tools.result import ToolExecutionResult

if TYPE_CHECKING:
    from harness.tools.execution import ToolExecution

Rendering: TypeAlias = "str | ContentBlock | Sequence[ContentBlock]"
"""Model-facing content; a plain string becomes one text block."""

SideEffect: TypeAlias = Literal["read", "write", "execute", "network"]
CancelMode: TypeAlias = Literal["scope", "cooperative"]
Arguments: TypeAlias = Mapping[str, Any]
"""Arguments of one call: a frozen JSON object, lists as tuples."""


@attrs.frozen
class ToolOutput:
    """Declare what a tool returns and how the model reads it.

    `schema` is a JSON schema in the supported subset (in `define_tool`: a schema spec).
    `render(args, value)` makes the content; `presentation_meta(args, value)` makes bounded JSON for
    cards, kept in the log. Both are synchronous and pure; values are frozen JSON.
    """

    schema: Mapping[str, Any]
    render: Callable[[Any, Any], Rendering]
    presentation_meta: Callable[[Any, Any], Any] | None = None


@attrs.frozen(kw_only=True)
class ToolDefinition:
    """Describe one tool; registering borrows it, so nobody may change what it refers to.

    A definition made by hand validates its own arguments; `define_tool` and `tool` do that for you.
    """

    name: str
    """Model-facing name, unique in its scope layer."""
    description: str
    """Model-facing text."""
    parameters: Mapping[str, Any]
    """JSON schema of the arguments, passed to the model as it is."""
    output: ToolOutput
    """Contract of the value."""
    execute: Callable[[Any, ToolExecution], Awaitable[Any]]
    """Run the call and return its JSON value; raise to report an error to the model."""
    finalize_content: Callable[[ToolExecution, ToolExecutionResult], Rendering | None] | None = None
    """Transform the content of every outcome, failures included, last; `None` keeps it."""
    validate_args: Callable[[Any], Sequence[str]] | None = None
    """List what is wrong with arguments, so that nobody is asked about a call that cannot run."""
    timeout_s: float | None = None
    """Deadline in seconds, finite and positive, enforced by a policy plugin."""
    is_concurrency_safe: Callable[[Any], bool] | None = None
    """Return exactly `True` when this call may overlap others; absent means it never may."""
    effects: frozenset[SideEffect] | None = None
    """What the tool may do to the world, for gates; absent means unknown."""
    cancel_mode: CancelMode = "scope"
    """`scope` cancels the body on an abort; `cooperative` leaves it to watch `exec.signal`."""
    present_call: Callable[[Any], CallView | None] | None = None
    """Make the card of a pending call; pure."""
    present_result: Callable[[Any, Mapping[str, Any]], ResultView | None] | None = None
    """Make the card of a finished call from `{content, isError, meta?}`; pure."""
