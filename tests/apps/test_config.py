"""`dsh config` changes one setting at a time, and finds everything that is wrong."""

from __future__ import annotations

import stat

import pytest
import yaml

from harness.wire import loads

SETTINGS = """\
# how it looks
ui:
  theme: dark # at night
  list: [1, 2]
llm-deepseek: {maxTokens: 100}
"""


def put(dsh, name, text):
    path = dsh.home / name
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o600)
    return path


async def test_one_setting_changes_and_the_rest_stays(dsh):
    file = put(dsh, "settings.yaml", SETTINGS)
    file.chmod(0o644)
    done = await dsh("config", "set", "ui.theme", "light")
    assert done.out == 'set ui.theme to "light" in $DSH_HOME/settings.yaml\n'
    assert file.read_text() == SETTINGS.replace("dark", "light")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    await dsh("config", "set", "llm-deepseek.maxTokens", "200")
    await dsh("config", "set", "new-section.deep.key", '{"a": [null]}')
    assert (await dsh("config", "get", "llm-deepseek.maxTokens")).out == "200\n"
    assert (await dsh("config", "get", "new-section.deep")).out == '{"key":{"a":[null]}}\n'
    assert (await dsh("config", "get", "ui.theme")).out == "light\n"
    document = loads((await dsh("config", "get", "ui.list", "--json")).stdout)
    assert document == {"name": "ui.list", "value": [1, 2]}
    await dsh("config", "unset", "new-section.deep.key")
    await dsh("config", "unset", "llm-deepseek.maxTokens")
    assert file.read_text() == (
        "# how it looks\nui:\n  theme: light # at night\n  list: [1, 2]\nllm-deepseek: {}\n"
        "new-section:\n  deep: {}\n"
    )


async def test_the_first_setting_makes_the_file(dsh):
    done = await dsh("config", "set", "ui.theme", "dark")
    assert done.code == 0
    assert "profile headless has no row 'ui', so no run of it reads this" in done.stderr
    assert (dsh.home / "settings.yaml").read_text() == "ui:\n  theme: dark\n"
    assert stat.S_IMODE(dsh.home.stat().st_mode) == 0o700
    assert (await dsh("config", "set", "ui.theme", "dark")).code == 0


@pytest.mark.parametrize(
    ("arguments", "outcome", "words"),
    [
        (("get", "ui.none"), (1, "CONFIG_INVALID"), "sections: ui, llm-deepseek"),
        (("unset", "none.x"), (1, "CONFIG_INVALID"), "none.x is not set"),
        (("get", "UI.x"), (2, "USAGE"), "names no setting"),
        (("set", "ui..x", "1"), (2, "USAGE"), "names no setting"),
        (("set", "ui", "1"), (2, "USAGE"), "is a section"),
        (("set", "ui.theme.deeper", "1"), (3, "CONFIG_INVALID"), "is a value, no section"),
        (("set", "ui.x", "-0.0"), (2, "USAGE"), "-0.0"),
    ],
)
async def test_what_cannot_be_done_is_said_and_nothing_changes(dsh, arguments, outcome, words):
    file = put(dsh, "settings.yaml", SETTINGS)
    done = await dsh("config", *arguments)
    assert (done.code, done.code_line) == outcome
    assert words in done.stderr
    assert file.read_text() == SETTINGS


@pytest.mark.parametrize("text", ["ui:\n  a: [1,\n", "- list\n", "a: 1\na: 2\n", "a: !!python/x\n"])
async def test_a_broken_file_is_named_with_its_line_and_never_overwritten(dsh, text):
    file = put(dsh, "settings.yaml", text)
    for arguments in (("get", "ui.a"), ("set", "ui.a", "1"), ("unset", "ui.a"), ("show",)):
        done = await dsh("config", *arguments)
        assert (done.code, done.code_line) == (3, "CONFIG_INVALID")
        assert f"{file}:" in done.stderr
    assert f"CONFIG_INVALID: {file}:" in (await dsh("config", "check")).out
    assert file.read_text() == text


async def test_a_byte_order_mark_and_windows_line_ends(dsh):
    file = put(dsh, "settings.yaml", "")
    file.write_bytes(b"\xef\xbb\xbfui:\r\n  theme: dark\r\n")
    assert (await dsh("config", "get", "ui.theme")).out == "dark\n"
    await dsh("config", "set", "ui.size", "12")
    assert file.read_bytes() == b"ui:\r\n  theme: dark\r\n  size: 12\r\n"


async def test_a_link_stays_a_link(dsh, tmp_path):
    real = tmp_path / "versioned.yaml"
    real.write_text(SETTINGS)
    dsh.home.mkdir(mode=0o700)
    (dsh.home / "settings.yaml").symlink_to(real)
    await dsh("config", "set", "ui.theme", "light")
    assert (dsh.home / "settings.yaml").is_symlink()
    assert "light" in real.read_text()


async def test_a_home_that_cannot_be_written(dsh):
    dsh.home.write_text("a file")
    done = await dsh("config", "set", "ui.theme", "dark")
    assert done.code == 3
    assert str(dsh.home) in done.stderr
    assert "Traceback" not in done.stderr


async def test_paths_of_everything_that_is_read(dsh):
    put(dsh, "settings.yaml", SETTINGS)
    done = await dsh("config", "path")
    assert f"settings         {dsh.home}/settings.yaml\n" in done.out
    assert f"{dsh.home}/py/cordis.patch.yml" in done.out
    assert "(does not exist)" in done.out
    document = loads((await dsh("config", "path", "--json")).stdout)
    assert {each["name"]: each["exists"] for each in document["files"]}["settings"] is True


async def test_show_prints_settings_and_rows(dsh):
    put(dsh, "settings.yaml", SETTINGS)
    done = await dsh("config", "show")
    assert (done.code, done.stderr) == (0, "")
    settings, _, rows = done.out.partition("---\n")
    assert yaml.safe_load(settings)["ui"]["theme"] == "dark"
    assert "# at night" in settings
    assert rows.startswith("# profile headless\n# == bundle base")
    assert "- id: agent-loop\n" in rows
    changed = await dsh("config", "show", "--set", "agent-loop.maxStepsPerTurn=7")
    assert "maxStepsPerTurn: 7" in changed.out
    document = loads((await dsh("config", "show", "--json")).stdout)
    assert document["profile"] == "headless"
    assert document["settings"]["ui"]["theme"] == "dark"
    ids = [row["id"] for row in document["rows"]]
    assert {"llm", "tools", "agent-loop"} <= set(ids)
    assert not (dsh.home / "py").exists()


async def test_show_warns_about_or_refuses_what_matches_nothing(dsh):
    put(dsh, "py/cordis.patch.yml", "- id: llm-retyr\n  config: {}\n")
    done = await dsh("config", "show")
    assert done.code == 0
    assert "dsh: warning: " in done.stderr
    assert "llm-retry" in done.stderr
    strict = await dsh("config", "show", "--strict")
    assert (strict.code, strict.code_line) == (3, "PATCH_UNMATCHED")
    assert (await dsh("config", "show", "--no-user-config")).stderr == ""
    flag = await dsh("config", "show", "--no-user-config", "--disable", "llm-retyr")
    assert (flag.code, flag.code_line) == (3, "PATCH_UNMATCHED")
    gone = await dsh("config", "show", "--patch", "gone.yml")
    assert (gone.code, gone.code_line) == (3, "PATCH_INVALID")
    nobody = await dsh("config", "show", "-p", "nobody")
    assert (nobody.code, nobody.code_line) == (3, "PROFILE_UNKNOWN")


async def test_a_sound_home_has_no_problems(dsh):
    put(dsh, "settings.yaml", SETTINGS)
    done = await dsh("config", "check")
    assert (done.code, done.out, done.stderr) == (0, "no problems\n", "")
    document = loads((await dsh("config", "check", "--json", "-p", "sdk-minimal")).stdout)
    assert "problems" in document


@pytest.mark.spec("09-C041")
async def test_check_lists_every_problem_with_its_place(dsh):
    settings = put(dsh, "settings.yaml", 'ui: 5\n"A b": {}\n')
    put(dsh, ".env", "PATH=x\n")
    credentials = put(dsh, ".credentials.yaml", "version: 3\n")
    profile = put(
        dsh,
        "py/profiles/headless/cordis.patch.yml",
        "# mine\n- id: agent-loop\n  config:\n    maxStepsPerTurn: many\n"
        "- insert:\n  - id: own\n    name: no-such-plugin\n",
    )
    put(dsh, "py/profiles/headless/profile.yml", "bundles: [base, headless]\nsurface: headless\n")
    home = put(dsh, "py/cordis.patch.yml", "- id: llm-retyr\n  config: {}\n")
    forbidden = put(dsh, "more.yml", '- id: tool-fs\n  config:\n    home: !expr __import__("os")\n')
    dsh.environment["DSH_PERMISSION_MODE"] = "zzz"
    flags = ("--disable", "nobody", "--set", "nonsense", "--patch", str(forbidden))
    done = await dsh("config", "check", *flags)
    assert (done.code, done.code_line) == (3, "CONFIG_INVALID")
    for place in (
        f"{settings}:1",
        f"{settings}:2",
        f"{dsh.home}/.env:1",
        f"{credentials}:1",
        f"{profile}:4",
        f"{profile}:6",
        f"{forbidden}:3",
        f"{home}:1",
        "DSH_PERMISSION_MODE",
        "nobody",
        "nonsense",
    ):
        assert place in done.out, (place, done.out)
    document = loads((await dsh("config", "check", "--json")).stdout)
    codes = [problem["code"] for problem in document["problems"]]
    assert codes.count("CONFIG_INVALID") == 6
    assert {"PATCH_UNMATCHED", "PLUGIN_NOT_FOUND"} <= set(codes)
    clean = await dsh("config", "check", "--no-user-config")
    assert str(home) not in clean.out


async def test_flag_that_sets_a_wrong_value_is_named_instead_of_a_file_below_it(dsh):
    put(dsh, "py/cordis.patch.yml", "- id: agent-loop\n  merge: {maxParallelToolCalls: 2}\n")
    flag = ("--set", "agent-loop.maxStepsPerTurn=many")
    done = await dsh("config", "check", *flag)
    [line] = done.out.splitlines()
    assert line.startswith("CONFIG_INVALID: --set: row 'agent-loop': ")
    assert "maxStepsPerTurn" in line
    done = await dsh("run", "--offline", *flag, "hello")
    assert (done.code, done.code_line) == (3, "BOOT")
    assert "maxStepsPerTurn" in done.stderr
    assert "(--set)" in done.stderr


async def test_check_of_files_that_cannot_be_read(dsh):
    (dsh.home / "settings.yaml").mkdir(parents=True)
    (dsh.home / ".credentials.yaml").mkdir()
    put(dsh, "py/cordis.patch.yml", "[")
    put(dsh, "py/profiles/headless/profile.yml", "bundles: [base, nothing]\nsurface: headless\n")
    done = await dsh("config", "check")
    assert done.code == 3
    assert done.out.count("STORAGE_DENIED") + done.out.count("CONFIG_INVALID") == 2
    assert "PATCH_INVALID" in done.out
    assert "'nothing'" in done.out
    put(dsh, "py/profiles/headless/profile.yml", "surface\n")
    done = await dsh("config", "check")
    assert "profile.yml" in done.out


@pytest.mark.spec("09-C042")
async def test_the_schema_takes_shipped_layers_and_refuses_wrong_types(dsh):
    from jsonschema import Draft202012Validator

    done = await dsh("config", "schema")
    assert (done.code, done.stderr) == (0, "")
    schema = loads(done.stdout)
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    entries = {entry["id"]: entry for entry in schema["x-entries"]}
    assert entries["agent-loop"]["name"] == "agent-loop"
    assert entries["agent-loop"]["origin"][0] == "bundle base"
    rows = loads((await dsh("config", "show", "--json")).stdout)["rows"]
    validator.validate([as_template(row) for row in rows])
    validator.validate([{"insert": [as_template(row) for row in rows]}])
    validator.validate([{"id": "agent-loop", "merge": {"maxStepsPerTurn": None}}])
    validator.validate([{"id": "agent-loop", "config": {"maxStepsPerTurn": "${env.N}"}}])
    for wrong in (
        [{"id": "agent-loop", "config": {"maxStepsPerTurn": "many"}}],
        [{"id": "agent-loop", "merge": {"maxStepsPerTurn": "many"}}],
        [{"insert": [{"id": "agent-loop", "config": {"maxStepsPerTurn": []}}]}],
        [{"id": 5}],
        {"id": "agent-loop"},
    ):
        assert not validator.is_valid(wrong), wrong


def as_template(value):
    """Write computed values as text, which is how a JSON schema can see them."""
    match value:
        case {"!expr": source}:
            return "${" + source + "}"
        case dict():
            return {key: as_template(inner) for key, inner in value.items()}
        case list():
            return [as_template(inner) for inner in value]
    return value


ROWS = """\
- insert:
  - id: raises
    name: ./raises.py
  - id: plain
    name: ./plain.py
  - id: off
    name: no-such-plugin
    disabled: !expr env.NOPE ?? True
  - id: asks
    name: ./plain.py
    disabled: !expr ctx.something
  - id: inside
    name: cordis:group
    group: true
    config:
    - id: inner
      name: ./configured.py
      config:
        size: large
  - id: reads
    name: ./configured.py
    config:
      size: !expr ctx.something
  - id: odd
    name: ./odd.py
"""
PLUGINS = {
    "raises.py": "raise RuntimeError('on purpose')\n",
    "plain.py": "def apply(ctx):\n    pass\n",
    "odd.py": "Config = 5\ndef apply(ctx, config):\n    pass\n",
    "configured.py": (
        "from vendor_shims.schema import config\n\n@config\nclass Config:\n    size: int = 1\n\n"
        "def apply(ctx, config):\n    pass\n"
    ),
}


async def test_rows_of_every_kind_are_checked(dsh):
    for name, text in PLUGINS.items():
        put(dsh, f"py/{name}", text)
    home = put(dsh, "py/cordis.patch.yml", ROWS)
    done = await dsh("config", "check", "--offline", "--set", "tool-fs.home=${nope(")
    assert done.code == 3
    lines = done.out.split("\n")
    assert any(line.startswith("BOOT: ") and "Error: on purpose" in line for line in lines)
    assert any(f"{home}:19" in line and "row 'inner'" in line for line in lines)
    assert any("row 'odd'" in line for line in lines)
    assert any("tool-fs" in line and "nope(" in done.out for line in lines)
    for fine in ("'plain'", "'off'", "'asks'", "'reads'", "'inside'"):
        assert fine not in done.out
    assert "4 problems" in done.stderr
    schema = loads((await dsh("config", "schema")).stdout)
    ids = [entry["id"] for entry in schema["x-entries"]]
    assert {"raises", "plain", "inner", "odd"} <= set(ids)


async def test_rows_of_included_files_are_checked_with_their_places(dsh):
    folder = dsh.home / "py"
    for name in ("one.yml", "two.yml"):
        other = {"one.yml": "two.yml", "two.yml": "one.yml"}[name]
        row = f"- {{id: next, name: cordis:include, config: {{path: {other}}}}}\n"
        put(dsh, f"py/{name}", f"{row}- {{id: bad, name: no-such-plugin}}\n")
    put(
        dsh,
        "py/cordis.patch.yml",
        "- insert: [{id: nameless}]\n"
        "- insert:\n  - {id: files, name: cordis:include, config: {path: one.yml}}\n"
        "  - {id: gone, name: cordis:include, config: {path: gone.yml}}\n"
        "  - {id: later, name: cordis:include, config: {path: later.yml, initial: []}}\n"
        "  - {id: patched, name: cordis:include, config: {path: rows.yml, patches: [{id: x}]}}\n",
    )
    put(dsh, "py/rows.yml", "- {id: fs, name: fs-local, config: {nonsense: 1}}\n- {id: 5}\n")
    done = await dsh("config", "check")
    assert done.code == 3
    expected = (
        ("cordis.patch.yml:1:12", "row 'nameless': it names no plugin; add `name`"),
        ("two.yml:1:3", f"row 'next': {folder}/one.yml includes itself"),
        ("two.yml:2:3", "row 'bad': no plugin 'no-such-plugin': no builtin; no entry point"),
        ("one.yml:2:3", "row 'bad': no plugin 'no-such-plugin': no builtin; no entry point"),
        ("cordis.patch.yml:4:5", f"row 'gone': config file not found: {folder}/gone.yml"),
        ("cordis.patch.yml:6:5", f"row 'patched': failed to validate config file {folder}/rows"),
    )
    lines = done.out.splitlines()
    assert len(lines) == len(expected)
    for line, (place, said) in zip(lines, expected, strict=True):
        assert f": {folder}/{place}: {said}" in line
    assert "rows.yml:2:8: the id of a row must be a text" in lines[-1]
    put(dsh, "py/rows.yml", "- {id: fs, name: fs-local, config: {nonsense: 1}}\n")
    done = await dsh("config", "check")
    assert f"{folder}/rows.yml:1:47: row 'fs': $.nonsense unknown key" in done.out
    assert "cordis.patch.yml:6:5: row 'patched': patch: entry x not found" in done.out


async def test_config_for_a_plugin_that_takes_none_is_told(dsh):
    put(dsh, "py/number.py", "NUMBER = 5\n")
    home = put(
        dsh,
        "py/cordis.patch.yml",
        "- id: tool-bash\n  config:\n    timeout: 5\n"
        "- insert: [{id: odd, name: './number.py:NUMBER'}]\n",
    )
    done = await dsh("config", "check")
    assert done.code == 3
    ignored, odd = done.out.splitlines()
    assert ignored == f"CONFIG_INVALID: {home}:3:5: row 'tool-bash': its plugin takes no config"
    assert odd.startswith(f"BOOT: {home}:4:28: row 'odd': expected a function, a class, or a")
    done = await dsh("run", "--offline", "run true")
    assert done.code == 0
    note = "dsh: note: tool-bash: its plugin takes no config ($DSH_HOME/py/cordis.patch.yml:3)"
    assert done.stderr.splitlines()[0] == note
    done = await dsh("config", "set", "tool-bash.timeout", "5")
    assert "takes no config" in done.stderr
