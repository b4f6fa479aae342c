"""Check what is refused, and what happens to output that is no text or too long."""

# The name of a test is its description, assertions are its point, and what it waits for happens
# in another process.
# ruff: noqa: D102, ASYNC240

from __future__ import annotations

import math
import os
import stat
from pathlib import Path

import pytest

from harness.bash.contract.processes import (
    run,
)
from harness.bash.errors import BashRequestError, WorkdirError
from harness.bash.service import BashExecutor
from harness.bash.types import BashRequest


class LimitContract:
    """Hold the tests of unusable requests and of output that is no text or too long."""

    @pytest.mark.spec("07-71")
    async def test_an_unusable_directory_is_refused_before_anything_runs(
        self, bash: BashExecutor, tmp_path: Path
    ) -> None:
        (tmp_path / "file").touch()
        for name in ("missing", "file"):
            with pytest.raises(WorkdirError, match=name):
                await bash.resolve(BashRequest(command="true", workdir=str(tmp_path / name)))
        with pytest.raises(BashRequestError, match="workdir"):
            await bash.resolve(BashRequest(command="true", workdir="a\0b"))

    async def test_a_directory_deleted_meanwhile_is_refused(
        self, bash: BashExecutor, tmp_path: Path
    ) -> None:
        gone = tmp_path / "gone"
        gone.mkdir()
        spec = await bash.resolve(BashRequest(command="true", workdir=str(gone)))
        gone.rmdir()
        with pytest.raises(WorkdirError, match="gone"):
            await bash.run(spec)

    @pytest.mark.parametrize("command", ["", " \n\t", "echo a\0b", "echo \ud800"])
    async def test_commands_that_bash_cannot_take_are_refused(
        self, bash: BashExecutor, command: str
    ) -> None:
        with pytest.raises(BashRequestError, match="command"):
            await bash.resolve(BashRequest(command=command))

    @pytest.mark.parametrize("timeout_s", [0, -5, math.nan, math.inf, True])
    async def test_bad_time_limits_are_refused(self, bash: BashExecutor, timeout_s: float) -> None:
        with pytest.raises(BashRequestError, match="timeout"):
            await bash.resolve(BashRequest(command="true", timeout_s=timeout_s))

    @pytest.mark.parametrize("limit", [-1, 1.5, True])
    async def test_bad_capture_limits_are_refused(self, bash: BashExecutor, limit: int) -> None:
        with pytest.raises(BashRequestError, match="stdout_max_bytes"):
            await bash.resolve(BashRequest(command="true", stdout_max_bytes=limit))

    @pytest.mark.spec("07-69")
    async def test_bytes_that_are_no_text_become_replacement_characters(
        self, bash: BashExecutor
    ) -> None:
        result = await run(bash, r"printf '\xff\xfea\0b'")
        assert result.stdout.text == "\ufffd\ufffda\0b"

    @pytest.mark.spec("07-67")
    async def test_both_ends_of_long_output_stay_and_the_file_has_all(
        self, bash: BashExecutor
    ) -> None:
        result = await run(bash, "seq 1 200000", stdout_max_bytes=1_000)
        whole = "".join(f"{number}\n" for number in range(1, 200_001))
        out = result.stdout
        assert out.truncated
        assert out.text.startswith("1\n2\n3\n")
        assert out.text.endswith("199999\n200000\n")
        assert len(out.text) < 1_100
        assert out.spill_path is not None
        assert Path(out.spill_path).read_text() == whole
        assert stat.S_IMODE(os.stat(out.spill_path).st_mode) == 0o600
        assert stat.S_IMODE(os.stat(os.path.dirname(out.spill_path)).st_mode) == 0o700

    async def test_output_exactly_at_the_limit_is_whole(self, bash: BashExecutor) -> None:
        result = await run(bash, "head -c 1000 /dev/zero", stdout_max_bytes=1_000)
        assert not result.stdout.truncated
        assert result.stdout.text == "\0" * 1_000
        assert result.stdout.spill_path is None

    @pytest.mark.spec("07-68")
    async def test_too_much_output_for_a_file_leaves_no_file(self, bash: BashExecutor) -> None:
        result = await run(bash, "head -c 200000000 /dev/zero")
        assert result.stdout.truncated
        assert result.stdout.spill_path is None
        assert result.exit_code == 0
