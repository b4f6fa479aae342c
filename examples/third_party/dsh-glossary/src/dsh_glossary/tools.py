"""Give the model the glossary: what words there are, what they mean, and new ones."""

from difflib import get_close_matches

from dsh_glossary.errors import TermError
from dsh_glossary.service import Glossary
from harness.system_prompt import SystemPrompt
from harness.tools import ToolRegistry, tool
from vendor_shims.cordis import Dep, Plugin
from vendor_shims.schema import config, field

CONTEXT_ORDER = 200
MAX_SHOWN_TERMS = 200


@config
class GlossaryToolsConfig:
    """What the model may do with the glossary."""

    may_define: bool = field(default=True, doc="Offer the tool that adds and changes terms.")


class GlossaryTools(Plugin):
    """Offer `look_up_term` and `define_term`, and tell the model which terms there are.

    It depends on the class of the service, not on its row: a row with another implementation of
    `Glossary` takes over while this one runs.
    """

    name = "glossary-tools"
    Config = GlossaryToolsConfig
    config: GlossaryToolsConfig
    glossary = Dep(Glossary)
    tools = Dep(ToolRegistry)
    system_prompt = Dep(SystemPrompt)

    def start(self) -> None:
        """Register everything; each registration is undone with the plugin."""
        self.tools.register(tool(is_concurrency_safe=True)(self.look_up_term))
        if self.config.may_define:
            self.tools.register(tool(self.define_term))
        # A context is sent as a message when its text changes, so that the prompt stays cached.
        self.system_prompt.context("glossary", CONTEXT_ORDER, lambda _context: self._known_terms())

    async def look_up_term(self, term: str) -> str:
        """Look up what a word means in this project.

        Args:
            term: The word, in any case.
        """
        meaning = self.glossary.meaning(term)
        if meaning is None:
            near = get_close_matches(term, self.glossary.terms, n=3)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise TermError(f"the glossary has no {term[:80]!r}{hint}")
        return meaning

    async def define_term(self, term: str, meaning: str) -> str:
        """Write down what a word means in this project, for later conversations as well.

        Args:
            term: The word as it is usually written.
            meaning: One or two sentences; they replace an earlier meaning.
        """
        await self.glossary.define(term, meaning)
        return f"Noted. Terms in the glossary: {len(self.glossary.terms)}."

    def _known_terms(self) -> str:
        terms = list(self.glossary.terms)
        if not terms:
            return ""
        more = len(terms) - MAX_SHOWN_TERMS
        tail = f" and {more} more" if more > 0 else ""
        return f"Words with a meaning of their own here: {', '.join(terms[:MAX_SHOWN_TERMS])}{tail}"
