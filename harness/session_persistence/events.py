"""Declare the bus events of session storage.

Both are emitted by the coordinator, contained, in the order of the facts; nothing is durable.
"""

from attrs import frozen

from vendor_shims.cordis import Emit


@frozen(kw_only=True)
class PersistenceDegraded:
    """Tell that writing a session failed; its events stay in memory.

    `buffered` counts the events that wait. The next event or flush tries again.
    """

    session_id: str
    error: BaseException
    buffered: int


@frozen(kw_only=True)
class PersistenceRecovered:
    """Tell that a session that could not be written is on disk again, complete and in order."""

    session_id: str
    written: int


PERSISTENCE_DEGRADED = Emit[[PersistenceDegraded]]("persistence/degraded", contain=True)
"""Tell a user interface that a session is not durable now.

Emitted once per failure episode, after the failed write. Listeners return nothing.
"""

PERSISTENCE_RECOVERED = Emit[[PersistenceRecovered]]("persistence/recovered", contain=True)
"""Tell that the episode that `persistence/degraded` opened is over.

Emitted once, after the first write that succeeded. Listeners return nothing.
"""
