"""Contexts: the handle through which a plugin reads services, listens, registers and mounts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from .dispatch import Dispatch
from .effect import Effect
from .events import INTERNAL_PLUGIN
from .fiber import Fiber
from .inject import normalise
from .latch import Latch
from .listening import Listening
from .lookup import assign, read
from .placement import Placement
from .realm import Realm
from .resources import Resources
from .services import ServiceAccess
from .spawn import OnCrash, SpawnedTask
from .tree import Tree
from .waiting import settle, within

if TYPE_CHECKING:
    import asyncio
    from types import TracebackType

    from vendor_shims.logger import LoggerService

    from .clock import Clock
    from .registry import Registry
    from .watch import Watch

T = TypeVar("T")
_MISSING: Any = object()


class Context(Listening, Dispatch, ServiceAccess, Resources):
    """A plugin's handle on the tree; `Context()` makes a root, everything else derives.

    Injected services are plain attributes: they are written into the context's dictionary when
    its fiber loads and removed after its last disposer ran.

    Invariants: `_tags` is never changed after construction, so deriving shares it; every context
    of a tree has the same `_tree`; only `relocate` changes `fiber`, `parent` or the placement.
    """

    _tree: Tree
    fiber: Fiber
    parent: Context | None
    _placement: Placement
    _tags: Mapping[str, Any]

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        dispose_timeout_s: float | None = 10.0,
        debug: bool = False,
    ) -> None:
        tree = Tree(clock=clock, dispose_timeout_s=dispose_timeout_s, debug=debug)
        fiber = Fiber(tree, None, None, None)
        tree.root = self
        fiber.ctx = self
        self._derive(tree, fiber, parent=None, placement=Placement(), tags={})

    def _derive(
        self,
        tree: Tree,
        fiber: Fiber,
        *,
        parent: Context | None,
        placement: Placement,
        tags: Mapping[str, Any],
    ) -> Self:
        self.__dict__.update(
            _tree=tree,
            _bus=tree.bus,
            fiber=fiber,
            parent=parent,
            _placement=placement,
            _tags=tags,
        )
        return self

    # -- what it is --------------------------------------------------------------------------

    @property
    def root(self) -> Context:
        """The root context of the tree."""
        return self._tree.root

    @property
    def name(self) -> str:
        """The display name of the context's fiber."""
        return self.fiber.name

    @property
    def config(self) -> Any:
        """The validated config of the context's fiber."""
        return self.fiber.config

    @property
    def registry(self) -> Registry:
        """What is mounted in the tree."""
        return self._tree.registry

    @property
    def events(self) -> Any:
        """The tree's event bus, for `has_listeners`."""
        return self._tree.bus

    @property
    def tags(self) -> Mapping[str, Any]:
        """The inherited tags, nearest first; read-only."""
        return MappingProxyType(dict(self._tags))

    @property
    def base_dir(self) -> str | None:
        """The folder that relative references of this part of the tree start from."""
        return self._tags.get("base_dir")

    @property
    def kernel(self) -> Tree:
        """The shared state of the tree, for the framework's own packages."""
        return self._tree

    @property
    def placement(self) -> Placement:
        """Where the context stands, for the framework's own packages."""
        return self._placement

    @property
    def own_tags(self) -> Mapping[str, Any]:
        """The inherited tags without a protecting copy; never to be changed."""
        return self._tags

    @property
    def logger(self) -> LoggerService:
        """Log under the name of this context's fiber."""
        logger = self.__dict__.get("_logger")
        if logger is None:
            from vendor_shims.logger import LoggerService

            logger = LoggerService(self._tree.log, self, self.intercept_layers("logger"))
            self.__dict__["_logger"] = logger
        return logger

    def __repr__(self) -> str:
        return f"Context <{self.name}>"

    # -- deriving ----------------------------------------------------------------------------

    def extend(self, **tags: Any) -> Self:
        """Return a context of the same fiber with additional inherited tags."""
        return self._child(tags={**self._tags, **tags})

    def isolate(self, name: str, label: object = None) -> Self:
        """Return a context of the same fiber in which `name` stands in another realm.

        Args:
            name: the service name.
            label: contexts that isolate `name` with equal labels share one realm; without a
                label the realm is new.
        """
        realm = Realm(name) if label is None else self._tree.labelled_realm(name, label)
        return self._child(placement=Placement(self._placement, realms={name: realm}))

    def intercept(self, name: str, config: Any) -> Self:
        """Return a context of the same fiber with one more config layer for service `name`."""
        return self._child(placement=Placement(self._placement, layers=((name, config),)))

    def place(
        self,
        tags: Mapping[str, Any],
        *,
        realms: Mapping[str, Realm],
        layers: tuple[tuple[str, Any], ...] = (),
    ) -> Self:
        """Return a context of the same fiber with tags, realms and layers; see `relocate`."""
        placement = Placement(self._placement, realms=realms, layers=layers)
        return self._child(placement=placement, tags={**self._tags, **tags})

    def _child(self, **changes: Any) -> Self:
        child = object.__new__(type(self))
        return child._derive(
            self._tree,
            changes.get("fiber", self.fiber),
            parent=self,
            placement=changes.get("placement", self._placement),
            tags=changes.get("tags", self._tags),
        )

    def __getattr__(self, name: str) -> Any:
        return read(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        assign(self, name, value)

    def realm(self, name: str) -> Realm:
        """Return the realm in which this context looks for `name`."""
        return self._placement.realm(name) or self._tree.default_realm(name)

    def intercept_layers(self, name: str) -> list[Any]:
        """Return the config layers for service `name`, root first."""
        return self._placement.layers_for(name)

    # -- effects and plugins -----------------------------------------------------------------

    def effect(
        self, body: object, label: str = "anonymous", *, dispose_timeout: Any = _MISSING
    ) -> Effect:
        """Run `body()` now and undo what it returns with the fiber, or when called.

        Args:
            body: a function; it returns a disposer, an awaitable of one, or a list, generator
                or asynchronous generator of disposers.
            label: what the effect tree shows.
            dispose_timeout: seconds that each asynchronous disposer may take; `None` for no
                limit; by default the fiber's.

        Raises:
            InactiveEffect: the fiber takes no registrations now.
            InvalidEffect: the result cannot be undone.
        """
        self.fiber.require_accepting(body)
        timeout_s = self.fiber.dispose_timeout_s if dispose_timeout is _MISSING else dispose_timeout
        effect = Effect(self.fiber, label, timeout_s=timeout_s)
        self.fiber.table[effect] = None
        effect.start(body)
        return effect

    def spawn(
        self,
        work: Callable[[], Awaitable[T]] | Coroutine[Any, Any, T],
        *,
        name: str | None = None,
        shield: bool = False,
        on_crash: OnCrash = "log",
    ) -> asyncio.Task[T]:
        """Run a coroutine, or a function that returns one, as a task owned by the fiber.

        When its turn in the fiber's teardown comes the task is cancelled and awaited.

        Args:
            work: a coroutine or a coroutine function.
            name: the task's name, shown in the effect tree.
            shield: only await the task at teardown, do not cancel it.
            on_crash: `log` the failure, `restart` the function with growing delays, or `fail`
                the fiber.
        """
        self.fiber.require_accepting(work)
        return SpawnedTask(self.fiber, work, name=name, shield=shield, on_crash=on_crash).task

    def plugin(self, plugin: Any, config: Any = None) -> Fiber:
        """Mount a plugin and return its fiber; setup runs after at least one loop turn.

        Raises:
            InvalidPlugin: the object is none of the accepted forms.
            InactiveEffect: the fiber takes no registrations now.
        """
        return self._mount(plugin, config, {})

    def inject(self, deps: Any, callback: Callable[..., Any]) -> Fiber:
        """Mount `callback` as a plugin that waits for `deps`."""
        return self._mount(callback, None, normalise(deps))

    def _mount(self, plugin: Any, config: Any, extra: dict[str, Any]) -> Fiber:
        tree = self._tree
        self.fiber.require_accepting()
        tree.bind_loop()
        runtime = tree.registry.enter(plugin)
        fiber = Fiber(tree, self.fiber, runtime, config)
        fiber.inject = {**runtime.inject, **extra}
        layers = tuple(
            (name, spec.config) for name, spec in fiber.inject.items() if spec.config is not None
        )
        placement = Placement(self._placement, layers=layers) if layers else self._placement
        fiber.ctx = self._child(fiber=fiber, placement=placement)
        self.fiber.table[fiber] = None
        tree.registry.add(runtime, fiber)
        tree.bus.emit(INTERNAL_PLUGIN, (fiber,), None, contain=True)
        if fiber.uid is not None and self.fiber.accepts:
            fiber.watch_dependencies()
            tree.drain()
        return fiber

    # -- the whole tree ----------------------------------------------------------------------

    def call_threadsafe(self, fn: Callable[..., object], *args: Any) -> None:
        """Call `fn(*args)` on the tree's loop; the one entry from other threads."""
        loop = self._tree.loop or self._tree.bind_loop()
        loop.call_soon_threadsafe(fn, *args)

    async def settle(self, timeout: float | None = None) -> None:
        """Wait until no fiber of the tree is in transition and nothing is queued.

        Raises:
            TimeoutError: that took longer than `timeout` seconds; names the fibers.
        """
        await settle(self._tree, timeout)

    async def close(self, timeout: float | None = None) -> None:
        """Unload everything for good; later registrations raise `InactiveEffect`.

        Raises:
            TimeoutError: the cleanup took longer than `timeout` seconds; names who blocked.
        """
        tree = self._tree
        root = tree.root.fiber
        tree.is_closing = True
        end: Latch = root.dispose()

        async def follow() -> None:
            await end

        if not await within(follow(), timeout, tree.clock):
            names = ", ".join(f"{fiber.name} is {fiber.state.name}" for fiber in tree.busy)
            raise TimeoutError(f"the tree did not close within {timeout} s: {names}")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    def tree(self) -> dict[str, Any]:
        """Return a JSON-like picture of fibers, effects, bindings, listeners and tasks."""
        from .introspect import picture

        return picture(self._tree)

    def watch(self) -> Watch:
        """Return the changes of the tree from now on, for `async for`; ends with the fiber."""
        from .watch import Watch

        return Watch(self)

    def watchdog(self, after_s: float = 30.0) -> Effect:
        """Warn in the log about each transition that takes longer than `after_s` seconds."""
        from .watchdog import watchdog

        return watchdog(self, after_s)

    def diagnose(self) -> str:
        """Explain each fiber that is not active, and circles of requirements."""
        from .introspect import diagnosis

        return diagnosis(self._tree)
