"""The oracle of plugin programs is awake: whatever is wrong with a tree or its books, it says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given, settings

from vendor_shims.cordis import Context, Fiber, FiberState, ListenerEffect
from vendor_shims.testing import kernel
from vendor_shims.testing.strategies import (
    AT_TOP,
    Act,
    Blueprint,
    Program,
    Step,
    Violation,
    World,
    check,
    check_end,
    failing_steps,
    programs,
    run_program,
)

PROVIDER = Blueprint(setup=(Act("provide"), Act("effect"), Act("listen")))
CONSUMER = Blueprint(required=(0,), optional=(1,), form="generator", setup=(Act("effect"),))
BLUEPRINTS = (PROVIDER, CONSUMER)
MOUNTS = (Step(Act("mount", plugin=0)), Step(Act("mount", plugin=1), settles=True))


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    """A provider and its consumer at rest, for tests that then tamper with something."""
    async with kernel() as made:
        made_world = World(made, BLUEPRINTS)
        for step in MOUNTS:
            await made_world.run(step)
        check(made_world.books)
        yield made_world


def provider(one: World) -> Fiber:
    return one.books.fibers[1]


def consumer(one: World) -> Fiber:
    return one.books.fibers[2]


def tamper(change: Callable[[World], Callable[[], object] | None]) -> Any:
    return pytest.param(change, id=change.__name__)


def a_disposer_ran_twice(one: World) -> Callable[[], object]:
    registered = next(item for item in one.books.registered if item.kind == "effect")
    registered.n_undone += 1
    return lambda: setattr(registered, "n_undone", 0)


def a_stray_effect(one: World) -> Callable[[], object]:
    return one.root.effect(lambda: None, "stray")


def a_stray_disposer(one: World) -> Callable[[], object]:
    key: Any = next(item for item in consumer(one).table if item.label is None)
    del consumer(one).table[key]
    return lambda: consumer(one).table.update({key: None})


def a_lost_effect(one: World) -> Callable[[], object]:
    key: Any = next(item for item in provider(one).table if "effect" in str(item.label))
    del provider(one).table[key]
    return lambda: provider(one).table.update({key: None})


def a_stray_listener(one: World) -> Callable[[], object]:
    slot = one.root.kernel.bus.slot("e0")
    stray = ListenerEffect(
        one.root, slot, print, once=False, unfiltered=False, accepts_serial=False
    )
    slot.add(stray, prepend=False)
    return lambda: slot.discard(stray)


def a_lost_listener(one: World) -> Callable[[], object]:
    slot = one.root.kernel.bus.slot("e0")
    (lost,) = slot.order()
    slot.discard(lost)
    return lambda: slot.add(lost, prepend=False)


def a_stray_binding(one: World) -> Callable[[], object]:
    return one.root.provide("s3", None)


def a_moved_binding(one: World) -> Callable[[], object]:
    (realm,) = provider(one).bindings
    binding, realm.binding = realm.binding, None
    return lambda: setattr(realm, "binding", binding)


def a_forgotten_user(one: World) -> Callable[[], object]:
    (binding,) = provider(one).bindings.values()
    binding.committers.clear()
    return lambda: binding.committers.update({consumer(one): None})


def a_dead_watcher(one: World) -> Callable[[], object]:
    (realm,) = provider(one).bindings
    dead = Fiber(one.root.kernel, one.root.fiber, None, None)
    dead.uid = None
    realm.watchers[dead] = None
    return lambda: realm.watchers.pop(dead)


def a_wait_without_end(one: World) -> Callable[[], object]:
    fiber: Any = provider(one)
    fiber.drains = (None,)
    return lambda: setattr(fiber, "drains", ())


def a_view_of_a_resting_fiber(one: World) -> Callable[[], object]:
    consumer(one).state = FiberState.PENDING
    return lambda: setattr(consumer(one), "state", FiberState.ACTIVE)


def a_missing_attribute(one: World) -> Callable[[], object]:
    value = consumer(one).ctx.__dict__.pop("s0")
    return lambda: consumer(one).ctx.__dict__.update(s0=value)


def an_empty_record(one: World) -> Callable[[], object]:
    record = one.root.registry.get(one.plugins[0])
    assert record is not None
    fibers = dict(record.fibers)
    record.fibers.clear()
    return lambda: record.fibers.update(fibers)


def a_half_disposed_fiber(one: World) -> Callable[[], object]:
    uid, consumer(one).uid = consumer(one).uid, None
    return lambda: setattr(consumer(one), "uid", uid)


def a_load_that_never_was(one: World) -> Callable[[], object]:
    load = one.books.loads.pop()
    return lambda: one.books.loads.append(load)


def a_load_that_failed(one: World) -> Callable[[], object]:
    one.books.loads[-1].result = "failed"
    return lambda: setattr(one.books.loads[-1], "result", "ok")


def an_old_service(one: World) -> Callable[[], object]:
    seen = dict(one.books.loads[-1].seen)
    one.books.loads[-1].seen["s0"] = 0
    return lambda: one.books.loads[-1].seen.update(seen)


def an_old_config(one: World) -> Callable[[], object]:
    config = one.books.configs[consumer(one)]
    one.books.configs[consumer(one)] = {}
    return lambda: one.books.configs.update({consumer(one): config})


def an_old_value(one: World) -> Callable[[], object]:
    held = consumer(one).ctx.__dict__
    value = held["s0"]
    held["s0"] = type(value)(value.number)
    return lambda: held.update(s0=value)


def another_value(one: World) -> Callable[[], object]:
    held = consumer(one).ctx.__dict__
    value = held["s0"]
    held["s0"] = None
    return lambda: held.update(s0=value)


def a_service_that_is_refused(one: World) -> Callable[[], object]:
    (binding,) = provider(one).bindings.values()
    binding.check = bool
    one.books.flags["s0"] = False

    def restore() -> None:
        binding.check = None
        one.books.flags["s0"] = True

    return restore


@pytest.mark.parametrize(
    "change",
    [
        tamper(a_disposer_ran_twice),
        tamper(a_stray_effect),
        tamper(a_stray_disposer),
        tamper(a_lost_effect),
        tamper(a_stray_listener),
        tamper(a_lost_listener),
        tamper(a_stray_binding),
        tamper(a_moved_binding),
        tamper(a_forgotten_user),
        tamper(a_dead_watcher),
        tamper(a_wait_without_end),
        tamper(a_view_of_a_resting_fiber),
        tamper(a_missing_attribute),
        tamper(an_empty_record),
        tamper(a_half_disposed_fiber),
        tamper(a_load_that_never_was),
        tamper(a_load_that_failed),
        tamper(an_old_service),
        tamper(an_old_config),
        tamper(an_old_value),
        tamper(another_value),
        tamper(a_service_that_is_refused),
    ],
)
async def test_the_oracle_sees(change: Callable[[World], Callable[[], object]]) -> None:
    async with world() as one:
        restore = change(one)
        with pytest.raises(Violation, match="the tree does not agree with the books"):
            check(one.books)
        restore()
        check(one.books)


async def test_turns_of_disposers_are_checked() -> None:
    async with kernel() as made:
        one = World(made, ())
        ctx: Context = made.root
        first, second = (one.books.register("effect", ctx.fiber) for _ in range(2))
        with pytest.raises(Violation, match="undone before 2"):
            one.books.undo_begins(first)
        with pytest.raises(Violation, match="undone again"):
            one.books.undo_begins(first)
        one.books.undoing[ctx.fiber] = first
        with pytest.raises(Violation, match="during 1"):
            one.books.undo_begins(second)
        assert len(one.books.broken) == 3


async def test_users_must_have_left_before_disposers_run() -> None:
    async with world() as one:
        effect = one.books.pick("effect", 0)
        assert effect is not None
        with pytest.raises(Violation, match="undone before <Fiber 'p1' uid=2 ACTIVE> left"):
            one.books.undo_begins(effect)
        one.root.logger.warn("gave up waiting for somebody")
        effect.n_undone = 0
        one.books.undo_begins(effect)
        effect.n_undone = 0


async def test_a_task_must_end_with_its_fiber() -> None:
    async with world() as one:
        fiber = consumer(one)
        task = one.root.kernel.create_task(one.kernel.clock.sleep(1), owner=fiber)
        one.root.emit("internal/status", fiber, FiberState.UNLOADING)
        assert "unloaded before" in one.books.broken[0]
        await one.kernel.advance(1)
        await task


async def test_a_listener_must_not_vanish() -> None:
    async with world() as one:
        registered = one.books.pick("listener", 0)
        assert registered is not None
        registered.handle()
        with pytest.raises(Violation, match="gone without a reason"):
            one.perform(one.root, Act("unlisten"))


async def test_a_service_must_not_change_during_a_load() -> None:
    blueprint = Blueprint(required=(0,), form="async", delay_s=2.5)
    async with kernel() as made:
        one = World(made, (PROVIDER, blueprint))
        await one.run(Step(Act("mount", plugin=0)))
        await one.run(Step(Act("mount", plugin=1)))
        await made.advance(1)
        one.books.loads[-1].seen["s0"] = 0
        await one.settle()
        assert "s0 changed during the load of p1#2" in one.books.broken


async def test_a_tree_that_never_rests_is_a_violation() -> None:
    def tick() -> None:
        clock.call_later(0.5, tick)

    async with kernel() as made:
        clock = made.clock
        one = World(made, ())
        tick()
        with pytest.raises(Violation, match="never comes to rest"):
            await one.settle()
        one.kernel.clock.__init__()


async def test_steps_that_insist_on_a_taken_name_are_forgiven() -> None:
    insists = Step(Act("provide", is_bad=True), settles=True)
    trace = await run_program(Program((), (insists, insists)))
    assert any("provide in root#0: ServiceConflict" in line for line in trace)


async def test_slow_loads_cancel_and_awaiting_acts_are_part_of_programs() -> None:
    dispose = (Act("dispose", pick=0, awaits=True), Act("dispose", pick=1, awaits=True))
    disposing = Blueprint(form="async", setup=dispose)
    steps = (
        Step(Act("mount", plugin=0)),
        Step(Act("mount", plugin=1), settles=True),
        Step(Act("mount", plugin=0), settles=True),
        Step(Act("restart", pick=1, awaits=True), cancel_after=0),
        Step(Act("undo"), settles=True),
    )
    trace = await run_program(Program((PROVIDER, disposing), steps))
    assert any("operation cancelled" in line for line in trace)


@pytest.mark.parametrize("flag", [False, True])
async def test_every_kind_of_act_runs_everywhere(flag: bool) -> None:
    every = tuple(
        Act(kind, plugin=1, realm=int(flag), pick=2, awaits=flag, is_bad=flag, delay_s=0.5 * flag)
        for kind in dict.fromkeys(AT_TOP)
    )
    nested = (
        Act("listen", awaits=flag, delay_s=0.5 * flag, acts=every),
        Act("effect", awaits=flag, delay_s=0.5 * flag, acts=every),
        Act("spawn", is_bad=flag, delay_s=0.5, acts=every),
    )
    blueprints = [
        Blueprint(form=form, setup=(*every, *nested), is_patient=flag, fails="when told")
        for form in ("sync", "async", "generator", "async generator")
    ]
    steps = [Step(act, settles=True) for act in every]
    mounts = [Step(Act("mount", plugin=number)) for number in range(len(blueprints))]
    program = Program((PROVIDER, *blueprints), (*mounts, *steps, *mounts, *steps))
    assert await run_program(program) == await run_program(program)


@pytest.mark.parametrize(
    "steps",
    [
        # A listener acts when it hears; the second one only later, and what it awaits fails.
        (Act("listen", acts=(Act("notify"),)), Act("emit")),
        (
            Act("mount", plugin=2),
            Act("listen", delay_s=0.5, acts=(Act("update", pick=1, awaits=True), Act("undo"))),
            Act("emit"),
        ),
        # A provider sets, replaces and withdraws in its own realm what it provides there.
        (
            Act("provide", realm=1),
            Act("set"),
            Act("replace"),
            Act("withdraw", awaits=True),
            Act("withdraw"),
        ),
        # A setup that ends itself and goes on, and one that yields its disposers later.
        (Act("mount", plugin=3), Act("mount", plugin=4)),
        # A slow disposer whose acts end what it belongs to.
        (
            Act("effect", delay_s=0.5, is_bad=True, acts=(Act("restart", pick=1, awaits=True),)),
            Act("undo", awaits=True),
        ),
    ],
)
async def test_programs_in_a_few_words(steps: tuple[Act, ...]) -> None:
    plugins = (
        PROVIDER,
        CONSUMER,
        Blueprint(fails="always"),
        Blueprint(setup=(Act("dispose", pick=1), Act("effect"), Act("listen"))),
        Blueprint(form="async generator", setup=(Act("effect"), Act("provide"))),
    )
    program = Program(plugins, tuple(Step(act, settles=True) for act in steps))
    assert await run_program(program) == await run_program(program)


@settings(derandomize=True, database=None, max_examples=80)
@given(program=programs())
def test_the_same_programs_pass_each_time(program: Program) -> None:
    asyncio.run(run_program(program))


async def test_optional_services_that_need_the_fiber_are_none_of_its() -> None:
    first = Blueprint(optional=(3,), setup=(Act("provide", service=0), Act("provide", service=1)))
    middle = Blueprint(required=(0, 1), setup=(Act("provide", service=2),))
    last = Blueprint(required=(0, 2), setup=(Act("provide", service=3),))
    steps = tuple(Step(Act("mount", plugin=number), settles=True) for number in range(3))
    trace = await run_program(Program((first, middle, last), steps))
    assert sum("p0#1 loads" in line for line in trace) == 1


async def test_the_end_is_checked() -> None:
    async with world() as one:
        pass
    check_end(one.books, [])
    with pytest.raises(Violation, match="a step failed"):
        check_end(one.books, ["a step failed"])
    one.books.broken.append("noticed")
    with pytest.raises(Violation, match="noticed"):
        check_end(one.books, [])
    one.books.broken.clear()
    one.books.register("effect", one.root.fiber)
    with pytest.raises(Violation, match="was undone 0 times"):
        check_end(one.books, [])


def test_failing_kernel_steps_are_collected() -> None:
    async def main() -> None:
        def fail() -> None:
            raise ValueError("step")

        async with kernel() as made:
            made.root.kernel.post(fail)
            await made.settle()

    with failing_steps() as found:
        asyncio.run(main())
    assert len(found) == 1
    assert "ValueError: step" in found[0]
