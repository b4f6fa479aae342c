"""The rows that a profile boots: printed, patched, broken and guarded, by the real command."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
import yaml

from harness.testing import MockServer, text_reply, tool_call_reply
from harness.wire import dumps_text, loads

RUN = ("run", "--offline", "hello")


@pytest.fixture
def patch(dsh):
    """Write the patch file of the home, or of the profile `headless`."""

    def write(text: str, *, where: str = "") -> Path:
        path = dsh.home / "py" / where / "cordis.patch.yml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return write


class Tagged(yaml.SafeLoader):
    """Reads a dump with its expressions as texts."""


Tagged.add_multi_constructor("", lambda loader, _, node: f"={node.value}")


def rows_of(text: str) -> dict[str, dict]:
    return {row["id"]: row for row in yaml.load(text, Loader=Tagged)}


@pytest.mark.spec("09-C020")
async def test_default_rows_are_printed_and_nothing_is_made(dsh):
    done = await dsh("--dump-default-config", "--profile", "headless")
    assert done.code == 0, done.stderr
    assert done.out.startswith("# == bundle base")
    assert {"session", "agent-loop", "tool-bash", "surface"} <= set(rows_of(done.out))
    assert not dsh.home.exists() or not list(dsh.home.rglob("*.jsonl"))


@pytest.mark.spec("09-C021")
async def test_dump_of_a_dump_is_the_same(dsh, tmp_path):
    first = await dsh("--dump-config")
    kept = tmp_path / "kept.yml"
    rows = "\n".join(f"    {line}" for line in first.out.split("\n"))
    kept.write_text("- insert:\n" + rows)
    profile = dsh.home / "py" / "profiles" / "bare"
    profile.mkdir(parents=True)
    (profile / "profile.yml").write_text("bundles: []\nsurface: headless\n")
    second = await dsh("--profile", "bare", "--patch", str(kept), "--dump-config")
    assert second.code == 0, second.stderr
    assert rows_of(second.out) == rows_of(first.out)
    as_json = await dsh("--dump-config", "--format", "json")
    assert [row["id"] for row in loads(as_json.stdout)] == list(rows_of(first.out))


@pytest.mark.spec("09-C022", "09-C023", "09-C024", "09-C025")
async def test_layers_in_their_order(dsh, patch, tmp_path):
    patch("- id: llm-retry\n  config: {maxRetries: 7}\n", where="profiles/headless")
    home = patch("- id: llm-deepseek\n  merge: {apiKeyEnv: null, retryPolicy: {maxRetries: 1}}\n")
    done = await dsh("--dump-config", "--set", "llm-retry.maxRetries=2")
    assert done.code == 0, done.stderr
    rows = rows_of(done.out)
    assert rows["llm-retry"]["config"] == {"maxRetries": 2}
    assert rows["llm-deepseek"]["config"]["retryPolicy"]["maxRetries"] == 1
    assert "retryableCodes" in rows["llm-deepseek"]["config"]["retryPolicy"]
    assert f"patched by {home}" in done.out.replace("$DSH_HOME", str(dsh.home)), done.out
    assert "--set" in done.out
    one, two = tmp_path / "one.yml", tmp_path / "two.yml"
    one.write_text("- id: llm-retry\n  config: {maxRetries: 3}\n")
    two.write_text("- id: llm-retry\n  config: {maxRetries: 4}\n")
    last = await dsh("--patch", str(one), "--patch", str(two), "--dump-config")
    assert rows_of(last.out)["llm-retry"]["config"]["maxRetries"] == 4
    last = await dsh("--patch", str(two), "--patch", str(one), "--dump-config")
    assert rows_of(last.out)["llm-retry"]["config"]["maxRetries"] == 3
    bare = await dsh("--no-user-config", "--dump-config")
    assert "config" not in rows_of(bare.out)["llm-retry"]


@pytest.mark.spec("09-C026", "09-C027")
async def test_patch_that_matches_nothing(dsh, patch, tmp_path):
    extra = tmp_path / "extra.yml"
    extra.write_text("- id: tool-bahs\n  disabled: true\n")
    done = await dsh("--patch", str(extra), *RUN)
    assert (done.code, done.code_line) == (3, "PATCH_UNMATCHED")
    assert "extra.yml:1" in done.stderr
    assert "tool-bash" in done.stderr
    patch("- id: from-another-profile\n  disabled: true\n")
    done = await dsh(*RUN)
    assert done.code == 0, done.stderr
    assert done.stderr.count("from-another-profile") == 1
    done = await dsh("--strict", *RUN)
    assert (done.code, done.code_line) == (3, "PATCH_UNMATCHED")


@pytest.mark.spec("09-C028")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tool-bash: {}\n", "expected a list"),
        ("- id: a\n  config: [1\n", ":3:1"),
        ("- 7\n", "item 1"),
        ("- id: a\n  id: b\n", ":2:3"),
        ("\ufeff- id: tool-bash\n  disabled: tru", None),
    ],
)
async def test_patch_file_that_is_broken(dsh, tmp_path, text, expected):
    extra = tmp_path / "extra.yml"
    extra.write_text(text)
    done = await dsh("--patch", str(extra), "--dump-config")
    if expected is None:
        assert done.code == 0, done.stderr
        return
    assert (done.code, done.code_line) == (3, "PATCH_INVALID")
    assert "extra.yml" in done.stderr
    assert expected in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.spec("09-C028")
async def test_patch_file_that_is_missing_or_a_folder(dsh, tmp_path):
    for name in (str(tmp_path / "nowhere.yml"), str(tmp_path / "folder.yml")):
        if "folder" in name:
            Path(name).mkdir()
        done = await dsh("--patch", name, *RUN)
        assert (done.code, done.code_line) == (3, "PATCH_INVALID")
        assert name in done.stderr


@pytest.mark.spec("09-C029")
@pytest.mark.parametrize(
    "words",
    [
        ("--dump-config", "--dump-default-config"),
        ("--dump-config", "run", "a task"),
        ("--dump-config", "--profile"),
        ("--dump-config", "--format", "toml"),
    ],
)
async def test_dump_that_makes_no_sense_is_a_usage_error(dsh, words):
    done = await dsh(*words)
    assert (done.code, done.code_line) == (2, "USAGE")


@pytest.mark.spec("09-C030", "09-C032")
@pytest.mark.parametrize(
    "written",
    ['!expr env("STEPS", 1)', "!expr env.STEPS ?? 1", "!!js Number(process.env.STEPS ?? '1')"],
)
async def test_expression_reads_the_environment(dsh, patch, server: MockServer, written):
    patch(f"- id: agent-loop\n  merge:\n    maxStepsPerTurn: {written}\n")
    done = await dsh("--dump-config")
    assert written.partition(" ")[2].strip() in done.out
    done = await dsh("run", "--offline", "run true")
    assert (done.code, done.code_line) == (1, "MAX_STEPS"), done.stderr


@pytest.mark.spec("09-C031", "09-C032")
@pytest.mark.parametrize(
    "written", ['!expr __import__("os")', "!!js require('fs')", "'${(lambda: 1)()}'"]
)
async def test_expression_outside_the_closed_list_stops_the_boot(dsh, patch, written):
    patch(f"- id: tool-bash\n  merge:\n    shell: {written}\n")
    done = await dsh(*RUN)
    assert done.code == 3, done.stderr
    assert "tool-bash" in done.stderr
    assert "cordis.patch.yml:3" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.spec("09-C033")
async def test_plugin_beside_a_patch_file(dsh, patch):
    path = patch("- insert:\n    - id: mine\n      name: ./mine.py\n")
    mark = dsh.home / "mark"
    path.with_name("mine.py").write_text(f"def apply(ctx): open({str(mark)!r}, 'w').close()\n")
    done = await dsh(*RUN)
    assert done.code == 0, done.stderr
    assert mark.exists()
    patch("- id: tool-bash\n  name: other\n  disabled: true\n")
    done = await dsh(*RUN)
    assert done.code == 0
    assert "not 'other'" in done.stderr


@pytest.mark.spec("09-C036")
async def test_row_that_nobody_needs_may_fail(dsh, patch):
    patch("- insert:\n    - id: extra\n      name: no.such.plugin\n")
    done = await dsh(*RUN)
    assert done.code == 0, done.stderr
    assert done.stderr.count("extra does not run") == 1
    assert "no.such.plugin" in done.stderr
    done = await dsh("--strict", *RUN)
    assert (done.code, done.code_line) == (3, "PLUGIN_NOT_FOUND")


async def test_each_row_that_does_not_run_is_named_with_its_places(dsh, patch):
    path = patch(
        "- insert:\n"
        "    - {id: raises, name: ./raises.py}\n"
        "    - {id: fails, name: ./fails.py}\n"
        "    - {id: waits, name: ./waits.py}\n"
        "    - {id: broken, name: ./broken.py}\n"
        "    - {id: odd, name: ./waits.py, disabled: true, colour: red}\n"
    )
    path.with_name("raises.py").write_text("\nraise RuntimeError('on purpose')\n")
    path.with_name("fails.py").write_text("def apply(ctx):\n    raise KeyError\n")
    path.with_name("waits.py").write_text("inject = ['nobody']\ndef apply(ctx): pass\n")
    path.with_name("broken.py").write_text("def apply(ctx:\n")
    done = await dsh(*RUN)
    assert done.code == 0
    where = "$DSH_HOME/py"
    assert done.stderr.splitlines() == [
        f"dsh: note: odd: the option colour means nothing ({where}/cordis.patch.yml:6)",
        (
            "dsh: note: raises does not run: RuntimeError: on purpose,"
            f" raised at {where}/raises.py:2 ({where}/cordis.patch.yml:2)"
        ),
        (
            "dsh: note: fails does not run: KeyError,"
            f" raised at {where}/fails.py:2 ({where}/cordis.patch.yml:3)"
        ),
        (
            "dsh: note: waits does not run: it waits for nobody (nothing provides it)"
            f" ({where}/cordis.patch.yml:4)"
        ),
        (
            "dsh: note: broken does not run: SyntaxError: '(' was never closed,"
            f" raised at {where}/broken.py:1 ({where}/cordis.patch.yml:5)"
        ),
        "dsh: note: to leave such a row out: --disable ID, or `disabled: true` in a patch of yours",
    ]
    done = await dsh("--strict", *RUN)
    assert (done.code, done.code_line) == (3, "BOOT")
    for file in ("raises.py:2", "fails.py:2", "cordis.patch.yml:5"):
        assert f"{where}/{file}" in done.stderr


async def test_rows_of_an_included_file_are_named_with_their_place_in_it(dsh, patch):
    path = patch("- insert: [{id: more, name: cordis:include, config: {path: more.yml}}]\n")
    folder = path.parent
    (folder / "more.yml").write_text(
        "- {id: agent-loop, name: ./nowhere.py}\n"
        "- id: fs-local\n  name: fs-local\n  config:\n    nonsense: 1\n"
        "- {id: waits, name: ./waits.py, odd: 1}\n"
        "- {id: more, name: cordis:include, config: {path: ./more.yml}}\n"
    )
    (folder / "waits.py").write_text("inject = ['nobody']\ndef apply(ctx): pass\n")
    where = "$DSH_HOME/py/more.yml"
    done = await dsh(*RUN)
    assert done.code == 0
    lines = done.stderr.splitlines()
    for begin, end in (
        ("more:waits: the option odd means nothing", ":6)"),
        ("more:agent-loop does not run: no plugin './nowhere.py'", ":1)"),
        ("more:fs-local does not run: config.nonsense: unknown key", ":5)"),
        ("more:waits does not run: it waits for nobody (nothing provides it)", ":6)"),
        ("more:more does not run: failed to read", ":7)"),
    ):
        [line] = [line for line in lines if line.startswith(f"dsh: note: {begin}")]
        assert line.endswith(f"({where}{end}"), line
    assert "it includes itself: more.yml > more.yml" in done.stderr
    assert lines[-1] == "dsh: note: to leave such a row out: `disabled: true` in its file"
    assert len(lines) == 6
    (folder / "more.yml").write_text("- {id: a, name: fs-local}\n- {id: a, name: fs-local}\n")
    done = await dsh("--strict", *RUN)
    assert (done.code, done.code_line) == (3, "BOOT")
    assert "more.yml:2:8: the id 'a' stands in line 1 already" in done.stderr


AWAITS_CANCELLED = "task = asyncio.create_task(asyncio.sleep(9)); task.cancel(); await task"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("raise SystemExit(3)", "ImportError: importing it raised SystemExit: 3"),
        ("async def apply(ctx):\n    raise BaseException('odd')", "BaseException: odd"),
        ("import asyncio\nasync def apply(ctx):\n    " + AWAITS_CANCELLED, "CancelledError"),
    ],
)
async def test_plugin_that_raises_what_is_no_exception_is_left_out(dsh, patch, body, expected):
    path = patch("- insert: [{id: mine, name: ./mine.py}]\n")
    path.with_name("mine.py").write_text(body + "\n")
    done = await dsh(*RUN)
    assert done.code == 0
    line = body.count("\n") + 1
    first, *_ = done.stderr.splitlines()
    assert first.startswith(f"dsh: note: mine does not run: {expected}, raised at $DSH_HOME")
    assert f"/mine.py:{line} (" in first


async def test_plugin_that_ends_the_program_is_named(dsh, patch):
    path = patch("- insert: [{id: mine, name: ./mine.py}]\n")
    path.with_name("mine.py").write_text("import sys\ndef apply(ctx):\n    sys.exit(0)\n")
    done = await dsh(*RUN)
    assert (done.code, done.code_line) == (1, "INTERNAL")
    assert f"a plugin ended the program: SystemExit: 0, raised at {path.parent}" in done.stderr
    assert "/mine.py:3" in done.stderr


async def test_row_that_never_starts_is_left_out_or_named(dsh, patch):
    path = patch("- insert: [{id: hangs, name: ./hangs.py}, {id: after, name: ./after.py}]\n")
    path.with_name("hangs.py").write_text(
        "import asyncio\nprovides = ['late']\nasync def apply(ctx):\n    await asyncio.sleep(600)\n"
    )
    path.with_name("after.py").write_text("inject = ['late']\ndef apply(ctx): pass\n")
    dsh.environment["DSH_BOOT_TIMEOUT"] = "1"
    done = await dsh(*RUN)
    assert done.code == 0
    first, second, *_ = done.stderr.splitlines()
    assert "hangs does not run: it waits for its own start, which has not ended" in first
    assert "after does not run: it waits for late" in second
    done = await dsh("--strict", *RUN)
    assert (done.code, done.code_line) == (3, "BOOT")
    assert "hangs  waiting  its own start, which has not ended" in done.stderr
    dsh.environment["DSH_BOOT_TIMEOUT"] = "0"
    done = await dsh(*RUN)
    assert (done.code, done.code_line) == (3, "BOOT")
    assert "no row has started within 0 s" in done.stderr


@pytest.mark.spec("09-C037")
async def test_what_waits_is_named_with_what_it_waits_for(dsh):
    done = await dsh("--disable", "system-prompt", *RUN)
    assert (done.code, done.code_line) == (3, "BOOT")
    assert "waiting" in done.stderr
    assert "system_prompt" in done.stderr
    [report] = (dsh.home / "py" / "logs").glob("boot-*.log")
    assert report.stat().st_mode & 0o777 == 0o600
    assert report.name in done.stderr


async def test_wrong_config_names_file_line_and_key(dsh, patch):
    patch("- id: agent-loop\n  merge:\n    maxStepsPerTurn: many\n")
    done = await dsh(*RUN)
    assert (done.code, done.code_line) == (3, "BOOT")
    assert "config.maxStepsPerTurn" in done.stderr
    assert "cordis.patch.yml:3" in done.stderr
    patch("- id: agent-loop\n  merge:\n    maxSteps: 3\n")
    done = await dsh(*RUN)
    assert "maxStepsPerTurn" in done.stderr  # the key that was meant


async def test_guard_must_run(dsh, patch):
    patch("- id: fs-policy\n  merge: {nonsense: 1}\n")
    done = await dsh(*RUN)
    assert (done.code, done.code_line) == (3, "BOOT")
    assert "fs-policy" in done.stderr


@pytest.mark.parametrize(
    "body",
    [
        "guard = True\nimport no_such_module",
        "class Gate:\n    guard: bool = True\n\nraise SystemError('at import')",
        "guard = True\nx = (",
    ],
)
async def test_guard_that_cannot_be_imported_stops_the_start(dsh, patch, body):
    path = patch("- insert:\n    - id: gate\n      name: ./gate.py\n")
    path.with_name("gate.py").write_text(body + "\n")
    done = await dsh(*RUN)
    assert (done.code, done.code_line) == (3, "BOOT"), done.stderr
    assert "gate" in done.stderr


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("raise RuntimeError('at import')", "at import"),
        ("def apply(ctx): raise RuntimeError('in setup')", "in setup"),
        ("x = (", "never closed"),
        ("y = 1", "no function `apply`"),
    ],
)
async def test_plugin_of_the_user_that_fails_is_one_line(dsh, patch, body, expected):
    path = patch("- insert:\n    - id: mine\n      name: ./mine.py\n")
    path.with_name("mine.py").write_text(body + "\n")
    done = await dsh(*RUN)
    assert done.code == 0, done.stderr
    assert expected in done.stderr
    assert "Traceback" not in done.stderr


async def test_plugin_that_hangs_when_it_ends_is_named(dsh, patch):
    path = patch("- insert:\n    - id: mine\n      name: ./stuck.py\n")
    path.with_name("stuck.py").write_text(
        "import asyncio\n"
        "def apply(ctx):\n"
        "    async def end():\n"
        "        while True:\n"
        "            try:\n"
        "                await asyncio.sleep(60)\n"
        "            except asyncio.CancelledError:\n"
        "                pass\n"
        "    return end\n"
    )
    dsh.environment["DSH_SHUTDOWN_TIMEOUT"] = "0.3"
    done = await dsh(*RUN)
    assert "stuck" in done.stderr
    assert done.code == 1


async def test_unknown_profile_names_those_that_exist(dsh):
    done = await dsh("--profile", "headles", *RUN)
    assert (done.code, done.code_line) == (3, "PROFILE_UNKNOWN")
    assert "headless" in done.stderr


async def test_profile_is_made_anew_from_its_template(dsh):
    assert (await dsh(*RUN)).code == 0
    file = dsh.home / "py" / "profiles" / "headless" / "profile.yml"
    file.write_text("bundles: [base]\nsurface: headless\n")
    done = await dsh("--from-default-profile", "headless", "--dump-config")
    assert done.code == 0, done.stderr
    assert "surface" in rows_of(done.out)
    assert list(file.parent.parent.glob("headless.bak-*"))


@pytest.mark.spec("09-C042")
async def test_schema_of_the_rows(dsh):
    done = await dsh("--dump-config-schema")
    assert done.code == 0, done.stderr
    schema = loads(done.stdout)
    assert "agent-loop" in {entry["id"] for entry in schema["x-entries"]}


async def test_group_with_two_rows_of_one_id_is_refused(dsh, patch):
    patch("- insert:\n    - {id: mine, name: fs-local}\n    - {id: mine, name: fs-local}\n")
    done = await dsh(*RUN)
    assert done.code == 0, done.stderr
    assert "cordis.patch.yml:1:3: patch insert: there is an entry mine already" in done.stderr
    assert (await dsh("--strict", *RUN)).code == 3


async def test_plugin_can_end_the_run_with_an_exit_code(dsh, patch):
    path = patch("- insert:\n    - id: mine\n      name: ./mine.py\n")
    path.with_name("mine.py").write_text(
        "inject = ['app_exit', 'cmdline']\n"
        "def apply(ctx):\n"
        "    assert ctx.cmdline.profile == 'headless'\n"
        "    def heard(session, event):\n"
        "        if event.type == 'user/message': ctx.app_exit(42)\n"
        "    ctx.on('session/event', heard)\n"
    )
    done = await dsh("run", "--offline", "run sleep 60")
    assert done.code == 42, done.stderr
    assert "exit code 42" in done.stderr


@pytest.mark.spec("09-C040")
async def test_edit_of_a_patch_file_is_taken_while_a_run_goes_on(dsh, patch, server: MockServer):
    dsh.use(server)
    wait = dumps_text({"command": "until [ -e go ]; do sleep 0.02; done", "description": "Wait"})
    server.enqueue(tool_call_reply("bash", wait), text_reply("done"))
    hmr_on = "- id: hmr\n  disabled: false\n"
    mine = "- insert:\n    - {id: mine, name: ./mine.py, config: %d}\n"
    patch(hmr_on + mine % 1)
    marks = dsh.home / "marks"
    (dsh.home / "py" / "mine.py").write_text(
        f"def apply(ctx, config): open({str(marks)!r}, 'a').write(str(config) + ' ')\n"
    )

    async def seen(text: str) -> None:
        while not (marks.exists() and marks.read_text() == text):
            await anyio.sleep(0.02)

    async with dsh.start("run", "hello") as running:
        await seen("1 ")
        patch(hmr_on + mine % 2)
        await seen("1 2 ")
        patch(hmr_on + "- id: [\n")
        errors = b""
        while b"was not taken" not in errors:
            errors += await running.process.stderr.read(4096)
        (dsh.cwd / "go").touch()
        done = await running.end()
    assert done.code == 0, done.stderr
    assert (errors.decode() + done.stderr).count("was not taken") == 1
    assert marks.read_text() == "1 2 "


@pytest.mark.spec("01-J08")
async def test_what_a_plugin_changes_of_its_row_is_kept_in_the_users_layer(dsh, patch):
    marks = dsh.home / "marks"
    body = (
        "async def apply(ctx, config):\n"
        f"    open({str(marks)!r}, 'a').write(str(config) + '\\n')\n"
        "    async def count(): await ctx.fiber.update({**config, 'n': config['n'] + 1})\n"
        "    if config['n'] < config['until']: ctx.root.spawn(count)\n"
    )
    row = "- insert:\n    - id: mine # of the user\n      name: ./mine.py\n"
    path = patch(f"# top\n{row}      config: {{n: 1, until: 0}}\n# end\n")
    path.with_name("mine.py").write_text(body)
    before = path.read_text()
    done = await dsh("--set", "mine.until=2", *RUN)
    assert done.code == 0, done.stderr
    assert path.read_text() == before.replace("n: 1", "n: 2")
    done = await dsh("--no-user-config", "--patch", str(path), "--set", "mine.until=3", *RUN)
    assert done.code == 0, done.stderr
    done = await dsh(*RUN)
    assert marks.read_text().split("\n") == [
        "{'n': 1, 'until': 2}",
        "{'n': 2, 'until': 2}",
        "{'n': 2, 'until': 3}",
        "{'n': 3, 'until': 3}",
        "{'n': 2, 'until': 0}",
        "",
    ]
    assert not (dsh.home / "py" / "profiles" / "headless" / "cordis.patch.yml").exists()


@pytest.mark.spec("01-J08", "09-C040")
async def test_plugin_and_user_change_one_row_while_a_run_goes_on(dsh, patch, server: MockServer):
    dsh.use(server)
    wait = dumps_text({"command": "until [ -e go ]; do sleep 0.02; done", "description": "Wait"})
    server.enqueue(tool_call_reply("bash", wait), text_reply("done"))
    path = patch(
        "- {id: hmr, disabled: false}\n- insert:\n"
        "    - {id: mine, name: ./mine.py, config: {n: 1, until: 2}}\n"
    )
    marks = dsh.home / "marks"
    path.with_name("mine.py").write_text(
        "async def apply(ctx, config):\n"
        f"    open({str(marks)!r}, 'a').write(f'{{config[\"n\"]}}/{{config[\"until\"]}} ')\n"
        "    async def count(): await ctx.fiber.update({**config, 'n': config['n'] + 1})\n"
        "    if config['n'] < config['until']: ctx.root.spawn(count)\n"
    )

    async def holds(file: Path, text: str) -> None:
        while not (file.exists() and text in file.read_text()):
            await anyio.sleep(0.02)

    async with dsh.start("run", "hello") as running:
        await holds(path, "{n: 2, until: 2}")
        path.write_text(path.read_text().replace("until: 2", "until: 4"))
        await holds(path, "{n: 4, until: 4}")
        await holds(marks, "4/4")
        (dsh.cwd / "go").touch()
        done = await running.end()
    assert done.code == 0, done.stderr
    assert marks.read_text() == "1/2 2/2 2/4 3/4 4/4 "
    assert "was not taken" not in done.stderr


@pytest.mark.spec("01-J08", "01-I04")
async def test_plugin_that_ends_itself_is_off_from_then_on(dsh, patch, tmp_path):
    plugin = tmp_path / "once.py"
    plugin.write_text(
        f"def apply(ctx):\n    open({str(tmp_path / 'marks')!r}, 'a').write('ran ')\n"
        "    ctx.root.spawn(ctx.fiber.dispose)\n"
    )
    rows = f"- insert: [{{id: once, name: {plugin}}}]  # once\n"
    path = patch(rows, where="profiles/headless")
    for _ in range(2):
        done = await dsh(*RUN)
        assert done.code == 0, done.stderr
    assert (tmp_path / "marks").read_text() == "ran "
    assert path.read_text() == rows.replace("}]", ", disabled: true}]")


@pytest.mark.spec("09-C004")
async def test_launcher_options_may_stand_anywhere(dsh, tmp_path):
    extra = tmp_path / "extra.yml"
    extra.write_text("- id: tool-bash\n  disabled: true\n")
    behind = await dsh("run", "--offline", "--json", "--patch", str(extra), "run true")
    before = await dsh("--patch", str(extra), "--offline", "run", "--json", "run true")
    plain = await dsh("run", "--offline", "--json", "run true")
    for done in (behind, before):
        assert done.code == 0, done.stderr
        assert done.only("final")["text"] != plain.only("final")["text"]
    assert before.only("final")["text"] == behind.only("final")["text"]


@pytest.mark.spec("09-C011")
async def test_ways_to_name_the_headless_profile(dsh):
    outputs = set()
    for words in (("--profile", "headless"), ("headless",), ("run",), ("-p", "headless", "run")):
        done = await dsh("--offline", *words, "run echo here")
        assert done.code == 0, done.stderr
        outputs.add(done.out)
    assert len(outputs) == 1
    assert (await dsh("profile", "new", "mine")).code == 0
    done = await dsh("mine", "--offline", "run echo here")
    assert (done.code, done.out) == (0, outputs.pop())


@pytest.mark.spec("09-C012")
async def test_word_that_is_neither_command_nor_profile(dsh):
    done = await dsh("nope")
    assert (done.code, done.code_line) == (3, "PROFILE_UNKNOWN")
    assert "headless" in done.stderr
    assert "Traceback" not in done.stderr
    done = await dsh("rum", "a task")
    assert (done.code, done.code_line) == (2, "USAGE")
    assert "did you mean run" in done.stderr


async def test_row_option_that_means_nothing_is_said(dsh, patch):
    path = patch("- insert:\n    - {id: mine, name: ./mine.py, colour: red}\n")
    path.with_name("mine.py").write_text("def apply(ctx): pass\n")
    done = await dsh(*RUN)
    assert done.code == 0, done.stderr
    assert done.stderr.count("mine: the option colour means nothing") == 1
    checked = await dsh("config", "check")
    assert checked.code == 3
    assert f"{path}:2:7: row 'mine': the option 'colour' means nothing" in checked.out


async def test_dump_says_once_what_matches_nothing(dsh, patch):
    done = await dsh("--disable", "nosuch", "--dump-config")
    assert (done.code, done.code_line) == (3, "PATCH_UNMATCHED")
    assert done.stderr.count("nosuch") == 1
    patch("- {id: nosuch, disabled: true}\n")
    done = await dsh("--dump-config")
    assert done.code == 0
    assert done.stderr.count("nosuch") == 1
