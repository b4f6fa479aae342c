"""What the bytes of a log mean, and which damage is named where."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.session import EVENT_TYPES, SessionEvent
from harness.session_persistence import (
    SessionFormatUnsupportedError,
    SessionPersistenceCorruptionError,
    encode_lines,
)
from harness.session_persistence.contract import a_log
from harness.wire import FrozenDict
from harness_plugins.session_persistence_jsonl import LogScanner, Scan

HEADER = b'{"type":"session","version":1000,"id":"s","createdAt":1,"delegationDepth":0}\n'
PATH = "/root/session.v1000.jsonl"
LOG = a_log(2, open_turn=True)


def lines(events: list[SessionEvent], *, pack: bool = False) -> list[bytes]:
    data = encode_lines(events, pack_chunks=pack, max_line_bytes=2**40)
    return [line + b"\n" for line in data.split(b"\n")[:-1]]


def scan(*parts: bytes, max_line_bytes: int = 2**30) -> Scan:
    scanner = LogScanner(PATH, max_line_bytes=max_line_bytes)
    for part in parts:
        scanner.feed(part)
    return scanner.finish()


def at_turn_end(parts: list[bytes]) -> int:
    """Return the index after the last whole turn."""
    return max(i for i, line in enumerate(parts) if b'"turn/end"' in line) + 1


@pytest.mark.spec("05-44")
@pytest.mark.parametrize("pack", [True, False])
def test_a_whole_log_is_read(pack: bool):
    found = scan(HEADER, *lines(LOG, pack=pack))
    assert found.events == LOG
    assert found.torn is None
    assert found.committed_bytes == len(HEADER) + sum(map(len, lines(LOG, pack=pack)))
    assert found.header.id == "s"


@given(st.data())
def test_blocks_may_be_cut_anywhere(data: st.DataObject):
    whole = HEADER + b"".join(lines(LOG, pack=True)) + b'{"torn'
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    parts = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert scan(*parts) == scan(whole)


@pytest.mark.spec("05-38")
@pytest.mark.parametrize("pack", [True, False])
def test_a_log_cut_at_any_byte_keeps_its_whole_lines(pack: bool):
    whole = HEADER + b"".join(lines(LOG, pack=pack))
    for size in range(len(HEADER), len(whole) + 1):
        found = scan(whole[:size])
        committed = whole[:size].rfind(b"\n") + 1
        assert found.committed_bytes == committed
        assert found.events == LOG[: len(found.events)]
        assert found.events == scan(whole[:committed]).events
        if committed == size:
            assert found.torn is None
        else:
            assert found.torn is not None
            assert (found.torn.position, found.torn.n_bytes) == (committed, size - committed)


@given(st.binary(max_size=80), st.integers(0, 30))
def test_any_bytes_are_read_or_refused_in_a_known_way(junk: bytes, n_lines: int):
    try:
        found = scan(HEADER, *lines(LOG)[:n_lines], junk)
    except (SessionPersistenceCorruptionError, SessionFormatUnsupportedError):
        return
    assert found.events[:n_lines] == LOG[: len(found.events[:n_lines])]


BAD_LINES = [
    b"garbage\n",
    b"\n",
    b'{"type":"todo/write","seq":1\n',
    b"\xff\xfe{}\n",
    b'{"type":"todo/write\0","seq":99,"time":1,"data":{}}\n',
    b"\0\0\0\0\n",
    b"[]\n",
    b"3\n",
    b'{"type":"text-chunks","seq0":1}\n',
    b'{"type":"todo/write","seq":9999,"time":1,"data":{}}\n',
    b'{"type":"todo/write","seq":0,"time":1,"data":{}}\n',
    b'{"type":"todo/write","seq":-1,"time":1,"data":{}}\n',
    b'{"type":"todo/write","seq":true,"time":1,"data":{}}\n',
    b'{"type":"todo/write","seq":1,"time":1,"data":[]}\n',
    b'{"type":"todo/write","seq":1,"time":NaN,"data":{}}\n',
    b'{"type":"","seq":1,"time":1,"data":{}}\n',
]


@pytest.mark.spec("05-39", "05-40", "05-45")
@pytest.mark.parametrize("bad", BAD_LINES)
def test_a_bad_last_line_is_a_torn_tail(bad: bytes):
    parts = lines(LOG)
    found = scan(HEADER, *parts, bad, b"x\n", b'{"ty')
    assert found.events == LOG
    assert found.torn is not None
    assert found.torn.n_bytes == len(bad) + 6
    assert found.committed_bytes == len(HEADER) + sum(map(len, parts))


@pytest.mark.spec("05-39", "05-40", "05-45")
@pytest.mark.parametrize("bad", BAD_LINES)
def test_a_bad_line_with_a_record_after_it_is_named_with_its_place(bad: bytes):
    parts = lines(LOG)
    for at in (0, 5, at_turn_end(parts), len(parts) - 1):
        with pytest.raises(SessionPersistenceCorruptionError) as caught:
            scan(HEADER, *parts[:at], bad, *parts[at:])
        error = caught.value
        assert error.path == PATH
        if bad != BAD_LINES[10] or at:
            assert error.line == at + 2
            assert error.offset == len(HEADER) + sum(map(len, parts[:at]))
        assert PATH in str(error)


@pytest.mark.spec("05-40")
def test_a_missing_line_is_a_hole():
    parts = lines(LOG)
    with pytest.raises(SessionPersistenceCorruptionError, match="seq 5 stands where 4 belongs"):
        scan(HEADER, *parts[:4], *parts[5:])


@pytest.mark.spec("05-45")
def test_a_packed_row_that_does_not_continue_the_log_is_dropped_whole():
    packed = lines(LOG, pack=True)
    row = next(i for i, line in enumerate(packed) if b"text-chunks" in line)
    found = scan(HEADER, *packed[: row + 1], packed[row])
    assert len(found.events) == 7
    assert found.torn is not None
    assert found.torn.n_bytes == len(packed[row])


def test_a_line_beyond_the_limit_is_bad_and_not_kept_in_memory():
    parts = lines(LOG)
    limit = max(map(len, parts))
    long = [b"x" * 64] * 1000
    found = scan(HEADER, *parts, *long, max_line_bytes=limit)
    assert found.events == LOG
    assert found.torn is not None
    assert found.torn.n_bytes == 64_000
    with pytest.raises(SessionPersistenceCorruptionError, match="64000 bytes"):
        scan(HEADER, *parts[:3], *long, b"\n", *parts[3:], max_line_bytes=limit)


@pytest.mark.spec("05-41")
def test_a_header_alone_is_an_empty_session():
    found = scan(HEADER)
    assert (found.events, found.torn, found.committed_bytes) == ([], None, len(HEADER))


@pytest.mark.spec("05-41")
@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "the file is empty"),
        (HEADER[:-1], "the header line is incomplete"),
        (b"[]\n", "no session header"),
        (b"x\n", "no JSON"),
        (b"\n", "no JSON"),
        (b'{"type":"turn/start","version":1000}\n', "no session header"),
        (b'{"type":"session"}\n', "version is None"),
        (b'{"type":"session","version":-1}\n', "version is -1"),
        (b'{"type":"session","version":"1000"}\n', "version is '1000'"),
        (b'{"type":"session","version":true}\n', "version is True"),
        (b'{"type":"session","version":1000}\n', "no 'id'"),
        (HEADER.replace(b":1,", b":1.5,"), "createdAt"),
        (HEADER.replace(b":0}", b":-1}"), "delegationDepth"),
        (HEADER.replace(b'"s"', b'"s","cwd":"relative"'), "absolute"),
        (HEADER.replace(b'"s"', b"5"), "id"),
    ],
)
def test_a_file_without_a_native_header_is_corrupt(data: bytes, problem: str):
    with pytest.raises(SessionPersistenceCorruptionError, match=problem) as caught:
        scan(data)
    assert (caught.value.line, caught.value.offset) == (1, 0)


@pytest.mark.spec("05-41", "05-42")
@pytest.mark.parametrize(
    ("data", "problem", "newer"),
    [
        (b'{"type":"session","version":1001,"id":[]}\n', "upgrade the harness", True),
        (b'{"type":"session","version":99999}\n', "upgrade the harness", True),
        (b'{"type":"session","version":4,"isSeeded":false}\n', "no upgrade path", False),
        (b'{"type":"session","version":0}\n', "no upgrade path", False),
        (HEADER.replace(b'"s"', b'"s","sandboxMode":"x"'), "retired key 'sandboxMode'", False),
        (HEADER.replace(b'"s"', b'"s","approvalPolicy":1'), "retired key", False),
    ],
)
def test_another_format_is_unsupported_and_never_called_corrupt(
    data: bytes, problem: str, newer: bool
):
    with pytest.raises(SessionFormatUnsupportedError, match=problem) as caught:
        scan(data)
    assert caught.value.newer is newer


def test_unknown_header_members_are_kept():
    found = scan(HEADER.replace(b'"s"', b'"s","later":{"a":[1]}'))
    assert found.header.extra == {"later": {"a": (1,)}}


@pytest.mark.spec("05-100")
def test_unknown_event_types_are_refused_unless_they_may_be_skipped():
    event = SessionEvent("acme/unheard-of", 0, 1, FrozenDict())
    with pytest.raises(SessionFormatUnsupportedError, match=r"event 0 .*'acme/unheard-of'"):
        scan(HEADER, *lines([event]))
    event = event._replace(ignorable=True)
    assert scan(HEADER, *lines([event])).events == [event]
    declared = [
        SessionEvent(name, seq, 1, FrozenDict()) for seq, name in enumerate(EVENT_TYPES.names())
    ]
    assert scan(HEADER, *lines(declared)).events == declared
    for retired in ("request/header-delta", "mode/set"):
        with pytest.raises(SessionFormatUnsupportedError, match=retired):
            scan(HEADER, *lines([event._replace(type=retired, ignorable=False)]))
