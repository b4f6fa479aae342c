"""Hold what writing and editing files must do on every backend."""

# ruff: noqa: D102 - a contract is made of assertions, each under a name that says what holds

import anyio
import pytest

from harness.fs.contract_files import BackendFiles, outcome_of, refused, version_of
from harness.fs.errors import FsArgumentError
from harness.fs.service import FileSystem
from harness.fs.types import CreateIfAbsent, FsVersion, ReplaceIfVersion, TextEdit
from vendor_shims.cordis import AbortController, AbortSignal

_BOM = b"\xef\xbb\xbf"


class ChangingContract(BackendFiles):
    """Writing, editing, guards, order and aborts."""

    @pytest.mark.spec("07-170", "07-203")
    async def test_write_creates_and_updates(self, fs: FileSystem, root: str) -> None:
        target = await fs.resolve("new/deep/a.txt", cwd=root)
        created = await fs.write_text(target, "one\r\n")
        assert (created.operation, created.before, created.after) == ("create", None, "one\r\n")
        assert created.version == await version_of(fs, target)
        updated = await fs.write_text(target, "")
        assert (updated.operation, updated.before, updated.after) == ("update", "one\r\n", "")
        assert updated.version == await version_of(fs, target) != created.version
        assert self.get(f"{root}/new/deep/a.txt") == b""
        self.put(f"{root}/new/deep/a.txt", b"\0\xff")
        assert (await fs.write_text(target, "ž")).before is None
        assert self.get(f"{root}/new/deep/a.txt") == "ž".encode()

    @pytest.mark.spec("07-171")
    async def test_create_if_absent_refuses_what_exists(self, fs: FileSystem, root: str) -> None:
        target = await self.file(fs, root, name="a.txt", data=b"old")
        with refused("FS_NOT_OBSERVED"):
            _ = await fs.write_text(target, "new", expected=CreateIfAbsent())
        assert self.get(f"{root}/a.txt") == b"old"

    @pytest.mark.spec("07-171")
    async def test_of_several_creators_exactly_one_wins(self, fs: FileSystem, root: str) -> None:
        target = await fs.resolve("a.txt", cwd=root)
        outcomes: dict[str, str] = {}

        async def create(text: str) -> None:
            write = fs.write_text(target, text, expected=CreateIfAbsent())
            outcomes[text] = await outcome_of(write)

        async with anyio.create_task_group() as group:
            for number in range(8):
                group.start_soon(create, str(number))
        assert sorted(outcomes.values()) == ["FS_NOT_OBSERVED"] * 7 + ["done"]
        assert outcomes[self.get(f"{root}/a.txt").decode()] == "done"

    @pytest.mark.spec("07-172", "07-184")
    async def test_guards_refuse_other_states(self, fs: FileSystem, root: str) -> None:
        target = await self.file(fs, root, name="a.txt", data=b"old")
        seen = await version_of(fs, target)
        self.put(f"{root}/a.txt", b"external")
        with refused("FS_STALE_VERSION"):
            _ = await fs.write_text(target, "new", expected=ReplaceIfVersion(seen))
        with refused("FS_STALE_VERSION"):
            _ = await fs.edit_text(target, TextEdit(old="e", new="E"), expected=seen)
        assert self.get(f"{root}/a.txt") == b"external"
        fresh = await version_of(fs, target)
        outcome = await fs.write_text(target, "new", expected=ReplaceIfVersion(fresh))
        edit = TextEdit(old="new", new="newer")
        _ = await fs.edit_text(target, edit, expected=outcome.version)
        assert self.get(f"{root}/a.txt") == b"newer"

    @pytest.mark.spec("07-184")
    async def test_guards_on_what_is_missing(self, fs: FileSystem, root: str) -> None:
        for name in ("none.txt", "nowhere/none.txt"):
            target = await fs.resolve(name, cwd=root)
            edit, seen = TextEdit(old="a", new="b"), FsVersion("seen")
            with refused("FS_STALE_VERSION"):
                _ = await fs.write_text(target, "new", expected=ReplaceIfVersion(seen))
            with refused("FS_STALE_VERSION"):
                _ = await fs.edit_text(target, edit, expected=seen)
            with refused("FS_NOT_FOUND"):
                _ = await fs.edit_text(target, edit)
        assert await fs.stat(await fs.resolve("nowhere", cwd=root)) is None

    @pytest.mark.spec("07-203")
    async def test_unpaired_surrogates_are_refused_before_anything_happens(
        self, fs: FileSystem, root: str
    ) -> None:
        target = await self.file(fs, root, name="a.txt", data=b"old")
        with pytest.raises(FsArgumentError):
            _ = await fs.write_text(target, "x\ud800")
        with pytest.raises(FsArgumentError):
            _ = await fs.edit_text(target, TextEdit(old="old", new="\udc00"))
        assert self.get(f"{root}/a.txt") == b"old"

    @pytest.mark.spec("07-180")
    async def test_byte_order_mark_is_hidden_and_kept(self, fs: FileSystem, root: str) -> None:
        target = await self.file(fs, root, name="a.txt", data=_BOM + b"one")
        assert await fs.read_text(target) == "one"
        assert "".join([chunk async for chunk in fs.stream_text(target)]) == "one"
        edited = await fs.edit_text(target, TextEdit(old="one", new="two"))
        assert (edited.before, edited.after) == ("one", "two")
        assert self.get(f"{root}/a.txt") == _BOM + b"two"
        assert (await fs.write_text(target, "three")).before == "two"
        assert self.get(f"{root}/a.txt") == _BOM + b"three"
        _ = await fs.write_text(target, "\ufefffour")
        assert self.get(f"{root}/a.txt") == _BOM + b"four"
        twice = await self.file(fs, root, name="b.txt", data=_BOM + _BOM + b"one")
        _ = await fs.edit_text(twice, TextEdit(old="one", new="two"))
        assert self.get(f"{root}/b.txt") == _BOM + _BOM + b"two"

    @pytest.mark.spec("07-178", "07-179", "07-181")
    @pytest.mark.parametrize(
        "case",
        [
            (b"a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", b"x\r\ny\r\nz\r\nc\r\n"),
            (b"a\r\nb\nc\r\nd\n", "b\nc\n", "B\nC\n", b"a\r\nB\nC\nd\n"),
            (b"a\r\nb\r\nc\nd", "c", "C\n", b"a\r\nb\r\nC\r\n\nd"),
            (b"a\nb\n", "a\r\nb", "x\r\ny", b"x\ny\n"),
            (b"a\rb\r\rc", "c", "d", b"a\rb\r\rd"),
            (b"a\r\nb", "\n", "\n\n", b"a\r\n\r\nb"),
            (b"no end", "end", "END", b"no END"),
            (b"x" * 5000 + b"\r\ny", "y", "\n", b"x" * 5000 + b"\r\n\r\n"),
        ],
    )
    async def test_line_ends_outside_the_edit_survive(
        self, fs: FileSystem, root: str, case: tuple[bytes, str, str, bytes]
    ) -> None:
        data, old, new, expected = case
        target = await self.file(fs, root, name="a.txt", data=data)
        _ = await fs.edit_text(target, TextEdit(old=old, new=new))
        assert self.get(f"{root}/a.txt") == expected

    @pytest.mark.spec("07-182")
    async def test_ambiguous_edits_need_replace_all(self, fs: FileSystem, root: str) -> None:
        target = await self.file(fs, root, name="a.txt", data=b"foo\r\nbar\r\nfoo\r\n")
        with refused("FS_AMBIGUOUS_EDIT") as refusal:
            _ = await fs.edit_text(target, TextEdit(old="foo", new="x"))
        assert "2 times" in str(refusal.value)
        assert "lines 1, 3" in str(refusal.value)
        outcome = await fs.edit_text(target, TextEdit(old="foo", new="x", replace_all=True))
        assert (outcome.replacements, outcome.after) == (2, "x\r\nbar\r\nx\r\n")
        triple = await self.file(fs, root, name="b.txt", data=b"aaa")
        assert (await fs.edit_text(triple, TextEdit(old="aa", new="b"))).replacements == 1
        assert self.get(f"{root}/b.txt") == b"ba"

    @pytest.mark.spec("07-183")
    @pytest.mark.parametrize("new", [r"\1", r"\g<0>", "$&", "%s", "{0}", "\\"])
    async def test_replacements_are_literal(self, fs: FileSystem, root: str, new: str) -> None:
        target = await self.file(fs, root, name="a.txt", data=b"(.*)\r\n")
        _ = await fs.edit_text(target, TextEdit(old="(.*)", new=new))
        assert self.get(f"{root}/a.txt") == f"{new}\r\n".encode()

    @pytest.mark.spec("07-184")
    async def test_edits_without_a_match_change_nothing(self, fs: FileSystem, root: str) -> None:
        target = await self.file(fs, root, name="a.txt", data=b"one\n")
        before = await version_of(fs, target)
        with refused("FS_EDIT_NOT_FOUND"):
            _ = await fs.edit_text(target, TextEdit(old="two", new="x"))
        with pytest.raises(FsArgumentError):
            _ = await fs.edit_text(target, TextEdit(old="", new="x"))
        assert await version_of(fs, target) == before

    @pytest.mark.spec("07-176")
    async def test_concurrent_edits_are_all_applied_in_order(
        self, fs: FileSystem, root: str
    ) -> None:
        tokens = [f"<{number:03}>" for number in range(100)]
        target = await self.file(fs, root, name="a.txt", data="\n".join(tokens).encode())
        order: list[str] = []

        async def edit(token: str) -> None:
            _ = await fs.edit_text(target, TextEdit(old=token, new=token.upper() + "!"))
            order.append(token)

        async with anyio.create_task_group() as group:
            for token in tokens:
                group.start_soon(edit, token)
        assert self.get(f"{root}/a.txt").decode() == "\n".join(f"{token}!" for token in tokens)
        assert order == tokens

    @pytest.mark.spec("07-177")
    async def test_an_aborted_change_leaves_no_trace(self, fs: FileSystem, root: str) -> None:
        target = await self.file(fs, root, name="a.txt", data=b"0")
        controller = AbortController[AbortSignal]()
        outcomes: dict[str, str] = {}

        async def write(text: str) -> None:
            signal = controller.signal if text == "aborted" else None
            outcomes[text] = await outcome_of(fs.write_text(target, text, signal=signal))

        async with anyio.create_task_group() as group:
            for text in ("first", "aborted", "last"):
                group.start_soon(write, text)
            await anyio.lowlevel.checkpoint()
            _ = controller.abort()
        assert outcomes == {"first": "done", "aborted": "FS_ABORTED", "last": "done"}
        assert self.get(f"{root}/a.txt") == b"last"

    async def test_an_aborted_signal_stops_every_call(self, fs: FileSystem, root: str) -> None:
        target = await self.file(fs, root, name="a.txt", data=b"old")
        controller = AbortController[AbortSignal]()
        _ = controller.abort("enough")
        signal = controller.signal
        with refused("FS_ABORTED"):
            _ = await fs.resolve("a.txt", cwd=root, signal=signal)
        with refused("FS_ABORTED"):
            _ = await fs.stat(target, signal)
        with refused("FS_ABORTED"):
            _ = await fs.read_text(target, signal)
        with refused("FS_ABORTED"):
            _ = [chunk async for chunk in fs.stream_text(target, signal)]
        with refused("FS_ABORTED"):
            _ = await fs.write_text(target, "new", signal=signal)
        with refused("FS_ABORTED"):
            _ = await fs.edit_text(target, TextEdit(old="old", new="new"), signal=signal)
        assert self.get(f"{root}/a.txt") == b"old"
