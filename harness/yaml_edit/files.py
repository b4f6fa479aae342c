"""Read a YAML file from disk, whatever bytes it holds."""

import os

from harness.yaml_edit.document import YamlDocument
from harness.yaml_edit.errors import YamlSyntaxError
from vendor_shims.unblocked import unblocked

MAX_BYTES = 1_000_000


def read_yaml_file(path: str | os.PathLike[str]) -> YamlDocument:
    """Return the document of a file; an empty one when there is no such file.

    A byte order mark is skipped.

    Raises:
        YamlSyntaxError: more than 1 MB, no UTF-8, or no acceptable YAML mapping.
        OSError: the file cannot be read.
    """
    name = os.fspath(path)
    try:
        with open(name, "rb", opener=unblocked) as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        data = b""
    return decode_document(data, name)


def decode_document(data: bytes, name: str) -> YamlDocument:
    """Return the document of a file's bytes.

    Raises:
        YamlSyntaxError: as `read_yaml_file`.
    """
    if len(data) > MAX_BYTES:
        raise YamlSyntaxError(f"is larger than {MAX_BYTES} bytes", file=name)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise YamlSyntaxError("is not UTF-8", file=name, line=line, column=1) from None
    return YamlDocument.parse(text, name)
