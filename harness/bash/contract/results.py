"""Check what ordinary runs report and what they see around them."""

# The name of a test is its description, assertions are its point, and what it waits for happens
# in another process.
# ruff: noqa: D102, PT018, ASYNC240

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from harness.bash.contract.processes import (
    run,
)
from harness.bash.service import BashExecutor


class ResultContract:
    """Hold the tests of ordinary runs: output, status, surroundings."""

    @pytest.mark.spec("07-55")
    async def test_output_and_exit_code_are_reported(self, bash: BashExecutor) -> None:
        result = await run(bash, "echo hi")
        assert result.stdout.text == "hi\n"
        assert (result.exit_code, result.signal) == (0, None)
        assert not (result.timed_out or result.aborted or result.still_running)
        assert not (result.stdout.truncated or result.stderr.truncated)

    @pytest.mark.spec("07-56")
    async def test_streams_are_kept_apart(self, bash: BashExecutor) -> None:
        result = await run(bash, "echo out; echo err >&2; exit 3")
        assert (result.stdout.text, result.stderr.text) == ("out\n", "err\n")
        assert result.exit_code == 3

    @pytest.mark.spec("07-65")
    async def test_death_by_signal_is_reported_by_name(self, bash: BashExecutor) -> None:
        result = await run(bash, "kill -9 $$")
        assert (result.exit_code, result.signal) == (None, "SIGKILL")

    @pytest.mark.spec("07-66")
    async def test_input_is_at_its_end_unless_given(self, bash: BashExecutor) -> None:
        assert (await run(bash, "cat; echo end")).stdout.text == "end\n"
        assert (await run(bash, "cat", stdin="ä\n")).stdout.text == "ä\n"
        assert (await run(bash, "wc -c", stdin=b"\x00" * 3_000_000)).stdout.text.strip() == (
            "3000000"
        )
        assert (await run(bash, "exit 0", stdin=b"x" * 3_000_000)).exit_code == 0

    async def test_there_is_no_terminal_and_the_group_is_its_own(self, bash: BashExecutor) -> None:
        result = await run(bash, 'cut -d" " -f5,6 /proc/$$/stat; echo $$; : < /dev/tty')
        group_and_session, shell = result.stdout.text.split("\n")[:2]
        assert group_and_session.split() == [shell, shell]
        assert "/dev/tty" in result.stderr.text

    async def test_no_startup_file_is_read(self, bash: BashExecutor, tmp_path: Path) -> None:
        evil = tmp_path / "evil.sh"
        evil.write_text("echo evil")
        (tmp_path / ".bashrc").write_text("echo evil")
        env = {"HOME": str(tmp_path), "SSH_CLIENT": "127.0.0.1 1 22", "SHLVL": "0"}
        assert (await run(bash, "echo good", env=env)).stdout.text == "good\n"

    @pytest.mark.spec("07-74")
    async def test_programs_are_told_that_nobody_watches(self, bash: BashExecutor) -> None:
        result = await run(bash, "echo $TERM $PAGER $GIT_PAGER $NO_COLOR $GIT_TERMINAL_PROMPT")
        assert result.stdout.text == "dumb cat cat 1 0\n"

    @pytest.mark.spec("07-24", "07-75")
    async def test_secrets_and_startup_hooks_are_withheld(
        self, bash: BashExecutor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("DEEPSEEK_API_KEY", "very-secret-value")
        monkeypatch.setenv("BASH_ENV", "/nonexistent-evil.sh")
        monkeypatch.setenv("DSH_SESSION_ID", "the-parent's")
        result = await run(bash, "env")
        assert "very-secret-value" not in result.stdout.text
        assert "BASH_ENV" not in result.stdout.text
        assert "the-parent's" not in result.stdout.text
        assert "evil" not in result.stderr.text

    async def test_request_environment_comes_last_and_none_deletes(
        self, bash: BashExecutor
    ) -> None:
        result = await run(
            bash,
            "echo ${PAGER-unset} $A $B",
            env={"PAGER": None, "A": "env", "B": "env"},
            dsh_env={"B": "dsh"},
        )
        assert result.stdout.text == "unset env dsh\n"

    @pytest.mark.spec("07-72")
    async def test_commands_run_side_by_side_each_in_its_directory(
        self, bash: BashExecutor, tmp_path: Path
    ) -> None:
        seen: dict[str, str] = {}

        async def look(name: str) -> None:
            result = await run(bash, "sleep 0.05; pwd", workdir=str(tmp_path / name))
            seen[name] = result.stdout.text

        for name in ("a", "b"):
            (tmp_path / name).mkdir()
        async with anyio.create_task_group() as tasks:
            for name in ("a", "b"):
                tasks.start_soon(look, name)
        assert seen == {name: f"{tmp_path.resolve() / name}\n" for name in ("a", "b")}

    @pytest.mark.spec("07-73")
    async def test_a_linked_directory_becomes_its_real_path(
        self, bash: BashExecutor, tmp_path: Path
    ) -> None:
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to("real")
        result = await run(bash, "pwd; pwd -P", workdir=str(tmp_path / "link"))
        real = str((tmp_path / "real").resolve())
        assert result.stdout.text == f"{real}\n{real}\n"
        assert result.workdir == real

    async def test_a_command_may_delete_its_own_directory(
        self, bash: BashExecutor, tmp_path: Path
    ) -> None:
        workdir = tmp_path / "w"
        workdir.mkdir()
        result = await run(bash, 'rmdir "$PWD" && echo done', workdir=str(workdir))
        assert result.stdout.text == "done\n"

    async def test_very_long_commands_run(self, bash: BashExecutor) -> None:
        text = "x" * 500_000
        result = await run(bash, f"v={text}; echo ${{#v}}; exit 4")
        assert (result.stdout.text, result.exit_code) == ("500000\n", 4)
