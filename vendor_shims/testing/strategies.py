"""Generate plugin programs for properties; needs hypothesis, so the package root leaves it out.

from vendor_shims.testing.strategies import Violation, World, check, programs, run_program
"""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager

from hypothesis import strategies as st

from .books import Violation
from .kernel import kernel
from .oracle import check, check_end
from .program import Act, Blueprint, Kind, Program, Step
from .world import World

__all__ = [
    "AT_TOP",
    "Act",
    "Blueprint",
    "Program",
    "Step",
    "Violation",
    "World",
    "acts",
    "blueprints",
    "check",
    "check_end",
    "failing_steps",
    "programs",
    "run_program",
    "steps",
]

DELAYS_S = (0.0, 0.0, 0.5, 2.5)
EVERYWHERE: tuple[Kind, ...] = (
    "mount",
    "dispose",
    "restart",
    "update",
    "provide",
    "provide",
    "withdraw",
    "replace",
    "set",
    "notify",
    "flip",
    "emit",
    "parallel",
    "listen",
    "unlisten",
    "effect",
    "undo",
    "spawn",
    "delete",
    "settle",
)
IN_SETUPS: tuple[Kind, ...] = ("provide", "provide", "effect", "effect", "listen", *EVERYWHERE)
OFTEN: tuple[Kind, ...] = ("mount", "mount", "mount", "provide", "provide")
AT_TOP: tuple[Kind, ...] = (*OFTEN, *OFTEN, "withdraw", "emit", *EVERYWHERE)

_services = st.sampled_from((0, 0, 0, 1, 1, 2, 3, 4))
_delays = st.sampled_from(DELAYS_S)


def acts(kinds: tuple[Kind, ...] = EVERYWHERE, *, depth: int = 1) -> st.SearchStrategy[Act]:
    """Return acts of the given kinds, whose disposers and listeners act themselves.

    Args:
        kinds: what may happen; more often named, more often chosen.
        depth: how deep acts of disposers and listeners nest.
    """
    inner = st.lists(acts(depth=depth - 1), max_size=2) if depth else st.just([])
    return st.builds(
        Act,
        kind=st.sampled_from(kinds),
        plugin=st.integers(0, 11),
        service=_services,
        realm=st.sampled_from((0, 0, 0, 0, 0, 1, 2)),
        pick=st.integers(0, 20),
        where=st.sampled_from((0, 0, 0, 1, 2, 5)),
        awaits=st.booleans(),
        is_bad=st.sampled_from((False, False, True)),
        delay_s=_delays,
        acts=inner.map(tuple),
    )


def blueprints() -> st.SearchStrategy[Blueprint]:
    """Return plugins with any needs, form, speed and behaviour."""
    needs = st.lists(_services, max_size=3, unique=True)
    return st.builds(
        _blueprint,
        needs=needs,
        n_optional=st.sampled_from((0, 0, 1, 2)),
        form=st.sampled_from(("sync", "async", "generator", "async generator")),
        delay_s=_delays,
        fails=st.sampled_from(("never",) * 5 + ("when told", "always")),
        is_patient=st.sampled_from((False, False, True)),
        setup=st.lists(acts(IN_SETUPS), min_size=1, max_size=6).map(tuple),
    )


def _blueprint(needs: list[int], n_optional: int, **rest: object) -> Blueprint:
    cut = max(0, len(needs) - n_optional)
    return Blueprint(tuple(needs[:cut]), tuple(needs[cut:]), **rest)  # pyright: ignore[reportArgumentType] - drawn to fit


def steps() -> st.SearchStrategy[Step]:
    """Return single steps, some of them cancelled after a few turns of the loop."""
    return st.builds(
        Step,
        act=acts(AT_TOP),
        settles=st.booleans(),
        cancel_after=st.none() | st.integers(0, 12),
    )


def programs(*, max_steps: int = 50) -> st.SearchStrategy[Program]:
    """Return programs of up to 12 plugins on 5 services."""
    return st.builds(
        Program,
        blueprints=st.lists(blueprints(), min_size=3, max_size=12).map(tuple),
        steps=st.lists(steps(), min_size=10, max_size=max_steps).map(tuple),
    )


async def run_program(program: Program) -> list[str]:
    """Run a program, checking the tree whenever it is at rest, and return its trace.

    Raises:
        Violation: the kernel broke one of its promises.
        LeakError: something is left after the root was closed.
    """
    with failing_steps() as failed:
        async with kernel() as made:
            world = World(made, program.blueprints)
            for step in program.steps:
                await world.run(step)
                if step.settles:
                    check(world.books)
            await world.settle()
            check(world.books)
            await world.close()
    check_end(world.books, failed)
    return world.books.trace


@contextmanager
def failing_steps() -> Generator[list[str]]:
    """Collect what the kernel reports about failures of its own steps."""
    found: list[str] = []

    class Collect(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(self.format(record))

    handler = Collect(logging.ERROR)
    logger = logging.getLogger("vendor_shims.cordis")
    logger.addHandler(handler)
    try:
        yield found
    finally:
        logger.removeHandler(handler)
