"""Declare the configuration of the loop."""

from typing import Annotated, Literal

from vendor_shims.schema import Ge, Gt, config, field


@config
class AgentLoopConfig:
    """Configure how turns run; the defaults suit people at a terminal."""

    max_parallel_tool_calls: Annotated[int, Ge(1)] = field(
        default=10, doc="Most tool bodies that overlap; 1 runs every call on its own."
    )
    intake: Literal["batch", "single"] = field(
        default="batch", doc="Whether a turn takes up all queued prompts or one."
    )
    steering_envelope: Literal["context", "raw"] = field(
        default="context", doc="Whether steering is written with an envelope around its text."
    )
    stream_log: Literal["chunks", "both"] = field(
        default="chunks", doc="Whether settled answers carry compact stream records as well."
    )
    durable_inbox: bool = field(
        default=True, doc="Journal queued messages in the log, so that they survive a crash."
    )
    resume_pending: Literal["hold", "run"] = field(
        default="hold", doc="Whether messages found queued at resume start a turn."
    )
    stop_on_error: bool = field(
        default=False, doc="Leave queued messages alone after a turn that failed."
    )
    max_steps_per_turn: Annotated[int, Ge(1)] | None = field(
        default=None, doc="End a turn with the error MAX_STEPS after so many steps."
    )
    flush_timeout_s: Annotated[float, Gt(0)] = field(
        default=30.0, doc="Seconds that making a finished turn durable may take."
    )
    shutdown_flush_s: Annotated[float, Gt(0)] = field(
        default=5.0, doc="The same, when the process is going down."
    )
    dispose_grace_s: Annotated[float, Gt(0)] = field(
        default=30.0, doc="Seconds after which an agent that does not end is named in the log."
    )
