"""Define the values that cross the filesystem seam."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NewType, TypeAlias

from attrs import field, frozen

if TYPE_CHECKING:
    from harness.agent import Agent
    from harness.session import Session

FsVersion = NewType("FsVersion", str)
"""Opaque fingerprint of one state of one file; only equality means anything."""

FsType: TypeAlias = Literal["file", "directory", "symlink", "other"]
"""Kind of a directory entry; `symlink` is only reported where links are not followed."""


@frozen
class FsTarget:
    """Identify one file: two spellings of the same file compare equal.

    `target_key` is opaque to consumers. `display_path` is text for people and models, holds no
    control characters, and takes no part in comparison.
    """

    target_key: str
    display_path: str = field(eq=False)


@frozen
class FsInfo:
    """Describe what is at a target now; `size` is in bytes and only known for regular files."""

    version: FsVersion
    type: FsType
    size: int | None = None


@frozen
class FsDirEntry:
    """Describe one name in a directory; `name` is safe to print, `target` is what to open."""

    name: str
    type: FsType
    target: FsTarget


@frozen
class CreateIfAbsent:
    """Demand that nothing exists at the target; an existing file is `FS_NOT_OBSERVED`."""


@frozen
class ReplaceIfVersion:
    """Demand that the target still has `version`; anything else is `FS_STALE_VERSION`."""

    version: FsVersion


WriteIntent: TypeAlias = CreateIfAbsent | ReplaceIfVersion
"""What a write requires of the target; no intent (`None`) means unconditional."""


@frozen(kw_only=True)
class TextEdit:
    """Replace literal text: once and unambiguously, or everywhere with `replace_all`.

    Line ends in both strings are matched as LF whatever the file uses.
    """

    old: str
    new: str
    replace_all: bool = False


@frozen(kw_only=True)
class WriteOutcome:
    """Report a committed write.

    `before` is the replaced text, or None when there was none, it was not text or it was too
    large to keep. Neither text carries a byte order mark. `broke_hard_link` says that the old
    file had other names, which still hold the old content.
    """

    operation: Literal["create", "update"]
    version: FsVersion
    before: str | None
    after: str
    broke_hard_link: bool = False


@frozen(kw_only=True)
class EditOutcome:
    """Report a committed edit with the whole text on both sides and the number of replacements."""

    version: FsVersion
    before: str
    after: str
    replacements: int
    broke_hard_link: bool = False


@frozen
class Present:
    """Record that a target was seen in the state `version`."""

    version: FsVersion
    kind: Literal["present"] = field(default="present", init=False)


@frozen
class Absent:
    """Record that nothing was found at a target."""

    kind: Literal["absent"] = field(default="absent", init=False)


Observation: TypeAlias = Present | Absent
"""What an actor learned about a target by reading, writing, editing or looking for it."""


@frozen(kw_only=True)
class FsActor:
    """Name on whose behalf a file is touched; a host acting for nobody leaves both empty."""

    session: Session | None = None
    agent: Agent | None = None
