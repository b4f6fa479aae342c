"""Log tool calls and their results, and settle the calls that get none."""

from typing import TYPE_CHECKING, Any

from harness.agent import ContextItem
from harness.llm import Message, ToolCallBlock, create_tool_result_message
from harness.session import TOOL_CALL, TOOL_RESULT, SessionEvent, unanswered_result
from harness.tools import (
    ABORTED_BEFORE_DISPATCH,
    DUPLICATE_CALL_ID,
    TRUNCATED_RESPONSE,
    ErrorInfo,
    ToolExecutionInput,
    ToolExecutionResult,
    error_result,
    parse_arguments,
)
from harness.wire import FrozenDict

if TYPE_CHECKING:
    from harness_plugins.agent_loop.agent import ReactLoopAgent
    from harness_plugins.agent_loop.signal import TurnSignal

_UNDONE = {
    ABORTED_BEFORE_DISPATCH: (
        "ToolAbortedError",
        "this call was aborted before it started; nothing was done",
    ),
    DUPLICATE_CALL_ID: (
        "DuplicateCallIdError",
        "another call of this message has the same id; nothing was done. Issue the call again.",
    ),
    TRUNCATED_RESPONSE: (
        "TruncatedResponseError",
        "the response was cut off by its length limit; nothing was done. Issue the call again.",
    ),
}


class CallLog:
    """Write the calls of one message, each with exactly one result.

    Invariants: `open` maps every call that has no result yet to the seq of its `tool/call`, `None`
    while it has not started; results stand in the order in which `commit` is called.
    """

    def __init__(
        self,
        agent: "ReactLoopAgent",
        calls: list[ToolCallBlock],
        *,
        turn: int,
        step: int,
        signal: "TurnSignal",
    ) -> None:
        """Be responsible for `calls`."""
        self._agent = agent
        self.calls = calls
        self.signal = signal
        self.turn = turn
        self.step = step
        self.open: dict[int, int | None] = dict.fromkeys(range(len(calls)))
        self.has_concluded = False
        self._contexts: list[Message] = []
        self._requests: dict[int, ToolExecutionInput] = {}
        self._first: dict[str, int] = {}
        for index, call in enumerate(calls):
            self._first.setdefault(call.id, index)

    def request(self, index: int) -> ToolExecutionInput:
        """Return a call as the tool pipeline takes it, its arguments parsed once."""
        request = self._requests.get(index)
        if request is None:
            call = self.calls[index]
            request = self._requests[index] = ToolExecutionInput(
                call_id=call.id,
                name=call.name,
                arguments=parse_arguments(call.arguments),
                signal=self.signal,
                agent=self._agent,
            )
        return request

    def is_duplicate(self, index: int) -> bool:
        """Return whether an earlier call of the message has the same id."""
        return self._first[self.calls[index].id] != index

    def start(self, index: int) -> SessionEvent:
        """Append that a call begins, with the arguments as the model wrote them."""
        call = self.calls[index]
        data = FrozenDict(
            turn=self.turn, step=self.step, callId=call.id, name=call.name, arguments=call.arguments
        )
        event = self._agent.session.append(TOOL_CALL, data)
        self.open[index] = event.seq
        return event

    def commit(self, index: int, result: ToolExecutionResult) -> None:
        """Append the result of a started call and stage what goes behind the results."""
        call_seq = self.open[index]
        message = create_tool_result_message(
            self.calls[index].id, result.content, is_error=result.is_error
        )
        data: dict[str, Any] = {
            "turn": self.turn,
            "step": self.step,
            "message": message.to_json(),
        }
        info = None if result.error is None else result.error.info
        if info is not None:
            data["error"] = FrozenDict(info.to_json())
        if result.meta is not None:
            data["meta"] = result.meta
        self._agent.session.append(
            TOOL_RESULT,
            FrozenDict(data),
            surface_op="append",
            source_event_seqs=None if call_seq is None else (call_seq,),
            message=message,
        )
        del self.open[index]
        self._contexts.extend(result.additional_contexts)
        self.has_concluded = self.has_concluded or result.concludes_turn

    def skip(self, index: int, code: str) -> None:
        """Append a call that is not run, with the error that says why."""
        self.start(index)
        name, text = _UNDONE[code]
        self.commit(index, error_result(text, info=ErrorInfo(name, code)))

    def skip_rest(self, code: str) -> None:
        """Skip every call that has not started."""
        for index in [index for index, seq in self.open.items() if seq is None]:
            self.skip(index, code)

    def settle_unanswered(self) -> None:
        """Close what a failure left open, in words that say whether a retry is safe.

        Raises:
            Exception: a listener refused an answer; that call and those behind it stay open, since
                answers stand in the order of the calls.
        """
        for index in list(self.open):
            self._settle(index)

    def _settle(self, index: int) -> None:
        session, call_seq = self._agent.session, self.open[index]
        data = unanswered_result(
            self.calls[index].id,
            turn=self.turn,
            step=self.step,
            seq=session.seq,
            call_seq=call_seq,
        )
        session.append(
            TOOL_RESULT,
            data,
            surface_op="append",
            source_event_seqs=None if call_seq is None else (call_seq,),
        )
        del self.open[index]

    def append_contexts(self) -> None:
        """Append what tools want to say behind the results, in model order."""
        while self._contexts:
            self._agent.buffer.append_item(ContextItem(self._contexts.pop(0)))
