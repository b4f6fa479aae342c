"""Turn bytes into values and back in exactly one place: JSON, text, lines, events."""

from harness.wire.converter import WIRE_NAME, camel_case, make_converter
from harness.wire.errors import (
    JsonDecodeError,
    JsonEncodeError,
    LineTooLongError,
    NotJsonError,
    SseEventTooLargeError,
    UnencodableTextError,
    WireError,
)
from harness.wire.exact_json import JsonFragment, JsonValue, dumps, dumps_request, dumps_text, loads
from harness.wire.frozen import FrozenDict, Json, as_tuple, freeze_json, json_equal, thaw
from harness.wire.lines import LineFramer
from harness.wire.snapshot import snapshot_json
from harness.wire.sse import SseDecoder, SseEvent
from harness.wire.surrogates import SurrogateJoiner
from harness.wire.text import (
    Utf8Decoder,
    has_lone_surrogate,
    replace_surrogates,
    require_encodable,
    sanitize_text,
)
from harness.wire.truncate import truncate_utf8, truncate_utf8_tail, utf8_head, utf8_tail

__all__ = [
    "WIRE_NAME",
    "FrozenDict",
    "Json",
    "JsonDecodeError",
    "JsonEncodeError",
    "JsonFragment",
    "JsonValue",
    "LineFramer",
    "LineTooLongError",
    "NotJsonError",
    "SseDecoder",
    "SseEvent",
    "SseEventTooLargeError",
    "SurrogateJoiner",
    "UnencodableTextError",
    "Utf8Decoder",
    "WireError",
    "as_tuple",
    "camel_case",
    "dumps",
    "dumps_request",
    "dumps_text",
    "freeze_json",
    "has_lone_surrogate",
    "json_equal",
    "loads",
    "make_converter",
    "replace_surrogates",
    "require_encodable",
    "sanitize_text",
    "snapshot_json",
    "thaw",
    "truncate_utf8",
    "truncate_utf8_tail",
    "utf8_head",
    "utf8_tail",
]
