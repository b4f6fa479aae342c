"""Agree on files: their identity, their failures, and version-guarded changes (`ctx.fs`)."""

from harness.fs.display import printable
from harness.fs.editing import EditedText, apply_edit
from harness.fs.errors import FsArgumentError, FsCode, FsError
from harness.fs.events import EDIT_INTENT, OBSERVED, WRITE_INTENT
from harness.fs.service import FileSystem
from harness.fs.text import FileText, TextDecoder, decode_text, encode_text, refuse_binary
from harness.fs.types import (
    Absent,
    CreateIfAbsent,
    EditOutcome,
    FsActor,
    FsDirEntry,
    FsInfo,
    FsTarget,
    FsType,
    FsVersion,
    Observation,
    Present,
    ReplaceIfVersion,
    TextEdit,
    WriteIntent,
    WriteOutcome,
)

__all__ = [
    "EDIT_INTENT",
    "OBSERVED",
    "WRITE_INTENT",
    "Absent",
    "CreateIfAbsent",
    "EditOutcome",
    "EditedText",
    "FileSystem",
    "FileText",
    "FsActor",
    "FsArgumentError",
    "FsCode",
    "FsDirEntry",
    "FsError",
    "FsInfo",
    "FsTarget",
    "FsType",
    "FsVersion",
    "Observation",
    "Present",
    "ReplaceIfVersion",
    "TextDecoder",
    "TextEdit",
    "WriteIntent",
    "WriteOutcome",
    "apply_edit",
    "decode_text",
    "encode_text",
    "printable",
    "refuse_binary",
]
