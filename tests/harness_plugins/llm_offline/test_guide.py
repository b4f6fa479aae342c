"""The guide over the real service, with tools that really run on a small folder."""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from harness.llm import (
    BlockAssembler,
    ChunkGrammar,
    GenerateOptions,
    LlmCallConfig,
    LlmError,
    LlmService,
    Message,
    TextBlock,
    TextDelta,
    ToolCallBlock,
    ToolSchema,
    create_assistant_message,
    create_tool_result_message,
    create_user_message,
    plugin_source,
)
from harness.wire import loads
from harness_plugins.llm_offline import MODEL, PROVIDER, OfflinePlugin, read_intent
from vendor_shims.cordis import AbortController, Context
from vendor_shims.timer import VirtualClock, come_to_rest


def schema(name: str, *parameters: str) -> ToolSchema:
    properties = {parameter: {"type": "string"} for parameter in parameters}
    return ToolSchema(name, "d", {"type": "object", "properties": properties})


BASH = schema("bash", "command", "description", "timeoutMs")
READ = schema("read", "file_path", "offset", "limit")
WRITE = schema("write", "file_path", "content")
GREP = schema("grep", "pattern", "path")
GLOB = schema("glob", "pattern", "path")
DEMONSTRATIONS = [
    schema("todo_write", "todos"), schema("exit_plan_mode", "plan"),
    schema("ask_user_question", "questions"),
]  # fmt: skip
ALL = [BASH, READ, WRITE, GREP, GLOB, *DEMONSTRATIONS]


class Folder:
    """Runs the calls of the guide on a real folder, as the harness's tools would."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def run(self, call: ToolCallBlock) -> tuple[str, bool]:
        arguments = loads(call.arguments)
        handlers: dict[str, Callable[..., tuple[str, bool]]] = {
            "bash": self.bash,
            "read": self.read,
            "write": self.write,
            "grep": lambda pattern: self.bash(f"grep -rnE '{pattern}' ."),
            "glob": lambda pattern: ("\n".join(p.name for p in self.path.glob(pattern)), False),
        }
        return handlers.get(call.name, lambda **_: ("noted", False))(**arguments)

    def bash(self, command: str, description: str = "") -> tuple[str, bool]:
        done = subprocess.run(
            ["/bin/sh", "-c", command], cwd=self.path, capture_output=True, text=True, check=False
        )
        output = done.stdout + (f"[stderr]\n{done.stderr}" if done.stderr else "")
        output = output or "(no output)\n"
        return f"{output}[exit code: {done.returncode}]", False

    def read(self, file_path: str) -> tuple[str, bool]:
        try:
            return (self.path / file_path).read_text(), False
        except OSError as error:
            return str(error), True

    def write(self, file_path: str, content: str) -> tuple[str, bool]:
        (self.path / file_path).write_text(content)
        return f"created {file_path}", False


class Session:
    """A conversation with the guide: sends, executes calls, and sends again."""

    def __init__(self, llm: LlmService, folder: Folder, tools: list[ToolSchema]) -> None:
        self.llm, self.folder, self.tools = llm, folder, tools
        self.messages: list[Message] = []

    async def stream(self, **facts: Any) -> BlockAssembler:
        options = GenerateOptions(
            LlmCallConfig(PROVIDER, MODEL), self.messages, tools=self.tools, **facts
        )
        assembler, grammar = BlockAssembler(), ChunkGrammar()
        async for chunk in self.llm.stream(options):
            grammar.push(chunk)
            assembler.push(chunk)
        grammar.close()
        return assembler

    async def ask(self, text: str) -> str:
        """Run one turn to its final answer."""
        self.messages.append(create_user_message(text))
        for _ in range(20):
            assembler = await self.stream()
            content = assembler.blocks()
            self.messages.append(create_assistant_message(content, provider=PROVIDER, model=MODEL))
            calls = [block for block in content if isinstance(block, ToolCallBlock)]
            assert (assembler.finish.kind == "tool-calls") == bool(calls)
            if not calls:
                return self.messages[-1].text
            for call in calls:
                output, is_error = self.folder.run(call)
                result = create_tool_result_message(call.id, output, is_error=is_error)
                self.messages.append(result)
        raise AssertionError("the guide does not end")

    @property
    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        blocks = [b for m in self.messages for b in m.content if isinstance(b, ToolCallBlock)]
        return [(block.name, loads(block.arguments)) for block in blocks]


@pytest.fixture
async def root() -> AsyncIterator[Context]:
    async with Context(clock=VirtualClock()) as root:
        root.plugin(LlmService)
        root.plugin(OfflinePlugin)
        await come_to_rest()
        yield root


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    (tmp_path / "README.md").write_text("# Sample\n\nA sample of a project.\n")
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "sample"\n')
    (tmp_path / "a b.txt").write_text("needle (here)\n")
    return Folder(tmp_path)


@pytest.fixture
def talk(root: Context, folder: Folder) -> Callable[..., Session]:
    return lambda *tools: Session(root.require("llm"), folder, list(tools or ALL))


@pytest.mark.spec("09-C191")
@pytest.mark.parametrize("text", ["list files", "ls", "What files are here?"])
async def test_listing_calls_a_tool_and_quotes_it(talk, text) -> None:
    session = talk()
    answer = await session.ask(text)
    assert session.calls == [
        ("bash", {"command": "ls -la", "description": "Looking at the files here"})
    ]
    assert "README.md" in answer


async def test_a_command_is_run_as_it_stands_and_its_exit_code_told(talk) -> None:
    session = talk()
    answer = await session.ask("run ls -la && exit 3")
    assert session.calls == [
        ("bash", {"command": "ls -la && exit 3", "description": "Running `ls -la && exit 3`"})
    ]
    assert "exit code 3" in answer
    assert "README.md" in answer
    fenced = "Could you try this?\n```bash\necho one\necho two\n```\nthanks"
    answer = await session.ask(fenced)
    assert session.calls[-1][1]["command"] == "echo one\necho two"
    assert "one\ntwo" in answer


async def test_files_are_read_written_and_searched(talk, folder) -> None:
    session = talk()
    assert "A sample of a project." in await session.ask("read README.md")
    assert session.calls[-1] == ("read", {"file_path": "README.md"})
    assert "needle" in await session.ask('show "a b.txt"')
    answer = await session.ask("write notes.txt: hello\nworld")
    assert "created notes.txt" in answer
    assert (folder.path / "notes.txt").read_text() == "hello\nworld"
    answer = await session.ask("find needle (here)")
    assert session.calls[-1] == ("grep", {"pattern": r"needle\ \(here\)"})
    assert "1 lines mention 'needle (here)'" in answer


async def test_a_failing_tool_is_reported_as_such(talk) -> None:
    answer = await talk().ask("read missing.txt")
    assert "reported an error" in answer
    assert "missing.txt" in answer


async def test_summarizing_reads_what_the_listing_shows(talk) -> None:
    session = talk()
    answer = await session.ask("Please summarize this repository")
    assert [name for name, _ in session.calls] == ["bash", "read", "read"]
    assert "A sample of a project." in answer
    assert 'name = "sample"' in answer


async def test_summarizing_an_empty_folder_stops_after_the_listing(talk, folder) -> None:
    for file in folder.path.iterdir():
        file.unlink()
    session = talk()
    await session.ask("summarise")
    assert [name for name, _ in session.calls] == ["bash"]


async def test_a_failed_step_of_a_digest_is_marked(talk, folder) -> None:
    (folder.path / "README.md").unlink()
    (folder.path / "README.md").mkdir()
    assert "(error)" in await talk().ask("summarize")


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("show me a todo list", "todo_write"),
        ("todo", "todo_write"),
        ("make a plan", "exit_plan_mode"),
        ("ask me something", "ask_user_question"),
    ],
)
async def test_each_demonstration_drives_its_tool(talk, text, tool) -> None:
    session = talk()
    answer = await session.ask(text)
    assert session.calls[0][0] == tool
    assert f"`{tool}`" in answer


async def test_other_tools_stand_in_for_missing_ones(talk) -> None:
    session = talk(BASH)
    await session.ask("read README.md and tell me")
    assert session.calls[-1][1]["command"] == "cat -- README.md"
    answer = await session.ask("read `a b.txt`")
    assert session.calls[-1][1]["command"] == "cat -- 'a b.txt'"
    assert "needle" in answer
    answer = await session.ask("search for needle (here)")
    assert "1 lines mention" in answer
    session = talk(GLOB)
    assert "README.md" in await session.ask("list files")
    assert session.calls == [("glob", {"pattern": "*"})]


async def test_only_parameters_that_a_tool_has_are_sent(talk) -> None:
    session = talk(schema("bash", "command"))
    await session.ask("run true")
    assert session.calls == [("bash", {"command": "true"})]
    session = talk(ToolSchema("bash", "d", {"properties": 3}))
    await session.ask("run true")
    assert session.calls[0][1]["description"] == "Running `true`"


@pytest.mark.spec("09-C193")
async def test_a_tool_that_is_not_offered_is_never_named(root, folder) -> None:
    for text in ("run ls", "list", "read x", "find x", "write x: y", "todo", "plan", "ask", "hi"):
        session = Session(root.require("llm"), folder, [])
        answer = await session.ask(text)
        assert session.calls == []
        assert "No tools are available" in answer
        for tool in ALL:
            assert f"`{tool.name}`" not in answer
    session = Session(root.require("llm"), folder, [READ])
    answer = await session.ask("hello")
    assert "`read PATH`" in answer
    assert "run COMMAND" not in answer


async def test_the_first_answer_says_what_it_is_and_how_to_add_a_model(talk) -> None:
    session = talk()
    first = await session.ask("fix the failing test")
    assert "not a language model" in first
    for way in ("in the environment", "~/.dsh/.env", "OPENAI_API_KEY", "http://127.0.0.1:8080/v1"):
        assert way in first
    assert "not a language model" not in await session.ask("hm")
    session = talk()
    await session.ask("ls")
    texts = [m.text for m in session.messages if m.role == "assistant"]
    assert "not a language model" in texts[0]
    assert "not a language model" not in texts[1]


async def test_whoever_comes_from_a_real_model_is_told_once(talk) -> None:
    session = talk()
    session.messages.append(create_user_message("hi"))
    answer = create_assistant_message([TextBlock("Hello!")], provider="deepseek", model="chat")
    session.messages.append(answer)
    assert "not a language model" in await session.ask("hm")
    assert "not a language model" not in await session.ask("hm")
    session.messages.append(answer)
    assert "not a language model" in await session.ask("and now?")


@pytest.mark.spec("09-C192")
async def test_the_same_conversation_gives_the_same_answers(talk) -> None:
    one, two = talk(), talk()
    for session in (one, two):
        await session.ask("summarize")
        await session.ask("run echo hi")
    assert [m.content for m in one.messages] == [m.content for m in two.messages]
    ids = [b.id for m in one.messages for b in m.content if isinstance(b, ToolCallBlock)]
    assert ids == [f"guide-{n}" for n in range(1, 5)]


async def test_a_task_ends_after_six_steps(root, folder) -> None:
    session = Session(root.require("llm"), folder, ALL)
    session.messages.append(create_user_message("run true"))
    for number in range(6):
        call = ToolCallBlock(f"c{number}", "bash", "{}")
        session.messages.append(create_assistant_message([call], provider="p", model="m"))
    assert (await session.stream()).finish.kind == "stop"


async def test_context_around_the_task_is_not_taken_for_it(talk) -> None:
    session = talk()
    session.messages.append(create_user_message("old context: run rm", source=plugin_source("p")))
    session.messages.append(create_user_message("run echo mine"))
    session.messages.append(create_user_message("run false", source=plugin_source("p")))
    calls = [b for b in (await session.stream()).blocks() if isinstance(b, ToolCallBlock)]
    assert loads(calls[0].arguments)["command"] == "echo mine"
    only_context = talk()
    only_context.messages.append(create_user_message("run echo x", source=plugin_source("p")))
    assert (await only_context.stream()).finish.kind == "tool-calls"
    empty = talk()
    assert "Try one of these" in (await empty.stream()).message().text


async def test_a_result_without_its_call_is_ignored(talk) -> None:
    session = talk()
    session.messages.append(create_user_message("run echo x"))
    session.messages.append(create_tool_result_message("stray", "x"))
    assert (await session.stream()).finish.kind == "tool-calls"


async def test_long_and_fenced_output_is_quoted_safely(talk, folder) -> None:
    (folder.path / "long.txt").write_text("```\n" + "line\n" * 500)
    answer = await talk().ask("read long.txt")
    assert "````\n```\nline" in answer
    assert "the rest is in the tool result" in answer
    assert len(answer) < 3_000
    assert "501 lines" in answer


async def test_titles_and_summaries_are_made_without_tools(talk) -> None:
    session = talk()
    await session.ask("run echo one two three four five six seven")
    title = await session.stream(purpose="session-title")
    assert title.message().text == "run echo one two three four"
    await session.ask("list\nfiles")
    summary = await session.stream(purpose="compaction")
    assert summary.message().text.endswith("- list files")
    assert summary.finish.kind == "stop"
    assert (await talk().stream(purpose="session-title")).message().text == "Offline guide"


async def test_usage_is_estimated_at_four_characters_a_token(talk) -> None:
    session = talk()
    session.messages.append(create_user_message("run true"))
    assembler = await session.stream(system="x" * 8)
    assert assembler.usage.input_tokens == 4
    await session.ask("ls")
    assert (await session.stream()).usage.input_tokens > 20


async def test_the_catalogue_has_one_model(root) -> None:
    llm = root.require("llm")
    assert [(p.id, p.name) for p in llm.list_providers()] == [("offline", "Offline guide")]
    assert [m.id for m in await llm.list_models("offline")] == ["guide"]
    with pytest.raises(LlmError, match="one model 'guide'") as caught:
        await llm.resolve_model_info("offline", "other")
    assert caught.value.code == "UNKNOWN_MODEL"


async def test_words_are_paced_on_the_clock_and_an_abort_is_honoured() -> None:
    clock = VirtualClock()
    async with Context(clock=clock) as root:
        root.plugin(LlmService)
        root.plugin(OfflinePlugin, {"chunkDelayMs": 15})
        await come_to_rest()
        controller = AbortController()
        seen: list[Any] = []

        async def consume(signal) -> None:
            options = GenerateOptions(
                LlmCallConfig("offline", "guide"), [create_user_message("hi")], signal=signal
            )
            async for chunk in root.require("llm").stream(options):
                seen.append(chunk)  # noqa: PERF401 - a test looks while it grows

        task = asyncio.create_task(consume(controller.signal))
        await clock.advance(0.046)
        assert sum(isinstance(chunk, TextDelta) for chunk in seen) == 2
        controller.abort("user")
        await task
        assert seen[-1].reason.kind == "aborted"
        seen.clear()
        task = asyncio.create_task(consume(None))
        await clock.advance(60)
        await task
        assert seen[-1].reason.kind == "stop"


async def test_an_abort_is_honoured_without_pacing(talk) -> None:
    session = talk()
    session.messages.append(create_user_message("hi"))
    controller = AbortController()
    controller.abort("user")
    options = GenerateOptions(
        LlmCallConfig(PROVIDER, MODEL), session.messages, signal=controller.signal
    )
    [chunk] = [chunk async for chunk in session.llm.stream(options)]
    assert chunk.reason.kind == "aborted"


@pytest.mark.parametrize(
    ("text", "kind", "subject"),
    [
        ("run: make test", "run", "make test"),
        ("Run `ls -l`", "run", "ls -l"),
        ("execute the command uname -a", "run", "uname -a"),
        ("run `a` and `b`", "run", "`a` and `b`"),
        ("please READ src/a.py?", "read", "src/a.py"),
        ("show me the Makefile", "read", "Makefile"),
        ("open the box of tools", "help", ""),
        ("cat 'my file'", "read", "my file"),
        ("grep for TODO", "find", "TODO"),
        ('search "two words"', "find", "two words"),
        ("write a.txt: x", "write", "a.txt"),
        ("What does this repository do?", "summarize", ""),
        ("```sh\n\n```", "help", ""),
        ("", "help", ""),
        ("run", "help", ""),
        ("rerun ls later", "list", ""),
        ("tasks and plans", "help", ""),
    ],
)  # fmt: skip
def test_plain_words_are_understood(text, kind, subject) -> None:
    intent = read_intent(text)
    assert (intent.kind, intent.subject) == (kind, subject)
