"""The environment of the launch: three layers, captured once; `.env` files and their limits."""

import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.launch import (
    DotenvError,
    EnvValue,
    LaunchEnvironment,
    LaunchError,
    capture_environment,
)


@pytest.fixture
def dotenv(tmp_path):
    """Read one `.env` text and return the project layer."""

    def read(text):
        data = text if isinstance(text, bytes) else text.encode()
        (tmp_path / ".env").write_bytes(data)
        captured = capture_environment({}, project_dir=tmp_path, home_dir=tmp_path / "none")
        return dict(captured.project)

    return read


@pytest.mark.spec("07-22")
def test_the_process_wins_and_a_layer_can_be_asked_for(tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "home").mkdir()
    (tmp_path / "project" / ".env").write_text("A=project\nB=project\n")
    (tmp_path / "home" / ".env").write_text("A=user\nB=user\nC=user\n")
    environ = {"A": "process"}
    captured = capture_environment(
        environ, project_dir=tmp_path / "project", home_dir=tmp_path / "home"
    )
    environ["A"] = "later"
    environ["D"] = "later"
    seen = {name: captured.get(name) for name in "ABCD"}
    assert {name: value and (value.value, value.layer) for name, value in seen.items()} == {
        "A": ("process", "process"),
        "B": ("project", "project-env"),
        "C": ("user", "user-env"),
        "D": None,
    }
    assert captured.get_from("A", ["user-env"]) == EnvValue("user", "user-env")
    stronger = captured.get_from("A", ["user-env", "project-env"])
    assert stronger == EnvValue("project", "project-env")
    assert captured.get_from("C", ["process"]) is None
    process: Any = captured.process
    with pytest.raises(TypeError):
        process["A"] = "x"


@pytest.mark.spec("07-22")
def test_changes_of_the_process_are_invisible_and_nothing_is_written_back(tmp_path, monkeypatch):
    (tmp_path / ".env").write_text("BASE_TEST_VALUE=file\n")
    captured = capture_environment(os.environ, project_dir=tmp_path, home_dir=tmp_path)
    assert "BASE_TEST_VALUE" not in os.environ
    monkeypatch.setenv("BASE_TEST_VALUE", "process")
    assert captured.get("BASE_TEST_VALUE") == EnvValue("file", "project-env")


def test_values_are_not_shown_when_printed():
    captured = LaunchEnvironment({"KEY": "hunter2"})
    assert "hunter2" not in repr(captured)
    assert "hunter2" not in repr(captured.get("KEY"))


def test_every_form_of_a_line(dotenv):
    assert dotenv(
        "\ufeff# comment\n"
        "\n"
        "PLAIN=a b \n"
        "  export SPACED = x # comment\r\n"
        "HASH=a#b\n"
        "EMPTY=\n"
        "ONLY_COMMENT= # nothing\n"
        "SINGLE='a \\n # \"b'\n"
        'DOUBLE="a\\n\\"b\\" \\q # $HOME" # comment\n'
        'MANY="one\ntwo"\n'
        "AGAIN=1\n"
        "AGAIN=2\n"
        "LAST='x'"
    ) == {
        "PLAIN": "a b",
        "SPACED": "x",
        "HASH": "a#b",
        "EMPTY": "",
        "ONLY_COMMENT": "",
        "SINGLE": 'a \\n # "b',
        "DOUBLE": 'a\n"b" \\q # $HOME',
        "MANY": "one\ntwo",
        "AGAIN": "2",
        "LAST": "x",
    }


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("A=1\nnonsense\n", 2, "expected NAME=value"),
        ("A-B=1\n=2\n", 2, "expected NAME=value"),
        ("1A=1\n", 1, "expected NAME=value"),
        ("A='x\ny\nB=2\n", 1, "the quote ' is never closed"),
        ('A="x\\"', 1, "is never closed"),
        ("A='x' y\n", 1, "after the closing quote"),
        ("A='1\n2'\n\nB='x'y\n", 4, "after the closing quote"),
        ("A=\0\n", 1, "the value of A holds a NUL"),
        (b"A=1\nB=\xff\n", 2, "is not UTF-8"),
        (b"A=" + b"x" * 1_100_000, 0, "is larger than"),
    ],
)
def test_a_bad_line_is_named_without_its_value(dotenv, tmp_path, text, line, problem):
    with pytest.raises(DotenvError, match=problem) as caught:
        dotenv(text)
    assert (caught.value.line, caught.value.path) == (line, tmp_path / ".env")
    assert str(caught.value).startswith(f"{tmp_path / '.env'}:")


@pytest.mark.parametrize(
    "name",
    ["DSH_HOME", "dsh_x", "PATH", "Path", "PYTHONPATH", "LD_PRELOAD", "DYLD_X", "BASH_FUNC_ls",
     "XDG_CONFIG_HOME", "HOME", "SHELL", "BROWSER", "EDITOR"],
)  # fmt: skip
def test_names_that_only_the_real_environment_may_set_are_refused(dotenv, name):
    with pytest.raises(DotenvError, match=f"{name} may not be set here") as caught:
        dotenv(f"A=1\n{name}=x\n")
    assert caught.value.line == 2
    assert isinstance(caught.value, LaunchError)


def test_names_that_only_look_alike_are_fine(dotenv):
    assert dotenv("HOMEPAGE=1\nMY_PATH=2\n") == {"HOMEPAGE": "1", "MY_PATH": "2"}


def test_a_directory_or_nothing_in_the_place_of_the_file_is_no_file(tmp_path):
    (tmp_path / ".env").mkdir()
    captured = capture_environment({}, project_dir=tmp_path, home_dir=tmp_path / "none")
    assert captured == LaunchEnvironment({})


def test_a_file_that_cannot_be_read_is_an_error(tmp_path):
    if not os.path.exists("/proc/self/mem"):
        pytest.skip("needs a file that opens and cannot be read, such as /proc/self/mem")
    (tmp_path / ".env").symlink_to("/proc/self/mem")
    with pytest.raises(DotenvError, match="cannot be read"):
        capture_environment({}, project_dir=tmp_path, home_dir=tmp_path)


@given(st.text(st.sampled_from("AB= '\"\\#\n$é"), max_size=30))
def test_any_text_is_read_or_refused_by_name(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("env")
    (path / ".env").write_text(text)
    try:
        names = list(capture_environment({}, project_dir=path, home_dir=path / "none").project)
    except DotenvError as error:
        names = [f"line{error.line}"]
    assert all(name and name != "line0" and "=" not in name for name in names)


def test_a_large_file_of_short_lines_is_read_once(dotenv):
    text = "\n" * 500_000 + "A=1\n" * 100_000
    assert dotenv(text) == {"A": "1"}
