"""An abort cancels the read that is outstanding; the host's cancellation passes through."""

import asyncio

import anyio
import pytest

from harness.deadline import ReadGuard
from vendor_shims.cordis import AbortController, AbortError


async def started(work):
    """Start work as a task and let it run to where it waits."""
    task = asyncio.get_running_loop().create_task(work)
    await anyio.wait_all_tasks_blocked()
    return task


def this_task():
    task = asyncio.current_task()
    assert task is not None
    return task


@pytest.fixture
def controller():
    return AbortController()


async def test_results_and_errors_pass_through(controller):
    guard = ReadGuard(controller.signal)

    async def fail():
        raise LookupError("x")

    assert await guard.read(lambda: asyncio.sleep(0, "result")) == "result"
    with pytest.raises(LookupError):
        await guard.read(fail)
    assert await guard.read(lambda: asyncio.sleep(0, "again")) == "again"


async def test_an_abort_lets_the_cleanup_finish_and_raises_its_reason(controller):
    guard = ReadGuard(controller.signal)
    steps = []

    async def read():
        try:
            await asyncio.Event().wait()
        finally:
            steps.append("cleaning")
            await asyncio.sleep(0)
            steps.append("clean")

    async def consume():
        with pytest.raises(AbortError) as caught:
            await guard.read(read)
        assert caught.value.reason == "why"
        assert this_task().cancelling() == 0
        await asyncio.sleep(0)
        steps.append("after")

    task = await started(consume())
    controller.abort("why")
    await task
    assert steps == ["cleaning", "clean", "after"]
    with pytest.raises(AbortError):
        await guard.read(read)


@pytest.mark.spec("07-11")
async def test_cancelling_the_awaiting_task_runs_the_cleanup_and_stays_a_cancellation(controller):
    guard = ReadGuard(controller.signal)
    cleaned = []

    async def read():
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(True)

    task = await started(guard.read(read))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cleaned == [True]
    assert not controller.signal.aborted


@pytest.mark.parametrize("abort_first", [True, False])
async def test_of_both_the_cancellation_wins(controller, abort_first):
    guard = ReadGuard(controller.signal)
    task = await started(guard.read(asyncio.Event().wait))
    if abort_first:
        controller.abort()
        task.cancel()
    else:
        task.cancel()
        controller.abort()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()


async def test_a_scope_that_cancels_meanwhile_is_not_mistaken_for_the_abort(controller):
    guard = ReadGuard(controller.signal)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(guard.read, asyncio.Event().wait)
        await anyio.wait_all_tasks_blocked()
        controller.abort()
        tasks.cancel_scope.cancel()
    assert tasks.cancel_scope.cancelled_caught


async def test_a_result_that_is_there_first_is_returned_and_nothing_is_left_pending(controller):
    guard = ReadGuard(controller.signal)

    async def abort_and_return():
        controller.abort()
        return "result"

    assert await guard.read(abort_and_return) == "result"
    assert this_task().cancelling() == 0
    await asyncio.sleep(0)


async def test_an_error_of_the_aborted_read_becomes_the_reason(controller):
    guard = ReadGuard(controller.signal)

    async def abort_and_fail():
        controller.abort(TimeoutError("idle"))
        raise LookupError("connection closed")

    with pytest.raises(TimeoutError, match="idle"):
        await guard.read(abort_and_fail)
    await asyncio.sleep(0)


async def test_a_cancellation_during_the_last_step_is_not_lost(controller):
    guard = ReadGuard(controller.signal)

    async def abort_and_return():
        controller.abort()
        this_task().cancel()
        return "result"

    task = await started(guard.read(abort_and_return))
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_one_read_at_a_time_and_none_after_close_is_interrupted(controller):
    guard = ReadGuard(controller.signal)
    gate = asyncio.Event()
    task = await started(guard.read(gate.wait))
    with pytest.raises(RuntimeError, match="one read at a time"):
        await guard.read(gate.wait)
    guard.close()
    guard.close()
    controller.abort()
    gate.set()
    assert await task is True
