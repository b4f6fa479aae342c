"""Print a complaint, with the traceback behind it for those who asked for details."""

import os

from harness_plugins.launcher.complaint import Complaint
from harness_plugins.launcher.descriptors import complain_on_stderr


def report(complaint: Complaint, cause: BaseException | None, *, with_details: bool) -> int:
    """Print a complaint on stderr and return its exit code."""
    complain_on_stderr(complaint.render())
    if with_details and cause is not None:
        import traceback

        complain_on_stderr("".join(traceback.format_exception(cause)))
    return complaint.exit_code


def wants_details(*, is_debug: bool) -> bool:
    """Return whether tracebacks and the log are wanted: `--debug`, or `DSH_LOG=debug`."""
    return is_debug or os.environ.get("DSH_LOG") == "debug"
