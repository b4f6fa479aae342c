"""Define the service that keeps texts which are too large to show."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import attrs

from vendor_shims.cordis import Service


@attrs.frozen(kw_only=True)
class SpillSource:
    """Say where a spilled text comes from; labels only, never part of a path."""

    tool_name: str
    call_id: str
    label: str
    kind: str | None = None


@attrs.frozen(kw_only=True)
class SpillRecord:
    """Tell where a text was put.

    locator: opaque to all but the reader of the store; the local store's is a path.
    bytes: size in bytes.
    retrieval_hint: one sentence for the model on how to read it.
    """

    locator: str
    bytes: int
    retrieval_hint: str


class SpillStore(Service):
    """Put large texts aside, one private place per session."""

    key: ClassVar[str] = "spill_store"

    @abstractmethod
    async def save_text(
        self, session_id: str, source: SpillSource, *, suggested_name: str, content: str
    ) -> SpillRecord:
        """Keep `content`; the name is a suggestion and can never leave the session's place.

        Raises:
            SpillError: it could not be kept.
        """

    @abstractmethod
    async def adopt_file(
        self, session_id: str, source: SpillSource, *, suggested_name: str, path: str
    ) -> SpillRecord:
        """Move a finished, owner-only file into the store, without reading it into memory.

        The file is gone from `path` afterwards; on failure it stays there.

        Raises:
            SpillError: it could not be kept.
        """
