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
from harness_plugins.agent_loop.tool_calls import CallLog

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from harness_plugins.agent_loop.agent import ReactLoopAgent


class ToolScheduler:
    """Run calls in groups: a run of calls that are safe to overlap, or one call on its own.

    Policy decisions and results come in model order whatever overlaps; only bodies do.

    Invariants: at most `max_parallel` bodies overlap, and none beside a call that is not safe;
    after a failure or an abort nothing new starts, and what runs is awaited.
    """

    def __init__(self, agent: "ReactLoopAgent", log: CallLog) -> None:
        """Run the calls of `log`."""
        self._agent = agent
        self.tools: ToolRegistry = agent.tools
        self.log = log

    @property
    def max_parallel(self) -> int:
        """How many bodies may overlap, as configured now."""
        return self._agent.config.max_parallel_tool_calls

    async def run(self) -> None:
        """Run all calls; returns after each has its result.

        Raises:
            Exception: a defect of the pipeline; results so far are in the log.
        """
        log = self.log
        index = 0
        while index < len(log.calls):
            if log.signal.aborted:
                log.skip_rest(ABORTED_BEFORE_DISPATCH)
                return
            if log.is_duplicate(index):
                log.skip(index, DUPLICATE_CALL_ID)
                index += 1
            elif self.max_parallel > 1 and self.may_overlap(index) and self.may_overlap(index + 1):
                index = await _Pool(self, index).run()
            else:
                await self._run_alone(index)
                index += 1

    def may_overlap(self, index: int) -> bool:
        """Return whether there is such a call and it may overlap with others, as things stand."""
        log = self.log
        if index >= len(log.calls) or log.is_duplicate(index):
            return False
        return self.tools.execution_mode(log.request(index)) == "parallel"

    async def prepare(self, index: int) -> PreparedCall:
        """Append the call and do the stages before its body."""
        self.log.start(index)
        return await self.tools.prepare(self.log.request(index))

    async def commit(self, index: int, call: PreparedCall, result: ToolExecutionResult) -> None:
        """Do the stages after the body and append the result."""
        if call.stage == "final-result":
            final = self.tools.finish(call.execution, result)
        else:
            final = await self.tools.finalize(call.execution, result)
        self.log.commit(index, final)

    async def _run_alone(self, index: int) -> None:
        call = await self.prepare(index)
        result = call.result
        if result is None:
            result = await self.tools.dispatch(call.execution)
        await self.commit(index, call, result)


@attrs.define(eq=False)
class _Slot:
    """A started call; `result` is set when its body has ended or needs not run."""

    index: int
    call: PreparedCall
    result: ToolExecutionResult | None


class _Pool:
    """One run of overlapping calls: one loop starts them, the other commits their results.

    Invariants: `_slots` are the started calls in model order, the oldest uncommitted one first
    from `_n_committed` on; `_failure` is the first failure, and nothing starts after it.
    """

    def __init__(self, scheduler: ToolScheduler, index: int) -> None:
        self._scheduler = scheduler
        self._next = index
        self._slots: list[_Slot] = []
        self._n_committed = 0
        self._n_running = 0
        self._is_started = False
        self._changed = Event()
        self._failure: Exception | None = None

    async def run(self) -> int:
        """Run calls for as long as they may overlap; returns where that ended."""
        async with create_task_group() as group:
            group.start_soon(self._commit_in_order)
            await self._start_in_order(group)
        if self._failure is not None:
            raise self._failure
        return self._next

    async def _start_in_order(self, group: "TaskGroup") -> None:
        scheduler = self._scheduler
        while (
            self._failure is None
            and not scheduler.log.signal.aborted
            and scheduler.may_overlap(self._next)
        ):
            if self._n_running >= scheduler.max_parallel:
                await self._changed.wait()
                continue
            try:
                call = await scheduler.prepare(self._next)
            except Exception as error:  # noqa: BLE001 - a defect; what runs is awaited first
                self._failure = self._failure or error
                break
            slot = _Slot(self._next, call, call.result)
            self._next += 1
            self._slots.append(slot)
            if slot.result is None:
                self._n_running += 1
                group.start_soon(self._dispatch, slot)
            self._notify()
        self._is_started = True
        self._notify()

    async def _dispatch(self, slot: _Slot) -> None:
        slot.result = await self._scheduler.tools.dispatch(slot.call.execution)
        self._n_running -= 1
        self._notify()

    async def _commit_in_order(self) -> None:
        while self._n_committed < len(self._slots) or not self._is_started:
            slot = self._slots[self._n_committed] if self._n_committed < len(self._slots) else None
            if slot is None or slot.result is None:
                await self._changed.wait()
                continue
            try:
                await self._scheduler.commit(slot.index, slot.call, slot.result)
            except Exception as error:  # noqa: BLE001 - a defect; what runs is awaited first
                self._failure = self._failure or error
                self._notify()
                return
            self._n_committed += 1

    def _notify(self) -> None:
        self._changed.set()
        self._changed = Event()
