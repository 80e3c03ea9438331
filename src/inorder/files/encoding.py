"""Decode bytes to text: by what the file declares, then as UTF-8, and by a guess only with a warning that names it.

A byte order mark decides. A declared encoding (as in HTML) counts if the bytes are valid in it. Bytes with NULs are
UTF-16 if they look like it, and otherwise not text. Everything else is decoded with the most likely encoding of a
non-Latin script if there is one, or as Windows-1252. Both guesses can be wrong.
"""

import codecs
import re
from typing import NamedTuple

from inorder.errors import ReadError

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: its mark begins with that of UTF-16
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
"""Fewer bytes are not enough for a guess."""
_GUESS_BYTES = 8192
_VALID_PER_DAMAGED_MIN = 20
"""So many characters beyond ASCII per invalid sequence are damaged UTF-8, and not another encoding."""
_OTHER_SCRIPTS = ("cp932", "euc_jp", "gb18030", "big5", "euc_kr", "cp1251", "koi8_r", "cp1253", "cp1255", "cp1256")
_NUL_SHARE_MIN = 0.4
"""ASCII text in UTF-16 has a NUL in nearly every second byte; a file with stray NULs has few."""


class DecodedText(NamedTuple):
    """Decoded text, the encoding used, and a warning if the encoding was guessed or the text is damaged."""

    text: str
    encoding: str
    warning: str = ""


def decode(data: bytes, declared: str = "") -> DecodedText:
    """Decode bytes to text. Raises `ReadError` if they are not text."""
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
        warning = f"the byte order mark says {encoding}, but parts are not valid {encoding} and were replaced"
    else:
        warning = ""
    if "\0" in text:
        raise ReadError("not a text file: it contains NUL characters")
    return DecodedText(text, encoding, warning)


def _decode_utf16(data: bytes) -> DecodedText:
    sample = data[:_SAMPLE_BYTES]
    odd, even = sample[1::2].count(0), sample[0::2].count(0)
    encoding = "utf-16-le" if odd >= even else "utf-16-be"
    if min(odd, even) == 0 and len(data) % 2 == 0 and _is_likely_utf16(sample):
        text = _try_decode(data, encoding)
        if text is not None and "\0" not in text and _is_readable(text[:_SAMPLE_BYTES]):
            return DecodedText(text, encoding, f"no encoding declared; decoded as {encoding} because of its NUL bytes")
    raise ReadError("not a text file: it contains NUL bytes")


def _is_likely_utf16(sample: bytes) -> bool:
    """Whether the NULs are high bytes of UTF-16: there are many, or the other bytes are not valid UTF-8."""
    rest = sample.replace(b"\0", b"")
    return sample.count(0) >= _NUL_SHARE_MIN * len(sample) or _try_decode(rest, "utf-8") is None


def _is_readable(text: str) -> bool:
    odd = sum(not character.isprintable() and not character.isspace() for character in text)
    return odd <= _CONTROLS_SHARE_MAX * len(text)


def _decode_by_guess(data: bytes, declared: str) -> DecodedText:
    sample = data[:_SAMPLE_BYTES]
    if len(sample) - len(sample.translate(None, _CONTROLS)) > _CONTROLS_SHARE_MAX * len(sample):
        raise ReadError("not a text file: it has too many control characters")
    mended = data.decode("utf-8", "replace")
    if len(mended) - len(mended.encode("ascii", "ignore")) > _VALID_PER_DAMAGED_MIN * mended.count("\ufffd"):
        return DecodedText(mended, "utf-8", "parts are not valid UTF-8 and were replaced")
    problem = f"not valid in its declared encoding {declared}" if declared else "no encoding declared, and not UTF-8"
    likely = _guess_encoding(sample)
    text = _try_decode(data, likely) if likely else None
    if text is not None:
        return DecodedText(text, likely, f"{problem}; decoded as {likely}, the most likely")
    text = _try_decode(data, "cp1252")
    if text is not None:
        return DecodedText(text, "cp1252", f"{problem}; decoded as Windows-1252")
    return DecodedText(data.decode("latin-1"), "latin-1", f"{problem}; decoded as Latin-1")


def _guess_encoding(sample: bytes) -> str:
    """The most likely encoding of a non-Latin script; empty if none fits, or if the text is Western: then it has few
    characters beyond ASCII, and text in another script has many."""
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
    """Python's name of a declared encoding; empty if it is unknown or not an encoding of text files."""
    try:
        name = codecs.lookup(declared.strip()).name if declared else ""
    except (LookupError, ValueError):
        return ""
    if name in ("iso8859-1", "ascii"):
        return "cp1252"  # as every browser does
    return name if _DECLARABLE.fullmatch(name) else ""
