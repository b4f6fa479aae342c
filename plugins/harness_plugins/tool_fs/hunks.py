"""Reduce two versions of a text to the hunks that differ, in bounded time and size."""

from collections import Counter
from collections.abc import Sequence

from attrs import frozen

CONTEXT_LINES = 3
"""Unchanged lines shown around each change."""

MAX_HUNK_CHARS = 64 * 1024
"""Text kept in all hunks of one change together; the rest is only counted."""

_MAX_COMPARED_LINES = 2000
_MAX_EXACT_PAIRS = 50_000
_MAX_TEXT_CHARS = 10 * 1024 * 1024


@frozen
class Hunk:
    """Hold one changed region with its context; `old` is None where nothing was before."""

    old: str | None
    new: str


@frozen
class Change:
    """Hold the hunks that fit the cap and the number of lines added and removed by all."""

    hunks: tuple[Hunk, ...]
    added: int
    removed: int
    is_truncated: bool


def change_between(before: str | None, after: str) -> Change:
    """Compare two texts by lines.

    What both have in common at either end is skipped without splitting it. Between the ends at
    most two thousand lines are matched with each other; a larger region is one replaced block.
    Takes some milliseconds for texts of ten megabytes; larger ones are only counted.
    """
    if before is None:
        return _capped([Hunk(None, after)], added=_count_lines(after), removed=0)
    if max(len(before), len(after)) > _MAX_TEXT_CHARS:
        return Change((), _count_lines(after), _count_lines(before), is_truncated=True)
    start = _line_start(before, _common_prefix(before, after))
    n_tail = _common_tail(before, after, start)
    old, new = before[start : len(before) - n_tail], after[start : len(after) - n_tail]
    head = _last_lines(before[:start], CONTEXT_LINES)
    tail = _first_lines(before[len(before) - n_tail :], CONTEXT_LINES)
    old_lines, new_lines = _lines(old), _lines(new)
    if len(old_lines) + len(new_lines) > _MAX_COMPARED_LINES:
        block = Hunk(head + old + tail, head + new + tail)
        return _capped([block], added=len(new_lines), removed=len(old_lines))
    return _matched(_lines(head), (old_lines, new_lines), _lines(tail))


def _matched(
    head: Sequence[str], middle: tuple[Sequence[str], Sequence[str]], tail: Sequence[str]
) -> Change:
    old, new = [*head, *middle[0], *tail], [*head, *middle[1], *tail]
    # Many equal lines make matching cubic; leaving the frequent ones out keeps it bounded.
    in_new = Counter(new)
    n_pairs = sum(in_new[line] for line in old)
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, old, new, autojunk=n_pairs > _MAX_EXACT_PAIRS)
    hunks: list[Hunk] = []
    added = removed = 0
    for group in matcher.get_grouped_opcodes(CONTEXT_LINES):
        first, last = group[0], group[-1]
        hunks.append(Hunk("".join(old[first[1] : last[2]]), "".join(new[first[3] : last[4]])))
        for tag, old_from, old_to, new_from, new_to in group:
            if tag != "equal":
                removed += old_to - old_from
                added += new_to - new_from
    return _capped(hunks, added=added, removed=removed)


def _capped(hunks: Sequence[Hunk], *, added: int, removed: int) -> Change:
    kept: list[Hunk] = []
    room = MAX_HUNK_CHARS
    for hunk in hunks:
        room -= len(hunk.old or "") + len(hunk.new)
        if room < 0:
            break
        kept.append(hunk)
    return Change(tuple(kept), added, removed, is_truncated=len(kept) < len(hunks))


def _common_prefix(one: str, other: str) -> int:
    """Return how many characters two texts share at the start, by halving."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_tail(one: str, other: str, start: int) -> int:
    """Return how many characters of whole lines two texts share at the end, after `start`."""
    low, high = 0, min(len(one), len(other)) - start
    while low < high:
        middle = (low + high + 1) // 2
        if one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]:
            low = middle
        else:
            high = middle - 1
    ends = (one, len(one) - low), (other, len(other) - low)
    if all(at == start or text[at - 1] == "\n" for text, at in ends):
        return low
    line_end = one.find("\n", len(one) - low)
    return len(one) - line_end - 1 if line_end >= 0 else 0


def _line_start(text: str, position: int) -> int:
    return text.rfind("\n", 0, position) + 1


def _last_lines(text: str, n: int) -> str:
    at = len(text)
    for _ in range(n):
        at = text.rfind("\n", 0, max(at - 1, 0)) + 1
    return text[at:]


def _first_lines(text: str, n: int) -> str:
    at = 0
    for _ in range(n):
        at = text.find("\n", at) + 1
        if not at:
            return text
    return text[:at]


def _lines(text: str) -> list[str]:
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop().removesuffix("\n")
    return [*lines, last] if last else lines


def _count_lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and bool(text))
