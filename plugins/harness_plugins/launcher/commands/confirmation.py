"""Ask before something is lost."""

from harness_plugins.launcher.descriptors import STDERR, STDIN, complain_on_stderr, is_terminal
from harness_plugins.launcher.errors import CommandError, UsageError


def confirm(question: str, *, is_sure: bool) -> None:
    """Return when the user agrees, on the command line or now.

    Raises:
        CommandError: they do not, or there is nobody to ask.
    """
    if is_sure:
        return
    if not (is_terminal(STDIN) and is_terminal(STDERR)):
        raise UsageError(f"{question} add -y: there is nobody to ask")
    complain_on_stderr(f"{question} [y/N] ")
    try:
        answer = input()
    except EOFError:
        answer = ""
    if answer.strip().lower() not in ("y", "yes"):
        from harness_plugins.launcher.complaint import Complaint

        raise CommandError(Complaint("ABORTED", "nothing was changed"))
