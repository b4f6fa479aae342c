"""Changes on a real disk: all or nothing, with the old file's looks, and no residue."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from harness.fs import (
    CreateIfAbsent,
    FileSystem,
    FsError,
    ReplaceIfVersion,
    TextEdit,
)


@pytest.mark.spec("07-173")
async def test_mode_is_kept_and_a_new_file_honours_the_umask(
    fs: FileSystem, root: str, disk
) -> None:
    script = await fs.resolve("run.sh", cwd=root)
    disk.put("run.sh", "#!/bin/sh\n")
    os.chmod(f"{root}/run.sh", 0o4755)
    await fs.write_text(script, "#!/bin/sh\necho\n")
    assert stat.S_IMODE(os.stat(f"{root}/run.sh").st_mode) == 0o755
    await fs.edit_text(script, TextEdit(old="echo", new="true"))
    assert stat.S_IMODE(os.stat(f"{root}/run.sh").st_mode) == 0o755
    previous = os.umask(0o027)
    try:
        await fs.write_text(await fs.resolve("new.txt", cwd=root), "x", expected=CreateIfAbsent())
    finally:
        os.umask(previous)
    assert stat.S_IMODE(os.stat(f"{root}/new.txt").st_mode) == 0o640
    assert sorted(os.listdir(root)) == ["new.txt", "run.sh"]


@pytest.mark.spec("07-174")
async def test_failed_changes_leave_no_residue(fs: FileSystem, root: str) -> None:
    target = await fs.resolve("a.txt", cwd=root)
    await fs.write_text(target, "old")
    with pytest.raises(FsError):
        await fs.write_text(target, "new", expected=CreateIfAbsent())
    with pytest.raises(FsError):
        await fs.edit_text(target, TextEdit(old="none", new="x"))
    assert os.listdir(root) == ["a.txt"]


@pytest.mark.spec("07-175")
async def test_writing_through_a_link_changes_what_it_names(
    fs: FileSystem, root: str, disk
) -> None:
    os.mkdir(f"{root}/d")
    os.symlink("d/real.txt", f"{root}/link")
    created = await fs.write_text(await fs.resolve("link", cwd=root), "one")
    assert created.operation == "create"
    await fs.write_text(await fs.resolve("link", cwd=root), "two")
    await fs.edit_text(await fs.resolve("link", cwd=root), TextEdit(old="two", new="three"))
    assert os.readlink(f"{root}/link") == "d/real.txt"
    assert disk.get("d/real.txt") == b"three"


async def test_a_hard_link_is_broken_and_reported(fs: FileSystem, root: str, disk) -> None:
    target = await fs.resolve("a.txt", cwd=root)
    assert not (await fs.write_text(target, "old")).broke_hard_link
    os.link(f"{root}/a.txt", f"{root}/b.txt")
    assert (await fs.write_text(target, "new")).broke_hard_link
    assert disk.get("b.txt") == b"old"
    os.link(f"{root}/a.txt", f"{root}/c.txt")
    assert (await fs.edit_text(target, TextEdit(old="new", new="x"))).broke_hard_link


async def test_extended_attributes_survive(fs: FileSystem, root: str) -> None:
    target = await fs.resolve("a.txt", cwd=root)
    await fs.write_text(target, "old")
    try:
        os.setxattr(f"{root}/a.txt", "user.note", b"kept")
    except OSError as exc:
        pytest.skip(f"the file system of the test has no extended attributes: {exc}")
    await fs.write_text(target, "new")
    assert os.getxattr(f"{root}/a.txt", "user.note") == b"kept"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
async def test_owner_and_group_survive(fs: FileSystem, root: str) -> None:
    target = await fs.resolve("a.txt", cwd=root)
    await fs.write_text(target, "old")
    os.chown(f"{root}/a.txt", 12345, 54321)
    await fs.write_text(target, "new")
    info = os.stat(f"{root}/a.txt")
    assert (info.st_uid, info.st_gid) == (12345, 54321)


@pytest.mark.spec("07-172")
async def test_a_touch_with_restored_times_is_still_a_change(
    fs: FileSystem, root: str, disk
) -> None:
    target = await fs.resolve("a.txt", cwd=root)
    outcome = await fs.write_text(target, "one")
    info = os.stat(f"{root}/a.txt")
    disk.put("a.txt", "two")
    os.utime(f"{root}/a.txt", ns=(info.st_atime_ns, info.st_mtime_ns))
    with pytest.raises(FsError) as refusal:
        await fs.write_text(target, "three", expected=ReplaceIfVersion(outcome.version))
    assert refusal.value.code == "FS_STALE_VERSION"
    assert disk.get("a.txt") == b"two"


@pytest.mark.spec("07-170")
async def test_a_basis_of_ten_mebibytes_is_not_kept(fs: FileSystem, root: str, disk) -> None:
    target = await fs.resolve("a.txt", cwd=root)
    limit = 10 * 1024 * 1024
    disk.put("a.txt", b"\xef\xbb\xbf" + b"a" * (limit - 3))
    assert (await fs.write_text(target, "b" * (limit - 4))).before is None
    assert os.stat(f"{root}/a.txt").st_size == limit - 1
    assert (await fs.write_text(target, "c")).before == "b" * (limit - 4)
    assert disk.get("a.txt") == b"\xef\xbb\xbfc"


async def test_texts_beyond_the_limit_are_refused(fs: FileSystem, root: str, disk) -> None:
    disk.stretch("huge.txt", 1024**3)
    target = await fs.resolve("huge.txt", cwd=root)
    for attempt in (fs.read_text(target), fs.edit_text(target, TextEdit(old="a", new="b"))):
        with pytest.raises(FsError) as refusal:
            await attempt
        assert refusal.value.code == "FS_TOO_LARGE"
    assert (await fs.write_text(target, "small")).before is None


CHILD = """
import os, sys
import anyio
from harness.fs import FileSystem, FsError, TextEdit, CreateIfAbsent
from harness_plugins.fs_local import FsLocal
from vendor_shims.cordis import Context

async def main(body):
    async with Context() as root:
        await root.plugin(FsLocal)
        await body(root[FileSystem])

async def refused(attempt):
    try:
        await attempt
    except FsError as exc:
        print(exc.code, exc)
    else:
        print("done")
"""


def run_child(body: str, *arguments: str) -> str:
    """Run `body` in a process of its own, which may lose rights that the test needs itself."""
    done = subprocess.run(
        [sys.executable, "-c", f"{CHILD}\n{body}\nanyio.run(main, body)", *arguments],
        check=True,
        capture_output=True,
        text=True,
        timeout=50,
    )
    return done.stdout


@pytest.mark.spec("07-174")
def test_what_the_system_forbids_is_a_typed_error(root: str, disk) -> None:
    os.chmod(root, 0o755)
    for parent in Path(root).parents:
        if parent.stat().st_uid == os.geteuid() and not parent.stat().st_mode & 0o001:
            os.chmod(parent, 0o755)
    for name in ("closed", "open"):
        os.mkdir(f"{root}/{name}")
        Path(root, name, "a.txt").write_text("old")
    os.mkdir(f"{root}/open/hidden")
    for name, mode in (("secret.txt", 0o000), ("fixed.txt", 0o444), ("blind.txt", 0o222)):
        Path(root, "open", name).write_text("old")
        os.chmod(f"{root}/open/{name}", mode)
    if os.geteuid() == 0:
        for path in Path(root, "open").iterdir():
            os.chown(path, 65534, 65534)
        os.chown(f"{root}/open", 65534, 65534)
    os.chmod(f"{root}/closed", 0o555)
    os.chmod(f"{root}/open/hidden", 0o000)
    out = run_child(
        """
async def body(fs):
    import ctypes  # while the interpreter's own files can still be read
    if os.geteuid() == 0:
        os.setgroups([]); os.setegid(65534); os.seteuid(65534)
    root = sys.argv[1]
    async def at(path): return await fs.resolve(path, cwd=root)
    await refused(fs.read_text(await at("open/secret.txt")))
    await refused(fs.write_text(await at("open/fixed.txt"), "new"))
    await refused(fs.edit_text(await at("open/blind.txt"), TextEdit(old="old", new="new")))
    await refused(fs.write_text(await at("closed/a.txt"), "new"))
    await refused(fs.write_text(await at("closed/b.txt"), "new", expected=CreateIfAbsent()))
    await refused(fs.list_dir(await at("open/hidden")))
    await refused(fs.resolve("open/hidden/x", cwd=root))
    outcome = await fs.write_text(await at("open/blind.txt"), "new")
    print(outcome.operation, outcome.before)
    if os.getuid() == 0:
        os.seteuid(0); os.setegid(0)
""",
        root,
    )
    *refusals, written = out.splitlines()
    assert [line.split()[0] for line in refusals] == ["FS_PERMISSION_DENIED"] * 7
    assert all("permission denied" in line for line in refusals)
    assert written == "update None"
    assert stat.S_IMODE(os.stat(f"{root}/open/blind.txt").st_mode) == 0o222
    assert disk.get("closed/a.txt") == b"old"
    assert os.listdir(f"{root}/closed") == ["a.txt"]


@pytest.mark.spec("07-174")
def test_a_write_that_does_not_fit_leaves_the_original(root: str, disk) -> None:
    Path(root, "a.txt").write_text("old")
    out = run_child(
        """
import resource
async def body(fs):
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
    target = await fs.resolve("a.txt", cwd=sys.argv[1])
    await refused(fs.write_text(target, "x" * 200_000))
    await refused(fs.edit_text(target, TextEdit(old="old", new="y" * 200_000)))
    await refused(fs.write_text(target, "fits"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
""",
        root,
    )
    assert [line.split()[0] for line in out.splitlines()] == ["FS_IO_ERROR"] * 2 + ["done"]
    assert "larger than the system allows" in out
    assert disk.get("a.txt") == b"fits"
    assert os.listdir(root) == ["a.txt"]


@pytest.mark.spec("07-174")
def test_a_full_disk_leaves_the_original(root: str, disk) -> None:
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", root], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting a small file system needs rights that this test does not have")
    try:
        Path(root, "a.txt").write_text("old")
        out = run_child(
            """
async def body(fs):
    target = await fs.resolve("a.txt", cwd=sys.argv[1])
    await refused(fs.write_text(target, "x" * 1_000_000))
""",
            root,
        )
        assert out.startswith("FS_IO_ERROR")
        assert "no space is left" in out
        assert disk.get("a.txt") == b"old"
        assert os.listdir(root) == ["a.txt"]
    finally:
        subprocess.run(["umount", root], check=True)


@pytest.mark.spec("07-174")
def test_a_killed_writer_leaves_one_whole_content(root: str, disk) -> None:
    size = 400_000
    body = f"""
async def body(fs):
    target = await fs.resolve("a.txt", cwd=sys.argv[1])
    for number in range(10_000):
        await fs.write_text(target, chr(97 + number % 26) * {size})
        if number == 2:
            print("going", flush=True)
"""
    for pause_writes in range(4):
        with subprocess.Popen(
            [sys.executable, "-c", f"{CHILD}\n{body}\nanyio.run(main, body)", root],
            stdout=subprocess.PIPE,
            env={key: value for key, value in os.environ.items() if "COVERAGE" not in key},
        ) as child:
            assert child.stdout is not None
            child.stdout.readline()
            for _ in range(pause_writes * 50):  # somewhere inside another write
                os.stat(f"{root}/a.txt")
            child.send_signal(signal.SIGKILL)
        content = disk.get("a.txt")
        assert len(content) == size
        assert content == content[:1] * size
