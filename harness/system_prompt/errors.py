"""Define what can go wrong while a prompt is registered, assembled or rendered.

HarnessError
└── PromptError                 PROMPT_ERROR           anything this package refuses
    ├── DuplicatePromptName     DUPLICATE_PROMPT_NAME  a name is taken in its layer (ValueError)
    ├── ToolOrderError          TOOL_ORDER             the configured tool order cannot be applied
    ├── PromptConflict          PROMPT_CONFLICT        contributions exclude each other
    └── InterpolationError      PROMPT_INTERPOLATION   a `{{…}}` cannot be filled in
"""

from harness.errors import HarnessError


class PromptError(HarnessError):
    """Report that the prompt cannot be built; an assembly that raises fails its step."""

    code: str = "PROMPT_ERROR"


class DuplicatePromptName(PromptError, ValueError):
    """Report a second registration of one name in one scope layer."""

    code: str = "DUPLICATE_PROMPT_NAME"


class ToolOrderError(PromptError, ValueError):
    """Report a configured tool order that is malformed or names unknown tools."""

    code: str = "TOOL_ORDER"


class PromptConflict(PromptError):
    """Report contributions that exclude each other, naming all of them."""

    code: str = "PROMPT_CONFLICT"


class InterpolationError(PromptError):
    """Report a placeholder that is malformed, unknown or without a value."""

    code: str = "PROMPT_INTERPOLATION"
