"""Measure pieces of work in CPU time, each beside a floor measured in the same minute.

A machine that is shared makes one figure mean little. So each sample is the CPU time of a step,
scaled by a fixed calibration loop that runs right before and right after it, the step and its floor
take turns, and the best sample of each counts. What holds across machines is the ratio of the two.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence

import attrs

Step = Callable[[int], object]
"""Performs that many operations; a coroutine function is awaited."""

CALIBRATION_MS = 6.6
"""What the calibration loop takes on the reference machine when nothing else runs there."""
NOISY = 0.3
"""A relative spread of samples above this asks for another run."""


@attrs.frozen
class Budget:
    """What the design allows, and the floor that it was set beside, in the unit of the row."""

    limit: float
    floor: float | None = None


@attrs.frozen
class Row:
    """One line of the table.

    Attributes:
        name: the scenario.
        unit: of all figures.
        ours: the best sample of this project.
        floor: the best sample of the least work that could do the same, if there is such a thing.
        budget: what the design allows.
        spread: how far the median of our samples lies above the best one, relative to it.
    """

    name: str
    unit: str
    ours: float
    floor: float | None = None
    budget: Budget | None = None
    spread: float = 0.0

    @property
    def ratio(self) -> float | None:
        """Ours over the floor."""
        return self.ours / self.floor if self.floor else None

    @property
    def limit(self) -> float | None:
        """The budget on this machine: scaled as its floor is, where it was set beside one."""
        if self.budget is None or not (self.budget.floor and self.floor):
            return None if self.budget is None else self.budget.limit
        return self.budget.limit * self.floor / self.budget.floor

    @property
    def is_over(self) -> bool:
        """Whether ours is above the budget, by the figure and by the ratio."""
        if self.budget is None or self.limit is None:
            return False
        return self.ours > max(self.limit, self.budget.limit)

    @property
    def remark(self) -> str:
        """What a reader should know about the line, if anything."""
        remarks = ["over budget"] if self.is_over else []
        if self.spread > NOISY:
            remarks.append(f"noisy (+{self.spread:.0%}), run it again")
        return ", ".join(remarks)


def calibrate() -> float:
    """Return the CPU milliseconds of a fixed piece of plain Python."""
    started = time.process_time_ns()
    words: dict[int, str] = {}
    for number in range(30_000):
        words[number % 1009] = f"{number:o}"
    total = 0
    for word in words.values():
        total += len(word)
    assert total > 0  # the loop must not be dropped
    return (time.process_time_ns() - started) / 1e6


class Meter:
    """Takes samples; `scale` below 1 makes every run shorter and less exact."""

    def __init__(self, *, scale: float = 1.0) -> None:
        self._scale = scale

    def count(self, full: int) -> int:
        """Return how many operations a sample should perform instead of `full`."""
        return max(1, round(full * self._scale))

    async def sample(self, step: Step, count: int = 1) -> float:
        """Return the scaled CPU microseconds that one of `count` operations of `step` takes."""
        gc.collect()
        before = calibrate()
        started = time.process_time_ns()
        result = step(count)
        if isinstance(result, Awaitable):
            await result
        used_us = (time.process_time_ns() - started) / 1e3 / count
        return used_us * 2 * CALIBRATION_MS / (before + calibrate())

    async def compare(
        self,
        name: str,
        ours: Step,
        floor: Step | None = None,
        *,
        count: int,
        repeat: int = 7,
        budget: Budget | None = None,
    ) -> Row:
        """Measure `ours` and `floor` in turns; all figures are microseconds per operation."""
        count = self.count(count)
        ours_us: list[float] = []
        floor_us: list[float] = []
        for step in (ours, floor):
            if step is not None:
                await self.sample(step, max(1, count // 10))
        for _ in range(repeat):
            ours_us.append(await self.sample(ours, count))
            if floor is not None:
                floor_us.append(await self.sample(floor, count))
        return row(name, "us", ours_us, floor_us, budget=budget)


def row(
    name: str,
    unit: str,
    ours: Sequence[float],
    floor: Sequence[float] = (),
    *,
    budget: Budget | None = None,
) -> Row:
    """Make a line of the table from samples, the best of each."""
    best = min(ours)
    return Row(
        name=name,
        unit=unit,
        ours=best,
        floor=min(floor) if floor else None,
        budget=budget,
        spread=(statistics.median(ours) - best) / best if best else 0.0,
    )
