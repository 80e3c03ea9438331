"""Splits RTF into tokens, and knows its character sets."""

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    rb"\\([a-zA-Z]{1,32})(-?\d{1,10})?[ ]?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z'])|([{}])|[\r\n]+|([^\\{}\r\n]+)|\\"
)
CHARSETS = {
    77: "mac_roman",
    128: "cp932",
    129: "cp949",
    130: "johab",
    134: "gbk",
    136: "big5",
    161: "cp1253",
    162: "cp1254",
    163: "cp1258",
    177: "cp1255",
    178: "cp1256",
    186: "cp1257",
    204: "cp1251",
    222: "cp874",
    238: "cp1250",
}
"""Encodings of fonts by the number of their character set; all others use the code page of the document."""
CODE_PAGES = frozenset((437, 720, 850, 852, 855, 857, 858, 860, 861, 862, 863, 864, 865, 866, 869, 874, 932, 936))
_MORE_CODE_PAGES = frozenset((949, 950, *range(1250, 1259)))


Token = tuple[bytes | None, bytes | None, bytes | None, bytes | None, bytes | None, bytes | None]
"""A control word and its number, a byte in hexadecimal, a sign, a brace, or text. The others are None."""


def tokenize(data: bytes) -> Iterator[Token]:
    """The tokens of a file. Binary data within it is left out."""
    at, size = 0, len(data)
    while at < size:
        match = _TOKEN.match(data, at)
        if match is None:
            at += 1
            continue
        at = match.end()
        word, number, byte, sign, brace, text = match.groups()
        if word == b"bin":
            at += max(int(number or 0), 0)
        else:
            yield word, number, byte, sign, brace, text


def find_code_page(number: int | None) -> str:
    """The encoding of a code page; Windows-1252 if it is unknown."""
    if number in CODE_PAGES or number in _MORE_CODE_PAGES:
        return {936: "gbk", 949: "cp949", 950: "big5"}.get(number or 0, f"cp{number}")
    return "mac_roman" if number == 10_000 else "utf-8" if number == 65_001 else "cp1252"
