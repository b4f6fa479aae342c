"""Name the session event types, and let packages declare more of them."""

from typing import Any, Final, Literal, TypeAlias

import attrs

from harness.session.errors import SessionEventError
from harness.wire import FrozenDict

TURN_START: Final = "turn/start"
TURN_END: Final = "turn/end"
STEP_START: Final = "step/start"
STEP_END: Final = "step/end"
USER_MESSAGE: Final = "user/message"
CONTEXT_MESSAGE: Final = "context/message"
STEERING_MESSAGE: Final = "steering/message"
ASSISTANT_CHUNK: Final = "assistant/chunk"
ASSISTANT_MESSAGE: Final = "assistant/message"
ASSISTANT_ATTEMPT: Final = "assistant/attempt"
TOOL_CALL: Final = "tool/call"
TOOL_RESULT: Final = "tool/result"
REQUEST_HEADER: Final = "request/header"
REQUEST_CONTEXT: Final = "request/context"
REQUEST_OVERRIDE: Final = "request/override"
END_SEED: Final = "session/end-seed"
INBOX_SPLICED: Final = "agent/inbox/spliced"

SURFACE_TYPES: Final = frozenset(
    {USER_MESSAGE, CONTEXT_MESSAGE, STEERING_MESSAGE, ASSISTANT_MESSAGE, TOOL_RESULT}
)
"""The types that stand on the surface, that is in the history a model sees."""

TurnTrigger: TypeAlias = dict[str, Any]
"""Why a turn began, `{"kind": "message" | "injection" | "annotation" | "maintenance" | …}`."""

SeedDialect: TypeAlias = Literal["native", "upstream"]

MESSAGE_TRIGGER: Final[TurnTrigger] = FrozenDict({"kind": "message"})
INJECTION_TRIGGER: Final[TurnTrigger] = FrozenDict({"kind": "injection"})


@attrs.frozen(kw_only=True)
class EventType:
    """What is known of one event type."""

    name: str
    doc: str = ""


class EventTypeRegistry:
    """The event types that this build can read.

    Declarations are permanent: a log stays readable when the plugin that wrote it is unloaded.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._types: dict[str, EventType] = {}
        self._conversational = {"message"}

    def register(self, *names: str, doc: str = "") -> None:
        """Declare log-only types; declaring one again changes nothing."""
        for name in names:
            self._types.setdefault(name, EventType(name=name, doc=doc))

    def get(self, name: str) -> EventType | None:
        """Return what is known of a type, or `None`."""
        return self._types.get(name)

    def names(self) -> tuple[str, ...]:
        """Return all declared names, sorted, for catalogues."""
        return tuple(sorted(self._types))

    def __contains__(self, name: str) -> bool:
        return name in self._types

    def declare_conversational(self, kind: str) -> None:
        """Let turns with trigger `kind` count as conversational."""
        self._conversational.add(kind)

    def is_conversational(self, trigger: object) -> bool:
        """Return whether a turn with this trigger counts; an absent trigger is a message."""
        kind = trigger.get("kind") if isinstance(trigger, dict) else "message"  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - any JSON object
        return kind in self._conversational

    def require(self, name: object, *, seq: int, is_ignorable: bool = False) -> None:
        """Raise `SessionEventError` for a type that nobody declared, unless it may be skipped."""
        if type(name) is not str or not name:
            raise SessionEventError(f"event type must be a non-empty string, found {name!r}")
        if name not in self._types and not is_ignorable:
            raise SessionEventError(
                f"event {seq} has the unknown type {name!r}; declare it with"
                " EVENT_TYPES.register, or mark the event ignorable"
            )


EVENT_TYPES: Final = EventTypeRegistry()
"""The event types of this process."""

EVENT_TYPES.register(
    *SURFACE_TYPES,
    TURN_START,
    TURN_END,
    STEP_START,
    STEP_END,
    ASSISTANT_CHUNK,
    ASSISTANT_ATTEMPT,
    TOOL_CALL,
    REQUEST_HEADER,
    REQUEST_CONTEXT,
    REQUEST_OVERRIDE,
    END_SEED,
    doc="core",
)
EVENT_TYPES.register(
    "agent-preset/selected",
    "agent/inbox/spliced",
    "approval/asked",
    "approval/decided",
    "approval/policy",
    "approval/rule",
    "command/done",
    "command/run",
    "compaction/end",
    "compaction/prune",
    "compaction/start",
    "compaction/summary",
    "extension/package",
    "extension/run",
    "feedback/record",
    "goal/change",
    "hook/invoked",
    "hook/result",
    "image/offload",
    "job/registered",
    "job/settled",
    "llm/retry",
    "llm/retry-started",
    "loop/change",
    "memory/write",
    "permission/preset",
    "plan/mode",
    "sandbox/mode",
    "schedule/change",
    "session/title",
    "session/title-llm-request",
    "subagent/catalog",
    "subagent/descriptor",
    "subagent/model-selection-policy",
    "team/member",
    "team/message/delivered",
    "team/message/queued",
    "team/task",
    "todo/write",
    "tool-search/reveal",
    "tool-workflow/agent-end",
    "tool-workflow/agent-start",
    "tool-workflow/run-end",
    "tool-workflow/run-start",
    "tool/ptc-dispatch",
    "tool/ptc-dispatch-start",
    "web/deepseek-search-llm-request",
    "working-directory/change",
    doc="owned by a feature package",
)


def is_conversational_turn(data: Any) -> bool:
    """Return whether the data of a `turn/start` event opens a turn that counts as one."""
    return EVENT_TYPES.is_conversational(data.get("trigger", MESSAGE_TRIGGER))
