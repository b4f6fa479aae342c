"""Check that commands end as a whole, whoever ends them, and leave nothing behind."""

# The name of a test is its description, assertions are its point, and what it waits for happens
# in another process.
# ruff: noqa: D102, ASYNC110

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest

from harness.bash.contract.processes import (
    LIMIT_S,
    run,
    running,
    until_gone,
    until_running,
    zombie_children,
)
from harness.bash.service import BashExecutor
from harness.bash.types import BashRequest, BashRunResult
from vendor_shims.cordis import AbortController, AbortError, AbortSignal, Context


class EndingContract:
    """Hold the tests of time limits, aborts, cancellation and what is left running."""

    @pytest.mark.spec("07-60")
    async def test_a_time_limit_ends_everything_the_command_started(
        self, bash: BashExecutor, marker: str
    ) -> None:
        command = f"echo before; (exec -a {marker} sleep 100) & exec -a {marker} sleep 100"
        result = await run(bash, command, timeout_s=0.5)
        assert result.timed_out
        assert not result.aborted
        assert result.signal == "SIGTERM"
        assert result.stdout.text == "before\n"
        assert running(marker) == []

    @pytest.mark.spec("07-40")
    async def test_a_command_that_ignores_term_is_killed(
        self, bash: BashExecutor, marker: str
    ) -> None:
        command = f"trap '' TERM; while :; do (exec -a {marker} sleep 0.1); done"
        result = await run(bash, command, timeout_s=0.3)
        assert (result.timed_out, result.signal) == (True, "SIGKILL")
        assert running(marker) == []

    @pytest.mark.spec("07-63")
    async def test_an_abort_ends_everything_the_command_started(
        self, bash: BashExecutor, marker: str
    ) -> None:
        controller: AbortController[AbortSignal] = AbortController()
        results: list[BashRunResult] = []

        async def work() -> None:
            command = f"(exec -a {marker} sleep 100) & exec -a {marker} sleep 100"
            results.append(await run(bash, command, signal=controller.signal))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(work)
            await until_running(marker, 2)
            controller.abort("enough")
        assert (results[0].aborted, results[0].timed_out) == (True, False)
        assert running(marker) == []

    async def test_an_abort_before_the_start_runs_nothing(
        self, bash: BashExecutor, tmp_path: Path
    ) -> None:
        controller: AbortController[AbortSignal] = AbortController()
        request = BashRequest(command=f"touch {tmp_path}/ran", signal=controller.signal)
        spec = await bash.resolve(request)
        controller.abort("too early")
        with pytest.raises(AbortError):
            await bash.run(spec)
        assert not (tmp_path / "ran").exists()

    @pytest.mark.spec("07-64")
    async def test_only_the_first_cause_counts(self, bash: BashExecutor, marker: str) -> None:
        controller: AbortController[AbortSignal] = AbortController()
        results: list[BashRunResult] = []

        async def work() -> None:
            command = f"trap 'echo term' TERM; exec -a {marker} sleep 100"
            results.append(await run(bash, command, timeout_s=0.5, signal=controller.signal))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(work)
            await until_running(marker)
            await anyio.sleep(0.45)
            controller.abort("at about the same time")
        assert [results[0].timed_out, results[0].aborted].count(True) == 1

    @pytest.mark.spec("07-11")
    async def test_cancelling_the_waiting_task_ends_the_command_first(
        self, bash: BashExecutor, marker: str
    ) -> None:
        ended: list[bool] = []

        async def work() -> None:
            try:
                await run(bash, f"trap '' TERM; exec -a {marker} sleep 100")
            finally:
                ended.append(running(marker) == [])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(work)
            await until_running(marker)
            tasks.cancel_scope.cancel()
        assert ended == [True]

    @pytest.mark.spec("07-38", "07-81")
    async def test_a_process_left_behind_does_not_hold_the_call(
        self, bash: BashExecutor, marker: str
    ) -> None:
        async with Context() as owner:
            command = f"(exec -a {marker} sleep 1000) & echo done"
            result = await run(bash, command, owner=owner)
            assert (result.stdout.text, result.exit_code) == ("done\n", 0)
            assert result.still_running
            assert len(running(marker)) == 1
        await until_gone(marker)

    async def test_a_server_left_behind_may_go_on_writing(
        self, bash: BashExecutor, tmp_path: Path, marker: str
    ) -> None:
        beat = tmp_path / "beat"
        loop = f"while echo line && echo line >&2; do echo {marker} >> {beat}; sleep 0.02; done"
        async with Context() as owner:
            result = await run(bash, f"MARK={marker} bash -c '{loop}' & echo up", owner=owner)
            assert result.still_running
            before = beat.read_text().count(marker) if beat.exists() else 0
            with anyio.fail_after(LIMIT_S):
                while not beat.exists() or beat.read_text().count(marker) < before + 20:
                    await anyio.sleep(0.02)
        await until_gone(marker)

    async def test_a_process_in_a_session_of_its_own_ends_with_the_command(
        self, bash: BashExecutor, marker: str
    ) -> None:
        command = f"MARK={marker} setsid -f sleep 1000; exec -a {marker} sleep 1000"
        result = await run(bash, command, timeout_s=0.5)
        assert result.timed_out
        assert running(marker) == []

    async def test_no_zombie_and_no_descriptor_is_left(
        self, bash: BashExecutor, marker: str
    ) -> None:
        await run(bash, "true")
        n_before = len(os.listdir("/proc/self/fd"))
        for _ in range(5):
            await run(bash, f"seq 1 100000; (exec -a {marker} sleep 9) & sleep 9", timeout_s=0.2)
        assert len(os.listdir("/proc/self/fd")) <= n_before
        assert zombie_children() == []
