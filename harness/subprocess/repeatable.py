"""Make something that can be awaited again and again, unlike a coroutine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

import attrs

T = TypeVar("T")


@attrs.frozen
class Repeatable(Awaitable[T], Generic[T]):
    """Run `wait()` anew for each `await`; for facts that stay true once they hold."""

    wait: Callable[[], Coroutine[Any, Any, T]]

    def __await__(self) -> Generator[Any, Any, T]:
        return self.wait().__await__()
