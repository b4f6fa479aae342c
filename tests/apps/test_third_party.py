"""A distribution of somebody else: built, added, patched, replaced while it runs, and removed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from harness.testing import MockServer, text_reply, tool_call_reply
from harness.wire import dumps_text, loads

pytestmark = pytest.mark.timeout(180)

ROOT = Path(__file__).parents[2]
PROJECT = ROOT / "examples" / "third_party" / "dsh-glossary"
PIP = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_CONFIG_FILE": os.devnull}
"""Build with what the development group has, without an index; "0" is pip's word for that."""


def copy_project(folder: Path) -> Path:
    """Copy the project without what its tests or editors left there."""
    litter = shutil.ignore_patterns("__pycache__", ".*_cache", "dist")
    return Path(shutil.copytree(PROJECT, folder, ignore=litter))


def build(project: Path, folder: Path) -> Path:
    """Build the wheel of a project."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, project]
    subprocess.run(command, check=True, env={**os.environ, **PIP})
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("glossary")
    return build(copy_project(folder / "project"), folder / "wheels")


@pytest.fixture
def pip(dsh) -> None:
    dsh.environment |= PIP


def profile_of(dsh) -> Path:
    return dsh.home / "py" / "profiles" / "headless"


def files_of(folder: Path) -> dict[str, bytes]:
    """Give every file below a folder with its bytes; a lock that nobody holds is nothing."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "site.lock"
    }


def tool_names(listing: str) -> list[str]:
    return [line.partition(" ")[0] for line in listing.split("\n")[:-2]]


def test_its_own_tests_pass(tmp_path):
    project = copy_project(tmp_path / "project")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


def test_wheel_of_the_harness_has_the_template_and_no_example(tmp_path):
    with zipfile.ZipFile(build(ROOT, tmp_path)) as archive:
        names = set(archive.namelist())
    template = ROOT / "plugins" / "harness_plugins" / "launcher" / "project_template"
    files = [path for path in template.rglob("*.template") if path.is_file()]
    assert len(files) == 7
    assert {str(path.relative_to(ROOT / "plugins")) for path in files} <= names
    assert not [name for name in names if "glossary" in name or name.startswith("examples")]


def test_wheel_holds_the_package_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        points = archive.read("dsh_glossary-1.2.0.dist-info/entry_points.txt").decode()
    assert {name.partition("/")[0] for name in names} == {
        "dsh_glossary",
        "dsh_glossary-1.2.0.dist-info",
    }
    assert {"dsh_glossary/patch.yml", "dsh_glossary/py.typed"} <= set(names)
    assert "[harness.bundles]\nglossary = dsh_glossary:patch.yml\n" in points
    assert "[harness.plugins]\nglossary = dsh_glossary:Glossary\n" in points


@pytest.mark.spec("09-C125")
@pytest.mark.usefixtures("pip")
async def test_wheel_is_added_found_used_patched_and_removed(dsh, server, wheel):
    dsh.use(server)
    before, tools_before = await dsh("--dump-config"), await dsh("tools")
    assert (before.code, tools_before.code) == (0, 0)
    files_before = files_of(dsh.home)

    added = await dsh("plugin", "--profile", "headless", "add", str(wheel))
    assert added.code == 0, added.stderr
    offer = "layer glossary, plugin glossary, plugin glossary-tools"
    assert f"added dsh-glossary 1.2.0: {offer}\n" in added.out
    assert (await dsh("plugin", "list")).out == f"dsh-glossary  1.2.0  {offer}\n"
    dump = await dsh("--dump-config")
    assert dump.out.startswith(before.out.rstrip("\n"))
    assert dump.out[len(before.out) :].lstrip("\n") == (
        "# == bundle glossary\n"
        "- id: glossary\n"
        "  name: glossary\n"
        "  config:\n"
        '    path: ${dsh_home_path("py", "glossary.json")}\n'
        "- id: glossary-tools\n"
        "  name: glossary-tools\n"
    )
    tools = await dsh("tools")
    mine = ["define_term", "look_up_term"]
    assert sorted(tool_names(tools.out)) == sorted([*tool_names(tools_before.out), *mine])

    server.enqueue(
        tool_call_reply("define_term", {"term": "golden lot", "meaning": "the best of all lots"}),
        text_reply("noted"),
        tool_call_reply("look_up_term", {"term": "Golden Lot"}),
        text_reply("found"),
    )
    first = await dsh("run", "--json", "remember what a golden lot is")
    assert first.only("tool_result")["result"] == "Noted. Terms in the glossary: 1.", first.stderr
    glossary = dsh.home / "py" / "glossary.json"
    assert loads(glossary.read_bytes()) == {"golden lot": "the best of all lots"}
    second = await dsh("run", "--json", "what is a golden lot?")
    assert second.only("tool_result")["result"] == "the best of all lots"
    assert b"Words with a meaning of their own here: golden lot" in server.requests[2].body

    patch = profile_of(dsh) / "cordis.patch.yml"
    patch.write_text("- id: glossary-tools\n  merge: {mayDefine: false}\n")
    assert tool_names((await dsh("tools")).out) == [
        name for name in tool_names(tools.out) if name != "define_term"
    ]
    patched = await dsh("--dump-config")
    assert "# == bundle glossary, patched by " in patched.out
    patch.write_text("- id: glossary-tools\n  merge: {mayDefin: false}\n")
    broken = await dsh("run", "--strict", "hello")
    assert (broken.code, broken.code_line) == (3, "BOOT")
    assert "config.mayDefin" in broken.stderr
    assert "cordis.patch.yml:2" in broken.stderr
    patch.unlink()

    removed = await dsh("plugin", "remove", "dsh-glossary")
    assert removed.out.startswith("removed dsh-glossary\n"), removed.stderr
    assert (await dsh("--dump-config")).stdout == before.stdout
    assert (await dsh("tools")).stdout == tools_before.stdout
    assert (await dsh("plugin", "list")).out == ""
    left = files_of(dsh.home)
    changed = {name for name in left if files_before.get(name) != left[name]}
    profile = "py/profiles/headless/profile.yml"
    own = {name for name in changed if name.startswith(("py/sessions/", "py/logs/"))}
    assert changed - own <= {"py/glossary.json", "py/glossary.json.lock", profile}
    assert "glossary" not in (dsh.home / profile).read_text()
    assert list(profile_of(dsh).glob("site*")) == [profile_of(dsh) / "site.lock"]
    assert loads(glossary.read_bytes()) != {}, "what its user wrote is not the plugin's to remove"


@pytest.mark.spec("09-C037")
@pytest.mark.usefixtures("pip")
async def test_row_that_waits_for_its_service_names_it(dsh, wheel):
    assert (await dsh("plugin", "add", str(wheel))).code == 0
    done = await dsh("run", "--offline", "--disable", "glossary", "hello")
    assert done.code == 0, done.stderr
    assert "glossary-tools does not run: " in done.stderr
    strict = await dsh("run", "--offline", "--strict", "--disable", "glossary", "hello")
    assert (strict.code, strict.code_line) == (3, "BOOT")
    assert "glossary-tools  waiting  glossary\n" in strict.stderr


@pytest.mark.parametrize("polling", ["false", "true"], ids=["told", "polling"])
@pytest.mark.usefixtures("pip")
async def test_code_edited_on_disk_is_used_by_the_process_that_runs(dsh, tmp_path, polling):
    """The model asks the same again and again until it is told what the new code says."""
    project = copy_project(tmp_path / "glossary")
    added = await dsh("plugin", "add", "-e", str(project))
    assert added.code == 0, added.stderr
    assert f"""dsh --enable hmr --set 'hmr.root=[".","{project}"]' run""" in added.stderr
    tools = project / "src" / "dsh_glossary" / "tools.py"
    old, new = "the glossary has no", "nobody ever wrote down"
    replies: Iterator[str] = iter(("ask", "edit"))

    def answer(request):
        last = loads(request.body)["messages"][-1]
        if last["role"] == "tool" and new in last["content"]:
            return text_reply("that is new")
        if next(replies, "ask") == "edit":
            assert old in last["content"]
            tools.write_text(tools.read_text().replace(old, new))
        asked = tool_call_reply("look_up_term", {"term": "wafer"})
        return attrs.evolve(asked, delay_s=0.05)

    root = dumps_text([".", str(project)])
    flags = ("--enable", "hmr", "--set", f"hmr.root={root}", "--set", f"hmr.polling={polling}")
    async with MockServer(respond=answer) as server:
        dsh.use(server)
        done = await dsh("run", "--json", *flags, "what is a wafer?")
    assert done.code == 0, done.stderr
    results = [line["result"] for line in done.lines if line["type"] == "tool_result"]
    assert old in results[0]
    assert new in results[-1]
    assert done.only("final")["text"] == "that is new"
    assert (await dsh("plugin", "remove", "dsh-glossary")).code == 0
    assert not (profile_of(dsh) / "site").exists()
    assert new in tools.read_text(), "the project stays its author's"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("no wheel at all", "is invalid"),
        ("no metadata", "BadMetadata"),
        ("a version that is none", "1.2.0.nonsense"),
        ("a newer harness", "depends on dsh-harness>=99"),
        ("something that exists nowhere", "dsh-of-nobody"),
    ],
)
@pytest.mark.spec("09-C126")
@pytest.mark.usefixtures("pip")
async def test_wheel_that_cannot_be_installed_changes_nothing(dsh, wheel, tmp_path, wrong, words):
    assert (await dsh("plugin", "list")).code == 0
    assert (await dsh("tools")).code == 0
    before = files_of(dsh.home)
    bad = tmp_path / "bad" / wheel.name
    bad.parent.mkdir()
    spoil(wheel, bad, wrong)
    done = await dsh("plugin", "add", str(bad))
    assert done.code in (1, 2), "what pip ended with"
    assert done.code_line == "PLUGIN_INSTALL"
    assert "the profile is as it was" in done.stderr
    assert words in done.stderr
    shown = done.stderr[done.stderr.index("dsh: PLUGIN_INSTALL") :]
    assert len(shown.rstrip().split("\n")) <= 21
    after = files_of(dsh.home)
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) <= {"py/profiles/headless/profile.yml"}
    assert list(profile_of(dsh).glob("site*")) == [profile_of(dsh) / "site.lock"]


def spoil(wheel: Path, bad: Path, wrong: str) -> None:
    """Write a wheel with one fault."""
    if wrong == "no wheel at all":
        bad.write_bytes(b"PK\3\4 and then nothing of the kind")
        return
    edits = {
        "a version that is none": ("Version: 1.2.0", "Version: 1.2.0.nonsense"),
        "a newer harness": ("dsh-harness>=0.1", "dsh-harness>=99"),
        "something that exists nowhere": ("dsh-harness>=0.1", "dsh-of-nobody"),
    }
    with zipfile.ZipFile(wheel) as good, zipfile.ZipFile(bad, "w") as archive:
        for name in good.namelist():
            text = good.read(name)
            if name.endswith("/METADATA"):
                if wrong == "no metadata":
                    continue
                old, new = (part.encode() for part in edits[wrong])
                assert old in text
                text = text.replace(old, new)
            archive.writestr(name, text)
