"""Check the data of events that the folds of a session read."""

from collections.abc import Callable, Mapping
from typing import Any, cast

from harness.session import event_types as types
from harness.session.errors import MessageShapeError

_DEFAULTABLE = frozenset({"reasoningEffort", "maxTokens"})


def check_shape(kind: str, data: Mapping[str, Any]) -> None:
    """Raise `MessageShapeError` when an event that is folded has the wrong shape."""
    checker = _CHECKERS.get(kind)
    if checker is not None:
        checker(kind, data)


def _check_user(kind: str, data: Mapping[str, Any]) -> None:
    _check_message(kind, data, role="user")


def _check_context(kind: str, data: Mapping[str, Any]) -> None:
    _check_message(kind, data, role="user")
    envelope = data.get("envelope", "context")
    if envelope not in ("context", "raw"):
        raise MessageShapeError(f"{kind!r} has the unknown envelope {envelope!r}")


def _check_assistant(kind: str, data: Mapping[str, Any]) -> None:
    source = _check_message(kind, _object(kind, data, "message"), role="assistant")
    if source["kind"] != "model":
        raise MessageShapeError(f"{kind!r} must have a model source, found {source['kind']!r}")
    for member in ("provider", "model"):
        if not _is_text(source.get(member)):
            raise MessageShapeError(f"the source of {kind!r} needs a non-empty {member}")


def _check_tool_result(kind: str, data: Mapping[str, Any]) -> None:
    message = _object(kind, data, "message")
    source = _check_message(kind, message, role="user")
    call_id = source.get("callId")
    if source["kind"] != "tool" or not _is_text(call_id):
        raise MessageShapeError(f"{kind!r} must have a tool source with a non-empty callId")
    content = message["content"]
    if len(content) != 1 or not isinstance(content[0], dict):
        raise MessageShapeError(f"{kind!r} must hold exactly one block, found {len(content)}")
    block = cast("dict[str, Any]", content[0])
    if block.get("type") != "tool-result" or not _is_list(block.get("content")):
        raise MessageShapeError(f"{kind!r} must hold one tool-result block with a content list")
    if block.get("toolCallId") != call_id:
        raise MessageShapeError(
            f"{kind!r} answers call {block.get('toolCallId')!r} but its source is {call_id!r}"
        )


def _check_header(kind: str, data: Mapping[str, Any]) -> None:
    if data.get("reason") not in ("initial", "resume", "change"):
        raise MessageShapeError(f"{kind!r} has the unknown reason {data.get('reason')!r}")
    header = _object(kind, data, "header")
    config = _object(kind, header, "config")
    for member in ("provider", "model"):
        if not _is_text(config.get(member)):
            raise MessageShapeError(f"the config of {kind!r} needs a non-empty {member}")
    if "reasoningEffort" in config and not _is_text(config["reasoningEffort"]):
        raise MessageShapeError(f"the reasoningEffort of {kind!r} must be a non-empty string")
    if "adapterDefaults" not in header:
        return
    for member, value in _object(kind, header, "adapterDefaults").items():
        if member not in _DEFAULTABLE or value is not True:
            raise MessageShapeError(f"adapterDefaults of {kind!r} has {member!r}: {value!r}")
        if member not in config:
            raise MessageShapeError(f"adapterDefaults of {kind!r} names {member!r}, not in config")


def _check_delta(kind: str, _data: Mapping[str, Any]) -> None:
    raise MessageShapeError(f"{kind!r} is not written any more; append a whole request/header")


def _check_request_context(kind: str, data: Mapping[str, Any]) -> None:
    for member in ("provider", "model"):
        if not _is_text(data.get(member)):
            raise MessageShapeError(f"{kind!r} needs a non-empty {member}")
    window = data.get("contextWindow", 1)
    if type(window) is not int or window < 1:
        raise MessageShapeError(f"contextWindow of {kind!r} must be positive, found {window!r}")


def _check_call(kind: str, data: Mapping[str, Any]) -> None:
    if not _is_text(data.get("callId")):
        raise MessageShapeError(f"{kind!r} needs a non-empty callId")
    for member in ("name", "arguments"):
        if not isinstance(data.get(member), str):
            raise MessageShapeError(
                f"{member} of {kind!r} must be text, found {data.get(member)!r}"
            )


def _check_attempt(kind: str, data: Mapping[str, Any]) -> None:
    if "chunkRange" not in data:
        return
    bounds = _object(kind, data, "chunkRange")
    start, end = bounds.get("start"), bounds.get("end")
    if type(start) is not int or type(end) is not int or not 0 <= start <= end:
        raise MessageShapeError(f"chunkRange of {kind!r} must be two seqs, found {dict(bounds)}")


def _check_message(kind: str, message: Mapping[str, Any], *, role: str) -> Mapping[str, Any]:
    if not _is_text(message.get("id")):
        raise MessageShapeError(f"{kind!r} must carry a message with a non-empty id")
    if message.get("role") != role:
        raise MessageShapeError(f"{kind!r} must have role {role!r}, found {message.get('role')!r}")
    if not _is_list(message.get("content")):
        raise MessageShapeError(f"{kind!r} must have a list of content blocks")
    source = message.get("source")
    if not isinstance(source, dict) or not _is_text(cast("dict[str, Any]", source).get("kind")):
        raise MessageShapeError(f"{kind!r} must have a source with a non-empty kind")
    return cast("dict[str, Any]", source)


def _object(kind: str, data: Mapping[str, Any], member: str) -> Mapping[str, Any]:
    value = data.get(member)
    if not isinstance(value, dict):
        raise MessageShapeError(f"{kind!r} needs the object {member!r}, found {value!r}")
    return cast("dict[str, Any]", value)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_list(value: object) -> bool:
    return isinstance(value, (list, tuple))


_CHECKERS: dict[str, Callable[[str, Mapping[str, Any]], None]] = {
    types.USER_MESSAGE: _check_user,
    types.CONTEXT_MESSAGE: _check_context,
    types.STEERING_MESSAGE: _check_context,
    types.ASSISTANT_MESSAGE: _check_assistant,
    types.TOOL_RESULT: _check_tool_result,
    types.REQUEST_HEADER: _check_header,
    types.REQUEST_CONTEXT: _check_request_context,
    types.TOOL_CALL: _check_call,
    types.ASSISTANT_ATTEMPT: _check_attempt,
    "request/header-delta": _check_delta,
}
