"""What a child process inherits."""

import os
import subprocess

import pytest

from harness.launch import (
    InvalidEnvironmentError,
    ScrubRules,
    check_environment,
    scrub_environment,
)


@pytest.mark.spec("07-23")
def test_secrets_and_our_own_names_are_withheld_and_explicit_entries_win():
    inherited = {
        "MY_api_key": "1",
        "DB_PASSWORD": "2",
        "dsh_foo": "3",
        "GH_TOKEN": "4",
        "PATH": "/bin",
    }
    assert scrub_environment(inherited) == {"PATH": "/bin"}
    assert scrub_environment(inherited, {"GH_TOKEN": "x", "PATH": None, "NONE": None}) == {
        "GH_TOKEN": "x"
    }


@pytest.mark.spec("07-23")
@pytest.mark.parametrize(
    "name",
    ["AWS_CREDENTIAL_FILE", "GITHUB_PAT", "SESSION_COOKIE", "AWS_OLD_SESSION_X", "SSH_AUTH_SOCK",
     "GPG_AGENT_INFO", "client_secret", "TOKENS"],
)  # fmt: skip
def test_more_names_that_hold_secrets_are_withheld(name):
    assert scrub_environment({name: "x"}) == {}


@pytest.mark.parametrize("name", ["PATCH", "SESSION", "AWS_REGION", "LANG", "ENVIRONMENT"])
def test_other_names_pass(name):
    assert scrub_environment({name: "x"}) == {name: "x"}


@pytest.mark.spec("07-24")
@pytest.mark.skipif(os.name == "nt", reason="needs bash")
def test_a_start_up_file_named_by_the_parent_does_not_run(tmp_path):
    (tmp_path / "evil.sh").write_text("echo evil")
    inherited = {**os.environ, "BASH_ENV": str(tmp_path / "evil.sh")}
    run = ["bash", "-c", "echo done"]
    seen = subprocess.run(run, env=inherited, capture_output=True, check=True).stdout
    assert seen == b"evil\ndone\n"
    child = scrub_environment(inherited)
    assert subprocess.run(run, env=child, capture_output=True, check=True).stdout == b"done\n"
    for name in ("ENV", "LD_PRELOAD", "PROMPT_COMMAND", "PYTHONSTARTUP"):
        assert scrub_environment({name: "x"}) == {}
        assert scrub_environment({}, {name: "x"}) == {name: "x"}


def test_the_lists_are_configuration():
    rules = ScrubRules(secrets=("*KEY*", "MINE"), startup=(), allow=("MONKEY",))
    inherited = {"MONKEY": "1", "KEYS": "2", "mine": "3", "GH_TOKEN": "4", "BASH_ENV": "5"}
    assert set(scrub_environment(inherited, rules=rules)) == {"MONKEY", "GH_TOKEN", "BASH_ENV"}
    assert scrub_environment({"KEY": "1"}, rules=ScrubRules(secrets=(), startup=())) == {"KEY": "1"}


def test_values_that_the_credential_store_knows_are_withheld_under_any_name():
    inherited = {"A": "s3cret-value", "URL": "https://u:s3cret-value@h", "B": "abc", "C": "xabcx"}
    child = scrub_environment(inherited, secret_values=["s3cret-value", "abc", ""])
    assert child == {"C": "xabcx"}


@pytest.mark.spec("07-25")
@pytest.mark.parametrize("name", ["A=B", "", "A\0", "="])
def test_a_name_that_no_process_can_get_is_refused(name):
    with pytest.raises(InvalidEnvironmentError, match="is no environment name"):
        scrub_environment({}, {name: "x"})


@pytest.mark.spec("07-25")
def test_a_value_with_nul_is_refused_without_showing_it():
    with pytest.raises(InvalidEnvironmentError, match="the value of A holds a NUL") as caught:
        check_environment({"A": "hunter2\0"})
    assert "hunter2" not in str(caught.value)
    assert isinstance(caught.value, ValueError)
