"""Identity on a real disk: links, loops, odd names, closed directories."""

import os

import pytest

from harness.fs import FileSystem, FsError


@pytest.mark.spec("07-160", "07-161")
async def test_links_lead_to_the_real_file(fs: FileSystem, root: str) -> None:
    os.mkdir(f"{root}/real")
    os.symlink("real", f"{root}/link")
    through_link = await fs.resolve("link/new.txt", cwd=root)
    assert through_link == await fs.resolve("real/new.txt", cwd=root)
    assert fs.process_path(through_link) == f"{root}/real/new.txt"
    assert through_link.display_path == f"{root}/link/new.txt"
    await fs.write_text(through_link, "x")
    assert os.listdir(f"{root}/real") == ["new.txt"]
    os.mkdir(f"{root}/real/sub")
    os.symlink("real/sub", f"{root}/deep")
    up = await fs.resolve("deep/../new.txt", cwd=root)
    assert up == through_link
    assert up.display_path == f"{root}/real/new.txt"


@pytest.mark.spec("07-162")
async def test_a_loop_of_links_is_an_error(fs: FileSystem, root: str) -> None:
    os.symlink("b", f"{root}/a")
    os.symlink("a", f"{root}/b")
    for path in ("a", "a/x"):
        with pytest.raises(FsError, match="symbolic links") as refusal:
            await fs.resolve(path, cwd=root)
        assert refusal.value.code == "FS_IO_ERROR"
    loop = await fs.lstat("a", cwd=root)
    assert loop is not None
    assert loop.type == "symlink"


@pytest.mark.spec("07-162")
async def test_a_name_that_is_too_long_is_an_error(fs: FileSystem, root: str) -> None:
    with pytest.raises(FsError, match="name is too long") as refusal:
        await fs.resolve("n" * 300, cwd=root)
    assert refusal.value.code == "FS_IO_ERROR"
    with pytest.raises(FsError, match="name is too long"):
        await fs.lstat("n" * 300, cwd=root)


async def test_below_a_file_there_is_nothing(fs: FileSystem, root: str, disk) -> None:
    disk.put("a.txt", "x")
    assert await fs.lstat("a.txt/b", cwd=root) is None
    with pytest.raises(FsError, match="not a directory") as refusal:
        await fs.resolve("a.txt/b", cwd=root)
    assert refusal.value.code == "FS_NOT_FOUND"


@pytest.mark.spec("07-164")
async def test_names_that_are_not_utf8_are_listed_and_opened(
    fs: FileSystem, root: str, disk
) -> None:
    disk.put(os.fsdecode(b"caf\xe9"), "coffee")
    disk.put("new\nline", "x")
    os.symlink("new\nline", f"{root}/z-link")
    entries = await fs.list_dir(await fs.resolve(".", cwd=root))
    assert [entry.name for entry in entries] == [r"caf\xe9", r"new\nline", "z-link"]
    assert await fs.read_text(entries[0].target) == "coffee"
    assert entries[0].target.display_path == rf"{root}/caf\xe9"
    assert fs.file_url(entries[0].target) == f"file://{root}/caf%E9"
    assert entries[2].type == "symlink"
    assert entries[2].target == entries[1].target


async def test_the_root_contains_everything(fs: FileSystem, root: str) -> None:
    top = await fs.resolve("/", cwd=root)
    assert fs.contains(top, await fs.resolve(".", cwd=root))
    assert fs.contains(top, top)
    with pytest.raises(FsError) as refusal:
        await fs.write_text(top, "x")
    assert refusal.value.code == "FS_NOT_REGULAR_FILE"
    assert (await fs.lstat("/", cwd=root)) is not None
