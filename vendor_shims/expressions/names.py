"""What an expression may read."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from vendor_shims.cordis import Context

from .flaw import Flaw


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The environment, services and places that expressions of one row see.

    Attributes:
        env: environment variables; copied, so that later changes are not seen.
        ctx: the context whose injected services are read; None when there are none.
        home: the home folder of the program, which `dsh_home_path()` starts from.
        base_dir: the folder that relative references of the row start from.
        version: the version of the program.
        working_dir: what `cwd()` returns; None for the process's at that moment.
        platform: `win32`, `darwin`, `linux`, or Python's name for another one.
        executable: the path of the Python that runs.
    """

    env: Mapping[str, str] = field(repr=False)
    ctx: Context | None = None
    home: str | None = None
    base_dir: str | None = None
    version: str | None = None
    working_dir: str | None = None
    platform: str = sys.platform
    executable: str = sys.executable

    def __post_init__(self) -> None:
        object.__setattr__(self, "env", MappingProxyType(dict(self.env)))

    def current_folder(self) -> str:
        """Return the working folder; raises `Flaw` when it was removed."""
        if self.working_dir is not None:
            return self.working_dir
        try:
            return os.getcwd()
        except OSError as error:
            raise Flaw("the working folder of the process does not exist") from error
