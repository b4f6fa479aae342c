"""Retry failed requests as the provider's policy says, and record it in the session."""

import random
from collections.abc import Awaitable, Callable
from typing import Any

from harness.agent import REQUEST_ERROR, AgentRegistry, AttemptFailed, RequestErrorAction, Retry
from harness.llm import RetryPolicy
from harness_plugins.llm_retry.backoff import retry_delay_ms
from harness_plugins.llm_retry.config import RetryConfig
from harness_plugins.llm_retry.series import RETRY_EVENT, Series, current_series
from vendor_shims.cordis import (
    AbortController,
    AbortSignal,
    Context,
    Dep,
    Latch,
    Next,
    Plugin,
)

RETRY_STARTED_EVENT = "llm/retry-started"


class RetryPlugin(Plugin):
    """Answer `agent/request-error` with a retry after a recorded, cancellable wait.

    Counts are read from the log, so they survive a reload of the plugin and of the process.

    Invariants: `llm/retry-started` follows its `llm/retry` unless the wait was cancelled; when the
    disposer ends, no recovery is active.
    """

    name = "llm-retry"
    Config = RetryConfig
    agents = Dep(AgentRegistry)

    def __init__(self, ctx: Context, config: RetryConfig) -> None:
        super().__init__(ctx, config)
        self._stop: AbortController[AbortSignal] = AbortController()
        self._active: dict[object, Latch] = {}

    def start(self) -> Callable[[], Awaitable[None]]:
        """Listen until the plugin ends; ending it aborts the waits and joins the recoveries."""
        self.ctx.on(REQUEST_ERROR, self._recover)
        return self._close

    def uniform(self) -> float:
        """Return a random number in [0, 1) for the jitter; a subclass may decide it."""
        return random.random()  # noqa: S311 - spreading load needs no secrecy

    async def _close(self) -> None:
        self._stop.abort("llm-retry is being disposed")
        for latch in list(self._active.values()):
            await latch

    async def _recover(
        self, failed: AttemptFailed, proceed: Next[RequestErrorAction]
    ) -> RequestErrorAction:
        token, latch = object(), Latch()
        self._active[token] = latch
        try:
            return await self._decide(failed, proceed)
        finally:
            del self._active[token]
            latch.open()

    async def _decide(
        self, failed: AttemptFailed, proceed: Next[RequestErrorAction]
    ) -> RequestErrorAction:
        policy = failed.retry_policy
        if policy is None:
            return await proceed()
        stopped = AbortSignal.any([failed.signal, self._stop.signal])
        if stopped.aborted:
            return None
        if policy.mode == "always":
            action = await self._ask_others(proceed)
            if stopped.aborted or action is not None:
                return None if stopped.aborted else action
        elif failed.failure.code not in policy.retryable_codes:
            return await proceed()
        series = current_series(failed, policy)
        number = series.n_retries + 1
        delay_ms = retry_delay_ms(policy, failed.failure, number, uniform=self.uniform())
        is_over = policy.mode == "normal" and number > policy.max_retries
        if delay_ms is None or is_over:
            return await proceed()
        self._record(failed, policy, series, delay_ms=delay_ms)
        await self._wait(delay_ms / 1000, stopped)
        if stopped.aborted:
            return None
        started = {**_place(failed, series), "retry": number}
        failed.agent.session.append(RETRY_STARTED_EVENT, started)
        return Retry(delay_logged=True)

    async def _ask_others(self, proceed: Next[RequestErrorAction]) -> RequestErrorAction:
        """Let other recoveries go first; a failing one is logged and does not end ours."""
        try:
            return await proceed()
        except Exception as error:  # noqa: BLE001 - other listeners may raise anything
            self.ctx.logger.warning("another recovery of a failed request failed: %s", error)
            return None

    def _record(
        self, failed: AttemptFailed, policy: RetryPolicy, series: Series, *, delay_ms: int
    ) -> None:
        limit = {} if policy.mode == "always" else {"maxRetries": policy.max_retries}
        failed.agent.session.append(
            RETRY_EVENT,
            {
                **_place(failed, series),
                "provider": failed.provider,
                "mode": policy.mode,
                "policyKey": series.policy_key,
                "retry": series.n_retries + 1,
                **limit,
                "delayMs": delay_ms,
                "failure": failed.failure.to_json(),
            },
        )

    async def _wait(self, delay_s: float, stopped: AbortSignal) -> None:
        """Sleep, but not beyond the moment when the turn or this plugin is stopped."""
        woken = Latch()
        timer = self.ctx.kernel.clock.call_later(delay_s, woken.open)
        remove = stopped.add_callback(lambda _: woken.open())
        try:
            await woken
        finally:
            timer.cancel()
            remove()


def _place(failed: AttemptFailed, series: Series) -> dict[str, Any]:
    return {"retryId": series.retry_id, "turn": failed.turn, "step": failed.step}
