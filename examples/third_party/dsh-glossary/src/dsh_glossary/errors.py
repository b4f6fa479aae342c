"""Define what can go wrong with a glossary.

HarnessError
└── GlossaryError
    ├── GlossaryFileError   the file holds something else, or the disk refuses
    └── TermError           a term or a meaning cannot be taken; the text is for the model
"""

from harness.errors import HarnessError


class GlossaryError(HarnessError):
    """Report a failure of the glossary."""

    code = "GLOSSARY"


class GlossaryFileError(GlossaryError):
    """Refuse a file that cannot be read or written; it is left as it is."""

    code = "GLOSSARY_FILE"


class TermError(GlossaryError, ValueError):
    """Refuse a term or a meaning, and say what would be taken."""

    code = "GLOSSARY_TERM"
