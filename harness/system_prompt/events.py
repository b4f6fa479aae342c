"""Declare the events of the system prompt."""

from harness.system_prompt.types import AssembleContext, PromptAssembly
from vendor_shims.cordis import Emit, Waterfall


def _scope_of(_assembly: PromptAssembly, context: AssembleContext) -> object:
    return context.scope


ASSEMBLE = Waterfall[[PromptAssembly, AssembleContext], PromptAssembly](
    "system-prompt/assemble",
    is_async=True,
    scoped=_scope_of,
    doc=(
        "Wraps the assembly of a prompt, once per step, in the scope it is assembled for. A "
        "listener returns the assembly of `next()`, or another one; the result is authoritative "
        "except for sections that a complete section replaces. Raising fails the step."
    ),
)

CHANGE = Emit[[]](
    "system-prompt/change",
    doc=(
        "Follows every registration and its undo, before the call that made it returns. A "
        "listener that raises vetoes a registration, which is then rolled back."
    ),
)
