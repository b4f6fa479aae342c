"""Ship the fakes that the project's own tests use: model server, failing files, clock."""

from harness.testing.behaviours import BehaviourOptions, behaviour_names
from harness.testing.chat_replies import (
    DONE,
    ReplyToolCall,
    chat_chunk,
    error_reply,
    sse_data,
    text_reply,
    tool_call_reply,
    with_comments,
)
from harness.testing.crash_files import CrashPointFiles, SimulatedCrash
from harness.testing.recorded import Exchange, MockEvent, RecordedRequest
from harness.testing.reply import Part, Reply, json_reply, raw_reply
from harness.testing.server import MockServer
from vendor_shims.timer import VirtualClock as FakeClock

__all__ = [
    "DONE",
    "BehaviourOptions",
    "CrashPointFiles",
    "Exchange",
    "FakeClock",
    "MockEvent",
    "MockServer",
    "Part",
    "RecordedRequest",
    "Reply",
    "ReplyToolCall",
    "SimulatedCrash",
    "behaviour_names",
    "chat_chunk",
    "error_reply",
    "json_reply",
    "raw_reply",
    "sse_data",
    "text_reply",
    "tool_call_reply",
    "with_comments",
]
