from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import pytest

from harness.spill import (
    SpillUnsafeError,
    create_private_file,
    has_protected_ancestors,
    private_directory,
    sweep_directory,
)

OLD, NOW = 1_000, 2_000_000_000
SESSION = re.compile(r"session-[0-9a-f]{12}")


def old_file(path: Path) -> Path:
    path.write_text("old")
    os.utime(path, (OLD, OLD))
    return path


def test_a_directory_is_made_for_us_alone(tmp_path: Path) -> None:
    path = tmp_path / "private"
    for _ in range(2):
        with private_directory(str(path)) as fd:
            assert stat.S_IMODE(os.fstat(fd).st_mode) == 0o700
    with private_directory(str(tmp_path)) as top, private_directory("inner", within=top):
        assert (tmp_path / "inner").is_dir()


@pytest.mark.spec("07-252")
def test_directories_that_others_could_control_are_refused(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(real)
    (tmp_path / "file").touch()
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o770)
    for name in ("link", "file", "shared"):
        with pytest.raises(SpillUnsafeError, match=name), private_directory(str(tmp_path / name)):
            pass
        with (
            pytest.raises(SpillUnsafeError),
            private_directory(str(tmp_path)) as top,
            private_directory(name, within=top),
        ):
            pass


def test_other_failures_pass_through(tmp_path: Path) -> None:
    with (
        pytest.raises(FileNotFoundError),
        private_directory(str(tmp_path / "gone"), create=False),
    ):
        pass
    with pytest.raises(FileNotFoundError), private_directory(str(tmp_path / "a" / "b")):
        pass


@pytest.mark.spec("07-252")
def test_existing_files_are_never_opened(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("mine")
    (tmp_path / "link").symlink_to("target")
    with private_directory(str(tmp_path)) as fd:
        for name in ("target", "link"):
            with pytest.raises(FileExistsError):
                create_private_file(name, fd)
        new = create_private_file("new", fd)
    os.close(new)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o600
    assert (tmp_path / "target").read_text() == "mine"


@pytest.mark.spec("07-253")
class TestSweep:
    def test_old_files_go_and_everything_else_stays(self, tmp_path: Path) -> None:
        root = tmp_path / "root"
        root.mkdir(mode=0o700)
        session = root / "session-0123456789ab"
        mixed = root / "session-aaaaaaaaaaaa"
        for path in (session, mixed):
            path.mkdir(mode=0o700)
            old_file(path / "old")
        (mixed / "young").write_text("young")
        (mixed / "link").symlink_to(old_file(tmp_path / "outside"))
        (mixed / "directory").mkdir()
        foreign = root / "session-not-ours"
        foreign.mkdir(mode=0o700)
        old_file(foreign / "old")
        old_file(root / "old")
        sweep_directory(str(root), older_than=NOW - 1e9, subdirectories=SESSION)
        assert not session.exists()
        assert sorted(os.listdir(mixed)) == ["directory", "link", "young"]
        assert os.listdir(foreign) == ["old"]
        assert (root / "old").exists()
        assert (tmp_path / "outside").exists()

    def test_without_subdirectories_only_the_directory_itself_is_swept(
        self, tmp_path: Path
    ) -> None:
        root = tmp_path / "root"
        root.mkdir(mode=0o700)
        old_file(root / "old")
        (root / "young").touch()
        sweep_directory(str(root), older_than=NOW - 1e9)
        assert os.listdir(root) == ["young"]

    def test_unsafe_places_are_left_alone(self, tmp_path: Path) -> None:
        shared = tmp_path / "shared"
        shared.mkdir()
        shared.chmod(0o777)
        old_file(shared / "old")
        below = shared / "below"
        below.mkdir(mode=0o700)
        old_file(below / "old")
        linked = tmp_path / "linked"
        linked.symlink_to(below)
        for path in (shared, below, linked, tmp_path / "missing", tmp_path / "missing" / "deep"):
            sweep_directory(str(path), older_than=NOW)
        assert (shared / "old").exists()
        assert (below / "old").exists()
        assert not has_protected_ancestors(str(below))

    def test_an_unsafe_session_directory_is_skipped(self, tmp_path: Path) -> None:
        root = tmp_path / "root"
        root.mkdir(mode=0o700)
        planted = tmp_path / "planted"
        planted.mkdir(mode=0o700)
        old_file(planted / "old")
        (root / "session-0123456789ab").symlink_to(planted)
        sweep_directory(str(root), older_than=NOW, subdirectories=SESSION)
        assert (planted / "old").exists()
