"""Run the calls of one message: safe ones overlap, the log reads as if none did."""

from typing import TYPE_CHECKING

import attrs
from anyio import Event, create_task_group

from harness.tools import (
    ABORTED_BEFORE_DISPATCH,
    DUPLICATE_CALL_ID,
    PreparedCall,
    ToolExecutionResult,
    ToolRegistry,
)
from harness_plugins.agent_loop.tool_calls import BatchOutcome, CallLog

if TYPE_CHECKING:
    from anyio.abc import TaskGroup


@attrs.define(eq=False)
class _Slot:
    """A started call. `result` or `error` is set before `is_done`."""

    index: int
    prepared: PreparedCall
    result: ToolExecutionResult | None = None
    error: BaseException | None = None
    is_done: bool = False


class ToolScheduler:
    """Run calls in groups: a run of calls that are safe to overlap, or one call on its own.

    Policy decisions and log entries come in model order whatever overlaps; only bodies do.

    Invariants: at most `max_parallel` bodies overlap, and none beside a call that is not safe;
    after a failure or an abort nothing new starts, and what runs is awaited.
    """

    def __init__(self, tools: ToolRegistry, log: CallLog, *, max_parallel: int) -> None:
        """Run the calls of `log` through `tools`."""
        self._tools = tools
        self._log = log
        self._max_parallel = max_parallel

    async def run(self) -> BatchOutcome:
        """Run all calls; returns after each has its result.

        Raises:
            Exception: a defect of the pipeline; results so far are in the log.
        """
        log = self._log
        index = 0
        while index < len(log.calls):
            if log.signal.aborted:
                log.skip_rest(ABORTED_BEFORE_DISPATCH)
                break
            if log.is_duplicate(index):
                log.skip(index, DUPLICATE_CALL_ID)
                index += 1
            elif self._pool_end(index) - index < 2:
                await self._run_alone(index)
                index += 1
            else:
                index = await _Pool(self._tools, log, self._max_parallel).run(index)
        return log.outcome()

    def _pool_end(self, index: int) -> int:
        """Return the end of the run of overlapping calls that starts at `index`."""
        if self._max_parallel == 1:
            return index + 1
        end = index
        while end < len(self._log.calls) and is_parallel(self._tools, self._log, end):
            end += 1
        return end

    async def _run_alone(self, index: int) -> None:
        self._log.start(index)
        prepared = await self._tools.prepare(self._log.request(index))
        result = prepared.result
        if result is None:
            result = await self._tools.dispatch(prepared.execution)
        await commit(self._tools, self._log, index, prepared, result)


class _Pool:
    """One run of overlapping calls.

    Invariants: `_slots` are the started calls in model order; the first `_n_committed` of them
    have their result in the log.
    """

    def __init__(self, tools: ToolRegistry, log: CallLog, max_parallel: int) -> None:
        self._tools = tools
        self._log = log
        self._max_parallel = max_parallel
        self._slots: list[_Slot] = []
        self._n_committed = 0
        self._n_running = 0
        self._changed = Event()
        self._failure: BaseException | None = None

    async def run(self, index: int) -> int:
        """Run calls from `index` on while they may overlap; returns where the run ended."""
        async with create_task_group() as group:
            while True:
                changed = self._changed
                index = await self._start_more(index, group)
                if await self._commit_ready():
                    continue
                if self._n_committed == len(self._slots) or self._n_running == 0:
                    break
                await changed.wait()
        if self._failure is not None:
            raise self._failure
        return index

    async def _start_more(self, index: int, group: "TaskGroup") -> int:
        while (
            index < len(self._log.calls)
            and self._n_running < self._max_parallel
            and self._failure is None
            and not self._log.signal.aborted
            and is_parallel(self._tools, self._log, index)
        ):
            self._log.start(index)
            try:
                prepared = await self._tools.prepare(self._log.request(index))
            except Exception as error:  # noqa: BLE001 - a defect; what runs is awaited first
                self._failure = self._failure or error
                break
            slot = _Slot(index, prepared, prepared.result, None, prepared.result is not None)
            self._slots.append(slot)
            if not slot.is_done:
                self._n_running += 1
                group.start_soon(self._dispatch, slot)
            index += 1
        return index

    async def _dispatch(self, slot: _Slot) -> None:
        try:
            slot.result = await self._tools.dispatch(slot.prepared.execution)
        except Exception as error:  # noqa: BLE001 - kept with its call, raised in model order
            slot.error = error
        finally:
            slot.is_done = True
            self._n_running -= 1
            self._changed.set()
            self._changed = Event()

    async def _commit_ready(self) -> bool:
        """Commit what is ready in model order; returns whether anything was."""
        before = self._n_committed
        while self._n_committed < len(self._slots) and self._slots[self._n_committed].is_done:
            slot = self._slots[self._n_committed]
            if slot.error is not None or slot.result is None:
                self._failure = self._failure or slot.error
                break
            try:
                await commit(self._tools, self._log, slot.index, slot.prepared, slot.result)
            except Exception as error:  # noqa: BLE001 - a defect; what runs is awaited first
                self._failure = self._failure or error
                break
            self._n_committed += 1
        return self._n_committed > before


def is_parallel(tools: ToolRegistry, log: CallLog, index: int) -> bool:
    """Return whether a call may overlap with others, as things stand now."""
    if log.is_duplicate(index):
        return False
    return tools.execution_mode(log.request(index)) == "parallel"


async def commit(
    tools: ToolRegistry,
    log: CallLog,
    index: int,
    prepared: PreparedCall,
    result: ToolExecutionResult,
) -> None:
    """Do the stages after the body and append the result."""
    if prepared.stage == "final-result":
        final = tools.finish(prepared.execution, result)
    else:
        final = await tools.finalize(prepared.execution, result)
    log.commit(index, final)
