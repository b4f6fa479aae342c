"""Any order of registrations, restrictions and disposals shows what a plain model shows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import attrs
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from harness.scope import Scope, create_scope
from harness.system_prompt import AssembleContext, SystemPrompt
from harness.tools import (
    CHANGE,
    ToolDefinition,
    ToolOutput,
    ToolRegistrationError,
    ToolRegistry,
    ToolRestrictionError,
    define_tool,
)
from vendor_shims.cordis import Context

NAMES = st.sampled_from(["read", "write", "bash"])
SOME_NAMES = st.none() | st.sets(NAMES, max_size=2)
LEVELS = st.integers(0, 2)
TEXT = ToolOutput({"type": "string"}, lambda _args, value: value)


class Key:
    """A scope key."""


@attrs.define
class Level:
    """The model of one layer: the global one, an agent's, or that of an agent below it."""

    key: Key | None
    scope: Scope | None
    tools: dict[str, ToolDefinition] = attrs.field(factory=dict)
    restrictions: list[tuple[set[str] | None, set[str]]] = attrs.field(factory=list)
    undo: list[Callable[[], None]] = attrs.field(factory=list)

    def admits(self, name: str) -> bool:
        return all(
            name not in deny and (allow is None or name in allow)
            for allow, deny in self.restrictions
        )


class RegistryMachine(RuleBasedStateMachine):
    """Hold a registry beside three lists of what was registered where."""

    @initialize()
    def begin(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.root = Context()
        self.n_changes = 0
        self.n_mutations = 0
        self.run(self._mount())
        self.levels = [Level(None, None)]
        self.run(self.grow())

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(work)

    async def _mount(self) -> None:
        await self.root.plugin(SystemPrompt, {"includeHarnessIdentity": False})
        await self.root.plugin(ToolRegistry)
        self.tools = self.root[ToolRegistry]
        self.prompt = self.root[SystemPrompt]
        self.root.on(CHANGE, self._changed)

    def _changed(self) -> None:
        self.n_changes += 1

    async def grow(self) -> None:
        """Make the scopes that are missing: an agent, and one below it."""
        while len(self.levels) < 3:
            key = Key()
            scope = create_scope(self.root, key, self.levels[-1].key)
            self.levels.append(Level(key, scope))

    def registry(self, level: Level) -> ToolRegistry:
        return self.tools if level.scope is None else self.tools.as_caller(level.scope.ctx)

    # -- rules -------------------------------------------------------------------------------

    @rule(at=LEVELS, name=NAMES)
    def register(self, at: int, name: str) -> None:
        level = self.levels[at]
        definition = tool(name)
        if name in level.tools:
            with pytest.raises(ToolRegistrationError, match=name):
                self.registry(level).register(definition)
            return
        effect = self.registry(level).register(definition)
        level.tools[name] = definition
        self.n_mutations += 1

        def undo() -> None:
            effect()
            del level.tools[name]

        level.undo.append(undo)

    @rule(at=LEVELS, allow=SOME_NAMES, deny=SOME_NAMES)
    def restrict(self, at: int, allow: set[str] | None, deny: set[str] | None) -> None:
        level = self.levels[at]
        inherited = {name for one in self.levels[:at] for name in one.tools}
        named = (allow or set()) | (deny or set())
        if at == 0 or (allow is None and deny is None) or not named <= inherited:
            with pytest.raises(ToolRestrictionError):
                self.registry(level).restrict(allow=allow, deny=deny)
            return
        effect = self.registry(level).restrict(allow=allow, deny=deny)
        restriction = (allow, deny or set())
        level.restrictions.append(restriction)
        self.n_mutations += 1

        def undo() -> None:
            effect()
            level.restrictions.remove(restriction)

        level.undo.append(undo)

    @rule(at=LEVELS)
    def guard(self, at: int) -> None:
        self.registry(self.levels[at]).guard(lambda _execution: None)

    @rule(at=LEVELS, index=st.integers(0, 9))
    def dispose_one(self, at: int, index: int) -> None:
        undo = self.levels[at].undo
        if undo:
            undo.pop(index % len(undo))()
            self.n_mutations += 1

    @rule(from_level=st.integers(1, 2))
    def dispose_scopes(self, from_level: int) -> None:
        for level in reversed(self.levels[from_level:]):
            assert level.scope is not None
            self.run(level.scope.dispose())
            self.n_mutations += len(level.undo)
        del self.levels[from_level:]
        self.run(self.grow())

    # -- what always holds -------------------------------------------------------------------

    @invariant()
    def every_scope_sees_what_the_model_says(self) -> None:
        if not hasattr(self, "levels"):
            return
        for at, level in enumerate(self.levels):
            expected = self.visible(at)
            assert {one.name for one in self.tools.schemas(level.key)} == set(expected)
            for name in ("read", "write", "bash"):
                assert self.tools.get(name, level.key) is expected.get(name)
            assembly = self.run(self.prompt.assemble(AssembleContext(scope=level.key)))
            assert {one.name for one in assembly.tools} == set(expected)

    def visible(self, at: int) -> dict[str, ToolDefinition]:
        """The nearest registration counts, unless a restriction nearer than it hides the name."""
        found: dict[str, ToolDefinition] = {}
        for name in ("read", "write", "bash"):
            holders = [depth for depth in range(at + 1) if name in self.levels[depth].tools]
            if holders and all(one.admits(name) for one in self.levels[holders[-1] + 1 : at + 1]):
                found[name] = self.levels[holders[-1]].tools[name]
        return found

    @invariant()
    def each_mutation_was_announced_once(self) -> None:
        if hasattr(self, "levels"):
            assert self.n_changes == self.n_mutations

    def teardown(self) -> None:
        if not hasattr(self, "levels"):
            return
        for level in reversed(self.levels):
            while level.undo:
                level.undo.pop()()
        for level in self.levels:
            assert self.tools.schemas(level.key) == ()
        self.run(self.root.close())
        self.loop.close()


def tool(name: str) -> ToolDefinition:
    async def answer(*_: object) -> str:
        return name

    return define_tool(name=name, description=name, parameters={}, output=TEXT, execute=answer)


TestRegistryMachine = pytest.mark.spec("03-P17")(RegistryMachine.TestCase)
