"""Let plugins add `DSH_*` variables to the environment of the model's commands."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import ClassVar

import attrs

from harness.bash.errors import BashEnvError
from harness.launch import resolve_home
from harness.tools import ToolExecution
from vendor_shims.cordis import Context, Effect, Service
from vendor_shims.schema import config, field

RESERVED = frozenset({"DSH_HOME", "DSH_SHELL", "DSH_SESSION_ID", "DSH_WORKSPACE"})
_KEY = re.compile(r"DSH_[A-Z][A-Z0-9_]*")


@attrs.frozen
class BashEnvContributor:
    """Offer variables for each command.

    variables: what `resolve` may set, each key with one sentence on its meaning.
    resolve: called once per command; returns values for some or all of the keys.
    """

    name: str
    variables: Mapping[str, str]
    resolve: Callable[[ToolExecution], Mapping[str, str]]


@attrs.frozen
class BashEnvVariable:
    """Describe one variable: its key, its meaning, and who sets it."""

    key: str
    description: str
    contributor: str


@config
class BashEnvConfig:
    """Settings of the environment registry."""

    home: str | None = field(
        default=None, doc="Home directory of the harness, for `DSH_HOME`; found by default."
    )


class BashEnvRegistry(Service):
    """Collect the variables that tell a command which harness and session it runs in.

    Invariants: no two contributors share a name or a key; the built-in one is always there.
    """

    key: ClassVar[str] = "bash_env"
    Config = BashEnvConfig

    def __init__(self, ctx: Context, config: BashEnvConfig) -> None:
        super().__init__(ctx)
        self._contributors = {"harness": _built_in(config.home)}

    def register(self, contributor: BashEnvContributor) -> Effect:
        """Add a contributor for as long as the calling plugin lives.

        Raises:
            BashEnvError: a name or key is taken, reserved, or not `DSH_` and upper case.
        """
        self._check(contributor)

        def add() -> Callable[[], None]:
            self._contributors[contributor.name] = contributor
            return lambda: self._remove(contributor)

        return self.caller.effect(add, label=f'bash_env.register("{contributor.name}")')

    def collect(self, execution: ToolExecution) -> Mapping[str, str]:
        """Return the variables for one command, sorted by key.

        Raises:
            BashEnvError: a contributor returned an undeclared key or a value that is no text.
        """
        collected: dict[str, str] = {}
        for contributor in self._contributors.values():
            values = contributor.resolve(execution)
            for key, value in values.items():
                _check_value(contributor, key, value)
            collected.update(values)
        return MappingProxyType(dict(sorted(collected.items())))

    def list(self) -> list[BashEnvVariable]:
        """Describe all variables, sorted by key."""
        variables = [
            BashEnvVariable(key, description, contributor.name)
            for contributor in self._contributors.values()
            for key, description in contributor.variables.items()
        ]
        return sorted(variables, key=lambda variable: variable.key)

    def _check(self, contributor: BashEnvContributor) -> None:
        if contributor.name in self._contributors:
            raise BashEnvError(f"a contributor named {contributor.name!r} is registered already")
        taken = {variable.key: variable.contributor for variable in self.list()}
        for key in contributor.variables:
            if not _KEY.fullmatch(key):
                raise BashEnvError(f"variable {key!r} must be DSH_ and an upper-case name")
            if key in taken:
                reserved = "reserved" if key in RESERVED else f"set by {taken[key]!r} already"
                raise BashEnvError(f"variable {key!r} is {reserved}; choose another name")

    def _remove(self, contributor: BashEnvContributor) -> None:
        del self._contributors[contributor.name]


def _check_value(contributor: BashEnvContributor, key: str, value: object) -> None:
    if key not in contributor.variables:
        raise BashEnvError(f"contributor {contributor.name!r} did not declare variable {key!r}")
    if not isinstance(value, str):
        kind = type(value).__name__
        raise BashEnvError(f"variable {key!r} of {contributor.name!r} must be text, got {kind}")


def _built_in(configured_home: str | None) -> BashEnvContributor:
    home = str(resolve_home(configured_home, os.environ).root)

    def resolve(execution: ToolExecution) -> Mapping[str, str]:
        values = {"DSH_HOME": home, "DSH_SHELL": "1"}
        if execution.agent is not None:
            session = execution.agent.session
            values["DSH_SESSION_ID"] = session.id
            if session.header.cwd is not None:
                values["DSH_WORKSPACE"] = session.header.cwd
        return values

    return BashEnvContributor(
        "harness",
        {
            "DSH_HOME": "Home directory of the harness.",
            "DSH_SHELL": "Set to 1 in every command that the harness runs.",
            "DSH_SESSION_ID": "Id of the session that the command belongs to.",
            "DSH_WORKSPACE": "Directory that this session works in.",
        },
        resolve,
    )
