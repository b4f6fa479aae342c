"""The session: append, derive, pack, and reload a long log from its file."""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from itertools import repeat
from typing import Any

import attrs
import orjson

from benchmarks.measure import Budget, Meter, Row, row
from harness.llm import Message, create_user_message
from harness.session import (
    ASSISTANT_CHUNK,
    ASSISTANT_MESSAGE,
    SESSION_EVENT,
    STEP_END,
    STEP_START,
    TOOL_CALL,
    TOOL_RESULT,
    TURN_END,
    TURN_START,
    USER_MESSAGE,
    Session,
    SessionEvent,
    SessionStore,
    event_to_json,
)
from harness.session_persistence import PersistenceCoordinator, pack_chunk_runs
from harness.wire import FrozenDict, dumps
from harness_plugins.session_persistence_jsonl import JsonlPersistence
from vendor_shims.cordis import Context

N_EVENTS = 100_000
N_DELTAS = 20
N_SAMPLES = 5


async def rows(meter: Meter) -> AsyncIterator[Row]:
    """Measure what each event costs while it is made, and when its log is read again."""
    async for one in appends(meter):
        yield one
    events = log_of(meter.count(N_EVENTS))
    for measured in (seeding, deriving, packing):
        yield await measured(meter, events)
    for name, is_packed in (("reload_jsonl", False), ("reload_jsonl_packed", True)):
        yield await reloading(meter, events, name, is_packed=is_packed)


def log_of(count: int) -> tuple[SessionEvent, ...]:
    """Return a log of whole turns: a prompt, twenty deltas, an answer, a call and its result."""
    session = Session("bench")
    while session.seq < count:
        turn = session.last_turn + 1
        place = {"turn": turn, "step": 1}
        call = {"type": "tool-call", "id": f"c{turn}", "name": "tick", "arguments": "{}"}
        result = {"type": "tool-result", "toolCallId": f"c{turn}", "content": [text("TICKOK")]}
        session.append(TURN_START, {"turn": turn, "trigger": {"kind": "message"}})
        surface(session, USER_MESSAGE, message(turn, "user", [text("go on")], {"kind": "user"}))
        session.append(STEP_START, place)
        for number in range(N_DELTAS):
            session.append(ASSISTANT_CHUNK, {**place, "chunk": delta(number)})
        source = {"kind": "model", "provider": "p", "model": "m"}
        answer = message(turn, "assistant", [text("message"), call], source)
        sources = range(session.seq - N_DELTAS, session.seq)
        surface(session, ASSISTANT_MESSAGE, {**place, "message": answer}, sources)
        named = {"callId": f"c{turn}", "name": "tick", "arguments": "{}"}
        begun = session.append(TOOL_CALL, {**place, **named})
        source = {"kind": "tool", "callId": f"c{turn}"}
        answered = {**place, "message": message(turn, "user", [result], source)}
        surface(session, TOOL_RESULT, answered, [begun.seq])
        session.append(STEP_END, place)
        session.append(TURN_END, {"turn": turn, "reason": {"kind": "completed"}})
    return session.events


def surface(
    session: Session, kind: str, data: dict[str, Any], sources: Sequence[int] | None = None
) -> None:
    """Append an event to the surface."""
    session.append(kind, data, surface_op="append", source_event_seqs=sources)


def message(
    number: int, role: str, content: list[dict[str, Any]], source: dict[str, str]
) -> dict[str, Any]:
    """Return the stored form of a message."""
    ident = f"{source['kind']}-{number}"
    return {"id": ident, "role": role, "content": content, "source": source}


def text(value: str) -> dict[str, Any]:
    """Return the stored form of a text block."""
    return {"type": "text", "text": value}


def delta(number: int) -> dict[str, Any]:
    """Return the stored form of a text delta."""
    return {"type": "text-delta", "index": 0, "text": f"tok{number} "}


# -- appending ---------------------------------------------------------------------------------

HEARD = [0]
"""What listeners count in."""


def heard(_session: object, _event: object) -> None:
    """Be a listener of `session/event`."""
    HEARD[0] += 1


async def appends(meter: Meter) -> AsyncIterator[Row]:
    """Append with a listener: a streamed delta, and a prompt after which the history is read."""
    async with Context() as root:
        root.plugin(SessionStore)
        await root.settle()
        root.on(SESSION_EVENT, heard)
        store: SessionStore = root.require("sessions")

        def opened() -> Session:
            session = store.create()
            session.append(TURN_START, {"turn": 1})
            session.append(STEP_START, {"turn": 1, "step": 1})
            return session

        data = FrozenDict(turn=1, step=1, chunk=FrozenDict(delta(1)))
        append_step = partial(append_deltas, opened, data)
        floor = partial(plain_append, data)
        yield await meter.compare(
            "append_delta", append_step, floor, count=20_000, budget=Budget(4, 1.3)
        )
        prompt = create_user_message("go on")
        step = partial(append_and_derive, opened, prompt)
        yield await meter.compare("append_derive", step, None, count=2_000)


def append_deltas(opened: Callable[[], Session], data: FrozenDict, count: int) -> None:
    """Append a delta, `count` times over."""
    append = opened().append
    for _ in repeat(None, count):
        append(ASSISTANT_CHUNK, data)


@attrs.frozen
class Plain:
    """One event, as small as it can be."""

    type: str
    seq: int
    time: float
    data: dict[str, Any]


def plain_append(data: FrozenDict, count: int) -> None:
    """Do the least that could count as an append: a record with its time, a list, and a call."""
    log: list[Plain] = []
    for _ in repeat(None, count):
        event = Plain(ASSISTANT_CHUNK, len(log), time.time(), data)
        log.append(event)
        heard(None, event)


def append_and_derive(opened: Callable[[], Session], prompt: Message, count: int) -> None:
    """Append a prompt and read the history, `count` times over."""
    session = opened()
    data = prompt.to_json()
    for _ in repeat(None, count):
        session.append(USER_MESSAGE, data, surface_op="append", message=prompt)
        session.derive_messages()


# -- whole logs --------------------------------------------------------------------------------


async def sampled(
    meter: Meter,
    name: str,
    ours: Callable[[int], object],
    floor: Callable[[int], object],
    *,
    n_events: int,
    budget: Budget | None = None,
) -> Row:
    """Measure steps that always work on the whole log, in microseconds per event."""
    ours_us: list[float] = []
    floor_us: list[float] = []
    for _ in range(N_SAMPLES):
        gc.collect()
        ours_us.append(await meter.sample(ours, n_events))
        gc.collect()
        floor_us.append(await meter.sample(floor, n_events))
    return row(name, "us", ours_us, floor_us, budget=budget)


async def seeding(meter: Meter, events: tuple[SessionEvent, ...]) -> Row:
    """Plant a log that is in memory."""
    return await sampled(
        meter,
        "seed",
        lambda _: Session.create("bench", events),
        lambda _: [event for event in events if event.seq >= 0],
        n_events=len(events),
    )


async def deriving(meter: Meter, events: tuple[SessionEvent, ...]) -> Row:
    """Rebuild the history of a whole log, in microseconds per message."""
    session = Session.create("bench", events)
    nodes = session.surface.nodes

    def derive(_: int) -> list[Message]:
        session.surface.replace_generation += 1  # rebuild, as after a compaction
        return session.derive_messages()

    return await sampled(
        meter, "rederive", derive, lambda _: [events[seq] for seq in nodes], n_events=len(nodes)
    )


async def packing(meter: Meter, events: tuple[SessionEvent, ...]) -> Row:
    """Turn events into storage records; the floor encodes each event by itself."""
    return await sampled(
        meter,
        "pack",
        lambda _: [dumps(record) for record in pack_chunk_runs(events)],
        lambda _: [orjson.dumps(event_to_json(event)) for event in events],
        n_events=len(events),
    )


async def reloading(
    meter: Meter, events: tuple[SessionEvent, ...], name: str, *, is_packed: bool
) -> Row:
    """Read a stored log into a session; the floor decodes one line an event into a list."""
    lines = b"\n".join([dumps(event_to_json(event)) for event in events])

    def decode(_: int) -> list[Any]:
        gc.disable()  # as every reader of a large log should
        try:
            return [orjson.loads(line) for line in lines.split(b"\n")]
        finally:
            gc.enable()

    with tempfile.TemporaryDirectory() as folder:
        config = {"root": folder, "packChunks": is_packed, "fsync": "checkpoint"}
        await store_log(config, events)

        async def load(_: int) -> None:
            async with Context() as root:
                root.plugin(SessionStore)
                root.plugin(JsonlPersistence, config)
                await root.settle()
                stored = await root[PersistenceCoordinator].load("bench")
                Session.from_restore("bench", stored.events, stored.header)

        budget = Budget(5, 2.0) if is_packed else None  # packed is how storage comes
        return await sampled(meter, name, load, decode, n_events=len(events), budget=budget)


async def store_log(config: dict[str, Any], events: tuple[SessionEvent, ...]) -> None:
    """Store a log under the id `bench`."""
    async with Context() as root:
        root.plugin(SessionStore)
        root.plugin(JsonlPersistence, config)
        await root.settle()
        handle = await root[PersistenceCoordinator].create(Session("bench").header)
        for start in range(0, len(events), 5_000):
            await handle.append(events[start : start + 5_000])
        await handle.flush()
        await handle.close()
