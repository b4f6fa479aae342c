"""Bounded lists and the words for what is missing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.retention import (
    Exact,
    InvalidBudgetError,
    ItemRetainer,
    Nothing,
    Unknown,
    describe_omitted,
)


@given(st.lists(st.integers()), st.integers(0, 10))
def test_the_first_items_are_kept_and_the_rest_is_counted(items, budget):
    retainer = ItemRetainer(budget)
    assert [retainer.add(item) for item in items] == [n < budget for n in range(len(items))]
    missing = max(0, len(items) - budget)
    assert retainer.items == tuple(items[:budget])
    assert (retainer.seen, retainer.kept) == (len(items), len(items) - missing)
    assert retainer.truncated is bool(missing)
    assert retainer.omitted == (Exact(missing) if missing else Nothing())


@pytest.mark.spec("07-15")
@pytest.mark.parametrize("budget", [-1, 1.5, True])
def test_a_budget_that_is_no_count_is_refused(budget):
    with pytest.raises(InvalidBudgetError, match="max_items"):
        ItemRetainer(budget)


@pytest.mark.parametrize(
    ("omitted", "text"),
    [
        (Nothing(), ""),
        (Exact(1), "1 line omitted"),
        (Exact(12_345), "12,345 lines omitted"),
        (Unknown(), "more lines omitted"),
    ],
)
def test_what_is_missing_is_one_short_clause(omitted, text):
    assert describe_omitted(omitted, "lines") == text
