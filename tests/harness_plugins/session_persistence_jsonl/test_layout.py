"""Names of directories and files."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness_plugins.session_persistence_jsonl import (
    encode_segment,
    log_name,
    parse_generation,
    project_dir,
    project_key,
)

ANY_TEXT = st.text(st.characters(codec=None, categories=None), min_size=1, max_size=12)


@pytest.mark.spec("05-31")
@settings(max_examples=300)
@given(st.lists(ANY_TEXT, min_size=2, max_size=60, unique=True))
def test_different_ids_get_different_harmless_names(ids: list[str]):
    names = [encode_segment(one) for one in ids]
    assert len(set(names)) == len(ids)
    for name in names:
        assert name.isascii()
        assert name not in (".", "..")
        assert not set(name) & set("/\\\0")


@pytest.mark.spec("05-31")
@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("session-0198-ab", "session-0198-ab"),
        (".", "~002E"),
        ("..", "~002E~002E"),
        ("...", "..."),
        ("../x", "..~002Fx"),
        ("a\0b", "a~0000b"),
        ("~", "~007E"),
        ("é", "~00E9"),
        ("\U0001f600", "~D83D~DE00"),
        ("\ud83d", "~D83D"),
        ("A", "A"),
    ],
)
def test_names_of_special_ids(raw: str, name: str):
    assert encode_segment(raw) == name


def test_an_empty_id_has_no_name():
    with pytest.raises(ValueError, match="empty"):
        encode_segment("")


@pytest.mark.spec("05-32")
@pytest.mark.parametrize(
    ("cwd", "key"),
    [
        ("/home/a b/c:d", "--home-a~0020b-c-d--"),
        ("/", "--root--"),
        ("//", "--root--"),
        ("C:\\work", "--C-work--"),
        ("/a//b", "--a-b--"),
        ("/" + "x" * 400, "--" + "x" * 251 + "--"),
    ],
)
def test_directories_of_working_directories(cwd: str, key: str):
    assert project_key(cwd) == key
    assert project_dir(cwd) == key


def test_sessions_without_a_working_directory_have_one_of_their_own():
    assert project_dir(None) == "_no-cwd"


@pytest.mark.parametrize(
    ("name", "version"),
    [("session.jsonl", 0), ("session.v2.jsonl", 2), ("session.v1000.jsonl.zstd", 1000)],
)
def test_generations_are_told_by_their_names(name: str, version: int):
    found = parse_generation(name)
    assert found is not None
    assert found.version == version
    assert found.compressed == name.endswith("zstd")
    assert name.startswith(log_name(version))


@pytest.mark.parametrize(
    "name",
    [
        "session.v0.jsonl",
        "session.v01.jsonl",
        "Session.jsonl",
        "session.V2.jsonl",
        "session.v2.json",
        "session.lock",
        ".abc.tmp",
        "session.v2.jsonl.bak",
        "session.v2.jsonl\n",
    ],
)
def test_other_names_are_no_generations(name: str):
    assert parse_generation(name) is None
