"""What can be wrong with a file of rows.

CordisError
└── ConfigFileError   a file cannot be read, parsed, taken as rows, or written
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from vendor_shims.cordis import CordisError
from vendor_shims.expressions import Place

FileStage: TypeAlias = Literal["read", "parse", "validate", "write"]


class ConfigFileError(CordisError):
    """Raised when a file of rows or patches cannot be used; nothing of it was taken.

    Attributes:
        stage: how far it came.
        file: the path of the file.
        problem: what is wrong, without the path.
        place: where in the file, when that is known.
        is_missing: whether there is no such file.
    """

    code = "CONFIG_FILE"

    def __init__(
        self,
        stage: FileStage,
        problem: str,
        *,
        file: str,
        place: Place | None = None,
        is_missing: bool = False,
    ) -> None:
        if is_missing:
            super().__init__(f"config file not found: {file}")
        else:
            super().__init__(f"failed to {stage} config file {place or file}: {problem}")
        self.stage: FileStage = stage
        self.file = file
        self.problem = problem
        self.place = place
        self.is_missing = is_missing
