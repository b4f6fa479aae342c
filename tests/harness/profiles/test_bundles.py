"""Bundles: found by their entry points, loaded in the order of the profile."""

import sys

import attrs
import pytest

from harness.profiles import (
    BUNDLE_GROUP,
    BundleError,
    PatchInvalidError,
    compose_profile,
    find_bundles,
    layer_list,
    use_site,
)

ROW = "- insert:\n    - id: hello\n      name: ./hello.py\n"


def layers_of(profile, home, *bundles):
    return layer_list(attrs.evolve(profile, bundles=bundles), home)


def test_the_shipped_bundles_are_advertised():
    found = find_bundles()
    assert {"base", "headless", "sdk-minimal"} <= found.keys()
    assert found["base"].target == "harness_plugins.bundle_base:patch.yml"
    assert found["base"].distribution.startswith("dsh-harness ")
    assert BUNDLE_GROUP == "harness.bundles"


@pytest.mark.spec("09-C033")
def test_a_patch_file_in_a_package_is_a_layer_and_no_code_of_it_runs(home, profile, install):
    install(
        "hello",
        {"probe_hello/__init__.py": "raise SystemExit\n", "probe_hello/patch.yml": ROW},
        bundles={"hello": "probe_hello:patch.yml"},
    )
    (layer,) = layers_of(profile, home, "hello")
    assert (layer.name, layer.kind) == ("bundle hello", "bundle")
    assert str(layer.file) == str(profile.site / "probe_hello" / "patch.yml")
    name = str(profile.site / "probe_hello" / "hello.py")  # relative to the file that says so
    assert list(layer.patches) == [{"insert": [{"id": "hello", "name": name}]}]
    assert "probe_hello" not in sys.modules


def test_a_function_returns_the_layer(home, profile, install):
    install(
        "hello",
        {
            "probe_made/__init__.py": "",
            "probe_made/rows.py": (
                "class Rows:\n    @staticmethod\n    def make():\n"
                "        return [{'insert': [{'id': 'made', 'name': 'm'}]}]\n"
            ),
        },
        bundles={"made": "probe_made.rows:Rows.make"},
    )
    (layer,) = layers_of(profile, home, "made")
    assert (layer.name, layer.kind, layer.file) == ("bundle made", "bundle", None)
    composed = compose_profile(attrs.evolve(profile, bundles=("made",)), home)
    assert composed.rows == [{"id": "made", "name": "m"}]


def test_bundles_come_in_the_order_of_the_profile(home, profile, install):
    files = {"probe_two/__init__.py": "", "probe_two/a.yml": ROW, "probe_two/b.json": "[]"}
    install("two", files, bundles={"a": "probe_two:a.yml", "b": "probe_two : b.json"})
    assert [one.name for one in layers_of(profile, home, "b", "a")] == ["bundle b", "bundle a"]
    assert [one.name for one in layers_of(profile, home, "a", "b")] == ["bundle a", "bundle b"]


def test_what_the_host_has_wins_over_what_a_profile_installs(home, profile, install):
    install(
        "impostor",
        {"probe_impostor/__init__.py": "", "probe_impostor/patch.yml": "[]"},
        bundles={"base": "probe_impostor:patch.yml"},
    )
    use_site(profile)
    assert sys.path[-1] == str(profile.site)
    assert find_bundles()["base"].target == "harness_plugins.bundle_base:patch.yml"
    use_site(profile)
    assert sys.path.count(str(profile.site)) == 1


def test_an_editable_install_is_found_through_its_pth_file(home, profile, install, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "probe_edit").mkdir()
    (source / "probe_edit" / "patch.yml").write_text(ROW)
    install("edit", {"edit.pth": f"{source}\n"}, bundles={"edit": "probe_edit:patch.yml"})
    (layer,) = layers_of(profile, home, "edit")
    assert str(layer.file) == str(source / "probe_edit" / "patch.yml")


def test_the_bundles_of_one_folder_are_listed_alone(profile, install):
    install("one", {"probe_one/patch.yml": "[]"}, bundles={"one": "probe_one:patch.yml"})
    install("library", {"probe_lib.py": ""})
    found = find_bundles(profile.site)
    assert {name: bundle.distribution for name, bundle in found.items()} == {"one": "one 1.0"}
    assert "one" not in find_bundles()


def test_a_profile_without_packages_adds_nothing_to_the_path(home, profile, install):
    before = list(sys.path)
    assert layers_of(profile, home) == []
    assert sys.path == before


def test_a_bundle_that_is_not_installed_is_named_with_its_nearest(home, profile):
    with pytest.raises(BundleError, match="'headles' of the profile 'p' is not ins") as caught:
        layers_of(profile, home, "headles")
    assert caught.value.code == "PLUGIN_NOT_FOUND"
    assert "there are: " + ", ".join(sorted(find_bundles())) in str(caught.value)
    assert str(caught.value).endswith("; did you mean 'headless'?")
    assert caught.value.hints == (
        "to install it: dsh plugin --profile p add DISTRIBUTION",
        f"or take it out of {profile.file}",
    )
    with pytest.raises(BundleError) as caught:
        layers_of(profile, home, "qqqqqq")
    assert "did you mean" not in str(caught.value)


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("probe_bad", "expected package:resource or module:function"),
        ("probe_bad:", "expected package:resource or module:function"),
        ("probe_missing:patch.yml", "no module named 'probe_missing'"),
        ("probe_missing.deeper:patch.yml", "No module named 'probe_missing'"),
        ("probe_bad:other.yml", "there is no file 'other.yml' in the package probe_bad"),
        ("probe_bad.rows:patch.yml", "there is no file 'patch.yml' in the package probe_bad.rows"),
        ("probe_bad:nothing", "has no attribute 'nothing'"),
        ("probe_bad.rows:text", "text must be a function that returns a list of patches"),
        ("probe_bad.rows:fails", "it rains"),
        ("probe_bad.rows:mapping", "mapping() must return a list of patches, got dict"),
        ("probe_bad.rows:words", "item 2 of words() must be a mapping, got str"),
        ("probe_bad.broken:f", "invalid syntax"),
    ],
)
def test_a_bundle_that_cannot_be_loaded_says_whose_it_is(home, profile, install, target, problem):
    install(
        "bad",
        {
            "probe_bad/__init__.py": "",
            "probe_bad/broken.py": "def\n",
            "probe_bad/rows.py": (
                "text = 'x'\n"
                "def fails():\n    raise ValueError('it rains') from KeyError('no sun')\n"
                "def mapping():\n    return {}\n"
                "def words():\n    return [{}, 'x']\n"
            ),
        },
        bundles={"bad": target},
    )
    with pytest.raises(BundleError) as caught:
        layers_of(profile, home, "bad")
    assert str(caught.value).startswith(f"the bundle 'bad' of bad 1.0 ({target}): ")
    assert problem in str(caught.value)


def test_a_bundle_whose_file_is_wrong_is_named_with_the_place(home, profile, install):
    install("bad", {"probe_list/patch.yml": "- a: [\n"}, bundles={"bad": "probe_list:patch.yml"})
    with pytest.raises(PatchInvalidError) as caught:
        layers_of(profile, home, "bad")
    assert str(profile.site / "probe_list" / "patch.yml") in str(caught.value)
    assert caught.value.code == "PATCH_INVALID"
