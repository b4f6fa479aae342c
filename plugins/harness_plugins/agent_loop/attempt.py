"""One attempt at an answer: stream it into the log, frame it for observers, settle it."""

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from anyio.lowlevel import checkpoint

from harness.agent import (
    ASSISTANT_STREAM,
    AssistantDraft,
    AssistantStream,
    LiveAttempt,
    StreamChunkFrame,
    StreamEnd,
    StreamFrame,
    StreamStart,
)
from harness.llm import (
    BlockAssembler,
    BlockEnd,
    Finish,
    LlmFailure,
    ReasoningBlock,
    ReasoningDelta,
    StreamChunk,
    TextBlock,
    TextDelta,
    ToolCallBlock,
    ToolCallDelta,
    chunk_from_json,
    create_assistant_message,
    pack_assistant_stream,
)
from harness.session import ASSISTANT_ATTEMPT, ASSISTANT_CHUNK, ASSISTANT_MESSAGE, SessionEvent
from harness.wire import FrozenDict, freeze_json, snapshot_json
from harness_plugins.agent_loop.asking import tell
from harness_plugins.agent_loop.errors import TurnCancelled
from harness_plugins.agent_loop.request import StepRequest
from harness_plugins.agent_loop.shielded import finish

if TYPE_CHECKING:
    from harness_plugins.agent_loop.agent import ReactLoopAgent
    from harness_plugins.agent_loop.signal import TurnSignal

CHUNKS_PER_YIELD = 64
CLOSE_TIMEOUT_S = 10.0


class Attempt:
    """Stream one answer and settle it with exactly one event.

    Invariants: `chunk_seqs` are the seqs of this attempt's own chunk events, in order; a started
    attempt ends with exactly one end frame, after its event.
    """

    def __init__(
        self, agent: "ReactLoopAgent", request: StepRequest, *, turn: int, step: int, number: int
    ) -> None:
        """Prepare to send `request`."""
        self._agent = agent
        self._request = request
        self._turn = turn
        self._step = step
        self._number = number
        self.assembler = BlockAssembler()
        self.chunk_seqs: list[int] = []
        self.id = ""
        self._start: StreamStart | None = None
        self.is_complete = False
        self.is_settled = False

    async def stream(self, signal: "TurnSignal") -> None:
        """Read the answer to its finish; every chunk is in the log before the next is asked for.

        A cancel that comes after the finish was read does not undo the answer.

        Raises:
            TurnCancelled: the turn was stopped; what arrived is in the log.
            Exception: a listener of `llm/stream` failed.
        """
        try:
            await self._stream(signal)
        except TurnCancelled:
            if not self.is_complete:
                raise

    async def _stream(self, signal: "TurnSignal") -> None:
        options, prepared = self._request
        llm, agent = self._agent.llm, self._agent
        with signal.scope():
            opened = (
                llm.stream(options, target=agent)
                if prepared is None
                else prepared.stream(options, target=agent)
            )
            self._begin()
            try:
                await self._read(opened, signal)
            finally:
                close = getattr(opened, "aclose", None)
                if close is not None and self.is_complete:
                    await close()
                elif close is not None:
                    await finish(agent.loop_ctx, close(), timeout_s=CLOSE_TIMEOUT_S)
        signal.check()

    async def _read(self, chunks: AsyncIterator[StreamChunk], signal: "TurnSignal") -> None:
        """Log what arrives, up to the finish."""
        agent, push, seqs = self._agent, self.assembler.push, self.chunk_seqs
        append, is_heard = agent.session.append, agent.loop_ctx.events.has_listeners
        turn, step = self._turn, self._step
        async for chunk in chunks:
            if signal.aborted:
                return
            push(chunk)
            stored = chunk.to_json()
            if not _is_plain(chunk):
                stored = snapshot_json(stored)
            event = append(ASSISTANT_CHUNK, FrozenDict(turn=turn, step=step, chunk=stored))
            seqs.append(event.seq)
            agent.revision += 1
            if is_heard(ASSISTANT_STREAM):
                self._frame_chunk(event, chunk)
            if isinstance(chunk, Finish):
                self.is_complete = True
                return
            if len(seqs) % CHUNKS_PER_YIELD == 0:
                await checkpoint()

    # -- settling ----------------------------------------------------------------------------

    def commit_message(self, draft: AssistantDraft) -> SessionEvent:
        """Append the answer; `draft` may differ from what was streamed."""
        is_rewritten = draft.content != tuple(self.assembler.blocks())
        return self._append_message(draft, is_rewritten=is_rewritten)

    def commit_failure(self, failure: LlmFailure | None) -> SessionEvent:
        """Append that the attempt made no message, and why unless it was cancelled."""
        data: dict[str, Any] = {
            "turn": self._turn,
            "step": self._step,
            "attempt": self._number,
        }
        if self.chunk_seqs:
            data["chunkRange"] = {"start": self.chunk_seqs[0], "end": self.chunk_seqs[-1]}
        if failure is not None:
            data["failure"] = failure.to_json()
        data.update(self._stream_records())
        return self._settle(
            lambda: self._agent.session.append(ASSISTANT_ATTEMPT, freeze_json(data))
        )

    def commit_interrupted(self) -> None:
        """Settle a cancelled attempt: keep what a reader has seen of it, never a tool call."""
        if self.is_settled:
            return
        seen = self.assembler.interrupted_blocks()
        if seen:
            draft = AssistantDraft(content=tuple(seen), usage=self.assembler.usage)
            self._append_message(draft, is_interrupted=True)
        else:
            self.commit_failure(None)

    def _append_message(
        self, draft: AssistantDraft, *, is_rewritten: bool = False, is_interrupted: bool = False
    ) -> SessionEvent:
        config = self._request.options.config
        message = create_assistant_message(
            draft.content,
            provider=config.provider,
            model=config.model,
            replay_state=None if is_interrupted or is_rewritten else self.assembler.replay_state,
        )
        data: dict[str, Any] = {
            "turn": self._turn,
            "step": self._step,
            "message": message.to_json(),
        }
        if draft.usage is not None:
            data["usage"] = draft.usage.to_json()
        if is_interrupted:
            data["interrupted"] = True
        if is_rewritten:
            data["rewritten"] = True
        data.update(self._stream_records())
        return self._settle(
            lambda: self._agent.session.append(
                ASSISTANT_MESSAGE,
                FrozenDict(data),
                surface_op="append",
                source_event_seqs=self.chunk_seqs,
                message=message if message.content else None,
            )
        )

    def _stream_records(self) -> dict[str, Any]:
        if self._agent.config.stream_log == "chunks":
            return {}
        return {"stream": freeze_json(pack_assistant_stream(self._timed_chunks()))}

    def _timed_chunks(self) -> list[tuple[int, StreamChunk]]:
        events = [self._agent.session.event(seq) for seq in self.chunk_seqs]
        return [(event.time, chunk_from_json(event.data["chunk"])) for event in events]

    # -- frames ------------------------------------------------------------------------------

    def live(self) -> LiveAttempt:
        """Return what an observer that joins the running stream needs."""
        assert self._start is not None  # the agent knows an attempt from its first frame on
        records = tuple(pack_assistant_stream(self._timed_chunks()))
        return LiveAttempt(self._start, records, self._agent.revision)

    def _begin(self) -> None:
        agent = self._agent
        agent.n_attempts += 1
        self.id = f"{agent.id}:{agent.n_attempts}"
        self._start = StreamStart(self.id, agent.next_revision(), self._turn, self._step)
        agent.attempt = self
        self._tell(self._start)

    def _frame_chunk(self, event: SessionEvent, chunk: StreamChunk) -> None:
        agent, index = self._agent, len(self.chunk_seqs) - 1
        frame = StreamChunkFrame(self.id, agent.revision - 1, index, event.time, chunk)
        self._tell(frame)

    def _settle(self, append: Callable[[], SessionEvent]) -> SessionEvent:
        event: SessionEvent | None = None
        try:
            event = append()
            return event
        finally:
            self.is_settled = True
            self._agent.attempt = None
            if self._start is not None:
                self._frame_end(event)

    def _frame_end(self, event: SessionEvent | None) -> None:
        agent = self._agent
        end = StreamEnd(
            self.id,
            agent.next_revision(),
            len(self.chunk_seqs),
            None if event is None else event.type,
            None if event is None else event.seq,
        )
        self._tell(end)

    def _tell(self, frame: StreamFrame) -> None:
        agent = self._agent
        if agent.loop_ctx.events.has_listeners(ASSISTANT_STREAM):
            tell(agent, ASSISTANT_STREAM, AssistantStream(agent=agent, frame=frame))


def _is_plain(chunk: StreamChunk) -> bool:
    """Return whether a chunk is JSON because of its types alone, without another look."""
    if isinstance(chunk, (TextDelta, ReasoningDelta)):
        return chunk.text.__class__ is str
    if isinstance(chunk, ToolCallDelta):
        return chunk.arguments_delta.__class__ is str
    if isinstance(chunk, BlockEnd):
        block = chunk.block
        if isinstance(block, ToolCallBlock):
            return block.arguments.__class__ is str
        return isinstance(block, (TextBlock, ReasoningBlock)) and block.text.__class__ is str
    return not isinstance(chunk, Finish) or chunk.replay_state is None
