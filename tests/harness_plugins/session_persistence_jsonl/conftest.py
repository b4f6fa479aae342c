"""Real files whose calls can be counted, failed, and cut off."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.testing import SimulatedCrash
from harness_plugins.session_persistence_jsonl import JsonlBackend, JsonlConfig, OsLogFiles


class FaultFiles:
    """Do every call on real files, unless told otherwise.

    `calls` names all calls so far. `fail` makes later calls of one name raise. From call number
    `crash_at` on (counted from 0) everything raises `SimulatedCrash`; a write that is hit has
    written `partial_bytes` of its data first. `synced` knows what a power failure leaves.
    """

    def __init__(self, crash_at: int | None = None, *, partial_bytes: int = 0):
        self._real = OsLogFiles()
        self._crash_at = crash_at
        self._partial_bytes = partial_bytes
        self._faults: dict[str, list[BaseException | None]] = {}
        self.max_write: int | None = None
        self.calls: list[str] = []
        self.synced: dict[int, int] = {}

    def fail(self, name: str, *errors: BaseException | None):
        """Let the next calls of a name raise these, None letting one pass."""
        self._faults.setdefault(name, []).extend(errors)

    def count(self, name: str) -> int:
        return self.calls.count(name)

    @property
    def crashed(self) -> bool:
        return self._crash_at is not None and len(self.calls) > self._crash_at

    def power_loss(self, root: Path, keep: Callable[[int], int]):
        """Cut each log to what was synced, plus `keep(n)` of the `n` bytes that were not."""
        for path in root.glob("*/*/session*.jsonl"):
            size, synced = path.stat().st_size, self.synced.get(path.stat().st_ino, 0)
            os.truncate(path, min(size, synced + keep(max(0, size - synced))))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        real = getattr(self._real, name)

        def call(*args: Any) -> Any:
            hit = self._crash_at is not None and len(self.calls) == self._crash_at
            if hit and name == "write":
                os.write(args[0], args[1][: self._partial_bytes])
            self.calls.append(name)
            if self.crashed:
                raise SimulatedCrash(name)
            waiting = self._faults.get(name)
            error = waiting.pop(0) if waiting else None
            if error is not None:
                raise error
            if name == "write" and self.max_write is not None:
                args = (args[0], args[1][: self.max_write])
            result = real(*args)
            if name == "fsync":
                state = os.fstat(args[0])
                self.synced[state.st_ino] = state.st_size
            return result

        return call


@pytest.fixture
def fault_files() -> type[FaultFiles]:
    return FaultFiles


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


@pytest.fixture
def files() -> FaultFiles:
    return FaultFiles()


@pytest.fixture
def make_backend(root: Path):
    """Make a backend over the test's root, as each process has one."""

    def make(files: Any = None, **options: Any) -> JsonlBackend:
        config = JsonlConfig(root=str(root), **options)
        return JsonlBackend(config) if files is None else JsonlBackend(config, files=files)

    return make
