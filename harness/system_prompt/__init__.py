"""Own `ctx.system_prompt`: sections, runtime context, variables and tools of a prompt."""

from harness.system_prompt.config import SystemPromptConfig
from harness.system_prompt.errors import (
    DuplicatePromptName,
    InterpolationError,
    PromptConflict,
    PromptError,
    ToolOrderError,
)
from harness.system_prompt.events import ASSEMBLE, CHANGE
from harness.system_prompt.interpolate import interpolate
from harness.system_prompt.render import (
    CONTEXT_CLEARED,
    CONTEXT_HEADER,
    join_context_sections,
    render_context_sections,
    render_prompt,
)
from harness.system_prompt.service import (
    IDENTITY_ORDER,
    IDENTITY_SECTION,
    PERSONA_ORDER,
    PERSONA_SECTION,
    SystemPrompt,
)
from harness.system_prompt.tool_order import UNLISTED_TOOLS
from harness.system_prompt.types import (
    AssembleContext,
    NamedText,
    PromptAssembly,
    SectionText,
    ToolContribution,
    ToolProvider,
    VariableProvider,
)

__all__ = [
    "ASSEMBLE",
    "CHANGE",
    "CONTEXT_CLEARED",
    "CONTEXT_HEADER",
    "IDENTITY_ORDER",
    "IDENTITY_SECTION",
    "PERSONA_ORDER",
    "PERSONA_SECTION",
    "UNLISTED_TOOLS",
    "AssembleContext",
    "DuplicatePromptName",
    "InterpolationError",
    "NamedText",
    "PromptAssembly",
    "PromptConflict",
    "PromptError",
    "SectionText",
    "SystemPrompt",
    "SystemPromptConfig",
    "ToolContribution",
    "ToolOrderError",
    "ToolProvider",
    "VariableProvider",
    "interpolate",
    "join_context_sections",
    "render_context_sections",
    "render_prompt",
]
