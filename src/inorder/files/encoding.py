"""Bytes to text, honestly: what the file says of itself, then UTF-8, and a guess only with a warning that names it.

A byte order mark settles it. A declared encoding (of HTML) counts if the bytes bear it out. Bytes with NULs are UTF-16
if they look like it, and otherwise no text at all. What is left is read as the encoding of another script where that
makes sense of it, and else as Windows-1252; both can be wrong.
"""

import codecs
import re
from typing import NamedTuple

from inorder.errors import ReadError

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARABLE = re.compile(
    r"utf-8|cp125\d|cp866|cp874|iso8859-\d+|koi8-[ru]|shift_jis|euc_jp|iso2022_jp|gbk|gb2312|gb18030|big5|euc_kr"
    r"|mac-roman|ascii"
)
_CONTROLS = bytes(set(range(0x20)) - set(b"\t\n\r\f\b\x1b"))
_SAMPLE_BYTES = 65_536
_CONTROLS_SHARE_MAX = 0.05
_ASCII = bytes(range(0x80))
_NON_ASCII_SHARE_MIN = 0.25
_NON_ASCII_BYTES_MIN = 12
"""Fewer say nothing."""
_GUESS_BYTES = 8192
_OTHER_SCRIPTS = (
    "cp932",
    "euc_jp",
    "gb18030",
    "big5",
    "euc_kr",
    "cp1251",
    "koi8_r",
    "cp1253",
    "cp1255",
    "cp1256",
)
_NUL_SHARE_MIN = 0.4
"""Of ASCII text in UTF-16 nearly every second byte is NUL; of a file with a few stray NULs hardly any is."""


class DecodedText(NamedTuple):
    """Text, and what should be known about how it was read."""

    text: str
    encoding: str
    warning: str = ""


def decode(data: bytes, declared: str = "") -> DecodedText:
    """The text of these bytes; `ReadError` where they are none."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _decode_marked(data[len(mark) :], encoding)
    if b"\0" in data:
        return _decode_utf16(data)
    claimed = _find_codec(declared)
    if claimed and claimed != "utf-8":
        text = _try_decode(data, claimed)
        if text is not None:
            return DecodedText(text, claimed)
    text = _try_decode(data, "utf-8")
    if text is not None:
        return DecodedText(text, "utf-8")
    return _decode_by_guess(data, declared)


def _decode_marked(data: bytes, encoding: str) -> DecodedText:
    text = _try_decode(data, encoding)
    if text is None:
        text = data.decode(encoding, "replace")
        warning = f"it says it is {encoding}, and parts of it are not: those are replaced"
    else:
        warning = ""
    if "\0" in text:
        raise ReadError("not a text: it has NUL characters")
    return DecodedText(text, encoding, warning)


def _decode_utf16(data: bytes) -> DecodedText:
    sample = data[:_SAMPLE_BYTES]
    odd, even = sample[1::2].count(0), sample[0::2].count(0)
    encoding = "utf-16-le" if odd >= even else "utf-16-be"
    if min(odd, even) == 0 and len(data) % 2 == 0 and _looks_like_utf16(sample):
        text = _try_decode(data, encoding)
        if text is not None and "\0" not in text and _is_readable(text[:_SAMPLE_BYTES]):
            return DecodedText(text, encoding, f"no encoding is stated: read as {encoding}, by its NUL bytes")
    raise ReadError("not a text: it has NUL bytes")


def _looks_like_utf16(sample: bytes) -> bool:
    """Whether the NULs are the empty halves of characters: many, or beside bytes that are no UTF-8."""
    rest = sample.replace(b"\0", b"")
    return sample.count(0) >= _NUL_SHARE_MIN * len(sample) or _try_decode(rest, "utf-8") is None


def _is_readable(text: str) -> bool:
    odd = sum(not character.isprintable() and not character.isspace() for character in text)
    return odd <= _CONTROLS_SHARE_MAX * len(text)


def _decode_by_guess(data: bytes, declared: str) -> DecodedText:
    sample = data[:_SAMPLE_BYTES]
    if len(sample) - len(sample.translate(None, _CONTROLS)) > _CONTROLS_SHARE_MAX * len(sample):
        raise ReadError("not a text: it is full of control characters")
    said = f"it says it is {declared}, which it is not" if declared else "no encoding is stated, and it is not UTF-8"
    likely = _guess_encoding(sample)
    text = _try_decode(data, likely) if likely else None
    if text is not None:
        return DecodedText(text, likely, f"{said}: read as {likely}, the most likely")
    text = _try_decode(data, "cp1252")
    if text is not None:
        return DecodedText(text, "cp1252", f"{said}: read as Windows-1252")
    return DecodedText(data.decode("latin-1"), "latin-1", f"{said}: read as Latin-1")


def _guess_encoding(sample: bytes) -> str:
    """The encoding of another script that makes the most sense of it; empty: none does, or it is Western. Western text
    has few letters beyond ASCII, text in another script little else."""
    if len(sample.translate(None, _ASCII)) < max(_NON_ASCII_BYTES_MIN, _NON_ASCII_SHARE_MIN * len(sample)):
        return ""
    from charset_normalizer import from_bytes

    best = from_bytes(sample[:_GUESS_BYTES], cp_isolation=[*_OTHER_SCRIPTS, "cp1252"]).best()
    return best.encoding if best is not None and best.encoding in _OTHER_SCRIPTS else ""


def _try_decode(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _find_codec(declared: str) -> str:
    """Python's name of a declared encoding, or nothing where it is not one that files are written in."""
    try:
        name = codecs.lookup(declared.strip()).name if declared else ""
    except (LookupError, ValueError):
        return ""
    if name in ("iso8859-1", "ascii"):
        return "cp1252"  # as every browser does
    return name if _DECLARABLE.fullmatch(name) else ""
