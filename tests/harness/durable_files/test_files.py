"""The operating system calls behind durable writing, and the files that fail on purpose."""

import errno
import os
import stat

import pytest

from harness.durable_files import OS_FILES
from harness.testing import CrashPointFiles, SimulatedCrash


@pytest.mark.parametrize("files", [OS_FILES, CrashPointFiles()], ids=["real", "counting"])
def test_appending_keeps_what_is_there_and_truncating_cuts_it(tmp_path, files):
    path = str(tmp_path / "log")
    for text, mode in ((b"one\n", 0o640), (b"two\n", 0o600)):
        fd = files.append(path, mode)
        assert files.write(fd, memoryview(text)) == 4
        files.fsync(fd)
        files.close(fd)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o640
    fd = files.append(path, 0o600)
    files.truncate(fd, 4)
    files.close(fd)
    assert (tmp_path / "log").read_bytes() == b"one\n"
    files.unlink(path)
    assert not os.path.exists(path)


def test_links_are_never_followed(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    for call in (OS_FILES.create, OS_FILES.append):
        with pytest.raises(OSError, match=r"link|exists"):
            call(str(tmp_path / "link"), 0o600)
    assert not (tmp_path / "victim").exists()


def refuse(number):
    def call(*_args):
        raise OSError(number, os.strerror(number))

    return call


def test_a_file_whose_mode_cannot_be_set_is_not_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "chmod", refuse(errno.EPERM))
    with pytest.raises(PermissionError):
        OS_FILES.create(str(tmp_path / "file"), 0o600)
    assert os.listdir(tmp_path) == []


def test_only_a_file_system_that_cannot_sync_directories_is_forgiven(tmp_path, monkeypatch):
    OS_FILES.sync_directory(str(tmp_path))
    monkeypatch.setattr(os, "fsync", refuse(errno.EINVAL))
    OS_FILES.sync_directory(str(tmp_path))
    monkeypatch.setattr(os, "fsync", refuse(errno.EIO))
    with pytest.raises(OSError, match="output error"):
        OS_FILES.sync_directory(str(tmp_path))
    with pytest.raises(FileNotFoundError):
        OS_FILES.sync_directory(str(tmp_path / "none"))


def test_after_a_simulated_crash_no_call_works(tmp_path):
    files = CrashPointFiles(1, partial_bytes=2)
    fd = files.create(str(tmp_path / "file"), 0o600)
    with pytest.raises(SimulatedCrash, match="write"):
        files.write(fd, memoryview(b"data"))
    assert (tmp_path / "file").read_bytes() == b"da"
    with pytest.raises(SimulatedCrash):
        files.unlink(str(tmp_path / "file"))
    with pytest.raises(SimulatedCrash):
        files.close(fd)
    with pytest.raises(OSError, match="descriptor"):
        os.fstat(fd)
    assert files.calls == ["create", "write", "unlink", "close"]


def test_after_a_simulated_fault_later_calls_work(tmp_path):
    files = CrashPointFiles(1, error=OSError(errno.EIO, "bad sector"))
    fd = files.create(str(tmp_path / "file"), 0o600)
    with pytest.raises(OSError, match="bad sector"):
        files.fsync(fd)
    files.fsync(fd)
    files.close(fd)
    assert not files.crashed
