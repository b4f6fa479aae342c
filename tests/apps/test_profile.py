"""`dsh profile` makes, resets and removes profiles, and loses nothing by accident."""

from __future__ import annotations

import pytest

from harness.wire import loads


def folder_of(dsh, name):
    return dsh.home / "py" / "profiles" / name


async def test_templates_are_listed_before_their_first_use(dsh):
    done = await dsh("profile", "list")
    assert (done.code, done.stderr) == (0, "")
    assert "headless     (made on first use)  base headless\n" in done.out
    assert not dsh.home.exists()


async def test_a_profile_is_made_listed_and_removed(dsh, on_terminal):
    done = await dsh("profile", "new", "work")
    assert done.out == "made work in $DSH_HOME/py/profiles/work: base headless\n"
    assert (folder_of(dsh, "work") / "profile.yml").is_file()
    document = loads((await dsh("profile", "list", "--json")).stdout)
    [work] = [each for each in document["profiles"] if each["name"] == "work"]
    assert work["isSaved"] is True
    assert work["isTemplate"] is False
    assert work["bundles"] == ["base", "headless"]
    again = await dsh("profile", "new", "work")
    assert (again.code, again.code_line) == (2, "USAGE")

    refused = await dsh("profile", "rm", "work")
    assert (refused.code, refused.code_line) == (2, "USAGE")
    assert "add -y" in refused.stderr
    for answer, code in (("n\n", 1), ("\x04", 1), ("y\n", 0)):
        async with on_terminal("profile", "rm", "work") as screen:
            await screen.until("[y/N]")
            assert folder_of(dsh, "work").exists()
            screen.type(answer)
            assert await screen.end() == code
    assert not folder_of(dsh, "work").exists()
    await dsh("profile", "new", "work", "--template", "sdk-minimal")
    assert (await dsh("profile", "rm", "-y", "work")).out == "removed work\n"


@pytest.mark.parametrize("action", ["path", "rm"])
async def test_an_unknown_profile_names_the_known_ones(dsh, action):
    done = await dsh("profile", action, "nope")
    assert (done.code, done.code_line) == (3, "PROFILE_UNKNOWN")
    assert "headless, sdk-minimal" in done.stderr
    assert "dsh profile new nope" in done.stderr


async def test_a_shipped_profile_that_was_never_used_cannot_be_removed(dsh):
    done = await dsh("profile", "rm", "-y", "headless")
    assert done.code == 3
    assert "Traceback" not in done.stderr


async def test_a_reset_keeps_what_was_there(dsh):
    assert (await dsh("profile", "reset", "headless")).out == "made headless anew\n"
    patch = folder_of(dsh, "headless") / "cordis.patch.yml"
    patch.write_text("# mine\n")
    done = await dsh("profile", "reset", "headless")
    assert "the old one is $DSH_HOME/py/profiles/headless.bak-1" in done.out
    assert (folder_of(dsh, "headless.bak-1") / "cordis.patch.yml").read_text() == "# mine\n"
    assert not patch.exists()
    document = loads((await dsh("profile", "reset", "headless", "--json")).stdout)
    assert document["backup"] == str(folder_of(dsh, "headless.bak-2"))
    done = await dsh("profile", "reset", "own")
    assert (done.code, done.code_line) == (3, "PROFILE_UNKNOWN")


async def test_a_broken_profile_is_listed_with_its_problem(dsh):
    folder_of(dsh, "odd").mkdir(parents=True)
    (folder_of(dsh, "odd") / "profile.yml").write_text("bundles: [base\n")
    done = await dsh("profile", "list")
    assert done.code == 0
    assert "odd/profile.yml:" in done.out
    document = loads((await dsh("profile", "list", "--json")).stdout)
    [odd] = [each for each in document["profiles"] if each["name"] == "odd"]
    assert odd["bundles"] is None
    assert "profile.yml" in odd["problem"]


async def test_a_home_that_cannot_be_written(dsh):
    dsh.home.write_text("a file")
    done = await dsh("profile", "new", "work")
    assert done.code == 3
    assert str(dsh.home) in done.stderr
    assert "Traceback" not in done.stderr
