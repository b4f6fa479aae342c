"""The check functions that JSON schema keywords become."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import attrs

from vendor_shims.schema.json_equal import fingerprint, json_equal
from vendor_shims.schema.markers import alternatives
from vendor_shims.schema.objects import did_you_mean
from vendor_shims.schema.preview import clip, preview
from vendor_shims.schema.report import Path, Report
from vendor_shims.schema.scalars import is_finite_number
from vendor_shims.schema.shapes import Raw, is_list, is_mapping

Check: TypeAlias = Callable[[Raw, Path, Report], None]
"""Notes what is wrong with a value at a path."""

TYPES: Mapping[str, tuple[str, Callable[[Raw], bool]]] = {
    "string": ("string", lambda value: isinstance(value, str)),
    "number": ("number", is_finite_number),
    "integer": ("integer", lambda value: is_finite_number(value) and value == int(value)),
    "boolean": ("boolean", lambda value: isinstance(value, bool)),
    "null": ("null", lambda value: value is None),
    "array": ("list", is_list),
    "object": ("object", is_mapping),
}
"""For each type its name in messages and its test."""


@attrs.frozen
class _Kind:
    """Says what was expected; JSON schemas know no secrets."""

    expected: str

    def holds_secret(self) -> bool:
        return False


@attrs.frozen
class Branch:
    """One alternative and the constants by which it can be recognised."""

    check: Check
    tags: Mapping[str, Raw]

    def is_ruled_out(self, value: Raw) -> bool:
        """Return whether a constant member of `value` differs from the branch's."""
        return is_mapping(value) and any(
            key in value and not json_equal(value[key], tag) for key, tag in self.tags.items()
        )


def passes(value: Raw, path: Path, report: Report) -> None:
    """Accept everything."""
    del value, path, report


def refuses(value: Raw, path: Path, report: Report) -> None:
    """Accept nothing."""
    del value
    report.add(path, "no value is allowed here")


def typed(names: Sequence[str], then: Sequence[Check]) -> Check:
    """Check the type, any without names, and only if it fits everything else."""
    kinds = [TYPES[name] for name in names]
    tests = [test for _, test in kinds]
    kind = _Kind(" | ".join(name for name, _ in kinds))

    def check(value: Raw, path: Path, report: Report) -> None:
        if tests and not any(test(value) for test in tests):
            report.mismatch(kind, value, path)
            return
        for inner in then:
            inner(value, path, report)

    return check


def rule(what: str, holds: Callable[[Raw], bool], *, on: str) -> Check:
    """Check a rule on values of type `on`; others pass."""
    applies = TYPES[on][1]
    kind = _Kind(what)

    def check(value: Raw, path: Path, report: Report) -> None:
        if applies(value) and not holds(value):
            report.broken(what, value, path, kind)

    return check


def choice(values: Sequence[Raw]) -> Check:
    """Accept only values equal to one of `values`."""
    kind = _Kind(alternatives(tuple(values)))

    def check(value: Raw, path: Path, report: Report) -> None:
        if not any(json_equal(value, allowed) for allowed in values):
            report.mismatch(kind, value, path)

    return check


def distinct(value: Raw) -> bool:
    """Return whether the items of a list all differ."""
    return len({fingerprint(item) for item in value}) == len(value)


def members(
    properties: Mapping[str, Check], required: Sequence[str], additional: Check | None
) -> Check:
    """Check an object: missing keys, then declared ones, then the others.

    Args:
        properties: Checks by declared key.
        required: Keys that must be there.
        additional: Check of undeclared keys; None refuses them.
    """

    def check(value: Raw, path: Path, report: Report) -> None:
        if not is_mapping(value) or report.is_too_deep(path):
            return
        for key in required:
            if key not in value:
                report.add((*path, key), "missing required value")
        for key, inner in properties.items():
            if key in value:
                inner(value[key], (*path, key), report)
        if additional is passes or len(value) == sum(key in value for key in properties):
            return
        for key, member in value.items():
            if not isinstance(key, str):
                report.add(path, f"expected string as key but got {preview(key)}")
            elif key not in properties and additional is None:
                report.add((*path, clip(key)), f"unknown key{did_you_mean(key, properties)}")
            elif key not in properties and additional is not None:
                additional(member, (*path, clip(key)), report)

    return check


def items(prefix: Sequence[Check], rest: Check) -> Check:
    """Check a list: the first items by position, the others alike."""

    def check(value: Raw, path: Path, report: Report) -> None:
        if not is_list(value) or report.is_too_deep(path):
            return
        for index, item in enumerate(value):
            inner = prefix[index] if index < len(prefix) else rest
            inner(item, (*path, index), report)

    return check


def some_of(branches: Sequence[Branch], *, exactly_one: bool) -> Check:
    """Accept what matches a branch; otherwise note the issues of the closest one."""

    def check(value: Raw, path: Path, report: Report) -> None:
        failed: list[tuple[Branch, Report]] = []
        n_matched = 0
        for branch in branches:
            if not report.may_try(path):
                return
            attempt = Report(report)
            branch.check(value, path, attempt)
            if attempt.n_found:
                failed.append((branch, attempt))
            elif not exactly_one:
                return
            else:
                n_matched += 1
        if n_matched > 1:
            report.add(path, f"matches {n_matched} alternatives where exactly one is expected")
        elif n_matched == 0:
            _closest(value, path, report, failed)

    return check


def _closest(
    value: Raw, path: Path, report: Report, failed: Sequence[tuple[Branch, Report]]
) -> None:
    likely = [attempt for branch, attempt in failed if not branch.is_ruled_out(value)]
    fitting = [attempt for attempt in likely if attempt.mismatch_depth > len(path)]
    if fitting:
        report.take(min(fitting, key=lambda attempt: attempt.n_found))
        return
    tag = None if likely else _common_tag(value, [branch for branch, _ in failed])
    if tag is not None:
        choice([branch.tags[tag] for branch, _ in failed])(value[tag], (*path, tag), report)
        return
    wanted = [issue.message.removeprefix("expected ") for _, a in failed for issue in a.issues[:1]]
    kinds = dict.fromkeys(text.partition(" but got ")[0] for text in wanted)
    report.mismatch(_Kind(" | ".join(kinds)), value, path)


def _common_tag(value: Raw, branches: Sequence[Branch]) -> str | None:
    keys = (key for key in branches[0].tags if key in value)
    return next((key for key in keys if all(key in branch.tags for branch in branches)), None)
