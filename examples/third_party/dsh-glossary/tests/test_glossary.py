"""The service: what it keeps, where, and what it refuses."""

from pathlib import Path

import pytest

from dsh_glossary import Glossary, GlossaryFileError, TermError
from vendor_shims.cordis import Context, ValidationError
from vendor_shims.testing import kernel, plugin_probe, record_events


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Name a file that does not exist yet, in a folder that does not either."""
    return tmp_path / "deep" / "glossary.json"


async def mounted(root: Context, path: Path) -> Glossary:
    """Mount the service on a root, and return it."""
    await root.plugin(Glossary, {"path": str(path)})
    glossary = root.get(Glossary)
    assert glossary is not None
    return glossary


async def test_nothing_is_left_of_it(path: Path) -> None:
    """Mount, restart and dispose it: the kit compares the tree with what it was before."""
    report = await plugin_probe(Glossary, config={"path": str(path)})
    assert report.services == ["glossary"]
    assert report.errors == []


async def test_terms_survive(path: Path) -> None:
    """Define in one tree, find in another, in any case of letters."""
    async with Context() as root:
        await (await mounted(root, path)).define("Skip  lot", " a lot that no test samples ")
    async with Context() as root:
        glossary = await mounted(root, path)
        assert glossary.meaning("SKIP LOT") == "a lot that no test samples"
        await glossary.define("skip lot", "another meaning")
        assert dict(glossary.terms) == {"skip lot": "another meaning"}


async def test_event_follows_a_definition(path: Path) -> None:
    """Listeners hear of a term when the file has it."""
    async with kernel() as made:
        glossary = await mounted(made.root, path)
        heard = record_events(made.root, "glossary/*")
        await glossary.define("golden lot", "the lot that others are compared with")
        golden = ("golden lot", "the lot that others are compared with")
        assert [(event.name, event.args) for event in heard] == [("glossary/defined", golden)]


async def test_two_processes_lose_nothing(path: Path) -> None:
    """A write starts from what the file holds, not from what was read at the start."""
    async with Context() as one, Context() as other:
        first, second = await mounted(one, path), await mounted(other, path)
        await first.define("wafer", "a disc")
        await second.define("die", "a piece of a wafer")
        assert list(second.terms) == ["wafer", "die"]


@pytest.mark.parametrize(
    ("term", "meaning"), [("", "x"), ("x" * 81, "x"), ("x", " "), ("x", "y" * 501)]
)
async def test_bad_terms_are_refused(path: Path, term: str, meaning: str) -> None:
    """What cannot be taken leaves no file."""
    async with Context() as root:
        glossary = await mounted(root, path)
        with pytest.raises(TermError, match="characters"):
            await glossary.define(term, meaning)
    assert not path.exists()


@pytest.mark.parametrize(
    ("content", "problem"),
    [("{", "repair or remove"), ("[]", "expected an object"), ('{"a": 1}', "'a' must have a text")],
)
async def test_foreign_file_is_kept(path: Path, content: str, problem: str) -> None:
    """A file of something else stops the service, and stays as it is."""
    path.parent.mkdir()
    path.write_text(content, encoding="utf-8")
    with pytest.raises(GlossaryFileError, match=problem):
        await plugin_probe(Glossary, config={"path": str(path)})
    assert path.read_text(encoding="utf-8") == content


async def test_disk_that_refuses(tmp_path: Path) -> None:
    """A file where a folder should be is an error that names the path."""
    async with Context() as root:
        root.plugin(Glossary, {"path": str(tmp_path / "other" / "glossary.json")})
        await root.settle()
        (tmp_path / "other").write_text("", encoding="utf-8")
        with pytest.raises(GlossaryFileError, match=r"glossary\.json"):
            await root[Glossary].define("a", "b")


async def test_wrong_config_is_refused() -> None:
    """A row needs a path, and nothing that the plugin does not know."""
    with pytest.raises(ValidationError, match="path"):
        await plugin_probe(Glossary, config={"file": "x"})
