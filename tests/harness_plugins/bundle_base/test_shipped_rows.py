"""What the shipped bundles compose to, and that all of it works together."""

import os
import subprocess
import sys

import pytest

from harness.agent import AgentOptions, AgentRegistry, CreateAgentOptions, SessionMeta
from harness.profiles import TEMPLATES
from harness.tools import ToolRegistry

SPINE = [
    "session",
    "session-persistence-jsonl",
    "llm",
    "system-prompt",
    "tools",
    "agent",
    "agent-loop",
]
MODELS = ["credentials", "http", "llm-deepseek", "llm-offline", "llm-retry"]
COMMANDS = ["subprocess-local", "bash-env", "bash-local", "spill-local", "tool-bash"]
FILES = ["fs-local", "fs-policy", "tool-fs"]
ROWS = {
    "headless": [*SPINE, *MODELS, *COMMANDS, *FILES, "invariants", "timer", "hmr", "surface"],
    "sdk-minimal": [*SPINE, *MODELS[1:], *COMMANDS],
}


def test_every_shipped_template_is_looked_at_here():
    assert ROWS.keys() == TEMPLATES.keys()


@pytest.mark.parametrize("profile", sorted(ROWS))
def test_each_service_and_each_plugin_is_a_row_of_its_own(rows_of, profile):
    assert list(rows_of(profile, {})) == ROWS[profile]


@pytest.mark.parametrize("profile", sorted(ROWS))
def test_sessions_and_their_storage_come_first_so_that_they_end_last(rows_of, profile):
    assert list(rows_of(profile, {}))[:2] == ["session", "session-persistence-jsonl"]


@pytest.mark.parametrize("profile", sorted(ROWS))
@pytest.mark.parametrize("env", [{}, {"DSH_OFFLINE": "1"}, {"DSH_INVARIANTS": "1"}])
async def test_all_enabled_rows_become_active(mount, profile, env):
    async with mount(profile, **env) as root:
        assert root.diagnose() == ""


@pytest.mark.parametrize(
    ("value", "is_offline"), [("1", True), ("true", True), ("yes", True), ("0", False), ("", False)]
)
@pytest.mark.parametrize("profile", sorted(ROWS))
def test_offline_switches_off_what_talks_to_a_network(rows_of, profile, value, is_offline):
    rows = rows_of(profile, {"DSH_OFFLINE": value})
    off = {name for name, row in rows.items() if row["disabled"]} - {"invariants", "hmr"}
    assert off == ({"http", "llm-deepseek"} if is_offline else set())


@pytest.mark.parametrize("profile", sorted(ROWS))
async def test_a_task_is_answered_with_a_tool_and_stored_under_the_home(mount, home, profile):
    options = CreateAgentOptions(
        meta=SessionMeta(cwd=os.getcwd()),
        agent_options=AgentOptions(provider="offline", model="guide"),
    )
    async with (
        mount(profile, DSH_OFFLINE="1") as root,
        await root[AgentRegistry].create(options) as handle,
    ):
        handle.agent.send("run echo $DSH_HOME")
        await handle.agent.when_idle()
        text = handle.agent.session.derive_messages()[-1].text
    assert str(home.root) in text
    (log,) = home.sessions.rglob("session.v1000.jsonl")
    assert "turn/end" in log.read_text()


@pytest.mark.parametrize(
    ("profile", "tools"),
    [("headless", {"bash", "read", "write", "edit"}), ("sdk-minimal", {"bash"})],
)
async def test_a_profile_offers_its_tools(mount, profile, tools):
    async with mount(profile) as root:
        assert {schema.name for schema in root[ToolRegistry].schemas()} == tools


@pytest.mark.parametrize(
    ("url", "max_retries"),
    [
        (None, 5),
        ("https://api.deepseek.com", 5),
        ("http://10.0.0.1:8080/v1", 5),
        ("http://127.0.0.1:8080/v1", 2),
        ("http://127.9.9.9/v1", 2),
        ("http://localhost:1234", 2),
        ("http://[::1]:1234/v1", 2),
    ],
)
@pytest.mark.parametrize("profile", sorted(ROWS))
def test_a_server_on_this_machine_is_given_up_sooner(rows_of, profile, url, max_retries):
    env = {} if url is None else {"DEEPSEEK_BASE_URL": url}
    policy = rows_of(profile, env)["llm-deepseek"]["config"]["retryPolicy"]
    assert policy["maxRetries"] == max_retries
    assert "STREAM_CLOSED" in policy["retryableCodes"]


def test_paths_lie_under_the_home_that_was_chosen(rows_of, home):
    rows = rows_of("headless", {"DSH_HOME": "/somewhere/else"})
    assert rows["session-persistence-jsonl"]["config"] == {"root": str(home.sessions)}
    assert rows["spill-local"]["config"] == {"root": str(home.own / "spill")}
    assert rows["bash-env"]["config"] == rows["tool-fs"]["config"] == {"home": str(home.root)}


HEAVY = {
    "aiosqlite", "cattrs", "harness.agent", "harness.http", "harness.llm",
    "harness.session", "harness_plugins.agent_loop", "httpcore", "httpx", "orjson", "sqlite3",
}  # fmt: skip

SCRIPT = """
import os, sys
from harness.launch import resolve_home
from harness.profiles import compose_profile, open_profile
from vendor_shims.include import dump

home = resolve_home(None, os.environ)
print(dump(compose_profile(open_profile(home, sys.argv[1], saves=False), home)))
print(*sys.modules, file=sys.stderr)
"""


@pytest.mark.parametrize("profile", sorted(ROWS))
def test_composing_loads_neither_the_llm_stack_nor_a_plugin(home, profile):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, profile],
        env={"DSH_HOME": str(home.root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "id: agent-loop" in done.stdout
    loaded = set(done.stderr.split())
    assert loaded & HEAVY == set()
    assert not home.root.exists()
