"""Define what can be wrong with a YAML document.

HarnessError
└── YamlError                 YAML_ERROR     anything this package raises (ValueError)
    ├── YamlSyntaxError       YAML_INVALID   the text is no acceptable document; names the place
    └── YamlEditError         YAML_EDIT      the change cannot be made in this text

No message quotes the text: it may hold secrets.
"""

from harness.errors import HarnessError


class YamlError(HarnessError, ValueError):
    """Report a document that cannot be used as asked; catch it to treat every kind alike.

    `file` is the name the document was read under.
    """

    code: str = "YAML_ERROR"

    def __init__(self, message: str, *, file: str) -> None:
        """Name the file."""
        super().__init__(message)
        self.file: str = file


class YamlSyntaxError(YamlError):
    """Report a text that is no acceptable document; `line` and `column` count from 1.

    Both are 0 when the whole file is at fault.
    """

    code: str = "YAML_INVALID"

    def __init__(self, problem: str, *, file: str, line: int = 0, column: int = 0) -> None:
        """Name the place."""
        place = f"{file}:{line}:{column}" if line else file
        super().__init__(f"{place}: {problem}", file=file)
        self.problem: str = problem
        self.line: int = line
        self.column: int = column


class YamlEditError(YamlError):
    """Report a change that this text cannot take without disturbing what surrounds it."""

    code: str = "YAML_EDIT"
