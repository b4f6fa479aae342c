"""A small reactive plugin kernel: contexts, fibers, effects, services and events.

async with Context() as root:
    root.plugin(my_plugin)
    await root.settle()
"""

from .abort import AbortController, AbortSignal, run_abortable
from .clock import Clock, LoopClock, TimerHandle
from .context import Context
from .effect import Effect
from .errors import (
    AbortError,
    ContextDisposed,
    CordisError,
    InactiveEffect,
    InvalidEffect,
    InvalidPlugin,
    Issue,
    ReentrantAwait,
    ServiceConflict,
    ServiceInactive,
    ServiceNotInjected,
    ValidationError,
    error_text,
)
from .events import (
    Bail,
    Emit,
    Event,
    EventName,
    Next,
    Parallel,
    Serial,
    SerialWaterfall,
    SyncNext,
    SyncWaterfall,
    Waterfall,
    declared_events,
    described,
)
from .fiber import Fiber, FiberState
from .inject import Dep, Inject, InjectSpec, inject
from .inject import normalise as normalise_inject
from .latch import Latch
from .listener import ListenerEffect
from .owned import EffectMeta
from .placement import Placement
from .plugin import Plugin, Runtime, plugin, takes_config
from .realm import Binding, Realm
from .registry import Registry
from .relocate import relocate
from .resources import FiberTaskGroup
from .service import Service
from .stack import Frame, current_context, current_fiber, current_target, running_frames
from .update import RejectUpdate
from .watch import Change, Watch

__all__ = [
    "AbortController",
    "AbortError",
    "AbortSignal",
    "Bail",
    "Binding",
    "Change",
    "Clock",
    "Context",
    "ContextDisposed",
    "CordisError",
    "Dep",
    "Effect",
    "EffectMeta",
    "Emit",
    "Event",
    "EventName",
    "Fiber",
    "FiberState",
    "FiberTaskGroup",
    "Frame",
    "InactiveEffect",
    "Inject",
    "InjectSpec",
    "InvalidEffect",
    "InvalidPlugin",
    "Issue",
    "Latch",
    "ListenerEffect",
    "LoopClock",
    "Next",
    "Parallel",
    "Placement",
    "Plugin",
    "Realm",
    "ReentrantAwait",
    "Registry",
    "RejectUpdate",
    "Runtime",
    "Serial",
    "SerialWaterfall",
    "Service",
    "ServiceConflict",
    "ServiceInactive",
    "ServiceNotInjected",
    "SyncNext",
    "SyncWaterfall",
    "TimerHandle",
    "ValidationError",
    "Watch",
    "Waterfall",
    "current_context",
    "current_fiber",
    "current_target",
    "declared_events",
    "described",
    "error_text",
    "inject",
    "normalise_inject",
    "plugin",
    "relocate",
    "run_abortable",
    "running_frames",
    "takes_config",
]
