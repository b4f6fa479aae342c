"""The profiles of a home: made, opened, upgraded, reset, removed."""

import os
import resource
import stat
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.launch import Home, HomeError
from harness.profiles import (
    TEMPLATES,
    Profile,
    ProfileFileError,
    ProfileNameError,
    ProfileStorageError,
    Template,
    UnknownProfileError,
    change_profile,
    list_profiles,
    new_profile,
    open_profile,
    remove_profile,
    reset_profile,
)

OLD = ("base", "one-shot")
UPGRADED = {"headless": Template("headless", ("base", "headless"), older=(("base",), OLD))}


@contextmanager
def full_disk():
    """No file can grow, whoever the user is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def write(home: Home, name: str, text: str) -> Path:
    folder = home.profiles / name
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "profile.yml"
    file.write_text(text)
    return file


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_a_shipped_profile_is_made_at_its_first_use_and_found_at_the_next(home, name):
    template = TEMPLATES[name]
    made = open_profile(home, name)
    assert made == Profile(
        name=name,
        folder=home.profiles / name,
        bundles=template.bundles,
        surface=template.surface,
    )
    assert stat.S_IMODE(home.root.stat().st_mode) == 0o700
    assert stat.S_IMODE(made.file.stat().st_mode) == 0o600
    before = made.file.read_bytes()
    assert open_profile(home, name) == made
    assert made.file.read_bytes() == before


def test_looking_at_a_shipped_profile_leaves_the_disk_alone(home):
    assert open_profile(home, "headless", saves=False).bundles == ("base", "headless")
    assert not home.root.exists()


def test_a_patch_file_that_was_there_first_stays(home):
    folder = home.profiles / "headless"
    folder.mkdir(parents=True)
    (folder / "cordis.patch.yml").write_text("[]\n")
    profile = open_profile(home, "headless")
    assert profile.patch_file.read_text() == "[]\n"
    assert profile.file.exists()
    assert profile.site == folder / "site"


def test_a_list_that_was_shipped_once_is_upgraded_and_the_rest_of_the_file_stays(home):
    file = write(
        home,
        "headless",
        "# mine\nbundles: [base, one-shot] # two\nsurface: headless\nrequirements: [a==1]\n",
    )
    profile = open_profile(home, "headless", templates=UPGRADED)
    assert profile.bundles == ("base", "headless")
    assert profile.requirements == ("a==1",)
    assert file.read_text() == (
        "# mine\nbundles: [base, headless] # two\nsurface: headless\nrequirements: [a==1]\n"
    )


@pytest.mark.parametrize("bundles", ["[base, headless]", "[headless, base]", "[base, mine]", "[]"])
def test_a_list_of_the_users_own_is_never_touched(home, bundles):
    text = f"bundles: {bundles}\nsurface: headless\n"
    file = write(home, "headless", text)
    profile = open_profile(home, "headless", templates=UPGRADED)
    assert list(profile.bundles) == [name for name in bundles.strip("[]").split(", ") if name]
    assert file.read_text() == text


def test_an_older_list_in_a_profile_without_template_is_the_users(home):
    write(home, "work", "bundles: [base]\nsurface: headless\n")
    assert open_profile(home, "work", templates=UPGRADED).bundles == ("base",)


def test_an_upgrade_that_cannot_be_written_counts_for_this_run(home):
    file = write(home, "headless", "bundles: [base]\nsurface: headless\n")
    with full_disk():
        profile = open_profile(home, "headless", templates=UPGRADED)
    assert profile.bundles == ("base", "headless")
    assert file.read_text() == "bundles: [base]\nsurface: headless\n"
    assert open_profile(home, "headless", saves=False, templates=UPGRADED) == profile
    assert "bundles: [base]" in file.read_text()


@pytest.mark.parametrize("name", ["nope", "headles"])
def test_an_unknown_profile_is_told_which_there_are(home, name):
    new_profile(home, "work")
    with pytest.raises(UnknownProfileError, match=f"no profile '{name}'") as caught:
        open_profile(home, name)
    assert caught.value.code == "PROFILE_UNKNOWN"
    assert str(caught.value).endswith(f"there are: {', '.join(sorted([*TEMPLATES, 'work']))}")
    assert caught.value.hints == (f"to make one: dsh profile new {name}",)


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "/etc",
        "a b",
        "a.b",
        "-p",
        "_a",
        "ü",
        "a\n",
        "a\0",
        "x" * 65,
        "x" * 9999,
    ],
)
def test_a_name_that_is_no_folder_of_its_own_is_refused(home, name):
    for act in (open_profile, new_profile, reset_profile, remove_profile):
        with pytest.raises(ProfileNameError, match="is no name of a profile") as caught:
            act(home, name)
        assert caught.value.code == "USAGE"
        assert len(str(caught.value)) < 250
    assert not home.root.exists()


def test_names_of_any_allowed_form_work(home):
    for name in ("a", "A9", "my-profile_2", "0", "x" * 64):
        assert new_profile(home, name).name == name
        assert open_profile(home, name).folder == home.profiles / name


def test_a_new_profile_has_the_lists_of_its_template(home):
    profile = new_profile(home, "bot", "sdk-minimal")
    assert (profile.bundles, profile.surface) == (("sdk-minimal",), "sdk")
    assert open_profile(home, "bot") == profile


def test_a_new_profile_takes_no_name_that_is_taken(home):
    made = new_profile(home, "bot")
    made.file.write_text("not yours")
    with pytest.raises(ProfileNameError, match="there is a profile 'bot' already") as caught:
        new_profile(home, "bot")
    assert caught.value.hints == ("to start it over: dsh profile reset bot",)
    assert made.file.read_text() == "not yours"


def test_an_unknown_template_is_told_which_there_are(home):
    with pytest.raises(UnknownProfileError, match=r"no template 'nope'; there are: .*headless"):
        new_profile(home, "bot", "nope")
    with pytest.raises(UnknownProfileError, match="no template 'bot'"):
        reset_profile(home, "bot")


def test_a_reset_keeps_every_old_profile(home):
    first = open_profile(home, "headless")
    first.file.write_text("broken: [")
    first.patch_file.write_text("[]\n")
    profile, backup = reset_profile(home, "headless")
    assert profile == first
    assert backup is not None
    assert backup == home.profiles / "headless.bak-1"
    assert (backup / "profile.yml").read_text() == "broken: ["
    assert (backup / "cordis.patch.yml").read_text() == "[]\n"
    assert not profile.patch_file.exists()
    assert reset_profile(home, "headless")[1] == home.profiles / "headless.bak-2"
    assert [one.name for one in list_profiles(home)] == sorted(TEMPLATES)


def test_a_reset_of_what_was_never_used_makes_it(home):
    profile, backup = reset_profile(home, "headless")
    assert backup is None
    assert open_profile(home, "headless") == profile


def test_a_reset_that_the_disk_refuses_leaves_the_old_profile(home):
    made = open_profile(home, "headless")
    made.patch_file.write_text("[]\n")
    with full_disk(), pytest.raises(ProfileStorageError) as caught:
        reset_profile(home, "headless")
    assert caught.value.code == "STORAGE_FULL"
    assert open_profile(home, "headless") == made
    assert made.patch_file.read_text() == "[]\n"
    assert os.listdir(home.profiles) == ["headless"]


def test_a_removed_profile_is_gone_with_everything_in_it(home):
    made = new_profile(home, "bot")
    made.site.mkdir()
    (made.site / "module.py").touch()
    remove_profile(home, "bot")
    assert os.listdir(home.profiles) == []
    with pytest.raises(UnknownProfileError):
        remove_profile(home, "bot")


def test_removing_a_link_leaves_what_it_leads_to(home, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "profile.yml").write_text("bundles: []\nsurface: x\n")
    home.profiles.mkdir(parents=True)
    (home.profiles / "linked").symlink_to(elsewhere)
    assert open_profile(home, "linked").surface == "x"
    remove_profile(home, "linked")
    assert os.listdir(home.profiles) == []
    assert (elsewhere / "profile.yml").exists()


def test_the_list_shows_what_is_there_what_is_shipped_and_what_is_wrong(home):
    new_profile(home, "work")
    write(home, "broken", "bundles: base\nsurface: headless\n")
    (home.profiles / "notes.txt").touch()
    (home.profiles / "file").touch()
    (home.profiles / "empty").mkdir()
    listed = {one.name: one for one in list_profiles(home)}
    assert list(listed) == sorted([*TEMPLATES, "broken", "empty", "work"])
    assert listed["headless"].is_template
    assert not listed["headless"].folder.exists()
    assert listed["headless"].profile is not None
    assert not listed["work"].is_template
    assert listed["broken"].profile is None
    assert str(listed["broken"].problem).endswith("profile.yml:1: bundles must be a list")
    assert isinstance(listed["empty"].problem, ProfileFileError)


def test_a_folder_without_a_profile_file_is_told_what_is_missing(home):
    (home.profiles / "empty").mkdir(parents=True)
    with pytest.raises(ProfileFileError, match=r"empty/profile.yml: is missing; it lists"):
        open_profile(home, "empty")


def test_changed_lists_are_written_and_comments_stay(home):
    file = write(
        home, "bot", "# mine\nbundles:\n  - base # first\n  - headless\nsurface: headless\n"
    )
    profile = open_profile(home, "bot")
    changed = change_profile(profile, bundles=("base", "headless", "extra"), requirements=("e==1",))
    assert changed == open_profile(home, "bot")
    assert (changed.bundles[-1], changed.requirements) == ("extra", ("e==1",))
    assert file.read_text() == (
        "# mine\nbundles:\n  - base\n  - headless\n  - extra\nsurface: headless\n"
        "requirements: [e==1]\n"
    )
    assert change_profile(profile) == changed


def test_changing_follows_a_link_to_the_file(home, tmp_path):
    real = tmp_path / "dotfiles.yml"
    real.write_text("bundles: [base]\nsurface: headless\n")
    folder = home.profiles / "bot"
    folder.mkdir(parents=True)
    (folder / "profile.yml").symlink_to(real)
    change_profile(open_profile(home, "bot"), bundles=("headless",))
    assert real.read_text() == "bundles: [headless]\nsurface: headless\n"
    assert (folder / "profile.yml").is_symlink()


def test_changing_what_was_not_saved_is_refused(home):
    profile = open_profile(home, "headless", saves=False)
    with pytest.raises(ProfileFileError, match="is not there; open the profile first"):
        change_profile(profile, bundles=())


def test_a_full_disk_is_reported_with_the_path(home):
    with full_disk(), pytest.raises(ProfileStorageError) as caught:
        open_profile(home, "headless")
    assert caught.value.code == "STORAGE_FULL"
    assert str(caught.value).startswith(str(home.profiles / "headless" / "profile.yml"))
    assert open_profile(home, "headless").surface == "headless"


def test_a_disk_that_refuses_is_reported_for_every_act(home):
    home.own.mkdir(parents=True)
    home.profiles.touch()
    for act in (open_profile, new_profile):
        with pytest.raises(ProfileStorageError) as caught:
            act(home, "headless")
        assert caught.value.code == "STORAGE_DENIED"
    with pytest.raises(ProfileStorageError, match="Not a directory"):
        list_profiles(home)
    with pytest.raises(ProfileStorageError):
        reset_profile(home, "headless")


def test_a_folder_that_cannot_be_moved_is_reported(home):
    if not Path("/proc/self/task").is_dir():
        pytest.skip("needs a /proc, whose folders nobody can rename")
    home.own.mkdir(parents=True)
    home.profiles.symlink_to("/proc/self")
    templates = {"task": Template("x", ())}
    for act in (reset_profile, remove_profile):
        with pytest.raises(ProfileStorageError) as caught:
            act(home, "task", templates=templates)
        assert caught.value.code == "STORAGE_DENIED"
        assert caught.value.path == home.profiles / "task"


def test_a_home_that_cannot_be_made_is_an_error_of_the_launch(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(HomeError):
        open_profile(Home(tmp_path / "link", "config"), "headless")


def test_a_profile_file_that_is_a_folder_is_reported(home):
    (home.profiles / "headless" / "profile.yml").mkdir(parents=True)
    with pytest.raises(ProfileStorageError, match="Is a directory"):
        open_profile(home, "headless")
