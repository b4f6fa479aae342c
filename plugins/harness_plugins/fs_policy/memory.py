"""Remember what each session has seen of each file."""

from collections import OrderedDict
from weakref import WeakKeyDictionary

from harness.fs import FsTarget, Observation
from harness.session import Session


class SeenFiles:
    """Map a live session and a target to the session's last observation of it.

    Invariants: a session holds at most `max_targets` observations, the least recently used go
    first; forgetting or losing a session drops them all; nothing is ever restored.
    """

    def __init__(self, max_targets: int) -> None:
        self._max_targets = max_targets
        self._by_session: WeakKeyDictionary[Session, OrderedDict[str, Observation]] = (
            WeakKeyDictionary()
        )

    def record(self, session: Session, target: FsTarget, observation: Observation) -> None:
        """Keep the newest observation of a target."""
        seen = self._by_session.setdefault(session, OrderedDict())
        seen[target.target_key] = observation
        seen.move_to_end(target.target_key)
        if len(seen) > self._max_targets:
            _ = seen.popitem(last=False)

    def recall(self, session: Session | None, target: FsTarget) -> Observation | None:
        """Return what the session last saw of the target, or None; nobody has seen nothing."""
        seen = None if session is None else self._by_session.get(session)
        if seen is None or target.target_key not in seen:
            return None
        seen.move_to_end(target.target_key)
        return seen[target.target_key]

    def forget(self, session: Session) -> None:
        """Drop everything that a session has seen."""
        _ = self._by_session.pop(session, None)
