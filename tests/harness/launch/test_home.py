"""Where the harness lives."""

import os
import stat
from pathlib import Path

import pytest

from harness.launch import Home, HomeError, expand_tilde, resolve_home

ME = Path("/home/me")


@pytest.mark.spec("07-21")
@pytest.mark.parametrize(
    ("configured", "variable", "root", "origin"),
    [
        (None, None, "/home/me/.dsh", "default"),
        (None, "  ", "/home/me/.dsh", "default"),
        ("", "", "/home/me/.dsh", "default"),
        (None, "~/x", "/home/me/x", "environment"),
        (None, "/srv/dsh/", "/srv/dsh", "environment"),
        ("~", "/srv/dsh", "/home/me", "config"),
        (Path("/opt/../opt/h"), "/srv", "/opt/h", "config"),
    ],
)
def test_configuration_comes_before_the_environment_and_blank_is_unset(
    configured, variable, root, origin
):
    environ = {} if variable is None else {"DSH_HOME": variable}
    assert resolve_home(configured, environ, user_home=ME) == Home(Path(root), origin)


@pytest.mark.spec("07-21")
def test_only_a_leading_tilde_of_ones_own_is_expanded(tmp_path, monkeypatch):
    assert expand_tilde("~bob/x", user_home=ME) == "~bob/x"
    assert expand_tilde("a/~/x", user_home=ME) == "a/~/x"
    assert expand_tilde("~/x/~", user_home=ME) == "/home/me/x/~"
    monkeypatch.chdir(tmp_path)
    home = resolve_home(None, {"DSH_HOME": "~bob/x"}, user_home=ME)
    assert home.root == tmp_path / "~bob" / "x"


def test_without_an_answer_the_operating_system_knows_the_users_home(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert resolve_home(None, {}).root == tmp_path / ".dsh"
    assert expand_tilde("~/x") == str(tmp_path / "x")


def test_a_user_without_home_is_told_what_to_set(monkeypatch):
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_000)
    with pytest.raises(HomeError, match="set DSH_HOME"):
        resolve_home(None, {})
    assert resolve_home("/srv/x", {}).root == Path("/srv/x")


def test_the_layout_keeps_our_files_apart_from_the_shared_ones():
    home = Home(Path("/h"), "default")
    shared = [home.credentials_file, home.settings_file, home.env_file, home.upstream_sessions]
    assert [str(path) for path in shared] == [
        "/h/.credentials.yaml",
        "/h/settings.yaml",
        "/h/.env",
        "/h/sessions",
    ]
    own = [
        home.profiles,
        home.patch_file,
        home.sessions,
        home.attachments,
        home.storages,
        home.cache,
        home.logs,
    ]
    assert [str(path.relative_to(home.own)) for path in own] == [
        "profiles",
        "cordis.patch.yml",
        "sessions",
        "attachments/v1",
        "storages",
        "cache",
        "logs",
    ]
    assert home.own == Path("/h/py")


@pytest.mark.parametrize(
    ("origin", "shown", "shown_root"),
    [
        ("default", "~/.dsh/py/logs", "~/.dsh"),
        ("environment", "$DSH_HOME/py/logs", "$DSH_HOME"),
        ("config", "/h/py/logs", "/h"),
    ],
)
def test_paths_under_home_are_shown_as_the_user_named_it(origin, shown, shown_root):
    home = Home(Path("/h"), origin)
    assert home.display(home.logs) == shown
    assert home.display(home.root) == shown_root
    assert home.display(Path("/hx/y")) == "/hx/y"


def test_the_home_is_made_private_and_an_existing_one_is_left_alone(tmp_path):
    home = Home(tmp_path / "a" / "home", "config")
    home.ensure()
    home.ensure()
    assert stat.S_IMODE(home.root.stat().st_mode) == 0o700
    home.root.chmod(0o750)
    home.ensure()
    assert stat.S_IMODE(home.root.stat().st_mode) == 0o750


def test_a_file_in_the_place_of_home_is_an_error_that_says_what_to_do(tmp_path):
    (tmp_path / "home").write_text("")
    with pytest.raises(HomeError, match="set DSH_HOME to a directory"):
        Home(tmp_path / "home", "config").ensure()
