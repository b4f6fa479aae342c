"""Compare JSON values the way JSON means it: `1` is `1.0`, `true` is not `1`."""

from __future__ import annotations

from vendor_shims.schema.shapes import Raw, is_list, is_mapping


def json_equal(left: Raw, right: Raw) -> bool:
    """Return whether two JSON values are equal; mappings regardless of order.

    Recurses as deep as the shallower value.
    """
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if is_mapping(left):
        if not is_mapping(right) or left.keys() != right.keys():
            return False
        return all(json_equal(member, right[key]) for key, member in left.items())
    if is_list(left):
        if not is_list(right) or len(left) != len(right):
            return False
        return all(json_equal(a, b) for a, b in zip(left, right, strict=True))
    return bool(left == right)


def fingerprint(value: Raw) -> Raw:
    """Return something hashable that is equal for equal JSON values, and only for them."""
    if isinstance(value, bool):
        return ("boolean", value)
    if is_mapping(value):
        members = ((key, fingerprint(member)) for key, member in value.items())
        return ("object", frozenset(members))
    if is_list(value):
        return ("array", tuple(fingerprint(item) for item in value))
    return value
