"""Pause the cyclic garbage collector while a large log is loaded.

Loading makes hundreds of thousands of objects and no cycles; the collector would walk them again
and again and double the time.
"""

import gc
import threading
from types import TracebackType


class _Pause:
    """Switch the collector off while at least one thread is inside.

    Invariants: `_n_inside` counts the blocks that run now; `_was_enabled` is how the first of them
    found the collector.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._was_enabled = False

    def __enter__(self) -> None:
        with self._lock:
            if self._n_inside == 0:
                self._was_enabled = gc.isenabled()
                gc.disable()
            self._n_inside += 1

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0 and self._was_enabled:
                gc.enable()


_PAUSE = _Pause()


def paused_collector() -> _Pause:
    """Return a context manager that keeps the collector off; several threads may be inside."""
    return _PAUSE
