"""Bring a tree of rows up, all of it or nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from inspect import isawaitable
from typing import Any

from vendor_shims.cordis import Context, CordisError
from vendor_shims.loader import Loader, LoaderConfig, RowReport, audit

INCLUDE = "include"
"""The id of the row that holds all others."""


class BootError(CordisError):
    """Raised when rows do not run; everything was unloaded.

    Attributes:
        reports: the rows at fault.
    """

    code = "BOOT"

    def __init__(self, reports: Sequence[RowReport]) -> None:
        super().__init__("\n".join(["rows do not run:", *map(_line, reports)]))
        self.reports = tuple(reports)


async def boot(
    config: Mapping[str, Any],
    *,
    prepare: Callable[[Context], Awaitable[object] | object] | None = None,
    settings: LoaderConfig | None = None,
    base_dir: str | None = None,
) -> Context | None:
    """Mount a loader and an include on a new root, and wait until every row runs.

    Args:
        config: of the include: `path`, `patches` and what else it takes.
        prepare: mounts what the host adds; the loader is there, the rows are not.
        settings: of the loader.
        base_dir: where relative paths start.

    Returns:
        The root, which the caller closes; `None` when a row closed it already.

    Raises:
        BootError: a row failed or waits for a service; the deepest cause is chained.
    """
    root = Context()
    try:
        ctx = root if base_dir is None else root.extend(base_dir=base_dir)
        ctx.plugin(Loader, settings)
        await root.settle()
        loader: Loader = root.require("loader")
        if prepare is not None:
            result = prepare(root)
            if isawaitable(result):
                await result
            await root.settle()
        await loader.load_rows([{"id": INCLUDE, "name": "cordis:include", "config": dict(config)}])
        await root.settle()
        if not root.fiber.accepts:
            return None
        broken = [one for one in audit(loader) if one.condition in ("failed", "waiting")]
        if broken:
            raise BootError(broken) from _deepest(broken)
    except BaseException:
        await root.close()
        raise
    return root


def _deepest(reports: Sequence[RowReport]) -> BaseException | None:
    """Return the cause behind the first failure."""
    error = next((one.error for one in reports if one.error is not None), None)
    while error is not None and error.__cause__ is not None:
        error = error.__cause__
    return error


def _line(report: RowReport) -> str:
    entry = report.entry
    if report.condition == "waiting":
        names = ", ".join(name for name, _ in report.missing)
        return f"  {entry.path} ({entry.name}): pending (waiting for service(s): {names})"
    if entry.fiber is None:
        return f"  {entry.path} ({entry.name}): could not be resolved: {report.reason}"
    return f"  {entry.path} ({entry.name}): {report.reason}"
