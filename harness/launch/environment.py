"""Hold the environment of the launch in three layers that never change again."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeAlias

import attrs

from harness.launch.dotenv import read_dotenv

EnvLayer: TypeAlias = Literal["process", "project-env", "user-env"]

_NO_VALUES: Mapping[str, str] = MappingProxyType({})
_LAYERS: tuple[EnvLayer, ...] = ("process", "project-env", "user-env")


@attrs.frozen
class EnvValue:
    """A variable's value and the layer it comes from; the value is not shown by `repr`."""

    value: str = attrs.field(repr=False)
    layer: EnvLayer


def _frozen(values: Mapping[str, str]) -> Mapping[str, str]:
    return MappingProxyType(dict(values))


@attrs.frozen
class LaunchEnvironment:
    """What was set at launch: by the process, else the project's `.env`, else the user's.

    The maps are copies; later changes of `os.environ` are not seen, and nothing is written back
    there. `repr` shows no values.
    """

    process: Mapping[str, str] = attrs.field(converter=_frozen, repr=False)
    project: Mapping[str, str] = attrs.field(converter=_frozen, repr=False, default=_NO_VALUES)
    user: Mapping[str, str] = attrs.field(converter=_frozen, repr=False, default=_NO_VALUES)

    def get(self, name: str) -> EnvValue | None:
        """Return the value of the strongest layer that sets the name, or None."""
        return self.get_from(name, _LAYERS)

    def get_from(self, name: str, layers: Iterable[EnvLayer]) -> EnvValue | None:
        """Return the value of the strongest of the given layers that sets the name, or None."""
        allowed = set(layers)
        maps = zip(_LAYERS, (self.process, self.project, self.user), strict=True)
        for layer, values in maps:
            if layer in allowed and name in values:
                return EnvValue(values[name], layer)
        return None


def capture_environment(
    process: Mapping[str, str], *, project_dir: Path, home_dir: Path
) -> LaunchEnvironment:
    """Copy the process environment and read both `.env` files, once, at launch.

    Raises:
        DotenvError: a file is malformed or sets a name that only the process may set.
    """
    return LaunchEnvironment(
        process, read_dotenv(project_dir / ".env"), read_dotenv(home_dir / ".env")
    )
