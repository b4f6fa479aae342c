"""Whatever is edited in whatever order, everything keeps running and ends up as the files say."""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from vendor_shims.cordis import Context, FiberState
from vendor_shims.hmr import Hmr
from vendor_shims.loader import Loader, LoaderConfig
from vendor_shims.testing import kernel
from vendor_shims.timer import TimerService

N = 3
HELPERS = st.lists(st.sets(st.integers(0, N - 1)), min_size=N, max_size=N)
EDIT = st.tuples(
    st.sampled_from(["h", "p"]),
    st.integers(0, N - 1),
    st.integers(0, 9),
    st.sampled_from(["good", "good", "no syntax", "no import", "no setup"]),
)
BATCHES = st.lists(st.lists(EDIT, min_size=1, max_size=4), max_size=6)


def helper(uses: set[int], number: int, value: int, how: str) -> str:
    """A module whose total is its value and those of the helpers before it that it uses."""
    before = sorted(one for one in uses if one < number)
    lines = [f"from . import h{one}" for one in before]
    total = " + ".join([str(value), *(f"h{one}.total()" for one in before)])
    return _broken("\n".join([*lines, f"def total():\n    return {total}\n"]), how)


def plugin(uses: set[int], number: int, value: int, how: str) -> str:
    lines = [f"from .h{one} import total as t{one}" for one in sorted(uses)]
    total = " + ".join([str(value), *(f"t{one}()" for one in sorted(uses))])
    setup = "    raise ValueError('no')\n" if how == "no setup" else ""
    body = f"def apply(ctx):\n{setup}    ctx.provide('s{number}', {total})\n"
    return _broken("\n".join([*lines, body]), how)


def _broken(text: str, how: str) -> str:
    return text + {"no syntax": "\n)(", "no import": "\nraise RuntimeError('no')\n"}.get(how, "")


@given(helpers=HELPERS, plugins=HELPERS, batches=BATCHES)
def test_what_runs_in_the_end_is_what_the_files_say(helpers, plugins, batches):
    folder = tempfile.mkdtemp(prefix="any-edits-")
    try:
        asyncio.run(edited(Path(folder), helpers, plugins, batches))
    finally:
        shutil.rmtree(folder)
        for name in [one for one in sys.modules if one.startswith("dsh_local.")]:
            del sys.modules[name]


async def edited(folder: Path, helpers: Any, plugins: Any, batches: Any) -> None:
    values: dict[tuple[str, int], int] = {(kind, n): 0 for kind in "hp" for n in range(N)}

    def write(kind: str, number: int, how: str = "good") -> str:
        make, uses = (helper, helpers) if kind == "h" else (plugin, plugins)
        path = folder / f"{kind}{number}.py"
        path.write_text(make(uses[number], number, values[kind, number], how))
        return str(path)

    def total(number: int) -> int:
        before = [total(one) for one in helpers[number] if one < number]
        return values["h", number] + sum(before)

    async with kernel() as k:
        root: Context = k.root.extend(base_dir=str(folder))
        root.plugin(Loader, LoaderConfig(env={}))
        root.plugin(TimerService)
        await k.settle()
        loader = root.get(Loader)
        assert loader is not None
        config = {"polling": True, "debounce": 10}
        await loader.create({"id": "hmr", "name": "cordis:hmr", "config": config})
        for kind, number in values:
            write(kind, number)
        for number in range(N):
            await loader.create({"id": f"p{number}", "name": f"./p{number}.py"})
        hmr = root.get(Hmr)
        assert hmr is not None
        for batch in [*batches, [(*key, 1, "good") for key in values]]:
            for kind, number, value, how in batch:
                values[kind, number] = value
                hmr.file_changed(write(kind, number, how))
            await k.advance(0.02)
            for number in range(N):
                fiber = loader.resolve(f"p{number}").fiber
                assert fiber is not None
                assert fiber.state is FiberState.ACTIVE
                assert fiber.runtime is not None
                module = sys.modules[loader.resolve(f"p{number}").module or ""]
                assert fiber.runtime.callback is module.apply
        for number in range(N):
            expected = values["p", number] + sum(total(one) for one in plugins[number])
            assert root.get(f"s{number}") == expected
