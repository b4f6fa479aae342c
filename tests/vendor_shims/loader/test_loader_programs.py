"""Random operations: each is done whole or not at all, and what runs is what should run."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from vendor_shims.cordis import Context, CordisError, FiberState
from vendor_shims.loader import Entry, Loader
from vendor_shims.testing import kernel

IDS = ["a", "b", "c", "d", "e"]
GROUPS = ["g", "h"]
SERVICES = ["db", "web"]

labels = st.one_of(st.none(), st.just(True), st.sampled_from(["x", "y"]))
isolations = st.one_of(
    st.none(), st.fixed_dictionaries({}, optional=dict.fromkeys(SERVICES, labels))
)
switches = st.sampled_from([None, None, True, False])
plugins = st.sampled_from(["plain", "db", "web", "uses-db", "uses-web", "uses-both", "bridge"])
configs = st.sampled_from([None, 1, 2, "bad"])


def leaf(entry_id: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(
        lambda name, config, disabled, isolate: {
            "id": entry_id,
            "name": name,
            "config": config,
            "disabled": disabled,
            "isolate": isolate,
        },
        plugins,
        configs,
        switches,
        isolations,
    )


@st.composite
def lists(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw a tree: rows at the top, in one group, or in a group of that group."""
    top: list[dict[str, Any]] = []
    homes: dict[str | None, list[dict[str, Any]]] = {None: top}
    for name in draw(st.lists(st.sampled_from(GROUPS), unique=True)):
        inner: list[dict[str, Any]] = []
        row = {
            "id": name,
            "name": "cordis:group",
            "group": True,
            "config": inner,
            "disabled": draw(switches),
            "isolate": draw(isolations),
        }
        homes[draw(st.sampled_from(list(homes)))].append(row)
        homes[name] = inner
    for entry_id in draw(st.lists(st.sampled_from(IDS), unique=True)):
        homes[draw(st.sampled_from(list(homes)))].append(draw(leaf(entry_id)))
    return top


class Step(NamedTuple):
    what: str
    entry_id: Any  # the id of a row, where the step has one
    argument: Any
    parent: str | None


any_row = st.sampled_from([*IDS, *GROUPS])
any_group = st.sampled_from([None, *GROUPS])
nothing = st.none()
changes = st.one_of(
    st.fixed_dictionaries({"config": configs}),
    st.fixed_dictionaries({"disabled": switches}),
    st.fixed_dictionaries({"isolate": isolations}),
)
renames = st.fixed_dictionaries({"name": plugins, "config": configs})
steps = st.one_of(
    st.builds(Step, st.just("update_rows"), nothing, lists(), nothing),
    st.builds(Step, st.just("create"), nothing, st.sampled_from(IDS).flatmap(leaf), any_group),
    st.builds(Step, st.just("update"), any_row, changes, nothing),
    st.builds(Step, st.just("update"), st.sampled_from(IDS), renames, nothing),
    st.builds(Step, st.just("move"), any_row, st.just({}), any_group),
    st.builds(Step, st.just("remove"), any_row, nothing, nothing),
    st.builds(Step, st.just("end itself"), st.sampled_from(IDS), nothing, nothing),
    st.builds(Step, st.just("restart"), any_row, nothing, nothing),
)


class Run:
    """One loader that carries steps out, and what its plugins did."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader
        self.trace: list[str] = []
        self.running: dict[str, int] = {}
        for name, needs, gives in (
            ("plain", [], None),
            ("db", [], "db"),
            ("web", [], "web"),
            ("uses-db", ["db"], None),
            ("uses-web", ["web"], None),
            ("uses-both", ["db", "web"], None),
            ("bridge", ["db"], "web"),
        ):
            loader.resolver.register(name, self._plugin(name, needs, gives))

    def _plugin(self, name: str, needs: list[str], gives: str | None) -> Any:
        def apply(ctx: Context, config: Any) -> Any:
            if config == "bad":
                raise ValueError("bad")
            entry: Entry = ctx.fiber.entry
            if gives is not None:
                ctx.provide(gives, entry.id)
            seen = [getattr(ctx, service) for service in needs]
            self.trace.append(f"+{entry.id} {name} {config} {seen}")
            self.running[entry.id] = self.running.get(entry.id, 0) + 1
            assert self.running[entry.id] == 1, "a row runs twice"

            def end() -> None:
                self.running[entry.id] -= 1
                self.trace.append(f"-{entry.id}")

            return end

        plugin: Any = apply
        plugin.name = name
        plugin.inject = needs
        return plugin

    async def do(self, step: Step) -> None:
        loader = self.loader
        if step.what == "update_rows":
            await loader.update_rows(copy.deepcopy(step.argument))
        elif step.what == "create":
            await loader.create(step.argument, parent=step.parent)
        elif step.what == "update":
            await loader.update(step.entry_id, step.argument)
        elif step.what == "move":
            await loader.update(step.entry_id, step.argument, parent=step.parent)
        elif step.what == "remove":
            await loader.remove(step.entry_id)
        else:
            fiber = loader.resolve(step.entry_id).fiber
            if fiber is not None and step.what == "restart":
                fiber.restart()
            elif fiber is not None:
                await fiber.dispose()

    def picture(self) -> Any:
        """Return what an operation that failed must leave as it was."""
        return [
            (entry.path, entry.group.entry and entry.group.entry.id, plain(entry.options))
            for entry in self.loader.entries()
        ]

    def states(self) -> dict[str, FiberState | None]:
        return {
            entry.id: None if entry.fiber is None else entry.fiber.state
            for entry in self.loader.entries()
        }


def plain(options: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in options.items() if value is not None}
    if kept.get("group"):
        kept.pop("config", None)
    return kept


def realm_of(entry: Entry, service: str) -> Any:
    """Return what stands for the realm in which a row looks for a service."""
    row: Entry | None = entry
    while row is not None:
        label = row.options.get("isolate", {}).get(service)
        if label is True:
            return row
        if isinstance(label, str):
            return label
        row = row.parent
    return None


def check(run: Run) -> None:
    """Compare every row's state with what its options and those around it ask for."""
    entries = [entry for entry in run.loader.entries() if not entry.is_group]
    active: dict[Any, str] = {}
    for _ in range(2):  # a bridge can only run after what it needs
        for entry in entries:
            fiber = entry.fiber
            if fiber is not None and fiber.state is FiberState.ACTIVE:
                for service in (entry.name,) if entry.name in SERVICES else ():
                    active[service, realm_of(entry, service)] = entry.id
                if entry.name == "bridge":
                    active["web", realm_of(entry, "web")] = entry.id
    for entry in entries:
        needs = {"uses-db": ["db"], "uses-web": ["web"], "uses-both": ["db", "web"]}.get(
            entry.name, ["db"] if entry.name == "bridge" else []
        )
        has_all = all((service, realm_of(entry, service)) in active for service in needs)
        state = None if entry.fiber is None else entry.fiber.state
        if entry.disabled:
            assert state is None, f"{entry} runs though it is disabled"
        elif not has_all:
            may_have_failed = entry.options.get("config") == "bad" or entry.name == "bridge"
            is_waiting = state is FiberState.PENDING
            is_waiting |= may_have_failed and state is FiberState.FAILED
            assert is_waiting, f"{entry} is {state} without {needs}"
        elif entry.options.get("config") == "bad":
            assert state is FiberState.FAILED, f"{entry} is {state} with a bad config"
        elif entry.name == "bridge":
            assert state in (FiberState.ACTIVE, FiberState.FAILED), f"{entry} is {state}"
        else:
            assert state is FiberState.ACTIVE, f"{entry} is {state}: {entry.own_failures()}"
    for entry_id, n in run.running.items():
        is_active = run.states().get(entry_id) is FiberState.ACTIVE
        assert n == int(is_active), f"{entry_id} runs {n} times"


async def execute(program: list[Step]) -> list[str]:
    """Run a program, look after every step, and return the trace."""
    async with kernel() as k:
        k.root.plugin(Loader)
        await k.settle()
        loader = k.root.get(Loader)
        assert loader is not None
        run = Run(loader)
        for step in program:
            before = run.picture()
            try:
                await run.do(step)
            except (CordisError, ExceptionGroup) as error:
                run.trace.append(f"{step.what}: {type(error).__name__}")
                event(f"{step.what} fails")
                await k.settle()
                assert run.picture() == before, f"{step} failed and left something"
            else:
                event(f"{step.what} works")
                await k.settle()
            check(run)
        await k.root.close()
        assert not any(run.running.values())
        assert len(loader.labels) == 0
    return run.trace


@pytest.mark.fuzz
@pytest.mark.spec("01-N07", "01-I14", "01-I33")
@given(st.lists(steps, min_size=1, max_size=10))
async def test_operations_are_done_whole_or_not_at_all(program):
    assert await execute(program) == await execute(program)
