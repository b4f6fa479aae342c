"""End the process when waiting for it to end by itself could take for ever."""

import atexit
import os
from typing import NoReturn


def leave(exit_code: int) -> NoReturn:
    """End now, without waiting for threads; what is registered for the exit still runs.

    A thread that looks a name up cannot be cancelled, and must not hold up a run that was stopped.
    """
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage] - no other way
    os._exit(exit_code)
