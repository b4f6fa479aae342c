"""The recovery policy on a real session and bus, on a clock that a test moves."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from attrs import define, evolve

from harness.agent import REQUEST_ERROR, Agent, AgentRegistry, AttemptFailed, Retry
from harness.llm import FrozenDict, LlmFailure, RetryPolicy
from harness.session import Session
from harness_plugins.llm_retry import RetryConfig, RetryPlugin, retry_delay_ms
from vendor_shims.cordis import AbortController, Context, Fiber, ValidationError
from vendor_shims.timer import VirtualClock, come_to_rest

NORMAL = RetryPolicy()
ALWAYS = RetryPolicy("always", initial_delay_ms=1000, max_delay_ms=60_000)
SLOW_DOWN = LlmFailure("mock rate limit", "RATE_LIMIT", status=429)


class Steady(RetryPlugin):
    """Retries without a spread."""

    def uniform(self) -> float:
        return 0.5


class SessionOnly(Agent):
    """An agent of which recovery needs the session alone; the rest is not to be called."""

    def __init__(self, session: Session, ctx: Context) -> None:
        self.session = session
        self.ctx = ctx

    def __event_filter__(self, ctx: Context) -> bool:
        return True


SessionOnly.__abstractmethods__ = frozenset()


@define
class Bench:
    root: Context
    clock: VirtualClock
    session: Session
    agent: SessionOnly
    controller: AbortController
    fiber: Fiber

    def failed(self, failure=SLOW_DOWN, policy: RetryPolicy | None = NORMAL, **facts: Any):
        place = {"turn": 1, "step": 1, "attempt": 1, "provider": "p", **facts}
        return AttemptFailed(
            agent=self.agent,
            failure=failure,
            retry_policy=policy,
            signal=self.controller.signal,
            **place,
        )

    async def recover(self, failed: AttemptFailed | None = None, *, wait_s: float = 100.0):
        """Dispatch one failure and let the wait pass; return the action."""
        task = asyncio.create_task(self.dispatch(failed or self.failed()))
        await self.clock.advance(wait_s)
        assert task.done()
        return task.result()

    async def dispatch(self, failed: AttemptFailed):
        return await self.root.waterfall(
            REQUEST_ERROR, failed, inner=lambda _: None, target=self.agent
        )

    def logged(self) -> list[tuple[str, dict]]:
        events = self.session.events
        return [(e.type, dict(e.data)) for e in events if e.type.startswith("llm/")]

    def next_step(self, step: int) -> None:
        self.session.append("step/end", {"turn": 1, "step": step - 1})
        self.session.append("step/start", {"turn": 1, "step": step})


def open_session() -> Session:
    session = Session.create("s1")
    session.append("turn/start", {"turn": 1, "trigger": {"kind": "message"}})
    session.append("step/start", {"turn": 1, "step": 1})
    return session


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    clock = VirtualClock()
    async with Context(clock=clock) as root:
        root.plugin(AgentRegistry)
        fiber = root.plugin(Steady)
        await come_to_rest()
        session = open_session()
        agent = SessionOnly(session, root)  # pyright: ignore[reportAbstractUsage] - see there
        yield Bench(root, clock, session, agent, AbortController(), fiber)


@pytest.mark.spec("02-172")
def test_a_policy_in_the_wrong_place_is_pointed_to_its_provider() -> None:
    with pytest.raises(ValidationError, match="belongs to the provider"):
        RetryConfig.validate({"retryPolicy": {}})
    with pytest.raises(ValidationError, match="noise"):
        RetryConfig.validate({"noise": 1})
    assert RetryConfig.validate(None) == RetryConfig.validate({}) == RetryConfig()


@pytest.mark.spec("02-173")
async def test_a_transient_failure_is_retried_and_recorded(bench) -> None:
    assert await bench.recover() == Retry(delay_logged=True)
    assert await bench.recover(bench.failed(attempt=2)) == Retry(delay_logged=True)
    first, started, second, _ = bench.logged()
    retry_id = first[1]["retryId"]
    assert first == (
        "llm/retry",
        {
            "retryId": retry_id,
            "turn": 1,
            "step": 1,
            "provider": "p",
            "mode": "normal",
            "policyKey": '["normal",5,["EMPTY_RESPONSE","RATE_LIMIT","SERVER","TIMEOUT",'
            '"TRANSPORT"],500,10000,0.1]',
            "retry": 1,
            "maxRetries": 5,
            "delayMs": 500,
            "failure": SLOW_DOWN.to_json(),
        },
    )
    assert started == (
        "llm/retry-started",
        {"retryId": retry_id, "turn": 1, "step": 1, "retry": 1},
    )
    assert (second[1]["retry"], second[1]["retryId"], second[1]["delayMs"]) == (2, retry_id, 1000)


@pytest.mark.spec("02-174")
async def test_a_series_ends_at_its_limit(bench) -> None:
    for _ in range(5):
        assert await bench.recover()
    assert await bench.recover() is None
    assert [name for name, _ in bench.logged()] == ["llm/retry", "llm/retry-started"] * 5


@pytest.mark.spec("02-175")
@pytest.mark.parametrize(
    ("failure", "policy"),
    [
        (LlmFailure("no", "AUTH"), NORMAL),
        (SLOW_DOWN, None),
        (SLOW_DOWN, evolve(NORMAL, max_retries=0)),
        (evolve(SLOW_DOWN, provider_retry_after_ms=60_000), NORMAL),
    ],
)
async def test_what_the_policy_does_not_cover_is_passed_on(bench, failure, policy) -> None:
    heard: list[str] = []

    async def other(failed, proceed):
        heard.append(failed.failure.code)
        return await proceed()

    bench.root.on(REQUEST_ERROR, other)
    assert await bench.recover(bench.failed(failure, policy)) is None
    assert heard == [failure.code]
    assert bench.logged() == []


@pytest.mark.spec("02-176")
async def test_a_delay_that_the_provider_asks_for_is_kept(bench) -> None:
    failure = evolve(SLOW_DOWN, provider_retry_after_ms=3000)
    task = asyncio.create_task(bench.dispatch(bench.failed(failure)))
    await bench.clock.advance(2.9)
    assert not task.done()
    await bench.clock.advance(0.2)
    assert await task == Retry(delay_logged=True)
    too_long = evolve(SLOW_DOWN, provider_retry_after_ms=120_000)
    assert await bench.recover(bench.failed(too_long, ALWAYS))
    assert [data["delayMs"] for name, data in bench.logged() if name == "llm/retry"] == [3000, 1000]


@pytest.mark.spec("02-176", "02-177")
@pytest.mark.parametrize(
    ("retry", "uniform", "expected_ms"),
    [(1, 0.0, 450), (1, 0.5, 500), (1, 1.0, 550), (3, 0.5, 2000), (10, 1.0, 10_000),
     (5000, 0.0, 9000)],
)  # fmt: skip
def test_delays_double_with_a_spread_up_to_the_maximum(retry, uniform, expected_ms) -> None:
    assert retry_delay_ms(NORMAL, SLOW_DOWN, retry, uniform=uniform) == expected_ms
    asked = evolve(SLOW_DOWN, provider_retry_after_ms=3000)
    assert retry_delay_ms(NORMAL, asked, retry, uniform=uniform) == 3000


def test_growth_beyond_any_number_is_the_maximum() -> None:
    policy = RetryPolicy(initial_delay_ms=2e9, max_delay_ms=2_147_483_647, jitter_ratio=0)
    assert retry_delay_ms(policy, SLOW_DOWN, 2000, uniform=0.5) == 2_147_483_647


@pytest.mark.spec("02-178")
async def test_cancelling_the_turn_ends_the_wait_without_a_retry(bench) -> None:
    task = asyncio.create_task(bench.dispatch(bench.failed()))
    await bench.clock.advance(0.1)
    bench.controller.abort("user")
    assert await task is None
    assert [name for name, _ in bench.logged()] == ["llm/retry"]
    assert bench.clock.n_pending == 0
    assert await bench.recover() is None


async def test_cancelling_the_host_task_is_not_swallowed(bench) -> None:
    task = asyncio.create_task(bench.dispatch(bench.failed()))
    await bench.clock.advance(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.spec("02-179")
async def test_disposing_the_plugin_ends_the_wait_and_joins_it(bench) -> None:
    task = asyncio.create_task(bench.dispatch(bench.failed()))
    await bench.clock.advance(0.1)
    await bench.fiber.dispose()
    assert task.done()
    assert task.result() is None
    assert [name for name, _ in bench.logged()] == ["llm/retry"]
    assert await bench.recover() is None


@pytest.mark.spec("02-179")
async def test_disposal_waits_for_an_active_recovery_and_retries_nothing(bench) -> None:
    gate = asyncio.Event()

    async def slow(failed, proceed):
        await gate.wait()

    bench.root.on(REQUEST_ERROR, slow)
    active = asyncio.create_task(bench.dispatch(bench.failed(policy=ALWAYS)))
    await come_to_rest()
    disposing = bench.fiber.dispose()
    await come_to_rest()
    assert not disposing.is_open
    gate.set()
    await disposing
    assert active.done()
    assert active.result() is None
    assert bench.logged() == []


@pytest.mark.spec("02-180")
async def test_an_endless_policy_lets_other_recoveries_go_first(bench) -> None:
    answers: list[object] = [Retry(), RuntimeError("compaction failed"), None]

    async def compaction(failed, proceed):
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    bench.root.on(REQUEST_ERROR, compaction)
    failed = bench.failed(LlmFailure("x", "AUTH"), ALWAYS)
    assert await bench.recover(failed) == Retry()
    assert bench.logged() == []
    assert await bench.recover(failed) == Retry(delay_logged=True)
    assert await bench.recover(failed) == Retry(delay_logged=True)
    first, _, second, _ = [data for _, data in bench.logged()]
    assert "maxRetries" not in first
    assert first["policyKey"] == '["always",1000,60000,0.1]'
    assert (second["retry"], second["delayMs"]) == (2, 2000)


async def test_an_abort_during_another_recovery_wins(bench) -> None:
    async def compaction(failed, proceed):
        bench.controller.abort("user")
        return Retry()

    bench.root.on(REQUEST_ERROR, compaction)
    failed = bench.failed(policy=ALWAYS)
    assert await bench.recover(failed) is None
    assert await bench.recover(failed) is None
    assert bench.logged() == []


@pytest.mark.spec("02-181")
async def test_another_policy_provider_or_step_starts_a_new_series(bench) -> None:
    await bench.recover()
    await bench.recover()
    await bench.recover(bench.failed(policy=evolve(NORMAL, max_retries=2)))
    await bench.recover(bench.failed(provider="q"))
    bench.next_step(2)
    await bench.recover(bench.failed(step=2))
    retries = [data for name, data in bench.logged() if name == "llm/retry"]
    assert [data["retry"] for data in retries] == [1, 2, 1, 1, 1]
    assert len({data["retryId"] for data in retries}) == 4


@pytest.mark.spec("02-182")
async def test_the_count_survives_a_restart(bench) -> None:
    await bench.recover()
    await bench.recover()
    bench.session = Session.create("s1", bench.session.events, allow_open_turn=True)
    bench.agent.session = bench.session
    await bench.fiber.dispose()
    bench.root.plugin(Steady)
    await come_to_rest()
    await bench.recover()
    assert bench.logged()[-2][1]["retry"] == 3


async def test_a_fractional_delay_of_an_older_log_is_read(bench) -> None:
    data = {
        "retryId": "r", "turn": 1, "step": 1, "provider": "p", "mode": "normal",
        "policyKey": '["normal",5,["EMPTY_RESPONSE","RATE_LIMIT","SERVER","TIMEOUT","TRANSPORT"],'
        "500,10000,0.1]", "retry": 4, "maxRetries": 5, "delayMs": 512.4,
        "failure": SLOW_DOWN.to_json(),
    }  # fmt: skip
    bench.session.append("llm/retry", FrozenDict(data))
    assert await bench.recover()
    assert bench.logged()[-1][1] == {"retryId": "r", "turn": 1, "step": 1, "retry": 5}


async def test_an_append_that_is_refused_is_the_error_of_the_turn(bench) -> None:
    bench.session.append("step/end", {"turn": 1, "step": 1})
    bench.session.append("turn/end", {"turn": 1, "reason": {"kind": "completed"}})
    with pytest.raises(Exception, match="turn"):
        await bench.dispatch(bench.failed())


async def test_a_failure_outside_any_step_cannot_be_recorded(bench) -> None:
    bench.agent.session = Session.create("empty")
    with pytest.raises(Exception, match="turn"):
        await bench.dispatch(bench.failed())


def test_the_default_randomness_stays_within_its_range() -> None:
    plugin = object.__new__(RetryPlugin)
    assert all(0 <= plugin.uniform() < 1 for _ in range(50))
