"""What one patch does to rows, and what is said of one that does nothing."""

from __future__ import annotations

from typing import Any

import pytest

from vendor_shims.include import apply_entry_patches


def rows() -> list[dict[str, Any]]:
    return [
        {"id": "a", "name": "m", "config": {"x": 1, "y": {"z": 2}}},
        {"id": "g", "name": "cordis:group", "group": True, "config": [{"id": "b", "name": "n"}]},
    ]


def apply(
    *patches: dict[str, Any], to: list[dict[str, Any]] | None = None
) -> tuple[Any, list[str]]:
    told: list[str] = []
    return apply_entry_patches(rows() if to is None else to, patches, told.append), told


@pytest.mark.spec("01-J03")
def test_options_are_replaced_whole():
    result, told = apply({"id": "a", "config": {"x": 5}}, {"id": "b", "disabled": True})
    assert result[0] == {"id": "a", "name": "m", "config": {"x": 5}}
    assert result[1]["config"] == [{"id": "b", "name": "n", "disabled": True}]
    assert told == []
    result, _ = apply({"id": "a", "config": None})
    assert result[0] == {"id": "a", "name": "m", "config": None}


@pytest.mark.spec("01-J03")
def test_inserts_at_the_end_of_the_list_or_of_a_group():
    result, told = apply(
        {"insert": [{"id": "c", "name": "m"}]}, {"id": "g", "insert": [{"id": "d", "name": "m"}]}
    )
    assert [row["id"] for row in result] == ["a", "g", "c"]
    assert [row["id"] for row in result[1]["config"]] == ["b", "d"]
    assert told == []
    result, _ = apply(
        {"id": "g", "insert": [{"id": "d", "name": "m"}]},
        to=[{"id": "g", "name": "cordis:group", "group": True, "config": {"not": "rows"}}],
    )
    assert [row["id"] for row in result[0]["config"]] == ["d"]


@pytest.mark.spec("01-J03")
@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"id": "nobody", "disabled": True}, "entry nobody not found"),
        ({"id": "a", "name": "other", "disabled": True}, "not 'other'"),
        ({"disabled": True}, "patch: id is required for non-insert patches"),
        ({"id": "nobody", "insert": [{"id": "c", "name": "m"}]}, "entry nobody not found"),
        ({"id": "a", "insert": [{"id": "c", "name": "m"}]}, "entry a is not a group"),
        ({"insert": {"id": "c", "name": "m"}}, "expected a list of rows"),
        ({"insert": [{"id": "a", "name": "m"}]}, "there is an entry a already"),
        ({"insert": [{"id": "c", "name": "m"}], "before": "nobody"}, "entry nobody not found"),
    ],
)
def test_patch_that_fits_nothing_is_told_once_and_skipped(patch, message):
    result, told = apply(patch)
    assert result == rows()
    assert len(told) == 1
    assert message in told[0]


@pytest.mark.spec("01-J03")
def test_name_that_matches_lets_the_patch_through():
    result, told = apply({"id": "a", "name": "m", "disabled": True})
    assert result[0]["disabled"] is True
    assert told == []


@pytest.mark.spec("01-J04")
def test_later_patch_changes_a_row_that_an_earlier_one_inserted():
    group = {"id": "h", "name": "cordis:group", "group": True, "config": [{"id": "i", "name": "m"}]}
    result, told = apply(
        {"insert": [group]}, {"id": "h", "disabled": True}, {"id": "i", "config": {"x": 1}}
    )
    assert result[2]["disabled"] is True
    assert result[2]["config"] == [{"id": "i", "name": "m", "config": {"x": 1}}]
    assert told == []


@pytest.mark.spec("01-J04")
def test_rows_that_come_with_a_replaced_config_of_a_group_are_not_known():
    result, told = apply(
        {"id": "g", "config": [{"id": "new", "name": "m"}]}, {"id": "new", "disabled": True}
    )
    assert result[1]["config"] == [{"id": "new", "name": "m"}]
    assert len(told) == 1


@pytest.mark.spec("01-J14")
def test_merge_goes_into_the_config_key_by_key():
    result, told = apply({"id": "a", "merge": {"y": {"w": [1]}, "x": None}})
    assert result[0]["config"]["y"] == {"z": 2, "w": [1]}
    assert result[0]["config"].get("x") is None
    assert told == []
    result, _ = apply({"id": "b", "merge": {"x": 1}})
    assert result[1]["config"][0]["config"] == {"x": 1}


@pytest.mark.spec("01-J14")
def test_remove_before_and_after():
    result, told = apply(
        {"insert": [{"id": "c", "name": "m"}], "before": "g"},
        {"insert": [{"id": "d", "name": "m"}], "after": "a"},
        {"insert": [{"id": "e", "name": "m"}], "after": "b"},
        {"id": "a", "remove": True},
        {"id": "a", "disabled": True},
    )
    assert [row["id"] for row in result] == ["d", "c", "g"]
    assert [row["id"] for row in result[2]["config"]] == ["b", "e"]
    assert len(told) == 1
    assert "entry a not found" in told[0]


@pytest.mark.spec("01-J14")
def test_key_that_means_nothing_is_told_and_the_rest_applied():
    result, told = apply({"id": "a", "disabeld": True, "config": {"x": 9}})
    assert result[0]["config"] == {"x": 9}
    assert len(told) == 1
    assert "disabeld" in told[0]
