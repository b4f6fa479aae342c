"""Show the model dynamic facts (date, branch, policy), once per change."""

from harness.llm import create_user_message
from harness.session import CONTEXT_MESSAGE, Session
from harness.system_prompt import (
    CONTEXT_CLEARED,
    NamedText,
    PromptAssembly,
    join_context_sections,
    render_context_sections,
)
from harness.wire import freeze_json

_KIND = {"kind": "plugin", "plugin": "system-prompt", "form": "snapshot"}


class RuntimeContext:
    """Follow which snapshot of the runtime context a model can still see.

    Invariants: `_text` is the text of the newest snapshot on the surface, empty when there is
    none; it is looked up anew whenever a replacement changed the surface.
    """

    def __init__(self, session: Session) -> None:
        """Follow `session`; the log is read at the first use."""
        self._session = session
        self._assembly: PromptAssembly | None = None
        self._generation = -1
        self._text = ""

    def update(self, assembly: PromptAssembly) -> None:
        """Append a snapshot when the facts differ from what the model was told last."""
        generation = self._session.surface.replace_generation
        if assembly is self._assembly and generation == self._generation:
            return
        if generation != self._generation:
            self._text = self._visible_text()
            self._generation = generation
        self._assembly = assembly
        sections = render_context_sections(assembly)
        text = join_context_sections(sections)
        if text != self._text:
            self._append(text, sections)

    def _append(self, text: str, sections: tuple[NamedText, ...]) -> None:
        source = {
            **_KIND,
            "sections": [{"name": section.name, "text": section.text} for section in sections],
        }
        message = create_user_message(text or CONTEXT_CLEARED, source=source)
        data = {**message.to_json(), "envelope": "context"}
        self._session.append(CONTEXT_MESSAGE, freeze_json(data), surface_op="append")
        self._text = text

    def _visible_text(self) -> str:
        for seq in reversed(self._session.surface.nodes):
            event = self._session.event(seq)
            if event.type != CONTEXT_MESSAGE:
                continue
            source = event.data["source"]
            if all(source.get(key) == value for key, value in _KIND.items()):
                named = [NamedText(one["name"], one["text"]) for one in source.get("sections", ())]
                return join_context_sections(named)
        return ""
