"""Plugin programs as data: what plugins exist, what they do, and what is done to them.

Every choice is a number taken modulo what there is to choose from, so that any program runs.
"""

from __future__ import annotations

from typing import Literal

import attrs

SERVICES = ("s0", "s1", "s2", "s3", "s4")
EVENTS = ("e0", "e1", "e2")

Kind = Literal[
    "mount",
    "dispose",
    "restart",
    "update",
    "delete",
    "provide",
    "withdraw",
    "replace",
    "set",
    "notify",
    "flip",
    "emit",
    "parallel",
    "listen",
    "unlisten",
    "effect",
    "undo",
    "spawn",
    "settle",
]
"""What an act does; see the methods of the same names in the world that runs it."""

Form = Literal["sync", "async", "generator", "async generator"]


@attrs.frozen
class Act:
    """One thing that a program does, at its top or inside a setup, disposer or listener.

    Attributes:
        kind: what to do.
        plugin: which blueprint to mount or delete.
        service: which service it is about.
        realm: 0 for the realm of where it happens, else a labelled one.
        pick: which fiber, binding, listener or effect it is about.
        where: 0 for the context it runs in, else the context of some living fiber.
        awaits: whether the end of the operation is awaited, where that is possible.
        is_bad: the config of an update makes setups fail; a provide insists on its name.
        delay_s: how long the new effect, listener or task takes.
        acts: what the new effect's disposer or the new listener does.
    """

    kind: Kind
    plugin: int = 0
    service: int = 0
    realm: int = 0
    pick: int = 0
    where: int = 0
    awaits: bool = False
    is_bad: bool = False
    delay_s: float = 0.0
    acts: tuple[Act, ...] = ()


@attrs.frozen
class Blueprint:
    """One plugin of a program.

    Attributes:
        required: the services it waits for.
        optional: the services it reloads with.
        form: how its setup is written.
        delay_s: how long an asynchronous setup takes.
        fails: whether its setup raises at the end: never, always, or when its config says so.
        is_patient: whether a stale setup runs to its end instead of being cancelled.
        setup: what its setup does, in order.
    """

    required: tuple[int, ...] = ()
    optional: tuple[int, ...] = ()
    form: Form = "sync"
    delay_s: float = 0.0
    fails: Literal["never", "when told", "always"] = "never"
    is_patient: bool = False
    setup: tuple[Act, ...] = ()


@attrs.frozen
class Step:
    """One act at the top of a program.

    Attributes:
        act: what is done.
        settles: whether the tree comes to rest before the next step.
        cancel_after: loop turns after which an awaited operation is cancelled; `None` for never.
    """

    act: Act
    settles: bool = False
    cancel_after: int | None = None


@attrs.frozen
class Program:
    """Blueprints and the steps done with them."""

    blueprints: tuple[Blueprint, ...]
    steps: tuple[Step, ...]
