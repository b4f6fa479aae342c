"""Check how an answer streams: into the log, and to observers."""

# ruff: noqa: ANN401, D102  # a name is the description; a listener decides what its case is about

from typing import Any

import pytest

from harness.agent.agent import Agent
from harness.agent.contract.shapes import ONE_STEP, hang
from harness.agent.contract.stage import LoopStage
from harness.agent.contract.world import World, events_of, reasons_of, types_of
from harness.agent.decisions import Retry
from harness.agent.events import ASSISTANT_STREAM, REQUEST_ERROR, AssistantStream
from harness.agent.frames import (
    LiveAttempt,
    StreamChunkFrame,
    StreamEnd,
    StreamFrame,
    StreamStart,
    frame_to_json,
)
from harness.llm import (
    BlockEnd,
    BlockStart,
    Finish,
    FinishReason,
    StreamChunk,
    TextBlock,
    TextDelta,
    chunk_from_json,
    expand_assistant_stream,
)
from harness.session import SESSION_VALIDATE, Session, SessionEvent
from harness.testing.model import calls, fails, partly, says


class StreamCases(LoopStage):
    """Hold that frames are gapless, and that the log has every chunk."""

    @pytest.mark.spec("04-S1", "04-S2")
    async def test_frames_are_gapless_over_attempts(self, world: World):
        async def retry(_failed: object, _following: object) -> Any:
            return Retry()

        frames = _frames(world)
        world.root.on(REQUEST_ERROR, retry)
        agent = await world.agent(partly("Hal", *fails("SERVER")), says(["Hal", "lo."]))
        await world.turn(agent)
        revisions = [frame.revision for frame in frames]
        assert revisions == sorted(set(revisions))
        first, second = _by_attempt(frames)
        attempt = events_of(agent, "assistant/attempt")[0]
        message = events_of(agent, "assistant/message")[0]
        for run, event, n_chunks in ((first, attempt, 3), (second, message, 6)):
            start, *chunks, end = run
            assert isinstance(start, StreamStart)
            assert (start.turn, start.step) == (1, 1)
            assert [getattr(frame, "index", None) for frame in chunks] == list(range(n_chunks))
            assert isinstance(end, StreamEnd)
            assert (end.index, end.event_type, end.seq) == (n_chunks, event.type, event.seq)
        assert first[0].attempt_id != second[0].attempt_id
        assert all(frame.attempt_id.startswith(f"{agent.id}:") for frame in frames)
        assert attempt.data["chunkRange"] == {"start": 5, "end": 7}

    @pytest.mark.spec("04-S3")
    async def test_an_answer_that_the_log_refuses_is_abandoned(self, world: World):
        def refuse(_session: object, event: SessionEvent) -> None:
            if event.type == "assistant/message":
                raise ValueError("not in my log")

        frames = _frames(world)
        world.root.on(SESSION_VALIDATE, refuse)
        agent = await world.agent(says("Hello."))
        await world.turn(agent)
        end = frames[-1]
        assert isinstance(end, StreamEnd)
        assert (end.event_type, end.seq) == (None, None)
        assert frame_to_json(end)["outcome"] == {"kind": "abandoned"}
        assert types_of(agent) == [*ONE_STEP[:5], "step/end", "turn/end"]
        assert reasons_of(agent)[0]["message"] == "not in my log"

    @pytest.mark.spec("04-S4")
    async def test_a_settlement_may_carry_its_stream(self, world: World):
        await world.mount(stream_log="both")
        answer = says(["a", "b", "c"], reasoning="thought")
        agent = await world.agent(answer, partly("Hal", *fails("SERVER")))
        await world.turn(agent)
        await world.turn(agent)
        for event in events_of(agent, "assistant/message", "assistant/attempt"):
            assert event.data["stream"]
            embedded = list(expand_assistant_stream(event.data["stream"]))
            assert embedded == list(agent.session.attempt_stream(event))
            assert embedded == _cited(agent.session, event)

    @pytest.mark.spec("04-S6")
    @pytest.mark.parametrize(
        "chunk",
        [
            Finish(FinishReason.STOP, {"state": object()}),
            TextDelta(0, object()),  # pyright: ignore[reportArgumentType] - what the case is about
            BlockEnd(0, TextBlock(b"x")),  # pyright: ignore[reportArgumentType] - as above
        ],
    )
    async def test_a_chunk_that_is_no_json_is_an_error(self, world: World, chunk: StreamChunk):
        agent = await world.agent([BlockStart(0, "text"), chunk], says("Again."))
        await world.turn(agent)
        assert types_of(agent)[5:] == ["assistant/attempt", "step/end", "turn/end"]
        assert reasons_of(agent)[0]["kind"] == "error"
        await world.turn(agent)
        assert reasons_of(agent)[1] == {"kind": "completed"}

    @pytest.mark.spec("04-S7")
    async def test_nothing_is_read_behind_the_finish(self, world: World):
        agent = await world.agent([*says("Hello."), hang, *says("More.")])
        await world.turn(agent)
        assert len(events_of(agent, "assistant/chunk")) == 5

    @pytest.mark.spec("04-S8")
    async def test_a_late_observer_can_catch_up(self, world: World):
        joined: list[tuple[LiveAttempt, list[StreamFrame]]] = []

        async def join() -> None:
            live = agent.live_attempt()
            assert live is not None
            joined.append((live, _frames(world)))

        items = says(["Hel", "lo", " there", "."])
        agent = await world.agent([*items[:3], join, *items[3:]])
        await world.turn(agent)
        live, later = joined[0]
        chunks = [chunk for _, chunk in expand_assistant_stream(live.records)]
        chunks += [frame.chunk for frame in later if isinstance(frame, StreamChunkFrame)]
        assert chunks == items
        assert later[0].revision == live.next_revision
        assert (live.start.turn, live.start.step) == (1, 1)
        assert agent.live_attempt() is None

    async def test_frames_have_a_client_form(self, world: World):
        frames = _frames(world)
        agent = await world.agent(says("Hi."))
        await world.turn(agent)
        start, chunk, *_, end = [frame_to_json(frame) for frame in frames]
        assert start == {
            "type": "start", "attemptId": f"{agent.id}:1", "revision": 0, "turn": 1, "step": 1,
        }  # fmt: skip
        assert chunk["type"] == "chunk"
        assert chunk["chunk"] == {"type": "block-start", "index": 0, "blockType": "text"}
        assert end["outcome"]["kind"] == "committed"
        assert end["outcome"]["eventType"] == "assistant/message"

    async def test_an_answer_in_one_piece_is_the_answer_in_many(self, world: World):
        one = await world.agent(says("Hello there."))
        many = await world.agent(says(list("Hello there.")))
        await world.turn(one)
        await world.turn(many)
        assert _content(one) == _content(many)

    async def test_a_stream_of_many_chunks_lets_others_run(self, world: World):
        turns: list[int] = []
        other = await world.agent(says("Quick."))
        agent = await world.agent()
        world.model.add(says(list("x" * 200)))
        long = world.send(agent)
        await world.rest()
        assert long.state == "entered"
        turns.append(agent.session.last_turn)
        assert turns == [1]
        assert other.session.last_turn == 0

    async def test_a_stream_without_a_finish_is_an_answer(self, world: World):
        agent = await world.agent(partly("That was all"))
        await world.turn(agent)
        assert reasons_of(agent) == [{"kind": "completed"}]
        assert _content(agent)[0]["text"] == "That was all"

    async def test_tool_calls_keep_the_text_of_their_arguments(self, world: World):
        world.tool("echo")
        agent = await world.agent(calls("echo", '{ "n" : 1 }', split=3), says("Done."))
        await world.turn(agent)
        assert events_of(agent, "tool/call")[0].data["arguments"] == '{ "n" : 1 }'


def _frames(world: World) -> list[StreamFrame]:
    frames: list[StreamFrame] = []

    def keep(told: AssistantStream) -> None:
        frames.append(told.frame)

    world.root.on(ASSISTANT_STREAM, keep)
    return frames


def _by_attempt(frames: list[StreamFrame]) -> list[list[StreamFrame]]:
    runs: dict[str, list[StreamFrame]] = {}
    for frame in frames:
        runs.setdefault(frame.attempt_id, []).append(frame)
    return list(runs.values())


def _cited(session: Session, event: SessionEvent) -> list[Any]:
    seqs = event.source_event_seqs
    if seqs is None:
        bounds = event.data["chunkRange"]
        seqs = tuple(range(bounds["start"], bounds["end"] + 1))
    cited = [session.event(seq) for seq in seqs]
    return [(chunk.time, chunk_from_json(chunk.data["chunk"])) for chunk in cited]


def _content(agent: Agent) -> Any:
    return events_of(agent, "assistant/message")[0].data["message"]["content"]
