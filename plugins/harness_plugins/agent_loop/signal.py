"""The abort signal of a turn, with cancel scopes for the awaits that it may cut short."""

from types import TracebackType
from typing import cast

from anyio import CancelScope

from harness.agent import CancelCause
from harness_plugins.agent_loop.errors import TurnCancelled
from vendor_shims.cordis import AbortSignal


class TurnSignal(AbortSignal):
    """Tell a turn to stop, with a typed cause.

    Invariants: scopes are entered and left in one task; an abort cancels every entered scope in
    one synchronous pass, then runs the callbacks; `reason` is a cause once it is set.
    """

    __slots__ = ("_scopes",)

    def __init__(self) -> None:
        """Start silent."""
        super().__init__()
        self._scopes: set[CancelScope] = set()

    @property
    def cause(self) -> CancelCause | None:
        """Who stopped the turn, once somebody did."""
        return cast("CancelCause | None", self.reason)

    def check(self) -> None:
        """Raise `TurnCancelled` once the turn was stopped."""
        if self.aborted:
            raise TurnCancelled(cast("CancelCause", self.reason))

    throw_if_aborted = check

    def trigger(self, reason: object) -> bool:
        """Abort; what is no cause (only a meddling listener gives one) counts as a hook's."""
        if not self.aborted:
            for scope in tuple(self._scopes):
                scope.cancel()
        return super().trigger(
            reason if isinstance(reason, CancelCause) else CancelCause("hook", str(reason))
        )

    def scope(self) -> "TurnScope":
        """Return a block whose awaits the abort cancels; it leaves with `TurnCancelled` then."""
        return TurnScope(self)

    def enter(self, scope: CancelScope) -> None:
        """Take an entered scope in; for `TurnScope`."""
        self._scopes.add(scope)
        if self.aborted:
            scope.cancel()

    def leave(self, scope: CancelScope) -> None:
        """Let a scope go; for `TurnScope`."""
        self._scopes.discard(scope)


class TurnScope:
    """Bound the awaits of one block by the signal of a turn."""

    __slots__ = ("_scope", "_signal")

    def __init__(self, signal: TurnSignal) -> None:
        """Belong to `signal`."""
        self._signal = signal
        self._scope = CancelScope()

    def __enter__(self) -> None:
        self._scope.__enter__()
        self._signal.enter(self._scope)

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        self._signal.leave(self._scope)
        swallowed = self._scope.__exit__(exc_type, exc, traceback)
        if self._scope.cancelled_caught:
            self._signal.check()
        return swallowed
