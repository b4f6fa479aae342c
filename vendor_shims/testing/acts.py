"""What the acts of plugin programs do on a real kernel."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from vendor_shims.cordis import Binding, Context, CordisError, Effect, ListenerEffect

from .books import Books, Registered, Value, name_of
from .kernel import Kernel
from .program import EVENTS, SERVICES, Act

Awaited = Coroutine[Any, Any, Any] | None
"""What an act started and what may be awaited: `None` when it ended at once."""


class Acts:
    """One method per kind of act; each books what it did.

    Attributes:
        plugins: what the program can mount.
    """

    def __init__(self, books: Books) -> None:
        self.books = books
        self.kernel: Kernel = books.kernel
        self.root: Context = books.root
        self.plugins: list[Any] = []

    @abstractmethod
    def perform(
        self, ctx: Context, act: Act, *, may_await: bool = True, is_free: bool = False
    ) -> Awaited:
        """Do one act; see the world."""
        ...

    async def perform_all(self, ctx: Context, acts: tuple[Act, ...]) -> None:
        """Do several acts, awaiting those that want it."""
        for act in acts:
            awaited = self.perform(ctx, act)
            if awaited is not None:
                try:
                    await awaited
                except (CordisError, ValueError, ExceptionGroup) as error:
                    self.books.note(f"{act.kind} raised {type(error).__name__}")

    def _mount(self, ctx: Context, act: Act) -> None:
        plugin = self.plugins[act.plugin % len(self.plugins)]
        service = SERVICES[act.service % len(SERVICES)]
        placement = dict(self.books.placement[ctx.fiber])
        if act.realm:
            placement[service] = act.realm
            ctx = ctx.isolate(service, act.realm)
        config = {"fails": act.is_bad}
        fiber = ctx.plugin(plugin, config)
        self.books.fibers.append(fiber)
        self.books.placement[fiber] = placement
        self.books.configs[fiber] = config
        self.books.register("fiber", ctx.fiber, fiber)
        self.books.note(f"mounted {name_of(fiber)} in {name_of(ctx.fiber)}")

    def _dispose(self, _: Context, act: Act) -> Awaited:
        fiber = self.books.living(act.pick)
        if fiber is self.root.fiber:
            return None
        self.books.note(f"dispose {name_of(fiber)}")
        self.books.gone(fiber)
        return follow(fiber.dispose())

    def _restart(self, _: Context, act: Act) -> Awaited:
        fiber = self.books.living(act.pick)
        if fiber is self.root.fiber:
            return None
        self.books.note(f"restart {name_of(fiber)}")
        return follow(fiber.restart())

    def _update(self, _: Context, act: Act) -> Awaited:
        fiber = self.books.living(act.pick)
        if fiber is self.root.fiber:
            return None
        config = {"fails": act.is_bad, "number": self.books.next_number()}
        self.books.note(f"update {name_of(fiber)}")

        async def update() -> None:
            self.books.configs[fiber] = config
            await fiber.update(config)

        return update()

    def _delete(self, _: Context, act: Act) -> Awaited:
        plugin = self.plugins[act.plugin % len(self.plugins)]
        registry = self.root.registry

        def book() -> None:
            record = registry.get(plugin)
            fibers = [] if record is None else list(record.fibers)
            for fiber in fibers:
                self.books.gone(fiber)
            self.books.note(f"delete {[name_of(fiber) for fiber in fibers]}")

        async def unload() -> None:
            book()
            await registry.unload(plugin)

        if act.awaits:
            return unload()
        book()
        registry.delete(plugin)
        return None

    def _settle(self, ctx: Context, act: Act) -> Awaited:
        return ctx.settle(timeout=2.0 if act.is_bad else None)

    def _provide(self, ctx: Context, act: Act) -> None:
        service = SERVICES[act.service % len(SERVICES)]
        if act.realm:
            ctx = ctx.isolate(service, act.realm)
        value = Value(self.books.next_number())

        def check(_: Context) -> bool:
            return self.books.flags[service]

        binding = ctx.provide(service, value, check=check if act.awaits else None)
        self.books.register("binding", ctx.fiber, binding)
        self.books.note(f"{name_of(ctx.fiber)} provides {service} as {value.number}")

    def _withdraw(self, _: Context, act: Act) -> Awaited:
        one = self.books.pick("binding", act.pick)
        if one is None:
            return None
        self.books.note(f"withdraw {one.handle.realm.name} of {name_of(one.owner)}")
        one.is_gone = True
        latch = one.handle()
        return None if latch is None else follow(latch)

    def _replace(self, _: Context, act: Act) -> None:
        one = self.books.pick("binding", act.pick)
        if one is None:
            return
        withdrawn: Binding = one.handle
        realm = withdrawn.realm
        ctx = one.owner.ctx
        if ctx.realm(realm.name) is not realm:
            ctx = ctx.isolate(realm.name, realm.label)
        self.books.note(f"replace {realm.name} of {name_of(one.owner)}")
        one.is_gone = True
        withdrawn()
        binding = ctx.provide(realm.name, Value(self.books.next_number()))
        self.books.register("binding", ctx.fiber, binding)

    def _set(self, _: Context, act: Act) -> None:
        one = self.books.pick("binding", act.pick)
        if one is not None and one.handle.active:
            binding: Binding = one.handle
            ctx = one.owner.ctx
            if ctx.realm(binding.realm.name) is binding.realm:
                value = Value(binding.value.number, binding.value.version + 1)
                ctx.set(binding.realm.name, value)

    def _notify(self, ctx: Context, act: Act) -> None:
        ctx.notify(SERVICES[act.service % len(SERVICES)])

    def _flip(self, _: Context, act: Act) -> None:
        service = SERVICES[act.service % len(SERVICES)]
        for _round in range(2 if act.awaits else 1):
            self.books.flags[service] = not self.books.flags[service]
            self.books.note(f"flip {service} to {self.books.flags[service]}")
            for realm in self.root.kernel.realms():
                if realm.name == service:
                    self.root.isolate(service, realm.label).notify(service)
            self.root.notify(service)

    def _emit(self, ctx: Context, act: Act) -> None:
        ctx.emit(EVENTS[act.pick % len(EVENTS)])

    def _parallel(self, ctx: Context, act: Act) -> Coroutine[Any, Any, Any]:
        return ctx.parallel(EVENTS[act.pick % len(EVENTS)])

    def _listen(self, ctx: Context, act: Act) -> None:
        event = EVENTS[act.pick % len(EVENTS)]
        register = ctx.once if act.is_bad else ctx.on
        one = self.books.register("listener", ctx.fiber)
        try:
            handle = register(event, self._listener(ctx, act, one), prepend=act.awaits)
        except CordisError:
            self.books.registered.remove(one)
            raise
        one.handle = handle

    def _listener(self, ctx: Context, act: Act, one: Registered) -> Callable[[], Any]:
        async def go_on() -> None:
            await self.kernel.clock.sleep(act.delay_s)
            await self.perform_all(ctx, act.acts)

        def hear() -> Coroutine[Any, Any, None] | None:
            self.books.note(f"{name_of(ctx.fiber)} hears {one.number}")
            one.is_gone = one.is_gone or act.is_bad
            if act.delay_s:
                return go_on()
            for inner in act.acts:
                self.perform(ctx, inner, may_await=False)
            return None

        return hear

    def _unlisten(self, _: Context, act: Act) -> None:
        one = self.books.pick("listener", act.pick)
        if one is not None:
            listener: ListenerEffect = one.handle
            if not listener() and one.owner.unwinding is None:
                raise self.books.violation(f"listener {one.number} was gone without a reason")
            one.is_gone = True

    def _effect(self, ctx: Context, act: Act) -> None:
        one = self.books.register("effect", ctx.fiber)
        body = self._body(act, self.disposer(ctx, act, one))
        try:
            one.handle = ctx.effect(body, f"effect {one.number}")
        except CordisError:
            self.books.registered.remove(one)
            raise

    def _body(self, act: Act, disposer: Callable[[], Any]) -> Callable[[], Any]:
        async def later() -> Callable[[], Any]:
            await self.kernel.clock.sleep(1.0)
            return disposer

        return later if act.awaits else lambda: disposer

    def _undo(self, _: Context, act: Act) -> Awaited:
        one = self.books.pick("effect", act.pick)
        if one is None or one.handle is None:
            return None
        one.is_gone = True
        effect: Effect = one.handle
        try:
            pending = effect()
        except ValueError:  # what failing disposers raise
            return None
        return None if pending is None else follow(pending)

    def _spawn(self, ctx: Context, act: Act) -> None:
        async def work() -> None:
            await self.kernel.clock.sleep(act.delay_s)
            if not act.is_bad:
                await self.perform_all(ctx, act.acts)
                return
            # The fiber waits for a shielded task, so that must not wait for anything of fibers.
            for inner in act.acts:
                self.perform(ctx, inner, may_await=False)

        ctx.spawn(work, shield=act.is_bad)

    def disposer(self, ctx: Context, act: Act, one: Registered) -> Callable[[], Any]:
        """Return the disposer of an effect; it checks its turn and does what `act` says."""

        def undo() -> None:
            self.books.undo_begins(one)
            for inner in act.acts:
                self.perform(ctx, inner, may_await=False)
            if act.is_bad:
                raise ValueError("a disposer fails")

        async def undo_later() -> None:
            self.books.undo_begins(one)
            if not one.is_gone:
                self.books.undoing[one.owner] = one
            try:
                await self.kernel.clock.sleep(act.delay_s)
                await self.perform_all(ctx, act.acts)
                if act.is_bad:
                    raise ValueError("a disposer fails")
            finally:
                if self.books.undoing.get(one.owner) is one:
                    del self.books.undoing[one.owner]
                self.books.note(f"undone {one.number}")

        return undo_later if act.delay_s else undo

    def register_yielded(self, ctx: Context, act: Act) -> Callable[[], Any]:
        """Book a disposer that a setup hands to the kernel itself."""
        return self.disposer(ctx, act, self.books.register("effect", ctx.fiber))


async def follow(awaitable: Awaitable[object]) -> None:
    """Await something that is not a coroutine."""
    await awaitable
