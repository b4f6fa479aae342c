"""Put a call that needs permission before the user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from harness.tools.decisions import Allow, Ask, Deny
from vendor_shims.cordis import AbortSignal, Context

if TYPE_CHECKING:
    from harness.agent import Agent
    from harness.tools.execution import ToolExecution

ApprovalOutcome: TypeAlias = Literal["allowed-once", "rejected", "cancelled", "unavailable"]

_UNAVAILABLE = "this call needs the user's approval, and nobody is available to give it"
_REASONS: dict[str, str] = {
    "rejected": "the user rejected this call; do not repeat it in the same way",
    "cancelled": "the approval of this call was cancelled, so it did not run",
    "unavailable": _UNAVAILABLE,
}


class Approval(Protocol):
    """What the pipeline needs of the service under the ctx key `approval`."""

    async def request(
        self,
        *,
        agent: Agent,
        tool_name: str,
        call_id: str,
        reason: str | None,
        signal: AbortSignal,
    ) -> ApprovalOutcome:
        """Ask the user about one call."""
        ...


async def ask_user(ctx: Context, execution: ToolExecution, ask: Ask) -> Allow | Deny:
    """Return what the user decides; without an approval service or an agent the call is denied."""
    approval: Approval | None = ctx.get("approval")
    if execution.agent is None or approval is None:
        return Deny(ask.reason or _UNAVAILABLE)
    outcome = await approval.request(
        agent=execution.agent,
        tool_name=execution.name,
        call_id=execution.call_id,
        reason=ask.reason,
        signal=execution.signal,
    )
    if outcome == "allowed-once":
        return Allow()
    reason = _REASONS.get(outcome, _UNAVAILABLE)
    return Deny(f"{reason} ({ask.reason})" if ask.reason else reason)
