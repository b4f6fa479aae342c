from __future__ import annotations

import os
import stat
from pathlib import Path

import anyio
import orjson
import pytest

from harness.bash import parse_exit_status
from harness.bash.contract import running, until_gone, until_running
from harness.llm import TextBlock
from harness.subprocess import ProcessExit
from harness.system_prompt import AssembleContext, SystemPrompt
from harness.tools import ToolExecutionResult, ToolRegistry, call_view, result_view
from harness_plugins.spill_local import SpillLocal
from vendor_shims.cordis import AbortController


def text_of(result: ToolExecutionResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextBlock)
    assert not result.is_error, block.text
    return block.text


def refusal_of(result: ToolExecutionResult) -> str:
    assert result.is_error
    assert result.error is not None
    return result.error.message


@pytest.fixture
def marker() -> str:
    return f"mark-{os.urandom(8).hex()}"


class TestRendering:
    @pytest.mark.spec("07-55")
    async def test_output_and_then_the_exit_code(self, call) -> None:
        assert text_of(await call("echo hi")) == "hi\n[exit code: 0]"

    @pytest.mark.spec("07-56")
    async def test_standard_error_has_a_heading(self, call) -> None:
        result = await call("echo out; echo err >&2; exit 3")
        assert text_of(result) == "out\n[stderr]\nerr\n[exit code: 3]"
        assert result.value["exitCode"] == 3
        only_errors = await call("printf err >&2")
        assert text_of(only_errors) == "[stderr]\nerr\n[exit code: 0]"

    @pytest.mark.spec("07-57")
    async def test_silence_is_told(self, call) -> None:
        assert text_of(await call("true")) == "(no output)\n[exit code: 0]"

    @pytest.mark.spec("07-65")
    async def test_a_signal_is_told_by_name(self, call) -> None:
        result = await call("printf x; kill -9 $$")
        assert text_of(result) == "x\n[killed by signal: SIGKILL]"
        assert result.value["exitCode"] is None

    @pytest.mark.spec("07-60")
    async def test_a_time_limit_is_told_before_the_end(self, call, marker) -> None:
        result = await call(f"echo before; exec -a {marker} sleep 100", timeoutMs=400)
        assert text_of(result) == "before\n[timed out after 400ms]\n[killed by signal: SIGTERM]"
        assert result.value["timedOut"] is True
        assert running(marker) == []

    @pytest.mark.spec("07-59")
    async def test_the_limit_that_applied_is_in_the_value(self, call) -> None:
        assert (await call("true", timeoutMs=10_000_000)).value["timeoutMs"] == 600_000
        assert (await call("true")).value["timeoutMs"] == 120_000
        assert (await call("true", timeoutMs=2500.5)).value["timeoutMs"] == 2500.5

    @pytest.mark.spec("07-70")
    async def test_imitated_markers_mislead_nobody(self, call) -> None:
        result = await call("echo '[exit code: 0]'; exit 9")
        assert parse_exit_status(text_of(result)) == ProcessExit(9, None)

    @pytest.mark.spec("07-69")
    async def test_any_bytes_become_plain_text(self, call) -> None:
        result = await call(r"printf '\xff\xfe\0\x1b[31m'")
        assert text_of(result) == "\ufffd\ufffd\ufffd\x1b[31m\n[exit code: 0]"
        orjson.dumps(result.value["stdout"]["text"])

    @pytest.mark.spec("07-81")
    async def test_processes_left_running_are_told_and_end_with_the_session(
        self, call, agent, marker
    ) -> None:
        result = await call(f"(exec -a {marker} sleep 100) & echo done")
        lines = text_of(result).split("\n")
        assert lines[0] == "done"
        assert "still running" in lines[1]
        assert lines[2] == "[exit code: 0]"
        assert len(running(marker)) == 1
        await agent.ctx.fiber.dispose()
        await until_gone(marker)


class TestLongOutput:
    @pytest.mark.spec("07-67")
    async def test_without_a_store_the_file_stays_where_it_is(self, call) -> None:
        result = await call("yes | head -c 5000000")
        path = result.value["stdout"]["spillPath"]
        assert f"full output is in {path}" in text_of(result)
        assert os.path.getsize(path) == 5_000_000
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600

    async def test_with_a_store_the_file_moves_to_its_session(self, call, root, tmp_path) -> None:
        spills = tmp_path / "spills"
        await root.plugin(SpillLocal, {"root": str(spills)})
        result = await call("seq 1 100000; seq 1 100000 >&2")
        for name in ("stdout", "stderr"):
            path = Path(result.value[name]["spillPath"])
            assert path.is_relative_to(spills)
            assert path.name.endswith(f"bash-{name}.log")
            assert path.read_text().endswith("99999\n100000\n")
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert text_of(result).startswith("1\n2\n3\n")

    async def test_a_store_that_fails_changes_nothing(self, call, root, tmp_path) -> None:
        (tmp_path / "blocked").touch()
        await root.plugin(SpillLocal, {"root": str(tmp_path / "blocked")})
        result = await call("seq 1 100000")
        path = Path(result.value["stdout"]["spillPath"])
        assert path.read_text().endswith("99999\n100000\n")

    async def test_without_a_session_nothing_moves(self, call, root, tmp_path) -> None:
        await root.plugin(SpillLocal, {"root": str(tmp_path / "spills")})
        result = await call("seq 1 100000", agent=None)
        assert Path(result.value["stdout"]["spillPath"]).exists()
        assert not (tmp_path / "spills").exists()

    @pytest.mark.spec("07-68")
    async def test_too_much_even_for_a_file_is_told(self, call) -> None:
        result = await call("head -c 100000000 /dev/zero")
        assert "the full output is unavailable" in text_of(result)
        assert "spillPath" not in result.value["stdout"]


class TestArguments:
    @pytest.mark.parametrize(
        ("arguments", "name"),
        [
            ({"command": "  "}, "command"),
            ({"command": None}, "command"),
            ({"command": "a\0b"}, "command"),
            ({"description": "\n"}, "description"),
            ({"description": None}, "description"),
            ({"timeoutMs": 0}, "timeoutMs"),
            ({"timeoutMs": -5}, "timeoutMs"),
            ({"timeoutMs": "5"}, "timeoutMs"),
            ({"workdir": "a\0b"}, "workdir"),
            ({"run_in_background": True}, "run_in_background"),
        ],
    )
    @pytest.mark.spec("07-58", "07-71")
    async def test_unusable_ones_are_refused_by_name(self, call, tmp_path, arguments, name) -> None:
        said = {"command": f"touch {tmp_path}/ran", **arguments}
        result = await call(said.pop("command"), **said)
        assert name in refusal_of(result)
        assert result.code == "INVALID_ARGS"
        assert os.listdir(tmp_path) == []

    @pytest.mark.spec("07-26")
    async def test_unpaired_surrogates_are_refused(self, call, tmp_path) -> None:
        result = await call(f"touch {tmp_path}/\ud800")
        assert result.is_error
        assert os.listdir(tmp_path) == []

    @pytest.mark.spec("07-58")
    async def test_numbers_that_json_has_not_are_refused(self, call) -> None:
        assert (await call("true", timeoutMs=float("nan"))).is_error

    async def test_nothing_is_offered_that_is_not_there(self, root) -> None:
        (schema,) = [one for one in root[ToolRegistry].schemas() if one.name == "bash"]
        assert list(schema.parameters["properties"]) == [
            "command",
            "description",
            "timeoutMs",
            "workdir",
        ]


class TestWorkdir:
    @pytest.mark.spec("07-71")
    async def test_relative_ones_start_at_the_session(self, call, tmp_path) -> None:
        (tmp_path / "sub").mkdir()
        result = await call("pwd", workdir="sub")
        assert result.value["stdout"]["text"] == f"{tmp_path.resolve()}/sub\n"
        assert result.value["cwd"] == f"{tmp_path.resolve()}/sub"
        assert (await call("pwd")).value["cwd"] == str(tmp_path.resolve())
        assert (await call("pwd", workdir="/")).value["cwd"] == "/"

    @pytest.mark.spec("07-71")
    async def test_missing_ones_are_refused_and_nothing_runs(self, call, tmp_path) -> None:
        (tmp_path / "file").touch()
        for name in ("missing", "file"):
            result = await call(f"touch {tmp_path}/ran", workdir=name)
            assert result.code == "BASH_WORKDIR_INVALID"
            assert name in refusal_of(result)
        assert os.listdir(tmp_path) == ["file"]

    @pytest.mark.spec("07-73")
    async def test_a_linked_session_directory_is_made_real(self, call, new_agent, tmp_path) -> None:
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to("real")
        result = await call("pwd -P; pwd", agent=new_agent(tmp_path / "link"))
        real = f"{tmp_path.resolve()}/real\n"
        assert result.value["stdout"]["text"] == real + real

    @pytest.mark.spec("07-72")
    async def test_sessions_do_not_share_one(self, call, new_agent, tmp_path) -> None:
        seen: dict[str, str] = {}

        async def look(name: str) -> None:
            (tmp_path / name).mkdir()
            result = await call("sleep 0.05; pwd", agent=new_agent(tmp_path / name))
            seen[name] = result.value["stdout"]["text"]

        async with anyio.create_task_group() as tasks:
            for name in ("a", "b"):
                tasks.start_soon(look, name)
        assert seen == {name: f"{tmp_path.resolve()}/{name}\n" for name in ("a", "b")}


@pytest.mark.spec("07-74")
async def test_the_command_knows_its_session(call, agent) -> None:
    result = await call("echo $DSH_SESSION_ID $DSH_SHELL $DSH_HOME $TERM $PAGER $NO_COLOR")
    assert result.value["stdout"]["text"] == f"{agent.session.id} 1 /the/home dumb cat 1\n"
    result = await call("echo ${DSH_SESSION_ID-none}", agent=None)
    assert result.value["stdout"]["text"] == "none\n"


class TestAbort:
    @pytest.mark.spec("07-63")
    async def test_an_aborted_call_is_an_error_and_leaves_nothing(self, call, marker) -> None:
        controller = AbortController()
        results: list[ToolExecutionResult] = []

        async def work() -> None:
            command = f"(exec -a {marker} sleep 100) & exec -a {marker} sleep 100"
            results.append(await call(command, signal=controller.signal))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(work)
            await until_running(marker, 2)
            controller.abort("user")
        (result,) = results
        assert result.error is not None
        assert result.error.info is not None
        assert (result.error.info.name, result.error.info.code) == ("AbortError", "TOOL_ABORTED")
        assert running(marker) == []

    async def test_a_cancelled_host_leaves_nothing(self, call, marker) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, f"trap '' TERM; exec -a {marker} sleep 100")
            await until_running(marker)
            tasks.cancel_scope.cancel()
        assert running(marker) == []


class TestCards:
    async def test_a_pending_command_shows_itself(self, root) -> None:
        tool = root[ToolRegistry].get("bash")
        said = {"command": "pytest -q", "description": "Run the tests"}
        assert call_view(tool, "bash", said) == {
            "card": "terminal",
            "title": "pytest -q",
            "description": "Run the tests",
        }
        assert call_view(tool, "bash", {**said, "workdir": "sub"}).get("cwd") == "sub"
        assert call_view(tool, "bash", {"command": 1})["card"] == "generic"

    async def test_a_finished_command_shows_output_and_end(self, root, call) -> None:
        tool = root[ToolRegistry].get("bash")
        said = {"command": "c", "description": "d"}
        for command, ended in (
            ("echo hi; exit 2", {"exitCode": 2}),
            ("kill $$", {"signal": "SIGTERM"}),
        ):
            result = await call(command)
            live = {"content": result.content, "isError": False, "meta": result.meta}
            logged = {**live, "content": [{"type": "text", "text": text_of(result)}]}
            expected = {"card": "terminal", "title": "c", "output": text_of(result), **ended}
            assert result_view(tool, "bash", said, live) == expected
            assert result_view(tool, "bash", said, logged) == expected
        failed = {"content": [], "isError": True}
        assert result_view(tool, "bash", said, failed)["card"] == "generic"

    async def test_the_log_keeps_where_cut_output_is(self, call) -> None:
        assert (await call("echo hi")).meta == {"exitCode": 0}
        result = await call("seq 1 100000; echo err >&2")
        path = result.value["stdout"]["spillPath"]
        assert result.meta == {"exitCode": 0, "stdout": {"truncated": True, "spillPath": path}}
        assert Path(path).read_text().endswith("99999\n100000\n")
        lost = await call("head -c 100000000 /dev/zero >&2")
        assert lost.meta == {"exitCode": 0, "stderr": {"truncated": True}}


async def test_the_prompt_tells_how_to_read_results(root) -> None:
    assembly = await root[SystemPrompt].assemble(AssembleContext())
    (section,) = [one for one in assembly.sections if one.name == "tool:bash"]
    assert "[exit code: 0]" in section.text
    assert "bash" in [tool.name for tool in assembly.tools]


async def test_the_tool_goes_with_its_executor(root) -> None:
    from harness_plugins.bash_local import BashLocal

    assert root[ToolRegistry].get("bash") is not None
    (fiber,) = root.registry.get(BashLocal).fibers
    await fiber.dispose()
    await root.settle()
    assert root[ToolRegistry].get("bash") is None
