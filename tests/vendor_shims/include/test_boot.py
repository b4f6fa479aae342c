"""A tree of rows comes up as a whole, or not at all."""

from __future__ import annotations

import asyncio

import pytest

from vendor_shims.cordis import Context
from vendor_shims.include import BootError, boot


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "good.py").write_text("def apply(ctx, config): ctx.provide('good', config)\n")
    (tmp_path / "bad.py").write_text(
        "def apply(ctx):\n"
        "    try:\n        1 / 0\n"
        "    except ZeroDivisionError as error:\n        raise RuntimeError('no luck') from error\n"
    )
    (tmp_path / "waits.py").write_text("inject = ['db', 'good']\ndef apply(ctx): ...\n")
    return tmp_path


def rows(folder, *names: str) -> dict:
    path = folder / "rows.yml"
    path.write_text("".join(f"- {{id: {name}, name: ./{name}.py, config: 1}}\n" for name in names))
    return {"path": "rows.yml"}


@pytest.mark.spec("01-J13")
async def test_everything_runs_and_what_the_host_prepared_was_there_first(folder):
    prepared: list[bool] = []

    async def prepare(root: Context) -> None:
        prepared.append(root.get("good") is None and root.get("loader") is not None)
        root.provide("db", "the host's")

    root = await boot(rows(folder, "good", "waits"), prepare=prepare, base_dir=str(folder))
    assert root is not None
    assert prepared == [True]
    assert root.get("good") == 1
    await root.close()


@pytest.mark.spec("01-J13")
async def test_rows_at_fault_are_all_named_and_everything_is_unloaded(folder):
    roots: list[Context] = []
    config = rows(folder, "good", "bad", "waits", "nowhere")
    with pytest.raises(BootError) as caught:
        await boot(config, prepare=roots.append, base_dir=str(folder))
    text = str(caught.value)
    assert "include:bad (./bad.py): no luck" in text
    assert "pending (waiting for service(s): db)" in text
    assert "include:nowhere (./nowhere.py): could not be resolved" in text
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert [one.entry.id for one in caught.value.reports] == ["bad", "waits", "nowhere"]
    assert roots[0].fiber.children() == []


@pytest.mark.spec("01-J13")
async def test_a_file_that_cannot_be_taken_is_a_fault_of_the_include(folder):
    with pytest.raises(BootError, match=r"include .*config file not found"):
        await boot({"path": "nothing.yml"}, base_dir=str(folder))


@pytest.mark.spec("01-J13")
async def test_plugin_may_close_the_program_while_it_starts(folder):
    (folder / "ends.py").write_text("def apply(ctx): ctx.app_exit()\ninject = ['app_exit']\n")
    ended: list[asyncio.Task[None]] = []

    def prepare(root: Context) -> None:
        def end() -> None:
            ended.append(asyncio.get_running_loop().create_task(root.close()))

        root.provide("app_exit", end)

    assert await boot(rows(folder, "good", "ends"), prepare=prepare, base_dir=str(folder)) is None
    await ended[0]
