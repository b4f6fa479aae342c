from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.subprocess import Collect, Collector, Spill, SpillDirectory


def collect(
    *chunks: bytes, max_bytes: int, head_bytes: int = 0, spill: Spill | None = None
) -> Collector:
    limits = Collect(max_bytes=max_bytes, head_bytes=head_bytes, spill=spill)
    collector = Collector(limits, SpillDirectory())
    for chunk in chunks:
        collector.feed(chunk)
    return collector


@pytest.mark.spec("07-32", "07-33")
def test_the_tail_is_exact_and_reading_does_not_consume() -> None:
    whole = os.urandom(5_000).hex().encode()
    collector = collect(*(whole[i : i + 700] for i in range(0, 10_000, 700)), max_bytes=640)
    first, again = collector.read_from(0), collector.read_from(0)
    assert first == again
    assert first.text == whole[-640:].decode()
    assert first.lossy
    assert first.next_offset == 10_000
    collector.feed(b"new")
    later = collector.read_from(first.next_offset)
    assert (later.text, later.lossy) == ("new", False)
    inside = collector.read_from(9_990)
    assert (inside.text, inside.lossy) == (whole[9_990:].decode() + "new", False)
    assert collector.read_from(99_999).text == ""
    assert collector.read_from(99_999).next_offset == 99_999
    with pytest.raises(ValueError, match="-1"):
        collector.read_from(-1)


def test_nothing_is_lost_up_to_both_limits_together() -> None:
    collector = collect(b"0123456789", max_bytes=6, head_bytes=4)
    assert collector.retained().tail == "0123456789"
    assert collector.retained().omitted_bytes == 0
    assert collector.read_from(2).text == "23456789"
    assert collector.read_from(7).text == "789"
    collector.feed(b"a")
    kept = collector.retained()
    assert (kept.head, kept.tail, kept.omitted_bytes, kept.total_bytes) == ("0123", "56789a", 1, 11)
    assert collector.read_from(0).lossy


def test_a_budget_of_nothing_keeps_nothing() -> None:
    collector = collect(b"abc", max_bytes=0)
    assert (collector.retained().tail, collector.retained().omitted_bytes) == ("", 3)
    assert collect(max_bytes=0).retained().omitted_bytes == 0


def test_cut_characters_are_counted_as_missing() -> None:
    collector = collect("ab😀cd😀ef".encode(), max_bytes=5, head_bytes=4)
    kept = collector.retained()
    assert (kept.head, kept.tail) == ("ab", "ef")
    assert kept.omitted_bytes == kept.total_bytes - 4


def test_an_unfinished_character_waits_for_its_rest() -> None:
    collector = collect("ä".encode()[:1], max_bytes=100)
    first = collector.read_from(0)
    assert (first.text, first.next_offset) == ("", 0)
    collector.feed("ä".encode()[1:] + b"\xf0")
    assert collector.read_from(0).text == "ä"
    collector.close()
    assert collector.read_from(0).text == "ä\ufffd"
    assert collector.read_from(0).next_offset == 3
    collector.feed(b"late")
    assert collector.retained().total_bytes == 3


@given(
    whole=st.binary(max_size=400),
    cuts=st.lists(st.integers(0, 400), max_size=8),
    max_bytes=st.integers(0, 120),
    head_bytes=st.integers(0, 120),
)
def test_the_slicing_of_a_stream_does_not_matter(
    whole: bytes, cuts: list[int], max_bytes: int, head_bytes: int
) -> None:
    edges = [0, *sorted(cut for cut in cuts if cut < len(whole)), len(whole)]
    sliced = collect(
        *(whole[a:b] for a, b in pairwise(edges)),
        max_bytes=max_bytes,
        head_bytes=head_bytes,
    )
    at_once = collect(whole, max_bytes=max_bytes, head_bytes=head_bytes)
    assert sliced.retained() == at_once.retained()
    assert sliced.read_from(0) == at_once.read_from(0)
    if len(whole) <= max_bytes + head_bytes:
        assert at_once.retained().tail == whole.decode("utf-8", "replace")


@given(text=st.text(max_size=60), step=st.integers(1, 7))
def test_reading_along_yields_the_whole_text(text: str, step: int) -> None:
    encoded = text.encode()
    collector = collect(max_bytes=10_000)
    seen, offset = "", 0
    for start in range(0, len(encoded), step):
        collector.feed(encoded[start : start + step])
        read = collector.read_from(offset)
        seen, offset = seen + read.text, read.next_offset
    assert seen == text


class TestSpill:
    @pytest.mark.spec("07-34")
    def test_the_file_is_the_complete_stream_for_us_alone(self) -> None:
        chunks = [os.urandom(1_000) for _ in range(50)]
        collector = collect(*chunks, max_bytes=700, head_bytes=300, spill=Spill(max_bytes=50_000))
        path = collector.read_from(0).spill_path
        assert path is not None
        collector.close()
        assert Path(path).read_bytes() == b"".join(chunks)
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700
        assert collector.retained().spill_path == path

    def test_there_is_no_file_while_memory_holds_everything(self) -> None:
        collector = collect(b"x" * 100, max_bytes=100, spill=Spill(max_bytes=1_000))
        assert collector.retained().spill_path is None

    @pytest.mark.spec("07-35")
    def test_a_stream_beyond_the_cap_loses_its_file(self) -> None:
        collector = collect(b"x" * 900, max_bytes=100, spill=Spill(max_bytes=1_000))
        path = collector.retained().spill_path
        assert path is not None
        collector.feed(b"y" * 101)
        collector.feed(b"z")
        assert not os.path.exists(path)
        assert collector.retained().spill_path is None
        assert collector.read_from(0).spill_path is None
        collector.close()
        assert collector.retained().spill_path is None

    @pytest.mark.spec("07-36")
    def test_a_file_that_cannot_be_made_is_not_advertised(self, tmp_path: Path) -> None:
        directory = SpillDirectory(str(tmp_path / "missing"))
        limits = Collect(max_bytes=10, spill=Spill(max_bytes=1_000))
        collector = Collector(limits, directory)
        collector.feed(b"x" * 100)
        collector.feed(b"y" * 10)
        assert collector.retained().spill_path is None
        assert collector.retained().tail == "y" * 10

    @pytest.mark.spec("07-36")
    def test_a_file_that_takes_no_more_is_given_up(self, full_disk: SpillDirectory) -> None:
        limits = Collect(max_bytes=10, spill=Spill(max_bytes=10_000_000))
        collector = Collector(limits, full_disk)
        for _ in range(100):
            collector.feed(b"x" * 100_000)
        assert collector.retained().spill_path is None
        assert full_disk.path is not None
        assert os.listdir(full_disk.path) == []
        full_disk.remove()
        full_disk.remove()
        assert full_disk.path is None

    def test_a_file_whose_last_bytes_may_be_lost_is_not_advertised(self) -> None:
        collector = collect(b"x" * 100, max_bytes=10, spill=Spill(max_bytes=1_000))
        path = collector.retained().spill_path
        assert path is not None
        (fd,) = [
            int(name)
            for name in os.listdir("/proc/self/fd")
            if os.path.lexists(f"/proc/self/fd/{name}")
            and os.readlink(f"/proc/self/fd/{name}") == path
        ]
        os.close(fd)  # so that closing fails, as it does when a remote disk refuses late
        collector.close()
        assert collector.retained().spill_path is None
        assert not os.path.exists(path)


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[SpillDirectory]:
    """Bound the size of files that this process writes, as a full disk does."""
    import resource
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, before[1]))
    yield SpillDirectory(str(tmp_path))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
