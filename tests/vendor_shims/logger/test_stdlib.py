"""The standard `logging` module on both sides of the service."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from vendor_shims.cordis import Context
from vendor_shims.logger import (
    LoggerCore,
    LogRecord,
    StdlibBridge,
    StdlibExporter,
    format_message,
)


@pytest.fixture
def library() -> Iterator[logging.Logger]:
    logger = logging.getLogger("library.part")
    logger.setLevel(logging.DEBUG)
    yield logger
    logger.setLevel(logging.NOTSET)


def shown(records: tuple[LogRecord, ...]) -> list[tuple[str, str, str]]:
    return [(record.type, record.name, format_message(record)) for record in records]


def test_library_records_arrive_under_their_own_name(library: logging.Logger) -> None:
    core = LoggerCore()
    remove = StdlibBridge(core).install(library)
    library.info("fetched %s in 100%% of %d", "x", 1)
    library.warning("a %s without arguments")
    library.critical("down")
    library.debug("unseen")
    library.propagate = False
    library.info("bad %d arguments", "x")
    library.propagate = True
    remove()
    library.info("after")
    assert shown(core.buffer.records()) == [
        ("info", "library.part", "fetched x in 100% of 1"),
        ("warn", "library.part", "a %s without arguments"),
        ("error", "library.part", "down"),
        ("info", "library.part", "bad %d arguments ('x',)"),
    ]


def test_library_exceptions_follow_their_text(library: logging.Logger) -> None:
    core = LoggerCore()
    remove = StdlibBridge(core).install(library)
    try:
        raise ValueError("inner")
    except ValueError:
        library.exception("outer")
    library.error("nothing raised", exc_info=True)
    remove()
    _, trace, nothing = [text for _, _, text in shown(core.buffer.records())]
    assert trace.endswith("ValueError: inner")
    assert nothing == "nothing raised"


async def test_the_bridge_can_be_an_effect_of_a_context(library: logging.Logger) -> None:
    async with Context() as root:
        root.effect(lambda: StdlibBridge(root.logger).install(), "stdlib logging")
        library.warning("through the root logger")
        kept = root.logger.buffer.records()
    library.warning("after")
    assert shown(kept) == [("warn", "library.part", "through the root logger")]
    assert root.logger.buffer.records() == kept


def test_records_go_out_to_standard_loggers(caplog: pytest.LogCaptureFixture) -> None:
    core = LoggerCore()
    core.add_exporter(StdlibExporter(prefix="dsh.", levels={"default": 9}))
    with caplog.at_level(logging.DEBUG):
        for level in (0, 1, 2, 3, 9):
            core.emit(core.record("agent", level, ("%s %%d", "x"), extra={}))
    assert [(r.name, r.levelno, r.getMessage()) for r in caplog.records] == [
        ("dsh.agent", level, "x %d")
        for level in (logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG, logging.DEBUG)
    ]


def test_both_directions_together_do_not_echo(library: logging.Logger) -> None:
    core = LoggerCore()
    core.add_exporter(StdlibExporter())
    remove = StdlibBridge(core).install(library)
    library.info("once")
    core.emit(core.record("library.part", 2, ("twice",), extra={}))
    remove()
    assert [text for _, _, text in shown(core.buffer.records())] == ["once", "twice"]
