"""Random programs against the backend and against a dictionary agree."""

import os
import tempfile

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.fs import (
    CreateIfAbsent,
    FileSystem,
    FsError,
    FsVersion,
    ReplaceIfVersion,
    TextEdit,
)
from harness_plugins.fs_local import FsLocal
from vendor_shims.cordis import Context

NAMES = st.sampled_from(["a", "b", "d/c", "link"])
TEXTS = st.text(alphabet="ab\r\n\ufeff", max_size=8)
GUARDS = st.sampled_from(["none", "fresh", "old", "absent"])
STEPS = st.one_of(
    st.tuples(st.just("write"), NAMES, TEXTS, GUARDS),
    st.tuples(st.just("edit"), NAMES, st.text("ab\n", min_size=1, max_size=2), GUARDS),
    st.tuples(st.just("read"), NAMES, st.just(""), st.just("none")),
    st.tuples(st.just("move"), NAMES, NAMES, st.just("none")),
    st.tuples(st.just("delete"), NAMES, st.just(""), st.just("none")),
)
LINKED = {"link": "a"}
BOM = "\ufeff"


class Model:
    """What the files must hold, and what each step must answer."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}

    def write(self, name: str, text: str, guard: str) -> str:
        old = self.files.get(name)
        if guard == "absent" and old is not None:
            return "FS_NOT_OBSERVED"
        if guard == "old" or (guard == "fresh" and old is None):
            return "FS_STALE_VERSION"
        has_bom = old is not None and old.startswith(BOM)
        self.files[name] = BOM + text if has_bom and not text.startswith(BOM) else text
        return "create" if old is None else "update"

    def edit(self, name: str, old: str, guard: str) -> str:
        stored = self.files.get(name)
        if guard in {"old", "absent"} or (guard == "fresh" and stored is None):
            return "FS_STALE_VERSION"
        if stored is None:
            return "FS_NOT_FOUND"
        has_bom = stored.startswith(BOM)
        text = stored[1:] if has_bom else stored
        lf = text.replace("\r\n", "\n")
        if lf.count(old) != 1:
            return "FS_AMBIGUOUS_EDIT" if old in lf else "FS_EDIT_NOT_FOUND"
        before, after = lf.split(old)
        n_before = next(
            size
            for size in range(len(text) + 1)
            if text[:size].replace("\r\n", "\n") == before
            and text[size:].replace("\r\n", "\n") == old + after
        )
        n_after = next(
            size
            for size in range(len(text) + 1)
            if text[len(text) - size :].replace("\r\n", "\n") == after
            and text[n_before : len(text) - size].replace("\r\n", "\n") == old
        )
        new = text[:n_before] + "<>" + text[len(text) - n_after :]
        self.files[name] = BOM + new if has_bom else new
        return "edited"


@pytest.mark.spec("07-188")
@given(st.lists(STEPS, max_size=14))
def test_any_program_leaves_what_the_model_says(program: list[tuple[str, str, str, str]]) -> None:
    with tempfile.TemporaryDirectory() as root:
        os.mkdir(f"{root}/d")
        os.symlink("a", f"{root}/link")
        anyio.run(follow, os.path.realpath(root), program)


async def follow(root: str, program: list[tuple[str, str, str, str]]) -> None:
    model = Model()
    async with Context() as ctx:
        await ctx.plugin(FsLocal)
        fs = ctx[FileSystem]
        for action, name, argument, guard in program:
            stored = LINKED.get(name, name)
            target = await fs.resolve(name, cwd=root)
            if action == "write":
                expected = await intent(fs, target, guard)
                got = await answer(fs.write_text(target, argument, expected=expected))
                assert got == model.write(stored, argument, guard)
            elif action == "edit":
                version = None if guard == "none" else FsVersion("old")
                if guard == "fresh" and (info := await fs.stat(target)) is not None:
                    version = info.version
                edit = TextEdit(old=argument, new="<>")
                got = await answer(fs.edit_text(target, edit, expected=version))
                assert got == model.edit(stored, argument, guard)
            elif action == "read" and stored in model.files:
                assert await fs.read_text(target) == model.files[stored].removeprefix(BOM)
            elif action == "move" and stored in model.files:
                other = LINKED.get(argument, argument)
                os.rename(f"{root}/{stored}", f"{root}/{other}")
                model.files[other] = model.files.pop(stored)
            elif action == "delete" and stored in model.files:
                os.unlink(f"{root}/{stored}")
                del model.files[stored]
            assert on_disk(root) == model.files


async def intent(fs: FileSystem, target, guard: str):
    if guard == "none":
        return None
    if guard == "absent":
        return CreateIfAbsent()
    info = await fs.stat(target)
    if guard == "fresh" and info is not None:
        return ReplaceIfVersion(info.version)
    return ReplaceIfVersion(FsVersion("old"))


async def answer(work) -> str:
    try:
        outcome = await work
    except FsError as exc:
        return exc.code
    return getattr(outcome, "operation", "edited")


def on_disk(root: str) -> dict[str, str]:
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                with open(path, "rb") as file:
                    found[os.path.relpath(path, root)] = file.read().decode()
    return found
