"""Turn an assembly into the texts that the model reads."""

from collections.abc import Sequence

from harness.system_prompt.interpolate import interpolate
from harness.system_prompt.types import NamedText, PromptAssembly

CONTEXT_HEADER = (
    "The following is the current runtime context. It replaces every earlier runtime context."
)
CONTEXT_CLEARED = "There is no runtime context any more. Disregard every earlier runtime context."
"""Text of the snapshot that withdraws earlier ones."""


def render_prompt(assembly: PromptAssembly) -> str:
    """Interpolate the sections and join those with text by blank lines.

    The result is kept with the assembly, so rendering an unchanged assembly again is free.

    Raises:
        InterpolationError: a placeholder cannot be filled.
    """
    known = assembly._rendered  # pyright: ignore[reportPrivateUsage]  # this package's record
    if known is not None:
        return known
    texts = [
        interpolate(section.text, assembly.variables, where=f"prompt section {section.name!r}")
        for section in assembly.sections
    ]
    rendered = "\n\n".join([text for text in texts if text.strip()])
    object.__setattr__(assembly, "_rendered", rendered)
    return rendered


def render_context_sections(assembly: PromptAssembly) -> tuple[NamedText, ...]:
    """Return the contexts that have text, in order; contexts are facts and never interpolated."""
    return tuple([context for context in assembly.contexts if context.text.strip()])


def join_context_sections(sections: Sequence[NamedText]) -> str:
    """Join rendered contexts below a header that supersedes earlier ones; `""` for none."""
    if not sections:
        return ""
    return "\n\n".join([CONTEXT_HEADER, *[section.text for section in sections]])
