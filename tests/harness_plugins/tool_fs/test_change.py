"""What `write` and `edit` do, say and remember, without a policy."""

import asyncio
import os
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.fs import EDIT_INTENT, OBSERVED, WRITE_INTENT, CreateIfAbsent, FsError, Present
from harness.system_prompt import SystemPrompt, render_prompt
from harness.tools import ToolExecutionInput, ToolRegistry, call_view, result_view
from harness_plugins.fs_local import FsLocal
from harness_plugins.tool_fs import ToolFs
from vendor_shims.cordis import Context


def text_of(result) -> str:
    return result.content[0].text


@pytest.mark.spec("07-194", "07-203")
async def test_write_creates_then_updates(desk) -> None:
    created = await desk.ok("write", file_path="new/a.txt", content="one\n")
    assert text_of(created) == f"<path>{desk.root}/new/a.txt</path>\n<status>created</status>"
    assert created.value["operation"] == "create"
    assert (created.value["before"], created.value["after"]) == (None, "one\n")
    updated = await desk.ok("write", file_path="new/a.txt", content="")
    assert "<status>updated</status>" in text_of(updated)
    assert updated.value["before"] == "one\n"
    assert desk.get("new/a.txt") == b""


@pytest.mark.spec("07-182", "07-194")
async def test_edit_replaces_one_or_all(desk) -> None:
    desk.put("a.txt", "foo bar foo\n")
    one = await desk.ok("edit", file_path="a.txt", old_string="bar", new_string="baz")
    assert text_of(one) == f"<path>{desk.root}/a.txt</path>\n<status>updated</status>"
    code, message = await desk.refusal("edit", file_path="a.txt", old_string="foo", new_string="x")
    assert code == "FS_AMBIGUOUS_EDIT"
    assert "2 times" in message
    every = {"file_path": "a.txt", "replace_all": True}
    both = await desk.ok("edit", old_string="foo", new_string="x", **every)
    assert "updated, all 2 occurrences replaced" in text_of(both)
    assert both.value["replacements"] == 2
    only = await desk.ok("edit", old_string="baz", new_string="y", **every)
    assert "updated, the only occurrence replaced" in text_of(only)
    assert desk.get("a.txt") == b"x y x\n"
    code, _ = await desk.refusal("edit", file_path="none", old_string="a", new_string="b")
    assert code == "FS_NOT_FOUND"
    missing = {"file_path": "a.txt", "old_string": "x y w", "new_string": "b"}
    code, message = await desk.refusal("edit", **missing)
    assert code == "FS_EDIT_NOT_FOUND"
    assert "closest line is 1: 'x y x'" in message


@pytest.mark.spec("07-203", "07-204")
@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("edit", {"old_string": "", "new_string": "x"}, "must not be empty"),
        ("edit", {"old_string": "x", "new_string": "x"}, "must differ"),
        ("edit", {"old_string": "x", "new_string": "\ud800"}, "surrogate"),
        ("edit", {"old_string": "\udfff", "new_string": "x"}, "surrogate"),
        ("edit", {"old_string": "x"}, "new_string"),
        ("write", {"content": "a\ud800b"}, "surrogate"),
        ("write", {}, "content"),
        ("write", {"content": "x", "file_path": "  "}, "blank"),
        ("write", {"content": "x", "file_path": ""}, "blank"),
        ("write", {"content": "x", "file_path": "\ud800"}, "surrogate"),
        ("edit", {"old_string": "x", "new_string": "y", "file_path": "\t"}, "blank"),
        ("write", {"content": "x", "file_path": "a\0b"}, "NUL"),
    ],
)
async def test_impossible_arguments_are_refused(desk, tool, arguments, says) -> None:
    desk.put("a.txt", "x")
    code, message = await desk.refusal(tool, **{"file_path": "a.txt", **arguments})
    assert code in {"INVALID_ARGS", "FS_INVALID_ARGUMENT"} or "surrogate" in message
    assert says in message
    assert desk.get("a.txt") == b"x"


async def test_a_broken_hard_link_is_mentioned(desk) -> None:
    desk.put("a.txt", "old")
    os.link("a.txt", "b.txt")
    result = await desk.ok("write", file_path="a.txt", content="new")
    assert "other hard links" in text_of(result)
    assert result.meta["brokeHardLink"] is True


@pytest.mark.spec("07-205")
async def test_meta_holds_hunks_with_three_lines_of_context(desk) -> None:
    lines = [f"line {number}\n" for number in range(1, 41)]
    desk.put("a.txt", "".join(lines))
    lines[9] = "changed\n"
    lines[29:30] = ["added\n", "line 30\n"]
    result = await desk.ok("write", file_path="a.txt", content="".join(lines))
    path = f"{desk.root}/a.txt"
    assert result.meta == {
        "path": path,
        "brokeHardLink": False,
        "added": 2,
        "removed": 1,
        "truncated": False,
        "diffs": (
            {
                "path": path,
                "oldText": "".join(f"line {number}\n" for number in range(7, 14)),
                "newText": "".join(
                    f"line {number}\n" if number != 10 else "changed\n" for number in range(7, 14)
                ),
            },
            {
                "path": path,
                "oldText": "".join(f"line {number}\n" for number in range(27, 33)),
                "newText": "".join(
                    ("added\n" if number == 30 else "") + f"line {number}\n"
                    for number in range(27, 33)
                ),
            },
        ),
    }


@pytest.mark.spec("07-205")
async def test_huge_texts_stay_bounded_and_do_not_stall_the_loop(desk) -> None:
    size = 20 * 1024 * 1024
    line = "0123456789abcde\n"
    texts = (line * (size // 16), "other\n" + line * (size // 16 - 1) + "end\n")
    desk.put("small.txt", texts[0][: 9 * 1024 * 1024])
    n_turns = 0

    async def watch() -> None:
        nonlocal n_turns
        while True:
            await asyncio.sleep(0)
            n_turns += 1

    watcher = asyncio.ensure_future(watch())
    for text in texts:
        result = await desk.ok("write", file_path="a.txt", content=text)
        assert sum(len(diff["newText"]) for diff in result.meta["diffs"]) <= 64 * 1024
        assert result.meta["truncated"] is True
        assert result.value["after"] is None
    desk.put("tiny.txt", "x\n")
    result = await desk.ok("write", file_path="tiny.txt", content=texts[0])
    assert (result.meta["diffs"], result.meta["removed"]) == ((), 1)
    result = await desk.ok("write", file_path="small.txt", content="first\n" + texts[0][:8_000_000])
    assert result.meta["truncated"] is True
    watcher.cancel()
    assert n_turns > 1000


EDITS = st.lists(
    st.tuples(st.integers(0, 60), st.sampled_from(["delete", "insert", "change", "unend"])),
    max_size=6,
)


@given(st.integers(0, 50), EDITS)
@pytest.mark.spec("07-205")
def test_the_hunks_turn_the_old_text_into_the_new(
    tmp_path_factory, n_lines: int, edits: list[tuple[int, str]]
) -> None:
    old = [f"<{number}>\n" for number in range(n_lines)]
    new = list(old)
    for number, (at, kind) in enumerate(edits):
        if kind == "insert":
            new.insert(at, f"<new {number}>\n")
        elif kind == "delete":
            del new[at : at + 1]
        elif kind == "change":
            new[at : at + 1] = [f"<changed {number}>\n"]
        elif new:
            new[-1] = new[-1].rstrip("\n")
    before, after = "".join(old), "".join(new)
    path = tmp_path_factory.getbasetemp() / "hunks.txt"
    path.write_text(before)
    meta = anyio.run(written, str(path), after)
    text, position = "", 0
    for diff in meta["diffs"]:
        at = before.index(diff["oldText"], position)
        text += before[position:at] + diff["newText"]
        position = at + len(diff["oldText"])
    assert text + before[position:] == after
    assert (meta["added"] == meta["removed"] == 0) == (before == after)


async def written(path: str, content: str):
    async with Context() as ctx:
        for plugin in (SystemPrompt, ToolRegistry, FsLocal, ToolFs):
            await ctx.plugin(plugin)
        arguments = {"file_path": path, "content": content}
        call = ToolExecutionInput(call_id="1", name="write", arguments=arguments)
        result = await ctx[ToolRegistry].execute(call)
        assert not result.is_error
        return result.meta


async def test_many_equal_lines_are_matched_in_bounded_time(desk) -> None:
    desk.put("a.txt", "start\n" + "\n" * 900 + "end\n")
    result = await desk.ok("write", file_path="a.txt", content="x\n" + "\n" * 700 + "y\n" * 200)
    assert result.meta["diffs"]
    desk.put("b.txt", "".join(f"{number}\n" for number in range(1500)))
    content = "head\n" + "".join(f"{-number}\n" for number in range(1, 1500))
    block = await desk.ok("write", file_path="b.txt", content=content)
    assert (block.meta["added"], block.meta["removed"]) == (1500, 1500)
    assert len(block.meta["diffs"]) == 1


async def test_cards_show_the_change_before_and_after(desk) -> None:
    tools = desk.ctx[ToolRegistry]
    arguments = {"file_path": "a.txt", "content": "one\n" * 40_000}
    pending: Any = call_view(tools.get("write"), "write", arguments)
    assert pending["title"] == "Write a.txt"
    assert pending["locations"] == [{"path": "a.txt"}]
    assert pending["diffs"][0]["oldText"] is None
    assert len(pending["diffs"][0]["newText"]) == 32 * 1024
    desk.put("a.txt", "one\n")
    arguments = {"file_path": "a.txt", "old_string": "one", "new_string": "two"}
    pending = call_view(tools.get("edit"), "edit", arguments)
    assert pending["diffs"] == [{"path": "a.txt", "oldText": "one", "newText": "two"}]
    result = await desk.ok("edit", **arguments)
    logged = {"content": result.content, "isError": False, "meta": result.meta}
    card: Any = result_view(tools.get("edit"), "edit", arguments, logged)
    path = f"{desk.root}/a.txt"
    assert card["title"] == f"{path} (+1 -1)"
    assert card["diffs"] == [{"path": path, "oldText": "one\n", "newText": "two\n"}]
    failed = {"content": [], "isError": True}
    assert result_view(tools.get("edit"), "edit", arguments, failed)["card"] == "generic"


@pytest.mark.spec("07-195")
async def test_whoever_answers_an_intent_decides(desk) -> None:
    desk.put("a.txt", "old")
    asked: list[str] = []

    def only_new(target, actor, next_):
        asked.append(target.display_path)
        return CreateIfAbsent()

    stop = desk.ctx.on(WRITE_INTENT, only_new)
    code, message = await desk.refusal("write", file_path="a.txt", content="new")
    assert code == "FS_NOT_OBSERVED"
    assert message.endswith("Read it first, then make the change.")
    stop()

    def refuse(target, actor, next_):
        raise FsError("no edits today.", code="FS_SANDBOX_DENIED")

    desk.ctx.on(EDIT_INTENT, refuse)
    code, message = await desk.refusal("edit", file_path="a.txt", old_string="o", new_string="x")
    assert code == "FS_SANDBOX_DENIED"
    assert "[sandbox: file access denied under None mode]" in message
    await desk.ok("write", file_path="a.txt", content="new")
    assert asked == [f"{desk.root}/a.txt"]


async def test_changes_tell_what_was_seen(desk) -> None:
    seen: list[object] = []
    desk.ctx.on(OBSERVED, lambda target, observation, actor: seen.append(observation))
    await desk.ok("write", file_path="a.txt", content="one")
    await desk.ok("edit", file_path="a.txt", old_string="one", new_string="two")
    assert [type(observation) for observation in seen] == [Present, Present]
    assert seen[0] != seen[1]


async def test_sections_come_and_go_with_the_tools(desk) -> None:
    prompt = desk.ctx[SystemPrompt]
    assembly = await prompt.assemble()
    names = [section.name for section in assembly.sections]
    assert [name for name in names if name.startswith("tool:")] == [
        "tool:read",
        "tool:write",
        "tool:edit",
    ]
    assert "rather than `cat`" in render_prompt(assembly)
    assert [tool.name for tool in assembly.tools] == ["edit", "read", "write"]
    tools = desk.ctx[ToolRegistry]
    assert tools.get("write").effects == {"write"}
    for fiber in list(desk.ctx.fiber.children()):
        if fiber.name == "fs-local":
            await fiber.dispose()
    assert tools.get("read") is None
    assert not (await prompt.assemble()).tools
