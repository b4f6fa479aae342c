"""A small reactive plugin kernel: contexts, fibers, effects, services and events.

async with Context() as root:
    root.plugin(my_plugin)
    await root.settle()
"""

from .abort import AbortController, AbortSignal, run_abortable
from .clock import Clock, LoopClock, TimerHandle
from .context import Context
from .effect import Effect, EffectMeta
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
)
from .events import (
    Bail,
    Emit,
    Event,
    EventName,
    Next,
    Parallel,
    Serial,
    SyncNext,
    SyncWaterfall,
    Waterfall,
    declared_events,
    described,
)
from .fiber import Fiber, FiberState
from .inject import Dep, Inject, InjectSpec, inject
from .latch import Latch
from .listener import ListenerEffect
from .plugin import Plugin, Runtime, plugin
from .realm import Binding
from .registry import Registry
from .resources import FiberTaskGroup
from .service import Service
from .stack import current_context, current_fiber, current_target
from .update import RejectUpdate

__all__ = [
    "AbortController",
    "AbortError",
    "AbortSignal",
    "Bail",
    "Binding",
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
    "Plugin",
    "ReentrantAwait",
    "Registry",
    "RejectUpdate",
    "Runtime",
    "Serial",
    "Service",
    "ServiceConflict",
    "ServiceInactive",
    "ServiceNotInjected",
    "SyncNext",
    "SyncWaterfall",
    "TimerHandle",
    "ValidationError",
    "Waterfall",
    "current_context",
    "current_fiber",
    "current_target",
    "declared_events",
    "described",
    "inject",
    "plugin",
    "run_abortable",
]
