"""End all children even when this process is killed and cannot do it itself.

A tiny shell waits on a pipe that only we hold open. When it closes, however we ended, the shell
kills every process whose environment carries the runtime's token.
"""

from __future__ import annotations

import os
import subprocess

SHELL = "/bin/sh"

# A process shows no environment for a moment while it becomes another program, so the search is
# over only when it has found nothing several times.
_SCRIPT = """
read -r _
quiet=0 rounds=0
while [ $quiet -lt 5 ] && [ $rounds -lt 200 ]; do
    found=$(grep -ls "$1" /proc/[0-9]*/environ)
    if [ -n "$found" ]; then quiet=0; else quiet=$((quiet + 1)); fi
    for path in $found; do path=${path#/proc/}; kill -KILL "${path%/environ}"; done
    rounds=$((rounds + 1))
    sleep 0.05
done
"""


class OrphanGuard:
    """Watch over the processes of one runtime from the outside.

    Invariants: runs in a session of its own and does not carry the token itself.
    """

    def __init__(self, token: str) -> None:
        """Start the shell.

        Raises:
            OSError: there is no shell to run, or no process can be made.
        """
        theirs, self._held = os.pipe()
        try:
            self._popen = subprocess.Popen(
                [SHELL, "-c", _SCRIPT, "dsh-orphan-guard", token],
                stdin=theirs,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={"PATH": "/usr/bin:/bin"},
                start_new_session=True,
            )
        except OSError:
            os.close(self._held)
            raise
        finally:
            os.close(theirs)

    def stop(self) -> None:
        """End the shell, which takes a millisecond."""
        self._popen.kill()
        self._popen.wait()
        os.close(self._held)
