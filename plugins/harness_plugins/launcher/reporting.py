"""Print a complaint, with the traceback behind it for those who asked for details."""

import os
from contextlib import suppress

from harness_plugins.launcher.complaint import Complaint
from harness_plugins.launcher.descriptors import STDOUT, complain_on_stderr, write_all


def report(complaint: Complaint, cause: BaseException | None, *, with_details: bool) -> int:
    """Print a complaint on stderr and return its exit code."""
    complain_on_stderr(complaint.render())
    if with_details and cause is not None:
        import traceback

        complain_on_stderr("".join(traceback.format_exception(cause)))
    return complaint.exit_code


def give_up(
    complaint: Complaint, cause: BaseException, *, is_json: bool, with_details: bool
) -> int:
    """Tell of a command that ended without a session, programs too; return its exit code."""
    if is_json:
        from harness.wire import dumps

        line = {"type": "error", "message": complaint.sentence, "code": complaint.code}
        with suppress(OSError):  # the complaint on stderr says the same
            write_all(STDOUT, dumps(line) + b"\n")
    return report(complaint, cause, with_details=with_details)


def wants_details(*, is_debug: bool) -> bool:
    """Return whether tracebacks and the log are wanted: `--debug`, or `DSH_LOG=debug`."""
    return is_debug or os.environ.get("DSH_LOG") == "debug"
