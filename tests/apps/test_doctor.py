"""`dsh doctor` looks at machine and home, and says how to mend what is wrong."""

from __future__ import annotations

import os

import pytest

from harness.testing import MockServer, Part, Reply
from harness.wire import loads


async def checks(dsh, *arguments) -> tuple[int, dict[str, dict[str, str]]]:
    """Run the command; give its exit code and its findings by name."""
    done = await dsh("doctor", "--json", *arguments)
    document = loads(done.stdout)
    assert done.stdout.count(b"\n") == 1
    assert (done.code == 0) == (done.stderr == "")
    return done.code, {check["name"]: check for check in document["checks"]}


async def test_a_fresh_home_is_fine(dsh):
    done = await dsh("doctor")
    assert done.code == 0
    for line in done.out.split("\n")[:-1]:
        assert line.partition(" ")[0] in ("ok", "warn")
    code, found = await checks(dsh)
    assert code == 0
    assert "made on first use" in found["home"]["fact"]
    assert found["python"]["state"] == found["bash"]["state"] == found["clock"]["state"] == "ok"
    assert found["keys"]["state"] == "warn"
    assert "dsh auth set DEEPSEEK_API_KEY" in found["keys"]["fix"]
    assert not dsh.home.exists()


@pytest.mark.spec("09-C129")
async def test_an_unreadable_home_is_a_failure_with_its_cure(dsh):
    dsh.home.mkdir(mode=0o000)
    try:
        code, found = await checks(dsh)
        done = await dsh("doctor")
    finally:
        dsh.home.chmod(0o700)
    assert code == done.code == 3
    assert found["home"]["state"] == "fail"
    assert found["home"]["fix"] == f"chmod 700 {dsh.home}"
    assert done.code_line == "CONFIG_INVALID"
    assert f"chmod 700 {dsh.home}" in done.stderr
    assert "settings" not in found, "what is inside cannot be said"


async def test_a_home_that_is_something_else(dsh):
    dsh.home.write_text("a file")
    code, found = await checks(dsh)
    assert code == 3
    assert "is no directory" in found["home"]["fact"]
    dsh.environment["DSH_HOME"] = str(dsh.home / "below")
    code, found = await checks(dsh)
    assert (code, found["home"]["state"]) == (3, "fail")


async def test_open_files_are_warned_about_or_refused(dsh):
    dsh.home.mkdir(mode=0o755)
    dsh.home.chmod(0o755)
    settings = dsh.home / "settings.yaml"
    settings.write_text("ui: {}\n")
    settings.chmod(0o644)
    code, found = await checks(dsh)
    assert code == 0
    assert found["home"]["state"] == found["settings"]["state"] == "warn"
    settings.chmod(0o600)
    dsh.home.chmod(0o700)
    credentials = dsh.home / ".credentials.yaml"
    credentials.write_text("version: 1\nrefs: {A_KEY: x}\n")
    credentials.chmod(0o640)
    code, found = await checks(dsh)
    assert code == 3
    assert found["settings"] == {
        "state": "ok", "name": "settings", "fact": "1 sections", "fix": "",
    }  # fmt: skip
    assert found["credentials"]["state"] == "fail"
    credentials.chmod(0o600)
    code, found = await checks(dsh)
    assert (code, found["credentials"]["fact"]) == (0, "1 stored keys, 0 records")


async def test_broken_files_are_named_with_their_line(dsh):
    dsh.home.mkdir(mode=0o700)
    (dsh.home / "settings.yaml").write_text("ui:\n  - [1\n")
    (dsh.home / ".env").write_text("# x\nPATH=/evil\n")
    code, found = await checks(dsh)
    assert code == 3
    assert "settings.yaml:3:" in found["settings"]["fact"]
    assert ".env:2:" in found[".env"]["fact"]
    (dsh.home / "settings.yaml").unlink()
    (dsh.home / "settings.yaml").mkdir()
    (dsh.home / ".credentials.yaml").symlink_to(dsh.home / ".credentials.yaml")
    (dsh.home / ".env").unlink()
    code, found = await checks(dsh)
    assert {name for name, check in found.items() if check["state"] == "fail"} == {
        *("settings", "credentials"),
    }


async def test_keys_and_proxies_are_seen_but_not_shown(dsh):
    dsh.environment |= {
        "DEEPSEEK_API_KEY": "sk-secret-0000-abcd",
        "HTTPS_PROXY": "http://user:password@proxy:1",
        "no_proxy": "localhost",
    }
    done = await dsh("doctor")
    assert "DEEPSEEK_API_KEY …abcd (environment)" in done.out
    assert "HTTPS_PROXY, no_proxy set" in done.out
    assert "secret" not in done.out
    assert "password" not in done.out


async def test_missing_programs_are_named(dsh, tmp_path):
    (tmp_path / "empty").mkdir()
    dsh.environment["PATH"] = str(tmp_path / "empty")
    code, found = await checks(dsh)
    assert code == 3
    assert found["bash"]["state"] == "fail"
    assert found["git"]["state"] == found["rg"]["state"] == found["sandbox"]["state"] == "warn"
    programs = tmp_path / "empty"
    for name in ("bash", "git", "rg", "bwrap", "sandbox-exec"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    code, found = await checks(dsh)
    assert code == 0
    assert found["sandbox"]["state"] == found["rg"]["state"] == "ok"


async def test_no_home_at_all(dsh):
    del dsh.environment["DSH_HOME"]
    dsh.environment["HOME"] = ""
    code, found = await checks(dsh)
    assert found["home"]["state"] in ("ok", "fail")
    assert code in (0, 3)


async def test_the_terminal_is_described(dsh, on_terminal):
    dsh.environment["PYTHONIOENCODING"] = "utf-8"
    async with on_terminal("doctor", columns=120) as screen:
        assert await screen.end() == 0
        assert "xterm, 120 columns" in screen.screen
    dsh.environment["PYTHONIOENCODING"] = "latin-1"
    async with on_terminal("doctor", columns=120) as screen:
        await screen.end()
        assert "set LANG to a UTF-8 locale" in screen.screen


def dated(date: str) -> Reply:
    headers = (("content-type", "text/plain"), ("date", date)) if date else ()
    return Reply((Part(b"no"),), 401, headers, framing="length")


async def test_the_network_is_tried_on_request_only(dsh):
    async with MockServer(any_path=True) as server:
        dsh.use(server)
        await checks(dsh)
        assert server.requests == []
        server.enqueue(dated("Thu, 01 Jan 2015 00:00:00 GMT"), dated(""))
        code, found = await checks(dsh, "--net")
        assert code == 0
        assert "answers (HTTP 401)" in found["endpoint"]["fact"]
        assert found["server clock"]["state"] == "warn"
        assert "authorization" not in server.requests[0].headers
        _, found = await checks(dsh, "--net")
        assert found["server clock"]["state"] == "ok"
    code, found = await checks(dsh, "--net")
    assert code == 3
    assert found["endpoint"]["state"] == "fail"
    assert "proxy" in found["endpoint"]["fix"]


async def test_extras_are_those_of_the_distribution(dsh, tmp_path):
    folder = tmp_path / "first" / "dsh_harness-9.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: dsh-harness\nVersion: 9\nRequires-Dist: attrs\n"
        'Requires-Dist: attrs>=20; extra == "here"\n'
        "Requires-Dist: no-such-thing; python_version > '3' and extra == 'missing'\n"
    )
    dsh.environment["PYTHONPATH"] = str(folder.parent)
    code, found = await checks(dsh)
    assert code == 0
    assert found["extra here"]["state"] == "ok"
    assert found["extra missing"]["fact"] == "no-such-thing not installed"
    assert found["extra missing"]["fix"] == "pip install 'dsh-harness[missing]'"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
async def test_a_home_that_cannot_be_made(dsh, tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    dsh.environment["DSH_HOME"] = str(closed / "a" / "b")
    code, found = await checks(dsh)
    assert (code, found["home"]["state"]) == (3, "fail")


async def test_a_home_deep_below_what_exists(dsh, tmp_path):
    dsh.environment["DSH_HOME"] = str(tmp_path / "a" / "b" / "c")
    code, found = await checks(dsh)
    assert (code, found["home"]["state"]) == (0, "ok")
