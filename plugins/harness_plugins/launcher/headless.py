"""The row `surface` of headless profiles: it names what a run needs, so that no boot lacks it."""

from typing import Final

inject: Final = ["agent_loop", "agents", "llm", "session_persistence", "sessions", "tools"]
name: Final = "headless"


def apply() -> None:
    """Do nothing: a run is driven from outside the tree."""
