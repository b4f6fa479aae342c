"""Records become text: placeholders, limits, colours."""

from __future__ import annotations

from typing import Any

import pytest

from vendor_shims.logger import LoggerCore, LogRecord, format_message


def record(*args: object, name: str = "test") -> LogRecord:
    return LoggerCore().record(name, 2, args, extra={})


class Broken:
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


@pytest.mark.spec("01-H05")
@pytest.mark.parametrize(
    ("args", "text"),
    [
        (("plain",), "plain"),
        ((), ""),
        (("%s and %s", "a", 1), "a and 1"),
        (("%d %i %d", 1.9, -1.9, True), "1 -1 1"),
        (("%d %d %f", "x", float("inf"), [1]), "nan inf nan"),
        (("%d %d", 10**400, "12.7"), f"{10**400} 12"),
        (("%f %f %d", 1, None, None), "1.0 None None"),
        (("%o %O", {"a": "b"}, "q"), "{'a': 'b'} 'q'"),
        (("a%cb", "color: red"), "ab"),
        (("%C", "tinted"), "tinted"),
        (("100%% of %s", "it"), "100% of it"),
        (("%z stays, %s", "x"), "%z stays, x"),
        (("50% done", "x"), "50% done x"),
        (("%s %s", "one"), "one None"),
        (("text", 1, "two", [3], {"four": 4}, (5,), {6}), "text 1 two [3] {'four': 4} (5,) {6}"),
        (({"a": 1}, "b"), "{'a': 1} b"),
        ((1, 2), "1 2"),
        (("two\nlines", "x\ny"), "two\nlines x\ny"),
        (("%s %o", Broken(), Broken()), "<unprintable Broken> <unprintable Broken>"),
        (("x", Broken()), "x <unprintable Broken>"),
        (("%f", 10**400), "nan"),
    ],
)
def test_placeholders(args: tuple[object, ...], text: str) -> None:
    assert format_message(record(*args)) == text


@pytest.mark.spec("01-H05")
def test_each_long_line_is_cut() -> None:
    long = "x" * 10_240
    assert format_message(record(long)) == long
    assert format_message(record(f"{long}y")) == f"{long}..."
    assert format_message(record("short\n123456789\nend"), max_length=5) == "short\n12345...\nend"


def test_a_cut_inside_a_colour_ends_the_colour() -> None:
    text = format_message(record("%C", "x" * 50), max_length=20, colors=2)
    assert text.endswith("\x1b[0m...")


def test_own_formatters_come_first() -> None:
    def upper(value: Any, rec: LogRecord) -> str:
        return f"{rec.name}:{value}".upper()

    def broken(value: Any, rec: LogRecord) -> str:
        raise ValueError

    formatters = {"s": upper, "u": upper, "b": broken}
    text = format_message(record("%s %u %b %d", "a", "b", "c", 1), formatters=formatters)
    assert text == "TEST:A TEST:B <unprintable str> 1"


@pytest.mark.parametrize("colors", [1, 2, 3])
def test_a_name_always_has_the_same_colour(colors: int) -> None:
    first = format_message(record("%C", "x", name="agent"), colors=colors)
    assert first == format_message(record("%C", "x", name="agent"), colors=colors)
    assert first.startswith("\x1b[3")
    assert first.endswith("x\x1b[0m")
    others = {format_message(record("%C", "x", name=f"n{i}"), colors=colors) for i in range(20)}
    assert len(others) > 1


def test_control_characters_are_shown_when_asked_for() -> None:
    shown = format_message(record("a\x1b[31m\t%s\n%o", "b\x07\r", ["\x9b"]), escape=True)
    assert shown == "a\\x1b[31m\tb\\x07\\x0d\n['\\x9b']"
