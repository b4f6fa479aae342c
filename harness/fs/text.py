"""Decide what is text, and decode it: the rules that every backend shares."""

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder

from attrs import frozen

from harness.fs.errors import FsArgumentError, FsError

SNIFFED_BYTES = 8192
"""How much of the start of a file is searched for NUL before it is read as text."""


@frozen
class FileText:
    """Hold the decoded text of a file and whether a byte order mark stood before it."""

    text: str
    has_bom: bool


class TextDecoder:
    """Decode the chunks of one file, hiding its byte order mark.

    Feed at least `SNIFFED_BYTES` in the first chunk unless the file is shorter.
    """

    def __init__(self, display_path: str) -> None:
        self._display_path = display_path
        self._decoder = getincrementaldecoder("utf-8")("strict")
        self._offset_bytes = 0
        self.has_bom = False

    def decode(self, chunk: bytes, *, final: bool) -> str:
        """Return the text of the next chunk; bytes of a cut character wait for the next one.

        Raises:
            FsError: `FS_NOT_TEXT`.
        """
        data = chunk
        if self._offset_bytes == 0:
            refuse_binary(chunk[:SNIFFED_BYTES], self._display_path)
            self.has_bom = chunk.startswith(BOM_UTF8)
            data = chunk[len(BOM_UTF8) :] if self.has_bom else chunk
        held = len(self._decoder.getstate()[0])
        try:
            text = self._decoder.decode(data, final)
        except UnicodeDecodeError as exc:
            at = self._offset_bytes + len(chunk) - len(data) - held + exc.start
            raise FsError(
                f"'{self._display_path}' is not valid UTF-8 text (byte {at}). "
                "Convert it, or look at it with a shell command.",
                code="FS_NOT_TEXT",
            ) from exc
        self._offset_bytes += len(chunk)
        return text


def decode_text(data: bytes, display_path: str) -> FileText:
    """Decode a whole file; `FS_NOT_TEXT` when it is not UTF-8 or NUL stands near its start."""
    decoder = TextDecoder(display_path)
    text = decoder.decode(data, final=True)
    return FileText(text, decoder.has_bom)


def encode_text(text: str, *, with_bom: bool = False) -> bytes:
    """Encode as UTF-8, behind a byte order mark if asked for and not yet there.

    Raises:
        FsArgumentError: the text holds an unpaired surrogate.
    """
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise FsArgumentError(
            f"the text holds an unpaired surrogate at character {exc.start}; send valid Unicode"
        ) from exc
    return BOM_UTF8 + data if with_bom and not data.startswith(BOM_UTF8) else data


def refuse_binary(data: bytes, display_path: str) -> None:
    """Raise `FS_NOT_TEXT` when there is a NUL byte in `data`."""
    if b"\0" not in data:
        return
    wide = data.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
    kind = "looks like UTF-16 text" if wide else "is a binary file"
    raise FsError(
        f"'{display_path}' {kind}; only UTF-8 text can be read or edited.", code="FS_NOT_TEXT"
    )
