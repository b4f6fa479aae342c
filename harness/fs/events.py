"""Declare the bus events of the filesystem seam.

The service itself emits nothing. Whoever touches files for somebody (the file tools, or a plugin
of yours) asks for an intent before a mutation and tells what it learned afterwards.
"""

from typing import TYPE_CHECKING

from harness.fs.types import FsActor, FsTarget, FsVersion, Observation, WriteIntent
from vendor_shims.cordis import Emit, Waterfall

if TYPE_CHECKING:
    from harness.agent import Agent


def _agent(*arguments: object) -> "Agent | None":
    actor = arguments[-1]
    return actor.agent if isinstance(actor, FsActor) else None


WRITE_INTENT = Waterfall[[FsTarget, FsActor], WriteIntent | None](
    "fs/write-intent",
    is_async=True,
    scoped=_agent,
    doc="Decide what a write of a target must require of it.",
)
"""Ask what a write of a target must require of it.

Dispatched by the caller just before `FileSystem.write_text`, with the agent as target. A policy
decides alone by answering without `next`; at the end of the chain stands None, unconditional.
Raising refuses the write.
"""

EDIT_INTENT = Waterfall[[FsTarget, FsActor], FsVersion | None](
    "fs/edit-intent",
    is_async=True,
    scoped=_agent,
    doc="Decide which version an edit of a target must find there.",
)
"""Ask which version an edit of a target must find there.

Dispatched by the caller just before `FileSystem.edit_text`, with the agent as target. A policy
decides alone by answering without `next`; None means no guard. Raising refuses the edit.
"""

OBSERVED = Emit[[FsTarget, Observation, FsActor]](
    "fs/observed",
    contain=True,
    scoped=_agent,
    doc="An actor has learned something about a target.",
)
"""Tell what an actor has just learned about a target.

Dispatched after every successful read, write and edit, and after a look that found nothing.
Contained: it is about the past and cannot be vetoed.
"""
