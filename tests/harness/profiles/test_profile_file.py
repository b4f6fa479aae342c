"""What a `profile.yml` may say, and what is said about one that is wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.profiles import Profile, ProfileError, ProfileFileError, change_profile, open_profile


@pytest.fixture
def file(home):
    folder = home.profiles / "p"
    folder.mkdir(parents=True)
    return folder / "profile.yml"


def test_everything_a_profile_can_say(home, file):
    file.write_text(
        "\ufeffsurface: headless\r\nbundles: [base, my.bundle_2]\r\n"
        "requirements: ['a==1', 'b @ file:///x y']\r\n",
        newline="",
    )
    assert open_profile(home, "p") == Profile(
        name="p",
        folder=file.parent,
        bundles=("base", "my.bundle_2"),
        surface="headless",
        requirements=("a==1", "b @ file:///x y"),
    )


@pytest.mark.parametrize("requirements", ["", "requirements:\n", "requirements: []\n"])
def test_requirements_may_be_left_out(home, file, requirements):
    file.write_text(f"bundles: []\nsurface: s\n{requirements}")
    assert open_profile(home, "p").requirements == ()


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("", 0, "expected the keys bundles and surface"),
        ("# only words\n", 0, "expected the keys"),
        ("\n- base\n", 2, "expected the keys"),
        ("just text", 1, "expected the keys"),
        ("surface: s\n", 1, "'bundles' is missing"),
        ("\nbundles: []\n", 2, "'surface' is missing"),
        ("bundles: []\nsurface: s\nbundels: []\n", 3, "unknown key 'bundels'; expected one of"),
        ("bundles: []\nsurface: s\nsurface: t\n", 3, "'surface' is there twice"),
        ("bundles: []\nsurface: s\n1: 2\n", 3, "a key must be a text; put '1' into quotes"),
        ("bundles: []\nsurface: s\n[a]: 2\n", 3, "a key must be a text"),
        ("bundles: base\nsurface: s\n", 1, "bundles must be a list"),
        ("bundles:\nsurface: s\n", 1, "bundles must be a list"),
        ("bundles: {a: b}\nsurface: s\n", 1, "bundles must be a list"),
        ("bundles:\n - base\n - [x]\nsurface: s\n", 3, "each of bundles must be a text"),
        ("bundles: [on]\nsurface: s\n", 1, "put 'on' into quotes"),
        ("bundles: [1.5]\nsurface: s\n", 1, "put '1.5' into quotes"),
        ("bundles: ['']\nsurface: s\n", 1, "must not be empty"),
        ("bundles: [../x]\nsurface: s\n", 1, "'../x' is no name of a bundle"),
        ("bundles:\n - a\n - b\n - a\nsurface: s\n", 4, "the bundle 'a' is listed twice"),
        ("bundles: []\nsurface: [s]\n", 2, "surface must be a text"),
        ("bundles: []\nsurface: a b\n", 2, "'a b' is no name of a surface"),
        ("bundles: []\nsurface: s\nrequirements: a==1\n", 3, "requirements must be a list"),
        ("bundles: []\nsurface: s\nrequirements: [2]\n", 3, "each of requirements must be a text"),
        ("bundles: []\nsurface: s\n---\nbundles: []\n", 3, "is no YAML"),
        ("bundles: [base\nsurface: s\n", 2, "is no YAML"),
        ("bundles: []\nsurface: !x s\n", 2, "put 's' into quotes"),
        ("bundles: []\nsurface: *s\n", 2, "is no YAML: found undefined alias"),
        ("bundles: []\n\tsurface: s\n", 2, "is no YAML"),
        ("bundles: []\nsurface: a\x07b\n", 2, "is no YAML: special characters"),
        ("bundles: " + "[" * 5000, 0, "is nested too deeply"),
    ],
)
def test_a_file_that_is_wrong_is_named_with_its_line(home, file, text, line, problem):
    file.write_text(text)
    with pytest.raises(ProfileFileError) as caught:
        open_profile(home, "p")
    assert caught.value.code == "CONFIG_INVALID"
    assert (caught.value.path, caught.value.line) == (file, line)
    where = f"{file}:{line}: " if line else f"{file}: "
    assert str(caught.value).startswith(where)
    assert problem in str(caught.value)


def test_bytes_that_are_no_text_are_named_with_their_line(home, file):
    file.write_bytes(b"bundles: []\nsurface: \xff\n")
    with pytest.raises(ProfileFileError, match=r"profile.yml:2: is not UTF-8"):
        open_profile(home, "p")


def test_a_huge_file_is_refused(home, file):
    file.write_text("bundles: []\nsurface: s\n" + "#" * 300_000)
    with pytest.raises(ProfileFileError, match="is larger than 262144 bytes"):
        open_profile(home, "p")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("bundles: [a]\nsurface: s\n", "bundles: [b, c]\nsurface: s\n"),
        ("surface: s\nbundles: [a] # why\n", "surface: s\nbundles: [b, c] # why\n"),
        ("bundles:\n- a\n# end\nsurface: s\n", "bundles:\n- b\n- c\n# end\nsurface: s\n"),
        ("bundles:\n    - a\n    - d\nsurface: s", "bundles:\n    - b\n    - c\nsurface: s"),
        ("{bundles: [a], surface: s}", "{bundles: [b, c], surface: s}"),
    ],
)
def test_a_list_is_replaced_where_it_stands(home, file, before, after):
    file.write_text(before)
    change_profile(open_profile(home, "p"), bundles=("b", "c"))
    assert file.read_text() == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("bundles: []\nsurface: s", "bundles: []\nsurface: s\nrequirements: [b, c]\n"),
        ("bundles: []\nrequirements:\nsurface: s", "bundles: []\nrequirements: [b, c]\nsurface: s"),
        (
            "bundles: []\nsurface: s\nrequirements: ~\n",
            "bundles: []\nsurface: s\nrequirements: [b, c]\n",
        ),
    ],
)
def test_a_list_that_is_missing_or_empty_is_put_in(home, file, before, after):
    file.write_text(before)
    change_profile(open_profile(home, "p"), requirements=("b", "c"))
    assert file.read_text() == after


@pytest.mark.parametrize(
    "text",
    [
        "{bundles: [a], surface: s}",
        "bundles: &all [a]\nsurface: s\nrequirements: *all\n",
        "bundles: [a]\nsurface: s\n...\n",
    ],
)
def test_a_file_in_an_unusual_form_is_written_anew(home, file, text):
    file.write_text(text)
    changed = change_profile(open_profile(home, "p"), requirements=("b", "c"))
    assert changed == open_profile(home, "p")
    assert changed.requirements == ("b", "c")
    assert (changed.bundles, changed.surface) == (("a",), "s")


def test_a_list_can_become_empty(home, file):
    file.write_text("bundles:\n- a\nsurface: s\n")
    assert change_profile(open_profile(home, "p"), bundles=()).bundles == ()
    assert open_profile(home, "p").bundles == ()


TEXTS = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\u2028\u2029\ufeff\x85"),
    min_size=1,
    max_size=40,
).filter(str.strip)


@given(lists=st.lists(st.lists(TEXTS, max_size=4), min_size=1, max_size=3), style=st.booleans())
def test_whatever_is_written_is_read_again(tmp_path_factory, lists, style):
    from harness.launch import Home

    home = Home(tmp_path_factory.mktemp("home"), "config")
    folder = home.profiles / "p"
    folder.mkdir(parents=True)
    start = "requirements:\n- x\n" if style else "requirements: [x]\n"
    (folder / "profile.yml").write_text(f"{start}bundles: [a]\nsurface: s\n")
    for items in lists:
        changed = change_profile(open_profile(home, "p"), requirements=tuple(items))
        assert changed == open_profile(home, "p")
        assert changed.requirements == tuple(items)


@given(data=st.binary(max_size=200) | st.text("[]{}:-, \n#&*!'\"ab|>", max_size=60).map(str.encode))
def test_any_bytes_are_a_profile_or_a_clear_error(tmp_path_factory, data):
    from harness.launch import Home

    home = Home(tmp_path_factory.mktemp("home"), "config")
    folder = home.profiles / "p"
    folder.mkdir(parents=True)
    (folder / "profile.yml").write_bytes(data)
    problem = None
    try:
        open_profile(home, "p")
    except ProfileError as error:
        problem = str(error)
    assert problem is None or str(folder / "profile.yml") in problem
