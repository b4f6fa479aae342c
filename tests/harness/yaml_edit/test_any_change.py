"""Whatever is changed in a document, the result says that, and everything else as before."""

from __future__ import annotations

from copy import deepcopy

from hypothesis import given
from hypothesis import strategies as st

from harness.yaml_edit import YamlDocument

KEYS = st.one_of(
    st.sampled_from(["a", "b", "no", "1", "x y", "ä", "null", "key: x", "# k", ""]),
    st.text(max_size=6).filter(lambda text: "\ufeff" not in text and text.isprintable()),
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**60), 2**60),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda number: number + 0.0),
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12),
    st.sampled_from(["yes", "1e3", "- a", "'", '"', "a # b", "|", "&x", "*x", "2020-01-01"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=4)
PATHS = st.lists(KEYS, min_size=1, max_size=3)


def write(value):
    """Write a document by changing an empty one, so that it looks as people's files do."""
    document = YamlDocument.parse("# head\n", "f")
    for key, item in value.items():
        document = document.with_value([key], item)
    return document


def deep_set(value, path, new):
    """Set a value as the document should; None when something on the way is no mapping."""
    wanted = deepcopy(value)
    inner = wanted
    for key in path[:-1]:
        if inner.get(key) is None:
            inner[key] = {}
        inner = inner[key]
        if not isinstance(inner, dict):
            return None
    inner[path[-1]] = new
    return wanted


@given(DOCUMENTS, PATHS, VALUES)
def test_setting(value, path, new):
    document = write(value)
    assert document.value == value
    wanted = deep_set(value, path, new)
    if wanted is None:
        return
    changed = document.with_value(path, new)
    assert changed.value == wanted
    assert changed.text.startswith("# head\n")
    assert YamlDocument.parse(changed.text, "f").value == wanted


@given(DOCUMENTS.filter(bool), st.data())
def test_removing_and_setting_again(value, data):
    path = [data.draw(st.sampled_from(sorted(value)))]
    inner = value[path[0]]
    if isinstance(inner, dict) and inner:
        path.append(data.draw(st.sampled_from(sorted(inner))))
    document = write(value)
    gone = document.without(path)
    assert gone.text.startswith("# head\n")
    again = gone.with_value(path, document.get(path))
    assert again.value == value
