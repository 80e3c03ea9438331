r"""How a path that is not valid UTF-8 is written where only text can be: in JSON, tables, pages and messages.

Linux allows every byte in a name except 0 and `/`. Python represents bytes that are not UTF-8 as lone surrogates, which
no encoding takes. Here such a byte is written as `\udcXX`, with its hexadecimal digits. So that every path can be read
back, a backslash that begins such a sequence in the path itself is written `\u005c`. All other paths are written as
they are. (Ids of files need none of this: they have `%XX` for such bytes.)
"""

import os
import re
from typing import Any

import msgspec

_BYTE = r"u(?:dc[89a-f][0-9a-f]|005c)"
_AMBIGUOUS = re.compile(rf"\\(?={_BYTE})")
_SPELLED = re.compile(rf"\\{_BYTE}")
_BACKSLASH = r"\u005c"


def spell(text: str) -> str:
    """Return a path as text that can be encoded."""
    if "\\u" in text:
        text = _AMBIGUOUS.sub(lambda _: _BACKSLASH, text)
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def read_spelling(text: str) -> str:
    """Return the path that `spell` was called with."""
    return _SPELLED.sub(lambda found: chr(int(found[0][2:], 16)), text)


def find_spelled(text: str) -> str:
    """Return a path that a user gives as it is or in its spelling: the latter only if nothing has the path as it is."""
    path = read_spelling(text)
    return path if path != text and not os.path.lexists(text) and os.path.lexists(path) else text


def encode_spelled(encoder: msgspec.json.Encoder, value: Any) -> bytes:
    """Encode a value. If a path in it cannot be encoded, every text in it is spelled."""
    try:
        return encoder.encode(value)
    except UnicodeEncodeError:
        return encoder.encode(_spell_all(msgspec.to_builtins(value, enc_hook=str)))


def _spell_all(value: Any) -> Any:
    """Spell every text in a value of lists and dictionaries."""
    if isinstance(value, str):
        return spell(value)
    if isinstance(value, dict):
        return {_spell_all(name): _spell_all(each) for name, each in value.items()}
    return [_spell_all(each) for each in value] if isinstance(value, list | tuple) else value
