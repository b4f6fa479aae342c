"""Ask listeners and tell them, on behalf of one agent."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from vendor_shims.cordis import Emit, Waterfall

if TYPE_CHECKING:
    from harness_plugins.agent_loop.agent import ReactLoopAgent
    from harness_plugins.agent_loop.signal import TurnSignal

T = TypeVar("T")
R = TypeVar("R")


async def ask(
    agent: "ReactLoopAgent",
    event: Waterfall[[T], R],
    make_payload: Callable[[], T],
    default: R,
    *,
    signal: "TurnSignal",
    kinds: tuple[type, ...],
) -> R:
    """Return what the listeners of a waterfall decide, or `default` when nobody listens.

    Raises:
        TurnCancelled: the turn was stopped before, during or right after the question.
        TypeError: a listener decided something that is none of `kinds`.
    """
    signal.check()
    ctx = agent.loop_ctx
    if not ctx.events.has_listeners(event, agent):
        return default
    inner: Callable[[T], Awaitable[R]] = _constantly(default)
    decision: Any = default
    with signal.scope():
        decision = await ctx.waterfall(event, make_payload(), inner=inner, target=agent)
    signal.check()
    if decision is None and type(None) not in kinds and event.accepts_serial:
        return default
    if not isinstance(decision, kinds):
        names = ", ".join(kind.__name__ for kind in kinds)
        raise TypeError(
            f"a listener of {event!s} returned {type(decision).__name__}; expected {names}"
        )
    return cast("R", decision)


def tell(agent: "ReactLoopAgent", event: Emit[[T]], payload: T) -> None:
    """Notify listeners of something that happened; their failures are logged."""
    agent.loop_ctx.emit(event, payload, target=agent)


def _constantly(value: R) -> Callable[[Any], Awaitable[R]]:
    async def inner(_: object) -> R:
        return value

    return inner
