"""The companion of requests: what the model sees is what the log says."""

from collections.abc import AsyncIterator

from harness.invariants import InvariantError
from harness.llm import STREAM, GenerateOptions, StreamChunk, is_agent_loop_request
from harness.session import (
    REQUEST_OVERRIDE,
    Session,
    SessionStore,
    canonical_header,
    header_equals,
    repair_tool_adjacency,
)
from harness.wire import freeze_json, json_equal
from vendor_shims.cordis import Context, SyncNext

PACKAGE = "harness_plugins.agent_loop"


class RequestCompanion:
    """Compare each request of the loop with the log before an adapter gets it."""

    def __init__(self, ctx: Context, *, is_strict: bool) -> None:
        """Watch requests; `is_strict` refuses overridden messages as well."""
        self._sessions: SessionStore = ctx.require("sessions")
        self._is_strict = is_strict
        ctx.on(STREAM, self._check, prepend=True, unfiltered=True)

    def _check(
        self, options: GenerateOptions, following: SyncNext[AsyncIterator[StreamChunk]]
    ) -> AsyncIterator[StreamChunk]:
        if is_agent_loop_request(options):
            session = self._sessions.get(options.session_id or "")
            if session is None:
                raise _broken("M1", f"the request belongs to no live session: {options.session_id}")
            self._check_history(session, options)
            _check_header(session, options)
        return following()

    def _check_history(self, session: Session, options: GenerateOptions) -> None:
        if session.open_step is None:
            raise _broken("M2", "the request is sent outside a step")
        derived = session.derive_messages()
        if list(options.messages) != derived:
            last = session.event(session.seq - 1)
            said = freeze_json([message.to_json() for message in options.messages])
            is_logged = last.type == REQUEST_OVERRIDE and json_equal(last.data["messages"], said)
            if self._is_strict or not is_logged:
                raise _broken("M3", "the messages are not what the log derives to")
        elif repair_tool_adjacency(derived) is not derived:
            raise _broken("M5", "a tool call is not followed by its result")


def _check_header(session: Session, options: GenerateOptions) -> None:
    logged = session.request_header()
    if logged is None:
        raise _broken("M2", "no request/header precedes the request")
    sent = canonical_header(
        {
            "config": options.config.to_json(),
            "adapterDefaults": logged.get("adapterDefaults", {}),
            "system": options.system or "",
            "tools": [tool.to_json() for tool in options.tools],
        }
    )
    if not header_equals(sent, logged):
        raise _broken("M4", "config, system or tools differ from the logged header")


def _broken(rule: str, message: str) -> InvariantError:
    return InvariantError(message, package=PACKAGE, rule=rule)
