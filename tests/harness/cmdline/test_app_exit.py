"""Asking for the end, and ending in bounded time."""

import asyncio

import anyio
import attrs
import pytest

from harness.cmdline import (
    BOOT_S,
    SHUTDOWN_S,
    AppExit,
    CommandLine,
    boot_limit_s,
    shut_down,
    shutdown_limit_s,
)
from vendor_shims.cordis import Context, Dep, Plugin


async def test_the_first_exit_code_counts_for_everybody():
    async with Context() as root:
        app_exit = AppExit(root)

        def plugin(ctx: Context) -> None:
            ctx.app_exit(4)
            ctx.app_exit(0)

        root.inject([AppExit.key], plugin)
        assert await app_exit.requested() == 4
        app_exit(7)
        assert app_exit.code == 4
        assert await app_exit.requested() == 4


async def test_waiting_ends_when_the_request_comes_later():
    async with Context() as root:
        app_exit = AppExit(root)
        codes = []

        async def wait() -> None:
            codes.append(await app_exit.requested())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            assert codes == []
            app_exit()
        assert codes == [0, 0]


@pytest.mark.parametrize("code", [-1, 256, 1000])
async def test_a_code_that_no_process_ends_with_is_refused(code):
    async with Context() as root:
        app_exit = AppExit(root)
        with pytest.raises(ValueError, match="from 0 to 255"):
            app_exit(code)
        assert app_exit.code is None


async def test_plugins_read_the_command_line_and_cannot_change_it():
    class Reader(Plugin):
        line = Dep(CommandLine)

        def start(self) -> None:
            seen.append(self.line)

    seen: list[CommandLine] = []
    line = CommandLine(profile="p", surface="s", arguments=["--json", "do it"])
    async with Context() as root:
        root.provide(CommandLine.key, line)
        root.plugin(Reader)
        await root.settle()
    assert seen == [line]
    assert seen[0].arguments == ("--json", "do it")
    for name in ("profile", "surface", "arguments"):
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            setattr(seen[0], name, "other")


@pytest.mark.parametrize(
    ("text", "limit_s"),
    [
        ("2.5", 2.5),
        ("0", 0.0),
        ("", SHUTDOWN_S),
        ("soon", SHUTDOWN_S),
        ("-1", SHUTDOWN_S),
        ("inf", SHUTDOWN_S),
        ("nan", SHUTDOWN_S),
    ],
)
def test_the_environment_sets_the_limits(text, limit_s):
    assert shutdown_limit_s({"DSH_SHUTDOWN_TIMEOUT": text}) == limit_s
    boot_s = BOOT_S if limit_s == SHUTDOWN_S else limit_s
    assert boot_limit_s({"DSH_BOOT_TIMEOUT": text}) == boot_s


def test_without_a_setting_the_shutdown_has_five_seconds():
    assert shutdown_limit_s({}) == SHUTDOWN_S == 5.0
    assert boot_limit_s({}) == BOOT_S == 20.0


async def test_a_tree_that_ends_has_no_stragglers():
    root = Context()
    ended = []
    root.plugin(lambda ctx: ctx.defer(lambda: ended.append(1)))
    await root.settle()
    assert await shut_down(root) == ()
    assert ended == [1]


async def test_a_disposer_that_hangs_is_named_with_its_plugin():
    release = asyncio.Event()

    class Sockets(Plugin):
        name = "sockets"

        def start(self) -> None:
            self.ctx.effect(lambda: release.wait, "close the sockets")

    class Outer(Plugin):
        name = "outer"

        def start(self) -> None:
            self.ctx.plugin(Sockets)

    root = Context(dispose_timeout_s=None)
    root.plugin(Outer)
    await root.settle()
    assert await shut_down(root, limit_s=0.01) == ("sockets: close the sockets",)
    release.set()
    await root.close()


async def test_a_disposer_inside_a_group_is_named():
    release = asyncio.Event()

    def plugin(ctx: Context) -> None:
        with ctx.group("connections"):
            ctx.effect(lambda: release.wait, "hang up")

    root = Context(dispose_timeout_s=None)
    root.plugin(plugin)
    await root.settle()
    assert await shut_down(root, limit_s=0.01) == ("plugin: hang up",)
    release.set()
    await root.close()


async def test_a_service_that_waits_for_its_user_is_not_to_blame():
    release = asyncio.Event()

    class User(Plugin):
        name = "user"
        app_exit = Dep(AppExit)

        def start(self) -> None:
            self.ctx.effect(lambda: release.wait, "say goodbye")

    root = Context(dispose_timeout_s=None)
    root.plugin(User)
    root.plugin(AppExit)  # unloads first, and so waits for its user
    await root.settle()
    assert await shut_down(root, limit_s=0.01) == ("user: say goodbye",)
    release.set()
    await root.close()


async def test_a_setup_that_does_not_stop_is_named():
    release = asyncio.Event()

    async def stubborn(ctx: Context) -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    root = Context(dispose_timeout_s=None)
    root.plugin(stubborn)
    await anyio.wait_all_tasks_blocked()
    (name,) = await shut_down(root, limit_s=0.01)
    assert name.startswith("stubborn is ")
    release.set()
    await root.close()


async def test_a_disposer_that_itself_runs_out_of_time_is_no_straggler():
    root = Context()

    def plugin(ctx: Context) -> None:
        def fail() -> None:
            raise TimeoutError("the server did not answer")

        ctx.defer(fail)

    root.plugin(plugin)
    await root.settle()
    assert await shut_down(root) == ()
