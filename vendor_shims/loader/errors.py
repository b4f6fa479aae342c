"""What can go wrong with the rows of a tree.

CordisError
└── LoaderError
    ├── EntryError          a row could not be imported, applied, disposed or rolled back
    ├── InvalidEntry    (TypeError)  a row is not a mapping, or an option has the wrong type
    │   └── DuplicateEntry  two rows of one tree have the same id
    ├── UnknownEntry    (LookupError)  an id, or the path to it, names no row
    ├── CyclicGroup     a row would move into a group below itself
    └── PluginNotFound  a reference leads to no plugin; lists what was tried
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from vendor_shims.cordis import CordisError, error_text

Stage: TypeAlias = Literal["import", "dispose", "apply", "rollback"]


class LoaderError(CordisError):
    """The base of what the loader raises."""

    code = "LOADER"


class EntryError(LoaderError):
    """Raised when a stage of a row's life fails; the cause is chained.

    Attributes:
        stage: which step failed.
        entry_id: the id of the row, with those of the trees around it.
        plugin: the plugin reference of the row.
    """

    code = "ENTRY"

    def __init__(self, stage: Stage, *, entry_id: str, plugin: str, cause: BaseException) -> None:
        said = error_text(cause)
        super().__init__(f"failed to {stage} loader entry {entry_id} ({plugin}): {said}")
        self.stage = stage
        self.entry_id = entry_id
        self.plugin = plugin
        self.__cause__ = cause


class InvalidEntry(LoaderError, TypeError):
    """Raised for a row that is not a mapping of options, or whose option has a wrong type.

    Attributes:
        entry_id: the id of the row, if it has one that is a text.
        keys: from the row to what is wrong; empty when that is the row itself.
    """

    code = "INVALID_ENTRY"

    def __init__(self, problem: str, *, entry_id: object = None, keys: Sequence[str] = ()) -> None:
        super().__init__(problem)
        self.entry_id = entry_id if isinstance(entry_id, str) else None
        self.keys = tuple(keys)


class DuplicateEntry(InvalidEntry):
    """Raised when two rows of one tree have the same id."""

    code = "DUPLICATE_ENTRY"

    def __init__(self, entry_id: str) -> None:
        super().__init__(f"duplicate loader entry {entry_id}", entry_id=entry_id)


class UnknownEntry(LoaderError, LookupError):
    """Raised when an id names no row."""

    code = "UNKNOWN_ENTRY"

    def __init__(self, entry_id: str) -> None:
        super().__init__(f"cannot resolve entry {entry_id}")
        self.entry_id = entry_id


class CyclicGroup(LoaderError):
    """Raised when a group would become a row of itself or of a group below it."""

    code = "CYCLIC_GROUP"


class PluginNotFound(LoaderError):
    """Raised when a reference leads to no plugin.

    Attributes:
        reference: what the row names.
        tried: the readings of the reference that were tried, each with its outcome.
        nearest: up to three known names that look alike.
    """

    code = "PLUGIN_NOT_FOUND"

    def __init__(
        self, reference: str, *, tried: Sequence[str], nearest: Sequence[str] = ()
    ) -> None:
        hint = f"; did you mean {', '.join(map(repr, nearest))}?" if nearest else ""
        super().__init__(f"no plugin {reference!r}: {'; '.join(tried)}{hint}")
        self.reference = reference
        self.tried = tuple(tried)
        self.nearest = tuple(nearest)
