"""The layers of a profile: which there are, in which order, and what a flag becomes."""

import pytest

from harness.profiles import (
    FlagName,
    LayerFlag,
    LayerFlagError,
    LayerOptions,
    PatchInvalidError,
    PatchUnmatchedError,
    check_unmatched,
    compose_profile,
    layer_list,
    open_profile,
)
from vendor_shims.include import dump, parse_rows


def options(*flags: tuple[FlagName, str], no_user_config: bool = False) -> LayerOptions:
    return LayerOptions(
        flags=[LayerFlag(name, text) for name, text in flags], no_user_config=no_user_config
    )


def row(composed, row_id):
    (found,) = [one for one in composed.rows if one["id"] == row_id]
    return found


@pytest.fixture
def headless(home):
    return open_profile(home, "headless")


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def test_layers_come_from_bundles_profile_home_and_command_line_in_this_order(
    home, headless, tmp_path
):
    put(headless.patch_file, "- {id: llm-retry, disabled: true}\n")
    put(home.patch_file, "- {id: llm-retry, disabled: false}\n")
    given = put(tmp_path / "given.json", '[{"id": "llm-retry", "disabled": true}]')
    layers = layer_list(
        headless,
        home,
        options(
            ("--enable", "llm-retry"),
            ("--patch", given),
            ("--set", "agent-loop.intake=single"),
            ("--set", "agent-loop.maxStepsPerTurn=7"),
            ("--disable", "tool-fs"),
            ("--set", "agent-loop.intake=batch"),
        ),
    )
    assert [(one.name, one.kind) for one in layers] == [
        ("bundle base", "bundle"),
        ("bundle headless", "bundle"),
        ("$DSH_HOME/py/profiles/headless/cordis.patch.yml", "profile"),
        ("$DSH_HOME/py/cordis.patch.yml", "home"),
        ("--enable", "flag"),
        (given, "patch"),
        ("--set", "flag"),
        ("--disable", "flag"),
        ("--set", "flag"),
    ]
    assert [list(one.patches) for one in layers[4:]] == [
        [{"id": "llm-retry", "disabled": False}],
        [{"id": "llm-retry", "disabled": True}],
        [
            {"id": "agent-loop", "merge": {"intake": "single"}},
            {"id": "agent-loop", "merge": {"maxStepsPerTurn": 7}},
        ],
        [{"id": "tool-fs", "disabled": True}],
        [{"id": "agent-loop", "merge": {"intake": "batch"}}],
    ]


def test_without_user_config_the_files_of_profile_and_home_do_not_count(home, headless):
    put(headless.patch_file, "- {id: llm-retry, disabled: true}\n")
    put(home.patch_file, "not: a list\n")
    layers = layer_list(headless, home, options(no_user_config=True))
    assert [one.kind for one in layers] == ["bundle", "bundle"]


@pytest.mark.spec("09-C020", "09-C021")
@pytest.mark.parametrize("name", ["headless", "sdk-minimal"])
def test_a_dump_is_a_document_that_composes_to_the_same_rows(home, name):
    profile = open_profile(home, name, saves=False)
    composed = compose_profile(profile, home, options(no_user_config=True))
    text = dump(composed)
    assert text.startswith("# == bundle ")
    again = parse_rows(text, file="dump.yml").rows
    assert again == composed.rows
    assert check_unmatched(composed, strict=True) == ()
    assert not home.root.exists()


@pytest.mark.spec("09-C022")
def test_a_patch_replaces_the_whole_config_and_is_named_in_the_dump(home, headless, tmp_path):
    given = put(tmp_path / "p.yml", "- id: tool-fs\n  config: {deny: ['*.key']}\n")
    composed = compose_profile(headless, home, options(("--patch", given)))
    assert row(composed, "tool-fs")["config"] == {"deny": ["*.key"]}
    assert f"patched by {given}" in dump(composed)


@pytest.mark.spec("09-C023")
def test_a_merge_keeps_other_keys_removes_nulls_and_replaces_lists(home, headless, tmp_path):
    first = put(
        tmp_path / "a.yml",
        "- id: tool-fs\n  config: {home: /h, deny: [a, b], deep: {one: 1, two: 2}}\n",
    )
    second = put(
        tmp_path / "b.yml", "- id: tool-fs\n  merge: {home: null, deny: [c], deep: {two: 3}}\n"
    )
    composed = compose_profile(headless, home, options(("--patch", first), ("--patch", second)))
    config = row(composed, "tool-fs")["config"]
    assert config.get("home") is None
    assert (config["deny"], config["deep"]) == (["c"], {"one": 1, "two": 3})


@pytest.mark.spec("09-C024")
def test_a_set_value_shows_in_the_dump_with_its_origin(home, headless):
    composed = compose_profile(headless, home, options(("--set", "llm-retry.maxRetries=2")))
    assert row(composed, "llm-retry")["config"] == {"maxRetries": 2}
    assert composed.origin("llm-retry") == ("bundle base", "--set")
    assert "maxRetries: 2" in dump(composed)


@pytest.mark.spec("09-C025")
@pytest.mark.parametrize("is_reversed", [False, True])
def test_of_several_layers_the_last_one_wins(home, headless, tmp_path, is_reversed):
    texts = [f"- {{id: agent-loop, merge: {{maxStepsPerTurn: {count}}}}}\n" for count in (1, 2, 3)]
    if is_reversed:
        texts.reverse()
    put(headless.patch_file, texts[0])
    put(home.patch_file, texts[1])
    given = put(tmp_path / "p.yml", texts[2])
    composed = compose_profile(headless, home, options(("--patch", given)))
    expected = 1 if is_reversed else 3
    assert row(composed, "agent-loop")["config"] == {"maxStepsPerTurn": expected}


def test_flags_win_in_the_order_of_the_command_line(home, headless, tmp_path):
    given = put(tmp_path / "p.yml", "- {id: agent-loop, merge: {maxStepsPerTurn: 5}}\n")
    setting = ("--set", "agent-loop.maxStepsPerTurn=6")
    patch = ("--patch", given)
    for flags, expected in (((setting, patch), 5), ((patch, setting), 6)):
        composed = compose_profile(headless, home, options(*flags))
        assert row(composed, "agent-loop")["config"] == {"maxStepsPerTurn": expected}
    composed = compose_profile(
        headless, home, options(("--disable", "tool-fs"), ("--enable", "tool-fs"))
    )
    assert row(composed, "tool-fs")["disabled"] is False


@pytest.mark.spec("09-C026")
def test_an_unknown_id_in_a_patch_of_the_command_line_is_refused(home, headless, tmp_path):
    given = put(tmp_path / "p.yml", "\n- {id: llm-rety, disabled: true}\n")
    composed = compose_profile(headless, home, options(("--patch", given)))
    with pytest.raises(PatchUnmatchedError) as caught:
        check_unmatched(composed)
    assert caught.value.code == "PATCH_UNMATCHED"
    assert "'llm-rety'" in str(caught.value) or "llm-rety" in str(caught.value)
    assert "did you mean 'llm-retry'" in str(caught.value)
    assert f"{given}:2" in str(caught.value)


@pytest.mark.parametrize("flag", ["--set", "--disable", "--enable"])
def test_an_unknown_id_in_a_flag_is_refused(home, headless, flag):
    text = "nobody.a=1" if flag == "--set" else "nobody"
    composed = compose_profile(headless, home, options((flag, text)))
    with pytest.raises(PatchUnmatchedError, match=f"^{flag}: .*nobody"):
        check_unmatched(composed)


@pytest.mark.spec("09-C027")
@pytest.mark.parametrize("place", ["profile", "home"])
def test_an_unknown_id_in_a_users_file_is_one_warning_unless_strict(home, headless, place):
    path = headless.patch_file if place == "profile" else home.patch_file
    put(path, "- {id: tool-web, disabled: true}\n- {id: tool-fs, disabled: true}\n")
    composed = compose_profile(headless, home)
    (warning,) = check_unmatched(composed)
    assert "tool-web" in warning
    assert "\n" not in warning
    assert row(composed, "tool-fs")["disabled"] is True
    with pytest.raises(PatchUnmatchedError, match="tool-web"):
        check_unmatched(composed, strict=True)


@pytest.mark.spec("09-C028")
@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("id: tool-fs\n", ""),
        ("- {id: tool-fs\n- x\n", ":3:1"),
        ("- id: tool-fs\n- just words\n", ""),
        ("", ""),
    ],
)
@pytest.mark.parametrize("kind", ["profile", "home", "--patch"])
def test_a_patch_file_that_is_none_is_named(home, headless, *, tmp_path, text, where, kind):
    paths = {"profile": headless.patch_file, "home": home.patch_file}
    path = paths.get(kind, tmp_path / "p.yml")
    put(path, text)
    given = options(("--patch", str(path))) if kind == "--patch" else options()
    with pytest.raises(PatchInvalidError) as caught:
        layer_list(headless, home, given)
    assert f"{path}{where}" in str(caught.value)
    assert caught.value.code == "PATCH_INVALID"


@pytest.mark.spec("09-C028")
@pytest.mark.parametrize("name", ["missing.yml", "folder.yml", "p.txt"])
def test_a_patch_file_that_cannot_be_read_is_named(home, headless, tmp_path, monkeypatch, name):
    (tmp_path / "folder.yml").mkdir()
    (tmp_path / "p.txt").write_text("[]")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PatchInvalidError) as caught:
        layer_list(headless, home, options(("--patch", name)))
    assert str(tmp_path / name) in str(caught.value)


@pytest.mark.spec("09-C033")
def test_a_patch_that_names_another_plugin_is_no_match(home, headless, tmp_path):
    given = put(tmp_path / "p.yml", "- {id: tool-fs, name: other, disabled: true}\n")
    composed = compose_profile(headless, home, options(("--patch", given)))
    assert not row(composed, "tool-fs").get("disabled")
    with pytest.raises(PatchUnmatchedError, match="tool-fs"):
        check_unmatched(composed)


@pytest.mark.parametrize("kind", ["home", "--patch"])
def test_a_key_that_means_nothing_is_a_warning_unless_strict(home, headless, tmp_path, kind):
    path = home.patch_file if kind == "home" else tmp_path / "p.yml"
    put(path, "- {id: tool-fs, disabled: true, note: slow}\n")
    given = options(("--patch", str(path))) if kind == "--patch" else options()
    composed = compose_profile(headless, home, given)
    assert row(composed, "tool-fs")["disabled"] is True
    (warning,) = check_unmatched(composed)
    assert warning.startswith(f"{path}:1:")
    assert "unknown key note" in warning
    with pytest.raises(PatchUnmatchedError, match="note"):
        check_unmatched(composed, strict=True)


@pytest.mark.spec("09-C031", "09-C032")
@pytest.mark.parametrize(
    "source", ["!expr __import__('os')", "!!js require('fs')", "!expr 'len.__class__'"]
)
def test_a_form_outside_the_expressions_stops_the_composition(home, headless, tmp_path, source):
    given = put(tmp_path / "p.yml", f"- id: tool-fs\n  config:\n    home: {source}\n")
    with pytest.raises(PatchInvalidError) as caught:
        compose_profile(headless, home, options(("--patch", given)))
    assert "tool-fs" in str(caught.value)
    assert f"{given}:3" in str(caught.value)


# --- what a flag becomes ------------------------------------------------------------------------


def patch_of(home, profile, flag, text):
    return layer_list(profile, home, options((flag, text)))[-1].patches[0]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-2.5", -2.5),
        ("true", True),
        ("null", None),
        ('"1"', "1"),
        ('{"a": [1]}', {"a": [1]}),
        ("yes", "yes"),
        ("", ""),
        ("a=b", "a=b"),
        ("{broken", "{broken"),
        ("NaN", "NaN"),
        (" x ", " x "),
        ("${env.X}", "${env.X}"),
        ("1" * 30, int("1" * 30)),
    ],
)
def test_a_value_is_json_or_else_the_text_itself(home, profile, text, value):
    patch = patch_of(home, profile, "--set", f"row.key={text}")
    assert patch == {"id": "row", "merge": {"key": value}}
    assert type(patch["merge"]["key"]) is type(value)


def test_of_the_ids_that_a_setting_may_mean_the_longest_counts(home, profile, tmp_path):
    rows = put(
        tmp_path / "rows.yml",
        "- insert:\n"
        "    - {id: a, name: x}\n"
        "    - {id: a.b, name: x}\n"
        "    - {id: g, name: cordis:group, group: true,\n"
        "       config: [{name: x}, {id: a.b.c, name: x}, 1]}\n"
        "    - {id: h, name: x, config: [{id: a.b.c.d, name: x}]}\n",
    )

    def meant(text):
        flags = options(("--patch", rows), ("--set", text))
        return layer_list(profile, home, flags)[-1].patches[0]

    assert meant("a.x=1") == {"id": "a", "merge": {"x": 1}}
    assert meant("a.b=1") == {"id": "a", "merge": {"b": 1}}
    assert meant("a.b.x=1") == {"id": "a.b", "merge": {"x": 1}}
    assert meant("a.b.c.d=1") == {"id": "a.b.c", "merge": {"d": 1}}
    assert meant("a.b.c.d.e=1") == {"id": "a.b.c", "merge": {"d": {"e": 1}}}
    assert meant("z.b.c=1") == {"id": "z", "merge": {"b": {"c": 1}}}


@pytest.mark.parametrize(
    "text", ["", "=1", "a", "a=1", "a.b", "a.=1", ".b=1", "a..b=1", "=a.b", "."]
)
def test_a_setting_of_another_form_is_refused(home, profile, text):
    with pytest.raises(LayerFlagError, match=r"expected ID\.key\.path=VALUE") as caught:
        patch_of(home, profile, "--set", text)
    assert caught.value.code == "USAGE"
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("flag", ["--disable", "--enable"])
def test_a_switch_names_a_row(home, profile, flag):
    assert patch_of(home, profile, flag, " tool.fs ") == {
        "id": "tool.fs",
        "disabled": flag == "--disable",
    }
    with pytest.raises(LayerFlagError, match=f"{flag} needs the id of a row"):
        patch_of(home, profile, flag, "  ")


@pytest.mark.parametrize("flag", ["--set", "--disable", "--enable"])
def test_a_flag_that_is_no_text_is_refused(home, profile, flag):
    with pytest.raises(LayerFlagError, match="is not valid UTF-8"):
        patch_of(home, profile, flag, "a.b=\udcff")
