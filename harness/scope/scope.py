"""Give a key a context of its own whose registrations die together."""

from collections.abc import Awaitable

from harness.scope.chain import bind_scope_parent
from vendor_shims.cordis import Context, Fiber

SCOPE_TAG = "scope"
"""Name of the context tag that holds the scope key."""


class Scope:
    """Own the registrations made through one scoped context.

    Invariants: `ctx` carries the key as its tag; disposing undoes everything registered through
    `ctx`, once, in reverse order.
    """

    __slots__ = ("_fiber", "ctx", "key")

    def __init__(self, fiber: Fiber, key: object) -> None:
        """Tag the context of `fiber` with `key`; callers use `create_scope`."""
        self._fiber = fiber
        self.key = key
        self.ctx: Context = fiber.ctx.extend(**{SCOPE_TAG: key})

    def raw_dispose(self) -> Awaitable[None]:
        """Request disposal at once; await the result to wait for the teardown."""
        return self._fiber.dispose()

    async def dispose(self) -> None:
        """Undo every registration and wait for asynchronous teardown; later calls join."""
        await self._fiber.dispose()


class _ScopePlugin:
    """Mount an empty, unnamed fiber, so that a scope shows up under its owner's name."""

    @staticmethod
    def apply(ctx: Context) -> None:
        """Set nothing up; registrations arrive through the scoped context."""


_SCOPE_PLUGIN = _ScopePlugin()


def create_scope(ctx: Context, key: object, parent: object | None = None) -> Scope:
    """Create a scoped context below `ctx`; it is usable at once and dies with `ctx`.

    With `parent` the key is linked below it for good (see `bind_scope_parent`, whose errors apply).
    """
    if parent is not None:
        bind_scope_parent(key, parent)
    return Scope(ctx.plugin(_SCOPE_PLUGIN), key)


def scope_of(ctx: Context) -> object | None:
    """Return the key of the nearest scope around a context, or `None` outside every scope."""
    return ctx.own_tags.get(SCOPE_TAG)
