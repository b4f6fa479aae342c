"""A secret comes from the strongest place that has one."""

from __future__ import annotations

import pytest

from harness.credentials import (
    Credentials,
    CredentialsFile,
    CredentialsModeError,
    resolve_credential,
)
from harness.launch import LaunchEnvironment
from vendor_shims.cordis import Context, FiberState

NAME = "A_KEY"


def existing(found):
    """What was found, which must be something."""
    assert found is not None
    return found


@pytest.mark.spec("07-277", "09-C039")
async def test_environment_then_store_then_project_then_home(tmp_path):
    store = CredentialsFile(tmp_path / "c.yaml")
    await store.set(NAME, "stored-value")
    layers = {"process": {NAME: "1"}, "project": {NAME: "3"}, "user": {NAME: "4"}}
    seen = []
    for layer in ("process", None, "project", "user", None):
        found = resolve_credential(NAME, LaunchEnvironment(**{"process": {}, **layers}), store)
        seen.append(None if found is None else (found.value.reveal(), found.source))
        if layer is None:
            await store.unset(NAME)
        else:
            layers.pop(layer)
    assert seen == [
        ("1", "process"),
        ("stored-value", "store"),
        ("3", "project-env"),
        ("4", "user-env"),
        None,
    ]


def test_blank_is_unset_and_nothing_is_shown(tmp_path):
    store = CredentialsFile(tmp_path / "c.yaml")
    blank = LaunchEnvironment({NAME: " "}, {NAME: ""}, {NAME: "hidden-value"})
    found = existing(resolve_credential(NAME, blank, store))
    assert found.source == "user-env"
    assert "hidden-value" not in f"{found} {found!r} {found.value}"


def test_a_broken_store_does_not_matter_to_who_has_the_environment(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("x")
    path.chmod(0o644)
    store = CredentialsFile(path)
    found = resolve_credential(NAME, LaunchEnvironment({NAME: "x"}), store)
    assert existing(found).source == "process"
    with pytest.raises(CredentialsModeError):
        resolve_credential(NAME, LaunchEnvironment({}), store)


async def test_the_service_sees_a_key_that_is_stored_meanwhile(tmp_path, monkeypatch):
    monkeypatch.setenv("B_KEY", "from-process")
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("C_KEY=from-project\n")
    async with Context() as ctx:
        ctx.plugin(Credentials, {"home": str(tmp_path / "home")})
        await ctx.settle()
        credentials = ctx[Credentials]
        assert credentials.resolve(NAME) is None
        await credentials.store.set(NAME, "new-value")
        found = existing(credentials.resolve(NAME))
        assert (found.value, found.source) == ("new-value", "store")
        assert "new-value" not in repr(found)
        assert existing(credentials.resolve("B_KEY")).source == "process"
        assert existing(credentials.resolve("C_KEY")).source == "project-env"
        assert existing(ctx.credentials.resolve("C_KEY")).value == "from-project"


async def test_a_bad_env_file_fails_the_service(tmp_path):
    (tmp_path / ".env").write_text("PATH=x\n")
    async with Context() as ctx:
        fiber = ctx.plugin(Credentials, {"home": str(tmp_path), "project": "/"})
        await ctx.settle()
        assert fiber.state is FiberState.FAILED
        assert ".env:1" in str(fiber.error)
