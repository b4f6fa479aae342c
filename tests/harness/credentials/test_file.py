"""The credentials file keeps its format, its comments and its mode, and gives nothing away."""

from __future__ import annotations

import asyncio
import os
import stat

import pytest

from harness.credentials import (
    CredentialsError,
    CredentialsFile,
    CredentialsFormatError,
    CredentialsModeError,
    InvalidCredentialError,
)

FULL = """\
# keys of mine
version: 1
refs:
  A_KEY: "secret-a" # from work
  B_KEY: secret-b
records:
  mcp/github: {type: grant, payload: {token: hidden}}
  llm/azure: {type: api-key, key: hidden}
"""


@pytest.fixture
def store(tmp_path):
    return CredentialsFile(tmp_path / "home" / ".credentials.yaml")


def put(store, text, mode=0o600):
    store.path.parent.mkdir(exist_ok=True)
    store.path.write_text(text)
    store.path.chmod(mode)


def revealed(store):
    return {name: secret.reveal() for name, secret in store.read().refs.items()}


async def test_without_a_file_there_is_nothing(store):
    assert revealed(store) == {}
    assert await store.unset("A_KEY") is False
    assert not store.path.parent.exists()


async def test_the_first_secret_makes_the_file(store):
    await store.set("A_KEY", "  sk-1: #x  \n")
    assert store.path.read_text() == 'version: 1\nrefs:\n  A_KEY: "sk-1: #x"\n'
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700
    assert revealed(store) == {"A_KEY": "sk-1: #x"}


async def test_changes_keep_comments_records_and_order(store):
    put(store, FULL)
    assert store.read().records == {"mcp/github": "grant", "llm/azure": "api-key"}
    await store.set("A_KEY", "new")
    await store.set("C_KEY", "third")
    assert await store.unset("B_KEY") is True
    expected = FULL.replace('"secret-a"', "new").replace("  B_KEY: secret-b\n", "  C_KEY: third\n")
    assert store.path.read_text() == expected


async def test_the_last_secret_can_go_and_another_come(store):
    await store.set("A_KEY", "x")
    await store.unset("A_KEY")
    assert store.path.read_text() == "version: 1\nrefs: {}\n"
    await store.set("B_KEY", "y")
    assert revealed(store) == {"B_KEY": "y"}


async def test_the_older_flat_layout_is_read_and_rewritten(store):
    put(store, "# old\nA_KEY: one # mine\nB_KEY: |\n  two\n")
    assert revealed(store) == {"A_KEY": "one", "B_KEY": "two\n"}
    await store.set("C_KEY", "three")
    assert store.path.read_text() == (
        "version: 1\nrefs:\n  # old\n  A_KEY: one # mine\n  B_KEY: |\n    two\n  C_KEY: three\n"
    )
    put(store, '{A_KEY: "one", B_KEY: two}')
    await store.set("C_KEY", "three")
    assert revealed(store) == {"A_KEY": "one", "B_KEY": "two", "C_KEY": "three"}
    put(store, "A_KEY: |+\n  one\n\n\n")
    await store.set("B_KEY", "two")
    assert revealed(store) == {"A_KEY": "one\n\n\n", "B_KEY": "two"}
    put(store, "--- # start\nA_KEY: one\n")
    await store.unset("A_KEY")
    assert store.path.read_text() == "version: 1\nrefs: {}\n"


@pytest.mark.spec("07-277")
@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("A KEY", "x", "no name for a secret"),
        ("1KEY", "x", "no name for a secret"),
        ("", "x", "no name for a secret"),
        ("A_KEY", "  \n", "is empty"),
        ("A_KEY", "two\nlines", "line ends"),
        ("A_KEY", "nul\0", "control characters"),
        ("A_KEY", "x" * 20_000, "longer than"),
    ],
)
async def test_what_cannot_be_kept_is_refused_before_anything_is_written(store, name, value, words):
    with pytest.raises(InvalidCredentialError, match=words) as caught:
        await store.set(name, value)
    assert caught.value.code == "CREDENTIAL_REFUSED"
    assert not store.path.exists()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666, 0o620])
async def test_a_file_that_others_may_read_is_refused_with_the_cure(store, mode):
    put(store, FULL, mode)
    for use in (store.read, lambda: asyncio.run(store.set("A", "x"))):
        with pytest.raises(CredentialsModeError, match="chmod 600") as caught:
            await asyncio.to_thread(use)
        assert "secret-a" not in str(caught.value)
    assert store.path.read_text() == FULL


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_somebody_else_is_refused(store, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text(FULL)
    other.chmod(0o600)
    os.chown(other, 12345, -1)
    store.path.parent.mkdir()
    store.path.symlink_to(other)
    with pytest.raises(CredentialsModeError, match="another user"):
        store.read()


async def test_a_link_to_an_own_file_stays_a_link(store, tmp_path):
    real = tmp_path / "real.yaml"
    store.path.parent.mkdir()
    store.path.symlink_to(real)
    await store.set("A_KEY", "x")
    assert store.path.is_symlink()
    assert "A_KEY: x" in real.read_text()


def test_what_is_no_file_is_refused_and_does_not_hang(store):
    store.path.parent.mkdir()
    os.mkfifo(store.path, 0o600)
    with pytest.raises(CredentialsModeError, match="no regular file"):
        store.read()


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("version: 2\nrefs: {}\n", 1, "expected version: 1"),
        ("refs: {A: x}\n", 0, "expected version: 1"),
        ("version: 1\nsecrets: {}\n", 2, "unknown key"),
        ("version: 1\nrefs: [a]\n", 2, "expected a mapping"),
        ("version: 1\nrefs:\n  a b: hidden\n", 3, "letters, digits"),
        ("version: 1\nrefs:\n  A: hidden\n  B: 12345\n", 4, "in quotes"),
        ("version: 1\nrefs:\n  A: ''\n", 3, "expects a text"),
        ("version: 1\nrecords:\n  Mcp: {type: grant}\n", 3, "scope/id"),
        ("version: 1\nrecords:\n  a/b: {type: other}\n", 3, "api-key or grant"),
        ("version: 1\nrecords:\n  a/b: hidden\n", 3, "api-key or grant"),
        ("version: 1\nrefs:\n  A: hidden\n  A: hidden\n", 4, "second time"),
        ("version: 1\nrefs:\n  A: [hidden\n", 4, ":4:1:"),
        ("A: hidden\nB: 5\n", 1, "unknown key"),
    ],
)
async def test_what_is_no_credentials_file_is_refused_without_its_secrets(store, text, line, words):
    put(store, text)
    with pytest.raises(CredentialsFormatError, match=words) as caught:
        store.read()
    message = str(caught.value)
    assert message.startswith(f"{store.path}:{line}:" if line else f"{store.path}: ")
    assert "hidden" not in message
    with pytest.raises(CredentialsError):
        await store.set("C", "x")
    assert store.path.read_text() == text


async def test_a_file_that_cannot_be_changed_in_place_stays(store):
    text = "version: 1\nrefs: &r {A: x}\nrecords: {}\n"
    put(store, text)
    await store.set("A", "y")
    assert revealed(store) == {"A": "y"}
    text = "? version\n: 1\n"
    put(store, text)
    with pytest.raises(CredentialsFormatError, match="with an editor"):
        await store.set("B", "y")
    assert store.path.read_text() == text


async def test_two_writers_lose_nothing(store):
    names = [f"KEY_{n}" for n in range(20)]
    await asyncio.gather(*(CredentialsFile(store.path).set(name, f"v-{name}") for name in names))
    assert revealed(store) == {name: f"v-{name}" for name in names}
