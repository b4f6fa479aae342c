"""A YAML document is read strictly, and changed one leaf at a time."""

from __future__ import annotations

import pytest

from harness.yaml_edit import (
    YamlDocument,
    YamlEditError,
    YamlSyntaxError,
    decode_document,
    read_yaml_file,
)

TEXT = """\
# settings of mine
ui:
  welcome: 1 # shown once
  list:
  - a   # first
  - b

# the model
llm: {a: 1, b: "two"}
empty:
note: |
  two
  lines
last: 'quoted'
"""


def parse(text: str) -> YamlDocument:
    return YamlDocument.parse(text, "f.yaml")


def changed_lines(before: str, after: str) -> list[str]:
    """The lines of `after` that `before` has not, in order."""
    old = before.split("\n")
    return [line for line in after.split("\n") if line not in old]


def test_values_follow_yaml_1_2():
    document = parse(
        "a: no\nb: on\nc: 2020-01-02\nd: 0o17\ne: 0x1f\nf: 1e3\ng: ~\nh: TRUE\ni: '1'\n"
        "j: !!str 5\nk: .5\nl: 012\nm: 1:30\n7: seven\n<<: merge\n"
    )
    assert document.value == {
        "a": "no", "b": "on", "c": "2020-01-02", "d": 15, "e": 31, "f": 1000.0, "g": None,
        "h": True, "i": "1", "j": "5", "k": 0.5, "l": 12, "m": "1:30", "7": "seven",
        "<<": "merge",
    }  # fmt: skip


@pytest.mark.parametrize("text", ["", "\n\n", "# only this\n", "---\n", "{}", "~"])
def test_nothing_is_an_empty_mapping(text):
    assert parse(text).value == {}
    assert parse(text).get([]) == {}


@pytest.mark.parametrize(
    ("path", "value", "lines"),
    [
        (["ui", "welcome"], "0.2", ['  welcome: "0.2" # shown once']),
        (["llm", "b"], "no", ['llm: {a: 1, b: "no"}']),
        (["llm", "c"], [1, {"x": None}], ['llm: {a: 1, b: "two", c: [1, {x: null}]}']),
        (["empty"], 5, ["empty: 5"]),
        (["empty", "deep", "er"], True, ["  deep:", "    er: true"]),
        (["ui", "new", "k"], 1.5, ["  new:", "    k: 1.5"]),
        (["other", "key"], "a: b", ["other:", '  key: "a: b"']),
        (["last"], {"x": 1}, ["last:", "  x: 1"]),
        (["last"], {}, ["last: {}"]),
        (["ui", "list"], [], ["  list: []"]),
        (["note"], "one", ["note: one"]),
        (["odd key!"], "\u2028\x7f\U0001f600\ufeff", ['"odd key!": "\\u2028\\u007f😀\\ufeff"']),
    ],
)
def test_a_change_touches_nothing_but_its_leaf(path, value, lines):
    document = parse(TEXT)
    changed = document.with_value(path, value)
    assert changed.get(path) == value
    assert changed_lines(TEXT, changed.text) == lines
    for comment in ("# settings of mine", "# shown once", "# the model"):
        assert comment in changed.text
    assert document.text == TEXT, "the old document stays"


def test_the_same_value_again_changes_nothing():
    document = parse(TEXT)
    assert document.with_value(["ui", "welcome"], 1) is document
    assert document.with_value(["ui", "welcome"], True) is not document


@pytest.mark.parametrize(
    ("path", "gone"),
    [
        (["ui", "welcome"], "welcome"),
        (["ui", "list"], "- a"),
        (["llm", "a"], "a: 1"),
        (["llm", "b"], '"two"'),
        (["note"], "two\n  lines"),
        (["last"], "quoted"),
        (["empty"], "empty"),
    ],
)
def test_removing_takes_the_entry_only(path, gone):
    changed = parse(TEXT).without(path)
    assert gone not in changed.text
    with pytest.raises(KeyError):
        changed.get(path)
    assert changed_lines(TEXT, changed.text) in ([], ['llm: {b: "two"}'], ["llm: {a: 1}"])


def test_the_last_entry_of_a_section_leaves_an_empty_section():
    document = parse("a:\n  b: 1\n# end\n").without(["a", "b"])
    assert document.text == "a: {}\n# end\n"
    assert document.with_value(["a", "c"], 1).value == {"a": {"c": 1}}
    assert parse("a: {b: 1}\n").without(["a", "b"]).text == "a: {}\n"
    assert parse("a: 1\n").without(["a"]).value == {}
    assert parse("{a: 1}").without(["a"]).text == "{}"
    assert parse("{}").with_value(["a"], 1).text == "a: 1"


def test_what_is_not_there_is_removed_already():
    document = parse(TEXT)
    for path in (["none"], ["ui", "none"], ["last", "deeper"], ["none", "deeper"]):
        assert document.without(path) is document


def test_a_value_is_no_section():
    with pytest.raises(YamlEditError, match="'last' is a value, no section") as caught:
        parse(TEXT).with_value(["last", "x"], 1)
    assert caught.value.code == "YAML_EDIT"
    assert caught.value.file == "f.yaml"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a: &x {k: 1}\nb: *x\n", ["b", "k"]),
        ("a: &x 1\nb: *x\n", ["a"]),
        ("a: &x {k: 1}\nb: *x\n", ["a", "k"]),
        ("? a\n: 1\nb:\n- 1\n", ["c"]),
        ("  ? key\n  : {}\n", ["c"]),
    ],
)
def test_what_cannot_be_changed_in_place_is_refused(text, path):
    with pytest.raises(YamlEditError, match="with an editor"):
        parse(text).with_value(path, 2)


def test_an_alias_may_be_replaced_as_a_whole():
    changed = parse("a: &x {k: 1}\nb: *x\n").with_value(["b"], 2)
    assert changed.text == "a: &x {k: 1}\nb: 2\n"
    assert parse("a: &x 1\nb: *x\n").without(["b"]).value == {"a": 1}
    with pytest.raises(YamlEditError):
        parse("a: &x {k: 1}\nb: *x\n").without(["b", "k"])


def test_an_entry_that_shares_its_line_is_not_cut_out():
    text = "--- !!map {a: 1,\n b: 2}\n"
    assert parse(text).without(["b"]).value == {"a": 1}
    with pytest.raises(YamlEditError):
        parse("? a\n: 1\n? b\n: 2\n").without(["b"])


def test_line_ends_of_windows_stay():
    changed = parse("a: 1\r\nb:\r\n  c: 2\r\n").with_value(["b", "d"], 3)
    assert changed.text == "a: 1\r\nb:\r\n  c: 2\r\n  d: 3\r\n"
    assert parse("a: 1").with_value(["b"], 2).text == "a: 1\nb: 2\n"
    assert parse("# c").with_value(["b"], 2).text == "# c\nb: 2\n"


def test_lines_are_known():
    document = parse(TEXT)
    assert document.line(["ui"]) == 2
    assert document.line(["ui", "welcome"]) == 3
    assert document.line(["ui", "none", "deeper"]) == 2
    assert document.line(["last", "x"]) == 14
    assert document.line(["none"]) == 0
    assert parse("").line(["a"]) == 0


def test_nothing_shows_a_value(tmp_path):
    assert "quoted" not in repr(parse(TEXT))
    with pytest.raises(YamlSyntaxError) as caught:
        parse('key: "sk-secret\nother: [')
    assert "sk-secret" not in str(caught.value)


@pytest.mark.spec("07-274")
@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("- a\n", 1, "expected a mapping"),
        ("a: 1\nb: 2\na: 3\n", 3, "second time"),
        ("a: !!python/object:os.system x\n", 1, "tag"),
        ("a: !mine {}\n", 1, "tag"),
        ("a: !!set {x}\n", 1, "tag"),
        ("a:\n  [1, 2\n", 3, "expected"),
        ("a: 1\n--- \nb: 2\n", 2, "document"),
        ("a: *nope\n", 1, "undefined alias"),
        ("a: &x 1\nb: &x [*x, *y]\n", 2, "second occurrence"),
        ("a: .inf\n", 1, "infinity"),
        ("a: 1\nb: 9" + "e" + "999\n", 2, "too large"),
        ("? [a]\n: 1\n", 1, "key"),
        ("a: \x01\n", 1, "does not allow"),
        ("a: " + "[" * 70 + "]" * 70, 1, "deeper than 64"),
        ("a: " + "[" * 5000, 1, "deeper than 64"),
        ("a: &x 1\nb: [" + "*x," * 101 + "]\n", 2, "more than 100 aliases"),
        ("a: &x [*x]\n", 1, "expand"),
        ("tab:\n\t- x\n", 2, "token"),
        ('a: "\\q"\n', 1, "escape"),
    ],
)
def test_what_is_no_settings_file_is_refused_with_its_place(text, line, words):
    with pytest.raises(YamlSyntaxError, match=words) as caught:
        parse(text)
    assert caught.value.line == line
    assert str(caught.value).startswith(f"f.yaml:{line}:")
    assert caught.value.code == "YAML_INVALID"


@pytest.mark.spec("07-274")
def test_aliases_cannot_multiply():
    lines = ["l0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 8)]
    with pytest.raises(YamlSyntaxError, match="expand"):
        parse("\n".join(lines))


def test_files_of_any_bytes(tmp_path):
    path = tmp_path / "s.yaml"
    assert read_yaml_file(path).value == {}
    path.write_bytes(b"\xef\xbb\xbfa: 1\r\n")
    document = read_yaml_file(path)
    assert document.value == {"a": 1}
    assert document.file == str(path)
    path.write_bytes(b"a: 1\nb: \xff\n")
    with pytest.raises(YamlSyntaxError, match=r"s\.yaml:2:1: is not UTF-8"):
        read_yaml_file(path)
    path.write_bytes(b"#" * 1_000_001)
    with pytest.raises(YamlSyntaxError, match="larger than 1000000 bytes"):
        read_yaml_file(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(IsADirectoryError):
        read_yaml_file(path)
    assert decode_document(b"x: 1", "n").value == {"x": 1}
