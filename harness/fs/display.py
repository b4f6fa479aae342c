"""Make file names safe to print."""


def printable(path: str) -> str:
    r"""Return a path with control characters, bidi marks and undecodable bytes spelled out.

    A newline becomes `\n`, a byte that is not UTF-8 becomes `\xff`. The result is for people and
    models; it cannot be turned back into a path.
    """
    if path.isprintable():
        return path
    return "".join(char if char.isprintable() else _spelled(char) for char in path)


def _spelled(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # how the system's file name decoding carries a stray byte
        return f"\\x{code - 0xDC00:02x}"
    return char.encode("unicode_escape").decode("ascii")
