"""Put the fragments of streamed tool calls in their places."""

from collections.abc import Mapping
from typing import Any, cast

from harness.llm import BlockEnd, BlockStart, StreamChunk, ToolCallBlock, ToolCallDelta
from harness.wire import SurrogateJoiner, dumps_text


class ToolCall:
    """Collect one call. `id` and `name` are what the latest fragment with one said."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.id = ""
        self.name: str | None = None
        self.parts: list[str] = []
        self._joiner = SurrogateJoiner()

    def is_another(self, ident: object) -> bool:
        """Tell whether `ident` names another call than this one, which already has arguments.

        Some gateways reuse the wire index of a finished call for the next one.
        """
        return self.id not in ("", ident) and any(self.parts)

    def push(self, fragment: Mapping[str, Any]) -> ToolCallDelta:
        """Take one fragment and return its delta; a wrongly typed member raises `TypeError`."""
        function: Mapping[str, Any] = fragment.get("function") or {}
        ident, name = fragment.get("id"), function.get("name")
        if ident:
            self.id = _text(ident)
        if name:
            self.name = _text(name)
        arguments = function.get("arguments")
        text = self._joiner.feed(arguments if type(arguments) is str else _raw(arguments))
        self.parts.append(text)
        return ToolCallDelta(self.index, self.id, self.name, text)

    def finish(self) -> list[StreamChunk]:
        """Close the call; one that never got an id is named after its block."""
        rest = self._joiner.finish()
        out: list[StreamChunk] = []
        if rest:
            self.parts.append(rest)
            out.append(ToolCallDelta(self.index, self.id, self.name, rest))
        ident = self.id or f"call-{self.index}"
        block = ToolCallBlock(ident, self.name or "", "".join(self.parts))
        return [*out, BlockEnd(self.index, block)]


class ToolCalls:
    """Route fragments to calls by wire index, else by id, else by elimination.

    Invariant: every call in `_by_wire_index` stands in the stream's list of blocks.
    """

    def __init__(self, blocks: list[Any]) -> None:
        self._blocks = blocks
        self._by_wire_index: dict[int, ToolCall] = {}

    def push(self, fragment: Mapping[str, Any], out: list[StreamChunk]) -> None:
        """Append the chunks of one fragment to `out`."""
        index = fragment.get("index")
        if type(index) is int:
            call = self._by_wire_index.get(index)
            ident = fragment.get("id")
            if ident and call is not None and call.is_another(ident):
                call = None
        else:
            index, call = self._without_index(fragment.get("id"))
        if call is None:
            call = ToolCall(len(self._blocks))
            self._by_wire_index[index] = call
            self._blocks.append(call)
            out.append(BlockStart(call.index, "tool-call"))
        out.append(call.push(fragment))

    def _without_index(self, ident: object) -> tuple[int, ToolCall | None]:
        for index, call in self._by_wire_index.items():
            if ident and call.id == ident:
                return index, call
        if not ident and len(self._by_wire_index) == 1:
            return next(iter(self._by_wire_index.items()))
        return max(self._by_wire_index, default=-1) + 1, None


def _raw(value: object) -> str:
    if value is None:
        return ""
    if type(value) is dict:  # some gateways hand out the parsed object
        return dumps_text(cast("dict[str, Any]", value))
    return _text(value)


def _text(value: object) -> str:
    if type(value) is not str:
        raise TypeError(f"expected text, found {value!r}")
    return value
