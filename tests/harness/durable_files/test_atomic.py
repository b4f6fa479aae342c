"""A durable write is whole or has not happened, wherever it stops."""

import errno
import os
import stat

import pytest

from harness.durable_files import atomic_write
from harness.testing import CrashPointFiles, SimulatedCrash

OLD, NEW = b"old content", b"new content " * 1000


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "settings.yaml"
    path.write_bytes(OLD)
    return path


def write(path, files, data=NEW):
    atomic_write(path, data, mode=0o600, files=files)


def calls_of_a_whole_write(path):
    files = CrashPointFiles(max_write=5000)
    write(path, files)
    return files.calls


def test_the_content_is_there_and_nothing_else(target):
    atomic_write(target, NEW, mode=0o640)
    assert target.read_bytes() == NEW
    assert os.listdir(target.parent) == [target.name]
    atomic_write(str(target), b"", mode=0o640)
    assert target.read_bytes() == b""


def test_bytes_and_the_directory_entry_reach_the_device_in_this_order(target):
    assert calls_of_a_whole_write(target) == [
        "create",
        *["write"] * 3,
        "fsync",
        "close",
        "replace",
        "sync_directory",
    ]
    assert target.read_bytes() == NEW


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o666])
def test_modes_are_exact_whatever_the_umask(tmp_path, mode):
    before = os.umask(0o077)
    try:
        atomic_write(tmp_path / "a" / "b" / "file", b"x", mode=mode, dir_mode=0o750)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a" / "b" / "file").stat().st_mode) == mode
    for directory in ("a", "a/b"):
        assert stat.S_IMODE((tmp_path / directory).stat().st_mode) == 0o750


@pytest.mark.spec("07-17")
def test_a_fault_at_any_call_leaves_whole_content_and_no_temporary_file(target):
    for at, name in enumerate(calls_of_a_whole_write(target)):
        target.write_bytes(OLD)
        error = OSError(errno.ENOSPC, "no space left")
        files = CrashPointFiles(at, error=error, max_write=5000, partial_bytes=3)
        with pytest.raises(OSError, match="no space left"):
            write(target, files)
        assert target.read_bytes() == (NEW if name == "sync_directory" else OLD), name
        assert os.listdir(target.parent) == [target.name], name


@pytest.mark.spec("07-17")
def test_a_crash_at_any_call_leaves_whole_content_and_the_next_write_works(target):
    for at, name in enumerate(calls_of_a_whole_write(target)):
        target.write_bytes(OLD)
        files = CrashPointFiles(at, max_write=5000, partial_bytes=3)
        with pytest.raises(SimulatedCrash):
            write(target, files)
        assert target.read_bytes() == (NEW if name == "sync_directory" else OLD), name
        atomic_write(target, b"next", mode=0o600)
        assert target.read_bytes() == b"next"


def test_a_fault_while_cleaning_up_does_not_hide_the_first_one(target):
    class Worse(CrashPointFiles):
        def unlink(self, path):
            raise OSError(errno.EIO, "cleanup failed")

    with pytest.raises(OSError, match="no space left"):
        write(target, Worse(2, error=OSError(errno.ENOSPC, "no space left")))
    assert target.read_bytes() == OLD


@pytest.mark.spec("07-18")
def test_a_planted_link_under_the_temporary_name_is_left_alone(target, tmp_path):
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    planted = target.with_name(target.name + ".planted00000.tmp")
    planted.symlink_to(victim)
    names = iter(["planted00000", "fresh0000000"])
    atomic_write(target, NEW, mode=0o600, random_name=lambda: next(names))
    assert (victim.read_bytes(), target.read_bytes()) == (b"precious", NEW)
    assert planted.is_symlink()


@pytest.mark.spec("07-18")
def test_when_every_temporary_name_is_taken_the_write_fails(target):
    target.with_name(target.name + ".taken.tmp").write_bytes(b"")
    with pytest.raises(FileExistsError):
        atomic_write(target, NEW, mode=0o600, random_name=lambda: "taken")
    assert target.read_bytes() == OLD


def test_a_link_in_the_place_of_the_file_is_replaced_and_not_followed(tmp_path):
    (tmp_path / "victim").write_bytes(b"precious")
    (tmp_path / "file").symlink_to(tmp_path / "victim")
    atomic_write(tmp_path / "file", NEW, mode=0o600)
    assert (tmp_path / "victim").read_bytes() == b"precious"
    assert not (tmp_path / "file").is_symlink()


def test_parents_are_made_durable_one_in_the_other(tmp_path):
    files = CrashPointFiles()
    write(tmp_path / "a" / "b" / "file", files)
    assert files.calls[:4] == ["mkdir", "sync_directory", "mkdir", "sync_directory"]
    for at in range(4):
        path = tmp_path / f"crash{at}" / "b" / "file"
        with pytest.raises(SimulatedCrash):
            write(path, CrashPointFiles(at))
        atomic_write(path, b"next", mode=0o600)
        assert path.read_bytes() == b"next"


def test_a_directory_that_appears_meanwhile_is_as_good(tmp_path):
    class Racing(CrashPointFiles):
        def mkdir(self, path, mode):
            os.mkdir(path)
            super().mkdir(path, mode)

    write(tmp_path / "a" / "b" / "file", Racing())
    assert (tmp_path / "a" / "b" / "file").read_bytes() == NEW


def test_a_file_in_the_place_of_a_parent_is_an_error(tmp_path):
    (tmp_path / "a").write_bytes(b"")
    with pytest.raises(OSError, match=r"directory|exists"):
        atomic_write(tmp_path / "a" / "file", b"x", mode=0o600)
