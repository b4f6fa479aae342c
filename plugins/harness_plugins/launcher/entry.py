"""Start here: do what the command line asks for, and say with an exit code how that went.

Nothing heavy is loaded before a command needs it, so that `--version` and `--help` stay instant.
"""

import gc
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout

from harness_plugins.launcher.command_line import CommandLine, is_set, read_command_line
from harness_plugins.launcher.commands import management_line
from harness_plugins.launcher.complaint import Complaint
from harness_plugins.launcher.descriptors import STDOUT, occupy_standard_descriptors, write_all
from harness_plugins.launcher.errors import CommandError
from harness_plugins.launcher.reporting import give_up, wants_details
from harness_plugins.launcher.version import VERSION

INTERRUPTED = 130
READER_GONE = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `dsh` with `arguments`, by default those of the process; return the exit code."""
    tokens = sys.argv[1:] if arguments is None else list(arguments)
    occupy_standard_descriptors()
    with redirect_stdout(sys.stderr):  # what plugins print; our own output goes to the descriptor
        return _main(tokens)


def _main(tokens: list[str]) -> int:
    try:
        management = management_line(tokens)
        if management is not None:
            return management.run()
        return _dispatch(read_command_line(tokens))
    except CommandError as error:
        return _give_up(error.complaint, error, tokens)
    except BrokenPipeError as error:
        complaint = Complaint("INTERRUPTED", "nobody reads the output", status=READER_GONE)
        return _give_up(complaint, error, tokens)
    except KeyboardInterrupt as error:
        complaint = Complaint("INTERRUPTED", "stopped by SIGINT", status=INTERRUPTED)
        return _give_up(complaint, error, tokens)
    except BaseException as error:  # noqa: BLE001 - of any plugin; the last place to say it
        from harness_plugins.launcher.failures import complaint_of

        return _give_up(complaint_of(error), error, tokens)


def _dispatch(line: CommandLine) -> int:
    if line.launch.wants_version:
        write_all(STDOUT, f"dsh {VERSION}\n".encode())
        return 0
    if line.launch.wants_help or line.command == "help":
        from harness_plugins.launcher.help_text import help_text

        scope = line.scope if line.command in ("run", "sessions") else None
        write_all(STDOUT, help_text(scope).encode())
        return 0
    if line.launch.dump is not None:
        from harness_plugins.launcher.dump import dump_command

        return dump_command(line)
    if line.command == "sessions":
        from harness_plugins.launcher.sessions_command import sessions_command

        return sessions_command(line)
    gc.disable()  # nothing of a start is garbage; the run turns it on when it has started
    try:
        from harness_plugins.launcher.run_command import run_command

        return run_command(line)
    finally:
        gc.enable()


def _give_up(complaint: Complaint, cause: BaseException, tokens: Sequence[str]) -> int:
    is_json = is_set(tokens, "--json", "--json-deltas")
    with_details = wants_details(is_debug=is_set(tokens, "--debug"))
    return give_up(complaint, cause, is_json=is_json, with_details=with_details)
