"""Lines on a console."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Iterator, Mapping

import pytest

from vendor_shims.cordis import Context, FiberState
from vendor_shims.logger import (
    ConsoleExporter,
    ConsolePlugin,
    Label,
    Logger,
    LoggerCore,
    LogRecord,
)
from vendor_shims.schema import json_schema


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def record(*args: object, level: int = 2, ts: int = 0, name: str = "agent") -> LogRecord:
    made = LoggerCore(clock=lambda: ts / 1000).record(name, level, args, extra={})
    assert made.ts == ts
    return made


@pytest.mark.spec("01-H10")
@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({}, "1970-01-01 00:00:00 [I] agent hello"),
        ({"show_time": ""}, "[I] agent hello"),
        ({"show_time": "hh:mm:ss.SSS|"}, "00:00:00.000|[I] agent hello"),
        ({"show_time": "", "label": Label(width=8)}, "[I] agent    hello"),
        ({"show_time": "", "label": Label(width=2, margin=3)}, "[I]   agent hello"),
        (
            {"show_time": "", "label": Label(width=10, margin=2, align="right")},
            "     agent  [I]  hello",
        ),
        (
            {"label": Label(width=10, margin=2, align="right")},
            "1970-01-01 00:00:00      agent  [I]  hello",
        ),
    ],
)
def test_layouts(options: dict[str, object], line: str) -> None:
    exporter = ConsoleExporter(colors=False, **options)  # pyright: ignore[reportArgumentType]
    assert exporter.render(record("hello")) == line


@pytest.mark.spec("01-H10")
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"show_time": ""},
        {"label": Label(width=9)},
        {"label": Label(width=10, margin=2, align="right"), "colors": 3},
    ],
)
def test_later_lines_start_under_the_message(options: dict[str, object]) -> None:
    exporter = ConsoleExporter(**{"colors": False, **options})
    first, second, third = exporter.render(record("one\ntwo\nthree")).split("\n")
    plain = ConsoleExporter(**{**options, "colors": False})
    column = plain.render(record("one")).index("one")
    assert second == " " * column + "two"
    assert third == " " * column + "three"
    assert first.endswith("one")


@pytest.mark.spec("01-H10")
def test_the_time_since_the_previous_line() -> None:
    exporter = ConsoleExporter(colors=False, show_time="", show_diff=True)
    times = [0, 2, 1002, 121_002, 7_321_002, 180_121_002, 180_121_001]
    lines = [exporter.render(record("x", ts=ts)) for ts in times]
    assert lines == [
        "[I] agent x",
        *(f"[I] agent x +{diff}" for diff in ("2ms", "1s", "2m", "2h", "2d", "-1ms")),
    ]


@pytest.mark.parametrize(("level", "letter"), [(-1, "E"), (0, "E"), (1, "W"), (2, "I"), (7, "D")])
def test_severity_letters(level: int, letter: str) -> None:
    line = ConsoleExporter(colors=0, show_time="").render(record("x", level=level))
    assert line.startswith(f"[{letter}] ")


def test_colours() -> None:
    line = ConsoleExporter(colors=2, show_diff=True).render(record("x"))
    assert "\x1b[32m[I]\x1b[0m" in line
    assert ";1magent\x1b[0m" in line
    assert "\x1b[" not in ConsoleExporter(colors=0).render(record("x"))


def test_logged_text_cannot_drive_the_terminal() -> None:
    line = ConsoleExporter(colors=0, show_time="").render(record("%s", "\x1b[2J\r", name="a\x1b"))
    assert line == "[I] a\\x1b \\x1b[2J\\x0d"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("env", "on_terminal", "in_file"),
    [
        ({"TERM": "xterm"}, 1, 0),
        ({"TERM": "xterm-256color"}, 2, 0),
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, 3, 0),
        ({"TERM": "dumb"}, 0, 0),
        ({"TERM": "xterm", "NO_COLOR": "1"}, 0, 0),
        ({"FORCE_COLOR": "3", "NO_COLOR": "1"}, 0, 0),
        ({"FORCE_COLOR": ""}, 1, 1),
        ({"FORCE_COLOR": "true"}, 1, 1),
        ({"FORCE_COLOR": "2"}, 2, 2),
        ({"FORCE_COLOR": "0", "TERM": "xterm"}, 0, 0),
        ({"FORCE_COLOR": "false", "TERM": "xterm"}, 0, 0),
    ],
)
def test_colours_follow_the_environment(
    env: Mapping[str, str], on_terminal: int, in_file: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TERM", raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    for stream, level in ((Terminal(), on_terminal), (io.StringIO(), in_file)):
        found = ConsoleExporter(stream=stream, show_time="").render(record("x"))
        assert found == ConsoleExporter(colors=level, show_time="").render(record("x"))


def test_lines_go_to_the_given_stream() -> None:
    stream = io.StringIO()
    core = LoggerCore()
    core.add_exporter(ConsoleExporter(stream=stream, show_time="", levels={"default": 0}))
    logger = Logger(core, "x")
    logger.error("seen %s", 1)
    logger.info("unseen")
    assert stream.getvalue() == "[E] x seen 1\n"


def test_text_that_the_stream_cannot_encode_is_escaped() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    ConsoleExporter(stream=stream, show_time="", colors=0).export(record("é \ud800"))
    assert raw.getvalue() == b"[I] agent \\xe9 \\ud800\n"


def test_a_closed_stream_is_contained(capsys: pytest.CaptureFixture[str]) -> None:
    stream = io.StringIO()
    core = LoggerCore()
    core.add_exporter(ConsoleExporter(stream=stream, colors=0))
    stream.close()
    Logger(core, "x").info("x")
    assert "ConsoleExporter failed" in capsys.readouterr().err


async def test_the_plugin_prints_early_lines_too(capsys: pytest.CaptureFixture[str]) -> None:
    async with Context() as root:
        root.logger.info("before")
        fiber = root.plugin(
            ConsolePlugin,
            {
                "showTime": "",
                "colors": False,
                "levels": {"default": 3},
                "label": {"width": 6, "align": "right"},
                "maxLength": 10,
            },
        )
        await root.settle()
        assert fiber.state is FiberState.ACTIVE
        assert fiber.name == "logger-console"
        root.logger.debug("while it runs")
        await fiber.dispose()
        root.logger.info("after")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.split("\n") == ["  root [I] before", "  root [D] while it r...", ""]


async def test_the_plugin_can_start_with_an_empty_screen(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with Context() as root:
        root.logger.info("before")
        root.plugin(ConsolePlugin, {"replay": False})
        await root.settle()
    assert capsys.readouterr().err == ""


async def test_wrong_configuration_is_refused_as_a_whole() -> None:
    async with Context() as root:
        fiber = root.plugin(
            ConsolePlugin, {"colors": 7, "label": {"width": -1}, "levels": {"a": 9}}
        )
        await root.settle()
        assert str(fiber.error).split("\n") == [
            "invalid config:",
            "  - $.colors expected false | 0 | 1 | 2 | 3 but got 7",
            "  - $.levels.a expected number <= 3 but got 9",
            "  - $.label.width expected number >= 0 but got -1",
        ]


def test_the_plugin_describes_its_configuration() -> None:
    properties = json_schema(ConsolePlugin.Config)["properties"]
    assert all(entry["description"] for entry in properties.values())


def test_the_default_stream_is_stderr_of_the_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    exporter = ConsoleExporter(colors=0, show_time="")
    replaced = io.StringIO()
    monkeypatch.setattr(sys, "stderr", replaced)
    exporter.export(record("x"))
    assert replaced.getvalue() == "[I] agent x\n"
