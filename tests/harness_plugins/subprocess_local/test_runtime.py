from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from harness.subprocess import Collect, ExecutableError, SpawnSpec, Spill
from harness_plugins.subprocess_local import SubprocessLocal
from vendor_shims.cordis import AbortController, AbortError, Context


def program(path: Path, mode: int = 0o755) -> Path:
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


@pytest.mark.spec("07-30")
class TestResolveExecutable:
    @pytest.mark.parametrize(
        ("command", "code"),
        [
            ("", "EXECUTABLE_EMPTY"),
            ("a\0b", "EXECUTABLE_EMPTY"),
            ("./x", "EXECUTABLE_RELATIVE"),
            ("x/y", "EXECUTABLE_RELATIVE"),
            ("/tmp", "EXECUTABLE_NOT_A_FILE"),
            ("/no/such/file", "EXECUTABLE_NOT_FOUND"),
            ("no-such-program", "EXECUTABLE_NOT_FOUND"),
        ],
    )
    async def test_each_rejection_has_its_code(self, runtime, command: str, code: str) -> None:
        with pytest.raises(ExecutableError) as caught:
            await runtime.resolve_executable(command)
        assert caught.value.code == code
        assert caught.value.command == command

    async def test_a_file_without_permission_is_refused(self, runtime, tmp_path) -> None:
        plain = program(tmp_path / "plain", 0o644)
        with pytest.raises(ExecutableError) as caught:
            await runtime.resolve_executable(str(plain))
        assert caught.value.code == "EXECUTABLE_NOT_PERMITTED"

    async def test_a_bare_name_is_found_on_the_path_of_the_child(self, runtime, tmp_path) -> None:
        tool = program(tmp_path / "my-tool")
        with pytest.raises(ExecutableError):
            await runtime.resolve_executable("my-tool")
        found = await runtime.resolve_executable("my-tool", {"PATH": str(tmp_path)})
        assert found == str(tool)
        assert await runtime.resolve_executable(str(tool)) == str(tool)

    async def test_relative_path_entries_are_not_trusted(
        self, runtime, tmp_path, monkeypatch
    ) -> None:
        program(tmp_path / "my-tool")
        monkeypatch.chdir(tmp_path)
        with pytest.raises(ExecutableError):
            await runtime.resolve_executable("my-tool", {"PATH": "."})

    async def test_an_abort_is_heard(self, runtime) -> None:
        controller = AbortController()
        assert await runtime.resolve_executable("sh", signal=controller.signal)
        controller.abort()
        with pytest.raises(AbortError):
            await runtime.resolve_executable("sh", signal=controller.signal)


@pytest.mark.spec("07-23")
async def test_inherited_secrets_are_withheld_unless_given_or_allowed(
    tmp_path, monkeypatch
) -> None:
    for name in ("MY_api_key", "DB_PASSWORD", "dsh_foo", "GH_TOKEN", "NPM_TOKEN", "MY_TOKEN"):
        monkeypatch.setenv(name, f"value-of-{name}")
    async with Context() as root:
        await root.plugin(SubprocessLocal, {"allowEnv": ["NPM_TOKEN"]})
        handle = root[SubprocessLocal].spawn(
            SpawnSpec(
                argv=("env",),
                cwd=str(tmp_path),
                stdin="ignore",
                stdout=Collect(max_bytes=100_000, spill=None),
                stderr="inherit",
                grace_s=1,
                signal=None,
                env={"GH_TOKEN": "x", "HOME": None},
            )
        )
        await handle.done
        assert handle.collected_stdout is not None
        seen = dict(
            line.split("=", 1)
            for line in handle.collected_stdout.retained().tail.split("\n")
            if "=" in line
        )
    assert not {"MY_api_key", "DB_PASSWORD", "dsh_foo", "MY_TOKEN", "HOME"} & set(seen)
    assert seen["GH_TOKEN"] == "x"
    assert seen["NPM_TOKEN"] == "value-of-NPM_TOKEN"
    assert seen["PATH"] == os.environ["PATH"]


async def test_spill_files_go_with_the_runtime_and_old_ones_are_swept(tmp_path) -> None:
    old = tmp_path / "dsh-process-old"
    old.mkdir(mode=0o700)
    (old / "a.log").write_text("old")
    ages_ago = time.time() - 40 * 86_400
    os.utime(old / "a.log", (ages_ago, ages_ago))
    recent = tmp_path / "dsh-process-recent"
    recent.mkdir(mode=0o700)
    (recent / "b.log").write_text("recent")
    async with Context() as root:
        await root.plugin(SubprocessLocal, {"spillDir": str(tmp_path)})
        handle = root[SubprocessLocal].spawn(
            SpawnSpec(
                argv=("seq", "1", "100000"),
                cwd=str(tmp_path),
                stdin="ignore",
                stdout=Collect(max_bytes=10, spill=Spill(max_bytes=10_000_000)),
                stderr="inherit",
                grace_s=1,
                signal=None,
            )
        )
        await handle.done
        assert handle.collected_stdout is not None
        path = handle.collected_stdout.retained().spill_path
        assert path is not None
        assert Path(path).parent.parent == tmp_path
        assert Path(path).read_text().endswith("100000\n")
    assert sorted(os.listdir(tmp_path)) == ["dsh-process-recent"]
    assert (recent / "b.log").read_text() == "recent"


async def test_nothing_is_swept_when_the_period_is_zero(tmp_path) -> None:
    old = tmp_path / "dsh-process-old"
    old.mkdir(mode=0o700)
    (old / "a.log").touch()
    os.utime(old / "a.log", (0, 0))
    async with Context() as root:
        await root.plugin(SubprocessLocal, {"spillDir": str(tmp_path), "cleanupPeriodDays": 0})
    assert os.listdir(old) == ["a.log"]


@pytest.mark.parametrize("grace_s", [0, -1, float("nan"), float("inf"), True])
def test_a_grace_that_makes_no_sense_is_refused(grace_s: float) -> None:
    with pytest.raises(ValueError, match="grace_s must be"):
        SpawnSpec(
            argv=("true",),
            cwd="/",
            stdin="ignore",
            stdout="inherit",
            stderr="inherit",
            grace_s=grace_s,
            signal=None,
        )


@pytest.mark.parametrize("max_bytes", [-1, 1.5, True])
def test_budgets_that_make_no_sense_are_refused(max_bytes: Any) -> None:
    with pytest.raises(ValueError, match="max_bytes must be"):
        Collect(max_bytes=max_bytes, spill=None)
    with pytest.raises(ValueError, match="head_bytes must be"):
        Collect(max_bytes=1, head_bytes=max_bytes, spill=None)
    with pytest.raises(ValueError, match="max_bytes must be"):
        Spill(max_bytes=max_bytes)


def test_one_text_is_no_argument_list() -> None:
    with pytest.raises(TypeError, match="ls -l"):
        SpawnSpec(
            argv="ls -l",
            cwd="/",
            stdin="ignore",
            stdout="inherit",
            stderr="inherit",
            grace_s=1,
            signal=None,
        )
