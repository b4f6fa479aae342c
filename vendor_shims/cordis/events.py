"""Typed event descriptors: an event's name, its one dispatch mode, and its types.

A package declares its events once, as constants in its `events.py`, and passes the constants
wherever a name is expected:

    RESULT = Emit[[ToolExecution, ToolResult]]("tools/result", contain=True)
    PRE_EXECUTE = Waterfall[[ToolExecution], Decision]("tools/pre-execute", is_async=True)

A descriptor *is* its name (a `str`), so that tables keyed by name need no translation.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    Self,
    TypeVar,
    overload,
)

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

_registry: dict[str, Event] = {}


class Next(Protocol[R_co]):
    """Continues a waterfall with the next listener; calling it again runs the rest again."""

    def __call__(self) -> Awaitable[R_co]:
        """Run the rest of the chain; await the result."""
        ...


class SyncNext(Protocol[R_co]):
    """Continues a synchronous waterfall."""

    def __call__(self) -> R_co:
        """Run the rest of the chain and return its result."""
        ...


if TYPE_CHECKING:
    # To the type checker a descriptor is no string, so that a listener or argument that does
    # not fit it cannot fall back on the unchecked string form.
    class _Name:
        def __new__(cls, name: str) -> Self: ...
        def startswith(self, prefix: str, /) -> bool: ...

else:
    _Name = str


class Event(_Name):
    """The name of an event together with everything that is fixed about it.

    Attributes:
        mode: one of `emit`, `parallel`, `serial`, `bail`, `waterfall`.
        contain: whether listener failures are logged instead of raised (emit only).
        is_async: whether a waterfall's result is awaited by its dispatchers.
        accepts_serial: whether a listener with one parameter less joins as "run it, then next".
        scoped: picks the routing subject out of the arguments, for checks that it was given.
        doc: what a catalogue says about the event.
    """

    __slots__ = ("accepts_serial", "contain", "doc", "is_async", "scoped")
    mode: str = ""

    def __new__(
        cls,
        name: str,
        *,
        contain: bool = False,
        is_async: bool = False,
        accepts_serial: bool = False,
        scoped: Callable[..., object] | None = None,
        doc: str = "",
    ) -> Self:
        """Declare the event; a second declaration of one name must agree in mode."""
        self = super().__new__(cls, name)
        self.contain = contain
        self.is_async = is_async
        self.accepts_serial = accepts_serial
        self.scoped = scoped
        self.doc = doc
        known = _registry.get(name)
        if known is not None and known.mode != self.mode:
            raise TypeError(
                f"event {name!r} is already declared with mode {known.mode!r}, not {self.mode!r}"
            )
        _registry[name] = self
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __reduce__(self) -> tuple[Callable[[str], EventName], tuple[str]]:
        return described, (str(self),)


class Emit(Event, Generic[P]):
    """A synchronous notification; every listener runs, results are ignored."""

    __slots__ = ()
    mode = "emit"


class Parallel(Event, Generic[P]):
    """An awaited notification; all listeners start, the dispatcher waits for all."""

    __slots__ = ()
    mode = "parallel"


class Serial(Event, Generic[P, R]):
    """An awaited question; listeners run one after another until one answers."""

    __slots__ = ()
    mode = "serial"


class Bail(Event, Generic[P, R]):
    """A synchronous question; listeners run one after another until one answers."""

    __slots__ = ()
    mode = "bail"


class Waterfall(Event, Generic[P, R]):
    """Middleware around an innermost function; each listener gets `next` as last argument.

    With `is_async=True` the dispatcher always gets an awaitable. With `accepts_serial=True` a
    listener may leave `next` out: it runs, what it returns is ignored, and the chain goes on. One
    that has `next` and answers `None` leaves the decision to what follows, called or not.
    """

    __slots__ = ()
    mode = "waterfall"

    if TYPE_CHECKING:

        @overload
        def __new__(
            cls,
            name: str,
            *,
            accepts_serial: Literal[True],
            is_async: bool = ...,
            scoped: Callable[..., object] | None = ...,
            doc: str = ...,
        ) -> SerialWaterfall[P, R]: ...
        @overload
        def __new__(
            cls,
            name: str,
            *,
            is_async: bool = ...,
            scoped: Callable[..., object] | None = ...,
            doc: str = ...,
        ) -> Self: ...
        def __new__(cls, name: str, **options: Any) -> Any:
            """Declare the event; see `Event`."""
            ...


if TYPE_CHECKING:

    class SerialWaterfall(Waterfall[P, R]):
        """What a waterfall with `accepts_serial=True` is to the type checker."""

else:
    SerialWaterfall = Waterfall


class SyncWaterfall(Event, Generic[P, R]):
    """A waterfall whose listeners and innermost function are all synchronous."""

    __slots__ = ()
    mode = "waterfall"


EventName = str | Event


def described(name: EventName) -> EventName:
    """Return the descriptor declared for `name`, or `name` itself when there is none."""
    return _registry.get(str(name), name)


def declared_events() -> tuple[Event, ...]:
    """Return every event declared so far, in name order, for catalogues."""
    return tuple(_registry[name] for name in sorted(_registry))


Listener = Callable[..., Any]
"""Any listener; the typed overloads of `ctx.on` are the checked way to register one."""

MaybeAwaitable = R | Awaitable[R]

INTERNAL_PLUGIN = Emit[[Any]]("internal/plugin", contain=True, doc="A fiber was made or disposed.")
INTERNAL_STATUS = Emit[[Any, Any]](
    "internal/status", contain=True, doc="A fiber changed state; gets the fiber and the old state."
)
INTERNAL_SERVICE = Emit[[str, Any]](
    "internal/service", contain=True, doc="A name was re-evaluated; filtered by realm."
)
INTERNAL_CONFIG = SyncWaterfall[[Any, Any], Any](
    "internal/config", doc="Raw config on its way to the validator."
)
INTERNAL_UPDATE = Waterfall[[Any, Any, bool], Any](
    "internal/update", doc="A new config for an active fiber; own fiber by default."
)
INTERNAL_UPDATED = Emit[[Any, bool]](
    "internal/updated",
    contain=True,
    doc="A fiber runs, or waits, with a new config; the flag says whether to keep it for later.",
)
INTERNAL_GET = SyncWaterfall[[Any, str, Exception], Any](
    "internal/get", doc="A service read that the fast path could not answer."
)
INTERNAL_SET = SyncWaterfall[[Any, str, Any, Exception], Any](
    "internal/set", doc="An attribute write on a context."
)
INTERNAL_LISTENER = Bail[[Any, str, Listener, Any], Any](
    "internal/listener", doc="A listener is being registered; an answer replaces it."
)
INTERNAL_DISPATCH = Emit[[str, str, tuple[Any, ...], Any]](
    "internal/dispatch", doc="Before each public dispatch; an error vetoes the delivery."
)
