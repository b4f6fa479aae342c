"""Hold what finding and reading files must do on every backend."""

# ruff: noqa: D102 - a contract is made of assertions, each under a name that says what holds

import pytest

from harness.fs.contract_files import BackendFiles, refused
from harness.fs.errors import FsArgumentError, FsError
from harness.fs.service import FileSystem
from harness.fs.types import TextEdit


class ReadingContract(BackendFiles):
    """Identity, looking, reading and listing."""

    @pytest.mark.spec("07-160", "07-163")
    async def test_spellings_of_one_file_are_equal_and_tilde_is_literal(
        self, fs: FileSystem, root: str
    ) -> None:
        one = await fs.resolve("a/../b", cwd=root)
        assert one == await fs.resolve("b", cwd=root) == await fs.resolve(f"{root}/b", cwd="/")
        assert hash(one) == hash(await fs.resolve("./b", cwd=root))
        tilde = await fs.resolve("~/.x", cwd=root)
        assert fs.contains(await fs.resolve("~", cwd=root), tilde)
        assert fs.contains(await fs.resolve(".", cwd=root), tilde)
        assert not fs.contains(one, tilde)
        assert not fs.contains(one, await fs.resolve("bc", cwd=root))

    @pytest.mark.spec("07-162")
    async def test_impossible_paths_are_typed_errors(self, fs: FileSystem, root: str) -> None:
        _ = await self.file(fs, root, name="a.txt", data=b"x")
        with refused("FS_NOT_FOUND"):
            _ = await fs.read_text(await fs.resolve("a.txt/b", cwd=root))
        nul = await fs.resolve("a\0b", cwd=root)
        assert await fs.stat(nul) is None
        with refused("FS_NOT_FOUND"):
            _ = await fs.read_text(nul)
        with refused("FS_NOT_FOUND"):
            _ = await fs.list_dir(nul)
        with pytest.raises(FsArgumentError):
            _ = await fs.write_text(nul, "x")
        with pytest.raises(FsArgumentError):
            _ = await fs.edit_text(nul, TextEdit(old="x", new="y"))
        with pytest.raises(FsError):
            _ = await fs.write_text(await fs.resolve("n" * 300, cwd=root), "x")
        with pytest.raises(FsArgumentError):
            _ = await fs.resolve("\ud800", cwd=root)
        with pytest.raises(FsArgumentError):
            _ = await fs.resolve("a", cwd="relative")

    async def test_stat_describes_files_directories_and_nothing(
        self, fs: FileSystem, root: str
    ) -> None:
        target = await self.file(fs, root, name="d/a.txt", data=b"abc")
        info = await fs.stat(target)
        assert info is not None
        assert (info.type, info.size) == ("file", 3)
        assert info == await fs.lstat("d/a.txt", cwd=root)
        directory = await fs.stat(await fs.resolve("d", cwd=root))
        assert directory is not None
        assert (directory.type, directory.size) == ("directory", None)
        assert await fs.stat(await fs.resolve("none", cwd=root)) is None
        assert await fs.lstat("none", cwd=root) is None

    async def test_reading_and_streaming_give_the_same_text(
        self, fs: FileSystem, root: str
    ) -> None:
        text = "".join(f"{number}: žluťoučký 🐎\r\n" for number in range(100_000))
        target = await self.file(fs, root, name="big.txt", data=text.encode())
        assert await fs.read_text(target) == text
        assert "".join([chunk async for chunk in fs.stream_text(target)]) == text
        empty = await self.file(fs, root, name="empty.txt", data=b"")
        assert await fs.read_text(empty) == ""
        assert [chunk async for chunk in fs.stream_text(empty)] == []

    @pytest.mark.spec("07-165")
    async def test_what_is_missing_or_no_file_cannot_be_read(
        self, fs: FileSystem, root: str
    ) -> None:
        here = await fs.resolve(".", cwd=root)
        missing = await fs.resolve("none", cwd=root)
        for target, code in ((here, "FS_NOT_REGULAR_FILE"), (missing, "FS_NOT_FOUND")):
            with refused(code):
                _ = await fs.read_text(target)
            with refused(code):
                _ = await fs.read_bytes(target)
            with refused(code):
                _ = [chunk async for chunk in fs.stream_text(target)]
            with refused(code):
                _ = await fs.edit_text(target, TextEdit(old="a", new="b"))
        with refused("FS_NOT_REGULAR_FILE"):
            _ = await fs.write_text(here, "x")

    @pytest.mark.spec("07-167")
    async def test_nul_near_the_start_is_binary_and_later_only_for_edits(
        self, fs: FileSystem, root: str
    ) -> None:
        early = await self.file(fs, root, name="early", data=b"a" * 8191 + b"\0")
        with refused("FS_NOT_TEXT"):
            _ = await fs.read_text(early)
        with refused("FS_NOT_TEXT"):
            _ = [chunk async for chunk in fs.stream_text(early)]
        late = await self.file(fs, root, name="late", data=b"a" * 8192 + b"\0")
        assert await fs.read_text(late) == "a" * 8192 + "\0"
        with refused("FS_NOT_TEXT"):
            _ = await fs.edit_text(late, TextEdit(old="\0", new="b"))

    @pytest.mark.spec("07-168")
    async def test_invalid_utf8_fails_where_it_is_met(self, fs: FileSystem, root: str) -> None:
        data = bytearray(b"line\n" * (4 * 1024 * 1024))
        data[5 * 1024 * 1024] = 0xFF
        target = await self.file(fs, root, name="bad.txt", data=bytes(data))
        with refused("FS_NOT_TEXT") as refusal:
            _ = await fs.read_text(target)
        assert f"byte {5 * 1024 * 1024}" in str(refusal.value)
        n_good = 0
        with refused("FS_NOT_TEXT") as refusal:
            async for chunk in fs.stream_text(target):
                n_good += len(chunk)
        assert 0 < n_good <= 5 * 1024 * 1024
        assert f"byte {5 * 1024 * 1024}" in str(refusal.value)
        cut = await self.file(fs, root, name="cut.txt", data="ž".encode()[:1])
        with refused("FS_NOT_TEXT"):
            _ = await fs.read_text(cut)

    @pytest.mark.spec("07-169")
    async def test_bytes_are_capped(self, fs: FileSystem, root: str) -> None:
        target = await self.file(fs, root, name="a.bin", data=bytes(range(256)) * 8)
        assert await fs.read_bytes(target) == bytes(range(256)) * 8
        assert len(await fs.read_bytes(target, max_bytes=2048)) == 2048
        with refused("FS_TOO_LARGE"):
            _ = await fs.read_bytes(target, max_bytes=2047)

    async def test_directories_are_listed_in_code_point_order(
        self, fs: FileSystem, root: str
    ) -> None:
        for name in ("b", "a", "Z", "ž", "d/inner"):
            self.put(f"{root}/{name}", b"x")
        here = await fs.resolve(".", cwd=root)
        entries = await fs.list_dir(here)
        assert [entry.name for entry in entries] == ["Z", "a", "b", "d", "ž"]
        assert [entry.type for entry in entries] == ["file"] * 3 + ["directory", "file"]
        assert entries[1].target == await fs.resolve("a", cwd=root)
        with refused("FS_NOT_DIRECTORY"):
            _ = await fs.list_dir(entries[1].target)
        with refused("FS_NOT_FOUND"):
            _ = await fs.list_dir(await fs.resolve("none", cwd=root))
