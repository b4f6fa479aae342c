"""What the name in a row can be, and what is said when it leads nowhere."""

from __future__ import annotations

import textwrap
from importlib.metadata import entry_points

import pytest

from vendor_shims.group import Group
from vendor_shims.loader import PluginNotFound, PluginResolver, local_name


@pytest.fixture
def folder(tmp_path):
    def write(name: str, text: str) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return str(path)

    write("hello.py", "from .words import WORD\ndef apply(ctx, config): ...\n")
    write(
        "words.py",
        "WORD = 'hello'\nclass Other:\n    inject = []\n    def __init__(s, c, g): ...\n",
    )
    write("my-plugin.py", "def apply(ctx): ...\n")
    write("pack/__init__.py", "from .inner import apply\n")
    write("pack/inner.py", "def apply(ctx): ...\n")
    write("broken.py", "import no_such_thing_at_all\n")
    write("two.parts.py", "def apply(ctx): ...\n")
    return str(tmp_path)


@pytest.mark.spec("01-I37")
def test_builtin_entry_point_and_module():
    resolver = PluginResolver()
    assert resolver.resolve("cordis:group") == (Group, "vendor_shims.group")
    point = next(iter(entry_points(group="harness.plugins")))
    assert resolver.resolve(point.name).plugin is point.load()
    assert resolver.resolve("harness_plugins.agent_core").module == "harness_plugins.agent_core"
    assert resolver.resolve("vendor_shims.group:Group").plugin is Group
    resolver.register("mine", Group)
    assert resolver.resolve("mine") == (Group, None)
    assert {"mine", "cordis:group", point.name} <= set(resolver.names())
    resolver.forget()
    assert point.name in resolver.names()


@pytest.mark.spec("01-I37")
def test_renamed_package_of_the_original_project():
    found = PluginResolver().resolve("@deepseek-ai/dsh-agent-core")
    assert found.module == "harness_plugins.agent_core"
    with pytest.raises(PluginNotFound, match=r"harness_plugins\.nothing.*harness\.nothing"):
        PluginResolver().resolve("@deepseek-ai/dsh-nothing")


@pytest.mark.spec("01-I37")
@pytest.mark.parametrize("reference", ["./hello.py", "./hello", "./my-plugin.py", "./pack"])
def test_file_relative_to_the_configuration(folder, reference):
    found = PluginResolver().resolve(reference, base_dir=folder)
    assert callable(found.plugin.apply)
    assert found.module is not None
    assert found.module.startswith("dsh_local.")
    assert PluginResolver().resolve(reference, base_dir=folder).plugin is found.plugin


@pytest.mark.spec("01-I37")
def test_attribute_of_a_file_and_absolute_path(folder):
    resolver = PluginResolver()
    other = resolver.resolve("./words.py:Other", base_dir=folder).plugin
    assert other.__name__ == "Other"
    assert resolver.resolve(f"{folder}/words.py:Other").plugin is other
    assert local_name(f"{folder}/words.py") == resolver.resolve(f"{folder}/words.py:Other").module


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("./hallo.py", r"there is no file .*hallo\.py; did you mean './hello\.py'"),
        ("./words.py", r"no function `apply`; name one of dsh_local\.[0-9a-f]{8}\.words:Other"),
        ("./words.py:Othr", r"has no attribute Othr; did you mean 'dsh_local"),
        ("./two.parts.py", "a module name has no dot"),
        ("agent-cor", "did you mean 'agent-core'"),
        ("cordis:gruop", "no builtin.*did you mean 'cordis:group'"),
        ("vendor_shims.group.nothing", "no module vendor_shims.group.nothing"),
        ("vendor_shims.group.group.nothing", "no module"),
        ("json", "nothing in it looks like a plugin|name one of"),
        ("what is this", "cannot be a module"),
    ],
)
def test_reference_that_leads_nowhere_says_what_was_tried(folder, reference, message):
    with pytest.raises(PluginNotFound, match=message):
        PluginResolver().resolve(reference, base_dir=folder)


def test_missing_folder_and_missing_target_of_a_name(folder):
    with pytest.raises(PluginNotFound, match="there is no file"):
        PluginResolver().resolve("./nowhere/x.py", base_dir=folder)
    resolver = PluginResolver()
    resolver.register("cordis:gone", "no_such_package:Plugin")
    with pytest.raises(PluginNotFound, match="stands for no_such_package:Plugin"):
        resolver.resolve("cordis:gone")


def test_failure_of_a_plugin_file_is_its_own(folder):
    with pytest.raises(ModuleNotFoundError, match="no_such_thing_at_all"):
        PluginResolver().resolve("./broken.py", base_dir=folder)


@pytest.mark.parametrize("statement", ["raise SystemExit(3)", "raise BaseException(3)"])
def test_module_that_ends_the_program_only_fails(tmp_path, statement):
    file = tmp_path / "script.py"
    file.write_text(f"x = 1\n{statement}\n")
    with pytest.raises(
        ImportError, match=r"importing it raised (SystemExit|BaseException): 3"
    ) as e:
        PluginResolver().resolve("./script.py", base_dir=str(tmp_path))
    assert e.traceback[-1].path == file
    file.write_text("raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        PluginResolver().resolve("./script.py", base_dir=str(tmp_path))
