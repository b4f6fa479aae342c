"""Read before edit, through the real tools."""

import gc
import weakref

import pytest

from harness.fs import WRITE_INTENT, FileSystem, FsActor, TextEdit
from harness.session import Session, SessionStore
from harness.tools import ToolExecutionInput, ToolRegistry


@pytest.mark.spec("07-189")
async def test_an_edit_needs_a_read_and_counts_as_one(scene) -> None:
    scene.put("one")
    caller = scene.caller()
    result = await caller.attempt("edit", file_path="a.txt", old_string="one", new_string="two")
    assert result.code == "FS_NOT_OBSERVED"
    assert result.content[0].text.endswith("Read it first, then make the change.")
    assert await caller.read() == "ok"
    assert await caller.edit("one", "two") == "ok"
    assert await caller.edit("two", "three") == "ok"
    assert scene.get() == "three"


@pytest.mark.spec("07-190")
async def test_an_external_change_makes_what_was_read_stale(scene) -> None:
    scene.put("one")
    caller = scene.caller()
    await caller.read()
    scene.put("one, and more")
    result = await caller.attempt("edit", file_path="a.txt", old_string="one", new_string="two")
    assert result.code == "FS_STALE_VERSION"
    assert "Read it again" in result.content[0].text
    assert await caller.write() == "FS_STALE_VERSION"
    assert scene.get() == "one, and more"
    await caller.read()
    assert await caller.edit("one", "two") == "ok"
    assert scene.get() == "two, and more"


@pytest.mark.spec("07-191")
async def test_a_write_over_an_unseen_file_is_refused(scene) -> None:
    scene.put("unseen")
    caller = scene.caller()
    assert await caller.write() == "FS_NOT_OBSERVED"
    assert scene.get() == "unseen"
    assert await caller.call("write", file_path="new.txt", content="x") == "ok"
    assert await caller.call("write", file_path="new.txt", content="y") == "ok"
    await caller.read()
    assert await caller.write() == "ok"
    assert scene.get() == "written"


@pytest.mark.spec("07-192")
async def test_what_was_seen_missing_can_be_created_but_not_edited(scene) -> None:
    caller = scene.caller()
    assert await caller.read() == "FS_NOT_FOUND"
    assert await caller.edit("a", "b") == "FS_NOT_FOUND"
    assert await caller.write() == "ok"
    scene.file.unlink()
    assert await caller.edit("written", "b") == "FS_STALE_VERSION"


@pytest.mark.spec("07-193")
async def test_sessions_do_not_see_for_each_other_and_nothing_survives_them(scene) -> None:
    scene.put("one")
    first, second = scene.caller(), scene.caller()
    await first.read()
    assert await second.edit("one", "two") == "FS_NOT_OBSERVED"
    assert await second.write() == "FS_NOT_OBSERVED"
    assert await first.edit("one", "two") == "ok"

    sessions = scene.ctx[SessionStore]
    owner = scene.ctx.plugin(lambda ctx: None)
    await owner
    session = sessions.as_caller(owner.ctx).create("session-x", meta={"cwd": scene.cwd})
    first.session = session
    await first.read()
    assert await first.edit("two", "three") == "ok"
    await owner.dispose()
    assert sessions.get("session-x") is None
    assert await first.edit("three", "four") == "FS_NOT_OBSERVED"
    resumed = Session.create(session.id, session.events, session.header)
    first.session = resumed
    assert await first.edit("three", "four") == "FS_NOT_OBSERVED"


@pytest.mark.spec("07-193")
async def test_a_lost_session_is_not_kept_alive(scene) -> None:
    scene.put("one")
    caller = scene.caller()
    caller.session = Session.create("session-lost")
    assert await caller.call("read", file_path=str(scene.file)) == "ok"
    lost = weakref.ref(caller.session)
    caller.session = None
    gc.collect()
    assert lost() is None


async def test_a_call_without_a_session_can_only_create(scene) -> None:
    scene.put("one")
    tools = scene.ctx[ToolRegistry]

    async def code(tool: str, **arguments: object) -> str:
        path = str(scene.file.with_name(str(arguments.pop("name", "a.txt"))))
        request = ToolExecutionInput(
            call_id="1", name=tool, arguments={"file_path": path, **arguments}
        )
        return (await tools.execute(request)).code or "ok"

    assert await code("read") == "ok"
    assert await code("edit", old_string="one", new_string="two") == "FS_NOT_OBSERVED"
    assert await code("write", content="x") == "FS_NOT_OBSERVED"
    assert await code("write", content="x", name="new.txt") == "ok"


@pytest.mark.spec("07-194")
async def test_without_the_policy_changes_are_unguarded(scene) -> None:
    scene.put("one")
    caller = scene.caller()
    assert await caller.edit("one", "two") == "FS_NOT_OBSERVED"
    await scene.policy.dispose()
    assert await caller.edit("one", "two") == "ok"
    assert await caller.write() == "ok"
    assert scene.get() == "written"


@pytest.mark.spec("07-195")
async def test_a_listener_in_front_of_the_policy_decides(scene) -> None:
    scene.put("one")
    caller = scene.caller()
    actors: list[FsActor] = []

    def anything_goes(target, actor, next_) -> None:
        actors.append(actor)

    stop = scene.ctx.on(WRITE_INTENT, anything_goes, prepend=True)
    assert await caller.write() == "ok"
    assert actors[0].session is caller.session
    stop()
    scene.put("changed")
    assert await caller.write() == "FS_STALE_VERSION"


async def test_the_least_recently_used_observation_goes_first(scene) -> None:
    caller = scene.caller()
    for name in ("a.txt", "b.txt", "c.txt"):
        scene.file.with_name(name).write_text("old")
        assert await caller.call("read", file_path=name) == "ok"
    edit = {"old_string": "old", "new_string": "new"}
    assert await caller.call("edit", file_path="a.txt", **edit) == "ok"
    assert await caller.call("write", file_path="d.txt", content="x") == "ok"
    assert await caller.call("edit", file_path="b.txt", **edit) == "FS_NOT_OBSERVED"
    assert await caller.call("edit", file_path="c.txt", **edit) == "ok"


async def test_who_goes_around_the_tools_is_not_guarded(scene) -> None:
    scene.put("one")
    fs = scene.ctx[FileSystem]
    target = await fs.resolve("a.txt", cwd=scene.cwd)
    assert (await fs.edit_text(target, TextEdit(old="one", new="two"))).after == "two"
