"""Check commands that run in the background."""

# The name of a test is its description, assertions are its point, and what it waits for happens
# in another process.
# ruff: noqa: D102

from __future__ import annotations

from pathlib import Path

import anyio

from harness.bash.contract.processes import (
    LIMIT_S,
    running,
    until_gone,
    until_running,
)
from harness.bash.service import BashExecutor
from harness.bash.types import BashRequest


class TaskContract:
    """Hold the tests of commands that run in the background."""

    async def test_a_background_task_is_read_piece_by_piece(
        self, bash: BashExecutor, tmp_path: Path
    ) -> None:
        go = tmp_path / "go"
        command = f"echo one; while ! test -e {go}; do sleep 0.01; done; echo two; echo err >&2"
        task = bash.start_task(await bash.resolve(BashRequest(command=command)))
        text = ""
        with anyio.fail_after(LIMIT_S):
            while not text:
                await anyio.sleep(0.01)
                text = task.read_output()
            assert text == "one"
            assert task.read_output() == ""
            go.touch()
            assert (await task.done).exit_code == 0
        assert task.read_output() == "two\n[stderr]\nerr"
        assert task.read_output() == ""
        assert not task.kill()

    async def test_a_background_task_that_cannot_start_says_why_once(
        self, bash: BashExecutor, tmp_path: Path
    ) -> None:
        gone = tmp_path / "gone"
        gone.mkdir()
        spec = await bash.resolve(BashRequest(command="true", workdir=str(gone)))
        gone.rmdir()
        task = bash.start_task(spec)
        ended = await task.done
        assert (ended.exit_code, ended.signal) == (None, None)
        assert "gone" in task.read_output()
        assert task.read_output() == ""

    async def test_a_background_task_has_no_time_limit_and_can_be_killed(
        self, bash: BashExecutor, marker: str
    ) -> None:
        request = BashRequest(command=f"exec -a {marker} sleep 1000", timeout_s=0.2)
        task = bash.start_task(await bash.resolve(request))
        await until_running(marker)
        await anyio.sleep(0.3)
        assert len(running(marker)) == 1
        assert task.kill()
        with anyio.fail_after(LIMIT_S):
            assert (await task.done).signal == "SIGTERM"
        await until_gone(marker)
