"""The plugin `cordis:group`: a row whose config is a list of rows."""

from vendor_shims.group.group import Group

__all__ = ["Group"]
