"""Write the output of a run; the first failure ends the run instead of the process."""

from collections.abc import Callable

from harness_plugins.launcher.descriptors import STDOUT, write_all


class Output:
    """Write to standard output, or hold it back until the session is stored.

    Invariants: after a failure nothing is written any more; the order of writes is kept.
    """

    def __init__(self, on_failure: Callable[[OSError], object]) -> None:
        """Begin; `on_failure(error)` is told once."""
        self.failure: OSError | None = None
        self._on_failure = on_failure
        self._held: list[bytes] | None = None

    def hold(self) -> None:
        """Keep what is written from now on, until `release`."""
        self._held = []

    def release(self, first: bytes = b"") -> None:
        """Write `first`, then what was held."""
        held, self._held = self._held or [], None
        self.write(b"".join((first, *held)))

    def write(self, data: bytes) -> None:
        """Write everything, waiting for a slow reader."""
        if self._held is not None:
            self._held.append(data)
            return
        if self.failure is not None or not data:
            return
        try:
            write_all(STDOUT, data)
        except OSError as error:
            self.failure = error
            self._on_failure(error)
