"""Being told which files changed: by the system where `watchfiles` is there, else by looking."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from functools import partial
from typing import Protocol, TypeAlias

import anyio
from anyio.to_thread import run_sync

from vendor_shims.cordis import Clock
from vendor_shims.hmr.errors import WatchFailed
from vendor_shims.hmr.roots import Roots

EXTRA = "hmr"
POLL_S = 1.0
_GATHER_MS = 50
_STEP_MS = 10
"""How long a series of changes is gathered at most, and the pause that ends it."""

Signature: TypeAlias = tuple[int, ...]
"""What tells two states of a file apart: time of content and of attributes, size, number."""


class Watch(Protocol):
    """A source of changed paths."""

    def __aiter__(self) -> AsyncIterator[set[str]]:
        """Return sets of canonical paths that came, changed or went, until `stop`."""
        ...

    def stop(self) -> None:
        """End the iteration soon; may be called at any time, more than once."""
        ...


def signature(path: str) -> Signature | None:
    """Return the state of a file; `None` when there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)


def open_watch(
    roots: Roots, clock: Clock, *, polling: bool, tell: Callable[[str], object]
) -> Watch:
    """Begin to watch; what happens from now on is reported.

    Args:
        roots: what to watch.
        clock: the time source of polling.
        polling: look once a second even where the system could tell.
        tell: gets one line when watching is worse than it could be.

    Raises:
        WatchFailed: a folder is missing or cannot be watched.
    """
    for folder in roots.folders:
        if not os.path.isdir(folder):
            raise WatchFailed(f"cannot watch {folder!r}: it is no folder; correct `root` or `base`")
    if polling:
        return PollingWatch(roots, clock)
    try:
        return SystemWatch(roots)
    except ImportError:
        tell(
            f"watchfiles is not installed, so that files are looked at every {POLL_S:g} s;"
            f" install dsh-harness[{EXTRA}]"
        )
        return PollingWatch(roots, clock)


class SystemWatch:
    """Changes as the operating system reports them."""

    def __init__(self, roots: Roots) -> None:
        # Its documentation names this class for use without the wrapper around it, which would
        # tell about a failing start only after the first change.
        from watchfiles._rust_notify import RustNotify

        self._stopped = threading.Event()
        try:
            self._notify = RustNotify(
                watch_paths=list(roots.folders),
                debug=False,
                force_polling=False,
                poll_delay_ms=0,
                recursive=True,
                ignore_permission_denied=True,
            )
        except (OSError, RuntimeError) as error:
            raise WatchFailed(f"cannot watch {', '.join(roots.folders)}: {error}") from error

    async def __aiter__(self) -> AsyncIterator[set[str]]:
        """Return sets of paths; see `Watch`."""
        limiter = anyio.CapacityLimiter(1)  # a thread that is always taken must not be a shared one
        wait = partial(self._notify.watch, _GATHER_MS, _STEP_MS, 0, self._stopped)
        while not self._stopped.is_set():
            found = await run_sync(wait, limiter=limiter)
            if isinstance(found, set):
                yield {_canonical(path) for _, path in found}

    def stop(self) -> None:
        """See `Watch`."""
        self._stopped.set()


class PollingWatch:
    """Changes found by comparing all files with what they were a second ago."""

    def __init__(self, roots: Roots, clock: Clock) -> None:
        self._roots = roots
        self._clock = clock
        self._is_stopped = False
        self._scope: anyio.CancelScope | None = None
        self._known = _signatures(roots.files())

    async def __aiter__(self) -> AsyncIterator[set[str]]:
        """Return sets of paths; see `Watch`."""
        while not self._is_stopped:
            await self._clock.sleep(POLL_S)
            now = await run_sync(_signatures, self._roots.files())
            changed = {
                path for path in {*now, *self._known} if now.get(path) != self._known.get(path)
            }
            self._known = now
            if changed:
                yield changed

    def stop(self) -> None:
        """See `Watch`."""
        self._is_stopped = True


def _signatures(paths: Iterable[str]) -> dict[str, Signature]:
    found = ((path, signature(path)) for path in paths)
    return {path: one for path, one in found if one is not None}


def _canonical(path: str) -> str:
    """Return a path with its folder's links resolved; the file itself may be a link, or gone."""
    folder, name = os.path.split(path)
    return os.path.join(os.path.realpath(folder), name)
