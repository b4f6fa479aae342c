"""Define what ends a command before its time.

Exception
└── CommandError     carries what the user is told, and with it the exit code
    └── UsageError   the command line cannot be understood (code `USAGE`)

Neither derives from `HarnessError`, because the command line is read before anything is loaded.
"""

from harness_plugins.launcher.complaint import Complaint


class CommandError(Exception):
    """End the command with a complaint; raised anywhere, printed in one place."""

    def __init__(self, complaint: Complaint) -> None:
        """Carry what the user is told."""
        super().__init__(complaint.sentence)
        self.complaint = complaint


class UsageError(CommandError):
    """Refuse a command line; the sentence holds the offending token."""

    def __init__(self, sentence: str, *hints: str) -> None:
        """Say what is wrong and, in at most two hints, what would be right."""
        super().__init__(Complaint("USAGE", sentence, hints or ("see: dsh --help",)))
