"""`dsh plugin` installs into one profile with the real pip, whole or not at all."""

from __future__ import annotations

import os
import sys
import venv
from pathlib import Path

import pytest

from harness.durable_files import try_file_lock
from harness.testing import text_reply, tool_call_reply
from harness.wire import loads

BACKEND = """
import os
import zipfile
from pathlib import Path

{facts}

def _wheel(folder, files):
    name = f"{{NAME.replace('-', '_')}}-{{VERSION}}-py3-none-any.whl"
    info = f"{{NAME.replace('-', '_')}}-{{VERSION}}.dist-info"
    metadata = f"Metadata-Version: 2.1\\nName: {{NAME}}\\nVersion: {{VERSION}}\\nSummary: a test\\n"
    metadata += "".join(f"Requires-Dist: {{need}}\\n" for need in NEEDS)
    files[f"{{info}}/METADATA"] = metadata
    files[f"{{info}}/WHEEL"] = "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
    files[f"{{info}}/entry_points.txt"] = POINTS
    record = "".join(f"{{path}},,\\n" for path in [*files, f"{{info}}/RECORD"])
    with zipfile.ZipFile(os.path.join(folder, name), "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
        wheel.writestr(f"{{info}}/RECORD", record)
    return name

def build_wheel(folder, config=None, metadata=None):
    if FAILS:
        raise SystemExit("the build of this package fails on purpose")
    files = [*Path().glob("*/*.py"), *Path().glob("*/*.yml")]
    return _wheel(folder, {{path.as_posix(): path.read_text() for path in files}})

def build_editable(folder, config=None, metadata=None):
    return _wheel(folder, {{f"_{{MODULE}}.pth": os.getcwd() + "\\n"}})
"""
PYPROJECT = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""
LAYER = "- insert:\n  - id: hello\n    name: MODULE\n"
PLUGIN = '''
"""Say hello."""

from harness.tools import tool

inject = ["tools"]

@tool
async def hello(name: str) -> str:
    """Greet somebody.

    Args:
        name: whom.
    """
    return f"hello from {__name__}, {name}"

def apply(ctx):
    ctx.tools.register(hello)
'''


def make_project(
    folder: Path,
    name: str = "dsh-hello",
    *,
    version: str = "0.1.0",
    needs: tuple[str, ...] = (),
    points: str = "[harness.bundles]\nhello = dsh_hello:patch.yml\n",
    fails: bool = False,
) -> Path:
    """Write a project that builds without anything from the network."""
    module = name.replace("-", "_")
    (folder / module).mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text(PYPROJECT)
    facts = {
        "NAME": name, "VERSION": version, "MODULE": module, "NEEDS": needs, "POINTS": points,
        "FAILS": fails,
    }  # fmt: skip
    lines = "\n".join(f"{key} = {value!r}" for key, value in facts.items())
    (folder / "backend.py").write_text(BACKEND.format(facts=lines))
    (folder / module / "__init__.py").write_text(PLUGIN)
    (folder / module / "patch.yml").write_text(LAYER.replace("MODULE", module))
    return folder


@pytest.fixture
def offline_pip(dsh, tmp_path):
    """Let pip find nothing but what lies in a folder; gives that folder."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    dsh.environment |= {
        "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_CONFIG_FILE": os.devnull,
    }  # fmt: skip
    return wheels


def build(project: Path, wheels: Path) -> None:
    """Put the wheel of a project where pip finds it."""
    scope: dict[str, object] = {}
    exec((project / "backend.py").read_text(), scope)
    before = os.getcwd()
    os.chdir(project)
    try:
        scope["build_wheel"](str(wheels))  # pyright: ignore[reportCallIssue] - it is a function
    finally:
        os.chdir(before)


def folder_of(dsh) -> Path:
    return dsh.home / "py" / "profiles" / "headless"


def leftovers(dsh) -> list[str]:
    return sorted(
        path.name
        for path in folder_of(dsh).iterdir()
        if path.name not in ("profile.yml", "site", "site.lock")
    )


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its bytes."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "site.lock"
    }


@pytest.mark.spec("09-C125")
@pytest.mark.usefixtures("offline_pip")
async def test_a_plugin_is_added_to_the_composition_and_removed_without_trace(dsh, server):
    make_project(dsh.cwd / "hello", needs=("dsh-harness", "attrs>=20"))
    before = await dsh("config", "show")
    assert before.code == 0
    done = await dsh("plugin", "--profile", "headless", "add", "./hello")
    assert done.code == 0, done.stderr
    assert "added dsh-hello 0.1.0: layer hello" in done.out
    assert done.stderr.startswith("installing runs code of third parties")
    assert leftovers(dsh) == []
    shown = await dsh("config", "show")
    assert "# == bundle hello\n- id: hello\n" in shown.out
    assert "\nhello " in (await dsh("tools")).out
    dsh.use(server)
    server.enqueue(tool_call_reply("hello", {"name": "you"}), text_reply("done"))
    run = await dsh("run", "--json", "greet me")
    assert run.code == 0, run.stderr
    assert run.only("tool_result")["result"] == "hello from dsh_hello, you"
    profile = (folder_of(dsh) / "profile.yml").read_text()
    assert "bundles: [base, headless, hello]" in profile
    assert f"dsh-hello @ file://{dsh.cwd}/hello" in profile
    assert not list((folder_of(dsh) / "site").glob("attr*")), "the host has it"
    listed = await dsh("plugin", "list")
    assert listed.out == "dsh-hello  0.1.0  layer hello\n"
    removed = await dsh("plugin", "remove", "DSH_Hello")
    assert removed.out.startswith("removed dsh-hello\n")
    assert "\nhello " not in (await dsh("tools")).out
    after = await dsh("config", "show")
    assert after.stdout == before.stdout
    assert not (folder_of(dsh) / "site").exists()
    assert leftovers(dsh) == []


@pytest.mark.spec("09-C126")
@pytest.mark.usefixtures("offline_pip")
async def test_a_build_that_fails_changes_nothing(dsh):
    make_project(dsh.cwd / "good")
    await dsh("plugin", "add", "./good")
    before = snapshot(folder_of(dsh))
    make_project(dsh.cwd / "bad", "dsh-bad", fails=True)
    done = await dsh("plugin", "add", "./bad")
    assert (done.code, done.code_line) == (1, "PLUGIN_INSTALL")
    assert "the profile is as it was" in done.stderr
    assert "fails on purpose" in done.stderr
    assert len(done.stderr.rstrip().split("\n")) <= 21
    assert snapshot(folder_of(dsh)) == before
    assert leftovers(dsh) == []
    for spec in ("no-such-distribution", "./missing", "dsh-hello==9"):
        failed = await dsh("plugin", "add", spec)
        assert (failed.code, failed.code_line) == (1, "PLUGIN_INSTALL")
        assert snapshot(folder_of(dsh)) == before


@pytest.mark.spec("09-C127")
async def test_the_host_comes_first(dsh, offline_pip):
    project = make_project(dsh.cwd / "hello", needs=("httpx",))
    (project / "httpx").mkdir()
    (project / "httpx" / "__init__.py").write_text("__version__ = 'of the plugin'\n")
    assert (await dsh("plugin", "add", "./hello")).code == 0
    site = folder_of(dsh) / "site"
    assert (site / "httpx" / "__init__.py").is_file()
    program = (
        "from harness.launch import Home; from harness.profiles import open_profile, use_site\n"
        f"use_site(open_profile(Home(__import__('pathlib').Path({str(dsh.home)!r}), 'config'),"
        " 'headless'))\n"
        "import dsh_hello, httpx; print(httpx.__version__, dsh_hello.__file__)"
    )
    async with dsh.start("-c", program, command=(sys.executable,)) as running:
        done = await running.end()
    assert done.code == 0, done.stderr
    assert done.out.startswith("0.")
    assert str(site) in done.out


@pytest.mark.usefixtures("offline_pip")
async def test_an_editable_project_is_used_where_it_lies(dsh):
    make_project(dsh.cwd / "hello")
    done = await dsh("plugin", "add", "-e", "hello", "--json")
    document = loads(done.stdout)
    assert document["added"] == [
        {"name": "dsh-hello", "version": "0.1.0", "bundles": ["hello"], "plugins": []}
    ]
    assert document["bundlesAdded"] == ["hello"]
    site = folder_of(dsh) / "site"
    assert not (site / "dsh_hello").exists()
    assert list(site.glob("*.pth"))
    assert "- id: hello" in (await dsh("config", "show")).out
    (dsh.cwd / "hello" / "dsh_hello" / "patch.yml").write_text(
        LAYER.replace("hello", "changed").replace("MODULE", "dsh_hello")
    )
    assert "- id: changed" in (await dsh("config", "show")).out
    info = await dsh("plugin", "info", "dsh-hello")
    assert f"added as  -e {dsh.cwd}/hello\n" in info.out
    copied = await dsh("plugin", "add", "./hello")
    assert copied.code == 0, copied.stderr
    profile = (folder_of(dsh) / "profile.yml").read_text()
    assert "-e " not in profile
    assert profile.count("hello @ file") == 1
    assert (site / "dsh_hello").is_dir()
    assert not list(site.glob("*.pth")), "the way to the project is gone"
    await dsh("plugin", "add", "-e", "hello")
    assert (await dsh("plugin", "remove", "dsh-hello")).code == 0
    assert not site.exists()


async def test_what_is_needed_comes_along_and_goes_along(dsh, offline_pip):
    part = make_project(dsh.cwd / "part", "dsh-part", points="")
    build(part, offline_pip)
    make_project(dsh.cwd / "one", "dsh-one", needs=("dsh-part",), points="")
    make_project(
        dsh.cwd / "two",
        "dsh-two",
        needs=("dsh-part; python_version > '3'", "dsh-none; extra == 'x'"),
        points="[harness.plugins]\ntwo = dsh_two\n",
    )
    done = await dsh("plugin", "add", "./one", "./two")
    assert done.code == 0, done.stderr
    assert "added dsh-one 0.1.0: library, no layer\n" in done.out
    assert "added dsh-two 0.1.0: library, no layer, plugin two\n" in done.out
    assert (await dsh("plugin", "list")).out == (
        "dsh-one   0.1.0  library\ndsh-part  0.1.0  needed by others\ndsh-two   0.1.0  plugin two\n"
    )
    why = await dsh("plugin", "why", "dsh-part")
    assert "dsh-one, added as dsh-one @ file:" in why.out
    assert "dsh-two, added as" in why.out
    document = loads((await dsh("plugin", "why", "dsh-part", "--json")).stdout)
    assert document == {"name": "dsh-part", "neededBy": ["dsh-one", "dsh-two"]}
    assert "was added as" in (await dsh("plugin", "why", "dsh-two")).out
    info = loads((await dsh("plugin", "info", "dsh-part", "--json")).stdout)
    assert (info["isAdded"], info["requirement"]) == (False, None)
    assert "others need it" in (await dsh("plugin", "info", "dsh-part")).out
    refused = await dsh("plugin", "remove", "dsh-part")
    assert (refused.code, refused.code_line) == (3, "PLUGIN_NOT_FOUND")
    assert "added are: dsh-one, dsh-two" in refused.stderr
    assert (await dsh("plugin", "remove", "dsh-one")).out == "removed dsh-one\n"
    assert (await dsh("plugin", "remove", "dsh-two")).out == "removed dsh-part, dsh-two\n"
    assert (await dsh("plugin", "list")).out == ""


async def test_a_newer_version_takes_the_place_of_the_older(dsh, offline_pip):
    first = make_project(dsh.cwd / "first")
    second = make_project(
        dsh.cwd / "second",
        version="0.2.0",
        points="[harness.bundles]\nother = dsh_hello:patch.yml\n",
    )
    build(first, offline_pip)
    assert (await dsh("plugin", "add", "dsh-hello")).code == 0
    assert "dsh-hello==0.1.0" in (folder_of(dsh) / "profile.yml").read_text()
    again = await dsh("plugin", "add", "dsh-hello")
    assert again.code == 0
    assert "already there" in again.out
    build(second, offline_pip)
    done = await dsh("plugin", "add", "dsh-hello==0.2.0")
    assert done.code == 0, done.stderr
    assert "added other, removed hello" in done.out
    assert "third parties" not in done.stderr, "that is said once"
    profile = (folder_of(dsh) / "profile.yml").read_text()
    assert "bundles: [base, headless, other]" in profile
    assert "dsh-hello==0.2.0" in profile
    assert "0.1.0" not in profile
    assert len(list((folder_of(dsh) / "site").glob("*.dist-info"))) == 1


@pytest.mark.parametrize(
    ("arguments", "outcome", "words"),
    [
        (("add",), (2, "USAGE"), "needs something to add"),
        (("add", "--", "--index-url=http://x"), (2, "USAGE"), "is no distribution"),
        (("add", " "), (2, "USAGE"), "is no distribution"),
        (("remove", "dsh-hello"), (3, "PLUGIN_NOT_FOUND"), "was not added"),
        (("info", "dsh-hello"), (3, "PLUGIN_NOT_FOUND"), "installed are: nothing"),
        (("why", "dsh-hello"), (3, "PLUGIN_NOT_FOUND"), "is not installed"),
        (("add", "x", "-p", "nobody"), (3, "PROFILE_UNKNOWN"), "nobody"),
        (("update",), (2, "USAGE"), "there are"),
    ],
)
async def test_what_cannot_be_done_is_said(dsh, arguments, outcome, words):
    done = await dsh("plugin", *arguments)
    assert (done.code, done.code_line) == outcome
    assert words in done.stderr


@pytest.mark.usefixtures("offline_pip")
async def test_two_changes_at_once_are_refused(dsh):
    make_project(dsh.cwd / "hello")
    await dsh("plugin", "add", "./hello")
    lock = try_file_lock(folder_of(dsh) / "site")
    assert lock is not None
    done = await dsh("plugin", "remove", "dsh-hello")
    lock.release()
    assert (done.code, done.code_line) == (3, "STORAGE_DENIED")
    assert f"process {os.getpid()}" in done.stderr
    near = await dsh("plugin", "remove", "dsh-helo")
    assert "did you mean dsh-hello?" in near.stderr
    assert "did you mean dsh-hello?" in (await dsh("plugin", "info", "dsh-helo")).stderr
    assert (await dsh("plugin", "remove", "dsh-hello")).code == 0


async def test_without_pip_nothing_happens(dsh, tmp_path):
    """The command needs pip only here, so everything else is borrowed from this environment."""
    venv.create(tmp_path / "bare", with_pip=False, symlinks=True)
    borrowed = tmp_path / "borrowed"
    borrowed.mkdir()
    for folder in map(Path, sys.path):
        if folder.name == "site-packages":
            for path in folder.iterdir():
                if not path.name.startswith("pip"):
                    (borrowed / path.name).symlink_to(path)
    root = Path(__file__).parents[2]
    paths = [root, root / "plugins", borrowed]
    dsh.environment["PYTHONPATH"] = os.pathsep.join(map(str, paths))
    dsh.forget_coverage()
    python = str(tmp_path / "bare" / "bin" / "python")
    command = (python, "-m", "harness_plugins.launcher")
    async with dsh.start("plugin", "add", "x", command=command) as running:
        done = await running.end()
    assert (done.code, done.code_line) == (127, "PLUGIN_INSTALL")
    assert "ensurepip" in done.stderr


@pytest.mark.usefixtures("offline_pip")
async def test_a_change_that_the_profile_cannot_take_is_undone(dsh):
    make_project(dsh.cwd / "hello")
    await dsh("plugin", "add", "./hello")
    before = snapshot(folder_of(dsh))
    for name, version in (("dsh-hello", "0.2.0"), ("dsh-other", "0.1.0")):
        points = f"[harness.bundles]\n-odd- = {name.replace('-', '_')}:patch.yml\n"
        make_project(dsh.cwd / "odd" / name, name, version=version, points=points)
        done = await dsh("plugin", "add", f"./odd/{name}")
        assert (done.code, done.code_line) == (3, "CONFIG_INVALID")
        assert snapshot(folder_of(dsh)) == before
        assert leftovers(dsh) == []
    await dsh("plugin", "remove", "dsh-hello")
    before = snapshot(folder_of(dsh))
    assert (await dsh("plugin", "add", "./odd/dsh-other")).code == 3
    assert snapshot(folder_of(dsh)) == before


@pytest.mark.usefixtures("offline_pip")
async def test_packages_that_somebody_deleted_can_still_be_removed(dsh):
    make_project(dsh.cwd / "hello")
    await dsh("plugin", "add", "-e", "./hello")
    site = folder_of(dsh) / "site"
    for path in site.rglob("*"):
        if path.is_file():
            path.unlink()
    assert (await dsh("plugin", "list")).out == ""
    assert (await dsh("plugin", "remove", "hello")).code == 0
    assert "requirements: []" in (folder_of(dsh) / "profile.yml").read_text()


@pytest.mark.usefixtures("offline_pip")
async def test_names_that_are_taken_stay_with_whom_they_belong_to(dsh):
    points = (
        "[harness.plugins]\nfs-local = {0}:apply\nhello = {0}:apply\n"
        "[harness.bundles]\nbase = {0}:patch.yml\n"
    )
    for name in ("dsh-one", "dsh-two"):
        module = name.replace("-", "_")
        make_project(dsh.cwd / name, name, points=points.format(module))
    before = await dsh("config", "show")
    assert before.code == 0
    first = await dsh("plugin", "add", "./dsh-one")
    assert "note: plugin fs-local stays that of dsh-harness, not that of dsh-one" in first.stderr
    assert "note: bundle base stays that of dsh-harness, not that of dsh-one" in first.stderr
    assert "plugin hello" not in first.stderr
    second = await dsh("plugin", "add", "./dsh-two")
    assert "plugin hello is offered by dsh-one and dsh-two; either may be used" in second.stderr
    assert (await dsh("config", "show")).stdout == before.stdout
    run = await dsh("run", "--offline", "run true")
    assert (run.code, run.stderr) == (0, "")
    removed = await dsh("plugin", "remove", "dsh-one", "dsh-two")
    assert removed.out == "removed dsh-one, dsh-two\n"
    assert (await dsh("config", "show")).stdout == before.stdout


@pytest.mark.usefixtures("offline_pip")
async def test_bundle_whose_module_ends_the_program_is_named(dsh):
    points = "[harness.bundles]\nhello = dsh_hello:patches\n"
    project = make_project(dsh.cwd / "hello", points=points)
    (project / "dsh_hello" / "__init__.py").write_text("raise SystemExit(3)\n")
    assert (await dsh("plugin", "add", "./hello")).code == 0
    bundle = "the bundle 'hello' of dsh-hello 0.1.0 (dsh_hello:patches)"
    for command in (("run", "--offline", "run true"), ("config", "check")):
        done = await dsh(*command)
        assert done.code == 3
        assert f": {bundle}: importing it raised SystemExit: 3\n" in done.out + done.stderr
    assert (await dsh("plugin", "remove", "dsh-hello")).code == 0
    assert (await dsh("run", "--offline", "run true")).code == 0
