"""Logging through contexts: names, levels, exporters, buffer, exceptions."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Mapping

import pytest

from vendor_shims.cordis import Context, Service
from vendor_shims.logger import (
    DEBUG,
    ERROR,
    INFO,
    WARN,
    Logger,
    LoggerCore,
    LogRecord,
    RingBuffer,
    format_message,
    kebab_case,
    resolve_level,
    resolve_name,
)


class Seen:
    """An exporter that remembers."""

    def __init__(self, levels: Mapping[str, int] | None = None) -> None:
        self.levels = levels
        self.records: list[LogRecord] = []

    def export(self, record: LogRecord) -> None:
        self.records.append(record)

    @property
    def texts(self) -> list[str]:
        return [format_message(record) for record in self.records]

    @property
    def names(self) -> list[str]:
        return [record.name for record in self.records]


def core_with(*exporters: Seen) -> LoggerCore:
    core = LoggerCore(clock=lambda: 12.3456)
    for exporter in exporters:
        core.add_exporter(exporter)
    return core


@pytest.mark.spec("01-H01")
async def test_names_come_from_the_argument_the_intercept_or_the_fiber() -> None:
    seen = Seen()
    async with Context() as root:
        root.logger.exporter(seen)
        root.logger.info("x")
        root.logger("explicit").info("x")
        root.logger().info("x")

        def my_plugin(ctx: Context) -> None:
            ctx.logger.info("x")
            ctx.logger("explicit").info("x")
            ctx.intercept("logger", {"name": "inner"}).logger.info("x")

        root.plugin(my_plugin)
        root.intercept("logger", {"name": "outer"}).plugin(my_plugin)
        await root.settle()
    assert seen.names == [
        *("root", "explicit", "root"),
        *("my-plugin", "explicit", "inner"),
        *("outer", "explicit", "inner"),
    ]


@pytest.mark.spec("01-H02")
async def test_a_service_logs_under_its_own_name_or_the_callers() -> None:
    seen = Seen()

    class Speaker(Service):
        key = "speaker"

        def speak(self) -> None:
            self.ctx.logger.info("own")
            self.caller.logger.info("caller's")

    async with Context() as root:
        root.logger.exporter(seen)
        root.plugin(Speaker)
        await root.settle()
        root.speaker.speak()

        def user(ctx: Context) -> None:
            ctx.speaker.speak()

        root.inject(["speaker"], user)
        await root.settle()
    assert seen.names == ["speaker", "root", "speaker", "user"]


@pytest.mark.spec("01-H03")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("MyPlugin", "my-plugin"),
        ("HTTPServer", "http-server"),
        ("tool_bash", "tool-bash"),
        ("Already-kebab case", "already-kebab-case"),
        ("v2Loader", "v2-loader"),
        ("", ""),
    ],
)
def test_names_are_kebab_case(name: str, expected: str) -> None:
    assert kebab_case(name) == expected


@pytest.mark.spec("01-H03")
async def test_a_class_plugin_logs_in_kebab_case() -> None:
    seen = Seen()

    class MyPlugin:
        def __init__(self, ctx: Context) -> None:
            ctx.logger.warn("x")

    async with Context() as root:
        root.logger.exporter(seen)
        root.plugin(MyPlugin)
        await root.settle()
    assert seen.names == ["my-plugin"]


def test_the_nearest_layer_with_a_value_wins() -> None:
    layers = [{"name": "far", "level": 3}, {"name": "near"}, {"other": 1}]
    assert resolve_name(None, layers, "MyFiber") == "near"
    assert resolve_name("given", layers, "MyFiber") == "given"
    assert resolve_name(None, [{}], "MyFiber") == "my-fiber"
    assert resolve_level(layers) == 3
    assert resolve_level([{}]) == INFO


def log_all(logger: Logger) -> None:
    logger.error("e")
    logger.warn("w")
    logger.warning("w2")
    logger.info("i")
    logger.debug("d")


@pytest.mark.spec("01-H04")
@pytest.mark.parametrize(
    ("levels", "level", "expected"),
    [
        (None, INFO, "e w w2 i"),
        (None, ERROR, "e"),
        (None, DEBUG, "e w w2 i d"),
        ({"default": 3}, INFO, "e w w2 i d"),
        ({"default": 3, "x": 0}, INFO, "e"),
        ({"default": 0, "x": 3}, INFO, "e w w2 i d"),
        ({"y": 0}, WARN, "e w w2"),
    ],
)
def test_thresholds(levels: Mapping[str, int] | None, level: int, expected: str) -> None:
    seen = Seen(levels)
    log_all(Logger(core_with(seen), "x", level=level))
    assert seen.texts == expected.split()


@pytest.mark.spec("01-H04")
async def test_an_intercept_sets_the_level() -> None:
    seen = Seen()
    async with Context() as root:
        root.logger.exporter(seen)
        log_all(root.intercept("logger", {"level": 0}).logger)
        log_all(root.intercept("logger", {"level": 0}).logger("named"))
    assert seen.texts == ["e", "e"]


def test_levels_known_at_run_time() -> None:
    seen = Seen({"default": 9})
    logger = Logger(core_with(seen), "x")
    assert logger.is_enabled(9)
    assert not logger.is_enabled(10)
    for level in (-1, 0, 1, 2, 3, 9, 10):
        logger.log(level, "x")
    assert [record.type for record in seen.records] == [
        *("error", "error", "warn", "info", "debug", "debug")
    ]


def test_records_carry_serial_number_time_and_extra() -> None:
    seen = Seen()
    logger = Logger(core_with(seen), "x", level=DEBUG)
    logger.info("a %s", 1, session="s1")
    logger.debug("b")
    first, second = seen.records
    assert (first.sn, second.sn) == (1, 2)
    assert first.ts == 12345
    assert first.args == ("a %s", 1)
    assert first.extra == {"session": "s1"}
    assert (first.type, first.level, first.fiber) == ("info", INFO, None)
    assert logger.name == "x"
    assert logger.level == DEBUG


async def test_records_refer_to_their_fiber_weakly() -> None:
    seen = Seen()
    async with Context() as root:
        root.logger.exporter(seen)

        def plugin(ctx: Context) -> None:
            ctx.logger.info("x")
            ctx.logger("named").info("x")

        fiber = root.plugin(plugin)
        await root.settle()
        assert [record.fiber for record in seen.records] == [fiber, fiber]
        await fiber.dispose()
        reference = weakref.ref(fiber)
        del fiber
        gc.collect()
        assert reference() is None
        assert seen.records[0].fiber is None


def test_calls_below_every_threshold_do_nothing() -> None:
    core = LoggerCore()
    logger = Logger(core, "x")
    for _ in range(2):
        logger.debug("%s", "x")
    assert len(core.buffer) == 0
    quiet = Logger(core, "y", level=-1)
    log_all(quiet)
    assert len(core.buffer) == 0


@pytest.mark.spec("01-H06")
def test_causes_are_logged_before_the_exception() -> None:
    seen = Seen()
    logger = Logger(core_with(seen), "x")
    try:
        try:
            try:
                raise KeyError("deepest 100%d")
            except KeyError as error:
                raise ValueError("middle") from error
        except ValueError as error:
            raise RuntimeError("outer") from error
    except RuntimeError as error:
        logger.error(error, "while", [1])  # our logger takes exceptions
    deepest, middle, outer = seen.texts
    assert deepest.endswith("KeyError: 'deepest 100%d'")
    assert middle.endswith("ValueError: middle")
    assert outer.endswith("RuntimeError: outer while [1]")
    assert all(text.startswith("Traceback (most recent call last):") for text in seen.texts)
    assert "KeyError" not in outer


@pytest.mark.spec("01-H06")
def test_a_group_logs_its_members_only() -> None:
    seen = Seen()
    cause = OSError("cause")
    first = ValueError("first")
    first.__cause__ = cause
    inner = ExceptionGroup("inner", [TypeError("second"), first])
    group = ExceptionGroup("outer", [first, inner])
    group.__cause__ = cause
    Logger(core_with(seen), "x").error(group)
    assert seen.texts == ["OSError: cause", "ValueError: first", "TypeError: second"]


def test_circular_causes_end() -> None:
    seen = Seen()
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    Logger(core_with(seen), "x").error(one)
    assert seen.texts == ["ValueError: two", "ValueError: one"]


def test_very_long_cause_chains_are_logged() -> None:
    seen = Seen()
    error = ValueError("0")
    for number in range(1, 5000):
        outer = ValueError(str(number))
        outer.__cause__ = error
        error = outer
    Logger(core_with(seen), "x").error(error)
    assert len(seen.records) == 5000


def test_exceptions_among_the_arguments_keep_no_frames_alive() -> None:
    class Payload:
        pass

    class Silent(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    def fail() -> tuple[ValueError, weakref.ref[Payload]]:
        payload = Payload()
        try:
            raise ValueError("broken")
        except ValueError as error:
            return error, weakref.ref(payload)

    seen = Seen()
    error, payload = fail()
    Logger(core_with(seen), "x").error("failed: %s %o", error, error, Silent())
    Logger(core_with(seen), "x").error(error)
    del error
    gc.collect()
    assert payload() is None
    assert seen.texts[0] == "failed: broken ValueError('broken') <unprintable Silent>"


@pytest.mark.spec("01-H07")
async def test_a_disposer_removes_its_own_exporter() -> None:
    first, second = Seen(), Seen()
    async with Context() as root:
        dispose = root.logger.exporter(first)
        root.logger.exporter(second)
        root.logger.info("both")
        dispose()
        dispose()
        root.logger.info("second")
    assert first.texts == ["both"]
    assert second.texts == ["both", "second"]


@pytest.mark.spec("01-H07")
async def test_an_exporter_leaves_with_its_fiber() -> None:
    seen = Seen()
    async with Context() as root:

        def plugin(ctx: Context) -> None:
            ctx.logger.exporter(seen)

        fiber = root.plugin(plugin)
        await root.settle()
        assert [effect.label for effect in fiber.effects()] == ["ctx.logger.exporter()"]
        assert root.logger.core.exporters == (root.logger.buffer, seen)
        root.logger.info("seen")
        await fiber.dispose()
        root.logger.info("unseen")
        assert root.logger.core.exporters == (root.logger.buffer,)
    assert seen.texts == ["seen"]


class Raising:
    levels: Mapping[str, int] | None = None

    def export(self, record: LogRecord) -> None:
        raise OSError("disk full")


@pytest.mark.spec("01-H08")
def test_a_raising_exporter_hurts_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    seen = Seen()
    core = LoggerCore()
    core.add_exporter(Raising())
    core.add_exporter(seen)
    logger = Logger(core, "x")
    logger.info("one")
    logger.info("two")
    assert seen.texts == ["one", "two"]
    shown = capsys.readouterr().err
    assert shown.count("Raising failed") == 1
    assert "OSError: disk full" in shown


@pytest.mark.spec("01-H08")
def test_a_raising_exporter_without_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", None)
    core = LoggerCore()
    core.add_exporter(Raising())
    Logger(core, "x").info("one")
    assert len(core.buffer) == 1


def test_an_exporter_that_logs_does_not_feed_itself() -> None:
    core = LoggerCore()
    logger = Logger(core, "x")
    seen = Seen()

    class Chatty:
        def export(self, record: LogRecord) -> None:
            logger.info("exported %d", record.sn)

    core.add_exporter(Chatty())
    core.add_exporter(seen)
    logger.info("start")
    assert sorted(seen.texts) == ["exported 1", "start"]


@pytest.mark.spec("01-H09")
def test_the_buffer_keeps_the_last_thousand() -> None:
    core = LoggerCore()
    logger = Logger(core, "x")
    for number in range(1500):
        logger.info("%d", number)
    kept = core.buffer.records()
    assert len(kept) == 1000
    assert (kept[0].sn, kept[-1].sn) == (501, 1500)


@pytest.mark.spec("01-H09")
async def test_replay_delivers_what_was_logged_before_exactly_once() -> None:
    late, quiet, live = Seen(), Seen({"default": 0}), Seen()
    async with Context() as root:
        root.logger.info("early")
        root.logger.error("early error")
        root.logger.exporter(late, replay=True)
        root.logger.exporter(quiet, replay=True)
        root.logger.exporter(live)
        root.logger.info("now")
    assert late.texts == ["early", "early error", "now"]
    assert quiet.texts == ["early error"]
    assert live.texts == ["now"]


def test_the_buffer_can_keep_more_levels() -> None:
    core = LoggerCore(buffer=RingBuffer(2, levels={"default": DEBUG}))
    log_all(Logger(core, "x"))
    assert [format_message(record) for record in core.buffer.records()] == ["i", "d"]


def test_threads_may_log_at_the_same_time() -> None:
    seen = Seen()
    core = core_with(seen)

    def work() -> None:
        logger = Logger(core, threading.current_thread().name)
        for number in range(200):
            logger.info("%d", number)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({record.sn for record in seen.records}) == 800


def test_importing_the_logger_does_not_import_the_kernel() -> None:
    import subprocess
    import sys

    code = (
        "import sys, vendor_shims.logger; print([m for m in sys.modules if"
        " m.startswith(('vendor_shims.cordis', 'vendor_shims.schema', 'attr'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
