"""The agent loop: one plugin among others, which runs agents in turns."""

from harness_plugins.agent_loop.agent import ReactLoopAgent
from harness_plugins.agent_loop.config import AgentLoopConfig
from harness_plugins.agent_loop.errors import (
    MaxStepsError,
    NoModelError,
    RequestFailedError,
    TurnCancelled,
)
from harness_plugins.agent_loop.inbox import fold_inbox
from harness_plugins.agent_loop.service import AgentLoop
from harness_plugins.agent_loop.signal import TurnSignal

__all__ = [
    "AgentLoop",
    "AgentLoopConfig",
    "MaxStepsError",
    "NoModelError",
    "ReactLoopAgent",
    "RequestFailedError",
    "TurnCancelled",
    "TurnSignal",
    "fold_inbox",
]
