"""Own the vocabulary of `ctx.bash` and the registry `ctx.bash_env`."""

from harness.bash.environment import (
    BashEnvConfig,
    BashEnvContributor,
    BashEnvRegistry,
    BashEnvVariable,
)
from harness.bash.errors import (
    BashEnvError,
    BashError,
    BashRequestError,
    ShellNotFoundError,
    WorkdirError,
)
from harness.bash.exit_status import format_exit_status, parse_exit_status
from harness.bash.service import BashExecutor, BashTask
from harness.bash.types import BashOutput, BashRequest, BashRunResult, BashSpec, Leftovers

__all__ = [
    "BashEnvConfig",
    "BashEnvContributor",
    "BashEnvError",
    "BashEnvRegistry",
    "BashEnvVariable",
    "BashError",
    "BashExecutor",
    "BashOutput",
    "BashRequest",
    "BashRequestError",
    "BashRunResult",
    "BashSpec",
    "BashTask",
    "Leftovers",
    "ShellNotFoundError",
    "WorkdirError",
    "format_exit_status",
    "parse_exit_status",
]
