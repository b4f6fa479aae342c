from __future__ import annotations

import hashlib
import os
import re
import stat
import string
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.spill import SpillError, SpillSource, SpillStore, SpillUnsafeError, sweep_directory
from harness_plugins.spill_local import SpillLocal
from vendor_shims.cordis import Context

SOURCE = SpillSource(tool_name="bash", call_id="call-1", label="stdout")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SpillStore]:
    async with Context() as root:
        await root.plugin(SpillLocal, {"root": str(tmp_path / "spill")})
        yield root[SpillStore]


def folder(tmp_path: Path, session_id: str = "s1") -> Path:
    return tmp_path / "spill" / f"session-{hashlib.sha256(session_id.encode()).hexdigest()[:12]}"


async def save(store: SpillStore, name: str, content: str, session_id: str = "s1"):
    return await store.save_text(session_id, SOURCE, suggested_name=name, content=content)


async def test_a_text_is_kept_for_us_alone(store, tmp_path) -> None:
    text = "ä\n" * 1_000_000 + "\ud800"
    record = await save(store, "out.txt", text)
    path = Path(record.locator)
    assert path.parent == folder(tmp_path)
    assert path.name.endswith("-out.txt")
    assert path.read_text() == text.replace("\ud800", "\ufffd")
    assert record.bytes == path.stat().st_size
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "spill").stat().st_mode) == 0o700
    assert "read" in record.retrieval_hint


@pytest.mark.parametrize("name", ["../../etc/x", "", "..", ".", "...", "😀/\0", "x" * 500, "~"])
@pytest.mark.spec("07-251")
async def test_no_name_leaves_the_directory_of_its_session(store, tmp_path, name: str) -> None:
    record = await save(store, name, "text")
    assert os.path.dirname(os.path.realpath(record.locator)) == str(folder(tmp_path).resolve())
    assert Path(record.locator).read_text() == "text"


@given(name=st.text(max_size=200))
async def test_names_become_plain_and_short(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with Context() as root:
            await root.plugin(SpillLocal, {"root": folder, "cleanupPeriodDays": 0})
            record = await save(root[SpillStore], name, "text")
        random, _, encoded = os.path.basename(record.locator).partition("-")
    assert len(random) == 12
    assert 0 < len(encoded) <= 120
    assert set(encoded) <= set(string.ascii_letters + string.digits + "._-~")
    assert encoded.strip(".")


@pytest.mark.parametrize(
    ("name", "encoded"),
    [
        ("a b.txt", "a~0020b.txt"),
        ("", "~"),
        ("..", "~002E."),
        ("😀", "~D83D~DE00"),
        ("\ud800", "~D800"),
        ("x" * 118 + "é", "x" * 118),
    ],
)
async def test_names_are_encoded_as_documented(store, name: str, encoded: str) -> None:
    assert os.path.basename((await save(store, name, "text")).locator)[13:] == encoded


async def test_any_session_id_has_its_place(store) -> None:
    assert "session-" in (await save(store, "n", "text", session_id="../\ud800")).locator


async def test_the_same_name_twice_makes_two_files(store, tmp_path) -> None:
    first, second = await save(store, "n", "one"), await save(store, "n", "two")
    assert Path(first.locator).read_text() == "one"
    assert Path(second.locator).read_text() == "two"
    await save(store, "n", "other", session_id="s2")
    assert len(os.listdir(tmp_path / "spill")) == 2


@pytest.mark.spec("07-252")
async def test_planted_session_directories_are_refused(store, tmp_path) -> None:
    (tmp_path / "spill").mkdir(mode=0o700)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    folder(tmp_path).symlink_to(elsewhere)
    with pytest.raises(SpillUnsafeError):
        await save(store, "n", "secret")
    folder(tmp_path, "s2").mkdir()
    folder(tmp_path, "s2").chmod(0o770)
    with pytest.raises(SpillUnsafeError):
        await save(store, "n", "secret", session_id="s2")
    assert os.listdir(elsewhere) == []


async def test_a_root_that_cannot_be_made_is_an_error_not_a_crash(store, tmp_path) -> None:
    (tmp_path / "spill").write_text("in the way")
    with pytest.raises(SpillError, match="cannot keep"):
        await save(store, "n", "text")


class TestAdopt:
    async def test_a_file_moves_in(self, store, tmp_path) -> None:
        source = tmp_path / "big.log"
        source.write_bytes(b"\xff" * 3_000_000)
        record = await store.adopt_file(
            "s1", SOURCE, suggested_name="bash-stdout.log", path=str(source)
        )
        assert not source.exists()
        assert Path(record.locator).read_bytes() == b"\xff" * 3_000_000
        assert record.bytes == 3_000_000
        assert Path(record.locator).parent == folder(tmp_path)

    async def test_a_file_that_cannot_move_stays(self, store, tmp_path) -> None:
        real = tmp_path / "real"
        real.write_text("text")
        (tmp_path / "link").symlink_to(real)
        for name in ("link", "missing"):
            with pytest.raises(SpillError):
                await store.adopt_file("s1", SOURCE, suggested_name="n", path=str(tmp_path / name))
        with pytest.raises(SpillError, match="regular"):
            await store.adopt_file("s1", SOURCE, suggested_name="n", path=str(tmp_path))
        assert real.read_text() == "text"
        assert os.listdir(folder(tmp_path)) == []


@pytest.mark.spec("07-253")
class TestRoots:
    @pytest.fixture(autouse=True)
    def temporary(self, tmp_path, monkeypatch) -> Path:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        return tmp_path

    async def test_the_default_root_is_private_and_outlives_the_store(self, tmp_path) -> None:
        async with Context() as root:
            await root.plugin(SpillLocal)
            async with anyio.create_task_group() as tasks:
                for n in range(8):
                    tasks.start_soon(save, root[SpillStore], f"n{n}", "text")
        (made,) = os.listdir(tmp_path)
        assert made.startswith("dsh-spill-")
        assert stat.S_IMODE((tmp_path / made).stat().st_mode) == 0o700
        (session,) = os.listdir(tmp_path / made)
        assert len(os.listdir(tmp_path / made / session)) == 8

    async def test_a_taken_root_is_not_used(self, tmp_path, monkeypatch) -> None:
        names = iter(["file-name", "taken1", "fresh1"])
        monkeypatch.setattr("secrets.token_hex", lambda _n: next(names))
        (tmp_path / "dsh-spill-taken1").mkdir()
        async with Context() as root:
            await root.plugin(SpillLocal, {"cleanupPeriodDays": 0})
            await save(root[SpillStore], "n", "text")
        assert os.listdir(tmp_path / "dsh-spill-taken1") == []
        assert len(os.listdir(tmp_path / "dsh-spill-fresh1")) == 1

    @pytest.mark.parametrize(("days", "is_swept"), [(30, True), (0, False)])
    async def test_old_texts_of_earlier_runs_are_swept(self, tmp_path, days, is_swept) -> None:
        for root_name in ("dsh-spill-abc123", "dsh-spill-not-a-root", "configured"):
            session = tmp_path / root_name / "session-0123456789ab"
            session.mkdir(parents=True)
            (tmp_path / root_name).chmod(0o700)
            session.chmod(0o700)
            (session / "old").touch()
            os.utime(session / "old", (0, 0))
        async with Context() as root:
            config = {"root": str(tmp_path / "configured"), "cleanupPeriodDays": days}
            await root.plugin(SpillLocal, config)
        left = sorted(os.listdir(tmp_path))
        if is_swept:
            assert left == ["configured", "dsh-spill-not-a-root"]
            assert os.listdir(tmp_path / "configured") == []
        else:
            assert len(left) == 3
            assert (tmp_path / "configured" / "session-0123456789ab" / "old").exists()


async def test_a_sweep_that_takes_empty_directories_does_not_disturb(tmp_path) -> None:
    async with Context() as root:
        await root.plugin(SpillLocal, {"root": str(tmp_path), "cleanupPeriodDays": 0})

        def sweep() -> None:
            for _ in range(3_000):
                sweep_directory(
                    str(tmp_path), older_than=0, subdirectories=re.compile("session-[0-9a-f]{12}")
                )

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.to_thread.run_sync, sweep)
            for number in range(100):
                record = await save(root[SpillStore], "n", "text", session_id=f"s{number}")
                assert os.path.exists(record.locator)
